//! `[mcp.servers.NAME]`: the servers of the Model Context Protocol whose tools a chat may use.

use std::collections::BTreeMap;
use std::time::Duration;

use dunlin_host::mcp::SEPARATOR;
use dunlin_provider::http::is_this_machine;
use reqwest::header::{HeaderName, HeaderValue};
use serde::{Deserialize, Serialize};
use toml::Spanned;
use url::Url;

use super::value::{Seconds, table, written};

/// The longest name of a server. Its tools are called `NAME__TOOL`, and models take 64 characters of that.
pub const MAX_NAME_CHARS: usize = 24;

/// How long an answer of a server is waited for where nothing else is configured.
pub const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// Headers that belong to the protocol or to the connection.
const OWN_HEADERS: &[&str] = &[
    "accept",
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "host",
    "last-event-id",
    "mcp-protocol-version",
    "mcp-session-id",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// `[mcp]`
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mcp {
    /// The servers, by name.
    #[serde(default)]
    pub servers: BTreeMap<String, Spanned<ServerEntry>>,
}

table! {
    /// `[mcp.servers.NAME]`: a program to start, or an address.
    #[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct ServerEntry {
        /// The program: a path, or a name that is looked up in `PATH`.
        pub command: Option<String>,
        /// The program's arguments.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub args: Vec<String>,
        /// Variables that the program gets besides your harmless ones.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub env: BTreeMap<String, String>,
        /// The folder in which the program runs; the project by default.
        pub cwd: Option<String>,
        /// The folders that the server is told of; the project by default, and none for `[]`.
        pub roots: Option<Vec<String>>,
        /// Whether the program runs in the command sandbox instead of with all your rights; `false` by default.
        pub sandbox: Option<bool>,
        /// The URL of a server that speaks streamable HTTP.
        pub url: Option<Url>,
        /// A name of `[keys]`: the bearer token for `url`.
        pub api_key: Option<String>,
        /// The id of a client that was registered beforehand, or the URL of a page that describes it: logs in to `url`.
        pub client_id: Option<String>,
        /// A name of `[keys]`: the secret of that client.
        pub client_secret: Option<String>,
        /// The login server that may see that secret, as it calls itself.
        pub issuer: Option<Url>,
        /// Whether that client logs in by itself, without a user; `false` by default.
        pub client_credentials: Option<bool>,
        /// Further headers for `url`.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub headers: BTreeMap<String, String>,
        /// What the server is for, in your words, for the model.
        pub description: Option<String>,
        /// Whether Dunlin asks about each call of the server's tools; `false` by default.
        pub ask: Option<bool>,
        /// The tools of which Dunlin asks about each call, by the server's own names.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub ask_tools: Vec<String>,
        /// Seconds that an answer may take; `60` by default.
        pub timeout_secs: Option<Seconds>,
        /// `false` switches the server off.
        pub enabled: Option<bool>,
    }
}

impl ServerEntry {
    /// Whether it may be used.
    pub fn is_enabled(&self) -> bool {
        self.enabled != Some(false)
    }

    /// How long an answer is waited for.
    pub fn timeout(&self) -> Duration {
        self.timeout_secs.map_or(DEFAULT_TIMEOUT, Seconds::duration)
    }

    /// All of it in one line, as it could stand in the file, for whoever is to trust it.
    pub fn written(&self) -> String {
        written(self)
    }

