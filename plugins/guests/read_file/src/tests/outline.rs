use crate::outline::{Entry, Language, outline, render};

/// The landmarks of a text, each as `line:text`.
fn check(language: Language, text: &str, expected: &[&str]) {
    let found: Vec<String> = outline(language, text)
        .iter()
        .map(|entry| format!("{}:{}", entry.line, entry.text))
        .collect();
    assert_eq!(found, expected, "{text}");
}

#[test]
fn rust() {
    check(
        Language::Rust,
        "use std::fmt;\n\
         pub struct Foo;\n\
         impl<T> Foo<T> {\n    \
             pub(crate) async fn bar(&self) {\n        \
                 let type_of = 1; if x { return; }\n    \
             }\n\
         }\n\
         pub const fn f() {}\n\
         pub const X: u32 = 1;\n\
         pub(in crate::a) enum E {\n\
         unsafe extern \"C\" fn g();\n\
         macro_rules! m {\n\
         // fn not_me()\n\
         mod tests {",
        &[
            "2:pub struct Foo;",
            "3:impl<T> Foo<T>",
            "4:pub(crate) async fn bar(&self)",
            "8:pub const fn f() {}",
            "10:pub(in crate::a) enum E",
            "11:unsafe extern \"C\" fn g();",
            "12:macro_rules! m",
            "14:mod tests",
        ],
    );
}

#[test]
fn other_languages() {
    check(
        Language::Python,
        "import a\nclass A(B):\n    async def f(self):\n        defined = 1\ndef g(): pass\nclassic = 2\n",
        &["2:class A(B)", "3:async def f(self)", "5:def g(): pass"],
    );
    check(
        Language::JavaScript,
        "export default class A {\n  constructor(a) {\n    if (a) {\n    return b(c) {\n  }\n  async load() {\n}\n\
         const f = async (a) => {\nconst g = 1 + (2);\nexport function h() {\ntype T = {\ntype = 1\n  a.map((x) => {\n\
         \x20 const b = c(d[e], {\n    Array.isArray(f[g])) {\n  call(a, {\n  each(function (k) {\n",
        &[
            "1:export default class A",
            "2:constructor(a)",
            "6:async load()",
            "8:const f = async (a) =>",
            "10:export function h()",
            "11:type T =",
            "17:each(function (k)",
        ],
    );
    check(
        Language::Go,
        "package a\nfunc (s *S) F() error {\n\tfunc() {}()\n}\ntype S struct {\nvar f = 1\n",
        &["2:func (s *S) F() error", "5:type S struct"],
    );
    check(
        Language::C,
        "#include <a.h>\nint f(int a);\nstatic int g(int a)\n{\n    if (a) {\n    call(a)\n}\nstruct S {\n\
         void A::b() const {\nreturn (1)\nint x = y(1,\nMACRO(a)\nnamespace n {\n",
        &[
            "3:static int g(int a)",
            "8:struct S",
            "9:void A::b() const",
            "13:namespace n",
        ],
    );
    check(
        Language::Java,
        "package a;\npublic final class A<T> extends B {\n    private int x = f(1);\n    public void f(int a) throws E {\n\
        \x20       if (a) {\n        while (b(c)) {\n        } else if (d) {\n        new A() {\n    }\n    A(int a) {\n    int g() {\n    }\n\
         internal static async Task<int> H(int a)\n",
        &[
            "2:public final class A<T> extends B",
            "4:public void f(int a) throws E",
            "11:int g()",
        ],
    );
    check(
        Language::Ruby,
        "module A\n  class B < C\n    private def f(a)\n    define x\n    end\n",
        &["1:module A", "2:class B < C", "3:private def f(a)"],
    );
    check(
        Language::Shell,
        "#!/bin/sh\nf() {\nfunction g {\necho $(h)\nx=$(a)\nif test(); then\n",
        &["2:f()", "3:function g"],
    );
    check(
        Language::Markdown,
        "# A\ntext\n```\n# no\n```\n### B #\n#tag\n####### seven\n",
        &["1:# A", "6:### B #"],
    );
    check(
        Language::Sections,
        "a = 1\n[package]\n[[bin]]\nx = [1]\n[dependencies.a] # why\n",
        &["2:[package]", "3:[[bin]]", "5:[dependencies.a] # why"],
    );
}

#[test]
fn languages_by_the_names_of_files() {
    for (path, language) in [
        ("src/main.rs", Some(Language::Rust)),
        ("A.PY", Some(Language::Python)),
        ("/a.b/c.tsx", Some(Language::JavaScript)),
        ("x.hpp", Some(Language::C)),
        ("Cargo.toml", Some(Language::Sections)),
        ("README.md", Some(Language::Markdown)),
        ("Makefile", None),
        ("a.rs/b", None),
        ("a.", None),
        ("", None),
    ] {
        assert_eq!(Language::of(path), language, "{path}");
    }
}

#[test]
fn outlines_are_bounded() {
    let entry = |line, indent, text: &str| Entry {
        line,
        indent,
        text: text.to_owned(),
    };
    let text = render(vec![entry(1, 0, "mod a"), entry(12, 4, "fn b")], 1000);
    assert_eq!(text, "     1\tmod a\n    12\t    fn b\n");

    // The deeper half goes first.
    let many = (1..=400)
        .map(|line| entry(line, if line % 2 == 0 { 4 } else { 0 }, "fn f"))
        .collect();
    let text = render(many, usize::MAX);
    assert_eq!(text.lines().count(), 201);
    assert!(
        text.ends_with("   399\tfn f\n[200 more not listed]\n"),
        "{text}"
    );

    let text = render(
        (1..=1000).map(|line| entry(line, 0, "fn f")).collect(),
        usize::MAX,
    );
    assert!(
        text.ends_with("   300\tfn f\n[700 more not listed]\n"),
        "{text}"
    );

    let text = render(
        (1..=100)
            .map(|line| entry(line, 9000, &"ü".repeat(200)))
            .collect(),
        1000,
    );
    assert!(
        text.len() < 1050 && text.contains("ü…\n") && text.ends_with("more not listed]\n"),
        "{text}"
    );
}
