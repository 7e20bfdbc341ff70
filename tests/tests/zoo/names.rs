//! Files and folders that get or lose their names: what is declared is asked about once, nothing else happens, and all of it
//! can be taken back.

mod announced;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::sync::Arc;

use dunlin_host::Host;
use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope};
use dunlin_host::call::{Action, Failure, Outcome};
use dunlin_host::edit::{EditKind, FileEdit};
use dunlin_host::undo::UndoOutcome;
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, call, play, plugin};
use serde_json::{Value, json};

const ONCE: Answer = Answer {
    allow: true,
    scope: Scope::Once,
};

/// A host with the guest, and a project with some files.
struct Stage {
    sandbox: Sandbox,
    host: Host,
}

impl Stage {
    fn new() -> Stage {
        let sandbox = Sandbox::new();
        let project = sandbox.project();
        fs::write(project.join("a"), "one\ntwo\n").expect("a file");
        fs::write(project.join("bytes"), [0xff; 100]).expect("a file");
        fs::write(project.join(".env"), "KEY=1\n").expect("a file");
        symlink("a", project.join("link")).expect("a link");
        symlink("../outside/secret.txt", project.join("way-out")).expect("a link");
        let host = sandbox.host_of(vec![plugin("names")], PATIENT);
        host.begin_turn();
        Stage { sandbox, host }
    }

    fn at(&self, name: &str) -> PathBuf {
        self.sandbox.project().join(name)
    }

    fn grant(&self, target: &str, letters: &str) {
        let permissions = self.host.permissions();
        permissions
            .allow_for_session(target, letters)
            .expect("a grant");
    }

    /// Plays a call. What its steps gave, or its failure; what was asked; what it changed.
    async fn play(
        &self,
        plan: &[&str],
        steps: &[&str],
        asker: Asker,
    ) -> (Result<Vec<String>, Failure>, Vec<Question>, Vec<FileEdit>) {
        let arguments = json!({ "plan": plan, "steps": steps });
        let asker = Arc::new(asker);
        let outcome = play(&self.host, &call("names", arguments), asker.clone()).await;
        let (result, edits) = match outcome {
            Ok(Outcome { result, edits, .. }) => (result, edits),
            Err(failure) => (Err(failure), Vec::new()),
        };
        let lines = |text: String| text.lines().map(str::to_owned).collect();
        let result = result.map(|success| lines(success.text));
        (result, asker.questions(), edits)
    }

    /// Everything in the project: what it holds, where it leads, its permission bits.
    fn picture(&self) -> Vec<(String, String, u32)> {
        let mut all = Vec::new();
        let mut folders = vec![self.sandbox.project()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                let meta = fs::symlink_metadata(&path).expect("a file");
                let content = if meta.is_symlink() {
                    format!("{:?}", fs::read_link(&path).expect("a link"))
                } else if meta.is_dir() {
                    folders.push(path.clone());
                    String::new()
                } else {
                    format!("{:?}", fs::read(&path).expect("a file"))
                };
                let name = path.to_string_lossy().into_owned();
                all.push((name, content, meta.permissions().mode()));
            }
        }
        all.sort();
        all
    }

    fn audit(&self, change: &str) -> Vec<Value> {
        let lines = self.sandbox.audit();
        let of_this = |line: &Value| line["change"] == change;
        lines.into_iter().filter(of_this).collect()
    }
}

fn only_edit(question: &Question) -> &FileEdit {
    match question.actions.as_slice() {
        [Action::Edit(edit)] => edit,
        other => panic!("not one edit: {other:?}"),
    }
}

