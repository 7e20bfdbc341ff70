//! The approval prompt: what would be granted, in the host's words, and the answer to it.
//!
//! Three things keep an answer from being given by accident: an answer is a word and Enter, anything
//! else shows the key again and is never a yes; what was typed before the question stood on the screen
//! is read away first (and kept for the next message); and Ctrl-C, Ctrl-D and a terminal that went away
//! deny.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope, TextQuestion};
use dunlin_host::display;
use dunlin_host::target::{Operation, Target};
use unicode_width::UnicodeWidthStr;

use super::style::{Label, Styles};
use super::{Typed, Ui, diff, question};

/// How many needs are listed before the rest is only counted. `v` lists them all.
const MAX_NEEDS_SHOWN: usize = 8;

/// Characters of a wrong answer that are repeated.
const MAX_ECHO_CHARS: usize = 40;

/// The longest wording in characters before its middle is left out. `v` shows it whole.
const MAX_WORDING_CHARS: usize = 300;

/// How many columns the key takes with its meanings and the margin.
const KEY_COLUMNS: usize = 66;

/// The longest wording and the longest list under `v`, in characters and in targets. A hostile plugin must not
/// be able to scroll for minutes.
const MAX_VIEW_CHARS: usize = 10_000;
const MAX_VIEW_NEEDS: usize = 200;

/// The longest difference under `v`, in lines: longer ones are read in an editor.
const MAX_VIEW_DIFF_LINES: usize = 5_000;

/// How many lines of a difference are shown on however small a screen.
const MIN_DIFF_LINES: usize = 6;

/// What was typed at an approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// One of the six answers.
    Answer(Answer),
    /// `v`: show everything.
    View,
    /// `?`: explain the key.
    Help,
    /// Nothing that is known.
    Unknown,
}

/// Understands what was typed: the words exactly, in either case, and nothing that begins like one.
pub fn parse_reply(line: &str) -> Reply {
    let answer = |allow, scope| Reply::Answer(Answer { allow, scope });
    match line.trim().to_ascii_lowercase().as_str() {
        "y" => answer(true, Scope::Once),
        "n" => answer(false, Scope::Once),
        "s" => answer(true, Scope::Session),
        "ns" => answer(false, Scope::Session),
        "always" => answer(true, Scope::Always),
        "never" => answer(false, Scope::Always),
        "v" => Reply::View,
        "?" => Reply::Help,
        _ => Reply::Unknown,
    }
}

/// Asks at the terminal.
#[derive(Debug, Clone)]
pub struct TerminalAsk {
    ui: Arc<Ui>,
}

impl TerminalAsk {
    /// Asks with this object, which must be on a terminal ([`Ui::can_ask`]).
    pub fn new(ui: Arc<Ui>) -> TerminalAsk {
        TerminalAsk { ui }
    }
}

#[async_trait]
impl Ask for TerminalAsk {
    /// Dropping the future withdraws the question as far as the host is concerned; the line on the
    /// screen then answers nothing any more.
    async fn ask(&self, question: Question) -> Answer {
        let ui = Arc::clone(&self.ui);
        let answered = tokio::task::spawn_blocking(move || converse(&ui, &question)).await;
        // A panic while asking is a no.
        answered.unwrap_or(Answer::DENY)
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        let ui = Arc::clone(&self.ui);
        let answered = tokio::task::spawn_blocking(move || question::ask(&ui, &question)).await;
        answered.unwrap_or(None)
    }
}

