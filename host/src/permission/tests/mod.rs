//! The permission rules, row by row.

mod bound;
mod corpus;
mod folders;
mod model;
mod modes;
mod places;
mod typed;
mod unasked;

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use super::stored::resolved_key;
use super::*;
use crate::HostOptions;
use crate::Limits;
use crate::ask::{Answer, Scope};

struct Fixture {
    _dir: tempfile::TempDir,
    root: PathBuf,
}

const CALL: &str = "call-1";

impl Fixture {
    fn new() -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(dir.path()).unwrap();
        for folder in ["project/src", "outside", "config"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        for file in [
            "project/src/main.rs",
            "project/.env",
            "outside/notes.txt",
            "config/config.toml",
        ] {
            std::fs::write(root.join(file), "").unwrap();
        }
        Fixture { _dir: dir, root }
    }

    fn open(&self) -> Permissions {
        Permissions::open(&self.options()).unwrap()
    }

    fn options(&self) -> HostOptions {
        HostOptions {
            project: self.root.join("project"),
            is_project: true,
            home: Some(self.root.clone()),
            search_path: Vec::new(),
            permissions_file: self.file(),
            audit_file: self.root.join("data/audit.jsonl"),
            log_file: self.root.join("data/plugins.jsonl"),
            cache_dir: self.root.join("cache"),
            undo_dir: self.root.join("undo"),
            stores_dir: self.root.join("stores"),
            protected: vec![self.root.join("config")],
            session: "s".into(),
            mode: crate::permission::ModeSwitch::default(),
            limits: Limits::standard(),
            commands: crate::CommandOptions::none(),
            hooks: Vec::new(),
            web: crate::WebOptions::system("test"),
            mcp: crate::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        }
    }

    fn file(&self) -> PathBuf {
        self.root.join("config/tool.permissions.json")
    }

    fn need(&self, path: &str, operation: Operation) -> Need {
        let path = resolve::real_path(&self.root.join(path)).unwrap();
        let target = if operation == Operation::Execute {
            Target::Program(path)
        } else {
            Target::Path(path)
        };
        Need { target, operation }
    }
}

fn plugin(name: &str, digest: &str, built_in: bool) -> PluginId {
    PluginId {
        name: name.into(),
        origin: None,
        digest: digest.into(),
        built_in,
    }
}

fn answer(allow: bool, scope: Scope) -> Answer {
    Answer { allow, scope }
}

/// Decides about a declared use by a tool that nothing was chosen for.
fn decide(permissions: &Permissions, call: &str, plugin: &PluginId, need: &Need) -> Decision {
    let caller = Caller {
        call,
        tool: "tool",
        plugin,
        declared: true,
        declared_permissions: None,
    };
    permissions.decide(&caller, need).unwrap()
}

fn verdict(permissions: &Permissions, need: &Need) -> Verdict {
    decide(permissions, CALL, &plugin("p", "d", false), need).verdict
}

#[test]
fn defaults() {
    use Operation::{Execute, Read, Write};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    symlink(
        "../../outside/notes.txt",
        fixture.root.join("project/src/link"),
    )
    .unwrap();
    for (path, operation, expected) in [
        ("project/src/main.rs", Read, Verdict::Allow),
        ("project/src", Read, Verdict::Allow),
        ("project", Read, Verdict::Allow),
        ("project/new.txt", Read, Verdict::Allow),
        ("project/src/main.rs", Write, Verdict::Ask),
        ("project/new/file", Write, Verdict::Ask),
        ("project/src/main.rs", Execute, Verdict::Ask),
        ("project/.env", Read, Verdict::Ask),
        ("project/src/link", Read, Verdict::Ask),
        ("outside/notes.txt", Read, Verdict::Ask),
        ("project-2/file", Read, Verdict::Ask),
        ("config/config.toml", Read, Verdict::Deny),
        ("config/tool.permissions.json", Read, Verdict::Deny),
        ("config", Read, Verdict::Deny),
        ("data/audit.jsonl", Read, Verdict::Deny),
        ("cache/x", Read, Verdict::Deny),
    ] {
        assert_eq!(
            verdict(&permissions, &fixture.need(path, operation)),
            expected,
            "{operation:?} {path}"
        );
    }
    let own = format!("/proc/{}/environ", std::process::id());
    let need = Need {
        target: Target::Path(own.into()),
        operation: Read,
    };
    assert_eq!(verdict(&permissions, &need), Verdict::Deny);
}

