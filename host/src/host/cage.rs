//! What commands run in on this machine, as users are told.

use super::Host;
use crate::call::Action;
use crate::process::Cage;

impl Host {
    /// What commands run in on this machine; found out at the first call, which takes some milliseconds.
    ///
    /// The error says why none can run.
    pub async fn cage_of_commands(&self) -> Result<Cage, String> {
        self.0.shared.announced_sandbox().await
    }

    /// What the user should know of that before one of these actions.
    pub(super) async fn gaps_of_commands(&self, actions: &[Action]) -> Vec<String> {
        let is_command = |action: &Action| matches!(action, Action::Command(_));
        if !actions.iter().any(is_command) {
            return Vec::new();
        }
        match self.cage_of_commands().await {
            Ok(cage) => cage.gaps(),
            // The command will not run either, and then says why.
            Err(_) => Vec::new(),
        }
    }
}
