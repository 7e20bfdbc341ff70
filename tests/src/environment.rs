//! A home, a project and a configuration for one test, apart from everything on the machine.

use std::ffi::OsStr;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock, PoisonError};
use std::time::UNIX_EPOCH;

use serde_json::Value;
use tempfile::TempDir;

use crate::invocation::{Invocation, Output, Transcript};
use crate::provider::{API_KEY, MODEL, Provider};
use crate::terminal::Terminal;

/// Names the guests that join the built-in plugins of the program under test, separated by commas.
pub const GUESTS_VARIABLE: &str = "DUNLIN_TEST_GUESTS";

/// How long the path of a root is, wherever temporary files are: rows break and columns stand in the same places then, and
/// screens can be compared.
const ROOT_LENGTH: usize = 40;

/// The only programs a run can find by name.
const SEARCH_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Everything a run of the program sees of the world. Dropping it removes the folders.
///
/// ```text
/// ROOT/home                 $HOME
/// ROOT/home/config/dunlin   config.toml, tool.permissions.json
/// ROOT/home/data/dunlin     the audit log, the history
/// ROOT/home/cache/dunlin    compiled components
/// ROOT/project              where the program is started
/// ROOT/outside              files that are not in the project
/// ```
#[derive(Debug)]
pub struct Environment {
    program: PathBuf,
    root: PathBuf,
    transcript: Transcript,
    /// Removes `root` when it is dropped.
    _folder: TempDir,
}

