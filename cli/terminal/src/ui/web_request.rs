//! What a tool wants to send to a server, as it stands in a question: its size, its type, its headers, and every line of a
//! text.

use dunlin_host::call::{Action, WebRequest};
use dunlin_host::display::{escape, one_line};
use dunlin_host::target::Need;

use super::dump;
use super::foreign_line;
use super::style::Label;

/// The request among these that does more than read, if there is one.
pub fn sent(actions: &[Action]) -> Option<&WebRequest> {
    requests(actions).find(|request| !request.reads())
}

/// The addresses, with their queries, of what is read under a need.
pub fn read_under<'a>(need: &'a Need, actions: &'a [Action]) -> impl Iterator<Item = &'a str> {
    let read = requests(actions).filter(|request| request.reads());
    let under = read.filter(move |request| request.need().as_ref() == Some(need));
    under.map(|request| request.url.as_str())
}

fn requests(actions: &[Action]) -> impl Iterator<Item = &WebRequest> {
    actions.iter().filter_map(|action| match action {
        Action::Request(request) => Some(request),
        _ => None,
    })
}

/// The lines of a request with their looks, escaped. What is sent stands further in than what is said of it. `whole`: of
/// a body that is not text more than the beginning.
pub fn lines(actions: &[Action], whole: bool) -> Vec<(String, Option<Label>)> {
    let Some(request) = sent(actions) else {
        return read_headers(actions);
    };
    let mut lines = vec![(heading(request), Some(Label::Place))];
    // What the heading says is not repeated; another header of that name is one that nobody has seen yet.
    let in_heading = kind(request);
    let is_in_heading =
        |header: &&(String, String)| in_heading.is_some_and(|kind| std::ptr::eq(kind, &header.1));
    let others = request.headers.iter();
    for (name, value) in others.filter(|header| !is_in_heading(header)) {
        let header = format!("{}: {}", escape(name), escape(value));
        lines.push((header, Some(Label::Quiet)));
    }
    match std::str::from_utf8(&request.body) {
        Ok(text) => lines.extend(
            text.lines()
                .map(|line| (format!("  {}", foreign_line::shown(line)), None)),
        ),
        Err(_) => dump::add(&mut lines, &request.body, request.body.len(), whole),
    }
    lines
}

/// What requests that read say beside their addresses.
fn read_headers(actions: &[Action]) -> Vec<(String, Option<Label>)> {
    let with_headers = requests(actions).filter(|request| !request.headers.is_empty());
    let lines = with_headers.flat_map(|request| {
        let heading = format!("sends headers to {}", escape(&request.url));
        let headers = request.headers.iter();
        let header = |(name, value): &(String, String)| {
            (format!("  {}: {}", escape(name), escape(value)), None)
        };
        std::iter::once((heading, Some(Label::Place))).chain(headers.map(header))
    });
    lines.collect()
}

/// The type of a body, if there is one.
fn kind(request: &WebRequest) -> Option<&String> {
    let mut headers = request.headers.iter();
    let found = headers.find(|(name, _)| name == "content-type");
    found
        .filter(|_| !request.body.is_empty())
        .map(|(_, kind)| kind)
}

/// Whether the question leaves out some of a body.
pub fn is_cut(actions: &[Action]) -> bool {
    sent(actions).is_some_and(|request| {
        let is_text = std::str::from_utf8(&request.body).is_ok();
        !is_text && request.body.len() > dump::FEW_BYTES
    })
}

