//! Images and PDF documents, which are given as they are. The host says what a model can do with them.

use dunlin_sdk::files::File;
use dunlin_sdk::{Failure, Output};

use crate::page::size;

/// The largest file that is given, in bytes: what a host takes in one result.
const MAX_BYTES: u64 = 8 * 1024 * 1024;

/// How many bytes tell what a file is.
const HEAD_BYTES: u32 = 12;

/// Bytes that are fetched at once.
const FETCH_BYTES: u32 = 1024 * 1024;

/// The media type of a file that begins like this, if it is none of text.
fn media_type(head: &[u8]) -> Option<&'static str> {
    Some(match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => "image/png",
        [0xff, 0xd8, 0xff, ..] => "image/jpeg",
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => "image/gif",
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P'] => "image/webp",
        [b'%', b'P', b'D', b'F', b'-', ..] => "application/pdf",
        _ => return None,
    })
}

/// The file as it is, if it is an image or a document.
pub fn read(file: &File, path: &str) -> Result<Option<Output>, Failure> {
    let head = file.read_at(0, HEAD_BYTES)?;
    let Some(media_type) = media_type(&head) else {
        return Ok(None);
    };
    let bytes = file.metadata()?.size_bytes;
    if bytes > MAX_BYTES {
        return Err(Failure::too_large(format!(
            "'{path}' ({media_type}) has {}, and at most {} can be read",
            size(bytes),
            size(MAX_BYTES)
        )));
    }
    let mut content = Vec::with_capacity(usize::try_from(bytes).unwrap_or_default());
    loop {
        let piece = file.read_at(content.len() as u64, FETCH_BYTES)?;
        // It may have grown.
        if piece.is_empty() || content.len() as u64 > MAX_BYTES {
            break;
        }
        content.extend(piece);
    }
    Ok(Some(Output::default().with_blob(media_type, content)))
}
