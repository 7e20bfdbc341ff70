//! What commands of the machine get of the user's world: which program keeps them, which shell runs them, and an
//! environment without secrets.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use dunlin_host::CommandOptions;
use dunlin_host::process::{KEEPER, home_secrets};

use super::env::{self, Environment};
use crate::settings::Settings;

/// How this program starts itself as the keeper of a command, or of a program that serves.
pub fn keeper() -> Vec<OsString> {
    vec![THIS_PROGRAM.into(), KEEPER.into()]
}

/// The environment of a program that runs for the user: the user's own, without what looks like a secret.
pub fn environment(settings: &Settings) -> Vec<(OsString, OsString)> {
    for_commands(&settings.environment, settings.key_variables())
}

/// This program, also when its file was replaced by a newer one meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// Shells, best first: models write for bash.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// Variables that lead to somebody who acts for the user, or that make a shell run something first.
const DROPPED: &[&str] = &[
    "BASHOPTS",
    "BASH_ENV",
    "CDPATH",
    "DBUS_SESSION_BUS_ADDRESS",
    "DBUS_SYSTEM_BUS_ADDRESS",
    "DISPLAY",
    "DOCKER_HOST",
    "ENV",
    "GIT_ASKPASS",
    "GNOME_KEYRING_CONTROL",
    "GPG_AGENT_INFO",
    "GPG_TTY",
    "KRB5CCNAME",
    "PROMPT_COMMAND",
    "SHELLOPTS",
    "SSH_AGENT_PID",
    "SSH_ASKPASS",
    "SSH_AUTH_SOCK",
    "SSH_CONNECTION",
    "SSH_TTY",
    "SUDO_ASKPASS",
    "WAYLAND_DISPLAY",
    "XAUTHORITY",
    "XDG_RUNTIME_DIR",
];

/// Parts of names that belong to secrets, between underscores or at either end.
const SECRET_WORDS: &[&str] = &[
    "APIKEY",
    "AUTH",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "PASS",
    "PASSPHRASE",
    "PASSWD",
    "PASSWORD",
    "PAT",
    "PIN",
    "PWD",
    "SECRET",
    "SECRETS",
    "TOKEN",
    "TOKENS",
];

/// Beginnings of names that cloud services use for their credentials.
const SECRET_PREFIXES: &[&str] = &[
    "AWS_",
    "AZURE_",
    "GOOGLE_",
    "GCP_",
    "DIGITALOCEAN_",
    "VAULT_",
];

