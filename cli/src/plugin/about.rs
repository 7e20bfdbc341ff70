//! What a folder says of its plugin for people: in the manifest of its language, or in `plugin.toml`, which counts first.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use dunlin_host::metadata::{MAX_METADATA_BYTES, Metadata};
use serde_json::Value;

use super::build::BuildFailed;
use super::manifest::{Language, Manifest};

/// Reads it. A language without such a file has `plugin.toml` alone.
///
/// # Errors
/// The manifest of the language cannot be read, or says more than a component can hold.
pub fn of_folder(folder: &Path, manifest: &Manifest) -> Result<Metadata, BuildFailed> {
    let (file, read): (&str, fn(&Value) -> Metadata) = match manifest.language {
        Language::Rust => ("Cargo.toml", of_cargo),
        Language::Js => ("package.json", of_npm),
        Language::Python => ("pyproject.toml", of_python),
        Language::C => return Ok(manifest.metadata()),
    };
    let path = folder.join(file);
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
        read => read.map_err(|source| BuildFailed::Io {
            path: path.clone(),
            source,
        })?,
    };
    let invalid = |problem: String| BuildFailed::Metadata {
        path: path.clone(),
        problem,
    };
    let value: Value = match file.ends_with(".json") {
        _ if text.is_empty() => Value::Null,
        true => serde_json::from_str(&text).map_err(|error| invalid(error.to_string()))?,
        false => toml::from_str(&text).map_err(|error: toml::de::Error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text[..at].matches('\n').count() + 1;
            invalid(format!("line {line}: {}", error.message()))
        })?,
    };
    let mut metadata = read(&value);
    for (text, own) in metadata
        .texts_mut()
        .into_iter()
        .zip(manifest.metadata().texts_mut())
    {
        if own.is_some() {
            *text = own.take();
        }
    }
    let long = |(_, text): &(_, Option<&str>)| text.is_some_and(|it| it.len() > MAX_METADATA_BYTES);
    let long = metadata.texts().find(long).map(|(name, _)| name);
    match long {
        Some(name) => Err(invalid(format!(
            "the {name} has more than {MAX_METADATA_BYTES} bytes"
        ))),
        None => Ok(metadata),
    }
}

fn of_cargo(file: &Value) -> Metadata {
    let package = &file["package"];
    Metadata {
        // What a workspace says for all of its packages is not looked for.
        version: text(&package["version"]),
        description: text(&package["description"]),
        authors: people(&package["authors"]),
        licenses: text(&package["license"]),
        homepage: text(&package["homepage"]),
        source: text(&package["repository"]),
    }
}

fn of_npm(file: &Value) -> Metadata {
    let repository = &file["repository"];
    Metadata {
        version: text(&file["version"]),
        description: text(&file["description"]),
        authors: people(&file["author"]),
        licenses: text(&file["license"]),
        homepage: text(&file["homepage"]),
        source: text(repository).or_else(|| text(&repository["url"])),
    }
}

