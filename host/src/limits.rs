//! What one call may use. Every number bounds something that a plugin controls.

use std::time::Duration;

/// The contract that this host serves. Components built for another 0.1.x run as well.
pub const CONTRACT: &str = "0.1.0";

/// How often a guest that computes gives way, in milliseconds. Interrupting must feel immediate
/// (100 ms) with a few waits in a row; each tick costs the guest about a microsecond.
pub const EPOCH_TICK: Duration = Duration::from_millis(5);

/// What one call may use. There is no `Default`: an unlimited call cannot be built by accident.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Linear memory of a call, all memories of all its instances together, in bytes. Against guests
    /// that allocate without end; a file shown to a model is a thousandth of it.
    pub memory_bytes: usize,
    /// Time for `run`, without the time in which the user is being asked. Covers computing and
    /// waiting for the host alike.
    pub run_time: Duration,
    /// Time for `prepare`, which only looks at its arguments.
    pub prepare_time: Duration,
    /// Time for `describe`, which returns constants.
    pub describe_time: Duration,
    /// Size of the text of a result, in bytes. A model's window is smaller.
    pub result_bytes: usize,
}

impl Limits {
    /// The limits for tools that read and write text.
    pub const fn standard() -> Limits {
        Limits {
            memory_bytes: 64 * MIB,
            run_time: Duration::from_secs(60),
            prepare_time: Duration::from_secs(2),
            describe_time: Duration::from_secs(5),
            result_bytes: MIB,
        }
    }
}

const KIB: usize = 1024;
const MIB: usize = 1024 * KIB;

/// Stack of a guest, in bytes. The engine of apps counts how deeply a program calls itself, and tells it in time: up to
/// there it needs half of this. What it does not count (source that is nested a thousand times) ends the guest.
pub(crate) const MAX_STACK_BYTES: usize = MIB;

/// Elements of all tables of a call together. A table holds functions; real tools have hundreds.
pub(crate) const MAX_TABLE_ELEMENTS: usize = 20_000;

/// Core instances of one call. `wit-component` makes three or four of one module.
pub(crate) const MAX_INSTANCES: usize = 32;

/// Linear memories of one call.
pub(crate) const MAX_MEMORIES: usize = 8;

/// Tables of one call.
pub(crate) const MAX_TABLES: usize = 16;

/// Calls that may run side by side in one process: the slots of the instance pool. Models propose a
/// handful of calls in a message; more wait for a free slot.
pub(crate) const MAX_PARALLEL_CALLS: u32 = 16;

/// Resource handles a call may hold at once, for example open files. Far below a process's own limit
/// of open files (1,024 on most systems).
pub(crate) const MAX_HANDLES: usize = 256;

/// Bytes that one host call may copy out of a guest, and one result. Against arguments that are made
/// to fill the host's memory. Above the result limit, so that a result that is too large gets its
/// own clear error.
pub(crate) const MAX_COPY_BYTES: usize = MAX_BLOB_BYTES + MIB;

/// How long a question waits to learn whether an edit breaks a file. Files that people write take some milliseconds; 100 KB
/// of Python take 50 ms, and twice as long to find the line.
pub(crate) const SYNTAX_TIME: Duration = Duration::from_millis(300);

/// Bytes of a file that is parsed, before and after the edit each. Code of this size takes longer than [`SYNTAX_TIME`], data
/// does not.
pub(crate) const MAX_SYNTAX_BYTES: usize = MIB;

/// Files that are parsed at once: the slots of the instance pool for it.
pub(crate) const MAX_SYNTAX_CHECKS: u32 = 1;

/// Bytes of the parts of a result that are not text, such as an image. Servers of models take about as much.
pub(crate) const MAX_RESULT_BLOB_BYTES: usize = MAX_BLOB_BYTES;

/// Bytes that a plugin may keep under one name; what the contract says of `store`.
pub(crate) const MAX_BLOB_BYTES: usize = 8 * MIB;

/// Bytes that a plugin may keep in one project: an index of a large tree takes a few hundred megabytes. What the contract
/// says of `store`.
pub(crate) const MAX_STORE_BYTES: u64 = 512 * MIB as u64;

/// The same for an app: a model has written it, and nobody has looked at it. More than what a person types in, and a hundred apps
/// fill no disk.
pub(crate) const MAX_APP_STORE_BYTES: u64 = 32 * MIB as u64;

/// Names under which a plugin may keep something in one project; what the contract says of `store`.
pub(crate) const MAX_STORE_ENTRIES: usize = 4_096;

