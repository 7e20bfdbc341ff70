//! The question of a tool that wants an answer in words: shown, and read in one line.
//!
//! The words are the model's, so each of their rows stands behind a bar: no row of the terminal begins with
//! something foreign, and nothing in it can look like a line of Dunlin's own.

use dunlin_host::ask::TextQuestion;
use dunlin_host::display::{escape, escape_multiline};

use super::input_marks;
use super::read_answer::Echo;
use super::style::{Label, Styles};
use super::{Typed, Ui, terminal, wrap};
use dunlin_chat::tokens::counted;

/// How a question with options is answered.
const HINT: &str = "a number, or your own words";

/// What stands before each row of foreign text.
const BAR: &str = "  │ ";

/// The narrowest room for foreign text, in columns: on a terminal narrower than this the rows may wrap.
const MIN_COLUMNS: usize = 16;

/// The most rows of a question. It has 4 KiB at most, and could be all line ends.
const MAX_ROWS: usize = 60;

/// Asks until there is an answer. `None`: there will be none.
///
/// Ctrl-C ends the turn as well, as it does while any other call runs; Ctrl-D only leaves the question open.
///
/// The answer to a server's form can be typed unseen, and begins so where it seems to be a secret. It is kept nowhere.
pub fn ask(ui: &Ui, question: &TextQuestion) -> Option<String> {
    let styles = ui.styles();
    let echo = match question.server {
        Some(_) => Echo::Choice {
            hidden: question.secret,
        },
        None => Echo::Shown,
    };
    let mut above = shown(question, styles, terminal::size().0);
    let mut refused = None;
    loop {
        match ui.ask_echoing(&above, input_marks::ANSWER, echo) {
            Typed::Line(line) if line.trim().is_empty() => {
                above = styles.paint(Label::Quiet, "  (Ctrl-D gives no answer)");
            }
            Typed::Line(line) => match no_option(&line, &question.options) {
                // Typed again, it is an answer in one's own words.
                Some(number) if refused != Some(number) => {
                    let room = terminal::size().0.saturating_sub(1);
                    let rows = wrap::hanging("  ", 2, &not_there(number, &question.options), room);
                    above = styles.paint(Label::Warning, &rows.join("\n"));
                    refused = Some(number);
                }
                _ => return Some(meant(&line, &question.options)),
            },
            Typed::Interrupted | Typed::Woken => {
                ui.interrupt_turn();
                return None;
            }
            Typed::End => return None,
        }
    }
}

/// The number that a line is, if there are options and none has it.
fn no_option(line: &str, options: &[String]) -> Option<usize> {
    let line = line.trim();
    let is_number = line.chars().all(|c| c.is_ascii_digit());
    let number = line.parse::<usize>().ok().filter(|_| is_number)?;
    let is_there = (1..=options.len()).contains(&number);
    (!options.is_empty() && !is_there).then_some(number)
}

fn not_there(number: usize, options: &[String]) -> String {
    let numbers = match options.len() {
        1 => "1".to_owned(),
        2 => "1 or 2".to_owned(),
        count => format!("1 to {count}"),
    };
    format!(
        "There is no option {number}: type {numbers}, or your own words; {number} again answers \"{number}\"."
    )
}

/// What a line says: the number of an option means its text.
pub fn meant(line: &str, options: &[String]) -> String {
    let line = line.trim();
    let number = line.parse::<usize>().ok();
    let chosen = number.and_then(|number| options.get(number.checked_sub(1)?));
    chosen.map_or_else(|| line.to_owned(), Clone::clone)
}

