//! Waits for a key where tasks run, so that Ctrl-C can end the wait: a keyring may have to be unlocked, and one that hangs
//! never answers.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::sleep;

use crate::app::App;
use crate::error::CliError;
use crate::settings::KeyPlace;
use dunlin_chat::secret::Secret;

/// From when on somebody wonders what the program is doing.
const SLOW: Duration = Duration::from_secs(1);

/// Reads a key where tasks run, and says so if that takes a while. Whoever drops this does not wait any more.
///
/// # Errors
/// It cannot be read.
pub async fn read(app: &App, key: KeyPlace) -> Result<(Secret, Option<String>), CliError> {
    let mut reading = spawn_blocking(move || key.read());
    let done = tokio::select! {
        done = &mut reading => done,
        () = sleep(SLOW) => {
            app.ui.status("Waiting for the system's keyring, which may want to be unlocked (Ctrl-C stops this)");
            reading.await
        }
    };
    Ok(done.map_err(CliError::failed)??)
}
