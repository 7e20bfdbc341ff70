//! Changes `config.toml` as a person would: comments, order and spacing of everything else stay.

use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use toml_edit::visit_mut::{VisitMut, visit_table_mut};
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike, Value};

use super::file::{Author, FileError, Loaded, read_text};
use super::mcp::{ServerEntry, name_problem};
use super::paths::PRIVATE_FILE_MODE;
use super::request_editor::MetadataField;
use super::value::fields;
use dunlin_host::files::make_private;

/// Why the file was not changed. It is as it was then.
#[derive(Debug, thiserror::Error)]
pub enum EditError {
    /// It cannot be used as it is, or could not be as it would be.
    #[error(transparent)]
    File(#[from] FileError),
    /// The editing library does not understand what the reading one does.
    #[error("cannot change {}", path.display())]
    Foreign {
        path: PathBuf,
        source: toml_edit::TomlError,
    },
    /// No server can have this name.
    #[error("{0}")]
    Name(String),
    #[error("there is an MCP server {name:?} already, at {}:{line}", path.display())]
    Exists {
        name: String,
        path: PathBuf,
        line: usize,
    },
    /// Tables stand where only values can.
    #[error("{} has {name:?} as something else than a table", path.display())]
    NoTable {
        /// The name of the table.
        name: &'static str,
        path: PathBuf,
    },
    /// Somebody else wrote it in the meantime.
    #[error("{} was changed in the meantime", path.display())]
    Changed { path: PathBuf },
    /// It cannot be written.
    #[error("cannot write {}", path.display())]
    Write { path: PathBuf, source: io::Error },
}

/// Adds a server to the user's file, which is made if there is none.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn add_server(path: &Path, name: &str, server: &ServerEntry) -> Result<(), EditError> {
    if let Some(problem) = name_problem(name) {
        return Err(EditError::Name(problem));
    }
    change(path, |loaded, document| {
        if let Some(mine) = loaded.file.mcp.servers.get(name) {
            return Err(EditError::Exists {
                name: name.to_owned(),
                path: path.to_path_buf(),
                line: loaded.line_of(mine),
            });
        }
        let no_table = || EditError::NoTable {
            name: "mcp",
            path: path.to_path_buf(),
        };
        let file: (&mut dyn TableLike, bool) = (document.as_table_mut(), false);
        let mcp = table_in(file, "mcp").ok_or_else(no_table)?;
        let (servers, is_inline) = table_in(mcp, "servers").ok_or_else(no_table)?;
        let fields = fields(server);
        let item = match is_inline {
            true => Item::Value(Value::InlineTable(InlineTable::from_iter(fields))),
            false => Item::Table(Table::from_iter(fields)),
        };
        servers.insert(name, item);
        Ok(())
    })
}

/// Adds an agent to the user's file: `text` is a file of its own that says what is to be said of it. Comments and order
/// of what is there stay; of a key that both have, the new value holds.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn add_agent(path: &Path, text: &str) -> Result<(), EditError> {
    change(path, |_, document| {
        let added: DocumentMut = text.parse().map_err(|source| EditError::Foreign {
            path: path.to_path_buf(),
            source,
        })?;
        for (name, item) in added.iter() {
            match (
                document.get_mut(name).and_then(Item::as_table_like_mut),
                item,
            ) {
                (Some(there), Item::Table(tables)) => {
                    for (name, item) in tables.iter() {
                        there.insert(name, item.clone());
                    }
                }
                _ => {
                    document.insert(name, item.clone());
                }
            }
        }
        Ok(())
    })
}

/// Sets what `/metadata` shows, in the user's file. Comments stay, those behind the value too.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn set_metadata(path: &Path, fields: &[MetadataField]) -> Result<(), EditError> {
    let names = Array::from_iter(fields.iter().map(|field| field.as_str()));
    set_in_request_editor(path, "metadata", Value::Array(names))
}

/// Sets how many sections are listed of a request whose edits are saved, in the user's file.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn set_preview_limit(path: &Path, sections: u16) -> Result<(), EditError> {
    set_in_request_editor(path, "preview_limit", Value::from(i64::from(sections)))
}

fn set_in_request_editor(path: &Path, key: &str, mut value: Value) -> Result<(), EditError> {
    change(path, |_, document| {
        let file: (&mut dyn TableLike, bool) = (document.as_table_mut(), false);
        let (editor, _) = table_in(file, "request_editor").ok_or_else(|| EditError::NoTable {
            name: "request_editor",
            path: path.to_path_buf(),
        })?;
        match editor.get_mut(key).and_then(Item::as_value_mut) {
            Some(there) => {
                *value.decor_mut() = there.decor().clone();
                *there = value;
            }
            None => {
                editor.insert(key, Item::Value(value));
            }
        }
        Ok(())
    })
}

