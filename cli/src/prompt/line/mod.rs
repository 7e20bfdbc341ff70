//! The line editor of the prompt: what Enter, Tab and Ctrl-C mean there, and the history.

mod helper;
mod keys;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_host::display::{escape, escape_multiline};
use dunlin_host::files::make_private;
use dunlin_host::permission::ModeSwitch;
use dunlin_terminal::ui::keys::{EarlyLines, SEQUENCE_MILLIS};
use dunlin_terminal::ui::legible::COLOR_MODE;
use dunlin_terminal::ui::line_paste::LinePaste;
use dunlin_terminal::ui::newline;
use dunlin_terminal::ui::read_answer::{clear_with_escape, no_key_waits};
use dunlin_terminal::ui::style::{Label, Styles};
use dunlin_terminal::ui::wake::TypedSoFar;
use dunlin_terminal::ui::{EarlyText, Typed, Ui, terminal};
use rustyline::history::{FileHistory, History, MemHistory};
use rustyline::{Cmd, Config, Editor, Event, Helper, KeyCode, KeyEvent, Modifiers};

pub use self::helper::Completion;
use self::helper::LineHelper;
use self::keys::{AnyKey, clear_line};
use super::complete::Names;
use super::files::FileIndex;
use super::own_command::OwnCommand;
use super::paste::Pastes;
use super::put_back::PutBack;
use super::slash_table::{Input, SlashTable};
use super::steps;
use super::templates::SlashNames;
use crate::config::paths::Folders;
use crate::pausing::Pausing;
use crate::templates::Places;

/// How many messages are remembered between sessions.
const MAX_HISTORY_ENTRIES: usize = 1000;

/// The longest message that is remembered, in bytes: a pasted file is not worth recalling, and start-up
/// reads all of it.
const MAX_ENTRY_BYTES: usize = 4 * 1024;

/// The largest history that is read, in bytes: what a thousand of the longest entries come to, escaped.
const MAX_HISTORY_BYTES: u64 = (MAX_HISTORY_ENTRIES * MAX_ENTRY_BYTES * 2) as u64;

/// Which lines that were typed before the prompt are commands, and where messages end.
pub struct MessageLines(pub SlashTable);

impl EarlyLines for MessageLines {
    fn is_alone(&self, line: &str) -> bool {
        let is_slash = matches!(
            self.0.parse(line),
            Input::Slash(..) | Input::UnknownSlash { .. }
        );
        is_slash || OwnCommand::of(line).is_some()
    }

    fn is_complete(&self, lines: &str) -> bool {
        helper::is_complete(lines.trim_end_matches('\n'))
    }
}

/// The editor with its history file.
pub struct LineEditor {
    editor: Editor<LineHelper, FileHistory>,
    commands: SlashTable,
    history: PathBuf,
    /// Whose steps Ctrl-V turns on and off.
    ui: Option<Arc<Ui>>,
    /// Whether the line was left for an editor of texts.
    to_editor: Arc<AtomicBool>,
    /// What was put back into the line.
    early: Arc<PutBack>,
    /// What was pasted into the line.
    pastes: Arc<Pastes>,
    /// What was typed in the line so far.
    typed: TypedSoFar,
    /// What Shift+Tab changes.
    mode: Option<ModeSwitch>,
}

impl LineEditor {
    /// Makes the editor and reads the history. A history that cannot be read is an empty one.
    ///
    /// `is_project`: whether the files of `project` are looked for, to complete their names.
    pub fn new(
        folders: &Folders,
        (project, is_project): (&Path, bool),
        commands: SlashTable,
        styles: Styles,
    ) -> rustyline::Result<LineEditor> {
        let config = Config::builder()
            .max_history_size(MAX_HISTORY_ENTRIES)?
            .history_ignore_space(true)
            .history_ignore_dups(true)?
            .auto_add_history(false)
            .keyseq_timeout(Some(SEQUENCE_MILLIS))
            .completion_type(rustyline::CompletionType::List)
            .color_mode(COLOR_MODE)
            .build();
        let history = FileHistory::with_config(&config);
        let mut editor = Editor::with_history(config, history)?;
        let early = Arc::<PutBack>::default();
        let pastes = Arc::<Pastes>::default();
        let typed = TypedSoFar::default();
        editor.set_helper(Some(LineHelper {
            styles,
            project: project.to_path_buf(),
            home: folders.home.clone(),
            names: Names::default(),
            files: FileIndex::new(project, is_project),
            slash: SlashNames {
                commands,
                places: Places::new(folders, (project, is_project)),
            },
            placeholder: String::new(),
            early: Arc::clone(&early),
            pastes: Arc::clone(&pastes),
            prompt: String::new(),
            drawn: Arc::default(),
            completion: None,
            typed: typed.clone(),
        }));
        let to_editor = Arc::new(AtomicBool::new(false));
        let any = AnyKey {
            early: Arc::clone(&early),
            pastes: Arc::clone(&pastes),
            is_after_x: Arc::default(),
            to_editor: Arc::clone(&to_editor),
        };
        let text = any.clone();
        newline::bind(&mut editor, move |key, line| {
            text.key(key, (line, line.len()))
        });
        no_key_waits(&mut editor);
        for key in [Event::Any, KeyEvent::ctrl('X').into()] {
            editor.bind_sequence(key, any.clone().handler());
        }
        let leaves = typed.clone();
        let clear = pastes.open().typed(move |line| {
            let instead = clear_line(line);
            if instead.is_none() {
                leaves.interrupt();
            }
            instead
        });
        editor.bind_sequence(KeyEvent::ctrl('C'), clear);
        let history = folders.history_file();
        if history
            .metadata()
            .is_ok_and(|metadata| metadata.is_file() && metadata.len() <= MAX_HISTORY_BYTES)
        {
            let _ = editor.load_history(&history);
        }
        Ok(LineEditor {
            editor,
            commands,
            history,
            to_editor,
            early,
            pastes,
            typed,
            ui: None,
            mode: None,
        })
    }

