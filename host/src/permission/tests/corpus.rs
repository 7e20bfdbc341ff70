//! Rows that were real defects of other programs: what a path, an address or a key may look like, and what has
//! to come of it.

use super::*;
use crate::permission::key::Decided;

/// What a rule says and what it has to mean for a target.
#[test]
fn paths() {
    use Verdict::{Allow, Ask, Deny};
    let fixture = Fixture::new();
    for folder in ["outside/data/private/public", "outside/Data"] {
        std::fs::create_dir_all(fixture.root.join(folder)).unwrap();
    }
    for (link, to) in [
        ("project/out", "../outside"),
        ("project/dangling", "../outside/data/new"),
        ("project/secret-link", ".env"),
        ("outside/back", "../project/src"),
    ] {
        symlink(to, fixture.root.join(link)).unwrap();
    }
    let permissions = fixture.open();
    for (key, bits) in [
        ("../outside/data/", "r??"),
        ("../outside/data/private/", "---"),
        ("../outside/data/private/public/", "r??"),
        ("../outside/data/private/public/not", "-??"),
    ] {
        permissions.set(key, bits).unwrap();
    }
    use Operation::{Execute, Read, Write};
    for (written, operation, expected, why) in [
        ("../outside/data/a", Read, Allow, "below a folder"),
        ("../outside/data", Read, Allow, "the folder itself"),
        ("../outside/data-2/a", Read, Ask, "a name that begins alike"),
        ("../outside/database", Read, Ask, "a name that begins alike"),
        (
            "../outside/data/private/a",
            Read,
            Deny,
            "a deny below an allow",
        ),
        (
            "../outside/data/private/public/a",
            Read,
            Allow,
            "an allow below a deny below an allow",
        ),
        (
            "../outside/data/private/public/not",
            Read,
            Deny,
            "and a deny below that",
        ),
        (
            "../outside/data/private/public/a",
            Write,
            Deny,
            "the deny above, where nothing nearer decides",
        ),
        (
            "../outside/data/a",
            Write,
            Ask,
            "reading implies no writing",
        ),
        ("../outside/data/a", Execute, Ask, "nor running"),
        (
            "../outside/data/public/../private/a",
            Read,
            Deny,
            "`..` is resolved first",
        ),
        (
            "src/../../outside/data/private/a",
            Read,
            Deny,
            "`..` out of the project",
        ),
        ("out/data/private/a", Read, Deny, "through a link"),
        ("out/data/a", Read, Allow, "through a link"),
        ("out/a", Read, Ask, "a link out of the project is outside"),
        (
            "out/../project/src/main.rs",
            Read,
            Allow,
            "`..` behind a link, as the kernel reads it",
        ),
        (
            "../outside/back/main.rs",
            Read,
            Allow,
            "a link into the project is inside",
        ),
        (
            "dangling",
            Read,
            Allow,
            "a link to nowhere is the file it would make",
        ),
        (
            "dangling",
            Write,
            Ask,
            "a link to nowhere is the file it would make",
        ),
        (
            "new/folder/file",
            Read,
            Allow,
            "what is not there belongs to where it would be",
        ),
        (
            "new/folder/file",
            Write,
            Ask,
            "what is not there belongs to where it would be",
        ),
        ("secret-link", Read, Ask, "a secret under another name"),
        (".ENV", Read, Ask, "a secret in another case"),
        (".env.local", Read, Ask, "a secret"),
        (
            "../outside/DATA/private/a",
            Read,
            Ask,
            "another folder where case counts",
        ),
        (
            "../outside/Data/a",
            Read,
            Ask,
            "another folder where case counts",
        ),
        (
            "..//outside/./data//private///a",
            Read,
            Deny,
            "needless slashes and dots",
        ),
    ] {
        let target = permissions.resolve_path(written).unwrap();
        let need = Need { target, operation };
        assert_eq!(
            verdict(&permissions, &need),
            expected,
            "{operation:?} {written}: {why}"
        );
    }
    // Writing implies no reading either: each is decided by itself.
    permissions.set("../outside/drop", "?w?").unwrap();
    let need = |operation| fixture.need("outside/drop", operation);
    assert_eq!(verdict(&permissions, &need(Write)), Allow);
    assert_eq!(verdict(&permissions, &need(Read)), Ask);
}

