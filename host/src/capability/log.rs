//! `log`: notes for whoever looks into a fault.

use serde::Serialize;

use super::wasi::Source;
use super::{CallState, Phase, UsedInDescribe};
use crate::bindings::dunlin::tool::log;
use crate::limits::{MAX_LOG_MESSAGE_BYTES, MAX_LOG_MESSAGES};

/// The messages of one call, written when it has ended.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    kept: Vec<(log::Level, String)>,
    dropped: usize,
}

impl log::Host for CallState {
    fn log(&mut self, level: log::Level, message: String) -> wasmtime::Result<()> {
        if self.phase == Phase::Describe {
            return Err(UsedInDescribe.into());
        }
        if self.messages.kept.len() == MAX_LOG_MESSAGES {
            self.messages.dropped += 1;
            return Ok(());
        }
        // A copy: the guest's own text may be a thousand times as large, and would stay so.
        let kept = &message[..message.floor_char_boundary(MAX_LOG_MESSAGE_BYTES)];
        self.messages.kept.push((level, kept.to_owned()));
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

impl CallState {
    /// Writes the messages. They are a convenience: failing to write them does not fail the call.
    pub(crate) fn write_messages(&self) {
        let (printed, unprinted) = self.machine.printed();
        if self.messages.kept.is_empty() && printed.is_empty() {
            return;
        }
        let time = crate::audit::now();
        let line = |level, message| Line {
            time: time.clone(),
            session: &self.session,
            plugin: &self.plugin.name,
            tool: &self.tool,
            call: &self.call,
            level,
            message,
        };
        let dropped = self.messages.dropped + unprinted;
        let all_dropped = format!("{dropped} more messages were dropped");
        let mut lines: Vec<Line<'_>> = self
            .messages
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
        let _ = self.shared.log.append(&lines);
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
