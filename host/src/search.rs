//! Search engines: where a query goes, with which key, and how often.
//!
//! A tool hands over words and nothing else. The address is made here, so that no guest can reach another one, and
//! the key joins it here, so that no guest sees it.

use std::borrow::Cow;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use url::Url;

use crate::ForeignError;
use crate::masking;

/// How many searches of a session go out within [`SEARCH_WINDOW`] before the user is asked. A model that goes in circles
/// would otherwise have the user's address blocked, or the searches of a day used up, within a minute.
pub const MAX_SEARCHES: usize = 10;

/// The time in which searches are counted, up to now.
pub const SEARCH_WINDOW: Duration = Duration::from_secs(15 * 60);

/// The built-in plugin that searches, and can do nothing else with an address.
pub(crate) const SEARCH_PLUGIN: &str = "web_search";

/// Results that Google is asked for: it gives no more at once.
const GOOGLE_RESULTS: &str = "10";

/// The engines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Engine {
    /// Needs no key: the page for browsers without scripts.
    #[default]
    DuckDuckGo,
    /// Custom Search: needs a key and the id of a search engine.
    Google,
    /// Somebody's own: needs its address.
    SearXng,
}

impl Engine {
    /// As it stands in the configuration, and as tools are told.
    pub fn as_str(self) -> &'static str {
        match self {
            Engine::DuckDuckGo => "duckduckgo",
            Engine::Google => "google",
            Engine::SearXng => "searxng",
        }
    }

    /// Where it is, unless the configuration says otherwise.
    fn home(self) -> Option<&'static str> {
        match self {
            Engine::DuckDuckGo => Some("https://html.duckduckgo.com/html/"),
            Engine::Google => Some("https://www.googleapis.com/customsearch/v1"),
            Engine::SearXng => None,
        }
    }
}

/// Reads the key. May block: for a file, or for the user, who unlocks a keyring.
pub type KeySource = Arc<dyn Fn() -> Result<String, ForeignError> + Send + Sync>;

/// Which engine answers, and what it needs. `Debug` shows no key.
#[derive(Clone, Default)]
pub struct SearchOptions {
    /// The engine.
    pub engine: Engine,
    /// Where it is; `None`: where everybody's is.
    pub base_url: Option<Url>,
    /// The key, for engines that want one.
    pub key: Option<KeySource>,
    /// The id of a search engine, for Google.
    pub engine_id: Option<String>,
    /// Whether the user has chosen it. What was chosen may be used without a question.
    pub is_chosen: bool,
}

impl fmt::Debug for SearchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SearchOptions")
            .field("engine", &self.engine)
            .field("base_url", &self.base_url.as_ref().map(Url::as_str))
            .field("is_chosen", &self.is_chosen)
            .finish_non_exhaustive()
    }
}

impl SearchOptions {
    /// Where a search goes, without what is searched for. `None`: the configuration lacks it.
    pub fn address(&self) -> Option<Url> {
        let home = || self.engine.home().and_then(|home| Url::parse(home).ok());
        let mut url = self.base_url.clone().or_else(home)?;
        if self.engine == Engine::SearXng && !url.path().ends_with("/search") {
            // Fails for addresses that have no path, which are none of the web.
            url.path_segments_mut().ok()?.pop_if_empty().push("search");
        }
        url.set_query(None);
        Some(url)
    }

    /// The whole address of one search.
    pub(crate) fn url(&self, words: &str, key: Option<&str>) -> Option<Url> {
        let mut url = self.address()?;
        let mut query = url.query_pairs_mut();
        match self.engine {
            Engine::DuckDuckGo => query.append_pair("q", words),
            Engine::SearXng => query.append_pair("q", words).append_pair("format", "json"),
            Engine::Google => query
                .append_pair("key", key.unwrap_or_default())
                .append_pair("cx", self.engine_id.as_deref().unwrap_or_default())
                .append_pair("num", GOOGLE_RESULTS)
                .append_pair("q", words),
        };
        drop(query);
        Some(url)
    }
}

/// Masks a key wherever it stands in an answer: servers like to quote what they refuse.
pub(crate) fn mask(body: Vec<u8>, key: Option<&str>) -> Vec<u8> {
    let Some(key) = key else {
        return body;
    };
    match masking::mask(&String::from_utf8_lossy(&body), key) {
        Cow::Borrowed(_) => body,
        Cow::Owned(masked) => masked.into_bytes(),
    }
}

