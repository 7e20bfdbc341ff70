//! An app that is open: its page is served, and its program runs.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use async_trait::async_trait;
use dunlin_apps::page::{Backend, BackendError, Content, Page, PageOptions};
use dunlin_apps::store::StoredApp;
use dunlin_apps::{Part, Parts};
use dunlin_host::Host;
use dunlin_host::app::{AppError, AppOptions, AppPage, LogLevel, digest};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use tokio::sync::{mpsc, watch};
use tokio::task::JoinSet;

use super::output::{AppOutput, DeferredAsk};
use crate::error::CliError;

/// Errors of the page that wait to be shown; more are counted.
const MAX_WAITING_ERRORS: usize = 32;

/// How often it is looked whether an app was deleted. Another process does that, for example `dunlin app delete`.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// No page can be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the page of the app")]
struct CannotServe(#[source] std::io::Error);

/// An app that is open. Dropping it closes it.
pub struct OpenApp {
    shared: Arc<Shared>,
    output: Arc<AppOutput>,
    /// What listens to the page, starts the program and looks whether the app was deleted.
    tasks: JoinSet<()>,
}

/// What can be closed from elsewhere.
struct Shared {
    /// What is kept of the app, as it was when it was shown.
    app: Mutex<StoredApp>,
    page: Arc<Page>,
    program: Mutex<Option<Arc<Program>>>,
    /// Whether it was said that the app was deleted, and whether all of it is closed.
    said_deleted: AtomicBool,
    is_deleted: watch::Sender<bool>,
}

impl OpenApp {
    /// Serves the page of an app and starts its program.
    ///
    /// # Errors
    /// Its parts cannot be read, or no port is free.
    pub fn open(
        (host, runtime): (&Host, &Runtime),
        output: &Arc<AppOutput>,
        app: StoredApp,
    ) -> Result<OpenApp, CliError> {
        let parts = app.parts().map_err(CliError::failed)?;
        let program = Program::of(host, output, &app, &parts);
        let (sender, mut errors) = mpsc::channel(MAX_WAITING_ERRORS);
        let page = Page::serve(PageOptions {
            content: content(&app, &parts),
            backend: program.clone().map(|program| program as Arc<dyn Backend>),
            errors: sender,
        });
        let page = runtime.block_on(page);
        let page = Arc::new(page.map_err(|e| CliError::failed(CannotServe(e)))?);
        let (name, listening) = (app.name().to_owned(), Arc::clone(output));
        let mut tasks = JoinSet::new();
        let listen = async move {
            while let Some(error) = errors.recv().await {
                listening.page_error(&name, &error);
            }
        };
        tasks.spawn_on(listen, runtime.handle());
        let shared = Arc::new(Shared {
            app: Mutex::new(app),
            page,
            program: Mutex::new(program),
            said_deleted: AtomicBool::new(false),
            is_deleted: watch::Sender::new(false),
        });
        let (watched, told) = (Arc::clone(&shared), Arc::clone(output));
        let watch = async move {
            while !watched.closes_if_deleted(&told).await {
                tokio::time::sleep(LOOK_AGAIN).await;
            }
        };
        tasks.spawn_on(watch, runtime.handle());
        let mut open = OpenApp {
            shared,
            output: Arc::clone(output),
            tasks,
        };
        open.start(runtime);
        Ok(open)
    }

    /// Shows another version of the app instead, and ends the program of the one before.
    ///
    /// # Errors
    /// Its parts cannot be read; all stays as it was.
    pub fn reload(
        &mut self,
        host: &Host,
        runtime: &Runtime,
        app: StoredApp,
    ) -> Result<(), CliError> {
        let parts = app.parts().map_err(CliError::failed)?;
        let program = Program::of(host, &self.output, &app, &parts);
        let before = std::mem::replace(&mut *self.shared.program.lock(), program.clone());
        // First: what the program of the one before still sends is not for the new page.
        if let Some(before) = &before {
            before.page.lock().take();
        }
        self.shared.page.reload(
            content(&app, &parts),
            program.map(|program| program as Arc<dyn Backend>),
        );
        if let Some(before) = before {
            before.app.close();
        }
        *self.shared.app.lock() = app;
        // After the page: what the program sends at its start is for the new one.
        self.start(runtime);
        Ok(())
    }

    /// Closes it, and tells the browsers that show it.
    pub fn close(self, runtime: &Runtime) {
        self.shared.end_program();
        runtime.block_on(self.shared.page.close());
    }

    /// Closes it if it was deleted, and says so. Whether it was.
    pub fn closes_if_deleted(&self, runtime: &Runtime) -> bool {
        runtime.block_on(self.shared.closes_if_deleted(&self.output))
    }

    /// Waits until it is closed because it was deleted.
    pub async fn deleted(&self) {
        let mut deleted = self.shared.is_deleted.subscribe();
        // It is not dropped while it is borrowed.
        let _ = deleted.wait_for(|is_deleted| *is_deleted).await;
    }

    /// Whether it was deleted, and this session had worked on it.
    pub fn is_lost_to(&self, session: &str) -> bool {
        let app = self.shared.app.lock();
        app.session() == Some(session) && app.is_deleted()
    }

    /// Where its page is. Whoever has the address can use the app.
    pub fn url(&self) -> String {
        self.shared.page.url()
    }

    /// Whether a browser shows the page.
    pub fn is_shown(&self) -> bool {
        *self.shared.page.connections().borrow() > 0
    }

    /// Starts the program, so that its errors are seen before it is called.
    fn start(&mut self, runtime: &Runtime) {
        let program = self.shared.program.lock().clone();
        if let Some(program) = program {
            *program.page.lock() = Some(Arc::downgrade(&self.shared.page));
            let start = async move {
                if let Err(error) = program.app.start().await {
                    program.failed(&error);
                }
            };
            self.tasks.spawn_on(start, runtime.handle());
        }
    }
}

impl Drop for OpenApp {
    fn drop(&mut self) {
        // Calls that run hold the program, too.
        self.shared.end_program();
    }
}

impl Shared {
    fn end_program(&self) {
        if let Some(program) = &*self.program.lock() {
            program.app.close();
        }
    }

    async fn closes_if_deleted(&self, output: &Arc<AppOutput>) -> bool {
        let app = self.app.lock().clone();
        if !app.is_deleted() {
            return false;
        }
        self.end_program();
        self.page.close().await;
        let program = self.program.lock().clone();
        if let Some(program) = program
            && let Err(error) = program.app.discard().await
        {
            let why = format!("what it has stored cannot be removed: {error}");
            output.warn(app.name(), &why);
        }
        // The chat and the task that looks may both be here.
        if !self.said_deleted.swap(true, Ordering::Relaxed) {
            output.warn(app.name(), "it was deleted, and is closed");
        }
        self.is_deleted.send_replace(true);
        true
    }
}

fn content(app: &StoredApp, parts: &Parts) -> Content {
    let text = |part| parts.get(part).unwrap_or_default().to_owned();
    Content {
        title: app.title().to_owned(),
        html: text(Part::Html),
        renderer: text(Part::Renderer),
    }
}

/// What tells a version from others besides the program: the page says what the program is called with.
fn version_of(parts: &Parts) -> String {
    let pages = [Part::Html, Part::Renderer].map(|part| parts.get(part).unwrap_or_default());
    format!("{pages:?}")
}

/// By what permissions know this version; `None`: it has no program.
pub fn digest_of(parts: &Parts) -> Option<String> {
    let source = parts.get(Part::Main)?;
    Some(digest(source, &version_of(parts)))
}

/// The program of an app, as its page calls it.
struct Program {
    name: String,
    app: dunlin_host::app::AppProgram,
    output: Arc<AppOutput>,
    page: PageOfProgram,
}

impl Program {
    /// The program of this version; `None`: it has none.
    fn of(
        host: &Host,
        output: &Arc<AppOutput>,
        app: &StoredApp,
        parts: &Parts,
    ) -> Option<Arc<Program>> {
        let source = parts.get(Part::Main)?;
        let page = PageOfProgram::default();
        let name = app.name().to_owned();
        let to_page = PageSink {
            name: name.clone(),
            page: Arc::clone(&page),
            output: Arc::clone(output),
        };
        let app = host.open_app(AppOptions {
            name: name.clone(),
            id: app.id().to_owned(),
            source: source.to_owned(),
            version: version_of(parts),
            page: Arc::new(to_page),
            ask: Arc::new(DeferredAsk::new(Arc::clone(output), app.name())),
        });
        Some(Arc::new(Program {
            name,
            app,
            output: Arc::clone(output),
            page,
        }))
    }

    fn failed(&self, error: &AppError) {
        // Its end is what the user wanted.
        if *error != AppError::Closed {
            self.output.program_error(&self.name, error);
        }
    }
}

#[async_trait]
impl Backend for Program {
    async fn invoke(&self, name: &str, arguments: &str) -> Result<String, BackendError> {
        let error = match self.app.invoke(name, arguments).await {
            Ok(value) => return Ok(value),
            Err(error) => error,
        };
        self.failed(&error);
        let kind = error.kind().to_owned();
        Err(match error {
            AppError::Program(thrown) => BackendError {
                message: thrown.message,
                kind,
                line: thrown.line,
                column: thrown.column,
            },
            other => BackendError {
                message: other.to_string(),
                kind,
                line: None,
                column: None,
            },
        })
    }
}

/// The page that a program talks to, as long as it shows the version of the program.
type PageOfProgram = Arc<Mutex<Option<Weak<Page>>>>;

/// What the program talks to.
struct PageSink {
    name: String,
    page: PageOfProgram,
    output: Arc<AppOutput>,
}

impl AppPage for PageSink {
    fn emit(&self, event: &str, payload: &str) {
        let emitted = {
            // Until it was sent: another version waits for that.
            let page = self.page.lock();
            let page = page.as_ref().and_then(Weak::upgrade);
            page.map(|page| page.emit(event, payload))
        };
        if let Some(Err(error)) = emitted {
            let text = format!("the event {event:?} was not sent: {error}");
            self.output.logged(&self.name, LogLevel::Warn, &text);
        }
    }

    fn logged(&self, level: LogLevel, text: &str) {
        self.output.logged(&self.name, level, text);
    }
}