/// Takes servers out of the user's file; names that are not in it are passed over.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn remove_servers(path: &Path, names: &[String]) -> Result<(), EditError> {
    change(path, |_, document| {
        for name in names {
            remove_server(document, name);
        }
        Ok(())
    })
}

fn remove_server(document: &mut DocumentMut, name: &str) {
    let servers = document
        .get_mut("mcp")
        .and_then(|mcp| mcp.get_mut("servers"));
    let servers = servers.and_then(Item::as_table_like_mut);
    let removed = servers.and_then(|servers| servers.remove(name));
    let Some(Item::Table(table)) = removed else {
        return;
    };
    let above = table.decor().prefix().and_then(|prefix| prefix.as_str());
    let above = above.unwrap_or_default();
    // What stands right above the table is about it; a comment with an empty line behind it is not.
    let Some(end) = above
        .rfind("\n\n")
        .filter(|&end| above[..end].contains('#'))
    else {
        return;
    };
    let mut heir = Heir {
        behind: table.position().unwrap_or_default(),
        nearest: None,
        prefix: None,
    };
    heir.visit_document_mut(document);
    let stays = &above[..=end];
    if heir.nearest.is_some() {
        heir.prefix = Some(stays.to_owned());
        heir.visit_document_mut(document);
    } else {
        let trailing = document.trailing().as_str().unwrap_or_default();
        let trailing = format!("{stays}{trailing}");
        document.set_trailing(trailing);
    }
}

/// Finds the first table behind a place, and in a second round puts a text above it.
struct Heir {
    behind: isize,
    nearest: Option<isize>,
    prefix: Option<String>,
}

impl VisitMut for Heir {
    fn visit_table_mut(&mut self, table: &mut Table) {
        if let Some(at) = table.position().filter(|&at| at > self.behind) {
            match &self.prefix {
                None => self.nearest = Some(self.nearest.map_or(at, |nearest| nearest.min(at))),
                Some(text) if self.nearest == Some(at) => {
                    let own = table.decor().prefix().and_then(|prefix| prefix.as_str());
                    let text = format!("{text}{}", own.unwrap_or_default());
                    table.decor_mut().set_prefix(text);
                }
                Some(_) => {}
            }
        }
        visit_table_mut(self, table);
    }
}

/// The table of a name and whether it is written in one line; made if there is none, in the way of the one around it.
/// `None`: the name stands for something else.
fn table_in<'a>(
    around: (&'a mut dyn TableLike, bool),
    name: &str,
) -> Option<(&'a mut dyn TableLike, bool)> {
    let (table, is_inline) = around;
    let item = table.entry(name).or_insert_with(|| {
        if is_inline {
            return Item::Value(Value::InlineTable(InlineTable::new()));
        }
        let mut table = Table::new();
        // Its tables stand in the file, not itself.
        table.set_implicit(true);
        Item::Table(table)
    });
    let is_inline = item.is_inline_table();
    Some((item.as_table_like_mut()?, is_inline))
}

/// Reads the file, has it changed, and writes it if what came of it can be read again.
fn change(
    path: &Path,
    change: impl FnOnce(&Loaded, &mut DocumentMut) -> Result<(), EditError>,
) -> Result<(), EditError> {
    let before = Loaded::read(path, Author::User)?;
    let loaded = match &before {
        Some(loaded) => loaded,
        None => &Loaded::parse(path, "", Author::User)?,
    };
    let foreign = |source| EditError::Foreign {
        path: path.to_path_buf(),
        source,
    };
    let mut document: DocumentMut = loaded.text.parse().map_err(foreign)?;
    change(loaded, &mut document)?;
    let before = before.as_ref().map(|loaded| loaded.text.as_str());
    replace(path, before, &document.to_string())
}

