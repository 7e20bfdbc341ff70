//! What guests can reach, and the one function that decides whether they may.
//!
//! Each ability is one interface of the contract and one module here. Every function that touches
//! something outside the sandbox resolves its target, calls [`CallContext::authorise`], and only then
//! acts, on exactly what was authorised: there is no other way to a file, an address or a program.

pub(crate) mod background;
pub(crate) mod chat;
mod clock;
mod context;
pub(crate) mod declared;
pub(crate) mod edit;
pub(crate) mod embedding;
pub(crate) mod files;
pub(crate) mod lines;
pub(crate) mod log;
pub(crate) mod mcp;
pub(crate) mod page;
pub(crate) mod process;
mod random;
pub(crate) mod refusal;
pub(crate) mod resources;
pub(crate) mod sampling;
pub(crate) mod search;
mod settings;
mod shared;
mod state;
pub(crate) mod store;
pub(crate) mod subagent;
pub(crate) mod tree;
pub(crate) mod wasi;
pub(crate) mod web;
mod web_headers;

use wasmtime::component::{HasSelf, Linker};

pub(crate) use self::context::{
    AppAllowance, AppCounts, BrokenFile, Edits, Phase, ShownRequest, UsedInDescribe, notices,
};
use self::context::{CallContext, Of, View};
pub(crate) use self::shared::Shared;
pub(crate) use self::state::CallState;

/// Wires every interface into a linker: those without a state of their own see its context, the others their view.
pub(crate) fn link(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    use crate::bindings::dunlin::tool;

    macro_rules! view {
        ($own:ident) => {
            |state| View {
                context: &mut state.context,
                own: &mut state.$own,
            }
        };
    }
    tool::tool_types::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::files::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::web::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::search::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::tree::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::store::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::clock::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::random::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::settings::add_to_linker::<_, HasSelf<CallContext>>(linker, |state| &mut state.context)?;
    tool::process::add_to_linker::<_, Of<_>>(linker, view!(commands))?;
    tool::background::add_to_linker::<_, Of<_>>(linker, view!(background))?;
    tool::embedding::add_to_linker::<_, Of<_>>(linker, view!(embeddings))?;
    tool::log::add_to_linker::<_, Of<_>>(linker, view!(messages))?;
    tool::chat::add_to_linker::<_, Of<_>>(linker, view!(chat))?;
    tool::mcp::add_to_linker::<_, Of<_>>(linker, view!(chat))?;
    tool::subagent::add_to_linker::<_, Of<_>>(linker, view!(subagents))?;
    Ok(())
}

/// The same for the programs of apps, which have a page besides.
pub(crate) fn link_app(linker: &mut Linker<CallState>) -> wasmtime::Result<()> {
    use crate::bindings::app::dunlin::tool::app_page;

    app_page::add_to_linker::<_, Of<page::Page>>(linker, |state| View {
        context: &mut state.context,
        own: &mut state.page,
    })
}
