//! Loads a plugin, and checks what it says of itself.

use std::sync::Arc;

use semver::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::OnceCell;
use wasmtime::component::types::ComponentItem;
use wasmtime::component::{Component, Linker};
use wasmtime::{Engine, Store};

use super::error::LoadError;
use super::mistakes::mistake;
use super::tool::{Annotations, DescribedTool, Tool, impossible, validator};
use super::{Description, Plugin, tools_digest};
use crate::bindings::declared::{DeclaredPlugin, DeclaredTool};
use crate::bindings::{Plugin as Instance, PluginPre};
use crate::capability::{CallState, wasi};
use crate::declared_permissions::DeclaredPermissions;
use crate::display::{chain, escape};
use crate::engine::error::one_line;
use crate::limits::{self, CONTRACT};
use crate::mcp::SEPARATOR;
use crate::permission::PluginId;
use crate::schema;

/// A plugin that has been given to a host.
pub(crate) struct Registered {
    pub(crate) plugin: Plugin,
    pub(crate) id: Arc<PluginId>,
    /// Loaded by whoever needs it first, while the others wait: many calls may come at once.
    pub(crate) loaded: OnceCell<Loaded>,
    /// The same. A failure is kept, too: otherwise each call of another tool would wait for it again.
    pub(crate) described: OnceCell<Result<Arc<Described>, LoadError>>,
}

/// A compiled plugin, ready to be instantiated.
pub(crate) struct Loaded {
    pre: PluginPre<CallState>,
    imports: Vec<String>,
    /// What its author says that it may ever ask for.
    declared_permissions: Option<DeclaredPermissions>,
}

/// What a plugin said of itself, checked.
pub(crate) struct Described {
    pub(crate) tools: Vec<DescribedTool>,
    /// What it may ever ask for.
    pub(crate) declared_permissions: Option<Arc<DeclaredPermissions>>,
    /// JSON Schema of what the user can set for the plugin.
    pub(crate) settings_schema: Option<Arc<Value>>,
}

/// What is kept of it. Fields of another build are refused: declared permissions that are not read would be lost.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Kept<T> {
    tools: T,
    declared_permissions: Option<DeclaredPermissions>,
    #[serde(default)]
    settings_schema: Option<Value>,
}

impl Registered {
    pub(crate) fn new(plugin: Plugin) -> Registered {
        let id = Arc::new(PluginId {
            name: plugin.name.clone(),
            origin: plugin.origin.clone(),
            digest: plugin.digest.clone(),
            built_in: plugin.built_in,
        });
        Registered {
            plugin,
            id,
            loaded: OnceCell::new(),
            described: OnceCell::new(),
        }
    }

    /// What it may ever ask for, once it was described.
    pub(crate) fn declared_permissions(&self) -> Option<&DeclaredPermissions> {
        let described = self.described.get()?.as_ref().ok()?;
        described.declared_permissions.as_deref()
    }
}

impl Loaded {
    /// Checks a compiled component against the contract and links it.
    pub(crate) fn new(
        name: &str,
        engine: &Engine,
        linker: &Linker<CallState>,
        component: &Component,
        declared_permissions: Option<DeclaredPermissions>,
    ) -> Result<Loaded, LoadError> {
        let ty = component.component_type();
        let exports: Vec<String> = ty
            .exports(engine)
            .map(|(name, _)| name.to_owned())
            .collect();
        check_contract(name, &exports)?;
        let imports = ty
            .imports(engine)
            .filter(|(_, item)| matches!(item.ty, ComponentItem::ComponentInstance(_)))
            .map(|(name, _)| name);
        let imports = abilities(imports);
        let problem = |e: wasmtime::Error| LoadError::Imports {
            plugin: name.to_owned(),
            problem: one_line(&e),
        };
        let pre = linker
            .instantiate_pre(component)
            .and_then(PluginPre::new)
            .map_err(problem)?;
        Ok(Loaded {
            pre,
            imports,
            declared_permissions,
        })
    }

    /// Makes a fresh instance in a fresh store.
    pub(crate) async fn instantiate(
        &self,
        store: &mut Store<CallState>,
    ) -> wasmtime::Result<Instance> {
        self.pre.instantiate_async(store).await
    }

    pub(crate) fn imports(&self) -> &[String] {
        &self.imports
    }

    pub(crate) fn declared_permissions(&self) -> Option<&DeclaredPermissions> {
        self.declared_permissions.as_ref()
    }
}

