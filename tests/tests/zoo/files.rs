//! Guests that reach for files: undeclared, by lies, through links, in Dunlin's own folders.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use dunlin_host::NoProgress;
use dunlin_host::ask::{Answer, DenyAll, Origin, Scope};
use dunlin_host::call::{Failure, PlanStatus};
use dunlin_host::target::{Need, Operation, Target};
use dunlin_tests::sandbox::{
    Asker, PATIENT, README, SECRET, Sandbox, assert_alive, call, leaks, play, unplanned,
};
use serde_json::json;

use crate::assert_one_clear_line;

fn reads(path: impl Into<PathBuf>) -> Need {
    Need {
        target: Target::Path(path.into()),
        operation: Operation::Read,
    }
}

fn text(result: Result<dunlin_host::call::Outcome, Failure>) -> Result<String, String> {
    result
        .and_then(|outcome| outcome.result)
        .map(|success| success.text)
        .map_err(|failure| failure.to_string())
}

/// The host asks in its own words, about the file that the path leads to.
#[tokio::test]
async fn undeclared_files_are_asked_about() {
    let sandbox = Sandbox::new();
    let secret = sandbox.secret();
    for (guest, path, target, denied_as) in [
        (
            "undeclared",
            secret.to_str().unwrap(),
            secret.as_path(),
            None,
        ),
        (
            "undeclared",
            "../outside/secret.txt",
            secret.as_path(),
            None,
        ),
        (
            "open_etc_passwd",
            "",
            Path::new("/etc/passwd"),
            Some(format!("{}etc/passwd", "../".repeat(32))),
        ),
    ] {
        let host = sandbox.host(&[guest], PATIENT);
        let arguments = if path.is_empty() {
            json!({})
        } else {
            json!({ "path": path })
        };
        let call = call(guest, arguments);
        let plan = host.prepare(&call).await.unwrap();
        assert_eq!((plan.status, plan.needs), (PlanStatus::Allowed, Vec::new()));

        let asker = Arc::new(Asker::no());
        let failure = play(&host, &call, asker.clone())
            .await
            .unwrap()
            .result
            .unwrap_err();
        let path = denied_as.as_deref().unwrap_or(path);
        let expected = format!("Permission denied: {guest} wanted to read '{path}'");
        assert_eq!(failure.to_string(), expected);
        assert_one_clear_line(&failure.to_string());
        let questions = asker.questions();
        let [question] = questions.as_slice() else {
            panic!("not one question: {questions:?}");
        };
        assert_eq!(question.origin, Origin::Undeclared);
        assert_eq!(question.needs, [reads(target)]);
        assert_eq!(question.tool, guest);
        assert_eq!(question.notices, ["Outside the project."]);
        let wording = format!(
            "Allow {guest} to read '{}'? It did not announce this.",
            target.display()
        );
        assert_eq!(question.wording, wording);

        let outcome = play(&host, &call, Arc::new(DenyAll)).await.unwrap();
        assert!(
            matches!(outcome.result, Err(Failure::Denied { .. })),
            "{outcome:?}"
        );
        assert_alive(&host).await;
    }
}

/// What the user allows is what happens, once, and stands in the audit log.
#[tokio::test]
async fn an_undeclared_file_can_be_allowed() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["undeclared"], PATIENT);
    let call = call("undeclared", json!({ "path": sandbox.secret() }));
    assert_eq!(
        text(play(&host, &call, Arc::new(Asker::yes())).await),
        Ok(SECRET.to_owned())
    );
    let used: Vec<_> = sandbox
        .audit()
        .into_iter()
        .filter(|line| line["target"] == sandbox.secret().to_str().unwrap())
        .map(|line| {
            (
                line["event"].clone(),
                line["rule"].clone(),
                line["bytes"].clone(),
            )
        })
        .collect();
    assert_eq!(
        used,
        [
            (
                json!("allowed"),
                json!("answered: yes, for this call"),
                json!(null)
            ),
            (json!("used"), json!(null), json!(SECRET.len())),
        ]
    );
    // The answer was for that call only.
    let asker = Arc::new(Asker::no());
    assert!(text(play(&host, &call, asker.clone()).await).is_err());
    assert_eq!(asker.questions().len(), 1);
}

/// Nobody has to answer a thousand questions.
#[tokio::test]
async fn a_call_asks_eight_times_at_most() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["nag"], PATIENT);
    let asker = Arc::new(Asker::yes());
    let answer = text(play(&host, &call("nag", json!({})), asker.clone()).await);
    assert_eq!(answer.as_deref(), Ok("8 of 1000 allowed"));
    assert_eq!(asker.questions().len(), 8);
    assert_alive(&host).await;
}

