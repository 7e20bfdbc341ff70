//! Options that come and go: keys at the top of the body that are no lists of sections, and keys in the objects there.
//!
//! They are the only part of a request where a value can be added or removed by itself.

use dunlin_host::nearest::misspelt;

use super::document::{self, LeafKind};
use super::edits::{Change, Edit, EditError, Target, wrong_type};
use super::model::EditableRequest;
use super::overlay::{Overlay, kind_of};
use super::path::{Path, Step};
use super::sections::{KnownOption, OptionKind, SectionId};

impl EditableRequest {
    /// Adds an option, whether or not the dialect knows it: a key at the top of the body, or one in an object there. The
    /// value is JSON; for an option that takes a string it may be the text itself.
    ///
    /// # Errors
    /// The path is no option's or the option is there; the value is not JSON, or not of the type that the dialect knows.
    pub fn add(&mut self, path: &str, value: &str) -> Result<Change, EditError> {
        let target = match self.target(path) {
            Ok(target) => target,
            Err(EditError::UnknownPath { .. }) => self.option(path)?,
            Err(error) => return Err(error),
        };
        let index = self.option_index(&target)?;
        let takes_text = self
            .known_option(index, &target.path)
            .is_some_and(|option| option.kind == OptionKind::Text);
        match takes_text && document::decode(value).is_none() && !is_tree(value) {
            true => self.add_target(&target, &document::encode(value)),
            false => self.add_target(&target, value),
        }
    }

    /// The option that the dialect knows and that a path is a misspelling of.
    pub fn misspelt_option(&self, path: &str) -> Option<String> {
        let known = self.base.options.iter();
        let known: Vec<String> = known.map(|option| option.path.to_string()).collect();
        let names = known.iter().map(String::as_str);
        let is_known = names.clone().any(|name| name == path);
        let near = (!is_known).then(|| misspelt(path, names)).flatten();
        near.map(str::to_owned)
    }

    /// Adds an option by its target. The value is JSON. See [`EditableRequest::add`].
    ///
    /// # Errors
    /// As there.
    pub fn add_target(&mut self, target: &Target, value: &str) -> Result<Change, EditError> {
        let index = self.option_index(target)?;
        if self.overlay.find(&self.base, index, &target.path).is_some() {
            let path = self.shown(index, &target.path);
            return Err(EditError::Present { path });
        }
        let new = value.trim().to_owned();
        self.addable(index, &target.path, &new)?;
        Ok(self.put(target, index, Some(new)))
    }

    /// Removes an option, with all that is in it.
    ///
    /// # Errors
    /// Nothing is at the path, or no option.
    pub fn remove(&mut self, path: &str) -> Result<Change, EditError> {
        let target = self.target(path)?;
        self.remove_target(&target)
    }

    /// Removes an option by its target. See [`EditableRequest::remove`].
    ///
    /// # Errors
    /// As there.
    pub fn remove_target(&mut self, target: &Target) -> Result<Change, EditError> {
        let index = self.option_index(target)?;
        self.check_present(index, target)?;
        Ok(self.put(target, index, None))
    }

    /// Gives an option another value, which may be of another shape.
    ///
    /// # Errors
    /// There is no such option, or see [`EditableRequest::add`].
    pub(super) fn replace_option(
        &mut self,
        target: &Target,
        json: &str,
    ) -> Result<Change, EditError> {
        let index = self.option_index(target)?;
        self.check_present(index, target)?;
        self.addable(index, &target.path, json)?;
        Ok(self.put(target, index, Some(json.to_owned())))
    }

    /// Records one edit that sets an option, or removes it where there is no new value.
    fn put(&mut self, target: &Target, index: usize, new: Option<String>) -> Change {
        let old = self.overlay.find(&self.base, index, &target.path);
        let old = old.map(|found| found.raw.into_owned());
        let target = target.clone();
        self.push(Edit::Set { target, old, new }, vec![index])
    }

    /// Checks that an option is there.
    fn check_present(&self, index: usize, target: &Target) -> Result<(), EditError> {
        match self.overlay.find(&self.base, index, &target.path) {
            Some(_) => Ok(()),
            None => Err(self.unknown(&self.shown(index, &target.path))),
        }
    }

    /// What was composed at this path of the options, as JSON.
    fn composed_option(&self, index: usize, path: &Path) -> Option<String> {
        let composed = Overlay::default();
        let found = composed.find(&self.base, index, path)?;
        Some(found.raw.into_owned())
    }

    /// Brings an option back that was removed, as it was composed. One that the dialect knows may be named by its key alone.
    ///
    /// # Errors
    /// The path is no option's, or the option was not composed or is there.
    pub fn restore_option(&mut self, path: &str) -> Result<Change, EditError> {
        let typed = self.option(path)?;
        let index = self.option_index(&typed)?;
        for path in self.paths_named(&typed.path) {
            let is_there = self.overlay.find(&self.base, index, &path).is_some();
            if let Some(composed) = self.composed_option(index, &path).filter(|_| !is_there) {
                let target = Target { path, ..typed };
                return self.add_target(&target, &composed);
            }
        }
        Err(EditError::NotRemoved {
            path: path.to_owned(),
        })
    }

