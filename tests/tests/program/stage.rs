//! A chat in the terminal, as a person has it: say something, answer a question, wait for the prompt.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use dunlin_tests::{
    DEADLINE, Environment, Gate, Key, Provider, Response, Screen, Terminal, program,
};
use serde_json::json;

/// What stands where a message is typed.
const PROMPT: &str = "›";

/// What stands behind it as long as nothing was typed.
pub const PLACEHOLDER: &str = "Type a message, @ to attach a file";

/// What stands behind text that was put back into the line.
pub const PUT_BACK: &str = "(put back: Enter sends it)";

/// What stands where an approval is answered.
const QUESTION: &str = "  allow?";

/// What stands where several calls are approved.
const APPROVAL: &str = "  approve?";

/// The program with an open chat.
pub struct Chat {
    pub terminal: Terminal,
    /// How many prompts and questions were waited for.
    prompts: usize,
    questions: usize,
    approvals: usize,
}

/// Folders whose only agent talks to `provider`.
pub fn environment(provider: &Provider) -> Environment {
    Environment::with_provider(program!(), provider)
}

/// A call of `read_file`.
pub fn read(path: impl AsRef<Path>) -> Response {
    Response::call("read_file", json!({ "file_path": path.as_ref() }))
}

/// A call of a file outside that comes when the gate opens.
pub fn late_call(gate: &Gate) -> Response {
    Response::stream()
        .text("Let me see.")
        .wait(gate)
        .call_start(0, "call_0", "read_file")
        .call_arguments(
            0,
            &json!({ "file_path": "../outside/notes.txt" }).to_string(),
        )
        .finish("tool_calls")
}

impl Chat {
    /// Opens the chat and waits for its prompt.
    pub fn open(environment: &Environment) -> Chat {
        Chat::of(environment.terminal::<&str>([]))
    }

    /// The same with hostile plugins.
    pub fn with_guests(environment: &Environment, guests: &[&str]) -> Chat {
        Chat::of(environment.command::<&str>([]).guests(guests).terminal())
    }

    /// Waits for the prompt of a chat that is being opened.
    pub fn of(terminal: Terminal) -> Chat {
        let mut chat = Chat::waiting(terminal);
        chat.prompt();
        chat
    }

    /// A chat that is being opened, whose prompt nobody has waited for yet.
    pub fn waiting(terminal: Terminal) -> Chat {
        Chat {
            terminal,
            prompts: 0,
            questions: 0,
            approvals: 0,
        }
    }

    /// Types a message and Enter.
    pub fn say(&mut self, message: &str) {
        self.terminal.type_line(message);
    }

    /// Says something and waits until the turn is over.
    pub fn turn(&mut self, message: &str) -> Screen {
        self.say(message);
        self.prompt()
    }

    /// Waits for the next empty prompt.
    pub fn prompt(&mut self) -> Screen {
        self.prompt_with("")
    }

    /// Waits for the next prompt, in which `text` stands already.
    pub fn prompt_with(&mut self, text: &str) -> Screen {
        let before = self.prompts;
        let expected = match text.rsplit_once('\n') {
            Some((_, last)) => last.to_owned(),
            None => format!("{PROMPT} {text}"),
        };
        let screen =
            self.terminal
                .wait_until(&format!("prompt {before} with {text:?}"), |screen| {
                    let is_it = is_next(screen, PROMPT, before) && typed(screen) == expected.trim();
                    // What is typed during a turn looks the same.
                    is_it && (screen.reads_message || text.is_empty())
                });
        self.prompts = lines(&screen, PROMPT);
        screen
    }

    /// Waits until this is queued during a turn, below everything else.
    pub fn queued(&self, message: &str) -> Screen {
        self.terminal.wait_for(&format!("  queued: {message}"))
    }

    /// Waits until this is what is being typed during a turn.
    pub fn typing(&self, text: &str) -> Screen {
        let expected = format!("{PROMPT} {text}");
        self.terminal
            .wait_until(&format!("{expected:?} in a turn"), |screen| {
                screen.cursor_line.trim_end() == expected && !screen.reads_message
            })
    }

    /// Waits until the line that was typed at the prompt is gone.
    pub fn prompt_cleared(&mut self) {
        let cleared = |screen: &Screen| typed(screen) == PROMPT;
        self.terminal.wait_until("an empty line", cleared);
    }

