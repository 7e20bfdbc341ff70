//! The tool `ask_user`: lets a model ask the person it works for.
//!
//! The call itself is the question, so nothing is declared and nothing has to be approved. What comes back are
//! the person's words; they are an answer to the model and grant nothing.

use dunlin_sdk::{Error, Failure, FailureKind, Output, Parameters, Plan, Tool, chat, parameters};
use serde::Deserialize;

/// The tool.
#[derive(Debug)]
pub struct AskUser;

/// What the model says.
#[derive(Debug, Deserialize)]
pub struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
}

impl Tool for AskUser {
    const NAME: &'static str = "ask_user";
    const TITLE: Option<&'static str> = Some("Ask the user");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(false);

    const DESCRIPTION: &'static str = "Asks the user a question and returns the answer. Use it when you cannot \
        continue without a decision or a fact that only the user has, and no other tool can find out. Ask one \
        thing at a time. With options the user may choose one of them or answer in other words.";

    const PARAMETERS: Parameters = parameters!(
        "@param question {string} [required] The question, in full sentences\n\
         @param options {array} [optional] Answers to choose from, at most 20\n\
         @param options[] {string} [required] One answer",
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        if arguments.question.trim().is_empty() {
            let problem = "question: it is empty; write what you want to know";
            return Err(Failure::invalid_arguments(problem));
        }
        Ok(Plan::ask("Let the model ask you a question?"))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        match chat::ask(&arguments.question, &arguments.options) {
            Ok(answer) => Ok(answer.into()),
            Err(Error::Unsupported(_)) => Err(Failure::new(
                FailureKind::Failed,
                "nobody is there to answer: decide as well as you can, or say in your reply what you need to know",
            )),
            Err(Error::Cancelled) => Err(Failure::new(
                FailureKind::Failed,
                "the user did not want to answer",
            )),
            Err(error) => Err(error.into()),
        }
    }
}

dunlin_sdk::export!(AskUser);

#[cfg(test)]
mod tests {
    use dunlin_sdk::parse_arguments;

    use super::*;

    #[test]
    fn a_question_needs_nothing() {
        let arguments =
            parse_arguments(r#"{"question":"Which one?","options":["a","b"]}"#).unwrap();
        let plan = AskUser::prepare(&arguments).unwrap();
        assert_eq!(plan, Plan::ask("Let the model ask you a question?"));
        let arguments: Arguments = parse_arguments(r#"{"question":"Why?"}"#).unwrap();
        assert!(arguments.options.is_empty());
    }

    #[test]
    fn what_is_wrong_is_named() {
        let arguments = parse_arguments(r#"{"question":" \n"}"#).unwrap();
        let failure = AskUser::prepare(&arguments).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(failure.message.starts_with("question: "), "{failure}");
    }

    #[test]
    fn outside_of_a_component_there_is_nobody() {
        let arguments = parse_arguments(r#"{"question":"Why?"}"#).unwrap();
        let failure = AskUser::run(arguments).unwrap_err();
        assert!(failure.message.starts_with("nobody is there"), "{failure}");
    }
}
