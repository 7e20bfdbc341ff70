//! `wasi:clocks`: the time of day and the time that passes, both in whole milliseconds. A tool has no use for more,
//! and a finer clock measures what else the machine is doing.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use wasmtime::component::Resource;
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::{DynPollable, Pollable, subscribe};

use super::bindings::wasi::clocks::{monotonic_clock, wall_clock};
use crate::capability::context::{Phase, View};
use crate::capability::wasi::machine::Machine;

/// How fine the clocks are.
const RESOLUTION: Duration = Duration::from_millis(1);

/// The longest wait that is kept as such; the call ends long before.
const LONGEST_WAIT: Duration = Duration::from_secs(24 * 60 * 60);

impl wall_clock::Host for View<'_, Machine> {
    fn now(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        let now = match self.phase {
            Phase::Describe => Duration::ZERO,
            Phase::Prepare | Phase::Run => SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .unwrap_or_default(),
        };
        Ok(wall_clock::Datetime {
            seconds: now.as_secs(),
            nanoseconds: now.subsec_millis() * 1_000_000,
        })
    }

    fn resolution(&mut self) -> wasmtime::Result<wall_clock::Datetime> {
        Ok(wall_clock::Datetime {
            seconds: RESOLUTION.as_secs(),
            nanoseconds: RESOLUTION.subsec_nanos(),
        })
    }
}

impl monotonic_clock::Host for View<'_, Machine> {
    fn now(&mut self) -> wasmtime::Result<u64> {
        let passed = match self.phase {
            Phase::Describe => Duration::ZERO,
            Phase::Prepare | Phase::Run => self.own.since.elapsed(),
        };
        // A call never lasts so long that it would not fit.
        let millis = u64::try_from(passed.as_millis()).unwrap_or(u64::MAX);
        Ok(millis.saturating_mul(1_000_000))
    }

    fn resolution(&mut self) -> wasmtime::Result<u64> {
        Ok(u64::from(RESOLUTION.subsec_nanos()))
    }

    fn subscribe_instant(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        let passed = self.own.since.elapsed();
        self.wait(Duration::from_nanos(when).saturating_sub(passed))
    }

    fn subscribe_duration(&mut self, when: u64) -> wasmtime::Result<Resource<DynPollable>> {
        self.wait(Duration::from_nanos(when))
    }
}

impl View<'_, Machine> {
    fn wait(&mut self, duration: Duration) -> wasmtime::Result<Resource<DynPollable>> {
        let until = Instant::now() + duration.min(LONGEST_WAIT);
        let wait = self.handles.table.push(Wait { until })?;
        subscribe(&mut self.context.handles.table, wait)
    }
}

struct Wait {
    until: Instant,
}

#[async_trait]
impl Pollable for Wait {
    async fn ready(&mut self) {
        tokio::time::sleep_until(self.until).await;
    }
}
