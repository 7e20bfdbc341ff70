//! What an answer stores, and the command that takes it back: said before the answer and after it.

use dunlin_host::ask::{Answer, Origin, Question, Scope};
use dunlin_host::display::{escape, shell_word};
use dunlin_host::permission::key::Decided;
use dunlin_host::permission::{Revert, WayOut};
use dunlin_host::target::{CommandKey, CommandTarget, Need, Operation, Target};

/// How many targets of one answer are named before and after it.
const MAX_NAMED: usize = 5;

/// What a lasting yes to sending means.
const SENDS: &str = "the plugin may send anything to it; you no longer see what";

/// What a yes to reading whatever a server has, or a lasting one to any of it, means.
pub(super) const READS: &str = "with any query and headers";

/// Where the answers of the session are taken back.
const FORGET: &str = "/permissions forget";

/// How the label of a command begins that takes back what would be stored.
pub(super) const UNDO: &str = "undo";

/// How a key begins that is exactly one command line.
const LINE: &str = "= ";

/// Stands in the place of a command whose target cannot be typed.
pub const SHOWS_KEY: &str = "dunlin permissions list shows the key";

/// What a permanent yes to a question stores, a label and an escaped text for each row: what stands with the question itself.
pub fn always(question: &Question) -> Vec<(&'static str, String)> {
    let (commands, others): (Vec<&Need>, Vec<&Need>) = question
        .needs
        .iter()
        .partition(|need| need.target.command().is_some());
    let command = |need: &&Need| Some(("always", allowed(need, &question.lasting)?));
    let mut rows: Vec<_> = commands.iter().filter_map(command).collect();
    rows.extend(covered(&others));
    more(&mut rows, "v shows them");
    if !others.is_empty() {
        let of_app = of_app(&question.tool);
        let place = place_of(&others, commands.is_empty());
        rows.push(("always", format!("{place}{of_app}")));
    }
    rows
}

/// What a lasting yes to these needs covers beyond what the question shows, a row for each.
fn covered(others: &[&Need]) -> Vec<(&'static str, String)> {
    let row = |need: &&Need| {
        let covers = covers(need)?;
        let text = match others.len() {
            1 => covers.to_owned(),
            _ => format!("{}: {covers}", named(need)),
        };
        Some(("s, always", text))
    };
    others.iter().filter_map(row).collect()
}

/// Where an answer to these needs holds, which are no commands. `all`: whether there are no others.
fn place_of(others: &[&Need], all: bool) -> &'static str {
    match (others.len(), all) {
        (0 | 1, true) => "in all projects",
        (_, true) => "all of these, in all projects",
        (_, false) => "the rest, in all projects",
    }
}

/// For whom a permanent yes to this tool or app is, where that is not the tool. Escaped.
fn of_app(tool: &str) -> String {
    let app = app(tool).map(|app| format!(", only for this version of {}", escape(app)));
    app.unwrap_or_default()
}

/// What `never` denies beyond what the question shows, a label and an escaped text for each row: nothing else in the question
/// says that more is meant.
pub fn never(question: &Question) -> Vec<(&'static str, String)> {
    if question.needs.is_empty() {
        return denies_tool(question).into_iter().collect();
    }
    let (commands, others): (Vec<&Need>, Vec<&Need>) = question
        .needs
        .iter()
        .partition(|need| need.target.command().is_some());
    let commands = commands.iter().filter_map(|need| need.target.command());
    let wide =
        commands.filter(|it| matches!(it.key, CommandKey::Program(_) | CommandKey::Words(_)));
    let row = |command: &CommandTarget| {
        let denied = escape(&command.key.describe()).into_owned();
        ("never", format!("denies {denied}, in all projects"))
    };
    let mut rows: Vec<_> = wide.map(row).collect();
    rows.extend(denied(&others));
    more(&mut rows, "v shows them");
    rows
}

/// What `never` denies to a tool that says nothing of what it uses.
fn denies_tool(question: &Question) -> Option<(&'static str, String)> {
    let denies = "denies all calls of this tool until the session ends";
    (question.origin == Origin::Declared).then(|| ("never", denies.to_owned()))
}

