//! The tool `web_fetch`: shows a model a page of the web.
//!
//! A page is mostly not what it is about: scripts, styles, navigation, banners. [`page`] reduces it to its content
//! while it comes in, in bounded memory and bounded depth whatever it is made of, and writes that as Markdown. Text
//! and JSON stay as they are; anything else becomes base64.
//!
//! [`arguments`] says what is wanted, [`fetch`] fetches it through a [`source::Source`], [`media`] and [`charset`]
//! know what came, [`answer`] lays it out within the room that a model has.

pub mod answer;
pub mod arguments;
pub mod charset;
pub mod fetch;
pub mod media;
pub mod page;
pub mod source;

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};

use arguments::Arguments;
use source::Web;

/// The tool.
#[derive(Debug)]
pub struct WebFetch;

impl Tool for WebFetch {
    const NAME: &'static str = "web_fetch";
    const TITLE: Option<&'static str> = Some("Fetch a page");

    const DESCRIPTION: &'static str = "Fetches an address of the web and returns what is there: the main content \
        of a page as Markdown, text and JSON as they are, images and other files as base64. Long pages are cut.";

    const PARAMETERS: Parameters = Parameters::json_schema(
        r#"{
  "type": "object",
  "properties": {
    "url": {"type": "string", "description": "The whole address, with http:// or https://"},
    "method": {"type": "string", "enum": ["GET", "POST"], "description": "GET unless something is to be sent"},
    "post_data": {"type": "string", "description": "The body to send; needed for POST"},
    "format": {"type": "string", "enum": ["markdown", "raw", "base64"], "description": "How a page is returned: markdown (default), raw as the server sent it, or base64"}
  },
  "required": ["url"]
}"#,
    );

    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        let request = arguments.request()?;
        let plan = Plan::ask(request.question());
        Ok(match request.body {
            None => plan.reads_url(request.url),
            Some(_) => plan.writes_url(request.url),
        })
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        Ok(fetch::fetch(&Web, &arguments.request()?)?.into())
    }
}

dunlin_sdk::export!(WebFetch);

#[cfg(test)]
mod tests;
