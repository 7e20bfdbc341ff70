//! A guest that was made for WASI: its machine is empty, and each of its files is one that the user can refuse.
//!
//! The table of the zoo goes through every function of `wasi:filesystem` that changes something, and through the ways in
//! which other hosts of WASI were got round: emptying a file that may only be read, links and new names between folders of
//! different rights, slashes at the end of names.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::{MetadataExt, symlink};
use std::path::Path;
use std::sync::Arc;

use dunlin_host::ask::{Answer, Ask, DenyAll, Scope};
use dunlin_host::{Host, Limits};
use dunlin_tests::sandbox::{
    Asker, LIMITS, PATIENT, README, SECRET, Sandbox, assert_alive, call, leaks, play,
};
use serde_json::json;

use crate::assert_one_clear_line;

/// What each step answered; or how the call failed.
async fn said(host: &Host, ask: Arc<dyn Ask>, steps: &[&str]) -> Result<Vec<String>, String> {
    let outcome = play(host, &call("wasi", json!({ "steps": steps })), ask).await;
    let result = outcome.and_then(|outcome| outcome.result);
    assert_alive(host).await;
    result
        .map(|success| success.text.lines().map(str::to_owned).collect())
        .map_err(|failure| failure.to_string())
}

fn nobody() -> Arc<dyn Ask> {
    Arc::new(DenyAll)
}

/// A project with some of everything, and a host.
fn stage(limits: Limits) -> (Sandbox, Host) {
    let sandbox = Sandbox::new();
    let project = sandbox.project();
    fs::create_dir(project.join("src")).expect("a folder");
    fs::create_dir(project.join("empty")).expect("a folder");
    fs::write(project.join("src/main.rs"), "fn main() {}").expect("a file");
    fs::write(project.join(".env"), "KEY=1").expect("a file");
    fs::write(project.join("diary.txt"), "dear diary").expect("a file");
    symlink("README.md", project.join("link")).expect("a link");
    symlink("src", project.join("folder-link")).expect("a link");
    symlink("../outside/secret.txt", project.join("way-out")).expect("a link");
    symlink("../config", project.join("way-home")).expect("a link");
    let host = sandbox.host(&["wasi"], limits);
    (sandbox, host)
}

/// Everything below a folder: its kind, size, number of names, times and content.
fn tree(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let meta = path.symlink_metadata().expect("its metadata");
        let content = if meta.is_file() {
            fs::read_to_string(&path).unwrap_or_default()
        } else {
            String::new()
        };
        let metadata = format!(
            "{:?} {} {} {}.{} {content}",
            meta.file_type(),
            meta.len(),
            meta.nlink(),
            meta.mtime(),
            meta.mtime_nsec()
        );
        found.insert(path.display().to_string(), metadata);
        if meta.is_dir() {
            found.extend(tree(&path));
        }
    }
    found
}

#[tokio::test]
async fn nothing_changes_where_only_reading_is_allowed() {
    let (sandbox, host) = stage(PATIENT);
    let before = tree(sandbox.root().join("project").as_path());
    for attempt in dunlin_zoo::WASI {
        for (steps, expected) in attempt.calls {
            let found = said(&host, nobody(), steps).await;
            let found = found.unwrap_or_else(|failure| vec![failure]);
            assert_eq!(found, *expected, "{steps:?}");
        }
    }
    assert_eq!(tree(&sandbox.project()), before);
    assert!(!Path::new("/tmp/dunlin-readme").exists());
    assert_eq!(fs::read_to_string(sandbox.secret()).unwrap(), SECRET);
}

