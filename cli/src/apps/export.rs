//! An app as a folder that a browser can show without Dunlin.

use std::fs::{self, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use dunlin_apps::{Part, Parts};

/// What stands for the back end where there is none.
const STUB: &str = "\
globalThis.dunlin = {
  invoke: (name) => Promise.reject(new Error(`\"${name}\" needs the back end of this app, which runs in Dunlin`)),
  on: () => {},
};
";

/// The name of the file with [`STUB`].
const STUB_FILE: &str = "dunlin.js";

/// Writes the parts into a folder that does not exist yet. What fails leaves nothing behind.
///
/// # Errors
/// It exists, or a file cannot be written.
pub fn export(folder: &Path, parts: &Parts) -> io::Result<()> {
    if folder.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let parent = folder.parent().filter(|it| !it.as_os_str().is_empty());
    let aside = tempfile::Builder::new()
        .prefix(".export-")
        .permissions(Permissions::from_mode(0o777))
        .tempdir_in(parent.unwrap_or(Path::new(".")))?;
    write(aside.path(), parts)?;
    fs::rename(aside.path(), folder)
}

fn write(folder: &Path, parts: &Parts) -> io::Result<()> {
    let write = |name: &str, text: &str| {
        let mut file = fs::File::create_new(folder.join(name))?;
        file.write_all(text.as_bytes())
    };
    for (part, text) in parts.iter() {
        match part {
            Part::Html => write(
                part.file_name(),
                &page(text, parts.get(Part::Renderer).is_some()),
            )?,
            Part::Renderer | Part::Main => write(part.file_name(), text)?,
        }
    }
    match parts.get(Part::Renderer) {
        Some(_) => write(STUB_FILE, STUB),
        None => Ok(()),
    }
}

/// The page with its scripts, which Dunlin adds by itself.
fn page(html: &str, has_script: bool) -> String {
    /// What a file begins with that a browser reads as people expect.
    const DOCTYPE: &str = "<!doctype html>";
    const CHARSET: &str = "<meta charset=\"utf-8\">";
    let html = html.trim();
    let begins = html.split_at_checked(DOCTYPE.len());
    let rest = match begins {
        Some((begin, rest)) if begin.eq_ignore_ascii_case(DOCTYPE) => rest.trim_start(),
        _ => html,
    };
    let scripts = match has_script {
        true => format!(
            "<script src=\"{STUB_FILE}\"></script>\n<script src=\"{}\" defer></script>\n",
            Part::Renderer.file_name()
        ),
        false => String::new(),
    };
    // What stands before `<html>` belongs to its head, and what stands behind it to its body. Source: HTML, section 13.2.6.4.
    format!("{DOCTYPE}\n{CHARSET}\n{rest}\n{scripts}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_gets_its_scripts() {
        let scripts =
            "<script src=\"dunlin.js\"></script>\n<script src=\"renderer.js\" defer></script>\n";
        let begin = "<!doctype html>\n<meta charset=\"utf-8\">";
        let body = "<html><body>é</body></html>";
        let whole = format!("<!DOCTYPE html>\n{body}");
        assert_eq!(page(&whole, true), format!("{begin}\n{body}\n{scripts}"));
        assert_eq!(page("<p>x</p>\n", false), format!("{begin}\n<p>x</p>\n"));
        assert_eq!(page("é", false), format!("{begin}\né\n"));
    }

    #[test]
    fn nothing_is_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let mut parts = Parts::default();
        parts.set(Part::Html, "<p>".to_owned());
        parts.set(Part::Renderer, "1".to_owned());
        let to = folder.path().join("app");
        export(&to, &parts).unwrap();
        let mut names: Vec<_> = fs::read_dir(&to)
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        names.sort();
        assert_eq!(names, ["dunlin.js", "index.html", "renderer.js"]);
        let again = export(&to, &parts).unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        // Also not where a folder is empty, and a file is no folder.
        for (name, is_folder) in [("empty", true), ("file", false)] {
            let to = folder.path().join(name);
            match is_folder {
                true => fs::create_dir(&to).unwrap(),
                false => fs::write(&to, "x").unwrap(),
            }
            let kind = export(&to, &parts).unwrap_err().kind();
            assert_eq!(kind, io::ErrorKind::AlreadyExists, "{name}");
        }
        let below_file = folder.path().join("file/app");
        assert!(export(&below_file, &parts).is_err());
        let mut left: Vec<_> = fs::read_dir(folder.path())
            .unwrap()
            .map(|it| it.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["app", "empty", "file"]);
    }

    #[test]
    fn what_fails_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        // The name is too long for the folder, which is known last.
        let to = folder.path().join("x".repeat(300));
        let mut parts = Parts::default();
        parts.set(Part::Html, "<p>".to_owned());
        assert!(export(&to, &parts).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
