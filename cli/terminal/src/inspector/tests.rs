//! Drives the inspector without a terminal, and draws it on a test screen.

mod log;
mod mouse;
mod shared;
mod tabs;
mod visible;

use std::sync::Arc;

use bytes::Bytes;
use dunlin_chat::request::editor::{
    EditableRequest, KnownOption, OptionKind, Origin, Outline, SectionId,
};
use dunlin_chat::turn::PausedRequest;
use dunlin_host::ForeignError;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::layout::Position;
use ratatui::style::Color;
use ratatui_textarea::{Input, Key};
use serde_json::{Value, json};

use super::keymap::KEYMAP;
use super::log::{Logged, Logs, SessionLog};
use super::state::{Changed, Effect, Event, Inspector, Mode, Sides};
use super::view;
use crate::request::paused::Paused;
use crate::ui::style::Styles;

/// A conversation with a call, its result, options, and texts that are hard to show.
fn body() -> Value {
    json!({
        "model": "small",
        "messages": [
            {"role": "system", "content": "You are a careful assistant.\nAnswer briefly."},
            {"role": "user", "content": "Read notes.txt and summarise it. 予定はありますか？ שלום"},
            {"role": "assistant", "content": "I will look.", "tool_calls": [
                {"id": "c1", "type": "function", "function":
                    {"name": "read_file", "arguments": "{\"file_path\":\"notes.txt\",\"limit\":20}"}}
            ]},
            {"role": "tool", "tool_call_id": "c1", "name": "read_file",
                "content": "tide 09:12\r\nescape \u{1b}[2J and \u{202e}turned\nthe third line"},
            {"role": "user", "content": "And the tide? 🌊"}
        ],
        "tools": [{"type": "function", "function": {"name": "read_file",
            "description": "Reads a text file.", "parameters": {"type": "object", "properties": {}}}}],
        "stream": true,
        "temperature": 0.2
    })
}

/// A session that has sent two requests; the first is gone.
struct Sent;

impl Logs for Sent {
    fn rows(&self, _: &str) -> Vec<Logged> {
        let row = |number: u64, about: &str| Logged {
            number: Some(number),
            about: format!("{number}  {about}"),
        };
        vec![row(2, "1,310 tokens"), row(1, "1,204 tokens")]
    }

    fn sent(&self, _: &str, number: u64) -> Result<Paused, ForeignError> {
        let earlier = json!({"model": "small", "messages": [
            {"role": "system", "content": "You are brief."},
            {"role": "user", "content": "What was asked before"}]});
        match number {
            2 => Ok(paused(&earlier)),
            _ => Err("its bytes are not those that were sent".into()),
        }
    }

    fn body(&self, _: &str, _: &str) -> Option<Vec<u8>> {
        None
    }
}

fn session_log() -> SessionLog {
    SessionLog {
        logs: Arc::new(Sent),
        session: "k7mq2x9d".to_owned(),
    }
}

fn paused(body: &Value) -> Paused {
    let messages = body["messages"].as_array().map_or(0, Vec::len);
    let origins: Vec<Origin> = (0..messages - 1)
        .map(|index| Origin::from(SectionId::Message(index)))
        .collect();
    let options = vec![
        KnownOption::new(&["temperature"], OptionKind::Number),
        KnownOption::new(&["top_p"], OptionKind::Number),
    ];
    let outline = Outline::of_chat(body, &origins, options);
    let request = EditableRequest::new(Bytes::from(body.to_string()), outline);
    Paused::new(PausedRequest {
        number: Some(3),
        max_request_tokens: 30_000,
        window: Some(32_768),
        ..PausedRequest::new(request)
    })
}

struct Fixture {
    inspector: Inspector,
    paused: Paused,
    terminal: Terminal<TestBackend>,
}

impl Fixture {
    fn new(body: &Value, size: (u16, u16), styles: Styles) -> Fixture {
        let paused = paused(body);
        let sides = Sides {
            metadata: Box::new(|paused| {
                vec![
                    ("session".to_owned(), "k7mq2x9d".to_owned()),
                    ("edited".to_owned(), paused.edits().to_string()),
                ]
            }),
            log: session_log(),
            conversation: "every · assistant · Tides".to_owned(),
        };
        let inspector = Inspector::new(Mode::Paused, sides, styles, &paused);
        let Ok(terminal) = Terminal::new(TestBackend::new(size.0, size.1));
        let mut fixture = Fixture {
            inspector,
            paused,
            terminal,
        };
        fixture.draw();
        fixture
    }

