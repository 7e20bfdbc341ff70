//! A chat's side of the socket: one thread that accepts, and two for each inspector.
//!
//! Nothing here is waited for by the chat. An inspector that does not read is dropped after a time limit, one that sends
//! too much or what is not a command is dropped at once, and one that hangs costs its own two threads.

use std::fs;
use std::io::{self, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use super::board::{Board, Logged, Published, State};
use super::folder::{self, FolderError, SOCKET_MODE};
use super::lines::read_line;
use super::protocol::{Command, MAX_COMMAND_BYTES, Message, VERSION};
use crate::config::request_editor::PauseMode;

/// How many inspectors can be attached. A person has one or two; each costs two threads.
const MAX_CLIENTS: usize = 8;

/// How long an inspector may not read before it is dropped.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// How often it is looked whether the mode has changed, which nobody publishes: a key at the prompt sets it, too.
const MODE_INTERVAL: Duration = Duration::from_millis(500);

/// How many commands an inspector may send in a second. A key that repeats sends thirty.
const MAX_COMMANDS_PER_SECOND: u32 = 500;

/// How many lines in a row may not be commands before the connection is closed.
const MAX_MISTAKES: u32 = 16;

/// How many names are tried for the socket.
const MAX_ATTEMPTS: u32 = 8;

/// Why a chat does not listen.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// The folder is not one to put a socket in.
    #[error("`dunlin inspect` cannot attach to this chat")]
    Folder(#[from] FolderError),
    /// The socket cannot be made.
    #[error("`dunlin inspect` cannot attach to this chat: cannot listen on {}", path.display())]
    Socket {
        /// The socket.
        path: PathBuf,
        /// The system's answer.
        source: io::Error,
    },
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
pub fn listen(folder: &Path, board: &Arc<Board>) -> Result<Listening, ListenError> {
    folder::make(folder)?;
    let (path, listener) = bind(folder)?;
    let cannot = |source| ListenError::Socket {
        path: path.clone(),
        source,
    };
    // The folder lets nobody else in meanwhile.
    fs::set_permissions(&path, fs::Permissions::from_mode(SOCKET_MODE)).map_err(cannot)?;
    let (board, own) = (Arc::clone(board), path.clone());
    let accepting = Builder::new()
        .name("inspectors".to_owned())
        .spawn(move || accept(&listener, &board, &own));
    accepting.map_err(cannot)?;
    Ok(Listening { path })
}

fn bind(folder: &Path) -> Result<(PathBuf, UnixListener), ListenError> {
    let pid = std::process::id();
    let mut attempt = 0;
    loop {
        let path = folder::socket(folder, pid, attempt);
        match UnixListener::bind(&path) {
            Ok(listener) => return Ok((path, listener)),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && attempt < MAX_ATTEMPTS => {
                // One that was left behind is replaced; a process elsewhere with the same number keeps its own.
                if !folder::remove_stale(&path) {
                    attempt += 1;
                }
            }
            Err(source) => return Err(ListenError::Socket { path, source }),
        }
    }
}

fn accept(listener: &UnixListener, board: &Arc<Board>, own: &Path) {
    let others = own.parent().map(folder::sockets).unwrap_or_default();
    for path in others.iter().filter(|path| *path != own) {
        folder::remove_stale(path);
    }
    let clients = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // Too many files are open; later there may be fewer.
            std::thread::sleep(MODE_INTERVAL);
            continue;
        };
        if folder::check_peer(&stream).is_err() {
            continue;
        }
        if clients.fetch_add(1, Ordering::Relaxed) >= MAX_CLIENTS {
            clients.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let seat = Seat(Arc::clone(&clients));
        // Without threads there is no inspector.
        let _ = serve(stream, board, seat);
    }
}

/// Counts an inspector until it is dropped.
struct Seat(Arc<AtomicUsize>);

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the two threads of an inspector share.
#[derive(Default)]
struct Shared {
    answers: Mutex<Vec<Message>>,
    is_closed: AtomicBool,
}

impl Shared {
    fn answer(&self, message: Message) {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.push(message);
    }

    fn take(&self) -> Vec<Message> {
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut answers)
    }
}

fn serve(stream: UnixStream, board: &Arc<Board>, seat: Seat) -> io::Result<()> {
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let reads = stream.try_clone()?;
    let seat = Arc::new(seat);
    let shared = Arc::new(Shared::default());
    let (for_reader, reader_seat) = (Arc::clone(&shared), Arc::clone(&seat));
    let reader_board = Arc::clone(board);
    Builder::new()
        .name("inspector-read".to_owned())
        .spawn(move || {
            let _seat = reader_seat;
            obey(&reads, &reader_board, &for_reader);
            for_reader.is_closed.store(true, Ordering::Relaxed);
            reader_board.nudge();
            // Whatever is being written fails.
            let _ = reads.shutdown(std::net::Shutdown::Both);
        })?;
    let board = Arc::clone(board);
    Builder::new()
        .name("inspector-write".to_owned())
        .spawn(move || {
            let _seat = seat;
            // It went, or does not read.
            let _ = tell(&stream, &board, &shared);
            let _ = stream.shutdown(std::net::Shutdown::Both);
        })?;
    Ok(())
}

