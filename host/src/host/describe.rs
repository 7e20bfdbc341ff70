//! Knows which tools there are, and finds one by its name.

use std::sync::Arc;

use super::Host;
use crate::call::Failure;
use crate::capability::Phase;
use crate::display;
use crate::engine::clock::Clock;
use crate::plugin::{Described, DescribedTool, LoadError, Registered, Tool};

impl Host {
    /// All tools, sorted by name: known beforehand, from the cache, or described by their plugins, side by side.
    ///
    /// A plugin that cannot be used is left out and stands in the second list. Of two tools with one
    /// name the one of the plugin that was given first counts.
    pub async fn tools(&self) -> (Vec<Tool>, Vec<LoadError>) {
        let plugins = self.plugins();
        let described =
            futures::future::join_all(plugins.iter().map(|plugin| self.describe(plugin))).await;
        let mut tools: Vec<Tool> = Vec::new();
        let mut errors = Vec::new();
        for (plugin, described) in plugins.iter().zip(described) {
            let described = match described {
                Ok(described) => described,
                Err(error) => {
                    errors.push(error);
                    continue;
                }
            };
            for DescribedTool { tool, .. } in &described.tools {
                match tools.iter().find(|other| other.name == tool.name) {
                    Some(other) => errors.push(LoadError::Taken {
                        plugin: plugin.id.name.clone(),
                        tool: tool.name.clone(),
                        other: other.plugin.clone(),
                    }),
                    None => tools.push(tool.clone()),
                }
            }
        }
        tools.extend(self.loader_tool().filter(|loader| {
            // A plugin of this name was there first.
            tools.iter().all(|tool| tool.name != loader.name)
        }));
        tools.sort_by(|a, b| a.name.cmp(&b.name));
        (tools, errors)
    }

    /// Finds a tool by name among the described plugins.
    pub(super) async fn find(
        &self,
        name: &str,
    ) -> Result<(Arc<Registered>, Arc<Described>, usize), Failure> {
        for plugin in self.plugins().iter() {
            // A plugin that cannot be described has no tools; `tools` says why.
            let Ok(described) = self.describe(plugin).await else {
                continue;
            };
            if let Some(index) = described.tools.iter().position(|d| d.tool.name == name) {
                return Ok((Arc::clone(plugin), described, index));
            }
        }
        let name = display::shorten(name, 100).into_owned();
        let near = self.near(&name);
        Err(Failure::UnknownTool { name, near })
    }

    /// Names of tools that resemble this one, the nearest first.
    fn near(&self, name: &str) -> Vec<String> {
        let wanted = name.to_ascii_lowercase();
        let plugins = self.plugins();
        let described = plugins
            .iter()
            .filter_map(|plugin| plugin.described.get()?.as_ref().ok());
        let mut near: Vec<(usize, String)> = described
            .flat_map(|described| &described.tools)
            .map(|d| d.tool.name.clone())
            .chain(self.served_names())
            .map(|candidate| {
                (
                    strsim::damerau_levenshtein(&candidate.to_ascii_lowercase(), &wanted),
                    candidate,
                )
            })
            .filter(|(distance, candidate)| {
                *distance <= candidate.len() / 2
                    || candidate.contains(&wanted)
                    || wanted.contains(candidate.as_str())
            })
            .collect();
        near.sort_unstable();
        near.into_iter().take(3).map(|(_, name)| name).collect()
    }

    async fn describe(&self, plugin: &Arc<Registered>) -> Result<Arc<Described>, LoadError> {
        let describe = async || {
            let name = &plugin.id.name;
            if let Some(known) = &plugin.plugin.description {
                return Described::check_known(name, known).map(Arc::new);
            }
            let cached = self.0.cache.tools(&plugin.id.digest, |bytes| {
                Described::from_bytes(name, bytes)
            });
            let described = match cached {
                Some(described) => Ok(described),
                None => self.describe_anew(plugin).await,
            };
            described.map(Arc::new)
        };
        plugin.described.get_or_init(describe).await.clone()
    }

    async fn describe_anew(&self, plugin: &Arc<Registered>) -> Result<Described, LoadError> {
        let name = plugin.id.name.clone();
        let loaded = self.load(plugin).await?;
        let clock = Clock::start(self.0.limits.describe_time);
        let state = self.state(Phase::Describe, "", "describe", plugin, &clock);
        let (result, _) = self
            .guest(
                plugin,
                state,
                &clock,
                self.0.limits.describe_time,
                async |instance, store| instance.dunlin_tool_tool().call_describe(store).await,
            )
            .await;
        let info = result.map_err(|problem| LoadError::Describe {
            plugin: name.clone(),
            problem,
        })?;
        let ceiling = loaded.ceiling().cloned();
        let described = Described::check(&name, loaded.imports(), ceiling, info)?;
        self.0
            .cache
            .keep_tools(&plugin.id.digest, &described.to_bytes());
        Ok(described)
    }
}
