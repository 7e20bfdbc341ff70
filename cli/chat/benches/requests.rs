//! What the log of requests costs, in a session whose requests have a megabyte: what a turn waits for, and what a thread
//! of its own does meanwhile, each beside making and writing out the same body. Prints figures and decides nothing.

use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use bytes::Bytes;
use dunlin_chat::message::{Conversation, Message, Role};
use dunlin_chat::session::record::Speaker;
use dunlin_chat::session::requests::{Kind, RequestFile, Sent, Side};
use dunlin_chat::session::{Session, Store};
use dunlin_chat::turn::Journal;
use serde_json::{Value, json};

/// Messages of the conversation.
const MESSAGES: usize = 2_000;

/// Bytes of a message.
const MESSAGE_BYTES: usize = 500;

/// Requests that are sent, each with one more message than the one before.
const REQUESTS: usize = 300;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> io::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = Store::new(folder.path(), Path::new("/p"));
    let speaker = Speaker {
        agent: "assistant".to_owned(),
        model: "small".to_owned(),
    };
    let session = Session::fresh(&store, "bench", speaker);
    let mut conversation = Conversation::new();
    for index in 0..MESSAGES {
        conversation.push_user(text(index));
        conversation.push_assistant(Message::text(Role::Assistant, "Yes."));
    }
    session.keep(&conversation, &[]);
    let (mut made, mut handed_over, mut logged) = (Vec::new(), Vec::new(), Vec::new());
    for index in 0..REQUESTS {
        conversation.push_user(text(MESSAGES + index));
        session.keep(&conversation, &[]);
        let start = Instant::now();
        let body = body(&conversation);
        made.push(start.elapsed());
        let start = Instant::now();
        let busy = busy();
        session.sent(&Sent {
            kind: Kind::Turn,
            agent: "assistant",
            subagent: None,
            model: "small",
            endpoint: "http://127.0.0.1:8080/v1/chat/completions",
            counted: None,
            original: &body,
            sent: &body,
            edits: &[],
        });
        handed_over.push(self::busy().saturating_sub(busy));
        session.requests().flush();
        // The first one finds everything in the messages, and each other one in the one before.
        logged.push(start.elapsed());
        conversation.push_assistant(Message::text(Role::Assistant, "Yes."));
        session.keep(&conversation, &[]);
    }
    let path = session.entry().path;
    let first = logged.first().copied().unwrap_or_default();
    let start = Instant::now();
    let file = RequestFile::read(&path).map_err(io::Error::other)?;
    let read = start.elapsed();
    let start = Instant::now();
    let last = file.body(REQUESTS as u64, Side::Sent);
    let restored = start.elapsed();
    let bytes = last.map_err(io::Error::other)?.len();

    let made = median(made);
    println!("{REQUESTS} requests, the last one of {bytes} bytes");
    let show = |what: &str, took: Duration| {
        let ratio = took.as_secs_f64() / made.as_secs_f64();
        println!(
            "{what:<42} {:>8.3} ms  {ratio:>6.3}",
            took.as_secs_f64() * 1e3
        );
    };
    show("make and write out a body", made);
    show("hand it to the log (the turn waits)", median(handed_over));
    show("log it (beside the turn)", median(logged));
    show("log the first one (beside the turn)", first);
    show("read the log", read);
    show("restore the last body", restored);
    Ok(())
}

/// The processor time of this thread: on a busy machine the thread of the log may come first, which the request does not
/// wait for, since it is on its way by then.
fn busy() -> Duration {
    use rustix::time::{ClockId, clock_gettime};
    let time = clock_gettime(ClockId::ThreadCPUTime);
    let seconds = time.tv_sec.try_into().unwrap_or_default();
    Duration::new(seconds, time.tv_nsec.try_into().unwrap_or_default())
}

fn text(index: usize) -> String {
    let words = (0..).map(|word| format!("{:x} ", (index + 3) * (word + 7) * 2_654_435 % 65_521));
    let mut text = String::new();
    for word in words {
        text.push_str(&word);
        if text.len() >= MESSAGE_BYTES {
            break;
        }
    }
    text
}

fn body(conversation: &Conversation) -> Bytes {
    let messages = conversation.messages().iter();
    let messages: Vec<Value> = messages
        .map(|message| json!({"role": message.role, "content": message.content}))
        .collect();
    let body = json!({"model": "small", "messages": messages, "stream": true});
    Bytes::from(body.to_string())
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
