//! Which requests of `ioctl` a command may make.
//!
//! Such a request acts on whatever a driver or a file system likes: neither mounts nor Landlock stand between. On btrfs a
//! folder that is open for reading is enough to snapshot what is hidden, or to delete what lies outside of the project.
//! So what is listed here is all there is, and each file system may invent what it wants.

/// The requests that a command may make. Each asks something, or acts on nothing but the open file itself and a terminal
/// of the command's own; a request that types into a terminal is not among them.
pub(super) const ALLOWED: &[u64] = &[
    // Terminals. A command has only those that it makes itself, as programs do that test others.
    libc::TCGETS,
    libc::TCSETS,
    libc::TCSETSW,
    libc::TCSETSF,
    libc::TCGETS2,
    libc::TCSETS2,
    libc::TCSETSW2,
    libc::TCSETSF2,
    libc::TCSBRK,
    libc::TCSBRKP,
    libc::TCXONC,
    libc::TCFLSH,
    libc::TIOCGWINSZ,
    libc::TIOCSWINSZ,
    libc::TIOCGPGRP,
    libc::TIOCSPGRP,
    libc::TIOCGSID,
    libc::TIOCSCTTY,
    libc::TIOCNOTTY,
    libc::TIOCOUTQ,
    libc::TIOCPKT,
    libc::TIOCGPTN,
    libc::TIOCGPTLCK,
    libc::TIOCSPTLCK,
    libc::TIOCGPTPEER,
    // What every open file takes.
    libc::FIONREAD,
    libc::FIONBIO,
    libc::FIOASYNC,
    libc::FIOCLEX,
    libc::FIONCLEX,
    libc::FIOQSIZE,
    // Where a file lies and which flags it has: cp, tar, lsattr.
    FIGETBSZ,
    FS_IOC_FIEMAP,
    FS_IOC_FSGETXATTR,
    libc::FS_IOC_GETFLAGS,
    // Copies that share space. The file that changes must be open for writing.
    libc::FICLONE,
    libc::FICLONERANGE,
    FIDEDUPERANGE,
    // Questions about the interfaces of the network, and about a socket: Java, libc, ifconfig.
    SIOCATMARK,
    libc::SIOCGIFNAME,
    libc::SIOCGIFCONF,
    libc::SIOCGIFFLAGS,
    libc::SIOCGIFADDR,
    libc::SIOCGIFDSTADDR,
    libc::SIOCGIFBRDADDR,
    libc::SIOCGIFNETMASK,
    libc::SIOCGIFMETRIC,
    libc::SIOCGIFMTU,
    libc::SIOCGIFHWADDR,
    libc::SIOCGIFINDEX,
    libc::SIOCGIFTXQLEN,
    libc::SIOCGIFMAP,
];

// Not in `libc`. The same on every processor that has a filter.
const FIGETBSZ: u64 = 2;
const FS_IOC_FIEMAP: u64 = 0xc020_660b;
const FS_IOC_FSGETXATTR: u64 = 0x801c_581f;
const FIDEDUPERANGE: u64 = 0xc018_9436;
const SIOCATMARK: u64 = 0x8905;
