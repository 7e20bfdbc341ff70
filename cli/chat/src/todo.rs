//! The steps of a model's work, as it writes them down with the tool `todo`.
//!
//! The tool keeps nothing: the arguments of the last call are the list, and they are the model's. What is not a step is left
//! out.

use serde_json::Value;

/// The tool that takes them.
pub const TODO: &str = "todo";

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// As the model wrote it: escape before showing.
    pub content: String,
    /// How far it is.
    pub status: StepStatus,
}

/// How far a step is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepStatus {
    /// It was not begun.
    Pending,
    /// It is being worked on.
    InProgress,
    /// It is done.
    Completed,
}

/// How many steps of a call are shown, and how many characters of each: what the tool takes. A list that it refuses may have
/// more.
const MAX_STEPS: usize = 50;
const MAX_STEP_CHARS: usize = 200;

/// The steps in the arguments of a call.
pub fn steps(arguments: &Value) -> Vec<Step> {
    let step = |item: &Value| {
        Some(Step {
            content: {
                let content = item.get("content")?.as_str()?.trim();
                content.chars().take(MAX_STEP_CHARS).collect()
            },
            status: match item.get("status")?.as_str()? {
                "pending" => StepStatus::Pending,
                "in_progress" => StepStatus::InProgress,
                "completed" => StepStatus::Completed,
                _ => return None,
            },
        })
    };
    let items = arguments.get("items").and_then(Value::as_array);
    let steps = items.into_iter().flatten().filter_map(step);
    steps.take(MAX_STEPS).collect()
}

/// How far the whole is: `1 of 3 done`.
pub fn progress(steps: &[Step]) -> String {
    let done = |step: &&Step| step.status == StepStatus::Completed;
    match steps.len() {
        0 => "no steps".to_owned(),
        count => format!("{} of {count} done", steps.iter().filter(done).count()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn steps_are_what_fits() {
        let arguments = json!({"items": [
            {"content": " a ", "status": "completed"},
            {"content": "b", "status": "in_progress"},
            {"content": "c", "status": "pending"},
            {"content": "d", "status": "later"},
            {"content": 1, "status": "pending"},
            {"status": "pending"},
            "e",
        ]});
        let found = steps(&arguments);
        let step = |content: &str, status| Step {
            content: content.to_owned(),
            status,
        };
        assert_eq!(
            found,
            [
                step("a", StepStatus::Completed),
                step("b", StepStatus::InProgress),
                step("c", StepStatus::Pending)
            ]
        );
        assert_eq!(progress(&found), "1 of 3 done");
        for none in [json!(null), json!({}), json!({"items": 1}), json!([])] {
            assert_eq!(steps(&none), []);
        }
        assert_eq!(progress(&[]), "no steps");
        let long = json!({"content": "é".repeat(MAX_STEP_CHARS + 1), "status": "pending"});
        let found = steps(&json!({ "items": vec![long; MAX_STEPS + 1] }));
        assert_eq!(found.len(), MAX_STEPS);
        assert_eq!(found[0].content, "é".repeat(MAX_STEP_CHARS));
    }
}
