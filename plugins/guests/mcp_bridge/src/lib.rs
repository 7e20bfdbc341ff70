//! Speaks the Model Context Protocol with one server.
//!
//! The protocol is the official SDK's, which waits for many things at once; a component waits for one thing at a time.
//! `connection` brings the two together: whenever nothing of the SDK can go on, and only then, the host is asked for the next
//! message. So there is no clock, no thread and no polling in here, and a call that is not wanted any more ends in
//! the same place in which it waits.
//!
//! Nothing that a server sends can do more than break this instance, and the host makes another.

mod answer;
mod bindings;
mod client;
mod connection;
mod elicit;
mod lists;
mod sampling;

use rmcp::model::{
    CallToolRequestParams, ClientCapabilities, ClientConfig, GetPromptRequestParams,
    Implementation, ProtocolVersion,
};
use rmcp::service::{
    ClientInitializeError, ClientLifecycleMode, RoleClient, RunningService,
    serve_client_with_lifecycle,
};
use std::cell::RefCell;
use std::rc::Rc;

use bindings::dunlin::tool::mcp;
use bindings::exports::dunlin::tool::mcp_client::{
    Content, Failure, Guest, ListChanges, Prompt, ResourceInfo, Server, Tool,
};
use client::Client;
use connection::HostTransport;

type Service = RunningService<RoleClient, Client>;

thread_local! {
    static SERVICE: RefCell<Option<Rc<Service>>> = const { RefCell::new(None) };
}

/// The component.
#[derive(Debug)]
pub struct Bridge;

impl Guest for Bridge {
    fn connect(name: String, version: String) -> Result<Server, Failure> {
        connection::open()?;
        let config = config(name, version)?;
        let legacy = config
            .clone()
            .with_protocol_version(ProtocolVersion::LATEST_WITH_INITIALIZE);
        let service = match start(legacy, ClientLifecycleMode::Initialize)? {
            Ok(service) => service,
            // A server of a later revision knows no handshake any more, and says so.
            Err(ClientInitializeError::JsonRpcError(refusal)) => {
                let modern = ClientLifecycleMode::Discover {
                    preferred_versions: vec![ProtocolVersion::LATEST],
                };
                match start(config, modern)? {
                    Ok(service) => service,
                    Err(_) => return Err(answer::refused(&refusal)),
                }
            }
            Err(error) => return Err(answer::not_begun(error)),
        };
        let server = answer::server(&service)?;
        SERVICE.set(Some(Rc::new(service)));
        Ok(server)
    }

    fn list_tools(most: u32) -> Result<Vec<Tool>, Failure> {
        let service = service()?;
        connection::drive(lists::tools(&service, most as usize))?
    }

    fn call_tool(name: String, arguments: String) -> Result<Vec<Content>, Failure> {
        let service = service()?;
        let arguments = serde_json::from_str(&arguments)
            .map_err(|e| Failure::Invalid(format!("the arguments are not a JSON object: {e}")))?;
        let params = CallToolRequestParams::new(name).with_arguments(arguments);
        let result = connection::drive(async { service.call_tool(params).await })?;
        answer::of_tool(result.map_err(answer::failed)?)
    }

    fn list_resources(most: u32) -> Result<Vec<ResourceInfo>, Failure> {
        let service = service()?;
        connection::drive(lists::resources(&service, most as usize))?
    }

    fn read_resource(uri: String) -> Result<Vec<Content>, Failure> {
        let service = service()?;
        connection::drive(lists::resource(&service, uri))?
    }

    fn list_prompts(most: u32) -> Result<Vec<Prompt>, Failure> {
        let service = service()?;
        connection::drive(lists::prompts(&service, most as usize))?
    }

    fn get_prompt(name: String, arguments: Vec<(String, String)>) -> Result<Vec<Content>, Failure> {
        let service = service()?;
        let mut params = GetPromptRequestParams::new(name);
        if !arguments.is_empty() {
            let pairs = arguments.into_iter();
            let pairs = pairs.map(|(name, value)| (name, serde_json::Value::String(value)));
            params = params.with_arguments(pairs.collect());
        }
        let result = connection::drive(async { service.get_prompt(params).await })?;
        Ok(answer::of_prompt(result.map_err(answer::failed)?))
    }

    fn process_messages() -> Result<ListChanges, Failure> {
        service()?;
        connection::process_messages()?;
        Ok(client::take_changes())
    }
}

/// Introduces itself. The outer failure is the connection's, the inner one the other side's.
fn start(
    config: ClientConfig,
    mode: ClientLifecycleMode,
) -> Result<Result<Service, ClientInitializeError>, Failure> {
    let client = Client::new(config);
    connection::drive(serve_client_with_lifecycle(client, HostTransport, mode))
}

fn config(name: String, version: String) -> Result<ClientConfig, Failure> {
    let host = mcp::capabilities();
    let mut offered = serde_json::json!({"elicitation": {"form": {}, "url": {}}});
    if host.sampling {
        offered["sampling"] = serde_json::json!({});
    }
    if !host.roots.is_empty() {
        offered["roots"] = serde_json::json!({});
    }
    let capabilities: ClientCapabilities = serde_json::from_value(offered)
        .map_err(|e| Failure::Invalid(format!("cannot introduce itself: {e}")))?;
    let implementation = Implementation::new(name, version);
    Ok(ClientConfig::new(capabilities, implementation))
}

fn service() -> Result<Rc<Service>, Failure> {
    let service = SERVICE.with_borrow(|service| service.as_ref().map(Rc::clone));
    service.ok_or_else(|| Failure::Closed("it was never connected".to_owned()))
}

#[cfg(target_arch = "wasm32")]
bindings::export_bindings!(Bridge with_types_in bindings);
