//! Waits for decisions about calls at the prompt, where everything else that can be typed works, too.

use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::Tool;
use dunlin_host::display::escape;
use dunlin_host::permission::ToolMode;

use super::approval_queue::{ApprovalQueue, Begun, Reply as QueuedReply};
use super::line::Recall;
use super::slash_table::{ALLOW, ASK, FORGET, Input, NEXT, PERMISSIONS, TOOLS};
use super::templates;
use crate::app::App;
use crate::error::CliError;
use crate::inspect::shared_state::WAKE_AGAIN;
use dunlin_chat::message::Conversation;
use dunlin_chat::turn::{Approver, Choice, Resolution, Waiting};
use dunlin_terminal::approval::editor::{ARGUMENTS, Edited, pretty, understand};
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::look::{MARGIN, fits};
use dunlin_terminal::approval::pending::{PendingApprovals, Reply};
use dunlin_terminal::editor;
use dunlin_terminal::ui::Typed;
use dunlin_terminal::ui::wake::TypedSoFar;
use dunlin_terminal::ui::wrap;

/// Shows what waits in the queue, and reads the answers.
pub struct TerminalApprover<'a> {
    app: &'a App,
    tools: &'a [Tool],
    recall: Arc<Recall>,
    queue: Arc<ApprovalQueue>,
}

impl<'a> TerminalApprover<'a> {
    /// For one turn with its subagents. `tools` is what `/tools` lists, `recall` what the line editor knows.
    pub fn new(app: &'a App, tools: &'a [Tool], recall: Arc<Recall>) -> Self {
        TerminalApprover {
            app,
            tools,
            recall,
            queue: Arc::default(),
        }
    }

    /// Where everything waits that it asks about.
    pub fn queue(&self) -> &Arc<ApprovalQueue> {
        &self.queue
    }

    /// Has the user decide about whatever waits. Never ends; to be polled beside the turn.
    pub async fn serve(&self) -> Infallible {
        loop {
            self.queue.waits().await;
            self.converse().await;
        }
    }

    /// Asks until something is decided, or nothing waits any more.
    async fn converse(&self) {
        let _line = self.queue.line.lock().await;
        let mut rows = self.queue.state().open(self.app.ui.window());
        loop {
            let resolution = match self.read(&rows).await {
                Typed::Line(line) => match self.follow(&line).await {
                    ControlFlow::Break(resolution) => resolution,
                    ControlFlow::Continue(next) => {
                        rows = next;
                        // A command may have ended what waits.
                        tokio::task::yield_now().await;
                        let mut state = self.queue.state();
                        if state.is_empty() {
                            return;
                        }
                        if state.is_outdated() {
                            rows = state.open(self.app.ui.window());
                        }
                        continue;
                    }
                },
                // Nothing waits any more.
                Typed::Woken => return,
                Typed::End | Typed::Interrupted => Resolution::Stop,
            };
            if !self.queue.resolve(&resolution) {
                self.app.ui.interrupt_turn();
            }
            return;
        }
    }

    /// Shows rows, and reads a line below them. What waits from then on is shown above it, and the line goes on.
    async fn read(&self, rows: &[String]) -> Typed {
        let (ui, recall, queue) = (
            Arc::clone(&self.app.ui),
            Arc::clone(&self.recall),
            Arc::clone(&self.queue),
        );
        let (above, prompt) = (rows.join("\n"), self.queue.state().approvals.prompt());
        let work = move || {
            let typed = TypedSoFar::default();
            let editor = |paste: &_| recall.editor_with(None, typed.clone(), paste);
            let woken = || {
                let mut state = queue.state();
                let rows = state.open(ui.window());
                let (before, after) = typed.get();
                let line = format!("{before}{after}");
                let is_over = state.is_empty();
                match Begun::of(&line, is_over) {
                    Begun::Dropped => typed.set("", 0),
                    Begun::IsForLater if ui.is_chat() => ui.keep_for_later(&line),
                    Begun::IsForLater | Begun::Stays => {}
                }
                (!is_over).then(|| (rows.join("\n"), state.approvals.prompt()))
            };
            ui.ask_line_until_woken(&above, (prompt, false), &typed, editor, woken)
        };
        let mut reading = tokio::task::spawn_blocking(work);
        loop {
            tokio::select! {
                // A panic while reading ends the turn.
                typed = &mut reading => return typed.unwrap_or(Typed::End),
                () = self.queue.is_outdated() => {
                    self.app.ui.wake();
                    tokio::time::sleep(WAKE_AGAIN).await;
                }
            }
        }
    }

