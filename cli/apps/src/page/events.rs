//! What the server tells open browsers: server-sent events.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use bytes::Bytes;
use hyper::body::{Body, Frame};
use parking_lot::Mutex;
use serde_json::json;
use tokio::sync::{mpsc, watch};

/// Windows that show a page at one time. Each holds a connection open, and browsers open six to one server: the others are
/// for calls. One more window takes the place of the oldest.
const MAX_STREAMS: usize = 3;

/// Events that wait for a browser. One that is busy for a second may be sent as many.
const MAX_WAITING: usize = 1000;

/// Bytes that wait for a browser, so that what an app sends to a browser that hangs cannot fill the memory. An event that is
/// larger would never be sent. How large an event of an app may be is for its back end to say, far below that.
const MAX_WAITING_BYTES: usize = 4 << 20;

/// Milliseconds after which a browser connects again when its connection broke.
const RETRY_MS: u32 = 500;

/// An event that was not sent, because it is larger than what may wait for a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the event has {0} bytes; {MAX_WAITING_BYTES} are allowed")]
pub struct EmitError(pub usize);

/// The open streams.
pub(super) struct Streams {
    open: Arc<Mutex<VecDeque<Stream>>>,
    /// How many browsers still read, those whose streams were ended included.
    count: watch::Sender<usize>,
}

impl Default for Streams {
    fn default() -> Self {
        Self {
            open: Arc::default(),
            count: watch::Sender::new(0),
        }
    }
}

/// Our end of a stream. Dropping it ends the stream behind what waits.
struct Stream {
    to: mpsc::Sender<Bytes>,
    waiting_bytes: Arc<AtomicUsize>,
    lost: u64,
}

impl Streams {
    /// Opens a stream that starts with what is shown now.
    pub(super) fn open(&self, announcement: &str) -> EventBody {
        // Those of the ends of a stream find room even when events do not.
        let (to, from) = mpsc::channel(MAX_WAITING + 2);
        let mut stream = Stream {
            to,
            waiting_bytes: Arc::default(),
            lost: 0,
        };
        let body = EventBody {
            from,
            waiting_bytes: Arc::clone(&stream.waiting_bytes),
            open: Arc::clone(&self.open),
            count: self.count.clone(),
        };
        let retry = format!("retry: {RETRY_MS}\n{}", message("content", announcement));
        stream.send(Bytes::from(retry));
        let mut open = self.open.lock();
        if open.len() >= MAX_STREAMS
            && let Some(mut oldest) = open.pop_front()
        {
            oldest.send(message("replaced", "{}").into());
        }
        open.push_back(stream);
        self.count.send_modify(|count| *count += 1);
        body
    }

    /// Tells all browsers what to show from now on.
    pub(super) fn announce(&self, announcement: &str) {
        let message = Bytes::from(message("content", announcement));
        // A stream without room ends: its browser connects again, and gets what is shown then.
        self.open.lock().retain_mut(|it| it.send(message.clone()));
    }

    /// Sends an event of the app.
    pub(super) fn emit(&self, event: &str, payload: &str) -> Result<(), EmitError> {
        let size = event.len().saturating_add(payload.len());
        if size > MAX_WAITING_BYTES {
            return Err(EmitError(size));
        }
        let event = json!(event);
        let message = message(
            "emit",
            &format!("{{\"event\":{event},\"payload\":{payload}}}"),
        );
        let message = Bytes::from(message);
        for stream in self.open.lock().iter_mut() {
            stream.emit(&message);
        }
        Ok(())
    }

    /// Tells all browsers that there will be nothing more, and ends their streams.
    pub(super) fn close(&self) {
        for mut stream in self.open.lock().drain(..) {
            stream.send(message("closed", "{}").into());
        }
    }

    pub(super) fn watch(&self) -> watch::Receiver<usize> {
        self.count.subscribe()
    }
}

impl Stream {
    /// Sends what a browser must not miss. Whether there was room.
    fn send(&mut self, message: Bytes) -> bool {
        let length = message.len();
        self.waiting_bytes.fetch_add(length, Ordering::Relaxed);
        self.to.try_send(message).is_ok()
    }

    /// Sends what a browser misses when it does not keep up.
    fn emit(&mut self, message: &Bytes) {
        let bytes = self.waiting_bytes.load(Ordering::Relaxed);
        let is_full = bytes.saturating_add(message.len()) > MAX_WAITING_BYTES
            || self.to.max_capacity() - self.to.capacity() >= MAX_WAITING;
        if is_full {
            self.lost = self.lost.saturating_add(1);
            return;
        }
        if self.lost > 0 {
            let lost = self::message("lost", &json!({ "events": self.lost }).to_string());
            self.lost = 0;
            self.send(lost.into());
        }
        self.send(message.clone());
    }
}

/// A message in the format of server-sent events.
fn message(kind: &str, data: &str) -> String {
    // In JSON, the end of a line is only ever space; in this format, it ends the data.
    let data = data.replace(['\r', '\n'], " ");
    format!("event: {kind}\ndata: {data}\n\n")
}

/// The browser's end of a stream.
pub(super) struct EventBody {
    from: mpsc::Receiver<Bytes>,
    waiting_bytes: Arc<AtomicUsize>,
    open: Arc<Mutex<VecDeque<Stream>>>,
    count: watch::Sender<usize>,
}

impl Body for EventBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.from.poll_recv(context).map(|message| {
            let message = message?;
            self.waiting_bytes
                .fetch_sub(message.len(), Ordering::Relaxed);
            Some(Ok(Frame::data(message)))
        })
    }
}

impl Drop for EventBody {
    fn drop(&mut self) {
        self.from.close();
        self.open.lock().retain(|it| !it.to.is_closed());
        self.count.send_modify(|count| *count -= 1);
    }
}
