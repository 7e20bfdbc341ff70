//! Several chats without a terminal.

use bytes::Bytes;
use dunlin_chat::request::editor::{Edit, EditableRequest, Outline, SectionId};
use dunlin_chat::request::measure::Measure;
use dunlin_chat::turn::PausedRequest;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui_textarea::{Input, Key};
use serde_json::json;

use super::state::help_rows;
use super::{Act, ChatList, Conversation, Update, draw};
use crate::inspector::{Effect, Event};
use crate::request::paused::Paused;
use crate::ui::style::Styles;

fn paused(text: &str) -> Box<Paused> {
    let body = json!({"model": "small", "messages": [{"role": "user", "content": text}]});
    let outline = Outline::of_chat(&body, &[SectionId::Message(0).into()], Vec::new());
    Box::new(Paused::new(PausedRequest {
        request: EditableRequest::new(Bytes::from(body.to_string()), outline),
        described: Vec::new(),
        round: 1,
        number: Some(3),
        model: "small",
        messages: &[],
        measure: Measure::default(),
        room: 30_000,
        window: Some(32_768),
        must_pause: true,
        last_sent: None,
        notice: None,
    }))
}

fn list(wanted: Option<&str>) -> ChatList {
    let mut list = ChatList::new(Styles::plain(), wanted.map(str::to_owned));
    for (chat, session, title) in [("a", "k7mq2x9d", "Terns"), ("b", "b2cdq8rs", "")] {
        list.apply(
            chat,
            Update::Conversation(Conversation {
                session: session.to_owned(),
                agent: "bird\u{1b}".to_owned(),
                title: title.to_owned(),
                model: "small".to_owned(),
            }),
        );
        list.apply(chat, Update::Mode("turn".to_owned()));
    }
    list
}

fn press(list: &mut ChatList, keys: &str) -> Vec<Act> {
    let mut acts = Vec::new();
    for key in keys.chars() {
        let key = match key {
            '\n' => Key::Enter,
            key => Key::Char(key),
        };
        let input = Input {
            key,
            ..Input::default()
        };
        acts.extend(list.handle(Event::Key(input)).1);
    }
    acts
}

fn screen(list: &mut ChatList) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(90, 24));
    let Ok(_) = terminal.draw(|frame| draw(frame, list));
    terminal.backend().to_string()
}