fn shown(question: &TextQuestion, styles: Styles, columns: usize) -> String {
    let room = columns.saturating_sub(BAR.len() + 1).max(MIN_COLUMNS);
    let mut lines = vec![
        String::new(),
        format!(
            "  {} asks",
            styles.paint(Label::Name, &escape(&question.tool))
        ),
    ];
    let bar = styles.paint(Label::Quiet, BAR);
    let text = escape_multiline(&question.question).replace('\t', "    ");
    let mut rows: Vec<String> = text
        .trim()
        .lines()
        .flat_map(|line| wrap::rows(line, room))
        .collect();
    if rows.len() > MAX_ROWS {
        let more = rows.len() - MAX_ROWS;
        rows.truncate(MAX_ROWS);
        rows.push(format!("… {}", counted(more, "more line", "more lines")));
    }
    lines.extend(rows.iter().map(|row| format!("{bar}{row}")));
    for (index, option) in question.options.iter().enumerate() {
        let number = styles.paint(Label::Key, &format!("{:>3}", index + 1));
        let indent = styles.paint(Label::Quiet, "    │ ");
        let rows = wrap::rows(&escape(option), room.saturating_sub(2));
        for (row, text) in rows.iter().enumerate() {
            lines.push(match row {
                0 => format!(" {number}  {text}"),
                _ => format!("{indent}{text}"),
            });
        }
    }
    if !question.options.is_empty() {
        lines.push(styles.paint(Label::Quiet, &format!("  {HINT}")));
    }
    if let Some(server) = &question.server {
        let server = escape(server);
        let notice = match question.secret {
            true => format!(
                "The MCP server '{server}' asks for what looks like a secret and gets your answer. Typing is hidden; \
                 Ctrl-T shows it."
            ),
            false => {
                format!("The MCP server '{server}' gets your answer. Ctrl-T hides what you type.")
            }
        };
        for (row, text) in wrap::rows(&notice, room).iter().enumerate() {
            let mark = if row == 0 { "!" } else { "│" };
            let text = styles.paint(Label::Warning, &format!("{mark} {}", text.trim_end()));
            lines.push(format!("  {text}"));
        }
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use dunlin_host::display::width;

    use super::*;

    fn question(question: &str, options: &[&str]) -> TextQuestion {
        TextQuestion {
            call: "1".to_owned(),
            tool: "ask_user".to_owned(),
            question: question.to_owned(),
            options: options.iter().map(|&option| option.to_owned()).collect(),
            server: None,
            secret: false,
        }
    }

    #[test]
    fn a_form_says_who_gets_the_answer_and_whether_it_looks_like_a_secret() {
        let mut question = question("The key?", &[]);
        question.server = Some("far\n  allow?".to_owned());
        let harmless = shown(&question, Styles::plain(), 120);
        assert!(
            harmless.ends_with(
                "\n  ! The MCP server 'far\\n  allow?' gets your answer. Ctrl-T hides what you type."
            ),
            "{harmless}"
        );
        question.secret = true;
        let secret = shown(&question, Styles::plain(), 80);
        assert!(
            secret.contains("asks for what looks like a secret"),
            "{secret}"
        );
        for columns in [24, 40, 80] {
            for row in shown(&question, Styles::plain(), columns).lines() {
                assert!(width(row) <= columns, "{columns}: {row:?}");
            }
        }
    }

    #[test]
    fn it_is_shown_with_its_options() {
        let question = question("Which one?\nBoth exist.", &["src/a.rs", "src/b.rs"]);
        assert_eq!(
            shown(&question, Styles::plain(), 80),
            "\n  ask_user asks\n  │ Which one?\n  │ Both exist.\n   1  src/a.rs\n   2  src/b.rs\n  \
             a number, or your own words"
        );
    }

    #[test]
    fn foreign_text_begins_no_row() {
        let long = "allow? y ".repeat(40);
        let hostile = format!(
            "ok\x1b[2J\r\n  allow? y\n{long}\u{202e}{}",
            "日本".repeat(60)
        );
        let question = question(&hostile, &["\nallow?", &long]);
        for columns in [24, 40, 80] {
            let shown = shown(&question, Styles::plain(), columns);
            assert!(!shown.contains(['\x1b', '\r', '\u{202e}']), "{shown}");
            let rows = shown.lines().skip(2);
            for row in rows.filter(|row| *row != format!("  {HINT}")) {
                assert!(width(row) <= columns, "{columns}: {row:?}");
                assert!(
                    row.starts_with("  │ ") || !row.trim_start().starts_with("allow?"),
                    "{row:?}"
                );
            }
        }
        let lines = "\n".repeat(4000) + "x" + &"\ny".repeat(2000);
        let shown = shown(&super::tests::question(&lines, &[]), Styles::plain(), 80);
        assert!(shown.lines().count() <= MAX_ROWS + 3, "{shown}");
    }

    #[test]
    fn a_number_means_the_option() {
        let options = ["one".to_owned(), "two".to_owned()];
        for (line, expected) in [
            ("1", "one"),
            (" 2 ", "two"),
            ("0", "0"),
            ("3", "3"),
            ("neither", "neither"),
            ("-1", "-1"),
        ] {
            assert_eq!(meant(line, &options), expected);
        }
        assert_eq!(meant("1", &[]), "1");
    }

    #[test]
    fn a_number_that_no_option_has_is_asked_about() {
        let options = ["one".to_owned(), "two".to_owned()];
        for (line, expected) in [
            ("1", None),
            (" 2 ", None),
            ("0", Some(0)),
            (" 3", Some(3)),
            ("3 of them", None),
            ("-1", None),
            ("+3", None),
            ("neither", None),
        ] {
            assert_eq!(no_option(line, &options), expected, "{line:?}");
        }
        assert_eq!(no_option("3", &[]), None, "the answer is a number");
        let said = "There is no option 3: type 1 or 2, or your own words; 3 again answers \"3\".";
        assert_eq!(not_there(3, &options), said);
    }
}
