//! Files that a command line names plainly: those that are guarded (secrets, and what belongs to Dunlin), and those
//! whose content a lasting yes is bound to.
//!
//! This sees what stands in the line. What a command can read at all is for the sandbox.

use std::cell::Cell;
use std::collections::{HashMap, HashSet};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::pieces::{Piece, is_plain, is_way_up, is_whole, pieces, pieces_of};
use super::{Named, Names, NotStorable, Way, script};
use crate::secrets::looks_secret;
use crate::target::ProgramFile;

/// Files of one line that a lasting yes can be bound to. Each is read at every use.
const MAX_COVERED: usize = 16;

/// Files of one line that are found, of either kind. Each guarded one is a need, and those are counted.
const MAX_FOUND: usize = 16;

/// Folders of one line in which its names are looked up.
const MAX_FOLDERS: usize = 64;

/// What of a folder that is named as a module decides what runs, without the end: Python's, and Node's. For both, a folder
/// may come before a file of that name.
pub(super) const PARTS_OF_PACKAGES: [&str; 4] = ["__init__", "__main__", "index", "package"];

/// Different paths of one line that are looked up.
const MAX_LOOK_UPS: usize = 4_000;

/// Names on the way to these paths, together: a word of separators has as many pieces as characters, each with as many names.
const MAX_STEPS: usize = 40_000;

/// Names of one folder that are read to find what a name is completed to.
const MAX_NAMES: usize = 20_000;

/// Folders of one line whose names are read.
const MAX_LISTED: usize = 64;

/// Scripts of one line whose interpreters are followed. The kernel follows five.
const MAX_SCRIPTS: usize = 16;

/// Bytes of the longest path that the kernel takes: what is longer names nothing. A word of separators alone has as many
/// pieces as characters, and to look all of them up would take their square.
const MAX_PATH_BYTES: usize = 4096;

/// Pieces of one line that are longer than a path and in which the ends of paths are looked for.
const MAX_LONG: usize = 64;

/// What of the words is guarded.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Guarded {
    /// The files, each once.
    pub(super) files: Vec<PathBuf>,
    /// Whether there is too much to look at.
    pub(super) is_overlong: bool,
    /// Whether the command may find another file under one of the names.
    pub(super) is_unclear: bool,
}

impl Guarded {
    /// Adds what was found among other words.
    pub(super) fn add(&mut self, other: Guarded) {
        other
            .files
            .into_iter()
            .for_each(|path| add(&mut self.files, path));
        self.is_overlong |= other.is_overlong || self.files.len() > MAX_FOUND;
        self.is_unclear |= other.is_unclear;
    }
}

/// Finds what of the words is guarded.
///
/// The words are final, but a program may be a shell: a word that begins with `~` counts in both ways.
pub(super) fn guarded<'a>(words: impl Iterator<Item = &'a str>, names: &dyn Names) -> Guarded {
    let is_unclear = Cell::new(false);
    let look_up = |part: &str| {
        let guard = |word: &str| {
            let guard = names.guarded(word);
            is_unclear.set(is_unclear.get() || guard.is_unclear);
            guard.path
        };
        let home = names.at_home(part);
        let found = guard(part).filter(|path| home.is_none() || path.exists());
        let mut all: Vec<PathBuf> = home.and_then(|home| guard(&home)).into_iter().collect();
        all.extend(found);
        all
    };
    let found = named(words, look_up);
    Guarded {
        is_overlong: found.is_none(),
        files: found.unwrap_or_default(),
        is_unclear: is_unclear.get(),
    }
}

/// What a lasting yes to a line is bound to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bound {
    /// Files whose content counts, and whatever else is named through a link that can be made to lead elsewhere.
    pub(super) files: Vec<PathBuf>,
    /// What the line names that cannot be watched, so that no yes to it is stored. `None`: nothing.
    pub(super) unwatched: Option<NotStorable>,
    /// What was not looked at, or cannot be: then a yes holds only once. `None`: nothing.
    pub(super) missed: Option<NotStorable>,
    /// The digest of all names that were looked up and of what each is, so that a yes ends when one of them becomes
    /// something else. `None`: no names count.
    pub(super) looked_up: Option<String>,
}

impl Bound {
    pub(super) fn nothing() -> Bound {
        Bound {
            files: Vec::new(),
            unwatched: None,
            missed: None,
            looked_up: None,
        }
    }

    /// Notes that something cannot be watched. What is noted first is said.
    fn unwatch(&mut self, what: NotStorable) {
        self.unwatched.get_or_insert(what);
    }

