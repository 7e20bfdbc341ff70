//! Whole questions as they stand on the screen.

use std::sync::Arc;

use dunlin_chat::turn::{Choice, Resolution};
use dunlin_host::ask::{Answer, Origin, Scope};
use dunlin_host::call::{Action, CommandLine};
use dunlin_host::edit::{ContentHash, Diff, EditKind, FileChange, FileEdit, Syntax};
use dunlin_host::target::{CommandKey, CommandTarget, Need, Operation, ProgramFile, Target};

use super::tests::{asked, window};
use super::{Entry, Window};
use crate::approval::pending::{PendingApprovals, Reply};
use crate::ui::command::tests::sample;

fn open(entries: Vec<Entry>, window: Window) -> (PendingApprovals, String) {
    let mut approvals = PendingApprovals::default();
    let rows = approvals.open(0, entries, window);
    (approvals, rows.join("\n"))
}

fn shown(entry: Entry) -> String {
    open(vec![entry], window(100, 40)).1
}

fn program(path: &str) -> ProgramFile {
    ProgramFile {
        called: path.into(),
        real: path.into(),
    }
}

fn execute(target: &Arc<CommandTarget>) -> Need {
    Need {
        target: Target::Command(Arc::clone(target)),
        operation: Operation::Execute,
    }
}

/// A command of which something is known, by its words.
fn known(words: &[&str]) -> Arc<CommandTarget> {
    let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
    let CommandLine { target, .. } = sample("");
    let programs = vec![program(&words[0])];
    let key = match words.len() {
        1 => CommandKey::Program(words[0].clone().into()),
        _ => CommandKey::Words(words),
    };
    Arc::new(CommandTarget {
        key,
        programs,
        ..(*target).clone()
    })
}

/// A question about a line. `lasting`: what a permanent yes stores.
fn command(mut line: CommandLine, target: CommandTarget, lasting: &[Arc<CommandTarget>]) -> Entry {
    line.target = Arc::new(target);
    let mut entry = asked(&format!("Run command: {}?", line.line), &[]);
    entry.question.tool = "run_terminal_command".to_owned();
    entry.question.arguments = serde_json::json!({"command": line.line});
    entry.question.needs = vec![execute(&line.target)];
    entry.question.lasting = lasting.iter().map(execute).collect();
    entry.question.notices.clear();
    entry.question.actions = vec![Action::Command(line)];
    entry
}

fn simple(line: &str, words: &[&str]) -> Entry {
    let target = known(words);
    let line = CommandLine {
        compound: None,
        ..sample(line)
    };
    command(line, (*target).clone(), &[target])
}

/// A line that is remembered as exactly this line, with the file that it is bound to.
fn exact(line: &str, words: &[&str], bound: &str) -> Entry {
    let target = known(words);
    let target = CommandTarget {
        key: CommandKey::Line(target.key.words().to_vec()),
        covers: vec![bound.into()],
        folder: Some("/home/ada/shore".into()),
        ..(*target).clone()
    };
    let line = CommandLine {
        compound: None,
        ..sample(line)
    };
    let lasting = Arc::new(target.clone());
    command(line, target, &[lasting])
}

/// A compound line with these commands, of which a permanent yes stores the ones from `new` on.
fn compound(line: &str, parts: &[&[&str]], new: usize) -> Entry {
    let parts: Vec<_> = parts.iter().map(|words| known(words)).collect();
    let line = sample(line);
    let programs = parts.iter().flat_map(|part| part.programs.clone());
    let programs: Vec<_> = programs.chain([program("/usr/bin/bash")]).collect();
    let target = CommandTarget {
        programs,
        parts: parts.clone(),
        ..(*line.target).clone()
    };
    command(line, target, &parts[new..])
}

fn edit(path: &str, old: &str, new: &str) -> FileEdit {
    let hash = |text: &str| (!text.is_empty()).then(|| ContentHash::of(text.as_bytes()));
    FileEdit {
        path: path.into(),
        base: hash(old),
        new: hash(new),
        new_folder: None,
        diff: Diff::between(old, new),
        kind: EditKind::Text,
        syntax: Syntax::default(),
        change: Arc::new(FileChange::Write(String::new())),
        hook: None,
    }
}

fn edits(wording: &str, edits: Vec<FileEdit>) -> Entry {
    let mut entry = asked(wording, &[]);
    entry.question.tool = "apply_patch".to_owned();
    entry.question.needs = edits.iter().flat_map(FileEdit::needs).collect();
    entry.question.lasting = entry.question.needs.clone();
    entry.question.notices.clear();
    entry.question.actions = edits.into_iter().map(Action::Edit).collect();
    entry
}

/// At most four rows stand above the keys.
#[test]
fn an_ordinary_command() {
    let rows = shown(simple("cargo test --lib", &["/usr/bin/cargo", "test"]));
    assert!(rows.trim().lines().count() <= 5, "{rows}");
    insta::assert_snapshot!(rows);
}

