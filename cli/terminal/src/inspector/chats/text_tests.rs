//! Texts that are typed, here or in the user's editor, while other things happen.

use ratatui_textarea::Key;

use super::tests::{assert_shows, key, list, new, paused, press, revised, set};
use super::{Act, ChatList, Update};
use crate::inspector::{Effect, Typed};

/// Edits the only message of the selected chat in the user's editor; what it leaves there.
fn edit_outside(list: &mut ChatList, new: &str) -> Typed {
    press(list, "g");
    let (effect, act) = key(list, Key::Char('o'));
    assert_eq!(act, None);
    let Effect::EditOutside(target, draft) = effect else {
        panic!("nothing to edit: {effect:?}");
    };
    Typed {
        target,
        old: draft.now,
        new: new.to_owned(),
    }
}

#[test]
fn a_text_of_the_editor_is_for_the_request_that_it_was_made_of() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    let typed = edit_outside(&mut list, "mine");
    // A request with the same text takes its place on the screen meanwhile.
    list.apply("a", Update::Over("sent as request 3".to_owned(), new(40)));
    list.apply("b", paused("count", new(50)));
    assert_eq!(list.selected(), Some("b"));
    assert_eq!(list.set(typed), None);
    assert_eq!(list.selected(), Some("a"));
    let kept = ["Not saved: sent as request 3", "mine", "Esc discards"];
    assert_shows(&mut list, &kept);
    key(&mut list, Key::Esc);
    // It is still there: then the text is saved, whatever was shown meanwhile.
    press(&mut list, "f");
    list.apply("a", paused("count", new(60)));
    let typed = edit_outside(&mut list, "mine");
    list.apply("b", paused("count", new(70)));
    assert_eq!(list.set(typed), Some(Act::Edit(set(0, "count", "mine"))));
}

#[test]
fn a_text_for_a_request_that_is_gone_is_shown() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    let typed = edit_outside(&mut list, "mine");
    list.apply("a", Update::Over("sent as request 3".to_owned(), new(40)));
    // The next one has the same text in the same place.
    list.apply("a", paused("count", new(50)));
    assert_eq!(list.set(typed), None);
    let shown = ["your text", "mine", "the request that you edited is gone"];
    assert_shows(&mut list, &shown);
    assert_eq!(press(&mut list, "x\n"), []);
    key(&mut list, Key::Esc);
    assert_shows(&mut list, &["PAUSED", "count"]);
}

#[test]
fn a_text_outlives_the_pause_and_cannot_be_saved() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    assert_eq!(press(&mut list, "ge mine"), []);
    list.apply("a", Update::Over("sent as request 3".to_owned(), new(40)));
    let cannot = "sent as request 3: this text cannot be saved any more";
    assert_shows(&mut list, &["count mine", cannot]);
    assert_eq!(press(&mut list, "\n"), []);
    assert_shows(&mut list, &["count mine", "Not saved: sent as request 3"]);
    list.apply("a", paused("sing", new(50)));
    assert_shows(
        &mut list,
        &["what was being typed for the last one is discarded"],
    );
}

#[test]
fn a_refusal_shows_the_state_and_keeps_the_text() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    press(&mut list, "ge");
    for typed in " mine".chars() {
        key(&mut list, Key::Char(typed));
    }
    assert!(key(&mut list, Key::Enter).1.is_some());
    list.take_new();
    // Somebody else was faster: the chat tells its state, and refuses.
    list.apply("a", revised(&[set(0, "count", "theirs")]));
    list.apply("a", Update::Refused("the request has changed".to_owned()));
    assert!(list.take_new(), "keys were meant for something else");
    assert_shows(
        &mut list,
        &["Not saved: the request has changed", "count mine", "theirs"],
    );
    // Enter does not overwrite it, either.
    assert_eq!(press(&mut list, "\n"), []);
    assert_shows(&mut list, &["changed elsewhere", "count mine"]);
    key(&mut list, Key::Esc);
    assert_eq!(
        press(&mut list, "e too\n"),
        [Act::Edit(set(0, "theirs", "theirs too"))]
    );
    // What was shown as done already is taken back.
    assert!(key(&mut list, Key::Char('d')).1.is_some());
    list.apply("a", revised(&[set(0, "count", "theirs")]));
    list.apply("a", Update::Refused("the chat is busy".to_owned()));
    assert_shows(&mut list, &["has refused this: the chat is busy"]);
    let (_, shown) = list.shown().unwrap();
    assert!(!shown.request().is_deleted(1));
    assert_eq!(shown.request().edits().len(), 1);
}
