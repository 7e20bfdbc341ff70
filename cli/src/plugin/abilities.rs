//! What the imports of a plugin let it ask for, in words.

/// Imports and what they are good for. What a person need not decide about says so.
const WORDS: [(&str, &str); 21] = [
    (
        "background",
        "keeps running after its answer for up to ten minutes, with what was granted to the call",
    ),
    (
        "chat",
        "shows how far it is, and asks you questions in words",
    ),
    ("clock", "the time, and your time zone"),
    (
        "embedding",
        "the embedding model, if you have one; texts for one on a server are shown and asked about",
    ),
    (
        "files",
        "files and folders, each of them checked or asked about",
    ),
    ("log", "notes in Dunlin's log"),
    ("mcp", "the line to an MCP server, which no plugin gets"),
    (
        "process",
        "commands of this machine, each of them checked or asked about",
    ),
    ("random", "random numbers"),
    (
        "search",
        "the search engine, each search checked or asked about",
    ),
    ("settings", "what you set for it: dunlin plugin settings"),
    (
        "store",
        "a folder of its own for each project, up to 512 MiB, which nobody else reads",
    ),
    ("subagent", "subagents, which no plugin can start"),
    (
        "tree",
        "a list of the project's files, and those that may be read without a question",
    ),
    (
        "wasi:cli",
        "prints into Dunlin's log; no arguments, no variables, no input",
    ),
    ("wasi:clocks", "the time"),
    (
        "wasi:filesystem",
        "files and folders through WASI, each of them checked or asked about",
    ),
    (
        "wasi:http",
        "addresses of the web through WASI, each of them checked or asked about",
    ),
    ("wasi:random", "random numbers"),
    ("wasi:sockets", "sockets, and never gets one"),
    (
        "web",
        "addresses of the web, each of them checked or asked about",
    ),
];

/// An import in words; `None`: it is not an ability, but a way to use one.
pub fn in_words(import: &str) -> Option<&'static str> {
    let found = WORDS.iter().find(|(name, _)| *name == import);
    found.map(|(_, words)| *words)
}

#[cfg(test)]
mod tests {
    use super::in_words;

    /// The contract of tools, as it is written.
    const WORLD: &str = include_str!("../../../wit/world.wit");

    #[test]
    fn every_ability_has_words() {
        let imports = WORLD.lines().filter_map(|line| {
            let import = line.trim().strip_prefix("import ")?;
            Some(import.split([';', '@', '/']).next().unwrap_or(import))
        });
        let imports: Vec<&str> = imports.filter(|name| *name != "types").collect();
        assert!(imports.contains(&"tree"), "{imports:?}");
        for import in imports {
            assert!(in_words(import).is_some(), "{import}");
        }
    }
}
