//! Which requests of this chat are paused.

mod command;
pub mod filter;

use std::fmt;
use std::sync::OnceLock;

use parking_lot::Mutex;

use self::filter::{Filter, PauseCandidate};
use crate::config::request_editor::PauseMode;
use dunlin_terminal::request::pins::Pins;

pub use command::{apply_saved_edits, intercept, names_of, run};

/// Which requests are paused; shared with the key that changes it.
#[derive(Default)]
pub struct Pausing {
    state: Mutex<State>,
    watcher: OnceLock<Box<dyn Fn() + Send + Sync>>,
}

impl fmt::Debug for Pausing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.state.fmt(f)
    }
}

#[derive(Debug, Default)]
struct State {
    /// [`PauseMode::Next`] is never in here.
    mode: PauseMode,
    /// Whether somebody has chosen it, and not only the configuration.
    is_chosen: bool,
    /// Which requests the mode is about.
    filter: Filter,
    /// Which request is paused next whatever the mode is.
    next: Option<Filter>,
    /// Whether the request that is paused now was the next one. Only sending it uses that up.
    held: Option<Filter>,
    /// Whether the edits of the next message's first request are saved.
    captures: bool,
    /// A command that ended a pause, to be run after its turn.
    deferred: Option<String>,
    /// Whether the line that runs now is that command.
    runs_deferred: bool,
    /// The sections that stay at the top.
    pins: Pins,
    /// What the prompt says now. `None`: there is none.
    prompt: Option<String>,
}

impl Pausing {
    /// Begins with this mode.
    pub fn new(mode: PauseMode) -> Pausing {
        let pausing = Pausing::default();
        pausing.set(mode);
        pausing.state.lock().is_chosen = mode != PauseMode::Off;
        pausing
    }

    /// Whether somebody has chosen the mode.
    pub fn is_chosen(&self) -> bool {
        self.state.lock().is_chosen
    }

    /// Has saved edits applied, or not, where nobody has chosen a mode. Whether that is new.
    pub fn apply_unless_chosen(&self, applies: bool) -> bool {
        let mode = match applies {
            true => PauseMode::Auto,
            false => PauseMode::Off,
        };
        let is_new = {
            let mut state = self.state.lock();
            let is_new = !state.is_chosen && state.mode != mode;
            if is_new {
                state.mode = mode;
            }
            is_new
        };
        if is_new {
            self.changed();
        }
        is_new
    }

    /// Calls this whenever the mode may have changed, from now on. Only the first watcher is called.
    pub fn watch(&self, watcher: impl Fn() + Send + Sync + 'static) {
        // Somebody watches already.
        let _ = self.watcher.set(Box::new(watcher));
    }

    fn changed(&self) {
        if let Some(watcher) = self.watcher.get() {
            watcher();
        }
    }

    /// Sets the mode for all requests.
    pub fn set(&self, mode: PauseMode) {
        self.set_for(mode, Filter::All);
    }

    /// Sets the mode for some requests. `next` comes on top of the mode that is set, and `off` takes both back.
    pub fn set_for(&self, mode: PauseMode, filter: Filter) {
        {
            let mut state = self.state.lock();
            state.is_chosen = true;
            match mode {
                PauseMode::Next => state.next = Some(filter),
                mode => {
                    state.mode = mode;
                    state.filter = filter;
                    state.captures = false;
                    if mode == PauseMode::Off {
                        state.next = None;
                        state.held = None;
                    }
                }
            }
        }
        self.changed();
    }

    /// Has the next request paused, or none at all any more. Saved edits are applied as before.
    pub fn toggle(&self) {
        let (mode, has_next) = {
            let state = self.state.lock();
            (state.mode, state.next.is_some())
        };
        match (mode, has_next) {
            (PauseMode::Off | PauseMode::Auto, false) => self.set(PauseMode::Next),
            (PauseMode::Auto, true) => {
                self.state.lock().next = None;
                self.changed();
            }
            _ => self.set(PauseMode::Off),
        }
    }

    /// What is set; [`PauseMode::Next`] where nothing but the next request is paused.
    pub fn mode(&self) -> PauseMode {
        self.state.lock().shown().0
    }

    /// The same with what it is restricted to, as both are typed. Not escaped.
    pub fn typed(&self) -> String {
        self.state.lock().typed()
    }

    /// What a prompt that is about to be shown has to say of it, if anything. Not escaped.
    pub fn for_prompt(&self) -> Option<String> {
        let mut state = self.state.lock();
        let typed = state.typed();
        state.prompt = Some(typed.clone());
        (state.shown().0 != PauseMode::Off).then_some(typed)
    }

