//! One connected server: a component that speaks the protocol, kept in one task as long as the connection lives.
//!
//! The task owns the store. It takes one call after the other from a channel, and attends meanwhile to what the server says
//! unasked, at a pace of its own. Whoever gives up waiting has the bridge told so, and the server by it; a bridge
//! that does not come back then is dropped with its connection. What broke is never used again: another is made.

use std::fmt;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::JoinHandle;
use tokio::time::Instant;
use tokio_util::sync::{CancellationToken, DropGuard};
use wasmtime::Store;

use super::connection::{ServerCall, ServerConnection, Terms};
use super::engine::BridgeEngine;
use super::offered::{Listed, listed, server_info};
use super::options::ServerInfo;
use super::transport::Connection;
use crate::bindings::bridge::McpBridge;
use crate::bindings::bridge::exports::dunlin::tool::mcp_client as wire;
use crate::capability::CallState;
use crate::display;
use crate::engine::time_limit::Clock;
use crate::limits::{ATTEND_PERIOD, BRIDGE_GRACE, MAX_LISTED, MAX_SERVER_TOOLS, RELIST_PERIOD};

/// What is wanted of a server.
#[derive(Debug)]
pub(crate) enum Request {
    CallTool { name: String, arguments: String },
    ListResources,
    ReadResource(String),
    ListPrompts,
    GetPrompt(String, Vec<(String, String)>),
}

/// What came of it.
#[derive(Debug)]
pub(crate) enum Reply {
    Content(Vec<wire::Content>),
    Resources(Vec<wire::ResourceInfo>),
    Prompts(Vec<wire::Prompt>),
}

/// Why nothing came of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum BridgeError {
    /// The server refused, in its words.
    Refused(String),
    /// The tool failed, in its words.
    Tool(String),
    /// The end of a sentence that starts with the server's name: `has ended`.
    Broken(String),
    /// It took longer than it may.
    TimedOut(Duration),
    /// Nobody wanted it any more.
    Cancelled,
}

/// The end of a sentence that starts with the server's name. What the server said is escaped.
impl fmt::Display for BridgeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BridgeError::Broken(why) => f.write_str(&display::escape(why)),
            BridgeError::Refused(text) | BridgeError::Tool(text) => {
                write!(f, "refused: {}", display::escape(text))
            }
            BridgeError::TimedOut(limit) => {
                let seconds = limit.as_secs();
                write!(f, "did not answer within {seconds} s (timeout_secs)")
            }
            BridgeError::Cancelled => f.write_str("was interrupted"),
        }
    }
}

struct Command {
    request: Request,
    server_call: ServerCall,
    end: CancellationToken,
    reply: oneshot::Sender<Result<Reply, BridgeError>>,
}

/// A connected server. Dropping it closes the connection.
#[derive(Debug)]
pub(crate) struct Bridge {
    commands: mpsc::Sender<Command>,
    task: JoinHandle<()>,
    pub(crate) server_info: ServerInfo,
    /// Why it ended, once it has.
    ended: Arc<OnceLock<BridgeError>>,
    /// What it offers by now.
    pub(crate) tools: watch::Receiver<Arc<Listed>>,
    /// That the connection is to be closed in good order.
    closing: CancellationToken,
    /// That its task is over.
    gone: CancellationToken,
}