/// `sends 1,234 bytes of text/plain`.
fn heading(request: &WebRequest) -> String {
    let size = match request.body.len() {
        0 => return "sends no body".to_owned(),
        bytes => dump::counted(bytes as u64),
    };
    let of = kind(request).map(|kind| one_line(kind));
    let of = of.map_or_else(String::new, |kind| format!(" of {kind}"));
    let what = match std::str::from_utf8(&request.body) {
        Ok(_) => "",
        Err(_) => ", not text",
    };
    format!("sends {size}{of}{what}")
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn post(body: impl Into<Vec<u8>>, kind: &str) -> Action {
        Action::Request(WebRequest {
            method: "POST".to_owned(),
            url: "https://example.com/up?to=all".to_owned(),
            headers: vec![
                ("content-type".to_owned(), kind.to_owned()),
                ("accept".to_owned(), "*/*".to_owned()),
            ],
            usual_accept: None,
            body: body.into().into(),
        })
    }

    fn texts(action: Action, whole: bool) -> Vec<String> {
        let lines = lines(&[action], whole);
        lines.into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn all_of_a_text_is_shown() {
        let body = "a secret\r\n\tand \u{1b}[2J\u{202e}more\nsends 1 byte\n";
        assert_eq!(
            texts(post(body, "text/plain\u{7}"), false),
            [
                "sends 40 bytes of text/plain\\u{7}",
                "accept: */*",
                "  a secret",
                "  →   and \\u{1b}[2J\\u{202e}more",
                "  sends 1 byte",
            ]
        );
        // Headers carry data, too.
        let hidden = ["sends no body", "content-type: hunter2", "accept: */*"];
        assert_eq!(texts(post("", "hunter2"), false), hidden);
        let Action::Request(mut request) = post("a", "text/plain") else {
            panic!("no request");
        };
        let second = ("content-type".to_owned(), "hunter2".to_owned());
        request.headers.push(second);
        let shown = [
            "sends 1 byte of text/plain",
            "accept: */*",
            "content-type: hunter2",
            "  a",
        ];
        assert_eq!(texts(Action::Request(request), false), shown);
    }

    #[test]
    fn what_reads_says_its_query_and_its_headers() {
        let get = |url: &str, headers: &[(&str, &str)]| {
            let headers = headers
                .iter()
                .map(|&(name, value)| (name.into(), value.into()));
            Action::Request(WebRequest {
                method: "GET".to_owned(),
                url: url.to_owned(),
                headers: headers.collect(),
                usual_accept: None,
                body: Vec::new().into(),
            })
        };
        let actions = [
            get("https://a.example/x?q=1", &[]),
            get("https://a.example/x?q=2", &[("user-agent", "hunter2\u{7}")]),
            get("https://a.example/y", &[]),
        ];
        let Action::Request(first) = &actions[0] else {
            panic!("no request");
        };
        let need = first.need().expect("a need");
        let urls: Vec<_> = read_under(&need, &actions).collect();
        assert_eq!(urls, ["https://a.example/x?q=1", "https://a.example/x?q=2"]);
        let lines = lines(&actions, false).into_iter();
        let lines: Vec<_> = lines.map(|(text, _)| text).collect();
        let heading = "sends headers to https://a.example/x?q=2";
        assert_eq!(lines, [heading, "  user-agent: hunter2\\u{7}"]);
        assert!(sent(&actions).is_none());
    }

    #[test]
    fn other_bytes_are_counted() {
        let mut body = b"\xff\x00key=hunter2".to_vec();
        body.resize(100_000, 7);
        let few = texts(post(body.clone(), "image/png"), false);
        assert_eq!(few[0], "sends 100,000 bytes of image/png, not text");
        assert_eq!(
            few[2],
            "  ff 00 6b 65 79 3d 68 75 6e 74 65 72 32 07 07 07  ..key=hunter2..."
        );
        assert_eq!(few.len(), 7);
        assert!(is_cut(&[post(body.clone(), "image/png")]));
        assert!(!is_cut(&[post(vec![0xff; dump::FEW_BYTES], "image/png")]));
        assert!(!is_cut(&[post("a".repeat(100_000), "text/plain")]));
        assert_eq!(few[6], "… 99,936 more bytes: v shows more of them");
        let whole = texts(post(body, "image/png"), true);
        assert_eq!(whole.len(), 2 + 4096 + 1);
        assert_eq!(whole[4098], "… 34,464 more bytes: too many to show");
    }
}