#[tokio::test]
async fn a_declared_removal_is_shown_and_can_be_undone() {
    for name in ["a", "bytes", "link", "way-out"] {
        let stage = Stage::new();
        if !name.contains(['l', 'w']) {
            fs::set_permissions(stage.at(name), fs::Permissions::from_mode(0o640)).unwrap();
        }
        let before = stage.picture();
        let secret = fs::read_to_string(stage.sandbox.secret()).unwrap();
        let leads_to = fs::read_link(stage.at(name)).ok();
        let step = format!("remove {name}");
        let (result, questions, edits) = stage.play(&[&step], &[&step], Asker::yes()).await;
        assert_eq!(result.unwrap(), ["ok"], "{name}");
        let [question] = questions.as_slice() else {
            panic!("{name}: not one question: {questions:?}");
        };
        assert_eq!(question.wording, format!("Remove file '{name}'?"));
        assert_eq!(question.origin, Origin::Declared);
        let edit = only_edit(question);
        assert_eq!((&edit.path, edit.new), (&stage.at(name), None));
        match &edit.kind {
            EditKind::Text => assert_eq!(edit.diff.to_string(), "@@ -1,2 +0,0 @@\n-one\n-two\n"),
            EditKind::Bytes { before, after, .. } => assert_eq!((*before, *after), (100, 0)),
            EditKind::Link(to) => assert_eq!(Some(to), leads_to.as_ref()),
            other => panic!("{name}: {other:?}"),
        }
        assert_eq!(
            edits.as_slice(),
            std::slice::from_ref(edit),
            "what it says that it did"
        );
        assert!(
            fs::symlink_metadata(stage.at(name)).is_err(),
            "{name} stays"
        );
        assert_eq!(fs::read_to_string(stage.sandbox.secret()).unwrap(), secret);
        let audit = stage.audit("removed");
        assert_eq!(audit.len(), 1, "{name}: {audit:?}");
        assert_eq!(audit[0]["operation"], "write");
        let undone = stage.host.undo_last().unwrap().unwrap();
        assert_eq!(undone.files, [(stage.at(name), UndoOutcome::Restored)]);
        assert_eq!(stage.picture(), before, "{name}");
    }
}

#[tokio::test]
async fn a_no_is_a_no() {
    let stage = Stage::new();
    let before = stage.picture();
    for (plan, steps) in [
        (&["remove a"][..], &["remove a"][..]),
        (&[], &["remove a"]),
        (&[], &["remove way-out"]),
        (&["remove a"], &["remove bytes"]),
        (&["write a x"], &["remove a"]),
        (&["remove .env"], &["remove .env"]),
        (&[], &["rename .env b"]),
        (&["rename .env b"], &["rename .env b"]),
        (&["rename a b"], &["rename a c"]),
        (&["rename a b"], &["rename bytes b"]),
    ] {
        let asker = match plan.first().is_some_and(|step| *step != steps[0]) {
            true => Asker::first_yes(),
            false => Asker::no(),
        };
        let (result, _, edits) = stage.play(plan, steps, asker).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{steps:?}: {result:?}"
        );
        assert_eq!(edits, []);
    }
    assert_eq!(stage.picture(), before);
}

/// Says yes, and does something meanwhile.
struct Meanwhile<F> {
    asker: Asker,
    does: F,
}

#[async_trait::async_trait]
impl<F: Fn() + Send + Sync> Ask for Meanwhile<F> {
    async fn ask(&self, question: Question) -> Answer {
        (self.does)();
        self.asker.ask(question).await
    }
}

/// Whatever may be written: what was not declared is shown, and so is what was shown before and comes again.
#[tokio::test]
async fn a_yes_to_a_removal_is_used_once() {
    for granted in [false, true] {
        let stage = Stage::new();
        if granted {
            stage.grant("./", "rw?");
        }
        let steps = ["remove a", "remove bytes", "remove a"];
        let arguments = json!({ "plan": ["remove a"], "steps": steps });
        let path = stage.at("a");
        // The same file comes back while the second is asked about.
        let asker = Arc::new(Meanwhile {
            asker: Asker::yes(),
            does: move || fs::write(&path, "one\ntwo\n").expect("a file"),
        });
        let outcome = play(&stage.host, &call("names", arguments), asker.clone()).await;
        let result = outcome.unwrap().result.unwrap();
        assert_eq!(result.text, "ok\nok\nok");
        let questions = asker.asker.questions();
        let asked: Vec<_> = questions
            .iter()
            .map(|it| (it.origin, only_edit(it).path.clone()))
            .collect();
        let expected = [
            (Origin::Declared, stage.at("a")),
            (Origin::Undeclared, stage.at("bytes")),
            (Origin::Undeclared, stage.at("a")),
        ];
        assert_eq!(asked, expected[usize::from(granted)..]);
    }
}

