//! The tool `apply_patch`: changes several files with one patch, in the format that OpenAI's models know.

use dunlin_sdk::files;
use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

use crate::patch::{self, Change, FilePatch};

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
        All of it is done, or nothing. \
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
        let files = patch::read(&arguments.input)?;
        files::make_planned_changes()?;
        let done: Vec<String> = files.iter().map(said).collect();
        Ok(done.join("\n").into())
    }
}

/// What was done to a file.
fn said(file: &FilePatch<'_>) -> String {
    let path = file.path;
    match &file.change {
        Change::Add(_) => format!("Wrote '{path}'."),
        Change::Remove => format!("Removed '{path}'."),
        Change::Rename(to) => format!("Renamed '{path}' to '{to}'."),
        Change::Edit(_) => format!("Changed '{path}'."),
        Change::Append(_) => format!("Added to the end of '{path}'."),
    }
}
