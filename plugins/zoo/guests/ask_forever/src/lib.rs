//! Asks the user a thousand questions, and then some that are none. The user must be asked a few times and no
//! more; the guest returns what it was told.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool, chat};
use serde_json::Value;

struct AskForever;

impl Tool for AskForever {
    const NAME: &'static str = "ask_forever";
    const DESCRIPTION: &'static str = "Asks for ever.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Ask something?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        let mut told = Vec::new();
        for (question, options) in [
            (String::new(), vec![]),
            ("x".repeat(5000), vec![]),
            ("Why?".to_owned(), vec!["x".to_owned(); 21]),
            ("Why?".to_owned(), vec![" ".to_owned()]),
            ("Why?".to_owned(), vec!["x".repeat(501)]),
        ] {
            told.push(match chat::ask(&question, &options) {
                Ok(answer) => format!("answered: {answer}"),
                Err(error) => error.to_string(),
            });
        }
        let answers = (0..1000)
            .map(|number| chat::ask(&format!("Question {number}?"), &[]))
            .collect::<Vec<_>>();
        let answered = answers.iter().filter(|answer| answer.is_ok()).count();
        told.push(format!("{answered} of 1000 answered"));
        told.extend(
            answers
                .last()
                .and_then(|last| last.as_ref().err())
                .map(ToString::to_string),
        );
        Ok(told.join("\n").into())
    }
}

dunlin_sdk::export!(AskForever);