    /// What follows a line: the waiting is over, or other rows and another line.
    async fn follow(&self, line: &str) -> ControlFlow<Resolution, Vec<String>> {
        let ui = &self.app.ui;
        let window = ui.window();
        let reply = self.queue.state().approvals.answer(line, window);
        match reply {
            Reply::Say(rows) => ControlFlow::Continue(rows),
            Reply::View(rows, sentence) => {
                let mut rows = match fits(&rows, window) {
                    true => rows,
                    false => self.page(rows).await,
                };
                let room = window.columns.saturating_sub(MARGIN.len() + 1);
                let sentence = sentence.map_or_else(Vec::new, |text| wrap::rows(&text, room));
                rows.extend(sentence.into_iter().map(|row| format!("{MARGIN}{row}")));
                rows.push(self.queue.state().approvals.key(window));
                ControlFlow::Continue(rows)
            }
            Reply::Resolve(rows, resolution) => {
                for row in rows {
                    ui.status(&row);
                }
                ControlFlow::Break(resolution)
            }
            Reply::Keep(mut rows) => {
                if ui.is_chat() {
                    ui.keep_for_later(line);
                    let note = "The text is kept for your next message.";
                    rows.extend(PendingApprovals::aside(note, window));
                }
                ControlFlow::Continue(rows)
            }
            Reply::Tools(tools, mode) => {
                let Ok(host) = self.app.host() else {
                    return ControlFlow::Continue(self.queue.state().approvals.again(window));
                };
                for tool in tools {
                    host.permissions().set_tool_mode(&tool, mode);
                    let undo = match mode {
                        ToolMode::Prompt => String::new(),
                        _ => format!("\nUndo: /tools {} prompt", escape(&tool)),
                    };
                    let tool = escape(&tool);
                    ui.say_stored(&format!(
                        "Until the session ends: {tool} is set to {mode}.{undo}"
                    ));
                }
                ControlFlow::Break(Resolution::Reconsider)
            }
            Reply::Slash => self.command(line),
            Reply::Edit(number) => self.edit(number).await,
        }
    }

    /// Shows rows in the user's pager; the rows that follow, without the key. Where there is none, they are printed.
    async fn page(&self, rows: Vec<String>) -> Vec<String> {
        let ui = Arc::clone(&self.app.ui);
        let pager = match self.app.pager() {
            Ok(pager) => pager,
            Err(error) => {
                ui.error(&CliError::failed(error));
                return rows;
            }
        };
        let shown = rows.clone();
        let paged = tokio::task::spawn_blocking(move || pager.show(&ui, &shown)).await;
        match paged {
            Ok(Ok(())) => self.queue.state().approvals.list(self.app.ui.window()),
            _ => rows,
        }
    }

    fn command(&self, line: &str) -> ControlFlow<Resolution, Vec<String>> {
        let ui = &self.app.ui;
        // What a command prints may be the model's, and look like a question.
        let again =
            || ControlFlow::Continue(self.queue.state().approvals.after_command(ui.window()));
        match self.app.commands.table().parse(line) {
            Input::Slash(command, rest) => {
                // What a command allows may be what waits.
                let words: Vec<&str> = rest.split_whitespace().collect();
                let allows = match (command.name, words.as_slice()) {
                    (TOOLS, [tool, mode]) if *mode == ToolMode::Always.as_str() => {
                        Some(Some(*tool))
                    }
                    // Taking a no back allows, too.
                    (PERMISSIONS, [ALLOW | ASK | FORGET, ..]) => Some(None),
                    _ => None,
                };
                let state = || self.queue.state();
                let refused =
                    allows.and_then(|tool| state().approvals.refuses_to_allow(tool, ui.window()));
                if let Some(rows) = refused {
                    return ControlFlow::Continue(rows);
                }
                let messages = Arc::clone(&self.queue.state().messages);
                let looked = self
                    .app
                    .commands
                    .while_waiting(self.app, &messages, self.tools, command, &rest);
                match looked {
                    Ok(false) => again(),
                    Ok(true) => ControlFlow::Break(Resolution::Reconsider),
                    Err(error) => {
                        ui.error(&error);
                        again()
                    }
                }
            }
            Input::UnknownSlash { word, .. } => {
                ui.status(&templates::has_to_wait(self.app, &word, NEXT));
                again()
            }
            // A path, or several lines: a message.
            Input::Empty | Input::Message(_) => {
                if ui.is_chat() {
                    ui.keep_for_later(line);
                }
                let sentence = "That is not an answer; the text is kept for your next message.";
                let reply = self
                    .queue
                    .state()
                    .approvals
                    .say([sentence.to_owned()], ui.window());
                match reply {
                    Reply::Say(rows) => ControlFlow::Continue(rows),
                    _ => again(),
                }
            }
        }
    }

