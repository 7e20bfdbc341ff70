//! Questions that come up while a call runs: about a use that the tool did not declare, and in words.
//!
//! They are asked at once and hold up the call. What is asked before a call runs waits instead, see
//! [`Approver`](dunlin_chat::turn::Approver); it looks alike and takes the same answers.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};

use super::pager::Pager;
use super::{Typed, Ui, question};
use crate::approval::entry::Entry;
use crate::approval::look::fits;
use crate::approval::pending::{PendingApprovals, Reply};
use crate::approval::storing;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{Choice, Resolution};

/// Asks at the terminal.
#[derive(Debug, Clone)]
pub struct TerminalAsk {
    ui: Arc<Ui>,
    calls: Arc<CallLog>,
    pager: Option<Pager>,
}

impl TerminalAsk {
    /// Asks with this object, which must be on a terminal ([`Ui::can_ask`]). `calls` has the numbers of the calls, and `pager`
    /// shows what is longer than the window; without one it is printed.
    pub fn new(ui: Arc<Ui>, calls: Arc<CallLog>, pager: Option<Pager>) -> TerminalAsk {
        TerminalAsk { ui, calls, pager }
    }
}

#[async_trait]
impl Ask for TerminalAsk {
    /// Dropping the future withdraws the question as far as the host is concerned; the line on the
    /// screen then answers nothing any more.
    async fn ask(&self, question: Question) -> Answer {
        let ui = Arc::clone(&self.ui);
        // A call that the user made has no number.
        let number = self.calls.number_of(&question.call).unwrap_or_default();
        let entry = Entry {
            runs: true,
            ..Entry::asked(number, question)
        };
        let pager = self.pager.clone();
        let answered = tokio::task::spawn_blocking(move || converse(&ui, entry, pager.as_ref()));
        let answered = answered.await;
        // A panic while asking is a no.
        answered.unwrap_or(Answer::DENY)
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        let ui = Arc::clone(&self.ui);
        let answered = tokio::task::spawn_blocking(move || question::ask(&ui, &question)).await;
        answered.unwrap_or(None)
    }
}

fn converse(ui: &Ui, entry: Entry, pager: Option<&Pager>) -> Answer {
    let mut approvals = PendingApprovals::default();
    let question = entry.question.clone();
    let mut rows = approvals.open(0, vec![entry], ui.window());
    loop {
        let line = match ui.ask_line(&rows.join("\n"), approvals.prompt()) {
            Typed::Line(line) => line,
            Typed::Interrupted | Typed::End | Typed::Woken => {
                ui.interrupt_turn();
                return Answer::DENY;
            }
        };
        let window = ui.window();
        let reply = match approvals.answer(&line, window) {
            Reply::Resolve(_, Resolution::Decided(decisions)) => {
                let answer = decisions
                    .into_iter()
                    .find_map(|decision| match decision.choice {
                        Choice::Answer(answer) => Some(answer),
                        _ => None,
                    });
                let answer = answer.unwrap_or(Answer::DENY);
                for text in storing::after(&question, answer) {
                    ui.say_stored(&text);
                }
                return answer;
            }
            Reply::Say(rows) => Reply::Say(rows),
            Reply::View(mut rows, _) => {
                if !fits(&rows, window) && pager.is_some_and(|pager| pager.show(ui, &rows).is_ok())
                {
                    rows.clear();
                }
                rows.push(approvals.key(window));
                Reply::Say(rows)
            }
            Reply::Keep(rows) => {
                ui.keep_for_later(&line);
                Reply::Say(rows)
            }
            Reply::Slash | Reply::Tools(..) => approvals.say(
                ["Dunlin takes no commands at this question: answer it first.".to_owned()],
                window,
            ),
            Reply::Edit(_) => approvals.say(
                ["The arguments of this call can't be edited.".to_owned()],
                window,
            ),
            Reply::Resolve(..) => approvals.say([], window),
        };
        if let Reply::Say(next) = reply {
            rows = next;
        }
    }
}
