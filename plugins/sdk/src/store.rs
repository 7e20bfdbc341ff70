//! A place of the plugin's own, for what it wants to find again.
//!
//! Each plugin has one for each project; it needs no permission. A name is 1 to 64 of `a-z 0-9 - .` and does not
//! begin with a dot. Under one name there is room for 8 MiB, in all for 4,096 names and 512 MiB.
//!
//! ```no_run
//! # fn run() -> Result<(), dunlin_sdk::Error> {
//! let last = dunlin_sdk::store::get("last-query")?;
//! dunlin_sdk::store::put("last-query", b"sandpiper")?;
//! # Ok(())
//! # }
//! ```

use crate::error::Error;
use crate::host::store as host;

/// What is kept under a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name.
    pub name: String,
    /// How many bytes there are.
    pub size_bytes: u64,
}

/// What is kept under a name; `None` where there is nothing.
///
/// Fails with `Invalid` for what is not a name.
pub fn get(name: &str) -> Result<Option<Vec<u8>>, Error> {
    Ok(host::get(name)?)
}

/// Keeps bytes under a name, in place of what was there: whoever reads meanwhile finds the old or the new whole.
///
/// Fails with `Invalid` for what is not a name, with `TooLarge` where there is no room.
pub fn put(name: &str, bytes: &[u8]) -> Result<(), Error> {
    Ok(host::put(name, bytes)?)
}

/// Forgets a name. One that is not there is no failure.
pub fn remove(name: &str) -> Result<(), Error> {
    Ok(host::remove(name)?)
}

/// All names, sorted.
pub fn entries() -> Result<Vec<Entry>, Error> {
    let entry = |host::Entry { name, size_bytes }| Entry { name, size_bytes };
    Ok(host::entries()?.into_iter().map(entry).collect())
}
