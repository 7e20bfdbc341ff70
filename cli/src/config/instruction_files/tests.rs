use std::os::unix::fs::symlink;

use super::*;

struct Home {
    _folder: tempfile::TempDir,
    root: PathBuf,
    folders: Folders,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let environment = [("HOME", root.as_path())].into_iter().collect();
        let folders = Folders::find(&environment).unwrap();
        std::fs::create_dir_all(root.join("project/src/deep")).unwrap();
        Home {
            _folder: folder,
            root,
            folders,
        }
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn trust(&self, path: &Path) {
        let text = std::fs::read(path).unwrap();
        let digest = dunlin_host::sha256_hex(&text);
        trust::keep(&self.folders.trust_file(), path, Some((&digest, true))).unwrap();
    }

    fn read_in(&self, started_in: &str) -> InstructionFiles {
        InstructionPlaces {
            folders: &self.folders,
            project: Some(&self.root.join("project")),
            started_in: &self.root.join(started_in),
            protected: vec![
                self.root.join("project/.dunlin"),
                self.folders.config.clone(),
            ],
        }
        .read()
    }

    fn read(&self) -> InstructionFiles {
        self.read_in("project/src/deep")
    }
}

fn names(files: &[InstructionFile]) -> Vec<&str> {
    files.iter().map(|file| file.name.as_str()).collect()
}

#[test]
fn the_users_comes_first_and_the_nearest_last() {
    let home = Home::new();
    assert_eq!(home.read(), InstructionFiles::default());
    home.write("project/src/AGENTS.md", "src");
    home.write("project/src/deep/CLAUDE.md", "deep");
    home.write("project/AGENTS.md", "top");
    home.write("project/CLAUDE.md", "not read beside the other one");
    home.write("project/other/AGENTS.md", "not on the way");
    home.write("AGENTS.md", "above the project");
    home.write(".config/dunlin/AGENTS.md", "mine");
    let found = home.read();
    assert_eq!(found.notices, [""; 0]);
    assert_eq!(
        names(&found.files),
        [
            "~/.config/dunlin/AGENTS.md",
            "AGENTS.md",
            "src/AGENTS.md",
            "src/deep/CLAUDE.md"
        ]
    );
    // Started elsewhere, with --project, there is no way down.
    let found = home.read_in("elsewhere");
    assert_eq!(
        names(&found.files),
        ["~/.config/dunlin/AGENTS.md", "AGENTS.md"]
    );
    let nowhere = InstructionPlaces {
        folders: &home.folders,
        project: None,
        started_in: &home.root,
        protected: Vec::new(),
    };
    assert_eq!(names(&nowhere.read().files), ["~/.config/dunlin/AGENTS.md"]);
}

#[test]
fn a_projects_file_counts_as_long_as_it_is_trusted_as_it_is() {
    let home = Home::new();
    home.write(".config/dunlin/AGENTS.md", "mine");
    let top = home.write("project/AGENTS.md", "top");
    home.write("project/src/AGENTS.md", "src");
    let users = "~/.config/dunlin/AGENTS.md";
    let ignored = "not used until `dunlin config trust`, since they come with this project: ";
    let check = |expected: &[&str], not_used: &str| {
        let (files, notices) = home.read().usable();
        assert_eq!(names(&files), expected);
        assert_eq!(notices, [format!("{ignored}{not_used}")]);
    };
    check(&[users], "AGENTS.md, src/AGENTS.md");
    home.trust(&top);
    check(&[users, "AGENTS.md"], "src/AGENTS.md");
    home.write("project/AGENTS.md", "changed");
    check(&[users], "AGENTS.md, src/AGENTS.md");
    // Answers that cannot be read trust nothing.
    home.trust(&top);
    std::fs::write(home.folders.trust_file(), "{").unwrap();
    check(&[users], "AGENTS.md, src/AGENTS.md");
}