    /// Has the arguments of a call edited. What cannot be used is kept, and opened the next time.
    async fn edit(&self, number: usize) -> ControlFlow<Resolution, Vec<String>> {
        let ui = Arc::clone(&self.app.ui);
        let say = |sentence: String| {
            let reply = self
                .queue
                .state()
                .approvals
                .say([sentence], self.app.ui.window());
            match reply {
                Reply::Say(rows) => ControlFlow::Continue(rows),
                _ => ControlFlow::Continue(Vec::new()),
            }
        };
        let Some(entry) = self.queue.state().approvals.entry(number).cloned() else {
            return say("That call is not pending any more.".to_owned());
        };
        let draft = self.queue.state().approvals.drafts.get(&number).cloned();
        let text = draft.unwrap_or_else(|| pretty(&entry.question.arguments));
        let settings = &self.app.settings;
        let program = self.app.editor();
        let folder = settings.folders.data.clone();
        let variables = self.app.replaced();
        let work =
            move || ui.lend(|| editor::edit(&program?, &variables, &folder, ARGUMENTS, &text));
        let text = match tokio::task::spawn_blocking(work).await {
            Ok(Ok(edited)) => edited.text,
            Ok(Err(error)) => return say(error.to_string()),
            Err(_) => return say("The editor could not be started.".to_owned()),
        };
        match understand(&text, &entry.question.arguments) {
            Edited::Arguments(arguments) => {
                self.queue.state().approvals.drafts.remove(&number);
                let decision = entry.decide(Choice::Edit(arguments), None);
                ControlFlow::Break(Resolution::Decided(vec![decision]))
            }
            Edited::Unchanged => {
                self.queue.state().approvals.drafts.remove(&number);
                // Whoever empties the file gives up, and need not have read it.
                if !text.trim().is_empty() {
                    let window = self.app.ui.window();
                    self.queue.state().approvals.was_read(number, window);
                }
                let mut rows = vec![format!("{MARGIN}The arguments are unchanged.")];
                let state = self.queue.state();
                rows.extend(state.approvals.question_again(number, self.app.ui.window()));
                ControlFlow::Continue(rows)
            }
            Edited::Broken(problem) => {
                self.queue.state().approvals.drafts.insert(number, text);
                say(format!(
                    "The arguments cannot be used: {problem}; e opens them as you left them."
                ))
            }
        }
    }
}

/// Puts the calls of a turn into the queue before they run.
pub struct QueueApprover<'a> {
    app: &'a App,
    queue: Arc<ApprovalQueue>,
    /// No other has this number.
    turn: u64,
    /// Whose turn it is, if it is a subagent's.
    subagent: Option<String>,
}

impl<'a> QueueApprover<'a> {
    /// For the turn with this number.
    pub fn new(
        app: &'a App,
        queue: &Arc<ApprovalQueue>,
        turn: u64,
        subagent: Option<String>,
    ) -> Self {
        QueueApprover {
            app,
            queue: Arc::clone(queue),
            turn,
            subagent,
        }
    }
}

#[async_trait(?Send)]
impl Approver for QueueApprover<'_> {
    /// Dropping the future withdraws the question.
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution {
        if self.subagent.is_none() {
            self.begins_to_run(waiting.conversation);
        }
        let reply = QueuedReply {
            turn: self.turn,
            first: waiting.calls.first().map_or(0, |call| call.number as u64),
        };
        let entries = waiting.open().map(|call| {
            let mut entry = Entry::of(call);
            entry.mode = self.app.tool_mode(&call.call.tool);
            entry.subagent.clone_from(&self.subagent);
            entry
        });
        let resolution = self.queue.decide(reply, entries.collect()).await;
        // The conversation goes on, and a copy of it would be made.
        if self.subagent.is_none() {
            self.queue.state().messages = Arc::default();
        }
        resolution
    }

    fn begins_to_run(&self, conversation: &Conversation) {
        if self.subagent.is_none() {
            self.queue.state().messages = conversation.snapshot();
        }
    }
}
