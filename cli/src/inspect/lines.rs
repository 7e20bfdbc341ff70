//! Lines of a limited length from a peer that is not trusted to send any.

use std::io::{self, BufRead};

/// Why there is no line.
#[derive(Debug, thiserror::Error)]
pub enum LineError {
    /// It is longer than allowed.
    #[error("a line has more than {0} bytes")]
    TooLong(usize),
    #[error("the connection failed")]
    Read(#[from] io::Error),
}

/// Reads a line into `line`, without its end. `false`: the connection was closed; what came after the last line end is
/// not a line.
///
/// # Errors
/// The line is longer than `most` bytes, or the connection failed.
pub fn read_line(
    from: &mut impl BufRead,
    most: usize,
    line: &mut Vec<u8>,
) -> Result<bool, LineError> {
    line.clear();
    loop {
        let buffer = from.fill_buf()?;
        if buffer.is_empty() {
            return Ok(false);
        }
        let end = buffer.iter().position(|byte| *byte == b'\n');
        let piece = buffer.get(..end.unwrap_or(buffer.len())).unwrap_or(buffer);
        if line.len() + piece.len() > most {
            return Err(LineError::TooLong(most));
        }
        line.extend_from_slice(piece);
        let taken = piece.len() + usize::from(end.is_some());
        from.consume(taken);
        if end.is_some() {
            return Ok(true);
        }
    }
}
