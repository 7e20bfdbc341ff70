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
    const PARAMETERS: Parameters = crate::parameters!("@param text {string} What to say");
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
        (Error::Conflict(text()), FailureKind::Conflict, "why"),
        (Error::TimedOut(text()), FailureKind::TimedOut, "why"),
        (
            Error::Cancelled,
            FailureKind::Cancelled,
            "cancelled by the user",
        ),
        (Error::Unsupported(text()), FailureKind::Unsupported, "why"),
        (Error::Failed(text()), FailureKind::Failed, "why"),
    ] {
        assert_eq!(Failure::from(error), Failure::new(kind, message));
    }
}

#[test]
fn without_a_host_nothing_is_read() {
    let message = "there is no host here: a test has one in dunlin_sdk::mock";
    assert_eq!(File::open("a").unwrap_err().to_string(), message);
    assert_eq!(files::stat("a").unwrap_err().to_string(), message);
    assert_eq!(files::list_folder("a", 1).unwrap_err().to_string(), message);
    assert_eq!(
        files::edit("a", Vec::new()).unwrap_err().to_string(),
        message
    );
    for refused in [
        files::remove("a"),
        files::rename("a", "b"),
        files::create_folder("a"),
        files::remove_folder("a"),
        files::make_planned_changes(),
        files::write_bytes("a", b"b"),
    ] {
        assert_eq!(refused.unwrap_err().to_string(), message);
    }
    crate::log::info("nobody hears this");
    crate::chat::progress("nor this", Some(50));
}

/// How to go about it.
#[derive(Deserialize, crate::Schema)]
#[serde(rename_all = "kebab-case")]
enum Pace {
    VeryFast,
    Slow,
}

#[derive(Deserialize, crate::Schema)]
#[expect(dead_code, reason = "only its schema counts")]
struct Place {
    /// Counts from 1
    #[parameter(minimum = 1)]
    line: u64,
    #[serde(rename = "type")]
    kind: Option<String>,
}

#[derive(Deserialize, crate::Schema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[expect(dead_code, reason = "only its schema counts")]
struct Everything {
    /// The file,
    /// relative to the project
    ///
    /// It must be text.
    file_path: String,
    /// Where
    places: Vec<Place>,
    pace: Option<Pace>,
    #[serde(default)]
    #[parameter(minimum = -1, maximum = 100, default = 20)]
    most: i32,
    #[parameter(maximum = 0.5)]
    share: f64,
    /// Anything
    more: Option<serde_json::Value>,
    names: Option<Vec<Vec<String>>>,
    quiet: bool,
    counts: Option<Vec<u8>>,
}

/// A call that fits the schema can be read: the names are those that serde expects.
#[test]
fn a_schema_has_the_names_of_serde() {
    macro_rules! check {
        ($($rule:literal)*) => {$({
            #[derive(Deserialize, crate::Schema)]
            #[serde(rename_all = $rule, deny_unknown_fields)]
            #[expect(dead_code, non_snake_case, reason = "only the names count")]
            struct Fields {
                file_path: u8,
                _private: u8,
                r#type: u8,
                oddName: u8,
            }
            #[derive(Deserialize, crate::Schema)]
            #[serde(rename_all = $rule)]
            #[expect(
                non_camel_case_types,
                clippy::upper_case_acronyms,
                reason = "only the names count"
            )]
            enum Variants {
                TwoWords,
                One,
                r#move,
                HTTP,
            }
            let schema: serde_json::Value =
                serde_json::from_str(<Fields as crate::Schema>::SCHEMA).unwrap();
            let names = schema["properties"].as_object().unwrap().keys();
            let call: serde_json::Map<_, _> = names.map(|name| (name.clone(), 1.into())).collect();
            assert_eq!(call.len(), 4);
            let read = serde_json::from_value::<Fields>(call.into());
            assert!(read.is_ok(), "{}: {schema}: {:?}", $rule, read.err());
            let schema: serde_json::Value =
                serde_json::from_str(<Variants as crate::Schema>::SCHEMA).unwrap();
            let words = schema["enum"].as_array().unwrap();
            assert_eq!(words.len(), 4);
            for word in words {
                let read = serde_json::from_value::<Variants>(word.clone());
                assert!(read.is_ok(), "{}: {schema}: {:?}", $rule, read.err());
            }
        })*};
    }
    check!(
        "lowercase" "UPPERCASE" "PascalCase" "camelCase" "snake_case" "SCREAMING_SNAKE_CASE" "kebab-case"
        "SCREAMING-KEBAB-CASE"
    );
}

#[test]
fn a_schema_follows_from_the_type() {
    let schema: serde_json::Value =
        serde_json::from_str(<Everything as crate::Schema>::SCHEMA).unwrap();
    let expected = serde_json::json!({
        "type": "object",
        "properties": {
            "filePath": {
                "description": "The file, relative to the project\nIt must be text.",
                "type": "string"
            },
            "places": {
                "description": "Where",
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "line": {"description": "Counts from 1", "minimum": 1, "type": "integer"},
                        "type": {"type": "string"}
                    },
                    "required": ["line"],
                    "additionalProperties": false
                }
            },
            "pace": {"type": "string", "enum": ["very-fast", "slow"]},
            "most": {"minimum": -1, "maximum": 100, "default": 20, "type": "integer"},
            "share": {"maximum": 0.5, "type": "number"},
            "more": {"description": "Anything"},
            "names": {"type": "array", "items": {"type": "array", "items": {"type": "string"}}},
            "quiet": {"type": "boolean"},
            "counts": {"type": "array", "items": {"minimum": 0, "type": "integer"}}
        },
        "required": ["filePath", "places", "share", "quiet"],
        "additionalProperties": false
    });
    assert_eq!(schema, expected);
}
