//! The files of the project, for the completion of `@`.
//!
//! They are looked for when the first `@` is typed, by a thread of its own, and again when the list has become old.
//! Typing never waits for it: a hint takes what there is, and Tab waits for a moment. What `.gitignore` names and
//! what is hidden is left out; its path can be typed, and is completed folder by folder.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::display::escape;
use dunlin_host::walk;
use nucleo_matcher::pattern::{Atom, AtomKind, CaseMatching, Normalization};
use nucleo_matcher::{Config, Matcher, Utf32Str};
use parking_lot::{Condvar, Mutex};

/// How many files are listed: more than the largest repositories have, and some 20 MB of names.
const MAX_FILES: usize = 200_000;

/// How long the looking may take. Where a project lies on a slow disk, part of it is better than nothing.
const MAX_WALK: Duration = Duration::from_secs(10);

/// When the list has become old.
const FRESH: Duration = Duration::from_secs(5);

/// How long Tab waits for the list. Walking through 100,000 files takes about as long.
const PATIENCE: Duration = Duration::from_millis(500);

/// How many files are put into the list at once.
const BATCH: usize = 500;

/// How many candidates are offered.
const MAX_CANDIDATES: usize = 50;

/// Files that are prose come first.
const PROSE: &[&str] = &["md", "txt"];

/// Files that are not text, by their names.
const BINARY: &[&str] = &[
    "7z", "a", "avi", "bin", "bmp", "bz2", "class", "db", "dll", "dylib", "eot", "exe", "flac",
    "gguf", "gif", "gz", "ico", "jar", "jpeg", "jpg", "lib", "mkv", "mov", "mp3", "mp4", "o",
    "obj", "ogg", "otf", "pdf", "png", "pyc", "rar", "rlib", "so", "sqlite", "tar", "tgz", "tif",
    "tiff", "ttf", "wasm", "wav", "webm", "webp", "woff", "woff2", "xz", "zip", "zst",
];

/// The list, shared by whoever completes. Made without looking at anything.
#[derive(Debug, Clone)]
pub struct FileIndex(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    project: PathBuf,
    /// A home folder, or `/`, is not walked through.
    is_project: bool,
    state: Mutex<State>,
    walked: Condvar,
}

#[derive(Debug, Default)]
struct State {
    /// The last whole list.
    files: Arc<Vec<String>>,
    /// What the present walk has found.
    found: Vec<String>,
    is_walking: bool,
    /// When the last walk ended.
    walked_at: Option<Instant>,
    /// What fitted last: a longer word is looked for among these.
    last: Option<Last>,
}

#[derive(Debug)]
struct Last {
    word: String,
    files: Arc<Vec<String>>,
    fitting: Vec<Fit>,
}

/// A file that a word can mean.
#[derive(Debug)]
struct Fit {
    score: u16,
    /// Its place in the list.
    at: usize,
}

impl FileIndex {
    /// The index of a folder; an empty one where that is not a project.
    pub fn new(project: &Path, is_project: bool) -> FileIndex {
        FileIndex(Arc::new(Shared {
            project: project.to_owned(),
            is_project,
            state: Mutex::default(),
            walked: Condvar::new(),
        }))
    }

    /// The same after its first walk, however long that takes.
    #[cfg(test)]
    pub fn walked(project: &Path) -> FileIndex {
        let index = FileIndex::new(project, true);
        index.files(Duration::from_secs(60));
        index
    }

    /// What a word can become: the files whose path or name begins with it; where there is none, the one that it
    /// is most like.
    pub fn candidates(&self, word: &str) -> Vec<String> {
        let small = word.to_lowercase();
        let begins = |path: &str| {
            let path = path.to_lowercase();
            let name = path.rsplit('/').next().unwrap_or_default();
            path.starts_with(&small) || name.starts_with(&small)
        };
        let literal: Vec<String> = self.look(word, PATIENCE, |files, fitting| {
            let mut literal: Vec<&Fit> = fitting
                .iter()
                .filter(|fit| begins(fit.path(files)))
                .collect();
            literal.sort_by_cached_key(|fit| fit.order(files));
            let best = literal.into_iter().take(MAX_CANDIDATES);
            best.map(|fit| fit.path(files).to_owned()).collect()
        });
        match literal.is_empty() {
            true => self.best(word).into_iter().collect(),
            false => literal,
        }
    }

    /// The file that Tab would take. Never waits.
    pub fn best(&self, word: &str) -> Option<String> {
        self.look(word, Duration::ZERO, |files, fitting| {
            // Most have a lower score, and need not be put in order.
            let most = fitting.iter().map(|fit| fit.score).max()?;
            let best = fitting.iter().filter(|fit| fit.score == most);
            let best = best.min_by_key(|fit| fit.order(files))?;
            Some(best.path(files).to_owned())
        })
    }

    /// Looks at the files that fit, in no order.
    fn look<T>(
        &self,
        word: &str,
        patience: Duration,
        look: impl FnOnce(&[String], &[Fit]) -> T,
    ) -> T {
        let files = self.files(patience);
        let mut state = self.0.state.lock();
        let last = state.last.take();
        let narrower = last.filter(|last| {
            let is_longer = word.starts_with(&last.word) && !last.word.is_empty();
            is_longer && Arc::ptr_eq(&last.files, &files)
        });
        let fitting = match narrower {
            Some(last) => fitting(word, &files, last.fitting.into_iter().map(|fit| fit.at)),
            None => fitting(word, &files, 0..files.len()),
        };
        let seen = look(&files, &fitting);
        state.last = Some(Last {
            word: word.to_owned(),
            files,
            fitting,
        });
        seen
    }