/// Files of a project that one listing gives to a guest; what the contract says of `tree`.
pub(crate) const MAX_TREE_FILES: usize = 200_000;

/// Bytes of the paths of one listing. A guest holds them twice at times, in 64 MiB.
pub(crate) const MAX_TREE_PATH_BYTES: usize = 12 * MIB;

/// Times that a call may ask to be run once more in the background: against work without an end.
pub(crate) const MAX_BACKGROUND_RUNS: usize = 1_000;

/// How long it may do so altogether; what abilities in words say of `background`.
pub(crate) const MAX_BACKGROUND_TIME: Duration = Duration::from_mins(10);

/// Tools that may do so at once. They must not hold all places in which calls run.
pub(crate) const MAX_BACKGROUND_TOOLS: usize = 4;

/// Bytes that one read gives to a guest; what the contract says of `files`.
pub(crate) const MAX_READ_BYTES: usize = MIB;

/// Lines that one read gives to a guest: an empty line has no bytes and still takes room. What the
/// contract says of `files`.
pub(crate) const MAX_READ_LINES: u32 = 65_536;

/// Entries of one folder that one listing gives to a guest; what the contract says of `files`.
pub(crate) const MAX_FOLDER_ENTRIES: usize = 10_000;

/// Size of a file that a component made for WASI may write or stretch, in bytes. A file of holes takes no room and
/// still fills the disk of whoever copies it.
pub(crate) const MAX_FILE_BYTES: u64 = 1024 * MIB as u64;

/// Bytes that one call may write through WASI, all files together. A yes to writing is none to filling the disk.
pub(crate) const MAX_WRITTEN_BYTES: u64 = 256 * MIB as u64;

/// Log messages of one call that are kept.
pub(crate) const MAX_LOG_MESSAGES: usize = 1_000;

/// Bytes of one log message that are kept.
pub(crate) const MAX_LOG_MESSAGE_BYTES: usize = 4 * KIB;

/// Characters of a progress message that are shown.
pub(crate) const MAX_PROGRESS_CHARS: usize = 120;

/// Progress messages are passed on at most this often: a screen shows no more.
pub(crate) const PROGRESS_PERIOD: Duration = Duration::from_millis(100);

/// Bytes of a declared failure that are kept.
pub(crate) const MAX_FAILURE_BYTES: usize = 4 * KIB;

/// Bytes of a tool's question that are kept: more fits no prompt.
pub(crate) const MAX_QUESTION_BYTES: usize = KIB;

/// Targets that one call may use or try to use. Each stands in the audit log; against calls that fill
/// the disk with it, and far above what a look through a large project touches.
pub(crate) const MAX_TARGETS: usize = 50_000;

/// Bytes of the audit log that one call may fill, with whatever it does in the background: each change stands there, and a
/// call can make the same one without end. Far above what a look through a large project takes.
pub(crate) const MAX_AUDIT_BYTES: usize = 32 * MIB;

/// Bytes of the log of plugins, and as many of the one before: each call may write 4 MB, and be run again in the
/// background a thousand times.
pub(crate) const MAX_LOG_FILE_BYTES: u64 = 32 * MIB as u64;

/// Random bytes that are given at once. What the contract says of `random`.
pub(crate) const MAX_RANDOM_BYTES: usize = 64 * KIB;

/// Bytes of what a user sets for all plugins together. It is read whenever a plugin wants to know its part.
pub(crate) const MAX_SETTINGS_BYTES: u64 = 1024 * KIB as u64;

/// Needs that one call may declare, each a row of its question. Whoever touches more names a folder.
pub(crate) const MAX_NEEDS: usize = 1_000;

/// Questions in the middle of a call about changes that its plan has announced.
pub(crate) const MAX_ANNOUNCED_QUESTIONS: usize = 64;

/// Bytes of the files that one call may declare to edit, before and after together. Their differences are kept
/// until the user has answered.
pub(crate) const MAX_EDITED_BYTES: usize = 64 * MIB;

/// Questions that one call may cause on top of its declared needs. Against wearing the user down.
pub(crate) const MAX_UNDECLARED_QUESTIONS: usize = 8;

/// Questions for a text that one call may put to the user. Against wearing them down.
pub(crate) const MAX_TEXT_QUESTIONS: usize = 8;

/// The same of a bridge: a server's form is asked field by field, and real ones have a dozen.
pub(crate) const MAX_SERVER_QUESTIONS: usize = 32;

/// Bytes of a question for a text: more is a document, and no question. What the contract says of `chat`.
pub(crate) const MAX_TEXT_QUESTION_BYTES: usize = 4 * KIB;

