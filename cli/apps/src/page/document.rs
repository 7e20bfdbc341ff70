//! One version of an app as a browser gets it.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::json;
use tokio::sync::watch;

use super::address::Address;
use super::backend::Backend;
use super::errors::Location;
use super::policy;
use crate::part::Part;

/// What a page shows: the parts of an app that run in a browser.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Content {
    /// The title of the window. Plain text.
    pub title: String,
    /// A document, or a part of one.
    pub html: String,
    /// The script of the page. It runs when the document is complete.
    pub renderer: String,
}

/// Why a version is not shown any more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// There is another version.
    Replaced,
    /// The app was closed.
    Closed,
}

/// What the outer page shows at one time, and who answers its calls.
pub(super) struct Version {
    pub(super) number: u64,
    pub(super) backend: Option<Arc<dyn Backend>>,
    /// The document of the app.
    pub(super) document: Bytes,
    pub(super) renderer: Bytes,
    /// The policy of the document.
    pub(super) policy: String,
    /// How many scripts stand in the html.
    scripts: usize,
    end: watch::Sender<Option<End>>,
    title: String,
    /// The path of the document.
    path: String,
    /// The length of what stands before the html in its first line, in UTF-16 code units, as browsers count.
    before: u32,
}

impl Version {
    pub(super) fn new(
        number: u64,
        content: Content,
        backend: Option<Arc<dyn Backend>>,
        address: &Address,
    ) -> Self {
        let path = format!("/{}/{number}/", address.frame_token);
        // All in one line, so that the lines of the html are those that the model wrote. Browsers skip a second doctype, and
        // merge a second `html` and `head` with what is there. The script of the app runs when the document is complete,
        // wherever the html ends.
        let before = format!(
            "<!doctype html><meta charset=utf-8><script crossorigin src={path}bridge.js></script>\
             <script crossorigin defer src={path}renderer.js></script>"
        );
        let html = without_documents(content.html.trim_start_matches('\u{feff}'));
        let base = format!("{}{path}", address.origin);
        let scripts = policy::inline_scripts(&html);
        Self {
            number,
            backend,
            policy: policy::of_app(&scripts, &base, address),
            scripts: scripts.len(),
            end: watch::Sender::new(None),
            before: u32::try_from(before.len()).unwrap_or(u32::MAX),
            document: Bytes::from(before + &html),
            renderer: Bytes::from(content.renderer),
            title: content.title,
            path,
        }
    }

    /// What the outer page needs to show this version.
    pub(super) fn announcement(&self) -> String {
        let content = json!({
            "version": self.number,
            "title": self.title,
            "path": self.path,
            "sandbox": policy::SANDBOX,
        });
        content.to_string()
    }

    /// Cancels the calls of this version.
    pub(super) fn end(&self, end: End) {
        self.end.send_replace(Some(end));
    }

    /// Waits for that.
    pub(super) async fn ended(&self) -> End {
        let mut ended = self.end.subscribe();
        // It cannot be dropped while it is borrowed.
        let ended = ended.wait_for(Option::is_some).await;
        ended.ok().and_then(|end| *end).unwrap_or(End::Closed)
    }

    /// What does not work, in words.
    pub(super) fn problem(&self) -> Option<String> {
        const MOST: usize = policy::MAX_INLINE_SCRIPTS;
        (self.scripts > MOST).then(|| {
            format!(
                "the html has {} scripts and handlers in attributes; only the first {MOST} run",
                self.scripts
            )
        })
    }

    /// The place in what the model wrote, of a place in what the browser got.
    pub(super) fn written(&self, location: Location) -> Location {
        let mut written = location;
        if location.part == Part::Html && location.line == 1 {
            written.column = location.column.saturating_sub(self.before).max(1);
        }
        written
    }
}

/// The html without documents in attributes and without shadow trees: in the one the bridge does not run, which takes away
/// what no policy forbids, and in the other it would not see links. The attributes get names without meaning, wherever they
/// are and however a browser might read them; all columns stay.
fn without_documents(html: &str) -> String {
    let mut kept = html.to_owned();
    // In lower case ASCII, every byte has its place.
    let lower = html.to_ascii_lowercase();
    for attribute in ["srcdoc", "shadowrootmode"] {
        for (at, found) in lower.match_indices(attribute) {
            let end = at + found.len();
            kept.replace_range(end - 1..end, "-");
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_in_attributes_lose_their_meaning() {
        let html = "<p>ä</p><iframe SrcDoc='x'></iframe>\n<iframe srcdoc=srcdoc>";
        let kept = "<p>ä</p><iframe SrcDo-='x'></iframe>\n<iframe srcdo-=srcdo->";
        assert_eq!(without_documents(html), kept);
        let html = "<template ShadowRootMode=closed>";
        let kept = "<template ShadowRootMod-=closed>";
        assert_eq!(without_documents(html), kept);
    }
}
