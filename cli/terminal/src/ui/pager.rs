//! Shows long text one screen at a time, so that nobody is taken to have read rows that scrolled past.

use std::ffi::OsString;
use std::io::{self, Write};
use std::process::{Command, Stdio};

use super::{Typed, Ui};
use crate::variables::{self, Replaced, Variables};

/// What shows long texts where nothing is set.
const DEFAULT_PAGER: &str = "less -R";

/// The shell that understands `$PAGER` as people write it.
const SHELL: &str = "/bin/sh";

/// Keeps `less` from writing files and running programs.
const LESS_SECURE: &str = "LESSSECURE";

/// Lets colours through, and leaves what was shown on the screen.
const LESS_OPTIONS: &str = "RX";

/// What shows a long text on a screen of its own.
#[derive(Debug, Clone)]
pub struct Pager {
    program: OsString,
    /// What `less` is told, unless the user tells it something.
    less: Option<&'static str>,
    variables: Replaced,
}

impl Pager {
    /// The pager that the user wants, as a shell command.
    pub fn choose(environment: &dyn Variables) -> OsString {
        let program = environment.get(variables::PAGER);
        program.map_or_else(|| DEFAULT_PAGER.into(), Into::into)
    }

    /// This program, which gets the environment with these variables replaced.
    pub fn of(environment: &dyn Variables, program: OsString, variables: Replaced) -> Pager {
        Pager {
            program,
            less: environment
                .get(variables::LESS)
                .is_none()
                .then_some(LESS_OPTIONS),
            variables,
        }
    }

    /// Shows rows until the user leaves the pager. Blocks.
    ///
    /// # Errors
    /// There is no such program, or it failed.
    pub fn show(&self, ui: &Ui, rows: &[String]) -> io::Result<()> {
        ui.lend(|| {
            let mut command = Command::new(SHELL);
            command.arg("-c").arg(&self.program).stdin(Stdio::piped());
            self.variables.apply(&mut command);
            if let Some(options) = self.less {
                command.env(variables::LESS, options);
            }
            // A word that is meant for Dunlin must not write files or run programs there.
            command.env(LESS_SECURE, "1");
            let mut child = command.spawn()?;
            if let Some(mut input) = child.stdin.take() {
                // Who leaves early has seen enough.
                let _ = input.write_all(rows.join("\n").as_bytes());
                let _ = input.write_all(b"\n");
            }
            let status = child.wait()?;
            match status.success() {
                true => Ok(()),
                false => Err(io::Error::other(format!("the pager ended with {status}"))),
            }
        })
    }
}

/// Rows that stay free on each screen: one for the prompt, and one for the last row of the screen before.
const RESERVED_ROWS: usize = 2;

/// The fewest rows of one screen, however small the window is.
const MIN_ROWS: usize = 4;

impl Ui {
    /// Shows rows one screen at a time. Returns whether the last row was shown: the user can stop before.
    ///
    /// The rows must be safe to show and fit the width of the window.
    pub fn page(&self, rows: &[String]) -> bool {
        let mut shown = 0;
        loop {
            let height = self.window().rows.saturating_sub(RESERVED_ROWS);
            let page = rows.iter().skip(shown).take(height.max(MIN_ROWS));
            shown += page.map(|row| self.data(row)).count();
            if shown >= rows.len() {
                return true;
            }
            let prompt = format!(
                "{shown} of {} rows; Enter shows more, q stops: ",
                rows.len()
            );
            match self.plain_line(&prompt) {
                Typed::Line(line) if line.trim().eq_ignore_ascii_case("q") => return false,
                Typed::Line(_) => {}
                Typed::Interrupted | Typed::End | Typed::Woken => return false,
            }
        }
    }
}
