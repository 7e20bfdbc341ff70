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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Slow {
    /// The id of the call that it is asked about; `None`: the turn is over.
    pub call: Option<String>,
    /// The hook, in words.
    pub hook: String,
}

/// Who is notified of a hook that takes longer than a moment.
#[derive(Clone, Copy)]
pub(super) enum SlowHookListener<'a> {
    /// Whoever shows the call with this id, which runs.
    Call(&'a dyn Progress, &'a str),
    /// Whoever listens to [`Host::slow_hooks`](crate::Host::slow_hooks).
    Listeners(Option<&'a str>),
}

/// Tells listeners of hooks that take longer than a moment: all that run at this moment, the latest last.
#[derive(Default)]
pub(super) struct SlowHooks(watch::Sender<Vec<Slow>>);

impl SlowHooks {
    pub(super) fn subscribe(&self) -> watch::Receiver<Vec<Slow>> {
        self.0.subscribe()
    }

    /// Waits for a hook, and tells of it once that takes longer than a moment.
    pub(super) async fn notifying<T>(
        &self,
        hook: &Hook,
        listener: SlowHookListener<'_>,
        work: impl Future<Output = T>,
    ) -> T {
        let mut work = pin!(work);
        if let Ok(done) = tokio::time::timeout(MOMENT, work.as_mut()).await {
            return done;
        }
        let what = format!("the hook `{}`", hook.name());
        match listener {
            SlowHookListener::Call(progress, call) => {
                progress.hook(call, Some(&what));
                let done = work.await;
                progress.hook(call, None);
                done
            }
            SlowHookListener::Listeners(call) => {
                let slow = Slow {
                    call: call.map(str::to_owned),
                    hook: what,
                };
                self.0.send_modify(|all| all.push(slow.clone()));
                let _end = End { of: &self.0, slow };
                work.await
            }
        }
    }
}

/// Takes a hook out of those that run, also when waiting for it was given up.
struct End<'a> {
    of: &'a watch::Sender<Vec<Slow>>,
    slow: Slow,
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.of.send_modify(|all| {
            if let Some(at) = all.iter().position(|it| *it == self.slow) {
                all.remove(at);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use tokio::sync::oneshot;

    use super::*;
    use crate::hooks::HookEvent;

    fn hook(command: &str) -> Hook {
        Hook {
            event: HookEvent::BeforeCall,
            command: command.to_owned(),
            tools: None,
            time_limit: Duration::MAX,
            origin: String::new(),
            pinned: Vec::new(),
        }
    }

    #[tokio::test(start_paused = true)]
    async fn hooks_that_run_at_once_are_all_told() {
        let slow = SlowHooks::default();
        let mut listener = slow.subscribe();
        let (end, ends) = oneshot::channel::<()>();
        let names = |all: &[Slow]| -> Vec<String> {
            let name = |it: &Slow| format!("{}: {}", it.call.as_deref().unwrap_or("-"), it.hook);
            all.iter().map(name).collect()
        };
        let (first, second) = (hook("a"), hook("b"));
        let first = slow.notifying(&first, SlowHookListener::Listeners(Some("1")), ends);
        let mut second = Box::pin(slow.notifying(
            &second,
            SlowHookListener::Listeners(Some("2")),
            std::future::pending::<()>(),
        ));
        let listens = async {
            let both = listener.wait_for(|all| all.len() == 2).await.unwrap();
            // They take as long, so either can be the later one.
            let mut both_names = names(&both);
            both_names.sort();
            assert_eq!(both_names, ["1: the hook `a`", "2: the hook `b`"]);
            drop(both);
            end.send(()).unwrap();
            let one = listener.wait_for(|all| all.len() == 1).await.unwrap();
            assert_eq!(names(&one), ["2: the hook `b`"]);
        };
        tokio::select! {
            _ = async { tokio::join!(first, listens) } => {}
            () = &mut second => panic!("it never ends"),
        }
        // Nobody waits for it any more.
        assert!(second.as_mut().now_or_never().is_none());
        drop(second);
        assert!(listener.borrow().is_empty());
    }
}
