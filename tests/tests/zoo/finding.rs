//! `list_files` and `search_text` on the real host: what they show, what they must not, and what they make of trees and patterns
//! that take all time or memory.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use dunlin_host::Host;
use dunlin_host::ask::Ask;
use dunlin_host::call::{Call, Failure};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, built_in, call, play, plugin};
use serde_json::{Value, json};

use crate::assert_one_clear_line;

/// A project with secrets, waste and ways out.
struct Tree {
    sandbox: Sandbox,
    host: Host,
    calls: AtomicUsize,
}

impl Tree {
    fn new() -> Tree {
        let sandbox = Sandbox::new();
        let tools = ["list_files", "search_text", "read_file"].map(built_in);
        let host = sandbox.host_of(tools.into_iter().chain([plugin("echo")]).collect(), PATIENT);
        let tree = Tree {
            sandbox,
            host,
            calls: AtomicUsize::new(0),
        };
        for (path, text) in [
            ("src/main.rs", "fn main() {\n    needle();\n}\n"),
            ("src/deep/b.rs", "// no\r\nfn needle() {}\r\n"),
            ("notes.md", "# A needle\n"),
            (".github/check.yml", "needle: true\n"),
            (".gitignore", "target/\n"),
            ("target/out.txt", "needle\n"),
            (".git/config", "needle\n"),
            (".env", "KEY=needle\n"),
            ("id_rsa", "needle PRIVATE KEY\n"),
            ("picture.png", "needle\0"),
            ("latin.txt", ""),
        ] {
            tree.write(path, text.as_bytes());
        }
        tree.write("latin.txt", b"caf\xe9 needle\n");
        symlink(
            tree.sandbox.secret(),
            tree.sandbox.project().join("src/link.rs"),
        )
        .expect("it works");
        symlink("/", tree.sandbox.project().join("everything")).expect("it works");
        tree
    }

    fn write(&self, path: &str, bytes: &[u8]) {
        let path = self.sandbox.project().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("it works");
        fs::write(path, bytes).expect("it works");
    }

    /// A call of its own: an answer holds for one.
    fn numbered(&self, tool: &str, arguments: Value) -> Call {
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        Call {
            id: format!("call {number}"),
            ..call(tool, arguments)
        }
    }

    async fn call_with(
        &self,
        tool: &str,
        arguments: Value,
        ask: Arc<dyn Ask>,
    ) -> Result<String, Failure> {
        let outcome = play(&self.host, &self.numbered(tool, arguments), ask).await?;
        outcome.result.map(|success| success.text)
    }

    /// What comes of a call about which nobody may be asked.
    async fn call(&self, tool: &str, arguments: Value) -> Result<String, Failure> {
        let asker = Arc::new(Asker::no());
        let result = self.call_with(tool, arguments, asker.clone()).await;
        assert!(asker.questions().is_empty(), "{:?}", asker.questions());
        result
    }

    async fn list(&self, arguments: Value) -> String {
        self.call("list_files", arguments).await.expect("it works")
    }

    async fn search(&self, arguments: Value) -> String {
        self.call("search_text", arguments).await.expect("it works")
    }
}

#[tokio::test]
async fn files_are_listed_without_secrets_and_ways_out() {
    let tree = Tree::new();
    assert_eq!(
        tree.list(json!({})).await,
        "6 files in the project:\nREADME.md\nlatin.txt\nnotes.md\npicture.png\nsrc/deep/b.rs\nsrc/main.rs\n\
         [1 file left out: it may not be read without a question]\n"
    );
    assert_eq!(
        tree.list(json!({ "path": "src", "globs": ["*.rs", "!deep"], "sizes": true }))
            .await,
        "1 matching file in 'src', sizes in bytes:\nsrc/main.rs  28\n"
    );
    let all = tree
        .list(json!({ "include_hidden": true, "include_ignored": true }))
        .await;
    assert!(
        all.contains("\n.github/check.yml\n") && all.contains("\ntarget/out.txt\n"),
        "{all}"
    );
    for absent in [".env", "id_rsa", ".git/", "link.rs", "everything", "secret"] {
        assert!(!all.contains(absent), "{absent}: {all}");
    }
    assert!(
        all.ends_with("[2 files left out: they may not be read without a question]\n"),
        "{all}"
    );
    let none = tree.list(json!({ "globs": ["*.none"] })).await;
    assert!(
        none.contains("none of the 6 files matches the globs"),
        "{none}"
    );
    let failure = tree
        .call("list_files", json!({ "path": "notes.md" }))
        .await
        .unwrap_err();
    assert!(
        failure
            .to_string()
            .contains("is not a folder; read it with read_file"),
        "{failure}"
    );
    let failure = tree
        .call("list_files", json!({ "path": "nowhere" }))
        .await
        .unwrap_err();
    assert!(failure.to_string().contains("there is no "), "{failure}");
}

