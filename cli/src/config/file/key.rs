//! The names of keys, and keys that were written where a name belongs: those are never repeated, since what a
//! message shows ends in terminals, logs and reports.

use std::collections::BTreeMap;

use toml::Spanned;

use super::{Author, KeyEntry};
use dunlin_host::display::own_command;
use dunlin_host::nearest::nearest;

/// The longest name of a key that a message repeats, in characters. Keys of providers are longer, names are not.
const MAX_NAME_CHARS: usize = 24;

/// What is wrong with where a key is to be found.
pub(super) fn entry_problem(name: &str, entry: &KeyEntry) -> Option<String> {
    let KeyEntry { env, file, keyring } = entry;
    let given = || [env, file, keyring].into_iter().flatten();
    if given().count() != 1 {
        return Some(format!("[keys.{name}] needs one of env, file and keyring"));
    }
    given().any(|text| begins_as_key(text)).then(|| {
        format!(
            "[keys.{name}] says where the key is, and this looks like the key itself; write \
             env = \"VARIABLE\", or keyring = \"{name}\" and run {}",
            own_command(&["config", "key", "set", name])
        )
    })
}

/// What is wrong with the name of a key in this field.
pub(super) fn name_problem(
    field: &str,
    key: Option<&str>,
    keys: &BTreeMap<String, Spanned<KeyEntry>>,
    author: Author,
) -> Option<String> {
    // A project names a key of the user's.
    if author == Author::Project {
        return None;
    }
    let key = key.filter(|name| !keys.contains_key(*name))?;
    if begins_as_key(key) || key.chars().count() > MAX_NAME_CHARS {
        return Some(format!(
            "{field} is a name of [keys], and this looks like the key itself; write {field} = \"NAME\" and \
             under [keys.NAME] env = \"VARIABLE\", or keyring = \"NAME\" and run dunlin config key set NAME"
        ));
    }
    let near = nearest(key, keys.keys().map(String::as_str));
    Some(match near {
        Some(near) => format!("{field} names no [keys.{key}]; the nearest is [keys.{near}]"),
        None => format!("{field} names no [keys.{key}]"),
    })
}

/// Whether this begins as the keys of many providers do.
fn begins_as_key(text: &str) -> bool {
    text.starts_with("sk-") || text.starts_with("sk_")
}
