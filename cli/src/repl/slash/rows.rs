//! The rows of the slash commands: what is typed, what it does, when it has to wait, and the function that runs it.

use super::super::{
    agents, apps, auto, budget, compose, help, hooks, instructions, last_request, leaving, mode,
    permissions, requests, rewind, servers, sessions, tags,
};
use super::{
    Next, Row, acts, clear, copy, decides, diff, expand_call, history, leads, looks, retry, sent,
    show, tools, undo,
};
use crate::dialogue::{choice, effort};
use crate::pausing;
use crate::prompt::slash_table::{
    EDIT, EXIT, METADATA, MODE, NEXT, PAUSE, PERMISSIONS, REMEMBER, REQUEST, TOOLS,
};
use crate::prompt::steps;

/// Why the end of the conversation has to wait for its calls.
const LEAVING: &str = "answer the calls that wait first; Ctrl-C says no to all of them";
/// Why what changes the tools has to wait.
const SERVERS: &str = "it changes the tools of this turn: answer the calls that wait first";
/// Why what is counted has to wait.
const TURN: &str = "a turn is counted when it is over; answer its calls first";

/// Every command, below the headings of the help.
pub static GROUPS: &[(&str, &[Row])] = &[
    (
        "This chat",
        &[
            looks(
                "/help",
                "[COMMAND|all]",
                "list the commands and keys; describe one of them, or all",
                |it, rest| {
                    help::show(it.app, rest);
                    Ok(())
                },
            ),
            decides(
                PERMISSIONS,
                "[VERB TARGET]",
                "list everything in force, tool modes first; explain TARGET says what decides; allow, deny and ask OPERATION TARGET store a rule or take one back (read, write or run); forget takes back the answers of this session, forget KEY one of them or what is stored under KEY",
                |it, rest| permissions::run(it.app, rest),
            ),
            decides(
                TOOLS,
                "[NAME MODE]",
                "list the tools, or set the mode of one for this session: prompt, always or never",
                tools,
            ),
            looks(
                "/mcp",
                "[VERB NAME]",
                "list the MCP servers and their tools, or connect, disconnect, disable (for this session) or enable one",
                |it, rest| servers::run(it.app, rest),
            )
            .arguments_wait(SERVERS),
            looks(
                "/hooks",
                "",
                "list the hooks, whose they are and how they ran",
                |it, _| hooks::run(it.app),
            ),
            acts(
                "/model",
                "[NAME]",
                "list the models, or switch to another one",
                NEXT,
                choice::model,
            )
            .lists_or_leaves(leaving::models, leaving::model),
            acts(
                "/agent",
                "[NAME]",
                "list the agents, or switch to another one",
                NEXT,
                choice::agent,
            )
            .lists_or_leaves(leaving::agents, leaving::agent),
            acts(
                "/effort",
                "[LEVEL]",
                "show how much the model thinks, or set it for this session: none, low, medium, high, or default for what the agent says",
                NEXT,
                effort::run,
            ),
            decides(
                MODE,
                "[MODE]",
                "show the mode, or set it until the session ends, as Shift-Tab does: ask, accept-edits (of ordinary files in the project), or plan (nothing is changed, and the reply ends with a plan that you can approve)",
                |it, rest| Ok(mode::run((&it.app.ui, &it.app.mode), rest)),
            ),
            leads(
                EXIT,
                "",
                "quit, as \"exit\" alone and Ctrl-D do",
                LEAVING,
                |_, _, _| Ok(Next::Leave),
            )
            .leaves(leaving::always),
        ],
    ),
    (
        "The message",
        &[
            leads(
                EDIT,
                "[TEXT]",
                "write the message in $VISUAL or $EDITOR; Ctrl-X Ctrl-E opens the current line there",
                NEXT,
                |app, _, rest| Ok(compose::write(app, rest, false)?.map_or(Next::Prompt, Next::Say)),
            ),
            acts(
                "/tags",
                "",
                "list the files that you attached with @",
                NEXT,
                |app, dialogue, _| {
                    tags::list(app, dialogue.as_ref());
                    Ok(())
                },
            ),
            acts(
                "/untag",
                "N|PATH|all",
                "remove files from the next message",
                NEXT,
                |app, dialogue, rest| {
                    tags::untag(app, dialogue.as_mut(), rest);
                    Ok(())
                },
            ),
            leads(
                "/prompt",
                "[SERVER NAME ...]",
                "list the templates (/NAME sends one) and the prompts of MCP servers, or send one of a server",
                NEXT,
                |app, _, rest| sent(servers::prompt(app, rest)?),
            ),
            leads(
                "/retry",
                "",
                "send the last message again and replace its answer",
                NEXT,
                |app, dialogue, _| Ok(retry(app, dialogue)),
            ),
            acts(
                "/undo",
                "",
                "undo the file edits of the last turn, or the last version of an app; repeat it for the turn before",
                "a turn is not over while its calls wait: answer them first, then /undo takes its edits back",
                |app, dialogue, _| undo(app, dialogue),
            ),
            acts(
                "/rewind",
                "[all|N [PART]]",
                "list the last turns, or all; with N, go back to before turn N: PART is conversation, files (those edited since) or both",
                TURN,
                |app, dialogue, rest| rewind::run(app, dialogue.as_mut(), rest),
            ),
            acts(
                "/compact",
                "",
                "have the model summarise earlier turns, and send the summary instead",
                TURN,
                |app, dialogue, _| budget::compact(app, dialogue),
            ),
        ],
    ),
    (
        "AGENTS.md",
        &[
            acts(
                "/instructions",
                "[reload]",
                "list the instruction files (AGENTS.md) that this session begins with; reload sends what they say now",
                NEXT,
                instructions::run,
            ),
            leads(
                "/init",
                "",
                "have the model look at the project and write AGENTS.md, or improve it",
                NEXT,
                |app, dialogue, _| sent(instructions::init(app, dialogue)?),
            ),
            acts(
                REMEMBER,
                "[user:] TEXT",
                "add a line to AGENTS.md of the project; with user: to your own, which holds in all projects",
                NEXT,
                |app, dialogue, rest| instructions::remember(app, dialogue.as_mut(), rest),
            ),
        ],
    ),
    (
        "Apps",
        &[
            acts(
                "/app",
                "[open|close|list] [NAME]",
                "show the app of this chat; open or close its page; list all apps; with a NAME alone, continue that app in this chat",
                NEXT,
                |app, _, rest| apps::run(app, rest),
            ),
            leads(
                "/fix",
                "",
                "send the latest errors of the app to the model",
                NEXT,
                |app, dialogue, _| Ok(apps::fix(app, dialogue.as_ref())?.map_or(Next::Prompt, Next::Shown)),
            ),
        ],
    ),
    (
        "Look back",
        &[
            looks(
                "/history",
                "[all]",
                "list messages (m1, m2, ...) and calls (by their numbers)",
                |it, rest| {
                    history(it, rest);
                    Ok(())
                },
            ),
            looks(
                "/show",
                "[N|mN]",
                "show call N or message mN in full; without a number, the last one",
                |it, rest| {
                    show(it, rest);
                    Ok(())
                },
            ),
            looks(
                "/expand",
                "[N] [all]",
                "show call N in full; without a number, the last one",
                |it, rest| {
                    expand_call(it.app, rest);
                    Ok(())
                },
            ),
            looks(
                "/agents",
                "[N [all]|stop N]",
                "list the subagents, show what number N did, or end it; stop works while they run",
                |it, rest| {
                    agents::run(it.app, rest);
                    Ok(())
                },
            ),
            looks(
                "/diff",
                "[N]",
                "show what call N changed in files; without a number, the last turn that changed any",
                |it, rest| {
                    diff(it.app, rest);
                    Ok(())
                },
            ),
            looks(
                "/copy",
                "",
                "copy the last reply to the clipboard",
                |it, _| {
                    copy(it);
                    Ok(())
                },
            ),
            looks(
                "/steps",
                "[on|off]",
                "show or hide calls, reasoning and notices, as Ctrl-V does",
                |it, rest| {
                    steps::run(&it.app.ui, rest);
                    Ok(())
                },
            )
            .own_words(),
        ],
    ),
    (
        "Requests",
        &[
            looks(
                PAUSE,
                "[MODE [FILTER]]",
                "pause requests before they are sent, to read and edit them: off, next, turn, every or auto; FILTER restricts next, turn and every to an agent, a model, or tools (requests after tool results); Alt+P pauses the next one; in another terminal, dunlin inspect shows what is paused",
                |it, rest| {
                    pausing::run(it.app, rest);
                    Ok(())
                },
            )
            .own_words(),
            looks(
                "/auto",
                "[VERB]",
                "list saved edits of requests, or capture, scope SCOPE, limit N, remove [N]; /pause auto applies them",
                |it, rest| auto::run(it.app, rest),
            ),
            acts(
                "/requests",
                "[N [PART]]",
                "list the requests of this session, or show one; PART is sent, original, diff, curl, replay [edited] or fork",
                TURN,
                |app, dialogue, rest| requests::run(app, dialogue.as_ref(), rest),
            ),
            acts(
                REQUEST,
                "[N]",
                "show the next request on the whole screen, or request N as it was sent; a paused one can be edited there",
                TURN,
                requests::look_at,
            ),
            acts(
                METADATA,
                "[FIELD ...]",
                "show session, id, agent, model, endpoint and budget of the paused or the last request; choose the fields, or copy FIELD",
                TURN,
                |app, dialogue, rest| last_request::run(app, dialogue.as_ref(), rest),
            ),
            acts(
                "/context",
                "",
                "show what fills the context window",
                TURN,
                |app, dialogue, _| {
                    budget::context(app, dialogue);
                    Ok(())
                },
            ),
            acts(
                "/cost",
                "",
                "show how many tokens you used, and what they cost",
                TURN,
                |app, dialogue, _| {
                    budget::cost(app, dialogue);
                    Ok(())
                },
            ),
        ],
    ),
    (
        "Sessions",
        &[
            acts(
                "/new",
                "",
                "start a new session; this one is saved",
                LEAVING,
                |app, dialogue, _| {
                    sessions::new(app, dialogue.as_mut());
                    Ok(())
                },
            )
            .leaves(leaving::always),
            acts(
                "/sessions",
                "[N]",
                "list the other sessions of the project, or resume one",
                LEAVING,
                sessions::sessions,
            )
            .lists_or_leaves(leaving::sessions, leaving::session),
            acts(
                "/rename",
                "TITLE",
                "give this session a title",
                LEAVING,
                |app, dialogue, rest| {
                    sessions::rename(&app.ui, dialogue.as_ref(), rest);
                    Ok(())
                },
            ),
            acts(
                "/fork",
                "[ID]",
                "continue in a copy of this session, or of another",
                LEAVING,
                sessions::fork_here,
            )
            .leaves(leaving::fork),
            acts(
                "/export",
                "[md|json] [FILE]",
                "write the conversation to a file; - prints it",
                LEAVING,
                |app, dialogue, rest| sessions::export(app, dialogue.as_ref(), rest),
            ),
            acts(
                "/clear",
                "",
                "clear the conversation",
                LEAVING,
                |app, dialogue, _| {
                    clear(app, dialogue);
                    Ok(())
                },
            )
            .leaves(leaving::always)
            .confirms("Forget the conversation?"),
        ],
    ),
];