/// The searches of the last while.
#[derive(Debug, Default)]
pub(crate) struct Window(VecDeque<Instant>);

impl Window {
    /// Counts a search, unless that would be one too many: then the time until one is possible again.
    pub(crate) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        let age = |then: &Instant| now.saturating_duration_since(*then);
        while self
            .0
            .front()
            .is_some_and(|then| age(then) >= SEARCH_WINDOW)
        {
            self.0.pop_front();
        }
        match self.0.front() {
            Some(oldest) if self.0.len() >= MAX_SEARCHES => Err(SEARCH_WINDOW - age(oldest)),
            _ => {
                self.0.push_back(now);
                Ok(())
            }
        }
    }

    /// The user wants more, or another session begins.
    pub(crate) fn clear(&mut self) {
        self.0.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(engine: Engine, base_url: Option<&str>) -> SearchOptions {
        SearchOptions {
            engine,
            base_url: base_url.map(|url| url.parse().unwrap()),
            engine_id: Some("id:1".to_owned()),
            ..SearchOptions::default()
        }
    }

    #[test]
    fn addresses_are_made_here() {
        let check = |engine, base_url, expected: Option<&str>| {
            let url = options(engine, base_url).url("a b&c=d", Some("k+y"));
            assert_eq!(url.as_ref().map(Url::as_str), expected);
        };
        let duck = "https://html.duckduckgo.com/html/?q=a+b%26c%3Dd";
        check(Engine::DuckDuckGo, None, Some(duck));
        check(
            Engine::Google,
            None,
            Some(
                "https://www.googleapis.com/customsearch/v1?key=k%2By&cx=id%3A1&num=10&q=a+b%26c%3Dd",
            ),
        );
        check(Engine::SearXng, None, None);
        let searxng = "http://127.0.0.1:8080/s/search?q=a+b%26c%3Dd&format=json";
        for base_url in [
            "http://127.0.0.1:8080/s",
            "http://127.0.0.1:8080/s/",
            "http://127.0.0.1:8080/s/search",
            "http://127.0.0.1:8080/s/?q=old",
        ] {
            check(Engine::SearXng, Some(base_url), Some(searxng));
        }
        let address = options(Engine::Google, None).address().unwrap();
        assert_eq!(address.query(), None);
    }

    #[test]
    fn a_key_is_masked_in_every_form() {
        let check = |body: &str, key: Option<&str>, expected: &str| {
            let masked = mask(body.as_bytes().to_vec(), key);
            assert_eq!(String::from_utf8(masked).unwrap(), expected);
        };
        check("bad key k+y, k%2By", Some("k+y"), "bad key ****, ****");
        check(r#"{"q":"k\u002By"}"#, Some("k+y"), r#"{"q":"****"}"#);
        check("bad key", Some("k+y"), "bad key");
        check("x", Some(""), "x");
        check("x", None, "x");
        let kept = mask(b"\xff\xfe".to_vec(), Some("key"));
        assert_eq!(kept, b"\xff\xfe");
        let options = SearchOptions {
            key: Some(Arc::new(|| Ok("secret".to_owned()))),
            ..SearchOptions::default()
        };
        assert!(!format!("{options:?}").contains("secret"));
    }

    #[test]
    fn searches_are_counted_up_to_now() {
        let mut window = Window::default();
        let start = Instant::now();
        let at = |secs: u64| start + Duration::from_secs(secs);
        for search in 0..MAX_SEARCHES as u64 {
            assert_eq!(window.admit(at(search)), Ok(()));
        }
        let left = |secs| Err(Duration::from_secs(secs));
        assert_eq!(window.admit(at(10)), left(890));
        assert_eq!(window.admit(at(899)), left(1));
        // The first is too old by now, and nothing was counted that was not admitted.
        assert_eq!(window.admit(at(900)), Ok(()));
        assert_eq!(window.admit(at(900)), left(1));
        assert_eq!(window.admit(at(901)), Ok(()));
        window.clear();
        assert_eq!(window.admit(at(901)), Ok(()));
    }
}
