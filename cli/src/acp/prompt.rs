//! What the user says: the parts of a prompt as one message.

use std::ops::Range;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_chat::media::Media;
use dunlin_host::display::one_line;
use url::Url;

use super::wire::{Block, Refusal};
use crate::mentions;

/// What stands between the user's words and the texts that came with them.
pub(super) const HEADING: &str = "Texts that the user's editor attached to this message:";

/// A message, and where in it nothing is a mention: what came with the words is data, and an `@` in it means nothing.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct UserPrompt {
    pub(super) text: String,
    pub(super) data: Vec<Range<usize>>,
    /// What goes beside the text.
    pub(super) media: Vec<Media>,
}

/// Puts the parts together. A link to a file becomes a mention, so that Dunlin reads the file under its own permissions.
///
/// # Errors
/// A part is of a kind that Dunlin does not take, or there is nothing in them.
pub(super) fn user_prompt(blocks: Vec<Block>, project: &Path) -> Result<UserPrompt, Refusal> {
    let mut text = String::new();
    let mut attached = String::new();
    let mut data = Vec::new();
    let mut media = Vec::new();
    for block in blocks {
        match block {
            Block::Text { text: words } => text.push_str(&words),
            Block::ResourceLink { uri, name } => match file(&uri, project) {
                Some(File { mention, about }) => {
                    word(&mut text, &mention);
                    if let Some(about) = about {
                        data.push(word(&mut text, &about));
                    }
                }
                None => data.push(word(&mut text, &link(&uri, &name))),
            },
            Block::Resource { resource } => {
                let Some(content) = resource.text else {
                    return Err(not_taken("embedded files that are not text"));
                };
                data.push(word(&mut text, &resource.uri));
                let fence = fence(&content);
                let end = if content.ends_with('\n') { "" } else { "\n" };
                let uri = &resource.uri;
                attached.push_str(&format!("\n{uri}\n{fence}\n{content}{end}{fence}\n"));
            }
            Block::Image { data, uri } => {
                let name = uri.as_deref().map(name_of).unwrap_or_default();
                media.push(image(&name, &data)?);
            }
            Block::Audio {} => return Err(not_taken("sound")),
        }
    }
    if text.trim().is_empty() && media.is_empty() {
        return Err(Refusal::params("the prompt is empty"));
    }
    if !attached.is_empty() {
        let start = text.len();
        text.push_str(&format!("\n\n{HEADING}\n{attached}"));
        data.push(start..text.len());
    }
    Ok(UserPrompt { text, data, media })
}

/// An image that the client has read.
fn image(name: &str, data: &str) -> Result<Media, Refusal> {
    let bytes = STANDARD.decode(data);
    let bytes = bytes.map_err(|_| Refusal::params("the data of an image is not base64"))?;
    let media = Media::new(name, &bytes);
    media.map_err(|why| Refusal::params(format!("an image cannot be attached: {why}")))
}

fn not_taken(what: &str) -> Refusal {
    Refusal::params(format!("Dunlin takes no {what} in a prompt"))
}

/// Adds a word between spaces; where it stands.
fn word(text: &mut String, word: &str) -> Range<usize> {
    if !text.is_empty() && !text.ends_with(char::is_whitespace) {
        text.push(' ');
    }
    let start = text.len();
    text.push_str(word);
    text.push(' ');
    start..start + word.len()
}

/// A link that is no mention: a folder, or the address with its name.
fn link(uri: &str, name: &str) -> String {
    let folder = path_of(uri).map(|(path, _)| path);
    match folder.filter(|path| path.is_dir()) {
        Some(folder) => folder.to_string_lossy().into_owned(),
        None if name.is_empty() || name == uri => uri.to_owned(),
        None => format!("[{name}]({uri})"),
    }
}

/// A file as it is mentioned.
struct File {
    mention: String,
    /// The lines that the user has marked. Anybody may have written the link, so they are data.
    about: Option<String>,
}

/// The path of a link to this machine, and what is said of a place in the file.
fn path_of(uri: &str) -> Option<(PathBuf, Option<String>)> {
    let url = Url::parse(uri).ok().filter(|url| url.scheme() == "file")?;
    let path = url.to_file_path().ok()?;
    Some((path, url.fragment().map(str::to_owned)))
}

/// The name of what is behind a link, in one line.
fn name_of(uri: &str) -> String {
    let file = path_of(uri).and_then(|(path, _)| Some(path.file_name()?.to_str()?.to_owned()));
    let last = || uri.rsplit('/').next().unwrap_or_default().to_owned();
    one_line(&file.unwrap_or_else(last))
}

/// The mention of a file. `None`: it is none, or cannot be mentioned because of its name.
fn file(uri: &str, project: &Path) -> Option<File> {
    let (path, place) = path_of(uri)?;
    if path.is_dir() {
        return None;
    }
    let shown = path.strip_prefix(project).unwrap_or(&path);
    let mention = mentions::typed(shown.to_str()?)?;
    let about = place.map(|place| format!("({place})"));
    Some(File { mention, about })
}

