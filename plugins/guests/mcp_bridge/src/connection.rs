//! Between the SDK, which waits for many things at once, and the host, which is asked for one.
//!
//! The SDK runs on a runtime with one thread, which comes here when nothing can go on: then, and only then, the next
//! message is fetched from the host. That is the only place in which the component ever waits.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::io;
use std::task::{Poll, Waker};

use rmcp::service::{RoleClient, RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::runtime::{Builder, Runtime};

use crate::bindings::dunlin::tool::log::{Level, log};
use crate::bindings::dunlin::tool::mcp::{self, Incoming};
use crate::bindings::dunlin::tool::types::Error;
use crate::bindings::exports::dunlin::tool::mcp_client::Failure;

/// Messages that one look at what came attends to, at most. A server that talks without end is heard in portions, at the
/// pace of the host.
const MAX_ATTENDED: usize = 64;

/// The SDK's end of the connection.
#[derive(Debug)]
pub struct HostTransport;

/// What is done when nothing can go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Idle {
    /// The next message is waited for.
    Wait,
    /// It is looked whether there is one, so many times more; 0: that was it.
    Look(usize),
}

struct State {
    connection: Option<mcp::Connection>,
    idle: Idle,
    arrived: VecDeque<RxJsonRpcMessage<RoleClient>>,
    /// Who waits for a message.
    receiver: Option<Waker>,
    /// Who waits for an answer.
    caller: Option<Waker>,
    /// Whether nothing can go on, and nothing more is waited for.
    at_rest: bool,
    cancelled: bool,
    closed: Option<String>,
}

thread_local! {
    static STATE: RefCell<State> = const {
        RefCell::new(State {
            connection: None,
            idle: Idle::Look(0),
            arrived: VecDeque::new(),
            receiver: None,
            caller: None,
            at_rest: false,
            cancelled: false,
            closed: None,
        })
    };
    static RUNTIME: RefCell<Option<Runtime>> = const { RefCell::new(None) };
}

/// Takes the connection over from the host.
pub fn open() -> Result<(), Failure> {
    let runtime = Builder::new_current_thread()
        .on_thread_park(idle)
        .build()
        .map_err(|e| Failure::Invalid(format!("the bridge does not start: {e}")))?;
    RUNTIME.set(Some(runtime));
    let connection = mcp::open().map_err(|e| Failure::Closed(text_of(e)))?;
    STATE.with_borrow_mut(|state| state.connection = Some(connection));
    Ok(())
}

/// Works until there is an answer, until the connection dies, or until the host does not want it any more. The server is
/// told of the last: the SDK does so when a request is dropped.
pub fn drive<T>(work: impl Future<Output = T>) -> Result<T, Failure> {
    STATE.with_borrow_mut(|state| {
        state.idle = Idle::Wait;
        state.cancelled = false;
    });
    let outcome = {
        let mut work = std::pin::pin!(work);
        block_on(poll_fn(|context| {
            if let Poll::Ready(value) = work.as_mut().poll(context) {
                return Poll::Ready(Ok(value));
            }
            STATE.with_borrow_mut(|state| {
                state.caller = Some(context.waker().clone());
                match &state.closed {
                    Some(why) => Poll::Ready(Err(Failure::Closed(why.clone()))),
                    None if state.cancelled => Poll::Ready(Err(Failure::Cancelled)),
                    None => Poll::Pending,
                }
            })
        }))
    };
    match outcome {
        Some(Err(Failure::Cancelled)) => {
            until_at_rest(Idle::Look(0));
            Err(Failure::Cancelled)
        }
        Some(outcome) => outcome,
        None => Err(Failure::Closed("the bridge does not run".to_owned())),
    }
}

/// Attends to what came meanwhile, without waiting for more.
pub fn process_messages() -> Result<(), Failure> {
    until_at_rest(Idle::Look(MAX_ATTENDED));
    STATE.with_borrow(|state| match &state.closed {
        Some(why) => Err(Failure::Closed(why.clone())),
        None => Ok(()),
    })
}

