//! What the server answers.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};

use dunlin_host::Tool;
use dunlin_host::call::{Call, Failure};
use dunlin_host::display::escape;
use rmcp::ErrorData;
use rmcp::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestMethod, CompleteRequestParams,
    CompleteResult, CustomRequest, CustomResult, ErrorCode, Implementation,
    ListPromptsRequestMethod, ListPromptsResult, ListResourceTemplatesRequestMethod,
    ListResourceTemplatesResult, ListResourcesRequestMethod, ListResourcesResult, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::call::{Caller, Running};
use super::closing::Closing;
use super::{GRACE, McpServer, offer, progress};

/// Calls that run or wait for their turn at the same time. The host runs sixteen side by side; a client that sends
/// more than this in advance has lost count.
const MAX_CALLS: usize = 64;

/// Methods that are ours to answer: with these, what is wrong is what came with them.
const METHODS: [&str; 4] = ["initialize", "ping", "tools/call", "tools/list"];

/// What a client's model should know, whatever the tool.
const INSTRUCTIONS: &str = "These tools run in a sandbox. What the user has not allowed beforehand is denied, and \
    the result says which command allows it: tell the user, and do not try another way.";

/// The tools, and the calls that are under way.
pub(super) struct Toolbox {
    server: McpServer,
    closing: Closing,
    /// Numbers the calls: clients may use an id twice, the audit log must not.
    calls: AtomicU64,
    slots: Semaphore,
    warned: Once,
}

impl Toolbox {
    pub(super) fn new(server: McpServer, closing: Closing) -> Toolbox {
        Toolbox {
            server,
            closing,
            calls: AtomicU64::new(1),
            slots: Semaphore::new(MAX_CALLS),
            warned: Once::new(),
        }
    }

    /// Says what the user has to know of calls, such as what hooks say.
    fn show_notices(&self) {
        for notice in self.server.host.take_notices() {
            self.server.ui.warn(&notice);
        }
    }

    /// The tools that this client is offered, by name.
    async fn offered(&self, context: &RequestContext<RoleServer>) -> Vec<Tool> {
        let (mut tools, broken) = self.server.host.tools().await;
        self.warned.call_once(|| self.server.ui.warn_of(&broken));
        let asks = super::call::can_ask(context);
        let allowed = self.server.tools.as_deref();
        tools.retain(|tool| offer::is_offered(&tool.name, allowed, asks));
        tools
    }
}

impl ServerHandler for Toolbox {
    fn get_info(&self) -> ServerConfig {
        let server = Implementation::new("dunlin", env!("CARGO_PKG_VERSION")).with_title("Dunlin");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(server)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        // All tools fit one page, so there is no cursor that could have come from here.
        if let Some(cursor) = request.and_then(|request| request.cursor) {
            let problem = format!("there is no page {cursor:?}; the list has one");
            return Err(ErrorData::invalid_params(problem, None));
        }
        let tools = self.offered(&context).await;
        Ok(ListToolsResult::with_all_items(
            tools.iter().map(offer::offer).collect(),
        ))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Ok(_slot) = self.slots.try_acquire() else {
            let problem = format!("{MAX_CALLS} calls are under way; wait for one of them to end");
            return Err(ErrorData::internal_error(problem, None));
        };
        let name = request.name.into_owned();
        let tools = self.offered(&context).await;
        if !tools.iter().any(|tool| tool.name == name) {
            let near =
                dunlin_host::nearest::nearest(&name, tools.iter().map(|tool| tool.name.as_str()));
            let near = near.map(str::to_owned).into_iter().collect();
            let unknown = Failure::UnknownTool { name, near };
            return Err(ErrorData::invalid_params(unknown.to_string(), None));
        }
        let number = self.calls.fetch_add(1, Ordering::Relaxed);
        let call = Call {
            id: format!("mcp-{number}"),
            tool: name,
            arguments: Value::Object(request.arguments.unwrap_or_default()),
        };
        let token = context.meta.get_progress_token();
        let (progress, pass_on) = progress::channel(token, context.peer.clone());
        let caller = Arc::new(Caller::new(&context));
        let asker = Arc::clone(&caller);
        let running = Running::new(self.server.host.clone(), call);
        let work = async {
            let (result, ()) = tokio::join!(running.run(asker, progress), pass_on);
            result
        };
        let too_late = async {
            self.closing.begun().await;
            tokio::time::sleep(GRACE).await;
        };
        let (why, is_gone) = tokio::select! {
            biased;
            () = context.ct.cancelled() => ("the client cancelled the call", false),
            () = too_late => ("the client has gone", true),
            result = work => {
                self.show_notices();
                return Ok(result.into());
            }
        };
        // The work was dropped, which ended it.
        let ended = running.ended(&caller);
        if ended.is_some() {
            // The SDK sends no response to a call that was cancelled, so the user is told.
            let tool = escape(running.tool());
            let notice = format!("{why} while hooks ran after the edit of {tool}; the edit stays");
            self.server.ui.warn(&notice);
        }
        self.show_notices();
        if !is_gone {
            caller.withdraw().await;
        }
        ended
            .map(Into::into)
            .ok_or_else(|| ErrorData::internal_error(why, None))
    }

    /// What is known by no other name, and what is known and came with something that does not fit.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        Err(if METHODS.contains(&method.as_str()) {
            let problem = format!("the params of {method} do not fit");
            ErrorData::invalid_params(problem, None)
        } else {
            let problem = format!("there is no method {method:?}");
            ErrorData::new(ErrorCode::METHOD_NOT_FOUND, problem, None)
        })
    }

    // The SDK answers these with empty lists. What is not offered is better said not to be there.

    async fn complete(
        &self,
        _request: CompleteRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        Err(ErrorData::method_not_found::<CompleteRequestMethod>())
    }

    async fn list_prompts(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListPromptsRequestMethod>())
    }

    async fn list_resources(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Err(ErrorData::method_not_found::<ListResourcesRequestMethod>())
    }

    async fn list_resource_templates(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Err(ErrorData::method_not_found::<
            ListResourceTemplatesRequestMethod,
        >())
    }
}
