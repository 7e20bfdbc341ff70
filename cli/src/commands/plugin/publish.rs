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
