//! What a line needs, what the user is told, and how long a yes may hold.

use super::machine::Machine;
use crate::ask::Scope;
use crate::permission::Verdict;

#[test]
fn a_line_needs_to_be_run_and_to_read_the_secrets_that_it_names() {
    let machine = Machine::new();
    let root = machine.root().display();
    let needs = |line: &str| -> Vec<String> {
        let needs = machine.read(line).unwrap().needs();
        needs
            .iter()
            .map(|need| format!("{} {}", need.operation.verb(), need.target))
            .collect()
    };
    assert_eq!(
        needs("cargo build"),
        [format!("execute $ {root}/bin/cargo build")]
    );
    assert_eq!(
        needs("cargo build | sort"),
        ["execute = cargo build | sort"]
    );
    assert_eq!(
        needs("git add .env"),
        [
            format!("execute $ {root}/bin/git add"),
            format!("read {root}/project/.env")
        ]
    );
}

#[test]
fn a_yes_lasts_only_for_what_is_simple_and_harmless() {
    let machine = Machine::new();
    for (line, longest, notices) in [
        ("cargo build", Scope::Always, &[][..]),
        ("ls src credentials secrets", Scope::Always, &[]),
        ("cargo build | sort", Scope::Always, &[]),
        (
            "cargo build | make",
            Scope::Session,
            &["Can't be stored because of make; s allows exactly this line."],
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
            "python3 -c 'print(open(\".env\").read())'",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "sh -c 'cat .env'",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "sh -c 'cat $PWD/.env'",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "sh -c 'cat ${x:-.env}'",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
        (
            "ls 'a .env.' process.env d.key",
            Scope::Once,
            &[
                "It names /process.env, which usually holds secrets.",
                "It names /d.key, which usually holds secrets.",
            ],
        ),
        (
            "node -e 'console.log(process.env.x, d.key)'",
            Scope::Session,
            &["Can't be stored as a word in it may be code; s allows exactly this line."],
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
                "It may change the git repository.",
                "It names /.aws, which usually holds secrets.",
            ],
        ),
        (
            "sort < sub/../.env",
            Scope::Once,
            &["It names /.env, which usually holds secrets."],
        ),
    ] {
        let command = machine.read(line).unwrap();
        assert_eq!(command.longest(false), longest, "{line}");
        let project = machine.root().join("project").display().to_string();
        let found: Vec<String> = command
            .notices(false, &|_| false)
            .iter()
            .map(|notice| notice.replace(&project, ""))
            .collect();
        assert_eq!(found, notices, "{line}");
    }
    let mut command = machine.read("cargo build").unwrap();
    command.network = true;
    assert_eq!(command.longest(false), Scope::Once);
    let notices = command.notices(false, &|_| false);
    assert!(
        matches!(notices.as_slice(), [notice] if notice== "Needs network access, so this is asked about each time."),
        "{notices:?}"
    );
    assert_eq!(command.longest(true), Scope::Always);
    assert!(command.notices(true, &|_| false).is_empty());
}

#[test]
fn explaining_says_what_holds_for_the_line_and_which_key_decides() {
    let machine = Machine::new();
    let root = machine.root().display();
    let explain = |line: &str| {
        let explained = machine.permissions.explain_command(line).unwrap();
        (
            explained.execute.verdict,
            explained.execute.rule.to_string(),
        )
    };
    assert_eq!(
        explain("cargo build"),
        (Verdict::Ask, "default: commands are asked".to_owned())
    );
    let set = |target: &str, bits: &str| machine.permissions.set(target, bits).unwrap();
    assert_eq!(
        set("cargo build", "--x"),
        format!("$ {root}/bin/cargo build")
    );
    set("git", "---");
    let by_cargo = format!("stored under $ {root}/bin/cargo build");
    assert_eq!(explain("nice cargo build"), (Verdict::Allow, by_cargo));
    let by_git = format!("stored under {root}/bin/git");
    assert_eq!(explain("cargo build && git push"), (Verdict::Deny, by_git));
    let explained = machine
        .permissions
        .explain_command("ls .dunlin/config.toml .env")
        .unwrap();
    assert_eq!(explained.guarded, machine.paths(".dunlin/config.toml .env"));
    assert!(machine.permissions.explain_command("nothing").is_err());
}
