//! The console examples of the README and of the pages in `docs/`. What an example shows as typed is typed here, into a shell
//! in a terminal; what it shows as printed has to be what is printed.
//!
//! `docs/tour/record.sh` records the examples again. The files and the model are the same there and here.

use std::collections::BTreeMap;
use std::fs;
use std::num::NonZeroU16;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::sync::LazyLock;

use dunlin_tests::{Environment, Invocation, Key, Provider, Response, Screen, Terminal, program};
use regex::Regex;
use serde_json::Value;

use crate::documentation::{page, pages, repository};
use crate::stage::PLACEHOLDER;

/// What `<!-- recorded: NAME -->` stands before, in the order in which it was recorded: each finds what those before it left.
/// `session` is the picture.
const SCENES: [&str; 7] = [
    "first-run",
    "chat",
    "session",
    "command",
    "batch",
    "resume",
    PLUGIN,
];

/// Needs a compiler that building Dunlin does not: where it is missing, this scene is not played.
const PLUGIN: &str = "plugin";

/// The other examples by their page and first line, and why nobody plays them.
const NOT_PLAYED: [(&str, &str, &str); 4] = [
    (
        "docs/apps.md",
        "$ dunlin --agent maker",
        "leaves out the programs that the model writes; tests/tests/program/apps plays such a chat",
    ),
    (
        "docs/plugins.md",
        "$ dunlin plugin new words                   # or --lang js, --lang python, --lang c",
        "fetches crates from the network; cargo_test_calls_a_new_plugin builds it without",
    ),
    (
        "docs/requests.md",
        "$ dunlin requests show 3 --sent | sha256sum",
        "shows what to type, not what is printed: the_commands_for_requests_work runs it",
    ),
    (
        "docs/security.md",
        "$ dunlin plugin zoo",
        "leaves out most lines: the_zoo_gets_nowhere looks for those that it shows",
    ),
];

/// Programs of examples that not every machine has. A line with one that is missing is not run.
const OTHERS: [&str; 2] = ["curl", "jq"];

/// What stands before what is typed.
const PROMPTS: [&str; 6] = [
    SHELL,
    MESSAGE,
    "  allow? ",
    "  approve? ",
    "Which one? 1-4 [1] ",
    "Save this configuration? [y/n] ",
];
const SHELL: &str = "$ ";
const MESSAGE: &str = "› ";

/// Rows and columns of the terminal that was recorded.
const ROWS: NonZeroU16 = NonZeroU16::new(60).expect("not zero");
const COLUMNS: NonZeroU16 = NonZeroU16::new(110).expect("not zero");

/// The home folder of the examples.
const HOME: &str = "/home/ada";

/// What differs from run to run.
static VARYING: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let patterns = [
        (r"<?\b(\d+ min )?\d+(\.\d+)? (ms|s)\b", "[TIME]"),
        (r"\bjust now\b|\b\d+ min ago\b", "[AGO]"),
        (r"\b\d+ kB\b", "[SIZE]"),
        (r"\b[0-9a-f]{64}\b", "[SHA-256]"),
        (r"--resume [a-z0-9]{8}\b", "--resume [ID]"),
    ];
    let read = |(pattern, name)| (Regex::new(pattern).expect("a pattern"), name);
    patterns.map(read).into()
});

/// What stands in the blocks of code that show a shell, by page, with the name that it was recorded under.
fn examples() -> Vec<(String, Option<String>, String)> {
    let mut examples = Vec::new();
    for (path, page) in pages() {
        // Blocks of code stand between the prose.
        let pieces: Vec<&str> = page.split("\n```").collect();
        for pair in pieces.chunks_exact(2) {
            let (before, (_, text)) = (pair[0], pair[1].split_once('\n').expect("a language"));
            let mark = before.lines().last().unwrap_or_default();
            let name = mark.strip_prefix("<!-- recorded: ");
            let name = name.and_then(|it| it.strip_suffix(" -->"));
            if name.is_some() || text.lines().any(|line| line.starts_with(SHELL)) {
                examples.push((path.clone(), name.map(str::to_owned), text.to_owned()));
            }
        }
    }
    examples
}

