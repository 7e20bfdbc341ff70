//! What the user has set for plugins: an object for each plugin, in a file beside the permissions.
//!
//! The schema of a plugin's settings says what can be set. A file from another version of the plugin may hold what does not
//! fit any more: that is said when the plugin reads it, and nothing is lost.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use serde_json::{Map, Value};

use crate::files::{make_private, open_regular};
use crate::limits::MAX_SETTINGS_BYTES;
use crate::plugin::misfit;

/// The file.
#[derive(Debug, Clone)]
pub struct SettingsFile {
    path: PathBuf,
}

/// Why settings cannot be read or made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// A value is missing, or another one than the schema allows. Not escaped.
    #[error("{problem}")]
    Misfit {
        /// What, and where.
        problem: String,
    },
    /// There is no such setting.
    #[error("there is no setting {name:?}; there are: {known}")]
    Unknown {
        /// What was named.
        name: String,
        /// What can be named.
        known: String,
    },
    /// The plugin says nothing of settings.
    #[error("the plugin {0} has no settings")]
    None(String),
    /// The plugin cannot be looked at.
    #[error(transparent)]
    Plugin(#[from] crate::plugin::LoadError),
    /// No plugin has this name.
    #[error("no plugin is called {0:?}")]
    NoPlugin(String),
    /// The file is damaged.
    #[error(
        "{path} is not a JSON object with one object for each plugin: fix it, or remove it to start over"
    )]
    Damaged {
        /// Which file.
        path: PathBuf,
        /// What the reader says.
        source: serde_json::Error,
    },
    /// The file is too large.
    #[error("{path} would have more than {MAX_SETTINGS_BYTES} bytes")]
    TooLarge {
        /// Which file.
        path: PathBuf,
    },
    /// The operating system reports a failure.
    #[error("cannot use {path}")]
    Io {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// One setting of a plugin.
#[derive(Debug, Clone, PartialEq)]
pub struct Setting {
    /// Its name. Written by the plugin: escape before showing.
    pub name: String,
    /// What it is for, and what it takes. Written by the plugin.
    pub schema: Value,
    /// What the user has set.
    pub value: Option<Value>,
    /// Whether the plugin's tools fail without it.
    pub is_missing: bool,
}

/// The settings of a plugin.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct PluginSettings {
    /// In the order of the schema.
    pub settings: Vec<Setting>,
}

impl PluginSettings {
    pub(crate) fn new(schema: &Value, set: &Set) -> PluginSettings {
        let required = schema.get("required").and_then(Value::as_array);
        let is_required = |name: &str| {
            let mut required = required.into_iter().flatten();
            required.any(|it| it.as_str() == Some(name))
        };
        let setting = |(name, schema): (&String, &Value)| Setting {
            name: name.clone(),
            schema: schema.clone(),
            value: set.get(name).cloned(),
            is_missing: is_required(name)
                && schema.get("default").is_none()
                && !set.contains_key(name),
        };
        PluginSettings {
            settings: properties(schema).map(setting).collect(),
        }
    }
}

/// What is set, by name.
type Set = Map<String, Value>;

impl SettingsFile {
    /// `plugin.settings.json` beside the permission file.
    pub fn beside(permissions: &Path) -> SettingsFile {
        SettingsFile {
            path: permissions.with_file_name("plugin.settings.json"),
        }
    }

    /// What is set for a plugin, which is named by its identity.
    pub(crate) fn of(&self, plugin: &str) -> Result<Set, SettingsError> {
        Ok(self.read()?.remove(plugin).unwrap_or_default())
    }

    /// Sets values, and removes those that are `None`. All of them are checked before anything is written.
    pub(crate) fn set(
        &self,
        plugin: &str,
        schema: &Value,
        changes: Vec<(String, Option<Value>)>,
    ) -> Result<(), SettingsError> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        make_private(folder).map_err(|e| self.io(e))?;
        // Two of them at once: the later one sees what the earlier one has written.
        let lock = File::create(self.path.with_extension("lock")).map_err(|e| self.io(e))?;
        flock(&lock, FlockOperation::LockExclusive).map_err(|e| self.io(e.into()))?;
        let mut all = self.read()?;
        let own = all.entry(plugin.to_owned()).or_default();
        for (name, value) in changes {
            check_one(schema, &name, value.as_ref())?;
            match value {
                Some(value) => own.insert(name, value),
                None => own.remove(&name),
            };
        }
        let bytes = serde_json::to_vec_pretty(&all).unwrap_or_default();
        if bytes.len() as u64 > MAX_SETTINGS_BYTES {
            let path = self.path.clone();
            return Err(SettingsError::TooLarge { path });
        }
        let write = || -> io::Result<()> {
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            file.write_all(&bytes)?;
            file.as_file().sync_all()?;
            file.persist(&self.path).map_err(|e| e.error)?;
            Ok(())
        };
        write().map_err(|e| self.io(e))
    }

    /// Forgets what is set for a plugin, which is named by its identity.
    ///
    /// # Errors
    /// The file cannot be read or written.
    pub fn forget(&self, plugin: &str) -> Result<(), SettingsError> {
        let names = self.of(plugin)?.into_iter().map(|(name, _)| (name, None));
        let names: Vec<_> = names.collect();
        match names.is_empty() {
            true => Ok(()),
            // Whatever the schema knows by now.
            false => self.set(plugin, &Value::Null, names),
        }
    }

    fn read(&self) -> Result<std::collections::BTreeMap<String, Set>, SettingsError> {
        let mut text = Vec::new();
        let read = open_regular(&self.path)
            .and_then(|file| file.take(MAX_SETTINGS_BYTES + 1).read_to_end(&mut text));
        match read {
            Ok(_) if text.len() as u64 > MAX_SETTINGS_BYTES => {
                let path = self.path.clone();
                Err(SettingsError::TooLarge { path })
            }
            Ok(_) => serde_json::from_slice(&text).map_err(|source| SettingsError::Damaged {
                path: self.path.clone(),
                source,
            }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Default::default()),
            Err(e) => Err(self.io(e)),
        }
    }

    fn io(&self, source: io::Error) -> SettingsError {
        SettingsError::Io {
            path: self.path.clone(),
            source,
        }
    }
}