impl Described {
    /// Checks what was known of a plugin beforehand.
    pub(crate) fn check_known(plugin: &str, known: &Description) -> Result<Described, LoadError> {
        check_version(plugin, &known.contract)?;
        let tools = known.tools.iter().cloned().map(|tool| DeclaredTool {
            name: tool.name,
            description: tool.description,
            parameters: tool.parameters,
            title: tool.annotations.title,
            output_schema: tool.annotations.output_schema.map(|it| it.to_string()),
            is_destructive: tool.annotations.is_destructive,
            is_idempotent: tool.annotations.is_idempotent,
        });
        let info = DeclaredPlugin {
            tools: tools.collect(),
            settings_schema: None,
        };
        let imports = abilities(known.imports.iter().map(String::as_str));
        Described::check(plugin, &imports, None, info)
    }

    /// Checks what `describe` answered.
    pub(crate) fn check(
        plugin: &str,
        imports: &[String],
        declared_permissions: Option<DeclaredPermissions>,
        info: DeclaredPlugin,
    ) -> Result<Described, LoadError> {
        let bad = |problem: String| LoadError::Description {
            plugin: plugin.to_owned(),
            problem,
        };
        if info.tools.is_empty() {
            return Err(bad("it holds no tool".into()));
        }
        if info.tools.len() > limits::MAX_TOOLS {
            return Err(bad(format!(
                "it holds {} tools; at most {} are allowed",
                info.tools.len(),
                limits::MAX_TOOLS
            )));
        }
        let mut tools: Vec<Tool> = Vec::with_capacity(info.tools.len());
        for info in info.tools {
            let name = info.name;
            if let Some(problem) = name_problem(&name) {
                let name = short(&name);
                return Err(bad(format!("the tool name \"{name}\" {problem}")));
            }
            if tools.iter().any(|tool| tool.name == name) {
                return Err(bad(format!("it has two tools named {name}")));
            }
            let bytes = info.description.len();
            if bytes > limits::MAX_DESCRIPTION_BYTES {
                let max = limits::MAX_DESCRIPTION_BYTES;
                return Err(bad(format!(
                    "the description of {name} has {bytes} bytes; at most {max} are allowed"
                )));
            }
            let parameters = schema::parse(&info.parameters)
                .map_err(|e| bad(format!("the parameters of {name}: {}", chain(&e))))?;
            let output_schema = info.output_schema.as_deref().map(schema::parse);
            let output_schema = output_schema
                .transpose()
                .map_err(|e| bad(format!("the output schema of {name}: {}", chain(&e))))?;
            let title = info.title;
            if title
                .as_ref()
                .is_some_and(|title| title.len() > limits::MAX_TITLE_BYTES)
            {
                let max = limits::MAX_TITLE_BYTES;
                return Err(bad(format!(
                    "the title of {name} has more than the {max} bytes that are allowed"
                )));
            }
            tools.push(Tool {
                name,
                plugin: plugin.to_owned(),
                description: info.description,
                parameters,
                imports: imports.to_vec(),
                annotations: Annotations {
                    title,
                    output_schema,
                    is_destructive: info.is_destructive,
                    is_idempotent: info.is_idempotent,
                },
            });
        }
        let settings_schema = info.settings_schema.as_deref().map(schema::parse);
        let settings_schema = settings_schema
            .transpose()
            .map_err(|e| bad(format!("the schema of its settings: {}", chain(&e))))?;
        Ok(Described::new(tools, declared_permissions, settings_schema))
    }

    /// Checks that arguments and results can be compared with the schemas: their author is told before anybody calls the
    /// tool.
    pub(crate) fn check_schemas(&self, plugin: &str) -> Result<(), LoadError> {
        let unusable = |schema: &Value| {
            let unusable = || Some(chain(&validator(schema).err()?));
            mistake(schema).or_else(unusable)
        };
        if let Some(error) = self.settings_schema.as_deref().and_then(unusable) {
            return Err(LoadError::Description {
                plugin: plugin.to_owned(),
                problem: format!("the schema of its settings: {}", escape(&error)),
            });
        }
        for DescribedTool { tool, .. } in &self.tools {
            let parameters = ("parameters", Some(&tool.parameters));
            let output = ("output schema", tool.annotations.output_schema.as_ref());
            for (what, schema) in [parameters, output] {
                let found = schema.and_then(|it| unusable(it).or_else(|| impossible(it)));
                if let Some(error) = found {
                    let name = &tool.name;
                    let error = escape(&error).into_owned();
                    return Err(LoadError::Description {
                        plugin: plugin.to_owned(),
                        problem: format!("the {what} of {name}: {error}"),
                    });
                }
            }
        }
        Ok(())
    }

