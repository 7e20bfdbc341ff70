//! Has the linker make a program that starts soon. Until `main`, most of the time goes into pages that the dynamic loader
//! writes addresses to: each is copied, whether it is ever used or not.
#![expect(
    clippy::disallowed_methods,
    reason = "cargo tells a build script about the target in variables"
)]

use std::env::var;
use std::ffi::OsStr;
use std::path::Path;
use std::process::{Command, Stdio};

/// The first glibc whose loader reads packed relocations. A program that has them does not start with an older one.
const MINIMUM: (u32, u32) = (2, 36);

/// Packs the relative relocations.
const PACK: &str = "-Wl,-z,pack-relative-relocs";

/// Keeps one copy of what is the same in several crates: functions, and constants such as the places that panics name. Two
/// functions may have one address then, which Rust's own rules allow: a function's address is no identity.
const FOLD: [&str; 2] = ["-Wl,--icf=all", "-Wl,--ignore-data-address-equality"];

/// The unwinder of the C compiler, linked into the program: one library less to open at each start. An archive of its own,
/// not put into ours, since the linker has to see it before the shared one.
const UNWINDER: &str = "static:-bundle=gcc_eh";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let is_native = var("HOST").ok() == var("TARGET").ok();
    if !is_native || var("CARGO_CFG_TARGET_ENV").as_deref() != Ok("gnu") {
        return;
    }
    if glibc().is_some_and(|version| version >= MINIMUM) {
        println!("cargo::rustc-link-arg-bins={PACK}");
    }
    // Which linker there is, and what it understands, only a trial says.
    if links(&FOLD.map(|flag| format!("-Clink-arg={flag}"))) {
        for flag in FOLD {
            println!("cargo::rustc-link-arg-bins={flag}");
        }
    }
    if links(&[format!("-l{UNWINDER}")]) {
        println!("cargo::rustc-link-lib={UNWINDER}");
    }
}

/// The version of this machine's glibc; `None`: it has another C library.
fn glibc() -> Option<(u32, u32)> {
    let output = Command::new("getconf").arg("GNU_LIBC_VERSION").output();
    let text = String::from_utf8(output.ok()?.stdout).ok()?;
    let (major, minor) = text.trim().strip_prefix("glibc ")?.split_once('.')?;
    Some((major.parse().ok()?, minor.parse().ok()?))
}

/// Whether a small program can be linked with these flags, as the program will be.
fn links(flags: &[String]) -> bool {
    let (Ok(rustc), Ok(folder)) = (var("RUSTC"), var("OUT_DIR")) else {
        return false;
    };
    let source = Path::new(&folder).join("trial.rs");
    if std::fs::write(&source, "fn main() {}").is_err() {
        return false;
    }
    let mut command = Command::new(rustc);
    command
        .arg(&source)
        .arg("-o")
        .arg(source.with_extension(""));
    // A linker and flags of whoever builds.
    let given = var("CARGO_ENCODED_RUSTFLAGS").unwrap_or_default();
    command.args(given.split('\u{1f}').filter(|flag| !flag.is_empty()));
    if let Ok(linker) = var("RUSTC_LINKER") {
        command.arg(format!("-Clinker={linker}"));
    }
    command.args(flags.iter().map(OsStr::new));
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
