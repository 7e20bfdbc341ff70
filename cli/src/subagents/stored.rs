//! What is kept of the subagents of a session: a session of its own for each, with the call that it was for in the first line
//! and how it ended in the last ones. Lists read no more than these.

use std::time::Duration;

use dunlin_chat::price::Charge;
use dunlin_chat::session::record::{Speaker, SubagentEntry};
use dunlin_chat::session::{Entry, Store};
use dunlin_chat::turn::CallRecord;
use dunlin_host::display::shorten;
use dunlin_host::subagent::SubagentEnd;
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::{Live, MAX_OF_TURN, Origin, Subagent, named};

/// How much is kept of why one ended, in characters: with the lines around it, it has to fit into what lists read.
const MAX_WHY_CHARS: usize = 200;

/// Why one is over whose file does not tell.
const INTERRUPTED: &str = "interrupted with Dunlin";

/// All whose sessions are kept here, by their numbers.
pub fn all(store: &Store) -> Vec<Subagent> {
    let entries = store.entries(true).into_iter();
    let mut all: Vec<Subagent> = entries.filter_map(subagent).collect();
    all.sort_unstable_by_key(|it| it.number);
    all
}

/// The one with this number.
pub fn find(store: &Store, number: u64) -> Option<Subagent> {
    let mut entries = store.entries(true).into_iter();
    let entry = entries.find(|entry| entry.id == number.to_string())?;
    subagent(entry)
}

/// The one that ran for the call with this id.
pub fn of_call(store: &Store, call: &str) -> Option<Subagent> {
    all(store).into_iter().rev().find(|it| it.call == call)
}

/// The highest number that a call of theirs has had, and the calls of the last ones: so many run in a turn. Those of sessions
/// that cannot be read are not known.
pub fn calls(store: &Store) -> (usize, Vec<CallRecord>) {
    let newest = store.entries(true).into_iter().take(MAX_OF_TURN);
    let loaded = newest.filter_map(|entry| entry.load().ok());
    loaded.fold((0, Vec::new()), |(last, mut calls), loaded| {
        calls.extend(loaded.records());
        (last.max(loaded.last_call), calls)
    })
}

fn subagent(entry: Entry) -> Option<Subagent> {
    // A number that nobody can have got to was given by somebody else, and no number is left behind it.
    let number = u64::from(entry.id.parse::<u32>().ok()?);
    let summary = entry.summary();
    let speaker = Speaker {
        agent: summary.agent,
        model: summary.model,
    };
    let begun = summary.begun.map(|it| it.as_millisecond());
    let begun_at = begun.and_then(|it| u64::try_from(it).ok());
    Some(Subagent {
        number,
        name: named(&speaker, number),
        call: summary.call.unwrap_or_default(),
        task: summary.title,
        speaker,
        origin: Origin::Stored(entry),
        stop: CancellationToken::new(),
        live: Mutex::new(Live {
            begun_at: begun_at.unwrap_or_default(),
            ..live(summary.subagent)
        }),
    })
}

fn live(ended: Option<SubagentEntry>) -> Live {
    let interrupted = || SubagentEnd::Failed(INTERRUPTED.to_owned());
    let Some(ended) = ended else {
        return Live {
            end: Some(interrupted()),
            activity: String::new(),
            ..Live::begin()
        };
    };
    let end = SubagentEnd::of(&ended.end, ended.why.unwrap_or_default());
    Live {
        end: Some(end.unwrap_or_else(interrupted)),
        activity: String::new(),
        calls: ended.calls,
        rounds: ended.rounds,
        charge: Charge {
            usage: ended.usage,
            money: ended.money,
        },
        logged: ended.last_request,
        duration: Some(Duration::from_millis(ended.duration_ms)),
        ..Live::begin()
    }
}