/// The lines of a picture that `draw.py` drew.
fn lines_of_picture(svg: &str) -> String {
    const CHARACTER: f64 = 8.4;
    const LINE: f64 = 19.0;
    let mut rows: BTreeMap<usize, String> = BTreeMap::new();
    for piece in svg.lines().filter(|line| line.starts_with("<text ")) {
        let number = |index: usize| -> f64 {
            let value = piece.split('"').nth(index).expect("an attribute");
            value.parse().expect("a number")
        };
        let place = |value: f64, unit: f64| ((value - 16.0) / unit) as usize;
        let row = rows.entry(place(number(3), LINE)).or_default();
        let missing = place(number(1) + 1.0, CHARACTER) - row.chars().count();
        row.push_str(&" ".repeat(missing));
        let text = piece.split_once('>').expect("a tag").1;
        let mut text = text.strip_suffix("</text>").expect("its end").to_owned();
        for (name, character) in [
            ("lt", "<"),
            ("gt", ">"),
            ("quot", "\""),
            ("#x27", "'"),
            ("amp", "&"),
        ] {
            text = text.replace(&format!("&{name};"), character);
        }
        row.push_str(&text);
    }
    let last = rows.keys().last().copied().expect("a line");
    let lines: Vec<String> = (0..=last)
        .map(|row| rows.remove(&row).unwrap_or_default())
        .collect();
    lines.join("\n")
}

/// What stands before what is typed in a line, and what is typed.
fn typed(line: &str) -> Option<(&'static str, &str)> {
    PROMPTS
        .iter()
        .find_map(|prompt| match line.strip_prefix(prompt) {
            None => (line == prompt.trim_end()).then_some((*prompt, "")),
            Some(typed) => Some((*prompt, typed)),
        })
}

/// What waits for keys, if nothing was typed yet.
fn prompt(screen: &Screen) -> Option<&'static str> {
    let line = screen.cursor_line.trim_end();
    let (prompt, typed) = typed(line.strip_suffix(PLACEHOLDER).unwrap_or(line))?;
    // What is typed during a turn looks like a message.
    (typed.is_empty() && (prompt != MESSAGE || screen.reads_message)).then_some(prompt)
}

fn prompts(screen: &Screen) -> usize {
    screen
        .text
        .lines()
        .filter(|line| typed(line.trim_end()).is_some())
        .count()
}

/// What an example shows: a terminal has a prompt behind it, and nothing was typed there.
fn trimmed(text: &str) -> String {
    let mut lines: Vec<&str> = text.trim_end().lines().map(str::trim_end).collect();
    let is_open = |line: &&str| *line == SHELL.trim_end() || line.starts_with(MESSAGE.trim_end());
    if lines.last().is_some_and(is_open) {
        lines.pop();
    }
    lines.join("\n").trim_end().to_owned()
}

fn without_varying(text: &str) -> String {
    let text = trimmed(text);
    VARYING.iter().fold(text, |text, (pattern, name)| {
        pattern.replace_all(&text, *name).into_owned()
    })
}

/// The answers of the model of the examples, each conversation by its first message.
fn script(home: &Path) -> BTreeMap<String, Vec<Value>> {
    let script = page("docs/tour/script.json").replace(HOME, &home.display().to_string());
    serde_json::from_str(&script).expect("conversations")
}

fn response(answer: &Value) -> Response {
    let text = answer.as_str().or(answer["text"].as_str());
    let response = text.into_iter().fold(Response::stream(), Response::text);
    let Some(calls) = answer["calls"].as_array() else {
        return response.finish("stop");
    };
    let calls = calls
        .iter()
        .map(|call| (call[0].as_str().expect("a name"), call[1].clone()));
    response.calls_of(calls)
}

