use super::*;

#[test]
fn a_line_can_be_taken_out() {
    let mut keys = EarlyKeys::default();
    keys.feed(b"one\r/stop 2\rtw\x1b[200~/stop 3\r\x1b[201~\r/stop 4\rthr");
    let is_stop = |line: &str| line.starts_with("/stop");
    let taken: Vec<String> = std::iter::from_fn(|| keys.take_line(is_stop)).collect();
    assert_eq!(taken, ["/stop 2", "/stop 4"]);
    assert_eq!(keys.open_line().as_deref(), Some("thr"));
    let left = typed_line::text(&keys.take());
    assert_eq!(left, "one\ntw/stop 3\n\nthr");
}

/// Feeds pieces, and asks after each whether it was Esc, as if nothing more came for a long time.
fn escapes(pieces: &[&[u8]]) -> (Vec<bool>, Vec<u8>) {
    let mut keys = EarlyKeys::default();
    let pressed = pieces.iter().map(|piece| {
        keys.feed(piece);
        keys.take_escape()
    });
    let pressed = pressed.collect();
    (pressed, keys.take())
}

#[test]
fn only_the_key_itself_is_esc() {
    let check = |typed: &[u8], pressed: bool, kept: &[u8]| {
        let expected = (vec![pressed], kept.to_vec());
        assert_eq!(escapes(&[typed]), expected, "{}", typed.escape_ascii());
    };
    check(b"", false, b"");
    check(b"hello\r", false, b"hello\r");
    check(b"\x1b", true, b"");
    check(b"hello\x1b", true, b"hello");
    check(b"\x1b\x1b", true, b"");
    for sequence in [
        &b"\x1b[A"[..],
        b"\x1bOA",
        b"\x1b[1;5C",
        b"\x1b[3~",
        b"\x1bb",
        b"\x1b\r",
        b"\x1b\x1b[A",
        b"\x1b[200~text\x1b[201~",
        b"\x1b[200~an \x1b in it, \x1b[A, \x1b[200~\x1b[201~",
        b"\x1b]11;rgb:0000/0000/0000\x1b\\",
        b"\x1b]11;rgb:0000/0000/0000\x07",
        b"\x1b[200~never ended",
    ] {
        let (pressed, kept) = escapes(&[sequence]);
        assert_eq!(pressed, [false], "{}", sequence.escape_ascii());
        let first = sequence
            .strip_prefix(b"\x1b\x1b")
            .map(|rest| [b"\x1b", rest].concat());
        assert_eq!(kept, first.unwrap_or_else(|| sequence.to_vec()));
        // And the key after it is, but in pasted text.
        let is_key = !sequence.ends_with(b"never ended");
        let (pressed, _) = escapes(&[&[sequence, b"\x1b"].concat()]);
        assert_eq!(pressed, [is_key], "after {}", sequence.escape_ascii());
    }
}

#[test]
fn where_a_sequence_is_parted_does_not_matter() {
    let typed = b"a\x1b[Ab\x1b[200~c\x1bd\x1b[20~\x1b[201~e\x1bOPf\x1b[1;2D\x1b]0;g\x1b\\h";
    for at in 0..=typed.len() {
        let mut keys = EarlyKeys::default();
        for piece in [&typed[..at], &typed[at..]] {
            // Nothing waits for so long that the rest is late.
            keys.feed(piece);
        }
        assert_eq!(keys.waits(), None, "parted at {at}");
        assert_eq!(keys.take(), typed, "parted at {at}");
    }
}

#[test]
fn keys_that_act_are_no_text() {
    let check = |typed: &[u8], (steps, modes): (bool, usize), kept: &[u8]| {
        // However it is parted.
        for at in 0..=typed.len() {
            let mut keys = EarlyKeys::default();
            let (first, rest) = typed.split_at(at);
            let found = [keys.feed(first), keys.feed(rest)];
            let found = (
                found[0].steps != found[1].steps,
                found[0].modes + found[1].modes,
            );
            assert_eq!(found, (steps, modes), "{}", typed.escape_ascii());
            assert_eq!(keys.take(), kept, "{}", typed.escape_ascii());
        }
    };
    check(b"one\x16two", (true, 0), b"onetwo");
    check(b"\x16\x16", (false, 0), b"");
    check(b"one\x1b[Ztwo\x1b[Z", (false, 2), b"onetwo");
    check(b"one\r\x1b[Z\x16", (true, 1), b"one\r");
    let pasted = b"\x1b[200~a\x16\x1b[Zb\x1b[201~[Z";
    check(pasted, (false, 0), pasted);
}

