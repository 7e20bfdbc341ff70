//! Marks lines that obviously destroy something, for the user's eyes.
//!
//! This is a help for reading, not a protection: nothing is allowed because it is not found here.

use super::find;

/// What a command with certain words does, and why that deserves a second look.
struct Danger {
    program: &'static str,
    /// Words that all have to stand in the command; a `|` parts alternatives.
    words: &'static [&'static str],
    why: &'static str,
}

const DANGERS: &[Danger] = &[
    Danger {
        program: "rm",
        words: &["-r|-R|--recursive", "-f|--force"],
        why: "rm -rf removes whole folders without asking",
    },
    Danger {
        program: "git",
        words: &["push", "-f|--force|--force-with-lease|--mirror"],
        why: "git push --force overwrites what others pushed",
    },
    Danger {
        program: "git",
        words: &["reset", "--hard"],
        why: "git reset --hard discards changes that are not committed",
    },
    Danger {
        program: "git",
        words: &["clean", "-f|--force"],
        why: "git clean -f removes files that git does not track",
    },
    Danger {
        program: "dd",
        words: &["of="],
        why: "dd of= overwrites its target from the beginning",
    },
    Danger {
        program: "chmod",
        words: &["-R|--recursive"],
        why: "chmod -R changes the permissions of everything below a folder",
    },
    Danger {
        program: "chown",
        words: &["-R|--recursive"],
        why: "chown -R changes the owner of everything below a folder",
    },
];

/// Programs that carry out a line which is one of their words.
const SHELLS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "eval", "ssh", "su",
];

/// Lines handed to a shell, within one another, that are looked into.
const MAX_DEPTH: usize = 4;

/// The shape of a function that calls itself twice, piped and in the background.
const FORK_BOMB: &str =
    "This looks like a fork bomb: a function that starts itself again and again.";

/// Why a line deserves a second look, a sentence each.
pub(super) fn dangers(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    mark(line, 0, &mut found);
    let dense: String = line.chars().filter(|c| !c.is_whitespace()).collect();
    if let Some((name, body)) = dense.split_once("(){")
        && let Some(name) = name
            .rsplit([';', '&', '|'])
            .next()
            .filter(|name| !name.is_empty())
        && body.contains(&format!("{name}|{name}&"))
    {
        found.push(FORK_BOMB.to_owned());
    }
    found
}

/// Marks the commands of a line, and those of lines that it hands to a shell.
fn mark(line: &str, depth: usize, found: &mut Vec<String>) {
    for command in find::commands(line).commands {
        let words: Vec<&str> = command.iter().flatten().map(String::as_str).collect();
        for danger in DANGERS {
            let Some(at) = words.iter().position(|word| is(word, danger.program)) else {
                continue;
            };
            let rest = words.get(at + 1..).unwrap_or_default();
            let has_all = danger.words.iter().all(|wanted| {
                let mut alternatives = wanted.split('|');
                alternatives.any(|wanted| rest.iter().any(|word| says(word, wanted)))
            });
            let why = format!("Careful: {}.", danger.why);
            if has_all && !found.contains(&why) {
                found.push(why);
            }
        }
        let shell = words
            .iter()
            .position(|word| SHELLS.iter().any(|shell| is(word, shell)));
        if let Some(at) = shell.filter(|_| depth < MAX_DEPTH) {
            let lines = words.get(at + 1..).unwrap_or_default();
            let lines = lines.iter().filter(|word| word.contains(' '));
            lines.for_each(|line| mark(line, depth + 1, found));
        }
    }
}

/// Whether a word is this program, by its name or by a path.
fn is(word: &str, program: &str) -> bool {
    word.rsplit('/').next() == Some(program)
}

/// Whether a word says it: the same word, one that begins so (`of=`), or a cluster with the letter (`-rf`).
fn says(word: &str, wanted: &str) -> bool {
    let letter = wanted
        .strip_prefix('-')
        .filter(|letter| letter.len() == 1 && !letter.starts_with('-'));
    let is_cluster = word.starts_with('-') && !word.starts_with("--");
    word == wanted
        || (wanted.ends_with('=') && word.starts_with(wanted))
        || letter.is_some_and(|letter| is_cluster && word.contains(letter))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn obvious_dangers_are_marked() {
        for (line, why) in [
            ("rm -rf build", "rm -rf removes"),
            ("rm -r -f build", "rm -rf removes"),
            ("cd x && /bin/rm -fR .", "rm -rf removes"),
            ("rm --recursive --force x", "rm -rf removes"),
            ("git push --force", "git push --force"),
            ("git push -f origin main", "git push --force"),
            ("git reset --hard HEAD~1", "git reset --hard"),
            ("git clean -fdx", "git clean -f"),
            ("dd if=/dev/zero of=disk.img", "dd of="),
            ("chmod -R 777 .", "chmod -R"),
            ("sudo chown -R me .", "chown -R"),
            ("git commit -m 'x' && rm \"-rf\" build", "rm -rf removes"),
            ("sh -c 'rm -rf build'", "rm -rf removes"),
            ("bash -c \"sh -c 'git reset --hard'\"", "git reset --hard"),
            ("echo $(rm -rf build)", "rm -rf removes"),
            (":(){ :|:& };:", "fork bomb"),
            ("bomb() { bomb | bomb & }; bomb", "fork bomb"),
        ] {
            let found = dangers(line);
            assert_eq!(found.len(), 1, "{line}: {found:?}");
            assert!(found[0].contains(why), "{line}: {found:?}");
        }
        for line in [
            "rm a.txt",
            "rm -r build",
            "git push",
            "git push origin feature-f",
            "dd --help",
            "chmod 644 -- a",
            "echo rm -x",
            "echo 'rm -rf build'",
            "git commit -m \"never use git push --force; or rm -rf\"",
            "grep -r \"chmod -R\" docs # rm -rf",
            "f() { g | g & }; f",
            "",
            "(){",
            "|&;`(",
        ] {
            assert_eq!(dangers(line), [""; 0], "{line}");
        }
    }
}
