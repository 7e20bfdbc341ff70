//! Random numbers, good enough for keys. They need no permission.

use crate::bindings::dunlin::tool::random as host;
use crate::error::Error;

/// `count` bytes.
///
/// Fails with `Unsupported` outside of a component.
pub fn bytes(count: usize) -> Result<Vec<u8>, Error> {
    crate::files::on_host()?;
    let mut bytes = Vec::with_capacity(count);
    // A host gives at most 64 KiB at once.
    while bytes.len() < count {
        let more = u32::try_from(count - bytes.len()).unwrap_or(u32::MAX);
        bytes.extend(host::bytes(more));
    }
    Ok(bytes)
}
