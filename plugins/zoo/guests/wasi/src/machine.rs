//! The machine that WASI is, one function of it for each word.

use wasip2::cli::{environment, exit, stderr, stdin, stdout};
use wasip2::clocks::{monotonic_clock, wall_clock};
use wasip2::filesystem::preopens::get_directories;
use wasip2::filesystem::types::{
    Descriptor, DescriptorFlags, ErrorCode, NewTimestamp, OpenFlags, PathFlags,
};
use wasip2::io::streams::{OutputStream, StreamError};
use wasip2::random::{insecure_seed, random};
use wasip2::sockets::network::IpAddressFamily;
use wasip2::sockets::{instance_network, ip_name_lookup, tcp_create_socket, udp_create_socket};

/// What stands open.
pub struct Machine {
    project: Descriptor,
    root: Descriptor,
    open: Vec<Descriptor>,
    stream: Option<OutputStream>,
}

/// What a step says; as an error, the name of the code.
type Said = Result<String, String>;

impl Machine {
    pub fn new() -> Machine {
        let mut machine = None;
        let mut root = None;
        for (folder, name) in get_directories() {
            match name.as_str() {
                "." => machine = Some(folder),
                _ => root = Some(folder),
            }
        }
        match (machine, root) {
            (Some(project), Some(root)) => Machine {
                project,
                root,
                open: Vec::new(),
                stream: None,
            },
            _ => panic!("there are not two folders"),
        }
    }