impl Live {
    /// What is kept of it once it is over.
    pub fn entry(&self) -> SubagentEntry {
        let end = self.end.as_ref().unwrap_or(&SubagentEnd::Stopped);
        let why = end.details();
        SubagentEntry {
            end: end.word().to_owned(),
            why: why.map(|why| shorten(why, MAX_WHY_CHARS).into_owned()),
            calls: self.calls,
            rounds: self.rounds,
            usage: self.charge.usage,
            money: self.charge.money,
            duration_ms: u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX),
            last_request: self.sent,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use dunlin_chat::message::Conversation;
    use dunlin_chat::session::Session;
    use dunlin_chat::turn::Journal;

    use super::*;
    use crate::subagents::{MAX_LISTED, Roster};

    fn store() -> (tempfile::TempDir, Store) {
        let data = tempfile::tempdir().unwrap();
        let store = Store::new(data.path(), Path::new("/shore"));
        let store = store.of_subagents("k7mq2x9d");
        (data, store)
    }

    /// A subagent that was asked something, and ended like that; `None`: Dunlin was killed.
    fn keep(store: &Store, id: &str, end: Option<SubagentEnd>) {
        let speaker = Speaker {
            agent: "research".to_owned(),
            model: "small".to_owned(),
        };
        let session = Session::fresh(store, id, speaker).for_call(&format!("call_{id}"));
        let mut conversation = Conversation::new();
        conversation.push_user(format!("Task {id}"));
        session.keep(&conversation, &[]);
        session.turn_ended(&conversation, Charge::default());
        if end.is_some() {
            let live = Live {
                end,
                calls: 4,
                rounds: 3,
                sent: Some(9),
                duration: Some(Duration::from_millis(1_234)),
                ..Live::begin()
            };
            session.subagent_ended(live.entry());
        }
    }

    #[test]
    fn what_one_came_to_is_known_again() {
        let (_data, store) = store();
        let long = "no such luck ".repeat(1_000);
        keep(&store, "2", Some(SubagentEnd::Failed(long)));
        keep(&store, "10", None);
        keep(&store, "1", Some(SubagentEnd::Answered));
        keep(&store, "99999999999", Some(SubagentEnd::Answered));
        keep(&store, "notes", Some(SubagentEnd::Answered));
        let all = all(&store);
        let names: Vec<&str> = all.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names, ["research 1", "research 2", "research 10"]);
        let figures = all[0].row().figures();
        assert_eq!(figures, "4 calls · 0 tokens · 1.2 s");
        assert_eq!(all[0].live().logged, Some(9));
        assert!(all[0].live().begun_at > 0);
        assert!(all[1].row().state.starts_with("no such luck"));
        assert_eq!(all[2].row().state, INTERRUPTED);
        assert_eq!(all[2].row().figures(), "", "they are not known");
        assert_eq!(all[0].messages().unwrap()[0].content, "Task 1");
        let number = |call: &str| of_call(&store, call).map(|it| it.number);
        assert_eq!((number("call_2"), number("call_7")), (Some(2), None));
        assert_eq!(find(&store, 10).map(|it| it.number), Some(10));
        assert!(find(&store, 3).is_none());
    }

    #[test]
    fn the_last_ones_are_listed_and_the_next_number_is_new() {
        let (_data, store) = store();
        for number in 1..=12 {
            keep(&store, &number.to_string(), Some(SubagentEnd::Stopped));
        }
        let roster = Roster::default();
        roster.restore(all(&store));
        let numbers: Vec<u64> = roster.all().iter().map(|it| it.number).collect();
        assert_eq!(numbers.len(), MAX_LISTED);
        assert_eq!((numbers[0], numbers[MAX_LISTED - 1]), (3, 12));
        assert_eq!(roster.state.lock().last, 12);
    }

    #[test]
    fn a_damaged_file_makes_no_subagent_answer() {
        let (_data, store) = store();
        keep(&store, "1", Some(SubagentEnd::Answered));
        let path = store.entry("1").path;
        let text = std::fs::read_to_string(&path).unwrap();
        std::fs::write(&path, text.replace("answered", "sung")).unwrap();
        assert_eq!(all(&store)[0].row().state, INTERRUPTED);
        std::fs::write(&path, "\0\0").unwrap();
        assert_eq!(all(&store)[0].row().state, INTERRUPTED);
        assert_eq!(all(&store)[0].name, "subagent 1");
        assert!(all(&store)[0].messages().is_err());
    }
}
