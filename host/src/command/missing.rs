//! Programs that a command line needs and that are not there.

use super::{CommandError, Names, builtins, find, simple_words};
use crate::permission::Permissions;

impl Permissions {
    /// The programs that a line runs by name and that commands would not find, in the order of the line. What is not plain
    /// is left out: a name that is known only when the line runs, what a shell does itself, and all of a line that makes
    /// names of its own.
    ///
    /// Blocks for the file system.
    pub fn missing_programs(&self, line: &str) -> Vec<String> {
        missing(line, &|name| match Names::program(self, name) {
            Err(CommandError::NoProgram { .. } | CommandError::Program(_)) => false,
            Ok(_) | Err(_) => true,
        })
    }
}

fn missing(line: &str, is_there: &dyn Fn(&str) -> bool) -> Vec<String> {
    let names: Vec<String> = match simple_words(line) {
        Ok(words) => words.into_iter().take(1).collect(),
        Err(_) => names_in(line),
    };
    let mut missing: Vec<String> = Vec::new();
    for name in names {
        if !is_there(&name) && !missing.contains(&name) {
            missing.push(name);
        }
    }
    missing
}

/// The names of the commands of a line that is not simple.
fn names_in(line: &str) -> Vec<String> {
    let found = find::commands(line);
    let names = found.commands.into_iter();
    let names = names.filter_map(|words| words.into_iter().next().flatten());
    let names: Vec<String> = names.collect();
    // The patterns of a `case` look like commands, and a function or an alias is one, too.
    let makes_names =
        |name: &String| matches!(name.as_str(), "case" | "esac" | "alias" | "function");
    if found.is_incomplete || names.iter().any(makes_names) || line.contains("()") {
        return Vec::new();
    }
    // A path may be of another folder by then.
    let is_plain = |name: &String| {
        let is_usual = |c: char| c.is_ascii_alphanumeric() || "_-.+".contains(c);
        !name.starts_with('-') && name.chars().all(is_usual) && !builtins::is_own(name)
    };
    names.into_iter().filter(is_plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_lead_nowhere_are_found() {
        let check = |line: &str, expected: &[&str]| {
            let there = ["jq", "xargs", "sh", "grep", "sed", "./there.sh"];
            let found = missing(line, &|name| there.contains(&name));
            assert_eq!(found, expected, "{line}");
        };
        check("jq .", &[]);
        check("jqq .", &["jqq"]);
        check("./there.sh a", &[]);
        check("./gone.sh a", &["./gone.sh"]);
        check(
            "jqq -r '.files[]' | xargs -r rustfmt 2>&1 | jqq -Rs .",
            &["jqq"],
        );
        check("if grep -q x; then echo y; fi", &[]);
        check("if greep -q x; then eccho y; fi", &["greep", "eccho"]);
        check("for f in a b; do format $f; done", &["format"]);
        check("X=1 tool a; exec other", &["tool", "other"]);
        // What is not plain.
        check("cd scripts && ./gone.sh", &[]);
        check("$TOOL a | jq .", &[]);
        check("f() { jq .; }; f", &[]);
        check("case a in b) jq . ;; esac", &[]);
        check("alias f=jq; f .", &[]);
    }
}
