//! Where everything waits that the user has to decide: the calls of the turn and of its subagents, and what comes up while a
//! call runs. It is shown as one list, and answered in any order.
//!
//! A turn puts its calls here and gets what was decided about them; [`super::approver`] shows the list and reads the answers.
//! A call that is withdrawn is gone from the list. An answer that was being typed when the list changed counts only where it
//! names its calls by their numbers.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use dunlin_chat::message::Message;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{Choice, Decision, Resolution};
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::line::looks_like_answer;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::approval::pending::PendingApprovals;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::{Ui, question};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

/// Who has put calls here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The turn of the chat, before they run.
    Turn,
    /// A subagent, before they run.
    Subagent,
    /// A call that runs.
    Running,
}

/// A reply whose calls wait here: the turn that it is one of, which no other has, and the number of its first call there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The turn.
    pub turn: u64,
    /// The call.
    pub first: u64,
}

/// In place of a turn for a call that runs.
const NO_TURN: u64 = u64::MAX;

/// How long a turn may take to come back after a decision, where others wait. It asks nobody but the host meanwhile.
const MOMENT: Duration = Duration::from_millis(100);

/// The beginning of an answer is no longer than this, in bytes.
const LONGEST_ANSWER: usize = 16;

/// What becomes of a line that was being typed when the list changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begun {
    /// It goes on: with a number it still names its own calls, and a message is no answer.
    Stays,
    /// It is dropped: the rest of an answer without a number would be for whatever waits now.
    Dropped,
    /// It is the beginning of the next message.
    IsForLater,
}

impl Begun {
    /// What becomes of this line. `is_over`: nothing waits any more.
    pub fn of(line: &str, is_over: bool) -> Begun {
        let may_be_answer = line.len() <= LONGEST_ANSWER || looks_like_answer(line);
        if may_be_answer && !line.contains(|c: char| c.is_ascii_digit()) {
            Begun::Dropped
        } else if is_over && !line.trim().is_empty() {
            Begun::IsForLater
        } else {
            Begun::Stays
        }
    }
}

/// Calls that wait together.
#[derive(Debug)]
struct Slot {
    id: u64,
    turn: u64,
    from: Source,
    entries: Vec<Entry>,
    resolve: oneshot::Sender<Resolution>,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub struct ApprovalQueue {
    state: Mutex<State>,
    changed: Notify,
    /// Held while a line is read: whoever waits for the next one is gone with the turn.
    pub line: tokio::sync::Mutex<()>,
}

/// What the queue holds.
#[derive(Debug, Default)]
pub struct State {
    slots: Vec<Slot>,
    last_slot: u64,
    /// Which call of which turn has which number here.
    numbers: Vec<(u64, usize)>,
    /// What is shown of it.
    pub approvals: PendingApprovals,
    /// Counts the lists. One goes on until nothing waits and another reply comes.
    list: usize,
    /// The replies whose calls are or were in this one.
    replies: Vec<Reply>,
    /// Counts the changes, and how many of them are shown.
    changes: u64,
    shown: u64,
    /// The turns that have got a decision and may come back with what is still open.
    decided: Vec<u64>,
    /// The conversation, for commands that look at it.
    pub messages: Arc<Vec<Message>>,
}

impl ApprovalQueue {
    /// Puts calls here: those of a reply, or one that runs.
    fn add(&self, from: Source, reply: Option<Reply>, mut entries: Vec<Entry>) -> Waits<'_> {
        let (resolve, resolved) = oneshot::channel();
        let mut state = self.state.lock();
        state.last_slot += 1;
        let id = state.last_slot;
        let reply = reply.unwrap_or(Reply {
            turn: NO_TURN,
            first: id,
        });
        for entry in &mut entries {
            let number = match from {
                Source::Running => id as usize,
                _ => entry.number,
            };
            entry.number = state.number(reply.turn, number);
        }
        state.decided.retain(|turn| *turn != reply.turn);
        if state.slots.is_empty() && !state.replies.contains(&reply) {
            state.list += 1;
            state.replies.clear();
        }
        if !state.replies.contains(&reply) {
            state.replies.push(reply);
        }
        state.slots.push(Slot {
            id,
            turn: reply.turn,
            from,
            entries,
            resolve,
        });
        drop(state);
        self.change();
        Waits {
            queue: self,
            slot: id,
            resolved,
        }
    }

    fn change(&self) {
        self.state.lock().changes += 1;
        self.changed.notify_one();
    }

    /// The list, for as long as it is looked at.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    /// Waits until something waits here. A turn that has got a decision may come back at once with what is still open: it
    /// is waited for, for a moment, so that the list is shown once.
    pub async fn waits(&self) {
        let came_back = async {
            while !self.state.lock().decided.is_empty() {
                self.changed.notified().await;
            }
        };
        let _ = tokio::time::timeout(MOMENT, came_back).await;
        self.state.lock().decided.clear();
        while self.state.lock().slots.is_empty() {
            self.changed.notified().await;
        }
    }

    /// Waits until something else waits here than what is shown.
    pub async fn is_outdated(&self) {
        while !self.state.lock().is_outdated() {
            self.changed.notified().await;
        }
    }

