//! Keys in the system's keyring: here the kernel's, since no secret service is to be asked by a test.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, Invocation, Key, Provider, Response};

use crate::stage::{Chat, assert_in_no_file, environment};

const KEY: &str = "sk-keyring-0123456789abcdef";

/// A configuration whose key stands in the keyring, under a name that no other test has.
fn with_keyring(provider: &Provider, name: &str) -> (Environment, String) {
    let environment = environment(provider);
    let account = format!("test-{name}-{}", std::process::id());
    environment.configure(&format!(
        "[keys.mine]\nkeyring = \"{account}\"\n[agents.assistant]\nbase_url = \"{}\"\n\
         model = \"scripted\"\napi_key = \"mine\"\n",
        provider.base_url()
    ));
    (environment, account)
}

/// A run that finds no secret service, whatever the machine has.
fn command<'a>(environment: &'a Environment, arguments: &[&str]) -> Invocation<'a> {
    let nobody = format!("unix:path={}", environment.root().join("nobody").display());
    environment
        .command(arguments)
        .variable("DBUS_SESSION_BUS_ADDRESS", &nobody)
}

/// Stores the key; `false` where the kernel keeps none, as in some containers.
fn store(environment: &Environment) -> bool {
    let set = command(environment, &["config", "key", "set", "mine"]);
    let output = set.stdin(format!("{KEY}\n")).run();
    if output.status == Some(0) {
        assert!(
            output.stderr.contains("until the machine restarts"),
            "{output}"
        );
        return true;
    }
    assert!(
        output
            .stderr
            .contains("neither a desktop's keyring nor the kernel's can be used"),
        "{output}"
    );
    false
}

#[test]
fn a_key_of_the_keyring_goes_to_its_endpoint_and_nowhere_else() {
    let provider = Provider::always(Response::reply("Yes."));
    provider.must_not_see(KEY);
    let (environment, account) = with_keyring(&provider, "sent");
    let missing = command(&environment, &["ask", "hello"]).run();
    assert_eq!(missing.status, Some(2), "{missing}");
    for said in [
        "cannot read the key \"mine\"",
        &account,
        "dunlin config key set mine",
    ] {
        assert!(missing.stderr.contains(said), "{said}: {missing}");
    }
    if !store(&environment) {
        return;
    }
    let mut chat = Chat::of(command(&environment, &[]).terminal());
    assert!(chat.turn("hello").contains("Yes."));
    chat.leave();
    let request = provider.wait_for_request(0);
    let bearer = format!("Bearer {KEY}");
    assert_eq!(request.header("authorization"), Some(bearer.as_str()));
    for arguments in [&["doctor"][..], &["config", "show"], &["config", "check"]] {
        let output = command(&environment, arguments).run();
        assert!(!output.stdout.contains(KEY), "{output}");
        assert!(!output.stderr.contains(KEY), "{output}");
    }
    let doctor = command(&environment, &["doctor"]).run();
    assert!(doctor.stdout.contains("mine: found, "), "{doctor}");
    assert_in_no_file(&environment, KEY);
    let delete = || command(&environment, &["config", "key", "delete", "mine"]).run();
    assert_eq!(delete().status, Some(0));
    let again = delete();
    assert_eq!(again.status, Some(1), "{again}");
    assert!(again.stderr.contains("has no key"), "{again}");
}

/// Nobody sees the rest of a line that was begun before the key was asked for.
#[test]
fn what_is_typed_too_early_for_a_key_is_not_shown() {
    let provider = Provider::play([]);
    let (environment, _account) = with_keyring(&provider, "early");
    let mut terminal = command(&environment, &["config", "key", "set", "mine"]).terminal();
    terminal.type_text("fa");
    terminal.wait_until("the line, unseen", |screen| {
        screen.cursor_line.trim_end() == "  typed early:"
    });
    terminal.type_text(KEY);
    terminal.press(Key::Enter);
    terminal.wait_for("Keystrokes typed before this question were ignored.");
    terminal.wait_until("the key", |screen| {
        screen.cursor_line.trim_end() == "Key mine, not shown:"
    });
    terminal.press(Key::CtrlC);
    terminal.wait_end();
    terminal.assert_absent(KEY);
}

#[test]
fn a_key_is_typed_unseen() {
    let provider = Provider::play([]);
    let (environment, account) = with_keyring(&provider, "typed");
    let mut terminal = command(&environment, &["config", "key", "set", "mine"]).terminal();
    terminal.wait_for("Key mine, not shown:");
    terminal.type_line(KEY);
    let status = terminal.wait_end();
    terminal.assert_absent(KEY);
    if status == Some(0) {
        assert!(
            terminal
                .screen()
                .contains(&format!("The key {account} is in "))
        );
        let delete = command(&environment, &["config", "key", "delete", "mine"]).run();
        assert_eq!(delete.status, Some(0), "{delete}");
    }
    let empty = command(&environment, &["config", "key", "set", "mine"]).run();
    assert_eq!(empty.status, Some(2), "{empty}");
    assert_in_no_file(&environment, KEY);
}

/// A keyring that hangs holds nobody up: Ctrl-C is felt at once.
#[test]
fn waiting_for_a_keyring_can_be_interrupted() {
    let provider = Provider::play([]);
    let (environment, _account) = with_keyring(&provider, "hung");
    // It accepts connections, and says nothing.
    let socket = environment.root().join("hung");
    let listener = UnixListener::bind(&socket).expect("a socket");
    let address = format!("unix:path={}", socket.display());
    let command = environment
        .command([""; 0])
        .variable("DBUS_SESSION_BUS_ADDRESS", &address);
    let mut chat = Chat::of(command.terminal());
    chat.terminal.type_line("hello");
    let _connection = listener.accept().expect("a connection");
    chat.terminal.wait_for("Waiting for the system's keyring");
    chat.terminal.press(Key::CtrlC);
    let begun = Instant::now();
    chat.terminal.wait_for("(interrupted)");
    chat.prompt();
    // The keyring itself is given up after 30 s.
    assert!(begun.elapsed() < Duration::from_secs(15), "{begun:?}");
    chat.leave();
}