    /// Where a path starts: `R:` the root, `H:` the handle that was opened last, else the project.
    fn at<'a>(&'a self, path: &'a str) -> (&'a Descriptor, &'a str) {
        match path.split_once(':') {
            Some(("R", path)) => (&self.root, path),
            Some(("H", path)) => (self.handle(), path),
            _ => (&self.project, path),
        }
    }

    fn handle(&self) -> &Descriptor {
        self.open.last().unwrap_or(&self.project)
    }

    pub fn step(&mut self, step: &str) -> Said {
        let mut words = step.split(' ');
        let mut word = || words.next().unwrap_or_default();
        let (verb, one, two) = (word(), word(), word());
        match verb {
            "open" => self.open(one, two),
            "close" => Ok(format!("{}", self.open.pop().is_some())),
            "read" => {
                let stream = self.handle().read_via_stream(0).map_err(code)?;
                let mut all = Vec::new();
                loop {
                    match stream.blocking_read(1 << 40) {
                        Ok(piece) => all.extend(piece),
                        Err(StreamError::Closed) => break,
                        Err(StreamError::LastOperationFailed(error)) => {
                            return Err(error.to_debug_string());
                        }
                    }
                }
                Ok(text(all))
            }
            "pread" => {
                let (bytes, _) = self.handle().read(1 << 40, number(one)).map_err(code)?;
                Ok(text(bytes))
            }
            "write" => write(self.handle().write_via_stream(number(two)), one),
            "stream" => {
                let stream = self.handle().write_via_stream(number(one));
                self.stream = Some(stream.map_err(code)?);
                Ok("ok".to_owned())
            }
            "push" => match &self.stream {
                Some(stream) => push(stream, one),
                None => Err("no stream".to_owned()),
            },
            "append" => write(self.handle().append_via_stream(), one),
            "pwrite" => done(self.handle().write(one.as_bytes(), number(two)).map(drop)),
            "size" => done(self.handle().set_size(number(one))),
            "times" => done(self.handle().set_times(stamp(one), stamp(one))),
            "times-at" => {
                let (folder, path) = self.at(one);
                let flags = PathFlags::SYMLINK_FOLLOW;
                done(folder.set_times_at(flags, path, stamp(two), stamp(two)))
            }
            "mkdir" => {
                let (folder, path) = self.at(one);
                done(folder.create_directory_at(path))
            }
            "rmdir" => {
                let (folder, path) = self.at(one);
                done(folder.remove_directory_at(path))
            }
            "unlink" => {
                let (folder, path) = self.at(one);
                done(folder.unlink_file_at(path))
            }
            "rename" => {
                let ((from, old), (to, new)) = (self.at(one), self.at(two));
                done(from.rename_at(old, to, new))
            }
            "link" => {
                let ((from, old), (to, new)) = (self.at(one), self.at(two));
                done(from.link_at(PathFlags::empty(), old, to, new))
            }
            "link-followed" => {
                let ((from, old), (to, new)) = (self.at(one), self.at(two));
                done(from.link_at(PathFlags::SYMLINK_FOLLOW, old, to, new))
            }
            "symlink" => {
                let (folder, path) = self.at(two);
                done(folder.symlink_at(one, path))
            }
            "readlink" => {
                let (folder, path) = self.at(one);
                folder.readlink_at(path).map_err(code)
            }
            "stat" | "lstat" => {
                let (folder, path) = self.at(one);
                let flags = match verb {
                    "stat" => PathFlags::SYMLINK_FOLLOW,
                    _ => PathFlags::empty(),
                };
                let stat = folder.stat_at(flags, path).map_err(code)?;
                Ok(format!("{:?} {}", stat.type_, stat.size))
            }
            "hash" => {
                let (folder, path) = self.at(one);
                let flags = PathFlags::SYMLINK_FOLLOW;
                done(folder.metadata_hash_at(flags, path).map(drop))
            }
            "list" => {
                let names = self.handle().read_directory().map_err(code)?;
                let mut all = Vec::new();
                while let Some(entry) = names.read_directory_entry().map_err(code)? {
                    all.push(entry.name);
                }
                all.sort();
                Ok(all.join(" "))
            }
            "environment" => Ok(format!(
                "{:?} {:?} {:?}",
                environment::get_environment(),
                environment::get_arguments(),
                environment::initial_cwd()
            )),
            "stdin" => Ok(match stdin::get_stdin().blocking_read(10) {
                Err(StreamError::Closed) => "closed".to_owned(),
                other => format!("{other:?}"),
            }),
            "print" => write(Ok(stdout::get_stdout()), &format!("{one}\n")),
            "complain" => write(Ok(stderr::get_stderr()), &format!("{one}\n")),
            "print-much" => {
                let out = stdout::get_stdout();
                for _ in 0..number(one) {
                    let line = [b'x'; 4096];
                    out.blocking_write_and_flush(&line)
                        .map_err(|e| format!("{e:?}"))?;
                    out.blocking_write_and_flush(b"\n")
                        .map_err(|e| format!("{e:?}"))?;
                }
                Ok("ok".to_owned())
            }
            "overwrite" => {
                let out = stdout::get_stdout();
                let _ = out.write(&vec![b'x'; 1 << 20]);
                Ok("ok".to_owned())
            }
            "exit" => {
                exit::exit(if one == "0" { Ok(()) } else { Err(()) });
                Ok("still here".to_owned())
            }
            "panic" => panic!("{one}"),
            "random" => Ok(format!("{}", random::get_random_bytes(number(one)).len())),
            "numbers" => Ok(format!(
                "{} {:?}",
                random::get_random_u64(),
                insecure_seed::insecure_seed()
            )),
            "clock" => {
                let now = wall_clock::now();
                Ok(format!("{} {}", now.seconds, now.nanoseconds % 1_000_000))
            }
            "sleep" => {
                let before = monotonic_clock::now();
                monotonic_clock::subscribe_duration(number(one) * 1_000_000).block();
                let passed = (monotonic_clock::now() - before) / 1_000_000;
                Ok(format!("{}", passed >= number(one).saturating_sub(1)))
            }
            "sleep-long" => {
                monotonic_clock::subscribe_duration(u64::MAX).block();
                Ok("awake".to_owned())
            }
            "sockets" => {
                let family = IpAddressFamily::Ipv4;
                let network = instance_network::instance_network();
                Ok(format!(
                    "{} {} {}",
                    refused(tcp_create_socket::create_tcp_socket(family).map(drop)),
                    refused(udp_create_socket::create_udp_socket(family).map(drop)),
                    refused(ip_name_lookup::resolve_addresses(&network, "localhost").map(drop)),
                ))
            }
            // As many handles as there may be, and some more.
            "hoard" => {
                for count in 0.. {
                    let flags = PathFlags::empty();
                    let (open, read) = (OpenFlags::empty(), DescriptorFlags::READ);
                    match self.project.open_at(flags, "README.md", open, read) {
                        Ok(handle) => self.open.push(handle),
                        Err(error) => return Ok(format!("{} {}", count > 200, error.name())),
                    }
                }
                Ok(String::new())
            }
            _ => Err(format!("no such step: {step}")),
        }
    }

    /// Flags: `r` read, `w` write, `c` create, `x` exclusive, `t` truncate, `d` directory, `n` links are not followed.
    fn open(&mut self, path: &str, letters: &str) -> Said {
        let (folder, path) = self.at(path);
        let has = |letter| letters.contains(letter);
        let mut how = PathFlags::empty();
        how.set(PathFlags::SYMLINK_FOLLOW, !has('n'));
        let mut open = OpenFlags::empty();
        open.set(OpenFlags::CREATE, has('c'));
        open.set(OpenFlags::EXCLUSIVE, has('x'));
        open.set(OpenFlags::TRUNCATE, has('t'));
        open.set(OpenFlags::DIRECTORY, has('d'));
        let mut flags = DescriptorFlags::empty();
        flags.set(DescriptorFlags::READ, has('r'));
        flags.set(DescriptorFlags::WRITE, has('w'));
        flags.set(DescriptorFlags::MUTATE_DIRECTORY, has('m'));
        let handle = folder.open_at(how, path, open, flags).map_err(code)?;
        self.open.push(handle);
        Ok("ok".to_owned())
    }
}

