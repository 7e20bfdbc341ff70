//! Servers at an address, and servers of the revision without a handshake.

use std::sync::Arc;

use dunlin::mcp::address::Address;
use dunlin::mcp::oauth::TokenFile;
use dunlin::mcp::sent::Sent;
use dunlin_host::Host;
use dunlin_host::egress::{Egress, EgressOptions, Url};
use dunlin_host::mcp::ServerAt;
use dunlin_tests::sandbox::Sandbox;
use dunlin_tests::{Page, Site};
use serde_json::{Value, json};

use super::{host, host_with, load, use_tool};

/// A host with one server at this address.
fn host_at(sandbox: &Sandbox, url: &str) -> Host {
    let url: Url = url.parse().expect("an address");
    host_with(sandbox, &["good"], |server| {
        let address = Address {
            name: server.name.clone(),
            url: url.clone(),
            headers: Vec::new(),
            key: None,
            client: None,
            tokens: TokenFile::new(sandbox.root(), "good", &url, None),
            egress: Egress::new(EgressOptions::system("dunlin-tests")),
            sent: Sent::default(),
        };
        server.at = ServerAt::Web {
            url: url.to_string(),
            connect: Arc::new(address),
        };
    })
}

fn answer(request: &str, result: impl FnOnce(&str) -> Result<Value, Value>) -> Page {
    let body = request.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let message: Value = serde_json::from_str(body).unwrap_or_default();
    let (Some(method), id) = (message["method"].as_str(), &message["id"]) else {
        return Page::html("").with_status(405);
    };
    if id.is_null() {
        return Page::of("text/plain", "").with_status(202);
    }
    let said = |what: &str, said: Value| {
        let message = json!({"jsonrpc": "2.0", "id": id, what: said});
        Page::of("application/json", message.to_string())
    };
    match result(method) {
        Ok(result) => said("result", result),
        Err(error) => said("error", error).with_status(400),
    }
}

fn tools(method: &str) -> Result<Value, Value> {
    match method {
        "tools/list" => {
            let schema = json!({"type": "object", "properties": {"text": {"type": "string"}}});
            Ok(json!({"tools": [{"name": "echo", "inputSchema": schema}]}))
        }
        "tools/call" => Ok(json!({"content": [{"type": "text", "text": "tereu"}]})),
        _ => Err(json!({"code": -32601, "message": "no such method"})),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_ends_at_its_server() {
    let site = Site::start(|request| {
        let page = answer(request, |method| match method {
            "initialize" => Ok(json!({
                "protocolVersion": "2025-11-25",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "far", "version": "1"},
            })),
            method => tools(method),
        });
        page.with_header("mcp-session-id", "a-session")
    });
    let sandbox = Sandbox::new();
    let host = host_at(&sandbox, &site.url("/mcp?key=s3cret"));
    load(&host, json!({})).await.expect("a connection");
    assert_eq!(use_tool(&host, "good__echo").await, Ok("tereu".to_owned()));
    // What stands behind a ? is nobody's business.
    let place = &host.servers()[0].place;
    assert!(place.ends_with("/mcp?…"), "{place}");
    let log: Vec<String> = sandbox.audit().iter().map(ToString::to_string).collect();
    assert!(!log.concat().contains("s3cret"), "{log:?}");
    host.close_servers().await;
    let requests = site.requests();
    let last = requests.last().expect("a request").to_ascii_lowercase();
    assert!(last.starts_with("delete /mcp"), "{last}");
    assert!(last.contains("mcp-session-id: a-session"), "{last}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_no_to_an_address_holds_for_servers() {
    let site = Site::start(|request| answer(request, tools));
    let sandbox = Sandbox::new();
    let target = site.target("/");
    let no = json!({target: "---"}).to_string();
    let file = sandbox.permissions_file();
    std::fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
    std::fs::write(&file, no).expect("a file");
    let host = host_at(&sandbox, &site.url("/mcp"));
    load(&host, json!({})).await.expect_err("no connection");
    assert_eq!(site.requests(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_without_a_handshake_is_discovered() {
    let sandbox = Sandbox::new();
    let near = host(&sandbox, &["modern"]);
    let told = load(&near, json!({})).await.expect("a connection");
    assert!(told.contains("modern is connected (served 2.0, "), "{told}");
    assert_eq!(
        use_tool(&near, "modern__echo").await,
        Ok("tereu".to_owned())
    );

    let site = Site::start(|request| {
        answer(request, |method| match method {
            "server/discover" => Ok(json!({
                "resultType": "complete", "supportedVersions": ["2026-07-28"],
                "capabilities": {"tools": {}}, "ttlMs": 0, "cacheScope": "private",
            })),
            method => tools(method),
        })
    });
    let far = host_at(&sandbox, &site.url("/mcp"));
    load(&far, json!({})).await.expect("a connection");
    assert_eq!(use_tool(&far, "good__echo").await, Ok("tereu".to_owned()));
    assert_eq!(far.servers()[0].server_info.protocol, "2026-07-28");
}