impl Drop for Bridge {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Bridge {
    /// Introduces both sides to each other. `limit` bounds all of it.
    pub(crate) async fn connect(
        engine: Arc<BridgeEngine>,
        mut state: CallState,
        connection: Connection,
        terms: Terms,
        limit: Duration,
    ) -> Result<Bridge, BridgeError> {
        state.connect(ServerConnection::new(connection, terms));
        let (begun, connected) = oneshot::channel();
        let (commands, wanted) = mpsc::channel(1);
        let (tells, tools) = watch::channel(Arc::default());
        let ended = Arc::default();
        let closing = CancellationToken::new();
        let gone = CancellationToken::new();
        let worker = Worker {
            engine,
            limit,
            tells,
            ended: Arc::clone(&ended),
            closing: closing.clone(),
            _gone: gone.clone().drop_guard(),
        };
        let task = tokio::spawn(worker.work(state, begun, wanted));
        // In the same breath: a future that is dropped takes the task with it.
        let mut bridge = Bridge {
            commands,
            task,
            server_info: ServerInfo::default(),
            ended,
            tools,
            closing,
            gone,
        };
        let server_info = connected.await;
        bridge.server_info = server_info.unwrap_or(Err(BridgeError::Broken("broke".to_owned())))?;
        Ok(bridge)
    }

    /// Whether it can still be used.
    pub(crate) fn is_alive(&self) -> bool {
        !self.commands.is_closed()
    }

    /// Takes leave of the server and waits until it is gone, once it has answered what it was asked before. Whoever
    /// calls bounds the time; dropping the bridge cuts the connection off.
    pub(crate) async fn close(&self) {
        self.closing.cancel();
        self.gone.cancelled().await;
    }

    /// Wants something of the server. Dropping the future tells the server so.
    pub(crate) async fn request(
        &self,
        request: Request,
        server_call: ServerCall,
    ) -> Result<Reply, BridgeError> {
        let (reply, answer) = oneshot::channel();
        let end = CancellationToken::new();
        let _given_up = end.clone().drop_guard();
        let command = Command {
            request,
            server_call,
            end,
            reply,
        };
        let gone = || {
            let ended = self.ended.get().cloned();
            ended.unwrap_or_else(|| BridgeError::Broken("has ended".to_owned()))
        };
        self.commands.send(command).await.map_err(|_| gone())?;
        answer.await.unwrap_or_else(|_| Err(gone()))
    }
}

/// What came of one function of the component: its answer, or the end of the component.
enum Outcome<T> {
    Answered(Result<T, wire::Failure>),
    /// It came back without an answer because time was up.
    Late,
    Dead(BridgeError),
}

struct Worker {
    engine: Arc<BridgeEngine>,
    limit: Duration,
    tells: watch::Sender<Arc<Listed>>,
    /// Why it ended, for whoever comes too late.
    ended: Arc<OnceLock<BridgeError>>,
    /// That leave is to be taken.
    closing: CancellationToken,
    _gone: DropGuard,
}

impl Worker {
    async fn work(
        self,
        state: CallState,
        begun: oneshot::Sender<Result<ServerInfo, BridgeError>>,
        mut wanted: mpsc::Receiver<Command>,
    ) {
        let mut store = self.engine.store(state);
        let (bridge, server_info) = match self.begin(&mut store).await {
            Ok(begun) => begun,
            Err(error) => {
                // Whoever waited may be gone.
                let _ = begun.send(Err(error));
                return;
            }
        };
        if begun.send(Ok(server_info)).is_err() {
            return;
        }
        let mut attended = Instant::now();
        let mut relisted = Instant::now();
        let mut is_stale = false;
        loop {
            let due = attended + ATTEND_PERIOD;
            let again = relisted + RELIST_PERIOD;
            let said = async {
                match store.data_mut().chat.connection.as_mut() {
                    Some(connection) => connection.arrived().await,
                    None => std::future::pending().await,
                }
                tokio::time::sleep_until(due).await;
            };
            let is_over = tokio::select! {
                biased;
                command = wanted.recv() => match command {
                    Some(command) => {
                        self.serve(&bridge, &mut store, command, &mut wanted).await
                    }
                    None => return,
                },
                () = tokio::time::sleep_until(again), if is_stale => {
                    is_stale = false;
                    relisted = Instant::now();
                    let listed = self.list(&bridge, &mut store).await;
                    listed.is_err_and(|why| self.ended.set(why).is_ok())
                }
                () = self.closing.cancelled() => {
                    if let Some(connection) = store.data_mut().chat.connection.as_mut() {
                        connection.close().await;
                    }
                    true
                }
                () = said => false,
            };
            if is_over {
                return;
            }
            attended = Instant::now();
            match self.process_messages(&bridge, &mut store).await {
                Ok(changes) => is_stale |= changes.contains(wire::ListChanges::TOOLS),
                Err(why) => {
                    let _ = self.ended.set(why);
                    return;
                }
            }
        }
    }