fn converse(ui: &Ui, question: &Question) -> Answer {
    let (columns, rows) = super::terminal::size();
    let shown = Shown::new(question, ui.styles(), columns, rows);
    let mut next = Some(shown.text.clone());
    let mut seen = shown.whole;
    loop {
        let above = next
            .take()
            .unwrap_or_else(|| format!("  {}", shown.key(ui.styles())));
        let typed = ui.ask_line(&above, "  allow? ");
        let Typed::Line(line) = typed else {
            return Answer::DENY;
        };
        match parse_reply(&line) {
            Reply::Answer(Answer {
                allow: true,
                scope: Scope::Always,
            }) if !shown.whole => {
                let why =
                    "the target does not fit on the screen, so it cannot be allowed for always";
                next = Some(format!("  {why}\n  {}", shown.key(ui.styles())));
            }
            Reply::Answer(Answer { allow: true, .. }) if !seen => {
                let why = "there is more than the screen shows: v shows all of it first";
                next = Some(format!("  {why}\n  {}", shown.key(ui.styles())));
            }
            Reply::Answer(answer) => return answer,
            Reply::View => {
                seen = true;
                let styles = ui.styles();
                next = Some(format!(
                    "{}\n  {}",
                    view(question, styles),
                    shown.key(styles)
                ));
            }
            Reply::Help => next = Some(help(shown.whole)),
            Reply::Unknown if line.trim().is_empty() => {}
            Reply::Unknown => {
                let typed = escape(line.trim());
                let typed = display::shorten(&typed, MAX_ECHO_CHARS);
                next = Some(format!(
                    "  \"{typed}\" is no answer\n  {}",
                    shown.key(ui.styles())
                ));
            }
        }
    }
}

/// A question as it stands on the screen.
#[derive(Debug)]
struct Shown {
    text: String,
    /// Whether every target could be shown whole: only then may it be allowed for always.
    whole: bool,
    /// Whether there is room for the meanings in the key; `?` has them in any case.
    narrow: bool,
}

impl Shown {
    fn new(question: &Question, styles: Styles, columns: usize, rows: usize) -> Shown {
        let wording = calm(&question.wording);
        let short_wording = display::shorten(&wording, MAX_WORDING_CHARS);
        let mut lines = vec![match question.origin {
            Origin::Declared => styles.paint(Label::Name, &escape(&question.tool)) + " asks",
            Origin::Undeclared => format!(
                "{} wants what it did not ask for",
                styles.paint(Label::Name, &escape(&question.tool))
            ),
        }];
        lines.push(short_wording.into_owned());
        let targets: Vec<(Operation, String)> = question
            .needs
            .iter()
            .take(MAX_NEEDS_SHOWN)
            .map(|need| (need.operation, target_text(&need.target)))
            .collect();
        // Rows left for targets once everything else stands on the screen.
        let others = 4 + question.notices.len();
        let needed: usize = targets
            .iter()
            .map(|(_, target)| (target.width() + 12) / columns.max(1) + 1)
            .sum();
        let whole = needed + others <= rows && question.needs.len() <= MAX_NEEDS_SHOWN;
        for (operation, target) in targets {
            let target = if whole {
                target
            } else {
                super::calls::fit(&target, columns.saturating_sub(14))
            };
            lines.push(format!(
                "  {:<7} {}",
                operation.verb(),
                styles.paint(Label::Target, &target)
            ));
        }
        if let Some(more) = question
            .needs
            .len()
            .checked_sub(MAX_NEEDS_SHOWN)
            .filter(|more| *more > 0)
        {
            lines.push(format!("  and {more} more: v shows them"));
        }
        // With a line to answer in, and what the wording has more than one.
        let above = needed + others + 1 + wording.width() / columns.max(1);
        lines.extend(difference(
            question,
            styles,
            columns,
            rows.saturating_sub(above),
        ));
        for notice in &question.notices {
            lines.push(styles.paint(Label::Warning, &format!("! {}", escape(notice))));
        }
        let mut shown = Shown {
            text: String::new(),
            whole,
            narrow: columns < KEY_COLUMNS,
        };
        lines.push(shown.key(styles));
        shown.text = format!("\n  {}", lines.join("\n  "));
        shown
    }

