//! A tool as its author writes it, and the way from a call to it.

use serde::de::DeserializeOwned;

use crate::error::Failure;
use crate::plugin::{Output, Parameters, Plan, ToolInfo};

/// One tool. Implement it on an empty struct and name that in [`export!`](crate::export).
pub trait Tool {
    /// 1 to 64 of `a-z A-Z 0-9 _ -`, without `__`; unique among all tools of a session.
    const NAME: &'static str;

    /// What it does and when to use it, for the model. Plain text.
    const DESCRIPTION: &'static str;

    /// What it takes.
    const PARAMETERS: Parameters;

    /// A name for people.
    const TITLE: Option<&'static str> = None;

    /// The JSON Schema of the structured result, if it gives one.
    const OUTPUT_SCHEMA: Option<&'static str> = None;

    /// Whether it may remove or overwrite something, told to other programs that use the tool. It changes nothing of what
    /// is allowed.
    const IS_DESTRUCTIVE: Option<bool> = None;

    /// Whether a second call with the same arguments changes nothing more; as with [`IS_DESTRUCTIVE`](Self::IS_DESTRUCTIVE).
    const IS_IDEMPOTENT: Option<bool> = None;

    /// The parameters as a type. Fields that are optional for the model are `Option`s.
    type Arguments: DeserializeOwned;

    /// Says what the call will touch, without doing it. Keep it fast: nothing is granted yet, so
    /// there is nothing to look at except the arguments.
    fn prepare(arguments: &Self::Arguments) -> Result<Plan, Failure>;

    /// Does the work. Each use of a file or any other import is checked at that moment and may wait
    /// for the user.
    fn run(arguments: Self::Arguments) -> Result<Output, Failure>;
}

/// What `T` says of itself.
pub fn info<T: Tool>() -> ToolInfo {
    ToolInfo {
        title: T::TITLE.map(str::to_owned),
        output_schema: T::OUTPUT_SCHEMA.map(str::to_owned),
        is_destructive: T::IS_DESTRUCTIVE,
        is_idempotent: T::IS_IDEMPOTENT,
        ..ToolInfo::new(T::NAME, T::DESCRIPTION, T::PARAMETERS)
    }
}

/// Parses the arguments and prepares.
pub fn prepare<T: Tool>(arguments: &str) -> Result<Plan, Failure> {
    T::prepare(&parse_arguments(arguments)?)
}

/// Parses the arguments and runs.
pub fn run<T: Tool>(arguments: &str) -> Result<Output, Failure> {
    T::run(parse_arguments(arguments)?)
}

/// The answer to a call of a tool that the plugin does not have. A host never makes one.
pub fn unknown(tool: &str) -> Failure {
    Failure::invalid_arguments(format!("this plugin has no tool named '{tool}'"))
}

/// Parses the arguments of a call as the host hands them over; the failure names the field at which
/// they do not fit.
///
/// [`export!`](crate::export) does it before it calls a [`Tool`]. For a [`Plugin`](crate::Plugin)
/// written by hand, and for tests.
pub fn parse_arguments<A: DeserializeOwned>(arguments: &str) -> Result<A, Failure> {
    // No argument at all is an object without members: some models send it that way.
    let text = if arguments.trim().is_empty() {
        "{}"
    } else {
        arguments
    };
    let mut json = serde_json::Deserializer::from_str(text);
    let parsed = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        let problem = without_position(error.inner());
        Failure::invalid_arguments(match path.as_str() {
            // The whole, or a place in text that is not JSON.
            "." | "?" => problem,
            field => format!("{field}: {problem}"),
        })
    })?;
    json.end()
        .map_err(|error| Failure::invalid_arguments(without_position(&error)))?;
    Ok(parsed)
}

/// What serde_json says, without the line and column: the model does not see the text it sent as lines.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position)
        .map_or(text.clone(), str::to_owned)
}
