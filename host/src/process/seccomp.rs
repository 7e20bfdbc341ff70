//! Which system calls a command does not get.
//!
//! Files are Landlock's and the mounts' business. What is left are the doors beside them: sockets of other
//! programs (a path to a socket is not a file to Landlock before its ninth version; whoever reaches the socket of
//! docker, an ssh agent or D-Bus has all they may do), the network where it is not the command's own, the
//! terminal, key rings, new user namespaces, in which a process has capabilities again, files with the set-user-ID or
//! set-group-ID bit, with which somebody else would run as the user, and requests that a file system takes for all of
//! it (`requests`).
//!
//! Everything is refused with an error that programs know how to live with; nothing is killed but programs for another
//! processor (32-bit ones), whose calls have other numbers.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

use super::requests;

/// Calls that are refused whatever their arguments are.
const NEVER: &[libc::c_long] = &[
    // Keys of the session: Kerberos tickets, disk encryption.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Other namespaces.
    libc::SYS_setns,
    // Large parts of the kernel that no build needs.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_kexec_load,
    libc::SYS_open_by_handle_at,
];

/// Calls that do as if the kernel were older: whoever wants them has another way.
const OLDER_KERNEL: &[libc::c_long] = &[
    // Its flags stand in memory, where a filter cannot look; `clone` does the same.
    libc::SYS_clone3,
    // The same of its mode; `openat` does the same.
    libc::SYS_openat2,
    // Makes sockets and opens files beside the filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that change the owner or the attributes of a file that is named or only open for reading. Landlock has no
/// right for them: where no mounts are read-only, they are refused everywhere.
const WITHOUT_MOUNTS: &[libc::c_long] = &[
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    SYS_SETXATTRAT,
    SYS_REMOVEXATTRAT,
    SYS_FILE_SETATTR,
];

/// Memory, queues and semaphores that all processes of a user share by number, and that last when all of them have ended.
/// With namespaces a command has its own.
const SHARED_BY_NUMBER: &[libc::c_long] = &[
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_shmctl,
    libc::SYS_msgget,
    libc::SYS_msgsnd,
    libc::SYS_msgrcv,
    libc::SYS_msgctl,
    libc::SYS_semget,
    libc::SYS_semop,
    libc::SYS_semtimedop,
    libc::SYS_semctl,
    libc::SYS_mq_open,
    libc::SYS_mq_unlink,
];

/// Calls that change how another process of the user is run, with the place of its number among their arguments. 0 is the
/// caller itself.
const OF_A_PROCESS: &[(libc::c_long, u8)] = &[
    (libc::SYS_sched_setaffinity, 0),
    (libc::SYS_sched_setscheduler, 0),
    (libc::SYS_sched_setparam, 0),
    (libc::SYS_sched_setattr, 0),
];

/// The same where another argument says of what the number is, a process, a group or a user, and the value that means a
/// process: 0 is the caller's whole group or user otherwise.
const OF_PROCESSES: &[(libc::c_long, u64)] = &[
    (libc::SYS_setpriority, libc::PRIO_PROCESS as u64),
    (libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS),
];

/// From `linux/ioprio.h`.
const IOPRIO_WHO_PROCESS: u64 = 1;

// New calls have the same number on every processor.
const SYS_SETXATTRAT: libc::c_long = 463;
const SYS_REMOVEXATTRAT: libc::c_long = 466;
const SYS_FILE_SETATTR: libc::c_long = 469;

/// Everything in the kind of a socket that is not a flag.
const SOCKET_KIND: u64 = 0xf;

/// The bits of a mode with which a program runs as somebody else.
const SET_ID: [u64; 2] = [libc::S_ISUID as u64, libc::S_ISGID as u64];

/// Numbers from here on belong to the calls of x32, a second set for the same processor.
const X32: u32 = 0x4000_0000;

type Problem = Box<dyn std::error::Error>;

/// Filters the calls of this process and of all that it starts, for good. Needs `no_new_privs`.
pub(super) fn filter(around: Around) -> Result<(), Problem> {
    for program in programs(around)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// What else holds the command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Around {
    /// It may use internet sockets: the network is its own, or granted.
    pub(super) network: bool,
    /// It has its own processes and mounts.
    pub(super) namespaces: bool,
}

fn programs(around: Around) -> Result<Vec<BpfProgram>, Problem> {
    let mut families = vec![libc::AF_NETLINK];
    if around.network {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let mut other_families = Vec::new();
    for family in families {
        other_families.push(condition(0, SeccompCmpOp::Ne, family as u64)?);
    }
    let sockets = vec![(libc::SYS_socket, vec![SeccompRule::new(other_families)?])];

    let mut refused = set_id()?;
    refused.push((libc::SYS_socketpair, pairs()?));
    // With a lease on a file of the user, everybody who opens it waits for the command.
    let leases = rule(1, SeccompCmpOp::Eq, libc::F_SETLEASE as u64)?;
    refused.push((libc::SYS_fcntl, vec![leases]));
    // Limits of another process: the first one of the sandbox is needed to the end.
    refused.push((libc::SYS_prlimit64, vec![rule(0, SeccompCmpOp::Ne, 0)?]));
    if !around.namespaces {
        // Of other processes of the same user, Dunlin's among them.
        for (call, place) in OF_A_PROCESS {
            refused.push((*call, vec![rule(*place, SeccompCmpOp::Ne, 0)?]));
        }
        for (call, process) in OF_PROCESSES {
            let other_kind = rule(0, SeccompCmpOp::Ne, *process)?;
            refused.push((*call, vec![other_kind, rule(1, SeccompCmpOp::Ne, 0)?]));
        }
        let everywhere = WITHOUT_MOUNTS.iter().chain(SHARED_BY_NUMBER);
        refused.extend(everywhere.map(|call| (*call, Vec::new())));
    }
    let core = condition(0, SeccompCmpOp::Eq, libc::RLIMIT_CORE.into())?;
    let core_limits = vec![
        (libc::SYS_setrlimit, vec![SeccompRule::new(vec![core])?]),
        (libc::SYS_prlimit64, vec![sets_core_limit()?]),
    ];
    let allowed = requests::ALLOWED.iter();
    let others = allowed.map(|request| condition(1, SeccompCmpOp::Ne, *request));
    let others = SeccompRule::new(others.collect::<Result<_, _>>()?)?;
    let user_namespace = libc::CLONE_NEWUSER as u64;
    for call in [libc::SYS_clone, libc::SYS_unshare] {
        let is_new = SeccompCmpOp::MaskedEq(user_namespace);
        refused.push((call, vec![rule(0, is_new, user_namespace)?]));
    }
    refused.extend(NEVER.iter().map(|call| (*call, Vec::new())));
    let older = OLDER_KERNEL
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    Ok(vec![
        no_x32(),
        // It does nothing and succeeds: programs that keep secrets end where they cannot set it to 0, and no core file is
        // written anyway. Of two filters that refuse a call, the later one says how.
        program(core_limits, 0)?,
        program(sockets, libc::EAFNOSUPPORT)?,
        program(refused, libc::EPERM)?,
        // As of a file that does not know the request: programs ask many things of files that may not know them.
        program(vec![(libc::SYS_ioctl, vec![others])], libc::ENOTTY)?,
        program(older, libc::ENOSYS)?,
    ])
}

/// A call that sets the limit of core files: it is not the one that keeps the kernel from starting programs any more.
fn sets_core_limit() -> Result<SeccompRule, Problem> {
    let no_limit = SeccompCmpOp::Ne;
    Ok(SeccompRule::new(vec![
        condition(1, SeccompCmpOp::Eq, libc::RLIMIT_CORE.into())?,
        SeccompCondition::new(2, SeccompCmpArgLen::Qword, no_limit, 0)?,
    ])?)
}

/// Pairs of sockets other than connected ones. An end of a pair of datagram sockets can still be turned to a path, and
/// the kernel makes one of those, too, where raw sockets are asked for.
fn pairs() -> Result<Vec<SeccompRule>, Problem> {
    let connected = [libc::SOCK_STREAM as u64, libc::SOCK_SEQPACKET as u64];
    let mut rules = vec![rule(0, SeccompCmpOp::Ne, libc::AF_UNIX as u64)?];
    for kind in (0..=SOCKET_KIND).filter(|kind| !connected.contains(kind)) {
        rules.push(rule(1, SeccompCmpOp::MaskedEq(SOCKET_KIND), kind)?);
    }
    Ok(rules)
}

/// Calls that would give a file the set-user-ID or set-group-ID bit.
fn set_id() -> Result<Vec<(libc::c_long, Vec<SeccompRule>)>, Problem> {
    // The position of the mode.
    let modes = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_chmod, 1),
        (libc::SYS_fchmod, 1),
        (libc::SYS_fchmodat, 2),
        (libc::SYS_fchmodat2, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mkdir, 1),
        (libc::SYS_mkdirat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_mknod, 1),
        (libc::SYS_mknodat, 2),
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_creat, 1),
    ];
    let mut refused = Vec::new();
    for (call, mode) in modes {
        let bits = SET_ID.map(|bit| rule(mode, SeccompCmpOp::MaskedEq(bit), bit));
        refused.push((call, bits.into_iter().collect::<Result<_, _>>()?));
    }
    // The positions of flags and mode. Where nothing is created the mode means nothing, and may be anything.
    let opens = [
        #[cfg(target_arch = "x86_64")]
        (libc::SYS_open, 1, 2),
        (libc::SYS_openat, 2, 3),
    ];
    for (call, flags, mode) in opens {
        let mut rules = Vec::new();
        for bit in SET_ID {
            for flag in CREATING {
                rules.push(SeccompRule::new(vec![
                    condition(flags, SeccompCmpOp::MaskedEq(flag), flag)?,
                    condition(mode, SeccompCmpOp::MaskedEq(bit), bit)?,
                ])?);
            }
        }
        refused.push((call, rules));
    }
    Ok(refused)
}

