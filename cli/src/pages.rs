//! The pages of `docs/` that are about using Dunlin, in the program itself: `dunlin help TOPIC` prints one.

use dunlin_host::nearest::nearest;

/// A page.
#[derive(Debug, Clone, Copy)]
pub struct Page {
    /// What it is called: its file without `.md`.
    pub name: &'static str,
    /// Its Markdown.
    pub text: &'static str,
}

/// Lists pages by their names.
macro_rules! pages {
    ($($name:literal),* $(,)?) => {
        &[$(Page {
            name: $name,
            text: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/", $name, ".md")),
        }),*]
    };
}

/// All of them, in the order of the list in the README.
pub const PAGES: &[Page] = pages![
    "chat",
    "scripting",
    "editors",
    "configuration",
    "instructions",
    "permissions",
    "commands",
    "hooks",
    "editing",
    "finding-files",
    "web",
    "request-editor",
    "requests",
    "apps",
    "subagents",
    "sessions",
    "inspect-protocol",
    "code-search",
    "providers",
    "local-models",
    "mcp",
    "plugins",
    "plugin-reference",
    "security",
];

/// The page of that name.
pub fn find(name: &str) -> Option<&'static Page> {
    PAGES.iter().find(|page| page.name == name)
}

/// The page whose name is like a mistyped one.
pub fn near(name: &str) -> Option<&'static str> {
    nearest(name, PAGES.iter().map(|page| page.name))
}

/// The names.
pub fn all() -> impl Iterator<Item = &'static str> {
    PAGES.iter().map(|page| page.name)
}

/// The names, as one line lists them.
pub fn names() -> String {
    all().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages for those who work on Dunlin itself.
    const FOR_DEVELOPERS: [&str; 4] = ["architecture", "benchmarks", "building", "contract"];

    #[test]
    fn every_page_of_the_folder_is_a_topic() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs");
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut files: Vec<String> = entries
            .filter_map(|entry| entry.file_name().into_string().ok())
            .filter_map(|name| name.strip_suffix(".md").map(str::to_owned))
            .filter(|name| !FOR_DEVELOPERS.contains(&name.as_str()))
            .collect();
        let mut topics: Vec<&str> = PAGES.iter().map(|page| page.name).collect();
        files.sort();
        topics.sort_unstable();
        assert_eq!(topics, files);
        assert!(PAGES.iter().all(|page| page.text.starts_with("# ")));
    }
}