/// What a lasting no to these needs covers beyond what the question shows, a row for each.
fn denied(others: &[&Need]) -> Vec<(&'static str, String)> {
    let row = |need: &&Need| {
        let denies = match (need.sends(), covers(need)) {
            (_, None) => return None,
            (true, _) => "denies whatever the plugin would send to it, in all projects",
            (false, _) => "denies it with any query and headers, in all projects",
        };
        let text = match others.len() {
            1 => denies.to_owned(),
            _ => format!("{}: {denies}", named(need)),
        };
        Some(("never", text))
    };
    others.iter().filter_map(row).collect()
}

/// What the lasting answers to a question store, a label and an escaped text for each row; behind a line end the command that
/// takes it back. `always`: whether a yes can be stored.
pub fn details(question: &Question, always: bool) -> Vec<(&'static str, String)> {
    if question.needs.is_empty() {
        let undo = |(label, denies)| {
            let tool = escape(&question.tool);
            (label, format!("{denies}\nundo: /tools {tool} prompt"))
        };
        return denies_tool(question).map(undo).into_iter().collect();
    }
    let mut rows = Vec::new();
    let mut others = Vec::new();
    for need in &question.needs {
        match need.target.command() {
            Some(command) => rows.extend(of_command(need, command, &question.lasting, always)),
            None => others.push(need),
        }
    }
    if others.is_empty() {
        return rows;
    }
    let is_all = rows.is_empty();
    let place = place_of(&others, is_all);
    let (label, of_app) = match (always, app(&question.tool)) {
        (false, _) => ("never", String::new()),
        (true, None) => ("always, never", String::new()),
        (true, Some(app)) => (
            "always, never",
            format!(", a yes only for this version of {}", escape(app)),
        ),
    };
    if always {
        rows.extend(covered(&others));
    }
    rows.extend(denied(&others));
    if let [only] = others.as_slice() {
        rows.push((label, format!("{place}{of_app}\nundo: {}", undo(only))));
        return rows;
    }
    rows.push((label, format!("{place}{of_app}")));
    // The targets stand above, each once.
    for operation in [Operation::Read, Operation::Write, Operation::Execute] {
        if others.iter().any(|need| need.operation == operation) {
            let (ask, word) = (verb(Decided::Open), word(operation));
            rows.push((
                "undo each",
                format!("dunlin permissions {ask} {word} TARGET"),
            ));
        }
    }
    rows
}

/// Leaves so many rows that somebody reads them, and says what is left out.
fn more(rows: &mut Vec<(&'static str, String)>, where_all: &str) {
    if rows.len() > MAX_NAMED {
        let more = rows.len() - MAX_NAMED;
        rows.truncate(MAX_NAMED);
        let label = rows.last().map_or("always", |(label, _)| label);
        rows.push((label, format!("{more} more; {where_all}")));
    }
}

/// A need as it is stored: `write /home/ada/a.txt`. Escaped.
fn named(need: &Need) -> String {
    let text = format!("{} {}", need.operation.verb(), need.target.shown());
    escape(&text).into_owned()
}

/// The app that asks, if it is one: no tool has a name with a gap.
fn app(tool: &str) -> Option<&str> {
    tool.starts_with("app '").then_some(tool)
}

/// What a lasting yes covers beyond what the question shows.
fn covers(need: &Need) -> Option<&'static str> {
    match (need.sends(), need.asks_server()) {
        (true, _) => Some(SENDS),
        // The row of a site says it, as it is so with any yes.
        (_, true) if matches!(need.target, Target::Url(_)) => Some(READS),
        _ => None,
    }
}

fn of_command(
    need: &Need,
    command: &CommandTarget,
    lasting: &[Need],
    always: bool,
) -> Vec<(&'static str, String)> {
    let denied = escape(&command.key.describe()).into_owned();
    let allowed = allowed(need, lasting).filter(|_| always);
    let mut rows: Vec<_> = allowed.map(|text| ("always", text)).into_iter().collect();
    rows.push(("never", format!("denies {denied}, in all projects")));
    let never = undo(need);
    let mut stored: Vec<String> = Vec::new();
    for need in stored_of(need, lasting).filter(|_| always) {
        let undo = undo(need);
        if !stored.contains(&undo) {
            stored.push(undo);
        }
    }
    // Which answer a command takes back is said where that is not the same one for both.
    if stored.iter().all(|undo| *undo == never) {
        rows.push((UNDO, never));
        return rows;
    }
    rows.extend(stored.into_iter().map(|undo| ("undo always", undo)));
    rows.push(("undo never", never));
    rows
}