/// The settings as the plugin gets them: with the defaults of what is not set.
pub(crate) fn complete(schema: &Value, mut set: Set) -> Result<Value, SettingsError> {
    for (name, property) in properties(schema) {
        if let Some(default) = property.get("default")
            && !set.contains_key(name)
        {
            set.insert(name.clone(), default.clone());
        }
    }
    let settings = Value::Object(set);
    match misfit(schema, &settings) {
        None => Ok(settings),
        Some(problem) => Err(SettingsError::Misfit { problem }),
    }
}

/// The settings that a schema has, with what it says of each.
pub(crate) fn properties(schema: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten()
}

/// Checks one value by itself: the others may be missing still.
fn check_one(schema: &Value, name: &str, value: Option<&Value>) -> Result<(), SettingsError> {
    let Some(value) = value else {
        return Ok(());
    };
    if !properties(schema).any(|(known, _)| known == name) {
        let known: Vec<&str> = properties(schema).map(|(name, _)| name.as_str()).collect();
        return Err(SettingsError::Unknown {
            name: name.to_owned(),
            known: known.join(", "),
        });
    }
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        schema.remove("required");
    }
    let one = Value::Object([(name.to_owned(), value.clone())].into_iter().collect());
    match misfit(&schema, &one) {
        None => Ok(()),
        Some(problem) => Err(SettingsError::Misfit { problem }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "unit": {"type": "string", "enum": ["words", "lines"], "default": "words"},
                "most": {"type": "integer", "minimum": 1},
            },
            "required": ["most"],
            "additionalProperties": false,
        })
    }

    fn one(name: &str, value: Value) -> Vec<(String, Option<Value>)> {
        vec![(name.to_owned(), Some(value))]
    }

    #[test]
    fn what_is_not_set_has_its_default() {
        let folder = tempfile::tempdir().unwrap();
        let file = SettingsFile::beside(&folder.path().join("config/tool.permissions.json"));
        let read = || complete(&schema(), file.of("p").unwrap());
        let said = |result: Result<Value, SettingsError>| result.map_err(|e| e.to_string());
        assert_eq!(
            said(read()),
            Err("\"most\" is a required property".to_owned())
        );
        file.set("p", &schema(), one("most", json!(3))).unwrap();
        assert_eq!(said(read()), Ok(json!({"most": 3, "unit": "words"})));
        file.set("p", &schema(), one("unit", json!("lines")))
            .unwrap();
        assert_eq!(said(read()), Ok(json!({"most": 3, "unit": "lines"})));
        file.set("p", &schema(), vec![("unit".to_owned(), None)])
            .unwrap();
        assert_eq!(said(read()), Ok(json!({"most": 3, "unit": "words"})));
        // Another plugin has none of it.
        assert_eq!(file.of("q").unwrap(), Map::new());
        file.forget("p").unwrap();
        assert_eq!(file.of("p").unwrap(), Map::new());
    }

    #[test]
    fn what_does_not_fit_is_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = SettingsFile::beside(&folder.path().join("tool.permissions.json"));
        for (name, value, expected) in [
            (
                "most",
                json!(0),
                "0 is less than the minimum of 1 (at /most)",
            ),
            (
                "most",
                json!("3"),
                "\"3\" is not of type \"integer\" (at /most)",
            ),
            (
                "mots",
                json!(3),
                "there is no setting \"mots\"; there are: unit, most",
            ),
        ] {
            let error = file.set("p", &schema(), one(name, value)).unwrap_err();
            assert_eq!(error.to_string(), expected);
        }
        assert_eq!(file.of("p").unwrap(), Map::new());
        std::fs::write(&file.path, "[1]").unwrap();
        let error = file.of("p").unwrap_err().to_string();
        assert!(
            error.contains("is not a JSON object with one object for each plugin"),
            "{error}"
        );
        // Nothing is written over what a person may have made.
        assert!(file.set("p", &schema(), one("most", json!(3))).is_err());
        assert_eq!(std::fs::read(&file.path).unwrap(), b"[1]");
    }
}
