//! What was denied because nobody could be asked, and what allows it beforehand.

use std::collections::HashSet;

use dunlin_host::ask::Scope;
use dunlin_host::display::{escape, shell_word};
use dunlin_host::permission::key::Decided;
use dunlin_host::permission::{Revert, WayOut};
use dunlin_host::target::{CommandKey, Need};

use crate::app::App;
use dunlin_chat::turn::Denial;
use dunlin_terminal::approval::storing;

/// Says what was denied because nobody could be asked, and how it is allowed beforehand: each thing once, however often it was
/// attempted. `are_shown`: the calls are shown, and below a call that a rule denied stands the rule with what takes it back.
pub fn say_unasked(app: &App, denials: &[Denial], are_shown: bool) {
    let ui = &app.ui;
    let mut hints = HashSet::new();
    for (at, denial) in denials.iter().enumerate() {
        // A tool may ask about two things in the same words.
        let is_same = |it: &Denial| {
            (&it.question, &it.rule, &it.needs) == (&denial.question, &denial.rule, &denial.needs)
        };
        if denials.iter().take(at).any(is_same) {
            continue;
        }
        let question = escape(&denial.question);
        let is_shown = are_shown && denial.subagent.is_none();
        let hint = match (&denial.rule, &denial.revert) {
            // There is nobody who could type the command of the chat that the row names.
            (Some(_), Some(Revert::SessionMode)) if is_shown => Some(LEAVES_PLAN_MODE.to_owned()),
            (Some(_), _) if is_shown => None,
            (Some(rule), revert) => {
                ui.warn(&format!("denied by a rule ({}): {question}", escape(rule)));
                match revert {
                    Some(Revert::SessionMode) => Some(LEAVES_PLAN_MODE.to_owned()),
                    revert => {
                        let undo = revert.as_ref().and_then(storing::revert);
                        undo.map(|undo| format!("{undo} takes the rule back"))
                    }
                }
            }
            (None, _) => {
                ui.warn(&format!("denied, with nobody to ask: {question}"));
                way_to_allow(app, denial)
            }
        };
        // One way may be that of several.
        if let Some(hint) = hint.filter(|hint| hints.insert(hint.clone())) {
            ui.status(&format!("hint: {hint}"));
        }
    }
}

/// What takes the plan mode of a run back.
const LEAVES_PLAN_MODE: &str = "--mode ask leaves plan mode";

/// What allows this beforehand: for one run, and from then on.
fn way_to_allow(app: &App, denial: &Denial) -> Option<String> {
    let needs = &denial.needs;
    if let Some(start) = server_start(needs) {
        let flag = storing::flag(start)?;
        let always = storing::command(&WayOut::of(start, Decided::Allow)?);
        return Some(format!(
            "dunlin ask {flag} allows the start for one run, {always} each start with this command line"
        ));
    }
    match denial.longest? {
        Scope::Once => Some(
            "this is asked about each time, which only the chat can do; if it wants the network, network = true below [commands] grants that"
                .to_owned(),
        ),
        _ if needs.is_empty() => Some(format!(
            "dunlin ask --allow-tool {} allows it for one run",
            escape(&shell_word(&denial.tool))
        )),
        longest => {
            let flags: Option<Vec<String>> = needs.iter().map(storing::flag).collect();
            let one = format!("dunlin ask {} allows it for one run", flags?.join(" "));
            match lasting_ways(app, needs).filter(|_| longest == Scope::Always) {
                Some(commands) => Some(format!("{one}, {commands} from now on{}", exactly(needs))),
                None => Some(one),
            }
        }
    }
}

/// The start of an MCP server outside of the sandbox: an answer holds for one start, but a key that a person writes for all.
fn server_start(needs: &[Need]) -> Option<&Need> {
    needs.iter().find(|need| {
        let command = need.target.command();
        command.is_some_and(|command| matches!(command.key, CommandKey::Server(_)))
    })
}

/// The command that allows this from now on.
pub fn way_to_allow_always(app: &App, denial: &Denial) -> Option<String> {
    if let Some(revert) = &denial.revert {
        return storing::revert(revert).map(|undo| format!("{undo} takes the rule back"));
    }
    if let Some(start) = server_start(&denial.needs) {
        let always = storing::command(&WayOut::of(start, Decided::Allow)?);
        return Some(format!("{always} allows each start with this command line"));
    }
    let longest = denial.longest.filter(|longest| *longest == Scope::Always);
    let commands = longest.and_then(|_| lasting_ways(app, &denial.needs))?;
    Some(format!(
        "{commands} allows it beforehand{}",
        exactly(&denial.needs)
    ))
}

/// What such a command covers, where it names a command line.
fn exactly(needs: &[Need]) -> &'static str {
    match needs.iter().any(|need| need.target.command().is_some()) {
        true => " (exactly this line)",
        false => "",
    }
}

fn lasting_ways(app: &App, needs: &[Need]) -> Option<String> {
    let ways = app.host().ok()?.permissions().ways_to_allow(needs);
    let commands: Vec<String> = ways.iter().map(storing::command).collect();
    (!commands.is_empty()).then(|| commands.join(" && "))
}