#[tokio::test]
async fn reading_is_like_any_other_reading() {
    let (sandbox, host) = stage(PATIENT);
    let steps = [
        "open README.md r",
        "read",
        "pread 6",
        "close",
        "open link r",
        "read",
        "open . d",
        "list",
        "open H:folder-link/main.rs r",
        "read",
        "stat README.md",
        "lstat link",
        "readlink link",
        "readlink README.md",
        "hash README.md",
        "stat .",
    ];
    let found = said(&host, nobody(), &steps).await.unwrap();
    let size = README.len();
    let stat = format!("DescriptorType::RegularFile {size}");
    let expected = [
        "ok",
        README.trim_end(),
        "bird knows this.",
        "true",
        "ok",
        README.trim_end(),
        "ok",
        ".env README.md diary.txt empty folder-link link src way-home way-out",
        "ok",
        "fn main() {}",
        &stat,
        "DescriptorType::SymbolicLink 9",
        "README.md",
        "invalid",
        "ok",
    ];
    assert_eq!(found[..15], expected);
    assert!(
        found[15].starts_with("DescriptorType::Directory"),
        "{}",
        found[15]
    );

    // It stands in the log with the real path and what was read.
    let path = sandbox.project().join("README.md");
    let path = path.to_str().unwrap();
    let bytes: u64 = sandbox
        .audit()
        .iter()
        .filter(|line| line["event"] == "used" && line["target"] == path)
        .filter_map(|line| line["bytes"].as_u64())
        .sum();
    assert_eq!(bytes, (size + size - 6 + size) as u64);
}

/// Who may list a folder sees the kind and size of what is in it, secrets included, so that programs can walk
/// through a folder without a question for each file. Content is another matter, and what is denied stays so.
#[tokio::test]
async fn metadata_is_known_where_the_folder_may_be_listed() {
    let (sandbox, host) = stage(PATIENT);
    let path = sandbox.project().join(".env");
    let size = fs::metadata(&path).expect("a secret").len();
    for step in ["stat .env", "lstat way-out", "lstat .env"] {
        let found = said(&host, nobody(), &[step]).await.unwrap();
        let file = format!("DescriptorType::RegularFile {size}");
        assert_eq!(
            found[0] == file,
            step.ends_with(".env"),
            "{step}: {found:?}"
        );
    }
    for (step, path) in [
        ("open .env r", ".env"),
        ("stat way-out", "secret.txt"),
        ("stat ../outside/secret.txt", "secret.txt"),
    ] {
        let asker = Arc::new(Asker::no());
        let refused = said(&host, asker.clone(), &[step]).await;
        assert!(refused.is_err(), "{step}: {refused:?}");
        let questions = asker.questions();
        assert_eq!(questions.len(), 1, "{step}: {questions:?}");
        assert!(questions[0].wording.contains(path), "{questions:?}");
    }
    let permissions = host.permissions();
    permissions.allow_for_session("./.env", "---").unwrap();
    let asker = Arc::new(Asker::yes());
    let refused = said(&host, asker.clone(), &["stat .env"]).await;
    assert_eq!(refused, Ok(vec!["access".to_owned()]));
    assert!(asker.questions().is_empty());
}

/// Who asks is told the real path, once for each thing that is done, and can say no.
#[tokio::test]
async fn what_is_opened_is_asked_about_with_its_real_path() {
    let (sandbox, host) = stage(PATIENT);
    let secret = sandbox.secret();
    let absolute = secret.to_str().unwrap();
    // As it is, as C libraries hand it over, and through a link of the project.
    for path in [
        &format!("R:{absolute}"),
        absolute,
        absolute.trim_start_matches('/'),
        "way-out",
        "../outside/./secret.txt",
    ] {
        let step = format!("open {path} r");
        let asker = Arc::new(Asker::no());
        let failure = said(&host, asker.clone(), &[&step, "read"])
            .await
            .unwrap_err();
        assert_one_clear_line(&failure);
        assert_eq!(leaks(&failure), [""; 0], "{path}");
        let questions = asker.questions();
        let [question] = questions.as_slice() else {
            panic!("{path}: {questions:?}");
        };
        let wording = format!("Allow wasi to read '{absolute}'?");
        assert!(
            question.wording.starts_with(&wording),
            "{}",
            question.wording
        );

        let asker = Arc::new(Asker::yes());
        let found = said(&host, asker, &[&step, "read"]).await;
        assert_eq!(found, Ok(vec!["ok".to_owned(), SECRET.to_owned()]));
    }
}