fn of_python(file: &Value) -> Metadata {
    let project = &file["project"];
    let license = &project["license"];
    // The names of addresses are free; these are those that the index of packages knows.
    let url = |names: &[&str]| {
        let urls = project["urls"].as_object()?.iter();
        let mut urls = urls.filter(|(name, _)| names.contains(&name.to_ascii_lowercase().as_str()));
        urls.find_map(|(_, url)| text(url))
    };
    Metadata {
        version: text(&project["version"]),
        description: text(&project["description"]),
        authors: people(&project["authors"]),
        licenses: text(license).or_else(|| text(&license["text"])),
        homepage: url(&["homepage"]),
        source: url(&["source", "repository", "github"]),
    }
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// One person or several, each a text or a name with an address.
fn people(value: &Value) -> Option<String> {
    let person = |value: &Value| {
        let name = text(value).or_else(|| text(&value["name"]));
        match (name, text(&value["email"])) {
            (Some(name), Some(email)) => Some(format!("{name} <{email}>")),
            (name, email) => name.or(email),
        }
    };
    let people: Vec<String> = match value {
        Value::Array(all) => all.iter().filter_map(person).collect(),
        one => person(one).into_iter().collect(),
    };
    (!people.is_empty()).then(|| people.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(language: &str, more: &str, file: &str, text: &str) -> Result<Metadata, BuildFailed> {
        let folder = tempfile::tempdir().unwrap();
        let manifest = format!("name = \"words\"\nlanguage = \"{language}\"\n{more}");
        fs::write(folder.path().join("plugin.toml"), manifest).unwrap();
        fs::write(folder.path().join(file), text).unwrap();
        let manifest = Manifest::read(folder.path()).unwrap();
        of_folder(folder.path(), &manifest)
    }

    #[test]
    fn every_language_has_its_place() {
        let expected = Metadata {
            version: Some("1.2.0".to_owned()),
            description: Some("Counts".to_owned()),
            authors: Some("Ada <ada@example.com>".to_owned()),
            licenses: Some("MIT".to_owned()),
            homepage: Some("https://example.com".to_owned()),
            source: Some("https://example.com/words.git".to_owned()),
        };
        let rust = "[package]\nname = \"words\"\nversion = \"1.2.0\"\ndescription = \"Counts\"\nlicense = \"MIT\"\n\
            authors = [\"Ada <ada@example.com>\"]\nhomepage = \"https://example.com\"\nrepository = \"https://example.com/words.git\"\n";
        let js = r#"{"version": "1.2.0", "description": "Counts", "license": "MIT", "homepage": "https://example.com",
            "author": {"name": "Ada", "email": "ada@example.com"}, "repository": {"url": "https://example.com/words.git"}}"#;
        let python = "[project]\nversion = \"1.2.0\"\ndescription = \"Counts\"\nlicense = { text = \"MIT\" }\n\
            authors = [{ name = \"Ada\", email = \"ada@example.com\" }]\n[project.urls]\nHomepage = \"https://example.com\"\n\
            Repository = \"https://example.com/words.git\"\n";
        let own = "version = \"1.2.0\"\ndescription = \"Counts\"\nlicense = \"MIT\"\nauthors = [\"Ada <ada@example.com>\"]\n\
            homepage = \"https://example.com\"\nrepository = \"https://example.com/words.git\"\n";
        for (language, file, text) in [
            ("rust", "Cargo.toml", rust),
            ("js", "package.json", js),
            ("python", "pyproject.toml", python),
        ] {
            assert_eq!(
                of(language, "", file, text).unwrap(),
                expected,
                "{language}"
            );
        }
        assert_eq!(of("c", own, "Makefile", "").unwrap(), expected);
        // What plugin.toml says counts first.
        let found = of("rust", "version = \"2.0.0\"\n", "Cargo.toml", rust).unwrap();
        assert_eq!(found.version.as_deref(), Some("2.0.0"));
        assert_eq!(found.licenses.as_deref(), Some("MIT"));
        assert_eq!(of("python", "", "other", "").unwrap(), Metadata::default());
        let inherited = "[package]\nversion.workspace = true\n";
        assert_eq!(
            of("rust", "", "Cargo.toml", inherited).unwrap(),
            Metadata::default()
        );
    }

    #[test]
    fn what_cannot_be_used_is_said() {
        let error = of(
            "python",
            "",
            "pyproject.toml",
            "[project]\nversion = 1.2.0\n",
        )
        .unwrap_err();
        let said = error.to_string();
        assert!(said.contains("pyproject.toml: line 2: "), "{said}");
        let error = of("js", "", "package.json", "{").unwrap_err().to_string();
        assert!(error.contains("package.json: EOF"), "{error}");
        let long = format!("{{\"description\": \"{}\"}}", "x".repeat(5000));
        let error = of("js", "", "package.json", &long).unwrap_err().to_string();
        assert!(
            error.contains("the description has more than 4096 bytes"),
            "{error}"
        );
    }
}
