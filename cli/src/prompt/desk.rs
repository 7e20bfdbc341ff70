//! Where everything waits that the user has to decide: the calls of the turn and of its subagents, and what comes up while a
//! call runs. It is shown as one list, and answered in any order.
//!
//! Whoever waits puts its calls here and gets what was decided about them ([`Desk::add`]); [`super::approver`] shows the list
//! and reads the answers. A call that is withdrawn is gone from the list, and an answer that was being typed when the list
//! became shorter is not taken for one to what is left.

use std::sync::Arc;

use async_trait::async_trait;
use dunlin_chat::message::Message;
use dunlin_chat::turn::log::CallLog;
use dunlin_chat::turn::{Choice, Decision, Resolution};
use dunlin_host::ask::{Answer, Ask, Question, TextQuestion};
use dunlin_terminal::approval::entry::Entry;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::approval::pending::PendingApprovals;
use dunlin_terminal::approval::storing;
use dunlin_terminal::ui::{Ui, question};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, oneshot};

/// Who has put calls here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum From {
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

/// Calls that wait together.
#[derive(Debug)]
struct Slot {
    id: u64,
    from: From,
    entries: Vec<Entry>,
    resolve: oneshot::Sender<Resolution>,
}

/// The calls that wait.
#[derive(Debug, Default)]
pub struct Desk {
    state: Mutex<State>,
    changed: Notify,
}

/// What the desk holds.
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
    /// The conversation, for commands that look at it.
    pub messages: Arc<Vec<Message>>,
}

impl Desk {
    /// Puts calls here: those of a reply, or one that runs.
    fn add(&self, from: From, reply: Option<Reply>, mut entries: Vec<Entry>) -> Waits<'_> {
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
                From::Running => id as usize,
                _ => entry.number,
            };
            entry.number = state.number(reply.turn, number);
        }
        if state.slots.is_empty() && !state.replies.contains(&reply) {
            state.list += 1;
            state.replies.clear();
        }
        if !state.replies.contains(&reply) {
            state.replies.push(reply);
        }
        state.slots.push(Slot {
            id,
            from,
            entries,
            resolve,
        });
        drop(state);
        self.change();
        Waits {
            desk: self,
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

    /// Waits until something waits here.
    pub async fn waits(&self) {
        while self.state.lock().slots.is_empty() {
            self.changed.notified().await;
        }
    }

    /// Waits until something else waits here than what is shown.
    pub async fn is_outdated(&self) {
        loop {
            let state = self.state.lock();
            if state.changes != state.shown {
                return;
            }
            drop(state);
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
            has_turn |= slot.from == From::Turn;
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
                (Resolution::Run(_) | Resolution::Reconsider, From::Running) => None,
                (resolution, _) => Some(resolution.clone()),
            };
            match own {
                // Whoever waited may be gone.
                Some(own) => drop(slot.resolve.send(own)),
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

    /// Whether nothing waits.
    pub fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// What is to be shown: everything that was not shown before, and a row of what was. And whether all calls that
    /// were asked about still are.
    pub fn open(&mut self, window: Window) -> (Vec<String>, bool) {
        let entries: Vec<Entry> = self
            .slots
            .iter()
            .flat_map(|slot| slot.entries.clone())
            .collect();
        let asks = |entry: &Entry| (entry.is_asking()).then_some((entry.number, entry.revision));
        let asked: Vec<(usize, u32)> = entries.iter().filter_map(asks).collect();
        let before = self.approvals.entries().iter().filter_map(asks);
        let are_there = before.into_iter().all(|it| asked.contains(&it));
        self.shown = self.changes;
        (self.approvals.open(self.list, entries, window), are_there)
    }
}

/// Calls that wait. Dropping it withdraws them.
struct Waits<'a> {
    desk: &'a Desk,
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
        let mut state = self.desk.state.lock();
        let before = state.slots.len();
        state.slots.retain(|slot| slot.id != self.slot);
        let is_withdrawn = state.slots.len() < before;
        drop(state);
        if is_withdrawn {
            self.desk.change();
        }
    }
}

impl Desk {
    /// Waits for a decision about calls that have not begun.
    pub async fn decide(&self, reply: Reply, entries: Vec<Entry>) -> Resolution {
        let from = match entries
            .first()
            .is_some_and(|entry| entry.subagent.is_some())
        {
            true => From::Subagent,
            false => From::Turn,
        };
        self.add(from, Some(reply), entries).resolution().await
    }
}

/// Asks at the desk what comes up while a call runs.
pub struct DeskAsk {
    /// Where.
    pub desk: Arc<Desk>,
    /// Asks for texts, and says what was stored.
    pub ui: Arc<Ui>,
    /// Has the numbers of the calls.
    pub calls: Arc<CallLog>,
    /// Whose call it is, if it is a subagent's.
    pub subagent: Option<String>,
}

#[async_trait]
impl Ask for DeskAsk {
    async fn ask(&self, question: Question) -> Answer {
        let (needs, longest) = (question.needs.clone(), question.longest);
        // A call that the user made has no number.
        let index = self.calls.number_of(&question.call).unwrap_or_default();
        let entry = Entry {
            runs: true,
            subagent: self.subagent.clone(),
            ..Entry::asked(index, question)
        };
        let waits = self.desk.add(From::Running, None, vec![entry]);
        let Resolution::Decided(decisions) = waits.resolution().await else {
            return Answer::DENY;
        };
        let answer = decisions.into_iter().find_map(|it| match it.choice {
            Choice::Answer(answer) => Some(answer),
            _ => None,
        });
        let answer = answer.unwrap_or(Answer::DENY);
        for text in storing::after(&needs, answer.at_most(longest)) {
            self.ui.say_stored(&text);
        }
        answer
    }

    async fn ask_text(&self, mut text: TextQuestion) -> Option<String> {
        if let Some(subagent) = &self.subagent {
            text.tool = format!("[{subagent}] {}", text.tool);
        }
        let ui = Arc::clone(&self.ui);
        let answered = tokio::task::spawn_blocking(move || question::ask(&ui, &text)).await;
        answered.unwrap_or(None)
    }
}