    fn new(
        tools: Vec<Tool>,
        declared_permissions: Option<DeclaredPermissions>,
        settings_schema: Option<Value>,
    ) -> Described {
        Described {
            tools: tools.into_iter().map(DescribedTool::new).collect(),
            declared_permissions: declared_permissions.map(Arc::new),
            settings_schema: settings_schema.map(Arc::new),
        }
    }

    pub(crate) fn tools_digest(&self) -> String {
        let tools: Vec<Tool> = self.tools.iter().map(|it| it.tool.clone()).collect();
        tools_digest(&tools)
    }

    pub(crate) fn to_bytes(&self) -> Vec<u8> {
        let tools: Vec<&Tool> = self.tools.iter().map(|described| &described.tool).collect();
        let kept = Kept {
            tools,
            declared_permissions: self.declared_permissions.as_deref().cloned(),
            settings_schema: self.settings_schema.as_deref().cloned(),
        };
        // Strings and JSON values always serialise; what is empty is described again.
        serde_json::to_vec(&kept).unwrap_or_default()
    }

    pub(crate) fn from_bytes(plugin: &str, bytes: &[u8]) -> Option<Described> {
        let kept: Kept<Vec<Tool>> = serde_json::from_slice(bytes).ok()?;
        let mut tools = kept.tools;
        for tool in &mut tools {
            tool.plugin = plugin.to_owned();
        }
        // An earlier build may have kept what is refused by now: the plugin is asked again.
        let is_known = !tools.is_empty() && tools.iter().all(|it| name_problem(&it.name).is_none());
        is_known.then(|| Described::new(tools, kept.declared_permissions, kept.settings_schema))
    }
}

/// Checks the version of the contract that a component exports.
fn check_contract(plugin: &str, exports: &[String]) -> Result<(), LoadError> {
    let found = exports
        .iter()
        .find_map(|name| name.strip_prefix("dunlin:tool/tool@"));
    let other = |found: String| LoadError::Contract {
        plugin: plugin.to_owned(),
        found,
    };
    match (found, exports.first()) {
        (Some(version), _) => check_version(plugin, version),
        (None, Some(name)) => Err(other(format!(
            "something else (it exports {})",
            short(name)
        ))),
        (None, None) => Err(other("something else (it exports nothing)".to_owned())),
    }
}

/// Checks that a plugin was built for a version of the contract that is served: one of 0.1 that is not newer.
fn check_version(plugin: &str, version: &str) -> Result<(), LoadError> {
    let found = Version::parse(version).ok();
    let served = Version::parse(CONTRACT).ok();
    let is_served = found.zip(served).is_some_and(|(found, served)| {
        found.pre.is_empty()
            && (found.major, found.minor) == (served.major, served.minor)
            && found.patch <= served.patch
    });
    match is_served {
        true => Ok(()),
        false => Err(LoadError::Contract {
            plugin: plugin.to_owned(),
            found: format!("dunlin:tool {}", short(version)),
        }),
    }
}

/// What is wrong with the name of a tool, behind the name.
fn name_problem(name: &str) -> Option<&'static str> {
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b == b'_' || b == b'-';
    if !(1..=64).contains(&name.len()) || !name.bytes().all(is_plain) {
        return Some("is not 1 to 64 of a-z A-Z 0-9 _ -");
    }
    // A plugin must not take the place of a server's tool, nor what was answered about that.
    name.contains(SEPARATOR).then_some(
        "has __ in it: only tools of MCP servers are called SERVER__TOOL; take a single _",
    )
}

/// Imports as they are shown, sorted, each once.
fn abilities<'a>(imports: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut imports: Vec<String> = imports
        .map(short_import)
        // They hold what the others are made of, and give access to nothing.
        .filter(|name| !matches!(name.as_str(), "types" | "tool-types"))
        .collect();
    imports.sort();
    imports.dedup();
    imports
}

