//! A guest that reaches for the web: undeclared, in `prepare`, with headers of its own, too often.

use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{DenyAll, Origin, Scope};
use dunlin_host::call::{Action, Failure, PlanStatus};
use dunlin_host::egress::{
    Egress, EgressError, EgressOptions, Network, Place, Roots, SiteHeaders, place_of,
};
use dunlin_host::permission::ToolMode;
use dunlin_host::target::{Operation, Target};
use dunlin_host::{Host, WebOptions};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, assert_alive, built_in, call, play, plugin};
use dunlin_tests::{Page, Site};
use serde_json::{Value, json};

use crate::assert_one_clear_line;

/// An address of the internet that an interface of this machine has.
const OWN: IpAddr = IpAddr::V4(Ipv4Addr::new(93, 184, 216, 35));

/// Names that lead to this machine.
#[derive(Debug)]
struct Home;

#[async_trait]
impl Network for Home {
    async fn look_up(&self, name: &str) -> Result<Vec<IpAddr>, EgressError> {
        Ok(match name {
            "home.example" => vec![Ipv4Addr::LOCALHOST.into()],
            "metadata.example" => vec![Ipv4Addr::new(169, 254, 169, 254).into()],
            "own.example" => vec![OWN],
            _ => Vec::new(),
        })
    }

    fn place_of(&self, ip: IpAddr) -> Place {
        match ip == OWN {
            true => Place::ThisMachine,
            false => place_of(ip),
        }
    }
}

fn host(sandbox: &Sandbox, sites: SiteHeaders) -> Host {
    host_with(sandbox, sites, "fetch_otherwise")
}

/// A host with one plugin that reaches for the web, where some names lead home.
pub fn host_with(sandbox: &Sandbox, sites: SiteHeaders, name: &str) -> Host {
    let mut options = sandbox.options(PATIENT);
    options.web = WebOptions {
        egress: Egress::new(EgressOptions {
            user_agent: "dunlin-tests".to_owned(),
            network: Arc::new(Home),
            roots: Roots::System,
        }),
        sites: Arc::new(sites),
        ..WebOptions::system("dunlin-tests")
    };
    Host::new(options, vec![plugin(name), plugin("echo")]).expect("a host")
}

async fn fetch(host: &Host, arguments: Value, asker: Arc<Asker>) -> Result<String, Failure> {
    let outcome = play(host, &call("fetch_otherwise", arguments), asker).await?;
    outcome.result.map(|success| success.text)
}

#[tokio::test]
async fn an_undeclared_address_is_asked_about() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello").with_header("set-cookie", "id=s3cret"));
    let host = host(&sandbox, SiteHeaders::default());
    let url = site.url("/a?b=c#d");
    let asker = Arc::new(Asker::yes());
    let text = fetch(&host, json!({ "url": url }), asker.clone())
        .await
        .unwrap();
    assert!(
        text.starts_with(&format!("200 {}\n", site.url("/a?b=c"))),
        "{text}"
    );
    assert!(
        text.ends_with("hello") && !text.contains("s3cret"),
        "{text}"
    );
    let questions = asker.questions();
    let [question] = questions.as_slice() else {
        panic!("{questions:?}");
    };
    assert_eq!(question.origin, Origin::Undeclared);
    assert_eq!(
        question.wording,
        format!(
            "Allow fetch_otherwise to read '{}'? It did not announce this.",
            site.url("/a?b=c")
        )
    );
    assert_eq!(
        question.needs[0].target,
        Target::Url(site.target("/a").into())
    );
    assert_eq!(question.needs[0].target.shown(), site.url("/a"));
    assert_eq!(question.needs[0].operation, Operation::Read);
    assert_eq!(
        question.notices,
        ["This is a server on this machine, not on the internet."]
    );
    // Once in `run`, and not in `prepare`.
    assert_eq!(site.requests().len(), 1);
    let audit = sandbox.audit();
    let of = |event: &str| {
        let line = audit.iter().find(|line| line["event"] == event);
        line.unwrap_or_else(|| panic!("{event}: {audit:?}"))
    };
    assert_eq!(of("allowed")["target"], site.target("/a"));
    assert_eq!(of("used")["target"], site.target("/a"));
    assert_eq!(of("used")["bytes"], 5);
    assert_alive(&host).await;
}

