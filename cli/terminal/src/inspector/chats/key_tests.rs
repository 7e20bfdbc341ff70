//! What keys do to several chats, and when they do nothing.

use std::sync::Arc;

use ratatui_textarea::Key;

use super::tests::{
    OneRequest, assert_shows, ctrl, key, list, new, paused, press, revised, screen, set,
};
use super::{Act, ChatList, Update};
use crate::inspector::Effect;
use crate::ui::style::Styles;

#[test]
fn a_mode_is_chosen_and_never_by_the_way() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    assert_eq!(press(&mut list, "M"), []);
    assert_shows(&mut list, &[" t turn  e every  a auto  n next  o off"]);
    assert_eq!(press(&mut list, "e"), [Act::Mode("every")]);
    assert_eq!(press(&mut list, "Mo"), [Act::Mode("off")]);
    assert_eq!(press(&mut list, "Mx"), []);
    assert_shows(&mut list, &["The pause mode is not changed"]);
    press(&mut list, "M");
    assert!(!screen(&mut list).contains("is not changed"));
    ctrl(&mut list, 'c');
    assert_eq!(press(&mut list, "c"), [Act::Cancel]);
}

#[test]
fn keys_that_leave_cancel_nothing() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    assert!(matches!(key(&mut list, Key::Esc), (Effect::None, None)));
    assert_shows(
        &mut list,
        &["Nothing is open here that Esc closes; q leaves."],
    );
    assert!(matches!(ctrl(&mut list, 'c'), (Effect::Close, None)));
    press(&mut list, "e");
    ctrl(&mut list, 'c');
    key(&mut list, Key::Esc);
    assert_eq!(press(&mut list, "s"), [Act::Send]);
    list.apply("a", Update::Done);
    // Nothing is left to cancel: the key was pressed a moment too late.
    list.apply(
        "a",
        Update::Over("cancelled before sending".to_owned(), new(40)),
    );
    assert!(matches!(
        key(&mut list, Key::Char('c')),
        (Effect::None, None)
    ));
    assert_shows(&mut list, &["cancelled before sending"]);
}

#[test]
fn nothing_acts_under_the_help() {
    let mut empty = ChatList::new(Styles::plain(), None, Arc::new(OneRequest));
    press(&mut empty, "?");
    assert_shows(&mut empty, &["pause mode"]);
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    let rows = [
        "next chat",
        "previous chat",
        "follow on or off",
        "pause mode",
    ];
    press(&mut list, "?");
    let mut shown = screen(&mut list);
    press(&mut list, "G");
    shown.push_str(&screen(&mut list));
    assert!(rows.iter().all(|row| shown.contains(row)), "{shown}");
    for closes in ["f", "M", "s", "q"] {
        assert_eq!(press(&mut list, closes), [], "it only closes");
        assert!(list.help.is_none() && list.follows() && !list.chooses());
        press(&mut list, "?");
    }
    ctrl(&mut list, 'n');
    assert_eq!(list.selected(), Some("a"));
    assert_eq!(press(&mut list, "s"), [Act::Send]);
}

#[test]
fn keys_do_not_act_on_what_nobody_has_seen() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    assert!(list.take_new());
    // The user selects another one, and knows what that is.
    ctrl(&mut list, 'n');
    assert!(!list.take_new());
    list.apply("a", Update::Mode("off".to_owned()));
    assert!(!list.take_new());
    list.apply("b", paused("sing", new(40)));
    assert!(list.take_new());
    list.apply("a", paused("dance", new(50)));
    assert!(list.take_new());
    assert_eq!(list.selected(), Some("a"));
    // The answer to an edit of one's own is nothing new, that of somebody else is.
    list.apply("a", revised(&[]));
    assert!(!list.take_new());
    list.apply("a", revised(&[set(0, "dance", "whistle")]));
    assert!(list.take_new());
    // A text is typed on, until it is taken away.
    press(&mut list, "ex");
    list.apply("b", paused("croak", new(60)));
    assert!(!list.take_new());
    list.apply("a", Update::Over("sent as request 3".to_owned(), new(70)));
    assert!(!list.take_new());
    list.apply("a", paused("dive", new(80)));
    assert!(list.take_new());
    // The keys are shown once they act.
    let key = "? all keys";
    list.keys_act(false);
    assert!(!screen(&mut list).contains(key));
    list.keys_act(true);
    assert!(screen(&mut list).contains(key));
}
