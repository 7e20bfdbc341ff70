//! What a file is to somebody who looks for code: source, a test of it, prose about it, or nothing worth reading.

/// Bytes of the largest file that is read. What is larger is data or was written by a program.
pub const MAX_FILE_BYTES: u64 = 1 << 20;

/// Bytes of the mean line from which on a file counts as minified or as data.
const MAX_MEAN_LINE: usize = 160;

/// Lines of the longest file that is read: what has more in a MiB is not text.
const MAX_LINES: usize = 100_000;

/// Bytes at the start of a file in which a zero byte or a note of its generator is looked for.
const HEAD_BYTES: usize = 2_048;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Kind {
    /// Left out of the index, and remembered so that it is not read again.
    Skipped = 0,
    /// Code of the project.
    Source = 1,
    /// Code that tests it.
    Test = 2,
    /// Code that shows how to use or measure it.
    Example = 3,
    /// Code of others that is carried along.
    Vendored = 4,
    /// Text for people: documentation, change logs.
    Prose = 5,
    /// Configuration, schemas, build files.
    Data = 6,
}

impl Kind {
    /// The kind with this number.
    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Some(match byte {
            0 => Self::Skipped,
            1 => Self::Source,
            2 => Self::Test,
            3 => Self::Example,
            4 => Self::Vendored,
            5 => Self::Prose,
            6 => Self::Data,
            _ => return None,
        })
    }

    /// The kind of a file by its path alone.
    pub fn of_path(path: &str) -> Self {
        let lower = path.to_ascii_lowercase();
        let (folders, name) = lower.rsplit_once('/').unwrap_or(("", &lower));
        let by_name = by_name(name);
        if matches!(by_name, Self::Skipped | Self::Prose) {
            return by_name;
        }
        if by_name == Self::Source && names_test(name, path) {
            return Self::Test;
        }
        let mut kind = by_name;
        let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
        for folder in folders.split('/') {
            let other = match folder {
                "node_modules" | "bower_components" | "__pycache__" => return Self::Skipped,
                "vendor" | "vendored" | "third_party" | "third-party" | "3rdparty"
                | "thirdparty" | "external" | "extern" | "bundled" | "_vendor" | "dist"
                | "generated" | "autogen" => Self::Vendored,
                "test" | "tests" | "testing" | "spec" | "specs" | "__tests__" | "testdata"
                | "testsuite" | "testsuites" | "unittests" | "unittest" | "fixtures" | "e2e"
                | "t" | "autotests" | "functional_tests" | "integration-tests" => Self::Test,
                "example" | "examples" | "demo" | "demos" | "sample" | "samples" | "benchmark"
                | "benchmarks" | "bench" | "benches" => Self::Example,
                "doc" | "docs" | "documentation" | "man" if !is_source(extension) => Self::Prose,
                "doc" | "docs" | "documentation" => Self::Example,
                _ => continue,
            };
            let decides = kind == Self::Source || other == Self::Test;
            if other == Self::Prose || (by_name == Self::Source && decides) {
                kind = other;
            }
        }
        kind
    }

    /// The kind of a file whose text is there: of one that is binary, minified or generated, [`Kind::Skipped`].
    pub fn of(path: &str, text: &[u8]) -> Self {
        let kind = Self::of_path(path);
        if kind == Self::Skipped || text.len() as u64 > MAX_FILE_BYTES {
            return Self::Skipped;
        }
        let head = &text[..text.len().min(HEAD_BYTES)];
        let lines = || memchr::memchr_iter(b'\n', text).count();
        if head.contains(&0) || is_generated(head) || is_minified(text) || lines() > MAX_LINES {
            return Self::Skipped;
        }
        kind
    }
}

/// Whether a name is that of a test. The path as written tells `FooTest.java` from `latest.java`.
fn names_test(name: &str, path: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let written = path.rsplit('/').next().unwrap_or(path);
    let written = written.split('.').next().unwrap_or(written);
    stem.starts_with("test_")
        || stem.starts_with("tst_")
        || stem.ends_with("_test")
        || stem.ends_with("_tests")
        || stem.ends_with("_spec")
        || stem.ends_with("-test")
        || stem == "test"
        || stem == "tests"
        || stem == "conftest"
        || written.ends_with("Test")
        || written.ends_with("Tests")
        || written.ends_with("TestCase")
        || name.contains(".test.")
        || name.contains(".spec.")
}

