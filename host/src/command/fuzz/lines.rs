//! The lines that are tried: random ones, and those that were kept.

use proptest::prelude::*;

/// What may stand in front of a command.
const FRONTS: &[&str] = &[
    "CI=1 ",
    "CI=1  RUST_LOG=a,b=c ",
    "LC_ALL=C ",
    "RUST_LOG=a:b ",
    "RUST_LOG=a:~ ",
    "CI=$x ",
    "CI=$(p) ",
    "CI='1' ",
    "CI=\"a b\" ",
    "CI=* ",
    "CI= ",
    "CI+=1 ",
    "FOO=1 ",
    "PATH=. ",
    "cd sub && ",
    "cd ./sub && ",
    "cd sub; ",
    "cd .. && ",
    "cd - && ",
    "cd '' && ",
    "cd sub/../sub && ",
    "echo $? && ",
    "echo \"=== $? ===\"; ",
    "echo $?$(p); ",
    "true && ",
    "time ",
    "time -p ",
    "time  -p  CI=1 ",
    "time -- ",
    "time -pp ",
    "CI=1 time ",
    "time | ",
    "time time ",
    "'time' ",
    "a | time ",
];

/// Words that are patterns, or look like some.
const PATTERNS: &[&str] = &[
    "*", "?", "**", "*.b", "a*", "./*", "./?", "sub/*", "sub/a*", "*/a", "-*", "x*", ".*", "../*",
    "/*", "'*'", "*'a'", "\\*", "$?", "a$?", "\"$?\"", "'$?'", "$?*", "$$", "$1", "$#", "[a]", "[",
    "]",
];

/// Names of the probe: usual ones, and some that shells take for their own.
pub(super) const NAMES: &[&str] = &[
    "probe", "p", "a.b", "x_1", "g++", "a-b", "Z", "0", "7z", "..x", "a+", "cargo", "rm", "if",
    "then", "time", "do", "select", "function", "coproc", "echo", "test", "[", "[[", "true",
    "false", "pwd", "cd", "eval", "exec", "source", ".", ":", "set", "read", "trap", "local",
    "let", "type", "hash", "jobs", "kill", "wait", "fg", "printf", "export", "command", "builtin",
    "alias", "enable", "shopt", "mapfile", "compgen", "umask", "times", "getopts", "chdir", "help",
    "history", "fc", "dirs", "pushd", "popd", "declare", "typeset", "suspend", "logout", "bind",
    "complete", "caller", "disown", "ulimit", "unset", "shift", "return", "break", "continue",
    "exit", "readonly", "newgrp",
];

/// Pieces of lines: what is plain, what looks plain, and everything that means something.
const PIECES: &[&str] = &[
    "a",
    "Z",
    "0",
    "1",
    "2",
    "9",
    "-",
    "--",
    "_",
    ".",
    "/",
    ",",
    ":",
    "=",
    "+",
    "@",
    "%",
    "^",
    "~",
    "a~1",
    "HEAD~2",
    "x=y",
    "a=~",
    "a:~",
    "-f",
    "--flag=value",
    "é",
    "日本",
    "ß",
    "🦀",
    "\u{a0}",
    "\u{200b}",
    "\u{202e}",
    "\u{3000}",
    " ",
    "  ",
    "   ",
    "\t",
    "\n",
    "\r",
    "\u{7f}",
    "\u{1}",
    "'",
    "''",
    "'a b'",
    "'$x'",
    "'\\'",
    "'|;&'",
    "\"",
    "\"\"",
    "\"a b\"",
    "\"\\\"\"",
    "\"\\\\\"",
    "\"\\$x\"",
    "\"\\`\"",
    "\"\\n\"",
    "\"a'b\"",
    "'a\"b'",
    "\"$x\"",
    "\"$(p)\"",
    "\"!\"",
    "\"#\"",
    "\"*\"",
    "\"~\"",
    "\\",
    "\\ ",
    "\\n",
    "$",
    "$x",
    "${x}",
    "$(p)",
    "$((1))",
    "$'a'",
    "$\"a\"",
    "`p`",
    "|",
    "||",
    "&",
    "&&",
    ";",
    ";;",
    "(",
    ")",
    "{",
    "}",
    "{a,b}",
    "{1..3}",
    "*",
    "?",
    "[a]",
    "[",
    "]",
    "!",
    "#",
    "#c",
    "<",
    ">",
    ">>",
    ">&1",
    "2>&1",
    "1>&2",
    ">&2",
    ">&-",
    "2>",
    ">/dev/null",
    "> /dev/null",
    "2>/dev/null",
    "2> /dev/null",
    ">>/dev/null",
    "</dev/null",
    "0</dev/null",
    "< /dev/null",
    "&>/dev/null",
    "3>/dev/null",
    "12>&1",
    ">|/dev/null",
    "<>/dev/null",
    "/dev/null",
    ">f",
    "<<E",
    "<<<a",
    "<(p)",
    ">(p)",
    "%1",
    "p",
];

