//! Folders and files of a home that usually hold secrets: commands have no business there.
//!
//! A build reads much of a home (tool chains, caches, settings), so it stays readable; these do not. A grant of
//! reading in the permission file opens them again.

use std::path::{Path, PathBuf};

/// Below the home folder.
const BELOW_HOME: &[&str] = &[
    ".ssh",
    ".gnupg",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".password-store",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".yarnrc.yml",
    ".pypirc",
    ".pgpass",
    ".my.cnf",
    ".vault-token",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".terraform.d/credentials.tfrc.json",
    ".config/gcloud",
    ".config/gh",
    ".config/hub",
    ".config/glab-cli",
    ".config/git/credentials",
    ".config/op",
    ".config/rclone",
    ".config/google-chrome",
    ".config/chromium",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/Signal",
    ".config/Slack",
    ".mozilla",
    ".thunderbird",
    ".local/share/keyrings",
    ".local/share/kwalletd",
    ".local/share/TelegramDesktop",
    ".claude",
    ".codex",
    ".bash_history",
    ".zsh_history",
    ".python_history",
    ".psql_history",
    ".local/share/fish/fish_history",
];

/// The usual places of secrets in this home, whether they exist or not.
pub fn home_secrets(home: &Path) -> Vec<PathBuf> {
    BELOW_HOME.iter().map(|below| home.join(below)).collect()
}