    fn draw(&mut self) {
        let (inspector, paused) = (&mut self.inspector, &self.paused);
        let Ok(_) = self
            .terminal
            .draw(|frame| view::draw(frame, inspector, paused));
    }

    fn screen(&self) -> String {
        self.terminal.backend().to_string()
    }

    /// The same after everything was drawn anew: unlike a terminal, the test screen keeps what a wide character hides.
    fn redrawn(&mut self) -> String {
        let Ok(()) = self.terminal.clear();
        self.draw();
        self.screen()
    }

    fn size(&mut self, columns: u16, rows: u16) {
        self.terminal.backend_mut().resize(columns, rows);
        self.draw();
    }

    fn event(&mut self, event: Event) -> Effect {
        let effect = self.inspector.handle(event, &mut self.paused);
        self.draw();
        effect
    }

    fn key(&mut self, key: Key) -> Effect {
        self.event(Event::Key(Input {
            key,
            ..Input::default()
        }))
    }

    fn ctrl(&mut self, letter: char) -> Effect {
        self.event(Event::Key(Input {
            key: Key::Char(letter),
            ctrl: true,
            ..Input::default()
        }))
    }

    /// Keys that are letters; the effect of the last one.
    fn keys(&mut self, keys: &str) -> Effect {
        let mut effect = Effect::None;
        for key in keys.chars() {
            effect = self.key(Key::Char(key));
        }
        effect
    }

    fn body(&self) -> Value {
        serde_json::from_slice(self.paused.request().bytes()).unwrap_or_default()
    }
}

fn fixture() -> Fixture {
    Fixture::new(&body(), (120, 40), Styles::plain())
}

#[test]
fn every_size_shows_what_matters() {
    for (columns, rows) in [(40, 20), (80, 24), (120, 40), (200, 60)] {
        let mut fixture = Fixture::new(&body(), (columns, rows), Styles::plain());
        fixture.keys("gd");
        fixture.keys("jjl");
        insta::assert_snapshot!(format!("{columns}x{rows}"), fixture.redrawn());
    }
}

#[test]
fn colour_carries_nothing_alone() {
    for size in [(40, 20), (80, 24), (120, 40)] {
        let mut plain = Fixture::new(&body(), size, Styles::plain());
        let mut coloured = Fixture::new(&body(), size, Styles::coloured());
        for fixture in [&mut plain, &mut coloured] {
            fixture.keys("gdjjlee");
            fixture.key(Key::Enter);
        }
        assert_eq!(plain.screen(), coloured.screen());
        let has_colour = |fixture: &Fixture| {
            let cells = fixture.terminal.backend().buffer().content.iter();
            cells
                .clone()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
        };
        assert!(!has_colour(&plain));
        assert!(has_colour(&coloured));
    }
}

#[test]
fn nothing_untrusted_reaches_the_screen_unescaped() {
    let mut hostile = body();
    hostile["messages"][3]["name"] = json!("a\u{1b}]0;x\u{7}\u{9b}2J");
    hostile["messages"][1]["content"] = json!("\u{1b}[2J\u{200b}\u{202e}\r\t\0");
    let mut fixture = Fixture::new(&hostile, (120, 40), Styles::coloured());
    let keys = [
        "g", "j", "l", "h", "jjl", "\t", "\t", "\t", "\t", "\tm", "m", "?",
    ];
    for keys in keys {
        for key in keys.chars() {
            match key {
                '\t' => fixture.key(Key::Tab),
                key => fixture.key(Key::Char(key)),
            };
            let cells = fixture.terminal.backend().buffer().content.iter();
            for cell in cells {
                let is_safe = |c: char| !dunlin_host::display::needs_escape(c);
                assert!(cell.symbol().chars().all(is_safe), "{:?}", cell.symbol());
            }
        }
    }
}