#[tokio::test]
async fn what_changed_since_it_was_shown_is_not_removed() {
    let stage = Stage::new();
    let proposed = call(
        "names",
        json!({ "plan": ["remove a"], "steps": ["remove a"] }),
    );
    for replaced in ["text", "link", "folder"] {
        fs::write(stage.at("a"), "one\n").unwrap();
        let plan = stage.host.prepare(&proposed).await.unwrap();
        let asker = Arc::new(Asker::no());
        stage.host.answer(&proposed, &plan, ONCE).await.unwrap();
        fs::remove_file(stage.at("a")).unwrap();
        match replaced {
            "text" => fs::write(stage.at("a"), "two\n").unwrap(),
            "link" => symlink("bytes", stage.at("a")).unwrap(),
            _ => fs::create_dir(stage.at("a")).unwrap(),
        }
        let progress = Arc::new(dunlin_host::NoProgress);
        let outcome = stage.host.run(&proposed, &plan, asker, progress).await;
        let said = outcome.result.unwrap().text;
        let expected = match replaced {
            "folder" => "is a folder",
            _ => "changed since this was proposed",
        };
        assert!(said.contains(expected), "{replaced}: {said}");
        assert!(fs::symlink_metadata(stage.at("a")).is_ok(), "{replaced}");
        let _ = fs::remove_file(stage.at("a"));
        let _ = fs::remove_dir(stage.at("a"));
    }
}

#[tokio::test]
async fn what_cannot_be_removed_is_said() {
    let stage = Stage::new();
    fs::create_dir(stage.at("folder")).unwrap();
    let big = vec![b'x'; dunlin_host::edit::MAX_FILE_BYTES + 1];
    fs::write(stage.at("big"), big).unwrap();
    for (name, said) in [
        ("none", "there is no "),
        ("folder", "is a folder"),
        ("big", "larger than 8 MiB: /undo could not restore the file"),
        ("a/b", "leads through a file"),
    ] {
        let step = format!("remove {name}");
        let (result, questions, _) = stage.play(&[&step], &[], Asker::yes()).await;
        let failure = result.unwrap_err().to_string();
        assert!(failure.contains(said), "{name}: {failure}");
        assert_eq!(questions.len(), 0, "{name}");
    }
    let (result, ..) = stage
        .play(&["remove a", "remove a"], &[], Asker::yes())
        .await;
    let failure = result.unwrap_err().to_string();
    assert!(failure.contains("twice at once"), "{failure}");
}

/// Whether there is a file that may not be read is told by no question and no refusal.
#[tokio::test]
async fn a_removal_tells_nothing_of_a_file_that_may_not_be_read() {
    let stage = Stage::new();
    let mut asked = Vec::new();
    for name in ["../outside/secret.txt", "../outside/none.txt"] {
        let step = format!("remove {name}");
        for plan in [&[][..], &[step.as_str()]] {
            let (result, questions, _) = stage.play(plan, &[&step], Asker::no()).await;
            assert!(matches!(result, Err(Failure::Denied { .. })), "{result:?}");
            let letters: Vec<_> = questions[0]
                .needs
                .iter()
                .map(|it| it.operation.letter())
                .collect();
            asked.push((questions.len(), letters, questions[0].actions.len()));
        }
    }
    assert_eq!(asked[..2], asked[2..]);
    assert!(stage.sandbox.secret().exists());
}

