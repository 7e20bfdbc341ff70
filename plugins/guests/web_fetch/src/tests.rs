//! What becomes of arguments, answers and pages.

mod answers;
mod charsets;
mod pages;

use dunlin_sdk::{Operation, Plan, Tool, parse_arguments};

use crate::WebFetch;
use crate::arguments::Arguments;

fn prepare(arguments: &str) -> Result<Plan, String> {
    let arguments: Arguments = parse_arguments(arguments).map_err(|f| f.message)?;
    WebFetch::prepare(&arguments).map_err(|failure| failure.message)
}

#[test]
fn the_plan_says_what_is_done() {
    for (arguments, question, operation) in [
        (
            r#"{"url": "http://example.com/page"}"#,
            "Fetch webpage 'http://example.com/page' (GET)?",
            Operation::Read,
        ),
        (
            r#"{"url": " https://example.com/?q=1 ", "method": "GET", "post_data": ""}"#,
            "Fetch webpage 'https://example.com/?q=1' (GET)?",
            Operation::Read,
        ),
        (
            r#"{"url": "https://example.com/", "method": "POST", "post_data": "a=b"}"#,
            "Fetch webpage 'https://example.com/' (POST)?",
            Operation::Write,
        ),
        (
            r#"{"url": "https://example.com/", "method": "post", "post_data": ""}"#,
            "Fetch webpage 'https://example.com/' (POST)?",
            Operation::Write,
        ),
    ] {
        let plan = prepare(arguments).unwrap();
        assert_eq!(plan.question, question);
        assert_eq!(plan.needs.len(), 1);
        assert_eq!(plan.needs[0].operation, operation);
    }
}

#[test]
fn arguments_have_to_fit_together() {
    for (arguments, message) in [
        (
            r#"{"url": " "}"#,
            "url is empty; give the whole address, https://example.com/page",
        ),
        (
            r#"{"url": "https://h/", "method": "POST"}"#,
            "POST needs post_data, the body to send",
        ),
        (
            r#"{"url": "https://h/", "post_data": "x"}"#,
            "post_data is sent with the method POST only; set method to POST, or leave post_data out",
        ),
    ] {
        assert_eq!(prepare(arguments).unwrap_err(), message);
    }
}

#[test]
fn a_body_says_what_it_is() {
    for (body, expected) in [
        (r#"{"a": 1}"#, "application/json"),
        ("\n[1]", "application/json"),
        ("<a/>", "application/xml"),
        ("a=b&c=%20+d", "application/x-www-form-urlencoded"),
        ("a=b c", "text/plain; charset=utf-8"),
        ("hello", "text/plain; charset=utf-8"),
        ("", "text/plain; charset=utf-8"),
    ] {
        let arguments = Arguments {
            url: "https://h/".to_owned(),
            method: Some(crate::arguments::Method::Post),
            post_data: Some(body.to_owned()),
            format: None,
        };
        assert_eq!(
            arguments.request().unwrap().content_type(),
            expected,
            "{body}"
        );
    }
}
