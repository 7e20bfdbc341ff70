use serde::Deserialize;

use crate::files::{self, File};
use crate::tool::{self, Tool};
use crate::{Call, Error, Failure, FailureKind, Need, Operation, Output, Parameters, Plan, Target};

struct Echo;

#[derive(Deserialize)]
struct Arguments {
    text: String,
    options: Option<Options>,
}

#[derive(Deserialize)]
struct Options {
    times: Vec<u8>,
}

impl Tool for Echo {
    const NAME: &'static str = "echo";
    const DESCRIPTION: &'static str = "Says it again.";
    const PARAMETERS: Parameters = Parameters::lines("@param text {string} What to say");
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        Ok(Plan::ask(format!("Say '{}'?", arguments.text)))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let times = arguments.options.map_or(1, |options| options.times.len());
        Ok(arguments.text.repeat(times).into())
    }
}

#[test]
fn a_call_finds_its_way_to_the_tool() {
    let info = tool::info::<Echo>();
    assert_eq!(
        (info.name.as_str(), info.parameters),
        ("echo", Echo::PARAMETERS)
    );
    let call = Call {
        tool: "echo".to_owned(),
        arguments: r#"{"text":"ha","options":{"times":[1,2]}}"#.to_owned(),
    };
    assert_eq!(
        tool::prepare::<Echo>(&call.arguments),
        Ok(Plan::ask("Say 'ha'?"))
    );
    assert_eq!(tool::run::<Echo>(&call.arguments), Ok(Output::text("haha")));
}

#[test]
fn a_wrong_argument_is_named() {
    for (arguments, message) in [
        ("{}", "missing field `text`"),
        ("", "missing field `text`"),
        (
            r#"{"text":1}"#,
            "text: invalid type: integer `1`, expected a string",
        ),
        (
            r#"{"text":"","options":{"times":[1,"2"]}}"#,
            "options.times[1]: invalid type: string \"2\", expected u8",
        ),
        (r#"{"text":"a"} x"#, "trailing characters"),
        (r#"{"text":"a""#, "EOF while parsing an object"),
    ] {
        let failure = tool::run::<Echo>(arguments).unwrap_err();
        assert_eq!(
            (failure.kind, failure.message.as_str()),
            (FailureKind::InvalidArguments, message),
            "{arguments}"
        );
    }
}

#[test]
fn an_error_of_an_import_becomes_a_failure() {
    let need = Need {
        target: Target::Path("a.txt".to_owned()),
        operation: Operation::Read,
    };
    let text = || "why".to_owned();
    for (error, kind, message) in [
        (
            Error::Denied(need),
            FailureKind::Denied,
            "permission to read 'a.txt' was denied",
        ),
        (Error::NotFound(text()), FailureKind::NotFound, "why"),
        (Error::WrongKind(text()), FailureKind::Failed, "why"),
        (Error::Invalid(text()), FailureKind::InvalidArguments, "why"),
        (Error::TooLarge(text()), FailureKind::TooLarge, "why"),
        (Error::Conflict(text()), FailureKind::Failed, "why"),
        (Error::TimedOut(text()), FailureKind::Failed, "why"),
        (
            Error::Cancelled,
            FailureKind::Cancelled,
            "cancelled by the user",
        ),
        (Error::Unsupported(text()), FailureKind::Failed, "why"),
        (Error::Failed(text()), FailureKind::Failed, "why"),
    ] {
        assert_eq!(Failure::from(error), Failure::new(kind, message));
    }
}

#[test]
fn without_a_host_nothing_is_read() {
    let message = "there is no host here: this is not running as a component";
    assert_eq!(File::open("a").unwrap_err().to_string(), message);
    assert_eq!(files::stat("a").unwrap_err().to_string(), message);
    assert_eq!(files::list_folder("a", 1).unwrap_err().to_string(), message);
    assert_eq!(
        files::edit("a", Vec::new()).unwrap_err().to_string(),
        message
    );
    crate::log::info("nobody hears this");
    crate::chat::progress("nor this", Some(50));
}
