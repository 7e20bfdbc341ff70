//! The server of the page of an app.
//!
//! A page is two documents. The outer one is Dunlin's: it shows the title, talks to the server and holds a frame. The frame
//! holds the app, which a model wrote: it has an origin of its own that equals no other, no storage and no network, and can
//! only send messages to the outer document. What it may do is therefore what the messages can say: call the back end,
//! receive events, and report errors.
//!
//! Whoever can reach the port is not trusted. Loopback belongs to every program and every user of the machine, and a site
//! that is open in the same browser can send requests to it. A request counts if it names the one host, knows the random
//! token in the path and comes from the page itself (`admission`). Each app has a port of its own, because pages of one
//! port would share an origin. Programs of the same user that can read the memory or the history of the browser are outside
//! of what this can prevent.
//!
//! One token leads to the outer document and to what it sends; another to the frame, so that an app never learns the first.
//!
//! Nothing here trusts the content either: its scripts run if their hashes are in the policy (`policy`), and the texts of
//! its errors are untrusted wherever they are shown.

mod address;
mod admission;
mod backend;
mod calls;
mod document;
mod errors;
mod events;
mod policy;
mod server;
#[cfg(test)]
mod tests;

use std::io;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::net::TcpListener;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;

use self::address::{Address, Token};
use self::calls::Calls;
use self::document::{End, Version};
use self::errors::Errors;
use self::events::Streams;
use self::server::Shared;

pub use self::backend::{Backend, BackendError};
pub use self::calls::MAX_CALLS;
pub use self::document::Content;
pub use self::errors::{Location, PageError};
pub use self::events::EmitError;

/// How long the end of a page waits for browsers to be told. They are on this machine.
const CLOSING: Duration = Duration::from_millis(200);

/// What a page is made of.
pub struct PageOptions {
    /// What it shows first.
    pub content: Content,
    /// What answers its calls. Without it, every call fails.
    pub backend: Option<Arc<dyn Backend>>,
    /// Where its errors go. Those that find no room are counted ([`PageError::omitted`]).
    pub errors: mpsc::Sender<PageError>,
}

/// A page that is being served. Dropping it closes the port and cancels the calls.
pub struct Page {
    shared: Arc<Shared>,
    /// Gone while it is being closed, and afterwards.
    server: Mutex<Option<JoinHandle<()>>>,
}

impl Page {
    /// Serves a page on a port of loopback. Must be called in a Tokio runtime.
    ///
    /// # Errors
    ///
    /// When there is no port, or the system has no random numbers.
    pub async fn serve(options: PageOptions) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let host = listener.local_addr()?.to_string();
        let frame_token = Token::random()?;
        let address = Address {
            origin: format!("http://{host}"),
            host,
            token: Token::random()?,
            frame_token,
        };
        let version = Version::new(1, options.content, options.backend, &address);
        let shared = Arc::new(Shared {
            address,
            version: RwLock::new(Arc::new(version)),
            streams: Streams::default(),
            calls: Calls::default(),
            errors: Errors::new(options.errors),
        });
        shared.begin();
        let server = tokio::spawn(server::run(listener, Arc::clone(&shared)));
        Ok(Self {
            shared,
            server: Mutex::new(Some(server)),
        })
    }

    /// Where the page is. It contains the token: whoever has it can use the app.
    pub fn url(&self) -> String {
        let address = &self.shared.address;
        format!("{}/{}/", address.origin, address.token)
    }

    /// Replaces the app in all open browsers. Calls of the old one that are still running are cancelled.
    pub fn reload(&self, content: Content, backend: Option<Arc<dyn Backend>>) {
        {
            let mut current = self.shared.version.write();
            let number = current.number + 1;
            let version = Version::new(number, content, backend, &self.shared.address);
            self.shared.errors.begin();
            self.shared.streams.announce(&version.announcement());
            let old = std::mem::replace(&mut *current, Arc::new(version));
            old.end(End::Replaced);
        }
        self.shared.begin();
    }

    /// Sends an event to all open browsers: `dunlin.on(event, handler)` gets the payload, which is JSON. Never waits: a browser
    /// that does not keep up misses events, and is told how many.
    ///
    /// # Errors
    ///
    /// When the event is too large.
    pub fn emit(&self, event: &str, payload: &str) -> Result<(), EmitError> {
        self.shared.streams.emit(event, payload)
    }

    /// How many browsers have the page open, and changes of that.
    pub fn connections(&self) -> watch::Receiver<usize> {
        self.shared.streams.watch()
    }

    /// Tells open browsers that the app is closed, cancels its calls and ends the server. Afterwards the port is free.
    pub async fn close(&self) {
        self.shared.version().end(End::Closed);
        self.shared.streams.close();
        let mut open = self.connections();
        let all_told = open.wait_for(|open| *open == 0);
        // Whoever does not read in time notices that the connection ended.
        drop(tokio::time::timeout(CLOSING, all_told).await);
        let server = self.server.lock().take();
        if let Some(server) = server {
            server.abort();
            let _aborted = server.await;
        }
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some(server) = self.server.get_mut() {
            server.abort();
        }
    }
}