    /// Has Ctrl-V turn the steps of a reply on and off.
    pub fn toggle_steps_of(&mut self, ui: &Arc<Ui>) {
        toggle_steps(&mut self.editor, self.pastes.open(), ui);
        self.ui = Some(Arc::clone(ui));
    }

    /// Has Shift+Tab choose the next mode.
    pub fn toggle_mode(&mut self, ui: &Arc<Ui>, mode: &ModeSwitch) {
        self.mode = Some(mode.clone());
        let mode = mode.clone();
        let key = KeyEvent(KeyCode::BackTab, Modifiers::NONE);
        self.toggle_with(ui, key, move || mode.set(mode.get().next()));
    }

    /// Has Alt+P have the next request paused, or not.
    pub fn toggle_pausing(&mut self, ui: &Arc<Ui>, pausing: &Arc<Pausing>) {
        let pausing = Arc::clone(pausing);
        self.toggle_with(ui, KeyEvent::alt('p'), move || {
            pausing.toggle();
            // Whoever has pressed the key knows what it did.
            pausing.prompt_is_over();
        });
    }

    /// Has a key do this, and the line go on below a prompt that says how it stands now. Leaving the line instead would lose
    /// the keys that were read together with this one.
    fn toggle_with(
        &mut self,
        ui: &Arc<Ui>,
        key: KeyEvent,
        toggle: impl Fn() + Send + Sync + 'static,
    ) {
        let (ui, early) = (Arc::clone(ui), Arc::clone(&self.early));
        let handler = self.pastes.open().typed(move |_| {
            toggle();
            early.take_over();
            ui.redraw_line();
            Some(Cmd::Noop)
        });
        self.editor.bind_sequence(key, handler);
    }

    /// Reads a message, beginning with `start`. `prompt` is asked again when the line was ended only to be drawn again; where
    /// it is `None`, the line is left ([`Typed::Woken`]), and [`LineEditor::make_way`] has it.
    pub fn read(&mut self, ui: &Ui, prompt: &dyn Fn() -> Option<String>, start: &str) -> Typed {
        self.pastes.begin(start);
        let (typed, pastes) = (self.typed.clone(), Arc::clone(&self.pastes));
        let line = (&typed, pastes.open());
        ui.read_message(&mut self.editor, start, line, |editor| {
            let prompt = prompt()?;
            if let Some(helper) = editor.helper_mut() {
                prompt.clone_into(&mut helper.prompt);
                helper.drawn = Arc::default();
            }
            Some(prompt)
        })
    }

    /// The line that was left while it was being typed.
    fn left(&self) -> String {
        let (before, after) = self.typed.get();
        before + &after
    }

    /// Has the line that was left make way for questions, which it does not answer. [`Ui::take_interrupted_line`] gives it back,
    /// for [`LineEditor::read_again`].
    pub fn make_way(&self, ui: &Ui) {
        let is_folded = !self.unfold(&self.left()).1.is_empty();
        ui.interrupt_line(self.typed.get(), is_folded);
    }