/// A plan that names a folder is asked about once, for all that is in it; not for what lies elsewhere, for secrets, and for
/// settings of git.
#[tokio::test]
async fn a_folder_is_asked_about_as_a_whole() {
    let steps = [
        "open src/new.txt wc",
        "mkdir src/deep",
        "open src/deep/a.txt wc",
        "rename src/deep/a.txt src/b.txt",
        "open src/.env wc",
        "open src/.git/config wc",
        "open diary.txt w",
        "open way-out w",
    ];
    for folder in ["src", "./src/", "folder-link"] {
        for scope in [Scope::Once, Scope::Session, Scope::Always] {
            let (sandbox, host) = stage(PATIENT);
            fs::create_dir(sandbox.project().join("src/.git")).expect("a folder");
            let asker = Arc::new(Asker::first(Answer { allow: true, scope }));
            let call = call("wasi", json!({ "steps": steps, "folder": folder }));
            let outcome = play(&host, &call, asker.clone()).await.expect("a run");
            let failure = outcome.result.expect_err("something was refused");
            assert_one_clear_line(&failure.to_string());
            // The first question is that of the plan; the call ends with the first no.
            let questions = asker.questions();
            let [plan, other] = questions.as_slice() else {
                panic!("{questions:?}");
            };
            let shown = format!("{}/src/ and all below", sandbox.project().display());
            assert_eq!(plan.needs[0].target.shown(), shown);
            assert!(other.wording.contains("/src/.env"), "{}", other.wording);
            assert!(sandbox.project().join("src/b.txt").exists());
            assert!(!sandbox.project().join("src/.env").exists());

            let elsewhere = &steps[5..];
            for step in elsewhere {
                // The plan is not asked about again where the answer holds for longer.
                let asker = Arc::new(match scope {
                    Scope::Once => Asker::first_yes(),
                    Scope::Session | Scope::Always => Asker::no(),
                });
                let arguments = json!({ "steps": [step], "folder": folder });
                let outcome = play(&host, &self::call("wasi", arguments), asker.clone()).await;
                let failure = outcome.expect("a run").result.expect_err("it was refused");
                assert_one_clear_line(&failure.to_string());
                let asked = 1 + usize::from(scope == Scope::Once);
                assert_eq!(asker.questions().len(), asked, "{scope:?} {step}");
            }
        }
    }
}

#[tokio::test]
async fn everything_can_be_done_that_is_allowed() {
    let (sandbox, host) = stage(PATIENT);
    let asker = Arc::new(Asker::new(Answer {
        allow: true,
        scope: Scope::Session,
    }));
    let steps = [
        "mkdir new",
        "open new/a.txt rwcx",
        "write hello",
        "append there",
        "pwrite J 0",
        "read",
        "size 5",
        "read",
        "times 86400",
        "open new/a.txt rwcx",
    ];
    let found = said(&host, asker.clone(), &steps).await.unwrap();
    assert_eq!(
        found,
        [
            "ok",
            "ok",
            "ok",
            "ok",
            "ok",
            "Jellothere",
            "ok",
            "Jello",
            "ok",
            "exist"
        ]
    );
    let project = sandbox.project();
    assert_eq!(
        fs::metadata(project.join("new/a.txt")).unwrap().mtime(),
        86400
    );

    let steps = [
        "rename new/a.txt b.txt",
        "link b.txt new/c.txt",
        "symlink ../b.txt new/d.txt",
        "open new/d.txt r",
        "read",
    ];
    let found = said(&host, asker.clone(), &steps).await.unwrap();
    assert_eq!(found, ["ok", "ok", "ok", "ok", "Jello"]);
    assert_eq!(fs::metadata(project.join("b.txt")).unwrap().nlink(), 2);

    let steps = [
        "unlink new/c.txt",
        "unlink new/d.txt",
        "times-at b.txt 5",
        "rmdir new",
        "open b.txt wt",
        // From another folder a link leads elsewhere; in its own it may have another name.
        "symlink ../b.txt src/link",
        "rename src/link up",
        "link src/link up",
        "rename src/link src/other",
        "unlink src/other",
        "rename src other",
        "rename b.txt empty",
        "open way-home/x wc",
    ];
    let found = said(&host, asker.clone(), &steps).await.unwrap();
    let expected = [
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "ok",
        "not-permitted",
        "not-permitted",
        "ok",
        "ok",
        // A folder keeps its name, and its place.
        "not-permitted",
        "is-directory",
        // Dunlin's own are not to be had at all.
        "access",
    ];
    assert_eq!(found, expected);
    assert_eq!(fs::read_to_string(project.join("b.txt")).unwrap(), "");
    assert!(!project.join("new").exists());

    // One question for one thing, with both names in it.
    let questions = asker.questions();
    let renaming = format!(
        "Allow wasi to rename '{0}/new/a.txt' to '{0}/b.txt'? It did not announce this.",
        project.display()
    );
    let asked = questions.iter().filter(|q| q.wording == renaming).count();
    assert_eq!(asked, 1, "{questions:?}");
}

