//! Apps: programs in JavaScript that run as long as they are open.
//!
//! The program of an app is run by a component, the engine, in the sandbox of all components. It has the abilities of any
//! tool and no others: each use passes through the same check, is asked about under the app's name, and is written into the
//! audit log. Nothing that it does was announced, so what nothing decides about is asked in the host's own words.
//!
//! One task owns the instance and does one thing after the other (`worker`): the start, a call of a handler, the timers that
//! are due. Each of them, an *event*, has the limits of a call of a tool. What ends an event by force (a trap, a limit) ends
//! the instance: all calls that wait get that error, and the next one starts the program again. Until an app is used it costs
//! nothing.

mod budget;
mod engine;
mod error;
pub(crate) mod page;
#[cfg(test)]
mod tests;
mod worker;

use std::fmt;
use std::io;
use std::sync::{Arc, OnceLock};

use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

pub(crate) use self::engine::Apps;
pub use self::error::{AppError, ProgramError};
pub use self::page::{AppPage, LogLevel};
use self::worker::{Command, Worker};
use crate::ask::Ask;
use crate::display;
use crate::limits::{
    MAX_APP_NAME_BYTES, MAX_APP_SOURCE_BYTES, MAX_APP_TITLE_CHARS, MAX_ARGUMENT_BYTES,
    MAX_WAITING_CALLS,
};
use crate::permission::PluginId;
use crate::sha256_hex;

/// Bytes of an app's id that are used as they are.
const MAX_ID_BYTES: usize = 64;

/// What an app is made of.
#[derive(Clone)]
pub struct AppOptions {
    /// What questions call it: `app 'tide-table' asks`. Any text.
    pub name: String,
    /// What tells it from every other app, in all of its versions: its part of the store, and what it was granted, are kept
    /// under it. 1 to 64 of `a-z A-Z 0-9 _ -`, or any text, of which the digest is taken then.
    pub id: String,
    /// Its program, a JavaScript module.
    pub source: String,
    /// What tells its version from others besides the program, for example a digest of its page. What was granted to one
    /// version is asked about again in the next, as with plugins.
    pub version: String,
    /// What it talks to.
    pub page: Arc<dyn AppPage>,
    /// Who is asked what it may use.
    pub ask: Arc<dyn Ask>,
}

impl fmt::Debug for AppOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AppOptions")
            .field("name", &self.name)
            .field("id", &self.id)
            .finish_non_exhaustive()
    }
}

impl AppOptions {
    fn identity(&self) -> PluginId {
        let name = subject(&self.id);
        PluginId {
            name,
            origin: None,
            digest: digest(&self.source, &self.version),
            built_in: false,
        }
    }

    /// What stands where the name of a tool stands elsewhere.
    fn caller(&self) -> String {
        // A quotation mark would end the name before the end of it.
        let name = display::one_line(&self.name).replace('\'', "’");
        format!("app '{}'", display::shorten(&name, MAX_APP_TITLE_CHARS))
    }
}

/// What tells the version of an app with this program, and with this in [`AppOptions::version`], from all others.
pub fn digest(source: &str, version: &str) -> String {
    sha256_hex(format!("{:?}", (source, version)).as_bytes())
}

/// To whom things are granted that an app with this id may use, and whose part of the store it has. No plugin and no server
/// has a name like that.
pub fn subject(id: &str) -> String {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let is_id = (1..=MAX_ID_BYTES).contains(&id.len()) && id.bytes().all(is_plain);
    match is_id {
        true => format!("app.{id}"),
        false => format!("app.sha256.{}", sha256_hex(id.as_bytes())),
    }
}

/// An open app. Clones are the same app; it is closed when the last one is dropped.
#[derive(Clone)]
pub struct AppProgram(Arc<Inner>);

struct Inner {
    apps: Arc<Apps>,
    options: AppOptions,
    running: OnceLock<Running>,
    closing: CancellationToken,
}

/// The task of an app that was used.
struct Running {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
}

impl Drop for Running {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for AppProgram {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AppProgram").field(&self.0.options).finish()
    }
}

impl AppProgram {
    pub(crate) fn new(apps: Arc<Apps>, options: AppOptions) -> AppProgram {
        AppProgram(Arc::new(Inner {
            apps,
            options,
            running: OnceLock::new(),
            closing: CancellationToken::new(),
        }))
    }

    /// Starts the program, unless it runs. Returns when it was evaluated, or waits for a timer at its top level.
    ///
    /// Needs a tokio runtime. Dropping the future does not end the start.
    ///
    /// # Errors
    /// The program is not valid, threw, or was ended; or it cannot run.
    pub async fn start(&self) -> Result<(), AppError> {
        self.send(Command::Start).await
    }

    /// Calls a handler of the program, which is started first unless it runs. `arguments` and the value are JSON.
    ///
    /// Needs a tokio runtime. Dropping the future drops what comes of the call; the program runs on.
    ///
    /// # Errors
    /// The handler threw, there is none, it did not come to an end, or the program was ended; or it cannot run.
    pub async fn invoke(&self, name: &str, arguments: &str) -> Result<String, AppError> {
        AppError::check_size("the handler's name", name.len(), MAX_APP_NAME_BYTES)?;
        AppError::check_size(
            "the JSON of the arguments",
            arguments.len(),
            MAX_ARGUMENT_BYTES,
        )?;
        let (name, arguments) = (name.to_owned(), arguments.to_owned());
        self.send(|reply| Command::Invoke {
            name,
            arguments,
            reply,
        })
        .await
    }

    /// Ends the program at once, whatever it does. Calls that wait fail with [`AppError::Closed`], as do all that follow.
    pub fn close(&self) {
        self.0.closing.cancel();
    }

    /// Closes an app that nothing leads to any more, waits until its program is gone and removes what it has stored.
    ///
    /// # Errors
    /// What it has stored cannot be removed.
    pub async fn discard(&self) -> io::Result<()> {
        self.close();
        if let Some(running) = self.0.running.get() {
            running.commands.closed().await;
        }
        self.0.apps.remove_store(&self.0.options.id)
    }

    async fn send<T>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, AppError>>) -> Command,
    ) -> Result<T, AppError> {
        let Inner {
            options, closing, ..
        } = &*self.0;
        if closing.is_cancelled() {
            return Err(AppError::Closed);
        }
        AppError::check_size("the program", options.source.len(), MAX_APP_SOURCE_BYTES)?;
        let running = self.0.running.get_or_init(|| self.0.run());
        let (reply, answer) = oneshot::channel();
        let sent = running.commands.send(command(reply)).await;
        sent.map_err(|_| AppError::Closed)?;
        answer.await.unwrap_or(Err(AppError::Closed))
    }
}

impl Inner {
    fn run(&self) -> Running {
        let (commands, wanted) = mpsc::channel(MAX_WAITING_CALLS);
        let worker = Worker::new(Arc::clone(&self.apps), &self.options, wanted);
        let closing = self.closing.clone();
        let work = async move {
            tokio::select! {
                biased;
                () = closing.cancelled() => {}
                () = worker.work() => {}
            }
        };
        Running {
            commands,
            task: tokio::spawn(work),
        }
    }
}
