//! Edits: the built-in tool on the real host, and guests that show one thing and do another.

use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use dunlin::built_in_plugins;
use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope};
use dunlin_host::call::{Action, Failure, PlanStatus};
use dunlin_host::target::Operation;
use dunlin_host::undo::UndoOutcome;
use dunlin_host::{Host, NoProgress};
use dunlin_tests::sandbox::{
    Asker, PATIENT, README, SECRET, STORED, Sandbox, assert_alive, call, play, plugin,
};
use serde_json::{Value, json};

use crate::assert_one_clear_line;

/// A host with the built-in tools for files and the guests that edit.
struct Desk {
    sandbox: Sandbox,
    host: Host,
}

impl Desk {
    fn new() -> Desk {
        Desk::on(Sandbox::new())
    }

    fn on(sandbox: Sandbox) -> Desk {
        let guests = ["edit_undeclared", "edit_otherwise", "echo"].map(plugin);
        let host = sandbox.host_of(
            built_in_plugins::all().into_iter().chain(guests).collect(),
            PATIENT,
        );
        host.begin_turn();
        Desk { sandbox, host }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.sandbox.project().join(name)
    }

    fn text(&self, name: &str) -> String {
        fs::read_to_string(self.file(name)).unwrap_or_default()
    }

    async fn call(
        &self,
        tool: &str,
        arguments: Value,
        ask: Arc<dyn Ask>,
    ) -> Result<String, Failure> {
        let outcome = play(&self.host, &call(tool, arguments), ask).await?;
        outcome.result.map(|success| success.text)
    }

    async fn read(&self, path: &str) {
        let arguments = json!({ "file_path": path });
        let read = self.call("read_file", arguments, yes()).await;
        assert!(read.is_ok(), "{read:?}");
    }

    async fn edit(&self, path: &str, edits: Value, ask: Arc<dyn Ask>) -> Result<String, Failure> {
        let arguments = json!({ "file_path": path, "edits": edits });
        self.call("edit_file", arguments, ask).await
    }
}

fn yes() -> Arc<Asker> {
    Arc::new(Asker::yes())
}

/// An edit that inserts a line at the top.
fn top(text: &str) -> Value {
    json!([{ "range": [1, 1], "replacement": text }])
}

#[track_caller]
fn refused(result: Result<String, Failure>, expected: &str) {
    let failure = result.expect_err("a refusal").to_string();
    assert_one_clear_line(&failure);
    assert!(failure.contains(expected), "{failure}");
}

/// Does something between the question and the answer, which is yes.
struct Meanwhile<F>(Mutex<Option<F>>);

fn meanwhile<F: FnOnce() + Send>(act: F) -> Arc<Meanwhile<F>> {
    Arc::new(Meanwhile(Mutex::new(Some(act))))
}

#[async_trait::async_trait]
impl<F: FnOnce() + Send> Ask for Meanwhile<F> {
    async fn ask(&self, _question: Question) -> Answer {
        if let Some(act) = self.0.lock().expect("the act").take() {
            act();
        }
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }
}

#[tokio::test]
async fn an_edit_is_shown_made_and_told() {
    let desk = Desk::new();
    fs::write(desk.file("script"), "one\ntwo\nthree\n").unwrap();
    fs::set_permissions(desk.file("script"), fs::Permissions::from_mode(0o750)).unwrap();
    desk.read("script").await;
    let asker = yes();
    let edits = json!([
        { "range": [2, 3], "replacement": "zwei" },
        { "range": [4, 4], "replacement": "four\n" },
    ]);
    let text = desk.edit("script", edits, asker.clone()).await.unwrap();
    let expected = "Edited 'script': 3 lines before, 4 lines now. The numbers below are the new ones.\n     \
        1\tone\n     2\tzwei\n     3\tthree\n     4\tfour\n";
    assert_eq!(text, expected);
    assert_eq!(desk.text("script"), "one\nzwei\nthree\nfour\n");
    let mode = fs::metadata(desk.file("script")).unwrap().mode();
    assert_eq!(mode & 0o777, 0o750);

    let questions = asker.questions();
    let [question] = questions.as_slice() else {
        panic!("not one question: {questions:?}");
    };
    assert_eq!(question.wording, "Edit file 'script' with 2 edits?");
    assert_eq!(question.origin, Origin::Declared);
    let needs: Vec<_> = question.needs.iter().map(|need| need.operation).collect();
    assert_eq!(needs, [Operation::Write]);
    let [Action::Edit(edit)] = question.actions.as_slice() else {
        panic!("not one action: {question:?}");
    };
    let diff = "@@ -1,3 +1,4 @@\n one\n-two\n+zwei\n three\n+four\n";
    assert_eq!(edit.diff.to_string(), diff);
    let used = desk
        .sandbox
        .audit()
        .into_iter()
        .find(|line| line["event"] == "used" && line["operation"] == "write");
    assert_eq!(used.unwrap()["bytes"], desk.text("script").len());

    // Its own edit counts as read.
    let again = desk.edit("script", top("zero"), yes()).await;
    assert!(again.is_ok(), "{again:?}");
    assert_alive(&desk.host).await;
}

