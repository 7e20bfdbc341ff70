//! Bytes to events.
//!
//! Lines, fields and events are cut by `sse-stream`, which takes LF, CRLF and bare CR in any
//! mixture, split at any byte, `data:` with and without a space, and decodes whole lines only.
//! Around it this module adds what a chat needs and an event stream does not define:
//!
//! - a stream that ends without its last empty line still gives its last event;
//! - a body that is one JSON document although a stream was asked for is passed on whole, one that
//!   is a web page is refused;
//! - `[DONE]` counts with any white space around it, and a payload that starts with `:` is a
//!   comment that some gateway has wrapped;
//! - events and replies have a largest size, and the time between two bytes has a limit. Comments
//!   are bytes: a server that sends them is alive;
//! - after each chunk of the body whoever else waits gets a turn. A server that always has something more would otherwise
//!   keep an interruption from being noticed.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use sse_stream::SseByteStream;
use tokio::time::{Instant, Sleep};

/// Largest event, or whole document, in bytes. The largest real ones are documents with a long
/// reply, some hundred kilobytes; without a bound an endless line would fill the memory.
pub const MAX_EVENT_BYTES: usize = 16 * 1024 * 1024;

/// Most bytes of one reply. An event of some 300 bytes carries one token, so this is room for
/// 400,000 tokens, more than any model writes; it stops a server that never does.
pub const MAX_REPLY_BYTES: usize = 128 * 1024 * 1024;

/// How much of a body that is not a reply is quoted, in characters.
const QUOTED_CHARS: usize = 80;

/// One event of a reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// A payload: one chunk of JSON, as a rule.
    Data(String),
    /// A payload of an event named `error`.
    Error(String),
    /// The body is one document: the reply as a whole.
    Document(String),
    /// The server says that this is the end.
    Done,
}

/// Why a stream of events broke off.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    #[error("the connection broke")]
    Connection(#[source] Box<dyn std::error::Error + Send + Sync>),
    #[error("no byte came for {} s", .0.as_secs_f32())]
    Idle(Duration),
    /// The bound of an event or of the reply was passed.
    #[error("a piece of the reply is larger than {limit} bytes")]
    TooLarge {
        /// The bound, in bytes.
        limit: usize,
    },
    #[error("the reply is not valid UTF-8")]
    NotUtf8,
    /// The body is something else: a web page, as a rule.
    #[error("the body is not a reply: {start}")]
    NotAReply {
        /// How it begins; unescaped.
        start: String,
    },
}

type Chunks = Pin<Box<dyn Stream<Item = Result<Bytes, FrameError>> + Send>>;

/// Reads the events of one response.
pub struct Frames {
    body: Body,
    meter: Meter,
}

enum Body {
    /// Not a byte that tells has been read yet; these were.
    Unknown(Chunks, Vec<u8>),
    Events(Pin<Box<SseByteStream<Chunks>>>),
    Document(Chunks, Vec<u8>),
    Ended,
}

impl Frames {
    /// Reads from the chunks of a body; waits at most `idle` for each.
    pub fn new<E>(
        chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
        idle: Duration,
    ) -> Frames
    where
        E: std::error::Error + Send + Sync + 'static,
    {
        let meter = Meter::default();
        let metered = Metered {
            chunks: Box::pin(
                chunks.map(|chunk| chunk.map_err(|error| FrameError::Connection(error.into()))),
            ),
            meter: meter.clone(),
            idle,
            alarm: Box::pin(tokio::time::sleep(idle)),
            has_to_yield: false,
        };
        Frames {
            body: Body::Unknown(Box::pin(metered), Vec::new()),
            meter,
        }
    }

