//! Has the linker pack the relative relocations of the program: unpacked, the dynamic loader spends most of the time until
//! `main` with them.
#![expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script about the target in variables"
)]

use std::env::var;
use std::process::Command;

/// The first glibc whose loader reads packed relocations. A program that has them does not start with an older one.
const MINIMUM: (u32, u32) = (2, 36);

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is_native = var("HOST").ok() == var("TARGET").ok();
    if is_native && glibc().is_some_and(|version| version >= MINIMUM) {
        println!("cargo::rustc-link-arg-bins=-Wl,-z,pack-relative-relocs");
    }
}

/// The version of this machine's glibc; `None`: it has another C library.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}