/// What `never` would deny is more than the line, which nothing else says here.
#[test]
fn a_command_with_a_secret() {
    let mut entry = simple("head -5 .env", &["/usr/bin/head"]);
    entry.longest = Scope::Session;
    entry.question.longest = Scope::Session;
    insta::assert_snapshot!(shown(entry));
}

/// Another program than the machine's is said: its name does not tell where it comes from.
#[test]
fn a_program_of_the_project() {
    let path = "/home/ada/shore/node_modules/.bin/tsc";
    insta::assert_snapshot!(shown(exact("tsc --build", &[path, "--build"], path)));
}

#[test]
fn a_line_with_commands_that_are_allowed_already() {
    let mut entry = compound(
        "cargo build && cargo test 2>&1 | tail",
        &[
            &["/usr/bin/cargo", "build"],
            &["/usr/bin/cargo", "test"],
            &["/usr/bin/tail"],
        ],
        1,
    );
    let notice = "Because of cargo test and tail; cargo build is allowed already.";
    entry.question.notices = vec![notice.to_owned()];
    let (mut approvals, rows) = open(vec![entry], window(100, 40));
    assert!(rows.trim().lines().count() <= 5, "{rows}");
    insta::assert_snapshot!(rows);
    let Reply::View(rows, None) = approvals.answer("v", window(100, 40)) else {
        panic!("no view");
    };
    insta::assert_snapshot!("details_of_a_line", rows.join("\n"));
}

#[test]
fn a_line_that_cannot_be_stored() {
    let mut entry = compound(
        "cargo build && git push 2>&1 | tail",
        &[&["/usr/bin/cargo", "build"], &["/usr/bin/git", "push"]],
        2,
    );
    entry.longest = dunlin_host::ask::Scope::Session;
    entry.question.notices = vec![
        "Can't be stored because of git push; s allows exactly this line.".to_owned(),
        "It may change the git repository.".to_owned(),
    ];
    let rows = shown(entry);
    assert!(rows.trim().lines().count() <= 5, "{rows}");
    insta::assert_snapshot!(rows);
}

/// What is not protected stays with the question, whatever room it takes.
#[test]
fn a_command_without_namespaces_in_a_narrow_window() {
    let mut entry = simple("cargo test --lib", &["/usr/bin/cargo", "test"]);
    entry.question.notices = vec![
        "A command may change the mode and the times of all of your files, also outside of the project: without \
         namespaces nothing tells those of the project from others."
            .to_owned(),
    ];
    insta::assert_snapshot!(open(vec![entry], window(60, 40)).1);
}

#[test]
fn a_script_that_has_changed_since_the_question() {
    let words = ["/usr/bin/sh", "check.sh"];
    let mut entry = exact("sh check.sh", &words, "/home/ada/shore/check.sh");
    let notice = "check.sh has changed since the command was shown.";
    entry.question.notices = vec![notice.to_owned()];
    entry.runs = true;
    insta::assert_snapshot!(shown(entry));
}

#[test]
fn a_file_outside_of_the_project() {
    let entry = asked(
        "Read file '../docs/birds.txt'?",
        &["/home/ada/docs/birds.txt"],
    );
    insta::assert_snapshot!(shown(entry));
}

#[test]
fn several_calls() {
    let one = asked(
        "Read file '../docs/birds.txt'?",
        &["/home/ada/docs/birds.txt"],
    );
    let mut two = edits(
        "Create file 'birds.md'?",
        vec![edit("/home/ada/shore/birds.md", "", "# Birds\n")],
    );
    (two.index, two.number) = (2, 1);
    let mut three = simple("ls -la", &["/usr/bin/ls"]);
    (three.index, three.number) = (3, 2);
    insta::assert_snapshot!(open(vec![one, two, three], window(100, 40)).1);
}

/// The files come first, and then as much of the difference as there is room for.
#[test]
fn a_patch_of_many_files() {
    let text: String = (1..=12).map(|line| format!("line {line}\n")).collect();
    let path = |number| format!("/home/ada/shore/src/new_{number}.rs");
    let mut all = vec![edit(
        "/home/ada/shore/notes.md",
        "one\ntwo\nthree\n",
        "one\nTWO\nthree\n",
    )];
    all.extend((0..6).map(|number| edit(&path(number), "", &text)));
    all[1].new_folder = Some("/home/ada/shore/src".into());
    let entry = edits("Create 6 and edit 1 file?", all);
    let (mut approvals, rows) = open(vec![entry], window(100, 30));
    assert!(rows.lines().count() < 30, "{rows}");
    insta::assert_snapshot!(rows);
    // What did not fit was not agreed to.
    assert!(!matches!(
        approvals.answer("y", window(100, 30)),
        Reply::Resolve(..)
    ));
    let Reply::View(view, _) = approvals.answer("v", window(100, 30)) else {
        panic!("no view");
    };
    let view = view.join("\n");
    // In the overview, and above its difference.
    assert_eq!(view.matches(&path(3)).count(), 2, "{view}");
    let stored = "    always, never: all of these, in all projects\n    \
                  undo each: dunlin permissions ask write TARGET\n";
    assert!(view.contains(stored), "{view}");
    assert!(matches!(
        approvals.answer("y", window(100, 30)),
        Reply::Resolve(..)
    ));
}

