use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};
use tempfile::TempDir;

use super::{Also, builder};

/// A folder with these files, resolved.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = TempDir::new().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn found(root: &Path) -> Vec<String> {
    found_with(root, Also::default())
}

/// The files that are found, one after the other and side by side.
fn found_with(root: &Path, also: Also) -> Vec<String> {
    let root = root.canonicalize().unwrap();
    let name = |path: &Path| path.strip_prefix(&root).unwrap().display().to_string();
    let is_file = |entry: &ignore::DirEntry| entry.file_type().is_some_and(|kind| kind.is_file());
    let walk = builder(&root, also, || false).build().flatten();
    let mut files: Vec<String> = walk
        .filter(is_file)
        .map(|entry| name(entry.path()))
        .collect();
    files.sort();
    let beside = std::sync::Mutex::new(Vec::new());
    builder(&root, also, || false).build_parallel().run(|| {
        Box::new(|entry| {
            if let Some(entry) = entry.ok().filter(is_file) {
                beside.lock().unwrap().push(name(entry.path()));
            }
            ignore::WalkState::Continue
        })
    });
    let mut beside = beside.into_inner().unwrap();
    beside.sort();
    assert_eq!(files, beside);
    files
}

#[test]
fn the_nearest_pattern_says_most() {
    let folder = folder(&[
        (
            ".gitignore",
            "*.log\n/target\n# a comment\n!kept.log\nsub/[\n",
        ),
        (".ignore", "notes.txt\n!.shown\n"),
        (".git/info/exclude", "mine.txt\n"),
        (".git/config", ""),
        (".hidden", ""),
        (".shown", ""),
        ("a.log", ""),
        ("kept.log", ""),
        ("mine.txt", ""),
        ("notes.txt", ""),
        ("target/a.txt", ""),
        ("sub/.gitignore", "!b.log\n*.txt\n"),
        ("sub/b.log", ""),
        ("sub/c.log", ""),
        ("sub/d.txt", ""),
        ("sub/target/e.rs", ""),
        ("other/d.txt", ""),
        // Another repository within: only what it says itself.
        ("module/.git/config", ""),
        ("module/f.log", ""),
        ("module/notes.txt", ""),
    ]);
    let expected = [
        ".shown",
        "kept.log",
        "module/f.log",
        "other/d.txt",
        "sub/b.log",
        "sub/target/e.rs",
    ];
    assert_eq!(found(folder.path()), expected);
    // Part of a repository: its rules hold; what is above it says nothing.
    assert_eq!(found(&folder.path().join("other")), ["d.txt"]);
    assert_eq!(found(&folder.path().join("sub")), ["b.log", "target/e.rs"]);
    fs::remove_dir_all(folder.path().join(".git")).unwrap();
    assert_eq!(
        found(&folder.path().join("sub")),
        ["b.log", "c.log", "target/e.rs"]
    );
}

#[test]
fn an_ignore_file_is_a_small_regular_file() {
    let folder = folder(&[("a.txt", ""), ("b.log", ""), ("patterns", "*.txt\n")]);
    let ignore = folder.path().join(".ignore");
    for target in ["/dev/zero", "/dev/tty", "patterns"] {
        symlink(target, &ignore).unwrap();
        assert_eq!(
            found(folder.path()),
            ["a.txt", "b.log", "patterns"],
            "{target}"
        );
        fs::remove_file(&ignore).unwrap();
    }
    mknodat(CWD, &ignore, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert_eq!(found(folder.path()).len(), 3);
    fs::remove_file(&ignore).unwrap();
    // Of a large one the beginning counts, and whole lines of it.
    let many: String = (0..20_000)
        .map(|number| format!("name-{number}/**/x\n"))
        .collect();
    fs::write(&ignore, format!("*.log\n{many}*.txt\n")).unwrap();
    assert_eq!(found(folder.path()), ["a.txt", "patterns"]);
    let long = "x".repeat(2000);
    fs::write(&ignore, format!("{long}\n*.log\n\u{0}\n[z-a]\n{{a,\n")).unwrap();
    assert_eq!(found(folder.path()), ["a.txt", "patterns"]);
}

#[test]
fn patterns_of_all_folders_together_have_an_end() {
    let many: String = (0..4_000).map(|number| format!("n{number}\n")).collect();
    let folder = folder(&[]);
    for name in ["a", "b", "c", "d"] {
        let path = folder.path().join(name);
        fs::create_dir(&path).unwrap();
        fs::write(path.join(".ignore"), format!("{many}left-out\n")).unwrap();
        fs::write(path.join("left-out"), "").unwrap();
    }
    assert_eq!(found(folder.path()).len(), 2);
}

#[test]
fn a_walk_can_be_stopped() {
    let folder = folder(&[("a.txt", ""), ("b/c.txt", "")]);
    let root = folder.path().canonicalize().unwrap();
    let walk = builder(&root, Also::default(), || true).build().flatten();
    assert_eq!(walk.filter(|entry| entry.depth() > 0).count(), 0);
}

#[test]
fn hidden_and_ignored_files_are_found_where_they_are_asked_for() {
    let folder = folder(&[
        (".gitignore", "*.log\n/target\n.cache\n!.git\n"),
        (".git/config", ""),
        (".github/workflow.yml", ""),
        (".cache/a", ""),
        ("a.log", ""),
        ("b.txt", ""),
        ("sub/.git/config", ""),
        ("target/c.txt", ""),
    ]);
    let check = |hidden, ignored, expected: &[&str]| {
        let also = Also { hidden, ignored };
        assert_eq!(found_with(folder.path(), also), expected, "{also:?}");
    };
    check(false, false, &["b.txt"]);
    check(
        true,
        false,
        &[".github/workflow.yml", ".gitignore", "b.txt"],
    );
    check(false, true, &["a.log", "b.txt", "target/c.txt"]);
    check(
        true,
        true,
        &[
            ".cache/a",
            ".github/workflow.yml",
            ".gitignore",
            "a.log",
            "b.txt",
            "target/c.txt",
        ],
    );
}
