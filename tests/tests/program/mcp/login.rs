//! `dunlin mcp login`: OAuth with servers that do not play by the rules.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use dunlin_tests::{Environment, Output, Page, Provider, Site};
use serde_json::{Value, json};

use crate::stage::environment;

/// An MCP server that is its own authorization server. `change` alters what it says: gets the path, the address of the
/// server, and what an honest one would answer.
pub fn server(change: impl Fn(&str, &str, Value) -> Page + Send + 'static) -> Site {
    Site::start(move |request| {
        let lower = request.to_ascii_lowercase();
        let host = lower.lines().find_map(|line| line.strip_prefix("host: "));
        let own = format!("http://{}", host.unwrap_or_default());
        let path = request.split(' ').nth(1).unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let honest = if path == "/mcp" {
            let metadata = format!("{own}/.well-known/oauth-protected-resource");
            let challenge = format!("Bearer resource_metadata=\"{metadata}\"");
            return Page::html("")
                .with_status(401)
                .with_header("www-authenticate", &challenge);
        } else if path.starts_with("/.well-known/oauth-protected-resource") {
            json!({ "resource": format!("{own}/mcp"), "authorization_servers": [own] })
        } else if path.starts_with("/.well-known/oauth-authorization-server") {
            json!({
                "issuer": own,
                "authorization_endpoint": format!("{own}/authorize"),
                "token_endpoint": format!("{own}/token"),
                "registration_endpoint": format!("{own}/register"),
                "response_types_supported": ["code"],
                "code_challenge_methods_supported": ["S256"],
            })
        } else if path == "/register" {
            json!({ "client_id": "abc", "redirect_uris": [] })
        } else if path == "/token" {
            json!({ "access_token": "t0ken", "token_type": "bearer", "expires_in": 3600 })
        } else {
            return Page::html("").with_status(404);
        };
        change(path, &own, honest)
    })
}

pub fn page(value: &Value) -> Page {
    Page::of("application/json", value.to_string())
}

pub fn configured(site: &Site) -> Environment {
    let environment = environment(&Provider::play([]));
    let written = std::fs::read_to_string(environment.config_file()).expect("a configuration");
    let url = site.url("/mcp");
    environment.configure(&format!("{written}\n[mcp.servers.far]\nurl = \"{url}\"\n"));
    environment
}

/// The parts of the address that the user is to open: where the answer goes, and its state.
fn opened(shown: &str) -> (String, String) {
    let of = |name: &str| {
        let (_, rest) = shown
            .split_once(name)
            .unwrap_or_else(|| panic!("{name}: {shown}"));
        let end = rest.find(|c: char| c == '&' || c.is_whitespace());
        rest[..end.unwrap_or(rest.len())].to_owned()
    };
    let port = of("redirect_uri=http%3A%2F%2F127.0.0.1%3A").replace("%2Fcallback", "");
    (format!("127.0.0.1:{port}"), of("state="))
}

/// Answers as a browser does.
pub fn browse(place: &str, query: &str) -> String {
    let mut stream = TcpStream::connect(place).expect("a listener");
    write!(
        stream,
        "GET /callback?{query} HTTP/1.1\r\nhost: {place}\r\n\r\n"
    )
    .expect("a request");
    let mut answer = String::new();
    // What is not answered is not waited for either.
    let _ = stream.read_to_string(&mut answer);
    answer
}

/// Logs in, answers as a browser does once the address is shown, and waits for the end.
pub fn log_in(environment: &Environment, answer: impl FnOnce(&str, &str)) -> Output {
    let running = environment.command(["mcp", "login", "far"]).spawn();
    let shown = running.watch_stdout(|bytes| {
        let text = String::from_utf8_lossy(bytes).into_owned();
        text.ends_with('\n').then_some(text)
    });
    if let Some(shown) = shown {
        let (place, state) = opened(&shown);
        answer(&place, &state);
    }
    running.wait()
}

/// Less than eight connections that say nothing take if each is heard after the other, for 5 s.
const ONE_BY_ONE: Duration = Duration::from_secs(30);

