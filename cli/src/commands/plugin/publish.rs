//! `dunlin plugin publish`: puts a plugin into a registry.

use std::path::Path;

use dunlin_host::display::escape;
use oci_spec::distribution::Reference;

use super::author;
use crate::app::App;
use crate::dialogue::unless_interrupted;
use crate::error::{CliError, Exit};
use crate::plugin::examine::{Beside, examine_file};
use crate::plugin::manifest;
use crate::plugin::registry::{self, FetchError, Published};

/// What was given, as a reference with a tag: nobody chooses a digest.
fn reference(given: &str) -> Result<Reference, FetchError> {
    let plain = given.strip_prefix("oci://").unwrap_or(given);
    let parsed = plain.parse();
    let reference: Reference = parsed.map_err(|source| FetchError::Reference {
        given: given.to_owned(),
        source,
    })?;
    match reference.digest() {
        None => Ok(reference),
        Some(_) => Err(FetchError::NoTag {
            reference: given.to_owned(),
        }),
    }
}

/// What to say where a tag is a version, and not that of the plugin: updates go by the tag.
fn other_version(reference: &Reference, version: Option<&str>) -> Option<String> {
    let tag = reference.tag()?;
    let tagged = tag.strip_prefix('v').unwrap_or(tag);
    let is_version = tagged.contains('.') && tagged.starts_with(|c: char| c.is_ascii_digit());
    let fits = |version: &str| {
        let parts = format!("{tagged}.");
        version == tagged || version.starts_with(&parts)
    };
    match version {
        Some(version) if is_version && !fits(version) => Some(format!(
            "the tag is {}, and the plugin says that its version is {}",
            escape(tag),
            escape(version)
        )),
        _ => None,
    }
}

/// Publishes a component: that of a file, or what the sources in a plugin's folder make now. It is examined as before an installation, so nobody gets what Dunlin would
/// refuse.
pub fn publish(app: &App, to: &str, from: &Path, replace: bool) -> Result<Exit, CliError> {
    let reference = reference(to)?;
    if from.join(manifest::FILE).is_file() {
        author::build(app, from)?;
    }
    // As whoever installs it will have it.
    let name = registry::name_of(&reference);
    let examined = examine_file(app, from, Some(&name), Beside::OwnTools)?;
    let ui = &app.ui;
    ui.status(&format!(
        "Publishing {} as {reference}",
        escape(&examined.name)
    ));
    if let Some(warning) = other_version(&reference, examined.metadata.version.as_deref()) {
        ui.warn(&warning);
    }
    let created = jiff::Timestamp::now().to_string();
    let published = Published {
        component: &examined.bytes,
        metadata: &examined.metadata,
        created: &created,
        replace,
    };
    let home = app.settings.folders.home.as_deref();
    let publishing = registry::publish(&reference, published, home);
    let digest = unless_interrupted(app, publishing)??;
    ui.data(&format!(
        "{}/{}@{digest}",
        reference.registry(),
        reference.repository()
    ));
    Ok(Exit::Done)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_of_another_version_is_said() {
        for (tag, version, is_said) in [
            ("1.0.0", Some("1.0.0"), false),
            ("v1.0.0", Some("1.0.0"), false),
            ("1.0", Some("1.0.3"), false),
            ("1.0", Some("1.01.3"), true),
            ("2.0.0", Some("1.0.0"), true),
            ("latest", Some("1.0.0"), false),
            ("1.0.0", None, false),
        ] {
            let reference = format!("ghcr.io/who/words:{tag}").parse().unwrap();
            let said = other_version(&reference, version);
            assert_eq!(said.is_some(), is_said, "{tag}: {said:?}");
        }
    }
}
