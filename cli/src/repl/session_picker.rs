//! The earlier conversations of the project, offered when the chat opens.
//!
//! The offer stands above the prompt and in nobody's way: Enter or a number takes it, and whatever else is typed is
//! what it always is, in a fresh session.

use dunlin_host::display::escape;
use jiff::Timestamp;

use super::transcript;
use crate::app::App;
use crate::args::ChatArgs;
use crate::dialogue::Dialogue;
use crate::dialogue::resume::{resume, resume_first, warn_of_damage};
use crate::error::CliError;
use crate::summary::describe;
use dunlin_chat::session::{Entry, Loaded, StoreError};
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::Label;

/// How many sessions a list in the chat has, if the screen has room for them.
const MAX_LISTED: usize = 20;

/// The offer.
#[derive(Debug)]
pub enum SessionPicker {
    /// There is none, or it was answered.
    Closed,
    /// To go on with the last session.
    Last(Entry),
    /// To go on with one of these.
    Choosing(Vec<Entry>),
}

/// What became of a line that was typed while the picker was open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Handled {
    /// It was a choice.
    Yes,
    /// It is for somebody else.
    No,
}

/// What a line chooses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Choice {
    /// This one of what is offered, from 0.
    Resume(usize),
    /// To see more.
    List,
    /// To start afresh.
    Fresh,
    /// A number that stands for nothing.
    Wrong,
    /// None: it is a message or a command.
    None,
}

/// Looks whether there is the session that is to be resumed, before anything else is shown.
///
/// # Errors
/// There is none, or several begin like this.
pub fn check(app: &App, args: &ChatArgs) -> Result<(), CliError> {
    if let Some(Some(typed)) = &args.resume {
        app.store().find(Some(typed))?;
    }
    Ok(())
}

impl SessionPicker {
    /// Begins as the arguments say: with a session, with an offer, or with nothing. The dialogue is there if a session
    /// was resumed.
    ///
    /// # Errors
    /// The session that was asked for cannot be resumed.
    pub fn open(app: &App, args: &ChatArgs) -> Result<(SessionPicker, Option<Dialogue>), CliError> {
        if let Some(session) = &args.resume {
            if session.is_none() && app.store().last().is_none() {
                app.ui.status(&format!("{}.", StoreError::None));
                return Ok((SessionPicker::Closed, None));
            }
            let (dialogue, loaded) = resume_first(app, session.as_deref())?;
            show_resumed(app, &dialogue, &loaded);
            return Ok((SessionPicker::Closed, Some(dialogue)));
        }
        if args.fresh {
            return Ok((SessionPicker::Closed, None));
        }
        let Some(last) = app.store().last() else {
            return Ok((SessionPicker::Closed, None));
        };
        let summary = last.summary();
        if summary.problem.is_some() || summary.said == Some(0) {
            // What cannot be resumed is not an offer, nor is an empty one; the list shows it.
            return Ok((SessionPicker::Closed, None));
        }
        let ui = &app.ui;
        let columns = ui.window().columns;
        let styles = ui.status_styles();
        let key = |key: &str| styles.paint(Label::Key, key);
        if summary.open {
            let about = describe(&summary, Timestamp::now());
            ui.status(&fit(&format!("  {about}"), columns.saturating_sub(1)));
            let note = "  /sessions lists the sessions that you can resume.";
            ui.status(&styles.paint(Label::Quiet, note));
            return Ok((SessionPicker::Closed, None));
        }
        let about = fit(
            &describe(&summary, Timestamp::now()),
            columns.saturating_sub(13),
        );
        ui.status(&format!("  {} Resume: {about}", key("1")));
        ui.status(&format!(
            "  {} Choose another session · {} New session (or just type) · {} resumes",
            key("2"),
            key("3"),
            key("Enter")
        ));
        Ok((SessionPicker::Last(last), None))
    }

    /// Takes a line, if it is a choice. Anything else closes the offer.
    ///
    /// # Errors
    /// The session cannot be resumed; the offer stands.
    pub fn take(
        &mut self,
        app: &App,
        dialogue: &mut Option<Dialogue>,
        line: &str,
    ) -> Result<Handled, CliError> {
        let ui = &app.ui;
        let offered = match self {
            SessionPicker::Closed => return Ok(Handled::No),
            SessionPicker::Last(last) => vec![last.clone()],
            SessionPicker::Choosing(entries) => entries.clone(),
        };
        let choice = match self {
            SessionPicker::Choosing(_) => choose_listed(line, offered.len()),
            _ => choose(line),
        };
        match choice {
            Choice::Resume(index) => {
                if let Some(entry) = offered.get(index) {
                    let loaded = resume(app, dialogue, entry)?;
                    if let Some(dialogue) = dialogue {
                        show_resumed(app, dialogue, &loaded);
                    }
                    *self = SessionPicker::Closed;
                }
            }
            Choice::List => {
                let entries = list(app, None);
                ui.status(&ui.status_styles().paint(
                    Label::Quiet,
                    "A number resumes that session. Enter, or any message, starts a new one.",
                ));
                *self = SessionPicker::Choosing(entries);
            }
            Choice::Fresh => {
                ui.status(&ui.status_styles().paint(Label::Quiet, "New session"));
                *self = SessionPicker::Closed;
            }
            Choice::Wrong => {
                let most = if offered.len() > 1 { offered.len() } else { 3 };
                ui.status(&format!(
                    "There is no such choice: 1 to {most}, or a message."
                ));
            }
            Choice::None => {
                *self = SessionPicker::Closed;
                return Ok(Handled::No);
            }
        }
        Ok(Handled::Yes)
    }
}

