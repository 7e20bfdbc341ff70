use super::*;

/// A path, a text, what is replaced by what in it, what breaks it, and the line.
type Edit = (
    &'static str,
    &'static str,
    (&'static str, &'static str),
    (&'static str, &'static str),
    usize,
);

/// For each language: a file, what of it is replaced by something that parses, by something that does not, and the line.
const EDITS: [Edit; 13] = [
    (
        "greet.py",
        "import os\n\ndef greet(name):\n    return name\n\n\ndef leave():\n    pass\n",
        ("return name", "return (name)"),
        ("return name", "return (name"),
        4,
    ),
    (
        "m.rs",
        "fn one() {}\n\nfn main() {\n    let x = 1;\n    print(x);\n}\n",
        ("1;", "2;"),
        ("1;", ";"),
        4,
    ),
    (
        "m.rs",
        "fn one() {}\n\nfn main() {\n    if a {\n        b();\n    }\n    c();\n}\n",
        ("    }\n    c", "    }\n\n    c"),
        ("    }\n    c", "    c"),
        6,
    ),
    (
        "a.js",
        "const a = 1;\nfunction f() {\n  return [1, 2];\n}\n",
        ("2]", "2, 3]"),
        ("2]", "2}"),
        3,
    ),
    (
        "a.jsx",
        "const a = () => <p>one</p>;\nconst b = 2;\n",
        ("one", "two"),
        ("</p>", "</q"),
        1,
    ),
    (
        "a.ts",
        "let a: number = 1;\nlet b = 2;\nlet c = 3;\n",
        ("let b = 2", "let b = <T>(x: T) => <any>x"),
        ("let b = 2", "let b = = 2"),
        2,
    ),
    (
        "a.tsx",
        "let a = <p>one</p>;\nlet b: string = 'b';\n",
        ("'b'", "'c'"),
        ("string =", "string = ("),
        2,
    ),
    (
        "a.go",
        "package a\n\nfunc f() int {\n\treturn 1\n}\n",
        ("return 1", "return 2"),
        ("return 1", "return 1)"),
        4,
    ),
    (
        "a.c",
        "#include <stdio.h>\n\nint main(void) {\n    puts(\"a\");\n    return 0;\n}\n",
        ("0;", "1;"),
        ("\"a\");", "\"a\";"),
        4,
    ),
    (
        "a.hpp",
        "class A {\n  int a = 0;\n  int b() const { return a; }\n};\n",
        ("0;", "1;"),
        ("return a; }", "return a; ]"),
        3,
    ),
    (
        "A.java",
        "class A {\n    int a() {\n        return 1;\n    }\n}\n",
        ("1;", "2;"),
        ("1;", "1 2;"),
        3,
    ),
    (
        "a.json",
        "{\n  \"a\": [1, 2],\n  \"b\": 3\n}\n",
        ("2]", "2, 4]"),
        ("2]", "2"),
        2,
    ),
    (
        "a.toml",
        "[a]\nb = 1\nc = [\n  2,\n]\n",
        ("1", "\"one\""),
        ("1", "\"one"),
        2,
    ),
];

#[test]
fn an_edit_that_breaks_a_file_is_reported_with_its_line() {
    for (name, before, works, breaks, line) in EDITS {
        let edited = |(old, new): (&str, &str)| {
            assert!(before.contains(old), "{name}: {old}");
            before.replacen(old, new, 1)
        };
        let (good, bad) = (edited(works), edited(breaks));
        assert_eq!(broken_line(name, Some(before), &good), None, "{good}");
        assert_eq!(broken_line(name, Some(before), &bad), Some(line), "{bad}");
        // What did not parse before was not broken by the edit.
        assert_eq!(broken_line(name, Some(&bad), &bad), None, "{bad}");
        assert_eq!(broken_line(name, Some(&bad), &good), None, "{bad}");
    }
}

