//! A text in the user's editor.

use std::ffi::OsString;
use std::fs;
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use rustix::fs::OFlags;
use tempfile::NamedTempFile;

use crate::variables::{self, Replaced, Variables};
use dunlin_host::command::StartError;
use dunlin_host::files::make_private;

/// What is opened where nothing is set: the one that POSIX knows.
const DEFAULT_EDITOR: &str = "vi";

/// The shell that understands `$EDITOR` as people write it, with arguments and quotes.
const SHELL: &str = "/bin/sh";

/// The largest text that is read back, in bytes: more than any call may have as arguments, and than anybody writes.
const MAX_BYTES: u64 = 4 * 1024 * 1024;

/// What is edited, and the name of the file in which that happens.
#[derive(Debug, Clone, Copy)]
pub struct Draft {
    /// How the file's name begins.
    pub prefix: &'static str,
    /// How it ends: editors choose their colours by that.
    pub suffix: &'static str,
    /// What is edited, for messages.
    pub what: &'static str,
}

/// Why there is no edited text.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// There is nowhere to put the text, or it cannot be read back.
    #[error("cannot edit {what}: {source}")]
    File {
        /// What was to be edited.
        what: &'static str,
        source: io::Error,
    },
    #[error("the editor {editor} does not start: {source}; set VISUAL or EDITOR to another one")]
    Start {
        /// What was to be started.
        editor: String,
        source: io::Error,
    },
    /// There is none of this name.
    #[error(
        "there is no editor {editor:?}; set VISUAL or EDITOR to one that is installed, such as EDITOR=nano"
    )]
    Missing {
        /// As written.
        editor: String,
    },
    /// Commands can change the editor.
    #[error("{0}; set VISUAL or EDITOR to another one")]
    Refused(StartError),
    #[error("the editor {editor} ended with {status}; nothing is changed")]
    Failed {
        editor: String,
        status: std::process::ExitStatus,
    },
    #[error("the edited file is not text of at most {} MiB; nothing is changed", MAX_BYTES / 1024 / 1024)]
    NoText,
}

impl From<StartError> for EditorError {
    fn from(error: StartError) -> EditorError {
        match error {
            StartError::Missing { name } | StartError::NoFile { name } => {
                EditorError::Missing { editor: name }
            }
            error => EditorError::Refused(error),
        }
    }
}

/// What somebody left in the editor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Edited {
    /// The text in the file.
    pub text: String,
    /// Whether the editor has written the file, also with the same text.
    pub is_saved: bool,
}

/// The editor that the user wants, as a shell command.
pub fn choose(environment: &dyn Variables) -> OsString {
    let set = environment
        .get(variables::VISUAL)
        .or_else(|| environment.get(variables::EDITOR));
    set.map_or_else(|| DEFAULT_EDITOR.into(), ToOwned::to_owned)
}

/// Has a text edited in a file of its own in `folder`, which nobody else may look into. Blocks until the
/// editor has ended; the terminal must be the editor's until then. It gets the environment with these variables
/// replaced.
///
/// # Errors
/// There is no file, or the editor failed; the text given is what there is then.
pub fn edit(
    editor: &OsString,
    variables: &Replaced,
    folder: &Path,
    draft: Draft,
    text: &str,
) -> Result<Edited, EditorError> {
    let no_file = |source| EditorError::File {
        what: draft.what,
        source,
    };
    let file = put_down(folder, draft, text).map_err(no_file)?;
    let before = stamp(file.path()).map_err(no_file)?;
    let name = editor.to_string_lossy().into_owned();
    // Ctrl-C is a key of the editor: the shell around it, which gets the signal too, has to outlive it.
    let mut script = OsString::from("trap : INT\n");
    script.push(editor);
    script.push(" \"$@\"");
    let mut command = Command::new(SHELL);
    command.arg("-c").arg(script).arg(&name).arg(file.path());
    variables.apply(&mut command);
    let status = command.status();
    let status = status.map_err(|source| EditorError::Start {
        editor: name.clone(),
        source,
    })?;
    if !status.success() {
        return Err(EditorError::Failed {
            editor: name,
            status,
        });
    }
    let bytes = read_back(file.path()).map_err(no_file)?;
    if bytes.len() as u64 > MAX_BYTES {
        return Err(EditorError::NoText);
    }
    let is_saved = stamp(file.path()).map_err(no_file)? != before;
    let text = String::from_utf8(bytes).map_err(|_| EditorError::NoText)?;
    Ok(Edited { text, is_saved })
}

