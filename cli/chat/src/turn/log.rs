//! The calls of a session, to be looked at again: each under the number that its line shows.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use parking_lot::Mutex;

use super::call::CallRecord;

/// How much of results is kept, in bytes, all calls together. The oldest go; the conversation has them still.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Of so many of the newest calls it is kept what they changed in files.
const MAX_EDITS: usize = 200;

/// What became of the calls of a session, by their numbers. Shared by whoever shows calls.
#[derive(Debug, Default)]
pub struct CallLog {
    records: Mutex<BTreeMap<usize, CallRecord>>,
    /// The number of the last call before the last turn.
    before_turn: AtomicUsize,
    /// The number of the last call of a session that goes on, before it went on; 0 in a new session.
    restored: AtomicUsize,
}

impl CallLog {
    /// A turn begins: its calls are those from here on.
    pub fn begin_turn(&self) {
        let last = self.numbers().map_or(0, |(_, last)| last);
        self.before_turn.store(last, Ordering::Relaxed);
    }

    /// The calls of the last turn that have changed files.
    pub fn edits_of_turn(&self) -> Vec<CallRecord> {
        let before = self.before_turn.load(Ordering::Relaxed);
        let records = self.records.lock();
        let of_turn = records.values().filter(|record| record.number > before);
        let changed = of_turn.filter(|record| !record.edits.is_empty());
        changed.cloned().collect()
    }

    /// Keeps what is known of a call under its number. What was known of it before is replaced.
    pub fn keep(&self, record: CallRecord) {
        let mut records = self.records.lock();
        records.insert(record.number, record);
        let mut room = MAX_RESULT_BYTES;
        for record in records.values_mut().rev() {
            let bytes = record.result.as_ref().map_or(0, String::len);
            if bytes > room {
                record.result = None;
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
        self.begin_turn();
        let last = self.before_turn.load(Ordering::Relaxed);
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
