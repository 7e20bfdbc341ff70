//! What a guest sends to a server: it is asked about when all of it is there, and a yes is one to exactly that.

use std::sync::Arc;

use dunlin_host::ask::{Answer, DenyAll, Origin, Question, Scope};
use dunlin_host::call::{Action, Failure, PlanStatus, WebRequest};
use dunlin_host::egress::SiteHeaders;
use dunlin_host::search::{Engine, SearchOptions};
use dunlin_host::target::{Operation, Target};
use dunlin_host::{Host, Plugin};
use dunlin_tests::sandbox::{Asker, PATIENT, README, Sandbox, built_in, call, play};
use dunlin_tests::{Page, Site};
use serde_json::{Value, json};

use crate::web::host_with;

fn host(sandbox: &Sandbox) -> Host {
    host_with(sandbox, SiteHeaders::default(), "post_otherwise")
}

async fn post(host: &Host, arguments: Value, asker: &Arc<Asker>) -> Result<String, Failure> {
    let call = call("post_otherwise", arguments);
    let outcome = play(host, &call, asker.clone()).await?;
    outcome.result.map(|success| success.text)
}

/// The request that a question is about.
fn shown(question: &Question) -> &WebRequest {
    let [Action::Request(request)] = question.actions.as_slice() else {
        panic!("{question:?}");
    };
    request
}

/// The bodies that came.
fn bodies(site: &Site) -> Vec<String> {
    let requests = site.requests().into_iter();
    let body = |request: String| request.split_once("\r\n\r\n").expect("a body").1.to_owned();
    requests.map(body).collect()
}

#[tokio::test]
async fn what_is_posted_is_shown_before_it_is_sent() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host(&sandbox);
    for more in [json!({}), json!({ "site": true })] {
        let mut arguments = json!({ "url": site.url("/") });
        let object = arguments.as_object_mut().unwrap();
        object.extend(more.as_object().cloned().unwrap());
        // What it declares cannot be answered yet: nobody knows what it is.
        let proposed = call("post_otherwise", arguments.clone());
        let plan = host.prepare(&proposed).await.unwrap();
        assert_eq!(plan.status, PlanStatus::Allowed);
        let asker = Arc::new(Asker::yes());
        assert_eq!(post(&host, arguments, &asker).await.unwrap(), "200 ");
        let questions = asker.questions();
        let [question] = questions.as_slice() else {
            panic!("{questions:?}");
        };
        assert_eq!(
            question.wording,
            format!("Allow post_otherwise to POST to '{}'?", site.url("/"))
        );
        assert_eq!(question.origin, Origin::Declared);
        assert_eq!(question.needs[0].operation, Operation::Write);
        assert_eq!(
            question.needs[0].target,
            Target::Url(site.target("/").into())
        );
        assert_eq!(
            question.notices,
            ["This is a server on this machine, not on the internet."]
        );
        let request = shown(question);
        assert_eq!(request.body, README.as_bytes());
        assert_eq!(request.header("content-type"), Some("text/plain"));
        assert_eq!(
            (request.method.as_str(), &request.url),
            ("POST", &site.url("/"))
        );
    }
    assert_eq!(bodies(&site), [README, README]);
    let audit = sandbox.audit();
    let sent = |line: &&Value| line["sent_sha256"].is_string();
    let sent: Vec<&Value> = audit.iter().filter(sent).collect();
    assert_eq!(sent.len(), 2, "{audit:?}");
    for line in sent {
        assert_eq!(line["event"], "sent");
        assert_eq!(line["target"], site.target("/"));
        assert_eq!(line["operation"], "write");
        assert_eq!(line["bytes"], README.len());
        let digest = dunlin_host::sha256_hex(README.as_bytes());
        assert_eq!(line["sent_sha256"], digest);
    }
}

/// Not for the next one of the same call either.
#[tokio::test]
async fn a_yes_is_one_to_exactly_this_request() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host(&sandbox);
    for (silent, origin) in [(false, Origin::Declared), (true, Origin::Undeclared)] {
        let before = site.requests().len();
        let arguments = json!({ "url": site.url("/"), "times": 3, "silent": silent });
        let asker = Arc::new(Asker::first_yes());
        let failure = post(&host, arguments.clone(), &asker).await.unwrap_err();
        assert!(matches!(failure, Failure::Denied { .. }), "{failure}");
        let questions = asker.questions();
        let shown: Vec<_> = questions.iter().map(|it| &shown(it).body[..]).collect();
        let second = format!("{README}x");
        assert_eq!(shown, [README.as_bytes(), second.as_bytes()]);
        assert_eq!(questions[1].notices.len(), 1, "{questions:?}");
        assert!(questions.iter().all(|it| it.origin == origin));
        assert_eq!(bodies(&site)[before..], [README]);
    }
    let asker = Arc::new(Asker::no());
    let arguments = json!({ "url": site.url("/") });
    let failure = post(&host, arguments, &asker).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        format!(
            "Permission denied: post_otherwise wanted to write '{}'",
            site.url("/")
        )
    );
    assert_eq!(site.requests().len(), 2);
}

