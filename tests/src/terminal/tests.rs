//! The terminal with a shell in it.

use super::*;
use crate::Environment;

fn shell(script: &str) -> Terminal {
    Environment::new("/bin/sh")
        .command(["-c", script])
        .in_folder("/")
        .terminal()
}

#[test]
fn what_is_typed_is_read_and_what_is_redrawn_is_seen_once() {
    let mut terminal = shell(r"read name; printf 'wait\r\033[KHello %s\n' $name; exit 7");
    terminal.type_line("Ada");
    let screen = terminal.wait_for("Hello Ada");
    assert_eq!(
        (screen.count("Hello"), screen.line_with("Ada")),
        (1, Some("Hello Ada"))
    );
    assert_eq!(terminal.wait_end(), Some(7));
    terminal.assert_absent("wait");
    assert_eq!(terminal.effects(), Vec::<String>::new());
}

#[test]
fn lines_above_the_screen_count_and_long_lines_are_whole() {
    let long = "x".repeat(300);
    let terminal = shell(&format!(
        "echo first {long}; i=0; while [ $i -lt 100 ]; do echo $i; i=$((i+1)); done"
    ));
    assert_eq!(terminal.wait_end(), Some(0));
    assert!(
        terminal.screen().contains(&format!("first {long}\n0\n1\n")),
        "{terminal:?}"
    );
}

#[test]
fn what_is_to_be_seen_in_one_piece_is() {
    let mut terminal =
        shell(r"printf 'ready\n\033[?2026hone'; read x; printf ' two\033[?2026l'; read x");
    terminal.wait_for("ready");
    terminal.assert_absent("one");
    terminal.type_line("");
    terminal.wait_for(" two");
    // A program that ends in between has shown what it wrote.
    let terminal = shell(r"printf '\033[?2026hone'");
    assert_eq!(terminal.wait_end(), Some(0));
    assert!(terminal.screen().contains("one"), "{terminal:?}");
}

#[test]
fn ctrl_c_is_a_signal() {
    let mut terminal = shell("trap 'exit 130' INT; echo ready; read never");
    terminal.wait_for("ready");
    terminal.press(Key::CtrlC);
    assert_eq!(terminal.wait_end(), Some(130));
}

#[test]
fn what_hostile_text_does_to_the_terminal_is_noticed() {
    let terminal = shell(r"printf '\033]0;pwned\007\007\033]52;c;aGk=\007\033]8;;http://x\007'");
    assert_eq!(terminal.wait_end(), Some(0));
    let effects = terminal.effects().join(", ");
    for effect in ["title pwned", "bell", "clipboard aGk=", "osc 8;;http://x"] {
        assert!(effects.contains(effect), "{effects}");
    }
}

#[test]
#[should_panic(expected = "the program ended before it showed \"never\"")]
fn the_end_of_the_program_ends_the_waiting() {
    shell("echo something else").wait_for("never");
}

#[test]
#[should_panic(expected = "the terminal is left in another mode")]
fn a_mode_that_is_not_restored_is_noticed() {
    shell("stty -echo").wait_end();
}
