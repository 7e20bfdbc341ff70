//! `fetch`: one request, and all of its answer.

use rquickjs::prelude::Func;
use rquickjs::{Ctx, Object, TypedArray};

use crate::bindings::dunlin::tool::types::{Error, Header};
use crate::bindings::dunlin::tool::web::{self, Request};
use crate::error::refused;
use crate::files::{append, copied};

/// Bytes of a body that the host gives at once.
const PIECE_BYTES: u32 = 64 * 1024;

/// An answer with its body.
struct Answer {
    status: u16,
    url: String,
    headers: Vec<Header>,
    body: Vec<u8>,
}

pub(crate) fn install(host: &Object<'_>) -> rquickjs::Result<()> {
    host.set("fetch", Func::from(fetch))
}

/// `headers` are names and values in pairs.
fn fetch<'js>(
    ctx: Ctx<'js>,
    method: String,
    url: String,
    headers: Vec<Vec<String>>,
    body: Option<TypedArray<'js, u8>>,
) -> rquickjs::Result<Object<'js>> {
    let request = Request::new(&method, &url);
    for pair in headers {
        if let [name, value] = pair.as_slice() {
            request.add_header(&Header {
                name: name.clone(),
                value: value.clone(),
            });
        }
    }
    if let Some(body) = body {
        request.set_body(&copied(&body));
    }
    let answer = send(request).map_err(|error| refused(&ctx, error))?;
    let object = Object::new(ctx.clone())?;
    let headers: Vec<Vec<String>> = answer
        .headers
        .into_iter()
        .map(|header| vec![header.name, header.value])
        .collect();
    object.set("status", answer.status)?;
    object.set("url", answer.url)?;
    object.set("headers", headers)?;
    object.set("body", TypedArray::new(ctx, answer.body)?)?;
    Ok(object)
}

fn send(request: Request) -> Result<Answer, Error> {
    let response = web::fetch(request)?;
    let url = response.url();
    let mut body = Vec::new();
    while let Some(piece) = response.read(PIECE_BYTES)? {
        append(&mut body, &piece, &url)?;
    }
    Ok(Answer {
        status: response.status(),
        headers: response.headers(),
        url,
        body,
    })
}
