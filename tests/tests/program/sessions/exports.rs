//! Conversations as files for people.

use super::*;

#[test]
fn conversations_are_exported() {
    let provider = Provider::always(Response::reply("It is *fine*."));
    let environment = environment(&provider);
    let mut chat = Chat::open(&environment);
    chat.turn("/export");
    chat.turn("How is it?");
    let id = only_id(&environment);
    chat.say("/export");
    chat.terminal
        .wait_for(&format!("/how-is-it-{id}.md? [y/n] "));
    assert_eq!(fs::read_dir(environment.project()).unwrap().count(), 0);
    chat.say("y");
    let screen = chat.prompt();
    let name = format!("how-is-it-{id}.md");
    assert!(screen.contains("Saved to "), "{:?}", chat.terminal);
    let text = fs::read_to_string(environment.project().join(&name)).unwrap();
    assert!(
        text.contains("## You\n\nHow is it?\n\n## scripted\n\nIt is *fine*.\n"),
        "{text}"
    );
    chat.say("/export");
    chat.terminal.wait_for("already exists. Overwrite? [y/n]");
    chat.say("perhaps");
    chat.terminal.wait_until("the question again", |screen| {
        screen.count("Overwrite?") == 2
    });
    chat.say("n");
    chat.prompt();
    chat.say("/export json notes.json");
    chat.terminal.wait_for("/notes.json? [y/n] ");
    chat.say("y");
    chat.prompt();
    chat.turn("/export notes.html");
    let text = fs::read_to_string(environment.project().join("notes.json")).unwrap();
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["messages"][1]["content"], "It is *fine*.");
    chat.say("/export no/such/folder/a.md");
    chat.terminal.wait_for("/no/such/folder/a.md? [y/n] ");
    chat.say("y");
    chat.prompt();
    insta::assert_snapshot!(chat.terminal.screen());
    chat.leave();
}

/// What runs in the project meanwhile does not choose where an export goes.
#[test]
fn an_export_follows_no_link_that_came_with_the_question() {
    let provider = Provider::always(Response::reply("Fine."));
    let environment = environment(&provider);
    let [folder, moved] = ["d", "d2"].map(|name| environment.project().join(name));
    fs::create_dir(&folder).unwrap();
    let outside = environment.root().join("elsewhere");
    fs::create_dir(&outside).unwrap();
    let mut chat = Chat::open(&environment);
    chat.turn("How is it?");
    // A link that was there before is resolved, and the question shows where it leads.
    std::os::unix::fs::symlink(&folder, environment.project().join("before")).unwrap();
    chat.say("/export md before/a.md");
    chat.terminal.wait_for("/d/a.md? [y/n] ");
    chat.say("y");
    assert!(chat.prompt().contains("Saved to "), "{:?}", chat.terminal);
    assert!(folder.join("a.md").is_file());

    chat.say("/export md d/notes.md");
    chat.terminal.wait_for("/d/notes.md? [y/n] ");
    fs::rename(&folder, &moved).unwrap();
    std::os::unix::fs::symlink(&outside, &folder).unwrap();
    chat.say("y");
    let screen = chat.prompt();
    assert!(
        screen.contains("a link has appeared"),
        "{:?}",
        chat.terminal
    );
    for folder in [&outside, &moved] {
        assert!(!folder.join("notes.md").exists());
    }
    chat.leave();
}