/// The flags with which `open` makes a file: `O_CREAT`, and what `O_TMPFILE` has besides `O_DIRECTORY`.
const CREATING: [u64; 2] = [
    libc::O_CREAT as u64,
    (libc::O_TMPFILE & !libc::O_DIRECTORY) as u64,
];

fn program(
    rules: Vec<(libc::c_long, Vec<SeccompRule>)>,
    errno: libc::c_int,
) -> Result<BpfProgram, Problem> {
    let rules: BTreeMap<i64, Vec<SeccompRule>> = rules.into_iter().collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(errno as u32),
        std::env::consts::ARCH.try_into()?,
    )?;
    Ok(filter.try_into()?)
}

/// `if the call's number >= X32 { ENOSYS } else { allowed }`
fn no_x32() -> BpfProgram {
    const LOAD_WORD: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    let step = |code, jt, k| sock_filter { code, jt, jf: 0, k };
    vec![
        step(LOAD_WORD, 0, 0),
        step(JUMP_IF_AT_LEAST, 1, X32),
        step(RETURN, 0, libc::SECCOMP_RET_ALLOW),
        step(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32),
    ]
}

fn rule(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompRule, Problem> {
    Ok(SeccompRule::new(vec![condition(argument, is, value)?])?)
}

/// The kernel reads only the lower half of these arguments, so only that is compared.
fn condition(argument: u8, is: SeccompCmpOp, value: u64) -> Result<SeccompCondition, Problem> {
    Ok(SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        is,
        value,
    )?)
}
