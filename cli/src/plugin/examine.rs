//! Looks at a plugin before it is installed: what it is, what it holds, what it may ask for, what is wrong with it.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use dunlin_host::call::{Call, Failure, PlanStatus};
use dunlin_host::declared_permissions::{DeclaredPermissions, DeclaredPermissionsError};
use dunlin_host::display::{escape, own_command};
use dunlin_host::metadata::Metadata;
use dunlin_host::{Host, HostOptions, LoadError, Plugin, Tool, sha256_hex, tools_digest};
use oci_spec::distribution::Reference;

use super::installed::{Record, is_name};
use super::manifest::{self, Manifest};
use super::registry::{self, Fetched};
use super::signing::PinnedKeys;
use super::sources::Sources;
use super::{BUILT, MAX_COMPONENT_BYTES, origin, read_regular, sample, wording};
use crate::app::{App, host_options};
use crate::dialogue::unless_interrupted;
use crate::error::CliError;

/// Bytes from which on somebody wonders what the program is doing: an engine of a language is compiled with the tool.
const LARGE_BYTES: usize = 2 * 1024 * 1024;

/// What was found out about a component.
#[derive(Debug)]
pub struct Examined {
    /// What it will be called.
    pub name: String,
    pub bytes: Vec<u8>,
    /// Who it is, together with the name: see [`origin`].
    pub origin: String,
    /// The fingerprint of the pinned key that has signed it.
    pub signer: Option<String>,
    /// SHA-256 of it.
    pub digest: String,
    /// Where it came from, for people.
    pub source: String,
    /// What it holds.
    pub tools: Vec<Tool>,
    /// What the installed plugin of this name holds, if it can be described.
    pub installed: Vec<Tool>,
    /// What it says of itself for people.
    pub metadata: Metadata,
    /// What it may ever ask for, if it says so.
    pub declared_permissions: Option<BTreeMap<String, String>>,
    /// How long it took until it had described itself; compiling is nearly all of it.
    pub took: Duration,
    /// What its tools said of a made-up call.
    pub tried: Vec<(String, Tried)>,
}

/// What a tool said of a call that was made up from its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Tried {
    /// It would ask this.
    Asks(String),
    /// It would ask nothing.
    Allowed,
    /// Its arguments would not do, in its words: it looks at them, which is good.
    Refuses(String),
    Broke(String),
}

/// Why a plugin is not taken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Refused {
    /// There is no such file.
    #[error("cannot read {}", path.display())]
    Read {
        path: PathBuf,
        source: std::io::Error,
    },
    /// A folder without a component.
    #[error("there is no built plugin in {}", folder.display())]
    NotBuilt { folder: PathBuf },
    #[error("{} has {bytes} bytes; a plugin has at most {MAX_COMPONENT_BYTES}", path.display())]
    TooLarge {
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    #[error("a plugin cannot be called {name:?}: it takes 1 to 64 of a-z A-Z 0-9 _ -")]
    Name {
        /// What it would be called.
        name: String,
    },
    #[error("{name:?} is one of Dunlin's own plugins")]
    OwnName { name: String },
    /// The host cannot use it.
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error("the declared permissions of the plugin cannot be used")]
    DeclaredPermissions(#[from] DeclaredPermissionsError),
    #[error("its tool {tool:?} has the name of a tool of {}", holder(.plugin.as_deref()))]
    Taken {
        tool: String,
        /// The plugin that has one of that name; `None`: Dunlin itself.
        plugin: Option<String>,
    },
    /// Its words hold something that nobody can read before it is installed.
    #[error(
        "the description of its tool {tool:?} has the invisible character U+{:04X}: the model would read what you cannot",
        u32::from(*.character)
    )]
    Invisible {
        tool: String,
        /// The first such character.
        character: char,
    },
}

