//! Shows a paused request at the prompt, and does what is typed there.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::Tool;

use super::inspecting;
use super::line::{Completion, Recall};
use super::metadata::{self, Answering, Metadata};
use super::slash_table::{Command, Input, METADATA, PAUSE, REQUEST, Waits};
use super::templates;
use crate::app::App;
use crate::config::request_editor::{MetadataField, PauseMode};
use crate::error::CliError;
use crate::inspect::remote_pause::RemotePause;
use crate::pausing::filter::{PauseCandidate, Recipient};
use crate::saved_edits;
use crate::value_in_editor::EditValue;
use dunlin_chat::message::Message;
use dunlin_chat::request::editor::{EditableRequest, SavedEdit};
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::{CancelReason, Interceptor, NextRequest, PausedRequest, Verdict};
use dunlin_terminal::inspector::Closed;
use dunlin_terminal::request::complete::candidates;
use dunlin_terminal::request::paused::{Draft, PROMPT, Paused, Reply};
use dunlin_terminal::request::words;
use dunlin_terminal::ui::wake::TypedSoFar;
use dunlin_terminal::ui::wrap::visible;
use dunlin_terminal::ui::{Typed, Ui};

/// What has to be done before a command that waits.
const FIRST: &str = "send or cancel the request first.";

/// Said where a command that would discard the request was not done.
const STILL_PAUSED: &str = "The request is still paused.";

/// Said where the user did not wait for a command.
const STOPPED: &str = "(interrupted) The request is still paused.";

/// Pauses requests of one turn at the terminal.
pub struct TerminalInterceptor<'a> {
    app: &'a App,
    tools: &'a [Tool],
    recall: Arc<Recall>,
    answering: Answering<'a>,
}

/// What follows a line: the pause is over, or these rows and another line.
type Follow = ControlFlow<Result<(), CancelReason>, Vec<String>>;

impl<'a> TerminalInterceptor<'a> {
    /// An interceptor for one turn. `tools` is what `/tools` lists, `recall` what the line editor knows.
    pub fn new(
        app: &'a App,
        tools: &'a [Tool],
        recall: Arc<Recall>,
        answering: Answering<'a>,
    ) -> Self {
        TerminalInterceptor {
            app,
            tools,
            recall,
            answering,
        }
    }

