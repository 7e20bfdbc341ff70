use std::collections::BTreeMap;

use super::*;
use crate::{MemoryStore, Query};
use proptest::prelude::*;

/// A tree of files that can be changed.
#[derive(Debug, Clone, Default)]
struct Files(BTreeMap<String, (u64, String)>);

impl Files {
    fn new(files: &[(&str, &str)]) -> Self {
        let mut all = Self::default();
        for (path, text) in files {
            all.write(path, text);
        }
        all
    }

    fn write(&mut self, path: &str, text: &str) {
        let modified = self.0.get(path).map_or(1, |(modified, _)| modified + 1);
        self.0.insert(path.to_owned(), (modified, text.to_owned()));
    }

    fn metadata(&self) -> Vec<FileMetadata> {
        self.0
            .iter()
            .map(|(path, (modified, text))| FileMetadata {
                path: path.clone(),
                size: text.len() as u64,
                modified: *modified,
            })
            .collect()
    }

    fn read(&self) -> impl FnMut(&str) -> Option<Vec<u8>> {
        |path| self.0.get(path).map(|(_, text)| text.clone().into_bytes())
    }

    fn update(&self, store: &mut MemoryStore) -> Progress {
        let mut index = Index::open(store).unwrap();
        index
            .update(store, &self.metadata(), &mut self.read(), &mut |_| true)
            .unwrap()
    }

    fn ask(&self, store: &mut MemoryStore, text: &str) -> Vec<String> {
        let query = Query {
            text: text.to_owned(),
            ..Query::default()
        };
        let mut index = Index::open(store).unwrap();
        let answer = index.search(store, &query, &mut self.read(), None).unwrap();
        answer.hits.into_iter().map(|hit| hit.path).collect()
    }
}

const READ: &str =
    "/// Reads a whole file.\nfn read_file(path: &Path) -> Bytes {\n    open(path).bytes()\n}\n";
const SEND: &str =
    "/// Sends a message.\nfn send_message(to: &Peer) {\n    to.socket().write()\n}\n";

#[test]
fn what_is_asked_is_found() {
    let files = Files::new(&[("src/read.rs", READ), ("src/net.rs", SEND)]);
    let mut store = MemoryStore::default();
    let progress = files.update(&mut store);
    assert!(progress.is_complete());
    assert_eq!((progress.files, progress.indexed), (2, 2));
    assert_eq!(
        files.ask(&mut store, "How does file reading work?")[0],
        "src/read.rs"
    );
    assert_eq!(
        files.ask(&mut store, "Where are messages sent?")[0],
        "src/net.rs"
    );
    assert!(files.ask(&mut store, "zebra").is_empty());
}

#[test]
fn a_hit_is_a_whole_function() {
    let text = format!("{SEND}\n{READ}\n{SEND}");
    let files = Files::new(&[("src/all.rs", &text)]);
    let mut store = MemoryStore::default();
    files.update(&mut store);
    let query = Query {
        text: "read a file".to_owned(),
        ..Query::default()
    };
    let mut index = Index::open(&store).unwrap();
    let answer = index
        .search(&mut store, &query, &mut files.read(), None)
        .unwrap();
    let hit = &answer.hits[0];
    assert_eq!((hit.start_line, hit.end_line), (6, 9));
    assert_eq!(hit.symbol.as_deref(), Some("read_file"));
    assert_eq!(hit.text, READ);
}

#[test]
fn changes_are_followed() {
    let mut files = Files::new(&[("a.rs", READ), ("b.rs", SEND)]);
    let mut store = MemoryStore::default();
    files.update(&mut store);

    files.write("a.rs", "fn paint_window() {}\n");
    let mut read = Vec::new();
    let mut index = Index::open(&store).unwrap();
    let mut source = files.read();
    let progress = index
        .update(
            &mut store,
            &files.metadata(),
            &mut |path| {
                read.push(path.to_owned());
                source(path)
            },
            &mut |_| true,
        )
        .unwrap();
    drop(source);
    assert!(progress.is_complete());
    assert_eq!(read, ["a.rs"]);
    assert!(files.ask(&mut store, "read file").is_empty());
    assert_eq!(files.ask(&mut store, "paint the window"), ["a.rs"]);

    // Another branch: one file is gone, another is there.
    files.0.remove("a.rs");
    files.write("c.rs", READ);
    files.update(&mut store);
    assert!(files.ask(&mut store, "paint the window").is_empty());
    assert_eq!(files.ask(&mut store, "read file"), ["c.rs"]);
}

