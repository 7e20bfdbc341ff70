//! An inspector's side of the sockets: finds the running chats, attaches to them, and reads what they say.
//!
//! Nothing here waits for a chat: each has a thread that reads and one that writes. A chat that cannot be attached is tried
//! again less and less often, one that does not speak this protocol not before its socket is another one.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use serde::Deserialize;

use super::folder::{self, FolderError};
use super::lines::read_line;
use super::protocol::{Command, MAX_MESSAGE_BYTES, Message, VERSION};

/// How often the folder is looked at for new chats.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a chat may not read a command.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages may wait to be shown.
const MAX_WAITING: usize = 64;

/// How many commands may wait to be written to a chat, which gets the next one when it has answered.
const MAX_COMMANDS: usize = 4;

/// The longest time until a chat is tried again.
const MAX_PAUSE: Duration = Duration::from_secs(60);

/// Who was attached this long had no trouble with it.
const LONG: Duration = Duration::from_secs(60);

/// The largest buffer that is kept for the next message.
const KEPT_BYTES: usize = 1024 * 1024;

/// What a chat does.
#[derive(Debug)]
pub enum ChatEvent {
    Message(Message),
    /// It is not attached any more.
    Ended(Reason),
}

/// Why a chat is not attached any more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    Closed,
    /// It said why it would close the connection.
    Refused(String),
    /// It is of another version.
    Version(u64),
    /// It says what is no message.
    Broken,
}

impl Reason {
    /// Whether trying again has no use.
    fn is_final(&self) -> bool {
        matches!(self, Reason::Version(_) | Reason::Broken)
    }
}

impl fmt::Display for Reason {
    /// A sentence for people. A text of the chat in it is to be escaped.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Reason::Closed => f.write_str("the chat has ended"),
            Reason::Refused(why) => write!(f, "the chat refuses this inspector: {why}"),
            Reason::Version(theirs) => {
                let update = match *theirs < u64::from(VERSION) {
                    true => "restart the chat with the newer Dunlin",
                    false => "start the inspector from the newer Dunlin",
                };
                write!(
                    f,
                    "the chat speaks version {theirs} of the protocol and this inspector version {VERSION}: {update}"
                )
            }
            Reason::Broken => f.write_str("the chat does not follow the protocol of the inspector"),
        }
    }
}

/// No chat is in the session that was asked for.
#[derive(Debug, thiserror::Error)]
#[error(
    "no running chat has a session id that begins or ends with '{}'; `dunlin inspect` alone shows all chats",
    dunlin_host::display::escape(_0)
)]
pub struct NoSuchChat(pub String);

/// A chat that is attached.
struct Attached {
    stream: UnixStream,
    commands: SyncSender<Vec<u8>>,
    since: Instant,
    /// Whether it has said anything.
    has_spoken: bool,
}

/// A chat that could not be attached, or not for long.
#[derive(Default)]
struct Trouble {
    /// How long it is left alone.
    pause: Duration,
    /// Until when; `None`: as long as its socket is there.
    until: Option<Instant>,
    /// What was said about it last.
    reason: Option<Reason>,
}

/// The chats that an inspector is attached to. A chat is named after its socket.
pub struct Chats {
    folder: PathBuf,
    open: HashMap<String, Attached>,
    troubles: HashMap<String, Trouble>,
    sender: SyncSender<(String, ChatEvent)>,
    event: Receiver<(String, ChatEvent)>,
    looked: Option<Instant>,
}

impl Chats {
    /// Attaches to nothing yet.
    pub fn new(folder: &Path) -> Chats {
        let (sender, event) = sync_channel(MAX_WAITING);
        Chats {
            folder: folder.to_path_buf(),
            open: HashMap::new(),
            troubles: HashMap::new(),
            sender,
            event,
            looked: None,
        }
    }

