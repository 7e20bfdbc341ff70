//! A chat template at work.
//!
//! Templates are written for Python's Jinja. They run with a bounded number of steps and reach nothing but the
//! conversation; but a step can double a text, and already reading `"a" * 90000000` makes it. Nothing in the engine
//! bounds memory as a whole, so a [`Rendering`] can be sent to a process of its own, and whoever has one gives the model a
//! [`Renderer`] that does.

use std::io;

use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Kwargs, Serde};
use minijinja::{Environment, Error, ErrorKind, Value as Jinja, context};
use minijinja_contrib::pycompat::unknown_method_callback;
use serde::{Deserialize, Serialize};
use serde_json::ser::Formatter;
use serde_json::{Serializer, Value};

/// Steps of a template. A conversation of a thousand messages with all tools takes some hundred thousand;
/// the bound ends a template that never would.
const MAX_STEPS: u64 = 20_000_000;

/// The name under which a template is kept.
const NAME: &str = "chat";

/// Makes a prompt of what a template is given.
pub type Renderer = fn(&Rendering) -> Result<String, TemplateError>;

/// Why a template makes no prompt.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// It is not a template, fails, or refuses the conversation. One line of the engine's and the file's words.
    #[error("{0}")]
    Failed(String),
    /// The process that runs it could not be started, or given the conversation.
    #[error("cannot run the template in a process of its own")]
    Process(#[source] io::Error),
    #[error("the template makes a prompt that no model reads")]
    TooLong,
    /// The process that ran it was ended.
    #[error("the template takes more memory or time than it may")]
    Exhausted,
}

/// A template, not looked at yet, and what it is given.
#[derive(Debug, Serialize, Deserialize)]
pub struct Rendering {
    pub(crate) source: String,
    pub(crate) messages: Vec<Value>,
    pub(crate) tools: Option<Value>,
    /// How the tokens are written that a conversation starts and ends with.
    pub(crate) start: String,
    pub(crate) end: String,
}

impl Rendering {
    /// Runs the template here, in steps that end, and memory that may not.
    pub fn run(&self) -> Result<String, TemplateError> {
        let environment = environment(&self.source)?;
        let template = environment.get_template(NAME).map_err(said)?;
        let tools = match &self.tools {
            Some(tools) => Jinja::from(Serde(tools)),
            None => Jinja::from(()),
        };
        let rendered = template.render(context! {
            messages => Jinja::from(Serde(&self.messages)),
            tools => tools,
            add_generation_prompt => true,
            bos_token => self.start.as_str(),
            eos_token => self.end.as_str(),
            // Reasoning of a small model costs more time than it gives sense.
            enable_thinking => false,
        });
        rendered.map_err(said)
    }
}

fn environment(source: &str) -> Result<Environment<'static>, TemplateError> {
    let mut environment = Environment::new();
    environment.set_unknown_method_callback(unknown_method_callback);
    let syntax = SyntaxConfig::builder()
        .trim_blocks(true)
        .lstrip_blocks(true)
        .build()
        .map_err(said)?;
    environment.set_syntax(syntax);
    environment.set_fuel(Some(MAX_STEPS));
    environment.add_filter("tojson", to_json);
    environment.add_function(
        "raise_exception",
        |message: String| -> Result<Jinja, Error> {
            Err(Error::new(ErrorKind::InvalidOperation, message))
        },
    );
    // Templates print today's date into the prompt, which would have it read anew every day; none is as
    // true, and the same.
    environment.add_function("strftime_now", |_: String| String::new());
    environment
        .add_template_owned(NAME, source.to_owned())
        .map_err(said)?;
    Ok(environment)
}

/// JSON as Python writes it: models were trained on it, and minijinja's own would escape for HTML.
fn to_json(value: Jinja, options: Kwargs) -> Result<String, Error> {
    let failed =
        |error: serde_json::Error| Error::new(ErrorKind::BadSerialization, error.to_string());
    let indent: Option<usize> = options.get("indent")?;
    let mut out = Vec::new();
    match indent {
        None => value
            .serialize(&mut Serializer::with_formatter(&mut out, Spaced))
            .map_err(failed)?,
        Some(indent) => {
            let spaces = " ".repeat(indent.min(16));
            let formatter = serde_json::ser::PrettyFormatter::with_indent(spaces.as_bytes());
            value
                .serialize(&mut Serializer::with_formatter(&mut out, formatter))
                .map_err(failed)?;
        }
    }
    String::from_utf8(out)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

/// `{"a": 1, "b": [2, 3]}`
struct Spaced;

impl Formatter for Spaced {
    fn begin_array_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        match first {
            true => Ok(()),
            false => writer.write_all(b", "),
        }
    }

    fn begin_object_key<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
        first: bool,
    ) -> std::io::Result<()> {
        match first {
            true => Ok(()),
            false => writer.write_all(b", "),
        }
    }

    fn begin_object_value<W: ?Sized + std::io::Write>(
        &mut self,
        writer: &mut W,
    ) -> std::io::Result<()> {
        writer.write_all(b": ")
    }
}

/// The error in one line.
fn said(error: Error) -> TemplateError {
    TemplateError::Failed(match error.detail() {
        Some(detail) => format!("{}: {detail}", error.kind()),
        None => error.kind().to_string(),
    })
}
