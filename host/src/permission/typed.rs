//! What a person types: keys and three characters, set and taken away by hand.

use std::path::{Path, PathBuf};

use super::file::Order;
use super::key::{Bits, Decided, Key};
use super::stored::resolved_key;
use super::{PermissionError, Permissions, SessionAnswer};
use crate::resolve;
use crate::target::{Operation, Target};

impl Permissions {
    /// Allows a target to every tool until the session ends, as a person asked for on the command line. Returns the key.
    pub fn allow_for_session(&self, target: &str, bits: &str) -> Result<String, PermissionError> {
        let bits: Bits = bits.parse()?;
        let key = self.typed_key(target)?;
        self.refuse_protected(&key, bits)?;
        let mut state = self.lock();
        for operation in Operation::ALL {
            let allow = match bits.get(operation) {
                Decided::Allow => true,
                Decided::Deny => false,
                Decided::Open => continue,
            };
            let answers = state.session.entry((key.clone(), operation)).or_default();
            answers.push(SessionAnswer {
                allow,
                plugin: None,
            });
        }
        Ok(key.to_string())
    }

    /// Stores three characters for a target, for every tool. `???` removes the key. Returns the key.
    ///
    /// A target that ends with `/` means all below it, and a bare word what it means in [`Permissions::explain`].
    pub fn set(&self, target: &str, bits: &str) -> Result<String, PermissionError> {
        let bits: Bits = bits.parse()?;
        let key = self.typed_key(target)?;
        self.refuse_protected(&key, bits)?;
        let stored = key.to_string();
        self.files.update(Order::PermissionsFirst, |contents| {
            contents
                .entries
                .retain(|(other, _)| *other != stored && resolved_key(other) != key);
            if !bits.is_open() {
                contents.entries.push((stored.clone(), bits));
            }
            contents.digests.grants.remove(&stored);
        })?;
        Ok(stored)
    }

    /// Removes a key. `false` when there was none.
    pub fn unset(&self, target: &str) -> Result<bool, PermissionError> {
        // What stands in the file must be removable even if it resolves to something else by now.
        let key = self.typed_key(target).ok();
        self.files.update(Order::PermissionsFirst, |contents| {
            let before = contents.entries.len();
            contents.entries.retain(|(other, _)| {
                let same =
                    other == target || key.as_ref().is_some_and(|key| resolved_key(other) == *key);
                if same {
                    contents.digests.grants.remove(other);
                }
                !same
            });
            contents.entries.len() < before
        })
    }

    fn refuse_protected(&self, key: &Key, bits: Bits) -> Result<(), PermissionError> {
        let allows = Operation::ALL
            .iter()
            .any(|operation| bits.get(*operation) == Decided::Allow);
        match key {
            Key::Exact(path) | Key::Below(path)
                if allows && self.is_protected(&Target::Path(path.clone())) =>
            {
                Err(PermissionError::Protected {
                    target: path.display().to_string(),
                })
            }
            _ => Ok(()),
        }
    }

    /// The target that a person asks about: what a tool would have to name to use it. A bare word that is no
    /// file of the project is looked for among the programs.
    pub(super) fn typed_target(&self, typed: &str) -> Result<Target, PermissionError> {
        if is_address(typed) {
            return Ok(resolve::url(typed)?);
        }
        let path = self.places.path(typed)?;
        Ok(match self.typed_program(typed, &path) {
            Some(program) => Target::Program(program),
            None => Target::Path(path),
        })
    }

    /// The program that a bare word means, where it is no file of the project.
    fn typed_program(&self, typed: &str, path: &Path) -> Option<PathBuf> {
        if typed.contains('/') || path.exists() {
            return None;
        }
        self.places.program(typed, &self.search_path).ok()
    }

    /// The key for what a person typed.
    pub(super) fn typed_key(&self, typed: &str) -> Result<Key, PermissionError> {
        if is_address(typed) {
            return Ok(resolve::url_key(typed)?.into());
        }
        let path = self.places.path(typed)?;
        Ok(if typed.ends_with('/') {
            Key::Below(path)
        } else {
            Key::Exact(self.typed_program(typed, &path).unwrap_or(path))
        })
    }
}

/// Whether a person means an address, of whichever scheme: that of another than the web's is said to be none, and is
/// not taken for a file.
fn is_address(typed: &str) -> bool {
    let scheme = typed.split_once("://").map_or("", |(scheme, _)| scheme);
    !scheme.is_empty() && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())
}
