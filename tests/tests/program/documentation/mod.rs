//! What the README and the pages in `docs/` show is what there is.

mod tour;
mod wording;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use dunlin_tests::{API_KEY, Environment, program};

/// Lines of the README: it is the introduction, and everything else has a page of its own.
const MAX_README_LINES: usize = 250;

/// Words of a command that can be names of subcommands: `config key set` has most.
const MAX_COMMAND_WORDS: usize = 3;

pub fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

pub fn page(path: &str) -> String {
    fs::read_to_string(repository().join(path)).expect(path)
}

/// The README and every page, by their paths in the repository.
pub fn pages() -> BTreeMap<String, String> {
    let mut pages = BTreeMap::new();
    pages.insert("README.md".to_owned(), page("README.md"));
    for folder in ["docs", "docs/plugins"] {
        for entry in fs::read_dir(repository().join(folder)).expect("the folder of pages") {
            let name = entry.expect("an entry").file_name();
            let path = format!("{folder}/{}", name.to_string_lossy());
            if Path::new(&path).extension().is_some_and(|it| it == "md") {
                pages.insert(path.clone(), page(&path));
            }
        }
    }
    pages
}

/// The blocks of code of a page: the language and the text of each.
fn blocks(page: &str) -> Vec<(String, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(String, String)> = None;
    for line in page.lines() {
        let fence = line.strip_prefix("```");
        if let Some(mut block) = open.take() {
            if fence.is_some() {
                blocks.push(block);
            } else {
                block.1.push_str(line);
                block.1.push('\n');
                open = Some(block);
            }
        } else if let Some(language) = fence {
            open = Some((language.to_owned(), String::new()));
        }
    }
    assert!(open.is_none(), "a block of code without an end");
    blocks
}

/// The texts of the blocks in this language.
fn blocks_in(page: &str, language: &str) -> Vec<String> {
    let blocks = blocks(page).into_iter();
    let blocks = blocks.filter(|(of, _)| of == language);
    blocks.map(|(_, text)| text).collect()
}

/// The lines outside of blocks of code.
fn prose(page: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        if line.starts_with("```") {
            inside = !inside;
        } else if !inside {
            lines.push(line);
        }
    }
    lines
}

/// Where the links and pictures of a page lead.
fn links(page: &str) -> Vec<&str> {
    let mut links = Vec::new();
    for line in prose(page) {
        for rest in line.split("](").skip(1) {
            links.extend(rest.split(')').next());
        }
    }
    links
}

/// The anchors of a page's headings: lower case without punctuation, and `-` for each space.
fn anchors(page: &str) -> Vec<String> {
    let mut anchors = Vec::new();
    for line in prose(page) {
        if line.starts_with('#') {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title
                .chars()
                .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            anchors.push(kept.collect::<String>().replace(' ', "-"));
        }
    }
    anchors
}

