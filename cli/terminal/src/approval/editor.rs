//! The arguments of a call as they are edited.

use serde_json::{Map, Value};

use crate::editor::Draft;

/// The file in which they are edited.
pub const ARGUMENTS: Draft = Draft {
    prefix: "call-",
    suffix: ".json",
    what: "the arguments",
};

/// What came back.
#[derive(Debug, PartialEq)]
pub enum Edited {
    Arguments(Map<String, Value>),
    /// The arguments as they were, or an emptied file: whoever empties it gives up.
    Unchanged,
    /// No JSON object; why, with line and column.
    Broken(String),
}

/// The arguments as they are edited.
pub fn pretty(arguments: &Value) -> String {
    let text = serde_json::to_string_pretty(arguments).unwrap_or_else(|_| arguments.to_string());
    text + "\n"
}

/// Understands what came back from the editor.
pub fn understand(text: &str, before: &Value) -> Edited {
    if text.trim().is_empty() {
        return Edited::Unchanged;
    }
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) if before.as_object() == Some(&arguments) => Edited::Unchanged,
        Ok(Value::Object(arguments)) => Edited::Arguments(arguments),
        Ok(_) => Edited::Broken("they are not a JSON object".to_owned()),
        Err(error) => Edited::Broken(format!("they are not JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_comes_back_is_understood() {
        let before = json!({"path": "a", "lines": [1, 2]});
        let edited = json!({"path": "b"}).as_object().cloned().unwrap();
        let check =
            |text: &str, expected| assert_eq!(understand(text, &before), expected, "{text}");
        check(&pretty(&before), Edited::Unchanged);
        check(" \n", Edited::Unchanged);
        check("{\"lines\":[1,2],\"path\":\"a\"}", Edited::Unchanged);
        check("{\"path\":\"b\"}", Edited::Arguments(edited));
        check(
            "[1]",
            Edited::Broken("they are not a JSON object".to_owned()),
        );
        let Edited::Broken(problem) = understand("{\n  \"path\": 'b'\n}", &before) else {
            panic!("taken for JSON")
        };
        assert!(problem.contains("line 2 column 11"), "{problem}");
    }
}
