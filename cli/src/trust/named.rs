//! Files of a project that its hooks name: trusted together with its configuration, as they are.

use std::io::Read;
use std::path::Path;

use dunlin_host::display::shorten;
use dunlin_host::files::open_regular;
use dunlin_host::hooks::Pinned;
use dunlin_host::sha256_hex;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::review::quoted;

use super::{INDENT, text_rows};
use crate::config::hook::digest_of;
use crate::settings::project::{HOOK, ProjectFile};

/// The largest file that is shown, in bytes: nobody reads a longer one.
const MAX_SHOWN_BYTES: u64 = 1024 * 1024;

/// Characters of a digest that tell it from others.
const DIGEST_CHARS: usize = 16;

/// What trust in hooks means, a line each.
pub(super) fn about_hooks(file: &ProjectFile) -> Vec<String> {
    if !file.needs_trust.iter().any(|value| value.name == HOOK) {
        return Vec::new();
    }
    let meaning = "trusted hooks run in the command sandbox without asking each time";
    let named = file.named.iter().map(|named| {
        let mut differences = file.differences.iter();
        let difference = differences.find(|difference| difference.path == named.path);
        let what = difference.map_or_else(String::new, |it| format!(", which {}", it.what));
        let path = named.path.display();
        format!("a hook names {path}{what}: it is trusted as it is now")
    });
    std::iter::once(meaning.to_owned()).chain(named).collect()
}

/// The names of the files, in the project; `None`: there are none.
pub(super) fn list(file: &ProjectFile) -> Option<String> {
    let names = file.named.iter().map(|named| in_project(file, &named.path));
    let names: Vec<String> = names.collect();
    (!names.is_empty()).then(|| names.join(", "))
}

fn in_project(file: &ProjectFile, path: &Path) -> String {
    let project = file.path.parent().and_then(Path::parent);
    let path = project
        .and_then(|it| path.strip_prefix(it).ok())
        .unwrap_or(path);
    path.display().to_string()
}

/// What files hold that are trusted by a yes.
pub(super) struct Texts(Vec<(String, Result<String, String>)>);

impl Texts {
    /// Reads the files: those that are not what was trusted, where nothing else is new.
    pub(super) fn of(file: &ProjectFile) -> Texts {
        let is_alone = file.only_named_changed().is_some();
        let is_new = |path: &Path| file.differences.iter().any(|it| it.path == path);
        let named = file.named.iter();
        let named = named.filter(|named| !is_alone || is_new(&named.path));
        let text = |named: &Pinned| read(&named.path, digest_of(named));
        let texts = named.map(|named| (in_project(file, &named.path), text(named)));
        Texts(texts.collect())
    }

    /// Each file with its name and its text, or what there is to say instead.
    pub(super) fn rows(&self, window: Window) -> Vec<String> {
        let rows = self.0.iter().flat_map(|(name, text)| match text {
            Ok(text) => {
                let mut rows = quoted(&format!("{name} holds:"), INDENT, window);
                rows.extend(text_rows(text, window));
                rows
            }
            Err(instead) => quoted(&format!("{name} {instead}"), INDENT, window),
        });
        rows.collect()
    }
}

/// The text of a file, if it is one and is what has this digest; otherwise what there is to say of it.
fn read(path: &Path, digest: &str) -> Result<String, String> {
    let mut bytes = Vec::new();
    let read =
        open_regular(path).and_then(|file| file.take(MAX_SHOWN_BYTES + 1).read_to_end(&mut bytes));
    if let Err(error) = read {
        return Err(format!("cannot be read: {error}"));
    }
    let is_whole = bytes.len() as u64 <= MAX_SHOWN_BYTES;
    if is_whole && sha256_hex(&bytes) != digest {
        return Err("changed while it was being read: a yes is for what it was before".to_owned());
    }
    let text = String::from_utf8(bytes).ok().filter(|_| is_whole);
    text.ok_or_else(|| {
        let digest = shorten(digest, DIGEST_CHARS);
        format!("is not text, or is too long to show, its SHA-256 begins with {digest}")
    })
}