#[test]
fn the_six_answers_hold_as_long_as_they_say() {
    let fixture = Fixture::new();
    let need = fixture.need("outside/notes.txt", Operation::Read);
    let asker = plugin("p", "d", false);
    for allow in [true, false] {
        let expected = if allow { Verdict::Allow } else { Verdict::Deny };
        for (scope, same_session, next_session) in [
            (Scope::Once, Verdict::Ask, Verdict::Ask),
            (Scope::Session, expected, Verdict::Ask),
            (Scope::Always, expected, expected),
        ] {
            let _ = std::fs::remove_file(fixture.file());
            let _ = std::fs::remove_file(fixture.root.join("config/tool.digests.json"));
            let permissions = fixture.open();
            permissions
                .remember(
                    CALL,
                    &asker,
                    std::slice::from_ref(&need),
                    answer(allow, scope),
                )
                .unwrap();
            assert_eq!(
                verdict(&permissions, &need),
                expected,
                "this call: {allow} {scope:?}"
            );
            permissions.forget_call(CALL);
            let later = decide(&permissions, "call-2", &asker, &need).verdict;
            assert_eq!(later, same_session, "the next call: {allow} {scope:?}");
            let restarted = fixture.open();
            assert_eq!(
                verdict(&restarted, &need),
                next_session,
                "the next session: {allow} {scope:?}"
            );
        }
    }
}

#[test]
fn the_most_specific_key_that_has_decided_wins() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let root = fixture.root.display().to_string();
    permissions.set(&format!("{root}/outside/"), "rw-").unwrap();
    permissions
        .set(&format!("{root}/outside/deep/"), "?-?")
        .unwrap();
    permissions
        .set(&format!("{root}/outside/deep/file"), "-??")
        .unwrap();
    permissions
        .set(&format!("{root}/project/src/"), "---")
        .unwrap();
    for (path, operation, expected) in [
        ("outside/a", Operation::Read, Verdict::Allow),
        ("outside/a", Operation::Write, Verdict::Allow),
        ("outside/a", Operation::Execute, Verdict::Deny),
        ("outside/deep/a", Operation::Read, Verdict::Allow),
        ("outside/deep/a", Operation::Write, Verdict::Deny),
        ("outside/deep/file", Operation::Read, Verdict::Deny),
        ("outside/deep/file/below", Operation::Read, Verdict::Allow),
        ("outsider", Operation::Read, Verdict::Ask),
        // A stored deny beats the default.
        ("project/src/main.rs", Operation::Read, Verdict::Deny),
    ] {
        assert_eq!(
            verdict(&permissions, &fixture.need(path, operation)),
            expected,
            "{operation:?} {path}"
        );
    }
}

