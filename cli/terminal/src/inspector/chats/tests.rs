//! Several chats without a terminal.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::request::editor::{Edit, EditableRequest, Outline, SectionId, Target};
use dunlin_chat::turn::PausedRequest;
use dunlin_host::ForeignError;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::style::Color;
use ratatui_textarea::{Input, Key};
use serde_json::json;

use super::row::{FLASH, REMEMBERED};
use super::state::PATIENCE;
use super::{Act, Arrived, ChatList, Conversation, Update, When, draw, follow};
use crate::inspector::{Effect, Event, Logged, Logs};
use crate::request::paused::Paused;
use crate::ui::style::Styles;

fn request(text: &str) -> Paused {
    let body = json!({"model": "small", "messages": [
        {"role": "user", "content": text}, {"role": "assistant", "content": "Two."}]});
    let origins = [0, 1].map(|at| SectionId::Message(at).into());
    let outline = Outline::of_chat(&body, &origins, Vec::new());
    let request = EditableRequest::new(Bytes::from(body.to_string()), outline);
    Paused::new(PausedRequest {
        number: Some(3),
        max_request_tokens: 30_000,
        window: Some(32_768),
        ..PausedRequest::new(request)
    })
}

/// Something that happens now.
pub(super) fn new(active: u64) -> When {
    When {
        active,
        is_new: true,
    }
}

fn old(active: u64) -> When {
    When {
        active,
        is_new: false,
    }
}

pub(super) fn paused(text: &str, when: When) -> Update {
    let arrived = Arrived {
        paused: request(text),
        is_exact: true,
        last_sent: None,
    };
    Update::Paused(Box::new(arrived), when)
}

pub(super) fn set(number: usize, old: &str, new: &str) -> Edit {
    Edit::Set {
        target: Target {
            section: SectionId::Message(number),
            path: "content".parse().unwrap(),
        },
        old: Some(format!("{old:?}")),
        new: Some(format!("{new:?}")),
    }
}

pub(super) fn revised(edits: &[Edit]) -> Update {
    Update::Revised(edits.to_vec(), Vec::new())
}

fn attach(list: &mut ChatList, chat: &str, session: &str, title: &str, active: u64) {
    list.apply(chat, Update::Attached(active));
    let conversation = Conversation {
        session: session.to_owned(),
        agent: "bird\u{1b}".to_owned(),
        title: title.to_owned(),
        model: "small".to_owned(),
    };
    list.apply(chat, Update::Conversation(conversation));
    list.apply(chat, Update::Mode("turn".to_owned()));
}

pub(super) fn list(wanted: Option<&str>) -> ChatList {
    let mut list = ChatList::new(
        Styles::plain(),
        wanted.map(str::to_owned),
        Arc::new(OneRequest),
    );
    attach(&mut list, "a", "k7mq2x9d", "Terns", 20);
    attach(&mut list, "b", "b2cdq8rs", "", 10);
    list.take_new();
    list
}

pub(super) fn key(list: &mut ChatList, key: Key) -> (Effect, Option<Act>) {
    let input = Input {
        key,
        ..Input::default()
    };
    list.handle(Event::Key(input))
}

pub(super) fn ctrl(list: &mut ChatList, letter: char) -> (Effect, Option<Act>) {
    let input = Input {
        key: Key::Char(letter),
        ctrl: true,
        ..Input::default()
    };
    list.handle(Event::Key(input))
}

/// The keys, of which the chat answers each; what it has done.
pub(super) fn press(list: &mut ChatList, keys: &str) -> Vec<Act> {
    let mut acts = Vec::new();
    for typed in keys.chars() {
        let typed = match typed {
            '\n' => Key::Enter,
            typed => Key::Char(typed),
        };
        let (_, act) = key(list, typed);
        if let (Some(_), Some(chat)) = (&act, list.selected().map(str::to_owned)) {
            list.apply(&chat, Update::Done);
        }
        acts.extend(act);
    }
    acts
}