fn choose(line: &str) -> Choice {
    match line.trim() {
        "" | "1" => Choice::Resume(0),
        "2" => Choice::List,
        "3" => Choice::Fresh,
        other if is_number(other) => Choice::Wrong,
        _ => Choice::None,
    }
}

fn choose_listed(line: &str, count: usize) -> Choice {
    match line.trim() {
        "" => Choice::Fresh,
        number if is_number(number) => match number.parse::<usize>() {
            Ok(number) if (1..=count).contains(&number) => Choice::Resume(number - 1),
            _ => Choice::Wrong,
        },
        _ => Choice::None,
    }
}

/// Whether it is nothing but a number: nobody says only that to a model as the first thing.
fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 6 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Lists sessions of the project with their numbers, `but` one. The answer is what the numbers mean.
pub fn list(app: &App, but: Option<&Entry>) -> Vec<Entry> {
    let ui = &app.ui;
    let store = app.store();
    let window = ui.window();
    let room = MAX_LISTED.min(window.rows.saturating_sub(6).max(5));
    let all = store.entries(false);
    let others: Vec<Entry> = all.into_iter().filter(|it| Some(it) != but).collect();
    let now = Timestamp::now();
    for (index, entry) in others.iter().take(room).enumerate() {
        let number = format!("{:>3}", index + 1);
        let id = format!("{:<8}", escape(&entry.id));
        let about = describe(&entry.summary(), now);
        let left = window
            .columns
            .saturating_sub(number.len() + id.chars().count() + 4);
        ui.data(&format!(
            "{} {} {}",
            ui.styles().paint(Label::Key, &number),
            ui.styles().paint(Label::Quiet, &id),
            fit(&about, left)
        ));
    }
    if others.is_empty() {
        ui.status("There is no other session of this project.");
    } else if others.len() > room {
        let more = others.len() - room;
        ui.status(&ui.status_styles().paint(
            Label::Quiet,
            &format!("{more} older ones: dunlin sessions list, or by their id"),
        ));
    }
    others
}

/// Shows what a session that was resumed is about, and what was said last.
pub fn show_resumed(app: &App, dialogue: &Dialogue, loaded: &Loaded) {
    let ui = &app.ui;
    let speaker = loaded.speaker.as_ref();
    let folds = speaker.is_some_and(|it| app.settings.writes_apps(&it.agent));
    transcript::show(app, loaded, folds);
    warn_of_damage(app, loaded);
    let id = dialogue.session().map(|session| session.id());
    let mut about = format!("session {}", id.unwrap_or_default());
    if let Some(speaker) = &loaded.speaker
        && speaker.model != dialogue.model()
        && !speaker.model.is_empty()
    {
        about.push_str(&format!(
            " · {} answered before, {} does now",
            escape(&speaker.model),
            escape(dialogue.model())
        ));
    }
    let columns = ui.window().columns;
    let about = fit(&about, columns.saturating_sub(1));
    ui.status(&ui.status_styles().paint(Label::Quiet, &about));
    let other = loaded.speaker.as_ref().map(|it| it.agent.as_str());
    let other = other.filter(|other| *other != dialogue.agent().name);
    if let Some(other) = other.filter(|other| app.settings.agents.contains_key(*other)) {
        let (other, now) = (escape(other), escape(&dialogue.agent().name));
        let note = format!("agent {other} answered before, {now} does now: /agent {other}");
        ui.status(&ui.status_styles().paint(Label::Quiet, &note));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_choices_or_messages() {
        for (line, expected) in [
            ("", Choice::Resume(0)),
            ("  ", Choice::Resume(0)),
            ("1", Choice::Resume(0)),
            (" 2 ", Choice::List),
            ("3", Choice::Fresh),
            ("4", Choice::Wrong),
            ("0", Choice::Wrong),
            ("99999", Choice::Wrong),
            ("1234567890", Choice::None),
            ("1 apple", Choice::None),
            ("-1", Choice::None),
            ("/help", Choice::None),
            ("y", Choice::None),
            ("Hello", Choice::None),
        ] {
            assert_eq!(choose(line), expected, "{line:?}");
        }
        for (line, expected) in [
            ("", Choice::Fresh),
            ("1", Choice::Resume(0)),
            ("5", Choice::Resume(4)),
            ("6", Choice::Wrong),
            ("0", Choice::Wrong),
            ("five", Choice::None),
        ] {
            assert_eq!(choose_listed(line, 5), expected, "{line:?}");
        }
    }
}