/// `dunlin:tool/files@0.1.0` → `files`, `wasi:cli/stdout@0.2.6` → `wasi:cli`; others keep their whole name.
fn short_import(name: &str) -> String {
    if let Some(package) = wasi::short_name(name) {
        return package.to_owned();
    }
    let own = name
        .strip_prefix("dunlin:tool/")
        .and_then(|rest| rest.split('@').next());
    own.unwrap_or(name).to_owned()
}

/// Foreign text for the middle of a message.
fn short(text: &str) -> String {
    let start: String = text.chars().take(80).collect();
    crate::display::escape(&start).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_schema_that_nothing_can_be_compared_with_is_refused() {
        let described = |parameters: &str, output: Option<&str>| {
            let info = DeclaredPlugin {
                tools: vec![DeclaredTool {
                    name: "t".into(),
                    description: "Goes.".into(),
                    parameters: parameters.into(),
                    output_schema: output.map(str::to_owned),
                    ..DeclaredTool::default()
                }],
                settings_schema: None,
            };
            let described = Described::check("p", &[], None, info).unwrap();
            let checked = described.check_schemas("p");
            checked.map_err(|error| error.to_string())
        };
        let good = r#"{"type": "object"}"#;
        let bad = r#"{"type": "object", "properties": {"a": {"type": "strin"}}}"#;
        assert_eq!(described(good, Some(good)), Ok(()));
        for (parameters, output, expected) in [
            (
                bad,
                None,
                "the parameters of t: \"a\" has the type \"strin\", and there are string, ",
            ),
            (
                good,
                Some(bad),
                "the output schema of t: \"a\" has the type \"strin\", and there are string, ",
            ),
        ] {
            let error = described(parameters, output).unwrap_err();
            assert!(
                error.contains(expected) && error.contains("strin"),
                "{error}"
            );
        }
        // What no call can fit.
        let inner = r#"{"type": "object", "properties": {"b": 1}, "required": ["a"], "additionalProperties": false}"#;
        let inner = inner.replace("1", r#"{"type": "string"}"#);
        let outer = format!(r#"{{"type": "object", "properties": {{"c": {inner}}}}}"#);
        for (parameters, expected) in [
            (
                &inner,
                "the parameters of t: the property \"a\" is required, and",
            ),
            (
                &outer,
                "the parameters of t: in \"c\": the property \"a\" is required, and",
            ),
        ] {
            let error = described(parameters, None).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
        assert_eq!(
            described(&inner.replace("[\"a\"]", "[\"b\"]"), None),
            Ok(())
        );
        assert_eq!(described(&inner.replace("false", "true"), None), Ok(()));
    }

    #[test]
    fn no_plugin_has_a_tool_that_is_called_like_one_of_a_server() {
        let described = |name: &str| {
            let info = DeclaredPlugin {
                tools: vec![DeclaredTool {
                    name: name.into(),
                    description: "Goes.".into(),
                    parameters: r#"{"type": "object"}"#.into(),
                    ..DeclaredTool::default()
                }],
                settings_schema: None,
            };
            Described::check("p", &[], None, info)
        };
        for name in ["names__go1", "__a", "a__"] {
            let Err(error) = described(name) else {
                panic!("{name} is taken");
            };
            let error = error.to_string();
            let said = format!("the tool name \"{name}\" has __ in it");
            assert!(error.contains(&said), "{error}");
        }
        // Nor one of whose description a build without this rule kept.
        let bytes = described("names_go1").unwrap().to_bytes();
        assert!(Described::from_bytes("p", &bytes).is_some());
        let text = String::from_utf8(bytes).unwrap();
        let old = text.replace("names_go1", "names__go1");
        assert!(Described::from_bytes("p", old.as_bytes()).is_none());
    }

    #[test]
    fn versions_of_the_contract() {
        for (version, served) in [
            (CONTRACT, true),
            ("0.1.17", false),
            ("0.1.0-rc.1", false),
            ("0.2.0", false),
            ("1.0.0", false),
            ("0.1", false),
            ("", false),
        ] {
            let checked = check_version("p", version);
            assert_eq!(checked.is_ok(), served, "{version}");
        }
        let error = check_version("p", "0.1.1").unwrap_err().to_string();
        let said = "the plugin p was built for dunlin:tool 0.1.1; this host serves dunlin:tool up to 0.1.0";
        assert_eq!(error, said);
        let error = check_contract("p", &["wasi:cli/run@0.2.0".into()]).unwrap_err();
        assert!(
            error.to_string().contains("it exports wasi:cli/run@0.2.0"),
            "{error}"
        );
    }
}