    /// Notes that something was not looked at. What is noted first is said.
    pub(super) fn miss(&mut self, what: NotStorable) {
        self.missed.get_or_insert(what);
    }

    /// Why no yes to it can be stored.
    pub(super) fn not_storable(&self) -> Option<&NotStorable> {
        self.missed.as_ref().or(self.unwatched.as_ref())
    }

    /// Whether there were more files than are listed, or just as many.
    pub(super) fn is_full(&self) -> bool {
        self.files.len() >= MAX_COVERED
    }

    fn add(&mut self, path: PathBuf) {
        if self.files.contains(&path) {
            return;
        }
        match self.files.len() < MAX_COVERED {
            true => self.files.push(path),
            false => self.miss(NotStorable::ManyFiles(MAX_COVERED)),
        }
    }

    fn add_program(&mut self, program: &ProgramFile, way: Way) {
        match way {
            Way::Fixed => {}
            Way::Changeable => self.add(program.real.clone()),
            Way::Unclear => self.miss(NotStorable::Unclear),
        }
    }
}

/// What a yes to a command is bound to: whatever commands can change of what it names, its own programs included, and the
/// interpreters of the scripts among that.
///
/// Names mean something in the project, in the folder where it runs if that is another one, and in each folder that it
/// names (`env -C sub sh r.sh`).
///
/// `new`: a file that is about to be made, and counts as if it were there.
pub(super) fn bound(
    programs: &[(ProgramFile, Way)],
    words: &[String],
    folder: Option<&str>,
    new: Option<&Path>,
    names: &dyn Names,
) -> Bound {
    let mut bound = Bound::nothing();
    let mut search = Search {
        names,
        folder,
        new,
        left: MAX_LOOK_UPS,
        listed: HashMap::new(),
        digest: Sha256::new(),
    };
    for (program, way) in programs {
        search.note_program(program);
        bound.add_program(program, *way);
    }
    search.words(words, &mut bound);
    // Each file that is found may be run.
    let mut scripts: Vec<PathBuf> = Vec::new();
    for (program, _) in programs {
        if !scripts.contains(&program.real) {
            scripts.push(program.real.clone());
        }
    }
    let mut at = 0;
    let mut followed = 0;
    loop {
        let found = bound.files.iter().find(|file| !scripts.contains(file));
        scripts.extend(found.cloned());
        let Some(script) = scripts.get(at) else {
            bound.looked_up = Some(search.digest());
            return bound;
        };
        at += 1;
        // What cannot be read is not started by an interpreter either.
        let head = script::head(script).unwrap_or_default();
        let words = match script::interpreter(&head) {
            Ok(None) => continue,
            Ok(Some(words)) if followed < MAX_SCRIPTS => words,
            // It cannot be told what would run.
            Ok(Some(_)) | Err(_) => {
                let name = script.to_string_lossy().into_owned();
                bound.miss(NotStorable::Script(name));
                continue;
            }
        };
        followed += 1;
        search.words(&words, &mut bound);
        // `env` looks its program up; so does the kernel for none, and a path is found in any case.
        for word in &words {
            let Ok(program) = names.program(word) else {
                continue;
            };
            search.note_program(&program);
            bound.add_program(&program, names.way(word));
            if !scripts.contains(&program.real) {
                scripts.push(program.real);
            }
        }
    }
}

/// Why a yes cannot be stored where commands can make a name lead elsewhere, or it is no file.
fn elsewhere(name: &str, is_folder: bool) -> NotStorable {
    let name = name.to_owned();
    match is_folder {
        true => NotStorable::Folder(name),
        false => NotStorable::NoFile(name),
    }
}

/// Looks up what words name.
struct Search<'a> {
    names: &'a dyn Names,
    /// Where the command runs, if that is not the project.
    folder: Option<&'a str>,
    /// A file that counts as if it were there.
    new: Option<&'a Path>,
    /// Look-ups that are left.
    left: usize,
    /// The names in the folders that were read.
    listed: HashMap<String, Vec<String>>,
    /// All that was looked up so far, and what it is.
    digest: Sha256,
}

