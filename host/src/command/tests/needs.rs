//! What a line needs, what the user is told, and how long a yes may hold.

use std::path::Path;

use super::machine::Machine;
use crate::ask::Scope;
use crate::command::Reading;
use crate::permission::Verdict;
use crate::target::Operation;

const SHELL: &str = "/bin/sh";

#[test]
fn a_simple_line_needs_its_programs_a_compound_one_the_shell_as_well() {
    let machine = Machine::new();
    let needs = |line: &str| -> Vec<String> {
        let needs = machine.read(line).unwrap().needs(Path::new(SHELL));
        needs
            .iter()
            .map(|need| {
                let target = need.target.to_string();
                let short = target.rsplit('/').next().unwrap_or_default().to_owned();
                format!("{} {short}", need.operation.verb())
            })
            .collect()
    };
    assert_eq!(needs("cargo build"), ["execute cargo"]);
    assert_eq!(
        needs("timeout 5 cargo build"),
        ["execute timeout", "execute cargo"]
    );
    assert_eq!(
        needs("cargo build | sort"),
        ["execute cargo", "execute sort", "execute sh"]
    );
    assert_eq!(needs("$x"), ["execute sh"]);
    assert_eq!(needs("git add .env"), ["execute git", "read .env"]);
}

#[test]
fn a_yes_lasts_only_for_what_is_simple_and_harmless() {
    let machine = Machine::new();
    for (line, longest, notices) in [
        ("cargo build", Scope::Always, &[][..]),
        ("ls src credentials secrets", Scope::Always, &[]),
        (
            "cargo build | sort",
            Scope::Once,
            &["It is not one simple command (a pipe), so it is asked each time."],
        ),
        (
            "ls .env",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "git show HEAD:.env",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "tar --file=sub/id_rsa",
            Scope::Once,
            &["It names /sub/id_rsa, which usually holds secrets."],
        ),
        (
            "ls .ssh",
            Scope::Once,
            &["It names /.ssh, which usually holds secrets."],
        ),
        (
            "git -C.aws log",
            Scope::Once,
            &[
                "It is not one simple command (git with words that may run other programs), so it is \
            asked each time.",
                "It names /.aws, which usually holds secrets.",
            ],
        ),
        (
            "sort < sub/../.env",
            Scope::Once,
            &[
                "It is not one simple command (a redirection), so it is asked each time.",
                "It names /.env, which usually holds secrets.",
            ],
        ),
    ] {
        let command = machine.read(line).unwrap();
        assert_eq!(command.longest(false), longest, "{line}");
        let project = machine.root().join("project").display().to_string();
        let found: Vec<String> = command
            .notices(false)
            .iter()
            .map(|notice| notice.replace(&project, ""))
            .collect();
        assert_eq!(found, notices, "{line}");
    }
    let mut command = machine.read("cargo build").unwrap();
    command.network = true;
    assert_eq!(command.longest(false), Scope::Once);
    assert_eq!(command.notices(false), ["It wants to reach the network."]);
    assert_eq!(command.longest(true), Scope::Always);
    assert!(command.notices(true).is_empty());
}

#[test]
fn explaining_names_each_program_and_its_rule() {
    let machine = Machine::new();
    let root = machine.root().display();
    let set = |target: String, bits: &str| machine.permissions.set(&target, bits).unwrap();
    set(format!("{root}/bin/cargo"), "--x");
    set(format!("{root}/bin/git"), "---");
    let explained = machine
        .permissions
        .explain_command("nice cargo build")
        .unwrap();
    assert!(matches!(explained.reading, Reading::Simple { .. }));
    let verdicts: Vec<_> = explained
        .programs
        .iter()
        .map(|program| program.execute.verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Ask, Verdict::Allow]);
    assert!(
        explained
            .programs
            .iter()
            .all(|program| program.execute.operation == Operation::Execute)
    );
    let explained = machine
        .permissions
        .explain_command("cargo build && git push")
        .unwrap();
    assert!(matches!(explained.reading, Reading::Compound { .. }));
    let verdicts: Vec<_> = explained
        .programs
        .iter()
        .map(|program| program.execute.verdict)
        .collect();
    assert_eq!(verdicts, [Verdict::Allow, Verdict::Deny]);
    let explained = machine
        .permissions
        .explain_command("ls .dunlin/config.toml .env")
        .unwrap();
    assert_eq!(explained.guarded, machine.paths(".dunlin/config.toml .env"));
    assert!(machine.permissions.explain_command("nothing").is_err());
}
