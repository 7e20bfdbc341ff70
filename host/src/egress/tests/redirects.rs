//! Redirects: each an address of its own.

use bytes::Bytes;

use super::server::{Answer, Names, PUBLIC, Server};
use super::*;

/// A server that leads from `/` to this place, and answers everything else with what it was sent.
fn leading_to(status: u16, location: &str) -> Server {
    let location = location.to_owned();
    Server::start(move |_, request| {
        if request.split(' ').nth(1) == Some("/") {
            Answer::redirect(status, &location)
        } else {
            Answer::of("200 OK", request)
        }
    })
}

fn names() -> Arc<Names> {
    Names::new(&[
        ("a.example", &[PUBLIC]),
        ("b.example", &[PUBLIC]),
        ("inside.example", &["127.0.0.1"]),
        ("metadata.example", &["169.254.169.254"]),
    ])
}

#[tokio::test]
async fn each_hop_is_asked_about() {
    let server = leading_to(302, "/next?x#y");
    let url = format!("http://a.example:{}/", server.port);
    let mut gate = Remembering::default();
    let response = egress(&names()).send(get(&url), &mut gate).await.unwrap();
    assert_eq!(response.url.as_str(), format!("{url}next?x"));
    assert_eq!(
        gate.asked,
        [format!("GET {url}"), format!("GET {url}next?x")]
    );

    let mut gate = Remembering {
        refused: Some("http://b.example"),
        ..Remembering::default()
    };
    let server = leading_to(302, "http://b.example/");
    let url = format!("http://a.example:{}/", server.port);
    let refused = egress(&names())
        .send(get(&url), &mut gate)
        .await
        .unwrap_err();
    assert_eq!(
        refused,
        EgressError::Refused("http://b.example/".to_owned())
    );
}

#[tokio::test]
async fn none_leads_home_unasked() {
    for (location, expected) in [
        (
            "http://inside.example:1/",
            "inside.example -> 127.0.0.1 is on this machine",
        ),
        (
            "//inside.example:1/",
            "inside.example -> 127.0.0.1 is on this machine",
        ),
        (
            "http://metadata.example/",
            "metadata.example -> 169.254.169.254",
        ),
    ] {
        let server = leading_to(302, location);
        let url = format!("http://a.example:{}/", server.port);
        let mut gate = Remembering::default();
        egress(&names())
            .send(get(&url), &mut gate)
            .await
            .unwrap_err();
        let last = gate.asked.last().unwrap();
        assert!(last.starts_with(expected), "{location}: {last}");
    }
    // What names this machine is asked about as an address of this machine.
    for location in [
        "http://127.0.0.1:1/",
        "http://0x7f.1:1/",
        "http://[::1]:1/",
        "http://localhost:1/",
    ] {
        let server = leading_to(307, location);
        let url = format!("http://a.example:{}/", server.port);
        let there = read_url(location).unwrap();
        let mut gate = Remembering {
            refused: Some("http://127.0.0.1"),
            ..Remembering::default()
        };
        egress(&names())
            .send(get(&url), &mut gate)
            .await
            .unwrap_err();
        assert_eq!(gate.asked.last(), Some(&format!("GET {there}")));
        assert_eq!(named_place(&there), Some(Place::ThisMachine));
    }
}

#[tokio::test]
async fn circles_end() {
    let server = leading_to(302, "/");
    let url = format!("http://a.example:{}/", server.port);
    let mut gate = Remembering::default();
    let error = egress(&names())
        .send(get(&url), &mut gate)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("more than 10 redirects, the last one to {url}")
    );
    assert_eq!(gate.asked.len(), 11);
    // Where none is followed it is an answer.
    let mut request = get(&url);
    request.limits.redirects = 0;
    let response = egress(&names()).send(request, &mut gate).await.unwrap();
    assert_eq!(response.status.as_u16(), 302);
}

