//! Variables that a line may set for a command, since they decide nothing about what the command runs, loads or reads.
//!
//! An allow-list of names, each with the values that are known to be harmless. Whatever is missing makes the line one of its
//! own: `PYTHONPATH`, `NODE_OPTIONS` or `RUSTFLAGS` name code, `GOOS` names a program that `go test` starts, `PYTHONWARNINGS`
//! names modules. A variable also is one of the Makefile's, so no value has a character that means something to make.

/// What a variable may be set to. None is empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Values {
    /// A name or a number.
    Name,
    /// Digits.
    Number,
    /// Names with levels, between `,`, `=`, `:` and `::`.
    Filter,
    /// A locale whose encoding is UTF-8, or ASCII: in another one the shell may read the line otherwise than Dunlin.
    Locale,
    /// A time zone by its name: no file that a path or a `:` names.
    Zone,
    /// Exactly this.
    Only(&'static str),
}

const HARMLESS: &[(&str, Values)] = &[
    // Colours, and how wide and how clever the terminal is. A name of a terminal is looked up among those of the system and
    // of the user.
    ("CARGO_TERM_COLOR", Values::Name),
    ("CLICOLOR", Values::Number),
    ("CLICOLOR_FORCE", Values::Number),
    ("COLUMNS", Values::Number),
    ("FORCE_COLOR", Values::Name),
    ("LINES", Values::Number),
    ("NO_COLOR", Values::Name),
    ("PY_COLORS", Values::Number),
    ("TERM", Values::Name),
    // What commands are told anyway.
    ("GIT_PAGER", Values::Only("cat")),
    ("GIT_TERMINAL_PROMPT", Values::Only("0")),
    ("PAGER", Values::Only("cat")),
    // The order of letters, the language of messages, the local time.
    ("LANG", Values::Locale),
    ("LC_ALL", Values::Locale),
    ("TZ", Values::Zone),
    // That nobody sits at a terminal.
    ("CI", Values::Name),
    // Which settings of its own a project uses.
    ("NODE_ENV", Values::Name),
    // What is printed about an error, and what is logged.
    ("RUST_BACKTRACE", Values::Name),
    ("RUST_LIB_BACKTRACE", Values::Name),
    ("RUST_LOG", Values::Filter),
    // How many tests run side by side, whether what they print is shown, whether a build keeps its steps, and that it does
    // without the network.
    ("CARGO_INCREMENTAL", Values::Number),
    ("CARGO_NET_OFFLINE", Values::Only("true")),
    ("RUST_TEST_NOCAPTURE", Values::Number),
    ("RUST_TEST_THREADS", Values::Number),
    // That Python prints at once, writes no compiled files, and mixes its hashes in this way.
    ("PYTHONDONTWRITEBYTECODE", Values::Number),
    ("PYTHONHASHSEED", Values::Number),
    ("PYTHONUNBUFFERED", Values::Number),
    // That `git status` leaves the index alone.
    ("GIT_OPTIONAL_LOCKS", Values::Only("0")),
];

/// The name and the value of a word that sets a variable in a harmless way. The word is as it is written, so a quote in it
/// makes it another one.
pub(super) fn harmless(written: &str) -> Option<(String, String)> {
    let (name, value) = written.split_once('=')?;
    let (_, values) = HARMLESS.iter().find(|(known, _)| *known == name)?;
    is_harmless(*values, value).then(|| (name.to_owned(), value.to_owned()))
}

fn is_harmless(values: Values, value: &str) -> bool {
    let is_of = |text: &str, others: &str| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || others.contains(c);
        !text.is_empty() && text.chars().all(is_usual)
    };
    match values {
        Values::Name => is_of(value, "_-"),
        Values::Number => value.chars().all(|c| c.is_ascii_digit()) && !value.is_empty(),
        Values::Filter => is_of(value, "_-,=:"),
        Values::Locale => match value.split_once('.') {
            Some((locale, encoding)) => {
                is_of(locale, "_")
                    && ["UTF-8", "utf8"]
                        .iter()
                        .any(|it| encoding.eq_ignore_ascii_case(it))
            }
            None => matches!(value, "C" | "POSIX"),
        },
        Values::Zone => value.split('/').all(|part| is_of(part, "_+-")),
        Values::Only(only) => value == only,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_listed_variables_with_plain_values_are_harmless() {
        for word in [
            "RUST_BACKTRACE=1",
            "RUST_BACKTRACE=full",
            "RUST_LOG=debug",
            "RUST_LOG=warn,dunlin_host::command=trace",
            "CI=true",
            "NO_COLOR=1",
            "TERM=xterm-256color",
            "LC_ALL=C",
            "LANG=C.UTF-8",
            "LANG=en_US.utf8",
            "TZ=UTC",
            "TZ=Europe/Berlin",
            "NODE_ENV=test",
            "PAGER=cat",
            "GIT_PAGER=cat",
            "COLUMNS=200",
        ] {
            let pair = word
                .split_once('=')
                .map(|(a, b)| (a.to_owned(), b.to_owned()));
            assert_eq!(harmless(word), pair, "{word}");
        }
        for word in [
            // Names of code, of programs, and of places with settings.
            "PATH=.",
            "LD_PRELOAD=x",
            "LD_LIBRARY_PATH=x",
            "PYTHONPATH=src",
            "PYTHONWARNINGS=x",
            "PYTEST_ADDOPTS=x",
            "NODE_OPTIONS=x",
            "NODE_PATH=x",
            "RUSTFLAGS=x",
            "RUSTC_WRAPPER=x",
            "CARGO_HOME=x",
            "GOFLAGS=x",
            "GOOS=js",
            "CC=x",
            "MAKEFLAGS=x",
            "npm_config_script_shell=x",
            "GIT_DIR=x",
            "GIT_CONFIG_COUNT=1",
            "GIT_EXTERNAL_DIFF=x",
            "GIT_SSH=x",
            "BASH_ENV=x",
            "ENV=x",
            "IFS=x",
            "PS4=x",
            "CDPATH=x",
            "HOME=x",
            "TMPDIR=x",
            "TERMINFO=x",
            "TZDIR=x",
            "LANGUAGE=x",
            "LC_CTYPE=C",
            "LOCPATH=x",
            "EDITOR=x",
            "GREP_OPTIONS=x",
            // Values that are more than what is listed.
            "PAGER=./x",
            "GIT_PAGER=less",
            "PAGER=",
            "CI=",
            "CI=a/b",
            "CI=a.b",
            "CI=a=b",
            "CI=é",
            "NODE_ENV=../x",
            "TERM=../x",
            "TERM=a/b",
            "TZ=:x",
            "TZ=/etc/x",
            "TZ=../x",
            "TZ=a//b",
            "TZ=a.b",
            "LANG=zh_CN.GBK",
            "LANG=de_DE",
            "LANG=../x.UTF-8",
            "LC_ALL=zh_CN.Big5",
            "LC_ALL=",
            "RUST_LOG=a/b",
            "RUST_LOG=a b",
            "RUST_LOG='a'",
            "RUST_LOG=\"a\"",
            "RUST_LOG=$x",
            "RUST_LOG=$(x)",
            "RUST_LOG=`x`",
            "RUST_LOG=~",
            "RUST_LOG=a:~",
            "RUST_LOG=*",
            "RUST_LOG+=a",
            "RUST_LOG[0]=a",
            "'CI'=1",
            "CI",
            "=",
            "=CI",
            "",
        ] {
            assert_eq!(harmless(word), None, "{word}");
        }
    }
}