#[tokio::test]
async fn a_new_file_needs_no_reading() {
    let desk = Desk::new();
    let asker = yes();
    let edits = top("fn main() {}\n");
    let text = desk.edit("new/src/main.rs", edits, asker.clone()).await;
    assert_eq!(text.unwrap(), "Created 'new/src/main.rs' with 1 line.\n");
    assert_eq!(desk.text("new/src/main.rs"), "fn main() {}\n");
    let [question] = &asker.questions()[..] else {
        panic!("not one question");
    };
    assert_eq!(question.wording, "Create file 'new/src/main.rs'?");
    let targets: Vec<_> = question
        .needs
        .iter()
        .map(|n| n.target.to_string())
        .collect();
    let expected = ["new", "new/src/main.rs"].map(|name| desk.file(name).display().to_string());
    assert_eq!(targets, expected);
    // And denied it is not there, and neither is its folder.
    let denied = desk
        .edit("other/file", top("x"), Arc::new(Asker::no()))
        .await;
    assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
    assert!(!desk.file("other").exists());
}

#[tokio::test]
async fn what_was_not_read_or_has_changed_is_refused() {
    let desk = Desk::new();
    let unread = "was not read in this session; read it first";
    refused(desk.edit("README.md", top("x"), yes()).await, unread);
    desk.read("README.md").await;
    let changed = "changed since it was read; read it again";
    fs::write(desk.file("README.md"), "somebody's").unwrap();
    refused(desk.edit("README.md", top("x"), yes()).await, changed);
    fs::remove_file(desk.file("README.md")).unwrap();
    refused(desk.edit("README.md", top("x"), yes()).await, changed);

    // Between the question and the answer.
    fs::write(desk.file("README.md"), README).unwrap();
    desk.read("README.md").await;
    let file = desk.file("README.md");
    let late = meanwhile(move || fs::write(file, "somebody's").unwrap());
    refused(desk.edit("README.md", top("x"), late).await, changed);
    assert_eq!(desk.text("README.md"), "somebody's");
}

/// Two edits of one file in one message: the numbers of the second are those from before the first.
#[tokio::test]
async fn an_edit_that_another_one_overtook_is_refused() {
    let desk = Desk::new();
    desk.read("README.md").await;
    let arguments = json!({ "file_path": "README.md", "edits": top("second") });
    let second = call("edit_file", arguments);
    let plan = desk.host.prepare(&second).await.unwrap();
    desk.edit("README.md", top("first"), yes()).await.unwrap();
    let answer = Answer {
        allow: true,
        scope: Scope::Once,
    };
    desk.host.answer(&second, &plan, answer).await.unwrap();
    let asker = Arc::new(Asker::no());
    let outcome = desk
        .host
        .run(&second, &plan, asker.clone(), Arc::new(NoProgress))
        .await;
    let result = outcome.result.map(|success| success.text);
    refused(
        result,
        "changed since this edit was proposed; read it again",
    );
    assert_eq!(asker.questions().len(), 0);
    assert_eq!(desk.text("README.md"), format!("first\n{README}"));
}

