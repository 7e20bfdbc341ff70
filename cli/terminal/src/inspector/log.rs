//! The log tab: the requests that a session has sent, and one of them opened over the inspector.

use std::sync::Arc;

use dunlin_host::ForeignError;
use dunlin_host::display::{chain, escape};

use super::lines::{Line, Lines, Look};
use super::state::{Effect, Event, Inspector, Mode, Sides};
use crate::request::paused::Paused;
use crate::ui::calls::fit;
use crate::ui::style::Label;

/// What sessions have kept of the requests that they sent.
pub trait Logs: Send + Sync {
    /// The requests of a session, the newest first.
    fn rows(&self, session: &str) -> Vec<Logged>;

    /// A request of a session, with the edits that it was sent with.
    ///
    /// # Errors
    /// It cannot be shown.
    fn sent(&self, session: &str, number: u64) -> Result<Paused, ForeignError>;

    /// The newest body of a session that has this SHA-256, in lower-case hexadecimal.
    fn body(&self, session: &str, sha256: &str) -> Option<Vec<u8>>;
}

/// A request that was sent, as a row for people.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    /// Its number; `None`: the row says only why there is no request.
    pub number: Option<u64>,
    /// What is known of it.
    pub about: String,
}

/// The requests of one session.
#[derive(Clone)]
pub struct SessionLog {
    pub logs: Arc<dyn Logs>,
    /// The id of the session.
    pub session: String,
}

impl SessionLog {
    fn rows(&self) -> Vec<Logged> {
        self.logs.rows(&self.session)
    }

    fn open(&self, number: u64) -> Result<Paused, ForeignError> {
        self.logs.sent(&self.session, number)
    }
}

/// A request that was sent, with a view of its own.
pub(super) type Opened = Box<(Inspector, Paused)>;

impl Inspector {
    /// The rows of the log tab, and the request that each is about.
    pub(super) fn log_lines(&mut self, columns: usize) -> Lines {
        let rows = self.sides().log.rows();
        let key = rows.iter().any(|row| row.number.is_some());
        let key = key.then(|| {
            let line = Line::new(Look::Label(Label::Quiet), "Enter shows the selected one");
            (None, line)
        });
        let rows = rows.into_iter().map(|row| {
            let line = Line::new(Look::Plain, fit(&escape(&row.about), columns));
            (row.number, line)
        });
        let (logged, lines): (Vec<_>, Vec<_>) = key.into_iter().chain(rows).unzip();
        self.logged = logged;
        // The hint is not a row of a request.
        if self.detail.at == 0 && self.logged.len() > 1 {
            self.detail.at = self.logged.iter().position(Option::is_some).unwrap_or(0);
        }
        lines.into_iter().collect()
    }

    /// Shows the request that is selected in the log.
    pub(super) fn open_logged(&mut self) {
        let Some(number) = self.logged.get(self.detail.at).copied().flatten() else {
            self.say("Select a request first.");
            return;
        };
        let log = self.sides().log.clone();
        match log.open(number) {
            Ok(sent) => {
                let sides = Sides {
                    metadata: Box::new(move |sent| {
                        let model = sent.model().unwrap_or_default();
                        [
                            ("request", number.to_string()),
                            ("model", model),
                            ("budget", sent.total()),
                        ]
                        .map(|(name, value)| (name.to_owned(), value))
                        .to_vec()
                    }),
                    log,
                    conversation: String::new(),
                };
                let mode = Mode::ReadOnly(format!("request {number} as it was sent"));
                let inspector = Inspector::new(mode, sides, self.styles(), &sent);
                self.opened = Some(Box::new((inspector, sent)));
            }
            Err(error) => {
                let why = chain(&*error);
                self.say(&format!("Request {number} cannot be shown: {why}"));
            }
        }
    }

    /// What an event does to the request that is opened over this one, if there is any.
    pub(super) fn handle_opened(&mut self, event: Event) -> Result<Effect, Event> {
        let Some(opened) = &mut self.opened else {
            return Err(event);
        };
        let (inspector, sent) = &mut **opened;
        Ok(match inspector.handle(event, sent) {
            Effect::Close => {
                self.opened = None;
                // The log may be longer by now.
                self.redraw();
                Effect::None
            }
            effect => effect,
        })
    }

    /// The view that the user sees.
    pub(super) fn on_top(&mut self) -> &mut Inspector {
        match self.opened {
            Some(ref mut opened) => opened.0.on_top(),
            None => self,
        }
    }

    /// Whether a text is being typed, here or into what is opened over it.
    pub(super) fn types(&self) -> bool {
        let opened = self.opened.as_ref();
        self.entry.is_some() || opened.is_some_and(|opened| opened.0.types())
    }

    /// Whether Esc closes something that was opened here: a list of some sections, or a request of the log.
    pub(super) fn has_open(&self) -> bool {
        self.opened.is_some() || !self.sections.filter().is_empty()
    }
}
