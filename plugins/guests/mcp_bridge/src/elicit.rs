//! A server that wants to know something of the user: a form, asked field by field, or an address to be visited.
//!
//! What is asked, and how, is the host's to show; an answer grants nothing. Whoever gives no answer to one field
//! has cancelled the whole form, so that nothing half is sent.

use rmcp::model::{ElicitRequestParams, ElicitResult, ElicitationAction};
use serde_json::{Map, Value};

use crate::bindings::dunlin::tool::chat;
use crate::bindings::dunlin::tool::types::Error;

/// Fields of a form, at most. A call may ask 32 times; a longer form is declined.
const MAX_FIELDS: usize = 24;

/// How often a field is asked for that was filled in wrongly.
const MAX_ATTEMPTS: usize = 3;

/// What leaves a field out.
const NOTHING: &str = "-";

/// The user's answer.
pub fn answer(request: &ElicitRequestParams) -> ElicitResult {
    let answered = match request {
        ElicitRequestParams::FormElicitationParams {
            message,
            requested_schema,
            ..
        } => {
            let schema = serde_json::to_value(requested_schema).unwrap_or_default();
            form(message, &schema, &mut ask)
        }
        ElicitRequestParams::UrlElicitationParams { message, url, .. } => {
            visit(message, url, &mut ask)
        }
        _ => Err(ElicitationAction::Decline),
    };
    match answered {
        Ok(Some(content)) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
        Ok(None) => ElicitResult::new(ElicitationAction::Accept),
        Err(action) => ElicitResult::new(action),
    }
}

fn ask(question: &str, options: &[String]) -> Result<String, ElicitationAction> {
    chat::ask(question, options).map_err(|error| match error {
        Error::Cancelled => ElicitationAction::Cancel,
        _ => ElicitationAction::Decline,
    })
}

type Asking<'a> = &'a mut dyn FnMut(&str, &[String]) -> Result<String, ElicitationAction>;

fn visit(message: &str, url: &str, ask: Asking<'_>) -> Result<Option<Value>, ElicitationAction> {
    let question = format!(
        "{message}\n\nThe server wants you to visit this address. Open it yourself if you trust it:\n{url}"
    );
    let options = ["done".to_owned(), "no".to_owned()];
    match ask(&question, &options)?.as_str() {
        "done" => Ok(None),
        _ => Err(ElicitationAction::Decline),
    }
}

fn form(
    message: &str,
    schema: &Value,
    ask: Asking<'_>,
) -> Result<Option<Value>, ElicitationAction> {
    let empty = Map::new();
    let fields = schema["properties"].as_object().unwrap_or(&empty);
    if fields.len() > MAX_FIELDS {
        return Err(ElicitationAction::Decline);
    }
    let required: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    if fields.is_empty() {
        let options = ["yes".to_owned(), "no".to_owned()];
        return match ask(message, &options)?.as_str() {
            "yes" => Ok(Some(Value::Object(Map::new()))),
            _ => Err(ElicitationAction::Decline),
        };
    }
    let mut content = Map::new();
    for (index, (name, field)) in fields.iter().enumerate() {
        let is_required = required.contains(&name.as_str());
        let before = match index {
            0 => format!("{message}\n\n"),
            _ => String::new(),
        };
        if let Some(value) = filled(&before, name, field, is_required, ask)? {
            content.insert(name.clone(), value);
        }
    }
    Ok(Some(Value::Object(content)))
}

/// One field. `None`: left out.
fn filled(
    before: &str,
    name: &str,
    field: &Value,
    is_required: bool,
    ask: Asking<'_>,
) -> Result<Option<Value>, ElicitationAction> {
    let title = field["title"].as_str().unwrap_or(name);
    let mut question = format!("{before}{title}");
    if let Some(description) = field["description"].as_str() {
        question += &format!(": {description}");
    }
    let default = field.get("default").filter(|default| !default.is_null());
    match (default, is_required) {
        (Some(default), _) => question += &format!("\n({NOTHING} takes {default})"),
        (None, false) => question += &format!("\n({NOTHING} leaves it out)"),
        (None, true) => {}
    }
    let choices = choices(field);
    let labels: Vec<String> = choices.iter().map(|(label, _)| label.clone()).collect();
    let mut problem = String::new();
    for _ in 0..MAX_ATTEMPTS {
        let asked = match problem.is_empty() {
            true => question.clone(),
            false => format!("{problem}\n{question}"),
        };
        let answer = ask(&asked, &labels)?;
        if answer == NOTHING {
            match (default, is_required) {
                (Some(default), _) => return Ok(Some(default.clone())),
                (None, false) => return Ok(None),
                (None, true) => {}
            }
        }
        match meant(&answer, field, &choices) {
            Ok(value) => return Ok(Some(value)),
            Err(why) => problem = why,
        }
    }
    Err(ElicitationAction::Cancel)
}

