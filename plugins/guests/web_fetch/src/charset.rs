//! In which characters a text is written, and reading it as it comes.
//!
//! In this order: the mark at its beginning, what the server says, what the page says of itself. Where nobody says
//! anything, it is UTF-8 if it can be, and what Western Europe used before otherwise.

use encoding_rs::{CoderResult, Decoder, Encoding, UTF_8, WINDOWS_1252};

/// How much of a page is searched for what it says of itself; what the HTML standard allows for.
pub const BEGINNING_BYTES: usize = 1024;

/// Reads bytes as text, piece by piece.
pub struct Reader {
    decoder: Decoder,
}

impl Reader {
    /// Decides by the beginning of a text (all of a short one, else at least [`BEGINNING_BYTES`]); `said` is what the
    /// server says.
    pub fn new(beginning: &[u8], said: Option<&str>, is_page: bool) -> Reader {
        Reader {
            decoder: choose(beginning, said, is_page).new_decoder(),
        }
    }

    /// Reads more and adds it to `text`. What is not a character becomes `U+FFFD`.
    pub fn read(&mut self, mut bytes: &[u8], is_last: bool, text: &mut String) {
        loop {
            // `None` only where the sum does not fit into memory.
            let room = self.decoder.max_utf8_buffer_length(bytes.len());
            text.reserve(room.unwrap_or(bytes.len()).max(16));
            let (result, read, _) = self.decoder.decode_to_string(bytes, text, is_last);
            bytes = &bytes[read..];
            if result == CoderResult::InputEmpty {
                return;
            }
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Reader")
            .field(&self.decoder.encoding().name())
            .finish()
    }
}

fn choose(beginning: &[u8], said: Option<&str>, is_page: bool) -> &'static Encoding {
    if let Some((encoding, _)) = Encoding::for_bom(beginning) {
        return encoding;
    }
    let said = said.and_then(|label| Encoding::for_label(label.as_bytes()));
    if let Some(encoding) = said {
        return encoding;
    }
    if is_page && let Some(encoding) = of_itself(beginning) {
        // It is being read as bytes of ASCII: it cannot be in pairs of bytes, whatever it says.
        return match encoding.is_ascii_compatible() {
            true => encoding,
            false => UTF_8,
        };
    }
    match std::str::from_utf8(beginning) {
        Ok(_) => UTF_8,
        // Cut in a character.
        Err(error) if error.error_len().is_none() => UTF_8,
        Err(_) => WINDOWS_1252,
    }
}

/// What a page says: `<meta charset=...>`, `<meta content="...; charset=...">`, `<?xml encoding=...?>`.
fn of_itself(beginning: &[u8]) -> Option<&'static Encoding> {
    let beginning = &beginning[..beginning.len().min(BEGINNING_BYTES)];
    let text = String::from_utf8_lossy(beginning).to_ascii_lowercase();
    let declared = text
        .strip_prefix("<?xml")
        .and_then(|rest| rest.split("?>").next())
        .and_then(|tag| label_behind(tag, "encoding"));
    let mut metas = text.split("<meta").skip(1);
    declared.or_else(|| {
        metas.find_map(|rest| {
            let tag = rest.split('>').next().unwrap_or_default();
            label_behind(tag, "charset")
        })
    })
}

/// The encoding that stands behind `name=`.
fn label_behind(tag: &str, name: &str) -> Option<&'static Encoding> {
    let behind = &tag[tag.find(name)? + name.len()..];
    let value = behind.trim_start().strip_prefix('=')?.trim_start();
    let value = value.trim_start_matches(['"', '\'']);
    let end = value
        .find(|c: char| c.is_whitespace() || "\"';/>".contains(c))
        .unwrap_or(value.len());
    Encoding::for_label(&value.as_bytes()[..end])
}