/// A lasting yes is one to the address, whatever is sent there.
#[tokio::test]
async fn a_lasting_yes_covers_what_follows() {
    for scope in [Scope::Session, Scope::Always] {
        let sandbox = Sandbox::new();
        let site = Site::of(Page::of("text/plain", "thanks"));
        let host = host(&sandbox);
        let allow = true;
        let asker = Arc::new(Asker::first(Answer { allow, scope }));
        let arguments = json!({ "url": site.url("/"), "times": 3 });
        let sent = post(&host, arguments, &asker).await;
        assert_eq!(sent.unwrap(), "200 200 200 ");
        assert_eq!(asker.questions().len(), 1);
        assert_eq!(site.requests().len(), 3);
        // What was granted beforehand is not asked about, and stands in the log all the same.
        let audit = sandbox.audit();
        let sent = audit.iter().filter(|line| line["sent_sha256"].is_string());
        assert_eq!(sent.count(), 3, "{audit:?}");
    }
}

async fn get(host: &Host, arguments: Value, asker: &Arc<Asker>) -> Result<String, Failure> {
    let call = call("fetch_otherwise", arguments);
    let outcome = play(host, &call, asker.clone()).await?;
    outcome.result.map(|success| success.text)
}

/// What an address and its headers can say, a yes to the address does not cover.
#[tokio::test]
async fn a_yes_to_a_get_is_one_to_its_query_and_headers() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host_with(&sandbox, SiteHeaders::default(), "fetch_otherwise");
    let (here, elsewhere) = (site.url("/a?q=1"), site.url("/a?q=hunter2"));
    let agent = "user-agent: hunter2";
    let usual = "accept: application/json";
    for (declares, arguments, questions) in [
        // The same again is the same, the way in which it says what it wants included.
        ("", json!({ "url": here, "header": usual, "then": here }), 2),
        (
            "get",
            json!({ "url": here, "header": usual, "then": here }),
            2,
        ),
        ("", json!({ "url": here, "times": 3, "header": usual }), 1),
        ("", json!({ "url": here, "then": elsewhere }), 2),
        ("", json!({ "url": here, "header": agent, "times": 2 }), 1),
        ("", json!({ "url": here, "header": agent, "then": here }), 2),
        (
            "get",
            json!({ "url": here, "times": 3, "header": usual }),
            1,
        ),
        ("get", json!({ "url": elsewhere }), 2),
        ("get", json!({ "url": here, "then": elsewhere }), 2),
        ("get", json!({ "url": here, "header": agent }), 2),
        (
            "get",
            json!({ "url": here, "header": "accept: hunter2" }),
            2,
        ),
        (
            "header",
            json!({ "url": here, "header": agent, "times": 2 }),
            1,
        ),
        (
            "header",
            json!({ "url": here, "header": "user-agent: other" }),
            2,
        ),
        ("header", json!({ "url": here }), 2),
        ("header", json!({ "url": elsewhere, "header": agent }), 2),
        // One for each would say something.
        ("two", json!({ "url": here, "then": elsewhere }), 1),
        (
            "two",
            json!({ "url": here, "header": usual, "then": elsewhere }),
            2,
        ),
        (
            "said",
            json!({ "url": here, "header": usual, "times": 2 }),
            1,
        ),
        ("said", json!({ "url": here }), 2),
        // The question about a site says that it covers them.
        (
            "site",
            json!({ "url": here, "header": agent, "then": elsewhere }),
            1,
        ),
    ] {
        let mut arguments = arguments;
        let declares = match declares {
            "get" => format!("get {here}"),
            "header" => format!("get {here} {agent}"),
            "site" => format!("site {}", site.url("/")),
            "two" => format!("get {here}\nget {elsewhere}"),
            "said" => format!("get {here} {usual}\nget {elsewhere} accept: */*"),
            _ => String::new(),
        };
        arguments["declares"] = json!(declares);
        let asker = Arc::new(Asker::yes());
        get(&host, arguments.clone(), &asker).await.unwrap();
        let asked = asker.questions();
        assert_eq!(asked.len(), questions, "{arguments}: {asked:?}");
        let asker = Arc::new(Asker::first_yes());
        let before = site.requests().len();
        let outcome = get(&host, arguments.clone(), &asker).await;
        assert_eq!(outcome.is_ok(), questions == 1, "{arguments}");
        // The first question is that of the plan, or the second request is the one that is refused.
        let allowed = usize::from(arguments.get("then").is_some());
        let sent = site.requests().len() - before;
        assert!(questions == 1 || sent == allowed, "{arguments}: {sent}");
    }
}