#[tokio::test]
async fn a_no_sends_nothing() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox, SiteHeaders::default());
    for arguments in [
        json!({ "url": site.url("/") }),
        json!({ "url": site.url("/"), "body": "data" }),
    ] {
        let verb = if arguments["body"].is_null() {
            "read"
        } else {
            "write"
        };
        let failure = fetch(&host, arguments, Arc::new(Asker::no()))
            .await
            .unwrap_err();
        assert_eq!(
            failure.to_string(),
            format!(
                "Permission denied: fetch_otherwise wanted to {verb} '{}'",
                site.url("/")
            )
        );
    }
    let arguments = json!({ "url": site.url("/") });
    let unattended = play(
        &host,
        &call("fetch_otherwise", arguments),
        Arc::new(DenyAll),
    )
    .await;
    let failure = unattended.unwrap().result.unwrap_err();
    assert!(matches!(failure, Failure::Denied { .. }), "{failure}");
    assert_eq!(site.requests(), [""; 0]);
    assert_alive(&host).await;
}

/// A yes to reading is none to writing, and one to an address none to where it leads.
#[tokio::test]
async fn each_address_and_operation_is_its_own() {
    let sandbox = Sandbox::new();
    let there = Site::of(Page::of("text/plain", "there"));
    // What a service does may depend on the query alone.
    let location = there.url("/b?action=delete&all=1");
    let here = Site::start({
        let location = location.clone();
        move |_| Page::redirect(&location)
    });
    let host = host(&sandbox, SiteHeaders::default());
    host.permissions().set(&here.target("/"), "r--").unwrap();
    let asker = Arc::new(Asker::no());
    let arguments = json!({ "url": here.url("/a") });
    fetch(&host, arguments, asker.clone()).await.unwrap_err();
    assert_eq!(
        asker.questions()[0].wording,
        format!("Allow fetch_otherwise to follow a redirect from 127.0.0.1 and read '{location}'?")
    );
    assert_eq!((here.requests().len(), there.requests().len()), (1, 0));
    let arguments = json!({ "url": here.url("/a"), "body": "data" });
    let failure = fetch(&host, arguments, Arc::new(Asker::yes()))
        .await
        .unwrap_err();
    assert!(failure.to_string().contains("was denied"), "{failure}");
    assert_eq!(here.requests().len(), 1);
}

/// Within one origin a redirect is covered by the grant that was followed there; a no for where it leads still holds.
#[tokio::test]
async fn a_redirect_within_an_origin_is_covered() {
    let sandbox = Sandbox::new();
    let site = Site::start(|request| match request.starts_with("GET /a") {
        true => Page::redirect("/b"),
        false => Page::of("text/plain", "there"),
    });
    let host = host(&sandbox, SiteHeaders::default());
    let permissions = host.permissions();
    permissions.set(&site.target("/a"), "r--").unwrap();
    let asker = Arc::new(Asker::no());
    let arguments = json!({ "url": site.url("/a") });
    let text = fetch(&host, arguments.clone(), asker.clone()).await;
    assert!(text.unwrap().ends_with("\nthere"));
    assert_eq!(asker.questions().len(), 0);
    permissions.set(&site.target("/b"), "---").unwrap();
    fetch(&host, arguments, asker.clone()).await.unwrap_err();
    assert_eq!(site.requests().len(), 3);
}

/// A grant of a name is none of the machine that it leads to.
#[tokio::test]
async fn a_name_that_leads_home_is_asked_about_twice() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "inside"));
    let host = host(&sandbox, SiteHeaders::default());
    let port = site.port();
    let name = format!("https://home.example:{port}/");
    host.permissions().set(&name, "r??").unwrap();
    let url = format!("http://home.example:{port}/a?all=1");
    let asker = Arc::new(Asker::no());
    fetch(&host, json!({ "url": url }), asker.clone())
        .await
        .unwrap_err();
    assert_eq!(
        asker.questions()[0].wording,
        format!(
            "Allow fetch_otherwise to read 'http://127.0.0.1:{port}/a?all=1', to which home.example leads \
             and which is on this machine?"
        )
    );
    assert_eq!(site.requests(), [""; 0]);
    host.permissions().set(&site.target("/"), "r??").unwrap();
    let asker = Arc::new(Asker::no());
    let text = fetch(&host, json!({ "url": url }), asker.clone())
        .await
        .unwrap();
    assert!(
        text.ends_with("inside") && asker.questions().is_empty(),
        "{text}"
    );
}

