//! The inspector of several chats: a list of conversations above the request of the one that is selected.
//!
//! - `state` has the conversations, and says what an event means. It knows no terminal and no socket.
//! - `view` draws it.
//! - `run` owns the terminal and asks a [`Source`] for news.

mod state;
#[cfg(test)]
mod tests;
mod view;

use std::io;

use dunlin_chat::request::editor::Target;
use ratatui::Frame;

use super::screen::{self, Endless, Meanwhile, View};
use super::{EditText, Effect, Event};
use crate::ui::Ui;
pub use state::{Act, ChatList, Conversation, Update};
pub use view::draw;

/// The chats, wherever they are.
pub trait Source {
    /// What has happened since, without waiting: the name of a chat and the news.
    fn news(&mut self) -> Vec<(String, Update)>;

    /// Has a chat do something.
    fn act(&mut self, chat: &str, act: Act);
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
    fn act(&mut self, acts: impl IntoIterator<Item = Act>) {
        for act in acts {
            if let Some(chat) = self.list.selected() {
                self.source.act(chat, act);
            }
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
        let news = self.source.news();
        let is_changed = self.list.tick() || !news.is_empty();
        for (chat, update) in news {
            self.list.apply(&chat, update);
        }
        match (self.list.take_new(), is_changed) {
            (true, _) => Meanwhile::New,
            (_, true) => Meanwhile::Draw,
            _ => Meanwhile::Nothing,
        }
    }

    fn handle(&mut self, event: Event) -> Effect {
        let (effect, acts) = self.list.handle(event);
        self.act(acts);
        match effect {
            // The chat does it, and says so.
            Effect::Send | Effect::Cancel => Effect::None,
            effect => effect,
        }
    }

    fn set(&mut self, target: &Target, text: &str) {
        let act = self.list.set(target, text);
        self.act(act);
    }

    fn say(&mut self, text: &str) {
        self.list.say(text);
    }
}
