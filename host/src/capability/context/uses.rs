//! What a call has used, and how that gets into the audit log: each decision once, each change at once, the rest at
//! the end.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::{CallContext, CallerKind};
use crate::audit::{self, Event, LogQuota, Record, Sent};
use crate::bindings::dunlin::tool::types;
use crate::call::WebRequest;
use crate::capability::refusal::{Refusal, host_failed};
use crate::capability::resources::UseId;
use crate::limits;
use crate::target::{Need, Operation};

/// What was done with one target under one rule and does not stand in the audit log yet.
struct Use {
    target: String,
    operation: Operation,
    times: u64,
    /// Shared with the streams that were made under it.
    bytes: Arc<AtomicU64>,
}

/// A decision that stands in the audit log.
struct Noted {
    rule: String,
    /// `None`: it was denied.
    under: Option<UseId>,
}

/// What a call has used, as the audit log has it.
pub(crate) struct UseLog {
    uses: Vec<Use>,
    /// What was decided last about each need, so that a repetition is counted and not logged again.
    decided: HashMap<Need, Noted>,
    /// What is left for it of the audit log.
    pub(crate) audit_quota: LogQuota,
    /// What the messages of an app may fill of their log. Those of a call of a tool have no such bound: a call has one.
    pub(in crate::capability) message_quota: Option<LogQuota>,
    /// The line of the command that was decided about last.
    pub(in crate::capability) line: Option<String>,
    /// Whether the end stands in the audit log.
    pub(in crate::capability) is_closed: bool,
}

impl Default for UseLog {
    fn default() -> UseLog {
        UseLog {
            uses: Vec::new(),
            decided: HashMap::new(),
            audit_quota: LogQuota::new(limits::MAX_AUDIT_BYTES),
            message_quota: None,
            line: None,
            is_closed: false,
        }
    }
}

impl CallContext {
    /// Writes a decision into the audit log, once as long as it stays the same. Returns only when the use
    /// is allowed.
    pub(in crate::capability) fn note(
        &mut self,
        need: Need,
        written: types::Target,
        allowed: bool,
        rule: String,
    ) -> Result<UseId, Refusal> {
        let operation = need.operation;
        let refusal = || {
            Refusal::Guest(types::Error::Denied(types::Need {
                target: written.clone(),
                operation: operation.into(),
            }))
        };
        if self.log.audit_quota.is_used_up() {
            let mebibytes = limits::MAX_AUDIT_BYTES >> 20;
            return Err(types::Error::TooLarge(match self.caller.kind {
                CallerKind::Tool => format!(
                    "this call has filled {mebibytes} MiB of the audit log; it can do no more"
                ),
                CallerKind::App => format!(
                    "this app has filled {mebibytes} MiB of the audit log within an hour; it can do more in the next"
                ),
            })
            .into());
        }
        if let Some(noted) = self.log.decided.get(&need)
            && noted.rule == rule
            && noted.under.is_some() == allowed
        {
            if let Some(entry) = noted.under.and_then(|under| self.log.uses.get_mut(under.0)) {
                entry.times += 1;
            }
            return noted.under.ok_or_else(refusal);
        }
        if self.log.decided.len() == limits::MAX_TARGETS {
            return Err(types::Error::TooLarge(format!(
                "this call has touched {} files, folders and addresses; no more are possible",
                limits::MAX_TARGETS
            ))
            .into());
        }
        let target = need.target.to_string();
        let event = if allowed {
            Event::Allowed
        } else {
            Event::Denied
        };
        self.append(&self.record(event, Some((&target, operation)), Some(&rule)))?;
        let under = allowed.then(|| {
            self.log.uses.push(Use {
                target,
                operation,
                times: 1,
                bytes: Arc::default(),
            });
            UseId(self.log.uses.len() - 1)
        });
        self.log.decided.insert(need, Noted { rule, under });
        under.ok_or_else(refusal)
    }

    /// Whether anything was decided about.
    pub(in crate::capability) fn has_used(&self) -> bool {
        !self.log.decided.is_empty()
    }

