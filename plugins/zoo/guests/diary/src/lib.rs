//! Changes the text of a file in each of the ways that need not have read it. It declares what it does, something else, or
//! that only the run can tell.

use dunlin_sdk::files::{self, File};
use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

struct Diary;

#[derive(Deserialize, Schema)]
struct Arguments {
    path: String,
    how: How,
    /// What is added or written
    text: String,
    /// What is replaced
    old: Option<String>,
    /// What is declared instead of the text
    declared: Option<String>,
    /// Whether it is declared that only the run can tell
    later: Option<bool>,
    /// Whether writing is declared as a need, too
    writes: Option<bool>,
    /// What is declared to be appended instead of the change
    shown: Option<String>,
    /// Whether nothing is declared
    silent: Option<bool>,
    /// What is appended after the change
    again: Option<String>,
}

#[derive(Deserialize, Schema, Clone, Copy)]
#[serde(rename_all = "lowercase")]
enum How {
    Append,
    Replace,
    Write,
    /// Reads the file first, and writes it in capitals.
    Capitals,
}

impl Tool for Diary {
    const NAME: &'static str = "diary";
    const DESCRIPTION: &'static str = "Changes the text of a file.";
    const PARAMETERS: Parameters = Parameters::of::<Arguments>();
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let path = &arguments.path;
        let text = arguments.declared.as_ref().unwrap_or(&arguments.text);
        if arguments.later == Some(true) {
            let plan = Plan::ask(format!("Keep the diary '{path}'?")).reads(path);
            let plan = match arguments.writes {
                Some(true) => plan.writes(path),
                _ => plan,
            };
            return Ok(plan.changes(path));
        }
        let plan = Plan::of_actions();
        if arguments.silent == Some(true) {
            return Ok(plan);
        }
        if let Some(shown) = &arguments.shown {
            return Ok(plan.appends(path, shown));
        }
        Ok(match arguments.how {
            How::Append => plan.appends(path, text),
            How::Replace => plan.replaces(path, old(arguments), text),
            How::Write | How::Capitals => plan.rewrites(path, text),
        })
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let (path, text) = (&arguments.path, &arguments.text);
        let edited = match arguments.how {
            How::Append => files::append(path, text),
            How::Replace => files::replace(path, old(&arguments), text),
            How::Write => files::write(path, text),
            How::Capitals => {
                let bytes = File::open(path)?.read_at(0, 1 << 20)?;
                let text = String::from_utf8_lossy(&bytes).to_uppercase();
                files::write(path, &text)
            }
        }?;
        if let Some(again) = &arguments.again {
            files::append(path, again)?;
        }
        Ok(format!("{} lines", edited.lines_after).into())
    }
}

dunlin_sdk::export!(Diary);

fn old(arguments: &Arguments) -> &str {
    arguments.old.as_deref().unwrap_or_default()
}
