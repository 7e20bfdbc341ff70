//! Which files of a folder a tool looks at, and what its answer says of the others.
//!
//! `list_files` and `search_text` take the same folder and globs, so a model that has listed files can search the same ones.

use dunlin_sdk::tree::{self, Also, Entry, Folder, Listing};
use dunlin_sdk::{Error, Failure, Plan};
use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

/// Globs of one call. A model that needs more means the folder.
const MAX_GLOBS: usize = 50;

/// Characters of a glob: paths are shorter.
const MAX_GLOB_CHARS: usize = 300;

/// The files that a call is about.
#[derive(Debug)]
pub struct Scope {
    folder: String,
    globs: Globs,
    also: Also,
}

/// The files of a scope.
#[derive(Debug, Default)]
pub struct Files {
    /// In the order of their paths, which are relative to the folder.
    pub entries: Vec<Entry>,
    /// How many files the folder has, whatever the globs say.
    pub in_folder: usize,
    /// How many were left out because they would have to be asked about, or were refused.
    pub withheld: u64,
    /// Whether there are more than a host lists.
    pub is_truncated: bool,
}

impl Scope {
    /// Understands what the model wrote: a folder, where none is the project, and globs.
    pub fn new(folder: Option<&str>, globs: &[String], also: Also) -> Result<Self, Failure> {
        let folder = folder.unwrap_or_default().trim();
        let folder = match folder.trim_end_matches('/') {
            "" if folder.starts_with('/') => "/",
            "" => ".",
            folder => match folder.strip_prefix("./") {
                // What follows is below the project, however many slashes stand before it.
                Some(below) => below.trim_start_matches('/'),
                None => folder,
            },
        };
        Ok(Self {
            folder: folder.to_owned(),
            globs: Globs::new(globs)?,
            also,
        })
    }

    /// How the folder is said: `the project`, `'src'`.
    pub fn name(&self) -> String {
        match self.folder.as_str() {
            "." => "the project".to_owned(),
            folder => format!("'{folder}'"),
        }
    }

    /// The folder as it was written; `.` is the project.
    pub fn folder(&self) -> &str {
        &self.folder
    }

    /// Whether some globs narrow it.
    pub fn has_globs(&self) -> bool {
        self.globs.include.is_some() || self.globs.exclude.is_some()
    }

    /// What a call needs, with a question for the user where that is not allowed.
    pub fn plan(&self, question: String) -> Plan {
        Plan::ask(question).reads_all_in(&self.folder)
    }

    /// Opens the folder. Fails with [`Error::WrongKind`] where it is a file.
    pub fn open(&self) -> Result<Folder, Error> {
        tree::open_folder(&self.folder, self.also)
    }

    /// Looks for the files.
    pub fn files(&self, folder: &Folder) -> Result<Files, Error> {
        Ok(self.of(folder.list_files()?))
    }

    fn of(&self, listing: Listing) -> Files {
        let in_folder = listing.files.len();
        let mut entries = listing.files;
        entries.retain(|entry| self.globs.take(&entry.path));
        Files {
            entries,
            in_folder,
            withheld: listing.withheld,
            is_truncated: listing.is_truncated,
        }
    }

    /// A file of the folder as other tools take it. A line break in a name would begin a line of its own.
    pub fn shown(&self, path: &str) -> String {
        let path = path.replace(char::is_control, "?");
        match self.folder.as_str() {
            "." => path,
            "/" => format!("/{path}"),
            folder => format!("{folder}/{path}"),
        }
    }

    /// What the model has to know of files that are not in the answer.
    pub fn notes(&self, files: &Files) -> Vec<String> {
        let mut notes = Vec::new();
        if files.is_truncated {
            notes.push(
                "the folder has more files than are looked at; name a folder in it".to_owned(),
            );
        }
        match files.withheld {
            0 => {}
            1 => notes.push("1 file left out: it may not be read without a question".to_owned()),
            count => notes.push(format!(
                "{count} files left out: they may not be read without a question"
            )),
        }
        notes
    }

    /// Why there may be nothing: said where nothing was found.
    pub fn nothing(&self, files: &Files) -> String {
        let mut parts = Vec::new();
        if self.has_globs() && files.entries.is_empty() && files.in_folder > 0 {
            parts.push(format!(
                "none of the {} files matches the globs",
                files.in_folder
            ));
        }
        match (self.also.hidden, self.also.ignored) {
            (true, true) => {}
            (false, true) => parts.push(
                "hidden files are left out (include_hidden), secrets such as .env always".to_owned(),
            ),
            (true, false) => parts.push("ignored files are left out (include_ignored)".to_owned()),
            (false, false) => parts.push(
                "hidden and ignored files are left out (include_hidden, include_ignored), secrets such as .env always"
                    .to_owned(),
            ),
        }
        match parts.is_empty() {
            true => String::new(),
            false => format!("[{}]\n", parts.join("; ")),
        }
    }
}

/// Patterns of paths, as `.gitignore` and ripgrep write them.
#[derive(Debug, Default)]
struct Globs {
    include: Option<GlobSet>,
    exclude: Option<GlobSet>,
}

impl Globs {
    fn new(globs: &[String]) -> Result<Self, Failure> {
        if globs.len() > MAX_GLOBS {
            return Err(Failure::invalid_arguments(format!(
                "globs: there are {}; at most {MAX_GLOBS} are possible",
                globs.len()
            )));
        }
        let globs = globs.iter().map(|glob| glob.trim());
        let (exclude, include): (Vec<&str>, Vec<&str>) = globs
            .filter(|glob| !matches!(*glob, "" | "." | "./" | "*" | "**" | "**/*"))
            .partition(|glob| glob.starts_with('!'));
        let exclude: Vec<&str> = exclude.iter().map(|glob| &glob[1..]).collect();
        Ok(Self {
            include: set(&include)?,
            exclude: set(&exclude)?,
        })
    }

    fn take(&self, path: &str) -> bool {
        let is_in = |set: &GlobSet| set.is_match(path);
        self.include.as_ref().is_none_or(is_in) && !self.exclude.as_ref().is_some_and(is_in)
    }
}

/// Matches what one of the globs names, and what is below a folder that one names.
fn set(globs: &[&str]) -> Result<Option<GlobSet>, Failure> {
    if globs.is_empty() {
        return Ok(None);
    }
    let wrong = |glob: &str, why: String| {
        Failure::invalid_arguments(format!(
            "globs: '{glob}' is not a glob: {why}; write it like src/**/*.rs, *.md or !tests/**"
        ))
    };
    let mut set = GlobSetBuilder::new();
    for glob in globs {
        if glob.chars().count() > MAX_GLOB_CHARS {
            let why = format!("it has more than {MAX_GLOB_CHARS} characters");
            let start: String = glob.chars().take(40).collect();
            return Err(wrong(&format!("{start}…"), why));
        }
        let plain = glob.trim_start_matches("./");
        let anchored = plain.trim_start_matches('/');
        let pattern = anchored.trim_end_matches('/');
        // A name alone means it in any folder.
        let pattern = match pattern.contains('/') || anchored != plain {
            true => pattern.to_owned(),
            false => format!("**/{pattern}"),
        };
        for pattern in [format!("{pattern}/**"), pattern] {
            let built = GlobBuilder::new(&pattern).literal_separator(true).build();
            set.add(built.map_err(|error| wrong(glob, error.kind().to_string()))?);
        }
    }
    let built = set.build();
    let built = built.map_err(|error| wrong(error.glob().unwrap_or("?"), error.kind().to_string()));
    built.map(Some)
}

#[cfg(test)]
mod tests;
