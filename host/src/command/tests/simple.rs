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
    let mut wrong = Vec::new();
    for (line, why) in [
        // More than one command.
        ("cd x && npm test", "&&"),
        ("npm ci && npm test", "&&"),
        ("a || b", "||"),
        ("a | b", "a pipe"),
        ("a |& b", "a pipe"),
        ("a; b", "several commands"),
        ("a;", "several commands"),
        ("a\nb", "several lines"),
        (
            "ls \"€\\\" ; touch x #\"",
            "a character that some locales take for a part of the letter before it",
        ),
        ("a\rb", "several lines"),
        ("a & b", "a command in the background"),
        ("a &", "a command in the background"),
        ("(a)", "parentheses"),
        ("{ a; }", "braces"),
        ("f() { a; }", "parentheses"),
        ("if a; then b; fi", "a condition"),
        ("echo a; echo b", "several commands"),
        ("echo a | wc", "a pipe"),
        ("echo a > f", "a redirection"),
        ("echo a", "echo is a shell builtin"),
        ("! a", "an exclamation mark"),
        ("if a", "a condition"),
        ("for a in b; do c; done", "a loop"),
        ("while ! a; do b; done", "a loop"),
        ("case a in b) c;; esac", "a condition"),
        // Redirections.
        ("a > f", "a redirection"),
        ("a >f 2>&1", "a redirection"),
        ("a 2>/dev/null2", "a redirection"),
        ("a >/dev/null/../sda", "a redirection"),
        ("a > /dev/nullx", "a redirection"),
        ("a >/dev/null b", "a word behind a redirection"),
        (">/dev/null a", "a word behind a redirection"),
        ("a >| /dev/null", "a redirection"),
        ("a <> /dev/null", "a redirection"),
        ("a &>/dev/null", "a redirection"),
        ("a >&/dev/null", "a redirection"),
        ("a 3>&1", "a redirection"),
        ("a 2>&-", "a redirection"),
        ("a x2>&1", "a redirection"),
        ("a < f", "a redirection"),
        ("a >'/dev/null'", "a redirection"),
        ("a << E", "a here-document"),
        ("a <<< b", "a here-document"),
        ("a <(b)", "a process substitution"),
        ("a >(b)", "a process substitution"),
        // Expansions.
        ("a $(b)", "a command substitution"),
        ("a `b`", "a command substitution"),
        ("a \"$(b)\"", "a command substitution"),
        ("a \"`b`\"", "a command substitution"),
        ("a $b", "a variable"),
        ("a \"${b}\"", "a variable"),
        ("a $'b'", "a special quote"),
        ("a $\"b\"", "a special quote"),
        ("a *.rs", "a pattern"),
        ("a b?", "a pattern"),
        ("a [b]", "a pattern"),
        ("a {b,c}", "braces"),
        ("a {1..3}", "braces"),
        ("a ~/b", "a tilde"),
        ("a b=~/c", "a tilde"),
        ("a b:~", "a tilde"),
        ("a ''~", "a tilde"),
        ("a b\\ c", "a backslash"),
        // Quotes and comments.
        ("a 'b", "a quote without end"),
        ("a \"b", "a quote without end"),
        ("a \"b\\", "a quote without end"),
        ("a \"b\\\"", "a quote without end"),
        ("a # b", "a comment"),
        ("a b#c", "a comment"),
        ("a b!c", "an exclamation mark"),
        // The first word.
        ("X=1 a", "a variable set in front"),
        ("X+=1 a", "a variable set in front"),
        ("X=\"./y\" a", "a variable set in front"),
        ("X='/bin/git' a", "a variable set in front"),
        ("X=a'/b' c", "a variable set in front"),
        ("eval a", "eval is a shell builtin"),
        ("source a", "source is a shell builtin"),
        (". a", ". is a shell builtin"),
        ("exec a", "exec is a shell builtin"),
        ("command a", "command is a shell builtin"),
        ("builtin a", "builtin is a shell builtin"),
        ("time a", "time in front"),
        ("time", "time is a shell builtin"),
        ("time cd a", "cd is a shell builtin"),
        ("export A", "export is a shell builtin"),
        ("test -f a", "test is a shell builtin"),
        ("%1", "an unusual name of a program"),
        ("-a", "an unusual name of a program"),
        ("'a' b", "an unusual name of a program"),
        ("\"a\" b", "an unusual name of a program"),
        ("a'' b", "an unusual name of a program"),
        ("'' a", "an unusual name of a program"),
        ("", "no command"),
        ("   ", "no command"),
        (">/dev/null", "no command"),
        // What hides.
        ("a\tb", "a control character"),
        ("a '\u{1b}[2J'", "a control character"),
        ("a '\0'", "a control character"),
        ("a 'b\u{200b}'", "an invisible character"),
        ("a 'b\u{202e}'", "an invisible character"),
        ("a\u{a0}b", "an invisible character"),
        ("a '\u{3000}'", "an invisible character"),
        ("a é", "an unusual character"),
        ("a '                                 ' b", "a long gap"),
    ] {
        let found = simple_words(line);
        let said = found.as_ref().map_err(ToString::to_string);
        if said != Err(why.to_owned()) {
            wrong.push(format!("{line:?}: {found:?}, not {why}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(
        simple_words(&format!("a {}", "b".repeat(3_000))),
        Err("a very long line".into())
    );
}
