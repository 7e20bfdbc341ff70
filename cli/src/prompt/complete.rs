//! Completion at the prompt: slash commands at its start and names behind them, paths of the project everywhere.

use std::path::Path;

use dunlin_host::display::{escape, one_line, width};
use dunlin_host::permission::SessionMode;
use dunlin_host::target::Operation;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::calls::cut;

use super::files::FileIndex;
use super::metadata::{COPY, SETS};
use super::slash_table::{APP_VERBS, AUTO_VERBS, PERMISSION_VERBS, REQUEST_PARTS, VERBS};
use super::templates::{self, SlashNames};
use crate::config::request_editor::{MetadataField, PauseMode};
use crate::mentions;
use crate::pausing::filter::TOOLS;
use crate::saved_edits::Scope;
use dunlin_chat::agent::Effort;

/// How many entries of a folder are looked at: completing must not take noticeable time.
const MAX_ENTRIES: usize = 5000;

/// Rows of the window that a list leaves free: the line above it and the one below it.
const ROWS_BESIDE: usize = 2;

/// The names that stand behind commands.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// Those of the agents.
    pub agents: Vec<String>,
    /// Those of the models, as far as they were listed.
    pub models: Vec<String>,
    /// Those of the MCP servers that can be used.
    pub servers: Vec<String>,
    /// What requests can be paused by: the agents and models of `/pause MODE`.
    pub recipients: Vec<String>,
    /// Those of the apps.
    pub apps: Vec<String>,
    /// The numbers of the requests that were sent, the newest first.
    pub requests: Vec<String>,
}

