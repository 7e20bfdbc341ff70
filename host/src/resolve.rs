//! Resolves what tools and people write into targets: the only spelling that is ever checked.
//!
//! Paths are resolved component by component, by our own walk instead of `realpath`, because a path
//! that does not exist yet must resolve as well (a file about to be created), and so must a link that
//! leads to nowhere: what counts is where a write through it would end.

mod error;
#[cfg(test)]
mod fuzz;
mod key;
mod mounts;
mod url;

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

pub use self::error::ResolveError;
use self::error::{MAX_LINKS, MAX_PATH_BYTES};
pub(crate) use self::key::{key_to_path, path_to_key};
pub(crate) use self::mounts::Mounts;
pub use self::mounts::mounted_elsewhere;
pub(crate) use self::url::{UrlKey, loosely_read, plain_ip, site, url, url_key};
use crate::target::ProgramFile;

/// Where relative paths start and what `~` means. Immutable, handed in by whoever builds the host.
#[derive(Debug, Clone)]
pub struct Places {
    /// The project folder, resolved.
    pub project: PathBuf,
    /// The user's home folder, if there is one.
    pub home: Option<PathBuf>,
}

impl Places {
    /// Resolves a path as tools and people write it: relative to the project, `~/` for the home folder.
    ///
    /// The result is absolute and free of symbolic links, `.`, `..` and trailing slashes at the moment
    /// of the call. Blocks for the file system: one look-up a component.
    pub fn path(&self, written: &str) -> Result<PathBuf, ResolveError> {
        real_path(&self.absolute(written)?)
    }

    /// The same, except that the last part is taken as it is: the name of what may be a symbolic link. A path that ends in
    /// no name, such as `..`, is the folder that it leads to.
    pub(crate) fn name(&self, written: &str) -> Result<PathBuf, ResolveError> {
        let path = self.absolute(written)?;
        match path.components().next_back() {
            Some(Component::Normal(name)) => {
                Ok(real_path(path.parent().unwrap_or(&path))?.join(name))
            }
            _ => real_path(&path),
        }
    }

    /// The absolute path that is written, links and all.
    pub(crate) fn absolute(&self, written: &str) -> Result<PathBuf, ResolveError> {
        let full = self.word(written)?;
        match self.at_home(written) {
            Some(path) => Ok(path),
            // A file may well be called `~backup`; only `~/` needs a home.
            None if written == "~" || written.starts_with("~/") => Err(ResolveError::Home {
                path: written.to_owned(),
            }),
            None => Ok(full),
        }
    }

    /// What a shell puts in the place of a word that begins with an unquoted `~`, if that stands for the home folder.
    pub(crate) fn at_home(&self, written: &str) -> Option<PathBuf> {
        let rest = written.strip_prefix('~')?;
        let home = self.home.as_ref()?;
        (rest.is_empty() || rest.starts_with('/')).then(|| home.join(rest.trim_start_matches('/')))
    }

    /// The absolute path that a program means which gets this word: `~` is a name like any other to it.
    pub(crate) fn word(&self, written: &str) -> Result<PathBuf, ResolveError> {
        if written.is_empty() {
            return Err(ResolveError::Empty);
        }
        // First: every other message repeats the path.
        if written.len() > MAX_PATH_BYTES {
            return Err(ResolveError::TooLong {
                bytes: written.len(),
            });
        }
        if written.contains('\0') {
            return Err(ResolveError::Nul {
                path: written.to_owned(),
            });
        }
        Ok(self.project.join(written))
    }

    /// Resolves a program: a path, or a bare name looked up in `search`.
    ///
    /// [`ProgramFile::called`] keeps the name under which it is called: many programs behave by it, and a link that
    /// leads to another program tomorrow keeps it.
    pub fn program(&self, written: &str, search: &[PathBuf]) -> Result<ProgramFile, ResolveError> {
        match written.contains('/') {
            true => program_at(&self.absolute(written)?),
            false => program_at(&self.program_path(written, search)?),
        }
    }

    /// The path under which a word of a command line is found as a program, links and all; see [`Places::word`].
    pub(crate) fn program_path(
        &self,
        word: &str,
        search: &[PathBuf],
    ) -> Result<PathBuf, ResolveError> {
        if word.contains('/') || word.is_empty() || word.len() > MAX_PATH_BYTES {
            return self.word(word);
        }
        let mut candidates = search.iter().map(|folder| folder.join(word));
        let found = candidates.find(|candidate| is_executable_file(candidate));
        found.ok_or_else(|| ResolveError::Program {
            name: word.to_owned(),
        })
    }
}

/// The program at an absolute path.
pub(crate) fn program_at(path: &Path) -> Result<ProgramFile, ResolveError> {
    let real = real_path(path)?;
    Ok(ProgramFile {
        called: called_path(path)?.unwrap_or_else(|| real.clone()),
        real,
    })
}

/// Resolves an absolute path, as [`Places::path`] says.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, ResolveError> {
    follow(path, |_| {})
}

/// The same; `on_link` gets each link that is followed, which has no link above it.
pub(crate) fn follow(path: &Path, mut on_link: impl FnMut(&Path)) -> Result<PathBuf, ResolveError> {
    walk(path, |part| {
        if part.is_link {
            on_link(part.path);
        }
    })
}

