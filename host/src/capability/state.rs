//! All that belongs to one call: its context, and the state of each interface.

use std::sync::Arc;

use wasmtime::component::ResourceTable;
use wasmtime_wasi_http::{WasiHttpCtxView, WasiHttpView};
use wasmtime_wasi_io::IoView;

use super::background::Background;
use super::chat::Chat;
use super::context::{AppAllowance, AppCounts, CallContext, CallerKind, Phase, View};
use super::embedding::Embeddings;
use super::log::Messages;
use super::page::Page;
use super::process::Commands;
use super::shared::Shared;
use super::subagent::SubagentTool;
use super::wasi::{Machine, MachineView};
use crate::app::page::LogLevel;
use crate::ask::Ask;
use crate::audit::AuditError;
use crate::engine::memory_limit::Limiter;
use crate::engine::time_limit::Clock;
use crate::limits::MAX_APP_FETCHES;
use crate::mcp::connection::{ServerCall, ServerConnection};
use crate::permission::PluginId;

/// Everything that belongs to one call. Lives in the store and goes with it.
pub(crate) struct CallState {
    pub(crate) context: CallContext,
    pub(crate) limiter: Limiter,
    pub(crate) messages: Messages,
    pub(crate) chat: Chat,
    pub(crate) commands: Commands,
    pub(crate) embeddings: Embeddings,
    pub(crate) background: Background,
    pub(crate) subagents: SubagentTool,
    pub(crate) page: Page,
    /// What a component made for WASI believes to run on.
    pub(crate) machine: Machine,
}

impl Drop for CallState {
    fn drop(&mut self) {
        if self.context.phase == Phase::Run && !self.context.log.is_closed {
            // The call is over either way; nothing more happens that would have to be logged.
            let _ = self.close(Some("cancelled"));
        }
    }
}

impl CallState {
    pub(crate) fn new(
        shared: Arc<Shared>,
        phase: Phase,
        call: &str,
        tool: &str,
        plugin: Arc<PluginId>,
        clock: Clock,
        limiter: Limiter,
    ) -> CallState {
        CallState {
            context: CallContext::new(shared, phase, call, tool, plugin, clock),
            limiter,
            messages: Messages::default(),
            chat: Chat::default(),
            commands: Commands::default(),
            embeddings: Embeddings::default(),
            background: Background::default(),
            subagents: SubagentTool::default(),
            page: Page::default(),
            machine: Machine::default(),
        }
    }

    /// Writes what was used and how the call ended. Dropping a run that was not closed is a cancellation.
    pub(crate) fn close(&mut self, error: Option<&str>) -> Result<(), AuditError> {
        // What is logged as the end is the end.
        self.machine.stop();
        self.context.close(error)
    }

    /// Writes what the plugin has logged and printed, and how it broke, as the end of a sentence that begins with the tool.
    pub(crate) fn write_messages(&self, broken: Option<&str>) {
        let printed = self.machine.printed();
        self.messages.write(&self.context, printed, broken);
    }

    /// Makes this the state of a bridge, in which no call runs yet.
    pub(crate) fn connect(&mut self, connection: ServerConnection) {
        self.chat.connection = Some(connection);
        self.end_call();
    }

    /// A call begins in a bridge, which outlives it.
    pub(crate) fn begin_call(&mut self, server_call: ServerCall) {
        let context = &mut self.context;
        context.caller.call = server_call.call;
        context.caller.tool = server_call.tool;
        context.caller.arguments = server_call.arguments;
        context.ask = Some(server_call.ask);
        context.progress = Some(server_call.progress);
        self.chat.begin_call();
    }

    /// It is over: nobody is there to be asked or shown anything.
    pub(crate) fn end_call(&mut self) {
        self.context.ask = None;
        self.context.progress = None;
        self.write_messages(None);
        self.messages = Messages::default();
        // What a bridge does is in the log as what its calls do.
        self.context.log.is_closed = true;
    }
}

impl CallState {
    /// Makes this the state of an app, in which nothing runs yet.
    pub(crate) fn open(&mut self, page: Page, ask: Arc<dyn Ask>) {
        self.page = page;
        self.context.ask = Some(ask);
        self.context.caller.kind = CallerKind::App;
        self.context.log.is_closed = true;
    }

    /// Something begins in an app, which outlives it, with the limits of a call.
    pub(crate) fn begin_event(&mut self, call: &str, clock: Clock, allowance: AppAllowance) {
        self.context.begin_event(call, clock, allowance);
        self.limiter.forget_refused();
    }

    /// What the app has asked and sent so far.
    pub(crate) fn app_counts(&self) -> AppCounts {
        self.context.app_counts()
    }

    /// It is over. `broken`: how the app broke. The audit log has it only if something was used, or went wrong: an app may run
    /// a timer for days.
    pub(crate) fn end_event(
        &mut self,
        error: Option<&str>,
        broken: Option<&str>,
    ) -> Result<(), AuditError> {
        for (level, message) in self.messages.kept() {
            self.page.report((*level).into(), message);
        }
        if self.context.web.of_app.take_excess() {
            let note = format!(
                "more than {MAX_APP_FETCHES} requests over the web in a minute: the rest fails"
            );
            self.page.report(LogLevel::Warn, &note);
        }
        self.write_messages(broken);
        self.messages = Messages::default();
        let context = &mut self.context;
        context.shared.permissions.forget_call(&context.caller.call);
        if error.is_some() || context.has_used() {
            return self.close(error);
        }
        context.log.is_closed = true;
        Ok(())
    }
}

impl IoView for CallState {
    fn table(&mut self) -> &mut ResourceTable {
        &mut self.context.handles.table
    }
}

impl WasiHttpView for CallState {
    fn http(&mut self) -> WasiHttpCtxView<'_> {
        self.machine.http_view(&mut self.context.handles.table)
    }
}

impl MachineView for CallState {
    fn machine(&mut self) -> View<'_, Machine> {
        View {
            context: &mut self.context,
            own: &mut self.machine,
        }
    }
}
