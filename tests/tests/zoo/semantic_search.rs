//! `codebase_search` with an embedding model: one that helps, and others that fail, lie, dawdle and are not waited for.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use dunlin_host::ask::DenyAll;
use dunlin_host::call::Action;
use dunlin_host::egress::Url;
use dunlin_host::embedding::Embedder;
use dunlin_host::{ForeignError, Host, NoProgress, Plugin};
use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, built_in, call, play};
use serde_json::json;

const QUESTION: &str = "Where does the lantern flicker?";

/// What an embedder does when it is asked.
#[derive(Debug, Clone, Copy)]
enum Manner {
    /// Finds the question nearest to what is called a beacon.
    Good,
    /// Makes the vector of the question alone.
    OneOnly,
    Fails,
    SaysNothing,
    NoNumbers,
    TooMany,
    TwoSizes,
    Endless,
}

/// A scripted model.
#[derive(Debug)]
struct Scripted {
    manner: Manner,
    /// The server that it is at, if it is at one.
    address: Option<Url>,
    /// How many texts each question had.
    asked: Mutex<Vec<usize>>,
    is_dropped: Arc<AtomicBool>,
}

/// Notes that nobody waits any more.
struct Noting(Arc<AtomicBool>);

impl Drop for Noting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[async_trait]
impl Embedder for Scripted {
    fn name(&self) -> Option<String> {
        Some("scripted".to_owned())
    }

    fn address(&self) -> Option<Url> {
        self.address.clone()
    }

    async fn embed(
        &self,
        texts: Vec<String>,
        _within: Duration,
    ) -> Result<Vec<Vec<f32>>, ForeignError> {
        self.asked
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(texts.len());
        let of = |text: &String| match text == QUESTION || text.contains("beacon") {
            true => vec![1.0, 0.0],
            false => vec![0.0, 1.0],
        };
        let good = || texts.iter().map(of);
        Ok(match self.manner {
            Manner::Good => good().collect(),
            Manner::OneOnly => good().take(1).collect(),
            Manner::Fails => return Err("the model is\nill".into()),
            Manner::SaysNothing => Vec::new(),
            Manner::NoNumbers => good().map(|_| vec![f32::NAN, 1.0]).collect(),
            Manner::TooMany => good().chain([vec![1.0, 0.0]]).collect(),
            Manner::TwoSizes => good().zip(1..).map(|(_, size)| vec![1.0; size]).collect(),
            Manner::Endless => {
                let _noting = Noting(Arc::clone(&self.is_dropped));
                std::future::pending().await
            }
        })
    }
}

/// A project in which the words speak for one file and the scripted embeddings for the other. `cache` keeps the compiled tool.
fn searching(manner: Manner, cache: &Path) -> (Sandbox, Host, Arc<Scripted>) {
    searching_with(built_in("codebase_search"), manner, None, cache)
}

/// The same with a plugin, and with a model that may be at an address.
fn searching_with(
    plugin: Plugin,
    manner: Manner,
    address: Option<Url>,
    cache: &Path,
) -> (Sandbox, Host, Arc<Scripted>) {
    let sandbox = Sandbox::new();
    let words = "/// The lantern flickers here.\nfn lantern_flicker() { lantern.flicker(); }\n";
    fs::write(sandbox.project().join("words.rs"), words).expect("a file");
    let semantic = "/// Where a lantern may flicker, too.\nfn lantern_flicker_of_beacon(times: u32) {\n    \
                   for turn in 0..times {\n        light(turn).flicker();\n    }\n}\n";
    fs::write(sandbox.project().join("semantic.rs"), semantic).expect("a file");
    let scripted = Arc::new(Scripted {
        manner,
        address,
        asked: Mutex::default(),
        is_dropped: Arc::default(),
    });
    let mut options = sandbox.options(PATIENT);
    options.cache_dir = cache.to_owned();
    options.embedder = Some(Arc::clone(&scripted) as Arc<dyn Embedder>);
    let host = Host::new(options, vec![plugin]).expect("a host");
    (sandbox, host, scripted)
}

async fn ask(host: &Host) -> String {
    let call = call("codebase_search", json!({ "query": QUESTION }));
    let plan = host.prepare(&call).await.expect("a plan");
    let outcome = host
        .run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress))
        .await;
    outcome.result.expect("an answer").text
}

