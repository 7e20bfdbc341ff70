use std::os::unix::fs::symlink;

use super::*;

struct Home {
    folder: tempfile::TempDir,
    folders: Folders,
}

impl Home {
    fn new() -> Home {
        let folder = tempfile::tempdir().unwrap();
        let environment = [("HOME", folder.path())].into_iter().collect();
        let folders = Folders::find(&environment).unwrap();
        std::fs::create_dir_all(&folders.data).unwrap();
        Home { folder, folders }
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn write(&self, path: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        path
    }

    fn trust(&self, path: &Path, trusted: bool) {
        let digest = dunlin_host::sha256_hex(&std::fs::read(path).unwrap());
        let answers = self.folders.trust_file();
        trust::keep(&answers, path, Some((&digest, trusted))).unwrap();
    }

    fn read(&self, known: &[&str]) -> AgentFiles {
        AgentFolders::new(&self.folders, Some(&self.project())).read(known)
    }
}

fn names(files: &AgentFiles) -> Vec<&str> {
    files.agents.iter().map(|it| it.name.as_str()).collect()
}

fn text(more: &str) -> String {
    format!("---\ndescription: x\n{more}---\nBe brief.\n")
}

#[test]
fn what_cannot_be_used_is_said() {
    let home = Home::new();
    assert_eq!(home.read(&[]), AgentFiles::default());
    home.write(".config/dunlin/agents/b.md", text(""));
    home.write(
        ".config/dunlin/agents/a.md",
        text("name: named\nagent: remote\n"),
    );
    home.write(".config/dunlin/agents/bad.md", "description: x");
    home.write(".config/dunlin/agents/bytes.md", b"---\n\xff");
    home.write(".config/dunlin/agents/c.md", text("name: b\n"));
    home.write(".config/dunlin/agents/d.md", text("name: remote\n"));
    home.write(".config/dunlin/agents/e.md", text("name: ../x\n"));
    home.write(
        ".config/dunlin/agents/f.md",
        text("agent: gone\ncolor: red\n"),
    );
    home.write(".config/dunlin/agents/big.md", "x".repeat(65 * 1024));
    home.write(".config/dunlin/agents/notes.txt", "x");
    let found = home.read(&["remote"]);
    assert_eq!(names(&found), ["b", "named"]);
    insta::assert_snapshot!(found.notices.join("\n"));
}

#[test]
fn a_projects_file_counts_as_long_as_it_is_trusted() {
    let home = Home::new();
    let mine = text("name: mine\n");
    home.write(".config/dunlin/agents/mine.md", &mine);
    let path = home.write("project/.dunlin/agents/theirs.md", text("agent: remote\n"));
    let hidden = home.write("project/.dunlin/agents/mine.md", text(""));
    let ignored = "not used until `dunlin config trust`, since they come with this project: \
                   ~/project/.dunlin/agents/mine.md, ~/project/.dunlin/agents/theirs.md";
    let found = home.read(&["remote"]);
    assert_eq!(names(&found), ["mine"]);
    assert_eq!(found.notices, [ignored]);

    home.trust(&path, false);
    assert_eq!(names(&home.read(&["remote"])), ["mine"]);

    home.trust(&path, true);
    home.trust(&hidden, true);
    let found = home.read(&["remote"]);
    assert_eq!(names(&found), ["mine", "theirs"]);
    // Neither the endpoint nor the name of an agent of the user's is the project's to take.
    assert_eq!(found.agents[0].owner, Owner::User);
    assert_eq!(found.agents[1].text.agent, None);
    assert_eq!(
        found.notices,
        [
            "~/project/.dunlin/agents/mine.md:1: \"mine\" is not offered: ~/.config/dunlin/agents/mine.md has the same \
             name",
            "~/project/.dunlin/agents/theirs.md:3: the key \"agent\" is not used: which endpoint answers is yours to \
             say, not a project's",
        ]
    );

    std::fs::write(&path, text("tools: run_terminal_command\n")).unwrap();
    let found = home.read(&[]);
    assert_eq!(names(&found), ["mine"]);
    assert!(
        found.notices[0].ends_with("theirs.md"),
        "{:?}",
        found.notices
    );

    // What cannot be looked up is not trusted.
    std::fs::write(home.folders.trust_file(), "{").unwrap();
    assert_eq!(names(&home.read(&[])), ["mine"]);
}

#[test]
fn nobody_is_asked_about_a_file_that_makes_no_agent() {
    let home = Home::new();
    let good = home.write("project/.dunlin/agents/good.md", text(""));
    home.write("project/.dunlin/agents/bad.md", "description: x");
    let folders = AgentFolders::new(&home.folders, Some(&home.project()));
    let (files, problems) = folders.foreign();
    let paths: Vec<&Path> = files.iter().map(|it| it.path.as_path()).collect();
    assert_eq!(paths, [good.as_path()]);
    let bad = "~/project/.dunlin/agents/bad.md:1: the file must begin with";
    assert!(
        problems.len() == 1 && problems[0].starts_with(bad),
        "{problems:?}"
    );
    let ignored = folders.ignored(&files).unwrap_or_default();
    assert!(!ignored.contains("bad.md"), "{ignored}");
    // What is wrong with it is said to whoever lists agents, once.
    home.trust(&good, true);
    let found = home.read(&[]);
    assert_eq!(names(&found), ["good"]);
    assert_eq!(found.notices, problems);
}

#[test]
fn no_link_of_a_project_is_followed() {
    let home = Home::new();
    let mine = home.write("notes/mine.md", text(""));
    let agents = home.project().join(".dunlin/agents");
    std::fs::create_dir_all(&agents).unwrap();
    symlink(&mine, agents.join("linked.md")).unwrap();
    home.trust(&mine, true);
    let found = home.read(&[]);
    assert_eq!(names(&found), [""; 0]);
    assert_eq!(
        found.notices,
        [
            "cannot read ~/project/.dunlin/agents/linked.md: it is a symbolic link, which is not followed here"
        ]
    );
}

#[test]
fn a_folder_has_a_bounded_number_of_agents() {
    let home = Home::new();
    for number in 0..=MAX_FILES {
        home.write(&format!(".config/dunlin/agents/a{number:02}.md"), text(""));
    }
    let found = home.read(&[]);
    assert_eq!(found.agents.len(), MAX_FILES);
    assert_eq!(
        found.notices,
        ["~/.config/dunlin/agents has more than 64 files, so those from a64.md on are left out"]
    );
}
