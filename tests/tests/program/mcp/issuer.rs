//! `dunlin mcp login`: the server says where one logs in, and must not lead a secret or a login astray.

use std::sync::{Arc, Mutex};

use dunlin_tests::{Environment, Output, Site};
use serde_json::Value;

use super::login::{browse, configured, log_in, page, server};

const SECRET: &str = "s3cret-of-the-client";

/// Makes a bad login address of the address of a login server.
type Bad = fn(&str) -> String;

/// An MCP server that names whichever login server stands in here; at first itself.
fn naming(issuer: &Arc<Mutex<Option<String>>>) -> Site {
    let issuer = Arc::clone(issuer);
    server(move |path, _, mut honest| {
        if path.starts_with("/.well-known/oauth-protected-resource")
            && let Some(issuer) = issuer.lock().expect("nobody panics").as_ref()
        {
            honest["authorization_servers"] = [issuer.as_str()].as_slice().into();
        }
        page(&honest)
    })
}

fn login_server() -> Site {
    server(|_, _, honest| page(&honest))
}

/// Under another name than its own, so that messages tell the two apart.
fn at_localhost(site: &Site) -> String {
    origin(site).replace("127.0.0.1", "localhost")
}

fn origin(site: &Site) -> String {
    site.url("/").trim_end_matches('/').to_owned()
}

/// The first login server as it is shown.
const OWN: &str = "http://127.0.0.1:[PORT]";

/// Logs in, as somebody who agrees.
fn agree(environment: &Environment) -> Output {
    log_in(environment, |place, state| {
        browse(place, &format!("code=good&state={state}"));
    })
}

#[track_caller]
fn assert_nothing_was_sent(site: &Site) {
    let requests = site.requests();
    let is_look = |request: &&String| request.starts_with("GET /.well-known/");
    let sent: Vec<&String> = requests.iter().filter(|it| !is_look(it)).collect();
    assert!(sent.is_empty(), "{sent:?}");
}

#[test]
fn a_secret_goes_only_to_the_login_server_of_the_configuration() {
    let named = Arc::default();
    let site = naming(&named);
    let other = login_server();
    let environment = configured(&site);
    let before = std::fs::read_to_string(environment.config_file()).unwrap();
    for (is_alone, arguments) in [
        (true, ["mcp", "test", "far"]),
        (false, ["mcp", "login", "far"]),
    ] {
        environment.configure(&format!(
            "{before}client_id = \"c\"\nclient_secret = \"far\"\nissuer = \"{}\"\n\
             client_credentials = {is_alone}\n[keys.far]\nenv = \"FAR_SECRET\"\n",
            origin(&site)
        ));
        *named.lock().unwrap() = Some(at_localhost(&other));
        // Without the variable: the secret is not even looked for.
        let refused = environment.run(arguments);
        assert_ne!(refused.status, Some(0), "{refused}");
        let said = format!(
            "names {} as its login server, but issuer in [mcp.servers.far] is {OWN};",
            at_localhost(&other)
        );
        assert!(refused.stderr.contains(&said), "{refused}");
        assert!(!refused.stderr.contains("FAR_SECRET"), "{refused}");
        assert_nothing_was_sent(&other);
        *named.lock().unwrap() = None;
    }
    // The one that is configured gets it.
    let with = |is_alone| {
        before.clone()
            + &format!(
                "client_id = \"c\"\nclient_secret = \"far\"\nissuer = \"{}/\"\n\
                 client_credentials = {is_alone}\n[keys.far]\nenv = \"FAR_SECRET\"\n",
                origin(&site)
            )
    };
    environment.configure(&with(true));
    let command = environment.command(["mcp", "test", "far"]);
    let output = command.variable("FAR_SECRET", SECRET).run();
    // This server takes no token; it only gives them out.
    assert_ne!(output.status, Some(0), "{output}");
    let requests = site.requests().concat().to_lowercase();
    assert!(requests.contains("post /token"), "{requests}");
    assert!(requests.contains("bearer t0ken"), "{requests}");
}