impl From<Refused> for CliError {
    fn from(refused: Refused) -> CliError {
        let hint = match &refused {
            Refused::NotBuilt { folder } if !folder.join(manifest::FILE).exists() => {
                Some("dunlin plugin new NAME writes the folder of a plugin".to_owned())
            }
            Refused::NotBuilt { folder } => Some(format!(
                "{} makes it",
                own_command(&["plugin", "build", &folder.to_string_lossy()])
            )),
            Refused::Name { .. } | Refused::OwnName { .. } => {
                Some("--name gives it another one".to_owned())
            }
            Refused::Taken { plugin: None, .. } => Some(
                "give the tool another name in the source of the plugin, in describe".to_owned(),
            ),
            Refused::Taken {
                plugin: Some(plugin),
                ..
            } => Some(format!(
                "{} removes the other one; or give the tool another name in the source of the plugin, in describe",
                own_command(&["plugin", "remove", plugin])
            )),
            _ => None,
        };
        match refused {
            Refused::Name { .. } | Refused::OwnName { .. } | Refused::Read { .. } => {
                CliError::usage(refused)
            }
            refused => CliError::failed(refused),
        }
        .with_hint(hint)
    }
}

/// The component that a person means: a file, or the one that was built in a folder.
pub fn locate(given: &Path) -> Result<PathBuf, Refused> {
    if !given.is_dir() {
        return Ok(given.to_owned());
    }
    let built = given.join(BUILT);
    if built.is_file() {
        return Ok(built);
    }
    Err(Refused::NotBuilt {
        folder: given.to_owned(),
    })
}

/// Beside which tools the plugin will be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Beside {
    /// Dunlin's own, and those of the plugins that are installed here.
    Installed,
    /// Dunlin's own alone: it is for others, and what is installed here may be the same plugin.
    OwnTools,
}

/// Examines the component in a file, a folder or a registry, to be installed. Nothing of it runs outside of the sandbox, and
/// no call does.
///
/// # Errors
/// Why it is not taken, or that the user interrupted.
pub fn examine(app: &App, given: &Path, name: Option<&str>) -> Result<Examined, CliError> {
    let Some(reference) = given.to_str().and_then(registry::reference) else {
        return examine_file(app, given, name, Beside::Installed);
    };
    if given.exists() {
        app.ui.status(&format!(
            "{} is a file, too; with ./ before its name that is meant.",
            escape(&given.to_string_lossy())
        ));
    }
    examine_reference(app, &reference?, name)
}

/// Examines the component in a registry, to be installed.
///
/// # Errors
/// Like [`examine`].
pub fn examine_reference(
    app: &App,
    reference: &Reference,
    name: Option<&str>,
) -> Result<Examined, CliError> {
    let fetched = fetch(app, reference)?;
    let name = match name {
        Some(name) => named(name.to_owned())?,
        None => named(fetched.name)?,
    };
    let origin = origin::of_reference(reference);
    let from = ComesFrom {
        signer: signer(app, reference, &origin, &fetched.digest)?,
        origin,
        source: fetched.source,
    };
    examine_bytes(app, name, fetched.bytes, from)
}

/// Examines the component in a file or a folder.
///
/// # Errors
/// Like [`examine`].
pub fn examine_file(
    app: &App,
    given: &Path,
    name: Option<&str>,
    beside: Beside,
) -> Result<Examined, CliError> {
    let path = locate(given)?;
    let read = |source| Refused::Read {
        path: path.clone(),
        source,
    };
    let bytes = fs::metadata(&path).map_err(read)?.len();
    if bytes > MAX_COMPONENT_BYTES {
        return Err(Refused::TooLarge { path, bytes }.into());
    }
    let bytes = read_regular(&path, MAX_COMPONENT_BYTES).map_err(read)?;
    // Not built here: building runs programs of whoever wrote it.
    if given.join(manifest::FILE).is_file()
        && let Some(newer) = Sources::of(given).newer_than(&path)
    {
        let short = |path: &Path| escape(&app.settings.folders.short(path)).into_owned();
        app.ui.warn(&format!(
            "{} is older than {}; {} rebuilds it",
            short(&path),
            short(&newer),
            own_command(&["plugin", "build", &given.to_string_lossy()])
        ));
    }
    let name = match name {
        Some(name) => name.to_owned(),
        None => Manifest::read(given).map_or_else(|_| name_of(given), |manifest| manifest.name),
    };
    let name = named(name)?;
    let from = ComesFrom {
        origin: origin::of_file(&path),
        signer: None,
        source: app
            .settings
            .folders
            .short(&fs::canonicalize(&path).unwrap_or(path)),
    };
    examine_beside(app, name, bytes, from, beside)
}

/// Fetches what stands in a registry. Ctrl-C ends it, and leaves nothing behind.
fn fetch(app: &App, reference: &Reference) -> Result<Fetched, CliError> {
    let ui = &app.ui;
    ui.status(&format!("Fetching {reference}"));
    let home = app.settings.folders.home.as_deref();
    Ok(unless_interrupted(app, registry::fetch(reference, home))??)
}

