//! A chat's side of the socket: one thread that accepts, and two for each inspector.
//!
//! Nothing here is waited for by the chat. An inspector that does not read is dropped after a time limit, one that sends
//! too much or what is not a command is dropped at once, and one that hangs costs its own two threads.

use std::fs;
use std::io::{self, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Builder;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{SendFlags, send};

use super::folder::{self, FolderError, SOCKET_MODE};
use super::lines::{LineError, read_line};
use super::protocol::{
    Command, Conversation, MAX_COMMAND_BYTES, Message, Pauses, Subagents, VERSION,
};
use super::shared_state::{Logged, PausedState, Published, SharedState};

/// How many inspectors can be attached. A person has one or two; each costs two threads.
const MAX_CLIENTS: usize = 8;

/// How long writing a message may take.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long to wait where no connection can be accepted.
const ACCEPT_AGAIN: Duration = Duration::from_millis(500);

/// How many commands an inspector may send in a second. A key that repeats sends thirty.
const MAX_COMMANDS_PER_SECOND: u32 = 500;

/// How many lines may not be commands before the connection is closed.
const MAX_MISTAKES: u32 = 16;

/// How many answers may wait for the inspector to read them.
const MAX_ANSWERS: usize = 64;

/// How many names are tried for the socket.
const MAX_ATTEMPTS: u32 = 8;

/// Why a chat does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The folder is not one to put a socket in.
    #[error("`dunlin inspect` cannot attach to this chat")]
    Folder(#[from] FolderError),
    #[error("`dunlin inspect` cannot attach to this chat: cannot listen on {}", path.display())]
    Socket { path: PathBuf, source: io::Error },
}

/// Listens until it is dropped.
#[derive(Debug)]
pub struct Listening {
    path: PathBuf,
}

impl Drop for Listening {
    fn drop(&mut self) {
        // Whoever finds it later sees that nobody listens.
        let _ = fs::remove_file(&self.path);
    }
}

/// Begins to listen for inspectors.
///
/// # Errors
/// The folder is not the user's own, or the socket cannot be made.
pub fn listen(folder: &Path, shared: &Arc<SharedState>) -> Result<Listening, ListenError> {
    folder::make(folder)?;
    let (path, listener) = bind(folder)?;
    let listening = Listening { path };
    let path = &listening.path;
    let cannot = |source| ListenError::Socket {
        path: path.clone(),
        source,
    };
    let (shared, own) = (Arc::clone(shared), path.clone());
    let accepting = Builder::new().name("inspectors".to_owned()).spawn(move || {
        // Whoever connects waits no longer for that than for this thread to begin: no socket is waited for.
        folder::remove_all_stale(&own);
        accept(&listener, &shared);
    });
    accepting.map_err(cannot)?;
    Ok(listening)
}

/// A socket has its name only once it is listened on: until then another chat would take it for one that was left behind.
fn bind(folder: &Path) -> Result<(PathBuf, UnixListener), ListenError> {
    let temporary = folder::temporary(folder);
    let bound = name(folder, &temporary);
    if bound.is_err() {
        // It may not have been made.
        let _ = fs::remove_file(&temporary);
    }
    bound.map_err(|source| ListenError::Socket {
        path: folder::socket(folder, std::process::id(), 0),
        source,
    })
}

fn name(folder: &Path, temporary: &Path) -> io::Result<(PathBuf, UnixListener)> {
    let listener = UnixListener::bind(temporary)?;
    fs::set_permissions(temporary, fs::Permissions::from_mode(SOCKET_MODE))?;
    let mut attempt = 0;
    loop {
        let path = folder::socket(folder, std::process::id(), attempt);
        match folder::rename_new(temporary, &path) {
            Ok(()) => return Ok((path, listener)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // One that was left behind is replaced; a process elsewhere with the same number keeps its own.
                let _ = folder::remove_stale(&path);
                attempt += u32::from(path.symlink_metadata().is_ok());
                if attempt > MAX_ATTEMPTS {
                    return Err(error);
                }
            }
            Err(error) => return Err(error),
        }
    }
}

fn accept(listener: &UnixListener, shared: &Arc<SharedState>) {
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Too many files are open; later there may be fewer.
            std::thread::sleep(ACCEPT_AGAIN);
            continue;
        };
        if folder::check_peer(&stream).is_err() {
            continue;
        }
        let slot = ClientSlot(Arc::clone(&clients));
        if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            let why = format!("{MAX_CLIENTS} inspectors are attached already");
            // A socket that was just opened has room for that.
            let _ = write_line(&stream, &Message::refused(0, &why), Instant::now());
            continue;
        }
        // Without threads there is no inspector.
        let _ = serve(stream, shared, slot);
    }
}

