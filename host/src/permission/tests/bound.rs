//! An answer for one plugin never becomes one for all, whatever became of one of the two files.

use super::*;
use crate::permission::key::Decided;

fn digests(fixture: &Fixture) -> PathBuf {
    fixture.file().with_file_name("tool.digests.json")
}

/// What both files hold, or that they are not there.
fn states(fixture: &Fixture) -> [Option<String>; 2] {
    [fixture.file(), digests(fixture)].map(|path| std::fs::read_to_string(path).ok())
}

fn put(fixture: &Fixture, files: [&Option<String>; 2]) {
    for (path, text) in [fixture.file(), digests(fixture)].into_iter().zip(files) {
        match text {
            Some(text) => std::fs::write(path, text).unwrap(),
            None => drop(std::fs::remove_file(path)),
        }
    }
}

#[test]
fn the_permission_file_says_which_letters_are_bound() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let need = fixture.need("outside/notes.txt", Operation::Read);
    let needs = std::slice::from_ref(&need);
    permissions
        .remember(
            CALL,
            &plugin("p", "d", false),
            needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    permissions.set("~/outside/other.txt", "r??").unwrap();
    let text = std::fs::read_to_string(fixture.file()).unwrap();
    assert!(text.contains("notes.txt\": \"R??\""), "{text}");
    assert!(text.contains("other.txt\": \"r??\""), "{text}");

    std::fs::remove_file(digests(&fixture)).unwrap();
    for name in ["p", "q"] {
        let decided = decide(&permissions, "other", &plugin(name, "d", false), &need);
        assert_eq!(decided.verdict, Verdict::Ask, "{name}");
    }
    let (_, explained) = permissions.explain("~/outside/notes.txt").unwrap();
    assert_eq!(explained[0].verdict, Verdict::Ask);
    let list = permissions.list().unwrap();
    let bound_to = list[0].bound_to.as_deref();
    assert_eq!(bound_to, Some("nobody: tool.digests.json names no plugin"));
    let other = fixture.need("outside/other.txt", Operation::Read);
    assert_eq!(verdict(&permissions, &other), Verdict::Allow);

    // It can be answered anew, and by hand for everybody.
    permissions
        .remember(
            CALL,
            &plugin("q", "d", false),
            needs,
            answer(true, Scope::Always),
        )
        .unwrap();
    let ask = |name: &str| decide(&permissions, "other", &plugin(name, "d", false), &need).verdict;
    assert_eq!([ask("p"), ask("q")], [Verdict::Ask, Verdict::Allow]);
    permissions.set(&need.target.to_string(), "r??").unwrap();
    assert_eq!([ask("p"), ask("q")], [Verdict::Allow, Verdict::Allow]);
}

/// A crash, or a second Dunlin that reads meanwhile, may find one file of before and one of after.
#[test]
fn a_mixture_of_both_files_allows_nothing_new() {
    let need = |fixture: &Fixture| fixture.need("outside/notes.txt", Operation::Read);
    let always = |fixture: &Fixture, name: &str, allow: bool| {
        let id = plugin(name, "d", false);
        let needs = [need(fixture)];
        let answer = answer(allow, Scope::Always);
        fixture.open().remember(CALL, &id, &needs, answer).unwrap();
    };
    type Change<'a> = &'a dyn Fn(&Fixture);
    let changes: [(&str, Change<'_>); 5] = [
        ("no", &|fixture| always(fixture, "p", false)),
        ("yes", &|fixture| always(fixture, "p", true)),
        ("another's yes", &|fixture| always(fixture, "q", true)),
        ("unset", &|fixture| {
            fixture.open().unset("~/outside/notes.txt").unwrap();
        }),
        ("ask", &|fixture| {
            let permissions = fixture.open();
            let target = "~/outside/notes.txt";
            permissions
                .set_one(target, Operation::Read, Decided::Open)
                .unwrap();
        }),
    ];
    for (first, before) in &changes {
        for (then, after) in &changes {
            let fixture = Fixture::new();
            always(&fixture, "p", true);
            before(&fixture);
            let old = states(&fixture);
            after(&fixture);
            let new = states(&fixture);
            let who = |fixture: &Fixture, name: &str| {
                let id = plugin(name, "d", false);
                decide(&fixture.open(), "other", &id, &need(fixture)).verdict
            };
            let allowed = |name: &str| {
                [&old, &new].into_iter().any(|files| {
                    put(&fixture, [&files[0], &files[1]]);
                    who(&fixture, name) == Verdict::Allow
                })
            };
            let expected = ["p", "q", "r"].map(allowed);
            for files in [[&old[0], &new[1]], [&new[0], &old[1]]] {
                put(&fixture, files);
                for (name, expected) in ["p", "q", "r"].into_iter().zip(expected) {
                    let found = who(&fixture, name) == Verdict::Allow;
                    assert!(
                        !found || expected,
                        "{first}, then {then}, for {name}: {files:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn files_of_earlier_builds_are_read_and_rewritten() {
    let fixture = Fixture::new();
    let need = fixture.need("outside/notes.txt", Operation::Read);
    let key = need.target.to_string();
    let by_hand = fixture.root.join("outside/other.txt").display().to_string();
    std::fs::write(
        fixture.file(),
        format!("{{\"{key}\": \"r??\", \"{by_hand}\": \"r??\"}}"),
    )
    .unwrap();
    let old = format!(
        "{{\"grants\": {{\"{key}\": {{\"read\": [{{\"plugin\": \"p\", \"digest\": \"d\"}}]}}}}}}"
    );
    std::fs::write(digests(&fixture), old).unwrap();
    let permissions = fixture.open();
    let ask = |name: &str| decide(&permissions, "other", &plugin(name, "d", false), &need).verdict;
    assert_eq!([ask("p"), ask("q")], [Verdict::Allow, Verdict::Ask]);
    // The next answer, to whatever, writes the capital letter.
    permissions.set("~/outside/more.txt", "r??").unwrap();
    let text = std::fs::read_to_string(fixture.file()).unwrap();
    assert!(text.contains("notes.txt\": \"R??\""), "{text}");
    assert!(text.contains("other.txt\": \"r??\""), "{text}");
    assert_eq!([ask("p"), ask("q")], [Verdict::Allow, Verdict::Ask]);
}
