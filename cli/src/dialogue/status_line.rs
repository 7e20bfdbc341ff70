//! The status line: who answers, how much room is left for the conversation, and what was used. What the prompt says, or stands
//! above it, is not repeated here.

use dunlin_chat::price::Charge;
use dunlin_host::display::escape;
use dunlin_terminal::ui::subagents::thousands;

use super::Dialogue;
use super::budget::share;
use crate::app::App;
use crate::money;

impl Dialogue {
    /// The status line, escaped, if it is wanted.
    pub fn status_line(&self, app: &App) -> Option<String> {
        let filled = self.filled(app);
        let spent = self.spent();
        let charge = spent.all.plus(spent.all_subagents).charge;
        let names = (self.model(), self.agent().name.as_str());
        let is_wanted = app.settings.general.status_line.value;
        is_wanted.then(|| line(names, filled, charge))
    }
}

/// `filled`: the tokens of the last request, and those of the window.
fn line((model, agent): (&str, &str), filled: Option<(u64, u64)>, charge: Charge) -> String {
    let mut parts = vec![escape(model).into_owned(), escape(agent).into_owned()];
    if let Some((used, window)) = filled {
        let left = 100_u64.saturating_sub(share(used, window));
        parts.push(format!("{left} % left"));
    }
    let Charge { usage, money } = charge;
    let tokens = usage.input_tokens.saturating_add(usage.output_tokens);
    if tokens > 0 {
        parts.push(format!("{} tokens", thousands(tokens)));
        parts.extend(money::spent(money).filter(|_| money.nano_usd > 0));
    }
    format!("  {}", parts.join(" · "))
}

#[cfg(test)]
mod tests {
    use dunlin_chat::usage::Usage;

    use super::*;

    #[test]
    fn what_is_not_known_is_left_out() {
        let names = ("a-model\u{1b}", "assistant");
        for (filled, tokens, expected) in [
            (None, 0, ""),
            (None, 1_234, " · 1.2k tokens"),
            (Some((170, 1000)), 0, " · 83 % left"),
            (Some((1, 1000)), 999, " · 99 % left · 999 tokens"),
            (Some((2000, 1000)), 0, " · 0 % left"),
        ] {
            let expected = format!("  a-model\\u{{1b}} · assistant{expected}");
            let charge = Charge {
                usage: Usage {
                    output_tokens: tokens,
                    ..Usage::default()
                },
                ..Charge::default()
            };
            assert_eq!(line(names, filled, charge), expected);
        }
    }
}
