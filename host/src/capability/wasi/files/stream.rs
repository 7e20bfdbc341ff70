//! Streams of open files. They keep the file that was checked, wherever its name leads by now.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{InputStream, OutputStream, StreamError, StreamResult};

use super::lease::Lease;
use crate::limits::{MAX_FILE_BYTES, MAX_WRITTEN_BYTES};

/// Bytes that go through a stream at once.
const PIECE_BYTES: usize = 64 * 1024;

/// Counts what goes through one use.
pub(super) type Meter = Arc<AtomicU64>;

/// Reads on from somewhere.
pub(super) struct Reading {
    pub(super) file: Arc<File>,
    pub(super) at: u64,
    pub(super) meter: Meter,
    pub(super) lease: Lease,
}

#[async_trait]
impl Pollable for Reading {
    async fn ready(&mut self) {}
}

impl InputStream for Reading {
    fn read(&mut self, size: usize) -> StreamResult<Bytes> {
        if size == 0 {
            return Ok(Bytes::new());
        }
        still_allowed(&self.lease)?;
        let mut bytes = vec![0; size.min(PIECE_BYTES)];
        let read = self.file.read_at(&mut bytes, self.at).map_err(failed)?;
        if read == 0 {
            return Err(StreamError::Closed);
        }
        bytes.truncate(read);
        self.at = self.at.saturating_add(read as u64);
        self.meter.fetch_add(read as u64, Ordering::Relaxed);
        Ok(bytes.into())
    }
}

/// Writes on from somewhere, or always at the end.
pub(super) struct Writing {
    pub(super) file: Arc<File>,
    /// `None`: at the end, wherever that is then.
    pub(super) at: Option<u64>,
    pub(super) meter: Meter,
    pub(super) lease: Lease,
    /// What the call has written altogether.
    pub(super) written: Meter,
}

#[async_trait]
impl Pollable for Writing {
    async fn ready(&mut self) {}
}

impl OutputStream for Writing {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > PIECE_BYTES {
            return Err(StreamError::trap("it wrote more than it was allowed to"));
        }
        still_allowed(&self.lease)?;
        let at = match self.at {
            Some(at) => at,
            None => self.file.metadata().map_err(failed)?.len(),
        };
        write_all(&self.file, &bytes, at, &self.written).map_err(failed)?;
        self.meter.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        if let Some(at) = &mut self.at {
            *at = at.saturating_add(bytes.len() as u64);
        }
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PIECE_BYTES)
    }
}

/// Writes all of it, within what a call may write and how large a file may become.
pub(super) fn write_all(file: &File, bytes: &[u8], at: u64, written: &AtomicU64) -> io::Result<()> {
    let count = bytes.len() as u64;
    let end = at.checked_add(count);
    if end.is_none_or(|end| end > MAX_FILE_BYTES) {
        return Err(rustix::io::Errno::FBIG.into());
    }
    if written.fetch_add(count, Ordering::Relaxed) + count > MAX_WRITTEN_BYTES {
        return Err(rustix::io::Errno::DQUOT.into());
    }
    file.write_all_at(bytes, at)
}

/// A stream that is open ends with what allowed it.
fn still_allowed(lease: &Lease) -> StreamResult<()> {
    match lease.holds() {
        true => Ok(()),
        false => Err(failed(rustix::io::Errno::ACCESS.into())),
    }
}

fn failed(error: io::Error) -> StreamError {
    StreamError::LastOperationFailed(error.into())
}