    /// Passes on what was decided. `false`: it ends the turn, and the turn itself did not wait here.
    pub fn resolve(&self, resolution: &Resolution) -> bool {
        let mut state = self.state.lock();
        let numbers = std::mem::take(&mut state.numbers);
        let mut has_turn = false;
        let mut kept = Vec::new();
        for slot in std::mem::take(&mut state.slots) {
            has_turn |= slot.from == Source::Turn;
            let own = match (resolution, slot.from) {
                (Resolution::Decided(decisions), _) => {
                    let is_own =
                        |it: &&Decision| slot.entries.iter().any(|entry| entry.number == it.number);
                    let own = decisions.iter().filter(is_own).map(|decision| Decision {
                        number: numbers
                            .get(decision.number)
                            .map_or(usize::MAX, |(_, number)| *number),
                        ..decision.clone()
                    });
                    let own: Vec<Decision> = own.collect();
                    (!own.is_empty()).then_some(Resolution::Decided(own))
                }
                (Resolution::Run(_) | Resolution::Reconsider, Source::Running) => None,
                (resolution, _) => Some(resolution.clone()),
            };
            match own {
                // Whoever waited may be gone.
                Some(own) => {
                    if slot.from != Source::Running {
                        state.decided.push(slot.turn);
                    }
                    drop(slot.resolve.send(own));
                }
                None => kept.push(slot),
            }
        }
        state.slots = kept;
        state.numbers = numbers;
        drop(state);
        self.change();
        *resolution != Resolution::Stop || has_turn
    }
}

impl State {
    /// The number of a call here.
    fn number(&mut self, turn: u64, number: usize) -> usize {
        let known = self.numbers.iter().position(|it| *it == (turn, number));
        known.unwrap_or_else(|| {
            self.numbers.push((turn, number));
            self.numbers.len() - 1
        })
    }

    /// Whether something else waits than what is shown.
    pub fn is_outdated(&self) -> bool {
        self.changes != self.shown
    }

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What is to be shown: everything that was not shown before, and a row of what was.
    pub fn open(&mut self, window: Window) -> Vec<String> {
        let slots = self.slots.iter();
        let entries = slots.flat_map(|slot| slot.entries.clone()).collect();
        self.shown = self.changes;
        self.approvals.open(self.list, entries, window)
    }
}

/// Calls that wait. Dropping it withdraws them.
struct Waits<'a> {
    queue: &'a ApprovalQueue,
    slot: u64,
    resolved: oneshot::Receiver<Resolution>,
}

impl Waits<'_> {
    async fn resolution(mut self) -> Resolution {
        // Without an answer there will be none.
        (&mut self.resolved).await.unwrap_or(Resolution::Stop)
    }
}

impl Drop for Waits<'_> {
    fn drop(&mut self) {
        let mut state = self.queue.state.lock();
        let before = state.slots.len();
        state.slots.retain(|slot| slot.id != self.slot);
        let is_withdrawn = state.slots.len() < before;
        drop(state);
        if is_withdrawn {
            self.queue.change();
        }
    }
}

impl ApprovalQueue {
    /// Waits for a decision about calls that have not begun.
    pub async fn decide(&self, reply: Reply, entries: Vec<Entry>) -> Resolution {
        let from = match entries
            .first()
            .is_some_and(|entry| entry.subagent.is_some())
        {
            true => Source::Subagent,
            false => Source::Turn,
        };
        self.add(from, Some(reply), entries).resolution().await
    }
}

/// Asks what comes up while a call runs, in the queue with everything else.
pub struct QueueAsk {
    /// Where.
    pub queue: Arc<ApprovalQueue>,
    /// Asks for texts, and says what was stored.
    pub ui: Arc<Ui>,
    /// Has the numbers of the calls.
    pub calls: Arc<CallLog>,
    /// Whose call it is, if it is a subagent's.
    pub subagent: Option<String>,
}

#[async_trait]
impl Ask for QueueAsk {
    async fn ask(&self, question: Question) -> Answer {
        let asked = question.clone();
        // A call that the user made has no number.
        let index = self.calls.number_of(&question.call).unwrap_or_default();
        let entry = Entry {
            runs: true,
            subagent: self.subagent.clone(),
            ..Entry::asked(index, question)
        };
        let waits = self.queue.add(Source::Running, None, vec![entry]);
        let Resolution::Decided(decisions) = waits.resolution().await else {
            return Answer::DENY;
        };
        let answer = decisions.into_iter().find_map(|it| match it.choice {
            Choice::Answer(answer) => Some(answer),
            _ => None,
        });
        let answer = answer.unwrap_or(Answer::DENY);
        for text in storing::after(&asked, answer) {
            self.ui.say_stored(&text);
        }
        answer
    }

    async fn ask_text(&self, mut text: TextQuestion) -> Option<String> {
        if let Some(subagent) = &self.subagent {
            text.tool = format!("[{subagent}] {}", text.tool);
        }
        let _line = self.queue.line.lock().await;
        let ui = Arc::clone(&self.ui);
        let answered = tokio::task::spawn_blocking(move || question::ask(&ui, &text)).await;
        answered.unwrap_or(None)
    }
}

#[cfg(test)]
#[path = "approval_queue_tests.rs"]
mod tests;