    /// The same, fit to be shown: values of variables and headers are often keys.
    #[must_use]
    pub fn without_secrets(&self) -> ServerEntry {
        let hide = |values: &BTreeMap<String, String>| {
            let names = values.keys().cloned();
            names.map(|name| (name, "…".to_owned())).collect()
        };
        ServerEntry {
            env: hide(&self.env),
            headers: hide(&self.headers),
            ..self.clone()
        }
    }

    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let only = |other: &str, fields: &[(&str, bool)]| {
            let (field, _) = fields.iter().find(|(_, is_there)| *is_there)?;
            Some(format!("{field} belongs to a server with {other}"))
        };
        match (&self.command, &self.url) {
            (None, None) => Some("needs one of command and url".to_owned()),
            (Some(_), Some(_)) => Some("has both command and url; one of them goes".to_owned()),
            (Some(command), None) => command_problem(command, self).or_else(|| {
                let fields = [
                    ("api_key", self.api_key.is_some()),
                    ("client_id", self.client_id.is_some()),
                    ("client_secret", self.client_secret.is_some()),
                    ("issuer", self.issuer.is_some()),
                    ("client_credentials", self.client_credentials.is_some()),
                    ("headers", !self.headers.is_empty()),
                ];
                only("url", &fields)
            }),
            (None, Some(url)) => self.url_problem(url).or_else(|| {
                let fields = [
                    ("args", !self.args.is_empty()),
                    ("env", !self.env.is_empty()),
                    ("cwd", self.cwd.is_some()),
                    ("roots", self.roots.is_some()),
                    ("sandbox", self.sandbox.is_some()),
                ];
                only("command", &fields)
            }),
        }
    }

    fn url_problem(&self, url: &Url) -> Option<String> {
        if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
            return Some(format!(
                "url must start with http:// or https://, not {:?}",
                url.scheme()
            ));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Some("url must hold no user name and no password; use api_key".to_owned());
        }
        if url.fragment().is_some() {
            return Some("url must have no #".to_owned());
        }
        let has_secret = self.api_key.is_some() || !self.headers.is_empty();
        if has_secret && url.scheme() == "http" && !is_this_machine(url) {
            return Some(
                "api_key and headers would travel unencrypted; url must start with https://"
                    .to_owned(),
            );
        }
        if let Some(problem) = self.client_problem() {
            return Some(problem);
        }
        for (name, value) in &self.headers {
            if HeaderName::from_bytes(name.as_bytes()).is_err() {
                return Some(format!("headers: {name:?} is not a valid header name"));
            }
            if HeaderValue::from_str(value).is_err() {
                return Some(format!(
                    "headers: the value of {name:?} has characters that no header can have"
                ));
            }
            let lower = name.to_ascii_lowercase();
            if OWN_HEADERS.contains(&lower.as_str()) {
                return Some(format!("headers: {name:?} is Dunlin's own to set"));
            }
            if lower == "authorization" && self.api_key.is_some() {
                return Some("has both api_key and an Authorization header".to_owned());
            }
        }
        None
    }
}

impl ServerEntry {
    /// What is wrong with the client that logs in.
    fn client_problem(&self) -> Option<String> {
        let is_alone = self.client_credentials == Some(true);
        let problem = match &self.client_id {
            None if self.client_secret.is_some() => "client_secret belongs to a client_id",
            None if self.issuer.is_some() => "issuer belongs to a client_id",
            None if is_alone => "client_credentials belongs to a client_id",
            None => return None,
            Some(id) if id.trim().is_empty() => "client_id must not be empty",
            Some(_) if self.api_key.is_some() => "has both api_key and client_id; one of them goes",
            Some(_) if is_alone && self.client_secret.is_none() => {
                "client_credentials needs client_secret"
            }
            // The server says where to log in. The secret must not go wherever it says.
            Some(_) if self.client_secret.is_some() && self.issuer.is_none() => {
                "client_secret needs issuer, the login server that may see it, for example \
                 issuer = \"https://login.example.com\""
            }
            Some(_) if self.issuer.as_ref().is_some_and(|it| !is_issuer(it)) => {
                "issuer must be an https:// address without user name, ? and #"
            }
            Some(_) => return None,
        };
        Some(problem.to_owned())
    }
}

/// Whether an address can be what a login server calls itself (RFC 8414).
fn is_issuer(url: &Url) -> bool {
    let is_safe = url.scheme() == "https" || (url.scheme() == "http" && is_this_machine(url));
    let is_bare = url.username().is_empty() && url.password().is_none();
    is_safe && is_bare && url.query().is_none() && url.fragment().is_none()
}

fn command_problem(command: &str, entry: &ServerEntry) -> Option<String> {
    if command.trim().is_empty() {
        return Some("command must not be empty".to_owned());
    }
    let words = [command].into_iter();
    let words = words.chain(entry.args.iter().map(String::as_str));
    let words = words.chain(entry.cwd.as_deref());
    let words = words.chain(entry.roots.iter().flatten().map(String::as_str));
    let values = entry.env.values().map(String::as_str);
    if words.chain(values).any(|word| word.contains('\0')) {
        return Some("command, args, env, cwd and roots must hold no NUL character".to_owned());
    }
    let is_no_name = |name: &&String| name.is_empty() || name.contains(['=', '\0']);
    let name = entry.env.keys().find(is_no_name)?;
    Some(format!("env: {name:?} is not a valid variable name"))
}