impl Environment {
    /// Folders without a configuration: a first run. `program` is [`program!`](crate::program).
    ///
    /// # Panics
    ///
    /// When the temporary folder cannot be written; so does every function below that writes a file.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let folder = root_folder().expect("a temporary folder");
        let root = folder.path().to_owned();
        let environment = Environment {
            program: program.into(),
            root,
            transcript: Transcript::default(),
            _folder: folder,
        };
        for folder in [
            "home/config",
            "home/data",
            "home/cache",
            "project",
            "outside",
            "tmp",
        ] {
            fs::create_dir_all(environment.root.join(folder)).expect("a folder of the test");
        }
        environment
    }

    /// Folders with a configuration whose only agent talks to `provider`, and a cache in which the built-in tools are
    /// compiled already: that takes seconds, and is what few tests are about.
    pub fn with_provider(program: impl Into<PathBuf>, provider: &Provider) -> Self {
        let environment = Environment::warm(program);
        environment.configure_for(provider, "");
        environment
    }

    /// Folders without a configuration on a machine on which Dunlin has run before: its tools are compiled.
    ///
    /// # Panics
    ///
    /// Like [`Environment::new`].
    pub fn warm(program: impl Into<PathBuf>) -> Self {
        let environment = Environment::new(program);
        if let Some(warm) = warm_cache(&environment.program) {
            // Without it the program compiles them itself.
            let _ = copy_private(warm, &environment.cache());
        }
        environment
    }

    /// The same without a cache, as after an installation.
    ///
    /// # Panics
    ///
    /// When the cache cannot be removed.
    #[must_use]
    pub fn cold(self) -> Self {
        if self.cache().exists() {
            fs::remove_dir_all(self.cache()).expect("the cache goes");
        }
        self
    }

    /// Writes a configuration whose only agent talks to `provider`, with more of its keys and more tables behind it.
    pub fn configure_for(&self, provider: &Provider, more: &str) {
        self.configure(&format!(
            "{}\n{more}\n",
            configuration(&provider.base_url(), more)
        ));
    }

    /// Writes `config.toml`.
    pub fn configure(&self, toml: &str) {
        write(&self.config_file(), toml.as_bytes());
    }

    /// Writes more into `config.toml`: top-level keys before what is there, tables behind it.
    pub fn configure_more(&self, keys: &str, tables: &str) {
        let now = fs::read_to_string(self.config_file()).expect("a configuration to add to");
        self.configure(&format!("{keys}\n{now}\n{tables}\n"));
    }

    /// Writes a file of the project and returns its path.
    pub fn project_file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project().join(name);
        write(&path, contents.as_ref());
        path
    }

    /// Writes a file outside the project and returns its path.
    pub fn outside_file(&self, name: &str, contents: impl AsRef<[u8]>) -> PathBuf {
        let path = self.root.join("outside").join(name);
        write(&path, contents.as_ref());
        path
    }

    /// The folder that holds all the others.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The home folder.
    pub fn home(&self) -> PathBuf {
        self.root.join("home")
    }

    /// The project folder: where the program starts.
    pub fn project(&self) -> PathBuf {
        self.root.join("project")
    }

    /// The user's configuration.
    pub fn config_file(&self) -> PathBuf {
        self.root.join("home/config/dunlin/config.toml")
    }

    /// Dunlin's data folder.
    pub fn data(&self) -> PathBuf {
        self.root.join("home/data/dunlin")
    }

    /// Dunlin's cache folder.
    pub fn cache(&self) -> PathBuf {
        self.root.join("home/cache/dunlin")
    }

    /// The stored permissions; null while there is no file.
    pub fn permissions(&self) -> Value {
        match fs::read(self.root.join("home/config/dunlin/tool.permissions.json")) {
            Ok(bytes) => serde_json::from_slice(&bytes).expect("permissions as JSON"),
            Err(_) => Value::Null,
        }
    }

    /// Prepares a run of the program with these arguments.
    pub fn command<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> Invocation<'_> {
        Invocation::new(
            self,
            arguments
                .into_iter()
                .map(|a| a.as_ref().to_owned())
                .collect(),
        )
    }

    /// Runs the program with pipes and an empty input, to its end.
    pub fn run<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Output {
        self.command(arguments).run()
    }

    /// What was run with pipes since the beginning or the last call, one below the other: the command as it would be typed,
    /// its status, and what it printed, without what differs from run to run. In a snapshot, that is a table of outputs.
    pub fn transcript(&self) -> String {
        let mut transcript = self
            .transcript
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut *transcript)
    }

    pub(crate) fn transcript_of_runs(&self) -> Transcript {
        Arc::clone(&self.transcript)
    }

    /// Runs the program in a pseudo-terminal.
    pub fn terminal<A: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = A>) -> Terminal {
        self.command(arguments).terminal()
    }

    /// The program under test.
    pub fn program(&self) -> &Path {
        &self.program
    }

    /// All environment variables of a run; there are no others.
    pub fn variables(&self) -> Vec<(&'static str, String)> {
        let folder = |name: &str| self.root.join(name).display().to_string();
        vec![
            ("HOME", folder("home")),
            ("XDG_CONFIG_HOME", folder("home/config")),
            ("XDG_DATA_HOME", folder("home/data")),
            ("XDG_CACHE_HOME", folder("home/cache")),
            ("TMPDIR", folder("tmp")),
            ("PATH", SEARCH_PATH.to_owned()),
            ("LANG", "C.UTF-8".to_owned()),
            ("TERM", "xterm-256color".to_owned()),
            ("OPENAI_API_KEY", API_KEY.to_owned()),
            // A first run must not find the servers of the machine the tests run on.
            ("DUNLIN_DISCOVER", String::new()),
        ]
    }
}

/// A new folder whose path is [`ROOT_LENGTH`] long and contains no link, since Dunlin shows resolved paths. It is in the
/// folder for temporary files if that leaves enough of a name, else in `/tmp`.
fn root_folder() -> io::Result<TempDir> {
    const RANDOM: usize = 6;
    const NAME: &str = "dunlin-test-00000000000000000000";
    let folders = [std::env::temp_dir(), PathBuf::from("/tmp")];
    for folder in folders {
        let folder = folder.canonicalize()?;
        let room = ROOT_LENGTH.checked_sub(folder.as_os_str().len() + "/".len() + RANDOM);
        let prefix = room.and_then(|room| NAME.get(..room));
        if let Some(prefix) = prefix.filter(|prefix| prefix.starts_with("dunlin")) {
            let mut folder_of_test = tempfile::Builder::new();
            folder_of_test.prefix(prefix).rand_bytes(RANDOM);
            return folder_of_test.tempdir_in(folder);
        }
    }
    Err(io::Error::other("/tmp leads to a folder with a long path"))
}

