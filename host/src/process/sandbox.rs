//! What a process does to itself before it becomes the command: no way back.

use std::io;
use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible, LandlockStatus, PathBeneath,
    Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, Scope,
};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use super::mounts;
use super::order::{CommandSandbox, Order};
use super::seccomp;
use super::sys::{self, Inherited};
use crate::limits::MAX_PROCESSES;

/// The newest Landlock whose rights were looked at; an older kernel enforces what it knows of them.
const KNOWN_ABI: ABI = ABI::V7;

/// Devices that harm nobody. A command with namespaces of its own has no others.
pub(super) const DEVICES: [&str; 5] = ["null", "zero", "full", "random", "urandom"];

/// Bytes of the memory of a crashed program that are kept. For a file that is too few: nobody asked for one. For a program
/// that is to take them (core(5)) this very number means to the kernel that it must not be started: it would run outside of
/// the sandbox, as the superuser. With 0 it would be started.
const CORE_BYTES: u64 = 1;

/// Why a command does not get its sandbox, and so does not run.
#[derive(Debug, thiserror::Error)]
pub(super) enum EnterError {
    #[error("cannot limit its processes")]
    Limits(#[source] io::Error),
    #[error("cannot give capabilities up")]
    Capabilities(#[source] io::Error),
    #[error("cannot restrict its files")]
    Files(#[source] Box<dyn std::error::Error>),
    #[error("cannot close inherited files")]
    Inherited(#[source] io::Error),
}

/// Gives everything up that a command does not need. `no_namespaces`: why the command has no namespaces of its own.
pub(super) fn enter(
    order: &Order,
    no_namespaces: Option<&str>,
) -> Result<CommandSandbox, EnterError> {
    let unbounded = !limit_resources(no_namespaces.is_none()).map_err(EnterError::Limits)?;
    drop_capabilities().map_err(EnterError::Capabilities)?;
    // A kernel without Landlock is a gap; one that has it and fails is not to be trusted with a command.
    let landlock = restrict_files(order, no_namespaces.is_some()).map_err(EnterError::Files)?;
    sys::give_no_files_on(Inherited::ClosedOnExec).map_err(EnterError::Inherited)?;
    let no_filter = seccomp::filter(seccomp::Around {
        network: order.network || no_namespaces.is_none(),
        namespaces: no_namespaces.is_none(),
    })
    .err();
    Ok(CommandSandbox {
        no_namespaces: no_namespaces.map(str::to_owned),
        landlock,
        no_filter: no_filter.map(|e| e.to_string()),
        unbounded,
    })
}

/// Bounds what the command could do to the machine without touching a file. `false`: how many processes it starts could
/// not be bounded.
fn limit_resources(has_namespaces: bool) -> io::Result<bool> {
    let at_most = |resource: Resource, most: u64| {
        let most = getrlimit(resource)
            .maximum
            .map_or(most, |now| most.min(now));
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        setrlimit(resource, limit)
    };
    at_most(Resource::Core, CORE_BYTES)?;
    // Counted within the user namespace; there, process 1 has bounded the superuser's, too, where the kernel can. Without
    // namespaces all processes and threads of the user count, whoever started them.
    let others = match has_namespaces {
        true => 0,
        false => threads_of_user(),
    };
    at_most(Resource::Nproc, others + MAX_PROCESSES as u64)?;
    let is_superuser = rustix::process::getuid().is_root();
    let is_counted = || std::fs::read_to_string("/proc/sys/kernel/pid_max");
    Ok(match (has_namespaces, is_superuser) {
        (_, false) => true,
        (true, true) => is_counted().is_ok_and(|most| most.trim() == MAX_PROCESSES.to_string()),
        (false, true) => false,
    })
}

/// Threads of all processes of this user.
fn threads_of_user() -> u64 {
    let user = rustix::process::getuid().as_raw();
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let own = processes.filter(|entry| {
        use std::os::unix::fs::MetadataExt;
        entry.metadata().is_ok_and(|meta| meta.uid() == user)
    });
    // Two names of each folder stand for itself and the one above.
    let threads = |entry: std::fs::DirEntry| {
        let tasks = std::fs::metadata(entry.path().join("task"));
        tasks.map_or(0, |meta| {
            std::os::unix::fs::MetadataExt::nlink(&meta).saturating_sub(2)
        })
    };
    own.map(threads).sum()
}

/// Gives up what the superuser can do beyond a user, now and after every program that is started.
fn drop_capabilities() -> io::Result<()> {
    let own = rustix::thread::capabilities(None)?;
    if own.effective.contains(CapabilitySet::SETPCAP) {
        for capability in CapabilitySet::all().iter() {
            match rustix::thread::remove_capability_from_bounding_set(capability) {
                // A kernel that does not know it.
                Ok(()) | Err(rustix::io::Errno::INVAL) => {}
                Err(e) => return Err(e.into()),
            }
        }
        let bits = CapabilitiesSecureBits::NO_ROOT
            | CapabilitiesSecureBits::NO_ROOT_LOCKED
            | CapabilitiesSecureBits::NO_SETUID_FIXUP
            | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE
            | CapabilitiesSecureBits::NO_CAP_AMBIENT_RAISE_LOCKED;
        rustix::thread::set_capabilities_secure_bits(bits)?;
    }
    rustix::thread::set_capabilities(
        None,
        CapabilitySets {
            effective: CapabilitySet::empty(),
            permitted: CapabilitySet::empty(),
            inheritable: CapabilitySet::empty(),
        },
    )?;
    rustix::thread::set_no_new_privs(true)?;
    Ok(())
}

/// Confines what can be written, and without namespaces of its own what can be read. Returns the version that is in
/// force; 0: the kernel has none.
fn restrict_files(order: &Order, no_namespaces: bool) -> Result<u32, Box<dyn std::error::Error>> {
    let read = AccessFs::from_read(KNOWN_ABI);
    let everything = AccessFs::from_all(KNOWN_ABI);
    // Devices cannot be made without capabilities anyway.
    let write = everything & !(AccessFs::MakeChar | AccessFs::MakeBlock | AccessFs::IoctlDev);
    let device: BitFlags<AccessFs> =
        AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(everything)?
        .scope(Scope::from_all(KNOWN_ABI))?
        .create()?;
    if no_namespaces {
        for path in order.access.readable() {
            rules = allow(rules, &path, read)?;
        }
        // Names of what is hidden can be listed; without it not even `/` could.
        rules = allow(rules, Path::new("/"), AccessFs::ReadDir.into())?;
        for name in DEVICES {
            rules = allow(rules, &Path::new("/dev").join(name), device)?;
        }
    } else {
        rules = allow(rules, Path::new("/"), read)?;
        rules = allow(rules, Path::new("/dev"), device)?;
        rules = allow(rules, Path::new("/dev/shm"), write)?;
    }
    // With namespaces a folder of the command's own takes its place.
    let is_closed = |path: &Path| no_namespaces && order.access.is_narrowed(path);
    let writable = order.access.written();
    for path in writable.filter(|path| !is_closed(path)) {
        rules = allow(rules, path, write)?;
    }
    rules = allow(rules, &order.temporary, write)?;
    let status = rules.restrict_self()?;
    Ok(match status.landlock {
        LandlockStatus::Available { effective_abi, .. } => effective_abi as u32,
        _ => 0,
    })
}

/// Adds a rule. What does not exist, or cannot be opened, needs none; a link is not what the rule is about.
fn allow(
    rules: RulesetCreated,
    path: &Path,
    access: BitFlags<AccessFs>,
) -> Result<RulesetCreated, Box<dyn std::error::Error>> {
    match mounts::look(path)?.file_or_folder() {
        Some(opened) => Ok(rules.add_rule(PathBeneath::new(opened, access))?),
        None => Ok(rules),
    }
}
