//! What the author of a plugin does: begins one, tests and builds it, and reads why it broke.

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, SystemTime};

use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, program};

use crate::plugins::{file, run};

/// Offline, with the libraries of this project, and in a folder that stays: the second time takes seconds.
#[test]
fn cargo_test_calls_a_new_plugin() {
    let environment = Environment::new(program!());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("new_plugin");
    let words = folder.join("words");
    fs::create_dir_all(&folder).unwrap();
    // That of an earlier run.
    let _ = fs::remove_dir_all(&words);
    let new = environment.command(["plugin", "new", "words"]);
    let said = new.in_folder(&folder).run();
    assert_eq!(said.status, Some(0), "{said}");
    let libraries = concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock");
    fs::copy(libraries, words.join("Cargo.lock")).unwrap();
    let tested = Command::new(env!("CARGO"))
        .args(["test", "--offline", "--lib"])
        .arg("--target-dir")
        .arg(folder.join("target"))
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_INCREMENTAL", "0")
        .current_dir(&words)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stdout);
    let why = String::from_utf8_lossy(&tested.stderr);
    assert!(tested.status.success(), "{said}{why}");
    assert!(said.contains("tests::a_file_is_counted ... ok"), "{said}");
    // Nothing is to be tidied up before the first line is written.
    assert!(!why.contains("warning:"), "{why}");
}

/// The start of a plugin in each language; building them needs tools of their own and is not done here.
#[test]
fn a_new_plugin_is_a_folder_that_says_how_to_go_on() {
    let environment = Environment::new(program!());
    for (language, source) in [
        ("rust", "src/lib.rs"),
        ("js", "src/tool.js"),
        ("python", "src/app.py"),
        ("c", "src/tool.c"),
    ] {
        let name = format!("words_{language}");
        let said = run(
            &environment,
            &format!("plugin new {name} --lang {language}"),
            0,
        );
        assert!(
            said.contains("Its README.md says how to continue"),
            "{said}"
        );
        let folder = environment.project().join(&name);
        let text = fs::read_to_string(folder.join(source)).unwrap();
        assert!(text.contains(&name), "{text}");
        let said = run(&environment, &format!("plugin new {name}"), 2);
        assert!(said.contains("already exists"), "{said}");
        // Nothing was built yet.
        let said = run(&environment, &format!("plugin check {name}"), 1);
        assert!(
            said.contains(&format!("hint: dunlin plugin build {name}")),
            "{said}"
        );
    }
    // What needs a compiler says how it is had where it is not.
    let said = environment.run(["plugin", "test", "words_c"]);
    match said.status {
        Some(0) => {
            assert!(said.stdout.starts_with("✓ words_c · "), "{said}");
            // The same source makes the same version.
            let component = environment.project().join("words_c/plugin.wasm");
            let built = fs::read(&component).unwrap();
            run(&environment, "plugin build words_c", 0);
            assert!(built == fs::read(&component).unwrap());
        }
        _ => assert!(
            said.stderr
                .contains("hint: on Debian, apt-get install clang"),
            "{said}"
        ),
    }
    // What a compiler says stands there as it says it.
    let source = environment.project().join("words_c/src/words.c");
    fs::write(source, "int words = ;\n").unwrap();
    let said = environment.run(["plugin", "build", "words_c"]);
    assert_eq!(said.status, Some(1), "{said}");
    let compiled = said.stderr.contains("\nerror: clang failed\n");
    assert!(
        compiled || said.stderr.contains("error: clang cannot be started"),
        "{said}"
    );
    assert!(!said.stderr.contains("\\n"), "{said}");
    let said = run(&environment, "plugin build", 2);
    assert!(said.contains("hint: dunlin plugin new NAME"), "{said}");
    run(&environment, "plugin new ../out", 2);
    run(&environment, "plugin new x --lang cobol", 2);
}

/// Whoever edits the source and installs what they built before gets the old tool.
#[test]
fn a_component_older_than_its_source_is_said_to_be() {
    let environment = Environment::new(program!());
    run(&environment, "plugin new words --lang c", 0);
    let built = environment.project().join("words/plugin.wasm");
    fs::write(&built, guest("echo").bytes).unwrap();
    for (seconds, is_old) in [(0, true), (u32::MAX, false)] {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds.into());
        let component = File::options().write(true).open(&built).unwrap();
        component.set_modified(time).unwrap();
        let said = run(&environment, "plugin check words", 0);
        let warned = said.contains("words/plugin.wasm is older than words/")
            && said.contains("dunlin plugin build words rebuilds it");
        assert_eq!(warned, is_old, "{said}");
        assert_eq!(said.contains("is older than"), is_old, "{said}");
    }
}