/// What keeps programs from waiting for a person and from drawing: the output is read by a model.
const SET: &[(&str, &str)] = &[
    ("CARGO_TERM_COLOR", "never"),
    ("CLICOLOR", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// How commands are run.
pub fn options(settings: &Settings) -> CommandOptions {
    let environment = &settings.environment;
    let shell = SHELLS.into_iter().find(|shell| Path::new(shell).exists());
    let home = settings.folders.home.as_deref();
    CommandOptions {
        keeper: keeper(),
        shell: PathBuf::from(shell.unwrap_or("/bin/sh")),
        environment: self::environment(settings),
        temporary: PathBuf::from(environment.get(env::TMPDIR).unwrap_or(OsStr::new("/tmp"))),
        time_limit: settings.command_timeout.value,
        network: settings.command_network.value,
        write: settings.writable_for_commands().collect(),
        secrets: home.map(home_secrets).unwrap_or_default(),
    }
}

/// The environment of a command: the user's, without `keys` and what looks like a secret.
fn for_commands<'a>(
    environment: &Environment,
    keys: impl Iterator<Item = &'a str>,
) -> Vec<(OsString, OsString)> {
    let keys: Vec<&str> = keys.collect();
    let all = environment.all();
    let kept = all.filter(|(name, _)| {
        // A name that is not even text may be anything.
        name.to_str()
            .is_some_and(|name| !keys.contains(&name) && !is_dropped(name))
    });
    let mut variables: Vec<(OsString, OsString)> = kept
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .collect();
    variables.extend(SET.iter().map(|(name, value)| (name.into(), value.into())));
    // The shell has to find the very program that was granted: a `.` in the path would find the project's.
    for (_, value) in variables.iter_mut().filter(|(name, _)| name == env::PATH) {
        *value = std::env::join_paths(environment.search_path()).unwrap_or_default();
    }
    variables
}

fn is_dropped(name: &str) -> bool {
    let upper = name.to_ascii_uppercase();
    // A function of this name would be run in place of the program that was granted.
    let is_function = upper.starts_with("BASH_FUNC_") || upper.contains('%');
    if is_function || DROPPED.contains(&upper.as_str()) || SET.iter().any(|(set, _)| *set == upper)
    {
        return true;
    }
    // Where the shell stands, and stood.
    if matches!(upper.as_str(), "PWD" | "OLDPWD") {
        return false;
    }
    SECRET_PREFIXES
        .iter()
        .any(|prefix| upper.starts_with(prefix))
        || upper.split('_').any(|word| SECRET_WORDS.contains(&word))
        // `OPENAI_API_KEY`, `DEPLOYKEY`, and whatever is called after one of them.
        || upper.ends_with("KEY")
        || ["PASSWORD", "SECRET", "API_KEY", "APIKEY", "ACCESS_KEY", "PRIVATE_KEY"]
            .iter()
            .any(|part| upper.contains(part))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_do_not_reach_commands() {
        let kept = |name: &str| {
            let environment: Environment = [(name, "value")].into_iter().collect();
            let variables = for_commands(&environment, ["MY_LLM"].into_iter());
            variables.iter().any(|(_, value)| value == "value")
        };
        for name in [
            "MY_LLM",
            "OPENAI_API_KEY",
            "openai_api_key",
            "ANTHROPIC_API_KEY_2",
            "GITHUB_TOKEN",
            "NPM_TOKEN_READ",
            "CLIENT_SECRET",
            "MYSECRETS",
            "PGPASSWORD",
            "DB_PASS",
            "AWS_ACCESS_KEY_ID",
            "AWS_PROFILE",
            "GH_PAT",
            "SSH_AUTH_SOCK",
            "DBUS_SESSION_BUS_ADDRESS",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "SHELLOPTS",
            "TERM",
            "DEPLOYKEY",
        ] {
            assert!(!kept(name), "{name}");
        }
        for name in [
            "HOME",
            "PWD",
            "LANG",
            "USER",
            "CARGO_HOME",
            "RUSTUP_HOME",
            "NODE_OPTIONS",
            "JAVA_HOME",
            "GOPATH",
            "KEYBOARD",
            "COMPASS",
            "XDG_CACHE_HOME",
            "LD_LIBRARY_PATH",
        ] {
            assert!(kept(name), "{name}");
        }
    }

    #[test]
    fn nobody_is_waited_for() {
        let environment: Environment = [("PAGER", "less"), ("HOME", "/home/ada")]
            .into_iter()
            .collect();
        let variables = for_commands(&environment, std::iter::empty());
        let value = |name: &str| {
            let mut all = variables.iter().filter(|(other, _)| other == name);
            let value = all.next().map(|(_, value)| value.to_str().unwrap());
            assert!(all.next().is_none(), "{name} twice");
            value
        };
        assert_eq!(value("PAGER"), Some("cat"));
        assert_eq!(value("GIT_TERMINAL_PROMPT"), Some("0"));
        assert_eq!(value("HOME"), Some("/home/ada"));
        assert_eq!(value("TMPDIR"), None);
    }

    #[test]
    fn programs_are_found_where_they_were_granted() {
        let environment: Environment = [("PATH", ".:/usr/bin::bin:/bin")].into_iter().collect();
        let variables = for_commands(&environment, std::iter::empty());
        assert!(
            variables.contains(&("PATH".into(), "/usr/bin:/bin".into())),
            "{variables:?}"
        );
    }
}
