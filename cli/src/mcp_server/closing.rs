//! The news that nothing more comes in or goes out.

use std::sync::Arc;

use tokio::sync::watch;

/// Told once, heard by everybody. Clones are the same news.
#[derive(Debug, Clone)]
pub(super) struct Closing(Arc<watch::Sender<bool>>);

impl Default for Closing {
    fn default() -> Closing {
        Closing(Arc::new(watch::Sender::new(false)))
    }
}

impl Closing {
    /// Tells it.
    pub(super) fn begin(&self) {
        self.0.send_replace(true);
    }

    /// Waits for it.
    pub(super) async fn begun(&self) {
        // The sender lives as long as `self`, so the wait cannot fail.
        let _ = self.0.subscribe().wait_for(|begun| *begun).await;
    }
}