    /// A request of this turn.
    fn candidate(&self, next: NextRequest) -> PauseCandidate<'a> {
        let agent = self.answering.agent;
        PauseCandidate {
            round: next.round,
            has_new_results: Some(next.has_new_results),
            recipient: Some(Recipient {
                agent: &agent.name,
                model: &agent.model,
            }),
        }
    }

    /// Shows rows, and reads a line below them. What inspectors want done meanwhile is done, and the line goes on, unless
    /// that ends the pause. `None`: it failed, and the request is lost.
    async fn read(
        &self,
        (rows, follows): (&[String], bool),
        paused: Paused,
        remote: &Arc<RemotePause>,
    ) -> Option<(Typed, Paused)> {
        let (ui, recall) = (Arc::clone(&self.app.ui), Arc::clone(&self.recall));
        let (above, remote) = (rows.join("\n"), Arc::clone(remote));
        let work = move || {
            let (paused, typed) = (RefCell::new(paused), TypedSoFar::default());
            let editor = |paste: &_| {
                let request = paused.borrow().request().clone();
                let completion: Completion = Arc::new(move |before| {
                    let fields = MetadataField::ALL.map(MetadataField::as_str);
                    candidates(&request, &fields, before)
                });
                recall.editor_with(Some(completion), typed.clone(), paste)
            };
            let woken = || {
                let rows = rows_of(&remote, &mut paused.borrow_mut(), &ui);
                match remote.is_over() {
                    false => Some((rows.join("\n"), PROMPT)),
                    true => {
                        rows.iter().for_each(|row| ui.status(row));
                        let (before, after) = typed.get();
                        if ui.is_chat() && !(before.is_empty() && after.is_empty()) {
                            ui.keep_for_later(&format!("{before}{after}"));
                        }
                        None
                    }
                }
            };
            let line = ui.ask_line_until_woken(&above, (PROMPT, follows), &typed, editor, woken);
            (line, paused.into_inner())
        };
        tokio::task::spawn_blocking(work).await.ok()
    }

    async fn follow(&self, line: &str, paused: &mut Paused, messages: &[Message]) -> Follow {
        let ui = &self.app.ui;
        let window = ui.window();
        match paused.answer(line, window) {
            Reply::Say(rows) => Follow::Continue(rows),
            Reply::Page(rows) => Follow::Continue(self.page(rows).await),
            Reply::Send => Follow::Break(Ok(())),
            Reply::Cancel => Follow::Break(Err(CancelReason::User)),
            Reply::Edit(draft) => Follow::Continue(self.edit(draft, paused).await),
            Reply::CopyField(name) => {
                let metadata = Metadata::of_paused(self.app, self.answering, paused);
                let said = metadata::copy(self.app, &metadata, &name);
                Follow::Continue(paused.say(&said, window))
            }
            Reply::Copy(text, what) => {
                let said = ui.copy(&text, what, "payload prints the request");
                Follow::Continue(paused.say(&said, window))
            }
            Reply::Save(saved) => {
                let said = templates::save(self.app, &saved);
                Follow::Continue(paused.say(&said, window))
            }
            // It takes the request whole: see `open`.
            Reply::Open => Follow::Continue(Vec::new()),
            Reply::Slash => self.command(line, paused, messages).await,
            Reply::Keep(rows) => {
                if ui.is_chat() {
                    ui.keep_for_later(line);
                }
                Follow::Continue(rows)
            }
        }
    }

    /// `/metadata` of the paused request.
    fn metadata(&self, rest: &str, paused: &Paused) -> Vec<String> {
        let app = self.app;
        let metadata = || Metadata::of_paused(app, self.answering, paused);
        if let Some(name) = rest.strip_prefix(metadata::COPY) {
            let said = metadata::copy(app, &metadata(), name);
            return paused.say(&said, app.ui.window());
        }
        if rest.is_empty() {
            return metadata().rows(&app.metadata_fields());
        }
        match metadata::choose(app, rest) {
            Ok(said) => paused.say(&said, app.ui.window()),
            Err(error) => {
                app.ui.error(&error);
                Vec::new()
            }
        }
    }

    /// Shows rows in the user's pager where they do not fit on the screen; the rows that are still to be shown.
    async fn page(&self, rows: Vec<String>) -> Vec<String> {
        let window = self.app.ui.window();
        let columns = window.columns.max(1);
        let height: usize = rows
            .iter()
            .map(|row| visible(row).div_ceil(columns).max(1))
            .sum();
        if height <= window.rows {
            return rows;
        }
        let pager = match self.app.pager() {
            Ok(pager) => pager,
            Err(error) => {
                self.app.ui.error(&CliError::failed(error));
                return rows;
            }
        };
        let (ui, shown) = (Arc::clone(&self.app.ui), rows.clone());
        let paged = tokio::task::spawn_blocking(move || pager.show(&ui, &shown)).await;
        match paged {
            Ok(Ok(())) => Vec::new(),
            _ => rows,
        }
    }

    /// Has a value edited: a short one in the line, a long one in the user's editor.
    async fn edit(&self, draft: Draft, paused: &mut Paused) -> Vec<String> {
        let window = self.app.ui.window();
        let text = match draft.is_long {
            false => self.edit_line(&draft).await,
            true => match self.edit_file(&draft).await {
                Ok(text) => Some(text),
                Err(problem) => return paused.say(&problem, window),
            },
        };
        match text.filter(|text| *text != draft.now) {
            Some(text) => paused.edited(&draft.edited, &text, window),
            None => paused.say("Nothing is changed.", window),
        }
    }

    async fn edit_line(&self, draft: &Draft) -> Option<String> {
        let ui = Arc::clone(&self.app.ui);
        let (prompt, text) = (format!("  {}: ", draft.path), draft.text.clone());
        let read = move || ui.edit_line("", &prompt, &text);
        match tokio::task::spawn_blocking(read).await {
            Ok(Typed::Line(line)) => Some(line),
            _ => None,
        }
    }

    async fn edit_file(&self, draft: &Draft) -> Result<String, String> {
        let ui = Arc::clone(&self.app.ui);
        let (edit, draft) = (EditValue::of(self.app), draft.clone());
        let work = move || ui.lend(|| edit.run(&draft));
        match tokio::task::spawn_blocking(work).await {
            Ok(edited) => edited.map_err(|error| error.to_string()),
            Err(_) => Err("The editor could not be started.".to_owned()),
        }
    }

    /// Does what inspectors want done, unless the user has ended the pause.
    fn do_remotely(&self, remote: &RemotePause, follow: Follow, paused: &mut Paused) -> Follow {
        let mut rows = match follow {
            Follow::Break(_) => return follow,
            Follow::Continue(rows) => rows,
        };
        rows.extend(rows_of(remote, paused, &self.app.ui));
        match remote.take_verdict() {
            None => Follow::Continue(rows),
            Some(verdict) => {
                for row in rows {
                    self.app.ui.status(&row);
                }
                Follow::Break(verdict)
            }
        }
    }

    /// Shows the request on the whole screen until that is left.
    async fn open(
        &self,
        paused: Paused,
        remote: &Arc<RemotePause>,
    ) -> Result<(Paused, Follow), CancelReason> {
        let window = self.app.ui.window();
        if !self.app.ui.has_full_screen() {
            let rows = paused.say(inspecting::NO_SCREEN, window);
            return Ok((paused, Follow::Continue(rows)));
        }
        let opened = inspecting::paused(self.app, self.answering, paused, Arc::clone(remote)).await;
        let (paused, closed) = opened.ok_or(CancelReason::User)?;
        if let Some(verdict) = remote.take_verdict() {
            let done = match verdict {
                Ok(()) => "sent",
                Err(_) => "cancelled",
            };
            self.app
                .ui
                .status(&format!("  {done} from another terminal"));
            return Ok((paused, Follow::Break(verdict)));
        }
        let follow = match closed {
            Ok(Closed::Send) => Follow::Break(Ok(())),
            Ok(Closed::Cancel) => Follow::Break(Err(CancelReason::User)),
            Ok(Closed::Closed) => Follow::Continue(paused.open(window)),
            Err(source) => {
                let error = CliError::failed(inspecting::NoInspector { source });
                self.app.ui.error(&error);
                Follow::Continue(Vec::new())
            }
        };
        Ok((paused, follow))
    }

    /// Whether the user wants a command that begins another context, also where edits are lost with the request. The command
    /// itself asks nothing any more then.
    async fn agrees_to_lose(&self, command: &Command, paused: &Paused) -> bool {
        let edits = match paused.edits() {
            0 => String::new(),
            1 => "The request has 1 edit, which would be lost. ".to_owned(),
            edits => format!("The request has {edits} edits, which would be lost. "),
        };
        let question = match command.confirms {
            Some(question) => format!("{edits}{question}"),
            _ if edits.is_empty() => return true,
            _ => format!("{edits}Continue?"),
        };
        let ui = Arc::clone(&self.app.ui);
        let asked = tokio::task::spawn_blocking(move || ui.confirms(&question)).await;
        asked.unwrap_or(false)
    }

    /// A command that begins another context, in which the request means nothing.
    async fn leave(
        &self,
        line: &str,
        (command, rest): (&Command, &str),
        paused: &Paused,
        messages: &[Message],
    ) -> Follow {
        let app = self.app;
        let window = app.ui.window();
        let agent = self.answering.agent;
        let refusal = app.commands.refusal(app, agent, messages, (command, rest));
        match app.aside.wait(refusal).await {
            Some(Ok(None)) => {}
            Some(Ok(Some(sentence))) => return Follow::Continue(paused.say(&sentence, window)),
            None => return Follow::Continue(paused.say(STOPPED, window)),
            Some(Err(error)) => {
                app.ui.error(&error);
                return Follow::Continue(paused.say(STILL_PAUSED, window));
            }
        }
        if !self.agrees_to_lose(command, paused).await {
            return Follow::Continue(paused.say(STILL_PAUSED, window));
        }
        app.pausing.defer(line);
        Follow::Break(Err(CancelReason::ContextChanged))
    }

    async fn command(&self, line: &str, paused: &Paused, messages: &[Message]) -> Follow {
        let app = self.app;
        let window = app.ui.window();
        let again = || Follow::Continue(paused.open(window));
        match app.commands.table().parse(line) {
            Input::Slash(command, rest) if command.name == METADATA => {
                Follow::Continue(self.metadata(&rest, paused))
            }
            Input::Slash(command, rest) if app.ui.is_chat() && command.leaves(&rest) => {
                self.leave(line, (command, &rest), paused, messages).await
            }
            Input::Slash(command, rest) if command.lists(&rest) => {
                let listed = app.commands.list(app, self.answering.agent, command);
                match app.aside.wait(listed).await {
                    Some(Ok(())) => {}
                    Some(Err(error)) => app.ui.error(&error),
                    None => return Follow::Continue(paused.say(STOPPED, window)),
                }
                again()
            }
            Input::Slash(command, rest) => {
                if matches!(command.waits, Waits::Always(_)) {
                    let sentence = format!("{} has to wait: {FIRST}", command.name);
                    return Follow::Continue(paused.say(&sentence, window));
                }
                if let Err(error) = app
                    .commands
                    .while_waiting(app, messages, self.tools, command, &rest)
                {
                    app.ui.error(&error);
                }
                match (command.name, app.pausing.mode()) {
                    (PAUSE, PauseMode::Off) if rest == PauseMode::Off.as_str() => {
                        Follow::Break(Err(CancelReason::ModeOff))
                    }
                    _ if command.prints_own_words => Follow::Continue(Vec::new()),
                    _ => again(),
                }
            }
            Input::UnknownSlash { word, .. } => {
                let sentence = templates::has_to_wait(app, &word, FIRST);
                Follow::Continue(paused.say(&sentence, window))
            }
            // A path, or several lines: a message.
            Input::Empty | Input::Message(_) => {
                if app.ui.is_chat() {
                    app.ui.keep_for_later(line);
                }
                let sentence = "That is not a word of the request editor; the text is kept for your next message.";
                Follow::Continue(paused.say(sentence, window))
            }
        }
    }
}