/// Counts an inspector until it is dropped.
struct ClientSlot(Arc<AtomicUsize>);

impl Drop for ClientSlot {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the two threads of an inspector share.
#[derive(Default)]
struct Connection {
    answers: Mutex<Answers>,
    is_closed: AtomicBool,
}

/// Answers that were not written yet.
#[derive(Default)]
struct Answers {
    messages: Vec<Message>,
    /// Whether the connection is closed behind them.
    is_last: bool,
}

impl Connection {
    /// Has an answer written. `false`: too many wait.
    fn answer(&self, message: Message) -> bool {
        let mut answers = self.answers.lock();
        let has_room = answers.messages.len() < MAX_ANSWERS;
        if has_room {
            answers.messages.push(message);
        }
        has_room
    }

    /// Has a last message written, and closes the connection behind it.
    fn close_with(&self, message: Message) {
        let mut answers = self.answers.lock();
        answers.messages.push(message);
        answers.is_last = true;
    }

    fn take(&self) -> Answers {
        std::mem::take(&mut *self.answers.lock())
    }
}

fn serve(stream: UnixStream, shared: &Arc<SharedState>, slot: ClientSlot) -> io::Result<()> {
    let reads = stream.try_clone()?;
    let slot = Arc::new(slot);
    // Taken before the first command is read: whatever is answered from now on is new to the thread that writes.
    let serial = shared.now().serial;
    let connection = Arc::new(Connection::default());
    let (for_reader, reader_slot) = (Arc::clone(&connection), Arc::clone(&slot));
    let reader_shared = Arc::clone(shared);
    Builder::new()
        .name("inspector-read".to_owned())
        .spawn(move || {
            let _slot = reader_slot;
            match read_commands(&reads, &reader_shared, &for_reader) {
                Some(misuse) => for_reader.close_with(Message::refused(0, &misuse)),
                None => {
                    for_reader.is_closed.store(true, Ordering::Relaxed);
                    // Whatever is being written fails.
                    let _ = reads.shutdown(std::net::Shutdown::Both);
                }
            }
            reader_shared.notify();
        })?;
    let shared = Arc::clone(shared);
    Builder::new()
        .name("inspector-write".to_owned())
        .spawn(move || {
            let _slot = slot;
            // It went, or does not read.
            let _ = write_events(&stream, &shared, &connection, serial);
            connection.is_closed.store(true, Ordering::Relaxed);
            let _ = stream.shutdown(std::net::Shutdown::Both);
        })?;
    Ok(())
}

/// How an inspector uses the connection in a way that nobody needs.
#[derive(Debug, thiserror::Error)]
enum Misuse {
    #[error("closed: {0}")]
    Line(LineError),
    #[error("closed: more than {MAX_COMMANDS_PER_SECOND} commands in a second")]
    Flood,
    #[error("closed: more than {MAX_MISTAKES} lines that are not commands")]
    Mistakes,
    #[error("closed: more than {MAX_ANSWERS} answers that were not read")]
    Unread,
}

/// Does what the inspector sends, one command after the other, until it goes (`None`) or misbehaves.
fn read_commands(
    stream: &UnixStream,
    shared: &SharedState,
    connection: &Connection,
) -> Option<Misuse> {
    let mut from = BufReader::new(stream);
    let mut line = Vec::new();
    let (mut mistakes, mut count, mut since) = (0, 0, Instant::now());
    loop {
        match read_line(&mut from, MAX_COMMAND_BYTES, &mut line) {
            Ok(true) => {}
            Err(error @ LineError::TooLong(_)) => return Some(Misuse::Line(error)),
            Ok(false) | Err(LineError::Read(_)) => return None,
        }
        if since.elapsed() >= Duration::from_secs(1) {
            (count, since) = (0, Instant::now());
        }
        count += 1;
        if count > MAX_COMMANDS_PER_SECOND {
            return Some(Misuse::Flood);
        }
        let answer = match Command::parse(&line) {
            Ok(Command { id, operation }) => {
                match shared.command(operation, || has_hung_up(stream)) {
                    Ok(()) => Message::Done { id },
                    Err(refusal) => Message::refused(id, &refusal),
                }
            }
            Err(error) => {
                mistakes += 1;
                if mistakes > MAX_MISTAKES {
                    return Some(Misuse::Mistakes);
                }
                Message::refused(Command::id_of(&line), &error)
            }
        };
        if !connection.answer(answer) {
            return Some(Misuse::Unread);
        }
        shared.notify();
        if connection.is_closed.load(Ordering::Relaxed) {
            return None;
        }
    }
}

/// Whether nobody is at the other end any more.
fn has_hung_up(stream: &UnixStream) -> bool {
    let mut waiting = [PollFd::new(stream, PollFlags::empty())];
    poll(&mut waiting, Some(&Timespec::default())).is_ok_and(|ready| ready > 0)
}

/// What a chat says when it is asked, besides what it publishes.
#[derive(Debug, Clone, Default)]
pub struct ChatState {
    pub pauses: Pauses,
    pub subagents: Subagents,
}

impl ChatState {
    fn of(shared: &SharedState) -> ChatState {
        ChatState {
            pauses: shared.pauses(),
            subagents: shared.subagents(),
        }
    }
}

/// What an inspector was told.
#[derive(Default)]
pub struct ClientState {
    conversation: Conversation,
    pauses: Pauses,
    subagents: Subagents,
    paused: Option<SentState>,
    logged: Option<Logged>,
}

/// The state of a paused request that was sent to an inspector last.
#[derive(PartialEq, Eq)]
struct SentState {
    pause: u64,
    revision: String,
    /// Whether it was sent as a request that has its edits.
    is_composed: bool,
}

impl SentState {
    fn of(paused: &PausedState) -> SentState {
        SentState {
            pause: paused.pause,
            revision: paused.revision.clone(),
            is_composed: paused.is_composed(),
        }
    }
}

impl Logged {
    fn message(self) -> Message {
        Message::Sent {
            pause: None,
            number: Some(self.number),
        }
    }
}

impl ClientState {
    /// The first messages to an inspector.
    pub fn greet(published: &Published, chat: &ChatState) -> (ClientState, Vec<Message>) {
        let pauses = &chat.pauses;
        let mut client = ClientState {
            conversation: published.conversation.clone(),
            pauses: pauses.clone(),
            ..ClientState::default()
        };
        let mut messages = vec![Message::Hello {
            version: VERSION,
            active: published.active,
            pid: std::process::id(),
            pauses: pauses.clone(),
            conversation: published.conversation.clone(),
        }];
        messages.extend(client.updates(published, chat));
        let was_paused = published.logged.filter(|logged| logged.was_paused);
        messages.extend(was_paused.map(Logged::message));
        // Last: what a reader is told after it is new.
        if published.paused.is_none() {
            messages.push(Message::Idle);
        }
        (client, messages)
    }

