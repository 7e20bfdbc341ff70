use serde::Deserialize;
use serde_json::json;

use crate::files::{self, Edited, File};
use crate::mock::MockHost;
use crate::web::Request;
use crate::{Error, Failure, FailureKind, Output, Parameters, Plan, Tool};
use crate::{chat, clock, process, random, settings, store};

/// Copies a file; with `early` it looks at it in `prepare`.
struct Copy;

#[derive(Deserialize)]
struct Arguments {
    from: String,
    #[serde(default)]
    early: bool,
}

impl Tool for Copy {
    const NAME: &'static str = "copy";
    const DESCRIPTION: &'static str = "Copies a file.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        if arguments.early {
            files::stat(&arguments.from)?;
        }
        Ok(Plan::ask("Copy?").reads(&arguments.from).writes("copy"))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let bytes = File::open(&arguments.from)?.read_at(0, 100)?;
        files::write_bytes("copy", &bytes)?;
        Ok(format!("{} bytes", bytes.len()).into())
    }
}

#[test]
fn a_call_is_prepared_and_run() {
    let host = MockHost::new().file("a/b", "text").denied("secret");
    let plan = host.prepare::<Copy>(json!({"from": "a/b"}));
    assert_eq!(plan, Ok(Plan::ask("Copy?").reads("a/b").writes("copy")));
    assert_eq!(host.paths(), ["a/b"]);
    let output = host.run::<Copy>(r#"{"from": "./a//../a/b"}"#);
    assert_eq!(output, Ok("4 bytes".into()));
    assert_eq!(host.text("copy").as_deref(), Some("text"));
    for (arguments, kind) in [
        (json!({"from": "secret"}), FailureKind::Denied),
        (json!({"from": "c"}), FailureKind::NotFound),
        (json!({"from": 1}), FailureKind::InvalidArguments),
        (
            json!({"from": "a/b", "early": true}),
            FailureKind::Unsupported,
        ),
    ] {
        let failure = host.run::<Copy>(&arguments).unwrap_err();
        assert_eq!(failure.kind, kind, "{arguments}: {failure}");
    }
}

#[test]
fn files_are_read_and_changed_as_a_whole() {
    let host = MockHost::new().file("a.txt", "one\r\ntwo\nthrée");
    host.call(|| {
        let file = File::open("a.txt").unwrap();
        for (asked, texts, at_end) in [
            ((1, 2, 99, 99), &["one", "two"][..], false),
            ((2, 9, 4, 99), &["two"], false),
            ((3, 9, 1, 4), &["thr"], true),
            ((4, 9, 99, 99), &[], true),
        ] {
            let (first, count, max, max_line) = asked;
            let read = file.read_lines(first, count, max, max_line).unwrap();
            let found: Vec<&str> = read.lines.iter().map(|line| line.text.as_str()).collect();
            assert_eq!(
                (found.as_slice(), read.at_end),
                (texts, at_end),
                "{asked:?}"
            );
        }
        let edited = Edited {
            created: false,
            lines_before: 3,
            lines_after: 4,
        };
        assert_eq!(files::append("a.txt", "four\n"), Ok(edited));
        assert!(files::write("sub/new", "").unwrap().created);
        for (path, most, names, is_truncated) in [
            (".", 9, &["a.txt", "sub"][..], false),
            (".", 1, &["a.txt"], true),
            ("sub", 9, &["new"], false),
        ] {
            let listing = files::list_folder(path, most).unwrap();
            let found: Vec<&str> = listing.entries.iter().map(|it| it.name.as_str()).collect();
            assert_eq!(
                (found.as_slice(), listing.is_truncated),
                (names, is_truncated)
            );
        }
        assert!(matches!(files::write("sub", ""), Err(Error::WrongKind(_))));
        let taken = files::rename("a.txt", "sub/new");
        assert!(matches!(taken, Err(Error::Conflict(_))));
        files::remove("sub/new").unwrap();
        files::rename("a.txt", "b.txt").unwrap();
    });
    assert_eq!(host.paths(), ["b.txt"]);
    let text = host.text("b.txt");
    assert_eq!(text.as_deref(), Some("one\r\ntwo\nthrée\nfour\n"));
}

#[test]
fn what_is_missing_is_said_with_the_way_out() {
    MockHost::new().file("a", "A").call(|| {
        for error in [
            files::replace("a", "A", "B").unwrap_err(),
            files::create_folder("b").unwrap_err(),
            process::Command::start(process::CommandLine::new("ls")).unwrap_err(),
            crate::tree::open_project().unwrap_err(),
        ] {
            assert!(matches!(error, Error::Unsupported(_)), "{error:?}");
            assert!(
                error.to_string().contains("`dunlin plugin test`"),
                "{error}"
            );
        }
    });
}

#[test]
fn the_web_answers_what_was_prepared() {
    let host = MockHost::new()
        .answer("https://a.example/", 503, "text/plain", "later")
        .answer("https://a.example/", 200, "text/plain", "hello")
        .denied("https://b.example/");
    let get = Request::get("https://a.example/").header("accept", "*/*");
    host.call(|| {
        for (status, body) in [(503, "later"), (200, "hello"), (200, "hello")] {
            let mut response = get.clone().send().unwrap();
            assert_eq!(response.status(), status);
            assert_eq!(response.headers()[0].1, "text/plain");
            assert_eq!(response.read(), Ok(Some(body.into())));
            assert_eq!(response.read(), Ok(None));
        }
        let denied = Request::post("https://b.example/", "b").send();
        assert!(matches!(denied, Err(Error::Denied(_))));
        let unknown = Request::get("https://a.example/?b").send().unwrap_err();
        let message = "no answer is prepared for 'https://a.example/?b', see MockHost::answer";
        assert_eq!(unknown.to_string(), message);
    });
    assert_eq!(host.sent()[..3], [get.clone(), get.clone(), get]);
}

#[test]
fn the_rest_is_what_the_test_wants() {
    let host = MockHost::new()
        .setting("limit", 3)
        .stored("kept", "old")
        .reply("yes")
        .time_ms(5)
        .utc_offset_minutes(-60);
    host.call(|| {
        assert_eq!(settings::get(), Ok(json!({"limit": 3})));
        assert_eq!(store::get("kept"), Ok(Some(b"old".to_vec())));
        store::put("kept", b"newer").unwrap();
        assert_eq!(store::entries().unwrap()[0].size_bytes, 5);
        assert_eq!((clock::now_ms(), clock::utc_offset_minutes(5)), (5, -60));
        assert_ne!(random::bytes(2), random::bytes(2));
        assert_eq!(chat::ask("sure?", &[]), Ok("yes".to_owned()));
        let nobody = chat::ask("really?", &[]);
        assert!(matches!(nobody, Err(Error::Unsupported(_))));
    });
    assert_eq!(host.kept("kept").as_deref(), Some(&b"newer"[..]));
    assert_eq!(host.questions(), ["sure?", "really?"]);
}

#[test]
fn nothing_is_left_in_the_thread_after_a_panic() {
    let host = MockHost::new().file("a", "A");
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        host.call(|| panic!("on purpose"));
    }));
    assert!(panicked.is_err());
    assert!(matches!(files::stat("a"), Err(Error::Unsupported(_))));
}