/// Puts a program in the place of componentize-py: what it makes is the guest `echo`, and it counts how often it is called.
fn fake_componentize_py(environment: &Environment, folder: &Path, more: &str) {
    let echo = file(environment, "echo.wasm", guest("echo").bytes);
    let tools = folder.join(".venv/bin");
    fs::create_dir_all(&tools).expect("the folder of the tool");
    let tool = tools.join("componentize-py");
    // The last argument is where the component belongs.
    let script = format!(
        "#!/bin/sh\necho called >> .venv/calls.txt\n{more}\nfor out; do :; done\nexec cp '{}' \"$out\"\n",
        echo.display()
    );
    fs::write(&tool, script).expect("the tool");
    fs::set_permissions(&tool, fs::Permissions::from_mode(0o755)).expect("its mode");
}

/// An engine of a language is never the same twice, and takes half a minute.
#[test]
fn what_is_unchanged_is_not_built_again() {
    let environment = Environment::new(program!());
    run(&environment, "plugin new words --lang python", 0);
    let folder = environment.project().join("words");
    fake_componentize_py(&environment, &folder, "");
    let mut calls = 0;
    let mut build = |is_built: bool| {
        let said = run(&environment, "plugin build words", 0);
        calls += usize::from(is_built);
        let is_unchanged = said.contains("its source has not changed");
        assert_eq!(is_unchanged, !is_built, "{said}");
        let called = fs::read_to_string(folder.join(".venv/calls.txt")).unwrap();
        assert_eq!(called.lines().count(), calls, "{said}");
    };
    build(true);
    let component = folder.join("plugin.wasm");
    let built = fs::read(&component).unwrap();
    build(false);
    assert!(built == fs::read(&component).unwrap());
    let source = folder.join("src/app.py");
    let text = fs::read_to_string(&source).unwrap();
    fs::write(&source, format!("{text}\n# More.\n")).unwrap();
    build(true);
    build(false);
    // What stands there is not what was built.
    fs::write(&component, guest("trap").bytes).unwrap();
    build(true);
    fs::remove_file(&component).unwrap();
    build(true);
}

/// What componentize-py says of an exception names the file as its author does.
#[test]
fn an_exception_while_python_is_built_has_its_place() {
    let environment = Environment::new(program!());
    run(&environment, "plugin new words --lang python", 0);
    let folder = environment.project().join("words");
    let traceback =
        "printf '  File \"/0/app.py\", line 7, in <module>\\nKeyError: 1\\n' >&2; exit 1";
    fake_componentize_py(&environment, &folder, traceback);
    let said = run(&environment, "plugin build words", 1);
    assert!(
        said.contains("File \"src/app.py\", line 7, in <module>\nKeyError: 1\n"),
        "{said}"
    );
    assert!(said.contains("error: componentize-py failed"), "{said}");
}

/// Compiling an engine of a language takes seconds, and whoever waits for nothing is told nothing.
#[test]
fn a_large_component_is_said_to_be_compiled_once() {
    let environment = Environment::new(program!());
    let mut bytes = guest("echo").bytes.to_vec();
    // A custom section of 3 MiB, with its length in LEB128, and a name of one letter.
    bytes.extend([0, 0x80, 0x80, 0xc0, 0x01, 1, b'x']);
    bytes.resize(bytes.len() + 3 * 1024 * 1024 - 2, 0);
    let large = file(&environment, "large.wasm", &bytes);
    let check = format!("plugin check {}", large.display());
    for is_said in [true, false] {
        let said = run(&environment, &check, 0);
        assert_eq!(
            said.contains("A large component: compiling"),
            is_said,
            "{said}"
        );
    }
}

/// What is wrong with `plugin.toml` is said before anything is built, in its own words.
#[test]
fn a_wrong_manifest_is_said_in_the_words_of_toml() {
    let environment = Environment::new(program!());
    run(&environment, "plugin new words --lang python", 0);
    for (text, expected) in [
        (
            "[test]\ntool = \"words\"",
            "line 3: [test] has to be [[test]]",
        ),
        (
            "[may]\n\"http//x\" = \"r--\"",
            "in [may], \"http//x\" is not an address as it is written; the address is \"https://x\"",
        ),
    ] {
        let text = format!("name = \"words\"\nlanguage = \"python\"\n{text}\n");
        fs::write(environment.project().join("words/plugin.toml"), text).unwrap();
        for command in ["build", "test"] {
            let said = run(&environment, &format!("plugin {command} words"), 2);
            assert!(said.contains(expected), "{said}");
        }
    }
}

/// Why a plugin broke is in its log, for its author, as long as it is kept.
#[test]
fn a_crash_is_in_the_log_of_the_plugin() {
    let environment = Environment::new(program!());
    run(&environment, "plugin log", 0);
    for name in ["trap", "echo"] {
        let path = file(&environment, &format!("{name}.wasm"), guest(name).bytes);
        run(
            &environment,
            &format!("plugin install {} --yes", path.display()),
            0,
        );
    }
    run(&environment, "tools call trap --args {}", 1);
    run(&environment, "plugin log trap", 0);
    run(&environment, "plugin log echo", 0);
    run(&environment, "plugin log ecko", 0);
    insta::assert_snapshot!(environment.transcript());
}
