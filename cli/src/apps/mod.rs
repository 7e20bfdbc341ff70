//! Apps while they are open: the page that is served, the program behind it, and what both have to say.
//!
//! [`dunlin_apps`] knows how an app is written, kept and served; the host runs its program. Here both come together. The chat
//! ([`crate::repl`]) and `dunlin app` ([`crate::commands`]) open apps the same way and differ in when they show what an app
//! says: the chat waits for a moment in which nothing else is on the screen.

pub mod browser;
pub mod export;
pub mod open;
pub mod says;

use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;

use self::open::OpenApp;
use self::says::Says;

/// The apps that are open, and what they say.
#[derive(Default)]
pub struct Apps {
    /// The apps that are open, by their names.
    pub open: RefCell<BTreeMap<String, OpenApp>>,
    says: OnceCell<Arc<Says>>,
}

impl Apps {
    /// What apps have to say; `make` makes the place for it at the first need.
    pub fn says(&self, make: impl FnOnce() -> Says) -> &Arc<Says> {
        self.says.get_or_init(|| Arc::new(make()))
    }

    /// The same, if an app was open before.
    pub fn said(&self) -> Option<&Arc<Says>> {
        self.says.get()
    }
}
