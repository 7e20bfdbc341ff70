//! The tool `web_search`: asks a search engine and returns what it found as Markdown.
//!
//! Which engine, where it is and with which key is asked is the host's business: the tool hands over words and gets
//! an answer back. It reads pages and documents of others, and it does so in here, where they can do no harm.

mod duckduckgo;
mod google;
mod results;
mod searxng;
#[cfg(test)]
mod tests;

use dunlin_sdk::search::{self, Answer};
use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, parameters};
use serde::Deserialize;

use results::{Found, markdown};

/// The longest query in characters, which is what engines take.
const MAX_QUERY_CHARS: usize = 400;

/// The tool.
#[derive(Debug)]
pub struct WebSearch;

/// What the model says.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    query: String,
}

impl Arguments {
    /// The query as it is sent.
    fn words(&self) -> Result<&str, Failure> {
        let words = self.query.trim();
        if words.is_empty() {
            return Err(Failure::invalid_arguments(
                "query: it is empty; write what to look for",
            ));
        }
        let chars = words.chars().count();
        if chars > MAX_QUERY_CHARS {
            return Err(Failure::invalid_arguments(format!(
                "query: it has {chars} characters; search engines take at most {MAX_QUERY_CHARS}"
            )));
        }
        Ok(words)
    }
}

impl Tool for WebSearch {
    const NAME: &'static str = "web_search";
    const TITLE: Option<&'static str> = Some("Search the web");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Searches the web and returns the best 10 to 20 results: title, address and a \
        few words of each. Use it to find pages on what you do not know or what may have changed; fetch a page to \
        read it. Write keywords as for a search engine, not a question. Only a few searches in a row are possible.";

    const PARAMETERS: Parameters =
        parameters!("@param query {string} [required] What to look for, in keywords");

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let plan = Plan::ask(format!("Search the web for '{}'?", arguments.words()?));
        Ok(match search::address() {
            Ok(address) => plan.reads_url(address),
            // There is no host, as in a test.
            Err(_) => plan,
        })
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let words = arguments.words()?;
        let answer = search::query(words)?;
        Ok(markdown(words, &read(&answer)?).into())
    }
}

dunlin_sdk::export!(WebSearch);

/// What an engine found, in its own order.
fn read(answer: &Answer) -> Result<Vec<Found>, Failure> {
    match answer.engine.as_str() {
        "duckduckgo" => duckduckgo::read(answer),
        "google" => google::read(answer),
        "searxng" => searxng::read(answer),
        other => Err(Failure::failed(format!(
            "this version cannot read the answers of {other}"
        ))),
    }
}
