//! The tool `list_files`: shows a model which files a project has.
//!
//! The host looks for them and leaves out what may not be read without a question; what is left here is to choose and to
//! bound. Of what has no room the model learns in which folders it is.

mod report;

use dunlin_project_files::Scope;
use dunlin_sdk::tree::Also;
use dunlin_sdk::{Error, Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

/// Files of an answer unless another number is asked for: about 4,000 tokens.
const DEFAULT_FILES: usize = 300;

/// The most files of an answer.
const MAX_FILES: usize = 2_000;

/// The tool.
#[derive(Debug)]
pub struct ListFiles;

/// What the model asks for.
#[derive(Debug, Default, Deserialize, Schema)]
pub struct Arguments {
    /// Folder; the project if left out
    path: Option<String>,
    /// Only files that match, such as *.rs, src/**/*.ts or !tests/**
    #[serde(default)]
    globs: Vec<String>,
    /// Show the size of each file in bytes
    #[serde(default)]
    sizes: bool,
    /// Also files whose name begins with a dot
    #[serde(default)]
    include_hidden: bool,
    /// Also files that .gitignore excludes
    #[serde(default)]
    include_ignored: bool,
    /// 1 to 2000; 300 if left out
    max_results: Option<usize>,
}

impl Arguments {
    fn scope(&self) -> Result<Scope, Failure> {
        let also = Also {
            hidden: self.include_hidden,
            ignored: self.include_ignored,
        };
        Scope::new(self.path.as_deref(), &self.globs, also)
    }

    fn limit(&self) -> Result<usize, Failure> {
        let limit = self.max_results.unwrap_or(DEFAULT_FILES);
        match (1..=MAX_FILES).contains(&limit) {
            true => Ok(limit),
            false => Err(Failure::invalid_arguments(format!(
                "max_results: {limit} is not 1 to {MAX_FILES}"
            ))),
        }
    }
}

impl Tool for ListFiles {
    const NAME: &'static str = "list_files";
    const TITLE: Option<&'static str> = Some("List files");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Lists the files below a folder. Use it to learn how a project is laid out, or to find \
        files by name or extension. To find text in files use search_text.";

    const PARAMETERS: Parameters = Parameters::of::<Arguments>();

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        arguments.limit()?;
        let scope = arguments.scope()?;
        let question = format!("List the files in {}?", scope.name());
        Ok(scope.plan(question))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let limit = arguments.limit()?;
        let scope = arguments.scope()?;
        let folder = scope.open().map_err(|error| match error {
            Error::WrongKind(problem) => {
                Failure::invalid_arguments(format!("path: {problem}; read it with read_file"))
            }
            error => error.into(),
        })?;
        let files = scope.files(&folder)?;
        Ok(report::text(&scope, &files, limit, arguments.sizes).into())
    }
}

dunlin_sdk::export!(ListFiles);

#[cfg(test)]
mod tests;