    /// Whether any chat is attached.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
    }

    /// Whether a chat is attached that has not said anything yet.
    pub fn is_greeting(&self) -> bool {
        self.open.values().any(|chat| !chat.has_spoken)
    }

    /// Looks for new chats, if that was not done just now.
    ///
    /// # Errors
    /// The folder is not the user's own. One that is not there yet has no chats.
    pub fn look(&mut self) -> Result<(), FolderError> {
        if self.looked.is_some_and(|at| at.elapsed() < INTERVAL) {
            return Ok(());
        }
        self.looked = Some(Instant::now());
        match folder::check(&self.folder) {
            Ok(()) => {}
            Err(FolderError::Io { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                return Ok(());
            }
            Err(error) => {
                // Whoever asks next is told the same, unless it is in order then.
                self.looked = None;
                return Err(error);
            }
        }
        let mut found = HashSet::new();
        for path in folder::sockets(&self.folder) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.map(str::to_owned) else {
                continue;
            };
            found.insert(name.clone());
            if self.open.contains_key(&name) || self.must_wait(&name) {
                continue;
            }
            match self.attach(&name, &path) {
                Ok(chat) => {
                    self.open.insert(name, chat);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    folder::remove_stale(&path);
                }
                // Too many wait for it, it ends just now, or another time more is possible.
                Err(_) => {}
            }
        }
        let open = &self.open;
        self.troubles
            .retain(|name, _| found.contains(name) || open.contains_key(name));
        Ok(())
    }

    fn must_wait(&self, name: &str) -> bool {
        let trouble = self.troubles.get(name);
        trouble.is_some_and(|it| it.until.is_none_or(|until| until > Instant::now()))
    }

    fn attach(&self, name: &str, path: &Path) -> io::Result<Attached> {
        let stream = folder::connect(path)?;
        folder::check_peer(&stream).map_err(io::Error::other)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let (reads, writes) = (stream.try_clone()?, stream.try_clone()?);
        let (name, sender) = (name.to_owned(), self.sender.clone());
        let (commands, wanted) = sync_channel(MAX_COMMANDS);
        Builder::new()
            .name("chat-write".to_owned())
            .spawn(move || write(&writes, &wanted))?;
        Builder::new().name("chat-read".to_owned()).spawn(move || {
            let reason = listen(&reads, &name, &sender);
            // Nobody may want to know any more.
            let _ = sender.send((name, ChatEvent::Ended(reason)));
        })?;
        Ok(Attached {
            stream,
            commands,
            since: Instant::now(),
            has_spoken: false,
        })
    }

    /// What some chat does next, if that happens within the time.
    pub fn next(&mut self, most: Duration) -> Option<(String, ChatEvent)> {
        let end = Instant::now() + most;
        loop {
            let rest = end.saturating_duration_since(Instant::now());
            let (name, event) = self.event.recv_timeout(rest).ok()?;
            match event {
                ChatEvent::Message(message) => {
                    let Some(chat) = self.open.get_mut(&name) else {
                        continue;
                    };
                    chat.has_spoken = true;
                    return Some((name, ChatEvent::Message(message)));
                }
                ChatEvent::Ended(reason) => {
                    if self.ended(&name, &reason) {
                        return Some((name, ChatEvent::Ended(reason)));
                    }
                }
            }
        }
    }

    /// A connection has ended. Whether that is worth saying: the same of every attempt is not.
    fn ended(&mut self, name: &str, reason: &Reason) -> bool {
        let Some(chat) = self.open.remove(name) else {
            return false;
        };
        let _ = chat.stream.shutdown(Shutdown::Both);
        let trouble = self.troubles.entry(name.to_owned()).or_default();
        if chat.since.elapsed() >= LONG {
            trouble.pause = Duration::ZERO;
        }
        trouble.pause = (trouble.pause * 2).clamp(INTERVAL, MAX_PAUSE);
        let until = Instant::now() + trouble.pause;
        trouble.until = (!reason.is_final()).then_some(until);
        let is_known = trouble.reason.as_ref() == Some(reason);
        trouble.reason = Some(reason.clone());
        chat.has_spoken || !is_known
    }

    /// Sends a command to a chat, without waiting until it reads it.
    ///
    /// # Errors
    /// It is not attached, or does not read.
    pub fn send(&mut self, chat: &str, command: &Command) -> io::Result<()> {
        let Some(attached) = self.open.get(chat) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        attached.commands.try_send(line).map_err(|error| {
            io::Error::from(match error {
                TrySendError::Full(_) => io::ErrorKind::WouldBlock,
                TrySendError::Disconnected(_) => io::ErrorKind::BrokenPipe,
            })
        })
    }
}

/// Writes commands until the chat is given up or does not read.
fn write(mut stream: &UnixStream, commands: &Receiver<Vec<u8>>) {
    for line in commands {
        if stream.write_all(&line).is_err() {
            break;
        }
    }
    // Whoever reads notices it.
    let _ = stream.shutdown(Shutdown::Both);
}

/// What is read of a message before all of it.
#[derive(Deserialize)]
struct Head {
    #[serde(rename = "type")]
    kind: String,
    version: Option<u64>,
}

/// Reads a message. That of a later version may be another one under the same name.
fn read(line: &[u8]) -> Result<Message, Reason> {
    let head: Head = serde_json::from_slice(line).map_err(|_| Reason::Broken)?;
    match (head.kind.as_str(), head.version) {
        ("hello", Some(version)) if version != u64::from(VERSION) => Err(Reason::Version(version)),
        _ => serde_json::from_slice(line).map_err(|_| Reason::Broken),
    }
}