/// Options of a question for a text, and bytes of each: a person has to read them. What the contract says of
/// `chat`.
pub(crate) const MAX_OPTIONS: usize = 20;
pub(crate) const MAX_OPTION_BYTES: usize = 500;

/// Bytes of an answer: a pasted log, not a pasted disk. What the contract says of `chat`.
pub(crate) const MAX_TEXT_ANSWER_BYTES: usize = 64 * KIB;

/// What a plugin may declare in one function call: its tools, a plan, a result. A plan has whole edits in it, and the largest
/// file that can be edited has 8 MiB.
pub(crate) const MAX_DECLARED_BYTES: usize = 16 * MIB;

/// Bytes of a call's arguments.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 4 * MIB;

/// Tools of one plugin.
pub(crate) const MAX_TOOLS: usize = 64;

/// A tool's name for people: one line of a list.
pub(crate) const MAX_TITLE_BYTES: usize = 200;

/// Bytes of a tool's description: it is sent with every request.
pub(crate) const MAX_DESCRIPTION_BYTES: usize = 16 * KIB;

/// Bytes of a tool's parameters as written.
pub(crate) const MAX_PARAMETERS_BYTES: usize = 64 * KIB;

/// Rules of one schema when every reference in it is replaced by what it refers to. Checking arguments
/// takes time with this number, and references can make it grow without bound; the schemas of real
/// tools have hundreds.
pub(crate) const MAX_SCHEMA_RULES: usize = 10_000;

/// References that lead through one another. Keeps the recursion over a schema shallow.
pub(crate) const MAX_REFERENCE_DEPTH: usize = 32;

/// Patterns of one schema. Each may need [`MAX_PATTERN_BYTES`].
pub(crate) const MAX_PATTERNS: usize = 64;

/// Bytes of one compiled pattern: repetitions of repetitions grow quickly.
pub(crate) const MAX_PATTERN_BYTES: usize = MIB;

/// Size of a component, in bytes. Interpreters for other languages are 20 MB.
pub(crate) const MAX_COMPONENT_BYTES: usize = 64 * MIB;

/// Bytes of what is kept of compiled components, of all plugins and versions together. The machine code of a JavaScript
/// plugin has 37 MB, that of a Rust plugin less than one, so this is what a dozen of the largest need.
pub(crate) const MAX_CACHE_BYTES: u64 = 512 * MIB as u64;

/// Bytes of a command line. The kernel takes 128 KiB as one argument of a program; the shell's own words and a
/// margin come off that.
pub(crate) const MAX_COMMAND_BYTES: usize = 120 * KIB;

/// Commands that one call may start, one after the other or side by side. Each has a time limit of its own, while
/// which the call's clock stands.
pub(crate) const MAX_COMMANDS: usize = 16;

/// Bytes of output that one read gives to a guest; what the contract says of `process`.
pub(crate) const MAX_CHUNK_BYTES: usize = 64 * KIB;

/// Bytes of a command's newest output that are shown while it runs: some lines of a terminal.
pub(crate) const MAX_SHOWN_OUTPUT_BYTES: usize = 8 * KIB;

/// Processes and threads that a command may have at once. Builds on large machines have some hundreds; a fork bomb
/// of this size leaves the machine usable.
pub(crate) const MAX_PROCESSES: usize = 2_048;

/// Bytes of a command's temporary folder, and as many again of its shared memory. Both are held in memory, and
/// given back when it ends; linkers and test suites need some hundred MiB.
pub(crate) const MAX_TEMPORARY_BYTES: u64 = 1024 * MIB as u64;

/// Files and folders in each of the two: every one takes about a KiB of memory even when it is empty.
pub(crate) const MAX_TEMPORARY_FILES: u64 = 200_000;

/// How long a command that is ended may take to clean up (git removes its lock files) before it is killed. Short
/// enough for an interruption to feel immediate.
pub(crate) const COMMAND_GRACE: Duration = Duration::from_millis(60);

/// How long the end of a turn waits for what was found of commands that were interrupted. What is found later is shown
/// with the next turn.
pub const REVIEW_TIME: Duration = Duration::from_secs(2);

/// Characters of a command line that the audit log keeps.
pub(crate) const MAX_LOGGED_LINE_CHARS: usize = 400;

/// Time that an exchange over the web may take, all waiting for the network together. Less than a call has, so that
/// there is time left to make something of the answer.
pub(crate) const WEB_TIME: Duration = Duration::from_secs(30);

