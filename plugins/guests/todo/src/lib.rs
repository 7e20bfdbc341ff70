//! The tool `todo`: lets a model write down the steps of its work, for itself and for the user, who sees them.
//!
//! The list is all there is: each call has the whole of it, so the last one in the conversation is the plan, and nothing is
//! kept elsewhere. It touches nothing, so nothing has to be approved.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool};
use serde::Deserialize;

/// Items of a list. More are no plan.
const MAX_ITEMS: usize = 50;

/// Characters of an item: a line on a screen.
const MAX_ITEM_CHARS: usize = 200;

/// The tool.
#[derive(Debug)]
pub struct Todo;

/// What the model says.
#[derive(Debug, Deserialize, Schema)]
pub struct Arguments {
    /// All items of the list in their order, those that are done as well; at most 50
    items: Vec<Item>,
}

/// One step.
#[derive(Debug, Deserialize, Schema)]
struct Item {
    /// What is to be done, in a few words
    content: String,
    /// How far it is
    status: Status,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, Schema)]
#[serde(rename_all = "snake_case")]
enum Status {
    Pending,
    InProgress,
    Completed,
}

impl Arguments {
    fn check(&self) -> Result<(), Failure> {
        let count = self.items.len();
        if count > MAX_ITEMS {
            return Err(Failure::invalid_arguments(format!(
                "items: there are {count}; at most {MAX_ITEMS} are possible: join some of them"
            )));
        }
        for (item, number) in self.items.iter().zip(1..) {
            let chars = item.content.chars().count();
            let problem = match item.content.trim() {
                "" => "content is empty; say what is to be done".to_owned(),
                _ if chars > MAX_ITEM_CHARS => {
                    format!("content has {chars} characters; at most {MAX_ITEM_CHARS} are possible")
                }
                _ => continue,
            };
            return Err(Failure::invalid_arguments(format!(
                "item {number}: {problem}"
            )));
        }
        Ok(())
    }

    /// What the model gets: it wrote the list itself.
    fn summary(&self) -> String {
        let with = |status| self.items.iter().filter(move |item| item.status == status);
        let (count, done) = (self.items.len(), with(Status::Completed).count());
        let now: Vec<&str> = with(Status::InProgress)
            .map(|item| item.content.trim())
            .collect();
        match (count, now.as_slice()) {
            (0, _) => "The list is empty.".to_owned(),
            (_, []) if done == count => format!("All {count} done."),
            (_, []) => format!("{done} of {count} done."),
            (_, now) => format!("{done} of {count} done, now: {}", now.join("; ")),
        }
    }
}

impl Tool for Todo {
    const NAME: &'static str = "todo";
    const TITLE: Option<&'static str> = Some("Plan the work");
    const IS_DESTRUCTIVE: Option<bool> = Some(false);
    const IS_IDEMPOTENT: Option<bool> = Some(true);

    const DESCRIPTION: &'static str = "Writes down the steps of your work as a list that the user sees. Use it for work of three \
        steps or more, not for a question. Each call has the whole list: when you begin or finish a step, call it again with \
        the new status. One step is in_progress at a time.";

    const PARAMETERS: Parameters = Parameters::of::<Arguments>();

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        arguments.check()?;
        Ok(Plan::ask("Update the list of steps?"))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        Ok(arguments.summary().into())
    }
}

dunlin_sdk::export!(Todo);

#[cfg(test)]
mod tests {
    use dunlin_sdk::{FailureKind, parse_arguments};

    use super::*;

    fn list(items: &[(&str, &str)]) -> Arguments {
        let items: Vec<String> = items
            .iter()
            .map(|(content, status)| format!(r#"{{"content":"{content}","status":"{status}"}}"#))
            .collect();
        parse_arguments(&format!(r#"{{"items":[{}]}}"#, items.join(","))).unwrap()
    }

    #[test]
    fn a_list_needs_nothing_and_has_a_short_answer() {
        let check = |items: &[(&str, &str)], expected: &str| {
            let arguments = list(items);
            assert_eq!(
                Todo::prepare(&arguments),
                Ok(Plan::ask("Update the list of steps?"))
            );
            assert_eq!(arguments.summary(), expected);
        };
        check(&[], "The list is empty.");
        check(&[("a", "pending"), ("b", "pending")], "0 of 2 done.");
        check(
            &[("a", "completed"), (" b ", "in_progress"), ("c", "pending")],
            "1 of 3 done, now: b",
        );
        check(&[("a", "completed"), ("b", "completed")], "All 2 done.");
    }

    #[test]
    fn what_is_wrong_is_named() {
        let check = |arguments: Arguments, expected: &str| {
            let failure = Todo::prepare(&arguments).unwrap_err();
            assert_eq!(failure.kind, FailureKind::InvalidArguments);
            assert!(failure.message.starts_with(expected), "{failure}");
        };
        check(
            list(&[("a", "pending"), (" ", "pending")]),
            "item 2: content is empty",
        );
        check(
            list(&[(&"x".repeat(201), "pending")]),
            "item 1: content has 201 characters",
        );
        check(
            list(&[("a", "pending"); 51]),
            "items: there are 51; at most 50",
        );
        let failure =
            parse_arguments::<Arguments>(r#"{"items":[{"content":"a","status":"done"}]}"#)
                .unwrap_err();
        assert!(
            failure.message.contains("unknown variant `done`"),
            "{failure}"
        );
    }
}