    /// What can be answered, in one line.
    fn key(&self, styles: Styles) -> String {
        let mut parts = vec![("y", "yes"), ("n", "no"), ("s", "session")];
        if self.whole {
            parts.push(("always", ""));
        }
        parts.extend([("never", ""), ("v", "view"), ("?", "help")]);
        let part = |(key, meaning): &(&str, &str)| {
            let key = styles.paint(Label::Key, key);
            if meaning.is_empty() || self.narrow {
                key
            } else {
                format!("{key} {meaning}")
            }
        };
        parts.iter().map(part).collect::<Vec<_>>().join(" · ")
    }
}

/// Escaped, and with single spaces: many in a row could push text to where the host's own lines stand.
fn calm(text: &str) -> String {
    let text = escape(text);
    let words = text.split(|c: char| c.is_whitespace() || c == '\u{2800}');
    words
        .filter(|word| !word.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What the edits would change, as much of it as fits.
fn difference(question: &Question, styles: Styles, columns: usize, rows: usize) -> Vec<String> {
    let mut lines = diff::lines(&question.actions, styles, Some(columns.saturating_sub(5)));
    let room = rows.max(MIN_DIFF_LINES);
    if lines.len() > room {
        let more = lines.len() - (room - 1);
        lines.truncate(room - 1);
        lines.push(styles.paint(Label::Quiet, &format!("… {more} more lines: v shows all")));
    }
    lines.iter().map(|line| format!("  {line}")).collect()
}

/// Everything about the question, nothing shortened that a person could read.
fn view(question: &Question, styles: Styles) -> String {
    let wording = escape(&question.wording);
    let mut lines = vec![
        String::new(),
        format!("  {}", display::shorten(&wording, MAX_VIEW_CHARS)),
    ];
    for need in question.needs.iter().take(MAX_VIEW_NEEDS) {
        lines.push(format!(
            "    {:<7} {}",
            need.operation.verb(),
            target_text(&need.target)
        ));
    }
    if question.needs.len() > MAX_VIEW_NEEDS {
        lines.push(format!(
            "    and {} more",
            question.needs.len() - MAX_VIEW_NEEDS
        ));
    }
    for notice in &question.notices {
        lines.push(format!("  ! {}", escape(notice)));
    }
    let changes = diff::lines(&question.actions, styles, None);
    let more = changes.len().saturating_sub(MAX_VIEW_DIFF_LINES);
    lines.extend(
        changes
            .iter()
            .take(MAX_VIEW_DIFF_LINES)
            .map(|line| format!("    {line}")),
    );
    if more > 0 {
        lines.push(format!("    … {more} more lines, too many to show"));
    }
    let arguments = escape(&question.arguments.to_string());
    lines.push(format!(
        "  arguments {}",
        display::shorten(&arguments, MAX_VIEW_CHARS)
    ));
    lines.join("\n")
}

fn help(always: bool) -> String {
    let mut lines = vec![
        "  y       yes, this once",
        "  n       no, this once (so do Ctrl-C and Ctrl-D)",
        "  s       yes, until the session ends",
        "  ns      no, until the session ends",
    ];
    if always {
        lines.push("  always  yes, and remember it (see dunlin permissions list)");
    }
    lines.extend([
        "  never   no, and remember it",
        "  v       show everything about the question",
    ]);
    lines.join("\n")
}

fn target_text(target: &Target) -> String {
    escape(&target.to_string())
}

fn escape(text: &str) -> String {
    display::escape(text).into_owned()
}

#[cfg(test)]
mod tests {
    use dunlin_host::target::Need;

    use super::*;

    fn question(wording: &str, targets: &[&str]) -> Question {
        let need = |path: &&str| Need {
            target: Target::Path(path.into()),
            operation: Operation::Read,
        };
        Question {
            call: "1".to_owned(),
            tool: "read_file".to_owned(),
            arguments: serde_json::json!({"file_path": targets.first()}),
            wording: wording.to_owned(),
            needs: targets.iter().map(need).collect(),
            actions: Vec::new(),
            notices: vec!["outside the project".to_owned()],
            origin: Origin::Declared,
        }
    }

    #[test]
    fn only_the_words_answer() {
        let check = |line: &str, expected: Option<(bool, Scope)>| {
            let found = match parse_reply(line) {
                Reply::Answer(answer) => Some((answer.allow, answer.scope)),
                _ => None,
            };
            assert_eq!(found, expected, "{line:?}");
        };
        check("y", Some((true, Scope::Once)));
        check(" Y \n", Some((true, Scope::Once)));
        check("n", Some((false, Scope::Once)));
        check("s", Some((true, Scope::Session)));
        check("ns", Some((false, Scope::Session)));
        check("always", Some((true, Scope::Always)));
        check("never", Some((false, Scope::Always)));
        for line in [
            "", "yes", "yy", "y n", "a", "alway", "allow", "ok", "1", "true", "\u{ff59}", "v", "?",
        ] {
            check(line, None);
        }
        assert_eq!(parse_reply("v"), Reply::View);
        assert_eq!(parse_reply("?"), Reply::Help);
        assert_eq!(parse_reply("help"), Reply::Unknown);
    }

    #[test]
    fn the_question_shows_what_would_be_granted() {
        let question = question("Read file '/etc/hosts'?", &["/etc/hosts"]);
        let shown = Shown::new(&question, Styles::plain(), 80, 24);
        assert_eq!(
            shown.text,
            "\n  read_file asks\n  Read file '/etc/hosts'?\n    read    /etc/hosts\n  ! outside the project\n  \
             y yes · n no · s session · always · never · v view · ? help"
        );
    }

    #[test]
    fn an_edit_is_shown_as_far_as_the_screen_goes() {
        let old: String = (0..100).map(|n| format!("old {n}\n")).collect();
        let diff = dunlin_host::edit::Diff::between(&old, &old.replace("old", "new"));
        let hash = dunlin_host::edit::ContentHash::of(b"");
        let edit = dunlin_host::edit::FileEdit {
            path: "/p/a".into(),
            base: Some(hash),
            new: hash,
            new_folder: None,
            diff,
        };
        let mut question = question("Edit file 'a' with 1 edit?", &["/p/a"]);
        question.actions = vec![dunlin_host::call::Action::Edit(edit)];
        for rows in [5, 24, 50] {
            let shown = Shown::new(&question, Styles::plain(), 80, rows);
            let shown = shown.text;
            assert!(
                shown.contains("\n    @@ -1,100 +1,100 @@\n    -old 0\n"),
                "{shown}"
            );
            assert!(shown.contains("more lines: v shows all"), "{shown}");
            assert!(shown.lines().count() < rows.max(14), "{shown}");
            assert!(rows < 24 || shown.lines().count() > rows - 4, "{shown}");
        }
        let whole = view(&question, Styles::plain());
        assert!(
            whole.contains("-old 99\n") && whole.contains("+new 99\n"),
            "{whole}"
        );
    }

    #[test]
    fn foreign_text_neither_acts_nor_hides() {
        let question = question("ok?\x1b[1A\ny yes\u{202e}", &["/tmp/a\x1b[2K\nb"]);
        let shown =
            Shown::new(&question, Styles::plain(), 80, 24).text + &view(&question, Styles::plain());
        assert!(shown.contains("ok?\\u{1b}[1A\\ny yes\\u{202e}"), "{shown}");
        assert!(shown.contains("/tmp/a\\u{1b}[2K\\nb"), "{shown}");
        assert!(!shown.contains('\x1b'), "{shown}");
    }

    #[test]
    fn what_does_not_fit_is_not_allowed_for_always() {
        let long = format!("/{}", "x".repeat(3000));
        let many: Vec<String> = (0..100).map(|number| format!("/file-{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        for targets in [&[long.as_str()][..], &many] {
            let shown = Shown::new(&question("Read?", targets), Styles::plain(), 80, 24);
            assert!(!shown.whole);
            assert!(!shown.text.contains("always"), "{}", shown.text);
            assert!(shown.text.lines().count() < 24);
        }
    }
}