    async fn begin(
        &self,
        store: &mut Store<CallState>,
    ) -> Result<(McpBridge, ServerInfo), BridgeError> {
        let clock = Clock::start(self.limit);
        store.data_mut().context.clock = clock.clone();
        let bridge = {
            let _running = self.engine.running();
            let made = self.engine.instantiate(store);
            tokio::select! {
                biased;
                made = made => made,
                () = clock.expired() => return Err(BridgeError::TimedOut(self.limit)),
            }
        };
        let explained = |error| BridgeError::Broken(self.engine.explain(&error, store.data()));
        let bridge = bridge.map_err(explained)?;
        let (name, version) = self.engine.introduction();
        let connected = self
            .call(store, &clock, async |store| {
                let client = bridge.dunlin_tool_mcp_client();
                client.call_connect(store, name, version).await
            })
            .await;
        let server = self.settled(store, connected)?;
        let mut server_info = server_info(server);
        if server_info.has_resources {
            // Many say that they have some and have none: the model is not to be told of that.
            let listed = self
                .call(store, &clock, async |store| {
                    bridge
                        .dunlin_tool_mcp_client()
                        .call_list_resources(store, 1)
                        .await
                })
                .await;
            server_info.has_resources = match self.settled(store, listed) {
                Ok(things) => !things.is_empty(),
                Err(BridgeError::Refused(_)) => false,
                Err(error) => return Err(error),
            };
        }
        if server_info.has_tools {
            self.list(&bridge, store).await?;
        }
        Ok((bridge, server_info))
    }

    /// Asks for the tools, and tells what they are.
    async fn list(
        &self,
        bridge: &McpBridge,
        store: &mut Store<CallState>,
    ) -> Result<(), BridgeError> {
        let clock = Clock::start(self.limit);
        let listed_tools = self
            .call(store, &clock, async |store| {
                let client = bridge.dunlin_tool_mcp_client();
                client.call_list_tools(store, MAX_SERVER_TOOLS).await
            })
            .await;
        let definitions = self.settled(store, listed_tools)?;
        let _ = self.tells.send(Arc::new(listed(definitions)));
        Ok(())
    }

    async fn process_messages(
        &self,
        bridge: &McpBridge,
        store: &mut Store<CallState>,
    ) -> Result<wire::ListChanges, BridgeError> {
        let clock = Clock::start(BRIDGE_GRACE);
        let attended = self
            .call(store, &clock, async |store| {
                bridge
                    .dunlin_tool_mcp_client()
                    .call_process_messages(store)
                    .await
            })
            .await;
        self.settled(store, attended)
    }

