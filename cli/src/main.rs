//! The program; all of it is in the library, where tests reach it.

use std::process::ExitCode;

fn main() -> ExitCode {
    dunlin::main()
}
