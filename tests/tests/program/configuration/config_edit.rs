//! `dunlin config edit`: the configuration in the user's editor.

use std::fs;

use dunlin_tests::{Environment, Key, Terminal, program};

use crate::stage::editor_of;

const AGAIN: &str = "Edit it again? If not, your changes are dropped. [y/n]";

fn edit(environment: &Environment, script: &str) -> Terminal {
    let editor = editor_of(environment, script);
    let command = environment.command(["config", "edit"]);
    command.variable("EDITOR", &editor).terminal()
}

#[test]
fn a_file_that_is_not_valid_is_edited_again() {
    let environment = Environment::new(program!());
    let file = environment.config_file();
    environment.configure("placeholdr = \"a\"\n");
    // The first time it leaves another mistake, the second time none.
    let script = r#"sed -i 's/^placeholdr/x/; t; s/^x/placeholder/' "$1""#;
    let mut terminal = edit(&environment, script);
    terminal.wait_for(AGAIN);
    let screen = terminal.screen();
    assert!(
        screen.contains("config.toml:1: unknown key \"x\""),
        "{terminal:?}"
    );
    terminal.type_text("y");
    terminal.press(Key::Enter);
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    let screen = terminal.screen();
    assert!(
        screen.contains("config.toml is valid and written."),
        "{terminal:?}"
    );
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        "placeholder = \"a\"\n"
    );

    let mut terminal = edit(&environment, r#"sed -i 's/^placeholder/x/' "$1""#);
    terminal.wait_for(AGAIN);
    terminal.type_text("n");
    terminal.press(Key::Enter);
    assert_eq!(terminal.wait_end(), Some(1), "{terminal:?}");
    assert!(
        terminal.screen().contains("Nothing was changed."),
        "{terminal:?}"
    );
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        "placeholder = \"a\"\n"
    );
}

#[test]
fn an_editor_that_is_missing_is_named_with_the_variables() {
    let environment = Environment::new(program!());
    let command = environment.command(["config", "edit"]);
    let terminal = command.variable("EDITOR", "no-such-editor -n").terminal();
    assert_eq!(terminal.wait_end(), Some(1), "{terminal:?}");
    let screen = terminal.screen();
    let said =
        "there is no editor \"no-such-editor\"; set VISUAL or EDITOR to one that is installed";
    assert!(
        screen.text.replace('\n', " ").contains(said),
        "{terminal:?}"
    );
    assert!(!environment.config_file().exists());
}

#[test]
fn what_the_user_wrote_survives_a_change_of_the_file() {
    let environment = Environment::new(program!());
    environment.configure("placeholder = \"a\"\n");
    let file = environment.config_file().display().to_string();
    let script =
        format!(r#"echo 'placeholder = "theirs"' > '{file}'; echo 'placeholder = "mine"' > "$1""#);
    let terminal = edit(&environment, &script);
    assert_eq!(terminal.wait_end(), Some(1), "{terminal:?}");
    let screen = terminal.screen();
    assert!(
        screen.contains("was changed in the meantime"),
        "{terminal:?}"
    );
    assert_eq!(
        fs::read_to_string(&file).expect("a file"),
        "placeholder = \"theirs\"\n"
    );
    let folder = fs::read_dir(environment.config_file().with_file_name("")).expect("a folder");
    let kept = folder.map(|entry| entry.expect("an entry").path());
    let kept: Vec<_> = kept
        .filter(|path| path.to_string_lossy().contains("config-edited-"))
        .collect();
    assert_eq!(kept.len(), 1, "{terminal:?}");
    assert_eq!(
        fs::read_to_string(&kept[0]).expect("a file"),
        "placeholder = \"mine\"\n"
    );
}

#[test]
fn an_editor_needs_a_terminal() {
    let environment = Environment::new(program!());
    let output = environment.run(["config", "edit"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert!(
        output.stderr.contains("an editor needs a terminal"),
        "{output}"
    );
    assert!(!environment.config_file().exists());
}
