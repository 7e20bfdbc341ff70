//! What stands in the permission file, as used for decisions, and how an answer gets into it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::file::{Contents, Grantee, OperationName};
use super::key::{self, Bits, Decided, Key};
use crate::resolve;
use crate::target::{CommandKey, Need, Operation};

/// A stored key, resolved, as used for decisions.
#[derive(Debug, Default, Clone)]
pub(super) struct StoredEntry {
    pub(super) key: String,
    pub(super) bits: Bits,
    pub(super) grants: HashMap<OperationName, Vec<Grantee>>,
}

/// Resolves the keys of the file. When two mean the same target, what is stricter holds. `changeable`: the folders in which
/// commands can replace what is there.
pub(super) fn index(contents: &Contents, changeable: &[PathBuf]) -> HashMap<Key, StoredEntry> {
    let mut stored: HashMap<Key, StoredEntry> = HashMap::new();
    let entries = contents.entries.iter();
    let writable = entries
        .clone()
        .filter(|(key, bits)| key.starts_with('/') && bits.get(Operation::Write) == Decided::Allow);
    let changeable: Vec<PathBuf> = writable
        .map(|(key, _)| key::stored_path(key))
        .chain(changeable.iter().cloned())
        .collect();
    let all = entries.flat_map(|(key, bits)| {
        let all = meanings(key, *bits, &changeable).into_iter();
        all.map(move |(resolved, bits)| (resolved, key, bits))
    });
    for (resolved, key, bits) in all {
        let grants = contents
            .digests
            .grants
            .get(key)
            .cloned()
            .unwrap_or_default()
            .into_iter()
            .collect();
        let entry = StoredEntry {
            key: key.clone(),
            bits,
            grants,
        };
        stored
            .entry(resolved)
            .and_modify(|other| {
                for operation in Operation::ALL {
                    let stricter = match (other.bits.get(operation), bits.get(operation)) {
                        (Decided::Deny, _) | (_, Decided::Deny) => Decided::Deny,
                        (Decided::Open, _) | (_, Decided::Open) => Decided::Open,
                        (Decided::Allow, Decided::Allow) => Decided::Allow,
                    };
                    other.bits = other.bits.with(operation, stricter);
                    // Only those hold that both keys name; a key set by hand names everybody.
                    let name = OperationName::from(operation);
                    if let Some(more) = entry.grants.get(&name) {
                        other
                            .grants
                            .entry(name)
                            .and_modify(|grantees| grantees.retain(|g| more.contains(g)))
                            .or_insert_with(|| more.clone());
                    }
                }
            })
            .or_insert_with(|| entry.clone());
    }
    stored
}

/// The keys that a stored key stands for, with what is decided about each.
fn meanings(stored: &str, bits: Bits, changeable: &[PathBuf]) -> Vec<(Key, Bits)> {
    if CommandKey::is_command(stored) || key::is_url(stored) {
        return vec![(resolved_key(stored), bits)];
    }
    let mut keys: Vec<(Key, Bits)> = Vec::new();
    let path = key::stored_path(stored);
    let command = command_key(stored).map(Key::Command);
    if goes_through_changeable_link(&path, changeable) {
        // A command that puts a link in the place of what was granted must not move the grant to where the link
        // leads. A no holds for both.
        let denied = |bits: Bits| {
            Operation::ALL
                .into_iter()
                .filter(|operation| bits.get(*operation) == Decided::Deny)
                .fold(Bits::default(), |all, it| all.with(it, Decided::Deny))
        };
        keys.push((resolved_key(stored), denied(bits)));
        keys.extend(command.map(|key| (key, denied(bits))));
        let (files, programs) = match stored.ends_with('/') {
            true => (Key::Below(path.clone()), CommandKey::Below(path)),
            false => (Key::Exact(path.clone()), CommandKey::Program(path)),
        };
        keys.push((files, bits));
        keys.push((Key::Command(programs), bits));
    } else {
        keys.push((resolved_key(stored), bits));
        keys.extend(command.map(|key| (key, bits)));
    }
    keys
}