    /// The list as it is after at most so long.
    fn files(&self, patience: Duration) -> Arc<Vec<String>> {
        if !self.0.is_project {
            return Arc::default();
        }
        let mut state = self.0.state.lock();
        let is_old = state.walked_at.is_none_or(|at| at.elapsed() > FRESH);
        if is_old && !state.is_walking {
            let shared = Arc::clone(&self.0);
            let walker = std::thread::Builder::new().name("files".to_owned());
            // Without a thread there is no list, and Tab goes folder by folder.
            state.is_walking = walker.spawn(move || shared.walk()).is_ok();
        }
        self.0
            .walked
            .wait_while_for(&mut state, |state| state.is_walking, patience);
        match state.walked_at {
            Some(_) => Arc::clone(&state.files),
            None => Arc::new(state.found.clone()),
        }
    }
}

impl Shared {
    fn walk(&self) {
        let end = Instant::now() + MAX_WALK;
        let mut batch = Vec::with_capacity(BATCH);
        let mut count = 0;
        let also = walk::Also::default();
        let found = walk::builder(&self.project, also, move || Instant::now() > end).build();
        for entry in found.flatten() {
            if count == MAX_FILES {
                break;
            }
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            let path = entry.path().strip_prefix(&self.project).ok();
            let Some(path) = path.and_then(Path::to_str).filter(|_| is_file) else {
                continue;
            };
            // A name that would have to be shown escaped cannot be typed as it is shown.
            if is_text(path) && escape(path) == path {
                batch.push(path.to_owned());
                count += 1;
            }
            if batch.len() == BATCH {
                self.state.lock().found.append(&mut batch);
            }
        }
        let mut state = self.state.lock();
        state.found.append(&mut batch);
        let mut files = std::mem::take(&mut state.found);
        files.sort_unstable();
        state.files = Arc::new(files);
        state.walked_at = Some(Instant::now());
        state.is_walking = false;
        self.walked.notify_all();
    }
}

/// Which of these files a word can mean.
fn fitting(word: &str, files: &[String], among: impl Iterator<Item = usize>) -> Vec<Fit> {
    let mut matcher = Matcher::new(Config::DEFAULT.match_paths());
    let atom = Atom::new(
        word,
        CaseMatching::Smart,
        Normalization::Smart,
        AtomKind::Fuzzy,
        false,
    );
    let mut letters = Vec::new();
    let fit = |at: usize| {
        let path = Utf32Str::new(files.get(at)?, &mut letters);
        let score = atom.score(path, &mut matcher)?;
        Some(Fit { score, at })
    };
    among.filter_map(fit).collect()
}

impl Fit {
    fn path<'a>(&self, files: &'a [String]) -> &'a str {
        files.get(self.at).map(String::as_str).unwrap_or_default()
    }

    /// The best first; prose before others that fit as well, then what is less deep and shorter.
    fn order(&self, files: &[String]) -> (Reverse<u16>, bool, usize, usize, usize) {
        let path = self.path(files);
        let depth = path.matches('/').count();
        (
            Reverse(self.score),
            !has_extension(path, PROSE),
            depth,
            path.len(),
            self.at,
        )
    }
}

fn is_text(path: &str) -> bool {
    !has_extension(path, BINARY)
}

fn has_extension(path: &str, among: &[&str]) -> bool {
    let extension = Path::new(path).extension().and_then(|it| it.to_str());
    extension.is_some_and(|it| among.iter().any(|other| it.eq_ignore_ascii_case(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn project(files: &[&str]) -> tempfile::TempDir {
        let project = tempfile::tempdir().unwrap();
        for file in files {
            let path = project.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "target/\n*.log\n").unwrap();
        }
        project
    }

    #[test]
    fn words_become_files() {
        let project = project(&[
            ".gitignore",
            ".env",
            "README.md",
            "notes/birds.txt",
            "notes/tern.rs",
            "src/main.rs",
            "src/matter.rs",
            "target/debug/main.rs",
            "build.log",
            "logo.png",
            "bad\x1bname",
        ]);
        let index = FileIndex::walked(project.path());
        let check = |word: &str, expected: &[&str]| {
            assert_eq!(index.candidates(word), expected, "{word:?}");
        };
        check(
            "",
            &[
                "README.md",
                "notes/birds.txt",
                "src/main.rs",
                "notes/tern.rs",
                "src/matter.rs",
            ],
        );
        check("src/ma", &["src/main.rs", "src/matter.rs"]);
        check("mai", &["src/main.rs"]);
        check("readme", &["README.md"]);
        check("nbir", &["notes/birds.txt"]);
        check("srmt", &["src/matter.rs"]);
        check("target", &[]);
        check("logo", &[]);
        check("zzz", &[]);
        assert_eq!(index.best("mtr").as_deref(), Some("src/matter.rs"));
        // What is typed on is looked for among what fitted; what is erased is not.
        assert_eq!(index.best("ma").as_deref(), Some("src/main.rs"));
        assert_eq!(index.best("mat").as_deref(), Some("src/matter.rs"));
        assert!(index.best("mt").is_some() && index.best("n").is_some());
    }

    #[test]
    fn no_project_is_walked_through() {
        let home = project(&["notes/birds.txt"]);
        let index = FileIndex::new(home.path(), false);
        assert_eq!(index.candidates("birds"), Vec::<String>::new());
        assert_eq!(index.best("birds"), None);
        assert!(!index.0.state.lock().is_walking);
    }

    #[test]
    fn a_large_project_is_no_trouble() {
        let files: Vec<String> = (0..100_000)
            .map(|number| {
                format!(
                    "folder-{}/sub-{}/file-{number}.rs",
                    number % 100,
                    number % 7
                )
            })
            .collect();
        let best = fitting("f99/s3file99", &files, 0..files.len());
        assert!(!best.is_empty());
        assert!(best.iter().all(|fit| fit.path(&files).contains("99")));
    }
}