/// What the examples begin with: a home folder with a project, and nothing configured.
struct Stage {
    environment: Environment,
    provider: Provider,
}

impl Stage {
    /// A stage on which these conversations are held, and answers behind those of the script.
    fn new(wanted: impl Fn(&str) -> bool, more: &[(&str, Response)]) -> Stage {
        let environment = Environment::warm(program!());
        let home = environment.home();
        copy(&repository().join("docs/tour/home"), &home);
        fs::create_dir(home.join("shore/.git")).expect("a folder");
        fs::create_dir(home.join("bin")).expect("a folder");
        symlink(environment.program(), home.join("bin/dunlin")).expect("a link");
        let script = script(&home);
        let conversations =
            script
                .iter()
                .filter(|(first, _)| wanted(first))
                .map(|(first, answers)| {
                    let more = more
                        .iter()
                        .filter(|(of, _)| of == first)
                        .map(|(_, response)| response.clone());
                    (
                        first.as_str(),
                        answers.iter().map(response).chain(more).collect(),
                    )
                });
        let provider = Provider::play_each(conversations);
        Stage {
            environment,
            provider,
        }
    }

    fn shell(&self, arguments: &[&str]) -> Invocation<'_> {
        let home = self.environment.home();
        let below = |folder: &str| home.join(folder).display().to_string();
        let path = format!("{}:/usr/local/bin:/usr/bin:/bin", below("bin"));
        let invocation = self.environment.command(arguments);
        let invocation = invocation
            .program("/bin/bash")
            .in_folder(home.join("shore"));
        [
            ("PS1", SHELL),
            ("INPUTRC", "/dev/null"),
            ("PATH", path.as_str()),
            ("XDG_CONFIG_HOME", &below(".config")),
            ("XDG_DATA_HOME", &below(".local/share")),
            ("DUNLIN_DISCOVER", &self.provider.base_url()),
            ("OPENAI_API_KEY", ""),
        ]
        .into_iter()
        .fold(invocation, |invocation, (name, value)| {
            invocation.variable(name, value)
        })
    }

    /// Types what an example shows as typed, and asserts that the rest of it is printed.
    fn play(&self, name: &str, example: &str) {
        let example = trimmed(example);
        let mut terminal = self.shell(&["--norc", "--noprofile", "+m"]).terminal();
        terminal.resize(ROWS, COLUMNS);
        let mut seen = 0;
        for (expected, line) in example.lines().filter_map(typed) {
            let screen = next(&terminal, seen);
            assert_eq!(
                prompt(&screen),
                Some(expected),
                "{name}: {line}\n{terminal:?}"
            );
            seen = prompts(&screen);
            match (expected, line) {
                (MESSAGE, "") => terminal.press(Key::CtrlD),
                _ => terminal.type_line(line),
            }
        }
        let screen = next(&terminal, seen);
        let shown = self.as_recorded(&screen.text);
        let (shown, expected) = (without_varying(&shown), without_varying(&example));
        assert!(
            shown == expected,
            "{name}: the page shows\n{expected}\n\nDunlin prints\n{shown}"
        );
        if prompt(&screen) == Some(MESSAGE) {
            terminal.press(Key::CtrlD);
            next(&terminal, prompts(&screen));
        }
    }

    /// The text with the names that the examples have for the folder, the server and its model.
    fn as_recorded(&self, text: &str) -> String {
        let server = self.provider.base_url();
        let server = server.trim_start_matches("http://").trim_end_matches("/v1");
        text.replace(&self.environment.home().display().to_string(), HOME)
            .replace(server, "127.0.0.1:8080")
            .replace("local server at", "llama.cpp at")
            .replace(dunlin_tests::provider::MODEL, "small")
    }

    /// Whether what compiles C for plugins is here; Dunlin says what is missing.
    fn compiles_c(&self) -> bool {
        let commands = "dunlin plugin new try --lang c && dunlin plugin build try; rm -r try";
        let said = self.shell(&["-c", commands]).run();
        !said
            .stderr
            .contains("hint: on Debian, apt-get install clang")
    }
}