#[tokio::test]
async fn lines_are_found_without_secrets_and_ways_out() {
    let tree = Tree::new();
    let found = tree.search(json!({ "pattern": r"\bneedle\b" })).await;
    assert_eq!(
        found,
        "4 matching lines in 4 files:\nlatin.txt:1:caf\u{fffd} needle\nnotes.md:1:# A needle\nsrc/deep/b.rs:2:fn needle() {}\n\
         src/main.rs:2:    needle();\n[1 file left out: it may not be read without a question]\n"
    );
    let found = tree
        .search(json!({ "pattern": "NEEDLE()", "literal": true, "ignore_case": true, "path": "src", "globs": ["*.rs"], "context": 1 }))
        .await;
    assert_eq!(
        found,
        "2 matching lines in 2 files:\nsrc/deep/b.rs-1-// no\nsrc/deep/b.rs:2:fn needle() {}\nsrc/main.rs-1-fn main() {\n\
         src/main.rs:2:    needle();\nsrc/main.rs-3-}\n"
    );
    let all = tree
        .search(json!({ "pattern": "needle|SECRET|secret", "show": "files", "include_hidden": true, "include_ignored": true }))
        .await;
    assert!(
        all.starts_with("6 files have a match:\n.github/check.yml\n"),
        "{all}"
    );
    assert!(
        !all.contains("id_rsa") && !all.contains(".env") && !all.contains("link"),
        "{all}"
    );
    // One file, also one that would be left out of a folder.
    let one = tree
        .search(json!({ "pattern": "true", "path": ".github/check.yml" }))
        .await;
    assert_eq!(one, "1 matching line:\n1:needle: true\n");
    let picture = tree
        .search(json!({ "pattern": "needle", "path": "picture.png" }))
        .await;
    assert_eq!(
        picture,
        "No match in 'picture.png'.\n[it is a binary file]\n"
    );
}

#[tokio::test]
async fn secrets_and_other_folders_are_asked_about_and_dunlins_own_are_not_shown() {
    let tree = Tree::new();
    let outside = tree.sandbox.root().join("outside");
    fs::create_dir_all(outside.join(".ssh")).unwrap();
    fs::write(outside.join(".ssh/id_ed25519"), "secret key").unwrap();
    fs::write(outside.join("more.txt"), "the-secret again").unwrap();
    let arguments = json!({ "pattern": "secret", "path": outside, "include_hidden": true });
    let asker = Arc::new(Asker::no());
    let denied = tree
        .call_with("search_text", arguments.clone(), asker.clone())
        .await;
    assert!(denied.is_err());
    let questions = asker.questions();
    assert_eq!(questions.len(), 1);
    assert_eq!(
        questions[0].wording,
        format!("Search '{}' for 'secret'?", outside.display())
    );
    let shown = questions[0].needs[0].target.shown().into_owned();
    assert_eq!(shown, format!("{}/ and all below", outside.display()));
    let asker = Arc::new(Asker::yes());
    let found = tree
        .call_with("search_text", arguments, asker.clone())
        .await
        .unwrap();
    assert_eq!(asker.questions().len(), 1);
    let outside = outside.display();
    assert!(
        found.contains(&format!("{outside}/more.txt:1:the-secret again\n")),
        "{found}"
    );
    assert!(
        found.contains(&format!("{outside}/secret.txt:1:")),
        "{found}"
    );
    assert!(!found.contains("key"), "{found}");
    assert!(found.contains("[1 file left out"), "{found}");

    for path in [".env", "id_rsa"] {
        let asker = Arc::new(Asker::no());
        let arguments = json!({ "pattern": "needle", "path": path });
        let denied = tree
            .call_with("search_text", arguments, asker.clone())
            .await;
        assert!(denied.is_err(), "{path}");
        assert_eq!(asker.questions().len(), 1, "{path}");
    }
    for tool in ["list_files", "search_text"] {
        let arguments = |path: &str| match tool {
            "search_text" => json!({ "path": path, "pattern": "a" }),
            _ => json!({ "path": path }),
        };
        for folder in ["config", "data"] {
            let path = tree.sandbox.root().join(folder).display().to_string();
            let denied = tree.call(tool, arguments(&path)).await.unwrap_err();
            assert!(denied.to_string().contains("denied"), "{folder}: {denied}");
        }
        // The home folder of this host, and what lies above it.
        for path in ["~", "/"] {
            let failure = tree
                .call(tool, arguments(path))
                .await
                .unwrap_err()
                .to_string();
            assert_one_clear_line(&failure);
            assert!(
                failure.contains("so Dunlin does not search it"),
                "{failure}"
            );
        }
    }
}

