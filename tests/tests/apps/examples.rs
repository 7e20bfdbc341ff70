//! The apps of the documentation, as a model would write them, from the message in the chat to what their page shows.

use std::fs;
use std::path::Path;
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use dunlin_tests::{Environment, Response};
use serde_json::json;

use super::chat::Chat;

/// The reply in a file of the documentation.
fn example(name: &str) -> Response {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/examples/apps");
    let reply = fs::read_to_string(format!("{folder}/{name}.md")).expect(name);
    Response::reply(&reply)
}

/// An expression: the text of the elements that a selector finds, joined by `|`.
fn texts(selector: &str) -> String {
    let selector = json!(selector);
    format!("[...document.querySelectorAll({selector})].map((it) => it.textContent).join('|')")
}

/// An expression: whether an element is shown and has this in its text.
fn shows(selector: &str, part: &str) -> String {
    let (selector, part) = (json!(selector), json!(part));
    format!(
        "[...document.querySelectorAll({selector})].some((it) => it.checkVisibility() && it.textContent.includes({part}))"
    )
}

/// Chooses in a list, or types into a field, as a user does.
fn fill(id: &str, value: &str) -> String {
    let (id, value) = (json!(id), json!(value));
    format!(
        "{{ const it = document.getElementById({id}); it.value = {value};
            for (const type of ['input', 'change']) it.dispatchEvent(new Event(type, {{ bubbles: true }})); }}"
    )
}

/// Writes a picture of the window for the documentation, if `DUNLIN_PICTURES` is set.
fn picture(chat: &Chat, name: &str, size: (u32, u32), scheme: &str) {
    chat.tab.look(size, scheme);
    #[expect(clippy::disallowed_methods, reason = "a test, not the program")]
    let is_wanted = std::env::var_os("DUNLIN_PICTURES").is_some();
    if is_wanted {
        let picture = STANDARD.decode(chat.tab.picture()).expect("base64");
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/pictures");
        fs::write(format!("{folder}/{name}.png"), picture).expect("a picture");
    }
}

/// The app is usable in a narrow window and has other colours in the dark.
fn assert_fits(chat: &Chat) {
    let background = "getComputedStyle(document.body).backgroundColor";
    chat.tab.look((320, 640), "light");
    let light = chat.tab.evaluate_in_frame(background);
    chat.tab.look((320, 640), "dark");
    let dark = chat.tab.evaluate_in_frame(background);
    assert_ne!(light, dark);
    let wide = "[...document.querySelectorAll('body *')].filter((it) => it.checkVisibility() && !it.closest('svg, .hidden, .scroll')
        && it.getBoundingClientRect().right > innerWidth).map((it) => it.outerHTML).join(' ')";
    assert_eq!(chat.tab.evaluate_in_frame(wide), "");
    // What can be used has a name for those who do not see it.
    let nameless = "[...document.querySelectorAll('input, select')].filter((it) => !it.labels.length)
        .concat([...document.querySelectorAll('button')].filter((it) => !(it.textContent.trim() || it.ariaLabel)))
        .map((it) => it.outerHTML).join(' ')";
    assert_eq!(chat.tab.evaluate_in_frame(nameless), "");
}

/// Whether an app has saved everything.
const SAVED: &str = "document.querySelector('main').ariaBusy === 'false'";

