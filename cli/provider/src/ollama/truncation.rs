//! Notices that the server has cut a prompt without a word.
//!
//! Ollama answers to what fits its window, with status 200, and says only how many tokens it has read:
//! sometimes as many as the window has, sometimes half of that. Newer servers are asked to refuse instead; with
//! the others, and with models that overlook the wish, this count is the only witness.
//!
//! A low count has two innocent reasons. Our own estimate may be too high: text of long runs comes to far fewer
//! tokens than it has words. Therefore only the least that the text can come to is held against the count, and
//! once a prompt was counted, the ratio of the two. And servers before 0.4 count only what they did not know from
//! the prompt before. Therefore nothing is said where the whole prompt would have fitted the window, and where
//! neither the window nor the age is known, what was sent before is taken off first.

use parking_lot::{Mutex, MutexGuard};
use serde_json::Value;

use dunlin_chat::tokens::estimate;
use dunlin_host::display::grouped;

/// A cut of fewer tokens is not told from an estimate that is a little off.
const LEAST_CUT: u64 = 256;

/// How far below the estimate, times the ratio seen so far, a count has to be. Prompts of one dialogue are alike,
/// but the next one may be all code after all prose.
const TRUSTED_SHARE: f64 = 0.7;

/// How large a prompt is, before the server has counted it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Prompt {
    /// In tokens, as well as one can guess.
    pub(super) estimate: u64,
    /// The fewest tokens it can come to.
    pub(super) least: u64,
}

impl Prompt {
    /// The size of the prompt that is made of this body.
    pub(super) fn of(body: &Value) -> Prompt {
        let mut prompt = Prompt::default();
        if let Some(tools) = body.get("tools") {
            prompt.add(&tools.to_string());
        }
        let messages = body.get("messages").and_then(Value::as_array);
        for message in messages.into_iter().flatten() {
            // What a model thought before is left out by most templates.
            if let Some(text) = message.get("content").and_then(Value::as_str) {
                prompt.add(text);
            }
            if let Some(calls) = message.get("tool_calls") {
                prompt.add(&calls.to_string());
            }
        }
        prompt
    }

    fn add(&mut self, text: &str) {
        let ascii = text.bytes().filter(u8::is_ascii).count() as u64;
        let others = text.bytes().filter(|byte| *byte >= 0xC0).count() as u64;
        self.estimate += estimate(text);
        // The longest words of the richest vocabularies, on the average of a text.
        self.least += ascii / 7 + others / 3;
    }
}

/// Remembers what a server has counted.
#[derive(Debug)]
pub(super) struct Witness(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    agent: String,
    /// The window that was asked for.
    asked_for: Option<u64>,
    /// The window in force.
    window: Option<u64>,
    /// The longest window of the model.
    longest: Option<u64>,
    /// Whether the server counts what it knew from the prompt before, too.
    counts_all: bool,
    /// Tokens counted for each one estimated.
    ratio: Option<f64>,
    /// The estimate of the prompt before.
    before: u64,
    has_warned: bool,
}

impl Witness {
    /// For an agent of this name, which asks for this window.
    pub(super) fn new(agent: &str, asked_for: Option<u64>) -> Witness {
        Witness(Mutex::new(State {
            agent: agent.to_owned(),
            asked_for,
            ..State::default()
        }))
    }

    /// What the server has said of itself: the window in force, the longest one of the model, its version.
    pub(super) fn server_said(
        &self,
        window: Option<u64>,
        longest: Option<u64>,
        version: Option<&str>,
    ) {
        let mut state = self.state();
        state.window = window;
        state.longest = longest;
        state.counts_all = version.is_some_and(counts_all);
    }

    /// Whether some of a prompt seems to be missing, and the window would tell.
    pub(super) fn suspects(&self, prompt: Prompt, counted: u64) -> bool {
        let state = self.state();
        state.window.is_none() && !state.has_warned && state.is_cut(prompt, counted)
    }

