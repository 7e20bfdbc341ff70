//! What is to be built.

use std::path::PathBuf;

use crate::way::Way;

/// What to build, with what, and where to put it.
#[derive(Debug, Clone)]
pub struct Request {
    /// The folder of the workspace's `Cargo.toml` and `Cargo.lock`.
    pub workspace: PathBuf,
    /// The packages of the guests.
    pub packages: Vec<String>,
    /// What they are made for.
    pub made_for: MadeFor,
    /// The cargo to run, unless the way brings its own.
    pub cargo: PathBuf,
    /// The compiler to run, unless the way brings its own.
    pub rustc: PathBuf,
    /// The ways to take, the best first; the first that exists is taken.
    pub ways: Vec<Way>,
    /// Where the target folder of the nested build is made, one for each way.
    pub scratch: PathBuf,
    /// Where the components go, as `<package>.wasm`.
    pub out: PathBuf,
}

/// What a guest is made for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MadeFor {
    /// Most guests wait for the host, and each byte of them is compiled by it at first use: small beats fast.
    Size,
    /// It computes. Uses vector instructions, and may hold C, which needs clang.
    Speed,
    /// It runs scripts: small, and holds C that brings its own C library. Needs clang.
    Scripts,
    /// It is run a few times by a test: there are many, and compiling them is what takes time.
    Trial,
}
