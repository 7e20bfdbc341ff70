//! Remembers what the user answered, for as long as the answer holds.

use super::file::Order;
use super::grantee::grantee;
use super::key::Key;
use super::stored::store_answer;
use super::{PermissionError, Permissions, PluginId, SessionAnswer};
use crate::ask::{Answer, Scope};
use crate::target::Need;

impl Permissions {
    /// Remembers an answer to the needs of one call.
    ///
    /// `Always` writes the file, under a lock and through a rename, and returns when it is on the disk.
    /// When it cannot be written the answer does not hold at all.
    pub(crate) fn remember(
        &self,
        call: &str,
        plugin: &PluginId,
        needs: &[Need],
        answer: Answer,
    ) -> Result<(), PermissionError> {
        if let Some(need) = needs
            .iter()
            .find(|need| answer.allow && self.is_protected(&need.target))
        {
            return Err(PermissionError::Protected {
                target: need.target.to_string(),
            });
        }
        match answer.scope {
            Scope::Once => {
                let mut state = self.lock();
                let once = state.once.entry(call.to_owned()).or_default();
                once.extend(needs.iter().map(|need| (need.clone(), answer.allow)));
            }
            Scope::Session => {
                let mut state = self.lock();
                for need in needs {
                    let plugin = answer.allow.then(|| plugin.clone());
                    state
                        .session
                        .entry((Key::exact(&need.target), need.operation))
                        .or_default()
                        .push(SessionAnswer {
                            allow: answer.allow,
                            plugin,
                        });
                }
            }
            Scope::Always => {
                let grantee = grantee(plugin);
                self.files.update(Order::DigestsFirst, |contents| {
                    for need in needs {
                        store_answer(contents, need, &grantee, answer.allow);
                    }
                })?;
                // An answer for the session would outrank the new one.
                let mut state = self.lock();
                for need in needs {
                    state
                        .session
                        .remove(&(Key::exact(&need.target), need.operation));
                }
            }
        }
        Ok(())
    }

    /// Forgets what was answered for one call only. Called when the call has ended.
    pub(crate) fn forget_call(&self, call: &str) {
        self.lock().once.remove(call);
    }
}