/// A yes to the address that a name leads to is one to this request: neither longer, nor under another path or name.
#[tokio::test]
async fn the_address_of_a_name_is_asked_about_path_by_path() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "inside"));
    let host = host(&sandbox, SiteHeaders::default());
    let port = site.port();
    let name = format!("https://home.example:{port}/");
    host.permissions().set(&name, "r??").unwrap();
    let get = |path: &str| json!({ "url": format!("http://home.example:{port}{path}") });
    for path in ["/a?all=1", "/a?all=1", "/a?all=2", "/b"] {
        let asker = Arc::new(Asker::yes());
        fetch(&host, get(path), asker.clone()).await.unwrap();
        let questions = asker.questions();
        let [question] = questions.as_slice() else {
            panic!("{path}: {questions:?}");
        };
        assert!(question.wording.contains(path), "{}", question.wording);
        assert_eq!(question.longest, Scope::Once);
        let [Action::Request(request)] = question.actions.as_slice() else {
            panic!("{:?}", question.actions);
        };
        assert_eq!(request.url, format!("http://127.0.0.1:{port}{path}"));
        let name = format!("home.example:{port}");
        assert_eq!(request.header("host"), Some(&*name));
    }
    // What is stored about paths of the address holds under each name that leads there.
    host.permissions().set(&site.target("/a"), "r??").unwrap();
    host.permissions().set(&site.target("/b"), "---").unwrap();
    let asker = Arc::new(Asker::yes());
    fetch(&host, get("/a?all=3"), asker.clone()).await.unwrap();
    fetch(&host, get("/b"), asker.clone()).await.unwrap_err();
    assert!(asker.questions().is_empty(), "{:?}", asker.questions());
    fetch(&host, get("/c"), asker.clone()).await.unwrap();
    assert_eq!(asker.questions().len(), 1);
}

/// Nor is a grant of a name, or the yes to all that a tool does, one of this machine where it has an address of the
/// internet.
#[tokio::test]
async fn an_own_address_of_the_internet_is_asked_about_twice() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, SiteHeaders::default());
    for name in ["own.example", "93.184.216.35"] {
        host.permissions()
            .set(&format!("https://{name}/a"), "r??")
            .unwrap();
        host.permissions()
            .set_tool_mode("fetch_otherwise", ToolMode::Always);
        let asker = Arc::new(Asker::no());
        let url = format!("http://{name}/a");
        let refused = fetch(&host, json!({ "url": url }), asker.clone()).await;
        refused.unwrap_err();
        assert_eq!(
            asker.questions()[0].wording,
            format!(
                "Allow fetch_otherwise to read 'http://93.184.216.35/a', to which {name} leads and which \
                 is on this machine?"
            )
        );
    }
}

#[tokio::test]
async fn some_addresses_are_never_granted() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, SiteHeaders::default());
    for key in [
        "https://169.254.169.254/",
        "https://metadata.example/",
        "https://0.0.0.0/",
    ] {
        host.permissions().set(key, "rwx").unwrap();
    }
    for (url, expected) in [
        ("http://169.254.169.254/latest", "permission to read"),
        ("http://0xa9fea9fe/latest", "permission to read"),
        ("http://[::ffff:169.254.169.254]/", "permission to read"),
        ("http://0/", "permission to read"),
        (
            "http://metadata.example/",
            "metadata.example resolves to 169.254.169.254",
        ),
    ] {
        let asker = Arc::new(Asker::yes());
        let failure = fetch(&host, json!({ "url": url }), asker.clone())
            .await
            .unwrap_err();
        assert!(failure.to_string().contains(expected), "{url}: {failure}");
        assert_one_clear_line(&failure.to_string());
        assert_eq!(asker.questions().len(), 0, "{url}");
    }
    let audit = sandbox.audit();
    let denied = audit.iter().filter(|line| line["event"] == "denied");
    assert!(denied.clone().count() >= 5, "{audit:?}");
    for line in denied {
        let rule = line["rule"].as_str().unwrap();
        assert!(rule.ends_with(" is never granted"), "{rule}");
    }
}

