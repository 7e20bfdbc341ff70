use proptest::prelude::*;

use super::*;

fn parse(file: &str) -> AgentText {
    AgentText::parse(file).unwrap_or_else(|error| panic!("{file}: {error:?}"))
}

fn error_of(file: &str) -> String {
    match AgentText::parse(file) {
        Ok(text) => format!("valid: {text:?}"),
        Err(error) => format!("{}: {}", error.line, error.problem),
    }
}

fn file(front: &str) -> String {
    format!("---\n{front}\n---\nBe brief.\n")
}

#[test]
fn a_file_says_what_an_agent_is() {
    let text = parse(
        "\u{feff}---\r\nname: reviewer\r\ndescription: >-\r\n  Reviews\r\n  a change\r\ntools: read_file, web_fetch,\r\n\
         model: large\r\nagent: remote\r\ntemperature: 0.2\r\n---\r\n\r\nYou review.\r\n\r\nBe brief.\r\n",
    );
    let expected = AgentText {
        name: Some("reviewer".to_owned()),
        description: "Reviews a change".to_owned(),
        tools: Some(vec!["read_file".to_owned(), "web_fetch".to_owned()]),
        model: Some("large".to_owned()),
        agent: Some(("remote".to_owned(), 8)),
        temperature: UpTo::try_from(0.2).ok(),
        prompt: Some("You review.\r\n\r\nBe brief.".to_owned()),
        notes: Vec::new(),
    };
    assert_eq!(text, expected);
    // What is not said is left to others.
    let least = parse("---\ndescription: x\nname:\nmodel: ~\ntools: null\n---\n \n");
    let expected = AgentText {
        description: "x".to_owned(),
        ..AgentText::default()
    };
    assert_eq!(least, expected);
    // `---` in the text is text.
    let text = parse("---\ndescription: x\n---\none\n---\ntwo");
    assert_eq!(text.prompt.as_deref(), Some("one\n---\ntwo"));
}

#[test]
fn tools_are_a_list_or_a_text() {
    let check = |value: &str, expected: &[&str]| {
        let text = parse(&file(&format!("description: x\ntools: {value}")));
        assert_eq!(text.tools.unwrap(), expected, "{value}");
        assert_eq!(text.notes, [], "{value}");
    };
    check("a, b ,c", &["a", "b", "c"]);
    check("[a, \"b\"]", &["a", "b"]);
    check("\n  - a\n  - b", &["a", "b"]);
    check("[]", &[]);
    check("\"\"", &[]);
}

#[test]
fn what_is_wrong_names_the_line_and_the_way_out() {
    let long = "x".repeat(MAX_DESCRIPTION_CHARS + 1);
    let many = ["t"; MAX_TOOLS + 1].join(",");
    let mut errors = String::new();
    for front in [
        "name: x",
        "description: '  '",
        "name: x\ndescription: [a]",
        "description: x\ndescription: y",
        "description: x\n\ntools:\n  write: false",
        "description: x\ntools: [a, [b]]",
        "description: x\ntemperature: warm",
        "description: x\ntemperature: 3",
        "description: x\ntemperature: nan",
        "description: x\nmodel: {a: b}",
        "- description",
        "? [a]\n: b",
        &format!("description: {long}"),
        &format!("description: x\ntools: {many}"),
        "description: x\ncolor: \"red",
    ] {
        let shown = format!("{front:.60}");
        errors += &format!("{shown:?}\n→ {}\n", error_of(&file(front)));
    }
    for text in ["description: x", "---\ndescription: x\n"] {
        errors += &format!("a file {text:?}\n→ {}\n", error_of(text));
    }
    insta::assert_snapshot!(errors);
}

