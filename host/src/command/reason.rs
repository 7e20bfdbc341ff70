//! Why a line is asked about, and for how long a yes to it may hold: one sentence with the question, all of it in its details.

use super::parts::MAX_PARTS;
use super::{CommandLine, LineCommand, NotSimple, pieces};
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
    if command.target.only_once {
        let because = command.compound.as_ref();
        let because = because.map_or_else(String::new, |why| format!(" ({why})"));
        return Some(format!(
            "Not all that it runs and reads is known beforehand{because}: a yes holds only once."
        ));
    }
    let because = match &command.compound {
        _ if is_storable => return None,
        None => match may_be_code(command) {
            true => "as a word in it may be code".to_owned(),
            false => "as it is too long or too unusual".to_owned(),
        },
        Some(NotSimple::Builtin(word)) => format!("as {word} is a shell builtin"),
        Some(why) => {
            let commands = command.commands.iter();
            let in_the_way: Vec<_> = commands.filter(|it| it.target.is_none()).collect();
            match (command.commands.len(), in_the_way.as_slice()) {
                (0, _) => format!("because of {why}"),
                (_, []) => format!("as it has more than {MAX_PARTS} commands"),
                (_, in_the_way) => format!("because of {}", listed(&names(in_the_way))),
            }
        }
    };
    Some(format!(
        "Can't be stored {because}; s allows exactly this line."
    ))
}

/// The same with the way out. `longest`: the longest that a yes may hold, for whatever reason. `None`: there is nothing to
/// say.
pub(super) fn long(command: &CommandLine, longest: Scope) -> Option<String> {
    const ONLY_ONCE: &str =
        "Not all that it runs and reads is known before it runs, so a yes holds only once.";
    if command.target.only_once {
        return Some(match &command.compound {
            Some(why) => format!("{}. {ONLY_ONCE}", why.label()),
            None => ONLY_ONCE.to_owned(),
        });
    }
    if longest == Scope::Once {
        let is_for_network = command.network && command.longest(true) > Scope::Once;
        return is_for_network.then(|| {
            "network = true below [commands] in your configuration gives network access to all commands."
                .to_owned()
        });
    }
    let Some(why) = &command.compound else {
        return (!command.target.is_storable).then(|| {
            match may_be_code(command) {
                true => {
                    "A word with spaces or special characters may be code, which Dunlin does not read: s allows \
                     exactly this line until the session ends. It can't be allowed permanently."
                }
                false => {
                    "This line is too long or too unusual to be stored: it can be allowed for this session, not \
                     permanently."
                }
            }
            .to_owned()
        });
    };
    let label = why.label();
    Some(match why {
        _ if !command.target.parts.is_empty() => {
            let commands = match command.target.parts.len() {
                1 => "its command",
                _ => "each of its commands",
            };
            format!("{label}: s allows exactly this line, always {commands}.")
        }
        NotSimple::Builtin(word) => format!(
            "The shell carries out {word} itself, so a permanent yes would name no program: s allows exactly \
             this line until the session ends."
        ),
        NotSimple::Expansion(_) => format!(
            "{label}: s allows exactly this line until the session ends. It can't be allowed permanently; \
             the same command with everything written out can."
        ),
        NotSimple::OpenQuote => format!(
            "{label}: s allows exactly this line until the session ends. It can't be allowed permanently."
        ),
        NotSimple::Construct(_) | NotSimple::Unseen(_) => format!(
            "{label}: s allows exactly this line until the session ends. It can't be allowed \
             permanently; single commands can, so have the model run them one by one."
        ),
    })
}

fn may_be_code(command: &CommandLine) -> bool {
    pieces::may_be_code(command.target.subject.get(1..).unwrap_or_default())
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
