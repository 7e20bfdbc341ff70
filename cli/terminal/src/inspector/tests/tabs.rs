//! What the tabs beside the tree show.

use super::*;

#[test]
fn tabs_show_payload_differences_metadata_and_log() {
    let mut fixture = fixture();
    fixture.keys("gd");
    for text in [
        "\"role\": \"user\"",
        "1 system prompt  deleted",
        "k7mq2x9d",
        "1,310 tokens",
    ] {
        fixture.key(Key::Tab);
        assert!(
            fixture.screen().contains(text),
            "{text}: {}",
            fixture.screen()
        );
    }
    fixture.key(Key::Tab);
    assert!(fixture.screen().contains("careful"));
}

#[test]
fn differences_are_broken_between_words() {
    let mut fixture = fixture();
    fixture.size(40, 20);
    let text = "The quick brown terns summarise everything that lies within several harbours.";
    let step = fixture.paused.step(|it| it.set_text(1, text));
    assert!(step.is_ok());
    fixture.key(Key::Tab);
    fixture.key(Key::Tab);
    let rows: Vec<String> = fixture
        .inspector
        .lines()
        .iter()
        .map(|line| line.text())
        .collect();
    let words: Vec<&str> = text.split(' ').collect();
    for word in words {
        let is_whole = rows.iter().any(|row| row.contains(word));
        assert!(is_whole, "{word}: {rows:?}");
    }
}
