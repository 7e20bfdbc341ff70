//! What a person chose for a whole tool, or for all of them, and what is stronger than that.

use super::*;
use crate::declared_permissions::DeclaredPermissions;
use crate::hooks::{Hook, HookEvent};

/// Decides for one tool of a plugin that has two.
fn decided(permissions: &Permissions, tool: &str, declared: bool, need: &Need) -> Decision {
    let caller = Caller {
        call: CALL,
        tool,
        plugin: &plugin("p", "d", false),
        declared,
        declared_permissions: None,
    };
    permissions.decide(&caller, need).unwrap()
}

#[test]
fn always_answers_what_a_default_would_ask_and_no_more() {
    use Operation::{Execute, Read, Write};
    use Verdict::{Allow, Ask, Deny};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("../outside/denied", "---").unwrap();
    permissions.set("../outside/folder/", "---").unwrap();
    permissions.set_tool_mode("t", ToolMode::Always);
    let always = "t is set to always for this session";
    for (path, operation, declared, undeclared, rule) in [
        ("project/src/main.rs", Write, Allow, Ask, always),
        ("project/src/main.rs", Execute, Allow, Ask, always),
        ("outside/notes.txt", Read, Allow, Ask, always),
        ("outside/notes.txt", Write, Allow, Ask, always),
        // What is allowed anyway is allowed by its own rule.
        (
            "project/src/main.rs",
            Read,
            Allow,
            Allow,
            "default: reading inside the project is allowed",
        ),
        // Secrets are asked, whatever would be done with them.
        (
            "project/.env",
            Read,
            Ask,
            Ask,
            "default: what looks like a secret is asked",
        ),
        ("project/.env", Write, Ask, Ask, "default: writing is asked"),
        // A deny of the target is stronger.
        ("outside/denied", Read, Deny, Deny, "stored under"),
        ("outside/folder/a", Write, Deny, Deny, "stored under"),
        // And nothing opens Dunlin's own folders.
        (
            "config/config.toml",
            Read,
            Deny,
            Deny,
            "Dunlin's own files are never granted",
        ),
    ] {
        let need = fixture.need(path, operation);
        let found = decided(&permissions, "t", true, &need);
        let place = format!("{operation:?} {path}");
        assert_eq!(found.verdict, declared, "{place}");
        assert!(found.rule.to_string().starts_with(rule), "{}", found.rule);
        let found = decided(&permissions, "t", false, &need);
        assert_eq!(found.verdict, undeclared, "{place}, undeclared");
    }
    // The plugin's other tool is a tool of its own.
    let write = fixture.need("project/src/main.rs", Write);
    assert_eq!(decided(&permissions, "other", true, &write).verdict, Ask);
}

#[test]
fn every_no_is_stronger_than_always() {
    let fixture = Fixture::new();
    let who = plugin("p", "d", false);
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let permissions = fixture.open();
        permissions.set_tool_mode("t", ToolMode::Always);
        let need = fixture.need(&format!("outside/{scope:?}"), Operation::Read);
        assert_eq!(
            decided(&permissions, "t", true, &need).verdict,
            Verdict::Allow
        );
        let needs = std::slice::from_ref(&need);
        permissions
            .remember(CALL, &who, needs, answer(false, scope))
            .unwrap();
        assert_eq!(
            decided(&permissions, "t", true, &need).verdict,
            Verdict::Deny,
            "{scope:?}"
        );
    }
}

#[test]
fn never_refuses_also_what_is_granted() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("../outside/", "rwx").unwrap();
    permissions
        .allow_for_session("../outside/notes.txt", "rwx")
        .unwrap();
    permissions.set_tool_mode("t", ToolMode::Never);
    for (path, operation) in [
        ("outside/notes.txt", Operation::Read),
        ("outside/other", Operation::Write),
        ("project/src/main.rs", Operation::Read),
        ("project/src/main.rs", Operation::Execute),
    ] {
        let found = decided(&permissions, "t", true, &fixture.need(path, operation));
        assert_eq!(found.verdict, Verdict::Deny, "{path}");
        assert_eq!(
            found.rule.to_string(),
            "t is set to never for this session; /tools t prompt changes that"
        );
        let other = decided(&permissions, "other", true, &fixture.need(path, operation));
        assert_ne!(other.verdict, Verdict::Deny, "{path}");
    }
}

