use super::*;
use proptest::prelude::*;

#[track_caller]
fn check_outline(language: Language, text: &str, expected: &[(u64, &str)]) {
    let entries = outline(language, text).unwrap();
    let found: Vec<(u64, &str)> = entries.iter().map(|e| (e.line, e.text.as_str())).collect();
    assert_eq!(found, expected);
}

#[track_caller]
fn check_enclosing(language: Language, text: &str, line: u64, expected: (&str, u64, u64)) {
    let symbol = enclosing(language, text, line).unwrap();
    assert_eq!(
        (symbol.name.as_str(), symbol.start_line, symbol.end_line),
        expected
    );
}

const RUST: &str = "\
use a::b;

/// Keeps.
#[derive(Debug)]
pub struct Store {
    a: u8,
}

impl Keep for Store {
    /// Puts.
    ///
    /// Much.
    fn put(&mut self) {
        let closure = || { fn inner() {} };
        work();
    }
}
";

#[test]
fn rust() {
    check_outline(
        Language::Rust,
        RUST,
        &[
            (5, "pub struct Store"),
            (9, "impl Keep for Store"),
            (13, "fn put(&mut self)"),
            (14, "let closure = || { fn inner() {} };"),
        ],
    );
    check_enclosing(Language::Rust, RUST, 6, ("Store", 3, 7));
    check_enclosing(Language::Rust, RUST, 14, ("Store.put", 10, 16));
    check_enclosing(Language::Rust, RUST, 15, ("Store.put", 10, 16));
    assert_eq!(enclosing(Language::Rust, RUST, 1), None);
    assert_eq!(enclosing(Language::Rust, RUST, 99), None);
}

#[test]
fn python() {
    let text = "\
import os

# Reads.
@cached
def read(path):
    '''Reads.'''
    return os.read(path)

class Store(Base):
    def put(self):
        pass
";
    check_outline(
        Language::Python,
        text,
        &[
            (5, "def read(path)"),
            (9, "class Store(Base)"),
            (10, "def put(self)"),
        ],
    );
    check_enclosing(Language::Python, text, 7, ("read", 3, 7));
    check_enclosing(Language::Python, text, 11, ("Store.put", 10, 11));
}

#[test]
fn javascript_and_typescript() {
    let text = "\
// Reads.
export const read = async (path) => {
  return open(path);
};

class Store {
  put(a) {
    this.a = a;
  }
}
exports.get = function (a) {
  return a;
};
";
    for language in [Language::JavaScript, Language::TypeScript] {
        check_enclosing(language, text, 3, ("read", 1, 4));
        check_enclosing(language, text, 8, ("Store.put", 7, 9));
        check_enclosing(language, text, 12, ("exports.get", 11, 13));
    }
    check_outline(
        Language::TypeScript,
        "interface A {\n  b: string;\n}\nexport type C = A | null;\n",
        &[(1, "interface A"), (4, "export type C = A | null;")],
    );
}

#[test]
fn go() {
    let text = "package a\n\n// Serve serves.\nfunc (s *Server) Serve() error {\n\treturn nil\n}\n\ntype Server struct {\n\ta int\n}\n";
    check_enclosing(Language::Go, text, 5, ("Serve", 3, 6));
    check_enclosing(Language::Go, text, 9, ("Server", 8, 10));
}

#[test]
fn c_and_cpp() {
    let text =
        "/* Reads. */\nstatic char *\nread_all(int fd)\n{\n\treturn 0;\n}\nstruct a { int b; };\n";
    for language in [Language::C, Language::Cpp] {
        check_enclosing(language, text, 5, ("read_all", 1, 6));
        check_enclosing(language, text, 7, ("a", 7, 7));
    }
    let text = "namespace n {\ntemplate <class T>\nvoid Store<T>::put(T a) {\n  b = a;\n}\n}\n";
    check_enclosing(Language::Cpp, text, 4, ("n.Store<T>::put", 2, 5));
}

#[test]
fn java() {
    let text = "class Store {\n    /** Puts. */\n    @Override\n    public void put(int a) {\n        b = a;\n    }\n}\n";
    check_enclosing(Language::Java, text, 5, ("Store.put", 2, 6));
}

#[test]
fn hostile_texts_end() {
    let deep = "(".repeat(200_000);
    let braces = "{[(<".repeat(50_000);
    let quotes = "\"'`/*".repeat(50_000);
    let long = "a".repeat(900_000);
    let nested = "fn a() { ".repeat(20_000);
    let chain = "a = b =\n".repeat(20_000);
    let branches = "if (a) { b } else\n".repeat(20_000);
    let indented: String = (0..400)
        .map(|depth| format!("{}if a:\n", " ".repeat(depth)))
        .collect();
    let strings = "'\"\n\"\"\"\n`${\n/*\n".repeat(20_000);
    for language in Language::ALL {
        for text in [
            &deep, &braces, &quotes, &long, &nested, &chain, &branches, &indented, &strings,
        ] {
            // Whether it is known does not matter.
            let _ = outline(language, text);
        }
        assert_eq!(outline(language, &" ".repeat(2 << 20)), None);
    }
}

proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(text in "[a-z{}()\\[\\]<>;:#\"'/*\n\t =]{0,200}", line in 0_u64..50) {
        for language in Language::ALL {
            let count = text.lines().count() as u64;
            if let Some(symbol) = enclosing(language, &text, line) {
                prop_assert!(symbol.start_line <= line && line <= symbol.end_line && line <= count + 1);
            }
            let _ = outline(language, &text);
        }
    }
}