    /// A path, and those of the options that the dialect knows by this key alone.
    pub(super) fn paths_named(&self, path: &Path) -> Vec<Path> {
        let mut paths = vec![path.clone()];
        if let [Step::Key(key)] = path.steps() {
            let options = self.base.options.iter();
            let named = options.filter(|option| option.key() == &**key);
            paths.extend(named.map(|option| option.path.clone()));
        }
        paths
    }

    /// The option that a path would name, whether or not there is one.
    fn option(&self, path: &str) -> Result<Target, EditError> {
        let parsed = path.parse::<Path>()?;
        let not_one = || EditError::NotAnOption {
            path: path.to_owned(),
        };
        let target = Target {
            section: SectionId::Options,
            path: parsed,
        };
        self.option_index(&target).map_err(|_| not_one())?;
        Ok(target)
    }

    /// The options section, if an option could be at a target: a key at the top of the body that is no list of sections, or
    /// one in an object there.
    fn option_index(&self, target: &Target) -> Result<usize, EditError> {
        let not_one = || EditError::NotAnOption {
            path: self.path_of(target),
        };
        let index = self.index_of(&target.section).map_err(|_| not_one())?;
        match self.is_option(index, &target.path) {
            true => Ok(index),
            false => Err(not_one()),
        }
    }

    /// See [`EditableRequest::option_index`].
    pub(super) fn is_option(&self, index: usize, path: &Path) -> bool {
        let is_free = |key: &Step| matches!(key, Step::Key(key) if !self.base.is_list(key));
        let has_place = match path.steps() {
            [key] => is_free(key),
            [parent, Step::Key(_)] => {
                let around = Path::from(vec![parent.clone()]);
                // An object that was added is one value.
                let is_one = self.overlay.added.iter().any(|(added, _)| *added == around);
                let found = self.overlay.find(&self.base, index, &around);
                let is_object = |raw: &str| raw.is_empty() || raw.starts_with('{');
                is_free(parent) && !is_one && found.is_none_or(|found| is_object(&found.raw))
            }
            _ => false,
        };
        has_place && self.base.options_section() == Some(index)
    }

    /// Checks that an option which is not there can be added with this JSON. It can be as it was composed, whatever the
    /// dialect says of it.
    pub(super) fn addable(&self, index: usize, path: &Path, json: &str) -> Result<(), EditError> {
        if self.composed_option(index, path).as_deref() == Some(json) {
            return Ok(());
        }
        let Some(option) = self.known_option(index, path) else {
            if let Err(error) = serde_json::from_str::<serde_json::Value>(json) {
                let error = format!("{error}; a text stands in quotation marks");
                return Err(EditError::NotJson(error));
            }
            return match document::parse(json) {
                Some(_) => Ok(()),
                None => Err(EditError::NotJson("an object has a key twice".to_owned())),
            };
        };
        let kind = option.kind.leaf();
        match option.kind {
            // Some can be objects as well, such as `tool_choice`.
            OptionKind::Text if document::decode(json).is_some() || is_tree(json) => Ok(()),
            OptionKind::Text => Err(wrong_type(self.shown(index, path), kind.name(), json)),
            _ => self.value(index, path, kind, json).map(drop),
        }
    }

    /// The option at this path, if the dialect knows it.
    pub(super) fn known_option(&self, index: usize, path: &Path) -> Option<&KnownOption> {
        if self.base.options_section() != Some(index) {
            return None;
        }
        let option = self
            .base
            .options
            .iter()
            .find(|option| option.path == *path)?;
        // One in a place that holds something else could not be added.
        self.is_option(index, path).then_some(option)
    }

    /// The options that the request has now.
    pub fn options(&self) -> Vec<Path> {
        let options = self.base.options_section();
        let rows = options.map_or_else(Vec::new, |index| self.rows(index + 1));
        let rows = rows.into_iter().filter(|row| row.depth == 1);
        rows.map(|row| row.target.path).collect()
    }

    /// The options that were composed and are removed.
    pub fn removed_options(&self) -> Vec<Path> {
        self.overlay.gone().cloned().collect()
    }

    /// The options that the dialect knows and the request does not have now.
    pub fn missing_options(&self) -> Vec<Path> {
        let index = self.base.options_section().unwrap_or_default();
        let options = self.base.options.iter();
        let missing = options.filter(|option| {
            self.known_option(index, &option.path).is_some()
                && self.overlay.find(&self.base, index, &option.path).is_none()
        });
        missing.map(|option| option.path.clone()).collect()
    }
}

impl OptionKind {
    pub(super) fn leaf(self) -> LeafKind {
        match self {
            OptionKind::Text => LeafKind::String,
            OptionKind::Number | OptionKind::WholeNumber => LeafKind::Number,
            OptionKind::Boolean => LeafKind::Boolean,
        }
    }
}

/// Whether a text is the JSON of an object or an array.
fn is_tree(json: &str) -> bool {
    kind_of(json.trim_start()).is_none() && document::parse(json).is_some()
}