    /// The prompt is not shown any more.
    pub fn prompt_is_over(&self) {
        self.state.lock().prompt = None;
    }

    /// Whether the prompt says something else than what is set.
    pub fn is_prompt_outdated(&self) -> bool {
        let state = self.state.lock();
        let typed = state.typed();
        state.prompt.as_ref().is_some_and(|it| *it != typed)
    }

    /// What is paused next besides what the mode pauses.
    pub fn also_next(&self) -> Option<Filter> {
        self.state.lock().also_next().cloned()
    }

    /// What the mode is restricted to.
    pub fn filter(&self) -> Filter {
        self.state.lock().shown().1.clone()
    }

    /// Whether a request is paused.
    pub fn pauses(&self, candidate: PauseCandidate<'_>) -> bool {
        let state = self.state.lock();
        let is_next = state.next.as_ref().is_some_and(|next| next.fits(candidate));
        let is_due = match state.mode {
            PauseMode::Off | PauseMode::Next | PauseMode::Auto => false,
            PauseMode::Turn => candidate.round == 1,
            PauseMode::Every => true,
        };
        is_next || is_due && state.filter.fits(candidate)
    }

    /// Has the edits of the next message's first request saved, or not.
    pub fn capture(&self, captures: bool) {
        self.state.lock().captures = captures;
    }

    /// Whether the edits of the next message's first request are saved.
    pub fn is_capturing(&self) -> bool {
        self.state.lock().captures
    }

    /// A request is paused: it was the next one, if it is one of those that are meant, and unless it is not sent.
    pub fn begin(&self, candidate: PauseCandidate<'_>) -> Held<'_> {
        {
            let mut state = self.state.lock();
            state.held = state.next.take_if(|next| next.fits(candidate));
        }
        self.changed();
        Held(self)
    }

    /// The sections that stay at the top of every request of this chat.
    pub fn pins(&self) -> Pins {
        self.state.lock().pins.clone()
    }

    /// Keeps them for the next request.
    pub fn set_pins(&self, pins: &Pins) {
        self.state.lock().pins.clone_from(pins);
    }

    /// Runs a command after the turn.
    pub fn defer(&self, line: &str) {
        self.state.lock().deferred = Some(line.to_owned());
    }

    /// The command that ended a pause; once.
    pub fn take_deferred(&self) -> Option<String> {
        let mut state = self.state.lock();
        let deferred = state.deferred.take();
        state.runs_deferred = deferred.is_some();
        deferred
    }

    /// Whether the command that runs now ended a pause. What it takes was agreed to then.
    pub fn is_agreed(&self) -> bool {
        self.state.lock().runs_deferred
    }
}

impl State {
    fn typed(&self) -> String {
        let typed = |mode: PauseMode, filter: &Filter| {
            let typed = format!("{} {}", mode.as_str(), filter.as_str());
            typed.trim_end().to_owned()
        };
        let (mode, filter) = self.shown();
        match self.also_next() {
            Some(next) => format!("{}, {}", typed(mode, filter), typed(PauseMode::Next, next)),
            None => typed(mode, filter),
        }
    }

    /// What is paused next besides what the mode pauses.
    fn also_next(&self) -> Option<&Filter> {
        let next = self.next.as_ref();
        next.filter(|_| !matches!(self.mode, PauseMode::Off))
    }

    fn shown(&self) -> (PauseMode, &Filter) {
        match (self.mode, &self.next) {
            (PauseMode::Off, Some(filter)) => (PauseMode::Next, filter),
            (mode, _) => (mode, &self.filter),
        }
    }
}

/// A request is paused. Dropped, it was not sent, and the next one is paused again if this one was.
#[derive(Debug)]
pub struct Held<'a>(&'a Pausing);

impl Held<'_> {
    pub fn sent(self) {
        self.0.state.lock().held = None;
    }
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        {
            let mut state = self.0.state.lock();
            if let Some(held) = state.held.take() {
                state.next.get_or_insert(held);
            }
        }
        self.0.changed();
    }
}

#[cfg(test)]
mod tests {
    use super::filter::Recipient;
    use super::*;
    use PauseMode::{Every, Next, Off, Turn};