/// Goes on as long as anything can go on.
fn until_at_rest(idle: Idle) {
    STATE.with_borrow_mut(|state| {
        state.idle = idle;
        state.at_rest = false;
    });
    block_on(poll_fn(|context| {
        STATE.with_borrow_mut(|state| {
            state.caller = Some(context.waker().clone());
            match state.at_rest {
                true => Poll::Ready(()),
                false => Poll::Pending,
            }
        })
    }));
}

fn block_on<T>(work: impl Future<Output = T>) -> Option<T> {
    RUNTIME.with_borrow(|runtime| runtime.as_ref().map(|runtime| runtime.block_on(work)))
}

/// Nothing can go on without something from the host. Whoever waits is woken afterwards, so that the thread never
/// really sleeps: nobody could wake it.
fn idle() {
    let (idle, connection) = STATE.with_borrow_mut(|state| (state.idle, state.connection.take()));
    let incoming = match (idle, &connection) {
        (Idle::Look(0), _) => Incoming::Nothing,
        (_, None) => Incoming::Closed("there is no connection".to_owned()),
        (Idle::Wait, Some(connection)) => connection.receive(true),
        (Idle::Look(_), Some(connection)) => connection.receive(false),
    };
    let message = match &incoming {
        Incoming::Message(text) => understood(text),
        _ => None,
    };
    let (receiver, caller) = STATE.with_borrow_mut(|state| {
        state.connection = connection;
        state.at_rest = !matches!(incoming, Incoming::Message(_));
        if let Idle::Look(more) = idle {
            state.idle = Idle::Look(more.saturating_sub(1));
        }
        match incoming {
            Incoming::Nothing | Incoming::Message(_) => {}
            Incoming::Cancelled => state.cancelled = true,
            Incoming::Closed(why) => state.closed = Some(why),
        }
        state.arrived.extend(message);
        let receiver = match state.arrived.is_empty() {
            true => None,
            false => state.receiver.take(),
        };
        (receiver, state.caller.take())
    });
    for waker in [receiver, caller].into_iter().flatten() {
        waker.wake();
    }
}

/// A message, if it is one. What is none is nobody's answer, and whoever waits for one goes on waiting.
fn understood(text: &str) -> Option<RxJsonRpcMessage<RoleClient>> {
    match serde_json::from_str(text) {
        Ok(message) => Some(message),
        Err(error) => {
            log(
                Level::Warn,
                &format!("the server sent something that is not a message: {error}"),
            );
            None
        }
    }
}

impl Transport<RoleClient> for HostTransport {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        // Done at once: the order of messages is the order of these calls.
        std::future::ready(send(&message))
    }

    fn receive(&mut self) -> impl Future<Output = Option<RxJsonRpcMessage<RoleClient>>> + Send {
        // A dead connection stays silent: the SDK would wait for a clock to end, and there is none. Who calls hears of it.
        poll_fn(|context| {
            STATE.with_borrow_mut(|state| match state.arrived.pop_front() {
                Some(message) => Poll::Ready(Some(message)),
                None => {
                    state.receiver = Some(context.waker().clone());
                    Poll::Pending
                }
            })
        })
    }

    fn close(&mut self) -> impl Future<Output = io::Result<()>> + Send {
        std::future::ready(Ok(()))
    }
}

fn send(message: &TxJsonRpcMessage<RoleClient>) -> io::Result<()> {
    let text = serde_json::to_string(message)?;
    let connection = STATE.with_borrow_mut(|state| state.connection.take());
    let Some(connection) = connection else {
        return Err(io::ErrorKind::NotConnected.into());
    };
    let sent = connection.send(&text);
    STATE.with_borrow_mut(|state| state.connection = Some(connection));
    sent.map_err(|e| io::Error::other(text_of(e)))
}

/// An error's own words.
pub fn text_of(error: Error) -> String {
    match error {
        Error::NotFound(text)
        | Error::WrongKind(text)
        | Error::Invalid(text)
        | Error::TooLarge(text)
        | Error::Conflict(text)
        | Error::TimedOut(text)
        | Error::Unavailable(text)
        | Error::Unsupported(text)
        | Error::Failed(text) => text,
        Error::Cancelled => "cancelled".to_owned(),
        Error::Denied(_) => "denied".to_owned(),
    }
}
