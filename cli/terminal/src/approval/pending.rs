//! One question with all its calls: what is shown of it, and what a line comes to.

mod lasting;
mod unseen;

use std::collections::{HashMap, HashSet};

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::display;
use dunlin_host::permission::ToolMode;

use self::unseen::{is_too_long, lacks_arguments, was_in_editor};
use super::entry::Entry;
use super::line::{self, Line, Which, Word};
use super::look::{self, MARGIN, Window};
use crate::ui::input_marks;
use crate::ui::style::Label;
use crate::ui::wrap;
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::{CallState, Choice, Resolution};

/// Characters of a line that is not an answer that are repeated.
const MAX_ECHO_CHARS: usize = 20;

/// How many rows a call among others gets before it is put off: enough for the beginning of a difference.
const MIN_SHARE: usize = 10;

/// What a line comes to.
#[derive(Debug, PartialEq)]
pub enum Reply {
    /// Show these rows and ask again.
    Say(Vec<String>),
    /// Show everything about some calls, in the pager where that is longer than the window, then this sentence, and ask
    /// again.
    View(Vec<String>, Option<String>),
    /// The waiting is over; show these rows first.
    Resolve(Vec<String>, Resolution),
    /// Open the arguments of the call with this number of the turn in an editor.
    Edit(usize),
    /// Set this mode for these tools until the session ends.
    Tools(Vec<String>, ToolMode),
    /// It is a slash command.
    Slash,
    /// It is not an answer, and may be a message: show these rows, keep the text, and ask again.
    Keep(Vec<String>),
}

/// Calls while they wait together. Lives for a whole conversation; each list of them begins anew.
#[derive(Debug, Default)]
pub struct PendingApprovals {
    entries: Vec<Entry>,
    /// Which list of calls this is.
    list: Option<usize>,
    /// Whether more than one call was asked about since it began.
    several: bool,
    /// Forms of calls that stood here, that did so whole, and whose targets did.
    shown: HashSet<Form>,
    seen: HashSet<Form>,
    targets: HashSet<Form>,
    /// The columns and rows of the window that the calls were shown in.
    shown_in: (usize, usize),
    /// What was left of arguments that were edited and are not to be used like that.
    pub drafts: HashMap<usize, String>,
}

/// A call and its revision.
type Form = (usize, u32);

fn form(entry: &Entry) -> Form {
    (entry.number, entry.revision)
}

impl PendingApprovals {
    /// Makes these calls pending. `list` names the list that they belong to: another one begins anew. Returns what is to
    /// be shown: everything that was not shown before, and a row of what was.
    pub fn open(&mut self, list: usize, entries: Vec<Entry>, window: Window) -> Vec<String> {
        if self.list != Some(list) {
            *self = PendingApprovals {
                list: Some(list),
                ..PendingApprovals::default()
            };
        }
        self.entries = entries;
        self.show(window)
    }

    /// Shows all open calls once more: something else was printed below them, or the terminal broke their rows anew. What a
    /// yes counts for is worked out anew, too.
    pub fn show_again(&mut self, window: Window) -> Vec<String> {
        self.shown.clear();
        self.targets.clear();
        self.show(window)
    }