    /// The next event; `None` when the body has ended, and ever after. An error is the last item
    /// too. Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<Result<Frame, FrameError>> {
        let next = self.advance().await.transpose();
        if !matches!(next, Some(Ok(_))) {
            self.body = Body::Ended;
        }
        next
    }

    async fn advance(&mut self) -> Result<Option<Frame>, FrameError> {
        loop {
            match &mut self.body {
                Body::Unknown(chunks, read) => {
                    let Some(chunk) = chunks.next().await.transpose()? else {
                        return Ok(None);
                    };
                    read.extend_from_slice(&chunk);
                    self.recognise()?;
                }
                Body::Events(events) => {
                    let Some(event) = events.next().await.transpose().map_err(unwrap)? else {
                        return Ok(None);
                    };
                    self.meter.start_event();
                    if let Some(frame) = event
                        .data
                        .and_then(|data| frame(event.event.as_deref(), data))
                    {
                        return Ok(Some(frame));
                    }
                }
                Body::Document(chunks, read) => {
                    while let Some(chunk) = chunks.next().await.transpose()? {
                        read.extend_from_slice(&chunk);
                    }
                    let document =
                        String::from_utf8(std::mem::take(read)).map_err(|_| FrameError::NotUtf8)?;
                    self.body = Body::Ended;
                    return Ok(Some(Frame::Document(document)));
                }
                Body::Ended => return Ok(None),
            }
        }
    }

    /// Decides by the first byte that is not white space; the content type is no help, since
    /// proxies drop it and servers get it wrong.
    fn recognise(&mut self) -> Result<(), FrameError> {
        const BOM: &[u8] = b"\xEF\xBB\xBF";
        let Body::Unknown(_, read) = &self.body else {
            return Ok(());
        };
        let text = read.strip_prefix(BOM).unwrap_or(read).trim_ascii_start();
        let Some(&first) = text.first() else {
            return Ok(());
        };
        if BOM.starts_with(read) {
            return Ok(());
        }
        if first == b'<' {
            let start = String::from_utf8_lossy(text)
                .chars()
                .take(QUOTED_CHARS)
                .collect();
            return Err(FrameError::NotAReply { start });
        }
        let text = text.to_vec();
        let Body::Unknown(chunks, read) = std::mem::replace(&mut self.body, Body::Ended) else {
            return Ok(());
        };
        self.body = if matches!(first, b'{' | b'[') {
            Body::Document(chunks, text)
        } else {
            let read = stream::iter([Ok(Bytes::from(read))]);
            // Closes the last event. Two line ends, because the last line may lack its own; more do
            // no harm.
            let ending = stream::iter([Ok(Bytes::from_static(b"\n\n"))]);
            Body::Events(Box::pin(SseByteStream::new(Box::pin(
                read.chain(chunks).chain(ending),
            ))))
        };
        Ok(())
    }
}

fn frame(event: Option<&str>, data: String) -> Option<Frame> {
    let payload = data.trim();
    if payload.is_empty() || payload.starts_with(':') {
        None
    } else if payload == "[DONE]" {
        Some(Frame::Done)
    } else if event == Some("error") {
        Some(Frame::Error(data))
    } else {
        Some(Frame::Data(data))
    }
}

fn unwrap(error: sse_stream::Error) -> FrameError {
    match error {
        sse_stream::Error::Body(error) => match error.downcast::<FrameError>() {
            Ok(error) => *error,
            Err(error) => FrameError::Connection(error),
        },
        sse_stream::Error::Utf8Parse(_) => FrameError::NotUtf8,
        other => FrameError::Connection(other.into()),
    }
}

/// Counts the bytes of an event and of the reply. The parser sits between those who count up and
/// who starts anew, hence the sharing.
#[derive(Debug, Clone, Default)]
struct Meter {
    event: Arc<AtomicUsize>,
    reply: Arc<AtomicUsize>,
}

impl Meter {
    fn start_event(&self) {
        self.event.store(0, Ordering::Relaxed);
    }

    fn add(&self, bytes: usize) -> Result<(), FrameError> {
        for (count, limit) in [
            (&self.event, MAX_EVENT_BYTES),
            (&self.reply, MAX_REPLY_BYTES),
        ] {
            if count.fetch_add(bytes, Ordering::Relaxed) > limit.saturating_sub(bytes) {
                return Err(FrameError::TooLarge { limit });
            }
        }
        Ok(())
    }
}

/// Chunks with limits on size and time, not more than one at a poll.
struct Metered {
    chunks: Chunks,
    meter: Meter,
    idle: Duration,
    alarm: Pin<Box<Sleep>>,
    /// Whether a chunk was given since others had a turn.
    has_to_yield: bool,
}

impl Stream for Metered {
    type Item = Result<Bytes, FrameError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if std::mem::take(&mut self.has_to_yield) {
            context.waker().wake_by_ref();
            return Poll::Pending;
        }
        match self.chunks.as_mut().poll_next(context) {
            Poll::Ready(Some(Ok(chunk))) => {
                self.has_to_yield = true;
                let deadline = Instant::now() + self.idle;
                self.alarm.as_mut().reset(deadline);
                Poll::Ready(Some(self.meter.add(chunk.len()).map(|()| chunk)))
            }
            Poll::Ready(other) => Poll::Ready(other),
            Poll::Pending => self
                .alarm
                .as_mut()
                .poll(context)
                .map(|()| Some(Err(FrameError::Idle(self.idle)))),
        }
    }
}

#[cfg(test)]
#[path = "framing_tests.rs"]
mod tests;