/// What tells whether a file was written since: its number, and when it was changed.
fn stamp(path: &Path) -> io::Result<(u64, i64, i64)> {
    let meta = path.symlink_metadata()?;
    Ok((meta.ino(), meta.mtime(), meta.mtime_nsec()))
}

fn put_down(folder: &Path, draft: Draft, text: &str) -> io::Result<NamedTempFile> {
    make_private(folder)?;
    // Made with the mode 0600, and removed with the value.
    let mut file = tempfile::Builder::new()
        .prefix(draft.prefix)
        .suffix(draft.suffix)
        .tempfile_in(folder)?;
    file.write_all(text.as_bytes())?;
    file.flush()?;
    Ok(file)
}

/// By its name: many editors put a new file in the place of the old one. A link or a pipe there was put by somebody else.
fn read_back(path: &Path) -> io::Result<Vec<u8>> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK;
    let file = fs::OpenOptions::new()
        .read(true)
        .custom_flags(flags.bits().cast_signed())
        .open(path)?;
    if !file.metadata()?.is_file() {
        return Err(io::Error::other("it is not a regular file any more"));
    }
    let mut bytes = Vec::new();
    file.take(MAX_BYTES + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const DRAFT: Draft = Draft {
        prefix: "text-",
        suffix: ".txt",
        what: "the text",
    };

    #[test]
    fn an_editor_may_have_arguments_and_replace_the_file() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let private = folder.path().join("data");
        let script = "f() { stat -c %a \"$1\" > \"$1.new\"; cat \"$1\" >> \"$1.new\"; mv \"$1.new\" \"$1\"; }; f";
        let edited = edit(
            &script.into(),
            &Replaced::default(),
            &private,
            DRAFT,
            "text\n",
        )
        .unwrap();
        assert_eq!(edited.text, "600\ntext\n");
        assert!(edited.is_saved);
        let unsaved = edit(
            &"true".into(),
            &Replaced::default(),
            &private,
            DRAFT,
            "text\n",
        )
        .unwrap();
        assert_eq!((unsaved.text.as_str(), unsaved.is_saved), ("text\n", false));
        assert_eq!(fs::read_dir(&private).unwrap().count(), 0);
        let mode = private.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        assert!(matches!(
            edit(&"false".into(), &Replaced::default(), &private, DRAFT, ""),
            Err(EditorError::Failed { .. })
        ));
    }

    #[test]
    fn what_was_put_in_the_place_of_the_file_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("other"), "other").unwrap();
        for script in [
            "f() { rm \"$1\"; ln -s \"${1%/*}/../other\" \"$1\"; }; f",
            "f() { rm \"$1\"; mkfifo \"$1\"; }; f",
        ] {
            let private = folder.path().join("data");
            let edited = edit(
                &script.into(),
                &Replaced::default(),
                &private,
                DRAFT,
                "text\n",
            );
            assert!(
                matches!(edited, Err(EditorError::File { .. })),
                "{script}: {edited:?}"
            );
        }
    }

    #[test]
    fn the_editor_is_the_users() {
        let of = |variables: &[(&str, &str)]| {
            choose(&variables.iter().copied().collect::<BTreeMap<_, _>>())
        };
        assert_eq!(of(&[]), "vi");
        assert_eq!(of(&[("EDITOR", "nano")]), "nano");
        assert_eq!(of(&[("EDITOR", "nano"), ("VISUAL", "code -w")]), "code -w");
    }
}