/// What a permanent yes stores for the need of a command.
fn stored_of<'a>(need: &'a Need, lasting: &'a [Need]) -> impl Iterator<Item = &'a Need> {
    lasting.iter().filter(move |stored| {
        let (Some(stored), Some(command)) = (stored.target.command(), need.target.command()) else {
            return false;
        };
        stored == command || command.parts.iter().any(|part| **part == *stored)
    })
}

/// What a permanent yes allows of a command, and where: `allows cargo test, with harmless arguments, in all projects`.
/// Escaped; `None`: nothing is left to be stored.
fn allowed(need: &Need, lasting: &[Need]) -> Option<String> {
    let stored: Vec<&CommandTarget> = stored_of(need, lasting)
        .filter_map(|need| need.target.command())
        .collect();
    if stored.is_empty() {
        return None;
    }
    let covers = CommandTarget::describe_all(&stored);
    Some(format!("allows {}, in {}", escape(&covers), place(need)))
}

/// Where a permanent yes to a command holds, escaped.
fn place(need: &Need) -> String {
    folder(need).unwrap_or_else(|| "all projects".to_owned())
}

/// What an answer to a question has stored, as [`after_needs`] says it.
pub fn after(question: &Question, answer: Answer) -> Vec<String> {
    let answer = answer.at_most(question.longest);
    after_needs(&question.tool, question.answered(answer), answer)
}

/// What an answer to this tool or app has stored, as one escaped sentence for each target, and behind a line end what takes that back. Empty:
/// nothing.
pub fn after_needs(tool: &str, needs: &[Need], answer: Answer) -> Vec<String> {
    // As it was said with the question.
    let scope = match answer.scope {
        Scope::Once => return Vec::new(),
        Scope::Session => "Until the session ends",
        Scope::Always => "Stored",
    };
    let row = |need: &Need| {
        let stores = stores_for(tool, need, answer);
        let undo = match answer.scope {
            Scope::Always => undo(need),
            Scope::Once | Scope::Session => match WayOut::of(need, Decided::Open) {
                Some(way) => format!("{FORGET} {}", escape(&way.target)),
                None => FORGET.to_owned(),
            },
        };
        format!("{scope}: {stores}.\nUndo: {undo}")
    };
    let mut rows: Vec<String> = needs.iter().take(MAX_NAMED).map(row).collect();
    if needs.len() > MAX_NAMED {
        let more = needs.len() - MAX_NAMED;
        let (verb, place) = (verb_of(answer), place_of_answer(tool, None, answer));
        rows.push(format!(
            "{scope}: {verb} {more} more{place}. /permissions lists all."
        ));
    }
    rows
}

fn verb_of(answer: Answer) -> &'static str {
    match answer.allow {
        true => "allows",
        false => "denies",
    }
}

/// Where a lasting answer to this tool or app holds, escaped. `folder`: the only one for a yes.
fn place_of_answer(tool: &str, folder: Option<String>, answer: Answer) -> String {
    match (answer.scope, folder) {
        (Scope::Once | Scope::Session, _) => String::new(),
        (Scope::Always, Some(folder)) => format!(", in {folder}"),
        (Scope::Always, None) if answer.allow => format!(", in all projects{}", of_app(tool)),
        (Scope::Always, None) => ", in all projects".to_owned(),
    }
}

/// What a lasting answer to this tool or app stores for a need: `allows reading /etc/hosts, in all projects`. Escaped.
fn stores_for(tool: &str, need: &Need, answer: Answer) -> String {
    let place = place_of_answer(tool, folder(need).filter(|_| answer.allow), answer);
    let about = match need.target.command() {
        Some(command) if answer.allow && command.parts.is_empty() => command.describe(),
        Some(command) => command.key.describe(),
        None if need.sends() && answer.allow => {
            format!("{}, whatever the plugin sends there", doing(need))
        }
        None if need.asks_server() && answer.allow => format!("{}, {READS}", doing(need)),
        None => doing(need),
    };
    format!("{} {}{place}", verb_of(answer), escape(&about))
}