/// A second name is a second way to the same bytes: the rules of the first one count.
#[tokio::test]
async fn names_do_not_launder_rights() {
    let (sandbox, host) = stage(PATIENT);
    let project = sandbox.project();
    let diary = project.join("diary.txt");
    let below = format!("{}/", project.display());
    let rules = json!({ &below: "rw-", diary.to_str().unwrap(): "---" });
    fs::write(sandbox.permissions_file(), rules.to_string()).unwrap();
    for steps in [
        ["rename diary.txt new.txt"],
        ["link diary.txt new.txt"],
        ["rename README.md diary.txt"],
        ["link-followed diary.txt src/new.txt"],
        ["symlink ../diary.txt src/diary"],
    ] {
        let found = said(&host, nobody(), &steps).await;
        let found = found.unwrap();
        // A link to it may be made, and leads to what is denied.
        let expected = match steps[0].starts_with("symlink") {
            true => "ok",
            false => "access",
        };
        assert_eq!(found, [expected], "{steps:?}");
    }
    let found = said(&host, nobody(), &["open src/diary r", "open src/diary wt"]).await;
    assert_eq!(found, Ok(vec!["access".to_owned(), "access".to_owned()]));
    assert_eq!(fs::read_to_string(diary).unwrap(), "dear diary");

    // What may only be written cannot be read under a new name.
    let rules = json!({ below: "rw-", project.join("diary.txt").to_str().unwrap(): "-w-" });
    fs::write(sandbox.permissions_file(), rules.to_string()).unwrap();
    let found = said(
        &host,
        nobody(),
        &["rename diary.txt new.txt", "link diary.txt new.txt"],
    )
    .await;
    assert_eq!(found, Ok(vec!["access".to_owned(), "access".to_owned()]));
    let found = said(&host, nobody(), &["open diary.txt wt", "read", "pread 0"]).await;
    let found = found.unwrap();
    assert_eq!(found, ["ok", "bad-descriptor", "bad-descriptor"]);
}

#[tokio::test]
async fn the_machine_is_empty() {
    let (sandbox, host) = stage(PATIENT);
    let steps = [
        "environment",
        "stdin",
        "sockets",
        "random 65536",
        "sleep 20",
        "print hello",
        "complain trouble",
    ];
    let found = said(&host, nobody(), &steps).await.unwrap();
    let denied = "access-denied access-denied access-denied";
    let expected = ["[] [] None", "closed", denied, "65536", "true", "ok", "ok"];
    assert_eq!(found, expected);
    let lines: Vec<(String, String)> = sandbox
        .log()
        .iter()
        .map(|line| (line["level"].to_string(), line["message"].to_string()))
        .collect();
    let said_so =
        |level: &str, text: &str| lines.contains(&(format!("{level:?}"), format!("{text:?}")));
    assert!(
        said_so("info", "hello") && said_so("warn", "trouble"),
        "{lines:?}"
    );

    // Clocks are coarse, and random numbers differ.
    let found = said(&host, nobody(), &["clock", "numbers", "numbers"])
        .await
        .unwrap();
    assert!(
        found[0].ends_with(" 0") && !found[0].starts_with("0 "),
        "{found:?}"
    );
    assert_ne!(found[1], found[2]);
}

