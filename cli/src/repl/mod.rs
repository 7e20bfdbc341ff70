//! The chat on a terminal: reads a message, takes a turn, and again.
//!
//! Until the first message nothing is done that could take time: no key is read, no tool looked at, no
//! thread started. Ctrl-C never loses anything: in a turn it ends the turn and keeps what was said, on a line
//! it clears the line, and only twice in a row on an empty line it leaves.

mod agents;
mod apps;
mod arguments;
mod at_prompt;
pub mod auto;
mod between_turns;
pub mod budget;
mod compose;
mod expand;
mod help;
mod hooks;
mod instructions;
mod last_request;
mod leaving;
mod messages;
mod mode;
mod own_command;
mod permissions;
pub mod plain;
mod requests;
mod rewind;
mod send_template;
mod servers;
mod session_picker;
mod sessions;
pub mod slash;
mod tags;
mod transcript;
mod undo;
mod while_running;

use std::ops::Range;
use std::sync::Arc;

use dunlin_host::display::{escape, own_command};
use dunlin_host::permission::SessionMode;

use crate::app::App;
use crate::args::ChatArgs;
use crate::dialogue::{Dialogue, choice, conclude};
use crate::discover::place;
use crate::error::{CliError, Exit};
use crate::inspect::protocol::Conversation;
use crate::inspect::server;
use crate::modes;
use crate::prompt::line::{LineEditor, MessageLines};
use crate::prompt::own_command::OwnCommand;
use crate::prompt::slash_table::{EDIT, Input};
use crate::prompt::{interceptor, paste};
use at_prompt::{attaches, names, placeholder};
use dunlin_chat::message::{Role, UserMessage};
use dunlin_chat::session::Session;
use dunlin_chat::turn::TurnEnd;
use dunlin_terminal::approval::line::only_answers;
use dunlin_terminal::ui::Typed;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::idle::Attention;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::terminal;
use mode::{Decision, OpenPlan};
use session_picker::{Handled, SessionPicker};
use slash::Next;
use while_running::WhileRunning;

/// What is said where the model did not answer.
const UNANSWERED: &str = "Your message stays in the conversation: /retry sends it again, and otherwise it goes with your next one.";

/// Converses until the user leaves.
pub fn run(app: &App, args: &ChatArgs) -> Result<Exit, CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let project = (settings.project.as_path(), settings.is_project);
    let mut editor = LineEditor::new(&settings.folders, project, slash::table(), ui.styles())
        .map_err(CliError::failed)?;
    editor.toggle_steps_of(ui);
    editor.toggle_mode(ui, &app.mode);
    editor.toggle_pausing(ui, &app.pausing);
    session_picker::check(app, args)?;
    ui.call_for_attention(attention(app));
    welcome(app)?;
    warn_of_permissions(app);
    let agents = agents::AgentsWhileRunning {
        roster: Arc::clone(&app.subagents),
        ui: Arc::clone(&app.ui),
        limits: settings.history_limits(),
    };
    app.ui.take_commands(Box::new(WhileRunning {
        agents,
        mode: app.mode.clone(),
        ui: Arc::clone(&app.ui),
    }));
    let (mut picker, mut dialogue) = SessionPicker::open(app, args)?;
    let listening = server::listen(&settings.folders.run, &app.shared).map_err(CliError::failed);
    if let Err(error) = &listening {
        ui.warn(&error.in_one_line());
    }
    let done = converse(app, &mut editor, &mut picker, &mut dialogue);
    let closed = apps::close_all(app);
    say_how_to_resume(app, dialogue.as_ref());
    closed.and(done)
}

/// How the user is told that the chat waits for them.
fn attention(app: &App) -> Attention {
    let (settings, project) = (&app.settings.notifications, &app.settings.project);
    let name = project.file_name().unwrap_or(project.as_os_str());
    Attention {
        signal: settings.signal.value.signal(),
        after: settings.after_secs.value.duration(),
        title: settings
            .title
            .value
            .then(|| name.to_string_lossy().into_owned()),
    }
}

/// Says that the permission file cannot be used: every call would fail.
fn warn_of_permissions(app: &App) {
    if app
        .settings
        .folders
        .permissions_file()
        .symlink_metadata()
        .is_ok()
        && let Err(error) = app.permissions().and_then(|store| Ok(store.list()?))
    {
        app.ui.warn(&error.in_one_line());
    }
}