#[test]
fn addresses() {
    use Verdict::{Allow, Ask, Deny};
    let fixture = Fixture::new();
    let permissions = fixture.open();
    for (key, bits) in [
        ("https://api.example/", "r??"),
        ("https://api.example/private/", "-??"),
        ("https://api.example/private/open/", "r??"),
        ("https://other.example:8443", "r??"),
        ("http://plain.example/page", "r??"),
        ("https://evil.example", "---"),
    ] {
        permissions.set(key, bits).unwrap();
    }
    for (written, expected, why) in [
        ("https://api.example/x", Allow, "below a host"),
        (
            "http://api.example/x?q#f",
            Allow,
            "http is https, the query is not part",
        ),
        (
            "https://API.Example:443/x",
            Allow,
            "case and the default port",
        ),
        (
            "https://api.example./x",
            Allow,
            "the dot of an absolute name",
        ),
        (
            "https://api.example:8443/x",
            Ask,
            "another port is another target",
        ),
        ("https://sub.api.example/x", Ask, "a host is not a wildcard"),
        (
            "https://api.example.evil.example/",
            Ask,
            "a host that begins alike",
        ),
        ("https://notapi.example/", Ask, "a host that ends alike"),
        (
            "https://api.example/private/x",
            Deny,
            "a deny below an allow",
        ),
        (
            "https://api.example/private/open/x",
            Allow,
            "an allow below a deny",
        ),
        (
            "https://api.example/privateer",
            Allow,
            "a path that begins alike",
        ),
        ("https://api.example/open/../private/x", Deny, "dots"),
        (
            "https://api.example/open/%2e%2e/private/x",
            Deny,
            "encoded dots",
        ),
        ("https://api.example/%70rivate/x", Deny, "needless encoding"),
        ("https://api.example/private%2fx", Deny, "an encoded slash"),
        (
            "https://api.example/private%5cx",
            Deny,
            "an encoded backslash",
        ),
        ("https://api.example\\private\\x", Deny, "backslashes"),
        ("https://api.example//private/x", Deny, "two slashes"),
        (
            "https://api.example/%2Fprivate/x",
            Deny,
            "two slashes, one of them encoded",
        ),
        (
            "https://api.example/private/?open/",
            Deny,
            "what stands in the query",
        ),
        ("https://other.example:8443/x", Allow, "a port of its own"),
        ("https://other.example/x", Ask, "a port of its own"),
        ("https://plain.example/page?x", Allow, "one page"),
        (
            "https://plain.example//page",
            Ask,
            "what a server may take for it is not what was allowed",
        ),
        ("https://plain.example/%2Fpage", Ask, "the same, encoded"),
        (
            "https://plain.example/page/x",
            Ask,
            "not what lies below it",
        ),
        ("https://plain.example/", Ask, "nor above"),
        ("https://evil.example./", Deny, "a deny with the dot"),
        ("https://EVIL.example", Deny, "a deny in another case"),
        ("https://ｅvil.example/", Deny, "a deny in wide letters"),
        (
            "https://evil。example/",
            Deny,
            "a deny with another full stop",
        ),
        (
            "https://%65vil.example/",
            Deny,
            "a deny with an encoded host",
        ),
        ("https://еvil.example/", Ask, "a look-alike is another host"),
    ] {
        let target = resolve::url(written).unwrap();
        let operation = Operation::Read;
        let need = Need { target, operation };
        assert_eq!(verdict(&permissions, &need), expected, "{written}: {why}");
    }
    // What would not mean what it says is not a key.
    for typed in [
        "https://*.example/",
        "https://user@api.example/",
        "https://api.example/?all",
        "https://api.example/#x",
        "https://api.example/a%2f..%2fb",
    ] {
        assert!(permissions.set(typed, "r--").is_err(), "{typed}");
        assert!(
            permissions.allow_for_session(typed, "r??").is_err(),
            "{typed}"
        );
    }
}

