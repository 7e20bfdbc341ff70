//! The list of segments: the one blob that changes.

use crate::frame::{self, Reader};

/// The name of its blob.
pub(crate) const NAME: &str = "manifest";

/// What the list says of a segment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// Its number, which names its blobs.
    pub(crate) id: u64,
    pub(crate) blob_bytes: u64,
    /// The checksums of its tables and its words. So the two belong together, whoever else writes.
    pub(crate) sums: [u32; 2],
    /// For each of its files whether it counts.
    pub(crate) live: Vec<bool>,
}

pub(super) fn encode(next: u64, entries: &[&Entry]) -> Vec<u8> {
    let mut out = Vec::new();
    out.extend_from_slice(&next.to_le_bytes());
    frame::put_varint(&mut out, entries.len() as u32);
    for entry in entries {
        out.extend_from_slice(&entry.id.to_le_bytes());
        out.extend_from_slice(&entry.blob_bytes.to_le_bytes());
        out.extend_from_slice(&entry.sums[0].to_le_bytes());
        out.extend_from_slice(&entry.sums[1].to_le_bytes());
        frame::put_varint(&mut out, entry.live.len() as u32);
        for eight in entry.live.chunks(8) {
            let bits = eight.iter().enumerate();
            out.push(bits.fold(0, |byte, (bit, live)| byte | u8::from(*live) << bit));
        }
    }
    frame::seal(&out)
}

pub(super) fn decode(blob: &[u8]) -> Option<(u64, Vec<Entry>)> {
    let mut reader = Reader::new(frame::open(blob)?);
    let next = reader.u64()?;
    let count = reader.varint()?;
    let mut entries = Vec::new();
    for _ in 0..count {
        let id = reader.u64()?;
        let blob_bytes = reader.u64()?;
        let sums = [reader.u32()?, reader.u32()?];
        let files = reader.varint()? as usize;
        let bits = reader.bytes(files.div_ceil(8))?;
        let live = (0..files)
            .map(|file| bits[file / 8] & (1 << (file % 8)) != 0)
            .collect();
        entries.push(Entry {
            id,
            blob_bytes,
            sums,
            live,
        });
    }
    reader.is_empty().then_some((next, entries))
}