/// The path in the repository to which a link on this page leads.
fn resolve(page: &str, link: &str) -> String {
    if link.is_empty() {
        return page.to_owned();
    }
    let mut parts: Vec<&str> = page.split('/').collect();
    parts.pop();
    for part in link.split('/') {
        match part {
            "" | "." => {}
            ".." => assert!(
                parts.pop().is_some(),
                "{page}: {link} leaves the repository"
            ),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

/// The commands that a line stands for: `mcp login|logout NAME` is two. What follows two spaces describes them.
fn commands(line: &str) -> Vec<Vec<String>> {
    let typed = line.split("  ").next().unwrap_or_default();
    let words = typed.split_whitespace().take_while(|word| {
        !word.starts_with('-') && word.chars().all(|c| matches!(c, 'a'..='z' | '-' | '|'))
    });
    let mut commands: Vec<Vec<String>> = vec![Vec::new()];
    for word in words.take(MAX_COMMAND_WORDS) {
        let mut longer = Vec::new();
        for command in &commands {
            for name in word.split('|') {
                let mut command = command.clone();
                command.push(name.to_owned());
                longer.push(command);
            }
        }
        commands = longer;
    }
    commands
}

/// The long options of a command, without what it passes on: another command behind `--` or a pipe, and texts in quotation marks.
fn options(line: &str) -> Vec<String> {
    let own = ["  ", " -- ", " | ", " && "]
        .iter()
        .fold(line, |line, end| {
            line.split_once(end).map_or(line, |(before, _)| before)
        });
    let unquoted: String = own.split(['\'', '"']).step_by(2).collect();
    let words = unquoted.split(|c: char| !matches!(c, 'a'..='z' | '-'));
    let options = words.filter(|word| word.starts_with("--") && word.len() > 2);
    options.map(str::to_owned).collect()
}

#[test]
fn the_readme_is_an_introduction() {
    let readme = page("README.md");
    assert!(readme.lines().count() <= MAX_README_LINES);
    // The pages about plugins are linked by the tutorial.
    let tutorial = page("docs/plugins.md");
    let of_tutorial = links(&tutorial).into_iter();
    let of_tutorial = of_tutorial.map(|link| resolve("docs/plugins.md", link));
    let linked: Vec<String> = links(&readme)
        .into_iter()
        .map(str::to_owned)
        .chain(of_tutorial)
        .collect();
    for path in pages().keys().filter(|path| *path != "README.md") {
        assert!(linked.contains(path), "the README does not link {path}");
    }
}

#[test]
fn links_and_anchors_lead_somewhere() {
    let pages = pages();
    let mut dead = Vec::new();
    let mut checked = 0;
    for (name, page) in &pages {
        let own: BTreeSet<String> = anchors(page).into_iter().collect();
        assert_eq!(
            own.len(),
            anchors(page).len(),
            "{name}: two headings of one name"
        );
        for link in links(page) {
            if link.contains("://") {
                continue;
            }
            checked += 1;
            let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
            let path = resolve(name, path);
            let found = match pages.get(&path) {
                Some(page) => anchor.is_empty() || anchors(page).iter().any(|it| it == anchor),
                None => anchor.is_empty() && repository().join(&path).exists(),
            };
            if !found {
                dead.push(format!("{name}: {link}"));
            }
        }
    }
    assert!(checked > 100, "{checked}");
    assert!(dead.is_empty(), "{dead:#?}");
}

#[test]
fn shown_commands_and_their_options_exist() {
    let environment = Environment::new(program!());
    let mut shown: BTreeMap<Vec<String>, BTreeSet<String>> = BTreeMap::new();
    for page in pages().values() {
        let mut lines = Vec::new();
        for (_, text) in blocks(page) {
            let typed = text.lines().map(str::trim_start);
            lines.extend(typed.map(|line| line.strip_prefix("$ ").unwrap_or(line).to_owned()));
        }
        for line in prose(page) {
            lines.extend(line.split('`').skip(1).step_by(2).map(str::to_owned));
        }
        for line in lines.iter().filter_map(|line| line.strip_prefix("dunlin ")) {
            for command in commands(line) {
                shown.entry(command).or_default().extend(options(line));
            }
        }
    }
    assert!(shown.len() > 50, "{shown:?}");
    for (command, options) in shown {
        let mut arguments = command.clone();
        arguments.push("--help".to_owned());
        let output = environment.run(arguments);
        assert_eq!(output.status, Some(0), "dunlin {command:?}: {output}");
        for option in options {
            let mut words = output.stdout.split(|c: char| !matches!(c, 'a'..='z' | '-'));
            assert!(
                words.any(|word| word == option),
                "dunlin {command:?} {option}"
            );
        }
    }
}

#[test]
fn the_configuration_is_valid() {
    let environment = Environment::new(program!());
    let pages = pages();
    // Those of pages about plugins are manifests.
    let pages = pages
        .iter()
        .filter(|(path, _)| !path.starts_with("docs/plugins/"));
    let blocks = pages.flat_map(|(_, page)| blocks_in(page, "toml"));
    let mut blocks: Vec<String> = blocks.collect();
    assert!(blocks.len() > 4, "{blocks:?}");
    // Keys stand before tables.
    blocks.sort_by_key(|block| block.starts_with('['));
    // What of them is left to the reader.
    blocks.push("[agents.odd]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"odd\"\n".to_owned());
    environment.configure(&blocks.concat());
    let output = environment
        .command(["config", "check"])
        .variable("OPENAI_API_KEY", API_KEY)
        .run();
    assert_eq!(output.status, Some(0), "{output}");
}

#[test]
fn the_tool_is_the_example_of_the_sdk() {
    let example = page("plugins/sdk/examples/count_lines.rs");
    assert_eq!(blocks_in(&page("docs/plugins.md"), "rust"), [example]);
}

/// The SDK compiles the one in Rust; `docs/examples/build` builds and tests the others, which needs the tools of their languages.
#[test]
fn the_diaries_are_the_examples() {
    for (language, block, example) in [
        ("rust", "rust", "plugins/sdk/examples/diary.rs"),
        ("javascript", "js", "docs/examples/diary.js"),
        ("python", "python", "docs/examples/diary.py"),
        ("c", "c", "docs/examples/diary.c"),
    ] {
        let shown = page(&format!("docs/plugins/{language}.md"));
        assert_eq!(blocks_in(&shown, block), [page(example)], "{language}");
        assert_eq!(
            blocks_in(&shown, "toml"),
            [page("docs/examples/test.toml")],
            "{language}"
        );
    }
}

#[test]
fn the_permissions_are_read() {
    let environment = Environment::new(program!());
    let file = environment
        .config_file()
        .with_file_name("tool.permissions.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    let shown = blocks_in(&page("docs/permissions.md"), "json");
    fs::write(&file, shown.concat()).unwrap();
    let output = environment.run(["permissions", "list"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("/home/ada/docs/diary.txt"));
}

#[test]
fn the_variables_are_those_that_are_read() {
    let source = page("cli/src/config/env.rs");
    let docs = page("docs/configuration.md");
    let names = source.lines().filter(|line| line.starts_with("pub const "));
    let names: Vec<&str> = names.filter_map(|line| line.split('"').nth(1)).collect();
    assert!(names.contains(&"DUNLIN_MODEL"), "{names:?}");
    // What every program understands needs no row.
    let usual = ["HOME", "TMPDIR", "PATH", "TERM"];
    for name in names {
        let said = docs.contains(&format!("`{name}")) || docs.contains(&format!("${name}"));
        assert!(said || usual.contains(&name), "{name}");
    }
}
