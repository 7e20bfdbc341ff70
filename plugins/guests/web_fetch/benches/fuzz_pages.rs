//! Converts random pages for as long as it is told: `cargo bench --workspace --bench fuzz_pages -- --minutes 10`, with
//! `--seed N` for the same pages again. Ends with the smallest page that panics, takes too long or grows.

use std::time::{Duration, Instant};

use dunlin_web_fetch::page::convert;
use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner};

/// Pages between two looks at the clock.
const CASES: u32 = 2_000;

/// How long one page may take. They have some kilobytes.
const TIME: Duration = Duration::from_millis(500);

/// How often as long as a page its Markdown may be, and how many bytes besides: addresses become absolute.
const GROWTH: usize = 40;

/// What pages are made of.
const NAMES: [&str; 56] = [
    "a",
    "article",
    "aside",
    "b",
    "base",
    "blockquote",
    "body",
    "br",
    "button",
    "caption",
    "center",
    "code",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "footer",
    "form",
    "h1",
    "h2",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "li",
    "main",
    "math",
    "nav",
    "noscript",
    "ol",
    "option",
    "p",
    "plaintext",
    "pre",
    "script",
    "select",
    "span",
    "strong",
    "style",
    "svg",
    "table",
    "tbody",
    "td",
    "template",
    "textarea",
    "th",
    "thead",
    "title",
    "tr",
    "ul",
];

/// What stands in tags.
const ATTRIBUTES: [&str; 20] = [
    "",
    "",
    "",
    " hidden",
    " href=x",
    " href='#a'",
    " href=javascript:x",
    " src=i alt=b",
    " role=main",
    " role=navigation",
    " class=sr-only",
    " class='language-rust'",
    " start=5",
    " start=99999999999",
    " /",
    " aria-hidden=true",
    " style='display:none'",
    " href='/x' /",
    " class=navbox",
    " x=\"",
];

/// What stands between tags.
const TEXTS: [&str; 20] = [
    "",
    " ",
    "\n",
    "word",
    " words here ",
    "&lt;",
    "&amp;amp;",
    "&#0;",
    "&nbsp;",
    "<!--",
    "-->",
    "<![CDATA[",
    "]]>",
    "</",
    "<",
    "```",
    "| a |",
    "1. x",
    "# y",
    "ß🪶",
];

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() -> Result<(), String> {
    let minutes = number("--minutes")?.unwrap_or(0);
    let seed = match number("--seed")? {
        Some(seed) => seed,
        None => std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .map_err(|e| e.to_string())?
            .as_secs(),
    };
    println!("seed {seed}");
    let start = Instant::now();
    let mut pages: u64 = 0;
    loop {
        // A runner that has had its cases runs none any more.
        runner(seed.wrapping_add(pages))
            .run(&page(), |html| check(&html))
            .map_err(|error| match error {
                TestError::Fail(reason, html) => format!("{reason}\n{html:?}"),
                abort @ TestError::Abort(_) => abort.to_string(),
            })?;
        pages += u64::from(CASES);
        if start.elapsed() >= Duration::from_secs(60 * minutes) {
            println!("{pages} pages");
            return Ok(());
        }
    }
}

fn check(html: &str) -> Result<(), TestCaseError> {
    let start = Instant::now();
    let page = convert(html, "https://example.com/a/b");
    prop_assert!(start.elapsed() < TIME, "took {:?}", start.elapsed());
    let most = GROWTH * html.len() + 100;
    prop_assert!(page.markdown.len() <= most, "{} bytes", page.markdown.len());
    prop_assert!(
        !page
            .markdown
            .contains(|c: char| c.is_control() && c != '\n' && c != '\t')
    );
    prop_assert!(!page.markdown.contains("dunlin-implied"));
    Ok(())
}

fn page() -> impl Strategy<Value = String> {
    let start = (select(&NAMES[..]), select(&ATTRIBUTES[..]))
        .prop_map(|(name, rest)| format!("<{name}{rest}>"));
    let part = prop_oneof![
        5 => start,
        3 => select(&NAMES[..]).prop_map(|name| format!("</{name}>")),
        4 => select(&TEXTS[..]).prop_map(str::to_owned),
        1 => "\\PC{0,8}",
    ];
    proptest::collection::vec(part, 0..200).prop_map(|parts| parts.concat())
}

fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let config = Config {
        cases: CASES,
        failure_persistence: None,
        ..Config::default()
    };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

fn number(flag: &str) -> Result<Option<u64>, String> {
    let mut arguments = std::env::args().skip_while(|argument| argument != flag);
    if arguments.next().is_none() {
        return Ok(None);
    }
    let value = arguments
        .next()
        .ok_or_else(|| format!("{flag} needs a number"))?;
    let number = value
        .parse()
        .map_err(|_| format!("{flag} needs a number"))?;
    Ok(Some(number))
}
