//! Lines of a stream whose length is bounded: for protocols that write one message in each.

use std::io;

use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};

/// The longest line in bytes. The arguments of a call may have 4 MiB; written as JSON that is rarely more than
/// twice as much. Without a limit a line that never ends fills the memory.
pub const MAX_LINE_BYTES: usize = 16 * 1024 * 1024;

/// Room for a line that is kept from one to the next, in bytes.
const KEPT_LINE_BYTES: usize = 64 * 1024;

/// What starts some files and no line of JSON; JSON's own rules allow to overlook it.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Reads the next line, the last one with or without its end. `None`: there is none. `false`: it was too long,
/// and is gone.
pub async fn next_line(
    input: &mut (impl AsyncBufRead + Unpin),
    line: &mut Vec<u8>,
) -> io::Result<Option<bool>> {
    line.clear();
    line.shrink_to(KEPT_LINE_BYTES);
    let mut limited = (&mut *input).take(MAX_LINE_BYTES as u64 + 1);
    if limited.read_until(b'\n', line).await? == 0 {
        return Ok(None);
    }
    if line.len() <= MAX_LINE_BYTES || line.ends_with(b"\n") {
        return Ok(Some(true));
    }
    line.clear();
    loop {
        let piece = input.fill_buf().await?;
        let (used, done) = match piece.iter().position(|&byte| byte == b'\n') {
            Some(end) => (end + 1, true),
            None => (piece.len(), piece.is_empty()),
        };
        input.consume(used);
        if done {
            return Ok(Some(false));
        }
    }
}

/// What is said of a line that was too long.
pub fn too_long() -> String {
    let most = MAX_LINE_BYTES / (1024 * 1024);
    format!("the line is longer than {most} MiB; it was left out")
}

/// A line without the mark that some programs write before their first one. `None`: it is blank.
pub fn content(line: &[u8]) -> Option<&[u8]> {
    let line = line.strip_prefix(BYTE_ORDER_MARK).unwrap_or(line);
    (!line.iter().all(u8::is_ascii_whitespace)).then_some(line)
}

#[cfg(test)]
mod tests {
    use tokio::io::BufReader;

    use super::*;

    #[tokio::test]
    async fn a_line_that_is_too_long_is_left_out() {
        let mut text = vec![b'x'; MAX_LINE_BYTES + 5];
        text.extend_from_slice(b"\nnext\n");
        text.extend(std::iter::repeat_n(b'y', MAX_LINE_BYTES));
        text.extend_from_slice(b"\nlast");
        let mut input = BufReader::new(text.as_slice());
        let mut line = Vec::new();
        let mut seen = Vec::new();
        while let Some(whole) = next_line(&mut input, &mut line).await.unwrap() {
            seen.push((whole, line.len()));
        }
        let expected = [(false, 0), (true, 5), (true, MAX_LINE_BYTES + 1), (true, 4)];
        assert_eq!(seen, expected);
    }

    #[test]
    fn a_mark_and_blanks_are_no_content() {
        assert_eq!(content(b" \r\n"), None);
        assert_eq!(content(b"\xef\xbb\xbf"), None);
        assert_eq!(content(b"\xef\xbb\xbf{}\n"), Some(&b"{}\n"[..]));
    }
}