/// Does what inspectors want done; what to say of it.
fn rows_of(remote: &RemotePause, paused: &mut Paused, ui: &Ui) -> Vec<String> {
    let said = remote.run(paused);
    let window = ui.window();
    let rows = said.iter().flat_map(|said| paused.say(said, window));
    rows.collect()
}

/// Whether a line is `/request`.
fn is_request(line: &str) -> bool {
    line.trim() == REQUEST
}

/// Whether the first request of the next message may be held: its message is kept, in case that it is never sent.
pub fn may_hold(app: &App) -> bool {
    let first = PauseCandidate {
        round: 1,
        has_new_results: None,
        recipient: None,
    };
    app.pausing.pauses(first) || app.pausing.mode() == PauseMode::Auto
}

impl TerminalInterceptor<'_> {
    /// Does what is saved; the edits with their scope and age. `false`: a request that misses some of them, or may do so, must not be sent unseen.
    fn apply_saved(&self, request: &mut PausedRequest<'_>) -> (bool, Vec<(SavedEdit, String)>) {
        let ui = &self.app.ui;
        let applied = match saved_edits::apply(self.app, request) {
            Ok(applied) => applied,
            Err(error) => {
                let error = CliError::failed(error).in_one_line();
                request.notice = Some(format!("Saved edits are not applied: {error}"));
                return (false, Vec::new());
            }
        };
        if applied.done > 0 {
            let edits = counted(applied.done, "saved edit", "saved edits");
            ui.status(&format!("  · {edits} applied to this request"));
        }
        for edit in applied.left_out {
            ui.warn(&format!(
                "a saved edit is not applied: {edit}; /auto lists the saved edits"
            ));
        }
        if applied.has_lost {
            let lost = "A saved edit could not be applied, so the request is paused. What you edit now is for this \
                        request only. /auto lists the saved edits, /auto remove N removes one, and /auto capture \
                        saves new ones from the next message.";
            let notices = request.notice.take().into_iter();
            let notices: Vec<String> = notices.chain([lost.to_owned()]).collect();
            request.notice = Some(notices.join(" "));
        }
        (!applied.has_lost, applied.kept)
    }

    fn keep_edits(&self, request: &EditableRequest, applied: &[SavedEdit]) {
        self.app.pausing.capture(false);
        if request.to_save() == applied {
            return;
        }
        match saved_edits::keep(self.app, request, applied) {
            Ok(said) => self.app.ui.status(&format!("  {said}")),
            Err(error) => {
                let error = CliError::failed(error).in_one_line();
                self.app.ui.warn(&error);
            }
        }
    }
}

