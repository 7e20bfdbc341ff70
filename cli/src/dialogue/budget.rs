//! What a dialogue takes of the model's window, and what it has cost.

use std::borrow::Cow;

use dunlin_host::Tool;
use dunlin_host::display::grouped;
use parking_lot::MutexGuard;

use super::{Dialogue, HandsOff, interrupted, journal_of};
use crate::app::App;
use crate::error::{CliError, Exit};
use crate::prompt::metadata::Answering;
use dunlin_chat::message::{Message, Role};
use dunlin_chat::price::{Charge, Money};
use dunlin_chat::provider::Dialect;
use dunlin_chat::request::report::{Cost, Report, Spent};
use dunlin_chat::request::truncation::Compacted;
use dunlin_chat::request::{ContextBudget, HistoryLimits, Occasion};
use dunlin_chat::session::{Loaded, Session};
use dunlin_chat::tokens::counted;
use dunlin_chat::turn::compact::{NoSummary, summarise};
use dunlin_chat::turn::{preview, with_joined};
use dunlin_terminal::request::paused::Paused;
use dunlin_terminal::ui::style::Label;

impl Dialogue {
    /// What was spent on it, as the provider counts.
    pub fn spent(&self) -> Spent {
        self.spent
    }

    /// Whether it is known what its model costs.
    pub fn is_priced(&self) -> bool {
        self.provider.price().is_some()
    }

    /// What the next request would carry.
    pub fn report(&self, app: &App) -> Report {
        let dialect = self.provider.dialect();
        let tools = self.tools(app);
        let occasion = self.occasion(app, dialect.as_ref(), &tools);
        self.context_budget()
            .report(self.conversation.messages(), occasion)
    }

    /// The request that would be sent for an empty message.
    ///
    /// # Errors
    /// The last turn alone does not fit the model's context window.
    pub fn preview(&self, app: &App) -> Result<Paused, CliError> {
        let dialect = self.provider.dialect();
        let tools = self.tools(app);
        let occasion = self.occasion(app, dialect.as_ref(), &tools);
        let mut messages = self.conversation.messages().to_vec();
        messages.push(Message::text(Role::User, ""));
        let budget = self.context_budget();
        let mut paused = preview(&messages, &budget, occasion).map_err(CliError::failed)?;
        // The session is stored with the first message.
        paused.number = self.session().map(Session::next_request_number);
        Ok(Paused::new(paused))
    }

    /// Who answers its requests.
    pub fn answering(&self) -> Answering<'_> {
        Answering {
            agent: &self.agent,
            provider: self.provider.as_ref(),
        }
    }

    /// Has the model sum up what was said before the last turn, which then is sent instead. Ctrl-C ends it, and
    /// all is as it was.
    pub fn compact(&mut self, app: &App) -> Result<(), CliError> {
        let ui = &app.ui;
        let quiet = |text: &str| ui.status(&ui.status_styles().paint(Label::Quiet, text));
        let dialect = self.provider.dialect();
        let tools = self.tools(app);
        let occasion = self.occasion(app, dialect.as_ref(), &tools);
        let messages = self.conversation.messages();
        let compacting = self.context_budget().compacting(messages, occasion, true);
        let Some(compacting) = compacting else {
            ui.status("There is nothing to compact, or it is too long to be read at once.");
            return Ok(());
        };
        let count = counted(compacting.count, "message", "messages");
        quiet(&format!("· compacting {count} …"));
        let interrupt = interrupted(app)?;
        let _hands_off = HandsOff::begin(app);
        let speaker = (&self.agent, self.provider.as_ref());
        let journal = journal_of(self.session.as_ref());
        let summary = app.runtime()?.block_on(async {
            tokio::select! {
                biased;
                () = interrupt => None,
                summary = summarise(speaker, &compacting.request, journal) => Some(summary),
            }
        });
        match summary {
            None => quiet("(interrupted)"),
            Some(Ok(summary)) => {
                let cost = Cost {
                    charge: summary.charge,
                    requests: 1,
                };
                self.spent.add(cost, Cost::default());
                let compacted = Compacted {
                    through: compacting.through,
                    summary: summary.text,
                };
                if let Some(session) = &self.session {
                    session.compacted(&compacted);
                }
                let notice = self.context_budget().compacted(compacted);
                quiet(&notice);
            }
            Some(Err(NoSummary::Failed(error))) => {
                let hint = error.hint();
                return Err(CliError::new(Exit::Provider, error).with_hint(hint));
            }
            Some(Err(error)) => return Err(CliError::failed(error)),
        }
        Ok(())
    }

    /// What was counted and cut belongs to the conversation that is left.
    pub(super) fn forget_context_budget(&mut self) {
        self.context_budget().clear();
        self.marked = 0;
    }

    /// Takes over what a session that was opened knows: what it has cost, of it `subagents`, and a summary that
    /// stands for its beginning.
    pub(super) fn know(&mut self, loaded: &Loaded, subagents: Cost) {
        self.spent = Spent {
            all: Cost {
                charge: own_part(loaded.charge, subagents.charge),
                requests: 0,
            },
            all_subagents: subagents,
            ..Spent::default()
        };
        if let Some(compacted) = &loaded.compacted {
            let messages = self.conversation.messages();
            // Where messages were lost from the file, nobody knows what the summary is of.
            if messages.len() == loaded.messages.len() {
                self.context_budget().restore(compacted.clone(), messages);
            }
        }
    }

    pub(super) fn context_budget(&self) -> MutexGuard<'_, ContextBudget> {
        self.context_budget.lock()
    }

    /// All tools by now.
    fn tools(&self, app: &App) -> Cow<'_, [Tool]> {
        let joined = app.host().map(|host| host.joined());
        with_joined(&self.tools, joined.unwrap_or_default())
    }

    fn occasion<'a>(
        &'a self,
        app: &App,
        dialect: &'a dyn Dialect,
        tools: &'a [Tool],
    ) -> Occasion<'a> {
        Occasion {
            agent: &self.agent,
            tools,
            dialect,
            limits: self.limits(app),
        }
    }

    fn limits(&self, app: &App) -> HistoryLimits {
        HistoryLimits {
            window: self.provider.window(),
            ..app.settings.history_limits()
        }
    }

    /// The tokens of the last request, and those of the window, where that is known.
    pub(super) fn filled(&self, app: &App) -> Option<(u64, u64)> {
        let context_budget = self.context_budget();
        let window = context_budget.window(&self.limits(app));
        window.map(|(window, _)| (context_budget.measure().sent(), window))
    }

    /// Says how full the window is, where that is news.
    pub(super) fn speak_of_the_window(&mut self, app: &App) {
        let ui = &app.ui;
        if !ui.is_chat() && !ui.is_verbose() {
            return;
        }
        let Some((used, window)) = self.filled(app) else {
            return;
        };
        if let Some(line) = fill_line(used, window, &mut self.marked, ui.is_verbose()) {
            ui.status(&ui.status_styles().paint(Label::Quiet, &line));
        }
    }
}

