//! What a mode of pausing is restricted to: `/pause every tools`.

use dunlin_host::nearest::nearest;

use crate::config::request_editor::PauseMode;
use crate::settings::Settings;

/// What stands for the requests after tool results.
pub const TOOLS: &str = "tools";

/// A request that may be paused.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    /// Which request of its turn it is, from 1.
    pub round: u32,
    /// The agent and its model; `None`: not known yet, and it may be any.
    pub who: Option<(&'a str, &'a str)>,
}

/// Which requests are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    #[default]
    All,
    /// Those after tool results.
    Tools,
    /// Those to this agent or model.
    Name(String),
}

impl Filter {
    /// Whether this request is meant.
    pub fn fits(&self, asked: Asked<'_>) -> bool {
        match self {
            Filter::All => true,
            Filter::Tools => asked.round > 1,
            Filter::Name(name) => asked
                .who
                .is_none_or(|(agent, model)| name == agent || name == model),
        }
    }

    /// As it is typed behind the mode; empty: all.
    pub fn as_str(&self) -> &str {
        match self {
            Filter::All => "",
            Filter::Tools => TOOLS,
            Filter::Name(name) => name,
        }
    }

    /// What a mode does with it, as the end of a sentence; `None`: what it does with all. The name is not escaped.
    pub fn about(&self, mode: PauseMode) -> Option<String> {
        let which = match self {
            Filter::All => return None,
            Filter::Tools => "after tool results".to_owned(),
            Filter::Name(name) => format!("to {name}"),
        };
        Some(match mode {
            PauseMode::Turn => {
                format!("the first request of every message is paused if it goes {which}")
            }
            PauseMode::Next => format!("the next request {which} is paused before it is sent"),
            _ => format!("every request {which} is paused before it is sent"),
        })
    }

    /// Understands what was typed behind a mode. A name that nothing has would never pause anything.
    ///
    /// # Errors
    /// It is no filter, or none of this mode: the sentence to show, not escaped.
    pub fn parse(settings: &Settings, mode: PauseMode, typed: &str) -> Result<Filter, String> {
        match (mode, typed) {
            (_, "") => return Ok(Filter::All),
            (PauseMode::Off | PauseMode::Auto, _) => {
                return Err(format!(
                    "{} takes no filter: next, turn and every do.",
                    mode.as_str()
                ));
            }
            (PauseMode::Turn, TOOLS) => {
                return Err(
                    "turn pauses the first request of a message, which is after no tool results: use /pause every tools."
                        .to_owned(),
                );
            }
            (_, TOOLS) => return Ok(Filter::Tools),
            _ => {}
        }
        let names = names(settings);
        if names.iter().any(|name| name == typed) {
            return Ok(Filter::Name(typed.to_owned()));
        }
        let known = names.iter().map(String::as_str).chain([TOOLS]);
        let near = nearest(typed, known);
        let near = near.map_or_else(String::new, |near| format!(" Did you mean {near}?"));
        Err(format!(
            "The configuration has no agent or model {typed}.{near}"
        ))
    }
}

/// The names that can be typed: the agents, and their models.
pub fn names(settings: &Settings) -> Vec<String> {
    let agents = settings.agents.iter();
    let names = agents.flat_map(|(name, entry)| [name.clone(), entry.value.model.clone()]);
    let mut names: Vec<String> = names.collect();
    names.sort();
    names.dedup();
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_fits_what_it_says() {
        let check = |filter: Filter, expected: [bool; 4]| {
            let asked = |round, who| Asked { round, who };
            let found = [
                filter.fits(asked(1, Some(("assistant", "small")))),
                filter.fits(asked(2, Some(("assistant", "small")))),
                filter.fits(asked(2, Some(("other", "large")))),
                filter.fits(asked(1, None)),
            ];
            assert_eq!(found, expected, "{filter:?}");
        };
        check(Filter::All, [true; 4]);
        check(Filter::Tools, [false, true, true, false]);
        check(Filter::Name("small".to_owned()), [true, true, false, true]);
        check(Filter::Name("other".to_owned()), [false, false, true, true]);
    }
}