pub(super) fn screen(list: &mut ChatList) -> String {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(100, 24));
    let Ok(_) = terminal.draw(|frame| draw(frame, list));
    terminal.backend().to_string()
}

#[track_caller]
pub(super) fn assert_shows(list: &mut ChatList, texts: &[&str]) {
    let shown = screen(list);
    for text in texts {
        assert!(shown.contains(text), "{text}\n{shown}");
    }
}

#[test]
fn the_newest_request_is_followed_or_not() {
    let mut list = list(None);
    assert_eq!(list.selected(), Some("a"));
    list.apply("b", paused("sing", new(30)));
    assert_eq!(list.selected(), Some("b"));
    press(&mut list, "f");
    list.apply("a", paused("count", new(40)));
    assert_eq!(list.selected(), Some("b"));
    let texts = [
        "2 chats · 2 paused · follow: off",
        "  ⏸ PAUSED new bird\\u{1b} · Terns · …2x9d · pause: turn",
        "▸ ⏸ PAUSED new bird\\u{1b} · new conversation · …q8rs · pause: turn",
        "⏸ PAUSED  request 3",
        "sing",
    ];
    assert_shows(&mut list, &texts);
    // What is typed is not interrupted, nor is the choice of a mode.
    press(&mut list, "fe");
    list.apply("a", paused("dance", new(50)));
    assert_eq!(list.selected(), Some("b"));
    key(&mut list, Key::Esc);
    list.apply("b", Update::Over("sent as request 3".to_owned(), new(60)));
    press(&mut list, "M");
    list.apply("a", paused("dance", new(70)));
    assert_eq!(list.selected(), Some("b"));
}

/// A session with a request of number 5.
pub(super) struct OneRequest;

impl Logs for OneRequest {
    fn rows(&self, session: &str) -> Vec<Logged> {
        vec![Logged {
            number: Some(5),
            about: format!("5  just now · {session}"),
        }]
    }

    fn sent(&self, _session: &str, number: u64) -> Result<Paused, ForeignError> {
        match number {
            5 => Ok(request("whistle")),
            _ => Err("the session is not stored".into()),
        }
    }

    fn body(&self, _session: &str, sha256: &str) -> Option<Vec<u8>> {
        (sha256 == "e3").then(|| request("count").request().bytes().to_vec())
    }
}

#[test]
fn what_was_sent_without_a_pause_is_read_in_the_log() {
    let mut list = list(None);
    list.apply("a", Update::Sent(Some(5), new(30)));
    assert!(list.load() && !list.take_new() && !list.load());
    assert_shows(&mut list, &["READ ONLY  request 5 was sent", "whistle"]);
    key(&mut list, Key::Tab);
    key(&mut list, Key::Tab);
    key(&mut list, Key::Tab);
    key(&mut list, Key::Tab);
    assert_shows(&mut list, &["just now · k7mq2x9d"]);
    assert_eq!(press(&mut list, "sd"), [], "it was sent");
    // Enter shows one, until Esc or q, which leave nothing else here.
    press(&mut list, "\n");
    press(&mut list, "\n");
    let opened = "READ ONLY  request 5 as it was sent";
    assert_shows(&mut list, &[opened, "whistle"]);
    list.apply("a", Update::Sent(Some(5), new(35)));
    assert!(!list.load(), "what is read is not taken away");
    key(&mut list, Key::Esc);
    assert!(!screen(&mut list).contains(opened));
    assert!(list.load());
    // The next one is shown in the same tab.
    assert_shows(&mut list, &["just now · k7mq2x9d"]);
    // One that is paused takes its place, and knows what was sent before.
    let arrived = Arrived {
        paused: request("count"),
        is_exact: true,
        last_sent: Some("e3".to_owned()),
    };
    list.apply("a", Update::Paused(Box::new(arrived), new(40)));
    assert!(list.load());
    assert_shows(&mut list, &["the server has read the first"]);
    // One that was sent before it says nothing of it.
    list.apply("a", Update::Sent(Some(5), old(40)));
    list.apply("a", Update::Over("sent as request 6".to_owned(), new(50)));
    assert!(!list.load());
    assert!(!list.load());
    // Without following the view stays where it is.
    press(&mut list, "f");
    list.apply("a", Update::Sent(Some(5), new(60)));
    assert!(!list.load());
    assert_shows(&mut list, &["READ ONLY  sent as request 6"]);
    press(&mut list, "f");
    list.apply("b", Update::Sent(Some(7), new(70)));
    assert!(list.load());
    assert_shows(
        &mut list,
        &["Request 7 was sent; it cannot be shown: the session is not stored."],
    );
    // Neither what cannot be shown nor another session leaves an old request on the screen.
    list.apply("b", Update::Sent(Some(5), new(80)));
    assert!(list.load() && screen(&mut list).contains("whistle"));
    list.apply("b", Update::Sent(Some(7), new(90)));
    assert!(list.load() && !screen(&mut list).contains("whistle"));
    list.apply("b", Update::Sent(Some(5), new(100)));
    assert!(list.load() && screen(&mut list).contains("whistle"));
    attach(&mut list, "b", "n3w", "", 110);
    assert_shows(&mut list, &["No request yet."]);
}

