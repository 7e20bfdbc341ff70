//! Which addresses are used, and who is asked before.

use super::server::{Answer, Names, OWN, PUBLIC, Server};
use super::*;

#[tokio::test]
async fn the_gate_is_asked_before_anything_happens() {
    let names = Names::new(&[("a.example", &[PUBLIC])]);
    let server = Server::start(|_, _| Answer::of("200 OK", "x"));
    let mut gate = Remembering {
        refused: Some("http://a.example"),
        ..Remembering::default()
    };
    let url = format!("http://a.example:{}/p?q#f", server.port);
    let refused = egress(&names).send(get(&url), &mut gate).await.unwrap_err();
    let shown = url.strip_suffix("#f").unwrap();
    assert_eq!(refused, EgressError::Refused(shown.to_owned()));
    assert_eq!(gate.asked, [format!("GET {shown}")]);
    assert_eq!(names.asked(), [""; 0]);
    assert_eq!(server.requests(), [""; 0]);
}

#[tokio::test]
async fn a_public_name_is_reached_and_says_its_own_name() {
    let names = Names::new(&[("a.example", &["10.0.0.1", PUBLIC])]);
    let server = Server::start(|_, _| Answer::of("200 OK", "hello"));
    let port = server.port;
    // The dot, the case and the fragment make no difference; the query is sent.
    let url = format!("http://A.Example.:{port}/p?q=1#f");
    assert_eq!(text(&egress(&names), get(&url)).await.unwrap(), "hello");
    let [request] = &server.requests()[..] else {
        panic!("one request");
    };
    let request = request.to_ascii_lowercase();
    // In the form of servers, not of proxies.
    assert!(request.starts_with("get /p?q=1 http/1.1\r\n"), "{request}");
    assert!(
        request.contains(&format!("\r\nhost: a.example:{port}\r\n")),
        "{request}"
    );
    assert!(
        request.contains("\r\nuser-agent: dunlin-test\r\n"),
        "{request}"
    );
    assert!(
        !request.contains("cookie") && !request.contains("referer"),
        "{request}"
    );
}

/// A name that leads home is asked about, and without a yes nothing is connected to.
#[tokio::test]
async fn a_name_that_leads_home_is_asked_about() {
    let server = Server::start(|_, _| Answer::of("200 OK", "inside"));
    for (address, said) in [
        ("127.0.0.1", "is on this machine"),
        ("::ffff:127.0.0.1", "is on this machine"),
        ("192.168.1.1", "is in a private network"),
        ("100.64.0.1", "is in a private network"),
        ("fd00::1", "is in a private network"),
    ] {
        let names = Names::new(&[("a.example", &[address, "0.0.0.0"])]);
        let address = address.trim_start_matches("::ffff:");
        let url = format!("http://a.example:{}/", server.port);
        let mut gate = Remembering::default();
        let refused = egress(&names).send(get(&url), &mut gate).await.unwrap_err();
        assert_eq!(refused, EgressError::Refused(url.clone()), "{address}");
        assert_eq!(
            gate.asked,
            [
                format!("GET {url}"),
                format!("a.example -> {address} {said}")
            ]
        );
        assert_eq!(server.requests(), [""; 0]);
    }
    let names = Names::new(&[("a.example", &["127.0.0.1"])]);
    let mut gate = Remembering {
        near: true,
        ..Remembering::default()
    };
    let url = format!("http://a.example:{}/", server.port);
    let response = egress(&names).send(get(&url), &mut gate).await.unwrap();
    assert_eq!(response.body.all().await.unwrap(), b"inside");
}

/// A firewall in front of this machine is none for what runs on it.
#[tokio::test]
async fn an_own_address_of_the_internet_is_this_machine() {
    let mapped = format!("::ffff:{OWN}");
    for (host, address) in [
        ("a.example", OWN),
        ("a.example", mapped.as_str()),
        (OWN, OWN),
    ] {
        let names = Names::new(&[("a.example", &[address])]);
        let server = Server::start(|_, _| Answer::of("200 OK", "inside"));
        let url = format!("http://{host}:{}/", server.port);
        let mut gate = Remembering::default();
        let refused = egress(&names).send(get(&url), &mut gate).await.unwrap_err();
        assert_eq!(refused, EgressError::Refused(url.clone()));
        let asked = [
            format!("GET {url}"),
            format!("{host} -> {OWN} is on this machine"),
        ];
        assert_eq!(gate.asked, asked);
        assert_eq!(server.requests(), [""; 0]);
        if host == OWN {
            // With a yes it is really connected to.
            continue;
        }
        gate.near = true;
        let response = egress(&names).send(get(&url), &mut gate).await.unwrap();
        assert_eq!(response.body.all().await.unwrap(), b"inside");
    }
    // The same machine, whichever form of its address the URL has.
    let names = Names::new(&[]);
    let mut gate = Remembering::default();
    let url = get(&format!("http://[{mapped}]/"));
    let refused = egress(&names).send(url, &mut gate).await.unwrap_err();
    assert_eq!(refused, EgressError::Refused(format!("http://{OWN}/")));
    assert_eq!(gate.asked.len(), 2, "{:?}", gate.asked);
    let server = Server::start(|_, _| Answer::of("200 OK", "outside"));
    // Where a server of the internet answers under the name as well, that one is meant.
    let names = Names::new(&[("a.example", &[OWN, PUBLIC])]);
    let url = format!("http://a.example:{}/", server.port);
    assert_eq!(text(&egress(&names), get(&url)).await.unwrap(), "outside");
}

