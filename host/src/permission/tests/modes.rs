//! What a person chose for a whole tool, and what is stronger than that.

use super::*;

/// Decides for one tool of a plugin that has two.
fn decided(permissions: &Permissions, tool: &str, declared: bool, need: &Need) -> Decision {
    let caller = Caller {
        call: CALL,
        tool,
        plugin: &plugin("p", "d", false),
        declared,
        ceiling: None,
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