/// What the text before the cursor can become, and where its last word begins.
pub fn candidates(
    before: &str,
    project: &Path,
    home: Option<&Path>,
    names: &Names,
    files: &FileIndex,
    slash: &SlashNames,
) -> (usize, Vec<String>) {
    for (command, names) in [("/agent ", &names.agents), ("/model ", &names.models)] {
        if let Some(typed) = before.strip_prefix(command) {
            let fits = |name: &&String| name.starts_with(typed) && escape(name) == name.as_str();
            return (command.len(), names.iter().filter(fits).cloned().collect());
        }
    }
    if let Some(typed) = before.strip_prefix("/app ") {
        let apps = || names.apps.iter().map(String::as_str);
        let (word, found) = match typed.split_once(' ') {
            None => (typed, fitting(APP_VERBS.into_iter().chain(apps()), typed)),
            Some(("open" | "close", word)) => (word, fitting(apps(), word)),
            Some((_, word)) => (word, Vec::new()),
        };
        return (before.len() - word.len(), found);
    }
    if let Some(typed) = before.strip_prefix("/requests ") {
        let (word, known): (&str, Vec<&str>) = match typed.split_once(' ') {
            Some((_, part)) => (part, REQUEST_PARTS.to_vec()),
            None => (typed, names.requests.iter().map(String::as_str).collect()),
        };
        let fitting = known.into_iter().filter(|name| name.starts_with(word));
        return (
            before.len() - word.len(),
            fitting.map(str::to_owned).collect(),
        );
    }
    if let Some(typed) = before.strip_prefix("/pause ") {
        let (word, found) = match typed.split_once(' ') {
            None => {
                let modes = PauseMode::ALL.iter().map(|mode| mode.as_str());
                (typed, fitting(modes, typed))
            }
            // They take no filter.
            Some(("off" | "auto", word)) => (word, Vec::new()),
            Some((_, word)) => {
                // A filter is one word.
                let is_word = |name: &&String| !name.contains(char::is_whitespace);
                let recipients = names.recipients.iter().filter(is_word);
                let known = recipients.filter(|name| escape(name) == name.as_str());
                let known = known.map(String::as_str).chain([TOOLS]);
                (word, fitting(known, word))
            }
        };
        return (before.len() - word.len(), found);
    }
    if let Some(typed) = before.strip_prefix("/permissions ") {
        let (verb, rest) = match typed.split_once(' ') {
            None => {
                let start = before.len() - typed.len();
                return (start, fitting(PERMISSION_VERBS, typed));
            }
            Some(parts) => parts,
        };
        // Behind the operation there is a target, perhaps a path.
        let takes_operation = matches!(verb, "explain" | "allow" | "deny" | "ask");
        if takes_operation && !rest.contains(' ') {
            let operations = Operation::ALL.map(storing::word);
            let found = fitting(operations, rest);
            if verb != "explain" || !found.is_empty() {
                return (before.len() - rest.len(), found);
            }
        }
    }
    if let Some(typed) = before.strip_prefix("/mode ") {
        let modes = SessionMode::ALL.map(SessionMode::as_str);
        return (before.len() - typed.len(), fitting(modes, typed));
    }
    if let Some(typed) = before.strip_prefix("/effort ") {
        let levels = Effort::ALL.map(Effort::name).into_iter();
        let found = fitting(levels.chain(["default"]), typed);
        return (before.len() - typed.len(), found);
    }
    if let Some(typed) = before.strip_prefix("/auto ") {
        let (word, found) = match typed.split_once(' ') {
            None => (typed, fitting(AUTO_VERBS, typed)),
            Some(("scope", word)) => {
                let scopes = Scope::ALL.map(Scope::as_str);
                (word, fitting(scopes, word))
            }
            Some((_, word)) => (word, Vec::new()),
        };
        return (before.len() - word.len(), found);
    }
    if let Some(typed) = before.strip_prefix("/metadata ") {
        let (given, word) = typed.rsplit_once(' ').unwrap_or(("", typed));
        let fields = MetadataField::ALL.iter().map(|field| field.as_str());
        let sets = SETS.iter().copied().chain([COPY.trim_end()]);
        let sets = sets.filter(|_| given.is_empty());
        let fitting = fields
            .filter(|name| !given.split(' ').any(|it| it == *name))
            .chain(sets)
            .filter(|name| name.starts_with(word));
        return (
            before.len() - word.len(),
            fitting.map(str::to_owned).collect(),
        );
    }
    if let Some(typed) = before.strip_prefix("/mcp ") {
        return match typed.split_once(' ') {
            Some((verb, name)) if VERBS.contains(&verb) => {
                let fits = |server: &&String| server.starts_with(name);
                let fitting = names.servers.iter().filter(fits).cloned().collect();
                (before.len() - name.len(), fitting)
            }
            Some(_) => (before.len(), Vec::new()),
            None => {
                let fitting = VERBS.iter().filter(|verb| verb.starts_with(typed));
                let fitting = fitting.map(|verb| format!("{verb} ")).collect();
                (before.len() - typed.len(), fitting)
            }
        };
    }
    if before.starts_with('/') && !before[1..].contains(['/', ' ']) {
        let fitting = slash_names(before, slash);
        if !fitting.is_empty() {
            return (0, fitting);
        }
    }
    if let Some(found) = template_argument(before, project, home, slash) {
        return found;
    }
    if let Some((start, word)) = mentions::unfinished(before) {
        return (start, mentioned(word, project, home, files));
    }
    // Quotes and brackets around a path are not part of it.
    let start = before
        .rfind([' ', '\n', '\t', '\'', '"', '`', '(', '[', '<'])
        .map_or(0, |at| at + 1);
    (start, paths(&before[start..], project, home))
}

fn fitting<'a>(names: impl IntoIterator<Item = &'a str>, typed: &str) -> Vec<String> {
    let names = names.into_iter().filter(|name| name.starts_with(typed));
    names.map(str::to_owned).collect()
}

/// The commands and templates that a word can become.
pub fn slash_names(word: &str, slash: &SlashNames) -> Vec<String> {
    let commands = slash.commands.names().map(str::to_owned);
    let templates = slash.templates().templates.into_iter();
    let templates = templates.map(|template| format!("/{}", template.name));
    let names = commands.chain(templates);
    names.filter(|name| name.starts_with(word)).collect()
}

/// Names of commands and templates with what each is for, as rows of a list in a window with so many columns and rows; `None`:
/// there are too many of them for the window, or something else is among them.
pub fn described(
    names: &[String],
    slash: &SlashNames,
    (columns, rows): (usize, usize),
) -> Option<Vec<String>> {
    if names.len() + ROWS_BESIDE > rows {
        return None;
    }
    let templates = slash.templates().templates;
    let about = |name: &String| {
        if let Some(command) = slash.commands.find(name) {
            return Some(command.about.to_owned());
        }
        let name = name.strip_prefix('/')?;
        let template = templates.iter().find(|template| template.name == name)?;
        let text = slash.places.load(template).ok();
        Some(text.map_or_else(String::new, |(_, text)| one_line(&text.description)))
    };
    let widest = names
        .iter()
        .map(|name| width(name))
        .max()
        .unwrap_or_default();
    // The last column stays free.
    let room = columns.saturating_sub(widest + 3);
    let row = |name: &String| {
        let row = format!("{name:widest$}  {}", cut(&about(name)?, room));
        // Two rows of the list must not stand beside each other.
        Some(format!("{row:half$}", half = columns / 2))
    };
    names.iter().map(row).collect()
}