#[test]
fn the_stopwatch_keeps_its_laps() {
    let chat = Chat::open([example("stopwatch")], |_| {});
    let page = &chat.tab;
    page.wait_in_frame(&shows("#empty", "No laps yet."));
    page.evaluate_in_frame("run.click()");
    page.wait_in_frame("time.textContent !== '0:00.0'");
    for name in ["out to the reef", ""] {
        page.evaluate_in_frame(&fill("name", name));
        page.evaluate_in_frame("add.click()");
    }
    let laps = [texts("#laps .name"), texts("#laps .times")];
    page.wait_in_frame(&format!("{} === 'Lap 2|out to the reef'", laps[0]));
    page.evaluate_in_frame("run.click()");
    let stopped = page.evaluate_in_frame("time.textContent");
    let times = page.evaluate_in_frame(&laps[1]);
    page.wait_in_frame(SAVED);

    chat.reload();
    page.wait_in_frame(&format!("{} === 'Lap 2|out to the reef'", laps[0]));
    assert_eq!(page.evaluate_in_frame("time.textContent"), stopped);
    assert_eq!(page.evaluate_in_frame(&laps[1]), times);
    assert_eq!(page.evaluate_in_frame("run.textContent"), "Continue");
    assert_fits(&chat);

    page.evaluate_in_frame("document.querySelector('#laps button').click()");
    page.wait_in_frame(&format!("{} === 'out to the reef'", laps[0]));
    page.evaluate_in_frame("reset.click()");
    page.wait_in_frame(&shows("#empty", "No laps yet."));
    // What it saves is there before something else is saved.
    page.wait_in_frame(SAVED);

    // What an hour of it looks like.
    let laps = [
        ("out to the reef", 754_300),
        ("the long bend", 1_829_000),
        ("", 3_905_200),
    ];
    let laps = laps.map(|(name, at)| json!({ "name": name, "at": at }));
    let state = json!({ "started": null, "before": 3_911_700, "laps": laps });
    page.evaluate_in_frame(&format!("dunlin.invoke('save', {state})"));
    chat.reload();
    page.wait_in_frame("time.textContent === '1:05:11.7'");
    let expected = "34:36.21:05:05.2|17:54.730:29.0|12:34.312:34.3";
    assert_eq!(page.evaluate_in_frame(&texts("#laps .times")), expected);
    picture(&chat, "stopwatch", (420, 580), "dark");
    chat.assert_silent();
}

/// What the chart shows: names and values.
const BARS: [&str; 2] = ["svg .name", "svg .value"];

#[test]
fn the_chart_shows_files_of_the_project_and_asks_for_others() {
    let prepare = |environment: &Environment| {
        environment.project_file(
            "data/tides.csv",
            "time,place,\"height, in m\"\nThu 03:12,the pier,3.1\nThu 09:30,the pier,-0.4\nThu 15:41,the pier,3.3\nThu 21:55,the pier,0.2\nFri 04:05,the pier,2.8\n",
        );
        environment.project_file("broken.csv", "time;height\n03:12;3.1;2\n");
        environment.project_file("empty.csv", "");
        environment.project_file(".hidden/no.csv", "a,b\n1,2\n");
        environment.outside_file("rain.csv", "month,mm\nMay,61\nJune,1072\n");
    };
    let mut chat = Chat::open([example("csv-chart")], prepare);
    chat.tab
        .wait_in_frame(&shows("#state", "3 CSV files were found."));
    let files = "[...file.options].map((it) => it.text).join('|')";
    let expected = "Pick a file|broken.csv|data/tides.csv|empty.csv|Another file…";
    assert_eq!(chat.tab.evaluate_in_frame(files), expected);

    let pick = |chat: &Chat, path: &str| {
        chat.tab.evaluate_in_frame(&fill("file", path));
    };
    pick(&chat, "data/tides.csv");
    chat.tab
        .wait_in_frame(&shows("#heading", "height, in m by time"));
    let shown = |chat: &Chat| BARS.map(|it| chat.tab.evaluate_in_frame(&texts(it)));
    let expected = [
        "Thu 03:12|Thu 09:30|Thu 15:41|Thu 21:55|Fri 04:05",
        "3.1|-0.4|3.3|0.2|2.8",
    ];
    assert_eq!(shown(&chat), expected);
    // As long as their values say, from the same line.
    let lengths = "[...document.querySelectorAll('svg .bar')].map((it) => it.width.baseVal.value)";
    let ratio = format!("(([a, b]) => Math.round(a / b * 100) / 100)({lengths})");
    assert_eq!(chat.tab.evaluate_in_frame(&ratio), 7.75);
    assert_fits(&chat);
    picture(&chat, "csv-chart", (640, 530), "light");

    pick(&chat, "broken.csv");
    let expected = "broken.csv cannot be shown: line 2 has 3 columns, and the first line has 2";
    chat.tab.wait_in_frame(&shows("#error", expected));
    pick(&chat, "empty.csv");
    chat.tab
        .wait_in_frame(&shows("#state", "empty.csv has no rows."));

    let other = |chat: &Chat, path: &str| {
        pick(chat, "\0other");
        chat.tab.evaluate_in_frame(&fill("path", path));
        chat.tab.evaluate_in_frame("form.requestSubmit()");
    };
    chat.assert_silent();
    other(&chat, "none.csv");
    chat.tab
        .wait_in_frame(&shows("#error", "none.csv cannot be shown: "));
    chat.tab.wait_in_frame(&shows("#error", "none.csv"));

    other(&chat, "../outside/rain.csv");
    let screen = chat.question();
    assert!(screen.contains("rain.csv'?\n"), "{:?}", chat.terminal);
    chat.terminal.type_line("n");
    let expected =
        "../outside/rain.csv cannot be shown: permission to read '../outside/rain.csv' was denied";
    chat.tab.wait_in_frame(&shows("#error", expected));
    other(&chat, "../outside/rain.csv");
    chat.question();
    chat.terminal.type_line("y");
    chat.tab.wait_in_frame(&shows("#heading", "mm by month"));
    assert_eq!(shown(&chat), ["May|June", "61|1,072"]);
}