    /// Waits for the next question.
    pub fn question(&mut self) -> Screen {
        let before = self.questions;
        let screen = self
            .terminal
            .wait_until(&format!("question {before}"), |screen| {
                is_next(screen, QUESTION, before) && screen.cursor_line.trim_end() == QUESTION
            });
        self.questions = lines(&screen, QUESTION);
        screen
    }

    /// Waits for the next line in which one of several calls is decided about.
    pub fn approval(&mut self) -> Screen {
        let before = self.approvals;
        let screen = self
            .terminal
            .wait_until(&format!("approval {before}"), |screen| {
                is_next(screen, APPROVAL, before) && screen.cursor_line.trim_end() == APPROVAL
            });
        self.approvals = lines(&screen, APPROVAL);
        screen
    }

    /// Decides about one of several calls and waits for the next line to do so.
    pub fn decide(&mut self, line: &str) -> Screen {
        self.answer(line);
        self.approval()
    }

    /// Answers the question that is being asked.
    pub fn answer(&mut self, word: &str) {
        self.terminal.type_line(word);
    }

    /// Presses Ctrl-C and measures how long it takes until the prompt is back.
    pub fn interrupt(&mut self, what: &str) {
        self.interrupt_by(Key::CtrlC, what);
    }

    /// The same with a key that interrupts.
    #[expect(clippy::print_stdout, reason = "the figure is worth a look")]
    pub fn interrupt_by(&mut self, key: Key, what: &str) {
        let before = self.prompts;
        let took = self.terminal.measure(key, "the prompt", |screen| {
            is_next(screen, PROMPT, before) && typed(screen) == PROMPT
        });
        self.prompts += 1;
        println!("{what}: the prompt is back after {took:?} by {key:?}");
        assert!(took < DEADLINE, "{what}: {took:?}\n{:?}", self.terminal);
        assert!(
            self.terminal.screen().contains("(interrupted)"),
            "{what}: {:?}",
            self.terminal
        );
    }

    /// Leaves with Ctrl-D and asserts that the terminal is as it was before.
    pub fn leave(mut self) {
        self.terminal.press(Key::CtrlD);
        assert_eq!(self.terminal.wait_end(), Some(0), "{:?}", self.terminal);
    }
}

/// The line of the cursor, without what stands there as long as nothing was typed.
fn typed(screen: &Screen) -> String {
    let line = screen.cursor_line.trim_end();
    let put_back = line.find("(put back: Enter ");
    line.strip_suffix(PLACEHOLDER)
        .or_else(|| line.get(..put_back?))
        .unwrap_or(line)
        .trim_end()
        .to_owned()
}

fn is_next(screen: &Screen, start: &str, before: usize) -> bool {
    lines(screen, start) > before
}

fn lines(screen: &Screen, start: &str) -> usize {
    let lines = screen.text.lines();
    lines.filter(|line| line.starts_with(start)).count()
}

/// All files below a folder, in order.
pub fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut open = vec![folder.to_path_buf()];
    while let Some(folder) = open.pop() {
        // A folder that was never made has no files.
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The file of the only session.
pub fn session_file(environment: &Environment) -> PathBuf {
    let files = files_below(&environment.data().join("sessions"));
    let mut files = files.into_iter();
    let file = files.find(|path| path.extension().is_some_and(|it| it == "jsonl"));
    file.expect("a session")
}

/// Asserts that no file that the program wrote holds `text`.
pub fn assert_in_no_file(environment: &Environment, text: &str) {
    for path in files_below(environment.root()) {
        let bytes = fs::read(&path).expect("a file of the test");
        let found = bytes
            .windows(text.len())
            .any(|window| window == text.as_bytes());
        assert!(!found, "{text:?} is in {}", path.display());
    }
}

/// A script that serves as the editor.
pub fn editor_of(environment: &Environment, script: &str) -> String {
    let editor = environment.root().join("editor");
    fs::write(&editor, format!("#!/bin/sh\n{script}\n")).expect("the editor");
    fs::set_permissions(&editor, fs::Permissions::from_mode(0o755)).expect("the editor");
    editor.display().to_string()
}