/// Whoever may not read somewhere does not learn by an edit what is there.
#[tokio::test]
async fn outside_nothing_is_told_before_it_is_allowed() {
    let desk = Desk::new();
    let outside = desk.sandbox.secret();
    let folder = outside.parent().unwrap();
    // Whether it is there or not, the user is asked.
    let asker = Arc::new(Asker::no());
    for name in ["secret.txt", "none.txt", "no/folder/none.txt", ""] {
        let path = folder.join(name).display().to_string();
        let denied = desk.edit(&path, top("x"), asker.clone()).await;
        assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
    }
    assert_eq!(asker.questions().len(), 4);
    let desk = Desk::new();
    let outside = desk.sandbox.secret();
    let folder = outside.parent().unwrap();
    let there = outside.display().to_string();
    let unread = "was not read in this session; read it first";
    refused(desk.edit(&there, top("x"), yes()).await, unread);
    // A new file can be made there at once.
    let new = folder.join("none.txt").display().to_string();
    let created = desk.edit(&new, top("x"), yes()).await;
    assert_eq!(created.unwrap(), format!("Created '{new}' with 1 line.\n"));
    assert_eq!(fs::read_to_string(&outside).unwrap(), SECRET);
}

#[tokio::test]
async fn dunlins_own_folders_are_refused_without_a_look() {
    let desk = Desk::new();
    let own = desk.sandbox.permissions_file();
    let asker = yes();
    for path in [own.clone(), desk.sandbox.undo().join("x.undo")] {
        let arguments = json!({ "file_path": path, "edits": top("x") });
        let plan = desk
            .host
            .prepare(&call("edit_file", arguments))
            .await
            .unwrap();
        assert!(matches!(plan.status, PlanStatus::Denied { .. }), "{plan:?}");
        assert_eq!(plan.actions, []);
        let lie = json!({ "path": path });
        for guest in ["edit_undeclared", "edit_otherwise"] {
            let denied = desk.call(guest, lie.clone(), asker.clone()).await;
            assert!(matches!(denied, Err(Failure::Denied { .. })), "{denied:?}");
        }
    }
    assert_eq!(asker.questions().len(), 0);
    assert!(fs::read_to_string(own).unwrap().contains(STORED));
}

#[tokio::test]
async fn what_was_not_shown_is_shown_whatever_was_granted() {
    let grant_of = |desk: &Desk| {
        let permissions = desk.host.permissions();
        permissions.allow_for_session("./", "rw?").unwrap();
    };
    for (guest, new_line) in [
        ("edit_undeclared", "undeclared"),
        ("edit_otherwise", "harmful"),
    ] {
        for granted in [false, true] {
            for allow in [false, true] {
                let desk = Desk::new();
                desk.read("README.md").await;
                if granted {
                    grant_of(&desk);
                }
                let asker = Arc::new(Answers(Mutex::default(), allow));
                let arguments = json!({ "path": "README.md" });
                let result = desk.call(guest, arguments, asker.clone()).await;
                let questions = asker.0.lock().unwrap().clone();
                // The declared edit is asked about where it is not granted; the other in any case.
                let declared = usize::from(guest == "edit_otherwise" && !granted);
                let context = format!("{guest}, granted: {granted}, allow: {allow}");
                assert_eq!(questions.len(), declared + 1, "{context}");
                let question = questions.last().unwrap();
                assert_eq!(question.origin, Origin::Undeclared, "{context}");
                let wording = format!(
                    "Allow {guest} to edit file '{}'? It did not announce this.",
                    desk.file("README.md").display()
                );
                assert_eq!(question.wording, wording);
                let [Action::Edit(edit)] = question.actions.as_slice() else {
                    panic!("{context}: no difference: {question:?}");
                };
                let diff = format!("@@ -1 +1,2 @@\n+{new_line}\n {README}");
                assert_eq!(edit.diff.to_string(), diff, "{context}");
                assert_eq!(result.is_ok(), allow, "{context}: {result:?}");
                let expected = match allow {
                    true => format!("{new_line}\n{README}"),
                    false => README.to_owned(),
                };
                assert_eq!(desk.text("README.md"), expected, "{context}");
                assert_alive(&desk.host).await;
            }
        }
    }
}

/// Says yes to what was declared, and to the rest as it was told.
struct Answers(Mutex<Vec<Question>>, bool);

