//! The model that the first run can offer whatever else there is: one that runs in this process.

use crate::app::App;
use crate::config::paths::Folders;
use crate::error::CliError;
use crate::models::{self, CATALOGUE, Entry, SMALLEST};
use dunlin_host::display::size;

/// A model that is here or can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BuiltIn {
    name: String,
    /// What is known of it.
    entry: Option<&'static Entry>,
    is_here: bool,
}

impl BuiltIn {
    /// The one to offer: what is here already, the best first, otherwise the smallest.
    pub fn to_offer(folders: &Folders) -> BuiltIn {
        let here = models::installed(&folders.models()).unwrap_or_default();
        // The smallest stands first.
        let known = CATALOGUE
            .iter()
            .rev()
            .find(|entry| here.iter().any(|model| model.name == entry.name));
        match (known, here.first()) {
            (Some(entry), _) => BuiltIn {
                name: entry.name.to_owned(),
                entry: Some(entry),
                is_here: true,
            },
            (None, Some(model)) => BuiltIn {
                name: model.name.clone(),
                entry: None,
                is_here: true,
            },
            (None, None) => BuiltIn {
                name: SMALLEST.name.to_owned(),
                entry: Some(&SMALLEST),
                is_here: false,
            },
        }
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it can be used without a download.
    pub fn is_here(&self) -> bool {
        self.is_here
    }

    /// What to expect of it, in one line.
    pub fn describe(&self) -> String {
        let name = &self.name;
        let about = self.entry.map_or("", |entry| entry.about);
        match (self.is_here, self.entry) {
            (false, Some(entry)) => format!(
                "built in · {name}: downloads {}, runs on this machine, {about}",
                size(entry.bytes)
            ),
            (_, Some(_)) => format!("built in · {name}: runs on this machine, {about}"),
            (_, None) => format!("built in · {name}: runs on this machine"),
        }
    }

    /// What the table of an agent has that it answers for.
    pub fn fields(&self) -> String {
        let quote = |text: &str| toml::Value::String(text.to_owned()).to_string();
        let mut text = format!("api = \"local\"\nmodel = {}\n", quote(&self.name));
        if let Some(tools) = self.entry.and_then(|entry| entry.tools) {
            let tools: Vec<String> = tools.iter().map(|tool| quote(tool)).collect();
            // The likeliest word is the only one that such a model can be trusted with.
            text += &format!("temperature = 0.0\ntools = [{}]\n", tools.join(", "));
        }
        text
    }

    /// What is asked before it is made the agent.
    pub fn question(&self) -> String {
        match (self.is_here, self.entry) {
            (false, Some(entry)) => {
                format!(
                    "Download {} and save this configuration?",
                    size(entry.bytes)
                )
            }
            _ => "Save this configuration?".to_owned(),
        }
    }

    /// Fetches it, unless it is here.
    pub fn fetch(&self, app: &App) -> Result<(), CliError> {
        match self.entry.filter(|_| !self.is_here) {
            Some(entry) => super::model::local::pull(app, entry),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::agent::ApiName;
    use crate::config::file::{Author, Loaded};

    fn folders(home: &Path) -> Folders {
        Folders {
            home: None,
            config: home.join("config"),
            data: home.join("data"),
            cache: home.join("cache"),
            run: home.join("run"),
        }
    }

    #[test]
    fn what_is_here_comes_first() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        let offered = || BuiltIn::to_offer(&folders);
        assert_eq!(
            (offered().name(), offered().is_here()),
            ("smollm2-135m", false)
        );
        assert_eq!(
            offered().question(),
            "Download 98 MB and save this configuration?"
        );
        std::fs::create_dir_all(folders.models()).unwrap();
        for (name, first) in [
            ("my-own", "my-own"),
            ("smollm2-135m", "smollm2-135m"),
            ("qwen2.5-1.5b", "qwen2.5-1.5b"),
        ] {
            std::fs::write(folders.models().join(format!("{name}.gguf")), "").unwrap();
            assert_eq!((offered().name(), offered().is_here()), (first, true));
        }
    }

    #[test]
    fn what_is_written_is_valid() {
        for (name, entry) in [("a\"b", None), ("smollm2-135m", Some(&SMALLEST))] {
            let offered = BuiltIn {
                name: name.to_owned(),
                entry,
                is_here: true,
            };
            let text = format!("[agents.assistant]\n{}", offered.fields());
            let loaded = Loaded::parse(Path::new("config.toml"), &text, Author::User).unwrap();
            let agent = loaded.file.agents["assistant"].get_ref();
            assert_eq!(agent.api, Some(ApiName::Local));
            assert_eq!(agent.model.as_deref(), Some(name), "{text}");
            assert_eq!(agent.tools.is_some(), entry.is_some(), "{text}");
        }
    }
}
