use std::sync::Arc;
use std::time::Duration;

use super::*;
use dunlin_chat::turn::{CallState, CallView};

/// What was written, in order, the status in brackets where it goes to another stream.
#[derive(Clone, Default)]
struct Tape(Arc<Mutex<String>>);

struct Head {
    tape: Tape,
    is_error: bool,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let text = String::from_utf8_lossy(bytes);
        let text = if self.is_error {
            format!("[{text}]")
        } else {
            text.into_owned()
        };
        // How rows end at the edge has tests of its own.
        let text = text.replace(edge::CUT, "").replace(edge::WRAP, "");
        self.tape
            .0
            .lock()
            .push_str(&text.replace(CLEAR_LINE, "<clear>"));
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

pub(super) fn record(change: impl FnOnce(&mut Ui), act: impl FnOnce(&Ui)) -> String {
    let tape = Tape::default();
    let head = |is_error| {
        Box::new(Head {
            tape: tape.clone(),
            is_error,
        })
    };
    let streams = Streams {
        input: false,
        output: false,
        error: false,
    };
    let mut ui = Ui::with(head(false), head(true), streams);
    change(&mut ui);
    act(&ui);
    ui.finish().unwrap();
    drop(ui);
    Arc::into_inner(tape.0)
        .map(|text| text.into_inner())
        .unwrap()
}

fn call(state: CallState) -> CallView {
    CallView {
        id: "1".to_owned(),
        tool: "read_file".to_owned(),
        target: "a.rs".to_owned(),
        number: None,
        state,
        note: None,
        revert: None,
        duration: Some(Duration::from_millis(3)),
    }
}

#[test]
fn a_reply_ends_with_one_line_end() {
    let text = record(
        |_| {},
        |ui| {
            for piece in [
                "\n",
                "\nHello",
                " world\n",
                "\n",
                "again\x1b[3",
                "1m!\n\n\n",
            ] {
                ui.reply_piece(piece);
            }
            ui.end_reply();
        },
    );
    assert_eq!(text, "Hello world\n\nagain!\n");
}

#[test]
fn a_reply_on_a_terminal_is_rendered() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
        ui.renders = true;
        ui.verbose = true;
    };
    let text = record(terminal, |ui| {
        ui.reasoning_piece("So *what* ");
        ui.reasoning_piece("now");
        ui.reply_piece("\n\n- **one");
        ui.reply_piece("** two");
        ui.status("a status");
        ui.reply_piece(" three\n\n\nallow?");
        ui.end_reply();
        ui.reply_piece("next");
        ui.end_reply();
    });
    assert_eq!(
        text,
        "So *what* now\n• **one** two\na status\n  three\n\n│ allow?\nnext\n"
    );
}

#[test]
fn a_call_replaces_its_own_line() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
    };
    let text = record(terminal, |ui| {
        ui.reply_piece("Let me look.");
        ui.call(&call(CallState::Proposed));
        ui.status("a status");
        ui.call(&call(CallState::Running));
        ui.call(&call(CallState::Completed));
        ui.reply_piece("\n\nDone.");
        ui.end_reply();
    });
    assert_eq!(
        text,
        "Let me look.\n  · read_file a.rs<clear>a status\n  · read_file a.rs<clear>  … read_file a.rs<clear>  \
         ✓ read_file a.rs · 3 ms\nDone.\n"
    );
}

#[test]
fn what_is_waited_for_goes_with_the_first_text() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
        ui.renders = true;
        ui.streams.output = true;
    };
    let text = record(terminal, |ui| {
        ui.wait_for("waiting for a\x1b[2J");
        // Too early.
        assert!(ui.draw_waiting());
        ui.wait_longer(Duration::from_secs(3));
        assert!(ui.draw_waiting());
        ui.status("a status");
        assert!(ui.draw_waiting());
        ui.reasoning_piece("hm");
        ui.wait_longer(Duration::from_secs(5));
        assert!(ui.draw_waiting());
        ui.reply_piece("**Hello");
        assert!(ui.draw_waiting());
        ui.reply_piece("** you");
        assert!(!ui.draw_waiting());
        ui.end_reply();
        ui.wait_for("again");
        ui.wait_longer(Duration::from_secs(1));
        assert!(ui.draw_waiting());
        ui.call(&call(CallState::Running));
        assert!(!ui.draw_waiting());
    });
    let frames: String = text
        .chars()
        .map(|c| if ('⠀'..='⣿').contains(&c) { '*' } else { c })
        .collect();
    assert_eq!(
        frames,
        "  * waiting for a\\u{1b}[2J · 3 s<clear>a status\n  * waiting for a\\u{1b}[2J · 3 s\r  * waiting for a\\u{1b}[2J · 3 s\x1b[K\
         \r  * thinking · 5 s\x1b[K\r  * thinking · 5 s\x1b[K<clear>**Hello** you\n  * again · 1 s<clear>  … read_file a.rs<clear>"
    );
}

