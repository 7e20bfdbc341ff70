//! What edits have to come to, said in the plainest way, and inputs to compare by. Shared by the tests and the
//! long run in `benches/fuzz_edits.rs`.

use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::{ApplyError, LineEdit, apply};

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Edits that fit do what a list of lines does.
pub fn check_fitting(base: &str, edits: &[LineEdit]) -> Result<(), TestCaseError> {
    let expected = naive(base, edits);
    match apply(Some(base.as_bytes()), edits) {
        Ok(applied) => {
            prop_assert_eq!(String::from_utf8_lossy(&applied.bytes), expected.as_str());
            prop_assert_eq!(applied.lines_before, lines_of(base).len() as u64);
            prop_assert_eq!(applied.lines_after, lines_of(&expected).len() as u64);
        }
        Err(error) => {
            prop_assert_eq!(error, ApplyError::Unchanged);
            prop_assert_eq!(expected, base);
        }
    }
    Ok(())
}

/// Any edits of any bytes give an answer, and where it is a file, what no edit names is the same bytes.
pub fn check_any(base: &[u8], edits: &[LineEdit]) -> Result<(), TestCaseError> {
    let Ok(applied) = apply(Some(base), edits) else {
        return Ok(());
    };
    prop_assert_ne!(base, &applied.bytes);
    let (old, new) = (
        String::from_utf8_lossy(base),
        String::from_utf8_lossy(&applied.bytes),
    );
    prop_assert_eq!(old.as_bytes(), base);
    let keeps_mark = !old.starts_with(BYTE_ORDER_MARK) || new.starts_with(BYTE_ORDER_MARK);
    prop_assert!(keeps_mark);
    // Only a last line without a newline may have got one.
    let (first, end) = (
        edits[0].first as usize - 1,
        edits[edits.len() - 1].end as usize - 1,
    );
    // The mark belongs to no line: a file with nothing else has none.
    let (old, new) = (lines_after_mark(&old), lines_after_mark(&new));
    let before = first.saturating_sub(1);
    prop_assert_eq!(&old[..before], &new[..before]);
    let kept = old.len() - end;
    prop_assert_eq!(&old[end..], &new[new.len() - kept..]);
    Ok(())
}

/// A text and edits that fit it.
pub fn fitting() -> impl Strategy<Value = (String, Vec<LineEdit>)> {
    let steps = prop::collection::vec((0_u64..4, 0_u64..3, text()), 1..5);
    (text(), steps).prop_map(|(base, steps)| {
        let last = lines_of(&base).len() as u64 + 1;
        let mut at = 1;
        let edits = steps.into_iter().map(|(skip, length, replacement)| {
            let first = (at + skip).min(last);
            at = (first + length).min(last);
            LineEdit {
                first,
                end: at,
                replacement,
            }
        });
        let edits = edits.collect();
        (base, edits)
    })
}

/// Bytes and edits of every kind.
pub fn any_edits() -> impl Strategy<Value = (Vec<u8>, Vec<LineEdit>)> {
    let bytes = prop::sample::select(b"a\r\n\xef\xbb\xbf\xc3\xbc\xff".to_vec());
    let edit = (0_u64..9, 0_u64..9, text(), any::<bool>());
    let edit = edit.prop_map(|(first, end, text, crlf)| LineEdit {
        first,
        end,
        replacement: if crlf {
            text.replace('\n', "\r\n")
        } else {
            text
        },
    });
    (
        prop::collection::vec(bytes, 0..32),
        prop::collection::vec(edit, 0..4),
    )
}

/// Texts in which everything that matters is frequent.
fn text() -> impl Strategy<Value = String> {
    let pieces = prop::sample::select(vec!["a", "b", "ü", " ", "\n", "\n", "\n"]);
    prop::collection::vec(pieces, 0..24).prop_map(|pieces| pieces.concat())
}

/// From the last edit to the first, so that no number moves.
fn naive(base: &str, edits: &[LineEdit]) -> String {
    let mut lines = lines_of(base);
    let open_end = lines.last().is_some_and(|line| !line.ends_with('\n'));
    for edit in edits.iter().rev() {
        let mut new = lines_of(&edit.replacement);
        let at_end = edit.end as usize == lines_of(base).len() + 1;
        if let Some(last) = new.last_mut()
            && !last.ends_with('\n')
            && !(open_end && at_end)
        {
            last.push('\n');
        }
        lines.splice(edit.first as usize - 1..edit.end as usize - 1, new);
    }
    let last = lines.len().saturating_sub(1);
    for line in &mut lines[..last] {
        if !line.ends_with('\n') {
            line.push('\n');
        }
    }
    lines.concat()
}

fn lines_after_mark(text: &str) -> Vec<String> {
    lines_of(text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text))
}

/// Lines of a text, each with its ending.
fn lines_of(text: &str) -> Vec<String> {
    text.split_inclusive('\n').map(str::to_owned).collect()
}