/// What can be chosen: what is shown, and the value it stands for.
fn choices(field: &Value) -> Vec<(String, Value)> {
    let of = |values: &Value| -> Vec<(String, Value)> {
        let values = values.as_array().into_iter().flatten();
        let choice = |value: &Value| match value.get("const") {
            Some(constant) => {
                let title = value["title"].as_str().map(str::to_owned);
                (title.unwrap_or_else(|| plain(constant)), constant.clone())
            }
            None => (plain(value), value.clone()),
        };
        values.map(choice).collect()
    };
    if field["type"] == "boolean" {
        return vec![
            ("yes".to_owned(), true.into()),
            ("no".to_owned(), false.into()),
        ];
    }
    let field = match field["type"] == "array" {
        true => &field["items"],
        false => field,
    };
    let found = [&field["enum"], &field["oneOf"], &field["anyOf"]].map(of);
    found
        .into_iter()
        .find(|choices| !choices.is_empty())
        .unwrap_or_default()
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        value => value.to_string(),
    }
}

/// What an answer means for a field, or what is wrong with it.
fn meant(answer: &str, field: &Value, choices: &[(String, Value)]) -> Result<Value, String> {
    let chosen = |text: &str| {
        let fits = |(label, value): &&(String, Value)| label == text || plain(value) == text;
        choices.iter().find(fits).map(|(_, value)| value.clone())
    };
    let kind = field["type"].as_str().unwrap_or("string");
    if kind == "array" {
        let parts = answer
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty());
        let values: Option<Vec<Value>> = parts.map(chosen).collect();
        return values
            .map(Value::Array)
            .ok_or_else(|| "One or more of these, with commas between them, please.".to_owned());
    }
    if !choices.is_empty() {
        return chosen(answer).ok_or_else(|| "One of these, please.".to_owned());
    }
    let number = |value: Option<Value>, what: &str| {
        let value = value.ok_or_else(|| format!("{what}, please."))?;
        let as_number = value.as_f64().unwrap_or_default();
        for (bound, word, outside) in [
            ("minimum", "least", f64::lt as fn(&f64, &f64) -> bool),
            ("maximum", "most", f64::gt),
        ] {
            if let Some(bound) = field[bound].as_f64()
                && outside(&as_number, &bound)
            {
                return Err(format!("It has to be at {word} {bound}."));
            }
        }
        Ok(value)
    };
    match kind {
        "integer" => number(
            answer.parse::<i64>().ok().map(Value::from),
            "A whole number",
        ),
        "number" => {
            let parsed = answer.parse::<f64>().ok().filter(|it| it.is_finite());
            number(parsed.map(Value::from), "A number")
        }
        _ => {
            let length = answer.chars().count() as u64;
            if field["minLength"]
                .as_u64()
                .is_some_and(|least| length < least)
            {
                return Err("That is too short.".to_owned());
            }
            if field["maxLength"]
                .as_u64()
                .is_some_and(|most| length > most)
            {
                return Err("That is too long.".to_owned());
            }
            Ok(Value::String(answer.to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Fills a form in with these answers.
    fn fill(schema: &Value, answers: &[&str]) -> Result<Option<Value>, ElicitationAction> {
        let mut answers = answers.iter();
        let mut ask = |_: &str, _: &[String]| {
            let next = answers.next().ok_or(ElicitationAction::Cancel)?;
            Ok((*next).to_owned())
        };
        form("Well?", schema, &mut ask)
    }

    #[test]
    fn answers_become_what_the_form_wants() {
        let schema = json!({
            "properties": {
                "name": {"type": "string"},
                "age": {"type": "integer", "minimum": 3},
                "sure": {"type": "boolean"},
                "colour": {"type": "string", "oneOf": [{"const": "#f00", "title": "red"}]},
                "extra": {"type": "string"},
                "size": {"type": "string", "enum": ["s", "m"], "default": "m"},
            },
            "required": ["name", "age", "sure", "colour"],
        });
        let answers = ["Ada", "two", "2", "36", "yes", "red", "-", "-"];
        assert_eq!(
            fill(&schema, &answers),
            Ok(Some(json!({
                "name": "Ada", "age": 36, "sure": true, "colour": "#f00", "size": "m",
            })))
        );
        assert_eq!(fill(&schema, &["Ada"]), Err(ElicitationAction::Cancel));
        let wrong = ["Ada", "x", "x", "x"];
        assert_eq!(fill(&schema, &wrong), Err(ElicitationAction::Cancel));
    }

    #[test]
    fn several_can_be_chosen() {
        let schema = json!({"properties": {
            "of": {"type": "array", "items": {"enum": ["a", "b", "c"]}},
        }});
        assert_eq!(
            fill(&schema, &["a, c"]),
            Ok(Some(json!({"of": ["a", "c"]})))
        );
    }

    #[test]
    fn a_form_without_fields_is_a_question() {
        assert_eq!(fill(&json!({}), &["yes"]), Ok(Some(json!({}))));
        assert_eq!(fill(&json!({}), &["no"]), Err(ElicitationAction::Decline));
    }
}
