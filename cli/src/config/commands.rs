//! What commands of the machine get of the user's world: which program keeps them, which shell runs them, their
//! environment, and where secrets are that they do not see.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use dunlin_host::CommandOptions;
use dunlin_host::process::KEEPER;
use dunlin_host::secrets::{Surroundings, locations};

use super::env;
use super::variables::{self, Filtered};
use crate::settings::Settings;

/// This program, also when its file was replaced by a newer one meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// Shells, best first: models write for bash.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// How this program starts itself as the keeper of a command, or of a program that serves.
pub fn keeper() -> Vec<OsString> {
    vec![THIS_PROGRAM.into(), KEEPER.into()]
}

/// The environment of commands and of MCP servers, and what is withheld from them.
pub fn environment(settings: &Settings) -> Filtered {
    let keys: Vec<&str> = settings.key_variables().collect();
    let named = &settings.command_environment.value;
    variables::filtered(&settings.environment, named, &keys)
}

/// How commands are run.
pub fn options(settings: &Settings) -> CommandOptions {
    let shell = SHELLS.into_iter().find(|shell| Path::new(shell).exists());
    let temporary = settings.environment.get(env::TMPDIR);
    let temporary = PathBuf::from(temporary.unwrap_or(OsStr::new("/tmp")));
    let mut secrets = locations(&Surroundings {
        homes: &settings.homes,
        current: &settings.project,
        variable: |name: &str| settings.environment.get(name),
    });
    // Commands need their own temporary folder, wherever the user has placed it.
    secrets.retain(|secret| !temporary.starts_with(secret));
    CommandOptions {
        keeper: keeper(),
        shell: PathBuf::from(shell.unwrap_or("/bin/sh")),
        environment: environment(settings).passed,
        temporary,
        time_limit: settings.command_timeout.value,
        network: settings.command_network.value,
        write: settings.writable_for_commands().collect(),
        secrets,
    }
}