/// `always` answers for a tool what it declares, and what it declares of this machine is asked all the same.
#[tokio::test]
async fn a_tool_that_is_always_allowed_asks_about_this_machine() {
    let sandbox = Sandbox::new();
    let host = Host::new(sandbox.options(PATIENT), vec![built_in("web_fetch")]).unwrap();
    let always = dunlin_host::permission::ToolMode::Always;
    host.permissions().set_tool_mode("web_fetch", always);
    for (url, asks) in [
        ("https://example.com/", false),
        ("https://1.1.1.1/", false),
        ("http://localhost:3000/", true),
        ("http://127.1/", true),
        ("http://192.168.1.1/", true),
        ("http://[fd00::1]/", true),
    ] {
        let plan = host
            .prepare(&call("web_fetch", json!({ "url": url })))
            .await
            .unwrap();
        assert_eq!(matches!(plan.status, PlanStatus::Ask { .. }), asks, "{url}");
    }
    let call = call("web_fetch", json!({ "url": "http://169.254.169.254/" }));
    let plan = host.prepare(&call).await.unwrap();
    assert!(matches!(plan.status, PlanStatus::Denied { .. }), "{plan:?}");
}

#[tokio::test]
async fn what_a_guest_may_not_send_is_refused() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox, SiteHeaders::default());
    for (arguments, expected) in [
        (
            json!({ "url": site.url("/"), "header": "Host: evil.example" }),
            "cannot be set: a tool may set accept",
        ),
        (
            json!({ "url": site.url("/"), "header": "cookie: a=b" }),
            "cannot be set: a tool may set accept",
        ),
        (
            json!({ "url": site.url("/"), "header": "authorization: x" }),
            "cannot be set: a tool may set accept",
        ),
        (
            json!({ "url": site.url("/"), "header": "x\r\ny: z" }),
            "cannot be set: a tool may set accept",
        ),
        (
            json!({ "url": site.url("/"), "header": "accept: a\r\nhost: b" }),
            "none that a header can have",
        ),
        (
            json!({ "url": "http://u:p@127.0.0.1/" }),
            "carries a user name or a password",
        ),
        (
            json!({ "url": "file:///etc/passwd" }),
            "only http and https",
        ),
        (json!({ "url": "http://no.example/" }), "Permission denied"),
        (json!({ "url": site.url("/"), "times": 33 }), "32 requests"),
    ] {
        let asker = if expected == "Permission denied" {
            Asker::no()
        } else {
            Asker::yes()
        };
        let failure = fetch(&host, arguments.clone(), Arc::new(asker))
            .await
            .unwrap_err();
        assert!(
            failure.to_string().contains(expected),
            "{arguments}: {failure}"
        );
        assert_one_clear_line(&failure.to_string());
    }
    // What the model wrote it can correct; what the plugin made up is for its author.
    let url = site.url("/");
    let own = json!({ "url": url, "keyed": true });
    let written = json!({ "url": url, "header": "x-key: 1" });
    for (arguments, expected) in [
        (
            own,
            "fetch_otherwise is faulty: the header \"x-key\" cannot be set: a tool may set accept, accept-language, \
             content-type and user-agent only; that is for the author of the plugin to correct, in run",
        ),
        (
            written,
            "the arguments of fetch_otherwise do not fit: the header \"x-key\" cannot be set: a tool may set accept, \
             accept-language, content-type and user-agent only",
        ),
    ] {
        let failure = fetch(&host, arguments, Arc::new(Asker::yes())).await;
        assert_eq!(failure.unwrap_err().to_string(), expected);
    }
    let nowhere = fetch(
        &host,
        json!({ "url": "http://no.example/" }),
        Arc::new(Asker::yes()),
    )
    .await;
    assert_eq!(
        nowhere.unwrap_err().to_string(),
        "there is no server named no.example: check the spelling"
    );
    assert!(!site.requests().concat().contains("evil"));
    assert_alive(&host).await;
}