/// A guest that was refused ends as refused, whatever it says, and nobody is asked twice.
#[tokio::test]
async fn a_refusal_cannot_be_hidden() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["nag"], PATIENT);
    let asker = Arc::new(Asker::no());
    let call = call("nag", json!({}));
    let plan = host.prepare(&call).await.unwrap();
    let outcome = host
        .run(&call, &plan, asker.clone(), Arc::new(NoProgress))
        .await;
    let failure = outcome.result.unwrap_err();
    assert!(matches!(failure, Failure::Denied { .. }), "{failure:?}");
    assert_eq!(asker.questions().len(), 1);
    assert_alive(&host).await;
}

/// The status of a plan covers what was declared and nothing else, whatever the user answered to it.
#[tokio::test]
async fn a_lie_in_prepare_gains_nothing() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["lie_in_prepare"], PATIENT);
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let call = call("lie_in_prepare", json!({ "path": sandbox.secret() }));
        let plan = host.prepare(&call).await.unwrap();
        assert_eq!(plan.status, PlanStatus::Allowed);
        assert_eq!(plan.needs, [reads(sandbox.project().join("README.md"))]);
        host.answer(&call, &plan, Answer { allow: true, scope })
            .await
            .unwrap();
        let asker = Arc::new(Asker::no());
        let outcome = host
            .run(&call, &unplanned(), asker.clone(), Arc::new(NoProgress))
            .await;
        let failure = outcome.result.unwrap_err();
        assert!(matches!(failure, Failure::Denied { .. }), "{failure:?}");
        assert_eq!(leaks(&failure.to_string()), [""; 0]);
        assert_eq!(asker.questions()[0].needs, [reads(sandbox.secret())]);
        assert_eq!(asker.questions()[0].origin, Origin::Undeclared);
    }
    assert_alive(&host).await;
}

/// The link leads inside when it is checked and outside when it is opened, or the other way round: as
/// fast as it can be swapped, nothing but the inside is ever read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_swapped_link_leads_nowhere() {
    let sandbox = Sandbox::new();
    let project = sandbox.project();
    fs::create_dir(project.join("folder")).unwrap();
    fs::write(project.join("folder/secret.txt"), "inside").unwrap();
    // As a link itself, and as a link on the way.
    for (path, link, inside, outside) in [
        ("link", "link", "README.md", sandbox.secret()),
        (
            "way/secret.txt",
            "way",
            "folder",
            sandbox.secret().parent().unwrap().to_owned(),
        ),
    ] {
        let host = sandbox.host(&["follow_symlink"], PATIENT);
        let link = project.join(link);
        symlink(inside, &link).unwrap();
        let call = call("follow_symlink", json!({ "path": path, "times": 20_000 }));
        let plan = host.prepare(&call).await.unwrap();
        assert_eq!(plan.status, PlanStatus::Allowed);

        let stop = Arc::new(AtomicBool::new(false));
        let swap = {
            let (stop, link, temporary) =
                (Arc::clone(&stop), link.clone(), project.join("temporary"));
            let inside = PathBuf::from(inside);
            std::thread::spawn(move || {
                let mut swaps = 0_u32;
                while !stop.load(Ordering::Relaxed) {
                    for target in [&outside, &inside] {
                        symlink(target, &temporary).unwrap();
                        fs::rename(&temporary, &link).unwrap();
                        swaps += 1;
                    }
                }
                swaps
            })
        };
        let outcome = host
            .run(&call, &unplanned(), Arc::new(DenyAll), Arc::new(NoProgress))
            .await;
        stop.store(true, Ordering::Relaxed);
        let swaps = swap.join().expect("the swapping thread");
        let seen = outcome.result.unwrap().text;
        assert_eq!(leaks(&seen), [""; 0], "after {swaps} swaps");
        assert!(
            seen.contains("inside") || seen.contains(README.trim()),
            "{seen}"
        );
        assert!(
            seen.contains("denied"),
            "never swapped at a bad moment in {swaps} swaps: {seen}"
        );
        assert_alive(&host).await;
    }
}