/// The conversation as inspectors list it.
fn conversation(app: &App, dialogue: Option<&Dialogue>) -> Conversation {
    let configured = || app.settings.agent_entry().ok();
    let agent = match dialogue {
        Some(dialogue) => dialogue.agent().name.clone(),
        None => configured().map_or_else(String::new, |(name, _)| name.to_owned()),
    };
    let model = match dialogue {
        Some(dialogue) => dialogue.model().to_owned(),
        None => {
            configured().map_or_else(String::new, |(_, it)| app.settings.model_of(it).to_owned())
        }
    };
    let session = dialogue.and_then(Dialogue::session);
    Conversation {
        session: app.session_id(),
        agent,
        title: session.map_or_else(String::new, Session::title),
        model,
    }
}

/// Takes turns until the user leaves.
fn converse(
    app: &App,
    editor: &mut LineEditor,
    picker: &mut SessionPicker,
    dialogue: &mut Option<Dialogue>,
) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let mut interrupted_before = false;
    // A line that was left, and not sent.
    let mut unsent: Option<(String, bool)> = None;
    // A plan that the user has not decided about.
    let mut plan: Option<OpenPlan> = None;
    // Whether it was said what a second mark before a command does.
    let mut told_of_marks = false;
    // Whether the messages that are queued are sent now.
    let mut sends = false;
    // The status line as it was shown last.
    let mut status = String::new();
    loop {
        // Nobody reads the output any more: there is nobody to converse with.
        ui.check()?;
        app.shared
            .set_conversation(conversation(app, dialogue.as_ref()));
        editor.know_names(names(app, dialogue.as_ref()));
        editor.show_placeholder(&placeholder(app, dialogue.as_ref()));
        let prompt = &|| {
            if app.pausing.is_prompt_outdated() {
                let mode = escape(&app.pausing.typed()).into_owned();
                let said = format!("pausing set to {mode} from another terminal");
                ui.status(&ui.status_styles().paint(Label::Quiet, &said));
            }
            let waits = app
                .apps
                .made_output()
                .is_some_and(|output| output.begin_reading());
            (!waits).then(|| at_prompt::prompt(app))
        };
        let mut how = How::Typed;
        let length = dialogue.as_ref().map_or(0, |it| it.messages().len());
        let next = match plan.take().filter(|it| it.is_open(app, length)) {
            Some(open) => match mode::ask_about_plan(app, &editor.recall()) {
                Decision::CarryOut(text) => {
                    how = How::MadeHere;
                    Some(text.to_owned())
                }
                Decision::Change(text) => {
                    how = How::Message;
                    Some(text)
                }
                Decision::Command(line) => {
                    plan = Some(open);
                    Some(line)
                }
                Decision::Left(line) => {
                    unsent = (!line.is_empty()).then_some((line, false));
                    sends = false;
                    None
                }
            },
            None => app.pausing.take_deferred(),
        };
        // What stands before it is done first; what is to be sent is not forgotten by that.
        let is_over = next.is_none() && (std::mem::take(&mut sends) | ui.takes_sending());
        let queued = is_over
            .then(|| ui.take_queued(&MessageLines(slash::table())))
            .flatten();
        if queued.is_none() && next.is_none() {
            ui.keep_queued();
        }
        // Text that the user did not type is a message and nothing else: no command, no answer, no mention of a file.
        let (typed, is_foreign) = if let Some(line) = next {
            (Typed::Line(line), false)
        } else if let Some(message) = queued {
            let line = editor.take_over(&message);
            between_turns::show(ui, &at_prompt::prompt(app), &line);
            (Typed::Line(line), false)
        } else {
            match unsent.take() {
                Some((line, is_foreign)) => editor.read_again(ui, prompt, (&line, is_foreign)),
                None => {
                    between_turns::show_status(app, dialogue.as_ref(), &mut status);
                    let early = ui.take_early_typing(&MessageLines(slash::table()));
                    match early.is_sent {
                        true => editor.read_put_back(ui, prompt, &early),
                        // The user is still typing it.
                        false => (editor.read(ui, prompt, &early.text), false),
                    }
                }
            }
        };
        if let Some(output) = app.apps.made_output() {
            output.end_reading();
        }
        if typed == Typed::Woken {
            editor.make_way(ui);
            if let Err(error) = apps::answer(app) {
                report(app, dialogue.as_ref(), &error);
            }
            let line = ui.take_interrupted_line();
            // An empty one makes room for what was typed since.
            unsent = (!line.is_empty()).then_some((line, is_foreign));
            continue;
        }
        // What is paused was changed elsewhere, and the prompt did not say so yet when Enter was pressed.
        let is_outdated = app.pausing.is_prompt_outdated() && matches!(typed, Typed::Line(_));
        if !is_outdated {
            app.pausing.prompt_is_over();
        }
        let line = match typed {
            Typed::Line(line) => line,
            Typed::End => return Ok(Exit::Done),
            Typed::Interrupted if interrupted_before => return Ok(Exit::Done),
            Typed::Interrupted | Typed::Woken => {
                interrupted_before = true;
                ui.status(
                    &ui.status_styles()
                        .paint(Label::Quiet, "Ctrl-C again leaves"),
                );
                continue;
            }
        };
        interrupted_before = false;
        if is_outdated {
            unsent = Some((line, is_foreign));
            continue;
        }
        let is_for_editor = editor.takes_line_to_editor();
        // What the line says to Dunlin is what is seen in it. Folded text is part of a message and nothing else.
        let (whole, pasted) = editor.unfold(&line);
        if is_foreign {
            *picker = SessionPicker::Closed;
            match say_foreign(app, dialogue, editor, &whole, is_for_editor) {
                Ok(Answer::Plan(open)) => plan = Some(open),
                Ok(answer) => sends = answer == Answer::Answered,
                Err(error) => report(app, dialogue.as_ref(), &error),
            }
            continue;
        }
        let input = match (how, slash::table().find(EDIT)) {
            (_, Some(edit)) if is_for_editor => Input::Slash(edit, line.clone()),
            (How::Typed, _) => slash::table().parse(&line),
            (How::Message | How::MadeHere, _) => Input::Message(line.clone()),
        };
        let is_plain = how != How::Typed || is_for_editor;
        let own = OwnCommand::of(&line).filter(|_| !is_plain);
        let is_message = match &input {
            Input::Message(_) => own.is_none(),
            Input::Slash(command, _) => command.name == EDIT && own.is_none(),
            Input::Empty | Input::UnknownSlash { .. } => false,
        };
        if !pasted.is_empty() && !is_message {
            ui.status(paste::NOT_SEEN);
            unsent = Some((line, false));
            continue;
        }
        if how == How::Typed && matches!(input, Input::Message(_)) && only_answers(&line) {
            ui.say_answers_nothing(&line);
            continue;
        }
        if how != How::MadeHere
            && !line.trim().is_empty()
            && let Err(error) = editor.remember(whole.trim_end())
        {
            ui.warn(&format!("the history could not be kept: {error}"));
        }
        let handled = match is_plain || own.is_some() {
            true => {
                *picker = SessionPicker::Closed;
                Ok(Handled::No)
            }
            false => picker.take(app, dialogue, &line),
        };
        let answer = match (handled, own) {
            (Err(error), _) => Err(error),
            (Ok(Handled::Yes), _) => Ok(Answer::Next),
            (Ok(Handled::No), Some(own)) => {
                let says = (attaches(app, dialogue.as_ref()), &mut told_of_marks);
                own_command::run(app, dialogue, &own, says).map(|()| Answer::Next)
            }
            (Ok(Handled::No), None) => respond(app, dialogue, editor, input),
        };
        match answer {
            Ok(Answer::Next) => {}
            Ok(Answer::Answered) => sends = true,
            Ok(Answer::Leave) => return Ok(Exit::Done),
            // What was queued before the plan was seen follows what is said of it, or comes back.
            Ok(Answer::Plan(open)) => plan = Some(open),
            // What fails here concerns this line; the next one may do better.
            Err(error) => report(app, dialogue.as_ref(), &error),
        }
    }
}

