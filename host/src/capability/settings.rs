//! `settings`: what the user has set for a plugin.

use super::context::CallContext;
use super::refusal::Refusal;
use crate::bindings::dunlin::tool::settings;
use crate::bindings::dunlin::tool::types::Error;
use crate::display::chain;
use crate::settings::{SettingsError, complete};

impl settings::Host for CallContext {
    async fn get(&mut self) -> Result<String, Refusal> {
        self.not_in_describe().map_err(Refusal::Trap)?;
        let Some(schema) = &self.caller.settings_schema else {
            let problem = "the plugin has not said what can be set for it";
            return Err(Error::Unsupported(problem.into()).into());
        };
        let found = self.shared.settings.of(&self.caller.plugin.identity());
        let settings = found.and_then(|found| complete(schema, found));
        let settings = settings.map_err(|error| match error {
            SettingsError::Misfit { .. } => Error::Invalid(format!(
                "a setting of the plugin {plugin}: {error}. The user can set it: dunlin plugin settings {plugin} NAME=VALUE",
                plugin = self.caller.plugin.name
            )),
            error => Error::Failed(chain(&error)),
        })?;
        Ok(settings.to_string())
    }
}
