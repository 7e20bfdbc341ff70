//! What `run` does otherwise than `prepare` says, for the author of a plugin.
//!
//! None of it is against the contract: the user is asked about it in the middle of the call, or is not asked at all where
//! a rule allows it. An author does not see that in a test, where reading and writing is allowed.

use std::path::Path;

use dunlin_host::ask::{Question, Unplanned};
use dunlin_host::call::{Action, Plan, WebRequest};
use dunlin_host::display::shorten;
use dunlin_host::edit::diff::{Change, DiffLine};
use dunlin_host::edit::{Diff, FileEdit};
use dunlin_host::target::Operation;

/// Characters of a line, or of what a header says, that are repeated.
const MAX_SHOWN_CHARS: usize = 80;

/// The question that `prepare` does not spare the user.
const ASKED: &str = "or the user is asked in the middle of the call";

/// What is said of a use that the plan does not announce.
pub fn of_use(actions: &[Action], unplanned: &Unplanned<'_>) -> String {
    let written = unplanned.written;
    if let Some(request) = unplanned.request {
        return of_request(actions, request);
    }
    let (verb, operation) = match unplanned.need.operation {
        Operation::Read => ("reads", "read"),
        Operation::Write => ("writes", "write"),
        Operation::Execute => ("executes", "execute"),
    };
    format!(
        "run {verb} '{written}', which prepare does not declare: add a need to {operation} it to the plan, {ASKED}"
    )
}

fn of_request(actions: &[Action], request: &WebRequest) -> String {
    let WebRequest { method, url, .. } = request;
    let planned: Vec<&WebRequest> = actions
        .iter()
        .filter_map(|action| match action {
            Action::Request(planned) => Some(planned),
            _ => None,
        })
        .collect();
    let without_query = |url: &str| url.split('?').next().map(str::to_owned);
    let same_url = planned.iter().find(|it| it.url == *url);
    let same_place = planned
        .iter()
        .find(|it| without_query(&it.url) == without_query(url));
    let announce = match request.reads() {
        true => "announce exactly this request in prepare",
        false => "add a need to write the address to the plan",
    };
    match (same_url, same_place) {
        (Some(planned), _) if planned.method != *method => format!(
            "run sends {method} {url}, where prepare announces a {}: {announce}, {ASKED}",
            planned.method
        ),
        (Some(planned), _) => format!(
            "run sends {method} {url} with other headers than prepare announces ({}): {announce}, {ASKED}",
            other_headers(planned, request)
        ),
        (None, Some(planned)) => format!(
            "run sends {method} {url}, where prepare announces {} {}: {announce}, {ASKED}",
            planned.method, planned.url
        ),
        (None, None) => format!(
            "run sends {method} {url}, which prepare does not announce: {announce}, {ASKED}"
        ),
    }
}

/// `accept: a instead of b, user-agent: none instead of me`.
fn other_headers(planned: &WebRequest, sent: &WebRequest) -> String {
    let value = |request: &WebRequest, name: &str| {
        let usual = request.usual_accept.filter(|_| name == "accept");
        let value = request.header(name).or(usual).unwrap_or("none");
        shorten(value, MAX_SHOWN_CHARS).into_owned()
    };
    let names = planned.headers.iter().chain(&sent.headers);
    let mut names: Vec<&str> = names.map(|(name, _)| name.as_str()).collect();
    // A plan that says no accept leaves it open among the usual ones.
    names.extend(planned.usual_accept.map(|_| "accept"));
    names.sort_unstable();
    names.dedup();
    let differing = names.into_iter().filter_map(|name| {
        let (planned, sent) = (value(planned, name), value(sent, name));
        (planned != sent).then(|| format!("{name}: {sent} instead of {planned}"))
    });
    differing.collect::<Vec<_>>().join(", ")
}

/// What is said of a question that came up in the middle of a call, and that nobody answered, for it is about something that
/// was to be announced whatever is allowed. `None`: it is about something else.
pub fn of_question(actions: &[Action], project: &Path, question: &Question) -> Option<String> {
    question.actions.iter().find_map(|action| match action {
        Action::Edit(edit) => Some(of_edit(actions, project, edit)),
        Action::Command(command) => {
            let declared = actions.iter().find_map(|action| match action {
                Action::Command(declared) => Some(declared),
                _ => None,
            });
            let network = |is: bool| if is { " with the network" } else { "" };
            let declared = match declared {
                Some(it) if it.line == command.line && it.network == command.network => {
                    return None;
                }
                Some(it) => format!("where prepare declares '{}'{}", it.line, network(it.network)),
                None => "which prepare does not declare".to_owned(),
            };
            Some(format!(
                "run starts '{}'{}, {declared}: declare exactly this line in prepare, or it is asked about each time",
                command.line,
                network(command.network)
            ))
        }
        _ => None,
    })
}

fn of_edit(actions: &[Action], project: &Path, made: &FileEdit) -> String {
    let path = within(project, &made.path);
    let planned = actions.iter().find_map(|action| match action {
        Action::Edit(planned) if planned.path == made.path => Some(planned),
        _ => None,
    });
    let Some(planned) = planned else {
        return format!(
            "run changes '{path}', which prepare does not announce: add exactly this change to the plan, or one that is \
             not known yet, or it is asked about each time"
        );
    };
    let differs = match (
        first_line(&planned.diff, &made.diff),
        planned.phrase() == made.phrase(),
    ) {
        (Some((planned, made)), _) => format!(" (announced {planned}, made {made})"),
        (None, false) => format!(
            " (announced to {} it, made to {} it)",
            planned.phrase().infinitive,
            made.phrase().infinitive
        ),
        (None, true) => String::new(),
    };
    format!(
        "run makes another change of '{path}' than prepare announces{differs}: the same text has to come of both, or it is asked \
         about each time"
    )
}

/// The first line that comes or goes in one of two differences and not in the other.
fn first_line(planned: &Diff, made: &Diff) -> Option<(String, String)> {
    fn changed(diff: &Diff) -> Vec<&DiffLine> {
        let lines = diff.hunks.iter().flat_map(|hunk| &hunk.lines);
        lines.filter(|line| line.change != Change::Kept).collect()
    }
    let (planned, made) = (changed(planned), changed(made));
    let shown = |line: Option<&&DiffLine>| match line {
        Some(line) => format!(
            "{}{:?}",
            line.change.mark(),
            shorten(&line.text, MAX_SHOWN_CHARS)
        ),
        None => "no more".to_owned(),
    };
    let most = planned.len().max(made.len());
    let at = (0..most).find(|at| planned.get(*at) != made.get(*at))?;
    Some((shown(planned.get(at)), shown(made.get(at))))
}

/// Changes that the plan of a call that has worked announces, and that it has not made.
pub fn not_made(plan: &Plan, project: &Path, made: &[FileEdit]) -> Vec<String> {
    let is_made = |path: &Path| made.iter().any(|edit| edit.paths().any(|it| it == path));
    let missing = plan.actions.iter().filter_map(|action| match action {
        Action::Edit(edit) => Some(&edit.path),
        Action::EditLater {
            path,
            change: Some(_),
        } => Some(path),
        _ => None,
    });
    let missing = missing.filter(|path| !is_made(path));
    missing
        .map(|path| {
            format!(
                "prepare announces a change of '{}', and run does not make it: make it with dunlin:tool/files, or do not \
                 announce it",
                within(project, path)
            )
        })
        .collect()
}

/// A path as an author writes it.
fn within(project: &Path, path: &Path) -> String {
    path.strip_prefix(project)
        .unwrap_or(path)
        .display()
        .to_string()
}
