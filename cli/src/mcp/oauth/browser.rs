//! The browser's answer: one request to a port of this machine, and a few words back.

use std::io;

use tokio::net::TcpStream;

/// Bytes of the request line in which a browser brings the answer.
const MAX_CALLBACK_BYTES: usize = 16 * 1024;

/// What a browser shows at the end.
const FAREWELL: &str = "You can close this page and go back to Dunlin.";

/// Reads one request of a browser and answers it: the path and query, if it brings the answer.
pub(super) async fn callback(stream: &TcpStream) -> Option<String> {
    let mut request = Vec::new();
    while !request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
        stream.readable().await.ok()?;
        let mut buffer = [0; 4096];
        match stream.try_read(&mut buffer) {
            Ok(0) => return None,
            Ok(read) => request.extend_from_slice(&buffer[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
        if request.len() > MAX_CALLBACK_BYTES {
            return None;
        }
    }
    let line = String::from_utf8_lossy(&request);
    let mut words = line.lines().next()?.split(' ');
    let path = match (words.next(), words.next()) {
        (Some("GET"), Some(path)) if path.starts_with("/callback?") => Some(path.to_owned()),
        _ => None,
    };
    let (status, text) = match path {
        Some(_) => ("200 OK", FAREWELL),
        None => ("404 Not Found", "There is nothing here."),
    };
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{text}",
        text.len()
    );
    let mut rest = answer.as_bytes();
    while !rest.is_empty() {
        stream.writable().await.ok()?;
        match stream.try_write(rest) {
            Ok(written) => rest = &rest[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => break,
        }
    }
    path
}

/// The `state` in an address or in its end: by it an answer is known.
pub(super) fn state_of(address: &str) -> Option<String> {
    let (_, query) = address.split_once('?')?;
    let mut pairs = url::form_urlencoded::parse(query.as_bytes());
    let (_, state) = pairs.find(|(name, _)| name == "state")?;
    Some(state.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_known_by_its_state() {
        let page = "https://login.example/authorize?client_id=a&state=x%2By";
        assert_eq!(state_of(page).as_deref(), Some("x+y"));
        assert_eq!(state_of("/callback?code=1&state=x%2By"), state_of(page));
        assert_ne!(state_of("/callback?code=1&state=other"), state_of(page));
        assert_eq!(state_of("/callback?x"), None);
    }
}