    /// Counts bytes that went through a use.
    pub(crate) fn count(&mut self, of: UseId, bytes: usize) {
        if let Some(entry) = self.log.uses.get(of.0) {
            entry.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Counts something that was done under a use once more.
    pub(crate) fn count_again(&mut self, of: UseId, bytes: usize) {
        if let Some(entry) = self.log.uses.get_mut(of.0) {
            entry.times += 1;
            entry.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
        }
    }

    /// Takes one away that was allowed and did not happen.
    pub(in crate::capability) fn count_less(&mut self, of: UseId) {
        if let Some(entry) = self.log.uses.get_mut(of.0) {
            entry.times = entry.times.saturating_sub(1);
        }
    }

    /// Counts the bytes of a use for whoever cannot reach the call.
    pub(in crate::capability) fn meter(&self, of: UseId) -> Arc<AtomicU64> {
        let entry = self.log.uses.get(of.0);
        entry.map_or_else(Arc::default, |entry| Arc::clone(&entry.bytes))
    }

    /// Writes a use into the audit log at once: it has changed something, and must be known even if the
    /// call is dropped in the next moment.
    pub(in crate::capability) fn log_use(&mut self, of: UseId) -> Result<(), Refusal> {
        self.log_change(of, None)
    }

    /// The same for a change of a file. `change`: what it did beside writing.
    pub(in crate::capability) fn log_change(
        &mut self,
        of: UseId,
        change: Option<&str>,
    ) -> Result<(), Refusal> {
        let Some(entry) = self.log.uses.get_mut(of.0) else {
            return Ok(());
        };
        let used = Use {
            target: entry.target.clone(),
            operation: entry.operation,
            times: std::mem::take(&mut entry.times),
            bytes: Arc::new(entry.bytes.swap(0, Ordering::Relaxed).into()),
        };
        let record = Record {
            // A command that starts: how much it printed is known when it has ended, and written then.
            bytes: Some(used.bytes.load(Ordering::Relaxed)).filter(|bytes| *bytes > 0),
            change,
            ..self.used(&used)
        };
        self.append(&record)
    }

    /// Writes down what of a request its target does not say, before it leaves.
    pub(in crate::capability) fn log_request(
        &mut self,
        of: UseId,
        request: &WebRequest,
    ) -> Result<(), Refusal> {
        let Some(entry) = self.log.uses.get(of.0) else {
            return Ok(());
        };
        let need = Some((&*entry.target, entry.operation));
        let record = Record {
            bytes: Some(request.body.len() as u64).filter(|bytes| *bytes > 0),
            sent: Some(Sent::of(request)),
            ..self.record(Event::Sent, need, None)
        };
        self.append(&record)
    }

    fn append(&self, record: &Record<'_>) -> Result<(), Refusal> {
        let audit = &self.shared.audit;
        let logged = audit.append_counted(std::slice::from_ref(record));
        self.log
            .audit_quota
            .take(logged.map_err(|e| host_failed(&e))?);
        Ok(())
    }

    /// Writes what was used and how the call ended. Dropping a run that was not closed is a cancellation.
    pub(crate) fn close(&mut self, error: Option<&str>) -> Result<(), audit::AuditError> {
        self.log.is_closed = true;
        let duration_us = u64::try_from(self.clock.spent().as_micros()).ok();
        let mut records: Vec<Record<'_>> = self
            .log
            .uses
            .iter()
            .filter(|entry| entry.times > 0 || entry.bytes.load(Ordering::Relaxed) > 0)
            .map(|entry| self.used(entry))
            .collect();
        records.push(Record {
            duration_us,
            error,
            ..self.record(Event::Ended, None, None)
        });
        let logged = self.shared.audit.append_counted(&records)?;
        self.log.audit_quota.take(logged);
        Ok(())
    }

    fn used<'a>(&'a self, entry: &'a Use) -> Record<'a> {
        Record {
            times: (entry.times > 1).then_some(entry.times),
            bytes: Some(entry.bytes.load(Ordering::Relaxed)),
            ..self.record(Event::Used, Some((&entry.target, entry.operation)), None)
        }
    }

    /// An entry of the audit log about this call.
    pub(crate) fn record<'a>(
        &'a self,
        event: Event,
        need: Option<(&'a str, Operation)>,
        rule: Option<&'a str>,
    ) -> Record<'a> {
        Record {
            target: need.map(|(target, _)| target),
            operation: need.map(|(_, operation)| operation.verb()),
            rule,
            line: match need {
                Some((_, Operation::Execute)) => self.log.line.as_deref(),
                _ => None,
            },
            ..Record::new(
                event,
                &self.caller.session,
                &self.caller.call,
                &self.caller.tool,
                &self.caller.plugin,
            )
        }
    }
}