/// Writes the user's file as `after`, if that can be read again and the file still is as `before`. `None`: there was none.
///
/// # Errors
/// See [`EditError`]; the file is untouched then.
pub fn replace(path: &Path, before: Option<&str>, after: &str) -> Result<(), EditError> {
    // A link stays one, as those have it who keep their configuration elsewhere.
    let path = &std::fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    Loaded::parse(path, after, Author::User)?;
    let failed = |source| EditError::Write {
        path: path.to_path_buf(),
        source,
    };
    let folder = path.parent().unwrap_or(Path::new("."));
    make_private(folder).map_err(failed)?;
    let mode = match path.metadata() {
        Ok(metadata) => metadata.permissions(),
        Err(_) => std::fs::Permissions::from_mode(PRIVATE_FILE_MODE),
    };
    let new = || {
        let mut file = tempfile::Builder::new()
            .prefix(".config.")
            .tempfile_in(folder)?;
        file.write_all(after.as_bytes())?;
        file.as_file().set_permissions(mode)?;
        file.as_file().sync_all()?;
        Ok(file)
    };
    let file = new().map_err(failed)?;
    let changed = || EditError::Changed {
        path: path.to_path_buf(),
    };
    // An editor may be open on it. What it saved meanwhile is not written over.
    match before {
        Some(before) => {
            if read_text(path)?.as_deref() != Some(before) {
                return Err(changed());
            }
            file.persist(path).map_err(|error| failed(error.error))?;
        }
        None => {
            file.persist_noclobber(path)
                .map_err(|error| match error.error.kind() {
                    io::ErrorKind::AlreadyExists => changed(),
                    _ => failed(error.error),
                })?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn git() -> ServerEntry {
        ServerEntry {
            command: Some("uvx".to_owned()),
            args: vec!["mcp-server-git".to_owned(), "a \"b\"".to_owned()],
            env: [("TOKEN".to_owned(), "x=y".to_owned())].into(),
            description: Some("Looks into\nrepositories".to_owned()),
            ..ServerEntry::default()
        }
    }

    fn far() -> ServerEntry {
        ServerEntry {
            url: Some("https://host/mcp".parse().unwrap()),
            ..ServerEntry::default()
        }
    }

    /// What the file holds afterwards, and how that went.
    fn after(
        text: Option<&str>,
        change: impl FnOnce(&Path) -> Result<(), EditError>,
    ) -> (String, Result<(), String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("dunlin/config.toml");
        if let Some(text) = text {
            std::fs::create_dir(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
        }
        let done = change(&path).map_err(|error| {
            error
                .to_string()
                .replace(&folder.path().display().to_string(), "")
        });
        let names = std::fs::read_dir(path.parent().unwrap()).map_or(0, Iterator::count);
        assert!(names <= 1, "something was left behind");
        (std::fs::read_to_string(&path).unwrap_or_default(), done)
    }

    #[test]
    fn what_metadata_shows_is_set_and_comments_stay() {
        let both = [MetadataField::Budget, MetadataField::Session];
        for (before, fields, expected) in [
            (
                None,
                &both[..],
                "[request_editor]\nmetadata = [\"budget\", \"session\"]\n",
            ),
            (
                Some(
                    "# mine\n[request_editor] # here\n# these\nmetadata = [ \"mode\" ] # few\nmode = \"off\"\n",
                ),
                &both,
                "# mine\n[request_editor] # here\n# these\nmetadata = [\"budget\", \"session\"] # few\nmode = \"off\"\n",
            ),
            (
                Some("request_editor = { mode = \"off\" } # x\n"),
                &[],
                "request_editor = { mode = \"off\" , metadata = [] } # x\n",
            ),
            (
                Some("[request_editor]\nmode = \"off\"\n\n[limits]\n"),
                &[],
                "[request_editor]\nmode = \"off\"\nmetadata = []\n\n[limits]\n",
            ),
        ] {
            let (text, done) = after(before, |path| set_metadata(path, fields));
            assert_eq!((text.as_str(), done), (expected, Ok(())));
        }
    }

    #[test]
    fn the_preview_limit_is_set() {
        let before = "[request_editor]\npreview_limit = 3 # few\n";
        let (text, done) = after(Some(before), |path| set_preview_limit(path, 12));
        let expected = "[request_editor]\npreview_limit = 12 # few\n";
        assert_eq!((text.as_str(), done), (expected, Ok(())));
    }

    #[test]
    fn a_server_is_added_below_everything_else() {
        let table = "[mcp.servers.git]\ncommand = \"uvx\"\nargs = [\"mcp-server-git\", 'a \"b\"']\n\
                     env = { TOKEN = \"x=y\" }\ndescription = \"\"\"\nLooks into\nrepositories\"\"\"\n";
        for (before, expected) in [
            (None, table.to_owned()),
            (Some(""), table.to_owned()),
            (
                Some("# mine\non_denial = \"stop\" # really\n\n[limits]  # few\nmax_retries = 3"),
                format!(
                    "# mine\non_denial = \"stop\" # really\n\n[limits]  # few\nmax_retries = 3\n\n{table}"
                ),
            ),
        ] {
            let (text, done) = after(before, |path| add_server(path, "git", &git()));
            assert_eq!((text, done), (expected, Ok(())));
        }
    }

    #[test]
    fn what_is_there_stays_as_it_is() {
        let before = "[mcp.servers.a]\ncommand = \"a\" # mine\n\n[limits]\nmax_retries = 3\n";
        let (text, done) = after(Some(before), |path| add_server(path, "far", &far()));
        assert_eq!(done, Ok(()));
        assert!(
            text.starts_with(
                "[mcp.servers.a]\ncommand = \"a\" # mine\n\n[mcp.servers.far]\nurl = "
            )
        );
        assert!(text.ends_with("\n[limits]\nmax_retries = 3\n"), "{text}");

        let (text, _) = after(Some(&text), |path| {
            remove_servers(path, &["far".to_owned()])
        });
        assert_eq!(text, before);

        let inline = "mcp = { servers = { a = { command = \"a\" } } } # short\n";
        let (text, done) = after(Some(inline), |path| add_server(path, "far", &far()));
        assert_eq!(done, Ok(()));
        assert!(
            text.starts_with("mcp = { servers = { a = { command = \"a\" }"),
            "{text}"
        );
        assert!(text.ends_with("} # short\n"), "{text}");
    }

    #[test]
    fn comments_outlive_what_they_are_not_about() {
        let before = "[mcp.servers.a]\ncommand = \"a\"\n# a note at the end of a\n\n# about b\n\
                      [mcp.servers.b]\ncommand = \"b\"\n[mcp.servers.b.env]\nX = \"1\"\n\n# about c\n\
                      [mcp.servers.c]\ncommand = \"c\"\n# the end\n";
        let remove = |name: &str| {
            let (text, done) = after(Some(before), |path| {
                remove_servers(path, &[name.to_owned()])
            });
            assert_eq!(done, Ok(()));
            text
        };
        assert_eq!(
            remove("b"),
            "[mcp.servers.a]\ncommand = \"a\"\n# a note at the end of a\n\n# about c\n\
             [mcp.servers.c]\ncommand = \"c\"\n# the end\n"
        );
        assert!(
            remove("c").ends_with("X = \"1\"\n# the end\n"),
            "{}",
            remove("c")
        );
        assert!(remove("a").contains("# a note at the end of a\n"));
        assert_eq!(remove("none"), before);
    }

    #[test]
    fn what_would_be_wrong_is_not_written() {
        let check = |text: Option<&str>, name: &str, server: &ServerEntry, said: &str| {
            let (after, done) = after(text, |path| add_server(path, name, server));
            assert_eq!(done.unwrap_err(), said);
            assert_eq!(after, text.unwrap_or_default());
        };
        let a = "\n[mcp.servers.a]\ncommand = \"a\"\n";
        check(
            Some(a),
            "a",
            &far(),
            "there is an MCP server \"a\" already, at /dunlin/config.toml:2",
        );
        check(
            Some("a = "),
            "b",
            &far(),
            "/dunlin/config.toml:1: string values must be quoted, expected literal string",
        );
        check(
            Some("mcp = 3"),
            "b",
            &far(),
            "/dunlin/config.toml:1: mcp must be a table, not 3",
        );
        check(
            None,
            "a b",
            &far(),
            "the name of a server is 1 to 24 of a-z A-Z 0-9 - _",
        );
        let keyed = ServerEntry {
            api_key: Some("k".to_owned()),
            ..far()
        };
        check(
            None,
            "b",
            &keyed,
            "/dunlin/config.toml:3: [mcp.servers.b]: api_key names no [keys.k]",
        );
        check(
            None,
            "b",
            &ServerEntry::default(),
            "/dunlin/config.toml:1: [mcp.servers.b]: needs one of command and url",
        );
    }

    #[test]
    fn links_and_permission_bits_stay() {
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (
            folder.path().join("real.toml"),
            folder.path().join("config.toml"),
        );
        std::fs::write(&real, "").unwrap();
        std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        add_server(&link, "far", &far()).unwrap();
        assert!(link.is_symlink());
        assert_eq!(real.metadata().unwrap().permissions().mode() & 0o777, 0o640);
        assert!(
            std::fs::read_to_string(&real)
                .unwrap()
                .contains("[mcp.servers.far]")
        );
    }
}