/// The kind by the name of the file, in lower case.
fn by_name(name: &str) -> Kind {
    let stem = name.split('.').next().unwrap_or(name);
    if matches!(
        stem,
        "changelog"
            | "changes"
            | "news"
            | "history"
            | "readme"
            | "authors"
            | "copying"
            | "license"
            | "licence"
            | "todo"
            | "thanks"
            | "contributing"
            | "contributors"
            | "install"
            | "releases"
            | "release-notes"
    ) && !is_source(name.rsplit('.').next().unwrap_or(""))
    {
        return Kind::Prose;
    }
    let Some((_, extension)) = name.rsplit_once('.') else {
        return match name {
            "makefile" | "dockerfile" | "rakefile" | "gemfile" | "configure" | "jenkinsfile" => {
                Kind::Data
            }
            // A script without an extension is source; most other such files are told apart by their text.
            _ => Kind::Source,
        };
    };
    if name.contains(".min.")
        || name.ends_with(".pb.go")
        || name.contains("_pb2")
        || name.contains(".generated.")
    {
        return Kind::Skipped;
    }
    match extension {
        "lock" | "sum" | "svg" | "po" | "pot" | "gmo" | "mo" | "csv" | "tsv" | "map" | "pem"
        | "crt" | "key" | "asc" | "sig" | "png" | "jpg" | "jpeg" | "gif" | "ico" | "webp"
        | "pdf" | "zip" | "gz" | "bz2" | "xz" | "tar" | "jar" | "class" | "o" | "a" | "so"
        | "dll" | "exe" | "wasm" | "woff" | "woff2" | "ttf" | "otf" | "eot" | "mp3" | "mp4"
        | "ogg" | "wav" | "patch" | "diff" | "snap" | "log" | "out" | "expected" | "golden"
        | "ppm" | "bmp" | "tif" | "bin" | "dat" | "db" | "sqlite" | "pyc" | "ipynb" | "rej"
        | "orig" | "xlf" => Kind::Skipped,
        "md" | "markdown" | "rst" | "txt" | "adoc" | "asciidoc" | "textile" | "rdoc" | "org"
        | "tex" | "texi" | "html" | "htm" | "xhtml" | "1" | "3" | "5" | "8" | "pod" | "dox"
        | "docbook" => Kind::Prose,
        "json" | "yaml" | "yml" | "toml" | "ini" | "cfg" | "conf" | "xml" | "am" | "ac" | "m4"
        | "cmake" | "in" | "build" | "gradle" | "properties" | "plist" | "css" | "scss"
        | "less" | "sass" | "service" | "desktop" | "spec" | "mk" | "bazel" | "bzl" | "mod"
        | "xsd" | "wsdl" | "rc" | "ui" | "resx" | "csproj" | "sln" | "vcxproj" | "pro" | "pri"
        | "options" => Kind::Data,
        extension if is_source(extension) => Kind::Source,
        _ => Kind::Data,
    }
}

/// The ends of names of code, sorted.
const SOURCES: [&str; 98] = [
    "adb", "ads", "asm", "awk", "bash", "bat", "c", "cc", "cjs", "clj", "cljs", "coffee", "cpp",
    "cs", "cts", "cu", "cxx", "d", "dart", "el", "elm", "erl", "ex", "exs", "f", "f90", "fish",
    "fs", "fsx", "gd", "glsl", "go", "graphql", "groovy", "h", "hh", "hpp", "hrl", "hs", "hxx",
    "inc", "inl", "ipp", "java", "jl", "js", "jsx", "kt", "kts", "l", "lhs", "lisp", "ll", "lua",
    "m", "mjs", "ml", "mli", "mm", "mts", "nim", "pas", "php", "phtml", "pl", "pm", "proto", "ps1",
    "pxd", "py", "pyi", "pyx", "qml", "r", "rake", "rb", "rs", "s", "scala", "scm", "sh", "sol",
    "sql", "sv", "svelte", "swift", "t", "tcl", "ts", "tsx", "v", "vala", "vhd", "vue", "y", "yy",
    "zig", "zsh",
];

/// Whether an extension is certainly that of code.
fn is_source(extension: &str) -> bool {
    SOURCES.binary_search(&extension).is_ok()
}

/// Whether the head of a file says that a program wrote it.
fn is_generated(head: &[u8]) -> bool {
    let head = &head[..head.len().min(600)];
    ["Code generated by", "@generated", "DO NOT EDIT", "Do not edit", "autogenerated by", "Generated by the protocol buffer"]
        .iter()
        .any(|note| find(head, note.as_bytes()))
        // A program that writes such notes has them in its own text; there they are quoted.
        && !find(head, b"\"Code generated")
}

/// Whether the lines are too long to be written by hand.
fn is_minified(text: &[u8]) -> bool {
    if text.len() < 4_000 {
        return false;
    }
    let lines = text.iter().filter(|byte| **byte == b'\n').count() + 1;
    text.len() / lines > MAX_MEAN_LINE
}

/// Whether a needle occurs.
fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack
        .windows(needle.len())
        .any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::Kind;

    #[track_caller]
    fn check(path: &str, kind: Kind) {
        assert_eq!(Kind::of_path(path), kind, "{path}");
    }

    #[test]
    fn a_path_tells_the_kind() {
        check("src/main.rs", Kind::Source);
        check("src/latest.java", Kind::Source);
        check("src/LoginTest.java", Kind::Test);
        check("tests/login.py", Kind::Test);
        check("lib/test_login.py", Kind::Test);
        check("pkg/login_test.go", Kind::Test);
        check("app/login.spec.ts", Kind::Test);
        check("vendor/x/tests/a.go", Kind::Test);
        check("vendor/x/a.go", Kind::Vendored);
        check("examples/a.rs", Kind::Example);
        check("docs/index.md", Kind::Prose);
        check("ChangeLog", Kind::Prose);
        check("Cargo.lock", Kind::Skipped);
        check("config/app.yaml", Kind::Data);
        check("bin/run", Kind::Source);
    }

    #[test]
    fn a_text_tells_what_is_not_worth_reading() {
        assert_eq!(Kind::of("a.c", b"int\0"), Kind::Skipped);
        assert_eq!(
            Kind::of("a.go", b"// Code generated by x. DO NOT EDIT.\n"),
            Kind::Skipped
        );
        assert_eq!(Kind::of("a.js", &[b'x'; 5_000]), Kind::Skipped);
        assert_eq!(Kind::of("a.c", &[b'\n'; 500_000]), Kind::Skipped);
        assert_eq!(Kind::of("a.js", b"let x = 1;\n"), Kind::Source);
    }
}
