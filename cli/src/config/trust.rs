//! Remembers which projects' configurations the user trusts.
//!
//! Trust is given to a text, not to a place: what is kept is the digest of the file as the user saw it, so
//! that a changed file is a stranger again. So is a no, so that nobody is asked twice about the same text.
//! Tools cannot reach the file: it lies in Dunlin's own data folder.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::json_file;

/// What was said about a project's configuration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trust {
    /// Yes, to this text.
    Trusted,
    /// No, to this text.
    Declined,
    /// Yes, to another text.
    Changed,
    /// Nothing.
    Unknown,
}

/// An answer, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    /// SHA-256 of the file, or of all that was trusted with it.
    digest: String,
    trusted: bool,
    /// Of what the digest was made, where that was more than the file.
    #[serde(default, skip_serializing_if = "Files::is_empty")]
    files: Files,
}

/// The SHA-256 of files, by their paths.
pub type Files = BTreeMap<String, String>;

/// The answers, by the paths of the files.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
struct Answers(BTreeMap<String, Answer>);

/// Why the answers cannot be read or kept.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}", path.display())]
pub struct TrustError {
    action: &'static str,
    path: PathBuf,
    source: io::Error,
}

/// What was said about the configuration at `project_file` with this digest. A file of answers that cannot
/// be read is an error: nothing is trusted then.
pub fn look_up(answers: &Path, project_file: &Path, digest: &str) -> Result<Trust, TrustError> {
    let known: Answers =
        json_file::read(answers).map_err(|source| failed("read", answers, source))?;
    Ok(match known.0.get(&key(project_file)) {
        Some(answer) if answer.digest == digest && answer.trusted => Trust::Trusted,
        Some(answer) if answer.digest == digest => Trust::Declined,
        Some(answer) if answer.trusted => Trust::Changed,
        _ => Trust::Unknown,
    })
}

/// The files that the last answer about a file was about, the file itself among them.
pub fn answered_files(answers: &Path, project_file: &Path) -> Result<Files, TrustError> {
    let mut known: Answers =
        json_file::read(answers).map_err(|source| failed("read", answers, source))?;
    let file = key(project_file);
    Ok(match known.0.remove(&file) {
        Some(answer) if answer.files.is_empty() => Files::from([(file, answer.digest)]),
        Some(answer) => answer.files,
        None => Files::new(),
    })
}

/// Keeps an answer; `None` forgets it. On the disk when this returns. Whether anything was kept before.
pub fn keep(
    answers: &Path,
    project_file: &Path,
    answer: Option<(&str, bool)>,
) -> Result<bool, TrustError> {
    keep_with(answers, project_file, answer, &Files::new())
}

/// The same for an answer that is about other files, too.
pub fn keep_with(
    answers: &Path,
    project_file: &Path,
    answer: Option<(&str, bool)>,
    files: &Files,
) -> Result<bool, TrustError> {
    json_file::update(answers, |known: &mut Answers| match answer {
        Some((digest, trusted)) => {
            let answer = Answer {
                digest: digest.to_owned(),
                trusted,
                files: files.clone(),
            };
            known.0.insert(key(project_file), answer).is_some()
        }
        None => known.0.remove(&key(project_file)).is_some(),
    })
    .map_err(|source| failed("write", answers, source))
}

/// Forgets the answers about some files; how many there were.
///
/// # Errors
/// The answers cannot be read or written.
pub fn forget(answers: &Path, is_one: impl Fn(&Path) -> bool) -> Result<usize, TrustError> {
    json_file::update(answers, |known: &mut Answers| {
        let before = known.0.len();
        known.0.retain(|path, _| !is_one(Path::new(path)));
        before - known.0.len()
    })
    .map_err(|source| failed("write", answers, source))
}

/// A path as it is kept.
pub fn key(project_file: &Path) -> String {
    project_file.to_string_lossy().into_owned()
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> TrustError {
    TrustError {
        action,
        path: path.to_path_buf(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn trust_is_given_to_a_text() {
        let folder = tempfile::tempdir().unwrap();
        let answers = folder.path().join("data/trusted.json");
        let project = Path::new("/project/.dunlin/config.toml");
        let found = |digest: &str| look_up(&answers, project, digest).unwrap();
        assert_eq!(found("a"), Trust::Unknown);
        keep(&answers, project, Some(("a", true))).unwrap();
        assert_eq!(found("a"), Trust::Trusted);
        assert_eq!(found("b"), Trust::Changed);
        keep(&answers, project, Some(("b", false))).unwrap();
        assert_eq!(found("b"), Trust::Declined);
        // The yes to the earlier text went with the no to this one.
        assert_eq!(found("a"), Trust::Unknown);
        let mode = std::fs::metadata(&answers).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let file = |path: &str, digest: &str| (path.to_owned(), digest.to_owned());
        let alone = Files::from([file("/project/.dunlin/config.toml", "b")]);
        assert_eq!(answered_files(&answers, project).unwrap(), alone);
        let files = Files::from([file("/project/check.sh", "c")]);
        keep_with(&answers, project, Some(("b", false)), &files).unwrap();
        assert_eq!(answered_files(&answers, project).unwrap(), files);
        let other = Path::new("/project/.dunlin/prompts/review.md");
        keep(&answers, other, Some(("a", true))).unwrap();
        let is_prompt = |path: &Path| path.starts_with("/project/.dunlin/prompts");
        assert_eq!(forget(&answers, is_prompt).unwrap(), 1);
        assert_eq!(forget(&answers, is_prompt).unwrap(), 0);
        assert!(keep(&answers, project, None).unwrap());
        assert!(!keep(&answers, project, None).unwrap());
        assert_eq!(found("b"), Trust::Unknown);
    }

    #[test]
    fn what_cannot_be_read_is_not_trusted() {
        let folder = tempfile::tempdir().unwrap();
        let answers = folder.path().join("trusted.json");
        for text in [
            "",
            "{",
            "{\"/p\": 1}",
            "{\"/p\": {\"digest\": \"a\", \"trusted\": true, \"x\": 1}}",
        ] {
            std::fs::write(&answers, text).unwrap();
            assert!(look_up(&answers, Path::new("/p"), "a").is_err(), "{text}");
            assert!(keep(&answers, Path::new("/p"), None).is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(&answers).unwrap(), text);
        }
    }
}