/// Every explanation names what would change it, and doing that does.
#[test]
fn the_way_out_leads_out() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("../outside/denied/", "---").unwrap();
    permissions.set("https://api.example/", "r--").unwrap();
    for typed in [
        "src/main.rs",
        ".env",
        "../outside/notes.txt",
        "../outside/denied/a b",
        "../outside/100%41",
        "https://api.example/x?y",
        "https://api.example/",
        "https://new.example/a",
    ] {
        for at in 0..Operation::ALL.len() {
            let (_, before) = permissions.explain(typed).unwrap();
            let way_out = before[at].way_out.clone().unwrap();
            permissions
                .set_one(&way_out.target, way_out.operation, way_out.decided)
                .unwrap();
            let (_, after) = permissions.explain(typed).unwrap();
            for (other, (before, after)) in before.iter().zip(&after).enumerate() {
                if other != at {
                    assert_eq!(before.verdict, after.verdict, "{typed} {way_out:?}");
                    continue;
                }
                let expected = match before.verdict {
                    Verdict::Allow => Verdict::Deny,
                    Verdict::Deny | Verdict::Ask => Verdict::Allow,
                };
                assert_eq!(after.verdict, expected, "{typed} {way_out:?}");
            }
        }
    }
    let (_, own) = permissions.explain("../config/config.toml").unwrap();
    assert!(own.iter().all(|explained| explained.way_out.is_none()));
    assert_eq!(
        permissions.stale_keys().unwrap().len(),
        3,
        "{:?}",
        permissions.stale_keys()
    );
}

/// What was denied for lack of an answer can be set, target by target, all at once.
#[test]
fn the_ways_to_allow_allow() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    permissions.set("../outside/notes.txt", "?-?").unwrap();
    let need = |target: Target, operation| Need { target, operation };
    let path = |path: &str| Target::Path(fixture.root.join(path));
    let page = Target::Url("https://new.example/a".into());
    let needs = [
        need(path("outside/notes.txt"), Operation::Read),
        need(path("config/config.toml"), Operation::Read),
        need(path("outside/notes.txt"), Operation::Execute),
        need(page.clone(), Operation::Write),
    ];
    let ways = permissions.ways_to_allow(&needs);
    assert_eq!(ways.len(), 3, "{ways:?}");
    for way in ways {
        permissions
            .set_one(&way.target, way.operation, way.decided)
            .unwrap();
    }
    let bits: Vec<String> = permissions
        .list()
        .unwrap()
        .into_iter()
        .map(|it| it.bits)
        .collect();
    assert_eq!(bits, ["r-x", "?w?"]);
    for need in &needs {
        let verdict = permissions.decide_for(None, need).unwrap().verdict;
        let expected = match permissions.is_protected(&need.target) {
            true => Verdict::Deny,
            false => Verdict::Allow,
        };
        assert_eq!(verdict, expected, "{need:?}");
    }
}

/// One operation is decided about, the others stay as they are, and what is left open leaves nothing behind.
#[test]
fn one_operation_is_decided_by_hand() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let bits = |key: &str| {
        let list = permissions.list().unwrap();
        let found = list.into_iter().find(|stored| stored.key == key);
        found.map(|stored| stored.bits)
    };
    let set = |target: &str, operation, decided| permissions.set_one(target, operation, decided);
    // A file named like a shell pattern would match is a file like any other.
    std::fs::write(fixture.root.join("project/run"), "").unwrap();
    let key = set("run", Operation::Read, Decided::Deny).unwrap();
    assert!(key.ends_with("/project/run"), "{key}");
    assert_eq!(bits(&key).as_deref(), Some("-??"));
    set("run", Operation::Write, Decided::Allow).unwrap();
    assert_eq!(bits(&key).as_deref(), Some("-w?"));
    set(&key, Operation::Read, Decided::Open).unwrap();
    assert_eq!(bits(&key).as_deref(), Some("?w?"));
    set("run", Operation::Write, Decided::Open).unwrap();
    assert_eq!(bits(&key), None);
    // A compound line can be denied and not allowed, and is taken back by its key.
    let key = set("ls | wc", Operation::Execute, Decided::Deny).unwrap();
    assert_eq!(
        (key.as_str(), bits(&key).as_deref()),
        ("= ls | wc", Some("---"))
    );
    assert!(set("ls | wc", Operation::Execute, Decided::Allow).is_err());
    set(&key, Operation::Execute, Decided::Open).unwrap();
    assert_eq!(bits(&key), None);
    // A command is run, and nothing else.
    assert!(set("= ls | wc", Operation::Read, Decided::Allow).is_err());
    assert!(set("../config/config.toml", Operation::Read, Decided::Allow).is_err());
}
