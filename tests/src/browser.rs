//! A real browser without a window, driven over the DevTools protocol.
//!
//! The protocol goes through a pipe: there is no port that others could use, the browser ends when this process does, and a
//! dozen methods need no library with code for thousands.

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{ChildStdin, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

use serde_json::{Value, json};

use crate::{DEADLINE, Watched};

/// The names of the browser, as systems have them.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// The folders of programs, the usual ones: tests do not read the environment.
const FOLDERS: [&str; 2] = ["/usr/bin", "/snap/bin"];

/// Hands the pipe over as the browser wants it, and leaves nothing behind: the shell outlives both this process and the browser.
const START: &str = r#"
folder=$(mktemp -d) && trap 'rm -rf "$folder"' EXIT
trap '' INT HUP TERM
browser=$1; shift
HOME=$folder "$browser" --user-data-dir="$folder" "$@" 3<&0 4>&1 </dev/null >/dev/null 2>"$folder/log" || cat "$folder/log" >&2
"#;

/// A browser that knows no network but loopback.
const FLAGS: [&str; 12] = [
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-first-run",
    "--no-default-browser-check",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-gpu",
    "--disable-sync",
    // Windows that are not in front run as fast as those that are.
    "--disable-renderer-backgrounding",
    // Names that end in `.test` are this machine, and there are no others.
    "--host-resolver-rules=MAP *.test 127.0.0.1, MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
];

/// A browser.
pub struct Browser {
    to: Mutex<ChildStdin>,
    answers: Arc<Watched<Answers>>,
    last: AtomicU64,
}

#[derive(Default)]
struct Answers {
    by_number: HashMap<u64, Value>,
    has_ended: bool,
}

impl Browser {
    /// The one browser of this process. Starting it takes longer than most of what is tested in it.
    ///
    /// # Panics
    ///
    /// When there is none: says how to install it.
    pub fn shared() -> &'static Browser {
        static BROWSER: OnceLock<Browser> = OnceLock::new();
        BROWSER.get_or_init(Self::start)
    }

    fn start() -> Browser {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", START, "sh"]).arg(find()).args(FLAGS);
        // Where there is no user to protect from the browser, the browser refuses its own sandbox.
        if rustix::process::geteuid().is_root() {
            command.arg("--no-sandbox");
        }
        let command = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut started = command.spawn().expect("a shell");
        let from = started.stdout.take().expect("a pipe");
        let to = started.stdin.take().expect("a pipe");
        let answers = Arc::new(Watched::new(Answers::default()));
        let arrived = Arc::clone(&answers);
        thread::spawn(move || {
            let mut messages = BufReader::new(from).split(0);
            while let Some(Ok(message)) = messages.next() {
                let message: Value = serde_json::from_slice(&message).expect("JSON");
                if let Some(number) = message["id"].as_u64() {
                    arrived.update(|it| it.by_number.insert(number, message));
                }
            }
            arrived.update(|it| it.has_ended = true);
            // It ends with its pipe.
            started.wait().expect("the end of the browser");
        });
        Browser {
            to: Mutex::new(to),
            answers,
            last: AtomicU64::new(0),
        }
    }

    /// Opens a window.
    ///
    /// # Panics
    ///
    /// When the browser cannot.
    pub fn open(&self, url: &str) -> Tab<'_> {
        // A tab behind another one would be hidden, and slow.
        let parameters = json!({ "url": url, "newWindow": true });
        let opened = self.call(None, "Target.createTarget", parameters);
        let target = opened["targetId"].as_str().expect("a target").to_owned();
        let parameters = json!({ "targetId": target, "flatten": true });
        let attached = self.call(None, "Target.attachToTarget", parameters);
        let session = attached["sessionId"].as_str().expect("a session");
        Tab {
            browser: self,
            target,
            session: session.to_owned(),
        }
    }

    /// Calls a method of the protocol.
    fn call(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let number = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        let mut message = json!({ "id": number, "method": method, "params": parameters });
        if let Some(session) = session {
            message["sessionId"] = json!(session);
        }
        let mut bytes = message.to_string().into_bytes();
        bytes.push(0);
        let mut to = self.to.lock().unwrap_or_else(PoisonError::into_inner);
        to.write_all(&bytes).expect("the browser ended");
        drop(to);
        let answer = self.answers.wait(DEADLINE, |it| {
            let answer = it.by_number.get(&number).cloned();
            answer.or_else(|| {
                it.has_ended
                    .then(|| json!({ "error": "the browser ended" }))
            })
        });
        let answer = answer.unwrap_or_else(|_| panic!("no answer to {message}"));
        self.answers.update(|it| it.by_number.remove(&number));
        assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
        answer["result"].clone()
    }
}

/// The path of the browser.
fn find() -> PathBuf {
    let mut paths = FOLDERS
        .iter()
        .flat_map(|folder| NAMES.map(|name| PathBuf::from(folder).join(name)));
    let found = paths.find(|it| it.exists());
    found.expect(
        "there is no Chromium: `make browser` installs it, on Debian as `apt-get install chromium`",
    )
}

/// A window. Dropping it closes it.
pub struct Tab<'a> {
    browser: &'a Browser,
    target: String,
    session: String,
}

impl Tab<'_> {
    /// The value of an expression in the document of the window. A promise is awaited.
    ///
    /// # Panics
    ///
    /// When the expression throws.
    pub fn evaluate(&self, expression: &str) -> Value {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self.call("Runtime.evaluate", parameters);
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        answer["result"]["value"].clone()
    }

    /// Waits until an expression is true, in the document that the window shows then.
    ///
    /// # Panics
    ///
    /// When it never is.
    pub fn wait_for(&self, expression: &str) {
        let wait = format!(
            "new Promise((done) => {{ const look = () => {expression} ? done(true) : setTimeout(look, 10); look(); }})"
        );
        assert_eq!(self.evaluate(&wait), true);
    }

    fn call(&self, method: &str, parameters: Value) -> Value {
        self.browser.call(Some(&self.session), method, parameters)
    }
}

impl Drop for Tab<'_> {
    fn drop(&mut self) {
        if !thread::panicking() {
            let parameters = json!({ "targetId": self.target });
            self.browser.call(None, "Target.closeTarget", parameters);
        }
    }
}
