//! `[[hook]]`: commands that run before calls, after edits and at the end of turns.

use std::time::Duration;

use dunlin_host::display::shell_word;
use dunlin_host::hooks::{Hook, HookEvent, HookPlaces, Pinned, pins};
use dunlin_host::sha256_hex;
use serde::{Deserialize, Serialize};

use super::value::{Seconds, table, written};

/// How long a hook may take where nothing else is configured: somebody waits for it.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// The longest that one may take, in seconds.
const MAX_TIMEOUT_SECS: u64 = 600;

/// A command: a line for the shell, or its words.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "`command` must be a text or a list of texts")]
pub enum HookCommand {
    /// A line as the shell gets it.
    Line(String),
    /// Words in which the shell reads nothing.
    Words(Vec<String>),
}

impl HookCommand {
    /// As the shell gets it.
    pub fn line(&self) -> String {
        match self {
            HookCommand::Line(line) => line.trim().to_owned(),
            HookCommand::Words(words) => {
                let words: Vec<String> = words.iter().map(|word| shell_word(word)).collect();
                words.join(" ")
            }
        }
    }
}

table! {
    /// `[[hook]]`
    #[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
    #[serde(deny_unknown_fields)]
    pub struct HookEntry {
        /// When the hook runs.
        pub event: HookEvent,
        /// What runs in the command sandbox: a line for the shell, or a list of words.
        pub command: HookCommand,
        /// The tools whose calls it is about, by name; `NAME*` for all that begin so, and all by default.
        pub tools: Option<Vec<String>>,
        /// Seconds that it may take; `30` by default.
        pub timeout_secs: Option<Seconds<MAX_TIMEOUT_SECS>>,
    }
}

impl HookEntry {
    /// All of it in one line, as it could stand in the file, for whoever is to trust it.
    pub fn written(&self) -> String {
        written(self)
    }

    /// What is wrong with it, if anything.
    pub fn problem(&self) -> Option<String> {
        let line = self.command.line();
        let is_empty = match &self.command {
            HookCommand::Line(_) => line.is_empty(),
            HookCommand::Words(words) => words.first().is_none_or(|word| word.trim().is_empty()),
        };
        if is_empty {
            return Some("command must not be empty".to_owned());
        }
        if line.contains('\0') {
            return Some("command must hold no NUL character".to_owned());
        }
        if self.event == HookEvent::TurnEnd && self.tools.is_some() {
            return Some("tools belongs to before-call and after-edit".to_owned());
        }
        if self.tools.as_ref().is_some_and(Vec::is_empty) {
            return Some(
                "tools = [] names no tool, so the hook would never run: name some, or leave tools out for all".to_owned(),
            );
        }
        let is_wrong = |tool: &&String| {
            let name = tool.strip_suffix('*').unwrap_or(tool);
            tool.is_empty() || name.contains(|c: char| c == '*' || c.is_whitespace())
        };
        if let Some(wrong) = self.tools.iter().flatten().find(is_wrong) {
            return Some(format!(
                "tools: {wrong:?} is neither the name of a tool nor the beginning of names with a * at its end"
            ));
        }
        None
    }

    /// The hook for the host. `origin`: where it is configured.
    pub fn hook(&self, origin: String, pinned: Vec<Pinned>) -> Hook {
        Hook {
            event: self.event,
            command: self.command.line(),
            tools: self.tools.clone(),
            time_limit: self.timeout_secs.map_or(DEFAULT_TIMEOUT, Seconds::duration),
            origin,
            pinned,
        }
    }

    /// The files of a project that its command names.
    pub fn pins(&self, places: HookPlaces<'_>) -> Vec<Pinned> {
        pins(places, &self.command.line())
    }
}

/// The digest that a project's configuration is trusted by: of its text, and of the files that the commands of its hooks
/// name, since tools can change those.
pub fn trusted_digest(text: &str, pinned: &[Pinned]) -> String {
    if pinned.is_empty() {
        return text.to_owned();
    }
    let mut all = text.to_owned();
    for file in pinned {
        all.push_str(&format!("\0{}\0{}", file.path.display(), digest_of(file)));
    }
    sha256_hex(all.as_bytes())
}

/// The digest of a file that a command names, in the word that stands for it where there is none.
pub fn digest_of(file: &Pinned) -> &str {
    file.digest.as_deref().unwrap_or("unreadable")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(text: &str) -> HookEntry {
        toml::from_str(text).unwrap()
    }

    #[test]
    fn commands_are_lines_or_words() {
        let check = |command: &str, line: &str| {
            let entry = entry(&format!("event = \"turn-end\"\ncommand = {command}"));
            assert_eq!(entry.command.line(), line);
            assert_eq!(entry.problem(), None, "{command}");
        };
        check("'cargo fmt'", "cargo fmt");
        check("' a | b '", "a | b");
        check("['cargo', 'fmt']", "cargo fmt");
        check("['a b', '', '$x', 'c']", "'a b' '' '$x' c");
    }

    #[test]
    fn what_is_wrong_is_said() {
        let check = |rest: &str, expected: Option<&str>| {
            let entry = entry(&format!("event = \"before-call\"\n{rest}"));
            assert_eq!(entry.problem().as_deref(), expected, "{rest}");
        };
        check("command = 'a'\ntimeout_secs = 600", None);
        check(
            "command = 'a'\ntools = ['edit_file', 'github__*', '*']",
            None,
        );
        for empty in ["''", "' '", "[]", "['', 'a']"] {
            check(
                &format!("command = {empty}"),
                Some("command must not be empty"),
            );
        }
        check(
            "command = \"a\\u0000\"",
            Some("command must hold no NUL character"),
        );
        let too_long = "event = 'turn-end'\ncommand = 'a'\ntimeout_secs = 601";
        let error = toml::from_str::<HookEntry>(too_long).unwrap_err();
        assert!(error.message().contains("must be at most 600"), "{error}");
        for tool in ["", "a*b", "**", "a b"] {
            let problem = format!(
                "tools: {tool:?} is neither the name of a tool nor the beginning of names with a * at its end"
            );
            check(
                &format!("command = 'a'\ntools = ['{tool}']"),
                Some(&problem),
            );
        }
        check(
            "command = 'a'\ntools = []",
            Some(
                "tools = [] names no tool, so the hook would never run: name some, or leave tools out for all",
            ),
        );
        let turn_end = entry("event = \"turn-end\"\ncommand = 'a'\ntools = ['b']");
        let expected = "tools belongs to before-call and after-edit";
        assert_eq!(turn_end.problem().as_deref(), Some(expected));
    }

    #[test]
    fn trust_covers_the_files_that_are_named() {
        let pin = |digest: Option<&str>| Pinned {
            path: "/p/check.sh".into(),
            digest: digest.map(str::to_owned),
        };
        let all = [
            trusted_digest("a", &[]),
            trusted_digest("b", &[]),
            trusted_digest("a", &[pin(None)]),
            trusted_digest("a", &[pin(Some("1"))]),
            trusted_digest("a", &[pin(Some("2"))]),
            trusted_digest("a", &[pin(Some("2")), pin(Some("2"))]),
        ];
        // A configuration without hooks is trusted by its text alone.
        assert_eq!(all[0], "a");
        let different: std::collections::HashSet<&String> = all.iter().collect();
        assert_eq!(different.len(), all.len());
    }
}