/// What is wrong with the name of a server, if anything.
pub fn name_problem(name: &str) -> Option<String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || name.len() > MAX_NAME_CHARS || !name.chars().all(is_plain) {
        return Some(format!(
            "the name of a server is 1 to {MAX_NAME_CHARS} of a-z A-Z 0-9 - _"
        ));
    }
    (name.contains(SEPARATOR) || name.starts_with('_') || name.ends_with('_')).then(|| {
        "the name of a server has no __ in it and no _ at its ends: its tools are called NAME__TOOL"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_fit_into_those_of_tools() {
        for name in ["git", "My-Server_2", "a"] {
            assert_eq!(name_problem(name), None, "{name}");
        }
        for name in ["", "a b", "a__b", "_a", "a_", "ä", &"x".repeat(25)] {
            assert!(name_problem(name).is_some(), "{name}");
        }
    }

    #[test]
    fn a_server_is_a_program_or_an_address() {
        let check = |text: &str, expected: Option<&str>| {
            let entry: ServerEntry = toml::from_str(text).unwrap();
            assert_eq!(entry.problem().as_deref(), expected, "{text}");
        };
        check("command = \"npx\"\nargs = [\"-y\", \"x\"]", None);
        check("url = \"https://host/mcp\"\napi_key = \"k\"", None);
        check(
            "url = \"http://127.0.0.1:1/mcp\"\nheaders = { X-Key = \"k\" }",
            None,
        );
        check("", Some("needs one of command and url"));
        check(
            "command = \"a\"\nurl = \"http://h/\"",
            Some("has both command and url; one of them goes"),
        );
        check("command = \" \"", Some("command must not be empty"));
        check(
            "command = \"a\"\napi_key = \"k\"",
            Some("api_key belongs to a server with url"),
        );
        check(
            "url = \"http://h/\"\nargs = [\"k\"]",
            Some("args belongs to a server with command"),
        );
        check(
            "url = \"ftp://h/\"",
            Some("url must start with http:// or https://, not \"ftp\""),
        );
        check(
            "url = \"http://h/\"\napi_key = \"k\"",
            Some("api_key and headers would travel unencrypted; url must start with https://"),
        );
        check(
            "url = \"https://h/\"\nheaders = { Host = \"k\" }",
            Some("headers: \"Host\" is Dunlin's own to set"),
        );
        check(
            "command = \"a\"\nenv = { \"A=B\" = \"k\" }",
            Some("env: \"A=B\" is not a valid variable name"),
        );
        check("url = \"https://h/\"\nclient_id = \"c\"", None);
        check(
            "url = \"https://h/\"\nclient_id = \"c\"\nclient_secret = \"k\"\nissuer = \"https://l/\"\n\
             client_credentials = true",
            None,
        );
        check(
            "url = \"https://h/\"\nclient_id = \"c\"\nclient_secret = \"k\"",
            Some(
                "client_secret needs issuer, the login server that may see it, for example \
                 issuer = \"https://login.example.com\"",
            ),
        );
        check(
            "url = \"https://h/\"\nissuer = \"https://l/\"",
            Some("issuer belongs to a client_id"),
        );
        for issuer in [
            "http://l/",
            "https://u@l/",
            "https://l/?q",
            "https://l/#f",
            "data:l",
        ] {
            check(
                &format!("url = \"https://h/\"\nclient_id = \"c\"\nissuer = \"{issuer}\""),
                Some("issuer must be an https:// address without user name, ? and #"),
            );
        }
        check(
            "url = \"https://h/\"\nclient_secret = \"k\"",
            Some("client_secret belongs to a client_id"),
        );
        check(
            "url = \"https://h/\"\nclient_id = \"c\"\nclient_credentials = true",
            Some("client_credentials needs client_secret"),
        );
        check(
            "url = \"https://h/\"\nclient_id = \"c\"\napi_key = \"k\"",
            Some("has both api_key and client_id; one of them goes"),
        );
        check(
            "command = \"a\"\nclient_id = \"c\"",
            Some("client_id belongs to a server with url"),
        );
        check(
            "url = \"https://h/\"\nroots = []",
            Some("roots belongs to a server with command"),
        );
    }
}