    /// What has changed since. What happened in between is left out, also whole pauses. The end of a pause is told to those
    /// who were told that it began, and to nobody else.
    pub fn updates(&mut self, published: &Published, chat: &ChatState) -> Vec<Message> {
        let mut messages = Vec::new();
        let ChatState { pauses, subagents } = chat;
        if self.pauses != *pauses {
            self.pauses.clone_from(pauses);
            messages.push(Message::Mode(pauses.clone()));
        }
        let paused = published.paused.as_deref();
        let is_over = |sent: &mut SentState| paused.is_none_or(|paused| paused.pause != sent.pause);
        if let Some(over) = self.paused.take_if(is_over) {
            let ended = published.ended.iter().find(|it| it.pause == over.pause);
            messages.push(ended.map_or(Message::Idle, |ended| ended.message()));
        }
        // Behind the end of a pause, which belongs to the conversation before.
        if self.conversation != published.conversation {
            self.conversation.clone_from(&published.conversation);
            messages.push(Message::Conversation(self.conversation.clone()));
        }
        // Behind their conversation.
        if self.subagents != *subagents {
            self.subagents.clone_from(subagents);
            messages.push(Message::Subagents {
                subagents: subagents.clone(),
            });
        }
        if let Some(paused) = paused {
            let now = SentState::of(paused);
            let of_paused = match &self.paused {
                Some(sent) if *sent == now => None,
                Some(sent) if !sent.is_composed && !now.is_composed => {
                    Some(Message::Edited(paused.edits()))
                }
                _ => Some(paused.message()),
            };
            messages.extend(of_paused);
            self.paused = Some(now);
        }
        if self.logged != published.logged {
            self.logged = published.logged;
            let unseen = self.logged.filter(|logged| !logged.was_paused);
            messages.extend(unseen.map(Logged::message));
        }
        messages
    }
}

/// Writes everything that happens after `serial`, until the inspector goes.
fn write_events(
    stream: &UnixStream,
    shared: &SharedState,
    connection: &Connection,
    mut serial: u64,
) -> io::Result<()> {
    let published = shared.now();
    let (mut client, first) = ClientState::greet(&published, &ChatState::of(shared));
    write(stream, &first)?;
    while !connection.is_closed.load(Ordering::Relaxed) {
        let published = shared.after(serial);
        // What comes behind this is looked at once more, also an answer.
        serial = published.serial;
        let answers = connection.take();
        // The state that a command was refused for goes before the answer: it is at least as new.
        let published = match answers.messages.is_empty() {
            true => published,
            false => shared.now(),
        };
        write(stream, &client.updates(&published, &ChatState::of(shared)))?;
        write(stream, &answers.messages)?;
        if answers.is_last {
            break;
        }
    }
    Ok(())
}

fn write(stream: &UnixStream, messages: &[Message]) -> io::Result<()> {
    messages
        .iter()
        .try_for_each(|message| write_line(stream, message, Instant::now() + WRITE_TIMEOUT))
}

/// Writes a message. Until `end` is waited for the inspector, however little it reads at a time.
fn write_line(stream: &UnixStream, message: &Message, end: Instant) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut rest = line.as_slice();
    while !rest.is_empty() {
        match send(stream, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
            Ok(sent) => rest = rest.get(sent..).unwrap_or_default(),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => wait_for_room(stream, end)?,
            Err(error) => return Err(error.into()),
        }
        // One that reads a little all the time is slow, too.
        if !rest.is_empty() && Instant::now() >= end {
            return Err(io::ErrorKind::TimedOut.into());
        }
    }
    Ok(())
}

fn wait_for_room(stream: &UnixStream, end: Instant) -> io::Result<()> {
    let left = end.saturating_duration_since(Instant::now());
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    let mut waiting = [PollFd::new(stream, PollFlags::OUT)];
    match poll(&mut waiting, Some(&left)) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
