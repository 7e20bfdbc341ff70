//! What a session tells its agents beside their own system prompts: a default prompt, and instruction files.
//!
//! Endpoints take one system message reliably: many chat templates refuse a second one, or one in parts. So all of it is one
//! text, and the outline of a request names the files in it.

use std::borrow::Cow;
use std::fmt;

/// What stands before the files.
const PREFACE: &str = "These files hold instructions of the user and of the project. Where two of them disagree, \
                       follow the later one.";

/// Fixed when a session begins, so that servers can keep what they have read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instructions {
    /// The system prompt of an agent that has none of its own.
    pub default_prompt: Option<String>,
    /// The files, the most important one last.
    pub files: Vec<InstructionFile>,
}

/// A file that tells the model how to work, such as a project's `AGENTS.md`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InstructionFile {
    /// Its path, as it is shown and sent.
    pub name: String,
    /// What it says.
    pub text: String,
}

/// As it is sent.
impl fmt::Display for InstructionFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InstructionFile { name, text } = self;
        write!(
            f,
            "<instructions file={name:?}>\n{}\n</instructions>",
            text.trim()
        )
    }
}

impl Instructions {
    /// A system prompt with the files behind it.
    pub(crate) fn after<'a>(&self, prompt: Option<&'a str>) -> Option<Cow<'a, str>> {
        if self.files.is_empty() {
            return prompt.map(Cow::Borrowed);
        }
        let mut parts: Vec<Cow<'_, str>> = prompt.map(Cow::Borrowed).into_iter().collect();
        parts.push(Cow::Borrowed(PREFACE));
        let files = self.files.iter();
        parts.extend(files.map(|file| Cow::Owned(file.to_string())));
        Some(Cow::Owned(parts.join("\n\n")))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::agent::Agent;

    #[test]
    fn an_agents_own_prompt_comes_before_the_default_and_the_files_last() {
        let check = |own: Option<&str>, default: Option<&str>, files: &[&str], expected: &str| {
            let files = files.iter().map(|name| InstructionFile {
                name: (*name).to_owned(),
                text: format!("\nFollow {name}.\n\n"),
            });
            let agent = Agent {
                system_prompt: own.map(str::to_owned),
                instructions: Arc::new(Instructions {
                    default_prompt: default.map(str::to_owned),
                    files: files.collect(),
                }),
                ..Agent::sample()
            };
            assert_eq!(agent.system_text().unwrap_or_default(), expected);
            let told = agent.told_only(None).system_text().map(Cow::into_owned);
            assert_eq!(told, None);
        };
        check(None, None, &[], "");
        check(None, Some("Default"), &[], "Default");
        check(Some("Own"), Some("Default"), &[], "Own");
        // Empty means none at all.
        check(Some(""), Some("Default"), &[], "");
        check(Some(" \n"), Some("Default"), &[], "");
        let file =
            |name: &str| format!("<instructions file=\"{name}\">\nFollow {name}.\n</instructions>");
        check(
            Some(""),
            None,
            &["a"],
            &format!("{PREFACE}\n\n{}", file("a")),
        );
        check(
            None,
            Some("Default"),
            &["a", "b/a"],
            &format!("Default\n\n{PREFACE}\n\n{}\n\n{}", file("a"), file("b/a")),
        );
    }
}