/// Reads what a chat says, until it goes or says what is not a message.
fn listen(stream: &UnixStream, name: &str, sender: &SyncSender<(String, ChatEvent)>) -> Reason {
    let mut from = BufReader::new(stream);
    let mut line = Vec::new();
    let mut has_greeted = false;
    let mut refused = None;
    loop {
        match read_line(&mut from, MAX_MESSAGE_BYTES, &mut line) {
            Ok(true) => {}
            Err(super::lines::LineError::TooLong(_)) => return Reason::Broken,
            Ok(false) | Err(_) => return refused.unwrap_or(Reason::Closed),
        }
        let message = match read(&line) {
            Ok(message) => message,
            Err(reason) => return reason,
        };
        if line.capacity() > KEPT_BYTES {
            line = Vec::new();
        }
        refused = match &message {
            Message::Unknown => continue,
            Message::Refused { id: 0, error } => Some(Reason::Refused(error.clone())),
            Message::Hello { .. } => {
                has_greeted = true;
                None
            }
            _ if !has_greeted => return Reason::Broken,
            _ => None,
        };
        let event = ChatEvent::Message(message);
        if sender.send((name.to_owned(), event)).is_err() {
            return Reason::Closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, socket_with};

    use super::*;

    /// The longest that something takes which is not waited for.
    const DEADLINE: Duration = Duration::from_secs(20);

    fn folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        std::fs::set_permissions(folder.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }

    fn ended(chats: &mut Chats) -> Reason {
        loop {
            match chats.next(DEADLINE) {
                Some((_, ChatEvent::Ended(reason))) => return reason,
                Some(_) => {}
                None => panic!("nothing has ended"),
            }
        }
    }

    /// Attaches to a chat that says this and goes; how that ends.
    fn says(lines: &str) -> (Chats, Reason, tempfile::TempDir) {
        let folder = folder();
        let listener = UnixListener::bind(folder.path().join("chat-1.sock")).unwrap();
        let mut chats = Chats::new(folder.path());
        chats.look().unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        // The inspector may not read all of it.
        let _ = stream.write_all(lines.as_bytes());
        drop(stream);
        let reason = ended(&mut chats);
        (chats, reason, folder)
    }

    fn hello() -> String {
        format!(
            r#"{{"type":"hello","version":{VERSION},"pid":1,"mode":"off","session":"a","agent":"","title":"","model":""}}"#
        ) + "\n"
    }

    #[test]
    fn why_a_chat_is_not_attached_is_told() {
        let check = |lines: &str, expected: Reason, is_final: bool| {
            let (chats, reason, _folder) = says(lines);
            assert_eq!(reason, expected, "{lines}");
            let trouble = &chats.troubles["chat-1"];
            assert_eq!(trouble.until.is_none(), is_final, "{lines}");
        };
        let hello = hello();
        check(&hello, Reason::Closed, false);
        let full = "{\"type\":\"refused\",\"id\":0,\"error\":\"eight are attached\"}\n";
        let refused = Reason::Refused("eight are attached".to_owned());
        check(full, refused, false);
        // The version is read before the rest, which may be anything.
        let newer = VERSION + 1;
        let other = format!("{{\"type\":\"hello\",\"version\":{newer},\"mode\":7}}\n");
        check(&other, Reason::Version(newer.into()), true);
        check("not JSON\n", Reason::Broken, true);
        check("{\"type\":\"idle\"}\n", Reason::Broken, true);
        let unknown = format!("{hello}{{\"type\":\"future\",\"x\":1}}\n");
        check(&unknown, Reason::Closed, false);
    }

    #[test]
    fn both_versions_and_which_is_older_are_named() {
        let newer = Reason::Version(u64::from(VERSION) + 1).to_string();
        for version in [VERSION, VERSION + 1] {
            assert!(newer.contains(&format!("version {version}")), "{newer}");
        }
        assert!(newer.contains("start the inspector from the newer"));
        let older = Reason::Version(0).to_string();
        assert!(older.contains("restart the chat"), "{older}");
    }

    #[test]
    fn a_chat_that_failed_is_tried_again_later_and_said_once() {
        let full = "{\"type\":\"refused\",\"id\":0,\"error\":\"full\"}\n";
        let (mut chats, reason, folder) = says(full);
        let trouble = chats.troubles.get_mut("chat-1").unwrap();
        assert_eq!(trouble.pause, INTERVAL);
        trouble.until = Some(Instant::now() + MAX_PAUSE);
        chats.looked = None;
        chats.look().unwrap();
        assert!(chats.is_empty(), "it is left alone");
        assert!(!chats.ended("chat-1", &reason));
        // Another socket of the same name is another chat.
        std::fs::remove_file(folder.path().join("chat-1.sock")).unwrap();
        chats.looked = None;
        chats.look().unwrap();
        assert!(chats.troubles.is_empty());
    }

    #[test]
    fn a_chat_that_accepts_nobody_holds_nobody_up() {
        let folder = folder();
        let path = folder.path().join("chat-1.sock");
        let listener = socket_with(
            AddressFamily::UNIX,
            SocketType::STREAM,
            SocketFlags::CLOEXEC,
            None,
        )
        .unwrap();
        bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
        rustix::net::listen(&listener, 0).unwrap();
        let mut waiting = Vec::new();
        let error = loop {
            match folder::connect(&path) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind(), io::ErrorKind::WouldBlock);
        let mut chats = Chats::new(folder.path());
        chats.look().unwrap();
        assert!(chats.is_empty());
        assert!(path.exists(), "somebody listens");
    }
}
