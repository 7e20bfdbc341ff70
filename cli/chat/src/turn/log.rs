//! The calls of a session, to be looked at again: each under the number that its line shows.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::call::{CallRecord, CallState};

/// How much of results is kept, in bytes, all calls together. The oldest go; the conversation has them still.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Of so many of the newest calls it is kept what they changed in files.
const MAX_EDITS: usize = 200;

/// A turn of this process.
#[derive(Debug, Clone, Copy)]
struct Turn {
    /// The number of the last call before it.
    before: usize,
    /// The number by which the host knows its edits.
    number: u64,
    /// Whether it is no part of the conversation any more.
    is_dropped: bool,
}

/// What was changed in files in a turn.
#[derive(Debug)]
pub struct LastEdits {
    /// How many turns ago that was; 0: in the last one.
    pub ago: usize,
    /// The calls that changed something. Empty: it was taken back.
    pub calls: Vec<CallRecord>,
}

/// What became of the calls of a session, by their numbers. Shared by whoever shows calls.
#[derive(Debug, Default)]
pub struct CallLog {
    records: Mutex<BTreeMap<usize, CallRecord>>,
    turns: Mutex<Vec<Turn>>,
    /// The calls whose edits were taken back.
    taken_back: Mutex<BTreeSet<usize>>,
    /// The number of the last call of a session that goes on, before it went on; 0 in a new session.
    restored: AtomicUsize,
}

impl CallLog {
    /// A turn begins: its calls are those from here on. `turn` is the number by which the host knows its edits.
    pub fn begin_turn(&self, turn: u64) {
        let last = self.numbers().map_or(0, |(_, last)| last);
        self.turns.lock().push(Turn {
            before: last,
            number: turn,
            is_dropped: false,
        });
    }

    /// The conversation went back to before a turn, by its number: the last turn is the one before it.
    pub fn drop_since(&self, turn: u64) {
        let mut turns = self.turns.lock();
        let dropped = turns.iter_mut().filter(|it| it.number >= turn);
        dropped.for_each(|it| it.is_dropped = true);
    }

    /// The last turn in which files were changed.
    pub fn last_edits(&self) -> Option<LastEdits> {
        let turns = self.turns.lock();
        let records = self.records.lock();
        let taken_back = self.taken_back.lock();
        let mut end = usize::MAX;
        let mut ago = 0;
        // Calls that were made before any turn are one.
        let before = Turn {
            before: 0,
            number: 0,
            is_dropped: false,
        };
        for turn in turns.iter().rev().chain([&before]) {
            let first = turn.before.saturating_add(1);
            let of_turn = first..end.max(first);
            end = first;
            if turn.is_dropped {
                continue;
            }
            let is_taken_back = taken_back.range(of_turn.clone()).next().is_some();
            let calls = records.range(of_turn).map(|(_, record)| record);
            let calls: Vec<CallRecord> = calls
                .filter(|record| !record.edits.is_empty())
                .cloned()
                .collect();
            if is_taken_back || !calls.is_empty() {
                return Some(LastEdits { ago, calls });
            }
            ago += 1;
        }
        None
    }

    /// The edits of these turns were taken back: there is no difference any more.
    pub fn take_back(&self, taken: &[u64]) {
        let turns = self.turns.lock();
        let mut taken_back = self.taken_back.lock();
        for record in self.records.lock().values_mut() {
            let mut before = turns.iter().rev();
            let of = before.find(|turn| record.number > turn.before);
            if of.is_some_and(|turn| taken.contains(&turn.number)) && !record.edits.is_empty() {
                record.edits = Arc::default();
                taken_back.insert(record.number);
            }
        }
    }

    /// Whether the edits of a call were taken back.
    pub fn is_taken_back(&self, number: usize) -> bool {
        self.taken_back.lock().contains(&number)
    }

