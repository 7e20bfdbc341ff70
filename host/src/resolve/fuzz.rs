//! Random paths against the kernel, random addresses against what the URL standard says of itself.
//!
//! Some hundred inputs each run; `PROPTEST_CASES=1000000 cargo test --release -p dunlin-host --lib resolve::fuzz`
//! goes on for longer. What was of interest stands in the tables and is tried every time.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::{OpenOptionsExt, symlink};

use ::url::Url;
use proptest::prelude::*;
use proptest::test_runner::TestCaseError;

use super::*;
use crate::permission::key::Key;
use crate::target::Target;

/// Paths of interest, in the tree of [`LINKS`].
const PATHS: &[&str] = &[
    "a/../b",
    "up/b",
    "up/../b",
    "a/up/..",
    "chain/x",
    "circle/..",
    "dangling",
    "dangling/x",
    "file/..",
    "file/../b",
    "file/",
    "far",
    "far/../..",
    "a//b/./c/",
    "..",
    "../..",
    "",
    ".",
    "out/..",
    "itself/x",
    "missing/../a",
    "missing/../up/b",
    "dangling/../b",
];

/// Links of interest: where they are and where they lead.
const LINKS: &[(&str, &str)] = &[
    ("up", ".."),
    ("a/up", "../a/b"),
    ("chain", "up/up"),
    ("circle", "circle"),
    ("dangling", "nowhere/yet"),
    ("file", "b"),
    ("far", "/ROOT/a/b"),
    ("out", "/.."),
    ("itself", "./itself/../itself"),
];

/// Addresses of interest.
const ADDRESSES: &[&str] = &[
    "https://h/a%2f..%2fb",
    "https://h/%2f.%2f",
    "https://h/%2e%2e%2f",
    "https://h/%252e%252e/",
    "https://h./",
    "https://h.:443/",
    "http://h:443/",
    "https://h:80/",
    "http://0x7f.1./",
    "https://[::ffff:127.0.0.1]/",
    "https://h\\@evil/",
    "https://h#@evil/",
    "https://h?@evil/",
    "https://ex%41mple/",
    "https://h/%",
    "https://h/%%32%66x",
    "https://h/%2%66..%2%66x",
    "https://h/;/../",
    "https://h/a\t/..\n/b",
    "https://xn--/",
    "https://h/\u{202e}a",
    "https://ß.example/",
    "https://h/./%2e/%2E%2e/x",
    "https:\\\\h\\..\\x",
    "https://h//..//x",
    "https://h/..%00/x",
    "https://h/.%09./x",
    "https://h/%5c..%5c",
    "https://%68/",
    "https://h%2fevil/",
    "https://h%00/",
    "https://1.2.3/",
];

struct Tree {
    _folder: tempfile::TempDir,
    root: PathBuf,
}

impl Tree {
    /// Some folders and files, and links wherever they fit.
    fn new<'a>(links: impl IntoIterator<Item = (&'a str, &'a str)>) -> Tree {
        let folder = tempfile::tempdir().unwrap();
        let root = std::fs::canonicalize(folder.path()).unwrap();
        let tree = Tree {
            _folder: folder,
            root,
        };
        for (at, to) in links {
            // Two of one name, or below something that is not a folder: the first stays.
            let at = tree.root.join(at);
            let _ = std::fs::create_dir_all(at.parent().unwrap_or(&tree.root));
            let _ = symlink(tree.text(to), at);
        }
        for folder in ["a/b", "b/c"] {
            let _ = std::fs::create_dir_all(tree.root.join(folder));
        }
        for file in ["a/b/c", "c"] {
            let _ = File::create_new(tree.root.join(file));
        }
        tree
    }

    /// A text with the place of the tree in it.
    fn text(&self, text: &str) -> String {
        text.replace("/ROOT", &self.root.to_string_lossy())
    }

    /// The rules lead where the kernel leads.
    fn check(&self, written: &str) -> Result<(), TestCaseError> {
        let places = Places {
            project: self.root.clone(),
            home: None,
        };
        let written = self.text(written);
        let found = places.path(&written);
        let by_kernel = self.root.join(&written);
        // What is there already.
        let mut options = OpenOptions::new();
        options
            .read(true)
            .custom_flags((rustix::fs::OFlags::PATH).bits().cast_signed());
        match options.open(&by_kernel).and_then(|file| place_of(&file)) {
            Ok(place) if !written.is_empty() => {
                prop_assert_eq!(found.as_ref().ok(), Some(&place), "{}", written);
            }
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => {
                prop_assert!(
                    matches!(found, Err(ResolveError::Links { .. })),
                    "{}",
                    written
                );
            }
            _ => {}
        }
        let Ok(found) = found else { return Ok(()) };
        prop_assert!(found.is_absolute());
        prop_assert_eq!(real_path(&found).ok(), Some(found.clone()), "{}", written);
        // What a write would make. Outside of the tree nothing is made.
        if found.starts_with(&self.root) {
            let made = OpenOptions::new()
                .write(true)
                .create_new(false)
                .create(true)
                .truncate(false)
                .open(&by_kernel)
                .and_then(|file| place_of(&file));
            if let Ok(place) = made {
                prop_assert_eq!(&found, &place, "{}", written);
            }
        }
        Ok(())
    }
}

/// Where an open file is.
fn place_of(file: &File) -> io::Result<PathBuf> {
    std::fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd()))
}

fn relative() -> impl Strategy<Value = String> {
    let part = prop::sample::select(vec!["a", "b", "c", "d", "e", "..", "..", ".", ""]);
    prop::collection::vec(part, 0..7).prop_map(|parts| parts.join("/"))
}