/// Dunlin's own files are closed, even when the user opened everything, and by whatever name.
#[tokio::test]
async fn own_files_are_closed() {
    let sandbox = Sandbox::new();
    let project = sandbox.project();
    let root = project.parent().unwrap().to_owned();
    let permissions = sandbox.permissions_file();
    symlink(&permissions, project.join("innocent.json")).unwrap();
    symlink(root.join("config"), project.join("innocent")).unwrap();
    let host = sandbox.host(&["read_permission_file"], PATIENT);
    host.permissions()
        .set("/", "rwx")
        .expect("everything can be opened");
    host.permissions()
        .allow_for_session("/", "rwx")
        .expect("everything can be opened");
    let before = fs::read(&permissions).unwrap();
    // The control: everything else is indeed open.
    let secret = call("read_permission_file", json!({ "path": sandbox.secret() }));
    assert_eq!(
        text(play(&host, &secret, Arc::new(DenyAll)).await),
        Ok(SECRET.to_owned())
    );

    let thread = fs::read_link("/proc/thread-self").unwrap();
    let thread = thread.file_name().unwrap().to_str().unwrap();
    let paths = [
        permissions.to_str().unwrap().to_owned(),
        "../config/tool.permissions.json".to_owned(),
        "../config/../config/./tool.permissions.json".to_owned(),
        "../config/tool.digests.json".to_owned(),
        "../config".to_owned(),
        "../data/audit.jsonl".to_owned(),
        "../data/plugins.jsonl".to_owned(),
        "../cache/anything".to_owned(),
        "innocent.json".to_owned(),
        "innocent/tool.permissions.json".to_owned(),
        "~/config/tool.permissions.json".to_owned(),
        "/proc/self/environ".to_owned(),
        "/proc/self/mem".to_owned(),
        "/proc/thread-self/environ".to_owned(),
        format!("/proc/{}/environ", std::process::id()),
        format!("/proc/{}/task/{thread}/environ", std::process::id()),
        // Every thread has a folder of its own that no listing shows.
        format!("/proc/{thread}/environ"),
        format!("/proc/self/root{}", permissions.display()),
        format!("/proc/{thread}/root{}", permissions.display()),
        format!(
            "/proc/self/cwd/../../../../../../../../../{}",
            permissions.display()
        ),
    ];
    for path in paths {
        let call = call("read_permission_file", json!({ "path": path }));
        for asker in [Arc::new(Asker::yes()), Arc::new(Asker::no())] {
            let plan = host.prepare(&call).await.unwrap();
            // Without looking at the status: a front end with a bug must not matter.
            let allow = Answer {
                allow: true,
                scope: Scope::Once,
            };
            let _ = host.answer(&call, &plan, allow).await;
            let outcome = host
                .run(&call, &unplanned(), asker.clone(), Arc::new(NoProgress))
                .await;
            // What was read is not shown: it may be the environment of whoever runs the tests.
            let refused = !matches!(outcome.result, Ok(_) | Err(Failure::Tool { .. }));
            assert!(refused, "{path} was opened");
            let PlanStatus::Denied { rule, .. } = plan.status else {
                panic!("{path}: {:?}", plan.status);
            };
            assert_eq!(rule, "Dunlin's own files are never granted", "{path}");
            assert!(asker.questions().is_empty(), "{path}");
        }
    }
    assert_eq!(fs::read(&permissions).unwrap(), before);
    assert_alive(&host).await;
}

/// Reading too early, too much, or where nothing is: the guest is told so and goes on.
#[tokio::test]
async fn odd_reads_are_answered() {
    let sandbox = Sandbox::new();
    let line = "0123456789abcde\n";
    fs::write(
        sandbox.project().join("big.txt"),
        line.repeat(5 * 1024 * 1024 / 16),
    )
    .unwrap();
    let mebibyte = 1024 * 1024;
    for (guest, path, expected) in [
        (
            "big_read",
            "big.txt",
            // The endings of the lines are not counted, and there are no more than so many lines.
            format!(
                "bytes: Ok({mebibyte})\nlines: Ok({})\nentries: Ok(2)",
                65_536 * 15
            ),
        ),
        (
            "wrong_range",
            "README.md",
            [
                "Ok([])",
                "Ok([])",
                "Err(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))",
                "Ok(Lines { lines: [], at_end: true })",
                "Ok(Lines { lines: [], at_end: false })",
                "Err(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))",
                "Err(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))",
            ]
            .join("\n"),
        ),
        (
            "many_handles",
            "README.md",
            "256 files open, then: more than 256 files are open; close some".to_owned(),
        ),
        ("open_in_prepare", "README.md", "done".to_owned()),
    ] {
        let host = sandbox.host(&[guest], PATIENT);
        let call = call(guest, json!({ "path": path }));
        let found = text(play(&host, &call, Arc::new(DenyAll)).await);
        assert_eq!(found, Ok(expected), "{guest}");
        assert_alive(&host).await;
    }
}

/// `prepare` sees nothing, so its question can tell nothing.
#[tokio::test]
async fn prepare_reads_nothing() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["open_in_prepare"], PATIENT);
    for path in ["README.md", "../outside/secret.txt", "missing"] {
        let call = call("open_in_prepare", json!({ "path": path }));
        let plan = host.prepare(&call).await.unwrap();
        let expected = "Got nothing: nothing can be touched while a call is prepared?";
        assert_eq!(plan.question, expected);
    }
    assert_eq!(sandbox.audit(), [json!(null); 0]);
}
