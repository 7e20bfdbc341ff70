//! What counts as Dunlin's own, as the project, as a place of secrets, and as this machine.

use std::fs;
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::CommandOptions;
use crate::permission::key::Decided;
use crate::secrets::Surroundings;

/// Decides for a tool that the user has set to `always`.
fn for_a_trusted_tool(permissions: &Permissions, need: &Need) -> Verdict {
    permissions.set_tool_mode("tool", ToolMode::Always);
    verdict(permissions, need)
}

#[test]
fn own_files_stay_own_where_their_links_lead() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    // The settings lie in a repository, which is the project.
    fs::create_dir(at("project/dunlin")).unwrap();
    fs::rename(at("config/config.toml"), at("project/dunlin/config.toml")).unwrap();
    fs::write(at("project/dunlin/web_fetch.json"), "").unwrap();
    symlink("dunlin/web_fetch.json", at("project/between.json")).unwrap();
    symlink(at("project/dunlin/config.toml"), at("config/config.toml")).unwrap();
    symlink(at("project/between.json"), at("config/web_fetch.json")).unwrap();
    let permissions = fixture.open();
    for file in [
        "project/dunlin/config.toml",
        "project/dunlin/web_fetch.json",
        "config/config.toml",
    ] {
        for operation in Operation::ALL {
            let need = fixture.need(file, operation);
            let denied = verdict(&permissions, &need);
            assert_eq!(denied, Verdict::Deny, "{operation:?} {file}");
        }
        let granted = permissions.set(&at(file).display().to_string(), "rw-");
        assert!(matches!(granted, Err(PermissionError::Protected { .. })));
    }
    // The link itself, as whoever would rename something over it.
    let between = Need {
        target: Target::Path(at("project/between.json")),
        operation: Operation::Write,
    };
    assert_eq!(verdict(&permissions, &between), Verdict::Deny);
    let beside = fixture.need("project/dunlin/README", Operation::Read);
    assert_eq!(verdict(&permissions, &beside), Verdict::Allow);

    let access = permissions
        .access_of_commands(&CommandOptions::none(), None)
        .unwrap();
    for file in [
        "project/dunlin/config.toml",
        "project/dunlin/web_fetch.json",
    ] {
        assert!(access.hidden.contains(&at(file)), "{file}");
    }
    assert!(!access.written().any(|path| path == at("project")));
}

/// Places of secrets as a variable of the user names them.
fn secrets_at<const N: usize>(paths: [PathBuf; N]) -> Option<Surroundings> {
    let named = std::env::join_paths(paths).unwrap();
    let variable = |name: &str| (name == "KUBECONFIG").then_some(named.as_os_str());
    Some(Surroundings::new(&[], Path::new("/"), variable))
}

/// A key without a slash at its end is for the folder itself, and what is mounted is open as a whole.
#[test]
fn a_key_for_a_folder_alone_gives_commands_nothing_in_it() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    for folder in ["outside/keys", "outside/alone", "outside/below"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    let mut options = fixture.options();
    options.commands.secrets = secrets_at([at("outside/keys"), at("outside/notes.txt")]);
    let permissions = Permissions::open(&options).unwrap();
    for (path, bits) in [
        ("outside/keys", "r??"),
        ("outside/notes.txt", "r??"),
        ("outside/alone", "?w?"),
        ("outside/below/", "?w?"),
        ("outside/new.txt", "?w?"),
    ] {
        let path = format!("{}/{path}", fixture.root.display());
        permissions.set(&path, bits).unwrap();
    }
    let access = permissions
        .access_of_commands(&options.commands, None)
        .unwrap();
    assert!(access.hidden.contains(&at("outside/keys")));
    assert!(!access.hidden.contains(&at("outside/notes.txt")));
    for (path, is_writable) in [
        ("outside/alone", false),
        ("outside/below", true),
        ("outside/new.txt", true),
    ] {
        let is_there = access.written().any(|written| written == at(path));
        assert_eq!(is_there, is_writable, "{path}");
    }
}

#[test]
fn a_link_that_comes_later_counts() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    let permissions = fixture.open();
    let need = fixture.need("project/src/main.rs", Operation::Read);
    assert_eq!(verdict(&permissions, &need), Verdict::Allow);
    symlink(at("project/src/main.rs"), at("config/web_fetch.json")).unwrap();
    assert_eq!(verdict(&permissions, &need), Verdict::Deny);
    let access = permissions
        .access_of_commands(&CommandOptions::none(), None)
        .unwrap();
    assert!(access.hidden.contains(&at("project/src/main.rs")));
}

