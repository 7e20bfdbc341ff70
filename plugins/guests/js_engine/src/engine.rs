//! The host's side: the engine with its one program, and what of it waits.

use std::cell::{OnceCell, RefCell};

use rquickjs::function::IntoArgs;
use rquickjs::promise::PromiseState;
use rquickjs::{
    CatchResultExt, CaughtError, Context, Ctx, Function, Module, Object, Persistent, Runtime, Value,
};

use crate::api;
use crate::bindings::dunlin::tool::log::{Level, log};
use crate::bindings::exports::dunlin::tool::app_program::{Error, Guest, Progress, Settled};
use crate::error::{self, PROGRAM};
use crate::time;

/// How much of the stack calls may take before one more is a `RangeError`, of the 1 MiB that the linker gives to what C keeps in
/// memory. What is kept elsewhere grows with it, up to four times as fast, and a host ends what needs more than 512 KiB of that.
const STACK_BYTES: usize = 144 * 1024;

/// The component.
#[derive(Debug)]
pub(crate) struct Program;

/// What a program lives in.
struct Engine {
    runtime: Runtime,
    context: Context,
    /// The functions by which a call from outside enters the program.
    entries: Persistent<Object<'static>>,
}

/// A promise that was rejected, and that nobody handles so far.
struct Rejected {
    promise: Persistent<Value<'static>>,
    error: Error,
}

thread_local! {
    static ENGINE: OnceCell<Engine> = const { OnceCell::new() };
    static REJECTED: RefCell<Vec<Rejected>> = const { RefCell::new(Vec::new()) };
    static SETTLED: RefCell<Vec<Settled>> = const { RefCell::new(Vec::new()) };
}

impl Guest for Program {
    fn start(source: String) -> Result<(), Error> {
        ENGINE.with(|cell| {
            if cell.get().is_some() {
                return Err(plain("the engine runs a program already"));
            }
            let made = Engine::new().map_err(|error| plain(&error.to_string()))?;
            let engine = cell.get_or_init(|| made);
            let outcome = engine.evaluate(&source);
            engine.log_rejected();
            outcome
        })
    }

    fn invoke(call: u64, name: String, arguments: String) -> Option<Result<String, Error>> {
        let entered = with_engine(|engine| {
            engine.enter::<_, ()>("invoke", (call.to_string(), name, arguments))?;
            engine.run_jobs();
            engine.log_rejected();
            Ok(())
        });
        if let Err(error) = entered {
            return Some(Err(error));
        }
        SETTLED.with_borrow_mut(|settled| {
            let mine = settled.iter().position(|settled| settled.call == call)?;
            Some(settled.remove(mine).outcome)
        })
    }

    fn run_timers() -> Progress {
        // What was due before this began: a timer that sets itself again takes its turn with the next call.
        let next = with_engine(|engine| {
            let due: Vec<f64> = engine.enter("dueTimers", (time::steady_ms(),))?;
            for timer in due {
                if let Err(error) = engine.enter::<_, ()>("runTimer", (timer,)) {
                    report("error in a timer", &error);
                }
                engine.run_jobs();
                engine.log_rejected();
            }
            engine.enter("nextTimer", (time::steady_ms(),))
        });
        Progress {
            settled: SETTLED.take(),
            next_timer_ms: next.ok().flatten().map(|ms: f64| ms.ceil() as u64),
        }
    }
}

impl Engine {
    fn new() -> rquickjs::Result<Engine> {
        let runtime = Runtime::new()?;
        runtime.set_max_stack_size(STACK_BYTES);
        runtime.set_host_promise_rejection_tracker(Some(Box::new(
            |ctx, promise, reason, handled| {
                track(&ctx, promise, &reason, handled);
            },
        )));
        let context = Context::full(&runtime)?;
        let entries = context.with(|ctx| {
            let entries = api::install(&ctx)?;
            Ok::<_, rquickjs::Error>(Persistent::save(&ctx, entries))
        })?;
        Ok(Engine {
            runtime,
            context,
            entries,
        })
    }