/// Who has signed what came, if a key is pinned for its origin.
fn signer(
    app: &App,
    reference: &Reference,
    origin: &str,
    digest: &str,
) -> Result<Option<String>, CliError> {
    let folders = &app.settings.folders;
    let keys = PinnedKeys::read(&folders.plugin_keys_file())?;
    if keys.of(origin).is_empty() {
        return Ok(None);
    }
    let fetching = registry::signatures(reference, digest, folders.home.as_deref());
    let signatures = unless_interrupted(app, fetching)??;
    Ok(Some(keys.signer(origin, digest, &signatures)?))
}

fn named(name: String) -> Result<String, Refused> {
    match is_name(&name) {
        true => Ok(name),
        false => Err(Refused::Name { name }),
    }
}

/// Where a component comes from.
pub struct ComesFrom {
    /// For good: a part of its identity.
    pub origin: String,
    /// The fingerprint of the pinned key that has signed it.
    pub signer: Option<String>,
    /// This very version, for people.
    pub source: String,
}

/// Examines a component that is to be installed.
///
/// # Errors
/// Like [`examine`].
pub fn examine_bytes(
    app: &App,
    name: String,
    bytes: Vec<u8>,
    from: ComesFrom,
) -> Result<Examined, CliError> {
    examine_beside(app, name, bytes, from, Beside::Installed)
}

/// Lets a component say what it holds, and nothing else.
///
/// # Errors
/// What is wrong with that, or that the user interrupted.
pub fn describes(app: &App, path: &Path, name: String) -> Result<(), CliError> {
    let bytes = read_regular(path, MAX_COMPONENT_BYTES).map_err(|source| Refused::Read {
        path: path.to_owned(),
        source,
    })?;
    let (host, _) = alone(app, name, &bytes, None)?;
    let (_, broken) = crate::dialogue::look_at_tools_of(app, &host)?;
    match broken.into_iter().next() {
        Some(error) => Err(Refused::Load(error).into()),
        None => Ok(()),
    }
}

/// A host with this plugin and no other, and the digest of it.
fn alone(
    app: &App,
    name: String,
    bytes: &[u8],
    origin: Option<String>,
) -> Result<(Host, String), CliError> {
    let plugin = Plugin {
        name,
        digest: sha256_hex(bytes),
        bytes: bytes.to_vec().into(),
        built_in: false,
        origin,
        description: None,
        tools_digest: None,
    };
    let digest = plugin.digest.clone();
    let options = HostOptions {
        // Nothing is called for the user yet.
        hooks: Vec::new(),
        ..host_options(&app.settings, &app.session_id())
    };
    let host = Host::new(options, vec![plugin])?;
    if bytes.len() > LARGE_BYTES && !host.is_compiled(&digest) {
        app.ui
            .status("A large component: compiling it takes a while, once for each version.");
    }
    Ok((host, digest))
}

fn examine_beside(
    app: &App,
    name: String,
    bytes: Vec<u8>,
    from: ComesFrom,
    beside: Beside,
) -> Result<Examined, CliError> {
    if is_own(&name) {
        return Err(Refused::OwnName { name }.into());
    }
    let (host, digest) = alone(app, name.clone(), &bytes, Some(from.origin.clone()))?;
    let began = Instant::now();
    let (tools, broken) = crate::dialogue::look_at_tools_of(app, &host)?;
    let took = began.elapsed();
    if let Some(error) = broken.into_iter().next() {
        return Err(Refused::Load(error).into());
    }
    let declared_permissions =
        DeclaredPermissions::of_component(&bytes).map_err(Refused::DeclaredPermissions)?;
    let tools: Vec<Tool> = tools
        .into_iter()
        .filter(|tool| tool.plugin == name)
        .collect();
    let (others, _) = crate::dialogue::look_at_tools_of(app, app.host()?)?;
    for tool in &tools {
        let taken = others
            .iter()
            .filter(|other| beside == Beside::Installed || is_own(&other.plugin))
            .find(|other| other.name == tool.name && other.plugin != name);
        if let Some(other) = taken {
            return Err(Refused::Taken {
                tool: tool.name.clone(),
                plugin: (!is_own(&other.plugin)).then(|| other.plugin.clone()),
            }
            .into());
        }
        if let Some(character) = wording::invisible(tool) {
            let tool = tool.name.clone();
            return Err(Refused::Invisible { tool, character }.into());
        }
    }
    let installed = others.into_iter().filter(|tool| tool.plugin == name);
    let installed = installed.collect();
    let runtime = app.runtime()?;
    let tried = tools.iter().map(|tool| {
        let said = runtime.block_on(try_out(&host, tool));
        (tool.name.clone(), said)
    });
    let tried = tried.collect();
    let own = |(target, bits): (&str, &str)| (target.to_owned(), bits.to_owned());
    Ok(Examined {
        name,
        metadata: Metadata::of_component(&bytes),
        bytes,
        origin: from.origin,
        signer: from.signer,
        digest,
        source: from.source,
        tools,
        installed,
        declared_permissions: declared_permissions
            .map(|declared_permissions| declared_permissions.targets().map(own).collect()),
        took,
        tried,
    })
}