#[tokio::test]
async fn embeddings_order_what_words_have_found() {
    let cache = tempfile::tempdir().unwrap();
    let (sandbox, host, scripted) = searching(Manner::Good, cache.path());
    let text = ask(&host).await;
    assert!(text.starts_with("## semantic.rs:"), "{text}");
    assert!(text.contains("## words.rs:"), "{text}");
    // The vectors of the passages are kept; the second time the question is all that is new.
    assert_eq!(ask(&host).await, text);
    let asked = scripted.asked.lock().unwrap().clone();
    assert!(asked[0] > 1, "{asked:?}");
    assert_eq!(asked[1..], [1], "{asked:?}");
    let audit = sandbox.audit();
    let used = audit.iter().find(|line| line["target"] == "model scripted");
    assert_eq!(used.expect("it is logged")["times"], asked[0], "{audit:?}");
}

#[tokio::test]
async fn the_words_decide_where_a_model_is_of_no_use() {
    let cache = tempfile::tempdir().unwrap();
    for (manner, said) in [
        (Manner::OneOnly, None),
        (Manner::SaysNothing, None),
        (
            Manner::Fails,
            Some("could not be used (the model is\\nill)"),
        ),
        (Manner::NoNumbers, Some("a vector without a direction")),
        (Manner::TooMany, Some("vectors for")),
        (Manner::TwoSizes, Some("of 1 and of 2 numbers")),
    ] {
        let (_sandbox, host, _) = searching(manner, cache.path());
        let text = ask(&host).await;
        assert!(text.starts_with("## words.rs:"), "{manner:?}: {text}");
        assert!(text.contains("## semantic.rs:"), "{manner:?}: {text}");
        match said {
            Some(said) => assert!(text.contains(said), "{manner:?}: {text}"),
            None => assert!(!text.contains("embedding model"), "{manner:?}: {text}"),
        }
    }
}

#[tokio::test]
async fn a_model_that_takes_for_ever_is_not_waited_for() {
    let cache = tempfile::tempdir().unwrap();
    let (_sandbox, host, scripted) = searching(Manner::Endless, cache.path());
    let text = ask(&host).await;
    assert!(text.starts_with("## words.rs:"), "{text}");
    assert!(scripted.is_dropped.load(Ordering::SeqCst));
}

#[tokio::test]
async fn cancelling_a_search_stops_its_model() {
    let cache = tempfile::tempdir().unwrap();
    let (_sandbox, host, scripted) = searching(Manner::Endless, cache.path());
    let asking = tokio::spawn(async move { ask(&host).await });
    while scripted.asked.lock().unwrap().is_empty() {
        tokio::task::yield_now().await;
    }
    asking.abort();
    assert!(asking.await.unwrap_err().is_cancelled());
    assert!(scripted.is_dropped.load(Ordering::SeqCst));
}

/// Dunlin's own tool asks a server that the user has configured for it; no other plugin does so without a question that
/// shows the texts.
#[tokio::test]
async fn a_model_on_a_server_is_a_target() {
    const ADDRESS: &str = "https://vectors.example/v1/embeddings";
    let cache = tempfile::tempdir().unwrap();
    let other = || Plugin {
        built_in: false,
        ..built_in("codebase_search")
    };
    for (plugin, denied, asks, sent) in [
        (built_in("codebase_search"), false, false, true),
        (built_in("codebase_search"), true, false, false),
        (other(), false, true, true),
        (other(), true, false, false),
    ] {
        let address = Some(ADDRESS.parse().unwrap());
        let (_sandbox, host, scripted) =
            searching_with(plugin, Manner::Good, address, cache.path());
        if denied {
            host.permissions().set(ADDRESS, "?-?").unwrap();
        }
        let asker = Arc::new(Asker::yes());
        let call = call("codebase_search", json!({ "query": QUESTION }));
        let outcome = play(&host, &call, asker.clone()).await.unwrap();
        // The words alone decide where the texts may not go there.
        assert!(outcome.result.is_ok(), "{outcome:?}");
        let shown = asker.questions().into_iter().flat_map(|it| it.actions);
        let shown: Vec<_> = shown
            .filter_map(|action| match action {
                Action::Request(request) => Some(request),
                _ => None,
            })
            .collect();
        assert_eq!(!shown.is_empty(), asks, "{shown:?}");
        for request in shown {
            assert_eq!(
                (request.method.as_str(), request.url.as_str()),
                ("POST", ADDRESS)
            );
            let body = String::from_utf8(request.body.to_vec()).unwrap();
            assert!(body.contains("lantern"), "{body}");
        }
        assert_eq!(!scripted.asked.lock().unwrap().is_empty(), sent);
    }
}
