//! The folders: where configuration, data and cache are, and which folder is the project.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use super::env::{self, Environment};

/// Only the user may read what Dunlin writes: keys' places, conversations, what was granted.
pub const PRIVATE_FILE_MODE: u32 = 0o600;

/// Anything that group or others may do with a file that is to be private.
pub const OPEN_TO_OTHERS: u32 = 0o077;

/// Only the user may look into Dunlin's folders: they hold conversations and permissions.
const PRIVATE_FOLDER_MODE: u32 = 0o700;

/// What marks the top of a project.
const PROJECT_MARKS: [&str; 2] = [".git", ".dunlin"];

/// Where things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Folders {
    /// `~`, if it is known.
    pub home: Option<PathBuf>,
    /// `$XDG_CONFIG_HOME/dunlin`: what the user writes.
    pub config: PathBuf,
    /// `$XDG_DATA_HOME/dunlin`: what Dunlin writes and the user wants to keep.
    pub data: PathBuf,
    /// `$XDG_CACHE_HOME/dunlin`: what can be made again.
    pub cache: PathBuf,
}

/// There is neither a home folder nor the variable that would replace it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("neither HOME nor {variable} names an absolute folder")]
pub struct NoHome {
    /// The XDG variable that would have been enough.
    pub variable: &'static str,
}

impl Folders {
    /// Finds the folders, without touching them. Relative paths in XDG variables are ignored, as
    /// their specification demands.
    pub fn find(environment: &Environment) -> Result<Folders, NoHome> {
        let absolute = |name| {
            environment
                .get(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let home = absolute(env::HOME);
        let base = |variable: &'static str, below_home: &str| {
            absolute(variable)
                .or_else(|| home.as_ref().map(|home| home.join(below_home)))
                .map(|base| base.join("dunlin"))
                .ok_or(NoHome { variable })
        };
        Ok(Folders {
            config: base(env::XDG_CONFIG_HOME, ".config")?,
            data: base(env::XDG_DATA_HOME, ".local/share")?,
            cache: base(env::XDG_CACHE_HOME, ".cache")?,
            home,
        })
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// The headers for certain sites.
    pub fn sites_file(&self) -> PathBuf {
        self.config.join("web_fetch.json")
    }

    /// The stored permissions.
    pub fn permissions_file(&self) -> PathBuf {
        self.config.join("tool.permissions.json")
    }

    /// What was typed at the prompt.
    pub fn history_file(&self) -> PathBuf {
        self.data.join("history")
    }

    /// Which projects' configurations are trusted.
    pub fn trust_file(&self) -> PathBuf {
        self.data.join("trusted.json")
    }

    /// Every decision and every use.
    pub fn audit_file(&self) -> PathBuf {
        self.data.join("audit.jsonl")
    }

    /// What edited files held before.
    pub fn undo(&self) -> PathBuf {
        self.data.join("undo")
    }

    /// What plugins keep for themselves.
    pub fn stores(&self) -> PathBuf {
        self.data.join("stores")
    }

    /// Models that run in this process.
    pub fn models(&self) -> PathBuf {
        self.data.join("models")
    }

    /// The installed plugins.
    pub fn plugins(&self) -> PathBuf {
        self.data.join("plugins")
    }

    /// What plugins log.
    pub fn plugin_log_file(&self) -> PathBuf {
        self.data.join("plugins.jsonl")
    }

    /// A path for people: `~/` instead of the home folder.
    pub fn short(&self, path: &Path) -> String {
        match self
            .home
            .as_deref()
            .and_then(|home| path.strip_prefix(home).ok())
        {
            Some(rest) if rest.as_os_str().is_empty() => "~".to_owned(),
            Some(rest) => format!("~/{}", rest.display()),
            None => path.display().to_string(),
        }
    }

    /// What people type: `~/` becomes the home folder, and a relative path starts at `base`.
    pub fn resolve(&self, typed: &str, base: &Path) -> PathBuf {
        match (typed.strip_prefix("~/"), &self.home) {
            (Some(rest), Some(home)) => home.join(rest),
            _ => base.join(typed),
        }
    }
}

/// Makes a folder and what is missing above it, readable by the user alone.
pub fn make_private(folder: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE_FOLDER_MODE)
        .create(folder)
}

/// The project of a folder: the nearest folder above it, or itself, with `.git` or `.dunlin`.
///
/// The home folder and `/` are no projects, whatever they hold: reading inside a project is allowed
/// without a question, and these hold everything. Then it is the folder itself.
pub fn find_project(current: &Path, home: Option<&Path>) -> PathBuf {
    const SUPERUSER: u32 = 0;
    let user = rustix::process::geteuid().as_raw();
    let is_project = |folder: &Path| {
        Some(folder) != home
            && folder.parent().is_some()
            && PROJECT_MARKS.iter().any(|mark| {
                // Somebody else's mark in a shared folder must not open all of it to tools.
                let owner = folder
                    .join(mark)
                    .symlink_metadata()
                    .map(|found| found.uid());
                owner.is_ok_and(|owner| owner == user || owner == SUPERUSER)
            })
    };
    let found = current.ancestors().find(|folder| is_project(folder));
    found.unwrap_or(current).to_path_buf()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_follow_the_xdg_rules() {
        let check = |variables: &[(&str, &str)], expected: Result<[&str; 3], &str>| {
            let environment = variables.iter().copied().collect();
            let found = Folders::find(&environment)
                .map(|folders| [folders.config, folders.data, folders.cache])
                .map_err(|error| error.to_string());
            let expected = expected
                .map(|paths| paths.map(PathBuf::from))
                .map_err(str::to_owned);
            assert_eq!(found, expected, "{variables:?}");
        };
        check(
            &[("HOME", "/h")],
            Ok([
                "/h/.config/dunlin",
                "/h/.local/share/dunlin",
                "/h/.cache/dunlin",
            ]),
        );
        check(
            &[
                ("HOME", "/h"),
                ("XDG_CONFIG_HOME", "/c"),
                ("XDG_DATA_HOME", "relative"),
                ("XDG_CACHE_HOME", ""),
            ],
            Ok(["/c/dunlin", "/h/.local/share/dunlin", "/h/.cache/dunlin"]),
        );
        check(
            &[
                ("XDG_CONFIG_HOME", "/c"),
                ("XDG_DATA_HOME", "/d"),
                ("XDG_CACHE_HOME", "/k"),
            ],
            Ok(["/c/dunlin", "/d/dunlin", "/k/dunlin"]),
        );
        check(
            &[],
            Err("neither HOME nor XDG_CONFIG_HOME names an absolute folder"),
        );
    }

    #[test]
    fn the_nearest_mark_is_the_project() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        for folder in [
            ".git",
            "plain/deep",
            "repo/.git",
            "repo/src",
            "repo/inner/.dunlin",
        ] {
            std::fs::create_dir_all(home.join(folder)).unwrap();
        }
        let check = |current: &str, expected: &str| {
            assert_eq!(
                find_project(&home.join(current), Some(home)),
                home.join(expected),
                "{current}"
            );
        };
        check("repo/src", "repo");
        check("repo", "repo");
        check("repo/inner", "repo/inner");
        check("plain/deep", "plain/deep");
        check("", "");
        assert_eq!(find_project(Path::new("/"), Some(home)), Path::new("/"));
    }
}
