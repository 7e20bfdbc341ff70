//! A plugin that is removed while one of its tools runs: the call ends, and nothing is kept for it any more.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use dunlin_host::ask::DenyAll;
use dunlin_host::{Code, Host, Limits, NoProgress, Plugin, store_folder};
use dunlin_tests::Changes;
use dunlin_tests::guests::guest as embedded;
use dunlin_tests::sandbox::{PATIENT, Sandbox, call, plugin, unplanned};
use serde_json::json;

/// Longer than any test: what ends a call here is not its time.
const LONG: Limits = Limits {
    run_time: Duration::from_secs(3600),
    ..PATIENT
};

/// A host with this guest, whose component is in a file as that of an installed plugin.
fn installed(sandbox: &Sandbox, guest: &str) -> (Host, PathBuf) {
    let component = sandbox.root().join("outside/component.wasm");
    let bytes = embedded(guest).bytes;
    fs::write(&component, bytes).expect("a component");
    let plugin = Plugin {
        bytes: Code::File(component.clone()),
        ..plugin(guest)
    };
    (sandbox.host_of(vec![plugin], LONG), component)
}

#[tokio::test]
async fn a_call_ends_when_its_plugin_is_removed() {
    let sandbox = Sandbox::new();
    let (host, component) = installed(&sandbox, "loop_forever");
    let (_, errors) = host.tools().await;
    assert!(errors.is_empty(), "{errors:?}");
    // Compiled with its description: the call needs no file any more.
    fs::remove_file(component).expect("the component");
    let call = call("loop_forever", json!({}));
    let plan = unplanned();
    let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
    let said = run.await.result.expect_err("no end of its own").to_string();
    assert!(
        said.contains("was stopped: its plugin was removed"),
        "{said}"
    );
}

/// What runs on in the background does not bring the store back that was removed with its plugin.
#[tokio::test]
async fn nothing_is_kept_for_a_removed_plugin() {
    let sandbox = Sandbox::new();
    let (host, component) = installed(&sandbox, "behind");
    let stores = sandbox.root().join("data/stores");
    let store = store_folder(&stores, "behind", None);
    let mut stored = Changes::of(&stores);
    let mut logged = Changes::of(&sandbox.root().join("data"));
    let call = call("behind", json!({ "log": "store" }));
    let plan = unplanned();
    let run = host.run(&call, &plan, Arc::new(DenyAll), Arc::new(NoProgress));
    run.await.result.expect("a run");
    stored.until(|| store.exists()).await;
    fs::remove_file(component).expect("the component");
    // As `dunlin plugin remove` does; the call may be writing right now.
    while store.exists() {
        let _ = fs::remove_dir_all(&store);
    }
    let ended = || {
        let log = fs::read_to_string(sandbox.audit_file()).unwrap_or_default();
        log.contains("plugin was removed")
    };
    logged.until(ended).await;
    assert!(!store.exists());
}