    fn recipient(model: &str) -> Option<Recipient<'_>> {
        Some(Recipient {
            agent: "assistant",
            model,
        })
    }

    fn candidate(round: u32) -> PauseCandidate<'static> {
        PauseCandidate {
            round,
            has_new_results: Some(round > 1),
            recipient: recipient("small"),
        }
    }

    #[test]
    fn modes_pause_what_they_say() {
        let check = |modes: &[PauseMode], shown: PauseMode, pauses: [bool; 2]| {
            let pausing = Pausing::new(Off);
            modes.iter().for_each(|mode| pausing.set(*mode));
            assert_eq!(pausing.mode(), shown, "{modes:?}");
            assert_eq!(
                [1, 2].map(|round| pausing.pauses(candidate(round))),
                pauses,
                "{modes:?}"
            );
        };
        check(&[], Off, [false, false]);
        check(&[Next], Next, [true, true]);
        check(&[Turn], Turn, [true, false]);
        check(&[Every], Every, [true, true]);
        check(&[Turn, Next], Turn, [true, true]);
        check(&[Turn, Next, Off], Off, [false, false]);
        check(&[Next, Turn], Turn, [true, true]);
    }

    #[test]
    fn the_key_leaves_saved_edits_alone() {
        let pausing = Pausing::new(PauseMode::Auto);
        for expected in ["auto, next", "auto", "auto, next"] {
            pausing.toggle();
            assert_eq!(pausing.typed(), expected);
        }
        let pausing = Pausing::new(Off);
        for expected in ["next", "off", "next"] {
            pausing.toggle();
            assert_eq!(pausing.typed(), expected);
        }
    }

    #[test]
    fn what_was_chosen_is_told_from_what_is_configured() {
        let pausing = Pausing::new(Off);
        assert!(!pausing.apply_unless_chosen(false));
        assert!(pausing.apply_unless_chosen(true));
        assert_eq!(
            (pausing.mode(), pausing.is_chosen()),
            (PauseMode::Auto, false)
        );
        // The next conversation has none.
        assert!(pausing.apply_unless_chosen(false));
        assert_eq!(pausing.mode(), Off);
        pausing.set(Off);
        assert!(!pausing.apply_unless_chosen(true));
        assert!(!Pausing::new(Turn).apply_unless_chosen(true));
    }

    #[test]
    fn next_is_one_request() {
        let pausing = Pausing::new(Next);
        pausing.begin(candidate(1)).sent();
        assert_eq!((pausing.mode(), pausing.pauses(candidate(1))), (Off, false));
        let pausing = Pausing::new(Turn);
        pausing.set(Next);
        pausing.begin(candidate(1)).sent();
        assert_eq!((pausing.mode(), pausing.pauses(candidate(1))), (Turn, true));
    }

    #[test]
    fn a_request_that_is_not_sent_was_not_the_next_one() {
        let pausing = Pausing::new(Next);
        let held = pausing.begin(candidate(1));
        assert_eq!(pausing.mode(), Off);
        drop(held);
        assert_eq!((pausing.mode(), pausing.pauses(candidate(1))), (Next, true));
        let held = pausing.begin(candidate(1));
        pausing.set(Off);
        drop(held);
        assert_eq!(pausing.mode(), Off);
        // What is asked for while a request is paused is about the one after it.
        let held = pausing.begin(candidate(1));
        pausing.set(Next);
        held.sent();
        assert_eq!(pausing.mode(), Next);
    }

    #[test]
    fn a_filter_holds_for_what_it_was_set_with() {
        let pausing = Pausing::new(Turn);
        pausing.set_for(Next, Filter::Tools);
        assert_eq!(pausing.typed(), "turn, next tools");
        // The first request is paused by the mode, and is not the next one that is meant.
        pausing.begin(candidate(1)).sent();
        assert!(pausing.pauses(candidate(2)));
        pausing.begin(candidate(2)).sent();
        assert!(!pausing.pauses(candidate(2)));
        pausing.set_for(Every, Filter::Name("small".to_owned()));
        assert_eq!(pausing.typed(), "every small");
        let other = PauseCandidate {
            round: 1,
            has_new_results: Some(false),
            recipient: recipient("large"),
        };
        assert!(pausing.pauses(candidate(2)) && !pausing.pauses(other));
        pausing.set(Off);
        pausing.set_for(Next, Filter::Tools);
        assert_eq!(pausing.typed(), "next tools");
        pausing.set(Every);
        assert_eq!(pausing.typed(), "every, next tools");
        pausing
            .begin(PauseCandidate {
                has_new_results: Some(true),
                ..other
            })
            .sent();
        assert_eq!(pausing.typed(), "every");
    }

    #[test]
    fn a_command_is_run_once() {
        let pausing = Pausing::default();
        pausing.defer("/new");
        assert!(!pausing.is_agreed());
        assert_eq!(pausing.take_deferred().as_deref(), Some("/new"));
        assert!(pausing.is_agreed());
        assert_eq!(pausing.take_deferred(), None);
        assert!(!pausing.is_agreed());
    }
}
