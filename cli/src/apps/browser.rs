//! Shows a page in the user's browser.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

use dunlin_host::command::StartError;

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

/// Says where a page is, and opens it where a browser is seen. `opener` is a shell command, or why there is none; `failed` is
/// told, perhaps later, why the page was not opened.
pub fn show(
    (ui, environment): (&Ui, &Environment),
    opener: Result<OsString, StartError>,
    replaced: &Replaced,
    url: &str,
    failed: impl FnOnce(&str) + Send + 'static,
) {
    ui.status(&format!("  {url}"));
    if !is_here(ui, environment) {
        return;
    }
    let opened = opener
        .map_err(|error| error.to_string())
        .and_then(|opener| open(opener, replaced, url).map_err(|error| error.to_string()));
    match opened {
        Ok(mut child) => {
            // It may become the browser, and live as long.
            std::thread::spawn(move || match child.wait() {
                Ok(status) if !status.success() => {
                    failed(&format!(
                        "no browser was opened ({OPENER} ended with {status}): open the address yourself"
                    ));
                }
                _ => {}
            });
        }
        Err(error) => failed(&format!(
            "no browser was opened ({error}): open the address yourself"
        )),
    }
}

/// Opens a page. `opener` is a shell command.
fn open(opener: OsString, replaced: &Replaced, url: &str) -> std::io::Result<Child> {
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
    command.spawn()
}
