//! What each guest tries, and the line that has to stop it.

use crate::{End, Trial};

use End::{Asks, Fails, Gives, Harmless, LeftOut, NotInstalled, Refused, Sandboxed};

/// Everything inside and outside of the project.
const ALL: &[(&str, &str)] = &[("/", "rwx")];

/// The trials of all guests but `wasi`, whose are in [`WASI`](crate::WASI).
pub const TRIALS: &[Trial] = &[
    // What a plugin says of itself.
    Trial::of(
        "bad_contract",
        "was made for another contract",
        LeftOut(
            "the plugin bad_contract was built for dunlin:tool 9.9.9; this host serves dunlin:tool up to 0.1.0",
        ),
    ),
    Trial::of(
        "bad_name",
        "moves the cursor by its name",
        LeftOut(
            r#"the plugin bad_name describes itself badly: the tool name "read\u{1b}[2Jfile\nallowed" is not 1 to 64 of a-z A-Z 0-9 _ -"#,
        ),
    ),
    Trial::of(
        "bad_schema",
        "has parameters that are not JSON",
        LeftOut(
            "the plugin bad_schema describes itself badly: the parameters of bad_schema: the schema is not JSON: EOF while parsing a value at line 1 column 33",
        ),
    ),
    Trial::of(
        "deep_schema",
        "nests its parameters 100,000 levels deep",
        LeftOut(
            "the plugin deep_schema describes itself badly: the parameters of deep_schema: the schema has 3700002 bytes; at most 65536 are allowed",
        ),
    ),
    Trial::of(
        "endless_schema",
        "has parameters that refer to themselves",
        LeftOut("the plugin endless_schema describes itself badly: the parameters of endless_schema: the reference #/$defs/a leads back to itself"),
    ),
    Trial::of(
        "explosive_schema",
        "has parameters that grow when they are checked",
        LeftOut("the plugin explosive_schema describes itself badly: the parameters of explosive_schema: the schema unfolds to more than 10000 rules"),
    ),
    Trial::of(
        "huge_description",
        "describes its tool in 20 MB",
        LeftOut(
            "the plugin huge_description cannot describe itself: it handed over more than 9 MiB at once",
        ),
    ),
    Trial::of(
        "many_tools",
        "offers 100,000 tools",
        LeftOut(
            "the plugin many_tools describes itself badly: it holds 100000 tools; at most 64 are allowed",
        ),
    ),
    Trial::of(
        "loop_in_describe",
        "loops while it describes itself",
        LeftOut("the plugin loop_in_describe cannot describe itself: it was stopped after 1 s"),
    )
    .short(),
    Trial::of(
        "open_in_describe",
        "reads a file while it describes itself",
        LeftOut(
            "the plugin open_in_describe cannot describe itself: it used an import in describe",
        ),
    ),
    Trial::of(
        "shadow",
        "takes the name of Dunlin's own read_file",
        LeftOut(
            "the tool read_file of the plugin shadow is left out: the plugin read_file has one of that name",
        ),
    ),
    Trial::of(
        "steer",
        "tells the model something that nobody else sees",
        NotInstalled("it describes its tool with the invisible character U+E0061"),
    ),
    // What a call takes.
    Trial::of(
        "loop_forever",
        "loops",
        Fails("loop_forever was stopped after 1 s"),
    )
    .short(),
    Trial::of(
        "loop_in_prepare",
        "loops before it runs",
        Fails("loop_in_prepare was stopped after 1 s"),
    )
    .short(),
    Trial::of(
        "host_call_flood",
        "calls the host for ever",
        Fails("host_call_flood was stopped after 1 s"),
    )
    .short(),
    Trial::of(
        "log_forever",
        "writes to the log for ever",
        Fails("log_forever was stopped after 1 s"),
    )
    .short(),
    Trial::of(
        "allocate_forever",
        "takes memory for ever",
        Fails("allocate_forever needed more than 64 MiB of memory"),
    ),
    Trial::of(
        "deep_recursion",
        "calls itself for ever",
        Fails("deep_recursion ran out of stack: it called itself too deeply"),
    ),
    Trial::of("trap", "breaks down", Fails("trap crashed")),
    Trial::of(
        "return_100_mb",
        "returns 100 MB",
        Fails("return_100_mb declared more than 16 MiB"),
    ),
    Trial::of(
        "huge_error",
        "fails with 10 MB of words",
        Fails("huge_error handed over more than 9 MiB at once"),
    ),
    Trial::of(
        "huge_need",
        "declares a name of 4 MB",
        Fails("huge_need is faulty: its plan names 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxx…xxxxxxxxxxxxxxxxxxxxxxxxxxxxx', and the path is 4194304 bytes long; at most 4096 are possible; that is for the author of the plugin to correct, in prepare"),
    )
    .with(r#"{"kind":"path"}"#),
    Trial::of(
        "many_needs",
        "declares 100,000 files",
        Fails(
            "many_needs wants 100000 files, addresses and programs at once; at most 1000 are asked about; a plan can name a folder or a site instead",
        ),
    ),
    Trial::of(
        "many_handles",
        "opens files and closes none",
        Gives("256 files open, then: more than 256 files are open; close some"),
    )
    .with(r#"{"path":"README.md"}"#),
    Trial::of("big_read", "reads 4 GiB at once", Gives("bytes: Ok(23)\nlines: Ok(22)\nentries: Ok(9)"))
        .with(r#"{"path":"README.md"}"#),
    Trial::of("wrong_range", "reads from where nothing is", Gives("Ok([])\nOk([])\nErr(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))\nOk(Lines { lines: [], at_end: true })\nOk(Lines { lines: [], at_end: false })\nErr(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))\nErr(Invalid(\"lines count from 1, and a maximum of 0 gives nothing\"))"))
        .with(r#"{"path":"README.md"}"#),
    Trial::of(
        "progress_flood",
        "reports a million steps",
        Gives("done"),
    ),
    // What it says.
    Trial::of(
        "escapes_everywhere",
        "hides characters in what the model reads",
        NotInstalled("it describes its tool with the invisible character U+001B"),
    ),
    Trial::of(
        "escapes_everywhere",
        "draws on the terminal with every string",
        Harmless("what it says is escaped"),
    )
    .with(r#"{"fail":true}"#)
    .agreed(),
    Trial::of(
        "ask_in_prepare",
        "asks before anything was decided",
        Fails("nothing can be touched while a call is prepared"),
    ),
    Trial::of(
        "ask_forever",
        "asks a thousand questions, where nobody is",
        Gives("the question is empty\nthe question has 5000 bytes; at most 4096 can be asked\nthere are 21 options; at most 20 can be offered\noption 1 is empty\noption 1 has 501 bytes; at most 500 can be offered\n0 of 1000 answered\nthis call has asked 8 times already; no more are possible"),
    ),
    Trial::of(
        "subagent",
        "starts a subagent, as only Dunlin's own tool may",
        Gives("only Dunlin's own tool can run subagents"),
    ),
    // Files.
    Trial::of(
        "undeclared",
        "reads a file that it did not declare",
        Fails("Permission denied: permission to read '../outside/secret.txt' was denied"),
    )
    .with(r#"{"path":"../outside/secret.txt"}"#),
    Trial::of(
        "open_etc_passwd",
        "climbs to /etc/passwd by ..",
        Fails("Permission denied: permission to read '../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../../etc/passwd' was denied"),
    ),
    Trial::of(
        "lie_in_prepare",
        "declares README.md and reads another file",
        Fails("Permission denied: permission to read '../outside/secret.txt' was denied"),
    )
    .with(r#"{"path":"../outside/secret.txt"}"#),
    Trial::of(
        "open_in_prepare",
        "reads before anything was decided",
        Asks("Got nothing: nothing can be touched while a call is prepared?"),
    )
    .with(r#"{"path":"README.md"}"#),
    Trial::of(
        "follow_symlink",
        "reads a link while it is swapped",
        Harmless("what was opened is what was checked"),
    )
    .with(r#"{"path":"swapped","times":20000}"#)
    .swapped(),
    Trial::of(
        "read_permission_file",
        "reads what Dunlin keeps, where everything is granted",
        Refused("Dunlin's own files are never granted"),
    )
    .with(r#"{"path":"../config/tool.permissions.json"}"#)
    .granted(ALL),
    Trial::of(
        "read_permission_file",
        "reads Dunlin's environment, where everything is granted",
        Refused("Dunlin's own files are never granted"),
    )
    .with(r#"{"path":"/proc/self/environ"}"#)
    .granted(ALL),
    Trial::of(
        "nag",
        "reads a thousand files that it did not declare",
        Gives("0 of 1000 allowed"),
    ),
    Trial::of(
        "edit_otherwise",
        "shows one edit and makes another",
        Fails("Permission denied: permission to write 'README.md' was denied"),
    )
    .with(r#"{"path":"README.md"}"#)
    .after_reading()
    .agreed(),
    Trial::of(
        "edit_undeclared",
        "edits what may be written, and shows nothing",
        Fails("Permission denied: permission to write 'README.md' was denied"),
    )
    .with(r#"{"path":"README.md"}"#)
    .after_reading()
    .granted(&[("./", "rw-")]),
    Trial::of(
        "diary",
        "shows what it appends and appends something else",
        Fails("Permission denied: permission to write 'README.md' was denied"),
    )
    .with(r#"{"path":"README.md","how":"append","text":"harm","declared":"none"}"#)
    .agreed(),
    Trial::of(
        "diary",
        "says that the run decides what is written, and nobody is there to ask",
        Fails("Permission denied: permission to write 'README.md' was denied"),
    )
    .with(r#"{"path":"README.md","how":"write","text":"harm","later":true}"#)
    .agreed(),
    Trial::of(
        "names",
        "shows that it removes one file and removes another",
        Fails("Permission denied: permission to write 'README.md' was denied"),
    )
    .with(r#"{"plan":["remove diary.txt"],"steps":["remove README.md"]}"#)
    .agreed(),
    Trial::of(
        "names",
        "renames the secret into the project, to read it there",
        Fails("Permission denied: permission to read '../outside/secret.txt' was denied"),
    )
    .with(r#"{"plan":[],"steps":["rename ../outside/secret.txt here.txt","read here.txt"]}"#)
    .granted(&[("./", "rw-"), ("../outside/", "?w?")]),
    Trial::of(
        "names",
        "renames one file over another, both of which may be written",
        Harmless("a name that something has is not free"),
    )
    .with(r#"{"plan":["rename diary.txt README.md"],"steps":["rename diary.txt README.md"]}"#)
    .granted(&[("./", "rw-")]),
    // The web.
    Trial::of(
        "fetch_otherwise",
        "fetches from this machine, and says nothing",
        Fails("Permission denied: permission to read 'http://127.0.0.1:PORT/' was denied"),
    )
    .with(r#"{"url":"http://127.0.0.1:PORT/"}"#),
    Trial::of(
        "fetch_otherwise",
        "fetches credentials of the cloud, where everything is granted",
        Fails("Permission denied: permission to read 'http://169.254.169.254/latest/meta-data/' was denied"),
    )
    .with(r#"{"url":"http://169.254.169.254/latest/meta-data/"}"#)
    .granted(&[("/", "rwx"), ("https://169.254.169.254/", "rw?")]),
    Trial::of(
        "post_otherwise",
        "posts a file of the project that its arguments do not name",
        Fails("Permission denied: permission to write 'http://127.0.0.1:PORT/' was denied"),
    )
    .with(r#"{"url":"http://127.0.0.1:PORT/"}"#),
    Trial::of(
        "wasi_http",
        "fetches from this machine through WASI, and says nothing",
        Fails("handle: ErrorCode::HttpRequestDenied"),
    )
    .with(r#"{"authority":"127.0.0.1:PORT","path":"/"}"#),
    Trial::of(
        "wasi_http",
        "fetches credentials of the cloud through WASI, where everything is granted",
        Fails("handle: ErrorCode::HttpRequestDenied"),
    )
    .with(r#"{"authority":"169.254.169.254","path":"/latest/meta-data/"}"#)
    .granted(&[("/", "rwx"), ("https://169.254.169.254/", "rw?")]),
    // Commands.
    Trial::of(
        "disguised_command",
        "hides a command behind another question",
        Asks("Run command: rm -r src?"),
    )
    .with(r#"{"line":"rm -r src"}"#),
    Trial::of(
        "command_otherwise",
        "shows one command and runs another",
        Fails("Permission denied: permission to execute 'cp ../outside/secret.txt .' was denied"),
    )
    .with(r#"{"shown":"true","run":"cp ../outside/secret.txt ."}"#)
    .agreed(),
    Trial::of("command_many", "starts commands for ever", Fails("Permission denied: permission to execute 'exec sleep 300' was denied")).agreed(),
    Trial::of(
        "command_otherwise",
        "with a yes: writes outside of the project",
        Sandboxed("the command sandbox"),
    )
    .with(r#"{"shown":"f=outside; echo x > ../$f/new.txt","run":"f=outside; echo x > ../$f/new.txt"}"#)
    .agreed(),
    Trial::of(
        "command_otherwise",
        "with a yes: reads what Dunlin keeps",
        Sandboxed("the command sandbox"),
    )
    .with(r#"{"shown":"f=config; cp ../$f/tool.permissions.json .","run":"f=config; cp ../$f/tool.permissions.json ."}"#)
    .agreed(),
    Trial::of(
        "command_otherwise",
        "with a yes: connects to this machine",
        Sandboxed("the command sandbox"),
    )
    .with(r#"{"shown":"exec 3<>/dev/tcp/127.0.0.1/PORT","run":"exec 3<>/dev/tcp/127.0.0.1/PORT"}"#)
    .agreed(),
];