#[test]
fn another_name_of_a_file_of_dunlins_counts() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    let permissions = fixture.open();
    let need = fixture.need("project/src/main.rs", Operation::Read);
    fs::hard_link(at("project/src/main.rs"), at("other")).unwrap();
    assert_eq!(verdict(&permissions, &need), Verdict::Allow);
    fs::hard_link(at("project/src/main.rs"), at("config/web_fetch.json")).unwrap();
    assert_eq!(verdict(&permissions, &need), Verdict::Deny);
}

#[test]
fn a_granted_folder_does_not_open_its_repository() {
    let fixture = Fixture::new();
    let write = |file: &str| fixture.need(file, Operation::Write);
    let check = |permissions: &Permissions, file: &str, expected: Verdict| {
        assert_eq!(verdict(permissions, &write(file)), expected, "{file}");
    };
    let key = |path: &str| format!("{}/{path}", fixture.root.display());
    let permissions = fixture.open();
    permissions.set(&key("project/"), "rw?").unwrap();
    check(&permissions, "project/src/new.rs", Verdict::Allow);
    check(&permissions, "project/.gitignore", Verdict::Allow);
    for file in [
        "project/.git",
        "project/.git/config",
        "project/sub/.GIT/hooks/x",
        "project/src/HEAD",
    ] {
        check(&permissions, file, Verdict::Ask);
    }
    check(&permissions, "project/bare/config", Verdict::Allow);
    fs::create_dir_all(fixture.root.join("project/bare")).unwrap();
    fs::write(fixture.root.join("project/bare/HEAD"), "").unwrap();
    check(&permissions, "project/bare/config", Verdict::Ask);
    check(&permissions, "project/bare/hooks/x", Verdict::Ask);
    // Git takes the text of a link for what `HEAD` says, wherever it leads.
    let link = |target: &str, folder: &str, name: &str| {
        let folder = fixture.root.join("project").join(folder);
        fs::create_dir_all(folder.join("refs/heads")).unwrap();
        std::os::unix::fs::symlink(target, folder.join(name)).unwrap();
    };
    link("refs/heads/main", "led", "HEAD");
    link("refs/heads", "led-to-folder", "HEAD");
    link("refs/heads/main", "led-aside", "HEAD.set-aside");
    for folder in ["led", "led-to-folder", "led-aside"] {
        for file in ["config", "objects/x", "hooks/x"] {
            check(
                &permissions,
                &format!("project/{folder}/{file}"),
                Verdict::Ask,
            );
        }
    }
    fs::create_dir_all(fixture.root.join("project/folder/HEAD")).unwrap();
    check(&permissions, "project/folder/config", Verdict::Allow);
    permissions.set(&key("project/.git/"), "?w?").unwrap();
    check(&permissions, "project/.git/config", Verdict::Allow);
    permissions.set(&key("project/.git/"), "?-?").unwrap();
    permissions.set(&key("project/.git/info/"), "?w?").unwrap();
    check(&permissions, "project/.git/config", Verdict::Deny);
    check(&permissions, "project/.git/info/exclude", Verdict::Allow);
}

#[test]
fn nothing_is_inside_of_what_is_no_project() {
    let fixture = Fixture::new();
    let permissions = Permissions::open(&HostOptions {
        is_project: false,
        ..fixture.options()
    })
    .unwrap();
    for (file, operation) in [
        ("project/src/main.rs", Operation::Read),
        ("project", Operation::Read),
        ("project/new", Operation::Write),
    ] {
        let decision = decide(
            &permissions,
            CALL,
            &plugin("p", "d", false),
            &fixture.need(file, operation),
        );
        assert_eq!(decision.verdict, Verdict::Ask, "{file}");
        assert_eq!(decision.rule, Rule::NoProject, "{file}");
    }
    let writable = CommandOptions {
        write: vec![fixture.root.join("project/src")],
        ..CommandOptions::none()
    };
    let access = permissions.access_of_commands(&writable, None).unwrap();
    assert_eq!(access.written().count(), 0, "{access:?}");
}

