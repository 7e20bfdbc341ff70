//! The file as this tool needs it, so that everything above is tested without a host.

use dunlin_sdk::Error;
use dunlin_sdk::files::{File, Lines, Metadata};

/// An open file. The methods are those of [`File`], and so are their errors.
pub trait Source {
    /// The metadata of the open file.
    fn metadata(&self) -> Result<Metadata, Error>;
    /// Up to `max_bytes` from an offset; nothing at the end.
    fn read_at(&self, offset_bytes: u64, max_bytes: u32) -> Result<Vec<u8>, Error>;
    /// Up to `count` lines of at most `max_line_bytes` each, with at most `max_bytes` together.
    fn read_lines(
        &self,
        first: u64,
        count: u32,
        max_bytes: u32,
        max_line_bytes: u32,
    ) -> Result<Lines, Error>;
    /// The number of lines; reads the whole file.
    fn count_lines(&self) -> Result<u64, Error>;
}

impl Source for File {
    fn metadata(&self) -> Result<Metadata, Error> {
        File::metadata(self)
    }

    fn read_at(&self, offset_bytes: u64, max_bytes: u32) -> Result<Vec<u8>, Error> {
        File::read_at(self, offset_bytes, max_bytes)
    }

    fn read_lines(
        &self,
        first: u64,
        count: u32,
        max_bytes: u32,
        max_line_bytes: u32,
    ) -> Result<Lines, Error> {
        File::read_lines(self, first, count, max_bytes, max_line_bytes)
    }

    fn count_lines(&self) -> Result<u64, Error> {
        File::count_lines(self)
    }
}