#[test]
fn a_secret_needs_to_know_its_login_server() {
    let environment = configured(&login_server());
    let before = std::fs::read_to_string(environment.config_file()).unwrap();
    environment.configure(&format!(
        "{before}client_id = \"c\"\nclient_secret = \"far\"\n[keys.far]\nenv = \"FAR_SECRET\"\n"
    ));
    let refused = environment.run(["mcp", "list"]);
    assert_ne!(refused.status, Some(0), "{refused}");
    let said = "[mcp.servers.far]: client_secret needs issuer";
    assert!(refused.stderr.contains(said), "{refused}");
}

#[test]
fn a_login_stays_with_the_login_server_of_the_first() {
    let named = Arc::default();
    let site = naming(&named);
    let other = login_server();
    let environment = configured(&site);
    let first = agree(&environment);
    assert_eq!(first.status, Some(0), "{first}");
    let said = "You log in at 127.0.0.1:[PORT]. The answer goes to 127.0.0.1:[PORT].";
    assert!(first.stderr.contains(said), "{first}");

    *named.lock().unwrap() = Some(at_localhost(&other));
    for _ in 0..2 {
        let refused = agree(&environment);
        assert_ne!(refused.status, Some(0), "{refused}");
        let said = format!(
            "names {} as its login server, but you logged in with {OWN};",
            at_localhost(&other)
        );
        assert!(refused.stderr.contains(&said), "{refused}");
        let way_out = "run dunlin mcp logout far, then dunlin mcp login far";
        assert!(refused.stderr.contains(way_out), "{refused}");
        assert_nothing_was_sent(&other);
    }
    // A login that nobody finished does not make it forget either.
    *named.lock().unwrap() = None;
    let denied = log_in(&environment, |place, state| {
        browse(place, &format!("error=access_denied&state={state}"));
    });
    assert_ne!(denied.status, Some(0), "{denied}");
    *named.lock().unwrap() = Some(at_localhost(&other));
    assert_ne!(agree(&environment).status, Some(0));
    assert_nothing_was_sent(&other);

    let logout = environment.run(["mcp", "logout", "far"]);
    assert_eq!(logout.status, Some(0), "{logout}");
    let accepted = agree(&environment);
    assert_eq!(accepted.status, Some(0), "{accepted}");
    assert!(other.requests().concat().contains("code=good"));
}

/// What the server adds to the address of the login page must not look like another host, nor stand in for what Dunlin
/// adds.
#[test]
fn the_address_of_the_login_page_is_what_it_looks_like() {
    let with = |change: fn(&str) -> String| {
        let site = server(move |path, own, mut honest: Value| {
            if path.starts_with("/.well-known/oauth-authorization-server") {
                honest["authorization_endpoint"] = change(own).into();
            }
            page(&honest)
        });
        let environment = configured(&site);
        let output = agree(&environment);
        (output, site)
    };
    let bad: [(Bad, &str); 4] = [
        (
            |own| own.replace("//", "//accounts.example.com@") + "/authorize",
            "user name",
        ),
        (
            |own| format!("{own}/authorize?client_id=evil"),
            "that already has \"client_id\"",
        ),
        (
            |own| format!("{own}/authorize?redirect%5furi=https://evil.example/"),
            "that already has \"redirect_uri\"",
        ),
        (
            |own| format!("{own}/authorize?state=s"),
            "that already has \"state\"",
        ),
    ];
    for (change, said) in bad {
        let (output, site) = with(change);
        assert_ne!(output.status, Some(0), "{said}: {output}");
        assert!(output.stderr.contains(said), "{said}: {output}");
        assert!(!output.stdout.contains("authorize"), "{output}");
        assert!(!site.requests().concat().contains("POST /token"));
    }
    let (output, _site) = with(|own| format!("{own}/authorize?audience=a"));
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("/authorize?audience=a&"), "{output}");
}
