//! What a plugin gets without asking: the time, random bytes, and what the user has set for it.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use dunlin_tests::sandbox::{Asker, PATIENT, Sandbox, call, play};
use serde_json::{Value, json};

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    u64::try_from(now.expect("a time").as_millis()).expect("a number")
}

#[tokio::test]
async fn settings_the_time_and_random_bytes_need_no_permission() {
    let sandbox = Sandbox::new();
    let host = sandbox.host(&["settled"], PATIENT);
    let call = call("settled", json!({}));

    // What is missing is said with the way to set it.
    let failure = play(&host, &call, Arc::new(Asker::no())).await.unwrap_err();
    assert_eq!(
        failure.to_string(),
        "the arguments of settled do not fit: a setting of the plugin settled: \"bytes\" is a required property. The user \
         can set it: dunlin plugin settings settled NAME=VALUE"
    );

    let set = |name: &str, value: Value| vec![(name.to_owned(), Some(value))];
    let refused = host.set_settings("settled", set("bytes", json!(0))).await;
    assert!(refused.is_err());
    host.set_settings("settled", set("bytes", json!(100_000)))
        .await
        .unwrap();
    let before = now_ms();
    let asker = Arc::new(Asker::yes());
    let outcome = play(&host, &call, asker.clone()).await.unwrap();
    let text = outcome.result.unwrap().text;
    let said: Value = serde_json::from_str(&text).unwrap();
    let now = said["now"].as_u64().unwrap();
    assert!((before..=now_ms()).contains(&now), "{now}");
    let offset = said["offset"].as_i64().unwrap();
    assert!((-24 * 60..=24 * 60).contains(&offset), "{offset}");
    let bytes = said["bytes"].as_array().unwrap();
    assert_eq!(bytes.len(), 100_000);
    let different: BTreeSet<u64> = bytes.iter().filter_map(Value::as_u64).collect();
    assert_eq!(different.len(), 256);

    // A chat that is open sees what is set meanwhile, also for the question.
    host.set_settings("settled", set("question", json!("Really?")))
        .await
        .unwrap();
    let again = Arc::new(Asker::no());
    let _ = play(&host, &call, again.clone()).await;
    let wordings = |asker: &Asker| -> Vec<String> {
        let questions = asker.questions().into_iter();
        questions.map(|question| question.wording).collect()
    };
    assert_eq!(wordings(&asker), ["Say it?"]);
    assert_eq!(wordings(&again), ["Really?"]);
    let found = host.settings("settled").await.unwrap().settings;
    let values: Vec<_> = found
        .iter()
        .map(|it| (it.name.as_str(), it.value.clone()))
        .collect();
    assert_eq!(
        values,
        [
            ("question", Some(json!("Really?"))),
            ("bytes", Some(json!(100_000)))
        ]
    );
    let other = host.settings("echo").await.unwrap_err().to_string();
    assert_eq!(other, "the plugin echo has no settings");
}
