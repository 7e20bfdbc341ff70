//! The inspector of several chats: a list of conversations above the request of the one that is selected.
//!
//! - `history` repeats the edits that a chat has.
//! - `row` is one chat.
//! - `subagents` are rows below the one of their chat.
//! - `state` has all chats, and says what an event means. It knows no terminal and no socket.
//! - `view` draws it.
//! - `run` owns the terminal and asks a [`Source`] for news.

mod history;
#[cfg(test)]
mod key_tests;
mod row;
mod state;
#[cfg(test)]
mod subagent_tests;
mod subagents;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod text_tests;
mod view;

use std::io;
use std::time::{Duration, Instant};

use dunlin_host::ForeignError;
use dunlin_host::display::chain;
use ratatui::Frame;

use super::screen::{self, Endless, Meanwhile, View};
use super::{EditText, Effect, Event, Typed};
use crate::ui::Ui;
pub use history::follow;
pub use state::{Act, Arrived, ChatList, Conversation, Update, When, is_meant};
pub use subagents::Subagent;
pub use view::draw;

/// The chats, wherever they are.
pub trait Source {
    /// What has happened since, or happens within the time: the name of a chat and the news.
    fn updates(&mut self, most: Duration) -> Vec<(String, Update)>;

    /// Why no chat can be found.
    fn problem(&self) -> Option<&str>;

    /// Has a chat do something, without waiting; its answer is among the news.
    ///
    /// # Errors
    /// It cannot be asked.
    fn act(&mut self, chat: &str, act: Act) -> Result<(), ForeignError>;
}

/// Shows the chats until the user leaves. Blocks; has the keyboard alone.
///
/// # Errors
/// The terminal cannot be used.
pub fn run(
    ui: &Ui,
    list: &mut ChatList,
    source: &mut dyn Source,
    edit: EditText<'_>,
) -> io::Result<()> {
    screen::show(ui, &mut Chats { list, source }, edit).map(drop)
}

/// The list, and where the chats are.
struct Chats<'a> {
    list: &'a mut ChatList,
    source: &'a mut dyn Source,
}

impl Chats<'_> {
    /// Takes in what happens within the time. Whether that is to be seen.
    fn take_in(&mut self, most: Duration) -> bool {
        let updates = self.source.updates(most);
        let mut is_changed = self.list.tick(Instant::now()) || !updates.is_empty();
        for (chat, update) in updates {
            self.list.apply(&chat, update);
        }
        is_changed |= self.list.set_problem(self.source.problem());
        is_changed |= self.list.load();
        is_changed
    }

    fn act(&mut self, act: Option<Act>) {
        let Some((act, chat)) = act.zip(self.list.selected().map(str::to_owned)) else {
            return;
        };
        if let Err(error) = self.source.act(&chat, act) {
            self.list.apply(&chat, Update::Refused(chain(&*error)));
        }
    }
}

impl View for Chats<'_> {
    const ENDLESS: Endless = Endless::Wait;

    fn draw(&mut self, frame: &mut Frame<'_>) {
        draw(frame, self.list);
    }

    fn keys_act(&mut self, act: bool) {
        self.list.keys_act(act);
    }

    fn step(&mut self) -> Meanwhile {
        let is_changed = self.take_in(Duration::ZERO);
        match (self.list.take_new(), is_changed) {
            (true, _) => Meanwhile::New,
            (_, true) => Meanwhile::Draw,
            _ => Meanwhile::Nothing,
        }
    }

    fn handle(&mut self, event: Event) -> Effect {
        // One command after the other: each is made for what the chat says after the one before.
        while let Some(rest) = self.list.patience(&event) {
            self.take_in(rest);
            if self.list.is_new() {
                // The key was meant for something else.
                return Effect::None;
            }
        }
        let (effect, act) = self.list.handle(event);
        self.act(act);
        self.list.load();
        effect
    }

    fn set(&mut self, typed: Typed) {
        // The editor has taken its time.
        self.take_in(Duration::ZERO);
        let act = self.list.set(typed);
        self.act(act);
    }

    fn say(&mut self, text: &str) {
        self.list.say(text);
    }
}