/// Bytes of an answer over the web, decompressed. Against a few kilobytes that unpack to gigabytes; a guest takes
/// the answer piece by piece and keeps what it wants. What the contract says of `web`.
pub(crate) const MAX_WEB_RESPONSE_BYTES: u64 = 32 * MIB as u64;

/// Requests over the web that one call may send, without their redirects. Each waits for somebody else's machine.
pub(crate) const MAX_FETCHES: usize = 32;

/// Bytes of a body that one request over the web may send; what the contract says of `web`.
pub(crate) const MAX_WEB_BODY_BYTES: usize = MIB;

/// Bytes of an answer that one read gives to a guest; what the contract says of `web`.
pub(crate) const MAX_WEB_CHUNK_BYTES: usize = 64 * KIB;

/// Servers that may be connected at once: the slots of the instance pool for bridges. People configure a handful.
pub(crate) const MAX_BRIDGES: u32 = 16;

/// Bytes of one message from or to a server; what the contract says of `mcp`. A picture of 3 MB fits in.
pub const MAX_SERVER_MESSAGE_BYTES: usize = 4 * MIB;

/// Bytes of messages that are kept while one is being sent.
pub(crate) const MAX_BACKLOG_BYTES: usize = 16 * MIB;

/// How long a bridge may take to come back once its call is not wanted any more: it has to write one message. Then its
/// instance is dropped, and the connection with it.
pub(crate) const BRIDGE_GRACE: Duration = Duration::from_millis(500);

/// How long servers may take to end in good order when they are not wanted any more. Somebody waits for it: who leaves the
/// chat.
pub(crate) const CLOSE_TIME: Duration = Duration::from_secs(1);

/// Sampling requests of a server that the chat's model answers in one call. Against wearing the user down, and, where they
/// agreed for the session, against spending without end. What the contract says of `mcp`.
pub(crate) const MAX_SAMPLING_REQUESTS: usize = 8;

/// Bytes and lines of such a request: a person has to read it. What the contract says of `mcp`.
pub(crate) const MAX_SAMPLING_BYTES: usize = 64 * KIB;
pub(crate) const MAX_SAMPLING_LINES: usize = 2_000;

/// Tokens of the answer to such a request: some pages.
pub(crate) const MAX_SAMPLING_TOKENS: u32 = 4_096;

/// Texts that may end it. Providers take four; these are looked for here. What the contract says of `mcp`.
pub(crate) const MAX_SAMPLING_STOPS: usize = 16;

/// How long a model may take for it: a small one on a slow processor needs minutes for some pages. What the contract says
/// of `mcp`.
pub(crate) const MODEL_TIME: Duration = Duration::from_secs(600);

/// Bytes of the task of a subagent: what a person would write down for somebody else. What the contract says of `subagent`.
pub(crate) const MAX_SUBAGENT_TASK_BYTES: usize = 64 * KIB;

/// Tools that a subagent can be given by name. What the contract says of `subagent`.
pub(crate) const MAX_SUBAGENT_TOOLS: usize = 64;

/// Bytes of the name of an agent or a tool there. What the contract says of `subagent`.
pub(crate) const MAX_SUBAGENT_NAME_BYTES: usize = 128;

/// Files that a subagent can be given together with its task. What the contract says of `subagent`.
pub(crate) const MAX_CONTEXT_FILES: usize = 16;

/// Bytes of these files together, and of their paths: more fits into few context windows. What the contract says of `subagent`.
pub(crate) const MAX_CONTEXT_BYTES: usize = MIB;

/// Bytes of a tool's result that the message of a subagent leaves free, for why the subagent is over and for its numbers.
pub(crate) const SUBAGENT_RESULT_BYTES: usize = 8 * KIB;

/// How often it is attended to what a server says unasked, at most. What comes faster waits in the server's own pipe.
pub(crate) const ATTEND_PERIOD: Duration = Duration::from_millis(50);

/// How often a server that says that its tools changed is asked for them, at most.
pub(crate) const RELIST_PERIOD: Duration = Duration::from_secs(1);

/// How often a server is started again in one session after it ended or its bridge broke.
pub(crate) const MAX_RESTARTS: u32 = 3;

/// Tools of one server.
pub(crate) const MAX_SERVER_TOOLS: u32 = 128;

/// Bytes of the descriptions and schemas of one server's tools together: they are sent with every request.
pub(crate) const MAX_SERVER_TOOLS_BYTES: usize = 512 * KIB;

/// Characters of a tool's description by a server that are kept: some put whole manuals there.
pub(crate) const MAX_SERVER_DESCRIPTION_CHARS: usize = 4_000;

