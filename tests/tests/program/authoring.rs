//! What the author of a plugin does outside of Dunlin.

use std::fs;
use std::path::Path;
use std::process::Command;

use dunlin_tests::{Environment, program};

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