#[test]
fn a_step_that_the_chat_has_not_done_yet_is_told_from_one_that_it_has() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    press(&mut list, "g");
    assert!(key(&mut list, Key::Char('d')).1.is_some());
    assert!(!list.tick(Instant::now()));
    let later = Instant::now() + PATIENCE * 2;
    assert!(list.tick(later) && !list.tick(later));
    assert_shows(&mut list, &["tokens · the chat has not confirmed this yet"]);
    list.apply("a", Update::Done);
    let shown = screen(&mut list);
    assert!(
        shown.contains("deleted") && !shown.contains("confirmed"),
        "{shown}"
    );
    // Nothing is said of a request that is to be sent.
    list.apply("a", paused("sing", new(40)));
    assert!(key(&mut list, Key::Char('s')).1.is_some());
    assert!(list.tick(Instant::now() + PATIENCE * 2));
    assert_shows(&mut list, &[" the chat has not confirmed this yet"]);
    list.apply("a", Update::Done);
    assert!(!screen(&mut list).contains("confirmed"));
}

#[test]
fn a_chat_that_has_ended_is_listed_for_a_while() {
    let mut list = list(None);
    for chat in ["c", "d", "e", "f", "g"] {
        attach(&mut list, chat, chat, "", 1);
    }
    assert_shows(
        &mut list,
        &["7 chats · 0 paused · follow: on · 1-6 of 7 listed"],
    );
    let ended = |list: &mut ChatList, chat| {
        list.apply(chat, Update::Ended("the chat has ended".to_owned()));
    };
    ended(&mut list, "a");
    ended(&mut list, "b");
    assert!(!list.tick(Instant::now()) && list.rows().len() == 7);
    let later = Instant::now() + REMEMBERED * 2;
    assert!(list.tick(later));
    // The selected one says what became of it.
    assert_eq!((list.rows().len(), list.selected()), (6, Some("a")));
    ctrl(&mut list, 'n');
    assert!(list.tick(later));
    assert_eq!(list.rows().len(), 5);
}