fn path() -> impl Strategy<Value = String> {
    (relative(), 0..8_u8).prop_map(|(path, kind)| match kind {
        0 => format!("/ROOT/{path}"),
        _ => path.trim_start_matches('/').to_owned(),
    })
}

fn links() -> impl Strategy<Value = Vec<(String, String)>> {
    let name = prop::sample::select(vec![
        "a", "b", "c", "d", "e", "a/b", "a/d", "b/d", "b/e", "a/b/e",
    ]);
    prop::collection::vec((name.prop_map(str::to_owned), path()), 0..6)
}

fn check_address(written: &str) -> Result<(), TestCaseError> {
    let Ok(Target::Url(address)) = url(written) else {
        return Ok(());
    };
    let found = address.to_string();
    // One spelling: it comes to itself.
    prop_assert_eq!(
        url(&found).ok(),
        Some(Target::Url(address.clone())),
        "{}",
        written
    );
    let (before, after) = (Url::parse(written), Url::parse(&found));
    let (Ok(before), Ok(after)) = (before, after) else {
        return Err(TestCaseError::fail(format!(
            "{written} is not an address: {found}"
        )));
    };
    let host = |url: &Url| match url.host() {
        // The same address in two forms.
        Some(::url::Host::Ipv6(ip)) => Some(std::net::IpAddr::from(ip).to_canonical().to_string()),
        _ => {
            let host = url.host_str()?;
            Some(host.trim_end_matches('.').to_owned())
        }
    };
    prop_assert_eq!(host(&before), host(&after), "{}", written);
    // A person sees the scheme that is used.
    let shown = Url::parse(address.shown());
    prop_assert_eq!(
        shown.as_ref().map(|url| (url.scheme(), url.port())).ok(),
        Some((before.scheme(), before.port())),
        "{}",
        written
    );
    prop_assert_eq!(before.port().or(Some(443)), after.port_or_known_default());
    prop_assert!(!after.host_str().unwrap_or("*").contains('*'));
    prop_assert_eq!(after.scheme(), "https");
    prop_assert!(after.username().is_empty() && after.password().is_none());
    prop_assert!(
        !found.contains(['?', '#', '\\', '\n', '\t', ' ']),
        "{}",
        found
    );
    // No reading of the path leaves the folder that it seems to be in.
    for reading in [Some(found.clone()), loosely_read(&found)]
        .into_iter()
        .flatten()
    {
        let path = reading.splitn(4, '/').nth(3).unwrap_or_default();
        let parts: Vec<String> = path
            .split('/')
            .map(|part| part.replace("%2E", "."))
            .collect();
        prop_assert!(!parts.iter().any(|part| part == ".."), "{}", reading);
    }
    // Query and fragment change nothing.
    if !written.contains(['?', '#']) && !written.ends_with(char::is_whitespace) {
        let more = url(&format!("{written}?q=/../x#/y"));
        prop_assert_eq!(more.ok(), Some(Target::Url(address.clone())), "{}", written);
    }
    // Every rule about it is read from the file as what it is, and is at least the host's.
    let keys = Key::candidates(&Target::Url(address.clone()));
    for key in &keys {
        let read = url_key(&key.to_string()).map(Key::from);
        prop_assert_eq!(read.ok(), Some(key.clone()), "{}", found);
    }
    let origin = format!("{}/", after.origin().ascii_serialization());
    prop_assert!(keys.contains(&Key::UrlBelow(origin)), "{}", found);
    Ok(())
}

fn address() -> impl Strategy<Value = String> {
    let scheme = prop::sample::select(vec![
        "https://",
        "http://",
        "HTTPS:",
        "https:\\\\",
        "https:///",
        " https://",
    ]);
    let host = prop::sample::select(vec![
        "h",
        "Example.COM",
        "h.",
        "h..",
        "bücher.example",
        "ex%61mple",
        "127.1",
        "0x7f000001",
        "[::1]",
        "[::FFFF:1.2.3.4]",
        "u@h",
        "u:p@h",
        "*.h",
        "h%2f",
        "h%00",
        "xn--bcher-kva.example",
        "。",
        "h。x",
        "",
    ]);
    let port = prop::sample::select(vec![
        "", "", "", ":80", ":443", ":8080", ":", ":0", ":65536",
    ]);
    let piece = prop::sample::select(vec![
        "/", "/", "/", "a", "b", ".", "..", "%2e", "%2E%2e", "%2f", "%5C", "%", "%25", "%41",
        "%zz", "\\", ";", "?", "#", "@", ":", "ü", " ", "\t", "\u{202e}", "%00", "//", "%252f",
        "%2", "*",
    ]);
    let path = prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.concat());
    (scheme, host, port, path)
        .prop_map(|(scheme, host, port, path)| format!("{scheme}{host}{port}/{path}"))
}

#[test]
fn inputs_of_interest() {
    let tree = Tree::new(LINKS.iter().copied());
    for path in PATHS {
        tree.check(path).unwrap();
    }
    for address in ADDRESSES {
        check_address(address).unwrap();
    }
}

proptest! {
    #[test]
    fn paths_lead_where_the_kernel_leads(links in links(), paths in prop::collection::vec(path(), 1..8)) {
        let tree = Tree::new(links.iter().map(|(at, to)| (at.as_str(), to.as_str())));
        for path in &paths {
            tree.check(path)?;
        }
    }

    #[test]
    fn addresses_keep_their_host(written in address()) {
        check_address(&written)?;
    }

    #[test]
    fn any_text_has_an_answer(written in "\\PC{0,40}") {
        check_address(&written)?;
        check_address(&format!("https://{written}"))?;
        check_address(&format!("https://h/{written}"))?;
    }
}
