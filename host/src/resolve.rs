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
pub(crate) use self::url::{UrlKey, loosely_read, plain_ip, url, url_key};
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

    /// The same; `on_part` gets each part that exists on the way, and whether it is a link.
    pub(crate) fn walk(
        &self,
        written: &str,
        on_part: impl FnMut(&Path, bool),
    ) -> Result<PathBuf, ResolveError> {
        walk(&self.absolute(written)?, on_part)
    }

    /// The absolute path that is written, links and all.
    fn absolute(&self, written: &str) -> Result<PathBuf, ResolveError> {
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
        let full = match (written.strip_prefix('~'), &self.home) {
            (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with('/') => {
                home.join(rest.trim_start_matches('/'))
            }
            // A file may well be called `~backup`; only `~/` needs a home.
            (Some(rest), None) if rest.is_empty() || rest.starts_with('/') => {
                return Err(ResolveError::Home {
                    path: written.to_owned(),
                });
            }
            _ => self.project.join(written),
        };
        Ok(full)
    }

    /// Resolves a program: a path, or a bare name looked up in `search`.
    ///
    /// [`ProgramFile::called`] keeps the name under which it is called: many programs behave by it, and a link that
    /// leads to another program tomorrow keeps it.
    pub fn program(&self, written: &str, search: &[PathBuf]) -> Result<ProgramFile, ResolveError> {
        if written.contains('/') || written.is_empty() || written.len() > MAX_PATH_BYTES {
            let path = self.absolute(written)?;
            let real = real_path(&path)?;
            let called = called_path(&path)?;
            return Ok(ProgramFile {
                called: called.unwrap_or_else(|| real.clone()),
                real,
            });
        }
        for folder in search {
            let candidate = folder.join(written);
            if is_executable_file(&candidate) {
                let real = real_path(&candidate)?;
                return Ok(ProgramFile {
                    called: called_path(&candidate)?.unwrap_or_else(|| real.clone()),
                    real,
                });
            }
        }
        Err(ResolveError::Program {
            name: written.to_owned(),
        })
    }
}

/// Resolves an absolute path, as [`Places::path`] says.
pub(crate) fn real_path(path: &Path) -> Result<PathBuf, ResolveError> {
    follow(path, |_| {})
}

/// The same; `on_link` gets each link that is followed, which has no link above it.
pub(crate) fn follow(path: &Path, mut on_link: impl FnMut(&Path)) -> Result<PathBuf, ResolveError> {
    walk(path, |part, is_link| {
        if is_link {
            on_link(part);
        }
    })
}

/// The same; `on_part` gets each part that exists on the way, which has no link above it, and whether it is a link.
pub(crate) fn walk(
    path: &Path,
    mut on_part: impl FnMut(&Path, bool),
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
        on_part(&resolved, meta.file_type().is_symlink());
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
