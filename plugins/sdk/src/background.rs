//! Work that goes on when a call has ended.

use crate::host::background as host;

/// Asks to be run once more with these arguments, a JSON object, once this call has succeeded, while nobody waits: with
/// the rights of this call and its limits. The result is dropped. A host may drop the wish; outside of a component there is
/// nobody to hear it.
pub fn run_again(arguments: &str) {
    host::run_again(arguments);
}