#[test]
fn secrets_of_this_machine_are_asked_about_wherever_they_are() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    for file in ["project/cluster.yaml", "project/store/key", "project/safe"] {
        fs::create_dir_all(at(file).parent().unwrap()).unwrap();
        fs::write(at(file), "").unwrap();
    }
    // A location of secrets may be a link, as `~/.ssh` to another disk.
    symlink("project/safe", at("link")).unwrap();
    let mut options = fixture.options();
    let secrets = ["project/cluster.yaml", "project/store", "link", "missing"].map(at);
    options.commands.secrets = secrets_at(secrets);
    let permissions = Permissions::open(&options).unwrap();
    for (file, expected) in [
        ("project/cluster.yaml", Verdict::Ask),
        ("project/store/key", Verdict::Ask),
        ("project/safe", Verdict::Ask),
        ("project/.env", Verdict::Ask),
        ("project/src/main.rs", Verdict::Allow),
    ] {
        let need = fixture.need(file, Operation::Read);
        assert_eq!(for_a_trusted_tool(&permissions, &need), expected, "{file}");
    }
    let access = permissions
        .access_of_commands(&options.commands, None)
        .unwrap();
    for path in ["project/cluster.yaml", "project/store", "project/safe"] {
        assert!(access.hidden.contains(&at(path)), "{path}");
    }
    // A grant opens it again, for both.
    permissions
        .set(&format!("{}/", at("project/store").display()), "r??")
        .unwrap();
    let need = fixture.need("project/store/key", Operation::Read);
    assert_eq!(verdict(&permissions, &need), Verdict::Allow);
    let access = permissions
        .access_of_commands(&options.commands, None)
        .unwrap();
    assert!(!access.hidden.contains(&at("project/store")));
}

#[test]
fn a_program_that_commands_may_run_can_be_read_by_them() {
    let fixture = Fixture::new();
    let at = |path: &str| fixture.root.join(path);
    fs::create_dir(at("tools")).unwrap();
    for file in ["tools/git", "outside/cc", "outside/hidden", "outside/key"] {
        fs::write(at(file), "").unwrap();
    }
    let mut options = fixture.options();
    options.commands.secrets = secrets_at([at("outside/key")]);
    let permissions = Permissions::open(&options).unwrap();
    for (path, bits) in [
        ("tools/", "--x"),
        ("outside/cc", "--x"),
        ("outside/key", "--x"),
        ("outside/notes.txt", "---"),
        ("outside/hidden", "-??"),
    ] {
        let path = format!("{}/{path}", fixture.root.display());
        permissions.set(&path, bits).unwrap();
    }
    let access = permissions
        .access_of_commands(&options.commands, None)
        .unwrap();
    for (path, is_hidden) in [
        ("tools", false),
        ("tools/git", false),
        ("outside/cc", false),
        // Running a program opens no location of secrets.
        ("outside/key", true),
        ("outside/notes.txt", true),
        ("outside/hidden", true),
    ] {
        assert_eq!(access.hidden.contains(&at(path)), is_hidden, "{path}");
    }
    // The deny of writing holds.
    let held = |path: &str| access.held.iter().any(|held| held.path == at(path));
    assert!(held("tools") && held("outside/cc"), "{access:?}");
}

/// Spellings of this machine.
const LOOPBACK: [&str; 11] = [
    "localhost",
    "LocalHost.",
    "app.localhost",
    "127.0.0.1",
    "127.1",
    "0x7f000001",
    "127.0.0.53",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "0.0.0.0",
    "[::]",
];

const PORTS: [&str; 3] = ["", ":3000", ":8080"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(64) })]

    /// A no to this machine is one under each of its names, and at no other port.
    #[test]
    fn a_no_to_this_machine_has_no_other_name(
        denied in 0..LOOPBACK.len(),
        tried in 0..LOOPBACK.len(),
        denied_port in 0..PORTS.len(),
        tried_port in 0..PORTS.len(),
        allows_tried in any::<bool>(),
        for_session in any::<bool>(),
    ) {
        let fixture = Fixture::new();
        let permissions = fixture.open();
        let url = |host: usize, port: usize| {
            format!("http://{}{}/", LOOPBACK[host], PORTS[port])
        };
        // The no wins over a yes to the other name, however it was given.
        if allows_tried {
            permissions.set(&url(tried, tried_port), "r??").unwrap();
        }
        match for_session {
            true => permissions.allow_for_session(&url(denied, denied_port), "-??").unwrap(),
            false => permissions.set(&url(denied, denied_port), "-??").unwrap(),
        };
        let need = Need {
            target: resolve::url(&format!("{}some/page", url(tried, tried_port))).unwrap(),
            operation: Operation::Read,
        };
        // These are never granted in any case.
        let is_never = LOOPBACK[tried] == "0.0.0.0" || LOOPBACK[tried] == "[::]";
        let expected = match (denied_port == tried_port || is_never, allows_tried) {
            (true, _) => Verdict::Deny,
            (false, true) => Verdict::Allow,
            (false, false) => Verdict::Ask,
        };
        prop_assert_eq!(verdict(&permissions, &need), expected);
    }
}

