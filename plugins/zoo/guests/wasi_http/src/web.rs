//! One exchange, step by step, as the standard libraries of languages do it.

use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    Fields, IncomingBody, IncomingResponse, Method, OutgoingBody, OutgoingRequest, Scheme,
};
use wasip2::io::streams::{OutputStream, StreamError};

use crate::Arguments;

/// The answer; or where it ended, with the name of the code.
pub fn exchange(arguments: &Arguments) -> Result<String, String> {
    let headers: Vec<(String, Vec<u8>)> = arguments
        .headers
        .iter()
        .map(|(name, value)| (name.clone(), value.clone().into_bytes()))
        .collect();
    let headers = Fields::from_list(&headers).map_err(|code| format!("fields: {code:?}"))?;
    let request = OutgoingRequest::new(headers);
    let said = |part: &str| format!("{part}: not taken");
    request
        .set_method(&method(&arguments.method))
        .map_err(|()| said("method"))?;
    request
        .set_scheme(Some(&scheme(&arguments.scheme)))
        .map_err(|()| said("scheme"))?;
    request
        .set_authority(Some(&arguments.authority))
        .map_err(|()| said("authority"))?;
    request
        .set_path_with_query(Some(&arguments.path))
        .map_err(|()| said("path"))?;
    let body = request.body().map_err(|()| said("body"))?;
    let answer = handle(request, None).map_err(|code| format!("handle: {code:?}"))?;
    send(body, arguments)?;
    if arguments.left {
        return Ok("left".to_owned());
    }
    answer.subscribe().block();
    let response = match answer.get() {
        Some(Ok(Ok(response))) => response,
        Some(Ok(Err(code))) => return Err(format!("answer: {code:?}")),
        other => return Err(format!("no answer: {}", other.is_some())),
    };
    read(&response)
}

fn send(body: OutgoingBody, arguments: &Arguments) -> Result<(), String> {
    if let Some((text, times)) = &arguments.body {
        let stream = body.write().map_err(|()| "no stream".to_owned())?;
        for _ in 0..*times {
            if let Err(problem) = write(&stream, text.as_bytes()) {
                return Err(format!("write: {problem}"));
            }
        }
    }
    if arguments.left {
        std::mem::forget(body);
        return Ok(());
    }
    if arguments.torn {
        return Ok(());
    }
    OutgoingBody::finish(body, None).map_err(|code| format!("finish: {code:?}"))
}

fn write(stream: &OutputStream, mut bytes: &[u8]) -> Result<(), String> {
    let failed = |error: StreamError| match error {
        StreamError::Closed => "closed".to_owned(),
        StreamError::LastOperationFailed(error) => error.to_debug_string(),
    };
    while !bytes.is_empty() {
        let room = usize::try_from(stream.check_write().map_err(failed)?).unwrap_or(usize::MAX);
        if room == 0 {
            stream.subscribe().block();
            continue;
        }
        let (now, later) = bytes.split_at(room.min(bytes.len()));
        stream.write(now).map_err(failed)?;
        bytes = later;
    }
    Ok(())
}

fn read(response: &IncomingResponse) -> Result<String, String> {
    let mut seen = format!("{}\n", response.status());
    for (name, value) in response.headers().entries() {
        seen.push_str(&format!("{name}: {}\n", String::from_utf8_lossy(&value)));
    }
    let body: IncomingBody = response.consume().map_err(|()| "no body".to_owned())?;
    let stream = body.stream().map_err(|()| "no stream".to_owned())?;
    loop {
        match stream.blocking_read(1 << 16) {
            Ok(piece) => seen.push_str(&String::from_utf8_lossy(&piece)),
            Err(StreamError::Closed) => return Ok(seen),
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(format!("body: {}", error.to_debug_string()));
            }
        }
    }
}

fn method(name: &str) -> Method {
    match name {
        "" | "GET" => Method::Get,
        "HEAD" => Method::Head,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "DELETE" => Method::Delete,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    }
}

fn scheme(name: &str) -> Scheme {
    match name {
        "" | "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    }
}