#[tokio::test]
async fn a_declared_rename_is_shown_and_can_be_undone() {
    for (name, to) in [("a", "b"), ("bytes", "new/folder/bytes"), ("a", "A")] {
        let stage = Stage::new();
        fs::set_permissions(stage.at(name), fs::Permissions::from_mode(0o640)).unwrap();
        let before = stage.picture();
        let content = fs::read(stage.at(name)).unwrap();
        let step = format!("rename {name} {to}");
        let (result, questions, edits) = stage.play(&[&step], &[&step], Asker::yes()).await;
        assert_eq!(result.unwrap(), ["ok"], "{name}");
        let [question] = questions.as_slice() else {
            panic!("{name}: not one question: {questions:?}");
        };
        assert_eq!(question.wording, format!("Rename file '{name}' to '{to}'?"));
        assert_eq!(question.origin, Origin::Declared);
        let edit = only_edit(question);
        assert_eq!(edit.kind, EditKind::Renamed(stage.at(to)));
        assert_eq!(
            edits.as_slice(),
            std::slice::from_ref(edit),
            "what it says that it did"
        );
        assert!(!stage.at(name).exists(), "{name} stays");
        assert_eq!(fs::read(stage.at(to)).unwrap(), content);
        let mode = fs::metadata(stage.at(to)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640);
        let audit = stage.audit("renamed");
        let logged = |name: &str, operation: &str| {
            let path = stage.at(name).to_string_lossy().into_owned();
            let is_this = |line: &&Value| line["target"] == path && line["operation"] == operation;
            audit.iter().filter(is_this).count()
        };
        assert_eq!(
            [
                logged(name, "read"),
                logged(name, "write"),
                logged(to, "write")
            ],
            [1; 3],
            "{audit:?}"
        );
        let undone = stage.host.undo_last().unwrap().unwrap();
        let outcomes = [
            (stage.at(name), UndoOutcome::Restored),
            (stage.at(to), UndoOutcome::Removed),
        ];
        assert_eq!(undone.files, outcomes);
        assert_eq!(stage.picture(), before, "{name}");
    }
}

/// Both names are what a rename is about: it neither reads nor overwrites what is not granted.
#[tokio::test]
async fn a_rename_needs_both_names() {
    let out = "rename a ../outside/new.txt";
    let secret = "rename ../outside/secret.txt b";
    let stage = Stage::new();
    let before = stage.picture();
    stage.grant("./", "rw?");
    for (target, plan, step, letters) in [
        ("../outside/", vec![], out, ""),
        ("../outside/", vec!["rename a b"], out, "ww"),
        // From where writing alone is granted.
        ("../outside/", vec![], secret, "r"),
        ("../outside/", vec![secret], secret, "r"),
        ("", vec!["change a"], "rename a b", "ww"),
    ] {
        if !target.is_empty() {
            stage.grant(target, if letters.is_empty() { "???" } else { "?w?" });
        }
        let (result, questions, edits) = stage.play(&plan, &[step], Asker::no()).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{plan:?} {step}: {result:?}"
        );
        let needs = questions.iter().flat_map(|it| &it.needs);
        let asked: String = needs.map(|need| need.operation.letter()).collect();
        let letters = if letters.is_empty() { "ww" } else { letters };
        assert_eq!(
            (asked.as_str(), edits),
            (letters, vec![]),
            "{plan:?} {step}"
        );
    }
    stage.grant("../outside/", "r-?");
    for plan in [&[][..], &[out]] {
        let (result, questions, _) = stage.play(plan, &[out], Asker::yes()).await;
        let failure = result.unwrap_err().to_string();
        assert!(
            failure.contains("../outside/new.txt") || !plan.is_empty(),
            "{failure}"
        );
        assert_eq!(questions.len(), 0);
    }
    assert_eq!(stage.picture(), before);
    assert!(stage.sandbox.secret().exists());
}

/// The answer to a rename onto a name tells nothing of what has it, unless that may be looked at.
#[tokio::test]
async fn a_rename_finds_nothing_out() {
    let mut seen = Vec::new();
    for to in ["../outside/secret.txt", "../outside/none.txt"] {
        let step = format!("rename a {to}");
        for plan in [&[][..], &[step.as_str()]] {
            let stage = Stage::new();
            let (result, questions, _) = stage.play(plan, &[&step], Asker::no()).await;
            assert!(stage.at("a").exists());
            let failure = result.unwrap_err().to_string().replace("none", "secret");
            let asked: Vec<_> = questions.iter().map(|it| it.needs.len()).collect();
            seen.push((failure, asked));
        }
    }
    assert_eq!(seen[..2], seen[2..]);
}