/// Shows why a line failed.
fn report(app: &App, dialogue: Option<&Dialogue>, error: &CliError) {
    let ui = &app.ui;
    ui.error(error);
    let messages = dialogue.map_or(&[][..], Dialogue::messages);
    let is_unanswered = messages.last().is_some_and(|it| it.role == Role::User);
    if error.exit() == Exit::Provider && is_unanswered {
        ui.status(&ui.status_styles().paint(Label::Quiet, UNANSWERED));
    }
}

/// Sends a text as a message that the user did not type, after the user has gone on with it in an editor if
/// `is_for_editor`. It is not remembered either: recalled, it would look typed.
fn say_foreign(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    editor: &mut LineEditor,
    text: &str,
    is_for_editor: bool,
) -> Result<Answer, CliError> {
    let text = match is_for_editor {
        true => match compose::write(app, text, true)? {
            Some(text) => {
                show_said(app, &text);
                text
            }
            None => return Ok(Answer::Next),
        },
        false => text.trim_end().to_owned(),
    };
    if text.is_empty() {
        return Ok(Answer::Next);
    }
    // A file that was attached before goes with it.
    let all = 0..text.len();
    take_turn(
        app,
        dialogue,
        editor,
        text.into(),
        Source::Foreign(Some(all)),
    )
}