#[tokio::test]
async fn some_addresses_are_never_used() {
    for address in [
        "169.254.169.254",
        "::ffff:169.254.169.254",
        "64:ff9b::a9fe:a9fe",
        "fd00:ec2::254",
        "0.0.0.0",
        "224.0.0.1",
        "255.255.255.255",
        "64:ff9b::7f00:1",
        "2002:7f00:1::",
        "fe80::1",
    ] {
        let names = Names::new(&[("a.example", &[address])]);
        let mut gate = Remembering {
            near: true,
            ..Remembering::default()
        };
        let outcome = egress(&names)
            .send(get("http://a.example/"), &mut gate)
            .await;
        assert!(
            matches!(outcome, Err(EgressError::Forbidden { .. })),
            "{address}: {outcome:?}"
        );
        // It is told, so that it can write it down.
        assert_eq!(gate.asked.len(), 2);
        let url = match address.contains(':') {
            true => format!("http://[{address}]/"),
            false => format!("http://{address}/"),
        };
        let outcome = egress(&names).send(get(&url), &mut gate).await;
        assert!(
            matches!(outcome, Err(EgressError::Forbidden { .. })),
            "{url}: {outcome:?}"
        );
    }
}

/// What the URL itself says needs one question, and no name server.
#[tokio::test]
async fn this_machine_can_be_named() {
    let names = Names::new(&[]);
    let server = Server::start(|_, _| Answer::of("200 OK", "here"));
    for host in [
        "127.0.0.1",
        "localhost",
        "a.localhost",
        "LOCALHOST.",
        "2130706433",
        "[::ffff:127.0.0.1]",
    ] {
        let url = format!("http://{host}:{}/", server.port);
        let mut gate = Remembering::default();
        let response = egress(&names).send(get(&url), &mut gate).await;
        assert_eq!(
            response.unwrap().body.all().await.unwrap(),
            b"here",
            "{host}"
        );
        assert_eq!(gate.asked.len(), 1, "{host}");
    }
    assert_eq!(names.asked(), [""; 0]);
}

/// The name is looked up once: what a second look-up would say makes no difference.
#[tokio::test]
async fn a_resolver_that_changes_its_mind_leads_nowhere() {
    let names = Names::new(&[("a.example", &[PUBLIC])]);
    names.add("a.example", &["127.0.0.1"]);
    let server = Server::start(|number, _| match number {
        0 => Answer::of("200 OK", "public"),
        _ => Answer::of("200 OK", "inside"),
    });
    let url = format!("http://a.example:{}/", server.port);
    let egress = egress(&names);
    assert_eq!(text(&egress, get(&url)).await.unwrap(), "public");
    assert_eq!(names.asked(), ["a.example"]);
    // The next request looks again, and no connection is left over from the one before.
    let refused = text(&egress, get(&url)).await.unwrap_err();
    assert_eq!(refused, EgressError::Refused(url));
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn what_is_no_address_is_said() {
    for (url, expected) in [
        ("", "'' is not an address: relative URL without a base"),
        ("example.com", "relative URL without a base"),
        (
            "ftp://example.com/",
            "only http and https can be fetched, not ftp",
        ),
        ("file:///etc/passwd", "not file"),
        (
            "http://user@example.com/",
            "carries a user name or a password",
        ),
        ("http://:pw@127.0.0.1/", "carries a user name or a password"),
        ("http://[::1%25eth0]/", "invalid IPv6 address"),
        ("http://example.com:99999/", "invalid port number"),
        ("http://exa mple.com/", "invalid international domain name"),
        ("https://h/a/..%2fb", "hides .."),
        ("http://x\u{1b}[2J/\u{1b}", ""),
    ] {
        let error = read_url(url).unwrap_err().to_string();
        assert!(error.contains(expected), "{url:?}: {error}");
        assert!(!error.contains(|c: char| c.is_control()), "{error:?}");
    }
    let names = Names::new(&[]);
    let nothing = text(&egress(&names), get("http://no.example/"))
        .await
        .unwrap_err();
    assert_eq!(
        nothing.to_string(),
        "there is no server named no.example: check the spelling"
    );
}

#[tokio::test]
async fn headers_of_the_connection_are_the_hosts() {
    let names = Names::new(&[]);
    for name in [
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
        "proxy-authorization",
    ] {
        let mut request = get("http://127.0.0.1/");
        request.headers.insert(name, HeaderValue::from_static("1"));
        let mut gate = Remembering::default();
        let refused = egress(&names).send(request, &mut gate).await.unwrap_err();
        assert!(
            matches!(refused, EgressError::Header { .. }),
            "{name}: {refused}"
        );
        assert_eq!(gate.asked, [""; 0]);
    }
}