#[test]
fn what_was_before_is_not_followed_and_work_is_not_taken_away() {
    let mut list = ChatList::new(Styles::plain(), None, Arc::new(OneRequest));
    attach(&mut list, "a", "k7mq2x9d", "Terns", 10);
    list.apply("a", paused("count", old(10)));
    assert_eq!(list.selected(), Some("a"));
    // Before a key the chat with the latest paused request is shown.
    attach(&mut list, "b", "b2cdq8rs", "", 20);
    assert_eq!(list.selected(), Some("a"));
    list.apply("b", paused("sing", old(20)));
    assert_eq!(list.selected(), Some("b"));
    press(&mut list, "j");
    list.apply("a", paused("dance", new(30)));
    assert_eq!(list.selected(), Some("b"), "the user works on it");
    attach(&mut list, "c", "c3", "", 40);
    list.apply("c", paused("whistle", old(40)));
    assert_eq!(list.selected(), Some("b"));
    // Once it has ended, the next one is followed.
    list.apply("b", Update::Over("sent as request 3".to_owned(), new(50)));
    list.apply("a", Update::Sent(Some(4), new(60)));
    assert_eq!(list.selected(), Some("a"));
    // A request that is not paused does not hide one that is.
    list.apply("b", Update::Sent(Some(4), new(70)));
    assert_eq!(list.selected(), Some("a"));
    list.apply("b", paused("croak", new(80)));
    assert_eq!(list.selected(), Some("b"), "no key was pressed since");
}

#[test]
fn the_latest_stands_first() {
    let mut list = list(None);
    attach(&mut list, "c", "c3", "", 15);
    let order = |list: &ChatList| -> String {
        let rows = list.rows().iter();
        rows.map(|row| row.chat.as_str()).collect()
    };
    assert_eq!(order(&list), "acb");
    list.apply("b", paused("sing", old(17)));
    assert_eq!(order(&list), "abc");
    list.apply("c", Update::Sent(None, new(30)));
    assert_eq!(order(&list), "cab");
    // What somebody edits or says does not move it.
    list.apply("b", revised(&[set(0, "sing", "dance")]));
    list.apply("a", Update::Mode("off".to_owned()));
    assert_eq!(order(&list), "cab");
    // The keys go round.
    let selected = |list: &ChatList| list.selected().map(str::to_owned);
    let before = selected(&list);
    for letter in ['n', 'p'] {
        for _ in 0..3 {
            ctrl(&mut list, letter);
        }
        assert_eq!(selected(&list), before);
    }
}

#[test]
fn a_request_is_marked_as_new_for_a_while() {
    let mut list = list(None);
    let begin = Instant::now();
    list.apply("a", paused("count", new(30)));
    list.apply("b", Update::Sent(Some(3), new(40)));
    assert!(!list.tick(begin + FLASH - Duration::from_secs(1)));
    assert_shows(&mut list, &["⏸ PAUSED new", "sent new"]);
    assert!(list.tick(Instant::now() + FLASH));
    let shown = screen(&mut list);
    assert!(
        shown.contains("⏸ PAUSED ") && !shown.contains("PAUSED new"),
        "{shown}"
    );
    assert!(!shown.contains("sent new"), "{shown}");
    assert!(!list.tick(Instant::now() + FLASH));
    list.apply("a", paused("count", old(50)));
    assert!(list.rows().iter().all(|row| row.flash.is_none()));
}

#[test]
fn steps_are_told_and_what_others_did_is_shown() {
    let mut list = list(Some("b2c"));
    assert!(!list.is_missing());
    assert_eq!(list.selected(), Some("b"));
    list.apply("b", paused("sing", new(30)));
    press(&mut list, "g");
    let fully = set(0, "sing", "sing fully");
    assert_eq!(press(&mut list, "e fully\n"), [Act::Edit(fully.clone())]);
    assert_eq!(press(&mut list, "u"), [Act::Undo]);
    assert_eq!(ctrl(&mut list, 'r').1, Some(Act::Redo));
    list.apply("b", Update::Done);
    assert_eq!(press(&mut list, "r"), [Act::Edit(Edit::Reset)]);
    list.apply(
        "b",
        revised(&[fully, Edit::Reset, set(1, "Two.", "Three.")]),
    );
    assert_shows(&mut list, &["Three.", "edited elsewhere"]);
    assert_eq!(press(&mut list, "s"), [Act::Send]);
    list.apply("b", Update::Over("sent as request 3".to_owned(), new(40)));
    assert_eq!(press(&mut list, "sd"), []);
    assert_shows(&mut list, &["READ ONLY  sent as request 3"]);
    let ended = "the chat has ended".to_owned();
    list.apply("b", Update::Ended(ended));
    assert_shows(&mut list, &["ended", "the chat has ended"]);
    assert!(matches!(key(&mut list, Key::Char('q')).0, Effect::Close));
}