/// One of several usual values for each request would say something.
#[tokio::test]
async fn an_accept_that_changes_is_shown() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host_with(&sandbox, SiteHeaders::default(), "fetch_otherwise");
    let arguments = json!({
        "url": site.url("/a"), "header": "accept: application/json", "then": site.url("/a"),
    });
    let asker = Arc::new(Asker::yes());
    get(&host, arguments, &asker).await.unwrap();
    let questions = asker.questions();
    let accept: Vec<_> = questions
        .iter()
        .map(|it| shown(it).header("accept"))
        .collect();
    assert_eq!(accept, [None, Some("*/*")]);
}

/// Everything that the address does not say is in the question, and in the audit log.
#[tokio::test]
async fn what_a_get_says_is_shown_and_logged() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host_with(&sandbox, SiteHeaders::default(), "fetch_otherwise");
    let url = site.url("/a?q=1");
    let asker = Arc::new(Asker::yes());
    let header = "user-agent: hunter2";
    let arguments = json!({ "url": url, "header": header });
    get(&host, arguments, &asker).await.unwrap();
    let questions = asker.questions();
    let request = shown(&questions[0]);
    assert_eq!(request.url, url);
    assert_eq!(request.header("user-agent"), Some("hunter2"));
    let audit = sandbox.audit();
    let sent: Vec<_> = audit
        .iter()
        .filter(|line| line["url"].is_string())
        .collect();
    let [sent] = sent.as_slice() else {
        panic!("{audit:?}");
    };
    assert_eq!(
        (&sent["event"], &sent["url"]),
        (&json!("sent"), &json!(url))
    );
    assert_eq!(sent["headers"], json!([header]));
    // A header that cannot be sent is not announced either.
    let arguments = json!({ "url": url, "declares": format!("get {url} cookie: a=b") });
    let failure = get(&host, arguments, &asker).await.unwrap_err().to_string();
    assert!(
        failure.contains("a tool may set accept, accept-language"),
        "{failure}"
    );
}

/// Where a redirect leads within a site is the server's choice, and a yes to it is none to the plugin's own requests.
#[tokio::test]
async fn a_redirect_allows_no_request_of_the_plugin() {
    let sandbox = Sandbox::new();
    let site = Site::start(|request| match request.starts_with("GET /a ") {
        true => Page::redirect("/b?id=1"),
        false => Page::of("text/plain", "there"),
    });
    let host = host_with(&sandbox, SiteHeaders::default(), "fetch_otherwise");
    let asker = Arc::new(Asker::first_yes());
    let arguments = json!({ "url": site.url("/a"), "then": site.url("/b?q=hunter2") });
    get(&host, arguments, &asker).await.unwrap_err();
    assert_eq!(asker.questions().len(), 2);
    assert_eq!(site.requests().len(), 2);
}

/// Of a plan that asks about something else, too, the question says what a yes to it does not cover.
#[tokio::test]
async fn a_plan_says_what_it_cannot_show() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host(&sandbox);
    let secret = sandbox.secret();
    let arguments = json!({ "url": site.url("/"), "path": secret });
    let call = call("post_otherwise", arguments.clone());
    let plan = host.prepare(&call).await.unwrap();
    let PlanStatus::Ask { needs, notices, .. } = plan.status else {
        panic!("{plan:?}");
    };
    assert_eq!(needs.len(), 1, "{needs:?}");
    assert_eq!(needs[0].target.path(), Some(secret.as_path()));
    let expected = format!(
        "What it will send to {} is not known yet. Dunlin asks again before it is sent.",
        site.url("/")
    );
    assert!(notices.contains(&expected), "{notices:?}");
    let asker = Arc::new(Asker::first_yes());
    post(&host, arguments, &asker).await.unwrap_err();
    let questions = asker.questions();
    let secret = std::fs::read(secret).unwrap();
    assert_eq!(shown(&questions[1]).body, secret);
    assert_eq!(site.requests(), [""; 0]);
}

/// Where nobody can be asked later, nothing begins.
#[tokio::test]
async fn without_anybody_to_ask_a_plan_is_undecided() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host(&sandbox);
    let call = call("post_otherwise", json!({ "url": site.url("/") }));
    let outcome = play(&host, &call, Arc::new(DenyAll)).await.unwrap();
    let failure = outcome.result.unwrap_err();
    assert!(matches!(failure, Failure::Denied { .. }), "{failure}");
    host.nobody_answers();
    let plan = host.prepare(&call).await.unwrap();
    let PlanStatus::Ask { needs, .. } = plan.status else {
        panic!("{plan:?}");
    };
    assert_eq!(needs[0].operation, Operation::Write);
    let granted = host.permissions().set(&site.target("/"), "?w?");
    granted.unwrap();
    let plan = host.prepare(&call).await.unwrap();
    assert_eq!(plan.status, PlanStatus::Allowed);
    assert_eq!(site.requests(), [""; 0]);
}

