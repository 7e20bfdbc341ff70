//! Options that come and go.

use super::*;

#[test]
fn any_option_can_be_added_and_removed() {
    let mut request = request();
    let whole = request.tree("$").unwrap();
    let original = text(&request);
    let step = |request: &mut EditableRequest, line: &str| {
        let (word, rest) = line.split_once(' ').unwrap();
        let (path, value) = rest.split_once(' ').unwrap_or((rest, ""));
        let change = match word {
            "add" => request.add(path, value),
            "remove" => request.remove(path),
            "restore" => request.restore_option(path),
            _ => request.set(path, value),
        };
        change.map(|change| change.to_string())
    };
    for (line, said) in [
        (
            "add reasoning {\"effort\":\"low\",\"stop\":[]}",
            "reasoning set",
        ),
        ("set reasoning.effort high", "reasoning.effort set"),
        ("add options.num_ctx 4096", "options.num_ctx set"),
        ("add tool_choice {\"type\":\"auto\"}", "tool_choice set"),
        ("remove tool_choice", "tool_choice removed"),
        ("add tool_choice none", "tool_choice set"),
        ("remove temperature", "temperature removed"),
        ("remove tool_choice", "tool_choice removed"),
    ] {
        let done = step(&mut request, line).unwrap();
        assert_eq!(done, format!("section 8: {said}"), "{line}");
    }
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    assert_eq!(body["reasoning"], json!({"effort": "high", "stop": []}));
    assert_eq!(body["options"], json!({"num_ctx": 4096}));
    assert_eq!(
        (body.get("temperature"), body.get("tool_choice")),
        (None, None)
    );
    for (line, error) in [
        (
            "add reasoning 1",
            "reasoning already exists: `e reasoning` changes it",
        ),
        (
            "add reasoning.depth 1",
            "reasoning.depth cannot be added or removed by itself",
        ),
        ("add x {", "not valid JSON: EOF"),
        (
            "add max_tokens 1.5",
            "max_tokens takes a whole number, not 1.5",
        ),
        ("add a.b.c 1", "a.b.c cannot be added"),
        ("remove temperature", "no value at temperature; nearest: "),
        ("remove messages", "no value at messages"),
        (
            "remove messages[0].content",
            "messages[0].content cannot be added or removed",
        ),
        (
            "restore x",
            "nothing to restore at x: `restore` brings back what was composed and removed",
        ),
        ("restore reasoning", "nothing to restore at reasoning"),
        ("restore model", "nothing to restore at model"),
    ] {
        let refused = step(&mut request, line).unwrap_err().to_string();
        assert!(refused.starts_with(error), "{line}: {refused}");
    }
    step(&mut request, "restore temperature").unwrap();
    step(&mut request, "remove reasoning").unwrap();
    step(&mut request, "remove options.num_ctx").unwrap();
    assert!(!request.is_dirty() && text(&request) == original);
    while request.undo().is_ok() {}
    assert_eq!(text(&request), original);
    // The same as text.
    let edited = whole.replacen(
        "\"temperature\": 0.2,",
        "\"reasoning\": {\"effort\": []},",
        1,
    );
    assert_ne!(edited, whole);
    assert_eq!(request.set_tree("$", &edited).unwrap().len(), 2);
    // One of another shape is one step.
    let before = text(&request);
    let edited = request.tree("$").unwrap().replacen("[]", "[1]", 1);
    assert_eq!(request.set_tree("$", &edited).unwrap().len(), 1);
    request.undo().unwrap();
    assert_eq!(text(&request), before);
    request.redo().unwrap();
    let changed = request.set_tree("reasoning", "{\"depth\":1}");
    assert_eq!(changed.unwrap().len(), 1);
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    assert_eq!(body["reasoning"], json!({"depth": 1}));
    assert_eq!(body.get("temperature"), None);
    // They are kept for later requests as well.
    let saved = request.to_save();
    let mut later = super::request();
    let outcomes: Vec<Outcome> = saved.iter().map(|edit| later.apply_saved(edit)).collect();
    assert_eq!(outcomes, [Outcome::Done; 2]);
    assert_eq!(text(&later), text(&request));
    assert_eq!(later.apply_saved(&saved[0]), Outcome::Present);
    let found = EditableRequest::between(request.original().clone(), request.bytes());
    assert_eq!(found.unwrap().differences(), request.differences());
}

#[test]
fn a_composed_option_takes_another_shape() {
    let mut request = request();
    let edited = request.tree("$").unwrap();
    let edited = edited.replacen("\"stream\": true", "\"stream\": {\"usage\": true}", 1);
    assert_eq!(request.set_tree("$", &edited).unwrap().len(), 1);
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    assert_eq!(body["stream"], json!({"usage": true}));
    let edits = request.edits().to_vec();
    let mut again = super::request();
    again.apply(edits[0].clone()).unwrap();
    assert_eq!(text(&again), text(&request));
    let mut later = super::request();
    let saved = request.to_save();
    assert_eq!(
        (saved.len(), later.apply_saved(&saved[0])),
        (1, Outcome::Done)
    );
    assert_eq!(text(&later), text(&request));
    request.undo().unwrap();
    assert!(!request.is_dirty());
}

