//! What Dunlin and the supervisor say to each other: one order down, a few reports up.
//!
//! Both ends are the same program, so the form is nobody else's business. Down: a length and JSON. Up: lines of
//! JSON, and then the end of the stream, which comes only when nothing of the command is left.

use std::ffi::OsString;
use std::io::{self, Read};
use std::path::PathBuf;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Access;

/// The largest order in bytes: a line, an environment and some paths are a hundredth of it.
const MAX_ORDER_BYTES: usize = 16 * 1024 * 1024;

/// What the supervisor is to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) line: String,
    pub(super) shell: PathBuf,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// See [`CommandOptions::shell_path`](super::CommandOptions::shell_path).
    pub(super) shell_path: OsString,
    pub(super) access: Access,
    /// See [`CommandOptions::baselines`](super::CommandOptions::baselines).
    pub(super) baselines: PathBuf,
    /// See [`CommandOptions::set_aside`](super::CommandOptions::set_aside).
    pub(super) set_aside: PathBuf,
    /// An empty folder that is the command's own. The supervisor removes it.
    pub(super) temporary: PathBuf,
    pub(super) time_limit_ms: u64,
    pub(super) network: bool,
    pub(super) input: Input,
    /// The sandbox that the user was told of: the command does not run in another one. `None`: this is the command that
    /// finds out what there is.
    pub(super) announced: Option<CommandSandbox>,
}

/// What a command reads. Its standard input comes behind the order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Input {
    /// Nothing: no standard input comes.
    Nothing,
    /// A text that is there as a whole.
    Text,
    /// What comes as long as the command runs: it serves.
    Stream,
}

/// What the supervisor reports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Report {
    /// What the command is about to run in.
    Sandboxed(CommandSandbox),
    /// It cannot run; in words.
    Failed(String),
    /// How the command ended. What it left behind is being ended.
    Ended(End),
    /// A sentence for the user about what it left behind in git repositories.
    Notice(String),
    /// Everything about git repositories was said: nothing comes after it.
    Reviewed,
}

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum End {
    /// With this status.
    Exited(i32),
    /// By this signal.
    Killed(i32),
    /// It was ended at its time limit.
    TimedOut,
    /// It was ended because nobody wanted it any more.
    Stopped,
}

/// What holds a command on this machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandSandbox {
    /// Why the command has no processes, mounts and network of its own; `None`: it has.
    pub no_namespaces: Option<String>,
    /// The version of Landlock, which guards the files; 0: the kernel has none.
    pub landlock: u32,
    /// Why system calls are not filtered; `None`: they are.
    pub no_filter: Option<String>,
    /// Whether a command may start processes without end: only the superuser's, where namespaces do not count them.
    pub unbounded: bool,
}

impl CommandSandbox {
    /// How it differs from the one that was announced; `None`: it does not.
    pub(super) fn difference(&self, announced: &CommandSandbox) -> Option<String> {
        let layers = |sandbox: &CommandSandbox| {
            let mut layers = Vec::new();
            if sandbox.no_namespaces.is_none() {
                layers.push("namespaces".to_owned());
            }
            if sandbox.landlock > 0 {
                layers.push(format!("Landlock (ABI {})", sandbox.landlock));
            }
            if sandbox.no_filter.is_none() {
                layers.push("seccomp".to_owned());
            }
            if !sandbox.unbounded {
                layers.push("a bounded number of processes".to_owned());
            }
            layers.join(", ")
        };
        let (now, before) = (layers(self), layers(announced));
        (now != before).then(|| {
            format!("its sandbox would be another one than announced: {now} instead of {before}; restart Dunlin to have it checked again")
        })
    }

    /// Why a command in it could change something although its access is read-only, or send something out; `None`: it can't.
    /// Landlock alone leaves what belongs to a file, such as its mode; mounts alone leave named pipes; and neither keeps a
    /// command from the sockets of other programs.
    pub(crate) fn can_change_something(&self) -> Option<String> {
        match (&self.no_namespaces, &self.no_filter) {
            (Some(why), _) => Some(format!("commands get no namespaces of their own ({why})")),
            (None, _) if self.landlock == 0 => Some("this kernel has no Landlock".to_owned()),
            (None, Some(why)) => Some(format!("system calls are not filtered ({why})")),
            (None, None) => None,
        }
    }

    /// What does not hold, a short sentence each; none: everything holds.
    pub fn gaps(&self) -> Vec<String> {
        let mut gaps = Vec::new();
        if self.landlock == 0 && self.no_namespaces.is_some() {
            gaps.push("Files are not protected: this kernel offers commands neither Landlock nor namespaces.".to_owned());
        } else if self.landlock == 0 {
            gaps.push(
                "Only mounts confine writing to the project: this kernel has no Landlock."
                    .to_owned(),
            );
        } else if self.no_namespaces.is_some() {
            gaps.push("A command may change the mode and the times of all of your files, also outside of the project: without namespaces nothing tells those of the project from others.".to_owned());
            gaps.push("Within the project nothing is protected: a command may change .git/config, .git/hooks and .dunlin and read what a - denies. The names of hidden files elsewhere can be listed.".to_owned());
        }
        if self.no_filter.is_some() {
            gaps.push("The network and other programs' sockets are not cut off, and set-user-ID files can be made: this kernel filters no system calls.".to_owned());
        }
        if self.no_namespaces.is_some() && self.landlock < SIGNAL_SCOPE_ABI {
            gaps.push("A command may end Dunlin or outlive its call: this kernel lets it signal other programs.".to_owned());
        }
        if self.unbounded {
            gaps.push("The number of its processes is not bounded: a fork bomb of the superuser can stop the machine.".to_owned());
        }
        gaps
    }
}

