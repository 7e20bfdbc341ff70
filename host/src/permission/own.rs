//! Finds Dunlin's own files, which no tool is granted, through symbolic links.
//!
//! Programs that keep settings in a repository put links into `~/.config`, so a file of Dunlin's may lie anywhere, even
//! in the project. Whoever replaces a link on the way to such a file replaces the file. So the link, its target and each
//! link between them are protected.
//!
//! Links change while Dunlin runs. A result is used again as long as the folders and links that led to it are unchanged;
//! checking this takes one `lstat` for each of them.

use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use parking_lot::Mutex;

use crate::resolve::{self, Mounts, ResolveError};

/// How many entries of each of Dunlin's folders are examined. A folder has some dozens at most; files of sessions lie
/// deeper.
const MAX_ENTRIES: usize = 10_000;

/// The resolution of a file system's clock, rounded up: a second change within this time may leave the time stamp as it is.
const CLOCK_STEP: Duration = Duration::from_millis(50);

/// Finds Dunlin's own files.
#[derive(Debug)]
pub(super) struct OwnFiles {
    /// The paths as the caller gave them: absolute, perhaps through links.
    written: Vec<PathBuf>,
    found: Mutex<Arc<Found>>,
}

/// Where Dunlin's own files are at this moment.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// The resolved paths, sorted. A folder stands for everything in it.
    pub(super) places: Vec<PathBuf>,
    /// The links that lead to `places`, sorted. The folder of each is resolved.
    pub(super) links: Vec<PathBuf>,
    /// Each examined path with its state at that time.
    looked_at: Vec<(PathBuf, Stamp)>,
    /// Whether every later change would alter `looked_at`.
    is_settled: bool,
}

/// Device, inode and time of the last change (seconds, nanoseconds): this differs after a folder gained or lost an entry,
/// and after a link was replaced.
type Stamp = Option<(u64, u64, i64, i64)>;

impl OwnFiles {
    /// Resolves the paths for the first time.
    pub(super) fn new(mut written: Vec<PathBuf>) -> Result<OwnFiles, ResolveError> {
        written.sort();
        written.dedup();
        let found = Mutex::new(Arc::new(Found::look(&written)?));
        Ok(OwnFiles { written, found })
    }

    /// Where the files are now. If they cannot be resolved any more, the last result stays.
    pub(super) fn now(&self) -> Arc<Found> {
        let mut found = self.found.lock();
        if !found.is_current()
            && let Ok(new) = Found::look(&self.written)
        {
            *found = Arc::new(new);
        }
        Arc::clone(&found)
    }
}

impl Found {
    /// Whether a path, free of links, is one of Dunlin's own or a link to one.
    pub(super) fn holds(&self, path: &Path) -> bool {
        let mut places = self.places.iter();
        places.any(|own| path.starts_with(own)) || self.links.iter().any(|link| link == path)
    }

    /// Whether a path is another name (a hard link) of a file of Dunlin's. Those of sessions, which lie deeper, are left out.
    pub(super) fn has_other_name(&self, path: &Path) -> bool {
        let Ok(meta) = path.symlink_metadata() else {
            return false;
        };
        if !meta.is_file() || meta.nlink() < 2 {
            return false;
        }
        let is_same = |own: &Path| {
            let own = own.symlink_metadata();
            own.is_ok_and(|own| (own.dev(), own.ino()) == (meta.dev(), meta.ino()))
        };
        let places = self.places.iter().filter(|it| !it.starts_with("/proc"));
        places.into_iter().any(|place| {
            let entries = std::fs::read_dir(place).into_iter().flatten().flatten();
            let mut entries = entries.take(MAX_ENTRIES);
            is_same(place) || entries.any(|entry| is_same(&entry.path()))
        })
    }

    fn look(written: &[PathBuf]) -> Result<Found, ResolveError> {
        let mut found = Found {
            is_settled: true,
            ..Found::default()
        };
        for path in written {
            let place = found.follow(path)?;
            found.places.push(place.clone());
            // The links below `/proc` lead to whatever a process has open.
            if place.starts_with("/proc") {
                continue;
            }
            // Noted before it is read, so that an entry that is added meanwhile shows as a change.
            found.note(place.clone());
            // The files in one of the folders may be links themselves.
            let entries = std::fs::read_dir(&place).into_iter().flatten().flatten();
            for entry in entries.take(MAX_ENTRIES) {
                if !entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                    continue;
                }
                // A link that leads in a circle, or to a folder that contains this one, leads to no file of Dunlin's.
                let leads_to = found.follow(&entry.path()).ok();
                let is_own = |leads_to: &PathBuf| !place.starts_with(leads_to);
                found.places.extend(leads_to.filter(is_own));
            }
        }
        let mounts = Mounts::now();
        let places = found.places.iter();
        let names: Vec<PathBuf> = places.flat_map(|it| mounts.other_names(it)).collect();
        found.places.extend(names);
        for paths in [&mut found.places, &mut found.links] {
            paths.sort();
            paths.dedup();
        }
        Ok(found)
    }

    /// Where a path leads. Adds each link on the way there.
    fn follow(&mut self, path: &Path) -> Result<PathBuf, ResolveError> {
        self.note(path.to_owned());
        resolve::follow(path, |link| {
            self.links.push(link.to_owned());
            self.note(link.to_owned());
        })
    }

    fn note(&mut self, path: PathBuf) {
        let meta = path.symlink_metadata().ok();
        self.is_settled &= meta.as_ref().is_none_or(is_settled);
        let stamp = stamp(meta);
        self.looked_at.push((path, stamp));
    }

    fn is_current(&self) -> bool {
        let mut looked_at = self.looked_at.iter();
        self.is_settled
            && looked_at.all(|(path, before)| stamp(path.symlink_metadata().ok()) == *before)
    }
}

