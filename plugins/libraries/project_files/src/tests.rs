use dunlin_sdk::{FailureKind, Plan};

use super::*;

fn scope(folder: Option<&str>, globs: &[&str]) -> Result<Scope, Failure> {
    let globs: Vec<String> = globs.iter().map(|&glob| glob.to_owned()).collect();
    Scope::new(folder, &globs, Also::default())
}

const FILES: [&str; 7] = [
    "Makefile",
    "docs/a.md",
    "src/a.rs",
    "src/deep/b.rs",
    "src/deep/b.txt",
    "tests/src/c.rs",
    "tests/{x}.rs",
];

fn taken(globs: &[&str]) -> Vec<&'static str> {
    let scope = scope(None, globs).unwrap();
    let files = FILES.into_iter();
    files.filter(|path| scope.globs.take(path)).collect()
}

#[test]
fn globs_choose_files() {
    let check = |globs: &[&str], expected: &[&str]| assert_eq!(taken(globs), expected, "{globs:?}");
    check(&[], &FILES);
    check(&["**/*", " "], &FILES);
    // A name in any folder.
    check(&["*.md"], &["docs/a.md"]);
    check(&["b.*"], &["src/deep/b.rs", "src/deep/b.txt"]);
    check(&["deep"], &["src/deep/b.rs", "src/deep/b.txt"]);
    check(
        &["src"],
        &[
            "src/a.rs",
            "src/deep/b.rs",
            "src/deep/b.txt",
            "tests/src/c.rs",
        ],
    );
    // From the folder on.
    check(&["/src"], &["src/a.rs", "src/deep/b.rs", "src/deep/b.txt"]);
    check(
        &["./src/"],
        &[
            "src/a.rs",
            "src/deep/b.rs",
            "src/deep/b.txt",
            "tests/src/c.rs",
        ],
    );
    check(&["src/*"], &["src/a.rs", "src/deep/b.rs", "src/deep/b.txt"]);
    check(&["src/*.rs"], &["src/a.rs"]);
    check(&["/*"], &FILES);
    check(&["/M*"], &["Makefile"]);
    check(&["src/**/*.rs"], &["src/a.rs", "src/deep/b.rs"]);
    check(&["*.{md,txt}"], &["docs/a.md", "src/deep/b.txt"]);
    check(&["tests/[{]x[}].rs"], &["tests/{x}.rs"]);
    // Without those.
    check(&["*.rs", "!tests/**"], &["src/a.rs", "src/deep/b.rs"]);
    check(&["!*.rs", "!docs"], &["Makefile", "src/deep/b.txt"]);
    check(&["none"], &[]);
}

#[test]
fn what_is_no_glob_is_refused() {
    let check = |glob: &str, expected: &str| {
        let failure = scope(None, &["*.rs", glob]).unwrap_err();
        assert_eq!(failure.kind, FailureKind::InvalidArguments);
        assert!(failure.message.starts_with(expected), "{failure}");
    };
    check(
        "src/[z-a].rs",
        "globs: 'src/[z-a].rs' is not a glob: invalid range; 'z' > 'a'; write it like",
    );
    check(
        "{a,b",
        "globs: '{a,b' is not a glob: unclosed alternate group",
    );
    check("!a[", "globs: 'a[' is not a glob: unclosed character class");
    check(
        &"a".repeat(301),
        "globs: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa…' is not a glob: it has more",
    );
    let many = vec!["a"; 51];
    let failure = scope(None, &many).unwrap_err();
    assert_eq!(
        failure.message,
        "globs: there are 51; at most 50 are possible"
    );
}

#[test]
fn a_folder_is_named_as_it_was_written() {
    let check = |written: Option<&str>, folder: &str, name: &str, shown: &str| {
        let scope = scope(written, &[]).unwrap();
        assert_eq!((scope.folder(), &*scope.name()), (folder, name));
        assert_eq!(scope.shown("a\nb"), shown);
        let plan = Plan::ask("Q?").reads_all_in(folder);
        assert_eq!(scope.plan("Q?".to_owned()), plan);
    };
    check(None, ".", "the project", "a?b");
    check(Some(" ./ "), ".", "the project", "a?b");
    check(Some("src/"), "src", "'src'", "src/a?b");
    check(Some("./src"), "src", "'src'", "src/a?b");
    check(Some("/"), "/", "'/'", "/a?b");
    check(Some("~/x"), "~/x", "'~/x'", "~/x/a?b");
}

#[test]
fn what_is_not_there_is_explained() {
    let entry = |path: &str| Entry {
        path: path.to_owned(),
        size_bytes: 1,
        version: 1,
    };
    let listing = Listing {
        files: vec![entry("a.rs"), entry("b.md")],
        withheld: 2,
        is_truncated: true,
    };
    let scope = scope(None, &["*.txt"]).unwrap();
    let files = scope.of(listing);
    assert_eq!(
        scope.nothing(&files),
        "[none of the 2 files matches the globs; hidden and ignored files are left out (include_hidden, include_ignored), \
         secrets such as .env always]\n"
    );
    assert_eq!(
        scope.notes(&files),
        [
            "the folder has more files than are looked at; name a folder in it",
            "2 files left out: they may not be read without a question"
        ]
    );
}
