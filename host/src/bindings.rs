//! The contract in Rust, generated from `wit/`.

#![allow(missing_docs, reason = "generated; the documentation stands in wit/")]

wasmtime::component::bindgen!({
    path: "../wit",
    world: "plugin",
    imports: {
        "dunlin:tool/log": trappable,
        "dunlin:tool/chat.progress": trappable,
        "dunlin:tool/search.address": trappable,
        "dunlin:tool/background": trappable,
        "dunlin:tool/embedding.model": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    trappable_error_type: {
        "dunlin:tool/types.error" => crate::capability::Refusal,
    },
    with: {
        "dunlin:tool/files.file": crate::capability::files::OpenFile,
        "dunlin:tool/process.command": crate::capability::process::StartedCommand,
        "dunlin:tool/web.response": crate::capability::web::OpenResponse,
        "dunlin:tool/tree.folder": crate::capability::tree::OpenFolder,
        "dunlin:tool/mcp.line": crate::capability::mcp::TakenLine,
    },
});

/// The other side of a bridge.
pub(crate) mod bridge {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "mcp-bridge",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}
