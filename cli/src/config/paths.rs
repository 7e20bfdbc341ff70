//! The folders: where configuration, data and cache are, and which folder is the project.

use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::env::{self, Environment};

/// Only the user may read what Dunlin writes: keys' places, conversations, what was granted.
pub const PRIVATE_FILE_MODE: u32 = 0o600;

/// Anything that group or others may do with a file that is to be private.
pub const OPEN_TO_OTHERS: u32 = 0o077;

/// The permissions with which others than the user could put another file in the place of one in a folder.
pub const WRITABLE_BY_OTHERS: u32 = 0o022;

/// What marks the top of a project.
const PROJECT_MARKS: [&str; 2] = [".git", ".dunlin"];

/// Where the home folders of users are.
const HOMES: &str = "/home";

/// The list of accounts.
const ACCOUNTS: &str = "/etc/passwd";

/// What is read of it.
const MAX_ACCOUNTS_BYTES: u64 = 1024 * 1024;

/// Home folders of others that are taken in, of each source. Each is looked at when commands are prepared.
const MAX_HOMES: usize = 100;

const SUPERUSER: u32 = 0;

/// The numbers of accounts of people, by the convention of systemd and of every distribution; the last before
/// `nobody`.
const PEOPLE: std::ops::RangeInclusive<u32> = 1000..=65_533;

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
    /// `$XDG_RUNTIME_DIR/dunlin`, or `run` in the data folder: the sockets of running chats.
    pub run: PathBuf,
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
        let config = base(env::XDG_CONFIG_HOME, ".config")?;
        let data = base(env::XDG_DATA_HOME, ".local/share")?;
        let run = match absolute(env::XDG_RUNTIME_DIR) {
            Some(base) => base.join("dunlin"),
            None => data.join("run"),
        };
        Ok(Folders {
            config,
            run,
            data,
            cache: base(env::XDG_CACHE_HOME, ".cache")?,
            home,
        })
    }

    /// The user's configuration file.
    pub fn config_file(&self) -> PathBuf {
        self.config.join("config.toml")
    }

    /// Where git repositories are moved that commands made unasked.
    pub fn set_aside(&self) -> PathBuf {
        self.data.join("set-aside")
    }

    /// Where an MCP server starts that has no folder in the configuration.
    pub fn of_server(&self, name: &str) -> PathBuf {
        self.data.join("servers").join(name)
    }

    /// The headers for certain sites.
    pub fn sites_file(&self) -> PathBuf {
        self.config.join("web_fetch.json")
    }

    /// Where plugins are searched.
    pub fn plugin_sources_file(&self) -> PathBuf {
        self.config.join("plugin-sources.json")
    }

    /// Whose signatures of plugins are believed.
    pub fn plugin_keys_file(&self) -> PathBuf {
        self.config.join("plugin-keys.json")
    }

    /// Which components were built here, and from which sources.
    pub fn built_plugins_file(&self) -> PathBuf {
        self.data.join("plugins-built.json")
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

    /// Which models were used at which endpoint.
    pub fn used_models_file(&self) -> PathBuf {
        self.data.join("models-used.json")
    }

    /// Context windows and prices of models, as they were fetched.
    pub fn model_table_file(&self) -> PathBuf {
        self.data.join("model-table.tsv")
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

    /// Apps, with their versions.
    pub fn apps(&self) -> PathBuf {
        self.data.join("apps")
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

/// Whether a folder can be a project. A home folder, what lies above one, and `/` cannot: reading inside a project needs
/// no question and commands write there, and these hold the settings and secrets of all programs.
///
/// `folder` and `homes` have no symbolic links. `homes` has all names that mounts give to homes. Touches nothing.
pub fn can_be_project(folder: &Path, homes: &[PathBuf]) -> bool {
    let holds_homes = Path::new(HOMES);
    // Also of users that nothing here knows, such as those of a company's directory.
    let is_home = folder.parent() == Some(holds_homes) || holds_homes.starts_with(folder);
    folder.is_absolute() && !is_home && !homes.iter().any(|home| home.starts_with(folder))
}

/// The home folders of the users of this machine, their links resolved where they exist; `own` is the first.
///
/// With `sudo` and in a container `HOME` is somebody else's, so the accounts of the system count as well: those of
/// people, not those that services run under, whose folders may be projects. What cannot be read is left out.
pub fn home_folders(own: Option<&Path>) -> Vec<PathBuf> {
    let accounts = std::fs::File::open(ACCOUNTS).map_or_else(|_| String::new(), read_accounts);
    let listed = std::fs::read_dir(HOMES).into_iter().flatten().flatten();
    let listed = listed.map(|entry| entry.path()).take(MAX_HOMES);
    let known = homes_of_people(&accounts).take(MAX_HOMES).chain(listed);
    let mut homes = Vec::new();
    for home in own.map(Path::to_path_buf).into_iter().chain(known) {
        let home = home.canonicalize().unwrap_or(home);
        if !homes.contains(&home) {
            homes.push(home);
        }
    }
    homes
}

/// The text of a list of accounts. A comment in it may have any encoding, so bytes that are not UTF-8 are replaced.
fn read_accounts(file: impl Read) -> String {
    let mut bytes = Vec::new();
    // What was read before an error still names accounts.
    let _ = file.take(MAX_ACCOUNTS_BYTES).read_to_end(&mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The home folders in a list of accounts, see passwd(5).
fn homes_of_people(accounts: &str) -> impl Iterator<Item = PathBuf> {
    accounts.lines().filter_map(|line| {
        let mut fields = line.split(':');
        let user: u32 = fields.nth(2)?.parse().ok()?;
        let home = Path::new(fields.nth(2)?);
        let is_person = user == SUPERUSER || PEOPLE.contains(&user);
        let is_folder = home.is_absolute() && home.parent().is_some();
        (is_person && is_folder).then(|| home.to_path_buf())
    })
}

/// The project of a folder: the nearest folder above it, or itself, with `.git` or `.dunlin`.
///
/// Folders that [`can_be_project`] refuses are skipped even if they have such an entry. If no folder is left, the project
/// is the folder itself.
pub fn find_project(current: &Path, homes: &[PathBuf]) -> PathBuf {
    marked_project(current, homes)
        .unwrap_or(current)
        .to_path_buf()
}

/// The nearest folder above, or the folder itself, that is marked as a project.
pub fn marked_project<'a>(current: &'a Path, homes: &[PathBuf]) -> Option<&'a Path> {
    let user = rustix::process::geteuid().as_raw();
    let is_project = |folder: &Path| {
        can_be_project(folder, homes)
            && PROJECT_MARKS.iter().any(|mark| {
                // Somebody else's mark in a shared folder must not open all of it to tools.
                let owner = folder
                    .join(mark)
                    .symlink_metadata()
                    .map(|found| found.uid());
                owner.is_ok_and(|owner| owner == user || owner == SUPERUSER)
            })
    };
    current.ancestors().find(|folder| is_project(folder))
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
                find_project(&home.join(current), &[home.to_path_buf()]),
                home.join(expected),
                "{current}"
            );
        };
        check("repo/src", "repo");
        check("repo", "repo");
        check("repo/inner", "repo/inner");
        check("plain/deep", "plain/deep");
        check("", "");
        assert_eq!(
            find_project(Path::new("/"), &[home.to_path_buf()]),
            Path::new("/")
        );
    }

    #[test]
    fn homes_and_what_is_above_them_are_no_projects() {
        let homes = ["/home/ada", "/data/homes/eva", "/root"].map(PathBuf::from);
        for (folder, expected) in [
            ("/", false),
            ("/home", false),
            ("/home/ada", false),
            ("/home/ada/src", true),
            ("/home/ada/.config", true),
            // Another user's, known or not.
            ("/home/bob", false),
            ("/home/bob/src", true),
            ("/data", false),
            ("/data/homes", false),
            ("/data/homes/eva", false),
            ("/data/homes/eva/x", true),
            ("/data/homes/evan", true),
            ("/root", false),
            ("/root/x", true),
            ("/srv/project", true),
            ("/homestead", true),
            ("/tmp/x", true),
            ("relative", false),
            ("", false),
        ] {
            let found = can_be_project(Path::new(folder), &homes);
            assert_eq!(found, expected, "{folder}");
        }
        assert!(!can_be_project(Path::new("/home/ada"), &[]));
        assert!(can_be_project(Path::new("/root"), &[]));
    }

    #[test]
    fn people_have_homes() {
        let accounts = "root:x:0:0:root:/root:/bin/bash\n\
            daemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n\
            www-data:x:33:33::/var/www:/bin/sh\n\
            ada:x:1000:1000:Ada,,,:/home/ada:/bin/bash\n\
            odd:x:1001:1001::relative:\n\
            rootless:x:1002:1002::/:/bin/sh\n\
            nobody:x:65534:65534:nobody:/nonexistent:/bin/false\n\
            broken:x\n\n+::::::\n";
        let homes: Vec<PathBuf> = homes_of_people(accounts).collect();
        assert_eq!(homes, ["/root", "/home/ada"].map(PathBuf::from));
    }

    #[test]
    fn accounts_in_any_encoding_are_read() {
        let accounts =
            b"eva:x:1000:1000:J\xfcrgen:/home/eva:/bin/sh\nbob:x:1001:1001::/home/bob:/bin/sh\n";
        let text = read_accounts(&accounts[..]);
        let homes: Vec<PathBuf> = homes_of_people(&text).collect();
        assert_eq!(homes, ["/home/eva", "/home/bob"].map(PathBuf::from));
    }

    #[test]
    fn links_to_a_home_are_resolved() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::os::unix::fs::symlink("real", root.join("link")).unwrap();
        let homes = home_folders(Some(&root.join("link")));
        assert_eq!(homes.first(), Some(&root.join("real")));
        assert!(!can_be_project(&root.join("real"), &homes));
        assert!(!can_be_project(&root, &homes));
    }
}