/// Runs a line of a shell in a project.
fn run(project: &Path, line: &str) {
    let done = Command::new("/bin/sh")
        .args(["-ec", line])
        .current_dir(project)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_SYSTEM", "/dev/null")
        .status();
    assert!(done.expect("a shell").success(), "{line}");
}

#[test]
fn the_log_is_shown_and_filtered() {
    let chat = Chat::open([example("git-log")], |_| {});
    let page = &chat.tab;
    page.wait_in_frame(&shows(
        "#missing",
        "There is no log.json in this project yet.",
    ));
    assert_fits(&chat);

    // The command is the one that the page shows.
    let command = page.evaluate_in_frame("command.textContent");
    let project = chat.environment.project();
    let commit = |author: &str, date: &str, subject: &str| {
        format!(
            "GIT_COMMITTER_DATE={date} git -c user.name='{author}' -c user.email=a@example.org commit -q --allow-empty --date={date} -m '{subject}'\n"
        )
    };
    let commits = [
        commit("Ada", "2026-01-02T03:04:05Z", "Say \"hello\" with a \\"),
        commit("Bo & Co", "2026-01-02T10:00:00Z", "<b>Bold</b>	after a tab"),
        commit("Ada", "2026-02-03T10:00:00Z", "Count the waders"),
    ];
    run(&project, &format!("git init -q\n{}", commits.concat()));
    run(&project, command.as_str().expect("a command"));
    page.evaluate_in_frame("again.click()");
    page.wait_in_frame(&shows("#count", "3 of 3 commits"));
    let subjects = texts(".subject");
    let expected = "Count the waders|<b>Bold</b> after a tab|Say \"hello\" with a \\";
    assert_eq!(page.evaluate_in_frame(&subjects), expected);
    let days = "February 3, 2026|January 2, 2026";
    assert_eq!(page.evaluate_in_frame(&texts("h2")), days);
    assert_fits(&chat);

    page.evaluate_in_frame(&fill("text", "WADERS"));
    page.wait_in_frame(&shows("#count", "1 of 3 commits"));
    assert_eq!(page.evaluate_in_frame(&texts("mark")), "waders");
    page.evaluate_in_frame(&fill("text", ""));
    page.evaluate_in_frame(&fill("author", "Bo & Co"));
    page.wait_in_frame(&format!("{subjects} === '<b>Bold</b> after a tab'"));
    page.evaluate_in_frame(&fill("text", "waders"));
    page.wait_in_frame(&shows("#count", "No commit matches."));

    for (text, expected) in [
        ("", "log.json has no commits."),
        ("[[1]]", "log.json cannot be shown: entry 1 is not"),
        ("[", "log.json cannot be shown: "),
    ] {
        chat.environment.project_file("log.json", text);
        page.evaluate_in_frame("again.click()");
        page.wait_in_frame(&shows("#state, #error", expected));
    }
    chat.assert_silent();
}
