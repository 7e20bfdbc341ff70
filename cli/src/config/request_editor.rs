//! `[request_editor]`: which requests are paused before they are sent, and what `/metadata` shows of one.

use std::fmt;

use clap::ValueEnum;
use dunlin_host::nearest::nearest;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// A field of a request's metadata.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MetadataField {
    /// The id of the session.
    Session,
    /// The id of the request: the session and its number.
    Request,
    /// The agent.
    Agent,
    /// The model.
    Model,
    /// Where it goes.
    Endpoint,
    /// Which requests are paused.
    Mode,
    /// Whether it was edited.
    Edited,
    /// Its tokens, and the context window.
    Budget,
}

impl MetadataField {
    /// All of them, in the order in which they are shown where nothing else is set.
    pub const ALL: [MetadataField; 8] = [
        MetadataField::Session,
        MetadataField::Request,
        MetadataField::Agent,
        MetadataField::Model,
        MetadataField::Endpoint,
        MetadataField::Mode,
        MetadataField::Edited,
        MetadataField::Budget,
    ];

    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            MetadataField::Session => "session",
            MetadataField::Request => "request",
            MetadataField::Agent => "agent",
            MetadataField::Model => "model",
            MetadataField::Endpoint => "endpoint",
            MetadataField::Mode => "mode",
            MetadataField::Edited => "edited",
            MetadataField::Budget => "budget",
        }
    }

    /// The field with this name.
    pub fn named(name: &str) -> Result<MetadataField, MetadataError> {
        let known = MetadataField::ALL.into_iter();
        let mut known = known.filter(|field| field.as_str() == name);
        known.next().ok_or_else(|| MetadataError::Unknown {
            name: name.to_owned(),
        })
    }

    /// The fields with these names.
    pub fn list<'a>(
        names: impl IntoIterator<Item = &'a str>,
    ) -> Result<Vec<MetadataField>, MetadataError> {
        let mut fields = Vec::new();
        for name in names {
            let field = MetadataField::named(name)?;
            if fields.contains(&field) {
                return Err(MetadataError::Twice(field.as_str()));
            }
            fields.push(field);
        }
        Ok(fields)
    }
}

/// Why names are not those of fields.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum MetadataError {
    /// There is no such field.
    #[error("metadata has no field {name:?}{}", suggestion(name))]
    Unknown {
        /// What was given.
        name: String,
    },
    /// A field is named twice.
    #[error("metadata has the field {0} twice")]
    Twice(&'static str),
}

fn names() -> impl Iterator<Item = &'static str> {
    MetadataField::ALL.iter().map(|field| field.as_str())
}

/// The rest of a message about a name that is not one of them.
fn suggestion(name: &str) -> String {
    let near = nearest(name, names());
    let near = near.map_or_else(String::new, |near| format!(" (did you mean {near}?)"));
    let names: Vec<&str> = names().collect();
    format!("{near}: use {}", names.join(", "))
}

/// Which requests are paused before they are sent.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PauseMode {
    /// None
    #[default]
    Off,
    /// The next one
    Next,
    /// The first one of every turn
    Turn,
    /// Every one, those after tool results too
    Every,
    /// None; saved edits are applied
    Auto,
}

impl PauseMode {
    /// All of them.
    pub const ALL: [PauseMode; 5] = [
        PauseMode::Off,
        PauseMode::Next,
        PauseMode::Turn,
        PauseMode::Every,
        PauseMode::Auto,
    ];

    /// As it is written in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            PauseMode::Off => "off",
            PauseMode::Next => "next",
            PauseMode::Turn => "turn",
            PauseMode::Every => "every",
            PauseMode::Auto => "auto",
        }
    }

    /// What it does, as the end of a sentence.
    pub fn about(self) -> &'static str {
        match self {
            PauseMode::Off => "requests are sent without a pause",
            PauseMode::Next => "the next request is paused before it is sent",
            PauseMode::Turn => "the first request of every message is paused before it is sent",
            PauseMode::Every => {
                "every request is paused before it is sent, those after tool results too"
            }
            PauseMode::Auto => "saved edits are applied to every request, without a pause",
        }
    }

    /// The mode with this name.
    pub fn named(name: &str) -> Option<PauseMode> {
        PauseMode::ALL
            .into_iter()
            .find(|mode| mode.as_str() == name)
    }
}

/// Written by hand, so that a value of another type, such as `true`, is answered with the modes, too.
impl<'de> Deserialize<'de> for PauseMode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<PauseMode, D::Error> {
        deserializer.deserialize_any(ModeVisitor)
    }
}

struct ModeVisitor;

impl Visitor<'_> for ModeVisitor {
    type Value = PauseMode;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = PauseMode::ALL.map(|mode| format!("`{}`", mode.as_str()));
        write!(f, "one of {}", names.join(", "))
    }

    fn visit_str<E: de::Error>(self, name: &str) -> Result<PauseMode, E> {
        const NAMES: &[&str] = &["off", "next", "turn", "every", "auto"];
        PauseMode::named(name).ok_or_else(|| E::unknown_variant(name, NAMES))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_known_and_there_once() {
        let check = |names: &[&str], expected: Result<&[MetadataField], &str>| {
            let found = MetadataField::list(names.iter().copied());
            let found = found.map_err(|error| error.to_string());
            let expected = expected.map(<[MetadataField]>::to_vec);
            let expected = expected.map_err(str::to_owned);
            assert_eq!(found, expected, "{names:?}");
        };
        check(&[], Ok(&[]));
        check(
            &["budget", "session"],
            Ok(&[MetadataField::Budget, MetadataField::Session]),
        );
        check(
            &MetadataField::ALL.map(MetadataField::as_str),
            Ok(&MetadataField::ALL),
        );
        check(
            &["session", "modle"],
            Err(
                "metadata has no field \"modle\" (did you mean model?): use session, request, agent, model, endpoint, \
                 mode, edited, budget",
            ),
        );
        check(&["mode", "mode"], Err("metadata has the field mode twice"));
    }
}
