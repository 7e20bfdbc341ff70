//! Why there is no engine, or why it does not take a component.

use crate::code::CodeError;

/// Why there is no engine on this machine, or why a component cannot be linked: a clause.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{0}")]
pub(crate) struct EngineError(String);

impl EngineError {
    pub(crate) fn new(problem: &str) -> EngineError {
        EngineError(problem.to_owned())
    }
}

impl From<wasmtime::Error> for EngineError {
    fn from(error: wasmtime::Error) -> EngineError {
        EngineError(one_line(&error))
    }
}

impl From<CodeError> for EngineError {
    fn from(error: CodeError) -> EngineError {
        EngineError(error.to_string())
    }
}

/// How the engine begins the list of functions that a trap came by.
const BACKTRACE: &str = "error while executing at wasm backtrace";

/// An engine error without its many lines of context.
pub(crate) fn one_line(error: &wasmtime::Error) -> String {
    let mut parts: Vec<String> = Vec::new();
    for cause in error.chain() {
        let text = cause.to_string();
        let first = text.lines().next().unwrap_or_default().to_owned();
        if !first.is_empty() && !first.starts_with(BACKTRACE) && !parts.contains(&first) {
            parts.push(first);
        }
    }
    short_message(&parts.join(": "))
}

/// Foreign text, harmless and short enough for a message.
fn short_message(text: &str) -> String {
    crate::display::shorten(&crate::display::escape(text), 400).into_owned()
}
