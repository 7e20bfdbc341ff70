//! Requests that were sent before, opened from the log tab.

use ratatui_textarea::Key;

use super::{Effect, Fixture, body, fixture};

fn log() -> Fixture {
    let mut fixture = fixture();
    for _ in 0..4 {
        fixture.key(Key::Tab);
    }
    fixture.key(Key::Enter);
    assert!(fixture.screen().contains("Enter shows the selected one"));
    fixture
}

#[test]
fn a_request_of_the_log_is_opened_over_the_paused_one() {
    let mut fixture = log();
    fixture.key(Key::Enter);
    insta::assert_snapshot!("sent_request", fixture.screen());
    // Nothing that is done to it reaches the paused request.
    for key in ["s", "e", "d", "u", "r", "a"] {
        assert!(matches!(fixture.keys(key), Effect::None), "{key}");
    }
    assert!(matches!(fixture.keys("y"), Effect::Copy(text, _) if text.contains("asked before")));
    fixture.keys("?");
    assert!(fixture.screen().contains("Keys, and words at the prompt"));
    fixture.key(Key::Esc);
    fixture.keys("/brief");
    fixture.key(Key::Enter);
    insta::assert_snapshot!("found_in_sent_request", fixture.screen());
    assert!(matches!(fixture.keys("q"), Effect::None));
    insta::assert_snapshot!("back_in_paused_request", fixture.screen());
    assert_eq!(fixture.body(), body());
}

#[test]
fn a_request_that_cannot_be_shown_is_said_to_be_so() {
    let mut fixture = log();
    fixture.keys("k");
    fixture.key(Key::Enter);
    assert!(fixture.screen().contains("Select a request first."));
    fixture.keys("jje");
    assert!(
        fixture
            .screen()
            .contains("Values are edited in the request tab.")
    );
    fixture.key(Key::Enter);
    let said = "Request 1 cannot be shown: its bytes are not those that were sent";
    assert!(fixture.screen().contains(said), "{}", fixture.screen());
}
