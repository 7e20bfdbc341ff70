//! Waits for decisions about calls at the prompt, where everything else that can be typed works, too.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use async_trait::async_trait;
use dunlin_host::Tool;
use dunlin_host::display::escape;
use dunlin_host::permission::ToolMode;

use super::accepting;
use super::line::Recall;
use super::slash_table::{self, Input, NEXT, Slash};
use super::templates;
use crate::app::App;
use crate::error::CliError;
use dunlin_chat::turn::{Approver, Choice, Resolution, Waiting};
use dunlin_terminal::approval::editor::{ARGUMENTS, Edited, pretty, understand};
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::look::{MARGIN, height};
use dunlin_terminal::approval::pending::{PendingApprovals, Reply};
use dunlin_terminal::editor;
use dunlin_terminal::ui::Typed;
use dunlin_terminal::ui::wrap;

/// How many rows stand below a view: a sentence, the key and the line to answer in.
const ROWS_BELOW: usize = 4;

/// Asks at the terminal before calls run.
pub struct TerminalApprover<'a> {
    app: &'a App,
    tools: &'a [Tool],
    recall: Arc<Recall>,
    /// Never borrowed while anything is waited for.
    approvals: RefCell<PendingApprovals>,
}

impl<'a> TerminalApprover<'a> {
    /// An approver for one turn. `tools` is what `/tools` lists, `recall` what the line editor knows.
    pub fn new(app: &'a App, tools: &'a [Tool], recall: Arc<Recall>) -> Self {
        TerminalApprover {
            app,
            tools,
            recall,
            approvals: RefCell::default(),
        }
    }

    /// Shows rows, and reads a line below them.
    async fn read(&self, rows: &[String]) -> Typed {
        let (ui, recall) = (Arc::clone(&self.app.ui), Arc::clone(&self.recall));
        let (above, prompt) = (rows.join("\n"), self.approvals.borrow().prompt());
        let read = move || ui.ask_line_with(&above, prompt, |paste| recall.editor(paste));
        let typed = tokio::task::spawn_blocking(read).await;
        // A panic while reading ends the turn.
        typed.unwrap_or(Typed::End)
    }

    /// What follows a line: the waiting is over, or other rows and another line.
    async fn follow(
        &self,
        line: &str,
        waiting: Waiting<'_>,
    ) -> ControlFlow<Resolution, Vec<String>> {
        let ui = &self.app.ui;
        let window = ui.window();
        let reply = self.approvals.borrow_mut().answer(line, window);
        match reply {
            Reply::Say(rows) => ControlFlow::Continue(rows),
            Reply::View(rows, sentence) => {
                // The key and the line to answer in stand below them, and perhaps a sentence.
                let taken: usize = rows.iter().map(|row| height(row, window)).sum();
                let mut rows = match taken + ROWS_BELOW > window.rows {
                    true => self.page(rows).await,
                    false => rows,
                };
                let room = window.columns.saturating_sub(MARGIN.len() + 1);
                let sentence = sentence.map_or_else(Vec::new, |text| wrap::rows(&text, room));
                rows.extend(sentence.into_iter().map(|row| format!("{MARGIN}{row}")));
                rows.push(self.approvals.borrow().key(window));
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
                    let note = "The text is back in the input line after these calls.";
                    // Before the key.
                    let key = rows.len().saturating_sub(1);
                    rows.splice(key..key, PendingApprovals::aside(note, window));
                }
                ControlFlow::Continue(rows)
            }
            Reply::Tools(tools, mode) => {
                let Ok(host) = self.app.host() else {
                    return ControlFlow::Continue(self.approvals.borrow().again(window));
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
            Reply::Slash => self.command(line, waiting),
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
            Ok(Ok(())) => self.approvals.borrow().list(self.app.ui.window()),
            _ => rows,
        }
    }

    fn command(&self, line: &str, waiting: Waiting<'_>) -> ControlFlow<Resolution, Vec<String>> {
        let ui = &self.app.ui;
        // What a command prints may be the model's, and look like a question.
        let again = || ControlFlow::Continue(self.approvals.borrow_mut().show_again(ui.window()));
        match slash_table::parse(line) {
            Input::Slash(command, rest) => {
                if command == Slash::Tools
                    && let [tool, mode] = *rest.split_whitespace().collect::<Vec<_>>()
                    && mode == ToolMode::Always.to_string()
                    && let Some(rows) = self
                        .approvals
                        .borrow_mut()
                        .refuses_always(tool, ui.window())
                {
                    return ControlFlow::Continue(rows);
                }
                let messages = waiting.conversation.messages();
                let looked = self
                    .app
                    .commands
                    .while_waiting(self.app, messages, self.tools, command, &rest);
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
                let sentence =
                    "That is not an answer; the text is back in the input line after these calls.";
                let reply = self
                    .approvals
                    .borrow()
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
                .approvals
                .borrow()
                .say([sentence], self.app.ui.window());
            match reply {
                Reply::Say(rows) => ControlFlow::Continue(rows),
                _ => ControlFlow::Continue(Vec::new()),
            }
        };
        let Some(entry) = self.approvals.borrow().entry(number).cloned() else {
            return say("That call is not pending any more.".to_owned());
        };
        let draft = self.approvals.borrow().drafts.get(&number).cloned();
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
                self.approvals.borrow_mut().drafts.remove(&number);
                let decision = entry.decide(Choice::Edit(arguments), None);
                ControlFlow::Break(Resolution::Decided(vec![decision]))
            }
            Edited::Unchanged => {
                self.approvals.borrow_mut().drafts.remove(&number);
                // Whoever empties the file gives up, and need not have read it.
                if !text.trim().is_empty() {
                    let window = self.app.ui.window();
                    self.approvals.borrow_mut().was_read(number, window);
                }
                let mut rows = vec![format!("{MARGIN}The arguments are unchanged.")];
                let approvals = self.approvals.borrow();
                rows.extend(approvals.question_again(number, self.app.ui.window()));
                ControlFlow::Continue(rows)
            }
            Edited::Broken(problem) => {
                self.approvals.borrow_mut().drafts.insert(number, text);
                say(format!(
                    "The arguments cannot be used: {problem}; e opens them as you left them."
                ))
            }
        }
    }
}

#[async_trait(?Send)]
impl Approver for TerminalApprover<'_> {
    /// Dropping the future withdraws the question; the line on the screen then answers nothing any more.
    async fn decide(&self, waiting: Waiting<'_>) -> Resolution {
        if self.app.accepts_edits.load(Ordering::Relaxed) {
            let project = &self.app.settings.project;
            let decisions = accepting::decisions(waiting, project);
            if !decisions.is_empty() {
                return Resolution::Decided(decisions);
            }
        }
        let reply = waiting.calls.first().map_or(0, |call| call.number);
        let entries = waiting.open().map(|call| {
            let mut entry = Entry::of(call);
            entry.mode = self.app.tool_mode(&call.call.tool);
            entry
        });
        let window = self.app.ui.window();
        let mut rows = self
            .approvals
            .borrow_mut()
            .open(reply, entries.collect(), window);
        loop {
            let Typed::Line(line) = self.read(&rows).await else {
                return Resolution::Stop;
            };
            match self.follow(&line, waiting).await {
                ControlFlow::Break(resolution) => return resolution,
                ControlFlow::Continue(next) => rows = next,
            }
        }
    }
}