#[test]
fn modes_are_listed_and_end_with_the_session() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set_tool_mode("b", ToolMode::Never);
    permissions.set_tool_mode("a", ToolMode::Always);
    permissions.set_tool_mode("c", ToolMode::Always);
    permissions.set_tool_mode("c", ToolMode::Prompt);
    assert_eq!(permissions.tool_mode("a"), ToolMode::Always);
    assert_eq!(permissions.tool_mode("b"), ToolMode::Never);
    assert_eq!(permissions.tool_mode("c"), ToolMode::Prompt);
    assert_eq!(fixture.open().tool_mode("a"), ToolMode::Prompt);
    for mode in ToolMode::ALL {
        assert_eq!(mode.as_str().parse(), Ok(mode));
    }
    assert!("Always".parse::<ToolMode>().is_err());
}

/// An allow that was given to an earlier version is asked anew, and what the default has to say is said too.
#[test]
fn a_changed_plugin_hides_no_notice() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let need = fixture.need("project/.env", Operation::Read);
    let needs = std::slice::from_ref(&need);
    permissions
        .remember(
            CALL,
            &plugin("p", "d1", false),
            needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    permissions.set_tool_mode("tool", ToolMode::Always);
    let found = decide(&permissions, "other", &plugin("p", "d2", false), &need);
    assert_eq!(found.verdict, Verdict::Ask);
    assert_eq!(
        crate::capability::notices(&found.rule),
        [
            "This file usually holds secrets.",
            "You allowed this before, to an earlier version of the plugin."
        ]
    );
}

/// The built-in tools that edit, and one that only has the name of one of them.
fn editor() -> PluginId {
    plugin("edit_file", "d", true)
}

#[test]
fn plan_refuses_every_change_before_any_answer() {
    use Operation::{Execute, Read, Write};
    use Verdict::{Allow, Ask, Deny};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let who = editor();
    // Whatever could allow it does.
    let project = format!("{}/", fixture.root.join("project").display());
    permissions.set(&project, "rwx").unwrap();
    permissions.set("../outside/notes.txt", "rwx").unwrap();
    permissions.allow_for_session(&project, "rwx").unwrap();
    permissions.set_tool_mode("tool", ToolMode::Always);
    let writes = fixture.need("project/src/main.rs", Write);
    permissions
        .remember(
            CALL,
            &who,
            std::slice::from_ref(&writes),
            answer(true, Scope::Once),
        )
        .unwrap();
    let url = |operation| Need {
        target: resolve::url("https://birds.example/a").unwrap(),
        operation,
    };
    let site = |operation| Need {
        target: resolve::site("https://birds.example/").unwrap(),
        operation,
    };
    let plan = "mode plan: nothing is changed";
    let line = permissions.command_line("echo hi").unwrap();
    let command = Need {
        target: Target::Command(line.target),
        operation: Execute,
    };
    for (need, otherwise, expected) in [
        (writes.clone(), Allow, Deny),
        (fixture.need("project/new/file", Write), Allow, Deny),
        (fixture.need("project/src/main.rs", Execute), Allow, Deny),
        (fixture.need("outside/notes.txt", Write), Allow, Deny),
        (url(Write), Allow, Deny),
        (site(Write), Allow, Deny),
        // Its sandbox keeps it from changing anything.
        (command, Allow, Allow),
        // Reading is as it is otherwise.
        (fixture.need("project/src/main.rs", Read), Allow, Allow),
        (fixture.need("outside/notes.txt", Read), Allow, Allow),
        (fixture.need("config/config.toml", Read), Deny, Deny),
    ] {
        permissions.mode.set(SessionMode::Ask);
        assert_eq!(
            decide(&permissions, CALL, &who, &need).verdict,
            otherwise,
            "{need:?}"
        );
        permissions.mode.set(SessionMode::Plan);
        let found = decide(&permissions, CALL, &who, &need);
        assert_eq!(found.verdict, expected, "{need:?}");
        let is_by_mode = found.rule.to_string() == plan;
        assert_eq!(
            is_by_mode,
            otherwise != expected,
            "{need:?}: {}",
            found.rule
        );
    }
    permissions.set_tool_mode("tool", ToolMode::Prompt);
    assert_eq!(decide(&permissions, CALL, &who, &url(Read)).verdict, Ask);
    // A tool that is off is off, whatever the mode.
    permissions.set_tool_mode("tool", ToolMode::Never);
    let found = decide(&permissions, CALL, &who, &writes);
    assert_eq!(found.rule, Rule::ToolNever("tool".to_owned()));
    permissions.mode.set(SessionMode::Ask);
    assert_eq!(permissions.refusal_of_server("other"), None);
    permissions.mode.set(SessionMode::Plan);
    assert_eq!(permissions.refusal_of_server("other"), Some(Rule::Plan));
}