/// The user's own headers go to their site, and no guest, question or log learns of them.
#[tokio::test]
async fn headers_of_the_user_are_seen_by_nobody() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let mut sites = SiteHeaders::default();
    let key = format!("127.0.0.1:{}", site.port());
    sites.add(&key, "Authorization", "Bearer s3cret").unwrap();
    let host = host(&sandbox, sites);
    let asker = Arc::new(Asker::yes());
    let arguments = json!({ "url": site.url("/"), "header": "user-agent: me" });
    let text = fetch(&host, arguments, asker.clone()).await.unwrap();
    let sent = site.requests().concat();
    assert!(
        sent.contains("Bearer s3cret") && sent.contains("user-agent: me"),
        "{sent}"
    );
    let seen = format!(
        "{text}{:?}{:?}{:?}",
        asker.questions(),
        sandbox.audit(),
        sandbox.log()
    );
    assert!(!seen.contains("s3cret"), "{seen}");
}

/// Whoever wrote the plugin, and whoever is asked, has to see what of a request was not announced.
#[tokio::test]
async fn what_differs_from_the_plan_is_said() {
    let sandbox = Sandbox::new();
    let site = Site::of(Page::of("text/plain", "hello"));
    let host = host(&sandbox, SiteHeaders::default());
    let url = site.url("/a?q=tern");
    for (declares, sent, header, said) in [
        (
            format!("get {url}"),
            url.clone(),
            "user-agent: terns",
            "It announced this address with other headers: user-agent is different.",
        ),
        (
            format!("get {url} user-agent: gulls"),
            url.clone(),
            "user-agent: terns",
            "It announced this address with other headers: user-agent is different.",
        ),
        (
            format!("get {url} user-agent: gulls"),
            url.clone(),
            "",
            "It announced this address with other headers: user-agent is different.",
        ),
        (
            format!("get {url}"),
            site.url("/a?q=gull"),
            "",
            "It announced this address with another query.",
        ),
        (
            format!("get {url}"),
            site.url("/b"),
            "",
            "It did not announce this.",
        ),
    ] {
        let asker = Arc::new(Asker::first_yes());
        let arguments = json!({ "url": sent, "declares": declares, "header": header });
        let call = call("fetch_otherwise", arguments);
        let outcome = play(&host, &call, asker.clone()).await.expect("a run");
        assert!(
            matches!(outcome.result, Err(Failure::Denied { .. })),
            "{outcome:?}"
        );
        let questions = asker.questions();
        let [_, question] = questions.as_slice() else {
            panic!("{questions:?}");
        };
        assert!(
            question.wording.ends_with(&format!("? {said}")),
            "{}",
            question.wording
        );
    }
}

/// The model can correct what it wrote itself, and nothing else.
#[tokio::test]
async fn a_mistake_in_a_plan_is_one_of_the_plugin() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, SiteHeaders::default());
    for (url, declares, said) in [
        (
            "https://example.com/",
            "get htp:/example.com",
            "fetch_otherwise is faulty: its plan names 'htp:/example.com', and ",
        ),
        (
            "https://example.com/",
            "site htp:/example.com/",
            "fetch_otherwise is faulty: its plan names 'htp:/example.com/', and ",
        ),
        (
            "https://example.com/",
            "get https://example.com/ x-own: 1",
            "fetch_otherwise is faulty: its plan names 'https://example.com/', and the header \"x-own\" cannot be set",
        ),
        (
            "htp:/example.com",
            "get htp:/example.com",
            "the arguments of fetch_otherwise do not fit: ",
        ),
    ] {
        let call = call(
            "fetch_otherwise",
            json!({ "url": url, "declares": declares }),
        );
        let failure = host.prepare(&call).await.expect_err("a mistake");
        let text = failure.to_string();
        assert!(text.starts_with(said), "{text}");
        let is_fault = matches!(failure, Failure::Fault { .. });
        assert_eq!(is_fault, said.contains("is faulty"), "{text}");
        assert_one_clear_line(&text);
    }
}