fn write(stream: Result<OutputStream, ErrorCode>, text: &str) -> Said {
    push(&stream.map_err(code)?, text)
}

fn push(stream: &OutputStream, text: &str) -> Said {
    for piece in text.as_bytes().chunks(4096) {
        match stream.blocking_write_and_flush(piece) {
            Ok(()) => {}
            Err(StreamError::Closed) => return Err("closed".to_owned()),
            Err(StreamError::LastOperationFailed(error)) => {
                use wasip2::filesystem::types::filesystem_error_code;
                let code = filesystem_error_code(&error);
                return Err(code.map_or_else(|| "failed".to_owned(), |code| code.name().to_owned()));
            }
        }
    }
    Ok("ok".to_owned())
}

fn done(result: Result<(), ErrorCode>) -> Said {
    result.map(|()| "ok".to_owned()).map_err(code)
}

#[allow(
    clippy::needless_pass_by_value,
    reason = "it stands in `map_err`, which gives it away"
)]
fn code(code: ErrorCode) -> String {
    code.name().to_owned()
}

fn refused<T: std::fmt::Debug>(result: Result<(), T>) -> String {
    match result {
        Ok(()) => "there is one".to_owned(),
        Err(error) => {
            let error = format!("{error:?}");
            match error.contains("access-denied") {
                true => "access-denied".to_owned(),
                false => error,
            }
        }
    }
}

fn stamp(word: &str) -> NewTimestamp {
    use wasip2::clocks::wall_clock::Datetime;
    match word {
        "now" => NewTimestamp::Now,
        "none" => NewTimestamp::NoChange,
        "never" => NewTimestamp::Timestamp(Datetime {
            seconds: u64::MAX,
            nanoseconds: 0,
        }),
        "odd" => NewTimestamp::Timestamp(Datetime {
            seconds: 1,
            nanoseconds: u32::MAX,
        }),
        seconds => NewTimestamp::Timestamp(Datetime {
            seconds: number(seconds),
            nanoseconds: 0,
        }),
    }
}

fn number(word: &str) -> u64 {
    word.parse().unwrap_or(0)
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8_lossy(&bytes).trim_end().to_owned()
}
