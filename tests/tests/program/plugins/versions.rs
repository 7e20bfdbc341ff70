//! Other versions of an installed plugin: published, found, installed, and taken back.

use std::collections::HashMap;
use std::fs;
use std::sync::{Arc, Mutex};

use dunlin_host::metadata::Metadata;
use dunlin_host::sha256_hex;
use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, Page, Site, program};
use serde_json::{Value, json};

/// A registry that keeps what is put there. Who writes has to log in.
struct Registry {
    site: Site,
    /// By their paths.
    parts: Arc<Mutex<HashMap<String, Vec<u8>>>>,
}

impl Registry {
    fn start() -> Registry {
        let parts = Arc::new(Mutex::new(HashMap::new()));
        let kept = Arc::clone(&parts);
        let site = Site::of_bytes(move |request, body| {
            let mut parts = kept.lock().expect("no other test has it");
            let mut words = request.split(' ');
            let method = words.next().unwrap_or_default();
            let path = words.next().unwrap_or_default();
            let is_writer = request.contains("Basic YWRhOnMzY3JldA==");
            if !is_writer && (method == "POST" || method == "PUT") {
                return Page::html("")
                    .with_status(401)
                    .with_header("www-authenticate", "Basic realm=\"played\"");
            }
            match method {
                "POST" => Page::html("")
                    .with_status(202)
                    .with_header("location", "/v2/who/echo/blobs/uploads/1?state=x"),
                "PUT" => {
                    let path = match path.split_once("&digest=") {
                        Some((_, digest)) => {
                            let digest = digest.replace("%3A", ":");
                            assert_eq!(digest, format!("sha256:{}", sha256_hex(body)));
                            format!("/v2/who/echo/blobs/{digest}")
                        }
                        None => path.to_owned(),
                    };
                    parts.insert(path, body.to_vec());
                    Page::html("").with_status(201)
                }
                _ if path.starts_with("/v2/who/echo/tags/list") => {
                    let tags = parts
                        .keys()
                        .filter_map(|path| path.strip_prefix("/v2/who/echo/manifests/"));
                    let tags: Vec<&str> = tags.collect();
                    Page::of(
                        "application/json",
                        json!({ "name": "who/echo", "tags": tags }).to_string(),
                    )
                }
                _ => match parts.get(path) {
                    Some(bytes) => Page::of("application/octet-stream", bytes.clone()),
                    None => Page::html("").with_status(404),
                },
            }
        });
        Registry { site, parts }
    }

    fn reference(&self, tag: &str) -> String {
        format!("127.0.0.1:{}/who/echo:{tag}", self.site.port())
    }

    fn manifest(&self, tag: &str) -> Option<Value> {
        let parts = self.parts.lock().expect("no other test has it");
        let bytes = parts.get(&format!("/v2/who/echo/manifests/{tag}"))?;
        serde_json::from_slice(bytes).ok()
    }
}

fn run(environment: &Environment, line: &str, status: i32) -> String {
    let output = environment.run(line.split(' '));
    assert_eq!(output.status, Some(status), "{line}: {output}");
    format!("{}{}", output.stdout, output.stderr)
}

/// The component of `echo` in this version.
fn echo(environment: &Environment, version: &str) -> String {
    let metadata = Metadata {
        version: Some(version.to_owned()),
        licenses: Some("MIT".to_owned()),
        ..Metadata::default()
    };
    let bytes = metadata.put_into(guest("echo").bytes).expect("a component");
    let path = environment.outside_file(&format!("echo-{version}.wasm"), bytes);
    path.to_str().expect("UTF-8").to_owned()
}

fn log_in(environment: &Environment, registry: &Registry) {
    let folder = environment.home().join(".docker");
    fs::create_dir_all(&folder).expect("a folder");
    let server = format!("127.0.0.1:{}", registry.site.port());
    let text = json!({ "auths": { server: { "auth": "YWRhOnMzY3JldA==" } } });
    fs::write(folder.join("config.json"), text.to_string()).expect("a file");
}

#[test]
fn what_is_published_is_what_the_sources_make() {
    let environment = Environment::new(program!());
    let registry = Registry::start();
    log_in(&environment, &registry);
    let one = echo(&environment, "1.0.0");
    let publish = |what: &str, tag: &str, status| {
        let reference = registry.reference(tag);
        let line = format!("plugin publish {reference} {what}");
        run(&environment, &line, status)
    };
    // What is installed here, also under another name, is no reason against it.
    run(
        &environment,
        &format!("plugin install {one} --name own --yes"),
        0,
    );
    publish(&one, "1.0.0", 0);
    // Sources that make nothing: the component beside them is of others.
    let text = "name = \"words\"\nlanguage = \"c\"\n";
    let manifest = environment.project_file("words/plugin.toml", text);
    let folder = manifest.parent().expect("a folder");
    fs::copy(&one, folder.join("plugin.wasm")).expect("a component");
    publish(&folder.display().to_string(), "1.1.0", 1);
    assert_eq!(registry.manifest("1.1.0"), None);
}