#[test]
fn a_value_is_edited_in_place() {
    let mut fixture = fixture();
    fixture.keys("e");
    fixture.keys(" Now.");
    assert!(matches!(
        fixture.key(Key::Enter),
        Effect::Changed(Changed::Edit(_, Some(_)))
    ));
    assert_eq!(
        fixture.body()["messages"][4]["content"],
        "And the tide? 🌊 Now."
    );
    assert!(fixture.screen().contains("edited"), "{}", fixture.screen());
    fixture.keys("u");
    assert_eq!(fixture.body(), body());
    fixture.ctrl('r');
    assert_eq!(
        fixture.body()["messages"][4]["content"],
        "And the tide? 🌊 Now."
    );
    fixture.keys("r");
    assert_eq!(fixture.body(), body());
}

#[test]
fn several_lines_are_saved_with_ctrl_s() {
    let mut fixture = fixture();
    fixture.keys("ge");
    fixture.key(Key::Enter);
    fixture.keys("Now.");
    let text = &body()["messages"][0]["content"];
    assert_eq!(&fixture.body()["messages"][0]["content"], text);
    fixture.ctrl('s');
    assert_eq!(
        fixture.body()["messages"][0]["content"],
        "You are a careful assistant.\nAnswer briefly.\nNow."
    );
}

#[test]
fn escape_discards_what_was_typed() {
    let mut fixture = fixture();
    fixture.keys("e");
    fixture.keys("scq");
    fixture.key(Key::Esc);
    assert_eq!(fixture.body(), body());
}

#[test]
fn a_value_of_another_type_is_refused() {
    let mut fixture = fixture();
    fixture.keys("/");
    fixture.keys("0.2");
    fixture.key(Key::Enter);
    fixture.keys("e");
    fixture.ctrl('e');
    fixture.keys("x");
    fixture.key(Key::Enter);
    assert_eq!(fixture.body(), body());
    // The text stays in its box, to be corrected.
    let screen = fixture.screen();
    assert!(
        screen.contains("Not saved: temperature takes a number") && screen.contains("0.2x"),
        "{screen}"
    );
    fixture.key(Key::Backspace);
    fixture.keys("5");
    fixture.key(Key::Enter);
    assert_eq!(fixture.body()["temperature"], 0.25);
}

#[test]
fn options_come_and_go() {
    let mut fixture = fixture();
    let type_option = |fixture: &mut Fixture, text: &str| {
        fixture.keys(text);
        fixture.key(Key::Enter)
    };
    fixture.keys("a");
    let effect = type_option(&mut fixture, "reasoning {\"effort\": 1}");
    assert!(matches!(effect, Effect::Changed(Changed::Edit(_, None))));
    assert_eq!(fixture.body()["reasoning"], json!({"effort": 1}));
    // The text of one that is refused stays, to be corrected.
    fixture.keys("a");
    type_option(&mut fixture, "top_p");
    assert!(fixture.screen().contains("Not added: a value is missing"));
    fixture.ctrl('u');
    type_option(&mut fixture, "top_p x");
    let screen = fixture.screen();
    assert!(
        screen.contains("Not added: top_p takes a number"),
        "{screen}"
    );
    fixture.key(Key::Backspace);
    type_option(&mut fixture, "0.5");
    assert_eq!(fixture.body()["top_p"], 0.5);
    // On the row of the options, e leads to their values.
    fixture.keys("Ge");
    let screen = fixture.screen();
    assert!(
        screen.contains("It has several values: select one"),
        "{screen}"
    );
    while !fixture.screen().contains(" top_p ") {
        assert!(matches!(fixture.keys("j"), Effect::None));
    }
    assert!(matches!(fixture.keys("d"), Effect::Changed(_)));
    assert_eq!(fixture.body().get("top_p"), None);
    fixture.keys("u");
    assert_eq!(fixture.body()["top_p"], 0.5);
    fixture.keys("r");
    assert_eq!(fixture.body(), body());
}

#[test]
fn a_value_in_a_string_of_json_is_edited() {
    let mut fixture = fixture();
    fixture.keys("/");
    fixture.keys("notes.txt");
    fixture.key(Key::Enter);
    // The message of the user, then the path of the call.
    fixture.keys("n");
    while !fixture.screen().contains("arguments.file_path") {
        assert!(!fixture.screen().contains("Not found"));
        fixture.keys("n");
    }
    fixture.keys("e");
    fixture.ctrl('e');
    fixture.keys(".old");
    fixture.key(Key::Enter);
    let arguments = &fixture.body()["messages"][2]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, "{\"file_path\":\"notes.txt.old\",\"limit\":20}");
}

