//! Shows a page in the user's browser.

use std::ffi::OsString;
use std::process::{Command, Stdio};

use dunlin_host::command::StartError;
use dunlin_host::display::escape;

use crate::config::env::Environment;
use dunlin_terminal::ui::Ui;
use dunlin_terminal::variables::Replaced;

/// What opens a page in the browser that the user has chosen. Source: freedesktop.org, xdg-utils.
pub const OPENER: &str = "xdg-open";

/// The shell that starts it: its name may have to be quoted.
const SHELL: &str = "/bin/sh";

/// Whether a browser that is opened here is seen by the user: there is a screen, and nobody sits at another one.
fn is_here(ui: &Ui, environment: &Environment) -> bool {
    let has = |name| environment.get(name).is_some();
    let is_remote = has("SSH_CONNECTION") || has("SSH_TTY");
    ui.streams().output && !is_remote && (has("DISPLAY") || has("WAYLAND_DISPLAY"))
}

/// Says where a page is, and opens it where a browser is seen. `opener` is a shell command, or why there is none.
pub fn show(
    (ui, environment): (&Ui, &Environment),
    opener: impl FnOnce() -> Result<OsString, StartError>,
    replaced: impl FnOnce() -> Replaced,
    url: &str,
) {
    ui.status(&format!("  {url}"));
    if !is_here(ui, environment) {
        return;
    }
    match opener() {
        Ok(opener) => {
            if let Err(error) = open(opener, &replaced(), url) {
                ui.warn(&format!("no browser could be opened: {error}"));
            }
        }
        Err(error) => ui.warn(&format!(
            "no browser could be opened: {}",
            escape(&error.to_string())
        )),
    }
}

/// Opens a page. `opener` is a shell command. Does not wait for the browser, which the opener may become.
///
/// # Errors
/// The opener cannot be started.
fn open(opener: OsString, replaced: &Replaced, url: &str) -> std::io::Result<()> {
    let mut script = OsString::from("exec ");
    script.push(opener);
    script.push(" \"$1\"");
    let mut command = Command::new(SHELL);
    command
        .arg("-c")
        .arg(script)
        .arg(OPENER)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    replaced.apply(&mut command);
    let mut child = command.spawn()?;
    std::thread::spawn(move || child.wait());
    Ok(())
}