#[test]
fn an_update_goes_on_where_the_last_was_stopped() {
    let mut files = Files::default();
    for number in 0..20 {
        files.write(
            &format!("f{number:02}.rs"),
            &format!("fn thing_{number}() {{}}\n"),
        );
    }
    let mut store = MemoryStore::default();
    let mut steps = 0;
    loop {
        let mut index = Index::open(&store).unwrap();
        let mut left = 3;
        let progress = index
            .update(
                &mut store,
                &files.metadata(),
                &mut files.read(),
                &mut |_| {
                    left -= 1;
                    left > 0
                },
            )
            .unwrap();
        steps += 1;
        assert!(progress.indexed <= 3 * steps);
        if progress.is_complete() {
            break;
        }
    }
    assert_eq!(steps, 7);
    assert_eq!(files.ask(&mut store, "thing 13")[0], "f13.rs");
    // Many small segments were read together.
    files.write("z.rs", "fn z() {}");
    files.update(&mut store);
    assert!(store.blobs.len() < 2 * 8, "{:?}", store.blobs.keys());
    assert_eq!(files.ask(&mut store, "thing 17")[0], "f17.rs");
}

#[test]
fn what_is_not_worth_reading_is_not_read_again() {
    let mut files = Files::new(&[("a.rs", READ), ("b.bin", "x"), ("c.rs", "fn c() {}\0")]);
    files.write("d.rs", &"fn large() {}\n".repeat(100_000));
    let mut store = MemoryStore::default();
    files.update(&mut store);
    let mut index = Index::open(&store).unwrap();
    assert_eq!(index.files(), 1);
    let progress = index
        .update(
            &mut store,
            &files.metadata(),
            &mut |path| panic!("reads {path}"),
            &mut |_| true,
        )
        .unwrap();
    assert!(progress.is_complete());
}

#[test]
fn alike_hits_are_one() {
    let files = Files::new(&[("a.rs", READ), ("b.rs", READ), ("c.rs", SEND)]);
    let mut store = MemoryStore::default();
    files.update(&mut store);
    assert_eq!(files.ask(&mut store, "read file").len(), 1);
}

#[test]
fn globs_choose_where_to_look() {
    let files = Files::new(&[
        ("a/x.rs", READ),
        ("b/x.rs", &READ.replace("open", "close_all_of")),
    ]);
    let mut store = MemoryStore::default();
    files.update(&mut store);
    let query = Query {
        text: "read file".to_owned(),
        globs: vec!["b/**".to_owned()],
        ..Query::default()
    };
    let mut index = Index::open(&store).unwrap();
    let answer = index
        .search(&mut store, &query, &mut files.read(), None)
        .unwrap();
    assert_eq!(answer.hits.len(), 1);
    assert_eq!(answer.hits[0].path, "b/x.rs");
}

#[test]
fn source_stands_before_tests_and_prose() {
    let files = Files::new(&[
        (
            "README.md",
            "# Read file\n\nread file, read file, how to read a file\n",
        ),
        (
            "tests/read_file.rs",
            "fn read_file_test() { read_file(); read_file(); }\n",
        ),
        ("src/a.rs", READ),
    ]);
    let mut store = MemoryStore::default();
    files.update(&mut store);
    assert_eq!(files.ask(&mut store, "read a file")[0], "src/a.rs");
    assert_eq!(
        files.ask(&mut store, "Where is the test of reading a file?")[0],
        "tests/read_file.rs"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn damage_leads_to_reading_again(blob: prop::sample::Index, at: prop::sample::Index, change: u8, cut: bool) {
        let files = Files::new(&[("src/read.rs", READ), ("src/net.rs", SEND)]);
        let mut store = MemoryStore::default();
        files.update(&mut store);
        let name = blob.get(&store.blobs.keys().cloned().collect::<Vec<_>>()).clone();
        let bytes = store.blobs.get_mut(&name).unwrap();
        let at = at.index(bytes.len());
        if cut {
            bytes.truncate(at);
        } else {
            bytes[at] ^= change.max(1);
        }
        // What is wrong is noticed at the latest by a question.
        files.ask(&mut store, "read file");
        let progress = files.update(&mut store);
        prop_assert!(progress.is_complete());
        prop_assert_eq!(&files.ask(&mut store, "read file")[0], "src/read.rs");
        prop_assert_eq!(&files.ask(&mut store, "send message")[0], "src/net.rs");
    }
}