/// Characters of what a server says about its use.
pub(crate) const MAX_INSTRUCTIONS_CHARS: usize = 4_000;

/// Resources and prompts of one server that are listed.
pub(crate) const MAX_LISTED: u32 = 1_000;

/// Bytes of the answer to a search, decompressed. Pages of results have some hundred KiB; a guest gets all of it at once.
/// What the contract says of `search`.
pub(crate) const MAX_SEARCH_BYTES: u64 = 2 * MIB as u64;

/// Characters of what is searched for; engines take some hundred. What the contract says of `search`.
pub(crate) const MAX_QUERY_CHARS: usize = 1_000;

/// Texts of one question to an embedding model. A search asks about some twenty.
pub(crate) const MAX_EMBEDDED_TEXTS: usize = 128;

/// Bytes of one such text that are passed on. Small models read a tenth of it.
pub(crate) const MAX_EMBEDDED_BYTES: usize = 4 * KIB;

/// Questions of one call to an embedding model: at a server each may cost money.
pub(crate) const MAX_EMBEDDINGS: usize = 64;

/// Numbers of a vector. The widest that are sold have 4,096.
pub(crate) const MAX_VECTOR_NUMBERS: usize = 4_096;

/// How long one question to an embedding model may take.
pub(crate) const MAX_EMBEDDING_TIME: Duration = Duration::from_secs(10);

/// Apps that may be open at once: the slots of the instance pool for them. People look at one or two.
pub(crate) const MAX_OPEN_APPS: u32 = 16;

/// Bytes of an app's program. A model writes some tens of KiB; more is a library that was pasted.
pub(crate) const MAX_APP_SOURCE_BYTES: usize = MIB;

/// Bytes of the name of a handler or of an event of an app.
pub(crate) const MAX_APP_NAME_BYTES: usize = 256;

/// Bytes of what a handler of an app returns: a picture, encoded as text. More than the result of a tool, which a model reads.
pub(crate) const MAX_APP_ANSWER_BYTES: usize = MAX_BLOB_BYTES;

/// Bytes of what one event carries from an app to its page: a page draws it at once.
pub(crate) const MAX_EMIT_BYTES: usize = MIB;

/// Events in a second from an app to its page, and their bytes together: four for each picture of a screen.
pub(crate) const MAX_EMITS_PER_SECOND: usize = 240;
pub(crate) const MAX_EMIT_BYTES_PER_SECOND: usize = 8 * MIB;

/// Messages of an app's log in a second that its page is told of: nobody reads more.
pub(crate) const MAX_TOLD_PER_SECOND: usize = 100;

/// Calls of an app's handlers that may wait at once for a timer, and as many again for their turn. A page has a handful.
pub(crate) const MAX_WAITING_CALLS: usize = 64;

/// How often the program of an app is started within [`APP_START_PERIOD`]: one that breaks at once, and whose page calls it
/// again, must not keep a processor busy.
pub(crate) const MAX_APP_STARTS: usize = 5;
pub(crate) const APP_START_PERIOD: Duration = Duration::from_mins(1);

/// The time for which [`MAX_UNDECLARED_QUESTIONS`] and [`MAX_APP_FETCHES`] count in an app: its timers are calls without an end.
pub(crate) const APP_COUNT_PERIOD: Duration = Duration::from_mins(1);

/// Requests over the web that an app may send within [`APP_COUNT_PERIOD`], on top of [`MAX_FETCHES`] for each call: one with a
/// timer and a site that it was granted must not burden that site without end. Two in a second follow whatever changes.
pub(crate) const MAX_APP_FETCHES: usize = 120;

/// The time for which [`MAX_AUDIT_BYTES`] counts in an app. It may be open for days, and one that uses something each second
/// fills a tenth of it.
pub(crate) const APP_AUDIT_PERIOD: Duration = Duration::from_hours(1);

/// Bytes of the log that the messages of an app may fill within [`APP_AUDIT_PERIOD`], and of one event more. It is shared by
/// all plugins, and what comes last pushes out what others have said before.
pub(crate) const MAX_APP_LOG_BYTES: usize = 2 * MIB;

/// How often the timers of an app are run, at most: as in browsers.
pub(crate) const APP_TIMER_PERIOD: Duration = Duration::from_millis(4);

/// Characters of what an app's program says of an error, of each of its texts.
pub(crate) const MAX_APP_ERROR_CHARS: usize = 2_000;

/// Characters of an app's name in a question.
pub(crate) const MAX_APP_TITLE_CHARS: usize = 60;