#[test]
fn a_call_that_runs_is_drawn_again_when_its_second_is_over() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
    };
    let second = Duration::from_secs(1);
    let text = record(terminal, |ui| {
        assert_eq!(ui.count_call(), None);
        ui.call(&call(CallState::Proposed));
        assert_eq!(ui.count_call(), None, "it does not run yet");
        ui.run_longer(second);
        ui.call(&call(CallState::Running));
        for longer in [Duration::ZERO, second, Duration::ZERO] {
            ui.run_longer(longer);
            assert!(ui.count_call().is_some_and(|next| next <= second));
        }
        // The question takes its place; what the user takes to answer does not count.
        ui.begin_reading();
        ui.draw_live("  > yes".to_owned());
        ui.count_call();
        ui.take_live_line_away();
        ui.run_longer(second * 5);
        ui.end_reading();
        ui.count_call();
        ui.call(&call(CallState::Completed));
        assert_eq!(ui.count_call(), None);
    });
    let counted = "  … read_file a.rs · 1 s · Esc interrupts";
    let expected = [
        "  · read_file a.rs",
        "<clear>  … read_file a.rs",
        &format!("<clear>{counted}"),
        "<clear>  > yes<clear>",
        counted,
        "<clear>  ✓ read_file a.rs · 3 ms\n",
    ];
    assert_eq!(text, expected.concat());
}

#[test]
fn a_call_that_was_interrupted_says_how_long_it_ran() {
    let interrupted = CallView {
        duration: None,
        ..call(CallState::Cancelled)
    };
    let check = |before: CallState, millis, expected: &str| {
        let text = record(
            |ui| ui.redraws = true,
            |ui| {
                ui.call(&call(before));
                ui.run_longer(Duration::from_millis(millis));
                ui.call(&interrupted);
            },
        );
        assert!(text.ends_with(expected), "{text}");
    };
    let line = "[  – read_file a.rs · cancelled";
    check(CallState::Running, 0, &format!("{line}\n]"));
    check(
        CallState::Running,
        75_000,
        &format!("{line} · 1 min 15 s\n]"),
    );
    check(CallState::Proposed, 75_000, &format!("{line}\n]"));
}

#[test]
fn where_nothing_can_be_drawn_again_nothing_is_counted() {
    let text = record(
        |_| {},
        |ui| {
            ui.call(&call(CallState::Running));
            assert_eq!(ui.count_call(), None);
            ui.call(&call(CallState::Completed));
        },
    );
    assert_eq!(text, "[  ✓ read_file a.rs · 3 ms\n]");
}

#[test]
fn steps_can_be_turned_off_in_the_middle() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
        ui.renders = true;
        ui.verbose = true;
    };
    let text = record(terminal, |ui| {
        ui.reasoning_piece("One two");
        ui.toggle_steps();
        ui.reasoning_piece(" three four");
        ui.call(&call(CallState::Running));
        ui.call(&call(CallState::Completed));
        ui.call(&call(CallState::Denied));
        ui.toggle_steps();
        ui.call(&call(CallState::Completed));
    });
    assert_eq!(
        text,
        "One two\n  (steps are hidden; failures and denials are still shown)\n  … read_file a.rs<clear>  ✗ read_file a.rs · denied · 3 ms\n  (steps are shown)\n  ✓ read_file a.rs · 3 ms\n"
    );
}