/// What the chat itself has cost: each turn says what it has cost with its subagents.
fn own_part(all: Charge, subagents: Charge) -> Charge {
    let mut own = all.less(subagents);
    // Where a part of it is not known, nothing left is not nothing spent.
    if own.money.nano_usd == 0 && !all.money.is_complete() {
        own.money = Money::unknown();
    }
    own
}

/// In percent, rounded; more than nothing is at least 1.
pub fn share(part: u64, whole: u64) -> u64 {
    let share = part.saturating_mul(100).saturating_add(whole / 2) / whole.max(1);
    if part > 0 { share.max(1) } else { 0 }
}

/// What there is to say about the window after a turn: a line when it passes a mark that was not passed before.
/// `marked` is the last mark; with `always` there is a line in any case.
fn fill_line(used: u64, window: u64, marked: &mut u64, always: bool) -> Option<String> {
    const MARKS: [u64; 4] = [50, 75, 90, 100];
    let share = share(used, window);
    let mark = MARKS.into_iter().rfind(|mark| share >= *mark).unwrap_or(0);
    let is_new = mark > *marked;
    *marked = mark;
    (is_new || always).then(|| {
        format!(
            "({share} % of the context window of {} tokens is used; /context shows what uses it)",
            grouped(window)
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_old_session_no_cost_is_made_up() {
        let money = |nano_usd, incomplete| Money {
            nano_usd,
            incomplete,
        };
        for (all, subagents, own) in [
            (money(7, 0), money(3, 0), money(4, 0)),
            (money(3, 0), money(3, 0), money(0, 0)),
            // More requests of subagents are not known than turns.
            (money(0, 2), money(0, 5), Money::unknown()),
            (money(3, 1), money(3, 1), Money::unknown()),
            (money(7, 1), money(3, 1), money(4, 0)),
        ] {
            let charge = |money| Charge {
                money,
                ..Charge::default()
            };
            let found = own_part(charge(all), charge(subagents));
            assert_eq!(found.money, own, "{all:?} {subagents:?}");
        }
    }

    #[test]
    fn the_window_is_spoken_of_when_it_fills() {
        let mut marked = 0;
        let mut check = |used: u64, always: bool, expected: Option<u64>| {
            let line = fill_line(used, 1000, &mut marked, always);
            let expected = expected.map(|share| {
                format!("({share} % of the context window of 1,000 tokens is used; /context shows what uses it)")
            });
            assert_eq!(line, expected, "{used}");
        };
        check(490, false, None);
        check(510, false, Some(51));
        check(600, false, None);
        check(760, false, Some(76));
        check(400, false, None);
        check(500, false, Some(50));
        check(950, false, Some(95));
        check(2000, false, Some(200));
        check(2000, true, Some(200));
        check(1, true, Some(1));
    }
}
