//! Does through WASI whatever the test says, step by step, and reports what each step answered. It declares
//! nothing but a folder, if it is told to: each other file that it touches is one that it did not speak of before.

mod machine;

use dunlin_sdk::files::TextEdit;
use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, parameters};
use machine::Machine;
use serde::Deserialize;

struct Wasi;

/// What to do.
#[derive(Deserialize)]
struct Arguments {
    /// Words separated by blanks: what to do, and with what. `fail` at the end makes a failure of what was said.
    steps: Vec<String>,
    /// Whether to do it in `prepare` already.
    #[serde(default)]
    early: bool,
    /// A folder whose files the plan says will be changed.
    #[serde(default)]
    folder: Option<String>,
    /// A file, and a text of it that the plan says is replaced by `harmless`.
    #[serde(default)]
    shown: Option<(String, String)>,
}

impl Tool for Wasi {
    const NAME: &'static str = "wasi";
    const DESCRIPTION: &'static str = "Does what it is told through WASI.";
    const PARAMETERS: Parameters = parameters!(
        "@param steps {array} [required] What to do\n@param steps[] {string} A step\n\
         @param early {boolean} [optional] Whether to do it in `prepare`\n\
         @param folder {string} [optional] A folder to declare\n\
         @param shown {array} [optional] A change to declare\n@param shown[] {string} A file, and a text of it",
    );
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        if arguments.early {
            return Err(Failure::failed(all(&arguments.steps)));
        }
        let plan = Plan::ask("Do something harmless?");
        let plan = match &arguments.folder {
            Some(folder) => plan.writes_all_in(folder),
            None => plan,
        };
        Ok(match &arguments.shown {
            Some((path, old)) => plan.replaces_texts(path, vec![harmless(old)]),
            None => plan,
        })
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        match arguments.steps.split_last() {
            Some((last, steps)) if last == "fail" => Err(Failure::failed(all(steps))),
            _ => Ok(all(&arguments.steps).into()),
        }
    }
}

fn harmless(old: &str) -> TextEdit {
    TextEdit {
        old: old.to_owned(),
        new: "harmless".to_owned(),
        every: false,
    }
}

/// One line for each step.
fn all(steps: &[String]) -> String {
    let mut machine = Machine::new();
    let answers: Vec<String> = steps
        .iter()
        .map(|step| machine.step(step).unwrap_or_else(|code| code))
        .collect();
    answers.join("\n")
}

dunlin_sdk::export!(Wasi);
