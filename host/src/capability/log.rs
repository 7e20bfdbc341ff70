//! `log`: notes for whoever looks into a fault.

use std::collections::VecDeque;

use serde::Serialize;

use super::context::{CallContext, Phase, UsedInDescribe, View};
use super::wasi::Source;
use crate::audit::LogQuota;
use crate::bindings::dunlin::tool::log;
use crate::limits::{MAX_APP_LOG_BYTES, MAX_LOG_MESSAGE_BYTES, MAX_LOG_MESSAGES};

/// The messages of one call, written when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    kept: Vec<(log::Level, String)>,
    dropped: usize,
}

impl log::Host for View<'_, Messages> {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        if self.phase == Phase::Describe {
            return Err(UsedInDescribe.into());
        }
        if self.own.kept.len() == MAX_LOG_MESSAGES {
            self.own.dropped += 1;
            return Ok(());
        }
        // A copy: the guest's own text may be a thousand times as large, and would stay so.
        let kept = &message[..message.floor_char_boundary(MAX_LOG_MESSAGE_BYTES)];
        self.own.kept.push((level, kept.to_owned()));
        Ok(())
    }
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    time: String,
    session: &'a str,
    plugin: &'a str,
    tool: &'a str,
    call: &'a str,
    level: &'static str,
    message: &'a str,
}

impl Messages {
    /// The messages that are kept so far.
    pub(super) fn kept(&self) -> &[(log::Level, String)] {
        &self.kept
    }

    /// Writes the messages, the lines that the component printed, and how it broke. They are a convenience: failing to write
    /// them does not fail the call.
    pub(super) fn write(
        &self,
        call: &CallContext,
        (printed, unprinted): (VecDeque<(Source, String)>, usize),
        broken: Option<&str>,
    ) {
        let is_full = call
            .log
            .message_quota
            .as_ref()
            .is_some_and(LogQuota::is_used_up);
        if (self.kept.is_empty() && printed.is_empty() && broken.is_none()) || is_full {
            return;
        }
        let time = crate::audit::now();
        let line = |level, message| Line {
            time: time.clone(),
            session: &call.caller.session,
            plugin: &call.caller.plugin.name,
            tool: &call.caller.tool,
            call: &call.caller.call,
            level,
            message,
        };
        let dropped = self.dropped + unprinted;
        let all_dropped = format!("{dropped} more messages were dropped");
        let mut lines: Vec<Line<'_>> = self
            .kept
            .iter()
            .map(|(level, message)| line(name(*level), message))
            .collect();
        lines.extend(printed.iter().map(|(source, message)| {
            let level = match source {
                Source::Stdout => "info",
                Source::Stderr => "warn",
            };
            line(level, message)
        }));
        if dropped > 0 {
            lines.push(line("warn", &all_dropped));
        }
        lines.extend(broken.map(|problem| line("error", problem)));
        let written = call.shared.log.append_counted(&lines);
        if let (Some(quota), Ok(written)) = (&call.log.message_quota, written) {
            quota.take(written);
            if quota.is_used_up() {
                let mebibytes = MAX_APP_LOG_BYTES >> 20;
                let note = format!(
                    "this app has filled {mebibytes} MiB of the log within an hour; what it logs until the next is left out"
                );
                let _ = call.shared.log.append(&[line("warn", &note)]);
            }
        }
    }
}

fn name(level: log::Level) -> &'static str {
    match level {
        log::Level::Debug => "debug",
        log::Level::Info => "info",
        log::Level::Warn => "warn",
        log::Level::Error => "error",
    }
}