    /// The server has read this many tokens of a prompt. The warning, if some are missing; only one is ever given.
    pub(super) fn counted(&self, prompt: Prompt, counted: u64) -> Option<String> {
        let mut state = self.state();
        let is_cut = state.is_cut(prompt, counted);
        state.before = prompt.estimate;
        if !is_cut {
            if counted > 0 && prompt.estimate > 0 && (state.counts_all || state.ratio.is_none()) {
                let ratio = counted as f64 / prompt.estimate as f64;
                // Of a small prompt most is the template.
                if prompt.estimate >= LEAST_CUT {
                    state.ratio = Some(ratio.clamp(0.3, 3.0));
                }
            }
            return None;
        }
        if std::mem::replace(&mut state.has_warned, true) {
            return None;
        }
        Some(state.warning(prompt, counted))
    }

    /// What is to be set where a prompt did not fit.
    pub(super) fn way_out(&self, needed: Option<u64>) -> String {
        self.state().way_out(needed.unwrap_or(0))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock()
    }
}

impl State {
    fn likely(&self, prompt: Prompt) -> u64 {
        let likely = prompt.estimate as f64 * self.ratio.unwrap_or(1.0);
        likely as u64
    }

    fn is_cut(&self, prompt: Prompt, counted: u64) -> bool {
        // Nothing was counted: everything was known.
        if counted == 0 {
            return false;
        }
        let least = match self.ratio {
            Some(_) => (self.likely(prompt) as f64 * TRUSTED_SHARE) as u64,
            None => prompt.least,
        };
        let missing = least.saturating_sub(counted);
        if missing < LEAST_CUT {
            return false;
        }
        match self.window {
            Some(window) => self.likely(prompt) > window,
            None if self.counts_all => true,
            // It may have known all that was sent before.
            None => missing > self.before + LEAST_CUT,
        }
    }

    fn warning(&self, prompt: Prompt, counted: u64) -> String {
        let sent = self.likely(prompt);
        let window = self.window.map_or_else(String::new, |window| {
            format!(" (its window is {})", grouped(window))
        });
        format!(
            "the server has read {} of about {} tokens{window} and silently dropped the rest; {}",
            grouped(counted),
            grouped(sent),
            self.way_out(sent)
        )
    }

    fn way_out(&self, needed: u64) -> String {
        /// Enough for tools and a few files.
        const USUAL: u64 = 16_384;
        let room = needed.saturating_add(needed / 2).max(USUAL);
        let room = room.checked_next_power_of_two();
        let room = room.unwrap_or(USUAL).min(self.longest.unwrap_or(u64::MAX));
        let present = self.window.or(self.asked_for).unwrap_or(0);
        if room > present {
            format!("set context_window = {room} in [agents.{}]", self.agent)
        } else {
            "start over with /clear".to_owned()
        }
    }
}

