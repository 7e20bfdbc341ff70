//! The tools that find files and text, those that change them, and the list of steps, as a person sees them in one turn.

use dunlin_tests::{Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment};

#[test]
fn files_are_found_and_changed_step_by_step() {
    let steps = |first: &str, second: &str| {
        json!({ "items": [
            { "content": "Find the greeting", "status": first },
            { "content": "Change it", "status": second },
        ] })
    };
    let provider = Provider::play([
        Response::calls([
            ("todo", steps("in_progress", "pending")),
            ("list_files", json!({ "globs": ["*.py"] })),
            (
                "search_text",
                json!({ "pattern": "Hello, \\w+", "path": "src" }),
            ),
        ]),
        Response::call(
            "edit_file",
            json!({ "file_path": "src/greet.py", "edits": [{ "old_text": "Hello, world", "new_text": "Good morning" }] }),
        ),
        Response::call(
            "write_file",
            json!({ "file_path": "docs/greeting.md", "content": "# Greeting\n\nGood morning\n" }),
        ),
        Response::call("todo", steps("completed", "completed")),
        Response::reply("It says good morning now."),
    ]);
    let environment = environment(&provider);
    environment.project_file(
        "src/greet.py",
        "def greet():\n    print(\"Hello, world\")\n",
    );
    environment.project_file(".env", "GREETING=\"Hello, secret\"\n");
    let mut chat = Chat::open(&environment);
    chat.say("say good morning");
    chat.question();
    chat.answer("y");
    chat.question();
    chat.answer("y");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
    let read = |name: &str| std::fs::read_to_string(environment.project().join(name)).unwrap();
    assert_eq!(
        read("src/greet.py"),
        "def greet():\n    print(\"Good morning\")\n"
    );
    assert_eq!(read("docs/greeting.md"), "# Greeting\n\nGood morning\n");
    let requests = provider.requests();
    let results = requests[1].results();
    assert_eq!(results[0], "0 of 2 done, now: Find the greeting");
    assert_eq!(
        results[1],
        "1 matching file in the project:\nsrc/greet.py\n"
    );
    assert_eq!(
        results[2],
        "1 matching line in 1 file:\nsrc/greet.py:2:    print(\"Hello, world\")\n"
    );
    assert_eq!(requests[4].results().last().unwrap(), &"All 2 done.");
}