/// One that is allowed already is shown with the others, and is not among what is asked about.
#[test]
fn a_patch_that_removes_and_renames() {
    let gone = FileEdit {
        new: None,
        change: Arc::new(FileChange::Remove),
        ..edit("/p/old.txt", "old\n", "")
    };
    let renamed = FileEdit {
        new: None,
        kind: EditKind::Renamed("/p/b.txt".into()),
        change: Arc::new(FileChange::Rename { to: "b.txt".into() }),
        ..edit("/p/a.txt", "a\n", "a\n")
    };
    let mut entry = edits(
        "Edit file 'notes.md', and remove file 'old.txt', and rename file 'a.txt' to 'b.txt'?",
        vec![edit("/p/notes.md", "one\n", "two\n"), gone, renamed],
    );
    // Its folder may be written.
    let is_open = |need: &Need| need.target.path() != Some("/p/notes.md".as_ref());
    entry.question.needs.retain(is_open);
    insta::assert_snapshot!(shown(entry));
}

/// What is read beside a change of the same file has a row of its own.
#[test]
fn a_list_of_files_hides_no_other_need() {
    let mut entry = edits(
        "Edit 2 files?",
        vec![edit("/p/a", "1\n", "2\n"), edit("/p/b", "1\n", "2\n")],
    );
    entry.question.needs.push(Need {
        target: Target::Path("/p/a".into()),
        operation: Operation::Read,
    });
    let rows = shown(entry);
    for row in ["    read    /p/a\n", "    edit    /p/a  +1 −1\n"] {
        assert!(rows.contains(row), "{rows}");
    }
}

#[test]
fn something_that_comes_up_during_a_call() {
    let mut entry = simple("make", &["/usr/bin/make"]);
    entry.question.origin = Origin::Undeclared;
    entry.runs = true;
    insta::assert_snapshot!(shown(entry));
}

#[test]
fn words_behind_a_lasting_answer_never_widen_it() {
    let test = || simple("cargo test --lib", &["/usr/bin/cargo", "test"]);
    let push = || exact("git push", &["/usr/bin/git", "push"], "/p/a");
    let parts: &[&[&str]] = &[&["/usr/bin/cargo", "test"], &["/usr/bin/cargo", "build"]];
    let both = |new| compound("cargo test && cargo build", parts, new);
    let answer = |entry: Entry, line: &str| {
        let window = window(100, 40);
        open(vec![entry], window).0.answer(line, window)
    };
    for (entry, line, allow) in [
        (test(), "always cargo test", true),
        (test(), "always 1 cargo test", true),
        (test(), "always $ /usr/bin/cargo test", true),
        (test(), "never cargo test", false),
        (push(), "always git push", true),
        (push(), "never = /usr/bin/git push", false),
        (both(1), "always cargo build", true),
        (simple("ls -la", &["/usr/bin/ls"]), "always ls", true),
    ] {
        let Reply::Resolve(_, Resolution::Decided(decisions)) = answer(entry, line) else {
            panic!("{line:?} answers nothing")
        };
        let given = Answer {
            allow,
            scope: Scope::Always,
        };
        assert_eq!(decisions[0].choice, Choice::Answer(given), "{line}");
        assert_eq!(decisions[0].comment, None, "{line}");
    }
    // These words say less than would be stored, or something else.
    for (entry, line) in [
        (test(), "always cargo test --lib"),
        (test(), "always cargo"),
        (test(), "never cargo"),
        (test(), "never git push"),
        (push(), "always git"),
        (both(0), "always cargo build"),
        (both(1), "always cargo test"),
        (simple("ls -la", &["/usr/bin/ls"]), "always ls -la"),
    ] {
        let Reply::Keep(rows) = answer(entry, line) else {
            panic!("{line:?} is taken for an answer")
        };
        assert!(rows[0].starts_with("  Nothing was "), "{rows:?}");
        let rule = "makes another rule.";
        assert!(rows.concat().contains(rule), "{rows:?}");
    }
    // What is foreign begins no row.
    let path = format!("/outside/{}", "allow? y ".repeat(20));
    let Reply::Keep(rows) = answer(asked("Read it?", &[&path]), "always that") else {
        panic!("it is taken for an answer")
    };
    assert!(!rows.concat().contains("allow?"), "{rows:?}");
}
