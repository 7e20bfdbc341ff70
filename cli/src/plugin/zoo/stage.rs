//! What the guests are let loose on.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

use dunlin_host::mcp::McpOptions;
use dunlin_host::{HostOptions, Limits, WebOptions};
use tempfile::TempDir;

use dunlin_provider::http;

/// What stands in the project's `README.md`.
const README: &str = "Every bird knows this.\n";

/// What stands in the file outside of the project.
const SECRET: &str = "the-secret-outside-the-project";

/// A key of the permission file.
const STORED: &str = "/a-target-that-the-user-decided-about";

/// The link of the trials in which one is swapped.
const SWAPPED: &str = "swapped";

/// A project and what must not be touched, in a temporary folder.
#[derive(Debug)]
pub struct Stage {
    installed: HostOptions,
    root: PathBuf,
    /// Nobody has a reason to connect to it.
    listener: TcpListener,
    port: String,
    _folder: TempDir,
}

/// What every file was like: its kind, when it was written, what stands in it.
pub type Picture = BTreeMap<PathBuf, String>;

impl Stage {
    /// Makes the folders. Of `installed` is taken how commands are run and what is Dunlin's own.
    ///
    /// # Errors
    /// They cannot be made.
    pub fn new(installed: HostOptions) -> io::Result<Stage> {
        let folder = tempfile::Builder::new().prefix("dunlin-zoo-").tempdir()?;
        let root = fs::canonicalize(folder.path())?;
        for folder in [
            "project/src",
            "project/empty",
            "outside",
            "config",
            "data",
            "cache",
        ] {
            fs::create_dir_all(root.join(folder))?;
        }
        let stored = format!("{{\"{STORED}\": \"r--\"}}");
        for (path, text) in [
            ("project/README.md", README),
            ("project/src/main.rs", "fn main() {}"),
            ("project/.env", "KEY=1"),
            ("project/diary.txt", "dear diary"),
            ("outside/secret.txt", SECRET),
            ("config/tool.permissions.json", &stored),
        ] {
            fs::write(root.join(path), text)?;
        }
        for (name, to) in [
            ("link", "README.md"),
            ("folder-link", "src"),
            ("way-out", "../outside/secret.txt"),
            ("way-home", "../config"),
        ] {
            symlink(to, root.join("project").join(name))?;
        }
        let listener = TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let port = listener.local_addr()?.port().to_string();
        Ok(Stage {
            installed,
            root,
            listener,
            port,
            _folder: folder,
        })
    }

    /// What a host on this stage is told.
    pub(super) fn options(&self, limits: Limits) -> HostOptions {
        let of = |name: &str| self.root.join(name);
        let mut installed = self.installed.clone();
        installed.commands.baselines = of("data/commands");
        installed.commands.set_aside = of("data/set-aside");
        let own = [of("config"), of("data"), of("cache")];
        HostOptions {
            project: of("project"),
            is_project: true,
            home: Some(self.root.clone()),
            permissions_file: of("config/tool.permissions.json"),
            audit_file: of("data/audit.jsonl"),
            log_file: of("data/plugins.jsonl"),
            cache_dir: of("cache"),
            undo_dir: of("data/undo"),
            stores_dir: of("data/stores"),
            protected: own.into_iter().chain(installed.protected).collect(),
            session: "zoo".to_owned(),
            mode: dunlin_host::permission::ModeSwitch::default(),
            limits,
            // Nothing that the user has for sites and servers is theirs.
            web: WebOptions::system(http::USER_AGENT),
            mcp: McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
            hooks: Vec::new(),
            ..installed
        }
    }

    /// Arguments with what is only known now.
    pub(super) fn fill(&self, arguments: &str) -> String {
        arguments.replace("PORT", &self.port)
    }

    /// The other way round, so that lines can be compared.
    pub(super) fn without_port(&self, line: &str) -> String {
        line.replace(&format!(":{}", self.port), ":PORT")
    }

    /// What everything is like that must not change.
    pub(super) fn picture(&self) -> Picture {
        let mut picture = Picture::new();
        for name in ["project", "outside", "config/tool.permissions.json"] {
            look(&self.root.join(name), &mut picture);
        }
        picture
    }

    /// What is different from a picture, and whether somebody connected: what is wrong.
    pub(super) fn changes(&self, before: &Picture) -> Vec<String> {
        let now = self.picture();
        let name = |path: &Path| {
            let path = path.strip_prefix(&self.root).unwrap_or(path);
            path.display().to_string()
        };
        let mut wrong = Vec::new();
        for (path, metadata) in &now {
            match before.get(path) {
                None => wrong.push(format!("it made {}", name(path))),
                Some(old) if old != metadata => wrong.push(format!("it changed {}", name(path))),
                Some(_) => {}
            }
        }
        let gone = before.keys().filter(|path| !now.contains_key(*path));
        wrong.extend(gone.map(|path| format!("it removed {}", name(path))));
        if self.listener.accept().is_ok() {
            wrong.push("it connected to this machine".to_owned());
        }
        wrong
    }

    /// What a text gives away.
    pub(super) fn leak(&self, text: &str) -> Option<String> {
        let leaked = [SECRET, STORED].iter().any(|secret| text.contains(secret));
        leaked.then(|| "it got at a secret".to_owned())
    }

    /// Makes a link that leads inside the project until it is swapped.
    pub(super) fn link(&self) -> Swapping {
        let project = self.root.join("project");
        let link = project.join(SWAPPED);
        // Without it there is nothing to read, and the trial does not end as it has to.
        let _ = symlink("README.md", &link);
        Swapping {
            stop: Arc::default(),
            thread: None,
            aside: project.join("aside"),
            link,
        }
    }
}

/// A link that is swapped. Dropping it ends that and removes the link.
pub(super) struct Swapping {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    aside: PathBuf,
    link: PathBuf,
}

impl Swapping {
    /// From now on the link leads outside and inside by turns, as fast as can be.
    pub(super) fn begin(&mut self) {
        let stop = Arc::clone(&self.stop);
        let (aside, link) = (self.aside.clone(), self.link.clone());
        self.thread = Some(std::thread::spawn(move || {
            while !stop.load(Ordering::Relaxed) {
                for target in ["../outside/secret.txt", "README.md"] {
                    // Where a step fails, the link leads where it led.
                    let _ = symlink(target, &aside).and_then(|()| fs::rename(&aside, &link));
                }
            }
        }));
    }
}

impl Drop for Swapping {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
        for path in [&self.aside, &self.link] {
            let _ = fs::remove_file(path);
        }
    }
}

fn look(path: &Path, picture: &mut Picture) {
    let Ok(meta) = path.symlink_metadata() else {
        return;
    };
    let inside = match (meta.is_file(), meta.is_dir()) {
        (true, _) => fs::read(path).map_or_else(
            |error| error.to_string(),
            |bytes| String::from_utf8_lossy(&bytes).into_owned(),
        ),
        (_, true) => {
            for entry in fs::read_dir(path).into_iter().flatten().flatten() {
                look(&entry.path(), picture);
            }
            String::new()
        }
        _ => format!("{:?}", fs::read_link(path)),
    };
    let written = match meta.is_file() {
        true => format!("{:?}", meta.modified().ok()),
        // A folder's time changes with every name that came and went.
        false => String::new(),
    };
    let metadata = format!("{:?} {written} {inside}", meta.file_type());
    picture.insert(path.to_owned(), metadata);
}
