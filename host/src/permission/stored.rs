//! What stands in the permission file, as used for decisions, and how an answer gets into it.

use std::collections::HashMap;

use super::file::{Contents, Grantee, OperationName};
use super::key::{self, Bits, Decided, Key};
use crate::resolve;
use crate::target::{Need, Operation};

/// A stored key, resolved, as used for decisions.
#[derive(Debug, Default, Clone)]
pub(super) struct StoredEntry {
    pub(super) key: String,
    pub(super) bits: Bits,
    pub(super) grants: HashMap<OperationName, Vec<Grantee>>,
}

/// Resolves the keys of the file. When two mean the same target, what is stricter holds.
pub(super) fn index(contents: &Contents) -> HashMap<Key, StoredEntry> {
    let mut stored: HashMap<Key, StoredEntry> = HashMap::new();
    for (key, bits) in &contents.entries {
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
            bits: *bits,
            grants,
        };
        stored
            .entry(resolved_key(key))
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

/// What a stored key means. A person may have written it through a symbolic link; a key that cannot be
/// resolved stands for itself.
pub(super) fn resolved_key(stored: &str) -> Key {
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
    let before = bits.get(need.operation);
    let grants = contents.digests.grants.entry(stored.clone()).or_default();
    if allow {
        *bits = bits.with(need.operation, Decided::Allow);
        match (before, grants.contains_key(&operation)) {
            // Set by hand for every tool: nothing to add.
            (Decided::Allow, false) => {}
            (Decided::Allow, true) => {
                let grantees = grants.entry(operation).or_default();
                grantees.retain(|other| other.plugin != grantee.plugin);
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