/// What a lasting answer to a question stores, in the words of [`after`]. Escaped; `None`: it is not one thing.
pub fn stores(question: &Question, answer: Answer) -> Option<String> {
    match question.answered(answer) {
        [need] => Some(stores_for(&question.tool, need, answer)),
        _ => None,
    }
}

/// A command as its question shows it; `None`: the need is about something else. Not escaped.
pub fn command_in_words(need: &Need) -> Option<String> {
    Some(match &need.target.command()?.key {
        CommandKey::Text(line) => line.clone(),
        key => key.short(),
    })
}

/// Whether a text names all that an answer to a question stores, in the words of the question or as its key, and no more.
pub fn names(question: &Question, answer: Answer, text: &str) -> bool {
    let [need] = question.answered(answer) else {
        return false;
    };
    // The target is not all that such an answer is about.
    if answer.allow && covers(need).is_some() {
        return false;
    }
    match command_in_words(need) {
        Some(words) => {
            let key = need.target.command().map(|command| command.key.to_string());
            text == words || Some(text) == key.as_deref()
        }
        None => {
            let target = need.target.shown();
            text == target || text == format!("{} {target}", word(need.operation))
        }
    }
}

/// The command that makes a rule by hand, without its target.
pub fn by_hand(operation: Operation, allow: bool) -> String {
    let decided = match allow {
        true => Decided::Allow,
        false => Decided::Deny,
    };
    format!("dunlin permissions {} {}", verb(decided), word(operation))
}

/// What is done to a target: `reading /etc/hosts`. Not escaped.
fn doing(need: &Need) -> String {
    let doing = match need.operation {
        Operation::Read => "reading",
        Operation::Write => "writing",
        Operation::Execute => "running",
    };
    format!("{doing} {}", need.target.shown())
}

/// What an answer to a call that needs nothing but the yes itself holds for, as one escaped sentence, and behind a line end
/// what takes that back. `None`: for this call.
pub fn after_call(tool: &str, answer: Answer) -> Option<String> {
    let tool = escape(tool);
    (answer.scope != Scope::Once).then(|| match answer.allow {
        true => format!("Until the session ends: allows calls of {tool}.\nUndo: {FORGET} {tool}"),
        // There is no target to store a permanent no under.
        false => {
            format!("Until the session ends: {tool} is set to never.\nUndo: /tools {tool} prompt")
        }
    })
}

/// The folder in which alone a permanent yes to a need holds, escaped.
fn folder(need: &Need) -> Option<String> {
    let folder = need.target.command()?.folder.as_ref()?;
    Some(escape(&folder.to_string_lossy()).into_owned())
}

/// The command that takes back what is stored for a need, escaped.
fn undo(need: &Need) -> String {
    match WayOut::of(need, Decided::Open) {
        Some(way) => command(&way),
        // A name that cannot be typed.
        None => SHOWS_KEY.to_owned(),
    }
}

/// The command that decides, as it is pasted into bash, zsh or fish; escaped.
pub fn command(way: &WayOut) -> String {
    let target = shell_word(&way.target);
    // What cannot be shown as it is cannot be pasted.
    if escape(&target) != target {
        return SHOWS_KEY.to_owned();
    }
    format!(
        "dunlin permissions {} {} {target}",
        verb(way.decided),
        word(way.operation)
    )
}

/// The command that decides, as it is typed.
pub fn verb(decided: Decided) -> &'static str {
    match decided {
        Decided::Allow => "allow",
        Decided::Deny => "deny",
        Decided::Open => "ask",
    }
}

/// What takes a rule back, escaped.
pub fn revert(revert: &Revert) -> Option<String> {
    match revert {
        Revert::Stored(way) => Some(command(way)),
        Revert::Session(key) => Some(format!("{FORGET} {}", escape(key))),
        Revert::ToolMode(tool) => Some(format!("/tools {} prompt", escape(tool))),
        Revert::SessionMode => Some("/mode ask".to_owned()),
        _ => None,
    }
}

