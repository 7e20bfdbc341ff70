//! Where a path leads that was written relative to an open folder.
//!
//! A path may climb out of its folder and may be absolute: nothing depends on it, because what is asked about and
//! opened is where it leads. The file systems of C libraries know a tree of open folders instead of absolute
//! paths: they take the first `/` off and use the folder that they believe to be the root, so `/etc/hosts` arrives
//! here as `etc/hosts`. Where the project has no `etc`, that can only have been meant from the root.

use std::ffi::OsString;
use std::path::{Component, Path, PathBuf};

use super::ErrorCode;
use super::error::Fault;
use crate::resolve::real_path;

/// Longest path that is looked at, in bytes. Linux takes no longer one either (`PATH_MAX`).
const MAX_PATH_BYTES: usize = 4096;

/// What is done with a name that may be a symbolic link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Link {
    /// It is where it leads.
    Follow,
    /// It is itself.
    Itself,
}

/// Where a path leads: absolute, and free of links except perhaps in its last part, if that is what it is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) path: PathBuf,
    /// It was written with a `/` at its end: only a folder will do.
    pub(super) is_folder: bool,
}

impl Place {
    /// The folder above and the name in it. The root has neither.
    pub(super) fn parts(&self) -> Result<(&Path, &std::ffi::OsStr), Fault> {
        match (self.path.parent(), self.path.file_name()) {
            (Some(folder), Some(name)) => Ok((folder, name)),
            _ => Err(ErrorCode::NotPermitted.into()),
        }
    }
}

/// The folder that a path starts from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Base<'a> {
    pub(super) path: &'a Path,
    /// Whether it is the one that a C library takes for the root, too.
    pub(super) is_start: bool,
}

/// Resolves `written`. `makes`: it is the name of something new.
pub(super) fn resolve(
    base: Base<'_>,
    written: &str,
    link: Link,
    makes: bool,
) -> Result<Place, Fault> {
    if written.is_empty() {
        return Err(ErrorCode::NoEntry.into());
    }
    if written.len() > MAX_PATH_BYTES {
        return Err(ErrorCode::NameTooLong.into());
    }
    if written.contains('\0') {
        return Err(ErrorCode::Invalid.into());
    }
    let full = if means_root(base, written, makes) {
        Path::new("/").join(written)
    } else {
        base.path.join(written)
    };
    let is_folder = written.ends_with('/') || written.ends_with("/.");
    let named = match full.components().next_back() {
        Some(Component::Normal(name)) => Some(OsString::from(name)),
        _ => None,
    };
    let path = match (link, named, full.parent()) {
        (Link::Itself, Some(name), Some(folder)) if !is_folder || makes => {
            real_path(folder)?.join(name)
        }
        // A `/` behind a link means the folder that it leads to. Nothing can be done to that under the link's name.
        (Link::Itself, Some(name), Some(folder)) => {
            let path = real_path(folder)?.join(name);
            if path.is_symlink() {
                return Err(ErrorCode::NotDirectory.into());
            }
            path
        }
        _ => real_path(&full)?,
    };
    Ok(Place { path, is_folder })
}

/// Whether a relative path was an absolute one before a C library had it.
fn means_root(base: Base<'_>, written: &str, makes: bool) -> bool {
    if !base.is_start {
        return false;
    }
    let mut parts = Path::new(written).components();
    let Some(Component::Normal(first)) = parts.next() else {
        return false;
    };
    // Something new is made where it was said; a folder on the way to it has to be there.
    if makes && parts.next().is_none() {
        return false;
    }
    base.path.join(first).symlink_metadata().is_err() && Path::new("/").join(first).is_dir()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn code(result: Result<Place, Fault>) -> Result<PathBuf, ErrorCode> {
        match result {
            Ok(place) => Ok(place.path),
            Err(Fault::Code(code)) => Err(code),
            Err(Fault::Trap(error)) => panic!("{error}"),
        }
    }

    #[test]
    fn paths_lead_somewhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        std::fs::create_dir_all(root.join("project/src")).unwrap();
        std::fs::create_dir_all(root.join("outside")).unwrap();
        std::fs::write(root.join("outside/secret"), "").unwrap();
        symlink("../outside", root.join("project/link")).unwrap();
        symlink("../outside/secret", root.join("project/file")).unwrap();
        let project = root.join("project");
        let base = Base {
            path: &project,
            is_start: true,
        };
        let absolute = root.join("outside/secret").display().to_string();
        let stripped = absolute.trim_start_matches('/').to_owned();
        for (written, link, makes, expected) in [
            (
                "src/main.rs",
                Link::Follow,
                false,
                Ok("project/src/main.rs"),
            ),
            (
                "../outside/secret",
                Link::Follow,
                false,
                Ok("outside/secret"),
            ),
            ("link/secret", Link::Itself, false, Ok("outside/secret")),
            ("file", Link::Follow, false, Ok("outside/secret")),
            ("file", Link::Itself, false, Ok("project/file")),
            ("file/", Link::Itself, false, Err(ErrorCode::NotDirectory)),
            ("link/", Link::Itself, false, Err(ErrorCode::NotDirectory)),
            ("link/.", Link::Itself, false, Err(ErrorCode::NotDirectory)),
            ("link//", Link::Follow, false, Ok("outside")),
            ("link/..", Link::Itself, false, Ok("")),
            ("src/", Link::Itself, false, Ok("project/src")),
            ("new/", Link::Itself, true, Ok("project/new")),
            (absolute.as_str(), Link::Follow, false, Ok("outside/secret")),
            (stripped.as_str(), Link::Follow, false, Ok("outside/secret")),
            (stripped.as_str(), Link::Itself, true, Ok("outside/secret")),
            ("", Link::Follow, false, Err(ErrorCode::NoEntry)),
            ("a\0b", Link::Follow, false, Err(ErrorCode::Invalid)),
        ] {
            let found = code(resolve(base, written, link, makes));
            let expected = expected.map(|path| match path {
                "" => root.clone(),
                path => root.join(path),
            });
            assert_eq!(found, expected, "{written}");
        }
        let long = "a/".repeat(4000);
        let found = code(resolve(base, &long, Link::Follow, false));
        assert_eq!(found, Err(ErrorCode::NameTooLong));
    }

    #[test]
    fn the_root_is_meant_where_nothing_else_can_be() {
        let dir = tempfile::tempdir().unwrap();
        let project = std::fs::canonicalize(dir.path()).unwrap();
        let base = Base {
            path: &project,
            is_start: true,
        };
        let there = |written: &str, makes| code(resolve(base, written, Link::Follow, makes));
        assert_eq!(there("etc/passwd", false), Ok("/etc/passwd".into()));
        assert_eq!(
            there("etc", false),
            Ok(real_path(Path::new("/etc")).unwrap())
        );
        // A new folder of that name is one of the project.
        assert_eq!(there("etc", true), Ok(project.join("etc")));
        assert_eq!(there("etc/new", true), Ok("/etc/new".into()));
        std::fs::create_dir(project.join("etc")).unwrap();
        assert_eq!(there("etc/passwd", false), Ok(project.join("etc/passwd")));
        // From any other folder it is what it says.
        let other = Base {
            path: &project.join("elsewhere"),
            is_start: false,
        };
        let found = code(resolve(other, "etc/passwd", Link::Follow, false));
        assert_eq!(found, Ok(project.join("elsewhere/etc/passwd")));
    }
}
