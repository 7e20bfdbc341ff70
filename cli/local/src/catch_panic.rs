//! Work that may fail in ways that nobody foresaw.
//!
//! The engine trusts the numbers of a file here and there, and asserts what follows from them. A damaged file must
//! neither end the program nor write over the screen of whoever runs it.

use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe, PanicHookInfo};
use std::sync::Once;

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

static HOOK: Once = Once::new();

/// Does the work. `None`: it panicked, and nothing was printed. Whatever it was working on is to be thrown away.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    HOOK.call_once(|| {
        let usual = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() && !is_engine(info) {
                usual(info);
            }
        }));
    });
    let before = QUIET.replace(true);
    // What is broken by then is not used any more.
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    QUIET.set(before);
    done.ok()
}

/// Whether a thread of the engine's own panics; it hands that on to the one that waits for it.
fn is_engine(info: &PanicHookInfo<'_>) -> bool {
    info.location()
        .is_some_and(|place| place.file().contains("/candle-"))
}