#[async_trait(?Send)]
impl Interceptor for TerminalInterceptor<'_> {
    fn pauses(&self, next: NextRequest) -> bool {
        self.app.pausing.pauses(self.candidate(next))
            || next.round == 1 && saved_edits::is_capturing(self.app)
    }

    fn revises(&self) -> bool {
        self.app.pausing.mode() == PauseMode::Auto
    }

    fn left_out_tools(&self) -> Vec<String> {
        if !self.revises() {
            return Vec::new();
        }
        // Where they cannot be read, the request is paused.
        saved_edits::left_out_tools(self.app).unwrap_or_default()
    }

    async fn review(&self, mut request: PausedRequest<'_>) -> Verdict {
        let pauses = request.must_pause;
        let captures = request.round == 1 && saved_edits::is_capturing(self.app);
        let (is_whole, saved) = match self.revises() {
            true => self.apply_saved(&mut request),
            false => (true, Vec::new()),
        };
        let applied = match captures {
            true => request.request.to_save(),
            false => Vec::new(),
        };
        let (messages, round) = (request.messages, request.round);
        let paused = Paused::new(request).with_saved(saved);
        let mut paused = paused.with_pins(self.app.pausing.pins());
        if !pauses && is_whole && paused.problem().is_none() {
            return Verdict::Send(Box::new(paused.into_request()));
        }
        if captures {
            let limit = usize::from(self.app.preview_limit.get());
            paused.capture(limit.max(1));
        }
        let begun = self
            .app
            .pausing
            .begin(self.candidate(NextRequest::new(round, messages)));
        let remote = Arc::new(RemotePause::new(&self.app.shared, &paused));
        let mut rows = paused.open(self.app.ui.window());
        // What was typed before the request was on the screen is not about it.
        let mut follows = false;
        loop {
            let read = self.read((&rows, follows), paused, &remote).await;
            let Some((line, left)) = read else {
                return Verdict::Cancel(CancelReason::User);
            };
            paused = left;
            follows = true;
            let mut follow = match line {
                Typed::Interrupted | Typed::End => return Verdict::Cancel(CancelReason::User),
                Typed::Woken => Follow::Continue(Vec::new()),
                Typed::Line(line)
                    if words::parse(&line) == Ok(words::Command::Open) || is_request(&line) =>
                {
                    match self.open(paused, &remote).await {
                        Ok((left, follow)) => {
                            paused = left;
                            follow
                        }
                        Err(reason) => return Verdict::Cancel(reason),
                    }
                }
                Typed::Line(line) => self.follow(&line, &mut paused, messages).await,
            };
            follow = self.do_remotely(&remote, follow, &mut paused);
            self.app.pausing.set_pins(paused.pins());
            match follow {
                Follow::Break(Ok(())) => {
                    begun.sent();
                    remote.sent();
                    let request = paused.into_request();
                    if captures {
                        self.keep_edits(&request, &applied);
                    }
                    return Verdict::Send(Box::new(request));
                }
                Follow::Break(Err(reason)) => return Verdict::Cancel(reason),
                Follow::Continue(next) => rows = next,
            }
        }
    }
}
