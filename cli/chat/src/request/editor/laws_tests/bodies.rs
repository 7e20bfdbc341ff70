//! Bodies of random decisions.

use serde_json::Value;

use super::super::{KnownOption, OptionKind, Origin, Outline, SectionId};

/// Bytes that decide, one after the other.
pub(super) struct Source<'a> {
    pub(super) decisions: &'a [u8],
}

impl Source<'_> {
    /// A number below `count`; 0 when nothing is left.
    pub(super) fn below(&mut self, count: usize) -> usize {
        match self.decisions {
            [] => 0,
            [first, rest @ ..] => {
                self.decisions = rest;
                usize::from(*first) % count.max(1)
            }
        }
    }

    pub(super) fn pick(&mut self, choices: &[&'static str]) -> &'static str {
        choices[self.below(choices.len())]
    }

    pub(super) fn is_empty(&self) -> bool {
        self.decisions.is_empty()
    }

    fn space(&mut self) -> &'static str {
        self.pick(&["", "", "", " ", "\n\t"])
    }

    /// A string as JSON, with escapes that nobody has to write.
    pub(super) fn string(&mut self) -> &'static str {
        self.pick(&[
            r#""Hi""#,
            r#""""#,
            r#""\u00e9\/\n\ud83e\udeb6""#,
            r#""ß🪶 \"{\\""#,
            r#""{\"a\":1}""#,
            r#""[1.0]""#,
            r#""{""#,
        ])
    }

    pub(super) fn scalar(&mut self) -> &'static str {
        let scalars = [
            "1",
            "1.0",
            "-0",
            "1e3",
            "0.30000000000000004",
            "123456789012345678901",
            "true",
            "false",
            "null",
        ];
        match self.below(3) {
            0 => self.string(),
            _ => self.pick(&scalars),
        }
    }

    /// An object, at times with keys that have to be quoted in paths.
    pub(super) fn object(&mut self) -> String {
        let keys = [r#""a""#, r#""b c""#, r#""""#, r#""\u0064.e""#];
        let count = self.below(4);
        let members = keys.iter().take(count).map(|key| {
            let (space, value) = (self.space(), self.scalar());
            match self.below(4) {
                0 => format!("{key}{space}:[{value},{space}{{}}]"),
                _ => format!("{key}:{space}{value}"),
            }
        });
        format!("{{{}}}", members.collect::<Vec<_>>().join(","))
    }

    fn list(&mut self, items: &[String]) -> String {
        let space = self.space();
        let comma = format!("{},{}", self.space(), self.space());
        format!("[{space}{}{space}]", items.join(&comma))
    }
}

/// A body with messages, tools and options, written in some odd way, and its outline.
pub(super) fn body(source: &mut Source<'_>) -> (String, Outline) {
    match source.below(4) {
        3 => of_items(source),
        2 => in_blocks(source),
        _ => of_chat(source),
    }
}