#[tokio::test]
async fn a_folder_that_is_denied_is_left_out() {
    let tree = Tree::new();
    let denied = json!({ (format!("{}/src/", tree.sandbox.project().display())): "---" });
    fs::write(tree.sandbox.permissions_file(), denied.to_string()).unwrap();
    let all = tree.list(json!({})).await;
    assert!(!all.contains("src/"), "{all}");
    assert!(all.contains("[3 files left out"), "{all}");
    let found = tree.search(json!({ "pattern": "fn" })).await;
    assert!(found.starts_with("No match in the project."), "{found}");
    assert!(
        tree.call("list_files", json!({ "path": "src" }))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn large_trees_and_files_have_an_end() {
    let tree = Tree::new();
    for folder in 0..40 {
        for file in 0..50 {
            tree.write(
                &format!("many/{folder}/{file}.txt"),
                b"one needle\nand another needle\n",
            );
        }
    }
    tree.write(
        "large.txt",
        "a needle in a line\n".repeat(100_000).as_bytes(),
    );
    tree.write(
        "long.txt",
        format!("{}needle", "x".repeat(1_000_000)).as_bytes(),
    );
    tree.write("lines.txt", "\n".repeat(1_000_000).as_bytes());
    let listed = tree.list(json!({ "path": "many" })).await;
    assert!(
        listed.starts_with("2000 files in 'many':\nmany/0/0.txt\n"),
        "{listed:.100}"
    );
    assert!(listed.contains("[1700 more not listed"), "{listed}");
    assert!(listed.len() < 10_000, "{}", listed.len());
    let found = tree.search(json!({ "pattern": "needle" })).await;
    assert!(
        found.starts_with("4005 matching lines in 2005 files:\n"),
        "{found:.100}"
    );
    assert!(
        found.contains("[only the first 100 matching lines shown"),
        "{found}"
    );
    assert!(
        found.contains("[larger than 1 MiB and not searched: large.txt; name one"),
        "{found}"
    );
    assert!(found.len() < 20_000, "{}", found.len());
    let found = tree
        .search(json!({ "pattern": "needle", "path": "large.txt", "show": "counts" }))
        .await;
    assert_eq!(found, "100000 matching lines:\nlarge.txt: 100000\n");
    let found = tree
        .search(json!({ "pattern": "^$", "path": "lines.txt", "show": "counts" }))
        .await;
    assert_eq!(found, "1000000 matching lines:\nlines.txt: 1000000\n");
    tree.write("huge.txt", &vec![b'x'; 17 << 20]);
    let failure = tree
        .call("search_text", json!({ "pattern": "x", "path": "huge.txt" }))
        .await
        .unwrap_err();
    assert!(
        failure.to_string().contains("'huge.txt' has 17 MB"),
        "{failure}"
    );
}

/// Each of these takes years in an engine that tries one way after the other, or all memory where it is compiled.
#[tokio::test]
async fn hostile_patterns_have_an_end() {
    let tree = Tree::new();
    tree.write("a.txt", format!("{}!\n", "a".repeat(900_000)).as_bytes());
    for pattern in [
        r"(a+)+$b",
        r"(a|a)*b",
        r"(.*)*x",
        r"(a*)*c",
        r"\w{1,60}@\w{1,60}",
    ] {
        let found = tree
            .search(json!({ "pattern": pattern, "path": "a.txt" }))
            .await;
        assert!(found.starts_with("No match"), "{pattern}: {found:.200}");
    }
    let refused: [(String, &str); 5] = [
        (
            r"((a{1000}){1000}){1000}".to_owned(),
            "too large once it is compiled",
        ),
        (r"(?i)\pL{5000}".to_owned(), "too large once it is compiled"),
        ("(".repeat(4_000), "not a regular expression"),
        ("a(b".to_owned(), "unclosed group"),
        ("a\\nb".to_owned(), "a line break"),
    ];
    for (pattern, expected) in refused {
        let failure = tree
            .call("search_text", json!({ "pattern": pattern }))
            .await
            .unwrap_err();
        let failure = failure.to_string();
        assert!(failure.contains(expected), "{pattern:.20}: {failure}");
    }
}

/// The names of files are not the user's alone.
#[tokio::test]
async fn hostile_names_are_one_line_each() {
    let tree = Tree::new();
    tree.write("odd/a\n[secret] b.txt", b"needle\n");
    tree.write("odd/\u{1b}[2Jc.txt", b"needle\n");
    let listed = tree.list(json!({ "path": "odd" })).await;
    assert_eq!(
        listed,
        "2 files in 'odd':\nodd/?[2Jc.txt\nodd/a?[secret] b.txt\n"
    );
    let found = tree
        .search(json!({ "path": "odd", "pattern": "needle" }))
        .await;
    assert_eq!(found.lines().count(), 3, "{found}");
    assert!(!found.contains('\u{1b}'));
}
