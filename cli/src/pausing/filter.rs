//! What a mode of pausing is restricted to: `/pause every tools`.

use dunlin_host::nearest::nearest;

use crate::config::request_editor::PauseMode;

/// What stands for the requests with new results of tools.
pub const TOOLS: &str = "tools";

/// A request that may be paused.
#[derive(Debug, Clone, Copy)]
pub struct PauseCandidate<'a> {
    /// Which request of its turn it is, from 1.
    pub round: u32,
    /// Whether it gives new results of tools to the model; `None`: not known yet.
    pub has_new_results: Option<bool>,
    /// Who answers; `None`: not known yet, and it may be any.
    pub recipient: Option<Recipient<'a>>,
}

/// Who answers a request.
#[derive(Debug, Clone, Copy)]
pub struct Recipient<'a> {
    pub agent: &'a str,
    pub model: &'a str,
}

/// Which requests are meant.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Filter {
    /// All of them.
    #[default]
    All,
    /// Those that give the model results of tools which it has not answered yet.
    Tools,
    /// Those to this agent or model.
    Name(String),
}

impl Filter {
    /// Whether this request is meant.
    pub fn fits(&self, candidate: PauseCandidate<'_>) -> bool {
        match self {
            Filter::All => true,
            Filter::Tools => candidate.has_new_results != Some(false),
            Filter::Name(name) => candidate
                .recipient
                .is_none_or(|it| name == it.agent || name == it.model),
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
            Filter::Tools => "with new tool results".to_owned(),
            Filter::Name(name) => format!("to {name}"),
        };
        Some(match mode {
            PauseMode::Turn => {
                format!("the first request of every message is paused if it is one {which}")
            }
            PauseMode::Next => format!("the next request {which} is paused before it is sent"),
            _ => format!("every request {which} is paused before it is sent"),
        })
    }

    /// Understands what was typed behind a mode. A name that nothing has would never pause anything: `names` are those that
    /// there are.
    ///
    /// # Errors
    /// It is no filter, or none of this mode.
    pub fn parse(names: &[String], mode: PauseMode, typed: &str) -> Result<Filter, NoFilter> {
        match (mode, typed) {
            (_, "") => return Ok(Filter::All),
            (PauseMode::Off | PauseMode::Auto, _) => {
                return Err(NoFilter::Mode(mode));
            }
            (_, TOOLS) => return Ok(Filter::Tools),
            _ => {}
        }
        if typed.contains(char::is_whitespace) {
            return Err(NoFilter::Words);
        }
        if names.iter().any(|name| name == typed) {
            return Ok(Filter::Name(typed.to_owned()));
        }
        let known = names.iter().map(String::as_str).chain([TOOLS]);
        let near = nearest(typed, known);
        let near = match near {
            Some(near) => format!("Did you mean {near}?"),
            None => format!("There are: {}, {TOOLS}.", names.join(", ")),
        };
        let name = typed.to_owned();
        Err(NoFilter::Unknown { name, near })
    }
}

/// Why a text restricts no mode. The messages are not escaped.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoFilter {
    #[error("{} takes no filter: next, turn and every do.", .0.as_str())]
    Mode(PauseMode),
    #[error("A filter is one word: an agent, a model, or tools.")]
    Words,
    #[error("There is no agent or model {name}. {near}")]
    Unknown {
        name: String,
        /// What there is, in a sentence.
        near: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_fits_what_it_says() {
        let check = |filter: Filter, expected: [bool; 4]| {
            let candidate = |has_new_results, recipient| PauseCandidate {
                round: 1,
                has_new_results,
                recipient,
            };
            let to = |agent, model| Some(Recipient { agent, model });
            let found = [
                filter.fits(candidate(Some(false), to("assistant", "small"))),
                filter.fits(candidate(Some(true), to("assistant", "small"))),
                filter.fits(candidate(Some(true), to("other", "large"))),
                filter.fits(candidate(None, None)),
            ];
            assert_eq!(found, expected, "{filter:?}");
        };
        check(Filter::All, [true; 4]);
        check(Filter::Tools, [false, true, true, true]);
        check(Filter::Name("small".to_owned()), [true, true, false, true]);
        check(Filter::Name("other".to_owned()), [false, false, true, true]);
    }
}
