//! All files of the project or of another folder, for tools that look through the whole of it.
//!
//! A tool sees what it may read without anybody being asked, and nothing else. Declare
//! [`Plan::reads`](crate::Plan::reads) of `"."` for the project, and
//! [`Plan::reads_all_in`](crate::Plan::reads_all_in) of any other folder.
//!
//! ```no_run
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let project = dunlin_sdk::tree::open_project()?;
//! for file in project.list_files()?.files {
//!     let Some(bytes) = project.read_file(&file.path)? else { continue };
//!     dunlin_sdk::log::debug(&format!("{}: {} bytes", file.path, bytes.len()));
//! }
//! # Ok(())
//! # }
//! ```

use crate::bindings::dunlin::tool::tree as host;
use crate::error::Error;

/// What is known of a file without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Below the folder, with `/` between the parts.
    pub path: String,
    /// In bytes.
    pub size_bytes: u64,
    /// Changes with the content, as far as the file system knows; says nothing else.
    pub version: u64,
}

/// The files of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Listing {
    /// In the order of their paths.
    pub files: Vec<Entry>,
    /// How many were left out because they would have to be asked about, or were refused.
    pub withheld: u64,
    /// Whether there are more than a host lists.
    pub is_truncated: bool,
}

/// A folder that may be read, with everything below it. Dropping it closes it.
#[derive(Debug)]
pub struct Folder(host::Folder);

/// Opens the project's folder. Needs `read` on it.
pub fn open_project() -> Result<Folder, Error> {
    crate::host::in_component()?;
    Ok(Folder(host::open_project()?))
}

/// What is listed of a folder beside what is listed otherwise. What a `.git` folder holds never is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Also {
    /// Files whose name, or that of a folder above them, begins with a dot.
    pub hidden: bool,
    /// What `.gitignore` and `.ignore` files exclude.
    pub ignored: bool,
}

/// Opens any folder, in the project or elsewhere. Needs `read` on all that is in it.
///
/// Fails with `NotFound`, with `WrongKind` for a file, with `Unsupported` for a home folder and what lies above one.
pub fn open_folder(path: &str, also: Also) -> Result<Folder, Error> {
    crate::host::in_component()?;
    let mut flags = host::AlsoListed::empty();
    flags.set(host::AlsoListed::HIDDEN, also.hidden);
    flags.set(host::AlsoListed::IGNORED, also.ignored);
    Ok(Folder(host::open_folder(path, flags)?))
}

impl Folder {
    /// Looks for the files. What `.gitignore` and `.ignore` exclude is left out, hidden files as well, unless the folder was
    /// opened with them.
    pub fn list_files(&self) -> Result<Listing, Error> {
        let host::Listing {
            files,
            withheld,
            is_truncated,
        } = self.0.list_files()?;
        let metadata = |metadata: host::Entry| Entry {
            path: metadata.path,
            size_bytes: metadata.size_bytes,
            version: metadata.version,
        };
        Ok(Listing {
            files: files.into_iter().map(metadata).collect(),
            withheld,
            is_truncated,
        })
    }

    /// Reads a whole file. `None`: it is not there any more, larger than 1 MiB, no regular file, or withheld.
    pub fn read_file(&self, path: &str) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.0.read_file(path)?)
    }
}