#[test]
fn a_plugin_is_published_and_updated() {
    let environment = Environment::new(program!());
    let registry = Registry::start();
    let (one, two) = (echo(&environment, "1.0.0"), echo(&environment, "1.1.0"));
    let publish = |what: &str, tag: &str, status| {
        let reference = registry.reference(tag);
        run(
            &environment,
            &format!("plugin publish {reference} {what}"),
            status,
        )
    };
    // Not without a login, and then nothing is there.
    publish(&one, "1.0.0", 1);
    assert_eq!(registry.manifest("1.0.0"), None);
    log_in(&environment, &registry);
    let said = publish(&one, "1.0.0", 0);
    let manifest = registry.manifest("1.0.0").unwrap();
    assert_eq!(manifest["layers"][0]["mediaType"], "application/wasm");
    let annotations = &manifest["annotations"];
    assert_eq!(annotations["org.opencontainers.image.version"], "1.0.0");
    assert_eq!(annotations["org.opencontainers.image.licenses"], "MIT");
    // A tag is not moved in passing, and publishing the same again changes nothing.
    assert_eq!(
        publish(&one, "1.0.0", 0).lines().next(),
        said.lines().next()
    );
    publish(&two, "1.0.0", 1);
    assert_eq!(registry.manifest("1.0.0"), Some(manifest));

    let install = format!("plugin install {} --yes", registry.reference("1.0.0"));
    run(&environment, &install, 0);
    run(&environment, "plugin outdated", 0);
    run(&environment, "plugin update", 0);

    publish(&two, "1.1.0", 0);
    run(&environment, "plugin outdated", 0);
    // As for every installation, somebody has to agree.
    run(&environment, "plugin update echo", 3);
    run(&environment, "plugin update --yes", 0);

    // A tag that is moved is said to be.
    let three = echo(&environment, "1.1.1");
    let reference = registry.reference("1.1.0");
    run(
        &environment,
        &format!("plugin publish {reference} {three} --replace"),
        0,
    );
    run(&environment, "plugin outdated", 0);
    run(&environment, "plugin update --yes", 0);

    // A registry that is gone is no reason to say that there is nothing.
    registry.parts.lock().unwrap().clear();
    run(&environment, "plugin outdated", 1);
    run(&environment, "plugin update eco", 2);
    for to in [
        "127.0.0.1:1/A/b:1",
        "127.0.0.1:1/a/b@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    ] {
        run(&environment, &format!("plugin publish {to} {one}"), 2);
    }
    insta::assert_snapshot!(environment.transcript());
}

/// Whoever runs the registry chooses what a tag names; an old version under a new tag is no update.
#[test]
fn an_older_version_under_a_later_tag_is_no_update() {
    let environment = Environment::new(program!());
    let registry = Registry::start();
    log_in(&environment, &registry);
    let publish = |version: &str, tag: &str| {
        let component = echo(&environment, version);
        let reference = registry.reference(tag);
        run(
            &environment,
            &format!("plugin publish {reference} {component}"),
            0,
        );
    };
    publish("1.0.0", "1.0.0");
    let install = |tag: &str| {
        let line = format!("plugin install {} --yes", registry.reference(tag));
        run(&environment, &line, 0)
    };
    install("1.0.0");
    publish("0.5.0", "2.0.0");
    run(&environment, "plugin update --yes", 1);
    run(&environment, "plugin list", 0);
    // Nor is the installed one under a later tag.
    publish("1.0.0", "2.1.0");
    let said = run(&environment, "plugin update --yes", 1);
    assert!(!said.contains("in this very version"), "{said}");
    // On purpose it is installed.
    install("2.0.0");
    insta::assert_snapshot!(environment.transcript());
}

#[test]
fn a_version_is_taken_back() {
    let environment = Environment::new(program!());
    let (one, two) = (echo(&environment, "1.0.0"), echo(&environment, "1.1.0"));
    let path = environment.outside_file("echo.wasm", "");
    let path = path.to_str().unwrap();
    let install = format!("plugin install {path} --yes");
    fs::copy(one, path).unwrap();
    run(&environment, &install, 0);
    run(&environment, "plugin rollback echo --yes", 1);
    fs::copy(two, path).unwrap();
    run(&environment, "plugin outdated", 0);
    run(&environment, "plugin update --yes", 0);
    let installed = || run(&environment, "plugin list", 0);
    installed();

    // There and back again, with a question each time.
    run(&environment, "plugin rollback echo", 3);
    run(&environment, "plugin rollback echo --yes", 0);
    installed();
    run(
        &environment,
        r#"tools call echo --args {"text":"hello"}"#,
        0,
    );
    run(&environment, "plugin info echo", 0);
    let mut terminal = environment.terminal(["plugin", "rollback", "echo"]);
    terminal.wait_for("Go back to this version (1.1.0, ");
    terminal.type_line("y");
    assert_eq!(terminal.wait_end(), Some(0), "{terminal:?}");
    installed();
    run(&environment, "plugin remove echo --yes", 0);
    let left = fs::read_dir(environment.data().join("plugins")).unwrap();
    assert_eq!(left.count(), 0);
    insta::assert_snapshot!(environment.transcript());
}
