//! The chat without a terminal: a message per line in, replies out, and nobody to ask.

use dunlin_tests::{Provider, Response};
use rustix::process::Signal;
use serde_json::json;

use crate::stage::{environment, read};

#[test]
fn one_message_per_line_and_only_replies_on_stdout() {
    let provider = Provider::play([
        Response::reply("The first."),
        read("a.txt"),
        Response::reply("The\nsecond.\n\n"),
    ]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text of a");
    let output = environment
        .command::<&str>([])
        .stdin("one\n\n  \n/help\n/help me\nread a.txt")
        .run();
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.ends_with("The second.\n") || output.stdout.contains("The\nsecond.\n"));
    assert!(output.stdout.contains("The first.\n"), "{output}");
    assert!(!output.stdout.contains("\n\n"), "{output}");
    assert!(
        output.stderr.contains("✓ 1 read_file a.txt · [TIME]"),
        "{output}"
    );
    assert!(output.stderr.contains("Unknown command /me."), "{output}");
    assert!(!output.to_string().contains('\u{1b}'), "{output}");
    assert_eq!(provider.requests()[1].messages().len(), 3);
}

#[test]
fn what_is_undecided_is_denied_with_status_3() {
    let provider = Provider::play([read("../outside/a.txt"), Response::reply("Well.")]);
    let environment = environment(&provider);
    environment.outside_file("a.txt", "text");
    let output = environment.command::<&str>([]).stdin("read it\ny\n").run();
    assert_eq!(output.status, Some(3), "{output}");
    assert_eq!(output.stdout, "Well.\n");
    let audit = environment.run(["audit", "--denied"]);
    assert!(audit.stdout.contains("(there was nobody to ask"), "{audit}");
    assert!(!audit.stdout.contains("answered"), "{audit}");
    let request = provider.wait_for_request(1);
    assert_eq!(request.messages().last().unwrap()["content"], "y");
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn a_failure_of_the_provider_is_status_4_and_the_next_line_is_tried() {
    let provider = Provider::play([Response::status(400, "no"), Response::reply("Yes.")]);
    let environment = environment(&provider);
    let output = environment.command::<&str>([]).stdin("one\ntwo\n").run();
    assert_eq!(
        (output.status, output.stdout.as_str()),
        (Some(4), "Yes.\n"),
        "{output}"
    );
    assert!(output.stderr.contains("answered 400: no"), "{output}");
}

#[test]
fn quiet_and_colour_are_honoured() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let output = environment.command(["-q"]).stdin("one\n").run();
    assert_eq!(output.to_string(), "status: 0\n----- stdout\nYes.\n");
    let coloured = environment.run(["tools", "list", "--color", "always"]);
    assert!(coloured.stdout.contains("\u{1b}["), "{coloured}");
    let plain = environment
        .command(["tools", "list"])
        .variable("CLICOLOR_FORCE", "1")
        .variable("NO_COLOR", "1")
        .run();
    assert!(!plain.stdout.contains('\u{1b}'), "{plain}");
}

#[test]
fn a_signal_ends_it_with_status_130() {
    for response in [Response::silence(), Response::stream().text("Half").stall()] {
        let provider = Provider::play([response]);
        let environment = environment(&provider);
        let running = environment.command::<&str>([]).stdin("one\n").spawn();
        provider.wait_for_request(0);
        running.signal(Signal::INT);
        let output = running.wait();
        assert_eq!(output.status, Some(130), "{output}");
    }
    let provider = Provider::play([Response::calls([("loop_forever", json!({}))])]);
    let environment = environment(&provider);
    let command = environment.command(["ask", "loop"]);
    let running = command.guests(&["loop_forever"]).spawn();
    provider.wait_for_request(0);
    running.signal(Signal::INT);
    assert_eq!(running.wait().status, Some(130));
}
