//! A request that somebody else edits, too.

use dunlin_chat::request::editor::Edit;
use ratatui_textarea::Key;

use super::{Changed, Effect, fixture};

#[test]
fn a_text_that_somebody_else_has_changed_is_not_overwritten() {
    let mut fixture = fixture();
    fixture.keys("e mine");
    fixture
        .paused
        .step(|request| request.set_text(5, "theirs"))
        .unwrap();
    fixture.key(Key::Enter);
    assert_eq!(fixture.body()["messages"][4]["content"], "theirs");
    let screen = fixture.screen();
    assert!(
        screen.contains("changed elsewhere") && screen.contains(" mine"),
        "{screen}"
    );
    fixture.key(Key::Esc);
    fixture.keys("e too");
    assert!(matches!(
        fixture.key(Key::Enter),
        Effect::Changed(Changed::Edit(..))
    ));
    assert_eq!(fixture.body()["messages"][4]["content"], "theirs too");
    // Nor one whose section is gone.
    fixture.keys("e more");
    fixture.paused.step(|request| request.delete(5)).unwrap();
    fixture.key(Key::Enter);
    assert!(fixture.inspector.entry.is_some());
}

#[test]
fn steps_are_told() {
    let mut fixture = fixture();
    assert!(matches!(fixture.keys("u"), Effect::None));
    assert!(matches!(
        fixture.keys("d"),
        Effect::Changed(Changed::Edit(Edit::Delete { .. }, None))
    ));
    assert!(matches!(fixture.keys("u"), Effect::Changed(Changed::Undo)));
    assert!(matches!(fixture.ctrl('r'), Effect::Changed(Changed::Redo)));
    assert!(matches!(
        fixture.keys("r"),
        Effect::Changed(Changed::Edit(Edit::Reset, None))
    ));
}

#[test]
fn keys_of_the_list_of_chats_mean_nothing_here() {
    let mut fixture = fixture();
    for key in ["f", "M"] {
        assert!(matches!(fixture.keys(key), Effect::None));
        assert!(fixture.screen().contains("no meaning here"), "{key}");
    }
    fixture.keys("?");
    assert!(!fixture.screen().contains("next chat"));
}
