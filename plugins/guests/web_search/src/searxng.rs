//! SearXNG, as JSON.

use dunlin_sdk::Failure;
use dunlin_sdk::search::Answer;
use serde::Deserialize;
use serde_json::Value;

use crate::results::{Found, failed};

const NAME: &str = "SearXNG";

/// What is read of the document; most of it is left alone.
#[derive(Debug, Deserialize)]
struct Document {
    results: Vec<Entry>,
    /// Pairs of a name and a reason.
    #[serde(default)]
    unresponsive_engines: Vec<Value>,
}

#[derive(Debug, Deserialize)]
struct Entry {
    // Some of its engines give null where they know nothing.
    title: Option<String>,
    url: Option<String>,
    content: Option<String>,
}

pub fn read(answer: &Answer) -> Result<Vec<Found>, Failure> {
    match answer.status {
        200 => {}
        403 => {
            let problem = "it gives no JSON: add json to search.formats in its settings.yml";
            return Err(failed(NAME, 403, problem));
        }
        429 => {
            let problem = "too many searches for its limiter; wait some minutes";
            return Err(failed(NAME, 429, problem));
        }
        status => {
            let problem = "it does not search; is base_url in [web_search] right?";
            return Err(failed(NAME, status, problem));
        }
    }
    let Ok(document) = serde_json::from_slice::<Document>(&answer.body) else {
        let problem = "the answer is not its JSON; is base_url in [web_search] right, and json among \
                       search.formats in its settings.yml?";
        return Err(failed(NAME, 200, problem));
    };
    let found: Vec<Found> = document.results.iter().filter_map(read_entry).collect();
    if found.is_empty() && !document.unresponsive_engines.is_empty() {
        let names = document.unresponsive_engines.iter();
        let names = names.filter_map(|pair| pair.get(0)?.as_str());
        let names: Vec<String> = names
            .take(8)
            .map(|name| name.chars().take(40).collect())
            .collect();
        let problem = format!("none of its engines answered: {}", names.join(", "));
        return Err(failed(NAME, 200, &problem));
    }
    Ok(found)
}

fn read_entry(entry: &Entry) -> Option<Found> {
    let text = |text: &Option<String>| text.clone().unwrap_or_default();
    Found::new(
        &text(&entry.title),
        entry.url.as_deref()?,
        &text(&entry.content),
    )
}
