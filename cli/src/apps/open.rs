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

use super::says::{AskSometime, Says};
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
    /// Ends with the page.
    program: Option<Arc<Program>>,
    says: Arc<Says>,
}

impl OpenApp {
    /// Serves the page of an app and starts its program.
    ///
    /// # Errors
    /// Its parts cannot be read, or no port is free.
    pub fn open(
        (host, runtime): (&Host, &Runtime),
        says: &Arc<Says>,
        app: App,
    ) -> Result<OpenApp, CliError> {
        let parts = app.parts().map_err(CliError::failed)?;
        let program = Program::of(host, says, &app, &parts);
        let (sender, mut errors) = mpsc::channel(MAX_WAITING_ERRORS);
        let page = Page::serve(PageOptions {
            content: content(&app, &parts),
            backend: program.clone().map(|program| program as Arc<dyn Backend>),
            errors: sender,
        });
        let page = runtime.block_on(page);
        let page = Arc::new(page.map_err(|e| CliError::failed(CannotServe(e)))?);
        let (name, listening) = (app.name().to_owned(), Arc::clone(says));
        // Ends when the page does.
        runtime.spawn(async move {
            while let Some(error) = errors.recv().await {
                listening.page_error(&name, &error);
            }
        });
        let open = OpenApp {
            app,
            page,
            program,
            says: Arc::clone(says),
        };
        open.start(runtime);
        Ok(open)
    }

    /// Takes up what is the current version of the app now.
    ///
    /// # Errors
    /// Its parts cannot be read; the page stays as it was.
    pub fn reload(&mut self, host: &Host, runtime: &Runtime) -> Result<(), CliError> {
        let parts = self.app.parts().map_err(CliError::failed)?;
        self.program = Program::of(host, &self.says, &self.app, &parts);
        self.start(runtime);
        let backend = self.program.clone();
        self.page.reload(
            content(&self.app, &parts),
            backend.map(|program| program as Arc<dyn Backend>),
        );
        Ok(())
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
    fn start(&self, runtime: &Runtime) {
        if let Some(program) = self.program.clone() {
            let _ = program.page.set(Arc::downgrade(&self.page));
            runtime.spawn(async move {
                if let Err(error) = program.app.start().await {
                    program.failed(&error);
                }
            });
        }
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
    says: Arc<Says>,
    page: Arc<OnceLock<Weak<Page>>>,
}

impl Program {
    /// The program of this version; `None`: it has none.
    fn of(host: &Host, says: &Arc<Says>, app: &App, parts: &Parts) -> Option<Arc<Program>> {
        let source = parts.get(Part::Main)?;
        let page = Arc::new(OnceLock::new());
        let name = app.name().to_owned();
        let to_page = ToPage {
            name: name.clone(),
            page: Arc::clone(&page),
            says: Arc::clone(says),
        };
        let pages = [Part::Html, Part::Renderer].map(|part| parts.get(part).unwrap_or_default());
        let app = host.open_app(AppOptions {
            name: name.clone(),
            id: app.id().to_owned(),
            source: source.to_owned(),
            // The page says what the program is called with.
            version: format!("{pages:?}"),
            page: Arc::new(to_page),
            ask: Arc::new(AskSometime(Arc::clone(says))),
        });
        Some(Arc::new(Program {
            name,
            app,
            says: Arc::clone(says),
            page,
        }))
    }

    fn failed(&self, error: &AppError) {
        // Its end is what the user wanted.
        if *error != AppError::Closed {
            self.says.program_error(&self.name, error);
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
        Err(match error {
            AppError::Program(thrown) => BackendError {
                message: thrown.message,
                kind: thrown.kind.unwrap_or_else(|| "Error".to_owned()),
                line: thrown.line,
                column: thrown.column,
            },
            other => BackendError {
                message: format!("the program {other}"),
                kind: "ProgramEndedError".to_owned(),
                line: None,
                column: None,
            },
        })
    }
}

/// What the program talks to.
struct ToPage {
    name: String,
    page: Arc<OnceLock<Weak<Page>>>,
    says: Arc<Says>,
}

impl AppPage for ToPage {
    fn emit(&self, event: &str, payload: &str) {
        let page = self.page.get().and_then(Weak::upgrade);
        if let Some(Err(error)) = page.map(|page| page.emit(event, payload)) {
            let text = format!("the event {event:?} was not sent: {error}");
            self.says.logged(&self.name, LogLevel::Warn, &text);
        }
    }

    fn logged(&self, level: LogLevel, text: &str) {
        self.says.logged(&self.name, level, text);
    }
}