impl Search<'_> {
    /// Notes what a name is.
    fn note(&mut self, name: &str, kind: &[u8]) {
        self.digest.update(name.as_bytes());
        self.digest.update([0]);
        self.digest.update(kind);
        self.digest.update([0]);
    }

    fn note_program(&mut self, program: &ProgramFile) {
        let called = program.called.to_string_lossy().into_owned();
        self.note(&called, program.real.as_os_str().as_bytes());
    }

    fn digest(self) -> String {
        let digest = self.digest.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Looks a name up.
    fn look_up(&mut self, written: &str) -> Named {
        let found = match (self.names.named(written), self.new) {
            (Named::Absent, Some(new)) => self.once_made(written, new),
            (found, _) => found,
        };
        let kind: &[u8] = match &found {
            Named::Absent => b"absent",
            Named::File(_) | Named::Fixed { is_folder: false } => b"file",
            Named::Folder | Named::Fixed { is_folder: true } => b"folder",
            Named::Other { is_folder, .. } if *is_folder => b"folder",
            Named::Other { .. } => b"other",
            Named::Unclear => b"unclear",
        };
        self.note(written, kind);
        found
    }

    /// What a name that leads to nothing leads to once this file is made, and the folders around it.
    fn once_made(&self, written: &str, new: &Path) -> Named {
        match self.names.real(written) {
            Some(real) if real == new => Named::File(real),
            Some(real) if new.starts_with(&real) => Named::Folder,
            _ => Named::Absent,
        }
    }

    fn words(&mut self, words: &[String], bound: &mut Bound) {
        let pieces = match pieces(words) {
            Some(pieces) => pieces,
            None => {
                bound.miss(NotStorable::ManyNames);
                return;
            }
        };
        // The project, which relative names begin in, has no name of its own.
        let mut folders = vec![String::new()];
        folders.extend(self.folder.map(|folder| format!("{folder}/")));
        let starts = folders.len();
        // A way up is not followed from where another one leads.
        if words.iter().filter(|word| is_way_up(word)).count() > 1 {
            bound.miss(NotStorable::WayUp);
        }
        let mut at = 0;
        while let Some(folder) = folders.get(at).cloned() {
            at += 1;
            for piece in &pieces {
                if self.left == 0 {
                    bound.miss(NotStorable::ManyNames);
                    return;
                }
                self.left -= 1;
                let text = &piece.text;
                let is_relative = !text.starts_with('/');
                if at > 1 && !is_relative || at > starts && is_way_up(text) {
                    continue;
                }
                // A shell among the programs takes it for a home.
                let home = self.names.at_home(text).filter(|_| at == 1);
                let folder = if is_relative { folder.as_str() } else { "" };
                for written in std::iter::once(format!("{folder}{text}")).chain(home) {
                    let is_folder = self.piece(piece, &written, bound);
                    // Names in the folder itself are looked up as they are. A folder that is reached in another way, such as
                    // `..`, is another one: what is below it may be the project again.
                    let is_other =
                        !is_relative || text.split('/').any(|part| !matches!(part, "" | "."));
                    if is_folder && is_other && folders.len() <= MAX_FOLDERS {
                        folders.push(format!("{}/", written.trim_end_matches('/')));
                    } else if is_folder && is_other {
                        bound.miss(NotStorable::ManyNames);
                    }
                }
            }
        }
    }

    /// Whether it is a folder in which other names mean something.
    fn piece(&mut self, piece: &Piece<'_>, written: &str, bound: &mut Bound) -> bool {
        let found = self.look_up(written);
        // Also where there is such a file: a program that completes names takes no notice of it.
        if piece.may_be_completed {
            self.completed(written, bound);
            let is_folder = match &found {
                Named::Folder => true,
                Named::Other { is_folder, .. } | Named::Fixed { is_folder } => *is_folder,
                Named::File(_) | Named::Absent | Named::Unclear => false,
            };
            for part in PARTS_OF_PACKAGES.iter().filter(|_| is_folder) {
                self.completed(&format!("{written}/{part}"), bound);
            }
        }
        match found {
            Named::File(path) => {
                bound.add(path);
                false
            }
            // What is in a folder that commands cannot change may be a way to what they can.
            Named::Folder | Named::Fixed { is_folder: true } => piece.may_be_folder,
            Named::Other { path, is_folder } if piece.may_be_folder || !is_folder => {
                bound.add(path);
                bound.unwatch(elsewhere(written, is_folder));
                is_folder
            }
            Named::Unclear => {
                bound.miss(NotStorable::Unreadable(written.to_owned()));
                false
            }
            _ => false,
        }
    }

    /// What has a name as all before one of its dots.
    fn completed(&mut self, written: &str, bound: &mut Bound) {
        let (folder, name) = match written.rsplit_once('/') {
            Some((folder, name)) => (format!("{folder}/"), name),
            None => (String::new(), written),
        };
        if name.is_empty() || name.starts_with('.') && name.chars().all(|c| c == '.') {
            return;
        }
        let Some(names) = self.names_in(&folder) else {
            bound.miss(NotStorable::ManyNames);
            return;
        };
        let is_stem = |other: &&String| {
            let rest = other.strip_prefix(name);
            rest.is_some_and(|rest| rest.starts_with('.'))
        };
        let mut found: Vec<String> = names.iter().filter(is_stem).cloned().collect();
        found.sort();
        for name in found {
            let name = format!("{folder}{name}");
            match self.look_up(&name) {
                Named::File(path) => bound.add(path),
                Named::Other { path, is_folder } => {
                    bound.add(path);
                    bound.unwatch(elsewhere(&name, is_folder));
                }
                Named::Unclear => bound.miss(NotStorable::Unreadable(name)),
                Named::Absent | Named::Fixed { .. } | Named::Folder => {}
            }
        }
    }

    /// The name in a folder that comes with the new file.
    fn made_in(&self, folder: &str) -> Option<String> {
        let folder = if folder.is_empty() { "." } else { folder };
        let inside = self.new?.strip_prefix(self.names.real(folder)?).ok()?;
        let name = inside.components().next()?;
        Some(name.as_os_str().to_string_lossy().into_owned())
    }

    /// What is in a folder that commands can change; `None`: too much.
    fn names_in(&mut self, folder: &str) -> Option<&[String]> {
        if !self.listed.contains_key(folder) {
            let mut names = self.names.names_in(folder, MAX_NAMES)?;
            names.extend(self.made_in(folder));
            let is_listed = |names: &&Vec<String>| !names.is_empty();
            if !names.is_empty() && self.listed.values().filter(is_listed).count() >= MAX_LISTED {
                return None;
            }
            self.listed.insert(folder.to_owned(), names);
        }
        self.listed.get(folder).map(Vec::as_slice)
    }
}

