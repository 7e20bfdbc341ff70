//! What lies around the sandbox: the environment of commands, Dunlin's own files behind links, and folders that are no
//! projects.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use dunlin_tests::{Environment, Provider, Response};
use serde_json::json;

use crate::stage::{Chat, environment, read};

fn command(line: &str) -> Response {
    Response::call("run_terminal_command", json!({ "command": line }))
}

/// What the last call came to, as the model was told.
fn last_result(provider: &Provider) -> String {
    let requests = provider.requests();
    let last = requests.last().expect("a request");
    last.results().last().expect("a result").to_string()
}

/// Has the model run a line, says yes, and waits for the end of the turn.
fn run(chat: &mut Chat) {
    chat.say("work");
    chat.question();
    chat.answer("y");
    chat.prompt();
}

#[test]
fn commands_get_the_variables_that_programs_need() {
    let provider = Provider::play([command("env"), Response::reply("Done.")]);
    let environment = environment(&provider);
    environment.configure_more("", "[commands]\nenvironment = [\"WANTED_URL\"]");
    let started = environment
        .command::<&str>([])
        .variable("DATABASE_URL", "postgres://ada:hunter2@db/x")
        .variable("SESSION_COOKIE", "hunter3")
        .variable("LD_LIBRARY_PATH", ":/opt/lib:lib")
        .variable("PYTHONPATH", ":")
        .variable("https_proxy", "http://ada:hunter4@proxy:8080")
        .variable("GOPROXY", "https://ada:hunter5@go.example")
        .variable("WANTED_URL", "postgres://ada:wanted@db/x")
        .variable("CARGO_HOME", "/opt/cargo");
    let mut chat = Chat::of(started.terminal());
    run(&mut chat);
    chat.leave();
    let result = last_result(&provider);
    for line in [
        "LD_LIBRARY_PATH=/opt/lib\n",
        "https_proxy=http://proxy:8080/\n",
        "WANTED_URL=postgres://ada:wanted@db/x\n",
        "CARGO_HOME=/opt/cargo\n",
        "LANG=C.UTF-8\n",
    ] {
        assert!(result.contains(line), "{line}: {result}");
    }
    for absent in [
        "hunter",
        "DATABASE_URL",
        "PYTHONPATH",
        "GOPROXY",
        dunlin_tests::API_KEY,
    ] {
        assert!(!result.contains(absent), "{absent}: {result}");
    }
}

#[test]
fn a_variable_that_holds_a_key_cannot_be_named() {
    let environment = environment(&Provider::play([]));
    for (names, said) in [
        ("\"OPENAI_API_KEY\"", "which holds the key of [keys."),
        ("\"A=b\"", "entry 1 of commands.environment is not a name"),
        (
            "\"HOME2\", \"bad name\"",
            "entry 2 of commands.environment is not a name",
        ),
        ("\"TERM\"", "which Dunlin sets itself"),
    ] {
        environment.configure(&format!(
            "[keys.main]\nenv = \"OPENAI_API_KEY\"\n[commands]\nenvironment = [{names}]\n"
        ));
        let output = environment.run(["config", "check"]);
        assert_eq!(output.status, Some(2), "{output}");
        assert!(output.stderr.contains("config.toml:4: "), "{output}");
        assert!(output.stderr.contains(said), "{output}");
    }
    environment.configure("[commands]\nenviroment = []\n");
    let output = environment.run(["config", "check"]);
    assert!(output.stderr.contains("\"environment\""), "{output}");
    // What commands get is for the user to say.
    environment.configure("[commands]\nenvironment = [\"MINE\"]\n");
    environment.project_file(
        ".dunlin/config.toml",
        "[commands]\nenvironment = [\"THEIRS\"]\n",
    );
    let output = environment.run(["config", "show"]);
    assert!(output.stdout.contains("[\"MINE\"]"), "{output}");
    assert!(!output.stdout.contains("THEIRS"), "{output}");
    assert!(output.stderr.contains("commands.environment"), "{output}");
}

