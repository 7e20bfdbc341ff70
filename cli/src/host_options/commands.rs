//! The settings of commands that depend on the user's machine: the supervisor, the shell, the environment, the temporary
//! folder, and the locations of secrets that commands cannot see.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use dunlin_host::CommandOptions;
use dunlin_host::process::SUPERVISOR_FLAG;
use dunlin_host::secrets::Surroundings;

use crate::config::command_variables::{self, Filtered};
use crate::config::env;
use crate::settings::Settings;

/// This program, also when its file was replaced by a newer one meanwhile.
pub const THIS_PROGRAM: &str = "/proc/self/exe";

/// Where private temporary folders of commands are made, unless `TMPDIR` names another folder.
const TEMPORARY: &str = "/tmp";

/// Shells, best first: models write for bash.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// How this program starts itself as the supervisor of a command or of an MCP server.
pub fn supervisor() -> Vec<OsString> {
    vec![THIS_PROGRAM.into(), SUPERVISOR_FLAG.into()]
}

/// The environment of commands and of MCP servers, and what is withheld from them.
pub fn environment(settings: &Settings) -> Filtered {
    let keys: Vec<&str> = settings.key_variables().collect();
    let named = settings.commands.environment.value.iter();
    let named: Vec<&str> = named.map(|name| name.get_ref().as_str()).collect();
    command_variables::filtered(&settings.environment, &named, &keys)
}

/// How commands are run.
pub fn options(settings: &Settings) -> CommandOptions {
    let shell = SHELLS.into_iter().find(|shell| Path::new(shell).exists());
    let secrets = Surroundings::new(&settings.homes, &settings.project, |name| {
        settings.environment.get(name)
    });
    CommandOptions {
        supervisor: supervisor(),
        shell: PathBuf::from(shell.unwrap_or("/bin/sh")),
        environment: environment(settings).passed,
        shell_path: settings
            .environment
            .get(env::PATH)
            .unwrap_or_default()
            .to_owned(),
        temporary: temporary(settings.environment.get(env::TMPDIR), &secrets.locations()),
        baselines: settings.folders.data.join("commands"),
        set_aside: settings.folders.set_aside(),
        time_limit: settings.limits.command_timeout_secs.value.duration(),
        network: settings.commands.network.value,
        write: settings.writable_for_commands().collect(),
        secrets: Some(secrets),
    }
}

/// Where the private temporary folder of a command is made: in `TMPDIR`, but not inside a location of secrets, such as
/// `/run/user`. Commands cannot see those, and the folder must not open one to them.
fn temporary(variable: Option<&OsStr>, secrets: &[PathBuf]) -> PathBuf {
    let is_hidden = |folder: &PathBuf| {
        let real = folder.canonicalize();
        let real = real.as_ref().unwrap_or(folder);
        let mut secrets = secrets.iter();
        secrets.any(|secret| folder.starts_with(secret) || real.starts_with(secret))
    };
    variable
        .map(PathBuf::from)
        .filter(|folder| !is_hidden(folder))
        .unwrap_or_else(|| TEMPORARY.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_folders_open_no_location_of_secrets() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("secret")).unwrap();
        std::os::unix::fs::symlink("secret", root.join("link")).unwrap();
        let secrets = [PathBuf::from("/run/user"), root.join("secret")];
        let link = root.join("link");
        for (variable, expected) in [
            (None, "/tmp"),
            (Some("/var/tmp"), "/var/tmp"),
            (Some("/run/user/1000/tmp"), "/tmp"),
            (Some("/run/user"), "/tmp"),
            (Some("/run/users"), "/run/users"),
            (link.to_str(), "/tmp"),
        ] {
            let found = temporary(variable.map(OsStr::new), &secrets);
            assert_eq!(found, Path::new(expected), "{variable:?}");
        }
    }
}
