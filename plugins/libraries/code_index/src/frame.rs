//! How blobs are written, so that torn or foreign bytes are never taken for an index.

/// What every blob begins with. The digit is the version: another one leads to a new index.
const MAGIC: [u8; 8] = *b"dunlin-2";

/// Bytes before the content: the magic, the length and the checksum.
pub(crate) const HEAD: usize = 16;

/// Makes a blob of content.
pub(crate) fn seal(content: &[u8]) -> Vec<u8> {
    let mut blob = Vec::with_capacity(HEAD + content.len());
    blob.extend_from_slice(&MAGIC);
    blob.extend_from_slice(&(content.len() as u32).to_le_bytes());
    blob.extend_from_slice(&crc32fast::hash(content).to_le_bytes());
    blob.extend_from_slice(content);
    blob
}

/// The content of a blob, `None` unless it is whole and of this version.
pub(crate) fn open(blob: &[u8]) -> Option<&[u8]> {
    let (head, content) = blob.split_at_checked(HEAD)?;
    let mut reader = Reader::new(head.strip_prefix(&MAGIC)?);
    let is_whole = reader.u32()? as usize == content.len();
    (is_whole && reader.u32()? == crc32fast::hash(content)).then_some(content)
}

/// The checksum that a blob says it has.
pub(crate) fn sum(blob: &[u8]) -> u32 {
    blob.get(12..)
        .and_then(|rest| rest.first_chunk())
        .map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

/// Reads numbers and texts one after the other; `None` where there are no more bytes.
#[derive(Debug, Clone)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.0
    }

    pub(crate) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u32::from_le_bytes(*taken))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        let (taken, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(u64::from_le_bytes(*taken))
    }

    /// A number of one to five bytes, small ones in one.
    #[inline]
    pub(crate) fn varint(&mut self) -> Option<u32> {
        let mut value = 0_u32;
        let mut shift = 0;
        loop {
            let byte = self.u8()?;
            value |= u32::from(byte & 0x7f).checked_shl(shift)?;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    pub(crate) fn text(&mut self) -> Option<&'a str> {
        let count = self.varint()?;
        std::str::from_utf8(self.bytes(count as usize)?).ok()
    }
}

/// Writes what [`Reader::varint`] reads.
#[inline]
pub(crate) fn put_varint(to: &mut Vec<u8>, mut value: u32) {
    while value >= 0x80 {
        to.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

/// Writes what [`Reader::text`] reads.
pub(crate) fn put_text(to: &mut Vec<u8>, text: &str) {
    put_varint(to, text.len() as u32);
    to.extend_from_slice(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u32>) {
            let mut bytes = Vec::new();
            for value in &values {
                put_varint(&mut bytes, *value);
            }
            let mut reader = Reader::new(&bytes);
            for value in values {
                prop_assert_eq!(reader.varint(), Some(value));
            }
            prop_assert!(reader.is_empty());
        }

        #[test]
        fn a_changed_blob_is_no_blob(content: Vec<u8>, at: usize, bit in 0..8) {
            let mut blob = seal(&content);
            prop_assert_eq!(open(&blob), Some(&content[..]));
            let at = at % blob.len();
            blob[at] ^= 1_u8 << bit;
            prop_assert_eq!(open(&blob), None);
            blob.truncate(at);
            prop_assert_eq!(open(&blob), None);
        }
    }
}
