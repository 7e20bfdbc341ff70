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
use std::time::Instant;

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
    /// The frames that have a process of their own, the newest last: the session of their window, and their own.
    frames: Vec<(String, String)>,
    has_ended: bool,
}

impl Answers {
    /// Takes over a message of the browser.
    fn take(&mut self, message: Value) {
        if let Some(number) = message["id"].as_u64() {
            self.by_number.insert(number, message);
            return;
        }
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let session = text(&message["params"]["sessionId"]);
        match message["method"].as_str() {
            Some("Target.attachedToTarget") => {
                self.frames.push((text(&message["sessionId"]), session));
            }
            Some("Target.detachedFromTarget") => self.frames.retain(|(_, it)| *it != session),
            _ => {}
        }
    }

    /// The newest frame of a window.
    fn frame_of(&self, window: &str) -> Option<&str> {
        let mut frames = self.frames.iter().rev();
        let found = frames.find(|(of, _)| of == window);
        found.map(|(_, session)| session.as_str())
    }
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
                arrived.update(|it| it.take(message));
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
        let parameters =
            json!({ "autoAttach": true, "waitForDebuggerOnStart": false, "flatten": true });
        self.call(Some(session), "Target.setAutoAttach", parameters);
        Tab {
            browser: self,
            target,
            session: session.to_owned(),
        }
    }

    /// Calls a method of the protocol.
    fn call(&self, session: Option<&str>, method: &str, parameters: Value) -> Value {
        let answer = self.try_call(session, method, parameters);
        answer.unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    /// The same, with what may become of a frame that is replaced meanwhile.
    fn try_call(
        &self,
        session: Option<&str>,
        method: &str,
        parameters: Value,
    ) -> Result<Value, Value> {
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
        let is_frame = |it: &Answers| it.frames.iter().any(|(_, own)| Some(&**own) == session);
        let was_frame = self.answers.read(is_frame);
        let answer = self.answers.wait(DEADLINE, |it| {
            let answer = it.by_number.get(&number).cloned();
            answer.or_else(|| match (it.has_ended, was_frame && !is_frame(it)) {
                (true, _) => Some(json!({ "error": "the browser ended" })),
                (_, true) => Some(json!({ "error": "the frame is gone" })),
                _ => None,
            })
        });
        let answer = answer.unwrap_or_else(|_| panic!("no answer to {message}"));
        self.answers.update(|it| it.by_number.remove(&number));
        match &answer["error"] {
            Value::Null => Ok(answer["result"].clone()),
            error => Err(error.clone()),
        }
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

/// A promise that is fulfilled as soon as an expression is true.
fn until(expression: &str) -> String {
    format!(
        "new Promise((done) => {{ const look = () => {expression} ? done(true) : setTimeout(look, 10); look(); }})"
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
        let found = self.try_evaluate(&self.session, expression);
        found.unwrap_or_else(|error| panic!("{expression}: {error}"))
    }

    /// The value of an expression, in the document of this session. Fails where the document goes away meanwhile.
    fn try_evaluate(&self, session: &str, expression: &str) -> Result<Value, Value> {
        let parameters =
            json!({ "expression": expression, "awaitPromise": true, "returnByValue": true });
        let answer = self
            .browser
            .try_call(Some(session), "Runtime.evaluate", parameters)?;
        let thrown = &answer["exceptionDetails"];
        assert!(thrown.is_null(), "{expression}: {thrown}");
        Ok(answer["result"]["value"].clone())
    }

    /// Waits until an expression is true, in the document that the window shows then.
    ///
    /// # Panics
    ///
    /// When it never is.
    pub fn wait_for(&self, expression: &str) {
        assert_eq!(self.evaluate(&until(expression)), true);
    }

    /// The value of an expression in the newest frame of the window, which has an origin of its own.
    ///
    /// # Panics
    ///
    /// When the expression throws, or there is no such frame.
    pub fn evaluate_in_frame(&self, expression: &str) -> Value {
        let begun = Instant::now();
        loop {
            let frame = self
                .browser
                .answers
                .wait(DEADLINE, |it| it.frame_of(&self.session).map(str::to_owned));
            let frame = frame.unwrap_or_else(|_| panic!("no frame for {expression}"));
            // A frame that is replaced meanwhile has a successor.
            match self.try_evaluate(&frame, expression) {
                Ok(value) => return value,
                Err(error) => assert!(begun.elapsed() < DEADLINE, "{expression}: {error}"),
            }
        }
    }

    /// Waits until an expression is true in the newest frame of the window.
    ///
    /// # Panics
    ///
    /// When it never is.
    pub fn wait_in_frame(&self, expression: &str) {
        assert_eq!(self.evaluate_in_frame(&until(expression)), true);
    }

    /// Gives the window another size, and its documents the colours for dark surroundings or for light ones.
    ///
    /// # Panics
    ///
    /// When the browser cannot.
    pub fn look(&self, (width, height): (u32, u32), scheme: &str) {
        let size =
            json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.call("Emulation.setDeviceMetricsOverride", size);
        let media = json!({ "features": [{ "name": "prefers-color-scheme", "value": scheme }] });
        self.call("Emulation.setEmulatedMedia", media.clone());
        let frame = self
            .browser
            .answers
            .read(|it| it.frame_of(&self.session).map(str::to_owned));
        if let Some(frame) = frame {
            self.browser
                .call(Some(&frame), "Emulation.setEmulatedMedia", media);
        }
        self.wait_for(&format!("innerWidth === {width}"));
        self.wait_in_frame(&format!(
            "innerWidth === {width} && matchMedia('(prefers-color-scheme: {scheme})').matches"
        ));
    }

    /// A picture of what the window shows, as PNG in base64.
    ///
    /// # Panics
    ///
    /// When the browser cannot.
    pub fn picture(&self) -> String {
        let answer = self.call("Page.captureScreenshot", json!({ "format": "png" }));
        let data = answer["data"].as_str();
        data.expect("a picture").to_owned()
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