/// How simple commands may end.
const ENDS: &[&str] = &[
    ">/dev/null",
    "2>/dev/null",
    "2>&1",
    "> /dev/null 2>&1",
    "</dev/null",
    ">&2",
    " ",
];

/// Any pieces, one after the other.
pub fn any_line() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(PIECES), 0..8).prop_map(|pieces| pieces.concat())
}

/// A command with words of any pieces, as it is mostly simple but for one or two of them.
pub(super) fn command() -> impl Strategy<Value = String> {
    command_of(NAMES, 0.4)
}

/// `disturbed`: how likely something stands in it that does not belong there.
fn command_of(names: &'static [&'static str], disturbed: f64) -> impl Strategy<Value = String> {
    let plain = prop::sample::select(&PIECES[..27]);
    let piece = prop_oneof![
        5 => plain.prop_map(str::to_owned),
        2 => "[ -&(-~]{0,6}".prop_map(|text| format!("'{text}'")),
        2 => "([ -!#%-\\[\\]-_a-~]|\\\\[\"$`\\\\na!]){0,6}".prop_map(|text| format!("\"{text}\"")),
        1 => "\\PC{0,3}".prop_map(|text| format!("'{}'", text.replace('\'', ""))),
    ];
    let word = prop::collection::vec(piece, 1..4).prop_map(|pieces| pieces.concat());
    let pattern = prop::sample::select(PATTERNS).prop_map(str::to_owned);
    let word = prop_oneof![8 => word, 1 => pattern];
    let front = prop::option::weighted(0.15, prop::sample::select(FRONTS));
    let words = prop::collection::vec(word, 0..4);
    let end = prop::collection::vec(prop::sample::select(ENDS), 0..2);
    let disturbance = prop::option::weighted(
        disturbed,
        (prop::sample::select(PIECES), any::<prop::sample::Index>()),
    );
    (front, prop::sample::select(names), words, end, disturbance).prop_map(
        |(front, name, words, end, disturbance)| {
            let mut line = front.unwrap_or_default().to_owned();
            line.push_str(name);
            for part in words.iter().map(String::as_str).chain(end) {
                line.push(' ');
                line.push_str(part);
            }
            if let Some((piece, at)) = disturbance {
                let at = line.floor_char_boundary(at.index(line.len() + 1));
                line.insert_str(at, piece);
            }
            line
        },
    )
}

/// Several commands with something between them that often separates two.
pub(super) fn chain() -> impl Strategy<Value = String> {
    let between = prop::sample::select(
        &[
            "|", " | ", " || ", "||", " && ", "&&", "; ", ";", " ; ", "&", "|&", ";;", " & ", "\n",
        ][..],
    );
    // Most of the other names are the shell's.
    let command = command_of(&NAMES[..13], 0.1);
    prop::collection::vec((command, between), 2..4).prop_map(|all| {
        let mut line: String = all
            .into_iter()
            .flat_map(|(c, b)| [c, b.to_owned()])
            .collect();
        // Mostly it does not end with what was put between.
        let end = line.trim_end_matches(['|', '&', ';', ' ', '\n']).len();
        line.truncate(end);
        line
    })
}