/// A project that holds the user's settings: the configuration is a link into it.
fn dotfiles(provider: &Provider) -> Environment {
    let environment = environment(provider);
    let real = environment.project_file("dunlin/config.toml", "");
    fs::rename(environment.config_file(), &real).expect("a file that moves");
    symlink(&real, environment.config_file()).expect("a link");
    environment.project_file("dunlin/README", "These are my settings.");
    environment
}

#[test]
fn a_linked_configuration_is_protected_where_it_is() {
    // What is named plainly is refused before it runs; this is about the rest.
    let line = "d=dunlin; cat $d/config.toml; echo 'commands.network = true' >> $d/config.toml; \
                mv $d/config.toml $d/old; mv $d gone; cat $d/README";
    let provider = Provider::play([command(line), Response::reply("Done.")]);
    let environment = dotfiles(&provider);
    let before = fs::read_to_string(environment.config_file()).expect("a configuration");
    let mut chat = Chat::open(&environment);
    run(&mut chat);
    chat.leave();
    let result = last_result(&provider);
    assert!(!result.contains("base_url"), "{result}");
    assert!(result.contains("These are my settings."), "{result}");
    let after = fs::read_to_string(environment.config_file()).expect("a configuration");
    assert_eq!(after, before);

    let arguments = r#"{"file_path":"dunlin/config.toml"}"#;
    let call = ["tools", "call", "read_file", "--args", arguments];
    let output = environment.run(call);
    assert_eq!(output.status, Some(3), "{output}");
    let explained = environment.run(["permissions", "explain", "dunlin/config.toml"]);
    assert!(explained.stdout.contains("never granted"), "{explained}");
    let doctor = environment.run(["doctor"]);
    assert!(
        doctor
            .stdout
            .contains("tools and commands cannot reach it there"),
        "{doctor}"
    );
}

/// Runs a script that mounts something as the administrator does for all, and then the program, which is its third argument;
/// what was written to stderr.
fn in_mounts(environment: &Environment, script: &str, arguments: [&Path; 2]) -> String {
    let output = Command::new("unshare")
        .args([
            "--user",
            "--map-root-user",
            "--mount",
            "sh",
            "-c",
            script,
            "-",
        ])
        .args(arguments)
        .arg(environment.program())
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .envs(environment.variables())
        .output();
    let output = output.expect("unshare");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{text}");
    text
}

#[test]
fn devices_and_processes_that_are_mounted_twice_are_out_of_reach() {
    let provider = Provider::play([command("sh look.sh"), Response::reply("Done.")]);
    let environment = environment(&provider);
    let second = environment.root().join("second");
    for folder in ["dev", "proc"] {
        fs::create_dir_all(second.join(folder)).expect("a folder");
    }
    // The terminals of the user, what all programs were started with, and all devices.
    environment.project_file(
        "look.sh",
        "cd ../second && ls -A dev/pts proc | tr '\\n' ' '; cat dev/zero | head -c 1 | wc -c
         head -c 1 /dev/zero | wc -c; ls /proc/self >/dev/null && echo own",
    );
    let script = "mount --rbind /dev \"$2/dev\" && mount --rbind /proc \"$2/proc\" && cd \"$1\" && \
                  exec \"$3\" ask hello --allow-line 'sh look.sh'";
    in_mounts(&environment, script, [&environment.project(), &second]);
    let result = last_result(&provider);
    // Where `/dev` is one file system, the terminals are gone with it.
    let found = result.split("<stdout>\n").nth(1).unwrap_or_default();
    let (listed, rest) = found.split_once("0\n").expect("a count");
    let names = listed.split_whitespace();
    let names: Vec<&str> = names
        .filter(|it| !["dev/pts:", "proc:"].contains(it))
        .collect();
    assert!(
        listed.contains("dev/pts:") || listed.contains("proc:"),
        "{result}"
    );
    assert_eq!(names, [""; 0], "{result}");
    assert!(rest.starts_with("1\nown"), "{result}");
}