/// The names of a template's arguments, and paths behind them.
fn template_argument(
    before: &str,
    project: &Path,
    home: Option<&Path>,
    slash: &SlashNames,
) -> Option<(usize, Vec<String>)> {
    let (word, rest) = before.split_once(' ').filter(|_| before.starts_with('/'))?;
    let last = rest.rsplit(' ').next()?;
    if let Some((_, path)) = last.split_once('=') {
        let known = templates::arguments(slash, word);
        let is_known = known
            .iter()
            .any(|name| last.starts_with(&format!("{name}=")));
        return is_known.then(|| (before.len() - path.len(), paths(path, project, home)));
    }
    let is_given = |name: &String| {
        rest.split(' ')
            .any(|it| it.starts_with(&format!("{name}=")))
    };
    let names = templates::arguments(slash, word).into_iter();
    let fitting = names.filter(|name| name.starts_with(last) && !is_given(name));
    let fitting: Vec<String> = fitting.map(|name| format!("{name}=")).collect();
    (!fitting.is_empty()).then(|| (before.len() - last.len(), fitting))
}

/// Files of the project, and what a path that is being typed leads to: that reaches the others as well.
fn mentioned(word: &str, project: &Path, home: Option<&Path>, files: &FileIndex) -> Vec<String> {
    let mut found = files.candidates(word);
    let is_path = word.contains('/') || word.starts_with(['.', '~']);
    if is_path || found.is_empty() {
        for path in paths(word, project, home) {
            let is_there = |other: &String| {
                *other == path || (path.ends_with('/') && other.starts_with(&path))
            };
            if !found.iter().any(is_there) {
                found.push(path);
            }
        }
    }
    let typed = |path: String| {
        let typed = mentions::typed(&path)?;
        // More is to come behind a folder.
        Some(match path.ends_with('/') {
            true => typed.trim_end_matches('"').to_owned(),
            false => typed,
        })
    };
    found.into_iter().filter_map(typed).collect()
}