#[test]
fn a_line_is_open_until_it_is_ended_or_erased() {
    let check = |typed: &str, open: Option<&str>, kept: &str| {
        // However it is parted.
        for at in (0..=typed.len()).filter(|at| typed.is_char_boundary(*at)) {
            let (first, rest) = typed.split_at(at);
            let mut keys = EarlyKeys::default();
            keys.feed(first.as_bytes());
            keys.feed(rest.as_bytes());
            assert_eq!(keys.open_line().as_deref(), open, "{typed:?}");
            assert_eq!(typed_line::text(&keys.take()), kept, "{typed:?}");
            assert_eq!(keys.open_line(), None, "{typed:?}");
        }
    };
    check("", None, "");
    check("\r", None, "");
    check("  ", None, "  ");
    check("\x1b[A", None, "");
    check("fix the tes", Some("fix the tes"), "fix the tes");
    check("fix the tes\r", None, "fix the tes");
    check("one\rtw", Some("tw"), "one\ntw");
    check("one\ntwo\n", None, "one\ntwo");
    check("größe\x7f\x7fß", Some("größ"), "größ");
    // What erases does not reach into the lines before.
    check("one\rtw\x15", None, "one");
    check("one\rtw\x7f\x7f\x7f\x08", None, "one");
    check("one\rtw\x7f\x7f\x7fthree", Some("three"), "one\nthree");
    check("\x7fone", Some("one"), "one");
    // Pasted text ends with a key as well.
    check("\x1b[200~one\ry\r", Some("one\ny"), "one\ny");
    check("\x1b[200~one\ry\r\x1b[201~", Some("one\ny"), "one\ny");
    check("\x1b[200~one\ry\r\x1b[201~\r", None, "one\ny");
    check("\x1b[200~one\rtwo\x1b[201~\x15", None, "");
    // Alt and Enter.
    check("one\x1b\rtwo", Some("one\ntwo"), "one\ntwo");
}

#[test]
fn a_line_stays_open_whatever_is_taken_and_put_back() {
    let fed = |typed: &str| {
        let mut keys = EarlyKeys::default();
        keys.feed(typed.as_bytes());
        keys
    };
    let mut keys = fed("one\r/a\rtw");
    keys.take_next(&Slashes);
    assert_eq!(keys.open_line(), None, "it comes first");
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "one");
    let mut keys = fed("one\r/a\r");
    keys.take_next(&Slashes);
    keys.feed(b"tw");
    assert_eq!(keys.open_line().as_deref(), Some("tw"));
    keys.keep_message("a message");
    assert_eq!(keys.open_line().as_deref(), Some("tw"));
    keys.keep_line("o");
    assert_eq!(keys.open_line(), None);
    let mut keys = fed("one\rtw");
    assert_eq!(keys.split_off(4), b"tw");
    assert_eq!(keys.open_line(), None);
    for typed in ["tw", "one\r"] {
        let mut keys = fed(typed);
        let taken = keys.take();
        keys.put_back(taken);
        let open = (!typed.ends_with('\r')).then_some(typed);
        assert_eq!(keys.open_line().as_deref(), open);
    }
}

/// A sequence or a paste that was given up does not swallow the Enter, and a full buffer does not either.
#[test]
fn a_line_can_be_ended_whatever_was_begun_in_it() {
    let full = "x".repeat(MAX_BYTES + 1);
    let full_paste = format!("\x1b[200~{full}\x1b[201~");
    for typed in [
        "one\x1b",
        "one\x1b]",
        "one\x1bO",
        "one\x1b[1",
        "one\x1b[200~two",
        full.as_str(),
        full_paste.as_str(),
    ] {
        for end in [b"\r", b"\x15"] {
            let mut keys = EarlyKeys::default();
            keys.feed(typed.as_bytes());
            keys.give_up();
            assert!(keys.open_line().is_some(), "{:.20?}", typed);
            keys.feed(end);
            assert_eq!(keys.open_line(), None, "{:.20?}", typed);
        }
    }
}

/// Lines that begin with a slash are commands, and a backslash continues a line.
struct Slashes;

impl EarlyLines for Slashes {
    fn is_alone(&self, line: &str) -> bool {
        line.starts_with('/') && !line.contains('\n')
    }

    fn is_complete(&self, lines: &str) -> bool {
        !lines.ends_with("\\\n")
    }
}