#[tokio::test]
async fn nothing_is_overwritten_by_a_rename() {
    let stage = Stage::new();
    fs::create_dir(stage.at("folder")).unwrap();
    let before = stage.picture();
    for (step, said) in [
        ("rename a bytes", "exists already"),
        ("rename a a", "exists already"),
        ("rename a folder", "exists already"),
        ("rename a link", "exists already"),
        ("rename a way-out", "exists already"),
        ("rename folder other", "is a folder, not a file"),
        ("rename link other", "is a symbolic link, not a file"),
        ("rename none other", "there is no "),
        ("mkdir a", "exists already"),
        ("mkdir way-out", "exists already"),
        ("rmdir a", "is not a folder"),
        ("rmdir link", "is not a folder"),
        ("rmdir none", "there is no "),
        ("rmdir .", "is where the project is"),
    ] {
        let (result, questions, _) = stage.play(&[step], &[], Asker::yes()).await;
        let failure = result.unwrap_err().to_string();
        assert!(failure.contains(said), "{step}: {failure}");
        assert_eq!(questions.len(), 0, "{step}");
        let (result, ..) = stage.play(&[], &[step], Asker::yes()).await;
        let lines = result.unwrap();
        assert!(lines[0].contains(said), "{step}: {lines:?}");
    }
    // Where it may not be looked at, it turns out when it happens.
    let outside = "rename a ../outside/secret.txt";
    let (result, questions, _) = stage.play(&[outside], &[outside], Asker::yes()).await;
    let lines = result.unwrap();
    assert!(lines[0].contains("exists already"), "{lines:?}");
    assert_eq!(questions.len(), 1);
    // In a circle, each name would be used twice.
    for plan in [
        &["rename a b", "rename b a"][..],
        &["rename a b", "rename bytes b"],
        &["rename a b", "write b x"],
        &["remove a", "rename bytes a"],
    ] {
        let (result, ..) = stage.play(plan, &[], Asker::yes()).await;
        let failure = result.unwrap_err().to_string();
        assert!(
            ["twice at once", "exists already", "there is no "]
                .iter()
                .any(|said| failure.contains(said)),
            "{plan:?}: {failure}"
        );
    }
    assert_eq!(stage.picture(), before);
}

/// Somebody is faster, while the question is open.
#[tokio::test]
async fn what_changed_since_it_was_shown_is_not_renamed() {
    let stage = Stage::new();
    let steps = json!({ "plan": ["rename a b"], "steps": ["rename a b"] });
    let proposed = call("names", steps);
    for (file, text, said) in [
        ("a", "other", "changed since this was proposed"),
        ("b", "somebody's", "exists already"),
    ] {
        let plan = stage.host.prepare(&proposed).await.unwrap();
        stage.host.answer(&proposed, &plan, ONCE).await.unwrap();
        fs::write(stage.at(file), text).unwrap();
        let asker = Arc::new(Asker::no());
        let progress = Arc::new(dunlin_host::NoProgress);
        let outcome = stage.host.run(&proposed, &plan, asker, progress).await;
        let given = outcome.result.unwrap().text;
        assert!(given.contains(said), "{file}: {given}");
        assert_eq!(fs::read_to_string(stage.at(file)).unwrap(), text);
        assert!(stage.at("a").exists());
    }
    assert!(stage.host.undo_last().unwrap().is_none(), "nothing is kept");
}

#[tokio::test]
async fn a_folder_is_tidied_up_with_one_question() {
    let stage = Stage::new();
    fs::create_dir(stage.at("old")).unwrap();
    fs::write(stage.at("old/x"), "x\n").unwrap();
    fs::write(stage.at("old/y"), [0xff, 0]).unwrap();
    fs::set_permissions(stage.at("old"), fs::Permissions::from_mode(0o750)).unwrap();
    let before = stage.picture();
    let steps = [
        "mkdir new/deep",
        "rename old/x new/deep/x",
        "remove old/y",
        "rmdir old",
        "mkdir empty",
    ];
    let (result, questions, edits) = stage.play(&steps, &steps, Asker::yes()).await;
    assert_eq!(result.unwrap(), ["ok"; 5]);
    let [question] = questions.as_slice() else {
        panic!("not one question: {questions:?}");
    };
    assert_eq!(
        question.wording,
        "Remove 1 and rename 1 file, and make 2 folders, and remove 1 empty folder?"
    );
    assert_eq!(edits.len(), 5);
    assert_eq!(fs::read_to_string(stage.at("new/deep/x")).unwrap(), "x\n");
    assert!(!stage.at("old").exists() && stage.at("empty").is_dir());
    assert_eq!(stage.audit("folder made").len(), 3);
    assert_eq!(stage.audit("folder removed").len(), 1);
    stage.host.undo_last().unwrap().unwrap();
    assert_eq!(stage.picture(), before);
}