/// A call of each built-in tool that comes to nothing: its component is compiled by that, which a list does not need.
const CALLS: [(&str, &str); 11] = [
    ("read_file", r#"{"file_path": "none"}"#),
    (
        "edit_file",
        r#"{"file_path": "../none", "edits": [{"range": [1, 1], "replacement": "a"}]}"#,
    ),
    ("run_terminal_command", r#"{"command": "true"}"#),
    ("web_fetch", r#"{"url": "http://127.0.0.1:1/"}"#),
    ("web_search", r#"{"query": "none"}"#),
    ("ask_user", r#"{"question": "Is anybody there?"}"#),
    ("run_subagent", r#"{"task": "none"}"#),
    ("list_files", r#"{"path": "none"}"#),
    ("search_text", r#"{"pattern": "a", "path": "none"}"#),
    ("write_file", r#"{"file_path": "../none", "content": "a"}"#),
    ("todo", r#"{"items": []}"#),
];

/// The cache of a machine on which each tool of this program was called; kept beside it until it is built anew.
fn warm_cache(program: &Path) -> Option<&'static Path> {
    static WARM: OnceLock<Option<PathBuf>> = OnceLock::new();
    let make = || {
        let built = fs::metadata(program).ok()?;
        let time = built.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        let all = program.parent()?.join("warm-caches");
        let warm = all.join(format!("{}-{}", built.len(), time.as_nanos()));
        if warm.exists() {
            return Some(warm);
        }
        let environment = Environment::new(program);
        let listed = environment.run(["tools", "list"]);
        for (tool, arguments) in CALLS {
            // Nobody is asked, so nothing is done.
            let _ = environment.run(["tools", "call", tool, "--args", arguments]);
        }
        let others = fs::read_dir(&all).into_iter().flatten().flatten();
        for other in others {
            // Of a program that is not there any more.
            let _ = fs::remove_dir_all(other.path());
        }
        let half = all.join(format!("half-{}", std::process::id()));
        copy_private(&environment.cache(), &half).ok()?;
        // Somebody else may have been faster, with the same.
        let _ = fs::rename(&half, &warm);
        (listed.status == Some(0) && warm.exists()).then_some(warm)
    };
    WARM.get_or_init(make).as_deref()
}

/// Copies a folder with all that is below it. Nobody else may look into the copy: Dunlin would not believe it.
fn copy_private(from: &Path, to: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let there = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy_private(&entry.path(), &there)?;
        } else {
            fs::copy(entry.path(), there)?;
        }
    }
    Ok(())
}

/// The default system prompt names folders and the date, and few tests are about it: an agent to which `more` gives none has
/// none at all.
fn configuration(base_url: &str, more: &str) -> String {
    // What an agent has unless the test says otherwise.
    let usual = ["system_prompt = \"\"", "api = \"openai\""].map(|usual| {
        let key = usual.split('=').next().unwrap_or_default();
        let mut keys = more.lines().take_while(|line| !line.starts_with('['));
        match keys.any(|line| line.starts_with(key)) {
            true => "",
            false => usual,
        }
    });
    let [system_prompt, api] = usual;
    // Tests of foreign text expect no titles and no bell from Dunlin itself.
    format!(
        r#"default_agent = "assistant"

[notifications]
signal = "off"
title = false

[keys.test]
env = "OPENAI_API_KEY"

[agents.assistant]
kind = "chat"
{api}
base_url = "{base_url}"
model = "{MODEL}"
api_key = "test"
{system_prompt}
"#
    )
}

fn write(path: &Path, contents: &[u8]) {
    let folder = path.parent().expect("a file stands in a folder");
    fs::create_dir_all(folder).expect("a folder of the test");
    fs::write(path, contents).expect("a file of the test");
}