    /// Performs one command; whether that was the last.
    async fn serve(
        &self,
        bridge: &McpBridge,
        store: &mut Store<CallState>,
        command: Command,
        wanted: &mut mpsc::Receiver<Command>,
    ) -> bool {
        let Command {
            request,
            server_call,
            end,
            reply,
        } = command;
        let clock = Clock::start(self.limit);
        let data = store.data_mut();
        data.begin_call(server_call);
        data.context.clock = clock.clone();
        if let Some(connection) = &mut data.chat.connection {
            connection.end = end.clone();
        }
        let client = bridge.dunlin_tool_mcp_client();
        let outcome = self
            .call(store, &clock, async |store| match &request {
                Request::CallTool { name, arguments } => {
                    let content = client.call_call_tool(store, name, arguments).await?;
                    Ok(content.map(Reply::Content))
                }
                Request::ListResources => {
                    let things = client.call_list_resources(store, MAX_LISTED).await?;
                    Ok(things.map(Reply::Resources))
                }
                Request::ReadResource(uri) => {
                    let content = client.call_read_resource(store, uri).await?;
                    Ok(content.map(Reply::Content))
                }
                Request::ListPrompts => {
                    let prompts = client.call_list_prompts(store, MAX_LISTED).await?;
                    Ok(prompts.map(Reply::Prompts))
                }
                Request::GetPrompt(name, arguments) => {
                    let content = client.call_get_prompt(store, name, arguments).await?;
                    Ok(content.map(Reply::Content))
                }
            })
            .await;
        let is_over = match &outcome {
            Outcome::Answered(Err(wire::Failure::Closed(_))) | Outcome::Dead(_) => true,
            Outcome::Answered(_) | Outcome::Late => false,
        };
        store.data_mut().end_call();
        let answer = self.settled(store, outcome);
        if is_over {
            // Before the answer: whoever has it must not find this one alive.
            wanted.close();
            if let Err(why) = &answer {
                let _ = self.ended.set(why.clone());
            }
        }
        // Whoever asked may be gone.
        let _ = reply.send(answer);
        is_over
    }

    /// Runs one function of the component within a time limit, and until nobody wants it any more.
    async fn call<T>(
        &self,
        store: &mut Store<CallState>,
        clock: &Clock,
        function: impl AsyncFnOnce(&mut Store<CallState>) -> wasmtime::Result<Result<T, wire::Failure>>,
    ) -> Outcome<T> {
        let end = match &store.data().chat.connection {
            Some(connection) => connection.end.clone(),
            None => return Outcome::Dead(BridgeError::Broken("has no connection".to_owned())),
        };
        let _running = self.engine.running();
        let mut is_late = false;
        let outcome = {
            let mut work = pin!(function(store));
            let stopped = tokio::select! {
                biased;
                outcome = &mut work => Ok(outcome),
                () = clock.expired() => Err(true),
                () = end.cancelled() => Err(false),
            };
            match stopped {
                Ok(outcome) => Some(outcome),
                Err(late) => {
                    is_late = late;
                    end.cancel();
                    tokio::time::timeout(BRIDGE_GRACE, work).await.ok()
                }
            }
        };
        let given_up = match is_late {
            true => BridgeError::TimedOut(self.limit),
            false => BridgeError::Cancelled,
        };
        match outcome {
            Some(Ok(Err(wire::Failure::Cancelled))) if is_late => Outcome::Late,
            Some(Ok(answer)) => Outcome::Answered(answer),
            Some(Err(error)) => {
                let why = self.engine.explain(&error, store.data());
                Outcome::Dead(BridgeError::Broken(format!(
                    "broke its bridge, which {why}"
                )))
            }
            None => Outcome::Dead(given_up),
        }
    }

    /// An outcome in words, and a fresh start for the next call.
    fn settled<T>(
        &self,
        store: &mut Store<CallState>,
        outcome: Outcome<T>,
    ) -> Result<T, BridgeError> {
        if let Some(connection) = &mut store.data_mut().chat.connection {
            connection.end = CancellationToken::new();
        }
        match outcome {
            Outcome::Answered(Ok(value)) => Ok(value),
            Outcome::Dead(error) => Err(error),
            Outcome::Late => Err(BridgeError::TimedOut(self.limit)),
            Outcome::Answered(Err(failure)) => Err(match failure {
                wire::Failure::Cancelled => BridgeError::Cancelled,
                wire::Failure::Closed(why) => BridgeError::Broken(why),
                wire::Failure::Refused(text) => BridgeError::Refused(text),
                wire::Failure::Tool(text) => BridgeError::Tool(text),
                wire::Failure::Invalid(why) => {
                    BridgeError::Broken(format!("cannot be understood: {why}"))
                }
            }),
        }
    }
}
