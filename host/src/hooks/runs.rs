//! What there is to say of a hook that runs, and of one that ran.

use std::pin::pin;
use std::time::Duration;

use tokio::sync::watch;

use super::hook::Hook;
use crate::Progress;

/// What is quicker than this is not waited for.
const MOMENT: Duration = Duration::from_millis(400);

/// How often a hook has run in this process, and how that ended the last time.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Runs {
    /// How often it began.
    pub count: u64,
    /// How it ended the last time; `None`: it has not, it was interrupted or runs at this moment.
    pub last: Option<Ran>,
}

/// How a hook ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ran {
    /// It denied nothing, and did not fail.
    Well,
    /// It denied the call.
    Denied,
    /// It failed, and why.
    Failed(String),
}

/// A hook that takes longer than a moment while no call runs.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Slow {
    /// The id of the call that it is asked about; `None`: the turn is over.
    pub call: Option<String>,
    /// The hook, in words; `None`: it has ended.
    pub hook: Option<String>,
}

/// Who is told of a hook that takes longer than a moment.
#[derive(Clone, Copy)]
pub(super) enum Told<'a> {
    /// Whoever shows the call with this id, which runs.
    Call(&'a dyn Progress, &'a str),
    /// Whoever listens to [`Host::slow_hooks`](crate::Host::slow_hooks).
    Listeners(Option<&'a str>),
}

/// Tells listeners of hooks that take longer than a moment.
#[derive(Default)]
pub(super) struct SlowHooks(watch::Sender<Slow>);

impl SlowHooks {
    pub(super) fn subscribe(&self) -> watch::Receiver<Slow> {
        self.0.subscribe()
    }

    /// Waits for a hook, and tells of it once that takes longer than a moment.
    pub(super) async fn telling<T>(
        &self,
        hook: &Hook,
        told: Told<'_>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        if let Ok(done) = tokio::time::timeout(MOMENT, work.as_mut()).await {
            return done;
        }
        let what = format!("the hook `{}`", hook.name());
        match told {
            Told::Call(progress, call) => {
                progress.hook(call, Some(&what));
                let done = work.await;
                progress.hook(call, None);
                done
            }
            Told::Listeners(call) => {
                let call = call.map(str::to_owned);
                let hook = Some(what);
                self.0.send_replace(Slow {
                    call: call.clone(),
                    hook,
                });
                let done = work.await;
                self.0.send_replace(Slow { call, hook: None });
                done
            }
        }
    }
}