#[test]
fn new_files() {
    #[rustfmt::skip]
    let table = [
        ("a.json", "{\"a\": [1,2}", Some(1)),
        ("a.json", "{\n  \"a\": 1,\n}\n", Some(3)),
        ("a.json", "{\"a\": 1}\n", None),
        ("m.rs", "fn main() { let x = ;", Some(1)),
        ("m.rs", "fn one() {}\n\nfn main() {\n    let x = f(1;\n}\n\nfn two() {}\n", Some(4)),
        ("g.py", "import os\n\n\ndef greet(name):\n    return (name\n\n\n", Some(5)),
        ("g.py", "def greet(name)\n    return name\n", Some(1)),
        ("a.js", "function f() {\n  g(;\n}\n", Some(2)),
        ("a.go", "package a\n\nfunc f( {\n}\n", Some(3)),
        ("A.java", "class A {\n    int a = ;\n}\n", Some(2)),
        ("a.toml", "a = 1\nb = \n", Some(2)),
        ("a.toml", "a = 1\na = 2\n", Some(2)),
        ("a.json", "{\n  \"a\": \"http://a/\",\n}\n", Some(3)),
        // Settings with comments and a comma at the end; macros without a semicolon.
        ("a.json", "{\n  // one\n  \"a\": 1,\n}\n", None),
        ("a.json", "{\n  \"a\": 1, /* one */\n}\n", None),
        ("a.json", "{\n  \"a\": 1 // one\n}\n", None),
        ("a.json", "// one\n{}\n", None),
        ("tsconfig.app.json", "{\n  \"a\": 1,\n}\n", None),
        ("a.c", "MODULE(a)\nint a\n", None),
    ];
    for (name, text, line) in table {
        assert_eq!(broken_line(name, None, text), line, "{name}: {text}");
    }
}

#[test]
fn nothing_is_said_of_what_is_not_known() {
    let deep = "[".repeat(600);
    let long = "(".repeat(2_000_000);
    #[rustfmt::skip]
    let table = [
        ("notes.txt", "(((", Some("a")),
        ("Makefile", "(((", Some("a")),
        ("a.unknown", "(((", None),
        ("a.py", "", Some("a = 1\n")),
        ("a.json", " \n", Some("{}")),
        ("a.py", &deep, None),
        ("a.rs", &deep, Some("fn a() {}")),
        ("a.toml", &format!("a = {}{}", "[".repeat(100), "]".repeat(100)), None),
        ("a.rs", &long, None),
        ("a.rs", &long, Some("fn a() {}")),
        // It cannot be compared with what was before.
        ("a.rs", "fn a( {}", Some(&long)),
        ("\u{feff}", "\u{feff}", None),
    ];
    for (name, text, before) in table {
        assert_eq!(broken_line(name, before, text), None, "{name}");
    }
    // A byte order mark is not an error, and JSON may be nested without an end.
    assert_eq!(broken_line("a.json", None, "\u{feff}{}"), None);
    assert_eq!(broken_line("a.py", None, "\u{feff}a = 1\n"), None);
    let nested = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    assert_eq!(broken_line("a.json", None, &nested), None);
}

#[test]
fn the_line_lies_within_the_change() {
    #[rustfmt::skip]
    let table = [
        ("a\nb\nc\n", "a\nB\nc\n", (1, 1)),
        ("a\nb\nc\n", "a\nb\nb\nc\n", (2, 2)),
        ("a\nb\nc\n", "a\nc\n", (1, 1)),
        ("a\nb\nc\n", "a\nb\n", (1, 1)),
        ("", "a\nb\n\n\n", (0, 1)),
        ("a\n", "", (0, 0)),
        ("a", "a", (0, 0)),
        ("a\na\na\n", "a\na\n", (1, 1)),
        ("x\na\ny\nb\nz\n", "x\nA\ny\nB\nz\n", (1, 3)),
    ];
    for (before, after, lines) in table {
        assert_eq!(changed_lines(before, after), lines, "{before:?} {after:?}");
    }
}

proptest::proptest! {
    /// Whatever the text is, nothing panics, and the line exists.
    #[test]
    fn any_text_is_judged(
        before in proptest::option::of("[a-z(){}\\[\\]\"'=;,:. \n\r/*<>]{0,200}"),
        after in "[a-z(){}\\[\\]\"'=;,:. \n\r/*<>]{0,200}",
        extension in "(rs|py|js|ts|tsx|go|c|cpp|java|json|toml)",
    ) {
        let line = broken_line(&format!("a.{extension}"), before.as_deref(), &after);
        if let Some(line) = line {
            proptest::prop_assert!(line >= 1 && line <= newlines(after.as_bytes()) + 1);
        }
    }
}