    /// Reads a message, beginning with text that was put back into the line. As long as nobody has touched it, the line is
    /// dimmed and says what it is, and text that is typed replaces it. More than a few rows of it are folded, so that all of
    /// it can be seen. Whether the line that was read still holds foreign text.
    pub fn read_put_back(
        &mut self,
        ui: &Ui,
        prompt: &dyn Fn() -> Option<String>,
        early: &EarlyText,
    ) -> (Typed, bool) {
        let text = &*early.text;
        self.pastes.begin(text);
        let start = self.pastes.put_back(text, terminal::size().0);
        self.early
            .begin(&start, Some(text).filter(|_| early.is_foreign));
        let is_command = !early.is_foreign && MessageLines(self.commands).is_alone(text);
        self.early.describe(is_command, early.left);
        let read = self.read_begun(ui, prompt, &start);
        if self.early.takes_replaced() && matches!(read.0, Typed::Line(_)) && !early.is_foreign {
            // The line can be sent without it.
            let is_short = escape_multiline(text).len() <= MAX_ENTRY_BYTES;
            let is_remembered = is_short && self.remember(text).is_ok();
            let said = match (is_command, is_remembered) {
                // Without it, nobody would know why it did nothing.
                (true, _) => format!(
                    "\"{}\" did not run: you typed something else in its place.",
                    escape(text)
                ),
                (false, true) => "You typed something else in place of the text that was put back; the arrow upwards finds it.".to_owned(),
                (false, false) => "You typed something else in place of the text that was put back. It is not in the history.".to_owned(),
            };
            ui.status(&ui.status_styles().paint(Label::Quiet, &said));
        }
        read
    }

    /// Reads on in a line that was left for another reason than to be sent.
    pub fn read_again(
        &mut self,
        ui: &Ui,
        prompt: &dyn Fn() -> Option<String>,
        (line, is_foreign): (&str, bool),
    ) -> (Typed, bool) {
        let whole = self.pastes.unfold(line).0;
        let foreign = Some(&*whole).filter(|_| is_foreign);
        self.early.begin_taken(line, foreign);
        self.read_begun(ui, prompt, line)
    }

    /// Takes over a message that was typed elsewhere, as the line that was read. More than a few rows of it are folded, so
    /// that all of it can be seen.
    pub fn take_over(&self, text: &str) -> String {
        self.pastes.begin(text);
        self.pastes.put_back(text, terminal::size().0)
    }

    fn read_begun(
        &mut self,
        ui: &Ui,
        prompt: &dyn Fn() -> Option<String>,
        start: &str,
    ) -> (Typed, bool) {
        let typed = self.read(ui, prompt, start);
        let is_foreign = match &typed {
            // What the user recalled of the history is the user's.
            Typed::Line(line) => {
                self.early.is_foreign(line) && (line == start || !self.is_in_history(line))
            }
            Typed::Woken => self.early.is_foreign(&self.left()),
            _ => false,
        };
        self.early.begin("", None);
        (typed, is_foreign)
    }

    fn is_in_history(&self, line: &str) -> bool {
        self.editor.history().iter().any(|entry| entry == line)
    }

    /// The line that was read last with the text of each folded paste in it, and where that text stands there, in bytes.
    pub fn unfold(&self, line: &str) -> (String, Vec<Range<usize>>) {
        self.pastes.unfold(line)
    }

    /// Whether the line that was read last is to go on in an editor of texts; says so once.
    pub fn takes_line_to_editor(&self) -> bool {
        self.to_editor.swap(false, Ordering::Relaxed)
    }

    /// Takes in the names that can be completed.
    pub fn know_names(&mut self, names: Names) {
        if let Some(helper) = self.editor.helper_mut() {
            helper.names = names;
        }
    }

    /// Shows this, dimmed, as long as nothing was typed. Where nothing can be dimmed, it would look typed.
    pub fn show_placeholder(&mut self, text: &str) {
        if let Some(helper) = self.editor.helper_mut() {
            helper.placeholder = match helper.styles.is_coloured() {
                true => escape(text).into_owned(),
                false => String::new(),
            };
        }
    }

    /// What a line within a turn can know of this editor.
    pub fn recall(&self) -> Recall {
        // Answers are something else than messages.
        let helper = self.editor.helper().cloned().map(|helper| LineHelper {
            placeholder: String::new(),
            early: Arc::default(),
            pastes: Arc::default(),
            prompt: String::new(),
            drawn: Arc::default(),
            typed: TypedSoFar::default(),
            ..helper
        });
        Recall {
            history: self.editor.history().iter().cloned().collect(),
            helper,
            ui: self.ui.clone(),
            mode: self.mode.clone(),
        }
    }

    /// Remembers a message for this session and the next ones.
    /// Control characters in it stay visible ones: it comes back to the terminal as it is, and may be a server's.
    pub fn remember(&mut self, line: &str) -> rustyline::Result<()> {
        let line = &*escape_multiline(line);
        if line.len() > MAX_ENTRY_BYTES || !self.editor.add_history_entry(line)? {
            return Ok(());
        }
        if let Some(folder) = self.history.parent() {
            make_private(folder)?;
        }
        self.editor.append_history(&self.history)
    }
}

