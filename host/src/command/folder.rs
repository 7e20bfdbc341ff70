//! Commands that run in a folder of the project: `cd sub && cargo test`, `git -C sub log`.
//!
//! A promise about a program holds in every folder of the project: the code there is the project's own, too. What the words of
//! the command name is looked up in the folder. Git is the one program whose settings count as the user's, as commands cannot
//! change them. Another repository in a folder brings its own, with names of programs in them: so git counts only where it
//! finds the repository of the project, and only to look, since what a command makes in the folder meanwhile could be one.

use std::path::{Component, Path, PathBuf};

use super::{CommandError, Folder, Guard, Named, Names, Way};
use crate::permission::Permissions;
use crate::target::ProgramFile;

impl Permissions {
    pub(super) fn folder_of_project(&self, word: &str) -> Option<Folder> {
        let path = Path::new(word);
        let below = path.strip_prefix(self.project()).unwrap_or(path);
        let mut parts = Vec::new();
        for part in below.components() {
            match part {
                Component::Normal(part) => parts.push(part.to_str()?),
                Component::CurDir => {}
                Component::ParentDir | Component::RootDir | Component::Prefix(_) => return None,
            }
        }
        // To the shell it may be an option, or the folder before.
        if parts.is_empty() || word.starts_with(['-', '+']) {
            return None;
        }
        let path = parts.join("/");
        if !Names::is_inside(self, &path) || Permissions::named(self, &path) != Named::Folder {
            return None;
        }
        let is_absent = |name: String| Permissions::named(self, &name) == Named::Absent;
        let is_of_repository = (1..=parts.len()).all(|count| {
            let folder = parts[..count].join("/");
            is_absent(format!("{folder}/.git")) && is_absent(format!("{folder}/HEAD"))
        });
        Some(Folder {
            path,
            is_of_repository,
        })
    }
}

/// The machine as a command in a folder of the project finds it.
pub(super) struct InFolder<'a> {
    pub(super) names: &'a dyn Names,
    /// The path from the project.
    pub(super) folder: &'a str,
}

impl InFolder<'_> {
    fn path(&self, word: &str) -> String {
        match word.starts_with('/') {
            true => word.to_owned(),
            false => format!("{}/{word}", self.folder),
        }
    }
}

impl Names for InFolder<'_> {
    /// None by a relative path.
    fn program(&self, word: &str) -> Result<ProgramFile, CommandError> {
        match word.contains('/') && !word.starts_with('/') {
            true => Err(CommandError::NoProgram {
                path: self.path(word),
            }),
            false => self.names.program(word),
        }
    }

    fn way(&self, word: &str) -> Way {
        self.names.way(word)
    }

    fn is_plan_mode(&self) -> bool {
        self.names.is_plan_mode()
    }

    fn loads_changeable(&self) -> bool {
        self.names.loads_changeable()
    }

    fn is_script(&self, program: &ProgramFile) -> bool {
        self.names.is_script(program)
    }

    fn shell(&self) -> &Path {
        self.names.shell()
    }

    fn project(&self) -> &Path {
        self.names.project()
    }

    fn at_home(&self, word: &str) -> Option<String> {
        self.names.at_home(word)
    }

    fn named(&self, word: &str) -> Named {
        self.names.named(&self.path(word))
    }

    fn real(&self, word: &str) -> Option<PathBuf> {
        self.names.real(&self.path(word))
    }

    fn names_in(&self, folder: &str, most: usize) -> Option<Vec<String>> {
        self.names.names_in(&self.path(folder), most)
    }

    fn is_inside(&self, word: &str) -> bool {
        self.names.is_inside(&self.path(word))
    }

    fn has_usual_shell(&self) -> bool {
        self.names.has_usual_shell()
    }

    fn folder(&self, word: &str) -> Option<Folder> {
        // It stays one that is below the folder, and no option.
        let is_plain = !word.is_empty() && !word.starts_with(['-', '+']);
        is_plain.then(|| self.names.folder(&self.path(word)))?
    }

    fn repository_elsewhere(&self) -> Option<PathBuf> {
        self.names.repository_elsewhere()
    }

    fn guarded(&self, word: &str) -> Guard {
        let mut guard = self.names.guarded(&self.path(word));
        // A bare word counts where there is such a file. The path is more than a bare word.
        if !word.contains(['.', '/']) {
            guard.path = guard.path.filter(|path| path.exists());
        }
        guard
    }
}