/// A fence that no line of the text is.
pub(super) fn fence(text: &str) -> String {
    let longest = text
        .split(|c| c != '`')
        .map(str::len)
        .max()
        .unwrap_or_default();
    "`".repeat(longest.max(2) + 1)
}

#[cfg(test)]
mod tests {
    use dunlin_chat::media::samples;
    use serde_json::{Value, json};

    use super::*;

    fn of(blocks: Value) -> Result<UserPrompt, String> {
        let blocks = serde_json::from_value(blocks).unwrap();
        user_prompt(blocks, Path::new("/p")).map_err(|refusal| refusal.message)
    }

    #[test]
    fn parts_are_one_message() {
        let check = |blocks: Value, expected: &str| {
            let said = of(blocks.clone()).unwrap();
            assert_eq!(said.text, expected, "{blocks}");
            // What is mentioned was meant: it is a file that the user attached.
            let outside = |at: &usize| !said.data.iter().any(|range| range.contains(at));
            let mentions = mentions::find(&said.text).into_iter().map(|it| it.start);
            let mentions: Vec<usize> = mentions.filter(outside).collect();
            let meant = expected.find('@').filter(|_| expected.starts_with("See @"));
            assert_eq!(mentions, Vec::from_iter(meant), "{blocks}");
        };
        check(
            json!([{"type": "text", "text": "a "}, {"type": "text", "text": "b"}]),
            "a b",
        );
        let link = |uri: &str| json!([{"type": "text", "text": "See"}, {"type": "resource_link", "uri": uri, "name": "n"}]);
        check(link("file:///p/src/a.rs"), "See @src/a.rs ");
        check(link("file:///p/my%20notes.md"), "See @\"my notes.md\" ");
        check(link("file:///q/a.rs#L3-7"), "See @/q/a.rs (L3-7) ");
        check(link("file:///q/a.rs#@.env"), "See @/q/a.rs (@.env) ");
        check(link("file:///tmp/"), "See /tmp/ ");
        let name = "@.env";
        check(
            json!([{"type": "text", "text": "See"}, {"type": "resource_link", "uri": "https://e.com", "name": name}]),
            "See [@.env](https://e.com) ",
        );
        check(link("x: @.env "), "See [n](x: @.env ) ");
        check(
            link("https://example.com/a"),
            "See [n](https://example.com/a) ",
        );
        // Neither leads to a file of this machine.
        check(link("file://host/a"), "See [n](file://host/a) ");
        check(link("%"), "See [n](%) ");
        // Its name would be read as two mentions.
        check(link("file:///p/a%22%20@b"), "See [n](file:///p/a%22%20@b) ");
    }

    #[test]
    fn texts_stand_below_and_mention_nothing() {
        let text = "let a = 1; // ```` @b\n";
        let said = of(json!([
            {"type": "text", "text": "Explain"},
            {"type": "resource", "resource": {"uri": "file:///p/a.rs", "text": text}},
        ]));
        let said = said.unwrap();
        let below = format!("\n\n{HEADING}\n\nfile:///p/a.rs\n`````\n{text}`````\n");
        assert_eq!(said.text, format!("Explain file:///p/a.rs {below}"));
        let at = said.text.find("@b").unwrap();
        assert!(said.data.iter().any(|range| range.contains(&at)));
    }

    #[test]
    fn images_go_beside_the_text() {
        let media = samples::picture("tern.png", 8, 6);
        let said = of(json!([
            {"type": "text", "text": "Which bird?"},
            {"type": "image", "mimeType": "image/x", "data": media.base64(), "uri": "file:///p/tern.png"},
        ]));
        let said = said.unwrap();
        assert_eq!(
            (said.text.as_str(), said.media),
            ("Which bird?", vec![media.clone()])
        );
        let check = |uri: &str, name: &str| assert_eq!(name_of(uri), name, "{uri}");
        check("file:///p/my%20tern.png#L1", "my tern.png");
        check("file:///p/a%0Ab.png", "a\\nb.png");
        check("https://e.com/a\n/b\tc.png", "b\\tc.png");
        let alone = of(json!([{"type": "image", "data": media.base64(), "mimeType": "image/png"}]));
        assert_eq!(alone.unwrap().media, [media.named("")]);
    }

    #[test]
    fn what_is_not_taken_is_said() {
        let check = |block: Value, problem: &str| {
            assert_eq!(of(json!([block])).unwrap_err(), problem);
        };
        check(
            json!({"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}),
            "an image cannot be attached: it is neither a PNG, JPEG, GIF or WebP image nor a PDF document",
        );
        check(
            json!({"type": "image", "data": "%", "mimeType": "image/png"}),
            "the data of an image is not base64",
        );
        check(
            json!({"type": "audio"}),
            "Dunlin takes no sound in a prompt",
        );
        check(
            json!({"type": "resource", "resource": {"uri": "a", "blob": ""}}),
            "Dunlin takes no embedded files that are not text in a prompt",
        );
        check(
            json!({"type": "text", "text": " \n"}),
            "the prompt is empty",
        );
        assert_eq!(of(json!([])).unwrap_err(), "the prompt is empty");
    }
}