#[test]
fn the_newest_request_is_followed_or_not() {
    let mut list = list(None);
    assert_eq!(list.selected(), Some("a"));
    list.apply("b", Update::Paused(paused("sing")));
    assert_eq!(list.selected(), Some("b"));
    press(&mut list, "f");
    list.apply("a", Update::Paused(paused("count")));
    assert_eq!(list.selected(), Some("b"));
    let shown = screen(&mut list);
    for text in [
        "2 chats · 2 paused · f follow: off",
        "  ⏸ PAUSED new bird\\u{1b} · Terns · …2x9d · pause: turn",
        "▸ ⏸ PAUSED new bird\\u{1b} · new conversation · …q8rs · pause: turn",
        "⏸ PAUSED  request 3",
        "sing",
    ] {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
    // What is typed is not interrupted.
    press(&mut list, "fe");
    list.apply("a", Update::Paused(paused("dance")));
    assert_eq!(list.selected(), Some("b"));
}

#[test]
fn steps_are_told_and_what_others_did_is_shown() {
    let mut list = list(Some("b2c"));
    assert_eq!(list.selected(), Some("b"));
    list.apply("b", Update::Paused(paused("sing")));
    let acts = press(&mut list, "efully \n");
    let [Act::Edit(Edit::Set { new, .. })] = acts.as_slice() else {
        panic!("{acts:?}")
    };
    let new = new.clone();
    assert!(new.contains("fully"), "{new}");
    assert_eq!(press(&mut list, "u"), [Act::Undo]);
    // The redo of the last edit is that edit.
    let redo = Input {
        key: Key::Char('r'),
        ctrl: true,
        ..Input::default()
    };
    let (_, acts) = list.handle(Event::Key(redo));
    assert!(matches!(&acts[..], [Act::Edit(Edit::Set { new: again, .. })] if *again == new));
    assert_eq!(press(&mut list, "r"), [Act::Edit(Edit::Reset)]);
    let mut other = paused("sing");
    other.step(|it| it.set_text(1, "whistle")).unwrap();
    list.apply("b", Update::Revised(other));
    let shown = screen(&mut list);
    assert!(
        shown.contains("whistle") && shown.contains("edited elsewhere"),
        "{shown}"
    );
    assert_eq!(press(&mut list, "s"), [Act::Send]);
    assert_eq!(press(&mut list, "M"), [Act::NextMode]);
    list.apply("b", Update::Over("sent as request 3".to_owned()));
    assert_eq!(press(&mut list, "sd"), []);
    assert!(screen(&mut list).contains("READ ONLY  sent as request 3"));
    list.apply("b", Update::Ended);
    assert!(screen(&mut list).contains("ended"));
    let quit = Input {
        key: Key::Char('q'),
        ..Input::default()
    };
    assert!(matches!(list.handle(Event::Key(quit)).0, Effect::Close));
}

#[test]
fn without_a_chat_it_waits() {
    let mut list = ChatList::new(Styles::plain(), None);
    assert!(screen(&mut list).contains("No chat is running"));
}

#[test]
fn the_help_lists_the_keys_of_the_list_first() {
    let mut empty = ChatList::new(Styles::plain(), None);
    press(&mut empty, "?");
    assert!(screen(&mut empty).contains("next pause mode"));
    let mut list = list(None);
    list.apply("a", Update::Paused(paused("count")));
    press(&mut list, "?");
    let shown = screen(&mut list);
    let first = [
        "Ctrl-N",
        "Ctrl-P",
        "follow or keep the chat",
        "next pause mode",
        "q Esc",
        "all keys",
        "send",
        "Ctrl-C",
    ];
    let places: Vec<_> = first.iter().map(|text| shown.find(text)).collect();
    assert!(places.iter().all(Option::is_some), "{shown}");
    assert!(places.is_sorted(), "{shown}");
    press(&mut list, "G");
    let shown = screen(&mut list);
    assert!(
        shown.contains("previous page") && !shown.contains("next chat"),
        "{shown}"
    );
    assert_eq!(press(&mut list, "s"), [], "it only closes");
    assert!(!screen(&mut list).contains("previous page"));
    assert_eq!(press(&mut list, "s"), [Act::Send]);
}

#[test]
fn every_key_is_documented_and_does_one_thing() {
    const PAGE: &str = include_str!("../../../../../docs/request-editor.md");
    let mut seen = std::collections::HashSet::new();
    for (keys, about, word) in help_rows() {
        for key in keys.split(' ') {
            assert!(seen.insert(key), "{key} stands twice");
        }
        let keys = format!("`{}`", keys.replace(' ', "`, `"));
        let row = format!("| {keys} | {about} | ");
        let word = word.split(", ").next().unwrap_or_default();
        let mut rows = PAGE.lines().filter(|line| line.starts_with(&row));
        assert!(rows.any(|line| line.contains(word)), "no row {row}{word}");
    }
}

#[test]
fn keys_do_not_act_on_what_nobody_has_seen() {
    let mut list = list(None);
    assert!(list.take_new(), "the first chat was selected");
    list.apply("a", Update::Paused(paused("count")));
    assert!(list.take_new());
    // The user selects another one, and knows what that is.
    let next = Input {
        key: Key::Char('n'),
        ctrl: true,
        ..Input::default()
    };
    list.handle(Event::Key(next));
    assert!(!list.take_new());
    list.apply("a", Update::Mode("off".to_owned()));
    assert!(!list.take_new());
    list.apply("b", Update::Paused(paused("sing")));
    assert!(list.take_new());
    list.apply("a", Update::Paused(paused("dance")));
    assert!(list.take_new());
    assert_eq!(list.selected(), Some("a"));
    // The answer to an edit of one's own is nothing new, that of somebody else is.
    let mut other = paused("dance");
    list.apply("a", Update::Revised(paused("dance")));
    assert!(!list.take_new());
    other.step(|it| it.set_text(1, "whistle")).unwrap();
    list.apply("a", Update::Revised(other));
    assert!(list.take_new());
    // A text is typed on, until it is taken away.
    press(&mut list, "ex");
    list.apply("b", Update::Paused(paused("croak")));
    assert!(!list.take_new());
    list.apply("a", Update::Over("sent as request 3".to_owned()));
    assert!(list.take_new());
    // The keys are shown once they act.
    let key = "? all keys";
    list.keys_act(false);
    assert!(!screen(&mut list).contains(key));
    list.keys_act(true);
    assert!(screen(&mut list).contains(key));
}