#[test]
fn an_allow_serves_the_plugin_it_was_given_to_in_that_version() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let need = fixture.need("outside/notes.txt", Operation::Read);
    let needs = std::slice::from_ref(&need);
    let given = plugin("p", "d1", false);
    permissions
        .remember(CALL, &given, needs, answer(true, Scope::Always))
        .unwrap();
    let ask = |plugin: &PluginId| decide(&permissions, "other", plugin, &need);
    assert_eq!(ask(&given).verdict, Verdict::Allow);
    assert_eq!(ask(&plugin("q", "d1", false)).verdict, Verdict::Ask);
    let changed = ask(&plugin("p", "d2", false));
    assert_eq!(changed.verdict, Verdict::Ask);
    assert!(
        matches!(changed.rule, Rule::PluginChanged { .. }),
        "{:?}",
        changed.rule
    );

    // A second plugin joins; the first keeps what it has.
    permissions
        .remember(
            CALL,
            &plugin("q", "d9", false),
            needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    assert_eq!(ask(&given).verdict, Verdict::Allow);
    assert_eq!(ask(&plugin("q", "d9", false)).verdict, Verdict::Allow);
    // The new version replaces the old one.
    permissions
        .remember(
            CALL,
            &plugin("p", "d2", false),
            needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    assert_eq!(ask(&plugin("p", "d2", false)).verdict, Verdict::Allow);
    assert_eq!(ask(&given).verdict, Verdict::Ask);

    // Built-in plugins are followed; one that only claims the name is not built in.
    let write = fixture.need("outside/notes.txt", Operation::Write);
    let write_needs = std::slice::from_ref(&write);
    permissions
        .remember(
            CALL,
            &plugin("b", "d1", true),
            write_needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    let decide_write = |plugin: &PluginId| decide(&permissions, "other", plugin, &write).verdict;
    assert_eq!(decide_write(&plugin("b", "d2", true)), Verdict::Allow);
    assert_eq!(decide_write(&plugin("b", "d1", false)), Verdict::Ask);

    // A deny is a deny for everybody, and what is set by hand holds for everybody.
    permissions
        .remember(CALL, &given, write_needs, answer(false, Scope::Always))
        .unwrap();
    assert_eq!(decide_write(&plugin("b", "d2", true)), Verdict::Deny);
    permissions.set(&need.target.to_string(), "r--").unwrap();
    assert_eq!(ask(&plugin("anybody", "d", false)).verdict, Verdict::Allow);
}

/// The same name and the same component from elsewhere is another plugin.
#[test]
fn an_allow_serves_the_plugin_of_its_origin() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let from = |origin: &str| PluginId {
        origin: Some(origin.to_owned()),
        ..plugin("p", "d", false)
    };
    let (one, other) = (from("ghcr.io/one/p"), from("ghcr.io/other/p"));
    let read = fixture.need("outside/notes.txt", Operation::Read);
    let write = fixture.need("outside/notes.txt", Operation::Write);
    let mine = fixture.need("outside/mine.txt", Operation::Read);
    let hand = fixture.need("outside/hand.txt", Operation::Read);
    let remember = |plugin: &PluginId, need: &Need, allow| {
        let needs = std::slice::from_ref(need);
        permissions
            .remember(CALL, plugin, needs, answer(allow, Scope::Always))
            .unwrap();
    };
    remember(&one, &read, true);
    remember(&one, &write, false);
    remember(&one, &mine, true);
    permissions.set(&hand.target.to_string(), "r--").unwrap();
    let ask = |plugin: &PluginId, need: &Need| decide(&permissions, "other", plugin, need);
    assert_eq!(ask(&one, &read).verdict, Verdict::Allow);
    let of_other = ask(&other, &read);
    assert_eq!(of_other.verdict, Verdict::Ask);
    // Nor is it said to be another version of the first.
    assert!(!matches!(of_other.rule, Rule::PluginChanged { .. }));
    remember(&other, &read, true);
    assert_eq!(ask(&one, &read).verdict, Verdict::Allow);

    // What goes with a plugin is its own: not what another has, no denial, and nothing that was set by hand.
    assert_eq!(permissions.forget_plugin(&one.identity()).unwrap(), 2);
    assert_eq!(ask(&one, &read).verdict, Verdict::Ask);
    assert_eq!(ask(&one, &mine).verdict, Verdict::Ask);
    assert_eq!(ask(&other, &read).verdict, Verdict::Allow);
    assert_eq!(ask(&one, &write).verdict, Verdict::Deny);
    assert_eq!(ask(&one, &hand).verdict, Verdict::Allow);
    let mine = mine.target.to_string();
    let list = permissions.list().unwrap();
    assert!(list.iter().all(|stored| stored.key != mine), "{list:?}");
    assert_eq!(permissions.forget_plugin(&one.identity()).unwrap(), 0);
}

#[test]
fn own_folders_are_never_granted() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let need = fixture.need("config/config.toml", Operation::Read);
    let path = need.target.to_string();
    let asker = plugin("p", "d", true);
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let refused = permissions.remember(
            CALL,
            &asker,
            std::slice::from_ref(&need),
            answer(true, scope),
        );
        assert!(
            matches!(refused, Err(PermissionError::Protected { .. })),
            "{scope:?}"
        );
    }
    assert!(matches!(
        permissions.set(&path, "r--"),
        Err(PermissionError::Protected { .. })
    ));
    assert!(matches!(
        permissions.allow_for_session(&path, "r??"),
        Err(PermissionError::Protected { .. })
    ));
    // A grant for a folder above does not reach them.
    permissions
        .set(&format!("{}/", fixture.root.display()), "rwx")
        .unwrap();
    permissions
        .allow_for_session(&format!("{}/", fixture.root.display()), "rwx")
        .unwrap();
    assert_eq!(verdict(&permissions, &need), Verdict::Deny);
    // Nor does a link to them, nor a file written by hand.
    symlink(
        fixture.root.join("config"),
        fixture.root.join("project/innocent"),
    )
    .unwrap();
    assert_eq!(
        verdict(
            &permissions,
            &fixture.need("project/innocent/config.toml", Operation::Read)
        ),
        Verdict::Deny
    );
    std::fs::write(fixture.file(), format!("{{\"{path}\": \"rwx\"}}")).unwrap();
    assert_eq!(verdict(&permissions, &need), Verdict::Deny);
}

