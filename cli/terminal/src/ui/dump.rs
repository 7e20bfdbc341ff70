//! Bytes that are not text, as they stand in a question: in rows, with the characters that they would be.

use dunlin_host::display::grouped;

use super::style::Label;

/// Bytes in a row.
const COLUMNS: usize = 16;

/// How many are shown in the question, and under `v`.
pub(super) const FEW_BYTES: usize = 4 * COLUMNS;
const MAX_BYTES: usize = 64 * 1024;

/// Adds the rows of these bytes, which are the first of `all`. `whole`: more than a few of them.
pub(super) fn add(lines: &mut Vec<(String, Option<Label>)>, bytes: &[u8], all: usize, whole: bool) {
    let most = if whole { MAX_BYTES } else { FEW_BYTES };
    let shown = bytes.get(..most).unwrap_or(bytes);
    for row in shown.chunks(COLUMNS) {
        let bytes: Vec<String> = row.iter().map(|byte| format!("{byte:02x}")).collect();
        let text: String = row
            .iter()
            .map(|byte| match byte {
                b' '..=b'~' => char::from(*byte),
                _ => '.',
            })
            .collect();
        let bytes = bytes.join(" ");
        lines.push((
            format!("  {bytes:<width$}  {text}", width = 3 * COLUMNS - 1),
            None,
        ));
    }
    let more = all.saturating_sub(shown.len());
    if more > 0 {
        let way = match whole {
            true => "too many to show",
            false => "v shows more of them",
        };
        let more = format!("… {} more bytes: {way}", grouped(more as u64));
        lines.push((more, Some(Label::Quiet)));
    }
}

/// `1,234 bytes`.
pub(super) fn counted(bytes: u64) -> String {
    match bytes {
        1 => "1 byte".to_owned(),
        bytes => format!("{} bytes", grouped(bytes)),
    }
}