    fn show(&mut self, window: Window) -> Vec<String> {
        self.shown_in = (window.columns, window.rows);
        let asking = self.asking().count();
        let begins = self.shown.is_empty();
        let begins = begins || (asking > 1 && !self.several);
        self.several |= asking > 1;
        let mut rows = Vec::new();
        let new = self
            .asking()
            .any(|entry| !self.shown.contains(&form(entry)));
        if new {
            rows.push(String::new());
        }
        if self.several && begins {
            let calls = counted(asking, "call needs", "calls need");
            rows.push(format!("{MARGIN}{calls} your approval"));
        }
        // The key, the line to answer in, and a row for each call.
        let calls: Vec<&Entry> = self.asking().collect();
        let key = look::key(&calls, self.several, true, window);
        let key = look::height(&key, window);
        let taken = rows.len() + key + 1 + if self.several { self.entries.len() } else { 0 };
        let most = window.rows.saturating_sub(taken);
        let mut left = most;
        let mut waiting = asking;
        // The forms that are shown, and the row at which each begins.
        let mut begun = Vec::new();
        for entry in &self.entries {
            let form = form(entry);
            if !entry.is_asking() || self.shown.contains(&form) {
                rows.push(self.row(entry, window));
                continue;
            }
            let share = if self.several {
                1 + left / waiting.max(1)
            } else {
                left
            };
            let whole = look::question(
                entry,
                self.several,
                window,
                left + usize::from(self.several),
            );
            let shown = if whole.complete && whole.rows.len() <= share.max(MIN_SHARE) {
                whole
            } else if share >= MIN_SHARE || left == most {
                look::question(entry, self.several, window, share.max(MIN_SHARE))
            } else {
                // Later, when others are decided.
                rows.push(self.row(entry, window));
                continue;
            };
            waiting = waiting.saturating_sub(1);
            let others = usize::from(self.several);
            left = (left + others).saturating_sub(shown.rows.len());
            self.shown.insert(form);
            if shown.complete || was_in_editor(entry, window) {
                self.seen.insert(form);
            }
            if shown.targets {
                self.targets.insert(form);
            }
            begun.push((form, rows.len()));
            rows.extend(shown.rows);
        }
        let top = self.top_row(&rows, window);
        for (form, _) in begun.into_iter().filter(|(_, row)| *row < top) {
            self.seen.remove(&form);
            self.targets.remove(&form);
        }
        rows.push(self.key(window));
        rows
    }

    /// The first of these rows that is still on the screen when the key and the line to answer in stand below them.
    fn top_row(&self, rows: &[String], window: Window) -> usize {
        let mut left = window
            .rows
            .saturating_sub(look::height(&self.key(window), window) + 1);
        let fits = |row: &&String| {
            let height = look::height(row, window);
            let fits = height <= left;
            left = left.saturating_sub(height);
            fits
        };
        rows.len() - rows.iter().rev().take_while(fits).count()
    }

    /// The arguments of the call with this number stood in an editor, whole, and came back as they were. That counts only
    /// where they are what was too long: they do not say what a tool makes of them.
    pub fn was_read(&mut self, number: usize, window: Window) {
        let entry = self.entry(number);
        let read = entry.filter(|entry| lacks_arguments(entry, window));
        self.seen.extend(read.map(form));
    }