#[test]
fn accepted_edits_are_those_of_ordinary_files_by_the_built_in_editors() {
    use Verdict::{Allow, Ask, Deny};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    symlink(
        "../../outside/notes.txt",
        fixture.root.join("project/src/link"),
    )
    .unwrap();
    symlink("../outside", fixture.root.join("project/way-out")).unwrap();
    for (target, bits) in [
        ("kept.md", "--?"),
        ("open.md", "r??"),
        ("named/", "r??"),
        ("named/more.md", "r??"),
        ("../outside/granted/", "rw?"),
    ] {
        permissions.set(target, bits).unwrap();
    }
    // What names a folder that the project is in does not mean the project.
    permissions.set("../", "r??").unwrap();
    permissions.mode.set(SessionMode::AcceptEdits);
    for (path, expected) in [
        ("project/src/main.rs", Allow),
        ("project/new/file.md", Allow),
        ("project/src/link", Ask),
        ("project/way-out/notes.txt", Ask),
        ("project/.env", Ask),
        ("project/src/id_rsa", Ask),
        ("project/.git/hooks/pre-commit", Ask),
        ("project/src/.hidden/file", Ask),
        ("project/.github/workflows/ci.yml", Ask),
        ("project/.dunlin/config.toml", Ask),
        ("project/bare/HEAD", Ask),
        ("project/kept.md", Deny),
        ("project/open.md", Ask),
        ("project/named/file.md", Ask),
        ("project/named/more.md", Ask),
        ("outside/notes.txt", Ask),
        ("outside/granted/file.md", Allow),
        ("project-2/file.md", Ask),
        ("config/config.toml", Deny),
    ] {
        let need = fixture.need(path, Operation::Write);
        let found = decide(&permissions, CALL, &editor(), &need);
        assert_eq!(found.verdict, expected, "{path}: {}", found.rule);
        let is_by_mode = found.rule == Rule::AcceptEdits;
        assert_eq!(
            is_by_mode,
            expected == Allow && path.starts_with("project/"),
            "{path}"
        );
    }
    let need = fixture.need("project/src/main.rs", Operation::Write);
    let by = |who: &PluginId, declared: bool| {
        let caller = Caller {
            call: CALL,
            tool: "tool",
            plugin: who,
            declared,
            declared_permissions: None,
        };
        permissions.decide(&caller, &need).unwrap().verdict
    };
    assert_eq!(by(&plugin("write_file", "d", true), true), Allow);
    // Another plugin, one that took the name, a built-in tool of another kind, and what was not announced.
    assert_eq!(by(&plugin("p", "d", false), true), Ask);
    assert_eq!(by(&plugin("edit_file", "d", false), true), Ask);
    assert_eq!(by(&plugin("run_terminal_command", "d", true), true), Ask);
    assert_eq!(by(&editor(), false), Ask);
    let execute = fixture.need("project/src/main.rs", Operation::Execute);
    assert_eq!(decide(&permissions, CALL, &editor(), &execute).verdict, Ask);
    let folder = Need {
        target: permissions.resolve_folder("src").unwrap(),
        operation: Operation::Write,
    };
    assert_eq!(decide(&permissions, CALL, &editor(), &folder).verdict, Ask);
}

