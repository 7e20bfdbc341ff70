//! A client for the official conformance suite of MCP: Dunlin's bridge against the server at the URL that is the last
//! argument.
//!
//! ```text
//! mcp-conformance client --command "conformance CACHE-FOLDER" --suite all -o OUT
//! ```
//!
//! It connects as a chat does, and calls every tool once with whatever fits its schema; asked for something, it takes the
//! defaults. The suite looks at what arrives.

use std::error::Error as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use dunlin::mcp::address::Address;
use dunlin::mcp::oauth::{self, OAuthClient, TokenFile};
use dunlin::mcp::sent::Sent;
use dunlin::settings::KeyPlace;
use dunlin_chat::secret::Secret;
use dunlin_host::ask::{Answer, Ask, Question, Scope, TextQuestion};
use dunlin_host::call::Call;
use dunlin_host::egress::{Egress, EgressOptions, Gate, Hop, Method, Request, Url};
use dunlin_host::mcp::{McpOptions, McpServer, ServerAt};
use dunlin_host::{Host, Limits, NoProgress};
use dunlin_tests::sandbox::Sandbox;
use serde_json::{Value, json};

#[expect(clippy::print_stderr, reason = "the suite shows what a client says")]
fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [cache, .., url] = arguments.as_slice() else {
        eprintln!("usage: conformance CACHE-FOLDER URL");
        return ExitCode::from(2);
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let outcome = match runtime {
        Ok(runtime) => runtime.block_on(play(Path::new(cache), url)),
        Err(error) => Err(error.to_string()),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}

async fn play(cache: &Path, url: &str) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let url: Url = url.parse().map_err(|e| format!("{url}: {e}"))?;
    let client = client();
    let address = Address {
        name: "suite".to_owned(),
        url: url.clone(),
        headers: Vec::new(),
        key: None,
        tokens: TokenFile::new(
            sandbox.root(),
            "suite",
            &url,
            client.as_ref().and_then(OAuthClient::fixed_id),
        ),
        client,
        egress: Egress::new(EgressOptions::system("dunlin-conformance")),
        sent: Sent::default(),
    };
    let mut options = sandbox.options(Limits::standard());
    options.cache_dir = PathBuf::from(cache);
    options.mcp = McpOptions {
        bridge: dunlin::mcp::bridge(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        servers: vec![McpServer {
            name: "suite".to_owned(),
            description: None,
            at: ServerAt::Web {
                url: url.to_string(),
                connect: Arc::new(address.clone()),
            },
            ask: false,
            ask_tools: Vec::new(),
            roots: Vec::new(),
            timeout: Duration::from_secs(20),
        }],
    };
    let host = Host::new(options, Vec::new()).map_err(|e| e.to_string())?;
    let connected = call(&host, "mcp_loader", json!({})).await;
    if connected
        .as_ref()
        .is_err_and(|why| why.contains("dunlin mcp login"))
    {
        log_in(&address, None).await?;
        call(&host, "mcp_loader", json!({})).await?;
    } else {
        connected?;
    }
    for tool in host.joined() {
        let arguments = fitting(&tool.parameters);
        let called = call(&host, &tool.name, arguments.clone()).await;
        let scope = called.as_ref().err().and_then(|why| {
            let (_, scope) = why.split_once("--scope ")?;
            Some(scope.split_once('`')?.0.trim_matches('\'').to_owned())
        });
        match scope {
            // Once: who is sent away again does not ask for ever.
            Some(scope) => {
                log_in(&address, Some(&scope)).await?;
                call(&host, &tool.name, arguments).await?;
            }
            None => called?,
        }
    }
    // The end of the session is part of the protocol.
    host.close_servers().await;
    Ok(())
}

/// The page at which the suite says that a client tells who it is.
const PAGE: &str = "https://conformance-test.local/client-metadata.json";

/// What a user would have configured for the scenario.
fn client() -> Option<OAuthClient> {
    #[expect(
        clippy::disallowed_methods,
        reason = "not the program: the suite says in the environment what it is about"
    )]
    let said = |name: &str| std::env::var(name).unwrap_or_default();
    let context: Value = serde_json::from_str(&said("MCP_CONFORMANCE_CONTEXT")).unwrap_or_default();
    let scenario = said("MCP_CONFORMANCE_SCENARIO");
    let is_alone = scenario == "auth/client-credentials-basic";
    match scenario.as_str() {
        "auth/basic-cimd" => Some(OAuthClient {
            id: PAGE.to_owned(),
            secret: None,
            issuer: None,
            is_alone: false,
        }),
        "auth/pre-registration" | "auth/client-credentials-basic" => {
            let secret = context["client_secret"].as_str()?;
            Some(OAuthClient {
                id: context["client_id"].as_str()?.to_owned(),
                secret: Some(KeyPlace::known(Secret::new("suite", secret))),
                issuer: None,
                is_alone,
            })
        }
        _ => None,
    }
}

/// Logs in; the suite's own server plays both the browser's page and the person who agrees at once.
async fn log_in(address: &Address, scope: Option<&str>) -> Result<(), String> {
    let (shown, opened) = tokio::sync::oneshot::channel();
    let egress = address.egress.clone();
    let browser = async move {
        let Ok(url) = opened.await else { return };
        let url: String = url;
        let Ok(url) = url.parse() else { return };
        let mut request = Request::new(Method::GET, url);
        request.limits.redirects = 5;
        // Follows the redirect to the port that listens.
        let _ = egress.send(request, &mut Open).await;
    };
    let login = oauth::login(address, scope, |page| {
        let _ = shown.send(page.address.to_string());
    });
    let (done, ()) = tokio::join!(login, browser);
    done.map_err(|e| {
        format!(
            "{e}: {}",
            e.source().map(ToString::to_string).unwrap_or_default()
        )
    })
}

/// A browser goes everywhere.
struct Open;

#[async_trait::async_trait]
impl Gate for Open {
    async fn may_use(&mut self, _hop: &Hop<'_>) -> bool {
        true
    }
}

#[expect(clippy::print_stderr, reason = "the suite shows what a client says")]
async fn call(host: &Host, tool: &str, arguments: Value) -> Result<(), String> {
    let call = Call {
        id: tool.to_owned(),
        tool: tool.to_owned(),
        arguments,
    };
    let plan = host.prepare(&call).await.map_err(|e| e.to_string())?;
    let outcome = host
        .run(&call, &plan, Arc::new(Defaults), Arc::new(NoProgress))
        .await;
    let text = outcome.result.map_err(|e| e.to_string())?.text;
    eprintln!("{tool}: {text}");
    Ok(())
}

/// Takes the defaults.
struct Defaults;

#[async_trait::async_trait]
impl Ask for Defaults {
    async fn ask(&self, _question: Question) -> Answer {
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }

    async fn ask_text(&self, _question: TextQuestion) -> Option<String> {
        Some("-".to_owned())
    }
}

/// Arguments that fit a schema.
fn fitting(schema: &Value) -> Value {
    let empty = serde_json::Map::new();
    let properties = schema["properties"].as_object().unwrap_or(&empty);
    let pairs = properties.iter().map(|(name, property)| {
        let value = match property["type"].as_str() {
            Some("number" | "integer") => json!(5),
            Some("boolean") => json!(true),
            Some("array") => json!([]),
            Some("object") => json!({}),
            _ => property["enum"]
                .get(0)
                .cloned()
                .unwrap_or_else(|| json!("x")),
        };
        (name.clone(), value)
    });
    Value::Object(pairs.collect())
}