/// What `look_up` finds for the words and for their pieces, each once; `None`: there is too much to look at.
fn named<'a>(
    words: impl Iterator<Item = &'a str>,
    look_up: impl Fn(&str) -> Vec<PathBuf>,
) -> Option<Vec<PathBuf>> {
    let mut found: Vec<PathBuf> = Vec::new();
    let mut seen = HashSet::new();
    let mut long = 0;
    let mut steps = 0;
    let mut is_too_much = |piece: &str| {
        steps += piece.matches('/').count() + 1;
        steps > MAX_STEPS
    };
    for word in words {
        let before = found.len();
        let is_code = !is_plain(word, false);
        for (piece, is_part) in pieces_of(word) {
            let is_long = !is_part && piece.len() > MAX_PATH_BYTES;
            // The ends of the word are its own ends as well.
            let is_rest = piece.len() < word.len()
                && piece.as_bytes().as_ptr_range().end == word.as_bytes().as_ptr_range().end;
            if is_long && is_rest {
                continue;
            }
            long += usize::from(is_long);
            if long > MAX_LONG {
                return None;
            }
            // What only may be a name counts where there is such a file.
            let is_likely = is_part || found.len() == before && is_whole(piece, word);
            let must_exist = !is_likely || piece.contains(char::is_whitespace);
            if piece.is_empty() || !seen.insert((piece, must_exist)) {
                continue;
            }
            if seen.len() > MAX_LOOK_UPS || found.len() > MAX_FOUND {
                return None;
            }
            let mut paths = match is_long {
                true => Vec::new(),
                false if is_too_much(piece) => return None,
                false => look_up(piece),
            };
            paths.retain(|path| !must_exist || path.exists());
            if !paths.is_empty() {
                paths.into_iter().for_each(|path| add(&mut found, path));
                continue;
            }
            // What stands before may be replaced: `$PWD/.env`, `${x:-.env}`.
            let ends = piece.match_indices(['/', '-']).filter(|_| is_code);
            let ends = ends.map(|(at, _)| &piece[at + 1..]);
            for end in ends.filter(|end| end.len() <= MAX_PATH_BYTES) {
                if end.is_empty() || !seen.insert((end, true)) {
                    continue;
                }
                if seen.len() > MAX_LOOK_UPS || found.len() > MAX_FOUND || is_too_much(end) {
                    return None;
                }
                let paths = look_up(end).into_iter().filter(|path| path.exists());
                paths.for_each(|path| add(&mut found, path));
            }
        }
    }
    Some(found)
}

fn add(found: &mut Vec<PathBuf>, path: PathBuf) {
    if !found.contains(&path) {
        found.push(path);
    }
}

/// Whether a path looks like a secret. A bare word like `secrets` is one only where there is such a file.
pub(super) fn is_secret(written: &str, path: &Path) -> bool {
    let looks = looks_secret(path) || looks_secret(&path.join("x"));
    looks && (written.contains(['.', '/']) || path.exists())
}