#[test]
fn nobody_else_answers_for_the_browser() {
    let site = server(|_, _, honest| page(&honest));
    let environment = configured(&site);
    let output = log_in(&environment, |place, state| {
        // Connections that say nothing keep nobody waiting: one after the other, they would.
        let silent: Vec<TcpStream> = (0..8)
            .map(|_| TcpStream::connect(place).expect("a listener"))
            .collect();
        for forged in [
            "code=forged",
            "code=forged&state=other",
            "state=",
            "error=no&state=other",
        ] {
            browse(place, forged);
        }
        let began = Instant::now();
        let answer = browse(place, &format!("code=good&state={state}"));
        assert!(answer.contains("text/plain"), "{answer}");
        assert!(began.elapsed() < ONE_BY_ONE, "{:?}", began.elapsed());
        drop(silent);
    });
    assert_eq!(output.status, Some(0), "{output}");
    let requests = site.requests();
    let tokens = requests.iter().filter(|it| it.starts_with("POST /token"));
    let tokens: Vec<&String> = tokens.collect();
    assert_eq!(tokens.len(), 1, "{requests:?}");
    assert!(
        tokens[0].contains("code=good") && tokens[0].contains("code_verifier="),
        "{tokens:?}"
    );
    let kept = environment.data().join("mcp/far.json");
    let mode = std::fs::metadata(&kept)
        .expect("the tokens")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
}

/// The user chose the address of the server, and no other one.
#[test]
fn the_first_request_is_not_led_to_another_server() {
    let elsewhere = Site::of(Page::of("application/json", "{}"));
    let other = elsewhere.url("/internal/admin?do=x");
    let site = Site::start(move |_| {
        let moved = Page::html("").with_status(307);
        moved.with_header("location", &other)
    });
    let environment = configured(&site);
    let output = environment.run(["mcp", "login", "far"]);
    assert_ne!(output.status, Some(0), "{output}");
    assert!(!site.requests().is_empty(), "{output}");
    let posts = elsewhere.requests();
    assert!(!posts.iter().any(|it| it.starts_with("POST")), "{posts:?}");
}

/// Changes what an honest server says, or answers in its place.
type Lie = Box<dyn Fn(&mut Value) -> Option<Page> + Send>;

/// What an authorization server says is held against where it was found, and leads nowhere else.
#[test]
fn a_server_that_lies_gets_no_code() {
    // Whoever is led somewhere else gets nothing.
    let elsewhere = Site::of(Page::of("application/json", "{}"));
    let other = elsewhere.url("/token");
    let metadata = "/.well-known/oauth-authorization-server";
    let lies: Vec<(&str, Lie)> = vec![
        (
            metadata,
            Box::new(|it| {
                it["issuer"] = "https://honest.example".into();
                None
            }),
        ),
        (
            metadata,
            Box::new(|it| {
                it["code_challenge_methods_supported"] = json!(["plain"]);
                None
            }),
        ),
        (
            metadata,
            Box::new(|it| {
                it["authorization_endpoint"] = "http://93.184.216.34/a".into();
                None
            }),
        ),
        (
            metadata,
            Box::new(|it| {
                it["authorization_endpoint"] = "javascript:alert(1)".into();
                None
            }),
        ),
        (
            metadata,
            Box::new(|it| {
                it["token_endpoint"] = "http://169.254.169.254/token".into();
                None
            }),
        ),
        // The browser's answer would have to say who gave it.
        (
            metadata,
            Box::new(|it| {
                it["authorization_response_iss_parameter_supported"] = true.into();
                None
            }),
        ),
        (
            "/.well-known/oauth-protected-resource",
            Box::new(|it| {
                it["resource"] = "https://bank.example/mcp".into();
                None
            }),
        ),
        (
            "/.well-known/oauth-protected-resource",
            Box::new(|it| {
                it["authorization_servers"] = (0..5_000)
                    .map(|n| {
                        format!(
                            "{}/as{n}",
                            it["authorization_servers"][0].as_str().unwrap_or_default()
                        )
                    })
                    .collect();
                None
            }),
        ),
        (
            "/register",
            Box::new(|_| {
                Some(
                    Page::of("text/plain", format!("\u{1b}[2J{}", "x".repeat(900_000)))
                        .with_status(400),
                )
            }),
        ),
        (
            "/token",
            Box::new(move |_| {
                Some(
                    Page::html("")
                        .with_status(307)
                        .with_header("location", &other),
                )
            }),
        ),
    ];
    for (number, (place, lie)) in lies.into_iter().enumerate() {
        let site = server(move |path, _, mut honest| {
            if path.starts_with(place)
                && let Some(page) = lie(&mut honest)
            {
                return page;
            }
            page(&honest)
        });
        let environment = configured(&site);
        let output = log_in(&environment, |place, state| {
            browse(place, &format!("code=good&state={state}"));
        });
        let requests = site.requests();
        assert!(requests.len() < 100, "{number}: {}", requests.len());
        assert_eq!(elsewhere.requests(), [""; 0], "{number}");
        assert!(
            !output.stderr.contains('\u{1b}') && output.stderr.len() < 10_000,
            "{number}: {output}"
        );
        assert_ne!(output.status, Some(0), "{number}: {output}");
        if place != "/token" {
            assert!(
                !requests.concat().contains("code=good"),
                "{number}: {requests:?}"
            );
        }
    }
}