    /// Runs the program from its beginning, until it waits.
    fn evaluate(&self, source: &str) -> Result<(), Error> {
        let promise = self.context.with(|ctx| {
            let promise = Module::declare(ctx.clone(), PROGRAM, source)
                .and_then(Module::eval)
                .catch(&ctx)
                .map_err(|error| caught(&ctx, error))?
                .1;
            Ok(Persistent::save(&ctx, promise))
        })?;
        self.run_jobs();
        self.context.with(|ctx| {
            let promise = promise
                .restore(&ctx)
                .map_err(|error| plain(&error.to_string()))?;
            if promise.state() != PromiseState::Rejected {
                return Ok(());
            }
            // The host is told of it by the answer, and nobody else has to be.
            forget(&ctx, promise.as_value());
            match promise.result::<Value>() {
                Some(result) => result
                    .catch(&ctx)
                    .map(|_| ())
                    .map_err(|error| caught(&ctx, error)),
                None => Ok(()),
            }
        })
    }

    /// Calls one of the entries.
    fn enter<A, R>(&self, entry: &str, arguments: A) -> Result<R, Error>
    where
        A: for<'js> IntoArgs<'js>,
        R: for<'js> rquickjs::FromJs<'js>,
    {
        self.context.with(|ctx| {
            let call = || {
                let entries = self.entries.clone().restore(&ctx)?;
                entries.get::<_, Function>(entry)?.call(arguments)
            };
            call().catch(&ctx).map_err(|error| caught(&ctx, error))
        })
    }

    /// Runs what waits for nothing, until there is no more of it.
    fn run_jobs(&self) {
        loop {
            match self.runtime.execute_pending_job() {
                Ok(true) => {}
                Ok(false) => return,
                Err(failed) => failed.0.with(|ctx| {
                    let error = error::thrown(&ctx, &ctx.catch());
                    report("error in a microtask", &error);
                }),
            }
        }
    }

    /// Logs the rejections that were not handled by the time at which nothing else was left to do.
    fn log_rejected(&self) {
        for rejected in REJECTED.take() {
            report("unhandled rejection", &rejected.error);
        }
    }
}

/// A call of a handler has come to its end.
pub(crate) fn settle(call: u64, outcome: Result<String, Error>) {
    SETTLED.with_borrow_mut(|settled| settled.push(Settled { call, outcome }));
}

fn with_engine<R>(run: impl FnOnce(&Engine) -> Result<R, Error>) -> Result<R, Error> {
    ENGINE.with(|cell| run(cell.get().ok_or_else(|| plain("no program was started"))?))
}

/// Takes notice of a rejection without a handler, or of a handler that came later.
fn track<'js>(ctx: &Ctx<'js>, promise: Value<'js>, reason: &Value<'js>, handled: bool) {
    if handled {
        forget(ctx, &promise);
        return;
    }
    let error = error::thrown(ctx, reason);
    let promise = Persistent::save(ctx, promise);
    REJECTED.with_borrow_mut(|rejected| rejected.push(Rejected { promise, error }));
}

fn forget<'js>(ctx: &Ctx<'js>, promise: &Value<'js>) {
    REJECTED.with_borrow_mut(|rejected| {
        rejected.retain(|other| {
            let other = other.promise.clone().restore(ctx);
            !other.is_ok_and(|other| other == *promise)
        });
    });
}

fn caught<'js>(ctx: &Ctx<'js>, error: CaughtError<'js>) -> Error {
    match error {
        CaughtError::Exception(exception) => {
            error::thrown(ctx, &exception.into_object().into_value())
        }
        CaughtError::Value(value) => error::thrown(ctx, &value),
        CaughtError::Error(error) => plain(&error.to_string()),
    }
}

/// An error of the engine, and not of the program.
fn plain(message: &str) -> Error {
    Error {
        message: message.to_owned(),
        kind: Some("InternalError".to_owned()),
        stack: String::new(),
        line: None,
        column: None,
    }
}

fn report(what: &str, error: &Error) {
    log(Level::Error, &format!("{what}: {}", error::in_words(error)));
}