fn is_own(plugin: &str) -> bool {
    let own = crate::built_in_plugins::all();
    own.iter().any(|own| own.name == plugin)
}

fn holder(plugin: Option<&str>) -> String {
    plugin.map_or_else(
        || "Dunlin's own".to_owned(),
        |plugin| format!("the plugin {plugin}"),
    )
}

/// Lets a tool say what it would touch. Nobody is asked, and nothing is run.
async fn try_out(host: &Host, tool: &Tool) -> Tried {
    let call = Call {
        id: "tried".to_owned(),
        tool: tool.name.clone(),
        arguments: sample::of(&tool.parameters),
    };
    let plan = host.prepare(&call).await;
    host.cancelled(&call);
    match plan {
        Ok(plan) => match plan.status {
            PlanStatus::Allowed => Tried::Allowed,
            PlanStatus::Ask { .. } => Tried::Asks(plan.question),
            PlanStatus::Denied {
                need: Some(need),
                rule,
                ..
            } => Tried::Refuses(format!(
                "{} '{}' would be denied: {rule}",
                need.operation.verb(),
                need.target
            )),
            PlanStatus::Denied {
                need: None, rule, ..
            } => Tried::Refuses(format!("it would be denied: {rule}")),
        },
        Err(Failure::Fault { problem, .. }) => Tried::Broke(problem),
        Err(failure) => Tried::Refuses(failure.to_string()),
    }
}

impl Examined {
    /// The first tool that broke when it was tried, and how.
    pub fn broke(&self) -> Option<(String, String)> {
        self.tried.iter().find_map(|(tool, tried)| match tried {
            Tried::Broke(problem) => Some((tool.clone(), problem.clone())),
            _ => None,
        })
    }

    /// Its imports, sorted.
    pub fn abilities(&self) -> Vec<String> {
        let mut all: Vec<String> = self
            .tools
            .iter()
            .flat_map(|tool| tool.imports.iter().cloned())
            .collect();
        all.sort();
        all.dedup();
        all
    }

    /// What is written down when it is installed.
    pub fn record(&self, now: String) -> Record {
        // No two are made in the same moment: a person agrees to each.
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let installation = since.unwrap_or_default().as_nanos().to_string();
        Record {
            name: self.name.clone(),
            origin: self.origin.clone(),
            digest: self.digest.clone(),
            bytes: self.bytes.len() as u64,
            source: self.source.clone(),
            installed: now,
            installation,
            tools: self.tools.iter().map(|tool| tool.name.clone()).collect(),
            tools_digest: Some(tools_digest(&self.tools)),
            abilities: self.abilities(),
            metadata: self.metadata.clone(),
            declared_permissions: self.declared_permissions.clone(),
            signer: self.signer.clone(),
            previous: None,
        }
    }
}

/// `target/word-count.wasm` and a folder `word-count` are `word_count`: names are what the tools have.
fn name_of(given: &Path) -> String {
    let whole = fs::canonicalize(given).unwrap_or_else(|_| given.to_owned());
    let mut named = whole.as_path();
    if named.file_name().is_some_and(|name| name == BUILT) {
        named = named.parent().unwrap_or(named);
    }
    let stem = if named.is_dir() {
        named.file_name()
    } else {
        named.file_stem()
    };
    let stem = stem.unwrap_or_default().to_string_lossy().into_owned();
    stem.replace(['-', ' ', '.'], "_")
}