/// What a line is that is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum How {
    /// Whatever can be typed.
    Typed,
    /// A message, whatever it begins with.
    Message,
    /// A message that Dunlin made and nobody typed.
    MadeHere,
}

/// What follows a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Next,
    /// The user decides about a plan.
    Plan(OpenPlan),
    /// The model has answered, so what was queued meanwhile is sent.
    Answered,
    Leave,
}

fn respond(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    editor: &mut LineEditor,
    input: Input,
) -> Result<Answer, CliError> {
    let next = match input {
        Input::Empty => Next::Prompt,
        // The line is on the screen and in the history already. Nobody saw the files that folded text mentions.
        Input::Message(text) => {
            let (text, pasted) = editor.unfold(&text);
            let said = text.trim_end().to_owned().into();
            return take_turn(app, dialogue, editor, said, Source::Typed(pasted));
        }
        Input::UnknownSlash { word, rest } => send_template::run(app, &word, &rest)?,
        Input::Slash(command, rest) => slash::run(app, dialogue, command, &editor.unfold(&rest).0)?,
    };
    match next {
        Next::Prompt => Ok(Answer::Next),
        Next::Leave => Ok(Answer::Leave),
        Next::Say(text) => {
            show_said(app, &text);
            // What cannot be remembered can still be sent.
            let _ = editor.remember(&text);
            take_turn(
                app,
                dialogue,
                editor,
                text.into(),
                Source::Typed(Vec::new()),
            )
        }
        // With its files, as they were; and what a server wrote can name no files, nor be recalled as one's own.
        Next::AsItIs(said) => {
            show_said(app, &said.text);
            take_turn(app, dialogue, editor, said, Source::Foreign(None))
        }
        Next::Shown(said) => take_turn(app, dialogue, editor, said, Source::Foreign(None)),
    }
}

/// Where a message comes from.
enum Source {
    /// The user typed it; the files that it mentions outside of these ranges, in bytes, are attached to it.
    Typed(Vec<Range<usize>>),
    /// A session file or a server; it mentions no files. With the range of all of it, files that were attached before go
    /// with it.
    Foreign(Option<Range<usize>>),
}

