//! Google's Custom Search, as JSON.

use dunlin_sdk::Failure;
use dunlin_sdk::search::Answer;
use serde::Deserialize;

use crate::results::{Found, failed};

const NAME: &str = "Google";

/// What is read of the document; most of it is left alone.
#[derive(Debug, Deserialize)]
struct Document {
    #[serde(default)]
    items: Vec<Item>,
    error: Option<Refusal>,
}

#[derive(Debug, Deserialize)]
struct Item {
    #[serde(default)]
    title: String,
    link: String,
    #[serde(default)]
    snippet: String,
}

#[derive(Debug, Deserialize)]
struct Refusal {
    #[serde(default)]
    message: String,
}

pub fn read(answer: &Answer) -> Result<Vec<Found>, Failure> {
    let Ok(document) = serde_json::from_slice::<Document>(&answer.body) else {
        let problem =
            "the answer is not the JSON of its Custom Search; is base_url in [web_search] right?";
        return Err(failed(NAME, answer.status, problem));
    };
    if let Some(Refusal { message }) = document.error {
        let advice = match answer.status {
            400 => "; look at api_key and engine_id in [web_search]",
            403 => {
                "; the key may not use the Custom Search API, or engine_id in [web_search] is wrong"
            }
            429 => "; the searches of the day are used up, or too many came at once",
            _ => "",
        };
        let problem = format!("{}{advice}", message.trim().trim_end_matches('.'));
        return Err(failed(NAME, answer.status, &problem));
    }
    if answer.status != 200 {
        return Err(failed(
            NAME,
            answer.status,
            "it does not search at the moment",
        ));
    }
    let items = document.items.iter();
    Ok(items
        .filter_map(|item| Found::new(&item.title, &item.link, &item.snippet))
        .collect())
}