/// The history and the completion of the prompt, for lines that are read during a turn.
#[derive(Default)]
pub struct Recall {
    history: Vec<String>,
    helper: Option<LineHelper>,
    ui: Option<Arc<Ui>>,
    mode: Option<ModeSwitch>,
}

impl Recall {
    /// A new editor for one line, which knows nothing of what was typed before: what came in one piece with an earlier
    /// line must not be taken for this one. Ctrl-C always leaves it.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn editor(
        &self,
        paste: &LinePaste,
    ) -> rustyline::Result<Editor<impl Helper + use<>, MemHistory>> {
        self.editor_with(None, TypedSoFar::default(), paste)
    }

    /// The same, for a line that is completed in another way than a message, and of which `typed` is kept up to date. Slash
    /// commands are always completed. Ctrl-C clears such a line, and leaves it only where it is empty: it would take more
    /// with it than the line.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub fn editor_with(
        &self,
        completion: Option<Completion>,
        typed: TypedSoFar,
        paste: &LinePaste,
    ) -> rustyline::Result<Editor<impl Helper + use<>, MemHistory>> {
        let is_completed = completion.is_some();
        let leaves = typed.clone();
        let config = Config::builder()
            .auto_add_history(false)
            .keyseq_timeout(Some(SEQUENCE_MILLIS))
            .completion_type(rustyline::CompletionType::List)
            .color_mode(COLOR_MODE)
            .build();
        let mut editor = Editor::<LineHelper, MemHistory>::with_history(config, MemHistory::new())?;
        editor.set_helper(self.helper.clone().map(|helper| LineHelper {
            completion,
            typed,
            ..helper
        }));
        no_key_waits(&mut editor);
        clear_with_escape(&mut editor, paste);
        if is_completed {
            let search = Arc::<AtomicBool>::default();
            for key in ['R', 'S'] {
                // What the key does is the line editor's.
                let search = Arc::clone(&search);
                let begins = paste.typed(move |_| {
                    search.store(true, Ordering::Relaxed);
                    None
                });
                editor.bind_sequence(KeyEvent::ctrl(key), begins);
            }
            // Clears a line with text, and ends a search that has found nothing yet.
            let clear = paste.typed(move |line| {
                let is_search = search.swap(false, Ordering::Relaxed);
                let instead = clear_line(line).or(is_search.then_some(Cmd::Abort));
                if instead.is_none() {
                    leaves.interrupt();
                }
                instead
            });
            editor.bind_sequence(KeyEvent::ctrl('C'), clear);
        }
        if let Some(ui) = &self.ui {
            toggle_steps(&mut editor, paste, ui);
        }
        if let (Some(ui), Some(mode)) = (&self.ui, &self.mode) {
            let (ui, mode) = (Arc::clone(ui), mode.clone());
            let key = KeyEvent(KeyCode::BackTab, Modifiers::NONE);
            let choose =
                paste.typed(move |context| Some(steps::choose_mode(&ui, &mode, context.line())));
            editor.bind_sequence(key, choose);
        }
        for line in &self.history {
            // One that is not taken is not recalled.
            let _ = editor.add_history_entry(line);
        }
        Ok(editor)
    }
}

/// Has Ctrl-V turn the steps of a reply on and off.
fn toggle_steps<I: History>(editor: &mut Editor<LineHelper, I>, paste: &LinePaste, ui: &Arc<Ui>) {
    let ui = Arc::clone(ui);
    let toggle = paste.typed(move |context| Some(steps::toggle(&ui, context.line())));
    editor.bind_sequence(KeyEvent::ctrl('V'), toggle);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::repl::slash::table;

    #[test]
    fn the_history_is_private_and_comes_back() {
        use std::os::unix::fs::PermissionsExt;
        let home = tempfile::tempdir().unwrap();
        let environment = [("HOME", home.path())].into_iter().collect();
        let folders = Folders::find(&environment).unwrap();
        let open =
            || LineEditor::new(&folders, (home.path(), true), table(), Styles::plain()).unwrap();
        let mut editor = open();
        for line in [
            "one",
            "two\nlines",
            " secret",
            "a\u{1b}]52;c;eA==\u{7}b",
            &"x".repeat(MAX_ENTRY_BYTES + 1),
        ] {
            editor.remember(line).unwrap();
        }
        let lines: Vec<String> = open().editor.history().iter().cloned().collect();
        assert_eq!(lines, ["one", "two\nlines", "a\\u{1b}]52;c;eA==\\u{7}b"]);
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!(
            (mode(&folders.history_file()), mode(&folders.data)),
            (0o600, 0o700)
        );
    }
}