#[async_trait::async_trait]
impl Ask for Answers {
    async fn ask(&self, question: Question) -> Answer {
        let allow = self.1 || question.origin == Origin::Declared;
        self.0.lock().expect("the questions").push(question);
        Answer {
            allow,
            scope: Scope::Once,
        }
    }
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_leads_nowhere() {
    let desk = Desk::new();
    fs::create_dir(desk.file("src")).unwrap();
    for name in ["a.txt", "src/a.txt"] {
        fs::write(desk.file(name), "mine\n").unwrap();
        desk.read(name).await;
    }
    let (file, secret) = (desk.file("a.txt"), desk.sandbox.secret());
    let swap = meanwhile(move || {
        fs::remove_file(&file).unwrap();
        symlink(secret, file).unwrap();
    });
    refused(desk.edit("a.txt", top("x"), swap).await, "was not read");
    let (folder, outside) = (desk.file("src"), desk.sandbox.secret());
    let swap = meanwhile(move || {
        fs::rename(&folder, folder.with_extension("away")).unwrap();
        symlink(outside.parent().unwrap(), folder).unwrap();
    });
    refused(desk.edit("src/a.txt", top("x"), swap).await, "was not read");
    assert_eq!(fs::read_to_string(desk.sandbox.secret()).unwrap(), SECRET);
    assert_eq!(desk.text("src.away/a.txt"), "mine\n");
    let outside = desk.sandbox.secret().with_file_name("a.txt");
    assert!(!outside.exists());
}

#[tokio::test]
async fn what_does_not_fit_is_told_with_its_number() {
    let desk = Desk::new();
    fs::write(desk.file("binary"), b"a\n\xff\n").unwrap();
    for name in ["README.md", "binary"] {
        let arguments = json!({ "file_path": name, "start_line": 1, "end_line": 1 });
        desk.call("read_file", arguments, yes()).await.unwrap();
    }
    let check = async |path: &str, edits: Value, expected: &str| {
        refused(desk.edit(path, edits, yes()).await, expected);
    };
    let edit = |first: i64, end: i64| json!({ "range": [first, end], "replacement": "x" });
    check(
        "README.md",
        json!([edit(1, 2), edit(1, 2)]),
        "edit 2 [1, 2] overlaps edit 1 [1, 2]",
    )
    .await;
    check(
        "README.md",
        json!([edit(5, 6)]),
        "edit 1 [5, 6] is out of range: the file has 1 line",
    )
    .await;
    check(
        "binary",
        json!([edit(1, 2)]),
        "line 2 of the file is not UTF-8 text",
    )
    .await;
    check("", json!([edit(1, 2)]), "file_path").await;
    check("README.md", json!([]), "edits").await;
    check(".", json!([edit(1, 1)]), "is a folder, not a file").await;
}

#[tokio::test]
async fn a_turn_is_taken_back() {
    let desk = Desk::new();
    desk.read("README.md").await;
    assert_eq!(desk.host.undo_last().unwrap(), None);
    desk.edit("README.md", top("first"), yes()).await.unwrap();
    desk.edit("new.txt", top("x"), yes()).await.unwrap();
    desk.host.begin_turn();
    desk.edit("README.md", top("second"), yes()).await.unwrap();

    let undone = desk.host.undo_last().unwrap().unwrap();
    assert_eq!(
        undone.files,
        [(desk.file("README.md"), UndoOutcome::Restored)]
    );
    assert_eq!(desk.text("README.md"), format!("first\n{README}"));
    // What the model knows of the file is not so any more.
    refused(
        desk.edit("README.md", top("x"), yes()).await,
        "changed since it was read",
    );
    // A host that is started later goes on with the turn before.
    let desk = Desk::on(desk.sandbox);
    let undone = desk.host.undo_last().unwrap().unwrap();
    let expected = [
        (desk.file("README.md"), UndoOutcome::Restored),
        (desk.file("new.txt"), UndoOutcome::Removed),
    ];
    assert_eq!(undone.files, expected);
    assert_eq!(desk.text("README.md"), README);
    assert!(!desk.file("new.txt").exists());
    assert_eq!(desk.host.undo_last().unwrap(), None);
    let undone = desk.sandbox.audit();
    let undone = undone.iter().filter(|line| line["tool"] == "/undo");
    assert_eq!(undone.count(), 3);
}