#[tokio::test]
async fn a_folder_that_is_not_empty_stays() {
    let stage = Stage::new();
    fs::create_dir(stage.at("full")).unwrap();
    fs::write(stage.at("full/x"), "x\n").unwrap();
    let (result, ..) = stage
        .play(&["rmdir full"], &["rmdir full"], Asker::yes())
        .await;
    let lines = result.unwrap();
    assert!(lines[0].contains("is not empty"), "{lines:?}");
    assert_eq!(fs::read_to_string(stage.at("full/x")).unwrap(), "x\n");
    // Neither does one that was made and has got something since.
    let (result, ..) = stage
        .play(&["mkdir made"], &["mkdir made"], Asker::yes())
        .await;
    assert_eq!(result.unwrap(), ["ok"]);
    fs::write(stage.at("made/x"), "x\n").unwrap();
    let undone = stage.host.undo_last().unwrap().unwrap();
    assert_eq!(undone.files, [(stage.at("made"), UndoOutcome::NotEmpty)]);
    assert!(stage.at("made/x").exists());
}

#[tokio::test]
async fn folders_need_the_right_to_write() {
    let stage = Stage::new();
    fs::create_dir(stage.at("empty")).unwrap();
    let before = stage.picture();
    for step in ["mkdir new", "rmdir empty", "mkdir ../outside/new"] {
        for plan in [&[][..], &[step]] {
            let (result, questions, _) = stage.play(plan, &[step], Asker::no()).await;
            assert!(
                matches!(result, Err(Failure::Denied { .. })),
                "{step}: {result:?}"
            );
            let [question] = questions.as_slice() else {
                panic!("{step}: not one question: {questions:?}");
            };
            let needs = question.needs.iter();
            let letters: String = needs.map(|need| need.operation.letter()).collect();
            assert_eq!(letters, "w", "{step}");
        }
    }
    assert_eq!(stage.picture(), before);
}

#[tokio::test]
async fn bytes_are_written_as_they_are_shown() {
    for name in ["new.bin", "a", "bytes"] {
        let stage = Stage::new();
        let before = stage.picture();
        let held = fs::read(stage.at(name)).ok();
        let step = format!("fill {name} 70000");
        let (result, questions, edits) = stage.play(&[&step], &[&step], Asker::yes()).await;
        assert_eq!(result.unwrap(), ["ok"], "{name}");
        let [question] = questions.as_slice() else {
            panic!("{name}: not one question: {questions:?}");
        };
        let verb = if held.is_some() { "Rewrite" } else { "Create" };
        assert_eq!(question.wording, format!("{verb} file '{name}'?"));
        let edit = only_edit(question);
        assert_eq!(edits.as_slice(), std::slice::from_ref(edit));
        let EditKind::Bytes {
            before: was,
            after,
            start,
        } = &edit.kind
        else {
            panic!("{name}: {edit:?}");
        };
        let size = held.as_ref().map_or(0, Vec::len) as u64;
        assert_eq!((*was, *after), (size, 70_000));
        assert!(start.len() < 70_000 && start.iter().all(|byte| *byte == 0xff));
        assert_eq!(fs::read(stage.at(name)).unwrap(), [0xff; 70_000]);
        let outcome = match held {
            Some(_) => UndoOutcome::Restored,
            None => UndoOutcome::Removed,
        };
        let undone = stage.host.undo_last().unwrap().unwrap();
        assert_eq!(undone.files, [(stage.at(name), outcome)]);
        assert_eq!(stage.picture(), before, "{name}");
    }
}

/// Other bytes of the same number are another change.
#[tokio::test]
async fn other_bytes_than_those_shown_are_asked_about() {
    let stage = Stage::new();
    stage.grant("./", "rw?");
    for steps in [["fill a 9", "fill a 8"], ["fill a 9", "write a x"]] {
        let (result, questions, _) = stage.play(&steps[..1], &steps[1..], Asker::no()).await;
        assert!(
            matches!(result, Err(Failure::Denied { .. })),
            "{steps:?}: {result:?}"
        );
        assert_eq!(questions.len(), 1, "{steps:?}");
        assert_eq!(questions[0].origin, Origin::Undeclared);
    }
}
