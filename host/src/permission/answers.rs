//! Remembers what the user answered, for as long as the answer holds.

use std::collections::HashMap;

use super::decide::is_in_file;
use super::file::{Grantee, OperationName, Order, Runs};
use super::grantee::{Caller, grantee};
use super::key::{Decided, Key};
use super::stored::store_answer;
use super::{OnceAnswer, PermissionError, Permissions, PluginId, SessionAnswer, SessionMode};
use crate::ask::{Answer, Scope};
use crate::target::{CommandKey, Need, Operation};

impl Permissions {
    /// What a permanent yes to these needs stores: in place of a compound line that is nothing but its
    /// [`CommandTarget::parts`](crate::target::CommandTarget::parts), those of them that the permission file does not allow
    /// yet, each once.
    pub(crate) fn to_be_stored(
        &self,
        caller: &Caller<'_>,
        needs: &[Need],
    ) -> Result<Vec<Need>, PermissionError> {
        let mut state = self.lock();
        self.refresh(&mut state)?;
        let mut lasting: Vec<Need> = Vec::new();
        for need in needs {
            let mut parts: Vec<Need> = Vec::new();
            for part in need.in_parts() {
                let key = Key::exact(&part.target);
                if !parts.iter().any(|it| Key::exact(&it.target) == key) {
                    parts.push(part);
                }
            }
            let is_new = |part: &&Need| {
                let command = part.target.command();
                !command.is_some_and(|it| is_in_file(&state, caller, it))
            };
            // What counts as a whole is open, and a line whose commands are all stored is asked about as if none was.
            match parts.iter().filter(is_new).cloned().collect::<Vec<_>>() {
                new if !new.is_empty() => lasting.extend(new),
                _ => lasting.extend(parts),
            }
        }
        Ok(lasting)
    }

    /// Remembers an answer to needs of one call; of a permanent yes, to what
    /// [`Permissions::to_be_stored`] has named before it.
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
        let runs = |need: &Need| -> Result<Option<Runs>, PermissionError> {
            let Some(command) = need.target.command().filter(|_| answer.allow) else {
                return Ok(None);
            };
            let runs = Runs::of(command);
            let mut covers = command.covers.iter();
            let unread = covers.find(|path| !command.contents.contains_key(*path));
            runs.map(Some).ok_or_else(|| PermissionError::Runs {
                command: command.key.to_string(),
                path: unread.cloned().unwrap_or_default(),
            })
        };
        match answer.scope {
            Scope::Once => {
                let mut state = self.lock();
                let of_call = state.once.entry(call.to_owned()).or_default();
                let once = of_call.entry(plugin.clone()).or_default();
                let answer = OnceAnswer {
                    allow: answer.allow,
                    in_plan_mode: self.session_mode() == SessionMode::Plan,
                };
                once.extend(needs.iter().map(|need| (need.clone(), answer)));
            }
            Scope::Session => {
                let all = needs.iter().map(runs).collect::<Result<Vec<_>, _>>()?;
                let mut state = self.lock();
                for (need, runs) in needs.iter().zip(all) {
                    let plugin = answer.allow.then(|| plugin.clone());
                    let key = (Key::exact(&need.target), need.operation);
                    let answers = state.session.entry(key).or_default();
                    let allow = answer.allow;
                    answers.push(SessionAnswer {
                        allow,
                        plugin,
                        runs,
                        option: None,
                    });
                }
            }
            Scope::Always => {
                let all = needs.iter().map(runs).collect::<Result<Vec<_>, _>>()?;
                let order = match answer.allow {
                    true => Order::DigestsFirst,
                    false => Order::PermissionsFirst,
                };
                self.files.update(order, |contents| {
                    for (need, runs) in needs.iter().zip(all) {
                        let grantee = Grantee {
                            runs,
                            ..grantee(plugin)
                        };
                        store_answer(contents, need, &grantee, answer.allow);
                    }
                })?;
                // An answer for the session would outrank the new one.
                let mut state = self.lock();
                for need in needs {
                    let key = (Key::exact(&need.target), need.operation);
                    state.session.remove(&key);
                    if !answer.allow && allows_more(&state.session, need) {
                        let deny = SessionAnswer {
                            allow: false,
                            plugin: None,
                            runs: None,
                            option: None,
                        };
                        state.session.insert(key, vec![deny]);
                    }
                }
            }
        }
        Ok(())
    }

    /// Forgets what was answered until the session ends, and for calls of it.
    pub(crate) fn forget_session(&self) {
        let mut state = self.lock();
        state.session.clear();
        state.once.clear();
        state.modes.clear();
        state.mode_options.clear();
        state.calls.clear();
    }

    /// Forgets what was answered until the session ends: all of it, or what is listed under this key. Returns how many
    /// answers that were.
    pub fn forget_answers(&self, key: Option<&str>) -> usize {
        let mut state = self.lock();
        let before = state.session.len() + state.calls.len();
        match key {
            None => {
                state.session.clear();
                state.calls.clear();
            }
            Some(key) => {
                state
                    .session
                    .retain(|(other, _), _| other.to_string() != key);
                state.calls.remove(key);
            }
        }
        before - state.session.len() - state.calls.len()
    }

    /// Removes what was stored for one plugin alone, in all of its versions. What was set by hand, and every no, holds for
    /// all plugins and is left. Returns how many keys allowed it something.
    ///
    /// # Errors
    /// The files cannot be written.
    pub fn forget_plugin(&self, identity: &str) -> Result<usize, PermissionError> {
        self.files.update(Order::PermissionsFirst, |contents| {
            let mut count = 0;
            let entries = std::mem::take(&mut contents.entries);
            for (key, mut bits) in entries {
                let mut grants = contents.digests.grants.remove(&key).unwrap_or_default();
                let had = grants.clone();
                for operation in Operation::ALL {
                    let name = OperationName::from(operation);
                    let Some(grantees) = grants.get_mut(&name) else {
                        continue;
                    };
                    grantees.retain(|grantee| grantee.plugin != identity);
                    if grantees.is_empty() && had[&name].len() > grantees.len() {
                        grants.remove(&name);
                        bits = bits.with(operation, Decided::Open);
                    }
                }
                let is_changed = grants != had;
                count += usize::from(is_changed);
                if !grants.is_empty() {
                    contents.digests.grants.insert(key.clone(), grants);
                }
                // A command is either allowed, denied or not there.
                let is_void =
                    CommandKey::is_command(&key) && bits.get(Operation::Execute) == Decided::Open;
                if !(is_changed && (bits.is_open() || is_void)) {
                    contents.entries.push((key, bits));
                }
            }
            count
        })
    }

    /// Forgets what was answered for one call only. Called when the call has ended.
    pub(crate) fn forget_call(&self, call: &str) {
        self.lock().once.remove(call);
    }
}

/// Whether something above the target was allowed for the session, as `--allow folder/` does.
fn allows_more(session: &HashMap<(Key, Operation), Vec<SessionAnswer>>, need: &Need) -> bool {
    Key::candidates(&need.target).into_iter().any(|key| {
        let answers = session.get(&(key, need.operation));
        answers.is_some_and(|answers| answers.iter().any(|answer| answer.allow))
    })
}
