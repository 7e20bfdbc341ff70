//! Dunlin as it is shipped, and with hostile plugins where a test asks for them.
//!
//! The guests named in `DUNLIN_TEST_GUESTS`, separated by commas, join the built-in plugins as if the
//! user had installed them. The shipped binary knows no such variable.

use std::process::ExitCode;

use dunlin_tests::GUESTS_VARIABLE;
use dunlin_tests::sandbox::plugin;

fn main() -> ExitCode {
    #[expect(
        clippy::disallowed_methods,
        reason = "this is not the program: it only chooses what the program is made of"
    )]
    let names = std::env::var(GUESTS_VARIABLE).unwrap_or_default();
    let guests = names.split(',').filter(|name| !name.is_empty());
    dunlin::main_with(guests.map(plugin).collect())
}