#[test]
fn a_link_counts_by_where_it_leads() {
    let home = Home::new();
    let top = home.root.join("project/AGENTS.md");
    home.write("outside.md", "outside");
    home.write("project/docs/rules.md", "rules");
    home.write("project/.env", "SECRET=1");
    home.write("project/.dunlin/agents/a.md", "own");
    home.write(".config/dunlin/config.toml", "own");
    home.write("project/bytes", b"one\n\xff");
    std::fs::create_dir(home.root.join("project/folder")).unwrap();
    let pipe = home.root.join("project/pipe");
    let mode = Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    let check = |target: &str, expected: Result<&str, &str>| {
        let _ = std::fs::remove_file(&top);
        symlink(target, &top).unwrap();
        // A file that cannot be used is not passed over for another one.
        home.write("project/CLAUDE.md", "other");
        let found = home.read();
        match expected {
            Ok(text) => {
                assert_eq!(found.notices, [""; 0], "{target}");
                assert_eq!(found.files[0].text, text, "{target}");
            }
            Err(problem) => {
                let notice = format!("cannot read ~/project/AGENTS.md: {problem}");
                assert_eq!(found.notices, [notice], "{target}");
                assert_eq!(found.files, [], "{target}");
            }
        }
    };
    check("docs/rules.md", Ok("rules"));
    check("../project/docs/../docs/rules.md", Ok("rules"));
    let out = "it is a link that leads out of the project";
    check("../outside.md", Err(out));
    check("/etc/passwd", Err(out));
    check("../.config/dunlin/config.toml", Err(out));
    check("/dev/zero", Err(out));
    check("nowhere", Err("it is a link that leads nowhere"));
    check(".env", Err("files of this name usually hold secrets"));
    check(
        ".dunlin/agents/a.md",
        Err("it is one of Dunlin's own files"),
    );
    check("folder", Err("it is not a regular file"));
    check("pipe", Err("it is not a regular file"));
    check("bytes", Err("line 2 is not UTF-8"));
    // A hard link to a secret looks like a file of its own.
    std::fs::remove_file(&top).unwrap();
    std::fs::hard_link(home.root.join("project/.env"), &top).unwrap();
    let found = home.read();
    let problem = "it has another name (a hard link), which may be that of a secret; a copy of it can be used";
    let notice = format!("cannot read ~/project/AGENTS.md: {problem}");
    assert_eq!((found.files, found.notices), (vec![], vec![notice]));
    // A folder on the way that leads out.
    std::fs::remove_file(&top).unwrap();
    std::fs::remove_file(home.root.join("project/CLAUDE.md")).unwrap();
    home.write("elsewhere/AGENTS.md", "elsewhere");
    std::fs::remove_dir_all(home.root.join("project/src")).unwrap();
    symlink("../elsewhere", home.root.join("project/src")).unwrap();
    let found = home.read_in("project/src");
    assert_eq!(
        found.notices,
        [format!("cannot read ~/project/src/AGENTS.md: {out}")]
    );
    // One file by two names is one file.
    home.write("project/AGENTS.md", "top");
    std::fs::create_dir(home.root.join("project/inner")).unwrap();
    symlink("../AGENTS.md", home.root.join("project/inner/CLAUDE.md")).unwrap();
    let found = home.read_in("project/inner");
    assert_eq!(names(&found.files), ["AGENTS.md"]);
}

#[test]
fn what_is_too_long_is_cut_after_a_whole_line() {
    let home = Home::new();
    let lines = |count: usize| "0123456789abcde\n".repeat(count);
    let most = MAX_BYTES / 16;
    home.write("project/AGENTS.md", lines(most));
    assert_eq!(home.read().notices, [""; 0]);
    home.write("project/AGENTS.md", format!("{}é", lines(most)));
    let found = home.read();
    assert_eq!(found.files[0].text.len(), MAX_BYTES);
    let too_long = |name: &str, lines: usize| {
        format!(
            "{name} is too long: all instruction files together may have 32 kB, and only its first {lines} lines are used"
        )
    };
    assert_eq!(found.notices, [too_long("~/project/AGENTS.md", most)]);
    // A character that the limit divides.
    home.write("project/AGENTS.md", "é".repeat(MAX_BYTES));
    assert_eq!(home.read().files[0].text.len(), MAX_BYTES);
    home.write("project/AGENTS.md", format!("x{}", "é".repeat(MAX_BYTES)));
    assert_eq!(home.read().files[0].text.len(), MAX_BYTES - 1);

    // The one far from where Dunlin was started has what the others leave.
    home.write(".config/dunlin/AGENTS.md", lines(most / 4));
    for path in [
        "project/AGENTS.md",
        "project/src/AGENTS.md",
        "project/src/deep/AGENTS.md",
    ] {
        home.trust(&home.write(path, lines(most / 2)));
    }
    let (files, notices) = home.read().usable();
    let lengths: Vec<usize> = files.iter().map(|file| file.text.len()).collect();
    assert_eq!(lengths, [MAX_BYTES / 4, MAX_BYTES / 4, MAX_BYTES / 2]);
    assert_eq!(
        notices,
        [
            too_long("src/AGENTS.md", most / 4),
            "AGENTS.md is left out: all instruction files together may have 32 kB".to_owned()
        ]
    );
}