/// Whether a path leads through a link that commands can replace.
fn goes_through_changeable_link(path: &Path, changeable: &[PathBuf]) -> bool {
    path.ancestors().any(|part| {
        let called = resolve::called_path(part).ok().flatten();
        called.is_some_and(|called| {
            changeable.iter().any(|folder| called.starts_with(folder))
                && resolve::real_path(part).is_ok_and(|real| real != called)
        })
    })
}

/// What a stored key means for commands; `None`: nothing.
///
/// Paths are programs there, and they are called by their own name: only the folder of a path is resolved.
pub(super) fn command_key(stored: &str) -> Option<CommandKey> {
    if CommandKey::is_command(stored) {
        return stored.parse().ok();
    }
    if key::is_url(stored) {
        return None;
    }
    let path = key::stored_path(stored);
    if stored.ends_with('/') {
        return Some(CommandKey::Below(resolve::real_path(&path).unwrap_or(path)));
    }
    let called = resolve::called_path(&path).ok().flatten();
    Some(CommandKey::Program(called.unwrap_or(path)))
}

/// What a stored key means. A person may have written it through a symbolic link; a key that cannot be
/// resolved stands for itself.
pub(super) fn resolved_key(stored: &str) -> Key {
    if CommandKey::is_command(stored) {
        // One that means nothing is not read from the file.
        return Key::Command(
            stored
                .parse()
                .unwrap_or_else(|_| CommandKey::Text(stored.to_owned())),
        );
    }
    if key::is_url(stored) {
        // One that means nothing is not read from the file; here it would stand for itself.
        return match resolve::url_key(stored) {
            Ok(key) => key.into(),
            Err(_) => Key::Url(stored.to_owned()),
        };
    }
    let path = key::stored_path(stored);
    let path = resolve::real_path(&path).unwrap_or(path);
    if stored.ends_with('/') {
        Key::Below(path)
    } else {
        Key::Exact(path)
    }
}

/// Where a grant holds, and the files that it is bound to.
fn place_of(grantee: &Grantee) -> Option<(&Option<PathBuf>, Vec<&PathBuf>)> {
    let runs = grantee.runs.as_ref()?;
    Some((&runs.folder, runs.files.keys().collect()))
}

pub(super) fn store_answer(contents: &mut Contents, need: &Need, grantee: &Grantee, allow: bool) {
    let key = Key::exact(&need.target);
    let stored = key.to_string();
    let operation = OperationName::from(need.operation);
    let at = contents
        .entries
        .iter()
        .position(|(other, _)| *other == stored)
        .unwrap_or_else(|| {
            contents.entries.push((stored.clone(), Bits::default()));
            contents.entries.len() - 1
        });
    let bits = &mut contents.entries[at].1;
    if CommandKey::is_command(&stored) {
        // Reading and writing mean nothing for a command.
        *bits = bits
            .with(Operation::Read, Decided::Deny)
            .with(Operation::Write, Decided::Deny);
    }
    let before = bits.get(need.operation);
    let grants = contents.digests.grants.entry(stored.clone()).or_default();
    if allow {
        *bits = bits.with(need.operation, Decided::Allow);
        match (before, grants.contains_key(&operation)) {
            // Set by hand for every tool: nothing to add.
            (Decided::Allow, false) => {}
            (Decided::Allow, true) => {
                let grantees = grants.entry(operation).or_default();
                // One command may be granted in several forms: in other projects, with other files of the same names.
                grantees.retain(|other| {
                    other.plugin != grantee.plugin
                        || (other.runs.is_some()
                            && other.digest == grantee.digest
                            && place_of(other) != place_of(grantee))
                });
                grantees.push(grantee.clone());
            }
            (Decided::Deny | Decided::Open, _) => {
                grants.insert(operation, vec![grantee.clone()]);
            }
        }
    } else {
        *bits = bits.with(need.operation, Decided::Deny);
        grants.remove(&operation);
    }
    if grants.is_empty() {
        contents.digests.grants.remove(&stored);
    }
}
