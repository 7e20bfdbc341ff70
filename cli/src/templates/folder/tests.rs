use std::os::unix::fs::symlink;

use rustix::fs::{CWD, Mode};

use super::*;
use crate::config::markdown::MAX_ENTRIES;

fn places(home: &Path) -> Places {
    let environment = [("HOME", home)].into_iter().collect();
    let folders = Folders::find(&environment).unwrap();
    Places::new(&folders, (&home.join("project"), true))
}

fn write(path: PathBuf, text: impl AsRef<[u8]>) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

#[test]
fn folders_are_listed_with_what_cannot_be_used() {
    let home = tempfile::tempdir().unwrap();
    let places = places(home.path());
    assert_eq!(places.list(|_| false), Listing::default());
    let project = places.project().unwrap();
    for name in ["review.md", "help.md", "a b.md", ".hidden.md", "notes.txt"] {
        write(places.user().join(name), "x");
    }
    write(project.join("review.md"), "y");
    write(project.join("tests.md"), "z");
    let listing = places.list(|name| name == "help");
    let found = listing
        .templates
        .iter()
        .map(|it| (it.name.as_str(), it.owner));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [("review", Owner::User), ("tests", Owner::Project)]
    );
    let user = places.user().display();
    assert_eq!(
        listing.problems,
        [
            format!(
                "{user}/a b.md is not offered: its name may have letters, digits, - and _, and begins with a letter \
                 or digit"
            ),
            format!("{user}/help.md is not offered: /help is a command of Dunlin; rename the file"),
            format!(
                "{}/review.md is not offered: {user}/review.md has the same name",
                project.display()
            ),
        ]
    );
    let find = |name: &str| places.find(name, |name| name == "help").map(|it| it.owner);
    assert_eq!(find("review"), Some(Owner::User));
    assert_eq!(find("tests"), Some(Owner::Project));
    for name in ["help", "a b", "", "../config", ".hidden", "nope"] {
        assert_eq!(find(name), None, "{name}");
    }
    for count in 0..=MAX_ENTRIES {
        write(places.user().join(format!("t{count:04}.md")), "x");
    }
    let listing = places.list(|name| name == "help");
    assert!(
        listing
            .problems
            .iter()
            .any(|it| it.contains("more than 2000 entries"))
    );
}

#[test]
fn what_is_no_readable_text_is_refused() {
    let home = tempfile::tempdir().unwrap();
    let places = places(home.path());
    let user = places.user().to_path_buf();
    write(user.join("big.md"), "x".repeat(MAX_BYTES + 1));
    write(user.join("most.md"), "x".repeat(MAX_BYTES));
    write(user.join("bytes.md"), b"one\ntwo\xff");
    std::fs::create_dir(user.join("folder.md")).unwrap();
    rustix::fs::mkfifoat(CWD, user.join("pipe.md"), Mode::RWXU).unwrap();
    let check = |name: &str, expected: Option<&str>| {
        let template = places.find(name, |_| false).unwrap();
        let error = places.read(&template).err().map(|error| {
            let error = dunlin_host::display::chain(&error);
            error.rsplit(": ").next().unwrap().to_owned()
        });
        assert_eq!(error.as_deref(), expected, "{name}");
    };
    check("most", None);
    check("big", Some("it is longer than 64 kB"));
    check("bytes", Some("this is not UTF-8"));
    check("folder", Some("it is not a regular file"));
    check("pipe", Some("it is not a regular file"));
}

#[test]
fn no_link_leads_out_of_a_project() {
    let home = tempfile::tempdir().unwrap();
    let places = places(home.path());
    let secret = home.path().join("secret.md");
    write(secret.clone(), "key");
    write(places.user().join("mine.md"), "x");
    symlink(&secret, places.user().join("linked.md")).unwrap();
    let project = places.project().unwrap();
    std::fs::create_dir_all(&project).unwrap();
    symlink(&secret, project.join("out.md")).unwrap();
    let read = |name: &str| {
        let template = places.find(name, |_| false).unwrap();
        places
            .read(&template)
            .map_err(|error| dunlin_host::display::chain(&error))
    };
    // The user's own may be anywhere.
    assert_eq!(read("linked").as_deref(), Ok("key"));
    let error = read("out").unwrap_err();
    assert!(
        error.ends_with("it is a symbolic link, which is not followed here"),
        "{error}"
    );
    // Nor may the folders be links.
    for folder in [project.clone(), project.parent().unwrap().to_path_buf()] {
        std::fs::remove_dir_all(&folder).unwrap();
        symlink(home.path(), &folder).unwrap();
        symlink(places.user(), home.path().join("prompts")).unwrap();
        let listing = places.list(|_| false);
        let names: Vec<&str> = listing
            .templates
            .iter()
            .map(|it| it.name.as_str())
            .collect();
        assert_eq!(names, ["linked", "mine"], "{}", folder.display());
        assert_eq!(listing.problems.len(), 1, "{:?}", listing.problems);
        std::fs::remove_file(&folder).unwrap();
        std::fs::remove_file(home.path().join("prompts")).unwrap();
        std::fs::create_dir_all(&folder).unwrap();
    }
}

#[test]
fn a_text_is_saved_once_and_for_the_user_alone() {
    let home = tempfile::tempdir().unwrap();
    let places = places(home.path());
    let save = |name: &str, text: &str| {
        let saved = places.save(name, |name| name == "help", "section 2", text);
        saved.map(|(_, is_escaped)| is_escaped).map_err(|error| {
            error
                .to_string()
                .replace(&home.path().display().to_string(), "~")
        })
    };
    assert_eq!(save("terns", "Count {{them}}."), Ok(true));
    let path = places.user().join("terns.md");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(places.user())), (0o600, 0o700));
    let template = places.find("terns", |_| false).unwrap();
    let (_, text) = places.load(&template).unwrap();
    assert_eq!(text.fill(&[]).unwrap(), "Count {{them}}.");
    let refused = |name: &str, text: &str, expected: &str| {
        assert_eq!(save(name, text), Err(expected.to_owned()), "{name}");
    };
    refused(
        "terns",
        "other",
        "~/.config/dunlin/prompts/terns.md already exists: choose another name, or delete the file",
    );
    refused(
        "help",
        "x",
        "/help is a command of Dunlin: choose another name",
    );
    refused("x", " \n", "there is no text to save");
    refused(
        "x",
        &"x".repeat(MAX_BYTES),
        "the text is longer than the 64 kB that a template may have",
    );
    for name in [
        "",
        "../x",
        "a/b",
        "a.b",
        ".x",
        "-x",
        "a b",
        "ä",
        &"x".repeat(65),
    ] {
        assert!(
            matches!(save(name, "x"), Err(error) if error.contains("is not a name")),
            "{name}"
        );
    }
    assert_eq!(std::fs::read_dir(places.user()).unwrap().count(), 1);
}