/// The version of Landlock that keeps signals inside.
const SIGNAL_SCOPE_ABI: u32 = 6;

impl Order {
    /// As it goes down the life line.
    pub(super) fn to_bytes(&self) -> io::Result<Vec<u8>> {
        framed(self)
    }

    /// Reads one, and not a byte more.
    pub(super) fn read(from: impl Read) -> io::Result<Order> {
        read_framed(from)
    }
}

/// An order as it goes down the life line: a length and JSON.
pub(super) fn framed(order: &impl Serialize) -> io::Result<Vec<u8>> {
    let body = serde_json::to_vec(order)?;
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(body);
    Ok(bytes)
}

/// Reads an order, and not a byte more.
pub(super) fn read_framed<T: DeserializeOwned>(mut from: impl Read) -> io::Result<T> {
    let mut length = [0; 4];
    from.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_ORDER_BYTES {
        return Err(io::Error::other("the order is too long"));
    }
    let mut body = vec![0; length];
    from.read_exact(&mut body)?;
    Ok(serde_json::from_slice(&body)?)
}

impl Report {
    /// As it goes up: one line.
    pub(super) fn to_line(&self) -> Vec<u8> {
        // Plain data under string keys always has a form; an empty line says nothing.
        let mut line = serde_json::to_vec(self).unwrap_or_default();
        line.push(b'\n');
        line
    }

    /// The reports of some whole lines; what cannot be read is skipped.
    pub(super) fn of_lines(bytes: &[u8]) -> impl Iterator<Item = Report> {
        let lines = bytes.split(|byte| *byte == b'\n');
        lines.filter_map(|line| serde_json::from_slice(line).ok())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_reports_come_back_as_they_were() {
        let order = Order {
            line: "echo 'ä\n'".to_owned(),
            shell: PathBuf::from("/bin/sh"),
            environment: vec![("A".into(), "b".into())],
            shell_path: ".:/usr/bin".into(),
            access: Access::default(),
            baselines: PathBuf::from("/x"),
            set_aside: PathBuf::from("/y"),
            temporary: PathBuf::from("/tmp/x"),
            time_limit_ms: 1,
            network: true,
            input: Input::Stream,
            announced: None,
        };
        let mut bytes = order.to_bytes().unwrap();
        bytes.extend(b"more");
        let mut from = bytes.as_slice();
        assert_eq!(Order::read(&mut from).unwrap(), order);
        assert_eq!(from, b"more");
        assert!(Order::read(&bytes[..9]).is_err());
        assert!(Order::read(&[255, 255, 255, 255][..]).is_err());

        let reports = [
            Report::Failed("no".to_owned()),
            Report::Ended(End::Exited(3)),
            Report::Reviewed,
        ];
        let lines: Vec<u8> = reports.iter().flat_map(Report::to_line).collect();
        assert_eq!(Report::of_lines(&lines).collect::<Vec<_>>(), reports);
    }

    #[test]
    fn gaps_are_named() {
        let whole = CommandSandbox {
            no_namespaces: None,
            landlock: 7,
            no_filter: None,
            unbounded: false,
        };
        assert_eq!(whole.gaps(), Vec::<String>::new());
        assert_eq!(whole.can_change_something(), None);
        let check = |sandbox: CommandSandbox, gaps: usize| {
            assert_eq!(sandbox.gaps().len(), gaps, "{sandbox:?}");
            // More processes change nothing.
            let is_open = sandbox.can_change_something().is_some();
            assert_eq!(is_open, !(gaps == 1 && sandbox.unbounded), "{sandbox:?}");
        };
        let no_namespaces = Some("EPERM".to_owned());
        check(
            CommandSandbox {
                landlock: 0,
                ..whole.clone()
            },
            1,
        );
        check(
            CommandSandbox {
                no_namespaces: no_namespaces.clone(),
                ..whole.clone()
            },
            2,
        );
        check(
            CommandSandbox {
                no_namespaces: no_namespaces.clone(),
                landlock: 5,
                ..whole.clone()
            },
            3,
        );
        check(
            CommandSandbox {
                unbounded: true,
                ..whole.clone()
            },
            1,
        );
        let no_filter = Some("ENOSYS".to_owned());
        check(
            CommandSandbox {
                no_filter: no_filter.clone(),
                ..whole
            },
            1,
        );
        check(
            CommandSandbox {
                no_namespaces,
                landlock: 0,
                no_filter,
                unbounded: true,
            },
            4,
        );
    }

    #[test]
    fn another_sandbox_than_announced_is_told() {
        let announced = CommandSandbox {
            no_namespaces: None,
            landlock: 7,
            no_filter: None,
            unbounded: false,
        };
        assert_eq!(announced.difference(&announced), None);
        let got = CommandSandbox {
            no_namespaces: Some("EPERM".to_owned()),
            ..announced.clone()
        };
        let difference = got.difference(&announced).unwrap();
        assert!(
            difference.contains("instead of namespaces, Landlock (ABI 7)"),
            "{difference}"
        );
        let got = CommandSandbox {
            landlock: 6,
            ..announced.clone()
        };
        assert!(got.difference(&announced).is_some());
    }
}