/// Edits that others have made, such as an inspector or a file.
#[test]
fn no_edit_adds_a_key_twice_or_elsewhere() {
    let set = |section, path: &str, old: Option<&str>, new: &str| Edit::Set {
        target: Target {
            section,
            path: path.parse().unwrap(),
        },
        old: old.map(str::to_owned),
        new: Some(new.to_owned()),
    };
    let mut request = request();
    let old = Some("\"Be brief\"");
    request
        .apply(set(SectionId::System, "content", old, " \"x\" "))
        .unwrap();
    let body: Value = serde_json::from_str(&text(&request)).unwrap();
    assert_eq!(
        (&body["messages"][0]["content"], body.get("content")),
        (&json!("x"), None)
    );
    request.add("extra.y", "5").unwrap();
    let whole = set(SectionId::Options, "extra", Some(""), "{\"z\":1}");
    request.apply(whole).unwrap();
    assert!(
        text(&request).ends_with(",\"extra\":{\"z\":1}}"),
        "{}",
        text(&request)
    );
    assert_eq!(text(&request).matches("extra").count(), 1);
    // One of another type stays that when it is done again.
    let mut typed = super::request();
    typed.remove("stream").unwrap();
    typed.add("stream", "\"yes\"").unwrap();
    typed.remove("model").unwrap();
    typed.add("model", "{\"type\":\"none\"}").unwrap();
    let mut later = super::request();
    for saved in typed.to_save() {
        assert_eq!(later.apply_saved(&saved), Outcome::Done, "{saved:?}");
    }
    assert_eq!(text(&later), text(&typed));
    // What is JSON stays JSON, and an option keeps its type.
    let mut tree = super::request();
    let whole = tree.tree("$").unwrap();
    let edited = whole.replacen('{', "{\"tool_choice\": 5,", 1);
    let error = tree.set_tree("$", &edited).unwrap_err().to_string();
    assert!(error.contains("tool_choice takes a string"), "{error}");
    let edited = whole.replacen("\"temperature\": 0.2", "\"temperature\": \"hot\"", 1);
    let error = tree.set_tree("$", &edited).unwrap_err().to_string();
    assert!(error.contains("temperature takes a number"), "{error}");
    assert!(!tree.is_dirty());
}

#[test]
fn an_option_that_is_as_composed_again_is_no_difference() {
    let body = json!({
        "model": "m",
        "messages": [{"role": "user", "content": "Hi"}],
        "options": {"num_ctx": 8192, "top_k": null},
    });
    let options = vec![
        KnownOption::new(&["options", "num_ctx"], OptionKind::WholeNumber),
        KnownOption::new(&["options", "top_k"], OptionKind::WholeNumber),
    ];
    let composed = || {
        let outline = Outline::of_chat(&body, &[SectionId::Message(0).into()], options.clone());
        EditableRequest::new(body.to_string().into(), outline)
    };
    let mut request = composed();
    request.remove("num_ctx").unwrap();
    request.add("num_ctx", "4096").unwrap();
    assert_eq!(request.difference_count(), 1);
    request.set("num_ctx", "8192").unwrap();
    assert!(!request.is_dirty() && request.bytes() == request.original());
    // By the key alone, as it was added and removed.
    request.remove("num_ctx").unwrap();
    request.restore_option("num_ctx").unwrap();
    assert!(!request.is_dirty());
    let error = request.restore_option("num_ctx").unwrap_err();
    assert!(matches!(error, EditError::NotRemoved { .. }), "{error}");
    request.add("seed", "7").unwrap();
    request.remove("seed").unwrap();
    let error = request.restore_option("seed").unwrap_err();
    assert!(matches!(error, EditError::NotRemoved { .. }), "{error}");
    request.undo().unwrap();
    request.undo().unwrap();
    // Composed is what no reader of the dialect would take when typed.
    request.remove("top_k").unwrap();
    assert!(request.add("top_k", "\"x\"").is_err());
    request.restore_option("options.top_k").unwrap();
    let edits = request.edits().to_vec();
    let mut again = composed();
    for edit in edits {
        again.apply(edit).unwrap();
    }
    assert!(!request.is_dirty() && !again.is_dirty());
}

#[test]
fn a_misspelling_of_a_known_option_is_noticed() {
    let request = request();
    let near = |path: &str| request.misspelt_option(path);
    assert_eq!(near("temperatur").as_deref(), Some("temperature"));
    assert_eq!(near("temperature"), None);
    assert_eq!(near("reasoning"), None);
}
