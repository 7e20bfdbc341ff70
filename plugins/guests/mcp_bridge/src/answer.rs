//! From the SDK's types to those of the contract.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{
    CallToolResult, ContentBlock, ErrorData, GetPromptResult, ReadResourceResult, ResourceContents,
    Role,
};
use rmcp::service::{ClientInitializeError, ServiceError};

use crate::Service;
use crate::bindings::exports::dunlin::tool::mcp_client::{Blob, Content, Failure, Server};

/// Who answered.
pub fn server(service: &Service) -> Result<Server, Failure> {
    let info = service
        .peer_info()
        .ok_or_else(|| Failure::Invalid("it did not introduce itself".to_owned()))?;
    let (name, version) = match &info.server_info {
        Some(server) => (server.name.clone(), server.version.clone()),
        None => (String::new(), String::new()),
    };
    Ok(Server {
        name,
        version,
        protocol: info.protocol_version.to_string(),
        instructions: info.instructions.clone(),
        has_tools: info.capabilities.tools.is_some(),
        has_resources: info.capabilities.resources.is_some(),
        has_prompts: info.capabilities.prompts.is_some(),
    })
}

/// Why the handshake failed.
pub fn not_begun(error: ClientInitializeError) -> Failure {
    match error {
        ClientInitializeError::JsonRpcError(refusal) => refused(&refusal),
        ClientInitializeError::ConnectionClosed(why) => Failure::Closed(why),
        ClientInitializeError::TransportError { error, .. } => {
            Failure::Closed(error.error.to_string())
        }
        ClientInitializeError::Cancelled => Failure::Cancelled,
        ClientInitializeError::NoCompatibleProtocolVersion { .. } => {
            Failure::Invalid("it speaks no revision of the protocol that is known here".to_owned())
        }
        _ => Failure::Invalid("it did not answer the handshake as the protocol wants".to_owned()),
    }
}

/// Why a request failed.
pub fn failed(error: ServiceError) -> Failure {
    match error {
        ServiceError::McpError(refusal) => refused(&refusal),
        ServiceError::TransportSend(error) => Failure::Closed(error.error.to_string()),
        ServiceError::TransportClosed => Failure::Closed("it closed the connection".to_owned()),
        ServiceError::Cancelled { .. } => Failure::Cancelled,
        ServiceError::UnexpectedResponse => {
            Failure::Invalid("it sent something else than an answer to this".to_owned())
        }
        error => Failure::Invalid(error.to_string()),
    }
}

/// The server's own words, and its number where they say nothing.
pub fn refused(error: &ErrorData) -> Failure {
    let message = error.message.trim();
    Failure::Refused(match message.is_empty() {
        true => format!("error {}", error.code.0),
        false => message.to_owned(),
    })
}

/// What a tool gave.
pub fn of_tool(result: CallToolResult) -> Result<Vec<Content>, Failure> {
    let mut parts: Vec<Content> = result.content.into_iter().map(of_block).collect();
    // Servers should say the same in words; the ones that do not would seem to say nothing.
    if parts.is_empty()
        && let Some(structured) = &result.structured_content
    {
        parts.push(Content::Text(structured.to_string()));
    }
    if result.is_error != Some(true) {
        return Ok(parts);
    }
    let texts = parts.into_iter().filter_map(|part| match part {
        Content::Text(text) => Some(text),
        Content::Blob(_) => None,
    });
    let text = texts.collect::<Vec<_>>().join("\n");
    Err(Failure::Tool(match text.trim().is_empty() {
        true => "it failed and did not say why".to_owned(),
        false => text,
    }))
}

/// What stands in a resource.
pub fn of_resource(result: ReadResourceResult) -> Vec<Content> {
    result.contents.into_iter().map(of_contents).collect()
}

/// The messages of a prompt.
pub fn of_prompt(result: GetPromptResult) -> Vec<Content> {
    let mut parts = Vec::new();
    for message in result.messages {
        if message.role == Role::Assistant {
            parts.push(Content::Text("Assistant:".to_owned()));
        }
        parts.push(of_block(message.content));
    }
    parts
}

fn of_block(block: ContentBlock) -> Content {
    match block {
        ContentBlock::Text(text) => Content::Text(text.text),
        ContentBlock::Image(image) => blob(image.mime_type, &image.data),
        ContentBlock::Audio(audio) => blob(audio.mime_type, &audio.data),
        ContentBlock::Resource(embedded) => of_contents(embedded.resource),
        ContentBlock::ResourceLink(link) => {
            let about = link.description.map(|about| format!(": {about}"));
            Content::Text(format!(
                "[resource {} ({}){}]",
                link.uri,
                link.name,
                about.unwrap_or_default()
            ))
        }
        _ => Content::Text("[content of an unknown type]".to_owned()),
    }
}

fn of_contents(contents: ResourceContents) -> Content {
    match contents {
        ResourceContents::TextResourceContents { text, .. } => Content::Text(text),
        ResourceContents::BlobResourceContents {
            mime_type,
            blob: data,
            ..
        } => {
            let media_type = mime_type.unwrap_or_else(|| "application/octet-stream".to_owned());
            blob(media_type, &data)
        }
        _ => Content::Text("[content of an unknown type]".to_owned()),
    }
}

fn blob(media_type: String, data: &str) -> Content {
    match STANDARD.decode(data) {
        Ok(bytes) => Content::Blob(Blob { media_type, bytes }),
        Err(_) => Content::Text(format!("[{media_type}, damaged: it is not base64]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn of(result: serde_json::Value) -> Result<Vec<String>, String> {
        let result: CallToolResult = serde_json::from_value(result).unwrap();
        match of_tool(result) {
            Ok(parts) => Ok(parts
                .into_iter()
                .map(|part| match part {
                    Content::Text(text) => text,
                    Content::Blob(blob) => format!("{} {:?}", blob.media_type, blob.bytes),
                })
                .collect()),
            Err(Failure::Tool(text)) => Err(text),
            Err(_) => Err("another failure".to_owned()),
        }
    }

    #[test]
    fn what_tools_give() {
        let text = json!({"type": "text", "text": "a"});
        assert_eq!(of(json!({"content": [text]})), Ok(vec!["a".to_owned()]));
        assert_eq!(
            of(json!({"content": [{"type": "image", "data": "AAE=", "mimeType": "image/png"}]})),
            Ok(vec!["image/png [0, 1]".to_owned()])
        );
        assert_eq!(
            of(json!({"content": [], "structuredContent": {"n": 1}})),
            Ok(vec!["{\"n\":1}".to_owned()])
        );
        assert_eq!(
            of(json!({"content": [text], "isError": true})),
            Err("a".to_owned())
        );
        assert_eq!(
            of(json!({"content": [{"type": "audio", "data": "?", "mimeType": "audio/wav"}]})),
            Ok(vec!["[audio/wav, damaged: it is not base64]".to_owned()])
        );
    }
}
