//! Chat templates of model files run in a process of their own: this program, started again with little memory and
//! little time. What a template does to itself there ends that process, and nothing else.

use std::io::{self, Read, Write};
use std::process::{Child, Command, ExitCode, Stdio};

use dunlin_local::{Rendering, TemplateError};
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::host_options::commands::THIS_PROGRAM;

/// The first argument that makes this program one that runs a template. Not for people, and in no help.
pub const RENDERER: &str = "--render-a-template";

/// What a template may take in memory, in bytes, the program that runs it included. A conversation of a hundred thousand
/// tokens takes some ten million.
const MAX_MEMORY: u64 = 512 * 1024 * 1024;

/// How long a template may compute, in seconds. A long conversation takes milliseconds.
const MAX_SECONDS: u64 = 10;

/// The longest prompt, in bytes: more than any model reads.
const MAX_PROMPT_BYTES: u64 = 32 * 1024 * 1024;

/// What the renderer's answer begins with: a prompt, or a problem.
const MADE: u8 = b'+';
const REFUSED: u8 = b'-';

/// Runs a template in a process of its own.
pub fn render(rendering: &Rendering) -> Result<String, TemplateError> {
    let failed = TemplateError::Process;
    let work = serde_json::to_vec(rendering).map_err(|error| failed(error.into()))?;
    let child = Command::new(THIS_PROGRAM)
        .arg(RENDERER)
        .env_clear()
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn();
    let mut child = EndedWhenDropped(child.map_err(failed)?);
    let answer = exchange(&mut child.0, &work);
    let mut answer = answer.unwrap_or_default();
    let kind = answer.pop();
    if answer.len() as u64 > MAX_PROMPT_BYTES {
        return Err(TemplateError::TooLong);
    }
    let text = String::from_utf8(answer).unwrap_or_default();
    match kind {
        Some(MADE) => Ok(text),
        Some(REFUSED) => Err(TemplateError::Failed(text)),
        _ => Err(TemplateError::Exhausted),
    }
}

/// Hands the work over and takes the answer, as far as there is one.
fn exchange(child: &mut Child, work: &[u8]) -> io::Result<Vec<u8>> {
    let mut answer = Vec::new();
    if let Some(mut stdin) = child.stdin.take() {
        stdin.write_all(work)?;
    }
    if let Some(stdout) = child.stdout.take() {
        stdout.take(MAX_PROMPT_BYTES + 2).read_to_end(&mut answer)?;
    }
    Ok(answer)
}

/// A child that does not outlive its owner.
struct EndedWhenDropped(Child);

impl Drop for EndedWhenDropped {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The whole life of the process that runs a template. Called by `main` before anything else.
pub fn renderer_main() -> ExitCode {
    match answer() {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever reads the answer sees that there is none.
        Err(_) => ExitCode::FAILURE,
    }
}

fn answer() -> io::Result<()> {
    for (resource, most) in [
        (Resource::As, MAX_MEMORY),
        (Resource::Cpu, MAX_SECONDS),
        (Resource::Core, 0),
    ] {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)?;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "the pipe from the program that started this process"
    )]
    let rendering: Rendering = serde_json::from_reader(io::stdin().lock())?;
    let (text, kind) = match rendering.run() {
        Ok(prompt) => (prompt, MADE),
        Err(error) => (error.to_string(), REFUSED),
    };
    // What it is comes last: half an answer is none.
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(&[kind])?;
    out.flush()
}
