//! Why a line is asked about, and for how long a yes to it may hold: one sentence with the question, all of it in its details.

use super::parts::MAX_PARTS;
use super::{CommandLine, LineCommand, NotSimple, NotStorable};
use crate::ask::Scope;
use crate::display::listed;
use crate::target::CommandTarget;

/// What of the line is the reason, where that is not all of it. `None`: there is nothing to say.
pub(super) fn short(
    command: &CommandLine,
    is_allowed: &dyn Fn(&CommandTarget) -> bool,
) -> Option<String> {
    let is_allowed = |it: &&LineCommand| it.target.as_deref().is_some_and(is_allowed);
    let (allowed, asked): (Vec<&LineCommand>, _) = command.commands.iter().partition(is_allowed);
    let is_storable = command.longest(true) == Scope::Always;
    if is_storable && !allowed.is_empty() && !asked.is_empty() {
        let are = if names(&allowed).len() == 1 {
            "is"
        } else {
            "are"
        };
        let (asked, allowed) = (listed(&names(&asked)), listed(&names(&allowed)));
        return Some(format!(
            "Because of {asked}; {allowed} {are} allowed already."
        ));
    }
    if is_storable {
        return None;
    }
    if command.target.only_once {
        return Some(match known_reason(command) {
            Some(not_storable) => format!("A yes holds only once, as {not_storable}."),
            None => {
                let because = command.compound.as_ref();
                let because = because.map_or_else(String::new, |why| format!(" ({why})"));
                format!(
                    "Not all that it runs and reads is known beforehand{because}: a yes holds only once."
                )
            }
        });
    }
    let because = because(command)?;
    Some(format!(
        "Can't be stored {because}; s allows exactly this line."
    ))
}

/// Why a permanent yes cannot be stored: `because of git push`, `as a word in it may be code`. `None`: it can be.
pub(super) fn because(command: &CommandLine) -> Option<String> {
    let commands = command.commands.iter();
    let not_storable: Vec<_> = commands.filter(|it| it.target.is_none()).collect();
    Some(match (&command.compound, &command.target.not_storable) {
        (Some(NotSimple::Builtin(word)), None | Some(NotStorable::NoProgram)) => {
            format!("as {word} is a shell builtin")
        }
        (_, Some(not_storable)) => format!("as {not_storable}"),
        (None, None) => return None,
        (Some(_), None) if !command.target.parts.is_empty() => return None,
        (Some(_), None) if !not_storable.is_empty() => {
            format!("because of {}", listed(&names(&not_storable)))
        }
        (Some(_), None) if command.commands.len() > MAX_PARTS => {
            format!("as it has more than {MAX_PARTS} commands")
        }
        (Some(why), None) => format!("because of {why}"),
    })
}

/// Why a yes holds only once, if that is known.
fn known_reason(command: &CommandLine) -> Option<&NotStorable> {
    let not_storable = command.target.not_storable.as_ref();
    not_storable.filter(|it| **it != NotStorable::Unknown)
}

/// The same with the way out. `longest`: the longest that a yes may hold, for whatever reason. `None`: there is nothing to
/// say.
pub(super) fn long(command: &CommandLine, longest: Scope) -> Option<String> {
    const ONLY_ONCE: &str =
        "Not all that it runs and reads is known before it runs, so a yes holds only once.";
    if command.is_read_only {
        return Some(
            "In plan mode commands run where nothing can be changed, so a yes says nothing about later ones: it holds only \
             once."
                .to_owned(),
        );
    }
    if command.target.only_once {
        return Some(match (known_reason(command), &command.compound) {
            (Some(not_storable), _) => {
                format!("A yes to this line holds only once, as {not_storable}.")
            }
            (None, Some(why)) => format!("{}. {ONLY_ONCE}", why.label()),
            (None, None) => ONLY_ONCE.to_owned(),
        });
    }
    if longest == Scope::Once {
        let is_for_network = command.network && command.longest(true) > Scope::Once;
        return is_for_network.then(|| {
            "network = true below [commands] in your configuration gives network access to all commands."
                .to_owned()
        });
    }
    if let (Some(why), false) = (&command.compound, command.target.parts.is_empty()) {
        let commands = match command.target.parts.len() {
            1 => "its command",
            _ => "each of its commands",
        };
        let label = why.label();
        return Some(format!(
            "{label}: s allows exactly this line, always {commands}."
        ));
    }
    let because = because(command)?;
    const EXACTLY: &str = "s allows exactly this line until the session ends";
    let label = command.compound.as_ref().map(NotSimple::label);
    let label = label.unwrap_or_default();
    Some(match (&command.compound, &command.target.not_storable) {
        (Some(NotSimple::Builtin(word)), _) => format!(
            "The shell carries out {word} itself, so a permanent yes would name no program: {EXACTLY}."
        ),
        (_, Some(NotStorable::Code)) => format!(
            "A word with spaces or special characters may be code, which Dunlin does not read: {EXACTLY}. It can't be \
             allowed permanently."
        ),
        (None, _) | (_, Some(_)) => {
            format!("This line can't be allowed permanently, {because}: {EXACTLY}.")
        }
        (Some(NotSimple::Expansion(_)), _) => format!(
            "{label}: {EXACTLY}. It can't be allowed permanently; the same command with everything written out can."
        ),
        (Some(NotSimple::OpenQuote), _) => {
            format!("{label}: {EXACTLY}. It can't be allowed permanently.")
        }
        (Some(NotSimple::Construct(_) | NotSimple::Unseen(_)), _) => format!(
            "{label}: {EXACTLY}. It can't be allowed permanently {because}; single commands can, so have the model run \
             them one by one."
        ),
    })
}

/// Each name once.
fn names(commands: &[&LineCommand]) -> Vec<String> {
    let mut names = Vec::new();
    for command in commands {
        if !names.contains(&command.name) {
            names.push(command.name.clone());
        }
    }
    names
}
