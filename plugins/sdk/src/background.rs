//! Work that goes on when a call has ended.

use crate::bindings::dunlin::tool::background as host;

/// Asks to be run once more with these arguments, a JSON object, once this call has succeeded, while nobody waits: with
/// the rights of this call and its limits. The result is dropped. A host may drop the wish; outside of a component there is
/// nobody to hear it.
pub fn run_again(arguments: &str) {
    if crate::files::on_host().is_ok() {
        host::run_again(arguments);
    }
}
