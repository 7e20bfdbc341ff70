//! Finds out which files a build depends on.
//!
//! The compiler knows best: cargo writes the list of all files of the workspace that went into a
//! module beside it, in the notation of make. Only manifests are missing there.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::BuildError;

/// Every file and folder that went into these modules, sorted.
pub(crate) fn of(workspace: &Path, modules: &[PathBuf]) -> Result<Vec<PathBuf>, BuildError> {
    let mut inputs = BTreeSet::from([workspace.join("Cargo.toml"), workspace.join("Cargo.lock")]);
    for module in modules {
        let list = module.with_extension("d");
        let text =
            fs::read_to_string(&list).map_err(|source| BuildError::file("read", &list, source))?;
        for file in parse(&text) {
            inputs.extend(manifest_of(&file));
            // A new file in the contract's folder is part of it without being named anywhere.
            if file.extension().is_some_and(|extension| extension == "wit") {
                inputs.extend(file.parent().map(Path::to_owned));
            }
            inputs.insert(file);
        }
    }
    Ok(inputs.into_iter().collect())
}

/// The files behind the colons of a make rule, where a space in a name is written `\ `.
pub(crate) fn parse(text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for line in text.lines() {
        let Some((_, list)) = line.split_once(": ") else {
            continue;
        };
        let mut name = String::new();
        let mut letters = list.chars().peekable();
        while let Some(letter) = letters.next() {
            match letter {
                '\\' if letters.peek() == Some(&' ') => name.extend(letters.next()),
                ' ' => files.push(std::mem::take(&mut name)),
                letter => name.push(letter),
            }
        }
        files.push(name);
    }
    files.retain(|name| !name.is_empty());
    files.into_iter().map(PathBuf::from).collect()
}

/// The manifest of the package that a source file belongs to.
fn manifest_of(file: &Path) -> Option<PathBuf> {
    file.ancestors()
        .skip(1)
        .map(|folder| folder.join("Cargo.toml"))
        .find(|manifest| manifest.is_file())
}
