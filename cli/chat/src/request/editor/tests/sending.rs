//! What can be sent, and what it costs.

use super::*;

#[test]
fn what_no_server_would_take_is_not_sent() {
    const OUT: &str =
        ". `undo` takes back the last edit, `restore N` a deletion, `reset` all edits";
    let refused = |edit: &dyn Fn(&mut EditableRequest), limit, expected: &str| {
        let mut request = request();
        assert_eq!(check(&request, Some(0)), Ok(()), "unedited");
        edit(&mut request);
        assert_eq!(check(&request, limit), Err(format!("{expected}{OUT}")));
        while request.undo().is_ok() {}
        assert_eq!(check(&request, limit), Ok(()));
    };
    let set = |path: &'static str, value: &'static str| {
        move |request: &mut EditableRequest| {
            request.set(path, value).unwrap();
        }
    };
    refused(
        &set("messages[2].tool_calls[1].id", "c"),
        None,
        "section 5 (result of read_file), messages[4].tool_call_id: no call \"b\" precedes this result",
    );
    refused(
        &set("messages[3].role", "user"),
        None,
        "section 3 (assistant calls read_file, read_file), messages[2].tool_calls[0].id: no result follows the call \"a\"",
    );
    refused(
        &set("messages[0].role", "wizard"),
        None,
        "section 1 (system prompt), messages[0].role: the value must be \"system\", \"user\", \"assistant\" or \"tool\"",
    );
    refused(
        &set("messages[2].tool_calls[0].function.arguments", "[1]"),
        None,
        "section 3 (assistant calls read_file, read_file), messages[2].tool_calls[0].function.arguments: the value must \
         be a JSON object",
    );
    let delete_users = |request: &mut EditableRequest| {
        request.delete(2).unwrap();
        request.delete(6).unwrap();
    };
    refused(
        &delete_users,
        None,
        "section 6 (user): no user message is left",
    );
    let mut longer = request();
    longer.set_text(2, &"long ".repeat(1000)).unwrap();
    let error = check(&longer, Some(100)).unwrap_err();
    assert!(
        error.starts_with("section 2 (user): the request has 1,"),
        "{error}"
    );
    assert!(
        error.contains("leaves room for 100; this section is the largest"),
        "{error}"
    );
}

#[test]
fn counts_are_those_of_the_context_budget() {
    use crate::agent::Agent;
    use crate::message::Conversation;
    use crate::provider::plain::Plain;
    use crate::request::context_budget::{ContextBudget, Occasion};
    let mut conversation = Conversation::new();
    conversation.push_user("Where do dunlins spend the winter, and why there?");
    let agent = Agent {
        system_prompt: Some("You are a careful ornithologist.".to_owned()),
        ..Agent::sample()
    };
    let tool = dunlin_host::Tool {
        name: "read_file".to_owned(),
        plugin: "test".to_owned(),
        description: "Reads a file".to_owned(),
        parameters: json!({"type": "object"}),
        imports: Vec::new(),
        annotations: dunlin_host::Annotations::default(),
    };
    let tools = [tool];
    let mut budget = ContextBudget::new();
    let occasion = Occasion {
        agent: &agent,
        tools: &tools,
        dialect: &Plain,
        limits: Default::default(),
    };
    let fitted = budget.fit(conversation.messages(), occasion).unwrap();
    let composed = crate::request::compose(fitted.messages, &agent, &Plain, &tools);
    let origins = origins(conversation.messages(), budget.truncation(), false);
    let outline = Outline::of_chat(composed.body(), &origins, Vec::new());
    let mut request = EditableRequest::new(composed.bytes().clone(), outline);
    let mut counts = Counts::of(&request, budget.measure());
    assert_eq!(counts.total(), budget.measure().sent());
    assert!(counts.section(2) > 4 && counts.section(4) == 0);
    let change = request.set_text(2, "Where?").unwrap();
    counts.update(&request, &change, budget.measure());
    assert_eq!(counts, Counts::of(&request, budget.measure()));
    let change = request.delete(3).unwrap();
    counts.update(&request, &change, budget.measure());
    assert_eq!(counts.total(), counts.section(1) + counts.section(2));
}

#[test]
fn an_edit_costs_what_comes_after_it() {
    let mut request = request();
    let counts = Counts::of(&request, &Measure::default());
    let last = request.bytes().clone();
    let last = LastRequest::new(&last);
    assert_eq!(request.kept_prefix(&last, &counts), counts.total());
    request.set("messages[3].content", "another").unwrap();
    let counts = Counts::of(&request, &Measure::default());
    let kept = request.kept_prefix(&last, &counts);
    // Models read the tools first.
    let tools = request.sections().iter().enumerate();
    let tools = tools.filter(|(_, section)| section.kind == SectionKind::ToolDefinition);
    let tools: Vec<usize> = tools.map(|(index, _)| index + 1).collect();
    let count = |number: &usize| counts.section(*number);
    let before = tools.iter().chain(&[1, 2, 3]).map(count).sum::<u64>();
    assert!(
        kept >= before && kept < before + counts.section(4),
        "{kept} {before}"
    );
    assert_eq!(request.kept_prefix(&LastRequest::new(b""), &counts), 0);
    if let Some(first) = tools.first() {
        request.delete(*first).unwrap();
        let kept = request.kept_prefix(&last, &counts);
        assert!(kept <= count(first), "{kept}: nothing after it is kept");
    }
}

#[test]
fn any_bytes_can_be_shown_and_sent_as_they_are() {
    for body in [
        &b""[..],
        b"\xff",
        b"{",
        b"[1,2]",
        b"12",
        b"{\"input\":\"Hi\"}",
    ] {
        let request = EditableRequest::new(Bytes::from_static(body), Outline::raw());
        assert_eq!(request.bytes(), body);
        assert_eq!(request.sections().len(), 1);
        assert_eq!(check(&request, None), Ok(()));
        // An outline of another body.
        let outline = Outline::of_chat(&super::tests::body(), &[], Vec::new());
        let request = EditableRequest::new(Bytes::from_static(body), outline);
        assert_eq!(request.sections()[0].id, SectionId::Raw);
    }
    // Two tools of one name.
    let body = json!({"messages": [], "tools": [{"name": "a"}, {"name": "a"}]});
    let outline = Outline::of_chat(&body, &[], Vec::new());
    let request = EditableRequest::new(Bytes::from(body.to_string()), outline);
    assert_eq!(request.sections()[0].id, SectionId::Raw);
    let body = Bytes::from_static(b"{ \"input\": [\"Hi\", 1.0] }");
    let mut request = EditableRequest::new(body, Outline::raw());
    request.set("input[0]", "Ho").unwrap();
    assert_eq!(text(&request), "{ \"input\": [\"Ho\", 1.0] }");
    assert!(request.delete(1).is_err());
}
