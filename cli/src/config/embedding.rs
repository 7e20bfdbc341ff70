//! `[codebase_search]`: what questions about code are understood with, beside their words.

use serde::{Deserialize, Serialize};
use url::Url;

use super::search::url_problem;
use super::value::table;

table! {
    /// `[codebase_search]`
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct CodebaseSearch {
        /// Whether a search compares meanings besides words; `true` by default, where there is a model for it.
        pub semantic: Option<bool>,
        /// The URL of a server with `/embeddings`, instead of the model on this machine.
        pub base_url: Option<Url>,
        /// The embedding model of that server.
        pub model: Option<String>,
        /// A name of `[keys]`.
        pub api_key: Option<String>,
    }
}

impl CodebaseSearch {
    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let Some(url) = &self.base_url else {
            let (name, _) = [("model", &self.model), ("api_key", &self.api_key)]
                .into_iter()
                .find(|(_, value)| value.is_some())?;
            return Some(format!("{name} needs base_url"));
        };
        if self
            .model
            .as_deref()
            .is_none_or(|name| name.trim().is_empty())
        {
            return Some("base_url needs model".to_owned());
        }
        url_problem(url, self.api_key.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_needs_its_own() {
        let check = |text: &str, expected: Option<&str>| {
            let search: CodebaseSearch = toml::from_str(text).unwrap();
            assert_eq!(search.problem().as_deref(), expected, "{text}");
        };
        check("", None);
        check("semantic = false", None);
        check("model = \"m\"", Some("model needs base_url"));
        check("api_key = \"k\"", Some("api_key needs base_url"));
        check("base_url = \"http://h/v1\"", Some("base_url needs model"));
        check("base_url = \"http://h/v1\"\nmodel = \"m\"", None);
        check(
            "base_url = \"http://h/v1\"\nmodel = \"m\"\napi_key = \"k\"",
            Some("base_url must start with https://: api_key would travel unencrypted"),
        );
        check(
            "base_url = \"https://u:p@h/v1\"\nmodel = \"m\"",
            Some(
                "base_url must hold no user name and no password; web_fetch.json can hold a header for a site",
            ),
        );
        assert!(toml::from_str::<CodebaseSearch>("url = \"x\"").is_err());
    }
}