/// An operation as it is typed.
pub fn word(operation: Operation) -> &'static str {
    match operation {
        Operation::Read => "read",
        Operation::Write => "write",
        Operation::Execute => "run",
    }
}

/// The option of `dunlin ask` that allows a need for one run, escaped. `None`: its target cannot be typed.
pub fn flag(need: &Need) -> Option<String> {
    let way = WayOut::of(need, Decided::Allow)?;
    let (option, target) = match need.target.command() {
        // What ends with `=x` is not taken for letters there.
        Some(_) => match way.target.strip_prefix(LINE) {
            Some(line) => ("--allow-line", line.to_owned()),
            None => ("--allow", way.target),
        },
        None => (
            "--allow",
            format!("{}={}", way.target, need.operation.letter()),
        ),
    };
    let target = shell_word(&target);
    (escape(&target) == target).then(|| format!("{option} {target}"))
}

#[cfg(test)]
mod tests {
    use dunlin_host::target::Target;

    use super::*;

    fn way(target: &str, operation: Operation, decided: Decided) -> String {
        command(&WayOut {
            target: target.to_owned(),
            operation,
            decided,
        })
    }

    #[test]
    fn commands_can_be_pasted() {
        let read = |target| way(target, Operation::Read, Decided::Allow);
        assert_eq!(read("/a/b.txt"), "dunlin permissions allow read /a/b.txt");
        assert_eq!(
            way("$ /usr/bin/cargo test", Operation::Execute, Decided::Open),
            "dunlin permissions ask run '$ /usr/bin/cargo test'"
        );
        assert_eq!(
            way("= ls | wc", Operation::Execute, Decided::Deny),
            "dunlin permissions deny run '= ls | wc'"
        );
        // A line end cannot be pasted, and must not begin a row of the screen.
        assert_eq!(read("/a\nb"), "dunlin permissions list shows the key");
    }

    #[test]
    fn what_is_stored_is_said_in_one_sentence() {
        let needs = [Need {
            target: Target::Path("/etc/hosts".into()),
            operation: Operation::Read,
        }];
        let said = |allow, scope| after_needs("read_file", &needs, Answer { allow, scope });
        assert_eq!(said(true, Scope::Once), [""; 0]);
        assert_eq!(
            said(true, Scope::Always),
            [
                "Stored: allows reading /etc/hosts, in all projects.\nUndo: dunlin permissions ask read /etc/hosts"
            ]
        );
        let of_app = |allow| {
            let scope = Scope::Always;
            after_needs("app 'tides'", &needs, Answer { allow, scope })[0].clone()
        };
        assert_eq!(
            of_app(true).lines().next(),
            Some(
                "Stored: allows reading /etc/hosts, in all projects, only for this version of app 'tides'."
            )
        );
        assert_eq!(
            of_app(false).lines().next(),
            Some("Stored: denies reading /etc/hosts, in all projects.")
        );
        assert_eq!(
            said(false, Scope::Session),
            [
                "Until the session ends: denies reading /etc/hosts.\nUndo: /permissions forget /etc/hosts"
            ]
        );
        let sent = [Need {
            target: Target::Url("https://example.com/up".into()),
            operation: Operation::Write,
        }];
        let allow = Answer {
            allow: true,
            scope: Scope::Session,
        };
        assert_eq!(
            after_needs("web_fetch", &sent, allow),
            [
                "Until the session ends: allows writing https://example.com/up, whatever the plugin sends there.\n\
                 Undo: /permissions forget https://example.com/up"
            ]
        );
        let many: Vec<Need> = (0..7).map(|_| needs[0].clone()).collect();
        let said = after_needs(
            "read_file",
            &many,
            Answer {
                allow: false,
                scope: Scope::Always,
            },
        );
        assert_eq!(said.len(), MAX_NAMED + 1);
        assert_eq!(
            said[MAX_NAMED],
            "Stored: denies 2 more, in all projects. /permissions lists all."
        );
    }
}