#[test]
fn answers_of_another_process_count_at_the_next_use() {
    let fixture = Fixture::new();
    let (one, two) = (fixture.open(), fixture.open());
    let need = fixture.need("outside/notes.txt", Operation::Read);
    assert_eq!(verdict(&one, &need), Verdict::Ask);
    two.remember(
        CALL,
        &plugin("p", "d", false),
        std::slice::from_ref(&need),
        answer(true, Scope::Always),
    )
    .unwrap();
    assert_eq!(verdict(&one, &need), Verdict::Allow);
    assert!(two.unset(&need.target.to_string()).unwrap());
    assert_eq!(verdict(&one, &need), Verdict::Ask);
    assert!(!two.unset(&need.target.to_string()).unwrap());
}

#[test]
fn a_program_by_its_path_with_words_behind_it_is_a_command() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("/bin/sh push", "??-").unwrap();
    let stored = permissions.list().unwrap();
    let key = &stored[0].key;
    assert!(key.starts_with("$ ") && key.ends_with("/sh push"), "{key}");
}

#[test]
fn an_option_for_a_folder_leaves_a_stored_no_in_it_alone() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    std::fs::write(fixture.root.join("project/.env"), "K=1").unwrap();
    permissions.set(".env", "-??").unwrap();
    permissions.set("src/", "?-?").unwrap();
    permissions.allow_for_session("./", "rw?").unwrap();
    for (path, operation, expected) in [
        ("project/.env", Operation::Read, Verdict::Deny),
        ("project/src/main.rs", Operation::Write, Verdict::Deny),
        ("project/other.rs", Operation::Write, Verdict::Allow),
    ] {
        let need = fixture.need(path, operation);
        assert_eq!(verdict(&permissions, &need), expected, "{path}");
    }
    // Named itself, it is meant.
    permissions.allow_for_session(".env", "r??").unwrap();
    let secret = fixture.need("project/.env", Operation::Read);
    assert_eq!(verdict(&permissions, &secret), Verdict::Allow);
}

#[test]
fn a_damaged_file_allows_nothing_and_says_where() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let need = fixture.need("project/src/main.rs", Operation::Read);
    let root = fixture.root.display().to_string();
    let mut errors = String::new();
    for text in [
        "{\"/a\": \"rw\"",
        "{\n\"/a\": \"rw\"}",
        "{\"/a\": \"xyz\"}",
        "{\"relative\": \"rwx\"}",
        "{\"/a\": \"rwx\", \"/a\": \"---\"}",
        "[]",
        "{\"/a\": 7}",
        "{\"https://*.h/\": \"r--\"}",
        "{\"https://h/?q\": \"---\"}",
        "{\"https://\": \"---\"}",
    ] {
        std::fs::write(fixture.file(), text).unwrap();
        let caller = Caller {
            call: CALL,
            tool: "tool",
            plugin: &plugin("p", "d", true),
            declared: true,
            declared_permissions: None,
        };
        let error = permissions.decide(&caller, &need).unwrap_err();
        let chain = crate::display::chain(&error).replace(&root, "[ROOT]");
        errors += &format!("{text}\n→ {chain}\n\n");
        assert!(
            permissions.set("/b", "r--").is_err(),
            "a damaged file is not overwritten"
        );
        assert_eq!(std::fs::read_to_string(fixture.file()).unwrap(), text);
    }
    insta::assert_snapshot!(errors);
}

