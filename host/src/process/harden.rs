//! What Dunlin does to itself when it starts.

use std::io;

use rustix::process::{
    DumpableBehavior, Resource, Rlimit, getrlimit, set_dumpable_behavior, setrlimit,
};

use super::sys::{self, Inherited};

/// Keeps the memory and the open files of this process from other programs. Call it first in `main`, while the process
/// has one thread.
///
/// - Other programs of the same user can neither trace this process nor read its memory or its environment below
///   `/proc`, and a crash writes no core file: it would hold keys and conversations. A program that this process
///   starts is not affected, apart from its soft limit for core files, which is 0 and can be raised.
/// - Files that were open when this process was started stay open here (`<(…)` of a shell is one), but are not handed
///   on to programs.
///
/// # Errors
///
/// The system's, if one of this could not be done.
pub fn harden_this_process() -> io::Result<()> {
    set_dumpable_behavior(DumpableBehavior::NotDumpable)?;
    let limit = Rlimit {
        current: Some(0),
        maximum: getrlimit(Resource::Core).maximum,
    };
    setrlimit(Resource::Core, limit)?;
    sys::give_no_files_on(Inherited::ClosedOnExec)
}
