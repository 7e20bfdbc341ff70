//! `[codebase_search]`: what questions about code are understood with, beside their words.

use serde::Deserialize;
use url::Url;

use super::search::url_problem;

/// `[codebase_search]`
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodebaseSearch {
    /// `false`: the words alone decide, whatever model there is.
    pub meaning: Option<bool>,
    /// Where `/embeddings` is asked instead of the model of this machine.
    pub base_url: Option<Url>,
    /// Which model is asked for there.
    pub model: Option<String>,
    /// A name of `[keys]`.
    pub api_key: Option<String>,
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

    /// What is set, as it is written in the file.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let text = |value: &str| format!("{value:?}");
        let url = self.base_url.as_ref().map(|url| text(url.as_str()));
        [
            ("meaning", self.meaning.map(|meaning| meaning.to_string())),
            ("base_url", url),
            ("model", self.model.as_deref().map(text)),
            ("api_key", self.api_key.as_deref().map(text)),
        ]
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
        .collect()
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
        check("meaning = false", None);
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

    #[test]
    fn what_is_set_is_shown() {
        let search: CodebaseSearch =
            toml::from_str("meaning = true\nbase_url = \"http://h/v1\"\nmodel = \"m\"").unwrap();
        let shown: Vec<String> = search
            .values()
            .into_iter()
            .map(|(name, value)| format!("{name} = {value}"))
            .collect();
        assert_eq!(
            shown,
            [
                "meaning = true",
                "base_url = \"http://h/v1\"",
                "model = \"m\""
            ]
        );
    }
}
