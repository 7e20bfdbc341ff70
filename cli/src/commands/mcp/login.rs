//! `dunlin mcp login` and `logout`: OAuth with a server at an address.

use dunlin_host::display::escape;

use crate::app::App;
use crate::dialogue::interrupted;
use crate::error::{CliError, Exit};
use crate::mcp::address;
use crate::mcp::address::Address;
use crate::mcp::configured::configured;
use crate::mcp::oauth::{self, LoginPage};

/// Nobody can log in there.
#[derive(Debug, thiserror::Error)]
enum NoLogin {
    #[error("the MCP server {0:?} is a program: it needs no login")]
    Program(String),
    #[error("the MCP server {0:?} has an api_key: that is what it gets")]
    Key(String),
}

/// Logs in; waits for the browser.
pub fn run(app: &App, name: &str, scope: Option<&str>) -> Result<Exit, CliError> {
    let ui = &app.ui;
    let address = place(app, name)?;
    let show = |page: &LoginPage| {
        let LoginPage {
            host, answer_to, ..
        } = page;
        ui.status(&format!(
            "You log in at {host}. The answer goes to {answer_to}."
        ));
        ui.status("Open this address in your browser:");
        ui.data(&escape(page.address.as_str()));
        ui.status("Waiting for its answer; Ctrl-C gives up.");
    };
    let interrupt = interrupted(app)?;
    let done = app.runtime()?.block_on(async {
        tokio::select! {
            biased;
            () = interrupt => None,
            done = oauth::login(&address, scope, show) => Some(done),
        }
    });
    match done {
        None => Err(CliError::silent(Exit::Interrupted)),
        Some(Err(error)) => Err(CliError::failed(error)),
        Some(Ok(())) => {
            ui.status(&format!("Logged in to {name}."));
            Ok(Exit::Done)
        }
    }
}

/// Forgets a login.
pub fn forget(app: &App, name: &str) -> Result<Exit, CliError> {
    let address = place(app, name)?;
    let text = match address.tokens.remove().map_err(CliError::failed)? {
        true => format!("The login to {name} is forgotten."),
        false => format!("There was no login to {name}."),
    };
    app.ui.status(&text);
    Ok(Exit::Done)
}

fn place(app: &App, name: &str) -> Result<Address, CliError> {
    let entry = configured(app, name)?;
    let Some(url) = &entry.url else {
        return Err(CliError::usage(NoLogin::Program(name.to_owned())));
    };
    if entry.api_key.is_some() {
        return Err(CliError::usage(NoLogin::Key(name.to_owned())));
    }
    Ok(address(&app.settings, name, url, entry))
}
