//! What the model asks for.

use dunlin_sdk::Failure;
use serde::Deserialize;

/// The arguments as they come.
#[derive(Debug, Clone, Default, Deserialize)]
pub struct Arguments {
    pub url: String,
    /// `GET` without it, or `POST` if there is something to post.
    pub method: Option<Method>,
    pub post_data: Option<String>,
    /// How a page is returned.
    pub format: Option<Format>,
}

/// What is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Method {
    /// Fetch.
    #[serde(alias = "get")]
    Get,
    /// Send.
    #[serde(alias = "post")]
    Post,
}

/// How text is returned; what is not text is always base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// Pages as Markdown, other text as it is.
    #[default]
    Markdown,
    Raw,
    Base64,
}

/// Arguments that fit together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted<'a> {
    pub url: &'a str,
    /// What is posted; `None`: it is a `GET`.
    pub body: Option<&'a str>,
    pub format: Format,
}

impl Arguments {
    /// Checks that they fit together.
    ///
    /// # Errors
    /// They do not; the failure says how they would.
    pub fn request(&self) -> Result<Wanted<'_>, Failure> {
        let url = self.url.trim();
        if url.is_empty() {
            return Err(Failure::invalid_arguments(
                "url is empty; give the whole address, https://example.com/page",
            ));
        }
        let body = match (self.method, self.post_data.as_deref()) {
            (Some(Method::Post), None) => {
                return Err(Failure::invalid_arguments(
                    "POST needs post_data, the body to send",
                ));
            }
            (Some(Method::Post), Some(body)) => Some(body),
            // Some models fill every parameter.
            (Some(Method::Get) | None, None | Some("")) => None,
            (Some(Method::Get) | None, Some(_)) => {
                return Err(Failure::invalid_arguments(
                    "post_data is sent with the method POST only; set method to POST, or leave post_data out",
                ));
            }
        };
        Ok(Wanted {
            url,
            body,
            format: self.format.unwrap_or_default(),
        })
    }
}

impl Wanted<'_> {
    /// `GET` or `POST`.
    pub fn method(&self) -> &'static str {
        match self.body {
            None => "GET",
            Some(_) => "POST",
        }
    }

    /// The question for the user.
    pub fn question(&self) -> String {
        format!("Fetch webpage '{}' ({})?", self.url, self.method())
    }

    /// What the body is, as its beginning says.
    pub fn content_type(&self) -> &'static str {
        match self.body.map(str::trim_start) {
            Some(body) if body.starts_with(['{', '[']) => "application/json",
            Some(body) if body.starts_with('<') => "application/xml",
            Some(body) if is_form(body) => "application/x-www-form-urlencoded",
            _ => "text/plain; charset=utf-8",
        }
    }
}

/// Whether a text is `name=value&name=value`, encoded as forms are.
fn is_form(body: &str) -> bool {
    let is_encoded = |part: &str| {
        part.chars()
            .all(|c| c.is_ascii_alphanumeric() || "-._~*+%[]".contains(c))
    };
    body.trim_end().split('&').all(|pair| {
        pair.split_once('=')
            .is_some_and(|(name, value)| !name.is_empty() && is_encoded(name) && is_encoded(value))
    })
}
