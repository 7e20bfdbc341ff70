//! Spellings and what they come to.

use super::*;

fn resolved(written: &str) -> Option<String> {
    url(written).ok().map(|target| target.to_string())
}

#[test]
fn many_spellings_are_one_address() {
    for (written, expected) in [
        // Case, default ports, http, query, fragment, white space around.
        ("HTTPS://Example.COM/A", "https://example.com/A"),
        ("http://example.com", "https://example.com/"),
        ("http://example.com:80/x", "https://example.com/x"),
        ("https://example.com:443/x", "https://example.com/x"),
        ("https://example.com:0443/x", "https://example.com/x"),
        ("http://example.com:8080/x", "https://example.com:8080/x"),
        ("https://example.com/a?q=/../b#f", "https://example.com/a"),
        (" https://example.com/ ", "https://example.com/"),
        // The dot of an absolute name.
        ("https://example.com./x", "https://example.com/x"),
        ("https://example.com.:8443/", "https://example.com:8443/"),
        // Unicode names, and their look-alikes, are seen as what is asked of the name server.
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://BÜCHER.example/", "https://xn--bcher-kva.example/"),
        ("https://ｅxample.com/", "https://example.com/"),
        ("https://ex%61mple.com/", "https://example.com/"),
        ("https://example。com/", "https://example.com/"),
        ("https://аpple.example/", "https://xn--pple-43d.example/"),
        // Addresses of machines.
        ("http://0x7f.1/", "https://127.0.0.1/"),
        ("http://2130706433/", "https://127.0.0.1/"),
        ("http://127.1./", "https://127.0.0.1/"),
        ("http://[::0001]/", "https://[::1]/"),
        // Paths.
        ("https://h/a/../b", "https://h/b"),
        ("https://h/a/./b/", "https://h/a/b/"),
        ("https://h/a/%2e%2E/b", "https://h/b"),
        ("https://h/a/.%2e/b", "https://h/b"),
        (
            "https://[::ffff:93.184.216.34]:1/",
            "https://93.184.216.34:1/",
        ),
        ("https://[::FFFF:5db8:d822]/", "https://93.184.216.34/"),
        (
            "https://[64:ff9b::5db8:d822]/",
            "https://[64:ff9b::5db8:d822]/",
        ),
        ("https://h/../../b", "https://h/b"),
        ("https://h\\a\\b", "https://h/a/b"),
        ("https:h/a", "https://h/a"),
        ("https:///h/a", "https://h/a"),
        ("https://h/%7Euser/%70rivate", "https://h/~user/private"),
        ("https://h/a%2fb", "https://h/a%2Fb"),
        ("https://h/a%252fb", "https://h/a%252fb"),
        ("https://h/100%/%zz", "https://h/100%25/%25zz"),
        ("https://h/%%32%66x", "https://h/%252fx"),
        ("https://h/ü b", "https://h/%C3%BC%20b"),
    ] {
        assert_eq!(resolved(written).as_deref(), Some(expected), "{written}");
        assert_eq!(resolved(expected).as_deref(), Some(expected), "{written}");
    }
}

#[test]
fn what_is_no_address_of_the_web_is_refused() {
    for written in [
        "",
        "example.com",
        "//example.com/",
        "ftp://example.com/",
        "file:///etc/passwd",
        "javascript:alert(1)",
        "https://",
        "https://:80/",
        "https://user@example.com/",
        "https://user:pw@example.com/",
        "https://:pw@example.com/",
        "https://example.com:99999/",
        "https://exa mple.com/",
        "https://example.com../",
        "https://.../",
        "https://*.example.com/",
        "https://*/",
        "https://%2a.example.com/",
        "https://h/public/..%2fprivate",
        "https://h/public/%2e%2e%2fprivate",
        "https://h/public/..%5Cprivate",
        "https://h/public%2f..%2fprivate",
        "https://h/public%2f..",
    ] {
        assert!(url(written).is_err(), "{written}: {:?}", resolved(written));
    }
    let long = format!("https://h/{}", "a".repeat(MAX_URL_BYTES));
    assert!(url(&long).is_err());
}

#[test]
fn rules_cover_what_is_written_in_them() {
    let check = |written: &str, expected: Option<(&str, bool)>| {
        let key = url_key(written).ok();
        let found = key.as_ref().map(|key| (key.url.as_str(), key.below));
        assert_eq!(found, expected, "{written}");
    };
    check("https://h", Some(("https://h/", true)));
    check("https://h/", Some(("https://h/", true)));
    check("http://H:8080", Some(("https://h:8080/", true)));
    check("https://h/a", Some(("https://h/a", false)));
    check("https://h/a/", Some(("https://h/a/", true)));
    // The address of the host's root alone.
    check("https://h/.", Some(("https://h/", false)));
    check("https://h/a/..", Some(("https://h/", false)));
    check("https://h/a/.", Some(("https://h/a/", false)));
    // Wider than it looks, were it taken.
    check("https://h/?q=/", None);
    check("https://h?q", None);
    check("https://h/a#b/", None);
    check("https://*.h/", None);
}

#[test]
fn a_server_may_read_slashes_loosely() {
    for (url, expected) in [
        ("https://h/a/b", None),
        ("https://h/a%2Fb", Some("https://h/a/b")),
        ("https://h//a///b", Some("https://h/a/b")),
        ("https://h/a%5Cb", Some("https://h/a/b")),
        ("https://h/%2Fa", Some("https://h/a")),
        ("https://h/%2F.%2F", Some("https://h/")),
        ("https://h/a%2F.", Some("https://h/a/")),
    ] {
        assert_eq!(loosely_read(url).as_deref(), expected, "{url}");
    }
}