#[test]
fn a_home_folder_that_is_mounted_elsewhere_is_no_project() {
    let provider = Provider::play([Response::reply("One."), Response::reply("Two.")]);
    let environment = environment(&provider);
    let (home, root) = (environment.home(), environment.root());
    fs::create_dir(home.join("src")).expect("a folder");
    let mount = |from: &str| {
        let other = root.join("other");
        fs::create_dir_all(&other).expect("a folder");
        let script = "mount --bind \"$1\" \"$2\" && cd \"$2\" && exec \"$3\" ask hello";
        in_mounts(&environment, script, [&home.join(from), &other])
    };
    let whole = mount(".");
    assert!(whole.contains("it is not a project"), "{whole}");
    let part = mount("src");
    assert!(!part.contains("it is not a project"), "{part}");
}

#[test]
fn a_home_folder_is_no_project() {
    let line = "echo harm >> .profile; touch .git-hook; echo fine > $TMPDIR/x && cat $TMPDIR/x";
    let provider = Provider::play([
        read("notes.txt"),
        command(line),
        Response::reply("Done."),
        Response::call("codebase_search", json!({ "query": "birds" })),
        Response::reply("Done."),
    ]);
    let environment = environment(&provider);
    let home = environment.home();
    fs::write(home.join("notes.txt"), "the text of a note").expect("a file");
    fs::write(home.join(".profile"), "").expect("a file");
    fs::create_dir_all(home.join(".dunlin")).expect("a folder");
    fs::write(
        home.join(".dunlin/config.toml"),
        "[limits]\nmax_tool_rounds = 1\n",
    )
    .expect("a file");
    // Nobody is asked here, and nothing is inside.
    let output = environment
        .command(["ask", "read my notes"])
        .in_folder(&home)
        .run();
    assert_eq!(output.status, Some(3), "{output}");
    assert!(output.stderr.contains("it is not a project"), "{output}");
    assert!(output.stderr.contains("--project DIR"), "{output}");
    assert!(
        !output.to_string().contains("the text of a note"),
        "{output}"
    );
    let shown = environment
        .command(["config", "show"])
        .in_folder(&home)
        .run();
    assert!(shown.stdout.contains("limits.max_tool_rounds"), "{shown}");
    assert!(!shown.stdout.contains("home/.dunlin"), "{shown}");

    // The same by `--project`, through a link.
    symlink(&home, environment.root().join("link")).expect("a link");
    let started = environment.command(["--project", "../link"]);
    let mut chat = Chat::of(started.terminal());
    assert!(
        chat.terminal.screen().contains("not a project"),
        "{:?}",
        chat.terminal
    );
    run(&mut chat);
    let result = last_result(&provider);
    assert!(result.contains("fine"), "{result}");
    assert!(
        result.contains("Read-only") || result.contains("denied"),
        "{result}"
    );
    assert_eq!(
        fs::read_to_string(home.join(".profile")).ok().as_deref(),
        Some("")
    );
    assert!(!home.join(".git-hook").exists());
    // Not even with a yes, so nobody is asked for one.
    chat.turn("work");
    assert!(
        last_result(&provider).contains("so Dunlin does not search it"),
        "{}",
        last_result(&provider)
    );
    chat.leave();
    let search = environment
        .command(["search", "birds"])
        .in_folder(&home)
        .terminal();
    assert_eq!(search.wait_end(), Some(1), "{search:?}");
    search.assert_absent("allow?");
    assert!(search.screen().contains("does not search it"), "{search:?}");
}

#[test]
fn doctor_lists_what_commands_do_not_get() {
    let environment = environment(&Provider::play([]));
    let doctor = environment
        .command(["doctor"])
        .variable("DATABASE_URL", "postgres://ada:hunter2@db/x")
        .run();
    assert!(
        doctor
            .stdout
            .contains("withheld from commands: DATABASE_URL, "),
        "{doctor}"
    );
    assert!(
        doctor
            .stdout
            .contains("[commands] environment = [\"NAME\"]"),
        "{doctor}"
    );
    assert!(!doctor.to_string().contains("hunter2"), "{doctor}");
}
