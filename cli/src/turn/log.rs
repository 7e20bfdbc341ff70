//! The calls of a session, to be looked at again: each under the number that its line shows.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::call::CallRecord;

/// How much of results is kept, in bytes, all calls together. The oldest go; the conversation has them still.
const MAX_RESULT_BYTES: usize = 64 * 1024 * 1024;

/// Of so many of the newest calls it is kept what they changed in files.
const MAX_EDITS: usize = 200;

/// What became of the calls of a session, in their order. Shared by whoever shows calls.
#[derive(Debug, Default)]
pub struct CallLog {
    records: Mutex<Vec<CallRecord>>,
    /// How many there were before the last turn.
    before_turn: AtomicUsize,
}

impl CallLog {
    /// A turn begins: its calls are those from here on.
    pub fn begin_turn(&self) {
        self.before_turn.store(self.count(), Ordering::Relaxed);
    }

    /// The calls of the last turn that have changed files, with their numbers.
    pub fn edits_of_turn(&self) -> Vec<(usize, CallRecord)> {
        let before = self.before_turn.load(Ordering::Relaxed);
        let records = self.records();
        let of_turn = records.iter().enumerate().skip(before);
        of_turn
            .filter(|(_, record)| !record.edits.is_empty())
            .map(|(index, record)| (index + 1, record.clone()))
            .collect()
    }

    /// How many there are. The next one has the number after it.
    pub fn count(&self) -> usize {
        self.records().len()
    }

    /// Keeps what is known of a call under its number, from 1. What was known of it before is replaced; a number
    /// beyond the next one is none.
    pub fn keep(&self, number: usize, record: CallRecord) {
        let mut records = self.records();
        let Some(index) = number
            .checked_sub(1)
            .filter(|index| *index <= records.len())
        else {
            return;
        };
        match records.get_mut(index) {
            Some(known) => *known = record,
            None => records.push(record),
        }
        let mut room = MAX_RESULT_BYTES;
        for record in records.iter_mut().rev() {
            let bytes = record.result.as_ref().map_or(0, String::len);
            if bytes > room {
                record.result = None;
            }
            room = room.saturating_sub(bytes);
        }
        // A difference holds the lines of files twice; /undo has the files.
        let kept = records.len().saturating_sub(MAX_EDITS);
        for record in records.iter_mut().take(kept) {
            record.edits = Arc::default();
        }
    }

    /// The call with this number; the last one without.
    pub fn find(&self, number: Option<usize>) -> Option<(usize, CallRecord)> {
        let records = self.records();
        let number = number.unwrap_or(records.len());
        let record = records.get(number.checked_sub(1)?)?;
        Some((number, record.clone()))
    }

    /// Begins with these: those of a session that goes on.
    pub fn restore(&self, records: Vec<CallRecord>) {
        *self.records() = records;
        self.begin_turn();
    }

    fn records(&self) -> MutexGuard<'_, Vec<CallRecord>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn record(tool: &str, bytes: usize) -> CallRecord {
        CallRecord {
            result: Some("x".repeat(bytes)),
            ..CallRecord::sample(tool, json!({}))
        }
    }

    #[test]
    fn calls_are_found_by_their_numbers() {
        let log = CallLog::default();
        assert_eq!((log.count(), log.find(None)), (0, None));
        log.keep(1, record("a", 1));
        log.keep(2, record("b", 1));
        log.keep(1, record("c", 1));
        log.keep(7, record("d", 1));
        log.keep(0, record("e", 1));
        let tool = |number| {
            log.find(number)
                .map(|(number, record)| (number, record.tool))
        };
        assert_eq!(log.count(), 2);
        assert_eq!(tool(Some(1)), Some((1, "c".to_owned())));
        assert_eq!(tool(None), Some((2, "b".to_owned())));
        assert_eq!(tool(Some(3)), None);
        assert_eq!(tool(Some(0)), None);
        log.restore(vec![record("f", 1)]);
        assert_eq!(tool(None), Some((1, "f".to_owned())));
    }

    #[test]
    fn old_results_go() {
        let log = CallLog::default();
        for number in 1..=3 {
            log.keep(number, record("a", MAX_RESULT_BYTES / 2));
        }
        let has_result = |number| log.find(Some(number)).unwrap().1.result.is_some();
        assert_eq!([1, 2, 3].map(has_result), [false, true, true]);
    }
}
