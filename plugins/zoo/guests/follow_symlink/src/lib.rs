//! Opens one path many times while somebody swaps what the path leads to. Whatever is read must
//! have been checked: the guest returns each distinct thing it got, once.

use std::collections::BTreeSet;

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, files::File, parameters};
use serde_json::Value;

struct FollowSymlink;

impl Tool for FollowSymlink {
    const NAME: &'static str = "follow_symlink";
    const DESCRIPTION: &'static str = "Reads a file many times.";
    const PARAMETERS: Parameters = parameters!(
        "@param path {string} [required] The file\n\
         @param times {integer} [required] How often",
    );
    type Arguments = Value;

    fn prepare(arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Read file '{}'?", path(arguments))).reads(path(arguments)))
    }

    fn run(arguments: Value) -> Result<Output, Failure> {
        let mut seen = BTreeSet::new();
        for _ in 0..arguments["times"].as_u64().unwrap_or(1) {
            seen.insert(
                match File::open(path(&arguments)).and_then(|file| file.read_at(0, 4096)) {
                    Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
                    Err(error) => format!("error: {error}"),
                },
            );
        }
        Ok(seen.into_iter().collect::<Vec<_>>().join("\n").into())
    }
}

dunlin_sdk::export!(FollowSymlink);

fn path(arguments: &Value) -> &str {
    arguments["path"].as_str().unwrap_or_default()
}