    /// How many calls of a tool have run since the one with this number, that one included.
    pub fn count_since(&self, number: usize, tool: &str) -> usize {
        let records = self.records.lock();
        let since = records.range(number..).map(|(_, record)| record);
        let ran = since.filter(|it| {
            it.tool == tool && matches!(it.state, CallState::Completed | CallState::Failed)
        });
        ran.count()
    }

    /// Keeps what is known of a call under its number. What was known of it before is replaced.
    pub fn keep(&self, record: CallRecord) {
        let mut records = self.records.lock();
        records.insert(record.number, record);
        let mut room = MAX_RESULT_BYTES;
        for record in records.values_mut().rev() {
            let media: usize = record.media.iter().map(|it| it.base64().len()).sum();
            let bytes = media + record.result.as_ref().map_or(0, String::len);
            if bytes > room {
                record.result = None;
                record.media = Vec::new();
            }
            room = room.saturating_sub(bytes);
        }
        // A difference holds the lines of files twice; /undo has the files.
        let kept = records.len().saturating_sub(MAX_EDITS);
        for record in records.values_mut().take(kept) {
            record.edits = Arc::default();
        }
    }

    /// The call with this number; the last one without.
    pub fn find(&self, number: Option<usize>) -> Option<CallRecord> {
        let records = self.records.lock();
        let found = match number {
            Some(number) => records.get(&number),
            None => records.values().next_back(),
        };
        found.cloned()
    }

    /// Whether a call was made before the session went on: what it changed in files is not known any more.
    pub fn is_restored(&self, number: usize) -> bool {
        number <= self.restored.load(Ordering::Relaxed)
    }

    /// The number of the call with this id.
    pub fn number_of(&self, id: &str) -> Option<usize> {
        let records = self.records.lock();
        let mut latest = records.values().rev();
        latest
            .find(|record| record.id == id)
            .map(|record| record.number)
    }

    /// The numbers of the first and the last call; `None`: there is no call.
    pub fn numbers(&self) -> Option<(usize, usize)> {
        let records = self.records.lock();
        Some((*records.keys().next()?, *records.keys().next_back()?))
    }

    /// Begins with these: those of a session that goes on.
    pub fn restore(&self, records: Vec<CallRecord>) {
        let records = records.into_iter().map(|record| (record.number, record));
        *self.records.lock() = records.collect();
        self.taken_back.lock().clear();
        let last = self.numbers().map_or(0, |(_, last)| last);
        *self.turns.lock() = vec![Turn {
            before: last,
            number: 0,
            is_dropped: false,
        }];
        self.restored.store(last, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(number: usize, tool: &str, bytes: usize) -> CallRecord {
        CallRecord {
            number,
            result: Some("x".repeat(bytes)),
            ..CallRecord::sample(tool, json!({}))
        }
    }

    #[test]
    fn calls_are_found_by_their_numbers() {
        let log = CallLog::default();
        assert_eq!((log.numbers(), log.find(None)), (None, None));
        for (number, tool) in [(1, "a"), (2, "b"), (1, "c"), (7, "d")] {
            log.keep(record(number, tool, 1));
        }
        let tool = |number| log.find(number).map(|record| record.tool);
        assert_eq!(log.numbers(), Some((1, 7)));
        assert_eq!(tool(Some(1)), Some("c".to_owned()));
        assert_eq!(tool(None), Some("d".to_owned()));
        assert_eq!(tool(Some(3)), None);
        assert_eq!(tool(Some(0)), None);
        log.restore(vec![record(4, "f", 1)]);
        assert_eq!(tool(None), Some("f".to_owned()));
        assert_eq!(tool(Some(1)), None);
        assert_eq!((log.number_of("1"), log.number_of("2")), (Some(4), None));
    }

    #[test]
    fn old_results_go() {
        let log = CallLog::default();
        for number in 1..=3 {
            log.keep(record(number, "a", MAX_RESULT_BYTES / 2));
        }
        let has_result = |number| log.find(Some(number)).unwrap().result.is_some();
        assert_eq!([1, 2, 3].map(has_result), [false, true, true]);
    }
}
