//! What the server may want of this side: to ask the user or the model, to say how far it is, to say that its lists changed.

use std::cell::Cell;
use std::future::Future;

use rmcp::ClientHandler;
use rmcp::model::{
    ClientConfig, ElicitRequestParams, ElicitResult, ErrorData, ProgressNotificationParam,
};
#[expect(
    deprecated,
    reason = "servers of the revisions that have it still send it"
)]
use rmcp::model::{
    CreateMessageRequestParams, CreateMessageResult, ListRootsResult,
    LoggingMessageNotificationParam,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};

use crate::bindings::dunlin::tool::chat;
use crate::bindings::dunlin::tool::log::{Level, log};
use crate::bindings::exports::dunlin::tool::mcp_client::ListChanges;
use crate::{elicit, sampling};

thread_local! {
    static CHANGES: Cell<ListChanges> = const { Cell::new(ListChanges::empty()) };
}

/// The lists that changed since this was called last.
pub fn take_changes() -> ListChanges {
    CHANGES.replace(ListChanges::empty())
}

fn changed(list: ListChanges) {
    CHANGES.set(CHANGES.get() | list);
}

/// This side of the conversation.
#[derive(Debug)]
pub struct Client {
    config: ClientConfig,
}

impl Client {
    /// With what it introduces itself.
    pub fn new(config: ClientConfig) -> Client {
        Client { config }
    }
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }

    fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ElicitResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(elicit::answer(&request)))
    }

    #[expect(
        deprecated,
        reason = "servers of the revisions that have it still send it"
    )]
    fn create_message(
        &self,
        params: CreateMessageRequestParams,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<CreateMessageResult, ErrorData>> + Send + '_ {
        std::future::ready(sampling::answer(params))
    }

    #[expect(
        deprecated,
        reason = "servers of the revisions that have it still send it"
    )]
    fn list_roots(
        &self,
        _context: RequestContext<RoleClient>,
    ) -> impl Future<Output = Result<ListRootsResult, ErrorData>> + Send + '_ {
        std::future::ready(Ok(sampling::roots()))
    }

    fn on_progress(
        &self,
        progress: ProgressNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        let percent = progress
            .total
            .filter(|total| *total > 0.0)
            .map(|total| (progress.progress / total * 100.0).clamp(0.0, 100.0) as u8);
        chat::progress(progress.message.as_deref().unwrap_or_default(), percent);
        std::future::ready(())
    }

    #[expect(
        deprecated,
        reason = "servers of the revisions that have it still send it"
    )]
    fn on_logging_message(
        &self,
        message: LoggingMessageNotificationParam,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        let text = match message.data {
            serde_json::Value::String(text) => text,
            data => data.to_string(),
        };
        log(Level::Info, &text);
        std::future::ready(())
    }

    fn on_tool_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        changed(ListChanges::TOOLS);
        std::future::ready(())
    }

    fn on_resource_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        changed(ListChanges::RESOURCES);
        std::future::ready(())
    }

    fn on_prompt_list_changed(
        &self,
        _context: NotificationContext<RoleClient>,
    ) -> impl Future<Output = ()> + Send + '_ {
        changed(ListChanges::PROMPTS);
        std::future::ready(())
    }
}