#[test]
fn a_call_and_its_result_go_together() {
    let mut fixture = fixture();
    fixture.keys("gjjd");
    let messages = fixture.body()["messages"].as_array().map(Vec::len);
    assert_eq!(messages, Some(3));
    assert!(fixture.screen().contains("go together"));
    fixture.keys("d");
    assert_eq!(fixture.body(), body());
}

#[test]
fn a_request_that_cannot_be_sent_stays() {
    let mut fixture = fixture();
    fixture.keys("gjdjjjd");
    assert!(matches!(fixture.keys("s"), Effect::None));
    assert!(
        fixture.screen().contains("Not sent"),
        "{}",
        fixture.screen()
    );
    fixture.keys("r");
    assert!(matches!(fixture.keys("s"), Effect::Send));
}

#[test]
fn send_cancel_and_close_ask_nothing() {
    let mut fixture = fixture();
    assert!(matches!(fixture.keys("s"), Effect::Send));
    assert!(matches!(fixture.keys("c"), Effect::Cancel));
    assert!(matches!(fixture.ctrl('c'), Effect::Cancel));
    assert!(matches!(fixture.keys("q"), Effect::Close));
    assert!(matches!(fixture.key(Key::Esc), Effect::Close));
}

#[test]
fn nothing_but_closing_works_unseen() {
    let mut fixture = fixture();
    fixture.size(10, 4);
    for keys in ["s", "c", "d", "e", "x", "?"] {
        assert!(matches!(fixture.keys(keys), Effect::None), "{keys}");
    }
    assert_eq!(fixture.body(), body());
    assert!(matches!(fixture.keys("q"), Effect::Close));
    // What is being typed is not lost.
    fixture.size(80, 24);
    fixture.keys("e new");
    fixture.size(10, 4);
    assert!(matches!(fixture.key(Key::Esc), Effect::None));
    fixture.size(80, 24);
    assert!(fixture.screen().contains(" new"), "{}", fixture.screen());
}

#[test]
fn the_help_can_be_scrolled() {
    let mut fixture = fixture();
    fixture.size(40, 10);
    fixture.keys("?");
    assert!(fixture.screen().contains("send"), "{}", fixture.screen());
    fixture.keys("G");
    assert!(
        fixture.screen().contains("all keys"),
        "{}",
        fixture.screen()
    );
    fixture.keys("jjk");
    assert!(fixture.inspector.help.is_some());
    assert!(matches!(fixture.keys("s"), Effect::None), "it only closes");
    assert!(fixture.inspector.help.is_none());
}

#[test]
fn a_search_begins_anew() {
    let mut fixture = fixture();
    fixture.keys("/nowhere");
    fixture.key(Key::Enter);
    assert!(fixture.screen().contains("Not found: nowhere"));
    fixture.keys("/limit");
    fixture.key(Key::Enter);
    assert!(
        !fixture.screen().contains("Not found"),
        "{}",
        fixture.screen()
    );
}

#[test]
fn a_paste_is_no_sequence_of_keys() {
    let mut fixture = fixture();
    let effect = fixture.event(Event::Paste("s\rc\rq".to_owned()));
    assert!(matches!(effect, Effect::None));
    fixture.keys("ge");
    fixture.event(Event::Paste("\rone\rtwo".to_owned()));
    fixture.ctrl('s');
    assert_eq!(
        fixture.body()["messages"][0]["content"],
        "You are a careful assistant.\nAnswer briefly.\none\ntwo"
    );
}

#[test]
fn what_cannot_be_shown_is_edited_outside() {
    let mut fixture = fixture();
    fixture.keys("gjjj");
    fixture.keys("e");
    assert!(fixture.screen().contains("$EDITOR"), "{}", fixture.screen());
    assert!(matches!(fixture.keys("o"), Effect::EditOutside(..)));
}

#[test]
fn a_filter_lists_what_contains_it() {
    let mut fixture = fixture();
    fixture.keys("&");
    fixture.keys("TIDE");
    fixture.key(Key::Enter);
    assert_eq!(fixture.inspector.sections.shown(), [4, 5]);
    let screen = fixture.screen();
    assert!(screen.contains("2 of 7 sections, with tide"), "{screen}");
    // Leaving lists all again, first.
    assert!(matches!(fixture.keys("q"), Effect::None));
    assert_eq!(fixture.inspector.sections.shown().len(), 7);
    assert!(matches!(fixture.keys("q"), Effect::Close));
}

