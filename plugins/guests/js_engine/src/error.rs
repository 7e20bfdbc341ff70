//! Errors on their way into the program, and out of it.

use rquickjs::{Coerced, Ctx, Exception, FromJs, Object, Value};

use crate::bindings::dunlin::tool::types::{Error as Refusal, Operation, Target};
use crate::bindings::exports::dunlin::tool::app_program::Error;

/// What the program is called in stacks.
pub(crate) const PROGRAM: &str = "main-js";

/// Throws what the host answered, as an error whose name says what kind it is.
pub(crate) fn refused(ctx: &Ctx<'_>, refusal: Refusal) -> rquickjs::Error {
    let (name, message) = match refusal {
        Refusal::Denied(need) => {
            let operation = match need.operation {
                Operation::Read => "read",
                Operation::Write => "write",
                Operation::Execute => "execute",
            };
            let (Target::Path(target)
            | Target::Folder(target)
            | Target::Url(target)
            | Target::Site(target)
            | Target::Program(target)) = need.target;
            (
                "PermissionDeniedError",
                format!("permission to {operation} '{target}' was denied"),
            )
        }
        Refusal::NotFound(message) => ("NotFoundError", message),
        Refusal::WrongKind(message) => ("WrongKindError", message),
        Refusal::Invalid(message) => ("InvalidError", message),
        Refusal::TooLarge(message) => ("TooLargeError", message),
        Refusal::Conflict(message) => ("ConflictError", message),
        Refusal::TimedOut(message) => ("TimeoutError", message),
        Refusal::Unavailable(message) => ("UnavailableError", message),
        Refusal::Cancelled => ("CancelledError", "cancelled by the user".to_owned()),
        Refusal::Unsupported(message) => ("NotSupportedError", message),
        Refusal::Failed(message) => ("FailedError", message),
    };
    named(ctx, name, &message)
}

/// Throws an error of this name.
pub(crate) fn named(ctx: &Ctx<'_>, name: &str, message: &str) -> rquickjs::Error {
    let made = Exception::from_message(ctx.clone(), message).and_then(|exception| {
        exception.as_object().set("name", name)?;
        Ok(exception)
    });
    match made {
        Ok(exception) => exception.throw(),
        Err(error) => error,
    }
}

/// What was thrown, as the host is told of it. Reading it runs no more of the program than its own getters, and a fault of
/// these is forgotten.
pub(crate) fn thrown<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> Error {
    let Some(error) = value.as_object().filter(|object| object.is_error()) else {
        return Error {
            message: text(ctx, value),
            kind: None,
            stack: String::new(),
            line: None,
            column: None,
        };
    };
    let stack = program_calls(&property(ctx, error, "stack"));
    let place = stack.lines().next().and_then(place);
    Error {
        message: property(ctx, error, "message"),
        kind: Some(property(ctx, error, "name")),
        line: place.map(|(line, _)| line),
        column: place.map(|(_, column)| column),
        stack,
    }
}

/// The error in a few lines, for the log.
pub(crate) fn in_words(error: &Error) -> String {
    let mut words = match &error.kind {
        Some(kind) => format!("{kind}: {}", error.message),
        None => error.message.clone(),
    };
    if !error.stack.is_empty() {
        words.push('\n');
        words.push_str(&error.stack);
    }
    words
}

/// A property as text; empty where it cannot be read.
fn property<'js>(ctx: &Ctx<'js>, object: &Object<'js>, name: &str) -> String {
    match object.get::<_, Value>(name) {
        Ok(value) if value.is_undefined() || value.is_null() => String::new(),
        Ok(value) => text(ctx, &value),
        Err(_) => {
            ctx.catch();
            String::new()
        }
    }
}

/// Any value as text: objects as JSON, where that is possible.
fn text<'js>(ctx: &Ctx<'js>, value: &Value<'js>) -> String {
    if value.is_object() {
        match ctx.json_stringify(value.clone()) {
            Ok(Some(json)) => return json.to_string().unwrap_or_default(),
            Ok(None) => {}
            Err(_) => {
                ctx.catch();
            }
        }
    }
    if value.is_symbol() {
        return "a symbol".to_owned();
    }
    match Coerced::<String>::from_js(ctx, value.clone()) {
        Ok(text) => text.0,
        Err(_) => {
            ctx.catch();
            String::new()
        }
    }
}

/// The calls in the program itself: how the functions that it calls are made helps nobody who reads it.
fn program_calls(stack: &str) -> String {
    let calls: Vec<&str> = stack
        .lines()
        .filter(|line| place(line).is_some())
        .map(str::trim)
        .collect();
    calls.join("\n")
}

/// Line and column in the program that a line of a stack names.
fn place(line: &str) -> Option<(u32, u32)> {
    let (_, place) = line.rsplit_once(PROGRAM)?;
    let mut numbers = place.strip_prefix(':')?.trim_end_matches(')').split(':');
    let line = numbers.next()?.parse().ok()?;
    let column = numbers.next()?.parse().ok()?;
    Some((line, column))
}
