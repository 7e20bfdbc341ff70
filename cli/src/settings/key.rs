//! Where keys are, and how they are read when one is needed.

use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::SettingsError;
use crate::config::file::KeyEntry;
use crate::config::paths::{Folders, OPEN_TO_OTHERS, WRITABLE_BY_OTHERS};
use crate::keyring;
use dunlin_chat::secret::Secret;

/// The largest key file in bytes. Keys have some hundred; a larger file is something else.
const MAX_KEY_FILE_BYTES: u64 = 16 * 1024;

/// Where a key is. `Debug` does not show it.
#[derive(Debug, Clone)]
pub struct KeyPlace {
    pub(super) name: String,
    /// What the configuration says, and what its paths start at.
    pub(super) entry: Option<(KeyEntry, Folders)>,
    /// What the variable holds, if it is one.
    pub(super) value: Option<Secret>,
}

impl KeyPlace {
    /// No place: a key that is known.
    pub fn known(value: Secret) -> KeyPlace {
        KeyPlace {
            name: String::new(),
            entry: None,
            value: Some(value),
        }
    }

    /// Whether reading it may take as long as the user needs to unlock the keyring, or until that is given up.
    pub fn is_in_keyring(&self) -> bool {
        let entry = self.entry.as_ref().map(|(entry, _)| entry);
        entry.is_some_and(|entry| entry.file.is_none() && entry.keyring.is_some())
    }

    /// Reads it, with a warning about it, if there is one. May wait for the user to unlock the keyring.
    pub fn read(&self) -> Result<(Secret, Option<String>), SettingsError> {
        let name = self.name.as_str();
        let entry = self.entry.as_ref().map(|(entry, _)| entry);
        if let Some((entry, folders)) = &self.entry
            && let Some(file) = entry.file.as_deref()
        {
            let path = folders.resolve(file, &folders.config);
            let (value, open) = read_key_file(&path).map_err(|source| SettingsError::KeyFile {
                key: name.to_owned(),
                path: path.clone(),
                source,
            })?;
            let short = folders.short(&path);
            let folder = path.parent().filter(|folder| is_writable_by_others(folder));
            let warning = match (open, folder.map(|folder| folders.short(folder))) {
                (true, _) => Some(format!(
                    "others may read the key file {short}; chmod 600 {short} closes it"
                )),
                (false, Some(folder)) => Some(format!(
                    "others may replace the key file {short}; chmod 700 {folder} closes its folder"
                )),
                (false, None) => None,
            };
            return Ok((Secret::new(name, value), warning));
        }
        if let Some(account) = entry.and_then(|entry| entry.keyring.as_deref()) {
            return match keyring::get(account) {
                Ok(value) => Ok((Secret::new(name, value.trim()), None)),
                Err(source) => Err(SettingsError::Keyring {
                    key: name.to_owned(),
                    source,
                }),
            };
        }
        let variable = entry
            .and_then(|entry| entry.env.as_deref())
            .unwrap_or_default();
        match self
            .value
            .as_ref()
            .map(|value| value.reveal().trim())
            .filter(|value| !value.is_empty())
        {
            Some(value) => Ok((Secret::new(name, value), None)),
            None => Err(SettingsError::KeyVariable {
                key: name.to_owned(),
                variable: variable.to_owned(),
            }),
        }
    }
}

fn is_writable_by_others(folder: &Path) -> bool {
    let metadata = folder.metadata();
    metadata.is_ok_and(|it| it.permissions().mode() & WRITABLE_BY_OTHERS != 0)
}

/// The first line of a key file, and whether others than the user can read it.
fn read_key_file(path: &Path) -> io::Result<(String, bool)> {
    let file = dunlin_host::files::open_regular(path)?;
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::other("it is not a regular file"));
    }
    let mut text = String::new();
    file.take(MAX_KEY_FILE_BYTES).read_to_string(&mut text)?;
    let key = text.lines().next().unwrap_or_default().trim();
    if key.is_empty() {
        return Err(io::Error::other("its first line is empty"));
    }
    Ok((
        key.to_owned(),
        metadata.permissions().mode() & OPEN_TO_OTHERS != 0,
    ))
}
