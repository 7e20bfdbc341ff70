//! Rules and links: what the contents of a project must not decide.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use dunlin_tests::sandbox::{SECRET, assert_alive};
use serde_json::json;

use super::{Yard, yes};

/// The names in a folder.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> = entries
        .map(|entry| entry.file_name().display().to_string())
        .collect();
    names.sort();
    names
}

/// Lines that say in what a command runs: in namespaces its parent is process 1.
const IN_NAMESPACES: &str = "[ $PPID = 1 ] && ! touch /dunlin-test-file";

#[tokio::test]
async fn links_do_not_change_the_sandbox() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let root = project.parent().unwrap().to_owned();
    let rule = project.join("conf/inner/file").display().to_string();
    yard.host.permissions().set(&rule, "r-?").unwrap();
    symlink(".git", project.join(".git")).unwrap();
    symlink("conf", project.join("conf")).unwrap();
    yard.succeeds(IN_NAMESPACES).await;
    yard.refused("rm conf").await;
    fs::remove_file(project.join(".git")).unwrap();
    symlink("/", project.join(".git")).unwrap();
    yard.succeeds(IN_NAMESPACES).await;

    // What was granted was a folder, not what a link at its place leads to.
    let granted = project.join("out");
    fs::create_dir(&granted).unwrap();
    let key = format!("{}/", granted.display());
    yard.host.permissions().set(&key, "rw?").unwrap();
    fs::remove_dir(&granted).unwrap();
    symlink(root.join("outside"), &granted).unwrap();
    yard.refused("touch out/new").await;
    assert_eq!(names(&root.join("outside")), ["secret.txt"]);
    assert_alive(&yard.host).await;
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_set_up_is_an_error() {
    let yard = Yard::with(true, |_, options| {
        // Announced is one with namespaces; this cannot be given to a command in them.
        options.write.push("/proc/self".into());
    });
    let call = yard.call(
        "run_terminal_command",
        json!({ "command": "touch ran" }),
        yes(),
    );
    let failed = call.await.unwrap_err().to_string();
    assert!(
        failed.contains("cannot set up the sandbox of the command"),
        "{failed}"
    );
    assert!(!yard.sandbox.project().join("ran").exists());
}

#[tokio::test]
async fn a_rule_holds_for_what_is_not_there_yet() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let permissions = yard.host.permissions();
    for (name, bits) in [
        (".env", "---"),
        ("a/b/c", "r-?"),
        ("keys/", "---"),
        ("x/y/", "r-?"),
    ] {
        let key = format!("{}/{name}", project.display());
        permissions.set(&key, bits).unwrap();
    }
    for line in [
        "echo x > .env",
        "mkdir .env",
        "ln -s x .env",
        "mv README.md .env",
        "rm -f .env && echo x > .env",
        "mkdir -p a/b && echo x > a/b/c",
        "mv a z && mkdir -p a/b && echo x > a/b/c",
        "mkdir -p keys && touch keys/k",
        "rmdir keys && mkdir keys",
        "mkdir -p x/y && touch x/y/z",
    ] {
        yard.refused(line).await;
        assert_eq!(names(&project), ["README.md"], "{line}");
    }
    // What lies beside them can be made, and stays.
    yard.succeeds("mkdir -p a/b && echo x > a/b/d && cat README.md")
        .await;
    assert_eq!(names(&project), ["README.md", "a"]);
    assert_eq!(names(&project.join("a/b")), ["d"]);
    // What the user makes meanwhile is the user's.
    fs::write(project.join(".env"), SECRET).unwrap();
    let text = yard.run("cat .env").await.text;
    assert!(!text.contains(SECRET), "{text}");
    assert_eq!(fs::read_to_string(project.join(".env")).unwrap(), SECRET);
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_side_by_side_keep_their_rules() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let key = format!("{}/held", project.display());
    yard.host.permissions().set(&key, "---").unwrap();
    let run =
        |line: &'static str| yard.call("run_terminal_command", json!({ "command": line }), yes());
    // The short one ends, and takes its placeholders along, while the long one still needs them.
    let long = run("touch started; until [ -e go ]; do sleep 0.02; done; echo x > held");
    let short = async {
        while !project.join("started").exists() {
            tokio::task::yield_now().await;
        }
        run("true").await.unwrap();
        fs::write(project.join("go"), "").unwrap();
    };
    let (long, ()) = tokio::join!(long, short);
    let text = long.unwrap().text;
    assert!(!text.ends_with("exit status 0"), "{text}");
    assert!(!project.join("held").exists());
}
