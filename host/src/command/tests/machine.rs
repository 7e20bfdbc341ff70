//! A machine with some programs.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::ask::{Answer, Scope};
use crate::command::{CommandError, CommandLine};
use crate::permission::{Caller, PluginId, Rule, Verdict};
use crate::target::Need;
use crate::{CommandOptions, HostOptions, Limits, Permissions};

const PROGRAMS: &[&str] = &[
    "bash",
    "busybox",
    "cargo",
    "docker",
    "egrep",
    "env",
    "find",
    "git",
    "head",
    "ionice",
    "just",
    "less",
    "ls",
    "make",
    "man",
    "mawk",
    "nice",
    "node",
    "nohup",
    "npm",
    "perl",
    "python3.11",
    "rg",
    "rustup",
    "sed",
    "setsid",
    "sh",
    "sort",
    "ssh",
    "stdbuf",
    "strace",
    "sudo",
    "tar",
    "time",
    "timeout",
    "uniq",
    "vim.basic",
    "watch",
    "wc",
    "which.debianutils",
    "xargs",
];

const LINKS: &[(&str, &str)] = &[
    ("python3", "python3.11"),
    ("awk", "alternatives-awk"),
    ("alternatives-awk", "mawk"),
    ("vim", "vim.basic"),
    ("cat", "busybox"),
    // As where another program has taken the name.
    ("grep", "env"),
    ("innocent", "xargs"),
    ("list", "ls"),
    ("rustc", "rustup"),
    ("which", "which.debianutils"),
];

/// Folders with programs, a project, and a permission store over them.
pub(super) struct Machine {
    _folder: TempDir,
    root: PathBuf,
    pub(super) permissions: Permissions,
}

impl Machine {
    pub(super) fn new() -> Machine {
        let folder = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(folder.path()).unwrap();
        let bin = root.join("bin");
        for folder in ["bin", "project/sub", "project/.dunlin", "data"] {
            fs::create_dir_all(root.join(folder)).unwrap();
        }
        for name in PROGRAMS {
            program(&bin.join(name));
        }
        for (link, to) in LINKS {
            symlink(to, bin.join(link)).unwrap();
        }
        program(&root.join("project/tool.sh"));
        program(&root.join("project/ls"));
        for script in ["egrep", "which.debianutils"] {
            fs::write(bin.join(script), "#!/bin/sh\n").unwrap();
        }
        fs::create_dir(root.join("project/~")).unwrap();
        program(&root.join("project/~/ls"));
        program(&root.join("project/ld-linux-x86-64.so.2"));
        fs::write(root.join("project/gen.py"), "").unwrap();
        symlink("../bin", root.join("project/out")).unwrap();
        fs::write(root.join("project/.env"), "").unwrap();
        // A file and a folder outside, by links that commands can make lead elsewhere.
        symlink("../bin/perl", root.join("project/link.py")).unwrap();
        fs::write(root.join("project/a,b.py"), "").unwrap();
        fs::write(root.join("project/sub/in.py"), "").unwrap();
        let permissions = Machine::permissions_in(&root, "project", Vec::new());
        Machine {
            _folder: folder,
            root,
            permissions,
        }
    }

    /// The permissions of the same user in another project.
    pub(super) fn permissions_in(
        root: &Path,
        project: &str,
        environment: Vec<(OsString, OsString)>,
    ) -> Permissions {
        Machine::open(root, project, "sh", environment)
    }

    /// The permissions of the same user with another shell.
    pub(super) fn permissions_with(root: &Path, shell: &str) -> Permissions {
        Machine::open(root, "project", shell, Vec::new())
    }