#[test]
fn files_are_private_and_leftovers_are_swept() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    std::fs::write(fixture.root.join("config/.tool.abc.tmp"), "half").unwrap();
    let need = fixture.need("outside/notes.txt", Operation::Read);
    permissions
        .remember(
            CALL,
            &plugin("p", "d", false),
            &[need],
            answer(true, Scope::Always),
        )
        .unwrap();
    for name in [
        "tool.permissions.json",
        "tool.digests.json",
        "tool.permissions.lock",
    ] {
        let mode = std::fs::metadata(fixture.root.join("config").join(name))
            .unwrap()
            .permissions()
            .mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    assert!(!fixture.root.join("config/.tool.abc.tmp").exists());
}

#[test]
fn keys_written_through_links_count_for_what_they_mean() {
    let fixture = Fixture::new();
    symlink("outside", fixture.root.join("link")).unwrap();
    let root = fixture.root.display();
    let text = format!("{{\"{root}/link/\": \"---\", \"{root}/outside/\": \"rwx\"}}");
    std::fs::write(fixture.file(), text).unwrap();
    let permissions = fixture.open();
    // Two keys for one folder: the stricter holds.
    assert_eq!(
        verdict(
            &permissions,
            &fixture.need("outside/notes.txt", Operation::Read)
        ),
        Verdict::Deny
    );
}

#[test]
fn explaining_names_the_key() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let key = permissions.set("../outside/", "r-?").unwrap();
    assert_eq!(key, format!("{}/outside/", fixture.root.display()));
    let (target, explained) = permissions.explain("~/outside/notes.txt").unwrap();
    assert_eq!(target, Target::Path(fixture.root.join("outside/notes.txt")));
    let said: Vec<(Verdict, String)> = explained
        .iter()
        .map(|e| (e.verdict, e.rule.to_string()))
        .collect();
    assert_eq!(
        said,
        [
            (Verdict::Allow, format!("stored under {key}")),
            (Verdict::Deny, format!("stored under {key}")),
            (Verdict::Ask, "default: commands are asked".into()),
        ]
    );
}

/// What is stored for one target means that target when it is read again, whatever it is.
#[test]
fn a_stored_key_means_what_was_answered() {
    for target in [
        Target::Path("/".into()),
        Target::Path("/a".into()),
        Target::Path("/a b/\u{e9}".into()),
        Target::Url("https://h/".into()),
        Target::Url("https://h/a/".into()),
        Target::Url("https://h/a".into()),
    ] {
        let key = Key::exact(&target);
        assert_eq!(resolved_key(&key.to_string()), key, "{target}");
    }
}

/// The root folder is one folder; `always` for it says nothing of what it holds.
#[test]
fn always_for_the_root_folder_opens_nothing_below() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let root = Need {
        target: Target::Path("/".into()),
        operation: Operation::Read,
    };
    let who = plugin("p", "d", false);
    permissions
        .remember(
            CALL,
            &who,
            std::slice::from_ref(&root),
            answer(true, Scope::Always),
        )
        .unwrap();
    permissions.forget_call(CALL);
    let permissions = fixture.open();
    let verdict = |need: &Need| decide(&permissions, CALL, &who, need).verdict;
    assert_eq!(verdict(&root), Verdict::Allow);
    assert_eq!(
        verdict(&fixture.need("outside/1", Operation::Read)),
        Verdict::Ask
    );
}

/// What is not a regular file is an error at once: it neither blocks nor grants.
#[test]
fn a_pipe_or_a_device_is_no_permission_file() {
    let fixture = Fixture::new();
    let file = fixture.file();
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    let fifo = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &file, fifo, mode, 0).unwrap();
    let need = Need {
        target: Target::Path(fixture.root.join("project/src/main.rs")),
        operation: Operation::Read,
    };
    for leads_to in [None, Some("/dev/zero")] {
        if let Some(leads_to) = leads_to {
            std::fs::remove_file(&file).unwrap();
            symlink(leads_to, &file).unwrap();
        }
        let decided = fixture.open().decide_for(None, &need);
        assert!(
            matches!(decided, Err(PermissionError::Read { .. })),
            "{decided:?}"
        );
    }
}
