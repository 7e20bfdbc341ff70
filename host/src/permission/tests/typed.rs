//! What a person types decides what is allowed, and not what lies in the project.

use std::os::unix::fs::{PermissionsExt, symlink};

use super::{Fixture, verdict};
use crate::command::CommandError;
use crate::permission::PermissionError;
use crate::permission::key::Decided;
use crate::permission::{Permissions, Verdict};
use crate::target::Operation::{self, Execute, Read, Write};

#[test]
fn no_yes_follows_a_link_that_commands_can_change() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    symlink("../outside", at("project/docs")).unwrap();
    symlink("..", at("project/src/up")).unwrap();
    symlink("../outside/notes.txt", at("project/notes.md")).unwrap();
    symlink("src", at("project/code")).unwrap();
    symlink("/", at("project/all")).unwrap();
    symlink("project/src", at("own-link")).unwrap();
    let permissions = fixture.open();
    let root = fixture.root.display();
    let refused = [
        ("docs/", format!("{root}/outside")),
        ("docs", format!("{root}/outside")),
        ("./docs/notes.txt", format!("{root}/outside/notes.txt")),
        ("docs/new.txt", format!("{root}/outside/new.txt")),
        ("docs/../x", format!("{root}/x")),
        ("src/up/src/", format!("{root}/project/src")),
        ("notes.md", format!("{root}/outside/notes.txt")),
        ("code/", format!("{root}/project/src")),
        ("all/", "/".to_owned()),
        ("all/etc/hosts", "/etc/hosts".to_owned()),
        ("~/project/docs/", format!("{root}/outside")),
    ];
    for (typed, expected) in &refused {
        for bits in ["r??", "?w?", "rw?", "rwx"] {
            let errors = [
                permissions.allow_by_option(typed, bits, "--allow").err(),
                permissions.set(typed, bits).err(),
            ];
            for error in errors {
                let Some(PermissionError::Link { real, .. }) = error else {
                    panic!("{typed} {bits}: {error:?}");
                };
                assert_eq!(real.to_str(), Some(expected.as_str()), "{typed}");
            }
        }
        for operation in [Read, Write] {
            let error = permissions.set_one(typed, operation, Decided::Allow);
            assert!(
                matches!(error, Err(PermissionError::Link { .. })),
                "{typed}: {error:?}"
            );
        }
    }
    // A no is for what it leads to, and links of the user's own lead where they lead.
    permissions.set_one("docs/", Read, Decided::Deny).unwrap();
    assert_eq!(
        verdict(&permissions, &fixture.need("outside/notes.txt", Read)),
        Verdict::Deny
    );
    permissions.set("~/own-link/", "?w?").unwrap();
    assert_eq!(
        verdict(&permissions, &fixture.need("project/src/main.rs", Write)),
        Verdict::Allow
    );
}

#[test]
fn no_program_is_named_by_a_folder_that_commands_can_change() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    symlink("/usr/bin", at("project/tools")).unwrap();
    symlink("/bin/sh", at("project/check")).unwrap();
    let permissions = fixture.open();
    for typed in [
        "tools/",
        "./tools/",
        "~/project/tools/",
        "tools/sh",
        "./tools/sh",
        "src/../tools/sh",
        "tools/sh -c x",
    ] {
        let errors = [
            permissions.set(typed, "??x").err(),
            permissions.allow_by_option(typed, "??x", "--allow").err(),
            permissions.set_one(typed, Execute, Decided::Allow).err(),
        ];
        for error in errors {
            let is_link = matches!(&error, Some(PermissionError::Link { link, .. }) if link.ends_with("project/tools"));
            assert!(is_link, "{typed}: {error:?}");
        }
    }
    let error = permissions.allow_line_by_option("tools/sh -c x", "--allow-line");
    assert!(
        matches!(
            error,
            Err(CommandError::Permission(PermissionError::Link { .. }))
        ),
        "{error:?}"
    );
    assert_eq!(permissions.list().unwrap(), []);
    // A program is allowed under the name by which it is called, and what is denied or taken away may lead anywhere.
    let called = permissions.set("./check", "??x").unwrap();
    assert!(called.ends_with("project/check"), "{called}");
    permissions.set("tools/", "??-").unwrap();
    permissions
        .set_one("tools/", Execute, Decided::Open)
        .unwrap();
}

/// Permissions where `git` and `wc` are installed.
fn with_programs(fixture: &Fixture) -> Permissions {
    let programs = fixture.root.join("bin");
    std::fs::create_dir(&programs).unwrap();
    for name in ["git", "wc"] {
        let path = programs.join(name);
        std::fs::write(&path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }
    let mut options = fixture.options();
    options.search_path = vec![programs];
    Permissions::open(&options).unwrap()
}

#[test]
fn words_to_run_are_programs_whatever_files_there_are() {
    let fixture = Fixture::new();
    let git = fixture.root.join("bin/git");
    for name in ["git", "git status", "git push"] {
        symlink("/usr/bin/env", fixture.root.join("project").join(name)).unwrap();
    }
    std::fs::create_dir(fixture.root.join("project/wc")).unwrap();
    let permissions = with_programs(&fixture);
    let program = git.display();
    let set = |typed: &str, operation: Operation, decided| {
        permissions.set_one(typed, operation, decided).unwrap()
    };
    for decided in [Decided::Allow, Decided::Deny] {
        assert_eq!(
            set("git status", Execute, decided),
            format!("$ {program} status")
        );
        assert_eq!(
            set("git push", Execute, decided),
            format!("$ {program} push")
        );
        assert_eq!(set("git", Execute, decided), program.to_string());
        assert_eq!(
            set("wc", Execute, decided),
            fixture.root.join("bin/wc").display().to_string()
        );
    }
    let allowed = permissions
        .allow_by_option("git status", "??x", "--allow")
        .unwrap();
    assert_eq!(allowed, format!("$ {program} status"));
    assert_eq!(permissions.set("git", "??x").unwrap(), program.to_string());
    // What is only read is a file, and `./` names the one in the project.
    let folder = fixture.root.join("project/wc").display().to_string();
    assert_eq!(set("wc", Read, Decided::Deny), folder);
    assert!(!set("./git status", Execute, Decided::Deny).contains("/bin/git"));
}

#[test]
fn what_was_set_by_a_word_can_be_removed_by_it() {
    let fixture = Fixture::new();
    std::fs::write(fixture.root.join("project/git"), "").unwrap();
    let permissions = with_programs(&fixture);
    permissions.set("git", "??x").unwrap();
    assert!(permissions.unset("git").unwrap());
    permissions.set("git", "r??").unwrap();
    assert!(permissions.unset("git").unwrap());
    assert!(!permissions.unset("git").unwrap());
}