#[tokio::test]
async fn bad_ones_are_said() {
    for (location, expected) in [
        (
            "ftp://b.example/",
            "only http and https can be fetched, not ftp",
        ),
        ("file:///etc/passwd", "not file"),
        ("javascript:alert(1)", "not javascript"),
        (
            "http://user:pw@b.example/",
            "carries a user name or a password",
        ),
        ("http://", "its location is not an address"),
        ("http://b.example:99999/", "invalid port number"),
    ] {
        let server = leading_to(302, location);
        let url = format!("http://a.example:{}/", server.port);
        let error = text(&egress(&names()), get(&url)).await.unwrap_err();
        assert!(
            matches!(error, EgressError::BadRedirect { .. }),
            "{location}: {error}"
        );
        let error = error.to_string();
        assert!(
            error.contains(expected) && error.starts_with("a.example:"),
            "{error}"
        );
    }
    let from: Url = "https://a.example/".parse().unwrap();
    let down = redirected(&from, &HeaderValue::from_static("http://a.example/"));
    assert!(
        down.unwrap_err()
            .to_string()
            .contains("from https to http://a.example/")
    );
    assert!(redirected(&from, &HeaderValue::from_static("http://localhost/")).is_ok());
    assert!(redirected(&from, &HeaderValue::from_bytes(b"/\xff").unwrap()).is_err());
    let utf8 = redirected(&from, &HeaderValue::from_bytes("/ü".as_bytes()).unwrap());
    assert_eq!(utf8.unwrap().as_str(), "https://a.example/%C3%BC");
}

/// As browsers do: what was posted is posted again only where the server says so.
#[tokio::test]
async fn methods_change_as_in_browsers() {
    for (status, method) in [
        (301, "GET"),
        (302, "GET"),
        (303, "GET"),
        (307, "POST"),
        (308, "POST"),
    ] {
        let server = leading_to(status, "/next");
        let url = format!("http://a.example:{}/", server.port);
        let mut request = get(&url);
        request.method = Method::POST;
        request.body = Bytes::from_static(b"data");
        request
            .headers
            .insert("content-type", HeaderValue::from_static("text/plain"));
        let mut gate = Remembering::default();
        let response = egress(&names()).send(request, &mut gate).await.unwrap();
        let echo = String::from_utf8(response.body.all().await.unwrap()).unwrap();
        assert!(
            echo.starts_with(&format!("{method} /next ")),
            "{status}: {echo}"
        );
        assert_eq!(echo.ends_with("\r\n\r\ndata"), method == "POST", "{echo}");
        assert_eq!(echo.contains("text/plain"), method == "POST", "{echo}");
        assert_eq!(gate.asked[1], format!("{method} {url}next"));
    }
    let server = leading_to(302, "/next");
    let mut request = get(&format!("http://a.example:{}/", server.port));
    request.method = Method::DELETE;
    assert!(
        text(&egress(&names()), request)
            .await
            .unwrap()
            .starts_with("DELETE /next ")
    );
}

/// Another host gets neither what the request said of the user nor what the user gave for the first one.
#[tokio::test]
async fn secrets_stay_with_their_host() {
    let there = leading_to(302, "unused");
    let location = format!("http://b.example:{}/next", there.port);
    let here = leading_to(307, &location);
    let mut sites = SiteHeaders::default();
    // Over http only to this machine: so the first host is this machine.
    sites
        .add(&format!("localhost:{}", here.port), "x-key", "s3cret")
        .unwrap();
    let mut request = get(&format!("http://localhost:{}/", here.port));
    request
        .headers
        .insert("authorization", HeaderValue::from_static("Bearer t0ken"));
    request
        .headers
        .insert("accept", HeaderValue::from_static("text/plain"));
    request.sites = Some(Arc::new(sites));
    let echo = text(&egress(&names()), request).await.unwrap();
    let first = here.requests().concat();
    assert!(
        first.contains("s3cret") && first.contains("t0ken"),
        "{first}"
    );
    assert!(
        !echo.contains("s3cret") && !echo.contains("t0ken"),
        "{echo}"
    );
    assert!(echo.contains("text/plain"), "{echo}");
}