/// Does what the inspector sends, one command after the other, until it goes or misbehaves.
fn obey(stream: &UnixStream, board: &Board, shared: &Shared) {
    let mut from = BufReader::new(stream);
    let mut line = Vec::new();
    let (mut mistakes, mut count, mut since) = (0, 0, Instant::now());
    while read_line(&mut from, MAX_COMMAND_BYTES, &mut line).is_ok_and(|is_line| is_line) {
        if since.elapsed() >= Duration::from_secs(1) {
            (count, since) = (0, Instant::now());
        }
        count += 1;
        if count > MAX_COMMANDS_PER_SECOND {
            return;
        }
        let answer = match Command::parse(&line) {
            Ok(Command { id, operation }) => {
                mistakes = 0;
                match board.command(operation) {
                    Ok(()) => Message::Done { id },
                    Err(refusal) => Message::Refused {
                        id,
                        error: refusal.to_string(),
                    },
                }
            }
            Err(error) => {
                mistakes += 1;
                Message::Refused {
                    id: Command::id_of(&line),
                    error: error.to_string(),
                }
            }
        };
        shared.answer(answer);
        board.nudge();
        if mistakes > MAX_MISTAKES || shared.is_closed.load(Ordering::Relaxed) {
            return;
        }
    }
}

/// What an inspector knows.
#[derive(Default)]
pub struct Told {
    serial: u64,
    conversation: super::protocol::Conversation,
    mode: PauseMode,
    state: Option<(u64, Stage)>,
    logged: Option<Logged>,
}

#[derive(PartialEq, Eq)]
enum Stage {
    Paused(u64),
    Over,
}

impl Told {
    /// The first messages to an inspector.
    pub fn greet(published: &Published, mode: PauseMode) -> (Told, Vec<Message>) {
        let mut told = Told {
            conversation: published.conversation.clone(),
            mode,
            ..Told::default()
        };
        let mut messages = vec![Message::Hello {
            version: VERSION,
            pid: std::process::id(),
            mode,
            conversation: published.conversation.clone(),
        }];
        let news = told.news(published, mode);
        match news.is_empty() {
            true => messages.push(Message::Idle),
            false => messages.extend(news),
        }
        (told, messages)
    }

    /// What has changed since. States in between are left out.
    pub fn news(&mut self, published: &Published, mode: PauseMode) -> Vec<Message> {
        let mut news = Vec::new();
        self.serial = published.serial;
        if self.conversation != published.conversation {
            self.conversation.clone_from(&published.conversation);
            news.push(Message::Conversation(self.conversation.clone()));
        }
        if self.mode != mode {
            self.mode = mode;
            news.push(Message::Mode { mode });
        }
        let now = match &published.state {
            State::Idle => None,
            State::Paused(paused) => Some((paused.pause, Stage::Paused(paused.request.revision()))),
            State::Sent { pause, .. } | State::Cancelled { pause } => Some((*pause, Stage::Over)),
        };
        if self.state != now {
            let is_known = matches!((&self.state, &now), (Some((a, _)), Some((b, _))) if a == b);
            news.extend(match &published.state {
                State::Idle => Some(Message::Idle),
                State::Paused(paused) if is_known => Some(Message::Edited(paused.edits())),
                State::Paused(paused) => Some(paused.message()),
                State::Sent { pause, number } => Some(Message::Sent {
                    pause: Some(*pause),
                    number: *number,
                }),
                State::Cancelled { pause } => Some(Message::Cancelled { pause: *pause }),
            });
            self.state = now;
        }
        if self.logged != published.logged {
            self.logged = published.logged;
            news.extend(self.logged.map(|logged| Message::Sent {
                pause: None,
                number: Some(logged.number),
            }));
        }
        news
    }
}

/// Writes everything that happens, until the inspector goes.
fn tell(stream: &UnixStream, board: &Board, shared: &Shared) -> io::Result<()> {
    let (mut told, first) = Told::greet(&board.now(), board.mode());
    write(stream, &first)?;
    while !shared.is_closed.load(Ordering::Relaxed) {
        let published = board.after(told.serial, MODE_INTERVAL);
        // The state that a command was refused for goes before the answer: it is at least as new.
        let answers = shared.take();
        let published = match answers.is_empty() {
            true => published,
            false => board.now(),
        };
        let mut messages = told.news(&published, board.mode());
        messages.extend(answers);
        write(stream, &messages)?;
    }
    Ok(())
}

fn write(mut stream: &UnixStream, messages: &[Message]) -> io::Result<()> {
    for message in messages {
        let mut line = serde_json::to_vec(message)?;
        line.push(b'\n');
        stream.write_all(&line)?;
    }
    Ok(())
}