#[test]
fn every_no_is_stronger_than_accepted_edits() {
    let fixture = Fixture::new();
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let permissions = fixture.open();
        permissions.mode.set(SessionMode::AcceptEdits);
        let need = fixture.need(&format!("project/{scope:?}"), Operation::Write);
        let verdict = || decide(&permissions, CALL, &editor(), &need).verdict;
        assert_eq!(verdict(), Verdict::Allow);
        let needs = std::slice::from_ref(&need);
        permissions
            .remember(CALL, &editor(), needs, answer(false, scope))
            .unwrap();
        assert_eq!(verdict(), Verdict::Deny, "{scope:?}");
    }
    // Nor does it get round what a plugin says that it never does, or a home folder that is no project.
    let permissions = fixture.open();
    permissions.mode.set(SessionMode::AcceptEdits);
    let need = fixture.need("project/src/main.rs", Operation::Write);
    let declared_permissions = DeclaredPermissions::default();
    let caller = Caller {
        call: CALL,
        tool: "tool",
        plugin: &editor(),
        declared: true,
        declared_permissions: Some(&declared_permissions),
    };
    let found = permissions.decide(&caller, &need).unwrap();
    assert_eq!(found.verdict, Verdict::Deny);
    let permissions = Permissions::open(&HostOptions {
        is_project: false,
        mode: ModeSwitch::new(SessionMode::AcceptEdits),
        ..fixture.options()
    });
    let found = decide(&permissions.unwrap(), CALL, &editor(), &need);
    assert_eq!((found.verdict, found.rule), (Verdict::Ask, Rule::NoProject));
}

/// A command that is allowed runs the file as it is: who writes it decides what runs, and nobody would be asked.
#[test]
fn what_an_allowed_command_or_a_hook_runs_is_asked_about_where_edits_are_accepted() {
    let fixture = Fixture::new();
    let path = |name: &str| resolve::real_path(&fixture.root.join(name)).unwrap();
    std::fs::write(path("project/gen.py"), "1").unwrap();
    std::fs::write(path("project/check.sh"), "1").unwrap();
    let command = |permissions: &Permissions| {
        let line = "/bin/sh gen.py".to_owned();
        let line = crate::command::CommandLine::read(line, false, permissions).unwrap();
        line.needs().remove(0)
    };
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let permissions = Permissions::open(&HostOptions {
            mode: ModeSwitch::new(SessionMode::AcceptEdits),
            hooks: vec![Hook {
                event: HookEvent::TurnEnd,
                command: "sh check.sh".into(),
                tools: None,
                time_limit: std::time::Duration::from_secs(1),
                origin: "config.toml".into(),
                pinned: Vec::new(),
            }],
            ..fixture.options()
        })
        .unwrap();
        let write = |name: &str| {
            let need = fixture.need(name, Operation::Write);
            let found = decide(&permissions, CALL, &editor(), &need);
            (found.verdict, found.rule)
        };
        let accepted = (Verdict::Allow, Rule::AcceptEdits);
        let bound = (Verdict::Ask, Rule::WritingBound);
        assert_eq!(write("project/check.sh"), bound);
        assert_eq!(write("project/gen.py"), accepted);
        let need = command(&permissions);
        permissions
            .remember(
                "other",
                &plugin("p", "d", true),
                &[need],
                answer(true, scope),
            )
            .unwrap();
        assert_eq!(write("project/gen.py"), bound, "{scope:?}");
        assert_eq!(write("project/src/main.rs"), accepted, "{scope:?}");
        // The yes has ended.
        std::fs::write(path("project/gen.py"), "2").unwrap();
        assert_eq!(write("project/gen.py"), accepted, "{scope:?}");
        std::fs::write(path("project/gen.py"), "1").unwrap();
        permissions.forget_call("other");
        std::fs::remove_file(fixture.file()).ok();
    }
}

#[test]
fn modes_of_a_session_have_words_and_go_round() {
    let switch = ModeSwitch::default();
    let other = switch.clone();
    let mut seen = Vec::new();
    for _ in SessionMode::ALL {
        seen.push(switch.get());
        other.set(other.get().next());
    }
    assert_eq!(seen, SessionMode::ALL);
    assert_eq!(switch.get(), SessionMode::Ask);
    for mode in SessionMode::ALL {
        assert_eq!(mode.as_str().parse(), Ok(mode));
        assert_eq!(serde_json::to_value(mode).unwrap(), mode.as_str());
    }
    assert!("Plan".parse::<SessionMode>().is_err());
    assert!(SessionMode::Plan < SessionMode::Ask && SessionMode::Ask < SessionMode::AcceptEdits);
}
