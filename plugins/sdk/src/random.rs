//! Random numbers, good enough for keys. They need no permission.

use crate::error::Error;
use crate::host::random as host;

/// `count` bytes.
///
/// Fails with `Unsupported` outside of a component; with a [`mock`](crate::mock) they are the same in each test.
pub fn bytes(count: usize) -> Result<Vec<u8>, Error> {
    crate::host::is_there()?;
    let mut bytes = Vec::with_capacity(count);
    // A host gives at most 64 KiB at once.
    while bytes.len() < count {
        let more = u32::try_from(count - bytes.len()).unwrap_or(u32::MAX);
        bytes.extend(host::bytes(more));
    }
    Ok(bytes)
}