/// Something that exists on the way of a path.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Part<'a> {
    /// Its path, which has no link above it.
    pub(crate) path: &'a Path,
    /// Whether it is a link.
    pub(crate) is_link: bool,
    /// The number of its file system.
    pub(crate) device: u64,
}

/// The same; `on_part` gets each part that exists on the way.
pub(crate) fn walk(
    path: &Path,
    mut on_part: impl FnMut(Part<'_>),
) -> Result<PathBuf, ResolveError> {
    let mut resolved = PathBuf::from("/");
    let mut todo: VecDeque<OsString> = parts(path);
    let mut links = 0;
    // Behind the first part that does not exist nothing else can exist: no need to ask the kernel.
    let mut missing = false;
    while let Some(part) = todo.pop_front() {
        if part == ".." {
            resolved.pop();
            // What is above may exist again; looking costs little and decides nothing wrongly.
            missing = false;
            continue;
        }
        resolved.push(&part);
        if missing {
            continue;
        }
        let meta = match std::fs::symlink_metadata(&resolved) {
            Ok(meta) => meta,
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                missing = true;
                continue;
            }
            Err(source) => {
                return Err(ResolveError::Io {
                    path: resolved,
                    source,
                });
            }
        };
        on_part(Part {
            path: &resolved,
            is_link: meta.file_type().is_symlink(),
            device: meta.dev(),
        });
        if meta.file_type().is_symlink() {
            links += 1;
            if links > MAX_LINKS {
                return Err(ResolveError::Links {
                    path: path.display().to_string(),
                });
            }
            let to = std::fs::read_link(&resolved).map_err(|source| ResolveError::Io {
                path: resolved.clone(),
                source,
            })?;
            resolved.pop();
            if to.is_absolute() {
                resolved = PathBuf::from("/");
            }
            let mut first = parts(&to);
            first.append(&mut todo);
            todo = first;
        }
    }
    Ok(resolved)
}

/// The path by which a program is called: its folder resolved, its name as written. `None` where the path ends in
/// no name.
pub(crate) fn called_path(path: &Path) -> Result<Option<PathBuf>, ResolveError> {
    match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => Ok(Some(real_path(folder)?.join(name))),
        _ => Ok(None),
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|component| match component {
            Component::Normal(part) => Some(part.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
        })
        .collect()
}

fn is_executable_file(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.mode() & 0o111 != 0)
}

/// The last part of a path in lower case, for comparing names; empty for `/`.
pub(crate) fn lower_name(path: &Path) -> String {
    path.file_name()
        .map(OsStr::to_string_lossy)
        .unwrap_or_default()
        .to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;

    #[test]
    fn paths_resolve_to_where_they_lead() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir_all(root.join("project/src")).unwrap();
        std::fs::create_dir_all(root.join("outside")).unwrap();
        std::fs::write(root.join("project/src/main.rs"), "").unwrap();
        std::fs::write(root.join("outside/secret"), "").unwrap();
        symlink("../../outside", root.join("project/src/out")).unwrap();
        symlink(root.join("outside/secret"), root.join("project/absolute")).unwrap();
        symlink("nowhere/yet", root.join("project/dangling")).unwrap();
        symlink("circle", root.join("project/circle")).unwrap();
        let places = Places {
            project: root.join("project"),
            home: Some(root.join("outside")),
        };

        for (written, expected) in [
            ("src/main.rs", "project/src/main.rs"),
            ("./src//main.rs/", "project/src/main.rs"),
            ("src/../src/main.rs", "project/src/main.rs"),
            ("../outside/secret", "outside/secret"),
            // `..` after a link is the parent of where the link leads, as for the kernel.
            ("src/out/../outside/secret", "outside/secret"),
            ("absolute", "outside/secret"),
            ("src/out/new", "outside/new"),
            ("new/folder/file", "project/new/folder/file"),
            ("new/../../outside/secret", "outside/secret"),
            // A link to nowhere counts as the place it would create.
            ("dangling", "project/nowhere/yet"),
            ("~/secret", "outside/secret"),
            ("~", "outside"),
            ("~backup", "project/~backup"),
            ("src/main.rs/below", "project/src/main.rs/below"),
        ] {
            assert_eq!(
                places.path(written).unwrap(),
                root.join(expected),
                "{written}"
            );
        }
        assert_eq!(places.path("/../..").unwrap(), Path::new("/"));
        assert!(matches!(places.path(""), Err(ResolveError::Empty)));
        assert!(matches!(places.path("a\0b"), Err(ResolveError::Nul { .. })));
        assert!(matches!(
            places.path("circle"),
            Err(ResolveError::Links { .. })
        ));
        assert!(matches!(
            places.path(&"a/".repeat(4000)),
            Err(ResolveError::TooLong { .. })
        ));
        let homeless = Places {
            home: None,
            ..places
        };
        assert!(matches!(
            homeless.path("~/x"),
            Err(ResolveError::Home { .. })
        ));
    }

    #[test]
    fn keys_hold_any_file_name() {
        for raw in [&b"/a/b c"[..], b"/100%/x", b"/bad\xff\xfe/name", b"/%41"] {
            let path = PathBuf::from(OsString::from_vec(raw.to_vec()));
            assert_eq!(key_to_path(&path_to_key(&path)), path);
        }
        assert_eq!(path_to_key(Path::new("/plain/path")), "/plain/path");
    }
}
