//! The tool without a host: a file in memory stands for the host's.

mod arguments;
mod outline;
mod read;

use dunlin_sdk::Error;
use dunlin_sdk::files::{History, Kind, Line, Lines, Metadata};

use crate::source::Source;

/// A file in memory that keeps to the contract of the host.
pub(super) struct Memory {
    bytes: Vec<u8>,
    history: History,
}

impl Memory {
    pub(super) fn new(bytes: impl Into<Vec<u8>>) -> Self {
        Self {
            bytes: bytes.into(),
            history: History::default(),
        }
    }

    pub(super) fn attached(self) -> Self {
        Self {
            history: History {
                attached: true,
                ..self.history
            },
            ..self
        }
    }

    fn lines(&self) -> Vec<&[u8]> {
        let text = self.bytes.strip_suffix(b"\n").unwrap_or(&self.bytes);
        if self.bytes.is_empty() {
            Vec::new()
        } else {
            text.split(|&byte| byte == b'\n').collect()
        }
    }
}

impl Source for Memory {
    fn metadata(&self) -> Result<Metadata, Error> {
        let size_bytes = self.bytes.len() as u64;
        Ok(Metadata {
            kind: Kind::File,
            size_bytes,
            modified_ms: 0,
            history: self.history,
        })
    }

    fn read_at(&self, offset_bytes: u64, max_bytes: u32) -> Result<Vec<u8>, Error> {
        let rest = self.bytes.get(offset_bytes as usize..).unwrap_or_default();
        Ok(rest[..rest.len().min(max_bytes as usize)].to_vec())
    }

    fn read_lines(
        &self,
        first: u64,
        count: u32,
        max_bytes: u32,
        max_line_bytes: u32,
    ) -> Result<Lines, Error> {
        let all = self.lines();
        let first = usize::try_from(first - 1)
            .unwrap_or(usize::MAX)
            .min(all.len());
        let end = first.saturating_add(count as usize).min(all.len());
        let mut lines = Vec::new();
        let mut size = 0;
        for (line, number) in all[first..end].iter().zip(first + 1..) {
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            let (kept, omitted) = line.split_at(line.len().min(max_line_bytes as usize));
            size += kept.len();
            if size > max_bytes as usize && !lines.is_empty() {
                return Ok(Lines {
                    lines,
                    at_end: false,
                });
            }
            let text = str::from_utf8(kept)
                .map_err(|_| Error::WrongKind(format!("line {number} is not UTF-8")))?;
            lines.push(Line {
                text: text.to_owned(),
                omitted_bytes: omitted.len() as u64,
            });
        }
        Ok(Lines {
            lines,
            at_end: end == all.len(),
        })
    }

    fn count_lines(&self) -> Result<u64, Error> {
        Ok(self.lines().len() as u64)
    }
}
