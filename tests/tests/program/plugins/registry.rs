//! Plugins from a registry, which a test plays.

use std::collections::HashMap;
use std::sync::Arc;

use dunlin_host::sha256_hex;
use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, Page, Site, program};
use serde_json::json;

/// The name and password that the registry knows, as a header.
const LOGIN: &str = "authorization: basic YWRhOnMzY3JldA==";

/// The kind that publishers write today.
pub const WASM: &str = "application/wasm";

/// Who may fetch.
#[derive(Clone, Copy, PartialEq)]
enum Doors {
    Open,
    /// A token is given to everybody.
    Token,
    /// A token is given to the one who logs in.
    Closed,
    /// A name and a password, and no tokens.
    Password,
}

/// A registry with one image, `who/echo-tool:1.0`.
struct Registry {
    site: Site,
    digest: String,
}

pub fn digest(bytes: &[u8]) -> String {
    format!("sha256:{}", sha256_hex(bytes))
}

pub fn manifest(kind: &str, size: usize, layer: &str) -> Vec<u8> {
    let config = json!({ "mediaType": "application/vnd.wasm.config.v0+json", "digest": digest(b"{}"), "size": 2 });
    let layer = json!({ "mediaType": kind, "digest": layer, "size": size });
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [layer] });
    manifest.to_string().into_bytes()
}