#[test]
fn a_yes_to_this_machine_is_exact() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("http://localhost:3000/", "r??").unwrap();
    for (url, expected) in [
        ("http://localhost:3000/x", Verdict::Allow),
        ("http://127.0.0.1:3000/x", Verdict::Ask),
        ("http://[::1]:3000/x", Verdict::Ask),
        ("http://localhost/x", Verdict::Ask),
    ] {
        let need = Need {
            target: resolve::url(url).unwrap(),
            operation: Operation::Read,
        };
        assert_eq!(verdict(&permissions, &need), expected, "{url}");
    }
    // A no to a page is one to that page.
    permissions
        .set("http://127.0.0.1:3000/admin", "-??")
        .unwrap();
    for (url, expected) in [
        ("http://localhost:3000/admin", Verdict::Deny),
        ("http://localhost:3000/x", Verdict::Allow),
    ] {
        let need = Need {
            target: resolve::url(url).unwrap(),
            operation: Operation::Read,
        };
        assert_eq!(verdict(&permissions, &need), expected, "{url}");
    }
}

#[test]
fn a_no_to_a_file_holds_for_what_is_put_beside_it() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let project = fixture.root.join("project");
    permissions
        .set(&project.join("notes.txt").to_string_lossy(), "-??")
        .unwrap();
    for (name, expected) in [
        ("notes.txt", Verdict::Deny),
        (".notes.txt.dunlin-0123abcd.tmp", Verdict::Deny),
        (".notes.txt.dunlin-0123abcd-17.kept", Verdict::Deny),
        (".notes.md.dunlin-0123abcd.tmp", Verdict::Allow),
        (".notes.txt.tmp", Verdict::Allow),
    ] {
        let need = Need {
            target: Target::Path(project.join(name)),
            operation: Operation::Read,
        };
        assert_eq!(verdict(&permissions, &need), expected, "{name}");
    }
}

#[test]
fn the_own_process_stays_closed() {
    let permissions = Fixture::new().open();
    let own = format!("/proc/{}/environ", std::process::id());
    let target = Target::Path(Path::new(&own).to_owned());
    assert!(permissions.is_protected(&target));
}

/// What a person types for the root of all folders does not mean all that is below it.
#[test]
fn the_root_is_named_apart_from_what_is_below_it() {
    let need = Need {
        target: Target::Path("/".into()),
        operation: Operation::Read,
    };
    let way = WayOut::of(&need, Decided::Allow).map(|way| way.target);
    assert_eq!(way.as_deref(), Some("/."));
}

/// What Dunlin finds there is not what the command finds, so that no answer can be bound to it.
#[test]
fn a_way_through_procfs_or_to_where_no_look_up_comes_is_unclear() {
    use crate::command::{Named, Way};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let at = |name: &str| fixture.root.join("project").join(name);
    fs::write(at("there.sh"), "").unwrap();
    for (name, target) in [
        ("other", "/proc/2/cwd/evil.sh"),
        ("own", "/proc/self/cwd/Cargo.toml"),
        ("good", "there.sh"),
        ("circle", "circle"),
    ] {
        std::os::unix::fs::symlink(target, at(name)).unwrap();
    }
    for name in [
        "other",
        "own",
        "circle",
        "circle/x",
        "/proc/self/cwd/Cargo.toml",
        "/proc/2/cwd/evil",
        "/proc/missing/../../bin/ls",
        "/dev/fd/0",
    ] {
        assert_eq!(permissions.named(name), Named::Unclear, "{name}");
    }
    let there = at("there.sh").canonicalize().unwrap();
    assert_eq!(permissions.named("good"), Named::File(there));
    for absent in [
        "missing",
        "there.sh/x",
        "~/outside/notes.txt",
        &"x".repeat(300),
        &"x/".repeat(4_000),
    ] {
        assert_eq!(permissions.named(absent), Named::Absent, "{absent}");
    }
    assert_eq!(permissions.way("/proc/self/exe"), Way::Unclear);
    assert_eq!(permissions.way("circle/x"), Way::Unclear);
    assert_eq!(permissions.way("./good"), Way::Changeable);
}
