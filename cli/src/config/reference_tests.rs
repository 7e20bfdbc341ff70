//! The reference in `docs/configuration.md`: written from the declarations, and compared here.

use std::collections::BTreeMap;
use std::path::Path;
use std::{env, fs};

use dunlin_chat::agent::Effort;
use dunlin_chat::endpoint::EndpointOptions;
use dunlin_chat::turn::OnDenial;
use dunlin_host::hooks::HookEvent;
use dunlin_host::permission::SessionMode;
use serde::Serialize;
use serde::de::DeserializeOwned;
use toml::Spanned;
use url::Url;

use super::agent::{AgentPatch, ApiName, Kind};
use super::embedding::CodebaseSearch;
use super::file::KeyEntry;
use super::hook::{HookCommand, HookEntry};
use super::mcp::ServerEntry;
use super::notifications::SignalName;
use super::request_editor::{MetadataField, PauseMode};
use super::search::{EngineName, WebSearch};
use super::setting::{Commands, General, Limits, Narrowing, Notifications, RequestEditor};
use super::sites::Site;
use super::value::{Count, Seconds, UpTo, written};

/// A declared key: the cells of its row.
pub struct Declared(pub Vec<String>);

impl Declared {
    /// A key of a table.
    pub fn key<T: Accepts>(key: &str, help: &str) -> Declared {
        Declared(vec![
            format!("`{key}`"),
            T::accepts(),
            help.trim().to_owned(),
        ])
    }

    /// A setting: with its default and what a project's file may do.
    pub fn setting<T: Accepts + Serialize>(
        key: &str,
        help: &str,
        default: &T,
        narrowing: &Narrowing<T>,
    ) -> Declared {
        let Declared(mut cells) = Declared::key::<T>(key, help);
        cells.insert(2, format!("`{}`", written(default)));
        cells.push(match narrowing {
            Narrowing::Trusted => "only with your trust".to_owned(),
            Narrowing::If(_, words) => (*words).to_owned(),
            Narrowing::Never(_) => "never".to_owned(),
        });
        Declared(cells)
    }
}

/// What a key may hold.
pub trait Accepts {
    /// In words.
    fn accepts() -> String;
}

macro_rules! accepts {
    ($($type:ty: $words:expr;)*) => {$(
        impl Accepts for $type {
            fn accepts() -> String {
                $words.to_owned()
            }
        }
    )*};
}

accepts! {
    bool: "`true` or `false`";
    String: "text";
    Url: "URL";
    u32: "whole number";
    Count: "whole number from 1";
    BTreeMap<String, String>: "table of texts";
    EndpointOptions: "table";
    ApiName: choices::<Self>();
    HookCommand: "text, or list of: text";
    HookEvent: choices::<Self>();
    Effort: choices::<Self>();
    EngineName: choices::<Self>();
    Kind: choices::<Self>();
    MetadataField: choices::<Self>();
    OnDenial: choices::<Self>();
    PauseMode: choices::<Self>();
    SessionMode: choices::<Self>();
    SignalName: choices::<Self>();
}

impl<const MOST: u64> Accepts for Seconds<MOST> {
    fn accepts() -> String {
        format!("whole number from 1 to {MOST}")
    }
}

impl<const MOST: u8> Accepts for UpTo<MOST> {
    fn accepts() -> String {
        format!("number from 0 to {MOST}")
    }
}

impl<T: Accepts> Accepts for Option<T> {
    fn accepts() -> String {
        T::accepts()
    }
}

impl<T: Accepts> Accepts for Spanned<T> {
    fn accepts() -> String {
        T::accepts()
    }
}

impl<T: Accepts> Accepts for Vec<T> {
    fn accepts() -> String {
        format!("list of: {}", T::accepts())
    }
}

/// The values of an enum, as serde names them when it meets another one.
fn choices<T: DeserializeOwned>() -> String {
    let error = toml::Value::from("").try_into::<T>().err().unwrap();
    let (_, names) = error.message().split_once("expected ").unwrap();
    let names = names.split('`').skip(1).step_by(2);
    let names: Vec<String> = names.map(|name| format!("`{name:?}`")).collect();
    names.join(", ")
}

fn table(heading: &str, declared: Vec<Declared>) -> String {
    let mut columns = vec!["Key", "Value", "Meaning"];
    if declared[0].0.len() > columns.len() {
        columns.insert(2, "Default");
        columns.push("A project's file");
    }
    let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
    let rules = vec!["---".to_owned(); columns.len()];
    let columns: Vec<String> = columns.into_iter().map(str::to_owned).collect();
    let rows = declared.iter().map(|declared| row(&declared.0));
    let rows: String = rows.collect();
    format!("### {heading}\n\n{}{}{rows}\n", row(&columns), row(&rules))
}

const BEGIN: &str = "<!-- written from the declarations in cli/src/config by: UPDATE_DOCS=1 cargo test -p dunlin the_reference -->\n";
const END: &str = "<!-- end -->\n";

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the variable is for whoever changes a declaration, not for the program"
)]
fn the_reference_is_that_of_the_declarations() {
    let reference = [
        table("Outside tables", General::declared()),
        table("`[request_editor]`", RequestEditor::declared()),
        table("`[notifications]`", Notifications::declared()),
        table("`[limits]`", Limits::declared()),
        table("`[commands]`", Commands::declared()),
        table("`[keys.NAME]`", KeyEntry::declared()),
        table("`[agents.NAME]`", AgentPatch::declared()),
        table("`[mcp.servers.NAME]`", ServerEntry::declared()),
        table("`[[hook]]`", HookEntry::declared()),
        table("`[web_search]`", WebSearch::declared()),
        table("`[web_fetch.auth.HOST]`", Site::declared()),
        table("`[codebase_search]`", CodebaseSearch::declared()),
    ];
    let path = Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../docs/configuration.md"
    ));
    let page = fs::read_to_string(path).unwrap();
    let (before, rest) = page.split_once(BEGIN).unwrap();
    let (_, after) = rest.split_once(END).unwrap();
    let expected = format!("{before}{BEGIN}\n{}{END}{after}", reference.concat());
    if env::var_os("UPDATE_DOCS").is_some() {
        fs::write(path, &expected).unwrap();
        return;
    }
    let stale = page
        .lines()
        .zip(expected.lines())
        .find(|(is, is_to_be)| is != is_to_be);
    assert!(
        page == expected,
        "docs/configuration.md is stale at {stale:?}; run: UPDATE_DOCS=1 cargo test -p dunlin the_reference"
    );
}