/// Where a redirect keeps the body, it is shown again for another server, and not within one.
#[tokio::test]
async fn a_redirect_takes_the_body_along_after_a_yes() {
    let sandbox = Sandbox::new();
    let there = Site::of(Page::of("text/plain", "there"));
    let location = there.url("/b");
    let here = Site::start(move |request| {
        let to = match request.starts_with("POST /a ") {
            true => "/near",
            false => &location,
        };
        Page::redirect(to).with_status(307)
    });
    let host = host(&sandbox);
    let asker = Arc::new(Asker::first_yes());
    let arguments = json!({ "url": here.url("/a") });
    post(&host, arguments.clone(), &asker).await.unwrap_err();
    let questions = asker.questions();
    assert_eq!(questions.len(), 2, "{questions:?}");
    assert_eq!(questions[1].origin, Origin::Redirect);
    assert_eq!(
        questions[1].wording,
        format!(
            "Allow post_otherwise to follow a redirect from 127.0.0.1 and POST to '{}'?",
            there.url("/b")
        )
    );
    assert_eq!(shown(&questions[1]).body, README.as_bytes());
    assert_eq!((here.requests().len(), there.requests().len()), (2, 0));
    // What was sent until then stands in the log.
    let audit = sandbox.audit();
    let sent = audit.iter().filter(|line| line["sent_sha256"].is_string());
    let targets: Vec<&Value> = sent.map(|line| &line["target"]).collect();
    assert_eq!(targets, [&here.target("/a"), &here.target("/near")]);
    let asker = Arc::new(Asker::yes());
    assert_eq!(post(&host, arguments, &asker).await.unwrap(), "200 ");
    assert_eq!(bodies(&there), [README]);
}

/// A component that was made for WASI writes the body when the request is on its way already.
#[tokio::test]
async fn a_body_that_is_written_late_is_shown_as_well() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "thanks"));
    let host = host_with(&sandbox, SiteHeaders::default(), "wasi_http");
    let send = async |asker: &Arc<Asker>| {
        let arguments = json!({
            "method": "PUT", "authority": format!("127.0.0.1:{}", site.port()), "path": "/a?b",
            "body": ["late ", 30_000], "times": 2
        });
        let outcome = play(&host, &call("wasi_http", arguments), asker.clone()).await;
        outcome.unwrap().result.map(|success| success.text)
    };
    let whole = "late ".repeat(30_000);
    let asker = Arc::new(Asker::first_yes());
    send(&asker).await.unwrap_err();
    let questions = asker.questions();
    assert_eq!(questions.len(), 2);
    for question in &questions {
        assert_eq!(
            question.wording,
            format!(
                "Allow wasi_http to PUT to '{}'? It did not announce this.",
                site.url("/a?b")
            )
        );
        assert!(shown(question).body == whole, "another body");
    }
    assert_eq!(bodies(&site), [&*whole]);
    let asker = Arc::new(Asker::no());
    let failure = send(&asker).await.unwrap_err();
    assert!(matches!(failure, Failure::Denied { .. }), "{failure}");
    assert_eq!(site.requests().len(), 1);
    let asker = Arc::new(Asker::yes());
    send(&asker).await.unwrap();
    assert_eq!(bodies(&site)[1..], [whole.clone(), whole]);
}

/// Words go to a search engine as a part of an address: a yes to the address is none to them.
#[tokio::test]
async fn what_a_plugin_searches_for_is_shown() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("application/json", r#"{"results":[]}"#));
    let mut options = sandbox.options(PATIENT);
    options.web.search = SearchOptions {
        engine: Engine::SearXng,
        base_url: Some(site.url("/").parse().unwrap()),
        is_chosen: true,
        ..SearchOptions::default()
    };
    let plugin = Plugin {
        built_in: false,
        ..built_in("web_search")
    };
    let host = Host::new(options, vec![plugin]).unwrap();
    let call = call("web_search", json!({ "query": "hunter2" }));
    let asker = Arc::new(Asker::yes());
    play(&host, &call, asker.clone()).await.unwrap();
    let questions = asker.questions();
    let request = shown(questions.last().unwrap());
    assert!(request.url.contains("q=hunter2"), "{request:?}");
    assert_eq!(site.requests().len(), 1);
    let audit = sandbox.audit();
    let sent = audit.iter().find(|line| line["event"] == "sent");
    assert!(
        sent.expect("it is logged")
            .to_string()
            .contains("q=hunter2")
    );
    // A yes to the plan is one to the address.
    let asker = Arc::new(Asker::first_yes());
    play(&host, &call, asker).await.unwrap();
    assert_eq!(site.requests().len(), 1);
}
