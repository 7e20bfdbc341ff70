//! Removes, renames and makes files and folders. What it declares and what it does are two lists of steps.

use dunlin_sdk::files::{self, File};
use dunlin_sdk::{Error, Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

struct Names;

#[derive(Deserialize, Schema)]
struct Arguments {
    /// What is declared, each a verb, a path and what belongs to it
    plan: Vec<String>,
    /// What is done
    steps: Vec<String>,
    /// The question of the plan
    question: Option<String>,
}

impl Tool for Names {
    const NAME: &'static str = "names";
    const DESCRIPTION: &'static str = "Removes, renames and makes files and folders.";
    const PARAMETERS: Parameters = Parameters::of::<Arguments>();
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let question = arguments.question.clone().unwrap_or_default();
        let mut plan = Plan::ask(question);
        for step in &arguments.plan {
            let (verb, path, more) = parts(step);
            plan = match verb {
                "fill" => plan.rewrites_bytes(path, filling(more)),
                "remove" => plan.removes(path),
                "rename" => plan.renames(path, more),
                "mkdir" => plan.creates_folder(path),
                "rmdir" => plan.removes_folder(path),
                "write" => plan.rewrites(path, more),
                "change" => plan.changes(path),
                other => return Err(Failure::failed(format!("no plan: {other}"))),
            };
        }
        Ok(plan)
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let mut done = Vec::new();
        for step in &arguments.steps {
            done.push(match play(step) {
                Ok(()) => "ok".to_owned(),
                Err(error @ Error::Denied(_)) => return Err(error.into()),
                Err(error) => error.to_string(),
            });
        }
        Ok(done.join("\n").into())
    }
}

fn play(step: &str) -> Result<(), Error> {
    let (verb, path, more) = parts(step);
    match verb {
        "fill" => files::write_bytes(path, &filling(more)),
        "remove" => files::remove(path),
        "rename" => files::rename(path, more),
        "mkdir" => files::create_folder(path),
        "rmdir" => files::remove_folder(path),
        "write" => files::write(path, more).map(drop),
        "read" => File::open(path).map(drop),
        _ => Err(Error::Invalid(format!("no step: {step}"))),
    }
}

/// So many bytes that are not text.
fn filling(count: &str) -> Vec<u8> {
    vec![0xff; count.parse().unwrap_or(0)]
}

fn parts(step: &str) -> (&str, &str, &str) {
    let (verb, rest) = step.split_once(' ').unwrap_or((step, ""));
    let (path, more) = rest.split_once(' ').unwrap_or((rest, ""));
    (verb, path, more)
}

dunlin_sdk::export!(Names);
