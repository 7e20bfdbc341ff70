//! Which files and chunks a segment has.

use crate::frame::{self, Reader};
use crate::kind::Kind;

/// A file of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct FileRow {
    /// As the caller names it.
    pub(crate) path: String,
    /// Its bytes when it was read.
    pub(crate) size: u64,
    /// Its time of change when it was read, as the caller counts.
    pub(crate) modified: u64,
    pub(crate) kind: Kind,
    pub(crate) first_chunk: u32,
    /// How many chunks it has.
    pub(crate) chunks: u32,
    /// How many words it has.
    pub(crate) words: u32,
}

/// A chunk of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ChunkRow {
    /// Its first line, counted from 0.
    pub(crate) start: u32,
    /// How many lines it has.
    pub(crate) lines: u32,
    /// How many words it has.
    pub(crate) words: u32,
    /// Whether it is a test within a file of source.
    pub(crate) is_test: bool,
}

/// All of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Tables {
    pub(crate) files: Vec<FileRow>,
    pub(crate) chunks: Vec<ChunkRow>,
}

impl Tables {
    /// As a blob.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.files.len() * 64 + self.chunks.len() * 4);
        out.extend_from_slice(&(self.files.len() as u32).to_le_bytes());
        for file in &self.files {
            frame::put_text(&mut out, &file.path);
            out.extend_from_slice(&file.size.to_le_bytes());
            out.extend_from_slice(&file.modified.to_le_bytes());
            out.push(file.kind as u8);
            frame::put_varint(&mut out, file.chunks);
            frame::put_varint(&mut out, file.words);
        }
        for file in &self.files {
            let mut line = 0;
            let first = file.first_chunk as usize;
            for chunk in &self.chunks[first..first + file.chunks as usize] {
                frame::put_varint(&mut out, chunk.start - line);
                frame::put_varint(&mut out, chunk.lines << 1 | u32::from(chunk.is_test));
                frame::put_varint(&mut out, chunk.words);
                line = chunk.start;
            }
        }
        frame::seal(&out)
    }

    /// From a blob, `None` if it is not whole.
    pub(crate) fn decode(blob: &[u8]) -> Option<Self> {
        let mut reader = Reader::new(frame::open(blob)?);
        let count = reader.u32()?;
        let mut tables = Self::default();
        let mut chunks = 0_u32;
        for _ in 0..count {
            let file = FileRow {
                path: reader.text()?.to_owned(),
                size: reader.u64()?,
                modified: reader.u64()?,
                kind: Kind::from_byte(reader.u8()?)?,
                first_chunk: chunks,
                chunks: reader.varint()?,
                words: reader.varint()?,
            };
            chunks = chunks.checked_add(file.chunks)?;
            tables.files.push(file);
        }
        // Three bytes are the least that a chunk takes.
        if chunks as usize > reader.rest().len() {
            return None;
        }
        tables.chunks.reserve(chunks as usize);
        for file in &tables.files {
            let mut line = 0_u32;
            for _ in 0..file.chunks {
                line = line.checked_add(reader.varint()?)?;
                let lines = reader.varint()?;
                tables.chunks.push(ChunkRow {
                    start: line,
                    lines: lines >> 1,
                    words: reader.varint()?,
                    is_test: lines & 1 == 1,
                });
            }
        }
        reader.is_empty().then_some(tables)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_come_back() {
        let tables = Tables {
            files: vec![FileRow {
                path: "a/b.rs".to_owned(),
                size: 7,
                modified: u64::MAX,
                kind: Kind::Test,
                first_chunk: 0,
                chunks: 2,
                words: 300,
            }],
            chunks: vec![
                ChunkRow {
                    start: 0,
                    lines: 30,
                    words: 200,
                    is_test: false,
                },
                ChunkRow {
                    start: 30,
                    lines: 5,
                    words: 100,
                    is_test: true,
                },
            ],
        };
        assert_eq!(Tables::decode(&tables.encode()), Some(tables));
    }
}
