//! A line of foreign text, as it stands in a question.

use dunlin_host::display::escape;

/// How a tab is shown: escaped like other controls it would make most indentation unreadable.
const TAB: &str = "→   ";

/// The line can neither act nor hide, nor leave its row.
pub(super) fn shown(line: &str) -> String {
    let parts: Vec<_> = line.split('\t').map(escape).collect();
    parts.join(TAB)
}
