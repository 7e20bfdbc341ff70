//! A chat that writes an app, and the window that shows it.

use dunlin_tests::{Browser, Environment, Provider, Response, Screen, Tab, Terminal, program};

/// What stands where a question is answered.
const QUESTION: &str = "  allow?";

/// What stands where a message is typed.
const PROMPT: &str = "› Type a message";

/// The program in a terminal, with an app that is open in a window.
pub struct Chat {
    pub tab: Tab<'static>,
    pub terminal: Terminal,
    pub environment: Environment,
    _provider: Provider,
}

impl Chat {
    /// Has an agent with these replies write an app, in a project that `prepare` has filled, and opens its page.
    pub fn open(
        replies: impl IntoIterator<Item = Response>,
        prepare: impl FnOnce(&Environment),
    ) -> Self {
        let provider = Provider::play(replies);
        let environment = Environment::with_provider(program!(), &provider);
        let file = environment.config_file();
        let configuration = std::fs::read_to_string(file).expect("a configuration");
        let configuration = configuration.replace("kind = \"chat\"", "kind = \"app\"");
        // With the prompt that such agents have.
        environment.configure(&configuration.replace("system_prompt = \"\"", ""));
        prepare(&environment);
        let mut terminal = environment.terminal::<&str>([]);
        terminal.wait_for(PROMPT);
        terminal.type_line("an app please");
        let screen = terminal.wait_until("the address of the page", |screen| {
            screen.line_with("  http://127.0.0.1:").is_some()
                && screen.cursor_line.starts_with(PROMPT)
        });
        let line = screen.line_with("http://127.0.0.1:");
        let page = line.expect("an address").trim().to_owned();
        Self {
            tab: Browser::shared().open(&page),
            terminal,
            environment,
            _provider: provider,
        }
    }

    /// Loads the page again, as the user of a browser does.
    pub fn reload(&self) {
        self.tab.evaluate_in_frame("globalThis.isBefore = true");
        self.tab.evaluate("location.reload()");
        self.tab.wait_in_frame(
            "!globalThis.isBefore && globalThis.dunlin && document.readyState === 'complete'",
        );
    }

    /// Waits for a question of the app.
    pub fn question(&mut self) -> Screen {
        let is_open = |screen: &Screen| screen.cursor_line.trim_end() == QUESTION;
        self.terminal.wait_until("a question", is_open)
    }

    /// The app has reported no error.
    pub fn assert_silent(&self) {
        self.terminal.assert_absent("app 'stopwatch':");
        self.terminal.assert_absent("app 'csv-chart':");
        self.terminal.assert_absent("app 'git-log':");
    }
}