fn stamp(meta: Option<Metadata>) -> Stamp {
    let meta = meta?;
    // A file's own content does not matter here, and its times change with every line of a log.
    let (seconds, nanoseconds) = match meta.is_file() {
        true => (0, 0),
        false => (meta.ctime(), meta.ctime_nsec()),
    };
    Some((meta.dev(), meta.ino(), seconds, nanoseconds))
}

/// Whether the last change is so long ago that another change would get another time.
fn is_settled(meta: &Metadata) -> bool {
    let seconds = Duration::from_secs(meta.ctime().try_into().unwrap_or_default());
    let nanoseconds = Duration::from_nanos(meta.ctime_nsec().try_into().unwrap_or_default());
    let changed = UNIX_EPOCH + seconds + nanoseconds;
    meta.is_file()
        || SystemTime::now()
            .duration_since(changed)
            .is_ok_and(|age| age > CLOCK_STEP)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    /// A home with a repository of settings, and Dunlin's folder in it.
    fn home() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["config/dunlin", "dotfiles/dunlin", "data"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        (folder, root)
    }

    #[test]
    fn both_ends_of_a_link_and_what_is_between_are_own() {
        let (_folder, root) = home();
        let at = |path: &str| root.join(path);
        fs::write(at("dotfiles/dunlin/real.toml"), "").unwrap();
        symlink("real.toml", at("dotfiles/dunlin/between.toml")).unwrap();
        symlink(
            "../../dotfiles/dunlin/between.toml",
            at("config/dunlin/config.toml"),
        )
        .unwrap();
        symlink(
            at("dotfiles/nowhere.json"),
            at("config/dunlin/web_fetch.json"),
        )
        .unwrap();
        // These lead to nothing of Dunlin's.
        symlink("../..", at("config/dunlin/up")).unwrap();
        symlink("circle", at("config/dunlin/circle")).unwrap();
        let own = OwnFiles::new(vec![at("config/dunlin"), at("data")]).unwrap();
        let found = own.now();
        for (path, is_own) in [
            ("config/dunlin", true),
            ("config/dunlin/config.toml", true),
            ("dotfiles/dunlin/between.toml", true),
            ("dotfiles/dunlin/real.toml", true),
            // What a link to nowhere would make.
            ("dotfiles/nowhere.json", true),
            ("data/sessions/x", true),
            ("dotfiles/dunlin", false),
            ("dotfiles/other", false),
            ("config", false),
        ] {
            assert_eq!(found.holds(&at(path)), is_own, "{path}");
        }
    }

    #[test]
    fn a_folder_that_is_a_link_is_followed() {
        let (_folder, root) = home();
        let at = |path: &str| root.join(path);
        fs::remove_dir_all(at("config")).unwrap();
        symlink("dotfiles", at("config")).unwrap();
        let own = OwnFiles::new(vec![at("config/dunlin")]).unwrap();
        let found = own.now();
        assert_eq!(found.places, [at("dotfiles/dunlin")]);
        assert_eq!(found.links, [at("config")]);
        assert!(!found.holds(&at("dotfiles/gh")));
    }

    #[test]
    fn later_links_are_seen() {
        let (_folder, root) = home();
        let at = |path: &str| root.join(path);
        for file in ["dotfiles/a.toml", "dotfiles/b.toml"] {
            fs::write(at(file), "").unwrap();
        }
        let own = OwnFiles::new(vec![at("config/dunlin")]).unwrap();
        let holds = |path: &str| own.now().holds(&at(path));
        assert!(!holds("dotfiles/a.toml"));
        let link = at("config/dunlin/config.toml");
        symlink(at("dotfiles/a.toml"), &link).unwrap();
        assert!(holds("dotfiles/a.toml"));
        fs::remove_file(&link).unwrap();
        symlink(at("dotfiles/b.toml"), &link).unwrap();
        assert!(!holds("dotfiles/a.toml"));
        assert!(holds("dotfiles/b.toml"));
        // The folder itself becomes a link.
        fs::remove_dir_all(at("config")).unwrap();
        symlink("dotfiles", at("config")).unwrap();
        assert!(holds("dotfiles/dunlin/anything"));
    }
}
