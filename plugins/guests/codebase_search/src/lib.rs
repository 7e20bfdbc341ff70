//! The tool `codebase_search`: finds the code that a question is about.
//!
//! The host says which files there are and reads them; the index lies in the tool's own store and follows the files at
//! each call. A call spends a bounded time on that: on a large tree the first answer comes from what was read until then,
//! and the rest is read behind it.

mod answer;
mod embedding;
mod project;
mod syntax;
#[cfg(test)]
mod tests;

use dunlin_code_index::{Index, Progress, Query, QueryError, Rerank};
use dunlin_sdk::{
    Error, Failure, FailureKind, Output, Parameters, Plan, Tool, background, chat, parameters, tree,
};
use serde::{Deserialize, Serialize};

use answer::Coverage;
use embedding::SemanticRanker;
use project::{OwnStore, Project};

/// Bytes that one call reads into the index: about three seconds.
const BYTES_OF_A_CALL: u64 = 48 << 20;

/// Bytes between two messages of progress.
const BYTES_OF_A_MESSAGE: u64 = 1 << 20;

/// Results unless another number is asked for.
const DEFAULT_RESULTS: usize = 10;

/// The most results.
const MAX_RESULTS: usize = 50;

/// Characters of a question.
const MAX_QUERY_CHARS: usize = 2_000;

/// Characters of a question that are shown when it is approved.
const SHOWN_QUERY_CHARS: usize = 200;

/// The tool.
#[derive(Debug)]
pub struct CodebaseSearch;

/// What the model says.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Arguments {
    query: String,
    #[serde(default)]
    target_directories: Vec<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    explanation: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    max_results: Option<usize>,
}

impl Tool for CodebaseSearch {
    const NAME: &'static str = "codebase_search";
    const TITLE: Option<&'static str> = Some("Search the code");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Finds the code of this project that a question is about, by meaning rather than \
        by exact text, and returns the functions and types with their paths and line numbers, best first; of weaker ones the \
        place alone. Use it to find out where and how something is done when you do not know its name; to find a known name \
        use search_text. Ask one complete question: 'How are uploaded files stored?', 'Where is the session token checked?'. \
        Ask again in other words, or within target_directories, when the answer does not help.";

    const PARAMETERS: Parameters = parameters!(
        "@param query {string} [required] A complete question, as you would put it to somebody who knows the code\n\
         @param target_directories {array} [optional] Where to look: folders or globs like src/** or **/*.py; everywhere \
         if left out\n\
         @param target_directories[] {string} [required] A folder or glob, relative to the project\n\
         @param explanation {string} [optional] Why this is searched for, in one sentence\n\
         @param max_results {integer} [optional] How many results, 1 to 50; 10 if left out",
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let query = query(arguments)?;
        let mut shown: String = query.text.chars().take(SHOWN_QUERY_CHARS).collect();
        if shown.len() < query.text.len() {
            shown.push('…');
        }
        Ok(Plan::ask(format!("Search codebase for '{shown}'?")).reads("."))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let query = query(&arguments)?;
        let folder = tree::open_project()?;
        let listing = folder.list_files()?;
        let project = Project::new(&folder, listing.files);
        let mut store = OwnStore;
        let mut index = Index::open(&store).map_err(store_failed)?;
        let mut read = |path: &str| project.read(path);
        let mut budget = Budget::default();
        let progress = index
            .update(&mut store, project.files(), &mut read, &mut |progress| {
                budget.allows(progress)
            })
            .map_err(store_failed)?;
        if let Some(error) = project.error() {
            return Err(error.into());
        }
        let mut ranker = SemanticRanker::of_host();
        let rerank = ranker.as_mut().map(|ranker| ranker as &mut dyn Rerank);
        let answer = index
            .search(&mut store, &query, &mut read, rerank)
            .map_err(|error| match error {
                QueryError::Glob { .. } => {
                    Failure::invalid_arguments(format!("target_directories: {error}"))
                }
                QueryError::Store(error) => store_failed(error),
            })?;
        let trouble = ranker.and_then(SemanticRanker::trouble);
        if let Some(error @ Error::Cancelled) = trouble {
            return Err(error.into());
        }
        let coverage = Coverage {
            progress,
            withheld: listing.withheld,
            is_truncated: listing.is_truncated,
            trouble: trouble.map(|error| error.to_string()),
        };
        if (!progress.is_complete() || answer.damaged)
            && let Ok(again) = serde_json::to_string(&arguments)
        {
            background::run_again(&again);
        }
        Ok(answer::text(&query, &answer, &coverage).into())
    }
}

dunlin_sdk::export!(CodebaseSearch);

/// What is asked of the index.
fn query(arguments: &Arguments) -> Result<Query, Failure> {
    let text = arguments.query.trim();
    if text.is_empty() {
        return Err(Failure::invalid_arguments(
            "query: it is empty; ask a complete question",
        ));
    }
    let chars = text.chars().count();
    if chars > MAX_QUERY_CHARS {
        return Err(Failure::invalid_arguments(format!(
            "query: it has {chars} characters; at most {MAX_QUERY_CHARS} are searched for"
        )));
    }
    let limit = arguments.max_results.unwrap_or(DEFAULT_RESULTS);
    if !(1..=MAX_RESULTS).contains(&limit) {
        return Err(Failure::invalid_arguments(format!(
            "max_results: {limit} is not 1 to {MAX_RESULTS}"
        )));
    }
    let globs = arguments.target_directories.iter();
    let globs = globs.map(|glob| glob.trim().trim_start_matches("./").to_owned());
    Ok(Query {
        text: text.to_owned(),
        globs: globs
            .filter(|glob| !matches!(glob.as_str(), "" | "." | "/"))
            .collect(),
        limit,
    })
}

/// How much a call reads.
#[derive(Debug, Default)]
struct Budget {
    /// What was indexed when the call began.
    begin: Option<u64>,
    /// What was indexed at the last message.
    said: u64,
}

impl Budget {
    fn allows(&mut self, progress: &Progress) -> bool {
        let now = progress.indexed_bytes;
        let begin = *self.begin.get_or_insert(now);
        if now >= self.said + BYTES_OF_A_MESSAGE {
            self.said = now;
            let percent = now.saturating_mul(100) / progress.bytes.max(1);
            let message = format!("reading {} of {} files", progress.indexed, progress.files);
            chat::progress(&message, Some(u8::try_from(percent).unwrap_or(100)));
        }
        now - begin < BYTES_OF_A_CALL
    }
}

fn store_failed(error: dunlin_code_index::StoreError) -> Failure {
    Failure::new(FailureKind::Failed, error.to_string())
}