/// Other programs read files that are no YAML, and have keys, tools and models of their own.
#[test]
fn files_of_other_programs_work() {
    let text = parse(&file(
        "name: code-reviewer\n\
         description: Use this agent after a change. Examples: <example>user: 'Is it done?' assistant: yes</example>\n\
         tools: Read, Grep, Bash(git diff:*), read_file\n\
         model: sonnet\n\
         color: red\n\
         permission:\n  edit: deny\n  bash: {\"*\": ask}\n\
         descriptions: x",
    ));
    assert_eq!(
        text.description,
        "Use this agent after a change. Examples: <example>user: 'Is it done?' assistant: yes</example>"
    );
    let tools = ["read_file", "search_text", "run_terminal_command"];
    assert_eq!(text.tools.unwrap(), tools);
    assert_eq!(text.model, None);
    let known = "known keys: name, description, tools, model, agent, temperature";
    let expected = [
        (
            4,
            "tools of another program stand for those here: Read for read_file, Grep for search_text, Bash for \
             run_terminal_command"
                .to_owned(),
        ),
        (
            5,
            "\"sonnet\" is a name of another program; the model of the agent that starts it is used".to_owned(),
        ),
        (6, format!("the key \"color\" is not used; {known}")),
        (7, format!("the key \"permission\" is not used; {known}")),
        (
            10,
            "the key \"descriptions\" is not used; the nearest known key is \"description\"".to_owned(),
        ),
    ];
    assert_eq!(text.notes, expected);
    assert_eq!(parse(&file("description: x\nmodel: inherit")).model, None);
}

/// An alias stands for nothing: what it would become is never made.
#[test]
fn aliases_are_not_expanded() {
    let mut bomb = "description: x\na0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
    for level in 1..60 {
        let before = format!("*a{}, ", level - 1).repeat(9);
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    let text = parse(&file(&bomb));
    assert_eq!(text.notes.len(), 60);
    for key in ["description", "name", "tools", "model"] {
        let front = format!("other: &a x\n{key}: *a");
        assert!(error_of(&file(&front)).starts_with(&format!("3: {key} must be")));
    }
}

#[test]
fn depth_and_length_do_no_harm() {
    let deep = 20_000;
    for front in [
        "[".repeat(deep),
        "{".repeat(deep),
        "- ".repeat(deep),
        "? ".repeat(deep),
        format!("description: {}", "[".repeat(deep)),
        format!("description: x\na: {}", "{a: ".repeat(100)),
        (0..300)
            .map(|level| format!("{}k:\n", " ".repeat(level)))
            .collect(),
        "&a ".repeat(deep),
        "!t ".repeat(deep),
        "a: b\n".repeat(deep / 2),
        format!("description: \"{}", "\\u0000".repeat(deep / 2)),
    ] {
        assert!(AgentText::parse(&file(&front)).is_err(), "{:.20}", front);
    }
}

proptest! {
    /// Whatever a file holds, reading it ends, and names a line of the file.
    #[test]
    fn any_text_is_read(
        front in "([a-z]{1,5}: )?([-\\[\\]{}:,&*!|>'\"%@`#? \t\r\n\\\\]|[a-e0]|\u{feff}|\u{0}|\u{85}|é|---|\\.\\.\\.|<<){0,60}",
        known in prop::option::of(prop::sample::select(KEYS.to_vec())),
    ) {
        let known = known.map_or_else(String::new, |key| format!("{key}: "));
        let file = format!("---\ndescription: x\n{known}{front}\n---\nBe brief.");
        match AgentText::parse(&file) {
            Ok(text) => {
                prop_assert!(!text.description.trim().is_empty());
                prop_assert!(text.tools.is_none_or(|tools| tools.iter().all(|tool| !tool.is_empty())));
                prop_assert!(text.notes.iter().all(|(line, _)| *line >= 1));
            }
            Err(error) => {
                // A lone CR and others end a line of YAML, too.
                prop_assert!((1..=file.chars().count()).contains(&error.line), "{error:?}");
            }
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        let text = String::from_utf8_lossy(&bytes);
        let _ = AgentText::parse(&text);
        let _ = AgentText::parse(&file(&text));
    }
}
