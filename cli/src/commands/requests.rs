//! `dunlin requests`: the requests that were sent, as the log of each session has them.

use crate::app::App;
use crate::args::{Global, RequestArgs, RequestId, RequestsCommand};
use crate::error::{CliError, Exit};
use crate::settings::Origin;

use crate::requests::{Log, Part, export, fork, list, print, replay};

/// A session named in two ways.
#[derive(Debug, thiserror::Error)]
#[error("{id}/{number} names the session already: leave --session out")]
struct NamedTwice {
    id: String,
    number: u64,
}

/// Runs one of the commands.
pub fn run(app: &App, command: RequestsCommand, global: &Global) -> Result<Exit, CliError> {
    match command {
        RequestsCommand::List {
            session,
            lines,
            json,
        } => list(app, &Log::find(app, session.as_deref())?, lines, json)?,
        RequestsCommand::Show(args) => {
            let (log, number) = find(app, &args.request)?;
            print(app, &log, number, Part::of(&args))?;
        }
        RequestsCommand::Export {
            session,
            har,
            output,
            force,
        } => {
            let log = Log::find(app, session.as_deref())?;
            export(app, &log, har, output, force)?;
        }
        RequestsCommand::Replay { request, edited } => {
            let (log, number) = find(app, &request)?;
            let agent = global.agent.as_deref();
            if let Some(name) = agent {
                app.settings.entry_named(name, Origin::Flag("--agent"))?;
            }
            return replay(app, &log, number, agent, edited);
        }
        RequestsCommand::Fork { request } => {
            let (log, number) = find(app, &request)?;
            fork(app, &log, number)?;
        }
    }
    Ok(Exit::Done)
}

/// The log that holds a request, and the request's number in it.
fn find(app: &App, request: &RequestArgs) -> Result<(Log, u64), CliError> {
    let RequestId { session, number } = &request.id;
    let session = match (session, &request.session) {
        (Some(id), Some(_)) => {
            return Err(CliError::usage(NamedTwice {
                id: id.clone(),
                number: *number,
            }));
        }
        (one, other) => one.as_ref().or(other.as_ref()),
    };
    let log = Log::find(app, session.map(String::as_str))?;
    if let Err(error) = log.file.request(*number) {
        let error = CliError::from(error);
        return Err(match log.before(app) {
            Some(before) => error.with_hint(before),
            None => error,
        });
    }
    Ok((log, *number))
}
