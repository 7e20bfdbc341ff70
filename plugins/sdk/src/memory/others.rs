//! The small interfaces of a mocked host, each with the names that the contract has for it.

pub mod background {
    pub fn run_again(_arguments: &str) {}
}

pub mod chat {
    use crate::memory::{Result, in_run, unsupported};

    pub fn progress(_message: &str, _percent: Option<u8>) {}

    pub fn ask(question: &str, _options: &[String]) -> Result<String> {
        in_run(|state| {
            state.questions.push(question.to_owned());
            match state.replies.pop_front() {
                Some(reply) => Ok(reply),
                None => unsupported("nobody is there, see MockHost::reply"),
            }
        })
    }
}

pub mod clock {
    use std::time::SystemTime;

    use crate::memory::current;

    pub fn now_ms() -> u64 {
        let stopped = current(|state| state.time_ms).flatten();
        stopped.unwrap_or_else(|| {
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
            now.map_or(0, |time| {
                u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
            })
        })
    }

    pub fn utc_offset_minutes(_at_ms: u64) -> i32 {
        current(|state| state.utc_offset_minutes).unwrap_or(0)
    }
}

pub mod log {
    pub use crate::bindings::dunlin::tool::log::Level;

    /// The harness of the tests shows it where one fails.
    #[expect(clippy::print_stdout, reason = "a unit test has no other log")]
    pub fn log(level: Level, message: &str) {
        let level = match level {
            Level::Debug => "debug",
            Level::Info => "info",
            Level::Warn => "warn",
            Level::Error => "error",
        };
        println!("{level}: {message}");
    }
}

pub mod random {
    use crate::memory::current;

    /// The same in each test.
    pub fn bytes(count: u32) -> Vec<u8> {
        let next = |state: &mut u8| {
            *state = state.wrapping_add(1);
            *state
        };
        current(|state| (0..count).map(|_| next(&mut state.random)).collect()).unwrap_or_default()
    }
}

pub mod settings {
    use crate::memory::{Result, anywhere};

    pub fn get() -> Result<String> {
        anywhere(|state| Ok(serde_json::Value::Object(state.settings.clone()).to_string()))
    }
}

pub mod store {
    pub use crate::bindings::dunlin::tool::store::Entry;
    use crate::memory::{Result, in_run};

    pub fn get(name: &str) -> Result<Option<Vec<u8>>> {
        in_run(|state| Ok(state.store.get(name).cloned()))
    }

    pub fn put(name: &str, bytes: &[u8]) -> Result<()> {
        in_run(|state| {
            state.store.insert(name.to_owned(), bytes.to_vec());
            Ok(())
        })
    }

    pub fn remove(name: &str) -> Result<()> {
        in_run(|state| {
            state.store.remove(name);
            Ok(())
        })
    }

    pub fn entries() -> Result<Vec<Entry>> {
        in_run(|state| {
            let entries = state.store.iter().map(|(name, bytes)| Entry {
                name: name.clone(),
                size_bytes: bytes.len() as u64,
            });
            Ok(entries.collect())
        })
    }
}
