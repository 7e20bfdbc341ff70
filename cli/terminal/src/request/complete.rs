//! What a line that is being typed can become.

use dunlin_chat::request::editor::{EditableRequest, Path};
use dunlin_host::display::escape;

use super::words::{WORDS, word};

/// What the text before the cursor can become, and where its last word begins: words of the editor, numbers of sections,
/// paths. `fields`: what of a request's metadata can be copied.
pub fn candidates(
    request: &EditableRequest,
    fields: &[&str],
    before: &str,
) -> (usize, Vec<String>) {
    let start = before.len() - before.trim_start().len();
    let line = before.get(start..).unwrap_or_default();
    let Some((first, rest)) = line.split_once(char::is_whitespace) else {
        return (start, words(&line.to_ascii_lowercase()));
    };
    let typed = rest.rsplit([' ', '\t', ',']).next().unwrap_or_default();
    let is_first = typed.len() == rest.trim_start().len();
    let found = match word(&first.to_ascii_lowercase()) {
        Some("e") => return place(request, before, rest.trim_start()),
        Some("save") if !is_first => Vec::new(),
        Some("show" | "save") => numbers(request, typed, |_| true),
        Some("d") => {
            let mut found = numbers(request, typed, |number| {
                let path = request.path(number);
                path.is_some_and(|path| !path.steps().is_empty())
            });
            if is_first {
                found.extend(options(request.options(), typed));
            }
            found
        }
        Some("restore") => {
            let mut found = numbers(request, typed, |number| request.is_deleted(number));
            if is_first {
                found.extend(options(request.removed_options(), typed));
            }
            found
        }
        Some("add") if is_first => options(request.missing_options(), typed),
        Some("list") if is_first => beginning_with(&["all"], typed),
        Some("copy") if is_first => beginning_with(fields, typed),
        _ => Vec::new(),
    };
    (before.len() - typed.len(), found)
}

fn words(typed: &str) -> Vec<String> {
    let fitting = WORDS.iter().filter(|(word, ..)| word.starts_with(typed));
    let mut fitting: Vec<String> = fitting
        .map(
            |(word, arguments, _)| match arguments.starts_with(|c: char| c != '[') {
                // More is to come.
                true => format!("{word} "),
                false => (*word).to_owned(),
            },
        )
        .collect();
    fitting.dedup();
    fitting
}

/// A section or a value to be edited. What stands behind it is its new text.
fn place(request: &EditableRequest, before: &str, typed: &str) -> (usize, Vec<String>) {
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_value = match typed.split_once(char::is_whitespace) {
        Some((first, _)) => is_number(first) || Path::parse_first(typed).is_ok(),
        None => false,
    };
    if has_value {
        return (before.len(), Vec::new());
    }
    let mut found = match is_number(typed) {
        true => numbers(request, typed, |number| !request.is_deleted(number)),
        false => Vec::new(),
    };
    let paths = request.completions(typed).into_iter();
    // One that would have to be shown escaped cannot be typed as it is shown.
    found.extend(paths.filter(|path| escape(path) == **path));
    (before.len() - typed.len(), found)
}

fn numbers(request: &EditableRequest, typed: &str, fits: impl Fn(usize) -> bool) -> Vec<String> {
    let all = (1..=request.sections().len()).filter(|number| fits(*number));
    let all = all.map(|number| number.to_string());
    all.filter(|number| number.starts_with(typed)).collect()
}

/// Names of options that go on from what is typed, as far as they can be typed as they are shown.
fn options(paths: Vec<Path>, typed: &str) -> Vec<String> {
    let paths = paths.iter().map(Path::to_string);
    paths
        .filter(|path| path.starts_with(typed) && escape(path) == **path)
        .collect()
}

fn beginning_with(names: &[&str], typed: &str) -> Vec<String> {
    let names = names.iter().filter(|name| name.starts_with(typed));
    names.map(|name| (*name).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use dunlin_chat::request::editor::{KnownOption, OptionKind, Outline, SectionId};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_line_is_completed_by_what_the_request_has() {
        let body = json!({
            "model": "small",
            "messages": [
                {"role": "user", "content": "Count"},
                {"role": "assistant", "content": "", "a b": "x"},
            ],
            "tools": [{"type": "function", "function": {"name": "read_file"}}],
        });
        let origins = [0, 1].map(|index| SectionId::Message(index).into());
        let options = vec![KnownOption::new(&["seed"], OptionKind::WholeNumber)];
        let outline = Outline::of_chat(&body, &origins, options);
        let mut request = EditableRequest::new(body.to_string().into(), outline);
        request.delete(2).unwrap();
        let check = |line: &str, start: usize, expected: &[&str]| {
            let found = candidates(&request, &["session", "model"], line);
            let expected = expected.iter().map(|text| (*text).to_owned());
            assert_eq!(found, (start, expected.collect()), "{line:?}");
        };
        check("s", 0, &["send", "show ", "save "]);
        check(" RE", 1, &["restore ", "redo", "reset"]);
        check("e", 0, &["e "]);
        check("?", 0, &["?"]);
        check("x", 0, &[]);
        check("show ", 5, &["1", "2", "3", "4"]);
        check("show 2 4", 7, &["4"]);
        // The options cannot be deleted, but each of them.
        check("d ", 2, &["1", "3", "model"]);
        check("d m", 2, &["model"]);
        check("add ", 4, &["seed"]);
        check("add seed ", 9, &[]);
        check("delete 1 3", 9, &["3"]);
        check("restore 1 ", 10, &["2"]);
        check("list ", 5, &["all"]);
        check("copy m", 5, &["model"]);
        check("save 1 n", 7, &[]);
        check("send ", 5, &[]);
        check(
            "e ",
            2,
            &["1", "3", "4", "messages", "tools", "model", "seed"],
        );
        check("e  mes", 3, &["messages"]);
        check("e messages[", 2, &["messages[0]"]);
        check("e messages[0].c", 2, &["messages[0].content"]);
        // What follows is a value.
        check("e model mo", 10, &[]);
        check("e 1 mo", 6, &[]);
        request.restore(2).unwrap();
        let check = |line: &str, start: usize, expected: &[&str]| {
            let found = candidates(&request, &[], line);
            let expected = expected.iter().map(|text| (*text).to_owned());
            assert_eq!(found, (start, expected.collect()), "{line:?}");
        };
        check("e messages[1][\"a ", 2, &["messages[1][\"a b\"]"]);
    }
}
