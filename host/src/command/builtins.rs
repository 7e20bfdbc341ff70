//! Words that a shell does itself: whoever writes one of them starts no program.

/// Reserved words and builtins of dash, bash, busybox, ksh and zsh. A word too many costs a question.
const OWN: &[&str] = &[
    "!",
    ".",
    ":",
    "[",
    "[[",
    "]]",
    "alias",
    "autoload",
    "bg",
    "bind",
    "bindkey",
    "break",
    "builtin",
    "bye",
    "caller",
    "case",
    "cd",
    "chdir",
    "command",
    "compctl",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disable",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "emulate",
    "enable",
    "end",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "float",
    "for",
    "foreach",
    "function",
    "functions",
    "getopts",
    "hash",
    "help",
    "hist",
    "history",
    "if",
    "in",
    "integer",
    "jobs",
    "kill",
    "let",
    "limit",
    "local",
    "logout",
    "mapfile",
    "nameref",
    "nocorrect",
    "noglob",
    "popd",
    "print",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "rehash",
    "repeat",
    "return",
    "sched",
    "select",
    "set",
    "setopt",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unfunction",
    "unhash",
    "unlimit",
    "unset",
    "unsetopt",
    "until",
    "wait",
    "whence",
    "where",
    "while",
    "zmodload",
    "{",
    "}",
];

/// Whether a shell does this itself.
pub(super) fn is_own(word: &str) -> bool {
    OWN.binary_search(&word).is_ok()
}

/// Reserved words behind which the next word is a command.
const BEFORE_COMMANDS: &[&str] = &[
    "!", "coproc", "do", "elif", "else", "if", "then", "time", "until", "while", "{", "}",
];

/// Builtins that run the command behind them.
const PREFIXES: &[&str] = &["builtin", "command", "exec", "nocorrect", "noglob"];

/// Whether what stands behind this word is a command of its own.
pub(super) fn is_before_command(word: &str) -> bool {
    BEFORE_COMMANDS.contains(&word) || PREFIXES.contains(&word)
}

/// Reserved words whose line names no command at all.
pub(super) fn is_header(word: &str) -> bool {
    matches!(
        word,
        "case" | "for" | "foreach" | "function" | "select" | "in" | "[["
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted() {
        assert!(OWN.is_sorted_by(|a, b| a < b));
    }
}
