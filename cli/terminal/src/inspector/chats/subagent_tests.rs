//! Subagents below their chats.

use std::time::{Duration, Instant};

use ratatui::Terminal;
use ratatui::backend::TestBackend;

use super::tests::{assert_shows, ctrl, key, list, new, paused, press, screen};
use super::{Act, ChatList, Conversation, Subagent, Update, draw};
use crate::ui::subagents::{SubagentRow, SubagentStatus};
use ratatui_textarea::Key;

fn subagent(number: u64, status: SubagentStatus, state: &str, request: Option<u64>) -> Subagent {
    Subagent {
        number,
        row: SubagentRow {
            name: format!("research {number}"),
            status,
            state: state.to_owned(),
            calls: 4,
            tokens: 12_345,
            begun: Instant::now(),
            duration: Some(Duration::from_secs(41)),
        },
        task: "Find the\u{1b} eggs".to_owned(),
        model: "small".to_owned(),
        request,
    }
}

fn told(list: &mut ChatList, subagents: &[Subagent]) {
    list.apply("a", Update::Subagents(subagents.to_vec()));
}

/// The rows above the request, on a screen of so many columns.
fn rows(list: &mut ChatList, columns: u16) -> Vec<String> {
    let Ok(mut terminal) = Terminal::new(TestBackend::new(columns, 24));
    let Ok(_) = terminal.draw(|frame| draw(frame, list));
    let screen = terminal.backend().to_string();
    let rows = screen.lines().map(|row| row.trim_matches('"').trim_end());
    rows.skip(1).take(5).map(str::to_owned).collect()
}

#[test]
fn they_stand_below_their_chat_those_that_run_first() {
    let mut list = list(None);
    told(
        &mut list,
        &[
            subagent(1, SubagentStatus::Answered, "", Some(5)),
            subagent(2, SubagentStatus::Failed, "stopped", None),
            subagent(3, SubagentStatus::Running, "read_file a\u{1b}.rs", Some(4)),
        ],
    );
    assert_eq!(
        rows(&mut list, 80),
        [
            "▸              bird\\u{1b} · Terns · …2x9d · pause: turn",
            "    … research 3 · read_file a\\u{1b}.rs · 4 calls · 12.3k tokens · 41.0 s",
            "    – research 2 · stopped · 4 calls · 12.3k tokens · 41.0 s",
            "    ✓ research 1 · 4 calls · 12.3k tokens · 41.0 s",
            "               bird\\u{1b} · new conversation · …q8rs · pause: turn",
        ]
    );
    assert_eq!(
        rows(&mut list, 40)[1..4],
        [
            "    … research 3 · rea…rs · 12.3k tokens",
            "    – research 2 · sto…ed · 12.3k tokens",
            "    ✓ research 1 · 12.3k tokens",
        ]
    );
    assert_shows(&mut list, &[" 2 chats · 0 paused"]);
    // The rows of a chat stay together.
    list.apply("b", paused("sing", new(30)));
    assert!(
        rows(&mut list, 80)[3].contains("stopped"),
        "{:?}",
        rows(&mut list, 80)
    );
}

#[test]
fn the_latest_request_of_one_is_shown_and_nothing_is_done_to_it() {
    let mut list = list(None);
    told(
        &mut list,
        &[subagent(1, SubagentStatus::Running, "starting", None)],
    );
    ctrl(&mut list, 'n');
    assert_shows(
        &mut list,
        &["▸   … research 1", "has not sent a request yet"],
    );
    told(
        &mut list,
        &[subagent(1, SubagentStatus::Running, "writing", Some(5))],
    );
    assert!(list.load());
    assert_shows(&mut list, &["research 1 · writing", "request 5 was sent"]);
    assert_eq!(press(&mut list, "sdc"), []);
    assert_eq!(press(&mut list, "M"), []);
    assert_shows(&mut list, &["Requests of subagents are never paused."]);
    // A request of its chat is followed as always.
    list.apply("a", paused("count", new(30)));
    assert_eq!(list.selected(), Some("a"));
    assert_eq!(press(&mut list, "s"), [Act::Send]);
}

#[test]
fn what_is_gone_is_not_selected() {
    let mut list = list(None);
    let running = subagent(1, SubagentStatus::Running, "writing", Some(5));
    told(&mut list, std::slice::from_ref(&running));
    ctrl(&mut list, 'n');
    list.take_new();
    told(&mut list, &[]);
    assert_eq!(list.selected(), Some("a"));
    assert!(list.take_new(), "keys would act on something else");
    told(&mut list, std::slice::from_ref(&running));
    ctrl(&mut list, 'n');
    list.load();
    assert!(screen(&mut list).contains("request 5 was sent"));
    // Its number is another request in another session.
    let elsewhere = Conversation {
        session: "m3n4p5q6".to_owned(),
        ..Conversation::default()
    };
    list.apply("a", Update::Conversation(elsewhere));
    assert!(!list.load());
    assert!(!screen(&mut list).contains("request 5 was sent"));
    list.apply("a", Update::Ended("the chat has ended".to_owned()));
    assert_eq!(list.selected(), Some("a"));
    key(&mut list, Key::Char('j'));
    assert_shows(&mut list, &["ended"]);
}

#[test]
fn the_time_of_one_that_runs_is_drawn_each_second() {
    let mut list = list(None);
    let later = |seconds: u64| Instant::now() + Duration::from_secs(seconds);
    assert!(!list.tick(later(5)));
    told(&mut list, &[subagent(1, SubagentStatus::Running, "", None)]);
    assert!(list.tick(later(10)));
    assert!(!list.tick(later(10)));
    assert!(list.tick(later(12)));
    told(
        &mut list,
        &[subagent(1, SubagentStatus::Answered, "", None)],
    );
    assert!(!list.tick(later(20)));
}
