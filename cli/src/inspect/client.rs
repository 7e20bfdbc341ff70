//! An inspector's side of the sockets: finds the running chats, attaches to them, and reads what they say.

use std::collections::{HashMap, HashSet};
use std::io::{self, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::folder::{self, FolderError};
use super::lines::read_line;
use super::protocol::{Command, MAX_MESSAGE_BYTES, Message};

/// How often the folder is looked at for new chats.
const INTERVAL: Duration = Duration::from_secs(1);

/// How long a chat may not read a command.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How many messages may wait to be shown.
const MAX_WAITING: usize = 64;

/// What a chat does.
#[derive(Debug)]
pub enum News {
    /// It says something.
    Message(Message),
    /// It has ended, or is not one.
    Ended,
}

/// The chats that an inspector is attached to. A chat is named after its socket.
pub struct Chats {
    folder: PathBuf,
    open: HashMap<String, UnixStream>,
    /// Sockets at which nothing that we understand listens.
    given_up: HashSet<String>,
    sender: SyncSender<(String, News)>,
    news: Receiver<(String, News)>,
    looked: Option<Instant>,
}

impl Chats {
    /// Attaches to nothing yet.
    pub fn new(folder: &Path) -> Chats {
        let (sender, news) = sync_channel(MAX_WAITING);
        Chats {
            folder: folder.to_path_buf(),
            open: HashMap::new(),
            given_up: HashSet::new(),
            sender,
            news,
            looked: None,
        }
    }

    /// Whether any chat is attached.
    pub fn is_empty(&self) -> bool {
        self.open.is_empty()
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
            Err(error) => return Err(error),
        }
        for path in folder::sockets(&self.folder) {
            let name = path.file_stem().and_then(|name| name.to_str());
            let Some(name) = name.map(str::to_owned) else {
                continue;
            };
            if self.open.contains_key(&name) || self.given_up.contains(&name) {
                continue;
            }
            match self.attach(&name, &path) {
                Ok(stream) => {
                    self.open.insert(name, stream);
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    folder::remove_stale(&path);
                }
                // It ends just now, or another time more is possible.
                Err(_) => {}
            }
        }
        Ok(())
    }

    fn attach(&self, name: &str, path: &Path) -> io::Result<UnixStream> {
        let stream = UnixStream::connect(path)?;
        folder::check_peer(&stream).map_err(io::Error::other)?;
        stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
        let reads = stream.try_clone()?;
        let (name, sender) = (name.to_owned(), self.sender.clone());
        Builder::new()
            .name("chat".to_owned())
            .spawn(move || listen(&reads, &name, &sender))?;
        Ok(stream)
    }

    /// What some chat does next, if that happens within the time.
    pub fn next(&mut self, most: Duration) -> Option<(String, News)> {
        let (name, news) = self.news.recv_timeout(most).ok()?;
        if matches!(news, News::Ended) {
            self.open.remove(&name);
        }
        Some((name, news))
    }

    /// Sends a command to a chat.
    ///
    /// # Errors
    /// It does not read.
    pub fn send(&mut self, chat: &str, command: &Command) -> io::Result<()> {
        let Some(stream) = self.open.get_mut(chat) else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let mut line = serde_json::to_vec(command)?;
        line.push(b'\n');
        stream.write_all(&line)
    }

    /// Speaks to this chat no more.
    pub fn give_up(&mut self, chat: &str) {
        self.given_up.insert(chat.to_owned());
        if let Some(stream) = self.open.remove(chat) {
            // It may have gone.
            let _ = stream.shutdown(std::net::Shutdown::Both);
        }
    }
}

/// Reads what a chat says, until it goes or says what is not a message.
fn listen(stream: &UnixStream, name: &str, sender: &SyncSender<(String, News)>) {
    let mut from = BufReader::new(stream);
    let mut line = Vec::new();
    while read_line(&mut from, MAX_MESSAGE_BYTES, &mut line).is_ok_and(|is_line| is_line) {
        let Ok(message) = serde_json::from_slice(&line) else {
            break;
        };
        if sender
            .send((name.to_owned(), News::Message(message)))
            .is_err()
        {
            return;
        }
    }
    // Nobody may want to know any more.
    let _ = sender.send((name.to_owned(), News::Ended));
}
