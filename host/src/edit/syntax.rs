//! Whether a file parses after an edit.
//!
//! The grammars are C and the text is anybody's, so they run in a component, as tools do. This component is asked for one
//! answer at a time and can reach nothing at all: none of its imports is there. It is compiled when the first edit is
//! prepared, never at start-up. Whatever goes wrong with it, an edit is neither refused nor delayed for longer than
//! [`limits::SYNTAX_TIME`]: then nothing is known of its syntax.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{OnceCell, Semaphore};
use wasmtime::component::Linker;
use wasmtime::{ResourceLimiter, Store};

use super::prepare::Prepared;
use crate::bindings::syntax::{SyntaxChecker, SyntaxCheckerPre};
use crate::engine::cache::Cache;
use crate::engine::error::EngineError;
use crate::engine::memory_limit::Limiter;
use crate::engine::{LazyEngine, Ticking};
use crate::limits;
use crate::plugin::Plugin;

/// What is known of the syntax of a file after an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Syntax {
    /// The parsers were not asked, or not ready.
    #[default]
    Unchecked,
    /// There is nothing to report: the file parses, or did not parse before either, or nothing is known of its language.
    Unremarkable,
    /// The file parsed before, or is new, and does not parse after the edit.
    Broken {
        /// The line at which it does not parse, counted from 1, in the text after the edit.
        line: u32,
    },
}

/// Asks the component with the parsers.
#[derive(Clone)]
pub(crate) struct Checker(Option<Arc<Inner>>);

struct Inner {
    component: Plugin,
    engine: Arc<LazyEngine>,
    cache: Cache,
    loaded: OnceCell<Result<Loaded, EngineError>>,
    /// The pool of instances has one place for it.
    turn: Semaphore,
}

#[derive(Clone)]
struct Loaded {
    ticking: Arc<Ticking>,
    memory_bytes: usize,
    pre: SyntaxCheckerPre<Limiter>,
}

impl Checker {
    /// `component` exports `dunlin:syntax/checker`. Without one nothing is known of any file.
    pub(crate) fn new(component: Option<Plugin>, engine: Arc<LazyEngine>, cache: Cache) -> Checker {
        Checker(component.map(|component| {
            Arc::new(Inner {
                component,
                engine,
                cache,
                loaded: OnceCell::new(),
                turn: Semaphore::new(limits::MAX_SYNTAX_CHECKS as usize),
            })
        }))
    }

    /// Asks about an edit that nobody asked about yet. Takes at most `left`, and subtracts from it what it took.
    pub(crate) async fn check(&self, prepared: &mut Prepared, left: &mut Duration) {
        let Some(inner) = &self.0 else {
            return;
        };
        if prepared.edit.syntax != Syntax::Unchecked {
            return;
        }
        let begun = Instant::now();
        let asked = inner.ask(&prepared.edit.path, prepared.base.as_deref(), &prepared.new);
        prepared.edit.syntax = match tokio::time::timeout(*left, asked).await {
            Ok(syntax) => syntax,
            // The parser had all the time there is, and would take as long again.
            Err(_) if inner.loaded.initialized() && *left == limits::SYNTAX_TIME => {
                Syntax::Unremarkable
            }
            Err(_) => Syntax::Unchecked,
        };
        *left = left.saturating_sub(begun.elapsed());
    }
}

impl Inner {
    async fn ask(self: &Arc<Self>, path: &Path, before: Option<&[u8]>, after: &[u8]) -> Syntax {
        let is_large = |text: &[u8]| text.len() > limits::MAX_SYNTAX_BYTES;
        let texts = (
            path.file_name().and_then(|name| name.to_str()),
            before.map(std::str::from_utf8).transpose(),
            std::str::from_utf8(after),
        );
        let (Some(name), Ok(before), Ok(after)) = texts else {
            return Syntax::Unremarkable;
        };
        if is_large(after.as_bytes()) || before.is_some_and(|before| is_large(before.as_bytes())) {
            return Syntax::Unremarkable;
        }
        let Some(loaded) = self.loaded().await else {
            return Syntax::Unremarkable;
        };
        // Never closed, so waiting for it cannot fail.
        let _turn = self.turn.acquire().await;
        match loaded.broken_line(name, before, after).await {
            Ok(Some(line)) => Syntax::Broken { line },
            Ok(None) | Err(_) => Syntax::Unremarkable,
        }
    }

    /// The component, compiled or loaded by whoever needs it first. That goes on when nobody waits for it any more.
    async fn loaded(self: &Arc<Self>) -> Option<Loaded> {
        let ready = match self.loaded.get() {
            Some(ready) => ready.clone(),
            None => {
                let inner = Arc::clone(self);
                let load = tokio::spawn(async move {
                    let load = || async {
                        let inner = Arc::clone(&inner);
                        let loaded = tokio::task::spawn_blocking(move || inner.load_blocking());
                        let gave_up = |_| Err(EngineError::new("the compiler gave up"));
                        loaded.await.unwrap_or_else(gave_up)
                    };
                    inner.loaded.get_or_init(load).await.clone()
                });
                load.await.ok()?
            }
        };
        ready.ok()
    }

    fn load_blocking(&self) -> Result<Loaded, EngineError> {
        let ticking = Arc::clone(self.engine.get().map_err(Clone::clone)?);
        let engine = ticking.engine();
        let code = self.component.code()?;
        let component = self
            .cache
            .component(engine, &self.component.digest, &code)?;
        let mut linker: Linker<Limiter> = Linker::new(engine);
        linker.define_unknown_imports_as_traps(&component)?;
        let pre = SyntaxCheckerPre::new(linker.instantiate_pre(&component)?)?;
        let memory_bytes = self.engine.limits.memory_bytes;
        Ok(Loaded {
            ticking,
            memory_bytes,
            pre,
        })
    }
}

impl Loaded {
    async fn broken_line(
        &self,
        name: &str,
        before: Option<&str>,
        after: &str,
    ) -> wasmtime::Result<Option<u32>> {
        let _running = self.ticking.running();
        let limiter = Limiter::new(self.memory_bytes);
        let mut store: Store<Limiter> = self
            .ticking
            .store(limiter, |limiter| limiter as &mut dyn ResourceLimiter);
        let checker: SyntaxChecker = self.pre.instantiate_async(&mut store).await?;
        let checker = checker.dunlin_syntax_checker();
        checker
            .call_broken_line(&mut store, name, before, after)
            .await
    }
}
