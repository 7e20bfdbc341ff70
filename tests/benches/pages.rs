//! Turns a page of 5 MB into Markdown: as `web_fetch` does, in its component and from a server on this machine, and by
//! the same code compiled for this machine. The ratio of the medians is what the sandbox costs, network included.

use std::sync::Arc;
use std::time::{Duration, Instant};

use dunlin_host::ask::DenyAll;
use dunlin_host::{Host, NoProgress};
use dunlin_tests::sandbox::{PATIENT, Sandbox, built_in, call};
use dunlin_tests::{Page, Site};
use dunlin_web_fetch::page::convert;
use serde_json::json;

/// Bytes of the page.
const PAGE_BYTES: usize = 5_000_000;

/// Conversions of each kind.
const ROUNDS: usize = 7;

#[expect(clippy::print_stdout, reason = "its figures are its output")]
fn main() {
    let page = page();
    let site = Site::of(Page::html(page.clone()));
    let url = site.url("/");
    let sandbox = Sandbox::new();
    let host = Host::new(sandbox.options(PATIENT), vec![built_in("web_fetch")]).expect("a host");
    host.permissions()
        .set(&site.target("/"), "r--")
        .expect("a grant");
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime");
    let cold = Instant::now();
    runtime.block_on(host.tools());
    let cold = cold.elapsed();
    let call = call("web_fetch", json!({ "url": url }));
    let (mut native, mut caged) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let start = Instant::now();
        let converted = convert(&page, &url);
        native.push(start.elapsed());

        let start = Instant::now();
        let outcome = runtime.block_on(async {
            let plan = host.prepare(&call).await.expect("a plan");
            host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
                .await
        });
        caged.push(start.elapsed());
        let text = outcome.result.expect("a page").text;
        let beginning = &text[..1000];
        assert!(converted.markdown.starts_with(beginning), "{beginning}");
    }
    let (native, caged) = (median(native), median(caged));
    println!(
        "compile web_fetch                       {:>9.1} ms",
        millis(cold)
    );
    println!(
        "a page of 5 MB, native                  {:>9.1} ms",
        millis(native)
    );
    println!(
        "a page of 5 MB, fetched in the component {:>8.1} ms   x {:.2}",
        millis(caged),
        caged.as_secs_f64() / native.as_secs_f64()
    );
}

/// A page as they are: more markup than text.
fn page() -> String {
    let mut page = String::from(
        "<!doctype html><title>Birds</title><body><nav><a href=/>Home</a></nav><main>",
    );
    let mut section = 0;
    while page.len() < PAGE_BYTES {
        section += 1;
        page.push_str(&format!(
            "<section class=\"chapter chapter-{section}\" data-index=\"{section}\"><h2 id=\"c{section}\">Chapter {section}</h2>\
             <script type=\"application/json\">{{\"section\": {section}, \"state\": [1, 2, 3, 4, 5, 6, 7, 8]}}</script>\
             <p class=\"text text--large\">The sandpiper nests in <b>June</b> and lays <a class=\"link\" href=\"/eggs/{section}\">four eggs</a>, \
             which it leaves in the sand for <em>three weeks</em>, says <code>bird_{section}</code>.</p>\
             <ul class=\"list\"><li class=\"item\">on the shore</li><li class=\"item\">at the lake</li></ul>\
             <div class=\"wrapper\"><div class=\"inner\"><span class=\"label\">Seen:</span> <span>{section} times</span></div></div></section>\n"
        ));
    }
    page
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