/// One in the layout of the Responses API.
fn of_items(source: &mut Source<'_>) -> (String, Outline) {
    let text = |source: &mut Source<'_>, role: &str| {
        format!(r#"{{"role":"{role}","content":{}}}"#, source.string())
    };
    let mut items = Vec::new();
    let mut origins = 0;
    if source.below(2) == 1 {
        items.push(text(source, "system"));
    }
    for turn in 0..=source.below(2) {
        items.push(text(source, "user"));
        let mut said = Vec::new();
        if source.below(2) == 1 {
            said.push(format!(
                r#"{{"type":"reasoning","id":"rs{turn}","summary":[{{"type":"summary_text","text":{}}}],"encrypted_content":"x=="}}"#,
                source.string()
            ));
        }
        if source.below(2) == 1 {
            said.push(format!(
                r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":{}}}],"phase":"commentary"}}"#,
                source.string()
            ));
        }
        let mut results = Vec::new();
        for call in 0..source.below(3) {
            let arguments = Value::from(source.object()).to_string();
            said.push(format!(
                r#"{{"type":"function_call","call_id":"c{turn}{call}","name":"t0","arguments":{arguments}}}"#
            ));
            results.push(format!(
                r#"{{"type":"function_call_output","call_id":"c{turn}{call}","output":{}}}"#,
                source.string()
            ));
        }
        origins += 1 + usize::from(!said.is_empty()) + results.len();
        items.extend(said.into_iter().chain(results));
    }
    let mut members = vec![
        r#""model":"small""#.to_owned(),
        r#""store":false"#.to_owned(),
        format!(r#""input":{}"#, source.list(&items)),
    ];
    if source.below(2) == 1 {
        let tool = format!(
            r#"{{"type":"function","name":"t0","parameters":{},"strict":false}}"#,
            source.object()
        );
        members.push(format!(r#""tools":{}"#, source.list(&[tool])));
    }
    let first = source.below(members.len());
    members.rotate_left(first);
    let text = format!("{{{}}}", members.join(","));
    let options = vec![
        KnownOption::new(&["temperature"], OptionKind::Number),
        KnownOption::new(&["tool_choice"], OptionKind::Text),
        KnownOption::new(&["reasoning", "effort"], OptionKind::Text),
    ];
    let value: Value = serde_json::from_str(&text).expect("a body is JSON");
    let origins: Vec<Origin> = (0..origins)
        .map(|index| Origin::from(SectionId::Message(index)))
        .collect();
    let outline = Outline::of_items(&value, &origins, options);
    assert!(outline.sections.len() > 1, "{text}");
    (text, outline)
}

/// One in the layout of the Messages API.
fn in_blocks(source: &mut Source<'_>) -> (String, Outline) {
    const MARK: &str = r#","cache_control":{"type":"ephemeral"}"#;
    let block = |source: &mut Source<'_>| {
        let mark = source.pick(&["", MARK]);
        format!(r#"{{"type":"text","text":{}{mark}}}"#, source.string())
    };
    let mut messages = Vec::new();
    let mut origins = 0;
    let mut results: Vec<String> = Vec::new();
    for turn in 0..=source.below(3) {
        // Behind results the user says something only at times.
        if results.is_empty() || source.below(2) == 1 {
            results.push(block(source));
        }
        origins += results.len();
        let content = source.list(&std::mem::take(&mut results));
        messages.push(format!(r#"{{"role":"user","content":{content}}}"#));
        let mut said = vec![match source.below(2) {
            0 => block(source),
            _ => format!(
                r#"{{"type":"thinking","thinking":{},"signature":"x=="}}"#,
                source.string()
            ),
        }];
        for call in 0..source.below(3) {
            let input = source.object();
            said.push(format!(
                r#"{{"type":"tool_use","id":"c{turn}{call}","name":"t0","input":{input}}}"#
            ));
            results.push(format!(
                r#"{{"type":"tool_result","tool_use_id":"c{turn}{call}","content":{}}}"#,
                source.string()
            ));
        }
        origins += 1;
        let content = source.list(&said);
        messages.push(format!(r#"{{"role":"assistant","content":{content}}}"#));
    }
    if !results.is_empty() {
        origins += results.len();
        let content = source.list(&results);
        messages.push(format!(r#"{{"role":"user","content":{content}}}"#));
    }
    let mut members = vec![
        r#""model":"small""#.to_owned(),
        r#""max_tokens":7"#.to_owned(),
        format!(r#""messages":{}"#, source.list(&messages)),
    ];
    if source.below(2) == 1 {
        let system = block(source);
        members.push(format!(r#""system":{}"#, source.list(&[system])));
    }
    if source.below(2) == 1 {
        let tool = format!(r#"{{"name":"t0","input_schema":{}}}"#, source.object());
        members.push(format!(r#""tools":{}"#, source.list(&[tool])));
    }
    let first = source.below(members.len());
    members.rotate_left(first);
    let text = format!("{{{}}}", members.join(","));
    let options = vec![
        KnownOption::new(&["temperature"], OptionKind::Number),
        KnownOption::new(&["tool_choice"], OptionKind::Text),
        KnownOption::new(&["thinking", "budget_tokens"], OptionKind::WholeNumber),
    ];
    let value: Value = serde_json::from_str(&text).expect("a body is JSON");
    let origins: Vec<Origin> = (0..origins)
        .map(|index| Origin::from(SectionId::Message(index)))
        .collect();
    let outline = Outline::of_blocks(&value, &origins, options);
    assert!(outline.sections.len() > 1, "{text}");
    (text, outline)
}

fn of_chat(source: &mut Source<'_>) -> (String, Outline) {
    let mut messages = Vec::new();
    let mut origins = Vec::new();
    if source.below(2) == 1 {
        messages.push(format!(
            r#"{{"role":"system","content":{}}}"#,
            source.string()
        ));
    }
    for turn in 0..=source.below(2) {
        let mut say = |message: String| {
            // Indices of a session whose beginning is not sent.
            origins.push(Origin::from(SectionId::Message(7 + 2 * origins.len())));
            messages.push(message);
        };
        say(format!(
            r#"{{"role":"user","content":{}{}}}"#,
            source.space(),
            content(source)
        ));
        let calls: Vec<String> = (0..source.below(3))
            .map(|call| format!("c{turn}{call}"))
            .collect();
        if !calls.is_empty() {
            let written: Vec<String> = calls.iter().map(|id| call(id, source)).collect();
            let list = source.list(&written);
            say(format!(
                r#"{{"role":"assistant","content":"","tool_calls":{list}}}"#
            ));
        }
        for id in calls {
            say(format!(
                r#"{{"role":"tool","tool_call_id":"{id}","content":{}}}"#,
                source.string()
            ));
        }
        if source.below(2) == 1 {
            say(format!(
                r#"{{"role":"assistant","content":{}}}"#,
                content(source)
            ));
        }
    }
    let tools: Vec<String> = (0..source.below(3))
        .map(|tool| format!(r#"{{"name":"t{tool}","parameters":{}}}"#, source.object()))
        .collect();
    let mut members = vec![
        format!(r#""model":{}"small""#, source.space()),
        format!(r#""messages":{}"#, source.list(&messages)),
    ];
    if !tools.is_empty() {
        members.push(format!(r#""tools":{}"#, source.list(&tools)));
    }
    match source.below(4) {
        0 => {}
        1 => members.push(r#""temperature" : 1.0"#.to_owned()),
        2 => members.push(r#""options":{}"#.to_owned()),
        _ => members.push(format!(
            r#""options":{{"num_ctx":8192}},"x":{}"#,
            source.object()
        )),
    }
    let first = source.below(members.len());
    members.rotate_left(first);
    let text = format!("{{{}{}}}", members.join(","), source.space());
    let options = vec![
        KnownOption::new(&["temperature"], OptionKind::Number),
        KnownOption::new(&["tool_choice"], OptionKind::Text),
        KnownOption::new(&["options", "top_p"], OptionKind::Number),
        KnownOption::new(&["options", "num_predict"], OptionKind::WholeNumber),
    ];
    let value: Value = serde_json::from_str(&text).expect("a body is JSON");
    let outline = Outline::of_chat(&value, &origins, options);
    (text, outline)
}

fn content(source: &mut Source<'_>) -> String {
    match source.below(3) {
        0 => format!(
            r#"[{{"type":"text","text":{}}},{}]"#,
            source.string(),
            source.object()
        ),
        _ => source.string().to_owned(),
    }
}

fn call(id: &str, source: &mut Source<'_>) -> String {
    let arguments = source.object();
    let arguments = match source.below(3) {
        0 => arguments,
        1 => Value::from(arguments).to_string(),
        // The same string in other characters.
        _ => Value::from(arguments)
            .to_string()
            .replace(r#"\""#, r"\u0022")
            .replace('a', r"\u0061"),
    };
    format!(r#"{{"id":"{id}","function":{{"name":"t0","arguments":{arguments}}}}}"#)
}
