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
    let rule = project.join("conf/inner/file").display().to_string();
    yard.host.permissions().set(&rule, "r-?").unwrap();
    symlink(".git", project.join(".git")).unwrap();
    symlink("conf", project.join("conf")).unwrap();
    yard.succeeds(IN_NAMESPACES).await;
    yard.refused("rm conf").await;
    fs::remove_file(project.join(".git")).unwrap();
    symlink("/", project.join(".git")).unwrap();
    yard.succeeds(IN_NAMESPACES).await;

    fs::remove_file(project.join(".git")).unwrap();
    fs::remove_file(project.join("conf")).unwrap();

    // What was configured is in the project, not where a link at its place leads.
    let yard = Yard::with(true, |sandbox, options| {
        options.write.push(sandbox.project().join("out"));
    });
    let project = yard.sandbox.project();
    let outside = project.parent().unwrap().join("outside");
    symlink(&outside, project.join("out")).unwrap();
    yard.refused("touch out/new").await;
    assert_eq!(names(&outside), ["secret.txt"]);
    assert_alive(&yard.host).await;
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_set_up_is_an_error() {
    let yard = Yard::with(true, |_, options| {
        // Announced is one with namespaces; this cannot be given to a command in them.
        options.write.push("/proc/sys".into());
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
    // What is named plainly is refused before it runs; this is about the rest.
    for line in [
        "n=.en; echo x > ${n}v",
        "n=.en; mkdir ${n}v",
        "n=.en; ln -s x ${n}v",
        "n=.en; mv README.md ${n}v",
        "n=.en; rm -f ${n}v && echo x > ${n}v",
        "n=c; mkdir -p a/b && echo x > a/b/$n",
        "n=c; mv a z && mkdir -p a/b && echo x > a/b/$n",
        "n=key; mkdir -p ${n}s && touch ${n}s/k",
        "n=key; rmdir ${n}s && mkdir ${n}s",
        "n=y; mkdir -p x/$n && touch x/$n/z",
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
    let text = yard.run("n=.en; cat ${n}v").await.text;
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
    let long = run("touch started; until [ -e go ]; do sleep 0.02; done; n=held; echo x > $n");
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

/// Nothing but the system's own words tells of a refused write, so the model must know what they mean.
#[tokio::test]
async fn what_programs_print_of_a_refused_write_is_described_to_the_model() {
    const READ_ONLY: &str = "Read-only file system";
    const BUSY: &str = "Device or resource busy";
    // A file takes the place of a setting that is missing.
    const DENIED: &str = "Permission denied";
    let yard = Yard::new();
    let project = yard.sandbox.project();
    fs::create_dir_all(project.join("sub/.git")).unwrap();
    fs::write(project.join("sub/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(project.join("sub/.git/config"), "[core]\n").unwrap();
    let (tools, _) = yard.host.tools().await;
    let tool = tools.iter().find(|it| it.name == "run_terminal_command");
    let description = &tool.unwrap().description;
    for (line, words) in [
        ("touch ../new", READ_ONLY),
        ("mkdir ../new", READ_ONLY),
        ("cp README.md ../outside/secret.txt", READ_ONLY),
        ("mv README.md ../new", READ_ONLY),
        ("touch sub/.git/index.lock", READ_ONLY),
        ("git --version && touch sub/.git/config", READ_ONLY),
        ("git --version && touch sub/.git/config.worktree", DENIED),
        ("mv sub/.git sub/other", BUSY),
        ("mv sub other", BUSY),
    ] {
        let text = yard.refused(line).await;
        assert!(text.contains(words), "{line}: {text}");
        assert!(description.contains(words), "{description}");
    }
    // What is granted must be there when the command starts.
    let granted = project.parent().unwrap().join("granted");
    let key = format!("{}/", granted.display());
    yard.host.permissions().set(&key, "?w?").unwrap();
    let text = yard.refused("mkdir ../granted").await;
    assert!(text.contains(READ_ONLY), "{text}");
    fs::create_dir(&granted).unwrap();
    yard.succeeds("touch ../granted/new").await;

    let without = Yard::with(false, |_, _| {});
    let text = without.refused("touch ../new").await;
    assert!(text.contains(DENIED), "{text}");
}
