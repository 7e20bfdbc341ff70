//! Makes the engine that all plugins share, and ticks its clock.
//!
//! The engine is made when the first component is needed, never at start-up.

pub(crate) mod cache;
pub(crate) mod error;
pub(crate) mod memory_limit;
pub(crate) mod time_limit;

use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;

use wasmtime::{
    Config, Engine, InstanceAllocationStrategy, OptLevel, PoolingAllocationConfig, ResourceLimiter,
    Store, UpdateDeadline, WasmBacktraceDetails,
};

use self::error::EngineError;
use crate::limits::{self, EPOCH_TICK, Limits};

/// Bytes of a memory that are kept and zeroed, rather than given back, between two calls: giving back
/// costs more than zeroing this much, and most tools touch less.
const KEEP_RESIDENT_BYTES: usize = 256 * 1024;

/// Stack for the functions of the host that a guest calls, behind what the guest may use of the same one.
const HOST_STACK_BYTES: usize = 1536 * 1024;

/// The functions that are looked at when a guest traps: the innermost ones say where it was.
const MAX_BACKTRACE_FRAMES: Option<NonZeroUsize> = NonZeroUsize::new(16);

/// The ticker goes to sleep after so many ticks without a guest, half a second, so that a program that
/// waits for its user does not wake the processor.
const IDLE_TICKS: u32 = 100;

/// The engine, made at the first need.
pub(crate) struct LazyEngine {
    pub(crate) limits: Limits,
    made: OnceLock<Result<Arc<Ticking>, EngineError>>,
}

impl LazyEngine {
    pub(crate) fn new(limits: Limits) -> LazyEngine {
        LazyEngine {
            limits,
            made: OnceLock::new(),
        }
    }

    /// The error says why there is none on this machine.
    pub(crate) fn get(&self) -> Result<&Arc<Ticking>, &EngineError> {
        let make = || Ok(Arc::new(Ticking::new(&self.limits)?));
        self.made.get_or_init(make).as_ref()
    }
}

/// The engine with its ticker, which ends with it.
#[derive(Debug)]
pub(crate) struct Ticking {
    engine: Engine,
    /// How many guests run.
    running: Arc<AtomicUsize>,
    stop: Arc<AtomicBool>,
    ticker: Option<JoinHandle<()>>,
}

impl Ticking {
    /// Makes an engine. Takes about a millisecond.
    pub(crate) fn new(limits: &Limits) -> wasmtime::Result<Ticking> {
        let engine = match Engine::new(&config(Some(limits))) {
            Ok(engine) => engine,
            // The pool reserves address space, which some systems ration (`ulimit -v`). Without it a
            // call costs some microseconds more and works the same.
            Err(_) => Engine::new(&config(None))?,
        };
        let stop = Arc::new(AtomicBool::new(false));
        let running = Arc::new(AtomicUsize::new(0));
        let ticker = {
            // Weak, so that a forgotten ticker cannot keep an engine alive.
            let (engine, stop, running) = (engine.weak(), Arc::clone(&stop), Arc::clone(&running));
            let tick = move || {
                let mut idle = 0;
                while !stop.load(Ordering::Relaxed) {
                    if idle < IDLE_TICKS {
                        std::thread::park_timeout(EPOCH_TICK);
                    } else {
                        std::thread::park();
                    }
                    idle = if running.load(Ordering::Relaxed) == 0 {
                        idle + 1
                    } else {
                        0
                    };
                    match engine.upgrade() {
                        Some(engine) => engine.increment_epoch(),
                        None => return,
                    }
                }
            };
            std::thread::Builder::new()
                .name("epoch".into())
                .spawn(tick)?
        };
        Ok(Ticking {
            engine,
            running,
            stop,
            ticker: Some(ticker),
        })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// A store within its limits.
    pub(crate) fn store<T: Send + 'static>(
        &self,
        state: T,
        limiter: fn(&mut T) -> &mut dyn ResourceLimiter,
    ) -> Store<T> {
        let mut store = Store::new(&self.engine, state);
        store.limiter(limiter);
        store.set_hostcall_fuel(limits::MAX_COPY_BYTES);
        // Give way at every tick, so that the clock and the user's Ctrl-C are seen.
        store.set_epoch_deadline(1);
        // Through the runtime, which looks after its timers and signals before it comes back; being woken
        // at once would keep them waiting for 61 ticks where this is the only task of its thread.
        store.epoch_deadline_callback(|_| {
            let turn = Box::pin(tokio::task::yield_now());
            Ok(UpdateDeadline::YieldCustom(1, turn))
        });
        store
    }

    /// Says that a guest runs. The clock ticks at least as long as the answer lives.
    pub(crate) fn running(&self) -> Running<'_> {
        // A sleeping ticker has to be woken; one that ticks anyway sees the new number by itself, and
        // waking it early costs it nothing but a tick.
        if self.running.fetch_add(1, Ordering::Relaxed) == 0
            && let Some(ticker) = &self.ticker
        {
            ticker.thread().unpark();
        }
        Running(self)
    }
}

/// A guest runs while this lives.
#[derive(Debug)]
pub(crate) struct Running<'a>(&'a Ticking);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Ticking {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(ticker) = self.ticker.take() {
            ticker.thread().unpark();
            // It only sleeps and counts; it cannot have panicked.
            let _ = ticker.join();
        }
    }
}

/// What a guest may be made of. Everything that tools do not need is off: a smaller engine has fewer
/// faults.
fn config(pool: Option<&Limits>) -> Config {
    let mut config = Config::new();
    config
        .wasm_component_model(true)
        // Turns off threads, streams and async of the component model altogether. Host functions that
        // wait are another mechanism and stay.
        .concurrency_support(false)
        .epoch_interruption(true)
        .wasm_memory64(false)
        .wasm_relaxed_simd(false)
        .wasm_custom_page_sizes(false)
        .wasm_wide_arithmetic(false)
        .max_wasm_stack(limits::MAX_STACK_BYTES)
        .async_stack_size(limits::MAX_STACK_BYTES + HOST_STACK_BYTES)
        .cranelift_opt_level(OptLevel::Speed)
        .parallel_compilation(true)
        // The functions that a trap came by, for whoever wrote them. Lines would be read from what the guest says of itself,
        // by a parser that no limit of a call holds.
        .wasm_backtrace_max_frames(MAX_BACKTRACE_FRAMES)
        .wasm_backtrace_details(WasmBacktraceDetails::Disable);
    if let Some(limits) = pool {
        let calls = limits::MAX_PARALLEL_CALLS
            + limits::MAX_BRIDGES
            + limits::MAX_SYNTAX_CHECKS
            + limits::MAX_OPEN_APPS;
        let mut pool = PoolingAllocationConfig::default();
        pool.total_component_instances(calls)
            .total_core_instances(calls * limits::MAX_INSTANCES as u32)
            .max_core_instances_per_component(limits::MAX_INSTANCES as u32)
            .total_memories(calls * 2)
            .max_memories_per_component(limits::MAX_MEMORIES as u32)
            .max_memory_size(limits.memory_bytes)
            .total_tables(calls * limits::MAX_TABLES as u32)
            .max_tables_per_component(limits::MAX_TABLES as u32)
            .table_elements(limits::MAX_TABLE_ELEMENTS)
            .total_stacks(calls)
            .linear_memory_keep_resident(KEEP_RESIDENT_BYTES)
            .async_stack_keep_resident(KEEP_RESIDENT_BYTES)
            .table_keep_resident(KEEP_RESIDENT_BYTES);
        config.allocation_strategy(InstanceAllocationStrategy::Pooling(pool));
    }
    config
}
