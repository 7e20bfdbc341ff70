//! Dunlin's built-in tools, compiled to WebAssembly components and embedded.

/// One embedded component.
#[derive(Debug, Clone, Copy)]
pub struct Embedded {
    /// The plugin's name: the folder it stands in.
    pub name: &'static str,
    pub bytes: &'static [u8],
    /// SHA-256 of the component, lower-case hexadecimal, computed when it was built.
    pub digest: &'static str,
    /// What its tools say of themselves, so that they are known before anything of it was loaded.
    pub description: Option<Description>,
}

/// What the tools of a component say of themselves.
#[derive(Debug, Clone, Copy)]
pub struct Description {
    /// The version of the contract it was built for.
    pub contract: &'static str,
    /// What the component imports, as it names it.
    pub imports: &'static [&'static str],
    pub tools: &'static [ToolTexts],
}

/// The texts of a tool.
#[derive(Debug, Clone, Copy)]
pub struct ToolTexts {
    /// What the model calls it.
    pub name: &'static str,
    /// What it does, for the model.
    pub description: &'static str,
    /// JSON Schema of what it takes.
    pub parameters: &'static str,
    /// A name for people; empty where it has none.
    pub title: &'static str,
    /// JSON Schema of its structured result; empty where it has none.
    pub output_schema: &'static str,
    /// Whether it is destructive and idempotent: `y`, `n` or `?` for each.
    pub hints: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/embedded.rs"));

/// What the projects of plugin authors are given, so that they build without this one.
pub mod author {
    include!(concat!(env!("OUT_DIR"), "/texts.rs"));
    include!(concat!(env!("OUT_DIR"), "/c.rs"));
}

/// What speaks the Model Context Protocol.
pub mod bridge {
    use super::Embedded;

    include!(concat!(env!("OUT_DIR"), "/bridge.rs"));
}

/// What runs the programs of apps.
pub mod app_engine {
    use super::Embedded;

    include!(concat!(env!("OUT_DIR"), "/app_engine.rs"));
}