    /// What stands before the cursor.
    pub fn prompt(&self) -> &'static str {
        match self.several {
            true => input_marks::APPROVE,
            false => input_marks::ALLOW,
        }
    }

    /// The question about one call once more, after its arguments stood in an editor and nothing came of it.
    pub fn question_again(&self, number: usize, window: Window) -> Vec<String> {
        let room = window.rows.saturating_sub(3);
        let asking = self.entry(number).filter(|entry| entry.is_asking());
        let shown = asking.map(|entry| look::question(entry, self.several, window, room).rows);
        let mut rows = shown.unwrap_or_default();
        rows.push(self.key(window));
        rows
    }

    /// What waits in short, for after something else was shown.
    pub fn again(&self, window: Window) -> Vec<String> {
        let mut rows = self.list(window);
        rows.push(self.key(window));
        rows
    }

    /// What waits in short, after a command has printed something that may look like a question. Nothing counts as shown by
    /// that: a yes is one to what was on the screen before, or was viewed.
    pub fn after_command(&self, window: Window) -> Vec<String> {
        if self.several {
            return self.again(window);
        }
        let calls = self.asking();
        let mut rows: Vec<String> = calls
            .map(|entry| look::title(entry, !self.is_unseen(entry), window))
            .collect();
        rows.push(self.key(window));
        rows
    }

    /// A row for each of several calls.
    pub fn list(&self, window: Window) -> Vec<String> {
        let rows = self.entries.iter().filter(|_| self.several);
        rows.map(|entry| self.row(entry, window)).collect()
    }

    fn row(&self, entry: &Entry, window: Window) -> String {
        look::row(entry, !self.is_unseen(entry), window)
    }

    /// The call with this number of the turn.
    pub fn entry(&self, number: usize) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.number == number)
    }

    /// What a line comes to.
    pub fn answer(&mut self, typed: &str, window: Window) -> Reply {
        match self.understand(typed, window) {
            Ok(reply) => reply,
            Err(problem) => self.say([problem], window),
        }
    }

    /// Rows in Dunlin's words; without any, the key. It stands above them already, and rows that are the same again and again
    /// push the question off the screen.
    pub fn say(&self, sentences: impl IntoIterator<Item = String>, window: Window) -> Reply {
        let rows = sentences_in_rows(sentences, window);
        Reply::Say(match rows.is_empty() {
            true => vec![self.key(window)],
            false => rows,
        })
    }

    /// That a line is not an answer, and what is.
    fn not_an_answer(&self, typed: &str, end: &str) -> String {
        let asking: Vec<&Entry> = self.asking().collect();
        let answers = look::answers(&asking, self.several, self.offers_always());
        let answers: Vec<&str> = answers.into_iter().map(|(word, _)| word).collect();
        let typed = display::escape(typed.trim()).into_owned();
        let typed = display::shorten(&typed, MAX_ECHO_CHARS);
        format!("\"{typed}\" is not an answer ({}){end}", answers.join(", "))
    }

    fn understand(&mut self, typed: &str, window: Window) -> Result<Reply, String> {
        let pending: Vec<usize> = self.asking().map(|entry| entry.index).collect();
        let (word, which, comment) = match line::parse(typed, &pending) {
            Line::Empty => return Ok(self.say([], window)),
            Line::Wrong(problem) => return Err(problem),
            Line::Mistyped(typed, meant) => {
                let meant =
                    meant.map_or_else(String::new, |word| format!("; did you mean {word}?"));
                return Err(self.not_an_answer(&typed, &meant));
            }
            Line::Unclear(problem) => {
                return Ok(Reply::Keep(sentences_in_rows([problem], window)));
            }
            Line::Lasting {
                answer,
                which,
                text,
                may_be_message,
            } => match self.text_of_lasting(answer, &which, text, window) {
                Ok(comment) => (Word::Answer(answer), which, comment),
                Err(problem) if may_be_message => {
                    return Ok(Reply::Keep(sentences_in_rows([problem], window)));
                }
                Err(problem) => return Err(problem),
            },
            Line::Slash => return Ok(Reply::Slash),
            Line::Other => {
                let way = match pending.len() {
                    1 => "; n TEXT tells the model TEXT",
                    _ => "",
                };
                let sentence = self.not_an_answer(typed, way);
                return Ok(Reply::Keep(sentences_in_rows([sentence], window)));
            }
            Line::Word(word, which, comment) => (word, which, comment),
        };
        if word.allows() && self.shown_in != (window.columns, window.rows) {
            return Ok(Reply::Say(self.window_changed(window)));
        }
        match word {
            Word::Help => {
                let asking: Vec<&Entry> = self.asking().collect();
                let mut rows = look::help(&asking, self.several, self.offers_always(), window);
                rows.extend(self.again(window));
                Ok(Reply::Say(rows))
            }
            Word::Run => self.run(&which, comment, window),
            Word::Tool(mode) => {
                let chosen = self.choose(&which, &format!("tool {mode}"))?;
                self.not_while_running(&chosen)?;
                if mode == ToolMode::Always && chosen.iter().all(|it| it.longest == Scope::Once) {
                    return Err("A yes to such a call holds only once: type y or n.".to_owned());
                }
                let mut tools: Vec<String> = Vec::new();
                for entry in chosen {
                    if !tools.contains(&entry.question.tool) {
                        tools.push(entry.question.tool.clone());
                    }
                }
                if mode == ToolMode::Always {
                    // It answers all calls of these tools.
                    let answered = |entry: &&Entry| tools.contains(&entry.question.tool);
                    self.seen_in_full(self.asking().filter(answered), window)?;
                }
                Ok(Reply::Tools(tools, mode))
            }
            Word::View => {
                let chosen = self.choose(&which, "v")?;
                let (rows, forms) = self.views(&chosen, window);
                // What does not fit on a screen of its own is not for a permanent answer, however it is read.
                let fits = |entry: &&&Entry| {
                    look::question(entry, self.several, window, window.rows).targets
                };
                let targets: Vec<Form> = chosen.iter().filter(fits).map(|it| form(it)).collect();
                self.seen.extend(forms);
                self.targets.extend(targets);
                Ok(Reply::View(rows, None))
            }
            Word::Edit => {
                let chosen = self.choose(&which, "e")?;
                self.not_while_running(&chosen)?;
                match chosen.as_slice() {
                    [entry] => Ok(Reply::Edit(entry.number)),
                    [entry, ..] => Err(format!(
                        "e opens one call at a time, as in e {}.",
                        entry.index
                    )),
                    [] => Err("No call is pending.".to_owned()),
                }
            }
            Word::Skip => {
                let chosen = self.choose(&which, "skip")?;
                self.not_while_running(&chosen)?;
                let decisions = chosen
                    .into_iter()
                    .map(|entry| entry.decide(Choice::Skip, comment.clone()))
                    .collect();
                Ok(Reply::Resolve(Vec::new(), Resolution::Decided(decisions)))
            }
            Word::Answer(answer) => self.decide(answer, &which, comment.as_deref(), window),
        }
    }

    /// Everything about these calls, and the forms of them that are seen then.
    fn views(&self, chosen: &[&Entry], window: Window) -> (Vec<String>, Vec<Form>) {
        let mut rows = Vec::new();
        let mut seen = Vec::new();
        for entry in chosen {
            rows.push(String::new());
            let view = look::view(entry, self.several, window);
            rows.extend(view.rows);
            seen.extend(view.complete.then(|| form(entry)));
        }
        (rows, seen)
    }

    fn decide(
        &mut self,
        answer: Answer,
        which: &Which,
        comment: Option<&str>,
        window: Window,
    ) -> Result<Reply, String> {
        let chosen = self.choose(which, line::word_of(answer))?;
        if comment.is_some() {
            self.not_while_running(&chosen)?;
        }
        for entry in &chosen {
            self.check(entry, answer)?;
        }
        let unseen: Vec<&Entry> = chosen
            .iter()
            .copied()
            .filter(|entry| answer.allow && self.is_unseen(entry))
            .collect();
        let too_long = unseen.iter().find(|entry| is_too_long(entry, window));
        if let Some(entry) = too_long {
            return Err(self.too_long(entry, window));
        }
        if chosen.len() > 1 && !unseen.is_empty() {
            let (rows, forms) = self.views(&unseen, window);
            let sentence = format!(
                "Nothing was approved: {} not shown in full before. Type the answer again once you have read {}.",
                counted(unseen.len(), "call was", "calls were"),
                if unseen.len() == 1 { "it" } else { "them" },
            );
            self.seen.extend(forms);
            return Ok(Reply::View(rows, Some(sentence)));
        }
        if let Some(entry) = unseen.first() {
            return Err(self.view_first(entry));
        }
        // What an answer to all comes to is said of each. A no is said of each call when it is settled.
        let rows = match which {
            Which::All if answer.allow => chosen
                .iter()
                .map(|entry| {
                    let mut approved = (*entry).clone();
                    approved.state = CallState::Approved;
                    look::row(&approved, true, window)
                })
                .collect(),
            _ => Vec::new(),
        };
        let decisions = chosen
            .into_iter()
            .map(|entry| entry.decide(Choice::Answer(answer), comment.map(str::to_owned)))
            .collect();
        Ok(Reply::Resolve(rows, Resolution::Decided(decisions)))
    }

    /// Whether this answer can be given to a call as it was shown.
    fn check(&self, entry: &Entry, answer: Answer) -> Result<(), String> {
        if let Some(why) = entry.refuses(answer) {
            return Err(match entry.index {
                0 => format!("This call {why}."),
                index => format!("Call {index} {why}."),
            });
        }
        if answer.allow && answer.scope == Scope::Always && !self.targets.contains(&form(entry)) {
            if self.is_unseen(entry) {
                return Err(self.view_first(entry));
            }
            return Err(
                "The target does not fit on the screen, so it can't be allowed permanently."
                    .to_owned(),
            );
        }
        Ok(())
    }

    /// Runs what is approved and skips the rest, or runs the named calls and keeps the rest.
    fn run(&self, which: &Which, comment: Option<String>, window: Window) -> Result<Reply, String> {
        let approved = |entry: &&Entry| entry.state == CallState::Approved;
        if let Which::Numbers(_) = which {
            let chosen = self.choose(which, "run")?;
            self.not_while_running(&chosen)?;
            let yes = Answer {
                allow: true,
                scope: Scope::Once,
            };
            for entry in &chosen {
                self.check(entry, yes)?;
                self.seen_in_full([*entry], window)?;
            }
            let decisions = chosen
                .into_iter()
                .map(|entry| entry.decide(Choice::RunNow, comment.clone()))
                .collect();
            return Ok(Reply::Resolve(Vec::new(), Resolution::Decided(decisions)));
        }
        if self.entries.iter().any(|entry| approved(&entry)) {
            return Ok(Reply::Resolve(Vec::new(), Resolution::Run(comment)));
        }
        let problem = "Nothing is approved yet: y approves a call and runs it, skip leaves it out.";
        match comment {
            // It may be a message that begins with the word.
            Some(_) => Ok(Reply::Keep(sentences_in_rows([problem], window))),
            None => Err(problem.to_owned()),
        }
    }

    /// The calls that are meant; at least one.
    fn choose(&self, which: &Which, word: &str) -> Result<Vec<&Entry>, String> {
        match which {
            Which::All => Ok(self.asking().collect()),
            Which::Only => {
                let asking: Vec<&Entry> = self.asking().collect();
                match asking.len() {
                    1 => Ok(asking),
                    count => Err(format!(
                        "Which of the {count} calls? For example {word} {}, or {word} all.",
                        asking.first().map_or(1, |entry| entry.index)
                    )),
                }
            }
            Which::Numbers(numbers) => numbers
                .iter()
                .map(|number| {
                    let found = self.entries.iter().find(|entry| entry.index == *number);
                    found.ok_or_else(|| self.no_such_call(*number))
                })
                .collect(),
        }
    }

    fn no_such_call(&self, number: usize) -> String {
        let waiting: Vec<String> = self.asking().map(|entry| entry.index.to_string()).collect();
        match waiting.as_slice() {
            [] => format!("No pending call {number}."),
            [only] => format!("No pending call {number}: call {only} is pending."),
            all => format!("No pending call {number}: pending are {}.", all.join(", ")),
        }
    }

    /// A call that runs is held up by its question, which a yes or a no answers.
    fn not_while_running(&self, chosen: &[&Entry]) -> Result<(), String> {
        match chosen.iter().find(|entry| entry.runs) {
            Some(entry) if self.several && entry.index > 0 => Err(format!(
                "Call {} runs already: answer with a yes or a no alone.",
                entry.index
            )),
            Some(_) => Err("The call runs already: answer with a yes or a no alone.".to_owned()),
            None => Ok(()),
        }
    }

    fn asking(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().filter(|entry| entry.is_asking())
    }

    /// What can be answered.
    pub fn key(&self, window: Window) -> String {
        let asking: Vec<&Entry> = self.asking().collect();
        look::key(&asking, self.several, self.offers_always(), window)
    }

    /// Whether any call can be allowed permanently.
    fn offers_always(&self) -> bool {
        self.asking().any(|entry| {
            entry.longest == Scope::Always
                && entry.problem.is_none()
                && self.targets.contains(&form(entry))
        })
    }

    /// One calm sentence in the look of everything beside the point, in rows.
    pub fn aside(sentence: &str, window: Window) -> Vec<String> {
        let rows = sentences_in_rows([sentence], window);
        let quiet = |row: String| window.styles.paint(Label::Quiet, &row);
        rows.into_iter().map(quiet).collect()
    }
}

/// Sentences behind the margin, broken between words.
fn sentences_in_rows(
    sentences: impl IntoIterator<Item = impl AsRef<str>>,
    window: Window,
) -> Vec<String> {
    let room = window.columns.saturating_sub(MARGIN.len() + 1);
    let rows = sentences
        .into_iter()
        .flat_map(|sentence| wrap::rows(sentence.as_ref(), room));
    rows.map(|row| format!("{MARGIN}{row}")).collect()
}

#[cfg(test)]
#[path = "pending_tests.rs"]
mod tests;
