//! Lays out lines for a model: numbered, and never wider or longer than is good for it.

use std::fmt::Write as _;

use dunlin_sdk::files::Line;

/// Bytes of one line that are shown. Lines written by people stay below; what is longer is generated,
/// and its start tells as much.
pub const MAX_LINE_BYTES: u32 = 2000;

/// Bytes of numbered lines in one result, about 25,000 tokens: a tenth of what the host would take,
/// and already much for a model to read at once.
pub const MAX_PAGE_BYTES: usize = 100 * 1024;

/// Numbered lines, as many as there is room for.
#[derive(Debug, Default)]
pub struct Page {
    text: String,
    /// Lines that were shortened.
    pub shortened: u64,
    /// Whether a line had no room.
    pub is_full: bool,
}

impl Page {
    /// Adds a line, unless it would make the page too long: then the page is full. The first line
    /// always has room.
    pub fn push(&mut self, number: u64, line: &Line) -> bool {
        let size = line.text.len() + NUMBER_BYTES;
        if self.is_full || (!self.text.is_empty() && self.text.len() + size > MAX_PAGE_BYTES) {
            self.is_full = true;
            return false;
        }
        // Writing to a string cannot fail.
        let _ = match line.omitted_bytes {
            0 => writeln!(self.text, "{number:>6}\t{}", line.text),
            more => {
                self.shortened += 1;
                let more = self::size(more);
                writeln!(
                    self.text,
                    "{number:>6}\t{}… [{more} more in this line]",
                    line.text
                )
            }
        };
        true
    }

    /// The lines, each with a newline.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Room for the number, the tab and the newline.
const NUMBER_BYTES: usize = 8;

/// A size as people say it: `512 bytes`, `1.5 MB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut tenths = bytes / 100;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if tenths < 10_000 {
            break;
        }
        tenths /= 1000;
        unit = larger;
    }
    format!("{}.{} {unit}", tenths / 10, tenths % 10)
}
