//! `[web_search]`: which search engine answers.

use dunlin_host::search::Engine;
use dunlin_provider::http::is_this_machine;
use serde::{Deserialize, Serialize};
use url::Url;

use super::value::table;

table! {
    /// `[web_search]`
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct WebSearch {
        /// The search engine; `"duckduckgo"` by default.
        #[serde(default)]
        pub engine: EngineName,
        /// The URL of the engine; by default the public one.
        pub base_url: Option<Url>,
        /// A name of `[keys]`, for Google.
        pub api_key: Option<String>,
        /// The id of a search engine, for Google.
        pub engine_id: Option<String>,
    }
}

/// The engines, as they are written in the file.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EngineName {
    /// Without a key.
    #[default]
    DuckDuckGo,
    /// Custom Search.
    Google,
    /// One's own.
    SearXng,
}

impl EngineName {
    /// The same, for the host.
    pub fn engine(self) -> Engine {
        match self {
            EngineName::DuckDuckGo => Engine::DuckDuckGo,
            EngineName::Google => Engine::Google,
            EngineName::SearXng => Engine::SearXng,
        }
    }
}

impl WebSearch {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let is_google = self.engine == EngineName::Google;
        for (name, is_there) in [
            ("api_key", self.api_key.is_some()),
            ("engine_id", self.engine_id.is_some()),
        ] {
            if is_google && !is_there {
                return Some(format!("engine = \"google\" needs {name}"));
            }
            if is_there && !is_google {
                return Some(format!("{name} belongs to engine = \"google\""));
            }
        }
        match &self.base_url {
            None if self.engine == EngineName::SearXng => {
                Some("engine = \"searxng\" needs base_url".to_owned())
            }
            None => None,
            Some(url) => url_problem(url, is_google),
        }
    }
}

pub(super) fn url_problem(url: &Url, carries_key: bool) -> Option<String> {
    let problem = if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        "must start with http:// or https://"
    } else if !url.username().is_empty() || url.password().is_some() {
        "must hold no user name and no password; web_fetch.json can hold a header for a site"
    } else if url.query().is_some() || url.fragment().is_some() {
        "must end with its path, without ? and #"
    } else if carries_key && url.scheme() == "http" && !is_this_machine(url) {
        "must start with https://: api_key would travel unencrypted"
    } else {
        return None;
    };
    Some(format!("base_url {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_needs_its_own() {
        let check = |text: &str, expected: Option<&str>| {
            let search: WebSearch = toml::from_str(text).unwrap();
            assert_eq!(search.problem().as_deref(), expected, "{text}");
        };
        check("", None);
        check("engine = \"duckduckgo\"", None);
        check(
            "engine = \"google\"\napi_key = \"k\"\nengine_id = \"i\"",
            None,
        );
        check(
            "engine = \"searxng\"\nbase_url = \"http://searx.lan/x\"",
            None,
        );
        check(
            "engine = \"google\"",
            Some("engine = \"google\" needs api_key"),
        );
        check(
            "engine = \"google\"\napi_key = \"k\"",
            Some("engine = \"google\" needs engine_id"),
        );
        check(
            "engine = \"searxng\"",
            Some("engine = \"searxng\" needs base_url"),
        );
        check(
            "api_key = \"k\"",
            Some("api_key belongs to engine = \"google\""),
        );
        let google = "engine = \"google\"\napi_key = \"k\"\nengine_id = \"i\"\n";
        for (url, problem) in [
            (
                "ftp://h/",
                Some("base_url must start with http:// or https://"),
            ),
            (
                "http://h/",
                Some("base_url must start with https://: api_key would travel unencrypted"),
            ),
            (
                "https://h/?a=b",
                Some("base_url must end with its path, without ? and #"),
            ),
            ("http://127.0.0.1:1/", None),
        ] {
            check(&format!("{google}base_url = \"{url}\""), problem);
        }
        assert!(toml::from_str::<WebSearch>("engine = \"altavista\"").is_err());
    }
}
