//! Ctrl-C: the prompt is back at once, and what was said and done until then is kept.

use dunlin_tests::{Gate, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment};

/// Lets the model call these tools, waits until `shown` is shown, interrupts, and returns the results that the
/// next request holds.
#[track_caller]
fn interrupt_calls(guests: &[&str], shown: &str) -> Vec<String> {
    let calls = guests.iter().map(|guest| (*guest, json!({})));
    let provider = Provider::play([Response::calls(calls), Response::reply("All right.")]);
    let environment = environment(&provider);
    environment.project_file("README.md", "Read me.\n");
    let mut chat = Chat::with_guests(&environment, guests);
    chat.say("work");
    chat.terminal.wait_for(shown);
    chat.interrupt(shown);
    assert!(chat.turn("enough").contains("All right."));
    chat.leave();
    let request = provider.wait_for_request(1);
    let messages = request.messages().iter();
    messages
        .filter(|message| message["role"] == "tool")
        .filter_map(|message| message["content"].as_str().map(str::to_owned))
        .collect()
}

#[test]
fn in_a_stream_the_partial_answer_is_kept() {
    let gate = Gate::new();
    let cut = Response::stream().text("The beginning of").wait(&gate);
    let provider = Provider::play([cut, Response::reply("the rest")]);
    let mut chat = Chat::open(&environment(&provider));
    chat.say("tell me");
    chat.terminal.wait_for("The beginning of");
    chat.interrupt("in a stream");
    provider.wait_for_hang_up(0);
    assert!(chat.turn("go on").contains("the rest"));
    chat.leave();
    let request = provider.wait_for_request(1);
    let partial = &request.messages()[1];
    assert_eq!(partial["role"], "assistant");
    assert_eq!(partial["content"], "The beginning of");
}

#[test]
fn while_the_provider_is_silent() {
    for response in [
        Response::stream().stall(),
        Response::stream().reasoning("Hm").stall(),
    ] {
        let provider = Provider::play([response, Response::reply("Here I am.")]);
        let mut chat = Chat::open(&environment(&provider));
        chat.say("are you there?");
        provider.wait_for_request(0);
        chat.interrupt("while the provider is silent");
        provider.wait_for_hang_up(0);
        assert!(chat.turn("hello?").contains("Here I am."));
        chat.leave();
    }
}

#[test]
fn in_a_running_call() {
    for guest in [
        "loop_forever",
        "host_call_flood",
        "log_forever",
        "progress_flood",
    ] {
        let results = interrupt_calls(&[guest], &format!("… 1 {guest}"));
        assert_eq!(results, ["cancelled by user"], "{guest}");
    }
}

#[test]
fn while_a_call_is_being_prepared() {
    let results = interrupt_calls(&["loop_in_prepare"], "· 1 loop_in_prepare");
    assert_eq!(results, ["cancelled by user"]);
}

#[test]
fn every_call_of_the_message_has_a_result() {
    let results = interrupt_calls(&["bare", "loop_forever", "trap"], "… 2 loop_forever");
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(!results[0].contains("cancelled"), "{results:?}");
    assert_eq!(results[1..], ["cancelled by user", "cancelled by user"]);
}

#[test]
fn while_the_tools_are_being_looked_at() {
    for line in ["hello", "/tools"] {
        let provider = Provider::play([]);
        let environment = environment(&provider);
        let mut chat = Chat::with_guests(&environment, &["loop_in_describe"]);
        chat.say(line);
        chat.terminal.wait_hands_off();
        chat.interrupt(&format!("while the tools are being looked at for {line}"));
        chat.leave();
    }
}