    fn open(
        root: &Path,
        project: &str,
        shell: &str,
        environment: Vec<(OsString, OsString)>,
    ) -> Permissions {
        let bin = root.join("bin");
        Permissions::open(&HostOptions {
            project: root.join(project),
            is_project: true,
            home: Some(root.to_owned()),
            search_path: vec![root.join("missing"), bin],
            permissions_file: root.join("data/tool.permissions.json"),
            audit_file: root.join("data/audit.jsonl"),
            log_file: root.join("data/plugins.jsonl"),
            cache_dir: root.join("cache"),
            undo_dir: root.join("undo"),
            stores_dir: root.join("stores"),
            protected: vec![root.join("data"), root.join("project/.dunlin")],
            session: "s".into(),
            mode: crate::permission::ModeSwitch::default(),
            limits: Limits::standard(),
            hooks: Vec::new(),
            commands: CommandOptions {
                shell: root.join("bin").join(shell),
                environment,
                ..CommandOptions::none()
            },
            web: crate::WebOptions::system("test"),
            mcp: crate::mcp::McpOptions::none(),
            syntax: None,
            app_engine: None,
            embedder: None,
        })
        .unwrap()
    }

    /// Reads a line; `/bin-of-test` in it is the folder of the programs.
    pub(super) fn read(&self, line: &str) -> Result<CommandLine, CommandError> {
        let bin = self.root.join("bin").display().to_string();
        CommandLine::read(line.replace("/bin-of-test", &bin), false, &self.permissions)
    }

    /// Where these programs are, and these files of the project.
    pub(super) fn paths(&self, names: &str) -> Vec<PathBuf> {
        let place = |name: &str| {
            let program = self.root.join("bin").join(name);
            if program.exists() {
                program
            } else {
                self.root.join("project").join(name)
            }
        };
        names.split(' ').map(place).collect()
    }

    /// Makes a script of the project.
    pub(super) fn script(&self, name: &str, text: &str) {
        let path = self.root.join("project").join(name);
        program(&path);
        fs::write(path, text).unwrap();
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }
}

fn program(path: &Path) {
    fs::write(path, "").unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}

/// The calls of one plugin.
pub(super) struct Caller1 {
    plugin: PluginId,
}

impl Caller1 {
    pub(super) fn new(digest: &str) -> Caller1 {
        Caller1 {
            plugin: PluginId {
                name: "shell".to_owned(),
                origin: None,
                digest: digest.to_owned(),
                built_in: false,
            },
        }
    }

    pub(super) fn caller(&self) -> Caller<'_> {
        Caller {
            call: "c",
            tool: "shell",
            plugin: &self.plugin,
            declared: true,
            declared_permissions: None,
        }
    }

    pub(super) fn decide(&self, machine: &Machine, line: &str) -> (Verdict, Rule) {
        let need = need(&machine.read(line).unwrap());
        let decision = machine.permissions.decide(&self.caller(), &need).unwrap();
        (decision.verdict, decision.rule)
    }

    pub(super) fn verdict(&self, machine: &Machine, line: &str) -> Verdict {
        self.decide(machine, line).0
    }

    /// Says yes to what was read before, in the call that decides.
    pub(super) fn remember(&self, machine: &Machine, need: Need, scope: Scope) {
        let answer = Answer { allow: true, scope };
        self.remember_for("c", machine, need, answer);
    }

    pub(super) fn answer(&self, machine: &Machine, line: &str, allow: bool, scope: Scope) {
        let need = need(&machine.read(line).unwrap());
        self.remember_for("other", machine, need, Answer { allow, scope });
    }

    fn remember_for(&self, call: &str, machine: &Machine, need: Need, answer: Answer) {
        let permissions = &machine.permissions;
        let needs = match answer.is_permanent_yes() {
            true => permissions.to_be_stored(&self.caller(), &[need]).unwrap(),
            false => vec![need],
        };
        permissions
            .remember(call, &self.plugin, &needs, answer)
            .unwrap();
    }

    /// Stores what was named before.
    pub(super) fn store(&self, machine: &Machine, needs: &[Need]) {
        let answer = Answer {
            allow: true,
            scope: Scope::Always,
        };
        let permissions = &machine.permissions;
        permissions
            .remember("c", &self.plugin, needs, answer)
            .unwrap();
    }
}

fn need(command: &CommandLine) -> Need {
    command.needs().remove(0)
}
