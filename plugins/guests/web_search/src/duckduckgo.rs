//! DuckDuckGo's page for browsers without scripts. There is no other way to it without a contract.

use dunlin_sdk::Failure;
use dunlin_sdk::search::Answer;
use scraper::{ElementRef, Html, Selector};
use url::Url;

use crate::results::{Found, failed};

const NAME: &str = "DuckDuckGo";

/// Where links of the page start that do not say it.
const PAGE: &str = "https://html.duckduckgo.com/html/";

/// How many results are looked at. A page has some thirty; one that has thousands within each other would take minutes.
const MAX_LOOKED_AT: usize = 100;

/// The results, without advertisements.
pub fn read(answer: &Answer) -> Result<Vec<Found>, Failure> {
    let text = String::from_utf8_lossy(&answer.body);
    let page = Html::parse_document(&text);
    let is_there =
        |what: &str| selector(what).is_some_and(|what| page.select(&what).next().is_some());
    // It answers a program that it does not trust with 202 and a riddle.
    if is_there("#challenge-form, .anomaly-modal__title, form[action*='anomaly.js']") {
        let problem = "it takes this for a robot and wants a riddle solved. Wait some minutes, or configure \
                       another search engine in [web_search]";
        return Err(failed(NAME, answer.status, problem));
    }
    if answer.status != 200 {
        let problem = "it does not search at the moment; try again later";
        return Err(failed(NAME, answer.status, problem));
    }
    let mut found = Vec::new();
    if let Some(result) = selector(".result:not(.result--ad):not(.result--no-result)") {
        let results = page.select(&result).take(MAX_LOOKED_AT);
        found.extend(results.filter_map(read_result));
    }
    // A page without results says so.
    if found.is_empty() && !is_there(".no-results, .result--no-result") {
        let problem = "its page has changed and cannot be read any more; configure another search engine in \
                       [web_search]";
        return Err(failed(NAME, answer.status, problem));
    }
    Ok(found)
}

fn read_result(result: ElementRef<'_>) -> Option<Found> {
    let part = |what: &str| result.select(&selector(what)?).next();
    let title = part("a.result__a")?;
    let link = unwrapped(title.value().attr("href")?)?;
    let snippet = part(".result__snippet").map(text_of).unwrap_or_default();
    Found::new(&text_of(title), &link, &snippet)
}

/// Where a link leads that goes through DuckDuckGo's own address. `None`: it is an advertisement, or none at all.
fn unwrapped(link: &str) -> Option<String> {
    let link = Url::parse(PAGE).ok()?.join(link).ok()?;
    let host = link.host_str()?;
    if host != "duckduckgo.com" && !host.ends_with(".duckduckgo.com") {
        return Some(link.into());
    }
    let target = link.query_pairs().find(|(name, _)| name == "uddg");
    match (link.path(), target) {
        ("/l/", Some((_, target))) => {
            let target = target.into_owned();
            // Advertisements are wrapped twice.
            (!target.contains("duckduckgo.com/y.js")).then_some(target)
        }
        ("/l/" | "/y.js", _) => None,
        _ => Some(link.into()),
    }
}

fn text_of(element: ElementRef<'_>) -> String {
    element.text().collect()
}

/// A selector of this file; none of them is wrong, see the tests.
fn selector(text: &str) -> Option<Selector> {
    Selector::parse(text).ok()
}
