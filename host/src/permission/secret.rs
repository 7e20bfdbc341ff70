//! Knows files that usually hold secrets by their names.
//!
//! Inside the project reading is allowed without a question; for these it is asked. The list errs on
//! the side of asking: one question too many costs a keystroke, a key sent to a provider is gone.

use std::path::Path;

use crate::resolve::lower_name;

/// Whole names, in lower case.
const NAMES: &[&str] = &[
    ".boto",
    ".dockercfg",
    ".envrc",
    ".git-credentials",
    ".htpasswd",
    ".my.cnf",
    ".netrc",
    ".npmrc",
    ".pgpass",
    ".pypirc",
    ".s3cfg",
    ".vault-token",
    ".yarnrc.yml",
    "_netrc",
    "accesstokens.json",
    "application_default_credentials.json",
    "auth.json",
    "credentials",
    "credentials.csv",
    "credentials.db",
    "credentials.json",
    "credentials.toml",
    "credentials.xml",
    "credentials.yaml",
    "credentials.yml",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
    "id_rsa",
    "kubeconfig",
    "master.key",
    "secrets",
    "secrets.env",
    "secrets.json",
    "secrets.toml",
    "secrets.yaml",
    "secrets.yml",
    "terraform.tfstate",
    "token.json",
    "wallet.dat",
];

/// Beginnings of names, in lower case.
const PREFIXES: &[&str] = &[
    ".env",
    "service-account",
    "service_account",
    "client_secret",
];

/// Endings of names, in lower case.
const SUFFIXES: &[&str] = &[
    ".env",
    ".jks",
    ".kdbx",
    ".key",
    ".keystore",
    ".ovpn",
    ".p12",
    ".p8",
    ".pem",
    ".pfx",
    ".ppk",
    ".tfstate",
    ".tfstate.backup",
    ".tfvars",
];

/// Folders in which everything counts.
const FOLDERS: &[&str] = &[".aws", ".azure", ".gnupg", ".password-store", ".ssh"];

/// A folder and a name in it, where the name alone says nothing.
const PAIRS: &[(&str, &str)] = &[
    (".docker", "config.json"),
    (".git", "config"),
    (".kube", "config"),
    (".config", "gh"),
];

/// Whether the name of this path is one that secrets usually have. Looks at the name only.
pub fn looks_secret(path: &Path) -> bool {
    let name = lower_name(path);
    if NAMES.contains(&name.as_str())
        || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
        || SUFFIXES.iter().any(|suffix| name.ends_with(suffix))
    {
        return true;
    }
    let mut folders = path.ancestors().skip(1).map(lower_name);
    if let Some(parent) = folders.next() {
        if PAIRS
            .iter()
            .any(|(folder, file)| parent == *folder && name == *file)
        {
            return true;
        }
        // Submodules keep theirs deeper.
        if name == "config"
            && path
                .ancestors()
                .skip(2)
                .any(|folder| folder.ends_with(".git/modules"))
        {
            return true;
        }
        if FOLDERS.contains(&parent.as_str()) {
            return true;
        }
    }
    folders.any(|folder| FOLDERS.contains(&folder.as_str()))
        // What every process was started with, keys of providers included.
        || (path.starts_with("/proc") && name == "environ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_known_by_name() {
        for (path, secret) in [
            ("/p/.env", true),
            ("/p/.env.production", true),
            ("/p/.ENV", true),
            ("/p/.envrc", true),
            ("/p/environment.rs", false),
            ("/p/src/env.rs", false),
            ("/p/id_rsa", true),
            ("/p/id_rsa.pub", false),
            ("/p/tls/server.key", true),
            ("/p/tls/server.crt", false),
            ("/p/keyboard.rs", false),
            ("/p/.ssh/known_hosts", true),
            ("/p/.ssh/sub/file", true),
            ("/p/.git/config", true),
            ("/p/.git/HEAD", false),
            ("/p/.git/modules/a/b/config", true),
            ("/p/.git/modules/a/HEAD", false),
            ("/p/prod.env", true),
            ("/p/config", false),
            ("/p/.aws/config", true),
            ("/p/credentials.json", true),
            ("/proc/1/environ", true),
            ("/p/environ", false),
            ("/", false),
        ] {
            assert_eq!(looks_secret(Path::new(path)), secret, "{path}");
        }
    }
}