/// Waits until the next line is to be typed.
fn next(terminal: &Terminal, seen: usize) -> Screen {
    terminal.wait_until("a prompt", |screen| {
        prompts(screen) > seen && prompt(screen).is_some()
    })
}

/// Copies the files of a folder into another one.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let path = entry.expect("an entry").path();
        let to = to.join(path.file_name().expect("a name"));
        match path.is_dir() {
            true => copy(&path, &to),
            false => drop(fs::copy(&path, &to).expect("a file")),
        }
    }
}

#[test]
fn each_example_is_played_or_it_is_said_why_not() {
    let (recorded, others): (Vec<_>, Vec<_>) =
        examples().into_iter().partition(|it| it.1.is_some());
    let mut names: Vec<String> = recorded.into_iter().filter_map(|it| it.1).collect();
    names.push("session".to_owned());
    names.sort();
    let mut scenes = SCENES;
    scenes.sort_unstable();
    assert_eq!(names, scenes);
    let first = |text: &str| {
        text.lines()
            .find(|line| line.starts_with(SHELL))
            .map(str::to_owned)
    };
    let others = others
        .iter()
        .map(|(page, _, text)| (page.as_str(), first(text).unwrap_or_default()));
    let not_played = NOT_PLAYED.map(|(page, first, _)| (page, first.to_owned()));
    assert_eq!(others.collect::<Vec<_>>(), not_played);
}

#[test]
fn the_recorded_examples_are_what_dunlin_prints() {
    let examples = examples()
        .into_iter()
        .filter_map(|(_, name, text)| Some((name?, text)));
    let mut examples: BTreeMap<String, String> = examples.collect();
    let picture = lines_of_picture(&page("docs/tour/session.svg"));
    examples.insert("session".to_owned(), picture);
    let counts = "How many words has notes.md?";
    let compiles_c = Stage::new(|_| false, &[]).compiles_c();
    let stage = Stage::new(|first| compiles_c || first != counts, &[]);
    for name in SCENES.iter().filter(|name| compiles_c || **name != PLUGIN) {
        stage.play(name, &examples[*name]);
    }
    if compiles_c {
        // The reply is the script's, so it is to say what the tool counted.
        let requests = stage.provider.requests();
        let last = requests
            .last()
            .and_then(|request| request.messages().last());
        assert_eq!(last.expect("a result")["content"], "4 words");
    }
}

/// Of commands that stand there without what they print it counts that they work.
#[test]
fn the_commands_for_requests_work() {
    let greeting = "Fix the greeting in greet.py";
    let is_wanted = |first: &str| first.starts_with("Say hello") || first == greeting;
    let is_here = |program: &&&str| Path::new("/usr/bin").join(program).exists();
    let here: Vec<&str> = OTHERS.iter().filter(is_here).copied().collect();
    // What curl sends once more is answered once more.
    let again = here
        .contains(&"curl")
        .then(|| (greeting, Response::reply("Again.")));
    let stage = Stage::new(is_wanted, again.as_slice());
    let of = |name: &str| {
        examples()
            .into_iter()
            .find(|it| it.1.as_deref() == Some(name))
    };
    stage.play("first-run", &of("first-run").expect("an example").2);
    stage.play("session", &lines_of_picture(&page("docs/tour/session.svg")));
    let (_, _, commands) = examples()
        .into_iter()
        .find(|(page, ..)| page == "docs/requests.md")
        .expect("an example");
    let lines = commands.lines().filter_map(|line| line.strip_prefix(SHELL));
    let mut count = 0;
    for line in lines.filter(|line| {
        OTHERS
            .iter()
            .all(|it| !line.contains(it) || here.contains(it))
    }) {
        count += 1;
        let output = stage.shell(&["-o", "pipefail", "-c", line]).run();
        assert_eq!(output.status, Some(0), "{line}: {output}");
    }
    assert!(count > 1, "{commands}");
}