#[test]
fn what_was_said_of_waiting_is_over_with_the_answer() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    press(&mut list, "g");
    assert!(key(&mut list, Key::Char('d')).1.is_some());
    assert!(key(&mut list, Key::Char('s')).1.is_none());
    assert_shows(&mut list, &["has not answered the last command"]);
    list.apply("a", Update::Done);
    assert!(!screen(&mut list).contains("has not answered"));
}

#[test]
fn one_command_waits_for_the_other() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    press(&mut list, "g");
    let event = Event::Key(Input {
        key: Key::Char('s'),
        ..Input::default()
    });
    assert!(list.patience(&event).is_none());
    assert!(key(&mut list, Key::Char('d')).1.is_some());
    assert!(list.patience(&event).is_some());
    assert!(key(&mut list, Key::Char('s')).1.is_none());
    assert_shows(&mut list, &["has not answered the last command"]);
    // What changes nothing acts at once.
    key(&mut list, Key::Char('j'));
    ctrl(&mut list, 'n');
    assert_eq!(list.selected(), Some("b"));
    ctrl(&mut list, 'p');
    assert_eq!(list.selected(), Some("a"));
    // A chat that hangs can be left.
    assert!(matches!(ctrl(&mut list, 'c').0, Effect::Close));
    assert!(matches!(key(&mut list, Key::Char('q')).0, Effect::Close));
    list.apply("a", Update::Done);
    assert!(list.patience(&event).is_none());
    assert_eq!(press(&mut list, "us"), [Act::Undo, Act::Send]);
}

#[test]
fn an_edit_that_does_not_apply_makes_the_request_read_only() {
    let mut list = list(None);
    list.apply("a", paused("count", new(30)));
    list.apply("a", revised(&[set(0, "dance", "sing")]));
    assert_shows(
        &mut list,
        &["READ ONLY  an edit of the chat", "does not apply here"],
    );
    assert_eq!(press(&mut list, "sdc"), []);
    list.apply("a", revised(&[set(0, "count", "sing")]));
    assert_eq!(press(&mut list, "s"), [Act::Send]);
    let arrived = Arrived {
        paused: request("count"),
        is_exact: false,
        last_sent: None,
    };
    list.apply("b", Update::Paused(Box::new(arrived), new(40)));
    ctrl(&mut list, 'p');
    assert_eq!(list.selected(), Some("b"));
    assert_eq!(press(&mut list, "s"), []);
}

#[test]
fn a_history_is_followed_wherever_it_goes() {
    let (a, b, c) = (
        set(0, "count", "sing"),
        set(1, "Two.", "Three."),
        Edit::Delete {
            sections: vec![SectionId::Message(1)],
        },
    );
    let other = set(0, "count", "dance");
    let histories: [(Vec<Edit>, Vec<Edit>); 9] = [
        (vec![a.clone()], vec![]),
        (vec![a.clone(), b.clone(), c.clone()], vec![]),
        (vec![a.clone()], vec![b.clone(), c.clone()]),
        (vec![], vec![a.clone(), b.clone(), c.clone()]),
        (vec![a.clone(), b.clone()], vec![]),
        (vec![], vec![]),
        (vec![other.clone(), Edit::Reset], vec![a.clone()]),
        (vec![other.clone()], vec![b.clone()]),
        (vec![a, Edit::Reset], vec![]),
    ];
    let mut paused = request("count");
    for (edits, undone) in histories {
        let changed = follow(&mut paused, edits.clone(), undone.clone());
        assert_eq!(changed, Ok(true), "{edits:?} {undone:?}");
        assert_eq!(paused.request().edits(), edits);
        assert_eq!(paused.request().undone(), undone);
        let mut direct = request("count");
        for edit in &edits {
            direct.step(|it| it.apply(edit.clone())).unwrap();
        }
        assert_eq!(paused.request().bytes(), direct.request().bytes());
        assert_eq!(paused.tokens(), direct.tokens());
        // The same again is no change, and the original is not copied.
        assert_eq!(
            follow(&mut paused, edits.clone(), undone.clone()),
            Ok(false)
        );
    }
}

