//! Which system calls a command does not get.
//!
//! Files are Landlock's and the mounts' business. What is left are the doors beside them: sockets of other
//! programs (a path to a socket is no file to Landlock before its ninth version; whoever reaches the socket of
//! docker, an ssh agent or D-Bus has all they may do), the network where it is not the command's own, the
//! terminal, key rings, and new user namespaces, in which a process has capabilities again.
//!
//! Everything is refused with an error that programs know how to live with; nothing is killed but programs for another
//! processor (32-bit ones), whose calls have other numbers.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Calls that are refused whatever their arguments are.
const NEVER: &[libc::c_long] = &[
    // Keys of the session: Kerberos tickets, disk encryption.
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_request_key,
    // Other worlds.
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
    // Makes sockets and opens files beside the filter.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Everything in the kind of a socket that is not a flag.
const SOCKET_KIND: u64 = 0xf;

/// Numbers from here on belong to the calls of x32, a second set for the same processor.
const X32: u32 = 0x4000_0000;

type Problem = Box<dyn std::error::Error>;

/// Filters the calls of this process and of all that it starts, for good. Needs `no_new_privs`.
pub(super) fn filter(network: Network) -> Result<(), Problem> {
    for program in programs(network)? {
        seccompiler::apply_filter(&program)?;
    }
    Ok(())
}

/// What a command may do with internet sockets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Network {
    /// Use them: the network is its own, or granted.
    Sockets,
    /// Nothing.
    None,
}

fn programs(network: Network) -> Result<Vec<BpfProgram>, Problem> {
    let mut families = vec![libc::AF_NETLINK];
    if network == Network::Sockets {
        families.extend([libc::AF_INET, libc::AF_INET6]);
    }
    let mut other_families = Vec::new();
    for family in families {
        other_families.push(condition(0, SeccompCmpOp::Ne, family as u64)?);
    }
    let sockets = vec![(libc::SYS_socket, vec![SeccompRule::new(other_families)?])];

    let user_namespace = libc::CLONE_NEWUSER as u64;
    let mut refused: Vec<(libc::c_long, Vec<SeccompRule>)> = vec![
        // Of a pair, each end may still be turned to a path as long as it sends datagrams.
        (
            libc::SYS_socketpair,
            vec![rule(
                1,
                SeccompCmpOp::MaskedEq(SOCKET_KIND),
                libc::SOCK_DGRAM as u64,
            )?],
        ),
        // Typing into the terminal.
        (
            libc::SYS_ioctl,
            vec![
                rule(1, SeccompCmpOp::Eq, libc::TIOCSTI)?,
                rule(1, SeccompCmpOp::Eq, libc::TIOCLINUX)?,
            ],
        ),
        (
            libc::SYS_clone,
            vec![rule(
                0,
                SeccompCmpOp::MaskedEq(user_namespace),
                user_namespace,
            )?],
        ),
        (
            libc::SYS_unshare,
            vec![rule(
                0,
                SeccompCmpOp::MaskedEq(user_namespace),
                user_namespace,
            )?],
        ),
    ];
    refused.extend(NEVER.iter().map(|call| (*call, Vec::new())));
    let older = OLDER_KERNEL
        .iter()
        .map(|call| (*call, Vec::new()))
        .collect();
    Ok(vec![
        no_x32(),
        program(sockets, libc::EAFNOSUPPORT)?,
        program(refused, libc::EPERM)?,
        program(older, libc::ENOSYS)?,
    ])
}

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