#[test]
fn the_next_edit_is_found() {
    let mut fixture = fixture();
    fixture.keys("]");
    assert!(fixture.screen().contains("Nothing is edited"));
    fixture.keys("gd");
    fixture.keys("G[");
    assert_eq!(fixture.inspector.selected(), 1);
}

#[test]
fn nothing_can_be_changed_where_nothing_is_paused() {
    let mut fixture = fixture();
    let sides = Sides {
        metadata: Box::new(|_| Vec::new()),
        log: session_log(),
        conversation: String::new(),
    };
    let mode = Mode::ReadOnly("No request is paused.".to_owned());
    fixture.inspector = Inspector::new(mode, sides, Styles::plain(), &fixture.paused);
    fixture.draw();
    assert!(matches!(fixture.keys("c"), Effect::Close));
    for key in ["s", "e", "o", "d", "u", "r"] {
        assert!(matches!(fixture.keys(key), Effect::None), "{key}");
        assert!(fixture.inspector.entry.is_none());
    }
    assert_eq!(fixture.body(), body());
    assert!(matches!(fixture.keys("y"), Effect::Copy(text, _) if text.contains("tide")));
    assert!(matches!(fixture.keys("q"), Effect::Close));
}

#[test]
fn a_body_of_unknown_shape_is_shown() {
    for text in ["not json", "[1, 2]", "{}", "\"\"", ""] {
        let request = EditableRequest::new(Bytes::from(text.to_owned()), Outline::raw());
        let paused = Paused::new(PausedRequest {
            round: 2,
            max_request_tokens: 10,
            ..PausedRequest::new(request)
        });
        let mut fixture = fixture();
        let sides = Sides {
            metadata: Box::new(|_| Vec::new()),
            log: session_log(),
            conversation: String::new(),
        };
        fixture.inspector = Inspector::new(Mode::Paused, sides, Styles::plain(), &paused);
        fixture.paused = paused;
        fixture.draw();
        for key in "ledpmgGjk/nN&yYP?".chars() {
            fixture.key(Key::Char(key));
            fixture.key(Key::Esc);
        }
        fixture.key(Key::Tab);
    }
}

#[test]
fn every_key_is_documented_with_the_word_that_does_the_same() {
    const PAGE: &str = include_str!("../../../../docs/request-editor.md");
    let code = |text: &str, separator| {
        let names = text.split(separator).filter(|name: &&str| !name.is_empty());
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    for binding in KEYMAP {
        let keys = code(binding.keys, " ");
        let words = code(binding.word, ", ");
        let row = format!("| {keys} | {} | {words} |", binding.about);
        assert!(
            PAGE.contains(&row),
            "docs/request-editor.md has no row {row}"
        );
        for word in binding.word.split(", ").filter(|word| !word.is_empty()) {
            let mut words = crate::request::words::WORDS.iter();
            assert!(words.any(|(known, ..)| *known == word), "{word}");
        }
    }
}

/// Whatever is typed, nothing fails, and what would be sent is JSON.
#[test]
fn no_sequence_of_keys_breaks_anything() {
    use proptest::prelude::*;
    let key = prop_oneof![
        any::<char>().prop_map(Key::Char),
        proptest::sample::select(
            "segGdaurpjkhl/nN&][mKJyYPo?q \n"
                .chars()
                .collect::<Vec<char>>()
        )
        .prop_map(Key::Char),
        proptest::sample::select(vec![
            Key::Enter,
            Key::Esc,
            Key::Tab,
            Key::Up,
            Key::Down,
            Key::Left,
            Key::Right
        ]),
    ];
    let keys = proptest::collection::vec((key, any::<bool>()), 1..60);
    let sizes = (1u16..100, 1u16..40);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 300,
        failure_persistence: None,
        ..Default::default()
    });
    let result = runner.run(&(keys, sizes), |(keys, size)| {
        let mut fixture = Fixture::new(&body(), size, Styles::coloured());
        for (key, ctrl) in keys {
            fixture.event(Event::Key(Input {
                key,
                ctrl: ctrl && matches!(key, Key::Char(_)),
                ..Input::default()
            }));
        }
        prop_assert!(serde_json::from_slice::<Value>(fixture.paused.request().bytes()).is_ok());
        Ok(())
    });
    if let Err(error) = result {
        panic!("{error}");
    }
}