#[test]
fn piped_output_has_only_the_reply() {
    let act = |ui: &Ui| {
        ui.status("a status");
        ui.call(&call(CallState::Running));
        ui.call(&call(CallState::Completed));
        ui.reasoning_piece("hm");
        ui.reply_piece("Done.");
        ui.end_reply();
    };
    assert_eq!(
        record(|_| {}, act),
        "[a status\n][  ✓ read_file a.rs · 3 ms\n]Done.\n"
    );
    assert_eq!(record(|ui| ui.quiet = true, act), "Done.\n");
    assert_eq!(
        record(|ui| ui.verbose = true, act).replace("a status\n", ""),
        "[][  ✓ read_file a.rs · 3 ms\n][hm][\n]Done.\n"
    );
}

/// Each piece of a reply is written where the last one ended, and what is typed is drawn below it.
#[test]
fn what_is_typed_stands_below_a_reply_that_goes_on() {
    let terminal = |ui: &mut Ui| {
        ui.one_screen = true;
        ui.redraws = true;
        ui.renders = true;
    };
    let text = record(terminal, |ui| {
        let queue = ui.queue_messages(None);
        ui.reply_piece("One two");
        ui.early.lock().feed(b"fix it\x1b[D");
        ui.show_typing();
        ui.show_typing();
        ui.reply_piece(" three\n\nfour");
        ui.status("a status");
        ui.end_reply();
        drop(queue);
        ui.status("another");
    });
    let typed = "\x0b\x1b[1A\x1b7\x1b[0m\n› fix it\x1b[1D";
    let away = "\x1b8\x1b[J";
    let expected = [
        "One two",
        &format!("\x1b[?2026h{typed}\x1b[?2026l"),
        &format!("\x1b[?2026h{away} three\n\nfour{typed}\x1b[?2026l"),
        &format!("{away}\na status\n› fix it\x1b[1D"),
        "<clear>another\n",
    ];
    assert_eq!(text, expected.concat());
}

#[test]
fn what_is_interjected_breaks_no_line_of_a_reply() {
    let act = |ui: &Ui| {
        ui.interject("before");
        ui.reply_piece("One tw");
        ui.interject("within");
        ui.reply_piece("o! three ");
        ui.reply_piece("four.\nFive");
        ui.interject("at the end");
        ui.end_reply();
    };
    let text = record(|_| {}, act);
    let expected = "[before\n]One two! three four.\n[within\n]Five\n[at the end\n]";
    assert_eq!(text, expected);
    let silenced = record(|ui| ui.quiet = true, act);
    assert_eq!(silenced, "One two! three four.\nFive\n");
}

/// Until then it stands below the line, so that whoever has pressed a key sees at once what it did.
#[test]
fn what_is_interjected_stands_below_the_line_until_it_ends() {
    let terminal = |ui: &mut Ui| {
        (ui.one_screen, ui.redraws, ui.renders) = (true, true, true);
    };
    let text = record(terminal, |ui| {
        ui.reply_piece("One tw");
        ui.interject("within");
        ui.reply_piece("o.\n");
        ui.reply_piece("Three");
        ui.end_reply();
    });
    let below = "\x0b\x1b[1A\x1b7\x1b[0m\nwithin\x1b[?2026l";
    let away = "\x1b8\x1b[J";
    let expected = [
        "One tw",
        &format!("\x1b[?2026h{below}"),
        &format!("\x1b[?2026h{away}o.{below}"),
        &format!("{away}\nwithin\nThree\n"),
    ];
    assert_eq!(text, expected.concat());
}

#[test]
fn hidden_calls_still_show_failures() {
    let text = record(
        |ui| ui.show_steps(false),
        |ui| {
            ui.call(&call(CallState::Completed));
            ui.call(&call(CallState::Failed));
        },
    );
    assert_eq!(text, "[  ✗ read_file a.rs · failed · 3 ms\n]");
}

#[test]
fn rows_that_a_narrower_window_has_broken_are_counted() {
    let check = |drawn, columns, rows| assert_eq!(rows_above_cursor(drawn, columns), rows);
    check("", 80, 0);
    check("1234567890", 10, 0);
    check("1234567890", 9, 1);
    check("\x1b[2m1234567890\x1b[0m\n123", 4, 3);
    check("1234567890", 0, 9);
}

#[test]
fn a_reader_that_went_away_is_remembered() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let streams = Streams {
        input: false,
        output: false,
        error: false,
    };
    let ui = Ui::with(Box::new(Gone), Box::new(io::sink()), streams);
    ui.data("something");
    assert_eq!(ui.finish().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
}