#[tokio::test]
async fn what_is_too_much_ends_the_call() {
    let (_sandbox, host) = stage(LIMITS);
    for (step, expected) in [
        ("exit 0", "wasi ended itself with exit status 0"),
        ("exit 3", "wasi ended itself with exit status 1"),
        ("sleep-long", "wasi was stopped after 1 s"),
    ] {
        let failure = said(&host, nobody(), &[step]).await.unwrap_err();
        assert_eq!(failure, expected, "{step}");
    }
    // The last words say why.
    let failure = said(&host, nobody(), &["complain because-of-this", "exit 1"]).await;
    let failure = failure.unwrap_err();
    assert_eq!(
        failure,
        "wasi ended itself with exit status 1: because-of-this"
    );
}

/// What is printed is bounded like the log, and the end of it stays.
#[tokio::test]
async fn printing_without_end_loses_the_beginning() {
    let (sandbox, host) = stage(PATIENT);
    let found = said(&host, nobody(), &["print-much 1100", "print last"]).await;
    assert_eq!(found, Ok(vec!["ok".to_owned(), "ok".to_owned()]));
    let log = sandbox.log();
    let last = log.iter().rev().find(|line| line["message"] == "last");
    assert!(last.is_some(), "the last line was lost");
}

/// A granted file is not a granted disk.
#[tokio::test]
async fn a_file_does_not_fill_the_disk() {
    let (_sandbox, host) = stage(PATIENT);
    let steps = [
        "open big.bin rwc",
        "size 1073741825",
        "pwrite x 1073741824",
        "write x 18446744073709551615",
        "size 1073741824",
        "size 0",
    ];
    let found = said(&host, Arc::new(Asker::yes()), &steps).await.unwrap();
    let too_large = "file-too-large";
    assert_eq!(found, ["ok", too_large, too_large, too_large, "ok", "ok"]);
}

/// Before a call is allowed there is nothing to touch.
#[tokio::test]
async fn nothing_is_touched_in_prepare() {
    let (_sandbox, host) = stage(PATIENT);
    let steps = [
        "open README.md r",
        "stat .",
        "mkdir new",
        "environment",
        "random 8",
    ];
    let asker = Arc::new(Asker::yes());
    let call = call("wasi", json!({ "steps": steps, "early": true }));
    let failure = play(&host, &call, asker.clone()).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "not-permitted\nnot-permitted\nnot-permitted\n[] [] None\n8"
    );
    assert_eq!(asker.questions().len(), 0);
}

/// The answer to a difference is one to this difference: what is done by other means is asked about.
#[tokio::test]
async fn a_yes_to_a_shown_change_is_none_to_another() {
    for steps in [
        &["open diary.txt wt", "write evil 0"][..],
        &["open diary.txt w", "write evil 0"],
        &["unlink diary.txt"],
        &["rename diary.txt diary.old"],
        &["times-at diary.txt 1"],
    ] {
        let (sandbox, host) = stage(PATIENT);
        let before = tree(&sandbox.project());
        let asker = Arc::new(Asker::first_yes());
        let arguments = json!({ "steps": steps, "shown": ["diary.txt", "dear"] });
        let played = play(&host, &call("wasi", arguments), asker.clone()).await;
        assert_alive(&host).await;
        assert_eq!(tree(&sandbox.project()), before, "{steps:?}: {played:?}");
        let questions = asker.questions();
        assert_eq!(questions.len(), 2, "{steps:?}: {questions:?}");
        assert_eq!(questions[0].actions.len(), 1, "{steps:?}");
    }
}
