//! Stores answers one after the other and says after each that it is stored, until it is killed.
//!
//! `dunlin-answers ROOT FIRST`: `ROOT` is the folder of a sandbox, `FIRST` the number of the first answer. Answer
//! number n is about reading `ROOT/outside/n`, and every third is a no.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use dunlin_host::Host;
use dunlin_host::ask::{Answer, Scope};
use dunlin_tests::sandbox::{PATIENT, Sandbox, call};
use serde_json::json;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().collect();
    let (Some(root), Some(Ok(first))) = (arguments.get(1), arguments.get(2).map(|n| n.parse()))
    else {
        return ExitCode::FAILURE;
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let answered = runtime.map(|runtime| runtime.block_on(answer_from(Path::new(root), first)));
    match answered {
        Ok(Ok(())) => ExitCode::SUCCESS,
        Ok(Err(_)) | Err(_) => ExitCode::FAILURE,
    }
}

async fn answer_from(root: &Path, first: u64) -> Result<(), Box<dyn std::error::Error>> {
    let options = Sandbox::options_in(root, PATIENT);
    let host = Host::new(options, dunlin::built_in_plugins::all())?;
    for number in first.. {
        let call = call(
            "read_file",
            json!({"file_path": format!("../outside/{number}")}),
        );
        let plan = host.prepare(&call).await?;
        let answer = Answer {
            allow: !number.is_multiple_of(3),
            scope: Scope::Always,
        };
        host.answer(&call, &plan, answer).await?;
        let mut output = std::io::stdout().lock();
        writeln!(output, "{number}")?;
        output.flush()?;
    }
    Ok(())
}
