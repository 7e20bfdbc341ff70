//! Bytes to lines: one JSON object each.
//!
//! A line may be cut anywhere by the network, and the last one may lack its end. A body that is a web page is
//! refused. Lines and replies have a largest size, and the time between two bytes has a limit.

use std::collections::VecDeque;
use std::pin::Pin;
use std::time::Duration;

use bytes::Bytes;
use futures::{Stream, StreamExt, stream};
use tokio::time::timeout;

use crate::framing::{Frame, FrameError, MAX_EVENT_BYTES, MAX_REPLY_BYTES};
use crate::reply::FrameStream;

/// How much of a body that is not a reply is quoted, in characters.
const QUOTED_CHARS: usize = 80;

/// The lines of a body; waits at most `idle` for each chunk of it.
pub(super) fn lines<E>(
    chunks: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    idle: Duration,
) -> FrameStream
where
    E: std::error::Error + Send + Sync + 'static,
{
    let chunks = chunks.map(|chunk| chunk.map_err(|error| FrameError::Connection(error.into())));
    let lines = Lines {
        chunks: Box::pin(chunks),
        idle,
        begun: Vec::new(),
        whole: VecDeque::new(),
        received: 0,
        ended: false,
    };
    Box::pin(stream::unfold(lines, |mut lines| async {
        let next = lines.next().await?;
        lines.ended |= next.is_err();
        Some((next, lines))
    }))
}

struct Lines {
    chunks: Pin<Box<dyn Stream<Item = Result<Bytes, FrameError>> + Send>>,
    idle: Duration,
    /// The line that has no end yet.
    begun: Vec<u8>,
    whole: VecDeque<Vec<u8>>,
    received: usize,
    ended: bool,
}

impl Lines {
    async fn next(&mut self) -> Option<Result<Frame, FrameError>> {
        loop {
            while let Some(line) = self.whole.pop_front() {
                if let Some(frame) = frame(line) {
                    return Some(frame);
                }
            }
            if self.ended {
                return None;
            }
            match timeout(self.idle, self.chunks.next()).await {
                Err(_) => return Some(Err(FrameError::Idle(self.idle))),
                Ok(Some(Err(error))) => return Some(Err(error)),
                Ok(Some(Ok(chunk))) => {
                    if let Err(error) = self.take(&chunk) {
                        return Some(Err(error));
                    }
                    // A server that always has something more must not keep an interruption from being noticed.
                    tokio::task::yield_now().await;
                }
                Ok(None) => {
                    self.ended = true;
                    self.whole.push_back(std::mem::take(&mut self.begun));
                }
            }
        }
    }

    fn take(&mut self, chunk: &[u8]) -> Result<(), FrameError> {
        self.received = self.received.saturating_add(chunk.len());
        if self.received > MAX_REPLY_BYTES {
            return Err(FrameError::TooLarge {
                limit: MAX_REPLY_BYTES,
            });
        }
        let mut parts = chunk.split(|byte| *byte == b'\n');
        if let Some(first) = parts.next() {
            self.begun.extend_from_slice(first);
        }
        for part in parts {
            let line = std::mem::replace(&mut self.begun, part.to_vec());
            self.whole.push_back(line);
        }
        if self.begun.len() > MAX_EVENT_BYTES {
            return Err(FrameError::TooLarge {
                limit: MAX_EVENT_BYTES,
            });
        }
        Ok(())
    }
}

/// The frame of a line; none for an empty one.
fn frame(line: Vec<u8>) -> Option<Result<Frame, FrameError>> {
    let Ok(line) = String::from_utf8(line) else {
        return Some(Err(FrameError::NotUtf8));
    };
    let text = line.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        None
    } else if text.starts_with('<') {
        let start = text.chars().take(QUOTED_CHARS).collect();
        Some(Err(FrameError::NotAReply { start }))
    } else {
        Some(Ok(Frame::Data(text.to_owned())))
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    async fn read(chunks: Vec<Vec<u8>>) -> Vec<String> {
        let chunks = stream::iter(
            chunks
                .into_iter()
                .map(|chunk| Ok::<_, Infallible>(Bytes::from(chunk))),
        );
        let frames = lines(chunks, Duration::from_secs(1));
        frames
            .map(|frame| match frame {
                Ok(Frame::Data(line)) => line,
                Ok(other) => format!("{other:?}"),
                Err(error) => error.to_string(),
            })
            .collect()
            .await
    }

    #[tokio::test]
    async fn lines_are_split_anywhere() {
        let body = "{\"a\":\"größe 🐦\"}\r\n\n{\"b\":2}\n{\"c\":3}".as_bytes();
        let expected = ["{\"a\":\"größe 🐦\"}", "{\"b\":2}", "{\"c\":3}"];
        for size in 1..=body.len() {
            let chunks = body.chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(read(chunks).await, expected, "{size}");
        }
        for at in 0..=body.len() {
            let (one, two) = body.split_at(at);
            assert_eq!(
                read(vec![one.to_vec(), two.to_vec()]).await,
                expected,
                "{at}"
            );
        }
    }

    #[tokio::test]
    async fn what_is_no_line_of_json() {
        assert_eq!(read(vec![]).await, Vec::<String>::new());
        assert_eq!(
            read(vec![b"\xff\n".to_vec()]).await,
            ["the reply is not valid UTF-8"]
        );
        assert_eq!(
            read(vec![b"<html>Log in</html>".to_vec()]).await,
            ["the body is not a reply: <html>Log in</html>"]
        );
        let endless = vec![vec![b'x'; 1024 * 1024]; 20];
        assert_eq!(
            read(endless).await,
            [format!(
                "a piece of the reply is larger than {MAX_EVENT_BYTES} bytes"
            )]
        );
    }

    #[tokio::test(start_paused = true)]
    async fn silence_has_a_limit() {
        let chunks = stream::iter([Ok::<_, Infallible>(Bytes::from_static(b"{}\n{"))])
            .chain(stream::pending());
        let frames = lines(chunks, Duration::from_secs(60));
        let seen: Vec<String> = frames
            .map(|frame| frame.map_or_else(|error| error.to_string(), |frame| format!("{frame:?}")))
            .collect()
            .await;
        assert_eq!(seen, ["Data(\"{}\")", "no byte came for 60 s"]);
    }
}
