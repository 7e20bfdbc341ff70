//! An app that is open: its page is served, and its program runs.

use std::sync::{Arc, OnceLock, Weak};

use async_trait::async_trait;
use dunlin_apps::page::{Backend, BackendError, Content, Page, PageOptions};
use dunlin_apps::store::App;
use dunlin_apps::{Part, Parts};
use dunlin_host::Host;
use dunlin_host::app::{AppError, AppOptions, AppPage, LogLevel};
use tokio::runtime::Runtime;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use super::output::{AppOutput, DeferredAsk};
use crate::error::CliError;

/// Errors of the page that wait to be shown; more are counted.
const MAX_WAITING_ERRORS: usize = 16;

/// No page can be served.
#[derive(Debug, thiserror::Error)]
#[error("cannot serve the page of the app")]
struct CannotServe(#[source] std::io::Error);

/// An app that is open. Dropping it closes it.
pub struct OpenApp {
    /// What is kept of it.
    pub app: App,
    page: Arc<Page>,
    program: Option<Arc<Program>>,
    output: Arc<AppOutput>,
    /// What listens to the page and starts the program.
    tasks: JoinSet<()>,
}

impl OpenApp {
    /// Serves the page of an app and starts its program.
    ///
    /// # Errors
    /// Its parts cannot be read, or no port is free.
    pub fn open(
        (host, runtime): (&Host, &Runtime),
        output: &Arc<AppOutput>,
        app: App,
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
        let mut open = OpenApp {
            app,
            page,
            program,
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
    pub fn reload(&mut self, host: &Host, runtime: &Runtime, app: App) -> Result<(), CliError> {
        let parts = app.parts().map_err(CliError::failed)?;
        let program = Program::of(host, &self.output, &app, &parts);
        self.page.reload(
            content(&app, &parts),
            program.clone().map(|program| program as Arc<dyn Backend>),
        );
        self.end_program();
        (self.app, self.program) = (app, program);
        // After the page: what the program sends at its start is for the new one.
        self.start(runtime);
        Ok(())
    }

    fn end_program(&self) {
        if let Some(program) = &self.program {
            program.app.clone().close();
        }
    }

    /// Where its page is. Whoever has the address can use the app.
    pub fn url(&self) -> String {
        self.page.url()
    }

    /// Whether a browser shows the page.
    pub fn is_shown(&self) -> bool {
        *self.page.connections().borrow() > 0
    }

    /// Starts the program, so that its errors are seen before it is called.
    fn start(&mut self, runtime: &Runtime) {
        if let Some(program) = self.program.clone() {
            // It is set once, for this program.
            let _ = program.page.set(Arc::downgrade(&self.page));
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
        self.end_program();
    }
}

fn content(app: &App, parts: &Parts) -> Content {
    let text = |part| parts.get(part).unwrap_or_default().to_owned();
    Content {
        title: app.title().to_owned(),
        html: text(Part::Html),
        renderer: text(Part::Renderer),
    }
}

/// The program of an app, as its page calls it.
struct Program {
    name: String,
    app: dunlin_host::app::App,
    output: Arc<AppOutput>,
    page: Arc<OnceLock<Weak<Page>>>,
}

impl Program {
    /// The program of this version; `None`: it has none.
    fn of(host: &Host, output: &Arc<AppOutput>, app: &App, parts: &Parts) -> Option<Arc<Program>> {
        let source = parts.get(Part::Main)?;
        let page = Arc::new(OnceLock::new());
        let name = app.name().to_owned();
        let to_page = PageSink {
            name: name.clone(),
            page: Arc::clone(&page),
            output: Arc::clone(output),
        };
        let pages = [Part::Html, Part::Renderer].map(|part| parts.get(part).unwrap_or_default());
        let app = host.open_app(AppOptions {
            name: name.clone(),
            id: app.id().to_owned(),
            source: source.to_owned(),
            // The page says what the program is called with.
            version: format!("{pages:?}"),
            page: Arc::new(to_page),
            ask: Arc::new(DeferredAsk(Arc::clone(output))),
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

/// What the program talks to.
struct PageSink {
    name: String,
    page: Arc<OnceLock<Weak<Page>>>,
    output: Arc<AppOutput>,
}

impl AppPage for PageSink {
    fn emit(&self, event: &str, payload: &str) {
        let page = self.page.get().and_then(Weak::upgrade);
        if let Some(Err(error)) = page.map(|page| page.emit(event, payload)) {
            let text = format!("the event {event:?} was not sent: {error}");
            self.output.logged(&self.name, LogLevel::Warn, &text);
        }
    }

    fn logged(&self, level: LogLevel, text: &str) {
        self.output.logged(&self.name, level, text);
    }
}