fn paths(word: &str, project: &Path, home: Option<&Path>) -> Vec<String> {
    if word.is_empty() {
        return Vec::new();
    }
    let (folder, prefix) = word
        .rsplit_once('/')
        .map_or(("", word), |(folder, prefix)| (folder, prefix));
    let typed = &word[..word.len() - prefix.len()];
    let folder = match (typed.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ if typed == "/" => Path::new("/").to_path_buf(),
        _ => project.join(folder),
    };
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<String> = entries
        .take(MAX_ENTRIES)
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let hidden = name.starts_with('.') && !prefix.starts_with('.');
            // A name that would have to be shown escaped cannot be typed as it is shown.
            let fits = name.starts_with(prefix) && !hidden && escape(&name) == name.as_str();
            let end = if entry.path().is_dir() { "/" } else { "" };
            fits.then(|| format!("{typed}{name}{end}"))
        })
        .collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::paths::Folders;
    use crate::repl::slash::table;
    use crate::templates::Places;

    #[test]
    fn commands_and_paths_are_completed() {
        let project = tempfile::tempdir().unwrap();
        for file in [
            "src/main.rs",
            "src/matter.rs",
            "README.md",
            ".env",
            "a b/c.md",
            "bad\x1bname",
        ] {
            let path = project.path().join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        let files = FileIndex::walked(project.path());
        let outside = tempfile::tempdir().unwrap();
        let environment = [("HOME", outside.path())].into_iter().collect();
        let folders = Folders::find(&environment).unwrap();
        let slash = SlashNames {
            commands: table(),
            places: Places::new(&folders, (project.path(), false)),
        };
        let places = &slash.places;
        std::fs::create_dir_all(places.user()).unwrap();
        let template = "+++\narguments = [\"file\", \"focus=x\"]\n+++\n{{file}} {{focus}}";
        std::fs::write(places.user().join("heron.md"), template).unwrap();
        let check = |before: &str, start: usize, expected: &[&str]| {
            let names = Names {
                agents: vec!["assistant".to_owned(), "reviewer".to_owned()],
                models: vec!["qwen2.5:7b".to_owned(), "bad\x1bname".to_owned()],
                servers: vec!["git".to_owned(), "good".to_owned()],
                recipients: vec![
                    "assistant".to_owned(),
                    "bad\x1bname".to_owned(),
                    "small".to_owned(),
                ],
                apps: vec!["ebb".to_owned(), "open-sea".to_owned()],
                requests: vec!["12".to_owned(), "11".to_owned(), "2".to_owned()],
            };
            let found = candidates(
                before,
                project.path(),
                Some(project.path()),
                &names,
                &files,
                &slash,
            );
            assert_eq!(
                found,
                (
                    start,
                    expected.iter().map(|text| (*text).to_owned()).collect()
                ),
                "{before:?}"
            );
        };
        check("/he", 0, &["/help", "/heron"]);
        check("/her", 0, &["/heron"]);
        check("/heron f", 7, &["file=", "focus="]);
        check("/heron file=x fo", 14, &["focus="]);
        check("/heron file=x fi", 14, &[]);
        check("/heron file=src/mai", 12, &["src/main.rs"]);
        check("/heron nope=src/mai", 7, &[]);
        check("/stork f", 7, &[]);
        check("read sr", 5, &["src/"]);
        check("read src/ma", 5, &["src/main.rs", "src/matter.rs"]);
        check("what is in `RE", 12, &["README.md"]);
        check("~/src/mai", 0, &["~/src/main.rs"]);
        check("see .e", 4, &[".env"]);
        check("see ", 4, &[]);
        check("see b", 4, &[]);
        check("no/such/f", 0, &[]);
        check("see @RE", 4, &["@README.md"]);
        check("see @src/m", 4, &["@src/main.rs", "@src/matter.rs"]);
        check("see (@mait", 5, &[]);
        check("@.e", 0, &["@.env"]);
        check("@\"a b", 0, &["@\"a b/c.md\""]);
        check("see @~/src/mai", 4, &["@~/src/main.rs"]);
        check("me@exam", 0, &[]);
        check("/agent re", 7, &["reviewer"]);
        check("/agent ", 7, &["assistant", "reviewer"]);
        check("/app ", 5, &["open", "close", "list", "ebb", "open-sea"]);
        check("/app o", 5, &["open", "open-sea"]);
        check("/app open o", 10, &["open-sea"]);
        check("/app list e", 10, &[]);
        check("/model ", 7, &["qwen2.5:7b"]);
        check("/model RE", 7, &[]);
        check("/requests 1", 10, &["12", "11"]);
        check("/requests 12 s", 13, &["sent"]);
        check("/pause n", 7, &["next"]);
        check("/pause ", 7, &["off", "next", "turn", "every", "auto"]);
        check("/pause every t", 13, &["tools"]);
        check("/pause next ", 12, &["assistant", "small", "tools"]);
        check("/pause off ", 11, &[]);
        check("/pause auto t", 12, &[]);
        check("/permissions f", 13, &["forget"]);
        check("/permissions a", 13, &["allow", "ask"]);
        check("/permissions allow ", 19, &["read", "write", "run"]);
        check("/permissions allow r", 19, &["read", "run"]);
        check("/permissions allow x", 19, &[]);
        check("/permissions deny read RE", 23, &["README.md"]);
        check("/permissions explain RE", 21, &["README.md"]);
        check("/permissions explain read RE", 26, &["README.md"]);
        check("/auto s", 6, &["scope"]);
        check("/auto scope ", 12, &["session", "project", "global"]);
        check("/auto remove 1", 13, &[]);
        check("/metadata mod", 10, &["model", "mode"]);
        check("/metadata n", 10, &["none"]);
        check("/metadata co", 10, &["copy"]);
        check("/metadata model mod", 16, &["mode"]);
        check("/metadata model n", 16, &[]);
        check("/mcp dis", 5, &["disconnect ", "disable "]);
        check("/mcp connect go", 13, &["good"]);
        check("/mcp disable ", 13, &["git", "good"]);
        check("/mcp forget g", 13, &[]);
    }
}