/// Lines at the edges of what is read, kept for good.
pub(super) const KEPT: &[&str] = &[
    "probe",
    "  probe  a   b  ",
    "probe 'a b' \"c d\" e'f'\"g\"",
    "probe '' \"\"",
    "probe 'it'\\''s'",
    "probe \"a\\\"b\\\\c\\$d\\`e\\nf\\!\"",
    "probe '\\' \"'\" '\"'",
    "probe '$x `p` $(p) *' \"!#*?~{a,b}\"",
    "probe HEAD~1 HEAD^ a@b stash@0 x=y --f=~ a=b:c",
    "probe HEAD^~2 v1.0~~",
    "probe a=~",
    "probe a:~",
    "probe ''~",
    "probe 2 >/dev/null",
    "probe 2>/dev/null",
    "probe 2>/dev/null 3",
    "probe 2 2>&1",
    "probe a2>&1",
    "probe 12>&1",
    "probe >/dev/null2",
    "probe >/dev/null/",
    "probe >&12",
    "probe >&1 >&2 </dev/null",
    "probe 0</dev/null",
    "probe '2'>/dev/null",
    "probe %1",
    "%1 probe",
    "probe a#b",
    "probe '#'",
    "probe é",
    "probe 'é日🦀'",
    "probe \"é\\\\\"",
    "probe --",
    "probe -",
    "7z a",
    "0 >/dev/null",
    "probe\u{a0}a",
    "\"probe\" a",
    "pro'be' a",
    "if probe",
    "time probe",
    "probe {",
    "probe }",
    "probe !",
    "probe ]",
    "probe a,b {a,b}",
    "probe a|p b",
    "probe a | p b | Z c",
    "probe a && p b || Z c | 7z d && x_1 e; g++ f",
    "probe 'a|b;c&&d' ; p \"||\"",
    "probe 2>&1|p",
    "probe 2>&1 | p",
    "probe >/dev/null;p",
    "probe 2>/dev/null||p",
    "probe |& p",
    "probe || | p",
    "probe ;; p",
    "probe &",
    "probe & p",
    "probe;",
    "probe |",
    "| probe",
    "probe a~|p",
    "probe ~|p",
    "probe|~1",
    "probe;p=1 Z",
    "probe && { p; }",
    "probe | ! p",
    "probe; if p",
    "probe 2|p",
    "A=\"./x\" probe",
    "A='b/c' probe | p",
    "probe a;2>/dev/null p",
    "CI=1 probe a",
    "CI=1 CI=2 LC_ALL=C probe | RUST_LOG=a p",
    "CI=1; probe",
    "CI=1 >/dev/null probe",
    "CI='1' probe",
    "CI=1 'a' probe",
    "probe CI=1",
    "cd sub && probe a* | p && Z ./*",
    "cd sub && CI=1 probe 2>&1; p || Z",
    "cd ./sub && probe",
    "cd sub probe",
    "CI=1 cd sub && probe",
    "echo $? && probe $? \"a$?b\"$?",
    "echo \"=== done $? ===\"; probe",
    "true || probe | p; Z",
    "probe * ? *.b ./* sub/* sub/.* a*",
    "probe a*b*c x*=? -* --a=*",
    "probe sub/* */a ./*/*",
    "probe a*~",
    "probe '*' \"?\" a'*'",
    "* probe",
    "CI=* probe",
    "[ -f a ] && probe",
    "[ -f a ]&& probe",
    "probe [ a ]",
    "probe $?? $?*",
    "time probe a",
    "time -p probe a | p",
    "probe && time p 2>&1 | Z; time -p x_1",
    "probe | time p",
    "time CI=1 probe",
    "CI=1 time probe",
    "time 'probe'",
    "time",
    "time -p",
    "time | p",
    "time; p",
    "time echo a",
    "time time p",
    "time -p -p p",
    "time if p",
];