#[test]
fn without_a_chat_it_waits_or_says_why() {
    let mut list = ChatList::new(Styles::plain(), Some("k7".to_owned()), Arc::new(OneRequest));
    assert!(list.is_missing());
    assert_shows(&mut list, &["No chat is running", "q close", "? all keys"]);
    assert!(list.set_problem(Some("the folder /run has mode 755, and must have 700")));
    assert!(!list.set_problem(Some("the folder /run has mode 755, and must have 700")));
    let shown = screen(&mut list);
    assert!(shown.contains("must have 700") && !shown.contains("No chat is running"));
    attach(&mut list, "a", "k7mq2x9d", "", 1);
    assert_shows(&mut list, &["must have 700", "No request yet"]);
    assert!(list.set_problem(None));
    list.apply(
        "b",
        Update::Ended("the chat refuses this inspector: full\u{7}".to_owned()),
    );
    assert_shows(
        &mut list,
        &["ended        b · the chat refuses this inspector: full\\u{7}"],
    );
    for leave in ['q', 'c'] {
        let (effect, _) = match leave {
            'c' => ctrl(&mut list, 'c'),
            leave => key(&mut list, Key::Char(leave)),
        };
        assert!(matches!(effect, Effect::Close), "{leave}");
    }
}

/// A list with everything that is hard to show.
fn full(styles: Styles) -> ChatList {
    let mut list = ChatList::new(styles, None, Arc::new(OneRequest));
    attach(&mut list, "chat-1", "k7mq2x9d", "海鳥の数え方を教えて", 10);
    attach(&mut list, "chat-2", "b2cdq8rs", "a\u{1b}[2J\u{202e}b", 20);
    attach(&mut list, "chat-3", "c3xyw7ab", "", 5);
    list.apply("chat-4", Update::Ended("the chat has ended".to_owned()));
    list.apply("chat-3", Update::Sent(Some(12), old(6)));
    list.apply("chat-1", paused("海鳥 \u{1b}[31m", old(10)));
    list.apply("chat-2", paused("count the terns", new(30)));
    list
}

#[test]
fn every_size_shows_what_matters() {
    for (columns, rows) in [(40, 20), (80, 24), (120, 40)] {
        let mut screens = [Styles::plain(), Styles::coloured()].map(|styles| {
            let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, rows));
            let mut list = full(styles);
            let Ok(_) = terminal.draw(|frame| draw(frame, &mut list));
            let cells = terminal.backend().buffer().content.iter();
            let mut cells_coloured = cells.filter(|cell| cell.fg != Color::Reset);
            let is_coloured = cells_coloured.next().is_some();
            let is_safe = |c: char| !dunlin_host::display::needs_escape(c);
            let mut cells = terminal.backend().buffer().content.iter();
            assert!(cells.all(|cell| cell.symbol().chars().all(is_safe)));
            (terminal.backend().to_string(), is_coloured)
        });
        assert_eq!((screens[0].1, screens[1].1), (false, true));
        assert_eq!(screens[0].0, screens[1].0, "colour carries nothing alone");
        let shown = std::mem::take(&mut screens[0].0);
        insta::assert_snapshot!(format!("{columns}x{rows}"), shown);
    }
}

#[test]
fn the_choice_of_a_mode_fits_a_narrow_window() {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(40, 20));
    let mut list = full(Styles::plain());
    press(&mut list, "M");
    let Ok(_) = terminal.draw(|frame| draw(frame, &mut list));
    insta::assert_snapshot!("choice_40x20", terminal.backend().to_string());
}