/// Whether a server of this version counts whole prompts.
fn counts_all(version: &str) -> bool {
    let mut numbers = version
        .trim_start_matches('v')
        .split(['.', '-'])
        .map_while(|part| part.parse::<u64>().ok());
    match (numbers.next(), numbers.next()) {
        (Some(0), Some(minor)) => minor >= 4,
        (Some(_), _) => true,
        (None, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn prose(tokens: u64) -> Prompt {
        Prompt {
            estimate: tokens,
            least: tokens * 4 / 7,
        }
    }

    fn witness(window: Option<u64>, version: Option<&str>) -> Witness {
        let witness = Witness::new("assistant", None);
        witness.server_said(window, Some(131_072), version);
        witness
    }

    #[test]
    fn a_cut_prompt_is_noticed_once() {
        let witness = witness(Some(4096), Some("0.32.9"));
        assert!(
            !witness.suspects(prose(15_750), 2051),
            "the window is known"
        );
        assert_eq!(
            witness.counted(prose(15_750), 2051).as_deref(),
            Some(
                "the server has read 2,051 of about 15,750 tokens (its window is 4,096) and silently dropped the \
                 rest; set context_window = 32768 in [agents.assistant]"
            )
        );
        assert_eq!(witness.counted(prose(16_000), 2051), None, "said before");
    }

    #[test]
    fn what_is_no_cut() {
        for (case, window, version, prompt, counted) in [
            ("read whole", Some(4096), Some("0.32.9"), prose(3000), 2900),
            (
                "fewer tokens than guessed",
                Some(32_768),
                Some("0.32.9"),
                prose(10_000),
                6000,
            ),
            (
                "many fewer, but all would fit",
                Some(32_768),
                Some("0.32.9"),
                prose(10_000),
                1000,
            ),
            (
                "known from before",
                Some(32_768),
                Some("0.3.14"),
                prose(10_000),
                12,
            ),
            ("not counted", Some(2048), None, prose(10_000), 0),
            (
                "nothing known, little missing",
                None,
                None,
                prose(2000),
                1000,
            ),
            ("small", None, Some("0.9.0"), prose(300), 20),
        ] {
            assert_eq!(
                witness(window, version).counted(prompt, counted),
                None,
                "{case}"
            );
        }
    }

    #[test]
    fn counts_before_0_4_leave_out_what_was_known() {
        let check = |version: Option<&str>, warns: bool| {
            let witness = witness(None, version);
            assert_eq!(witness.counted(prose(10_000), 10_100), None);
            let warning = witness.counted(prose(10_500), 480);
            assert_eq!(warning.is_some(), warns, "{version:?}: {warning:?}");
        };
        check(Some("0.3.14"), false);
        check(None, false);
        check(Some("0.4.0"), true);
        check(Some("0.32.9"), true);
    }

    #[test]
    fn the_ratio_of_earlier_prompts_sharpens_the_guess() {
        // A third is missing: less than any text could do, more than this one does.
        let witness = witness(Some(8192), Some("0.32.9"));
        assert_eq!(witness.counted(prose(6000), 6600), None);
        assert!(witness.counted(prose(12_000), 8000).is_some());
    }

    #[test]
    fn the_way_out_is_a_window_that_the_model_has() {
        let check =
            |asked_for: Option<u64>, longest: Option<u64>, needed: Option<u64>, expected: &str| {
                let witness = Witness::new("a", asked_for);
                witness.server_said(asked_for, longest, None);
                assert_eq!(witness.way_out(needed), expected);
            };
        check(None, None, None, "set context_window = 16384 in [agents.a]");
        check(
            Some(16_384),
            None,
            Some(20_000),
            "set context_window = 32768 in [agents.a]",
        );
        check(
            None,
            Some(8192),
            Some(20_000),
            "set context_window = 8192 in [agents.a]",
        );
        check(
            Some(8192),
            Some(8192),
            Some(20_000),
            "start over with /clear",
        );
        check(
            None,
            None,
            Some(u64::MAX / 2),
            "set context_window = 16384 in [agents.a]",
        );
    }

    #[test]
    fn prompts_are_measured_by_what_the_template_gets() {
        let texts = [
            r#"[{"name":"f"}]"#.to_owned(),
            "x ".repeat(350),
            r#"[{"function":{}}]"#.to_owned(),
            "日本語".to_owned(),
        ];
        let [tools, question, calls, result] = &texts;
        let value = |text: &str| serde_json::from_str::<Value>(text).unwrap();
        let prompt = Prompt::of(&json!({
            "model": "not counted",
            "tools": value(tools),
            "messages": [
                {"role": "user", "content": question},
                {"role": "assistant", "content": "", "thinking": "not counted", "tool_calls": value(calls)},
                {"role": "tool", "content": result},
            ],
        }));
        let expected = Prompt {
            estimate: texts.iter().map(|text| estimate(text)).sum(),
            least: 100 + 2 + 2 + 1,
        };
        assert_eq!(prompt, expected);
        assert_eq!(Prompt::of(&json!(null)), Prompt::default());
    }

    #[test]
    fn versions() {
        for (version, expected) in [
            ("0.3.14", false),
            ("0.4.0", true),
            ("v0.32.9-rc1", true),
            ("1.0", true),
            ("0.0.0", false),
            ("", false),
            ("main", false),
        ] {
            assert_eq!(counts_all(version), expected, "{version}");
        }
    }
}
