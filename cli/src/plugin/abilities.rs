//! What the imports of a plugin let it ask for, in words.

/// Imports and what they are good for. What a person need not decide about says so.
const WORDS: [(&str, &str); 13] = [
    (
        "chat",
        "shows how far it is, and asks you questions in words",
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
    (
        "search",
        "the search engine, each search checked or asked about",
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

/// An import in words; `None`: it is no ability, but a way to use one.
pub fn in_words(import: &str) -> Option<&'static str> {
    let found = WORDS.iter().find(|(name, _)| *name == import);
    found.map(|(_, words)| *words)
}
