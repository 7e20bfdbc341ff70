//! What a server offers, page by page.

use rmcp::model::{
    ClientRequest, PaginatedRequestParams, ReadResourceRequest, ReadResourceRequestParams,
    RequestOptionalParam, ServerResult,
};

use crate::Service;
use crate::answer;
use crate::bindings::exports::dunlin::tool::mcp_client::{
    Content, Failure, Prompt, PromptArgument, ResourceInfo, Tool,
};

/// Pages of one list, at most: a server may go on giving the same one for ever.
const MAX_PAGES: usize = 100;

/// One page: what it holds, and where the next one is.
type Page<T> = (Vec<T>, Option<String>);

pub async fn tools(service: &Service, most: usize) -> Result<Vec<Tool>, Failure> {
    let all = pages(
        service,
        most,
        true,
        ClientRequest::ListToolsRequest,
        |result| match result {
            ServerResult::ListToolsResult(list) => Some((list.tools, list.next_cursor)),
            _ => None,
        },
    );
    let tools = all.await?.into_iter().map(|tool| {
        let hints = tool.annotations.as_ref();
        Tool {
            title: tool.title.or_else(|| hints?.title.clone()),
            read_only: hints.and_then(|hints| hints.read_only_hint),
            destructive: hints.and_then(|hints| hints.destructive_hint),
            name: tool.name.into_owned(),
            description: tool.description.unwrap_or_default().into_owned(),
            input_schema: serde_json::Value::Object((*tool.input_schema).clone()).to_string(),
        }
    });
    Ok(tools.collect())
}

pub async fn resources(service: &Service, most: usize) -> Result<Vec<ResourceInfo>, Failure> {
    let all = pages(
        service,
        most,
        false,
        ClientRequest::ListResourcesRequest,
        |result| match result {
            ServerResult::ListResourcesResult(list) => Some((list.resources, list.next_cursor)),
            _ => None,
        },
    );
    let resources = all.await?.into_iter().map(|resource| ResourceInfo {
        name: resource.title.unwrap_or(resource.name),
        uri: resource.uri,
        description: resource.description.unwrap_or_default(),
        media_type: resource.mime_type.unwrap_or_default(),
    });
    Ok(resources.collect())
}

pub async fn prompts(service: &Service, most: usize) -> Result<Vec<Prompt>, Failure> {
    let all = pages(
        service,
        most,
        false,
        ClientRequest::ListPromptsRequest,
        |result| match result {
            ServerResult::ListPromptsResult(list) => Some((list.prompts, list.next_cursor)),
            _ => None,
        },
    );
    let prompts = all.await?.into_iter().map(|prompt| Prompt {
        name: prompt.name,
        description: prompt.description.unwrap_or_default(),
        arguments: prompt
            .arguments
            .unwrap_or_default()
            .into_iter()
            .map(|argument| PromptArgument {
                name: argument.name,
                description: argument.description.unwrap_or_default(),
                required: argument.required.unwrap_or_default(),
            })
            .collect(),
    });
    Ok(prompts.collect())
}

/// Reads one resource.
pub async fn resource(service: &Service, uri: String) -> Result<Vec<Content>, Failure> {
    // As with lists: not through the SDK's own way, which keeps answers.
    let request = ReadResourceRequest::new(ReadResourceRequestParams::new(uri));
    let answered = service.send_request(ClientRequest::ReadResourceRequest(request));
    match answered.await.map_err(answer::failed)? {
        ServerResult::ReadResourceResult(result) => Ok(answer::of_resource(result)),
        _ => Err(Failure::Invalid(
            "it sent something else than a resource".to_owned(),
        )),
    }
}

/// Goes through the pages of a list. `strict`: more than `most` is a failure, and not left out.
async fn pages<T, M: Default>(
    service: &Service,
    most: usize,
    strict: bool,
    request: fn(RequestOptionalParam<M, PaginatedRequestParams>) -> ClientRequest,
    page_of: fn(ServerResult) -> Option<Page<T>>,
) -> Result<Vec<T>, Failure> {
    let mut all = Vec::new();
    let mut cursor: Option<String> = None;
    for _ in 0..MAX_PAGES {
        let params = PaginatedRequestParams::default().with_cursor(cursor.clone());
        let wanted = RequestOptionalParam::with_param(params);
        // Not through the SDK's own lists: those keep answers for a while, and a component has no clock.
        let answered = service.send_request(request(wanted)).await;
        let (items, next) = page_of(answered.map_err(answer::failed)?)
            .ok_or_else(|| Failure::Invalid("it sent something else than a list".to_owned()))?;
        all.extend(items);
        if all.len() > most {
            if strict {
                return Err(Failure::Invalid(format!("it offers more than {most}")));
            }
            all.truncate(most);
            return Ok(all);
        }
        if next.is_none() || next == cursor {
            return Ok(all);
        }
        cursor = next;
    }
    Err(Failure::Invalid(format!(
        "its list has more than {MAX_PAGES} pages"
    )))
}
