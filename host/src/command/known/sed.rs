//! What the scripts of `sed` do: one command of it runs programs, others write files.

/// `sed` that only prints: `sed -n 10,20p file`.
pub(super) fn reads_only(arguments: &[String]) -> bool {
    sed_command(arguments, &["-n", "-E", "-r", "-s"]).is_some_and(only_prints)
}

/// Whether it only replaces text, or deletes or prints lines. Its command `e` would run what the files hold.
pub(super) fn replaces_only(arguments: &[String]) -> bool {
    let command = sed_command(arguments, &["-i", "-n", "-E", "-r", "-s", "-z"]);
    command.is_some_and(|command| only_prints(command) || is_substitution(command))
}

/// The only command in the script of a `sed` that has none but these options, without the lines that it is for.
fn sed_command<'a>(arguments: &'a [String], options: &[&str]) -> Option<&'a str> {
    let mut words = arguments.iter().map(String::as_str);
    let mut script = None;
    while let Some(word) = words.next() {
        match word {
            word if options.contains(&word) => {}
            "-e" if script.is_none() => script = words.next(),
            word if word.starts_with('-') => return None,
            word if script.is_none() => script = Some(word),
            _ => {}
        }
    }
    Some(script?.trim_start_matches(|c: char| c.is_ascii_digit() || ",$".contains(c)))
}

fn only_prints(command: &str) -> bool {
    matches!(command, "p" | "d" | "q" | "=")
}

/// Whether a command of sed is one substitution whose flags neither run nor write anything.
fn is_substitution(command: &str) -> bool {
    let mut characters = command.chars();
    let (Some('s'), Some(delimiter)) = (characters.next(), characters.next()) else {
        return false;
    };
    if !delimiter.is_ascii_punctuation() || delimiter == '\\' || command.contains('\n') {
        return false;
    }
    let mut parts = 0;
    let mut is_escaped = false;
    for c in characters.by_ref() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            c if c == delimiter => parts += 1,
            _ => {}
        }
        if parts == 2 {
            break;
        }
    }
    parts == 2 && characters.all(|c| c.is_ascii_digit() || "gpiI".contains(c))
}