impl Registry {
    fn of(doors: Doors, manifest: Vec<u8>, blob: Vec<u8>) -> Registry {
        let of_manifest = digest(&manifest);
        let mut parts = HashMap::new();
        for name in ["1.0", &of_manifest] {
            let path = format!("/v2/who/echo-tool/manifests/{name}");
            let page = Page::of(
                "application/vnd.oci.image.manifest.v1+json",
                manifest.clone(),
            );
            parts.insert(path, page);
        }
        let layer = guest("echo").digest;
        let path = format!("/v2/who/echo-tool/blobs/sha256:{layer}");
        // As they do: the bytes are somewhere else.
        parts.insert(path, Page::redirect("/store/bytes?signature=secret"));
        let bytes = Page::of("application/octet-stream", blob);
        let parts = Arc::new(parts);
        let site = Site::start(move |request| {
            let lower = request.to_ascii_lowercase();
            let path = request.split(' ').nth(1).unwrap_or_default();
            let port = lower.split("host: 127.0.0.1:").nth(1);
            let port = port
                .and_then(|rest| rest.lines().next())
                .unwrap_or_default();
            if path.starts_with("/store/") {
                return bytes.clone();
            }
            if path.starts_with("/token?") {
                let scope = path.contains("scope=repository%3Awho%2Fecho-tool%3Apull");
                let service = path.contains("service=played");
                if !scope
                    || !service
                    || (doors == Doors::Closed && !request.contains("Basic YWRhOnMzY3JldA=="))
                {
                    return Page::html("").with_status(401);
                }
                return Page::of("application/json", r#"{"token":"t0ken"}"#);
            }
            let is_let_in = match doors {
                Doors::Open => true,
                Doors::Token | Doors::Closed => request.contains("Bearer t0ken"),
                Doors::Password => request.contains("Basic YWRhOnMzY3JldA=="),
            };
            if !is_let_in {
                let challenge = match doors {
                    Doors::Password => "Basic realm=\"played\"".to_owned(),
                    _ => {
                        format!("Bearer realm=\"http://127.0.0.1:{port}/token\",service=\"played\"")
                    }
                };
                return Page::html("")
                    .with_status(401)
                    .with_header("www-authenticate", &challenge);
            }
            parts
                .get(path)
                .cloned()
                .unwrap_or_else(|| Page::html("").with_status(404))
        });
        Registry {
            site,
            digest: of_manifest,
        }
    }

    /// One that gives `echo`.
    fn with_echo(doors: Doors, kind: &str) -> Registry {
        let echo = guest("echo");
        let layer = format!("sha256:{}", echo.digest);
        Registry::of(
            doors,
            manifest(kind, echo.bytes.len(), &layer),
            echo.bytes.to_vec(),
        )
    }

    fn reference(&self, what: &str) -> String {
        format!("127.0.0.1:{}/who/echo-tool{what}", self.site.port())
    }
}

fn log_in(environment: &Environment, registry: &Registry, auth: &str) {
    let file = environment.home().join(".docker/config.json");
    std::fs::create_dir_all(environment.home().join(".docker")).expect("a folder");
    let server = format!("127.0.0.1:{}", registry.site.port());
    let text = json!({ "auths": { server: { "auth": auth } } }).to_string();
    std::fs::write(file, text).expect("a file");
}

#[test]
fn a_plugin_comes_from_a_registry() {
    for (doors, kind) in [
        (Doors::Open, WASM),
        (Doors::Token, "application/vnd.wasm.content.layer.v1+wasm"),
    ] {
        let environment = Environment::new(program!());
        let registry = Registry::with_echo(doors, kind);
        let reference = registry.reference(":1.0");
        let output = environment.run(["plugin", "check", &reference]);
        assert_eq!(output.status, Some(0), "{output}");
        // Ports are hidden in what tests see.
        let source = format!(
            "from       127.0.0.1:[PORT]/who/echo-tool:1.0@{}",
            registry.digest
        );
        assert!(output.stdout.contains(&source), "{output}");
        let sha256 = format!("sha256     {}", guest("echo").digest);
        assert!(output.stdout.contains(&sha256), "{output}");

        // The same question as for files, and nothing without an answer.
        let output = environment.run(["plugin", "install", &reference]);
        assert_eq!(output.status, Some(3), "{output}");
        let pinned = registry.reference(&format!("@{}", registry.digest));
        let output = environment.run(["plugin", "install", &pinned, "--yes"]);
        assert_eq!(output.status, Some(0), "{output}");
        let output = environment.run(["plugin", "list"]);
        assert!(
            output.stdout.starts_with("echo_tool        echo  "),
            "{output}"
        );
        let output = environment.run(["tools", "call", "echo", "--args", r#"{"text":"hello"}"#]);
        assert!(output.stdout.starts_with("hello\n"), "{output}");
        // A token goes to nobody but the registry.
        let requests = registry.site.requests();
        let stores = requests
            .iter()
            .filter(|request| request.contains("GET /store/"));
        assert!(stores.clone().count() >= 2);
        for request in stores {
            assert!(
                request.contains("t0ken") == (doors == Doors::Token),
                "{request}"
            );
        }
    }
}

/// Whoever brings a folder must not decide what a reference means in it.
#[test]
fn no_file_takes_the_place_of_a_reference() {
    let environment = Environment::new(program!());
    let registry = Registry::with_echo(Doors::Open, WASM);
    let pinned = registry.reference(&format!("@{}", registry.digest));
    let file = environment.project().join(&pinned);
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("folders");
    std::fs::write(&file, guest("diary").bytes).expect("another component");
    let output = environment.run(["plugin", "install", &pinned, "--yes"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(
        output.stderr.contains("is a file, too; with ./ before"),
        "{output}"
    );
    let sha256 = format!("sha256     {}", guest("echo").digest);
    assert!(output.stdout.contains(&sha256), "{output}");
    // With a path it is what was asked for.
    let output = environment.run([
        "plugin",
        "install",
        "--name",
        "other",
        "--yes",
        &format!("./{pinned}"),
    ]);
    let sha256 = format!("sha256     {}", guest("diary").digest);
    assert!(output.stdout.contains(&sha256), "{output}");
}

#[test]
fn a_login_of_docker_opens_what_is_closed() {
    for doors in [Doors::Closed, Doors::Password] {
        let environment = Environment::new(program!());
        let registry = Registry::with_echo(doors, WASM);
        let reference = registry.reference(":1.0");
        let output = environment.run(["plugin", "check", &reference]);
        assert_eq!(output.status, Some(1), "{output}");
        let said = "error: 127.0.0.1:[PORT] shows who/echo-tool only to those who have logged in\n\
             hint: docker login 127.0.0.1:[PORT] keeps a login\n";
        assert!(output.stderr.ends_with(said), "{output}");

        log_in(&environment, &registry, "YWRhOndyb25n");
        let output = environment.run(["plugin", "check", &reference]);
        assert_eq!(output.status, Some(1), "{output}");
        assert!(
            output
                .stderr
                .contains("does not show who/echo-tool to the login that is kept in"),
            "{output}"
        );

        log_in(&environment, &registry, "YWRhOnMzY3JldA==");
        let output = environment.run(["plugin", "check", &reference]);
        assert_eq!(output.status, Some(0), "{output}");
        let logins = registry.site.requests();
        let logins = logins.iter().filter(|request| {
            request
                .to_ascii_lowercase()
                .contains(&LOGIN.to_ascii_lowercase())
        });
        assert!(logins.count() > 0);
    }
}

/// Each kind of failure in its own words.
#[test]
fn what_cannot_be_fetched_says_why() {
    let echo = guest("echo");
    let layer = format!("sha256:{}", echo.digest);
    let bytes = || echo.bytes.to_vec();
    let size = echo.bytes.len();
    let open = |manifest, blob| Registry::of(Doors::Open, manifest, blob);
    let mut other = bytes();
    other.push(0);
    let wrong = format!("@sha256:{}", "a".repeat(64));
    for (registry, what, expected) in [
        (
            Registry::with_echo(Doors::Open, WASM),
            ":2.0",
            "has no who/echo-tool:2.0\nhint: a file",
        ),
        (
            Registry::with_echo(Doors::Open, WASM),
            wrong.as_str(),
            "has no who/echo-tool@sha256:aaaa",
        ),
        (
            open(
                manifest("application/vnd.oci.image.layer.v1.tar+gzip", size, &layer),
                bytes(),
            ),
            ":1.0",
            "is not a plugin: it holds application/vnd.oci.image.layer.v1.tar+gzip",
        ),
        (
            open(manifest(WASM, 1 << 40, &layer), bytes()),
            ":1.0",
            "is larger than 67 MB",
        ),
        // More comes than was said.
        (
            open(manifest(WASM, size, &layer), other),
            ":1.0",
            "the component of who/echo-tool is larger than",
        ),
        (
            open(manifest(WASM, size, &layer), vec![0; size]),
            ":1.0",
            "what came is not the component: its digest is sha256:",
        ),
        (
            open(
                br#"{"schemaVersion":2,"manifests":[]}"#.to_vec(),
                Vec::new(),
            ),
            ":1.0",
            "it is a list of images for several machines",
        ),
        (
            open(vec![b' '; 2 << 20], Vec::new()),
            ":1.0",
            "who/echo-tool:1.0 is larger than 1.0 MB",
        ),
        (
            open(b"no".to_vec(), Vec::new()),
            ":1.0",
            "answers what no registry does: the manifest",
        ),
    ] {
        let environment = Environment::new(program!());
        let output = environment.run(["plugin", "install", "--yes", &registry.reference(what)]);
        assert_eq!(output.status, Some(1), "{output}");
        assert!(output.stderr.contains(expected), "{expected}: {output}");
        // Nothing of addresses with signatures.
        assert!(!output.stderr.contains("signature"), "{output}");
        let list = environment.run(["plugin", "list"]);
        assert!(list.stderr.starts_with("No plugin is installed"), "{list}");
    }

    // No component, although it says so; nobody there; none at all.
    let text = b"not wasm at all";
    let registry = Registry::of(Doors::Open, manifest(WASM, size, &layer), text.to_vec());
    let environment = Environment::new(program!());
    let output = environment.run(["plugin", "check", &registry.reference(":1.0")]);
    assert!(output.stderr.contains("its digest is"), "{output}");
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = gone.local_addr().unwrap();
    drop(gone);
    let output = environment.run(["plugin", "check", &format!("{address}/who/tool:1")]);
    assert_eq!(output.status, Some(1), "{output}");
    let expected = "error: 127.0.0.1:[PORT] cannot be reached: Connection refused";
    assert!(output.stderr.contains(expected), "{output}");
    let output = environment.run(["plugin", "check", "ghcr.io/Who/Tool"]);
    assert_eq!(output.status, Some(2), "{output}");
    assert!(
        output.stderr.contains("names nothing in a registry"),
        "{output}"
    );
}

/// A registry of this machine leads to nobody who is not of this machine, and unencrypted to nobody else.
#[test]
fn a_registry_leads_nowhere_else() {
    let site = Site::of(Page::redirect("http://example.com/bytes"));
    let environment = Environment::new(program!());
    let reference = format!("127.0.0.1:{}/who/tool:1", site.port());
    let output = environment.run(["plugin", "check", &reference]);
    assert_eq!(output.status, Some(1), "{output}");
    assert!(
        output
            .stderr
            .contains("leads to example.com, and nothing is fetched from there"),
        "{output}"
    );
    let site = Site::start(|request| {
        let path = request.split(' ').nth(1).unwrap_or_default();
        Page::redirect(&format!("{path}x"))
    });
    let reference = format!("127.0.0.1:{}/who/tool:1", site.port());
    let output = environment.run(["plugin", "check", &reference]);
    assert!(output.stderr.contains("too many redirects"), "{output}");
    assert_eq!(site.requests().len(), 6);
}

/// Where a registry leads may ask for a login as well: it does not get the one for the registry.
#[test]
fn a_login_is_the_registrys_alone() {
    let layer = format!("sha256:{}", guest("echo").digest);
    let manifest = manifest(WASM, guest("echo").bytes.len(), &layer);
    for challenge in ["Basic realm=\"x\"", "Bearer realm=\"http://HOST/token\""] {
        let elsewhere = Site::start(move |request| {
            let mut lines = request.lines();
            let host = lines.find_map(|line| {
                line.to_ascii_lowercase()
                    .strip_prefix("host: ")
                    .map(str::to_owned)
            });
            let challenge = challenge.replace("HOST", &host.unwrap_or_default());
            if request.starts_with("GET /token") {
                return Page::of("application/json", r#"{"token":"x"}"#);
            }
            Page::html("")
                .with_status(401)
                .with_header("www-authenticate", &challenge)
        });
        let (manifest, to) = (manifest.clone(), elsewhere.url("/bytes"));
        let site = Site::start(move |request| match request.contains("/manifests/") {
            true => Page::of("application/json", manifest.clone()),
            false => Page::redirect(&to),
        });
        let environment = Environment::new(program!());
        let registry = Registry {
            site,
            digest: String::new(),
        };
        log_in(&environment, &registry, "YWRhOnMzY3JldA==");
        let output = environment.run(["plugin", "check", &registry.reference(":1.0")]);
        assert_eq!(output.status, Some(1), "{output}");
        let requests = elsewhere.requests();
        assert_eq!(requests.len(), 1, "{requests:?}");
        assert!(
            !requests.concat().contains("YWRhOnMzY3JldA=="),
            "{requests:?}"
        );
    }
}
