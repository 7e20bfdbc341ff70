//! The tool `apply_patch`: changes several files with one patch, in the format that OpenAI's models know.

use dunlin_sdk::files;
use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

use crate::patch::{self, Change};

/// The tool.
#[derive(Debug)]
pub struct ApplyPatch;

/// What the model says.
#[derive(Debug, Deserialize, Schema)]
pub struct Arguments {
    /// The whole patch, from *** Begin Patch to *** End Patch
    input: String,
}

impl Tool for ApplyPatch {
    const NAME: &'static str = "apply_patch";
    const TITLE: Option<&'static str> = Some("Apply a patch");
    const IS_DESTRUCTIVE: Option<bool> = Some(true);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Changes, creates, removes or renames text files with a patch in the apply_patch format. \
        The lines of a hunk that begin with a space or - must be in the file exactly once, next to each other: @@ does not \
        narrow the place, so begin and end a hunk with enough of the lines around the change.";

    const PARAMETERS: Parameters = Parameters::of::<Arguments>();

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let files = patch::read(&arguments.input)?.into_iter();
        Ok(
            files.fold(Plan::of_actions(), |plan, file| match file.change {
                Change::Add(text) => plan.replaces_lines(file.path, text),
                Change::Remove => plan.removes(file.path),
                Change::Rename(to) => plan.renames(file.path, to),
                Change::Edit(edits) => plan.replaces_texts(file.path, edits),
                Change::Append(text) => plan.appends(file.path, text),
            }),
        )
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let mut done: Vec<String> = Vec::new();
        for file in patch::read(&arguments.input)? {
            let path = file.path;
            let outcome = match file.change {
                Change::Add(text) => {
                    files::replace_lines(path, &text).map(|_| format!("Wrote '{path}'."))
                }
                Change::Remove => files::remove(path).map(|()| format!("Removed '{path}'.")),
                Change::Rename(to) => {
                    files::rename(path, to).map(|()| format!("Renamed '{path}' to '{to}'."))
                }
                Change::Edit(edits) => {
                    files::replace_texts(path, edits).map(|_| format!("Changed '{path}'."))
                }
                Change::Append(text) => {
                    files::append(path, &text).map(|_| format!("Added to the end of '{path}'."))
                }
            };
            match outcome {
                Ok(said) => done.push(said),
                Err(error) if done.is_empty() => return Err(error.into()),
                Err(error) => {
                    // The model must not write again what is there already.
                    let mut failure = Failure::from(error);
                    let done = done.join(" ");
                    failure.message =
                        format!("'{path}' failed: {}. Before that: {done}", failure.message);
                    return Err(failure);
                }
            }
        }
        Ok(done.join("\n").into())
    }
}
