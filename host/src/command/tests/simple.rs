//! Which lines are simple, and what keeps the others from it.

use crate::command::simple_words;

#[test]
fn simple_lines_have_these_words() {
    for (line, words) in [
        ("cargo build", &["cargo", "build"][..]),
        (
            "cargo  test   -p  dunlin-host ",
            &["cargo", "test", "-p", "dunlin-host"],
        ),
        (
            "git log -n 3 --format=%H HEAD~2 HEAD^",
            &["git", "log", "-n", "3", "--format=%H", "HEAD~2", "HEAD^"],
        ),
        (
            "git commit -m 'fix: a & b; $(c) `d` | e > f'",
            &["git", "commit", "-m", "fix: a & b; $(c) `d` | e > f"],
        ),
        (
            "grep -rn \"fn main()\" src",
            &["grep", "-rn", "fn main()", "src"],
        ),
        ("grep \"a\\.b\\\\\\\"c\" f", &["grep", "a\\.b\\\"c", "f"]),
        (
            "grep '# not a comment' f",
            &["grep", "# not a comment", "f"],
        ),
        ("grep \"don't!\" f", &["grep", "don't!", "f"]),
        ("ls '' \"\"", &["ls", "", ""]),
        (
            "./run.sh a,b c:d e=f g@h i%j k+l",
            &["./run.sh", "a,b", "c:d", "e=f", "g@h", "i%j", "k+l"],
        ),
        ("'/opt/my tools/run' x", &["/opt/my tools/run", "x"]),
        ("cargo build >/dev/null", &["cargo", "build"]),
        ("cargo build > /dev/null 2>&1", &["cargo", "build"]),
        ("cargo build 2>/dev/null </dev/null", &["cargo", "build"]),
        ("cargo build 2>> /dev/null >&2", &["cargo", "build"]),
        ("cat 'süß 日本'", &["cat", "süß 日本"]),
    ] {
        assert_eq!(
            simple_words(line).as_deref(),
            Ok(&words.iter().map(|w| (*w).to_owned()).collect::<Vec<_>>()[..]),
            "{line}"
        );
    }
}

#[test]
fn everything_else_is_named() {
    let mut reasons = String::new();
    for line in [
        // More than one command.
        "cd x && npm test",
        "npm ci && npm test",
        "a || b",
        "a | b",
        "a |& b",
        "a; b",
        "a;",
        "a\nb",
        "ls \"€\\\" ; touch x #\"",
        "a\rb",
        "a & b",
        "a &",
        "(a)",
        "{ a; }",
        "f() { a; }",
        "if a; then b; fi",
        "echo a; echo b",
        "echo a | wc",
        "echo a > f",
        "echo a",
        "! a",
        "if a",
        "for a in b; do c; done",
        "while ! a; do b; done",
        "case a in b) c;; esac",
        // Redirections.
        "a > f",
        "a >f 2>&1",
        "a 2>/dev/null2",
        "a >/dev/null/../sda",
        "a > /dev/nullx",
        "a >/dev/null b",
        ">/dev/null a",
        "a >| /dev/null",
        "a <> /dev/null",
        "a &>/dev/null",
        "a >&/dev/null",
        "a 3>&1",
        "a 2>&-",
        "a x2>&1",
        "a < f",
        "a >'/dev/null'",
        "a << E",
        "a <<< b",
        "a <(b)",
        "a >(b)",
        // Expansions.
        "a $(b)",
        "a `b`",
        "a \"$(b)\"",
        "a \"`b`\"",
        "a $b",
        "a \"${b}\"",
        "a $'b'",
        "a $\"b\"",
        "a *.rs",
        "a b?",
        "a [b]",
        "a {b,c}",
        "a {1..3}",
        "a ~/b",
        "a b=~/c",
        "a b:~",
        "a ''~",
        "a b\\ c",
        // Quotes and comments.
        "a 'b",
        "a \"b",
        "a \"b\\",
        "a \"b\\\"",
        "a # b",
        "a b#c",
        "a b!c",
        // The first word.
        "X=1 a",
        "X+=1 a",
        "X=\"./y\" a",
        "X='/bin/git' a",
        "X=a'/b' c",
        "eval a",
        "source a",
        ". a",
        "exec a",
        "command a",
        "builtin a",
        "time a",
        "time",
        "time cd a",
        "export A",
        "test -f a",
        "%1",
        "-a",
        "'a' b",
        "\"a\" b",
        "a'' b",
        "'' a",
        "",
        "   ",
        ">/dev/null",
        // What hides.
        "a\tb",
        "a '\u{1b}[2J'",
        "a '\0'",
        "a 'b\u{200b}'",
        "a 'b\u{202e}'",
        "a\u{a0}b",
        "a '\u{3000}'",
        "a é",
        "a '                                 ' b",
    ] {
        let reason = simple_words(line).unwrap_err();
        reasons += &format!("{line:?} → {reason}\n");
    }
    insta::assert_snapshot!(reasons);
    assert_eq!(
        simple_words(&format!("a {}", "b".repeat(3_000))),
        Err("a very long line".into())
    );
}
