//! Sources of plugins: indexes at an address, in a git repository and in a registry.

use std::process::Command;

use dunlin_host::sha256_hex;
use dunlin_tests::{Environment, Page, Site, program};
use serde_json::json;

fn run(environment: &Environment, line: &str, status: i32) -> String {
    let output = environment.run(line.split(' '));
    assert_eq!(output.status, Some(status), "{line}: {output}");
    format!("{}{}", output.stdout, output.stderr)
}

/// An index with one plugin of this name.
fn index(name: &str) -> String {
    let plugin = json!({
        "name": name,
        "reference": format!("ghcr.io/who/{name}:1.0"),
        "description": "Counts the words of a file\u{1b}[2J",
        "version": "1.0.0",
        "license": "MIT",
    });
    json!({ "dunlin_plugins": 1, "plugins": [plugin] }).to_string()
}

fn git(folder: &std::path::Path, arguments: &[&str]) {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(["-c", "user.name=Ada", "-c", "user.email=ada@example.com"])
        .args(arguments)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .expect("git starts");
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn plugins_are_searched_in_sources() {
    let environment = Environment::new(program!());
    run(&environment, "plugin search words", 2);

    // An address, which leads on; a repository; and a registry.
    let site = Site::start(
        |request| match request.split(' ').nth(1).unwrap_or_default() {
            "/plugins.json" => Page::redirect("/moved.json"),
            "/moved.json" => Page::of("application/json", index("words_page")),
            "/bad.json" => Page::html("<p>no index"),
            _ => Page::html("").with_status(404),
        },
    );
    let repository = environment.root().join("outside/repository");
    std::fs::create_dir_all(repository.join("lists")).unwrap();
    std::fs::write(repository.join("dunlin-plugins.json"), index("words_git")).unwrap();
    std::fs::write(repository.join("lists/all.json"), index("other_git")).unwrap();
    git(&repository, &["init", "--quiet"]);
    git(&repository, &["add", "."]);
    git(&repository, &["commit", "--quiet", "--message", "plugins"]);
    let text = index("words_registry");
    let digest = format!("sha256:{}", sha256_hex(text.as_bytes()));
    let layer = json!({ "mediaType": "application/json", "digest": digest, "size": text.len() });
    let config =
        json!({ "mediaType": "application/vnd.oci.empty.v1+json", "digest": digest, "size": 2 });
    let manifest = json!({ "schemaVersion": 2, "config": config, "layers": [layer] }).to_string();
    let registry = Site::start(move |request| match request.contains("/manifests/") {
        true => Page::of("application/json", manifest.clone()),
        false => Page::of("application/json", text.clone()),
    });

    let page = site.url("/plugins.json");
    let in_git = format!("git+file://{}", repository.display());
    let other = format!("{in_git}#lists/all.json");
    let in_registry = format!("127.0.0.1:{}/who/plugins:latest", registry.port());
    for source in [&page, &in_git, &other, &in_registry] {
        run(&environment, &format!("plugin source add {source}"), 0);
    }
    // Once is enough.
    run(&environment, &format!("plugin source add {page}"), 0);
    let list = run(&environment, "plugin source list", 0);
    assert_eq!(list.lines().count(), 4, "{list}");

    let said = run(&environment, "plugin search count WORDS_", 0);
    assert!(!said.contains("other_git"), "{said}");
    run(&environment, "plugin search nothing_like_that", 0);

    insta::assert_snapshot!(
        "sources_that_are_added_and_searched",
        environment.transcript()
    );

    // One that cannot be read hides none of the others, and is said: also with git's own words.
    std::fs::remove_dir_all(&repository).unwrap();
    let said = run(&environment, "plugin search words_page", 1);
    assert!(said.starts_with("words_page 1.0.0"), "{said}");
    assert!(
        said.contains("2 of 4 sources could not be searched"),
        "{said}"
    );
    let said = run(&environment, "plugin source add git+file:///nowhere", 1);
    assert!(said.contains("git cannot read file:///nowhere"), "{said}");
    let _ = environment.transcript();
    run(&environment, &format!("plugin source remove {in_git}"), 0);
    run(&environment, &format!("plugin source remove {other}"), 0);
    run(&environment, "plugin search", 0);

    run(&environment, &format!("plugin source remove {in_git}"), 2);
    for (source, status) in [
        (site.url("/bad.json"), 1),
        (site.url("/none.json"), 1),
        ("http://example.com/a.json".to_owned(), 2),
        ("git+ext::touch".to_owned(), 2),
    ] {
        run(&environment, &format!("plugin source add {source}"), status);
    }
    let list = run(&environment, "plugin source list", 0);
    assert_eq!(list.lines().count(), 2, "{list}");
    insta::assert_snapshot!(
        "sources_that_are_removed_or_refused",
        environment.transcript()
    );
}
