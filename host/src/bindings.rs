//! The contract in Rust, generated from `wit/`.

#![allow(missing_docs, reason = "generated; the documentation stands in wit/")]

pub(crate) mod declared;

wasmtime::component::bindgen!({
    path: "../wit",
    world: "everything",
    imports: {
        "dunlin:tool/log": trappable,
        "dunlin:tool/tool-types": trappable,
        "dunlin:tool/chat.progress": trappable,
        "dunlin:tool/search.address": trappable,
        "dunlin:tool/background": trappable,
        "dunlin:tool/clock": trappable,
        "dunlin:tool/random": trappable,
        "dunlin:tool/embedding.model": trappable,
        default: async | trappable,
    },
    exports: { default: async },
    trappable_error_type: {
        "dunlin:tool/types.error" => crate::capability::refusal::Refusal,
    },
    with: {
        "dunlin:tool/tool-types.tool-info": self::declared::DeclaredTool,
        "dunlin:tool/tool-types.plugin-info": self::declared::DeclaredPlugin,
        "dunlin:tool/tool-types.call": self::declared::ProposedCall,
        "dunlin:tool/tool-types.command-line": self::declared::DeclaredCommand,
        "dunlin:tool/tool-types.plan": self::declared::DeclaredPlan,
        "dunlin:tool/tool-types.failure": self::declared::DeclaredFailure,
        "dunlin:tool/tool-types.output": self::declared::DeclaredOutput,
        "dunlin:tool/files.file": crate::capability::resources::OpenFile,
        "dunlin:tool/files.metadata": self::declared::FoundMetadata,
        "dunlin:tool/web.request": self::declared::DeclaredRequest,
        "dunlin:tool/mcp.connection": crate::capability::resources::OpenConnection,
        "dunlin:tool/process.command": crate::capability::resources::StartedCommand,
        "dunlin:tool/web.response": crate::capability::resources::OpenResponse,
        "dunlin:tool/tree.folder": crate::capability::resources::OpenFolder,
    },
});

pub use self::{Everything as Plugin, EverythingPre as PluginPre};

/// What the parsers are asked.
pub(crate) mod syntax {
    wasmtime::component::bindgen!({
        path: "wit/syntax",
        world: "syntax-checker",
        exports: { default: async },
    });
}

/// The other side of a bridge.
pub(crate) mod bridge {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "mcp-bridge",
        imports: { default: async | trappable },
        exports: { default: async },
    });
}

/// The programs of apps. What they import is linked like the imports of tools, except for the page.
pub(crate) mod app {
    wasmtime::component::bindgen!({
        path: "../wit",
        world: "app",
        imports: {
            "dunlin:tool/app-page": trappable,
            default: async | trappable,
        },
        exports: { default: async },
        with: {
            "dunlin:tool/types": crate::bindings::dunlin::tool::types,
            "dunlin:tool/files": crate::bindings::dunlin::tool::files,
            "dunlin:tool/web": crate::bindings::dunlin::tool::web,
            "dunlin:tool/store": crate::bindings::dunlin::tool::store,
            "dunlin:tool/log": crate::bindings::dunlin::tool::log,
            "dunlin:tool/clock": crate::bindings::dunlin::tool::clock,
            "dunlin:tool/random": crate::bindings::dunlin::tool::random,
        },
    });
}