/// Takes a turn with a message.
fn take_turn(
    app: &App,
    dialogue: &mut Option<Dialogue>,
    editor: &mut LineEditor,
    said: UserMessage,
    source: Source,
) -> Result<Answer, CliError> {
    let (pasted, is_foreign) = match source {
        Source::Typed(pasted) => (Some(pasted), false),
        Source::Foreign(all) => (all.map(|all| vec![all]), true),
    };
    let keep = |text: &str| match is_foreign {
        true => app.ui.keep_foreign_for_later(text),
        false => app.ui.keep_message(text),
    };
    let dialogue = match dialogue {
        Some(dialogue) => dialogue,
        none => none.insert(Dialogue::begin(app)?.saved(app)),
    };
    if !choice::may_use_its_own(app, dialogue)? {
        app.ui
            .status("Nothing is sent. /model lists the models and chooses one.");
        keep(&said.text);
        return Ok(Answer::Next);
    }
    let typed = said.text.clone();
    let said = match pasted.filter(|_| dialogue.agent().files) {
        Some(pasted) => tags::attach(app, dialogue, (&typed, &pasted), editor.recall())?,
        None => Some(said),
    };
    if let Some(said) = said {
        if interceptor::may_hold(app) {
            dialogue.keep_unsent(Some(&typed));
        }
        let attached = said.attached.clone();
        let words = said.typed.and_then(|typed| said.text.get(..typed));
        let words = words.unwrap_or(&typed).to_owned();
        let said = apps::with_source(app, dialogue, said)?;
        let report = dialogue.turn(app, said, editor.recall())?;
        let is_taken_back = report.end.is_taken_back();
        if is_taken_back {
            dialogue.keep_unsent(None);
            match &report.end {
                TurnEnd::Refused { media, .. } => {
                    tags::message_is_back(app, dialogue, (&words, &attached), media);
                    keep(&words);
                }
                _ => keep(&typed),
            }
        } else if !is_foreign {
            // The last message of the conversation is the one of this turn.
            dialogue.know_typed();
        }
        let agent = dialogue.agent().name.as_str();
        let is_complete = matches!(report.end, TurnEnd::Answered);
        let is_plan =
            is_complete && app.mode.get() == SessionMode::Plan && modes::has_plan(&report.reply);
        let answer = match is_complete {
            true => Answer::Answered,
            false => Answer::Next,
        };
        let reply = app.settings.app_agents().next().is_some();
        let reply = reply.then(|| report.reply.clone());
        let concluded = conclude(app, report);
        if let Some(reply) = reply {
            let taken = match app.settings.writes_apps(agent) {
                true => apps::take_reply(app, (&typed, &reply), is_complete),
                false => apps::say_not_written(app, agent, &reply),
            };
            if let Err(error) = taken {
                app.ui.error(&error);
            }
        }
        if let (Err(error), true) = (&concluded, is_taken_back) {
            // No message stays in the conversation.
            app.ui.error(error);
            return Ok(Answer::Next);
        }
        concluded?;
        if is_plan {
            let messages = dialogue.messages().len();
            return Ok(Answer::Plan(OpenPlan { messages }));
        }
        return Ok(answer);
    }
    Ok(Answer::Next)
}

/// Shows the first lines of a message that was not typed at the prompt.
fn show_said(app: &App, text: &str) {
    const ROWS: usize = 3;
    let ui = &app.ui;
    let room = ui.window().columns.saturating_sub(4);
    let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    for line in lines.clone().take(ROWS) {
        quiet(&format!("  {}", fit(&escape(line), room)));
    }
    if lines.count() > ROWS {
        quiet("  …");
    }
}

/// Says how the session goes on another time, if anything was said in it.
fn say_how_to_resume(app: &App, dialogue: Option<&Dialogue>) {
    let session = dialogue.and_then(Dialogue::session);
    if let Some(session) = session.filter(|session| session.exists()) {
        let ui = &app.ui;
        let id = session.id();
        let agent = dialogue.map_or("", |dialogue| dialogue.agent().name.as_str());
        let command = match app.settings.is_answered_by_default(agent) {
            true => own_command(&["--resume", &id]),
            false => own_command(&["--agent", agent, "--resume", &id]),
        };
        let text = format!("Resume this session: {command}");
        ui.status(&ui.status_styles().paint(Label::Quiet, &text));
    }
}

fn welcome(app: &App) -> Result<(), CliError> {
    let (ui, settings) = (&app.ui, &app.settings);
    let (_, entry) = settings.agent_entry()?;
    let name = ui.styles().paint(Label::Name, "dunlin");
    let model = escape(settings.model_of(entry));
    let mut project = settings.folders.short(&settings.project);
    if !settings.is_project {
        project.push_str(", not a project");
    }
    let rest = format!(
        " · {model} {} · {}",
        place(&entry.base_url),
        escape(&project)
    );
    let room = terminal::size().0.saturating_sub("dunlin".len() + 1);
    ui.status(&format!("{name}{}", fit(&rest, room)));
    let empty_state = escape(&settings.general.empty_state.value);
    if !empty_state.is_empty() {
        ui.status(&ui.status_styles().paint(Label::Quiet, &empty_state));
    }
    Ok(())
}
