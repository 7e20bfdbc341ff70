//! `dunlin mcp list`, `add` and `remove`: the servers in the configuration.

use dunlin_tests::{Environment, Provider, program};

use crate::stage::environment;

/// Runs a command with these words, and asserts how it ends.
fn run(environment: &Environment, line: &str, status: i32) -> String {
    let output = environment.run(line.split(' '));
    assert_eq!(output.status, Some(status), "{line}: {output}");
    format!("{}{}", output.stdout, output.stderr)
}

fn file(environment: &Environment) -> String {
    std::fs::read_to_string(environment.config_file()).unwrap_or_default()
}

#[test]
fn servers_come_and_go_and_the_rest_stays() {
    let environment = Environment::new(program!());
    run(&environment, "mcp list", 0);
    let mine = "# mine\non_denial = \"stop\"  # really\n";
    environment.configure(mine);
    let add = "mcp add git --env TOKEN=secret --cwd . --description Repositories -- sh mcp-server-git --repository .";
    assert_eq!(
        run(&environment, add, 0),
        "git is added to ~/config/dunlin/config.toml.\n"
    );
    run(&environment, "mcp add far --url https://mcp.example/mcp", 0);
    let list = run(&environment, "mcp list", 0);
    let expected = "far              https://mcp.example/mcp\n\
                    git              TOKEN=… sh mcp-server-git --repository .  (no sandbox, cwd = \".\")  Repositories\n";
    assert_eq!(list, expected);
    assert!(
        file(&environment).starts_with(mine),
        "{}",
        file(&environment)
    );
    run(&environment, "config check", 2);

    run(&environment, "mcp add here -- sh server .", 0);
    run(&environment, "mcp remove here --yes", 0);
    run(&environment, "mcp add boxed --sandbox -- sh server", 0);
    run(&environment, "mcp list", 0);
    assert!(file(&environment).contains("sandbox = true"));
    run(&environment, "mcp remove boxed --yes", 0);
    for wrong in ["tools show git__log", "tools call git__log"] {
        let said = run(&environment, wrong, 2);
        assert!(
            said.contains("called in a chat; dunlin mcp test git lists them"),
            "{said}"
        );
    }
    run(&environment, "mcp add git -- other", 2);
    run(&environment, "mcp remove gitt --yes", 2);
    // All or nothing, and nothing without a word.
    run(&environment, "mcp remove git none --yes", 2);
    run(&environment, "mcp remove git", 3);
    assert_eq!(run(&environment, "mcp list", 0), expected);
    run(&environment, "mcp remove git far --yes", 0);
    assert_eq!(file(&environment), mine);
    insta::assert_snapshot!(environment.transcript());
}

/// What is named and not there is said where one looks for it, and is not an error: it may yet come.
#[test]
fn a_program_that_is_not_there_is_said_to_be_missing() {
    let provider = Provider::play([]);
    let environment = environment(&provider);
    let missing = "there is no program \"nosuchprogram\"";
    let said = run(&environment, "mcp add git -- nosuchprogram", 0);
    assert!(said.contains(missing), "{said}");
    assert!(said.contains("dunlin mcp test git"), "{said}");
    run(&environment, "mcp add shell -- sh", 0);
    let written = file(&environment);
    environment.configure(&format!(
        "{written}\n[mcp.servers.words]\ncommand = \"npx -y server\"\n"
    ));
    let check = run(&environment, "config check", 0);
    assert!(
        check.contains(&format!("[mcp.servers.git]: {missing}")),
        "{check}"
    );
    assert!(
        check.contains("command is \"npx\" alone, and what follows it goes into args"),
        "{check}"
    );
    assert!(!check.contains("servers.shell"), "{check}");
    let doctor = run(&environment, "doctor", 0);
    assert!(doctor.contains(&format!("git · {missing}\n")), "{doctor}");
    assert!(doctor.contains("shell · program found, /"), "{doctor}");
}

#[test]
fn a_removal_is_asked_about() {
    let environment = Environment::new(program!());
    run(&environment, "mcp add far --url https://mcp.example/mcp", 0);
    for (answer, left) in [("n", 1), ("y", 0)] {
        let mut terminal = environment.terminal(["mcp", "remove", "far"]);
        let screen = terminal.wait_for("Remove from the configuration? [y/n]");
        assert!(
            screen.text.contains("https://mcp.example/mcp"),
            "{screen:?}"
        );
        terminal.type_line(answer);
        assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
        assert_eq!(
            file(&environment).matches("[mcp.servers.far]").count(),
            left
        );
    }
}

#[test]
fn what_cannot_be_is_not_written() {
    let environment = Environment::new(program!());
    for line in [
        "mcp add far",
        "mcp add far --url nonsense",
        "mcp add far --url ftp://host/",
        "mcp add far --url https://host/ -- command",
        "mcp add far --url https://host/ --api-key none",
        "mcp add far --env novalue -- command",
        "mcp add a__b -- command",
    ] {
        run(&environment, line, 2);
        assert_eq!(file(&environment), "", "{line}");
    }
    let said = run(&environment, "mcp add far", 2);
    assert!(
        said.contains(
            "hint: dunlin mcp add far -- COMMAND ARGS..., or dunlin mcp add far --url URL"
        ),
        "{said}"
    );
    let broken = "[agents.a\n";
    environment.configure(broken);
    let said = run(&environment, "mcp add far -- command", 2);
    assert!(said.contains("config.toml:1: "), "{said}");
    assert_eq!(file(&environment), broken);
}