#[test]
fn each_command_is_a_line_of_its_own() {
    let check = |typed: &str, expected: &[&str]| {
        let mut keys = EarlyKeys::default();
        keys.feed(typed.as_bytes());
        let next = || Some(keys.take_next(&Slashes)).filter(|next| !next.is_empty());
        let found: Vec<String> = std::iter::from_fn(next)
            .map(|next| typed_line::text(&next))
            .collect();
        assert_eq!(found, expected, "{typed:?}");
    };
    check("", &[]);
    check("one\rtwo\r", &["one\ntwo"]);
    check("one\rtw", &["one\ntw"]);
    check("/a\r", &["/a"]);
    check("/a", &["/a"]);
    check(
        "one\rtwo\r/a\r/b\rthree\r",
        &["one\ntwo", "/a", "/b", "three"],
    );
    check("\r/a\r\rone\r", &["\n/a", "\none"]);
    check("x\x7f/a\rone\r", &["/a", "one"]);
    // Whoever is typing goes on.
    check("one\r/a", &["/a", "one"]);
    check("/a\rone\rtw", &["tw", "/a", "one"]);
    // Lines of one message.
    check("one\\\r/a\r", &["one\\\n/a"]);
    check("\x1b[200~one\r/a\x1b[201~\r/b\r", &["one\n/a", "/b"]);
    check("one\x1b\r/a\r", &["one\n/a"]);
}

#[test]
fn a_line_that_is_kept_is_no_part_of_one_that_was_begun() {
    let mut keys = EarlyKeys::default();
    keys.feed(b"wait");
    keys.keep_line("no!");
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "wait\nno!");
    let mut keys = EarlyKeys::default();
    let parts = ("make the bar".to_owned(), String::new());
    keys.interrupt(InterruptedLine::new(parts, false));
    keys.feed(b"s");
    keys.keep_line("no!");
    assert_eq!(keys.take_interrupted().as_deref(), Some("make the bars"));
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "no!");
}

#[test]
fn a_message_that_is_kept_stays_one() {
    let mut keys = EarlyKeys::default();
    keys.keep_line("one\n/a");
    keys.keep_line("/b");
    keys.keep_message("/c\nd");
    assert_eq!(
        typed_line::text(&keys.take_next(&Slashes)),
        "/c\nd\none\n/a"
    );
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "/b");
}

#[test]
fn what_follows_an_esc_is_text_again() {
    let (pressed, kept) = escapes(&[b"one\x1b", b"two", b"\x1b", b"[A"]);
    assert_eq!(pressed, [true, false, true, false]);
    assert_eq!(kept, b"onetwo[A");
}

#[test]
fn a_paste_stays_one_wherever_it_is_parted_and_whoever_took_its_beginning() {
    let typed = b"\x1b[200~# log\ry\ralways\rsend\r\x1b[201~";
    for at in 1..typed.len() {
        let (first, rest) = typed.split_at(at);
        let mut keys = EarlyKeys::default();
        keys.feed(first);
        // Only the first byte alone can be a key.
        assert_eq!(keys.take_escape(), at == 1, "parted at {at}");
        assert_eq!(keys.longest_stall().is_some(), at > 1, "parted at {at}");
        keys.feed(rest);
        assert_eq!(keys.longest_stall(), None, "parted at {at}");
        assert_eq!(keys.take(), typed, "parted at {at}");
        for take in [
            |keys: &mut EarlyKeys| drop(keys.take()),
            |keys: &mut EarlyKeys| drop(keys.split_off(0)),
            |keys: &mut EarlyKeys| drop(keys.take_next(&Slashes)),
        ] {
            keys.pass(first);
            take(&mut keys);
            keys.feed(b"y\r");
            keys.take();
            assert_eq!(keys.longest_stall().is_some(), at >= 6, "parted at {at}");
            keys.feed(b"\x1b[201~y");
            assert_eq!(keys.longest_stall(), None, "parted at {at}");
            keys.take();
        }
    }
}

#[test]
fn a_paste_that_does_not_end_is_given_up() {
    let mut keys = EarlyKeys::default();
    keys.feed(b"\x1b[200~one\r/a");
    keys.give_up();
    assert_eq!(keys.longest_stall(), None);
    keys.feed(b"\r/b\r");
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "one\n/a");
    assert_eq!(typed_line::text(&keys.take_next(&Slashes)), "/b");
}

#[test]
fn a_stuck_key_fills_no_memory_and_esc_still_counts() {
    let mut keys = EarlyKeys::default();
    keys.feed(&vec![b'x'; MAX_BYTES + 10]);
    keys.feed(b"\x1b");
    assert!(keys.take_escape());
    assert_eq!(keys.take().len(), MAX_BYTES);
}
