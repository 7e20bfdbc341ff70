//! Which lines a no refuses.

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::permission::Verdict;

#[test]
fn a_no_to_a_compound_line_is_for_this_line_alone() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        plugin.answer(&machine, "cargo build | sort", false, scope);
        assert_eq!(
            plugin.verdict(&machine, "cargo build | sort"),
            Verdict::Deny
        );
        for line in ["cargo build", "sort f", "git log | sort"] {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        }
    }
}

#[test]
fn a_no_to_words_or_to_a_program_is_read_generously() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo test", false, Scope::Always);
    for line in ["cargo test --config x", "nice cargo test -p x"] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    assert_eq!(plugin.verdict(&machine, "cargo build"), Verdict::Ask);
    for line in [
        "ls && cargo test",
        "sh -c 'cargo test -p x'",
        "xargs cargo test",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    plugin.answer(&machine, "git push", false, Scope::Always);
    assert_eq!(plugin.verdict(&machine, "ls; git push"), Verdict::Deny);
    assert_eq!(plugin.verdict(&machine, "ls; git push x"), Verdict::Ask);
    // By its own name, by the file behind a link, in the middle of another line.
    machine.permissions.set("rustup", "---").unwrap();
    for line in [
        "rustup show",
        "rustc --version",
        "ls | rustc -",
        "xargs rustup",
        "sh -c 'ls; rustc x'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    assert_eq!(plugin.verdict(&machine, "rg rustup"), Verdict::Ask);
    for line in [
        "find . -exec rustup x +",
        "rg --pre rustup x",
        "sort --compress-program=rustup f",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    let key = machine.permissions.set("python3.11 -m pip", "---").unwrap();
    assert!(key.ends_with("/bin/python3.11 -m pip"), "{key}");
    assert_eq!(
        plugin.verdict(&machine, "python3 -m pip install x"),
        Verdict::Deny
    );
    assert_eq!(
        plugin.verdict(&machine, "ls; python3 -m pip"),
        Verdict::Deny
    );
}

/// What git does before it looks at its subcommand, and what a shell makes of its variables, gets round no denial.
#[test]
fn a_no_holds_where_options_or_variables_hide_the_command() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    for program in ["git", "bash", "cargo", "timeout"] {
        machine.permissions.set(program, "--x").unwrap();
    }
    let hidden = [
        "git -c alias.x=push x",
        "git --config-env=alias.x=E x",
        "git --exec-path=. x",
        "bash -c 'p=push; git $p'",
        "bash -c 'x=ls; $x docs'",
        "bash -c 'x=ls; timeout 5 $x docs'",
        "bash -c 'eval \"$x\"'",
        "timeout x bash -c '`printf ls`'",
    ];
    for line in hidden {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    // Nothing of this is a program.
    for (target, bits) in [("gen.py", "---"), ("sub/", "r--"), ("nothing", "---")] {
        machine.permissions.set(target, bits).unwrap();
    }
    assert_eq!(plugin.verdict(&machine, hidden[4]), Verdict::Allow);
    machine.permissions.set("sub/", "??-").unwrap();
    assert_eq!(plugin.verdict(&machine, hidden[4]), Verdict::Ask);
    machine.permissions.unset("sub/").unwrap();
    machine.permissions.set("git push", "---").unwrap();
    for line in [
        "git push",
        "git -C . push",
        "git -C . --no-pager push origin",
        "git --git-dir=.git push",
        "git -c x=y push",
        "timeout x git -C . push",
        "bash -c 'git -C \"$d\" push'",
        "ls; git -p push",
        "env -S 'git push'",
        "env '-Sgit push'",
        "env --split-string='git push'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    for line in hidden {
        let (verdict, rule) = plugin.decide(&machine, line);
        assert_eq!(verdict, Verdict::Ask, "{line}");
        assert!(rule.to_string().contains("git push"), "{line}: {rule}");
    }
    for line in [
        "git -C . pull",
        "git pull",
        "cargo -v publish",
        "bash -c 'for f in *; do ls \"$f\"; done'",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    // Whoever was shown the line knows what it says.
    for line in hidden {
        plugin.answer(&machine, line, true, Scope::Session);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
}

/// Programs know subcommands by several names and take options between words, and which is for them to say.
#[test]
fn a_no_asks_where_the_command_may_be_written_in_another_way() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    for program in ["git", "cargo", "npm", "just"] {
        machine.permissions.set(program, "--x").unwrap();
    }
    for denied in [
        "npm run deploy",
        "npm run test",
        "cargo test",
        "just deploy",
        "git push --force",
        "git remote add",
    ] {
        machine.permissions.set(denied, "---").unwrap();
    }
    for line in ["npm run deploy", "cargo test -p x", "just deploy"] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    for line in [
        "npm run -s deploy",
        "npm run-script deploy",
        "npm --silent run deploy",
        "npm t",
        "npm test",
        "cargo t",
        "cargo t && ls",
        "timeout 5 cargo t",
        "cargo +nightly test",
        "just -q deploy",
        "just d",
        // The first recipe may be the denied one.
        "just",
        "git push -f",
        "git push origin -f",
        "git p",
        "git remote -v add x",
        "git remote update",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
    }
    for line in [
        "npm run build",
        "npm run",
        "npm ci",
        "cargo build --release",
        "cargo build --test x",
        "git push",
        "git push origin main",
        "git log -1",
        "git -C . status -s",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
}

/// A line that is made so long that what matters in it is not looked at is asked about, however far the tool is trusted.
#[test]
fn a_long_line_hides_nothing() {
    let machine = Machine::new();
    let many: String = (0..5_000).map(|number| format!("x{number}; ")).collect();
    let line = machine.read(&format!("{many} git push")).unwrap();
    assert!(line.target.is_incomplete);
    let repeated = machine
        .read(&format!("{} git push", "ls; ".repeat(100)))
        .unwrap();
    let mut programs = repeated.target.programs.iter();
    assert!(programs.any(|program| program.called.ends_with("git")));
    let names: String = (0..5_000).map(|number| format!(" f{number}")).collect();
    assert!(
        machine
            .read(&format!("cat{names} .env; ls"))
            .unwrap()
            .is_sensitive(true)
    );
    let short = format!("cat {} .env", "-,a ".repeat(400));
    assert_eq!(machine.read(&short).unwrap().guarded, machine.paths(".env"));
}

/// A shell reads a command there, whatever stands in front of it.
#[test]
fn a_no_finds_commands_behind_heads_and_options() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo test", false, Scope::Always);
    for line in [
        "function ls { cargo test; }; ls",
        "set -- a; for i do cargo test; done",
        "function z if cargo test; then :; fi; z",
        "exec -a ls cargo test",
        "command -p cargo test",
        "time -f ls cargo test",
        "alias g='cargo test'; g",
        "eval 'ls;cargo' test",
        "cat <(:)#;cargo test",
        "trap 'cargo test' EXIT",
        "echo \"5$'\"; cargo test; echo \"'\"",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Deny, "{line}");
    }
    // Of these it cannot be told: they are asked about, whatever is allowed.
    for line in [
        "bash <<'E'\ncargo test\nE",
        "bash <<< 'cargo test'",
        "cat <<'E' | env sh\ncargo test\nE",
        "bash -c \"$(cat <<'E'\ncargo test\nE\n)\"",
        "bash -c '$x'",
        "bash -c $'cargo test'",
        "coproc ls if cargo test; then :; fi",
        "((x=1<<2))\ncargo test\n2",
        "cat <<EF\nE\\\nF\ncargo test\nEF",
        "echo x | bash -oe pipefail",
        "alias g=cargo; g test",
        "trap 'cargo${IFS}test' EXIT",
        "trap -- \"$x\" EXIT",
    ] {
        let read = machine.read(line).unwrap();
        let is_unclear = read.target.hides_program || read.target.is_incomplete;
        assert!(is_unclear, "{line}");
        assert_eq!(read.longest(true), Scope::Once, "{line}");
    }
    for line in [
        "for i in a b; do ls; done",
        "cat > x <<'E'\ncargo test\nE\nbash x",
        "exec -a cargo ls",
        "for i in cargo test; do echo $i; done",
        "case cargo in test) ls;; esac",
        "export M='x=cargo test'; ls",
    ] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
    }
}

#[test]
fn secrets_are_seen_behind_heads_and_in_values() {
    let machine = Machine::new();
    for line in [
        "for f in .env; do cat $f; done",
        "function f { cat .env; }; f",
        "set -- a; for i do cat .env; done",
        "f=.env; cat $f",
    ] {
        let read = machine.read(line).unwrap();
        assert_eq!(read.guarded, machine.paths(".env"), "{line}");
        assert!(read.is_sensitive(true), "{line}");
    }
    // A text that is written to a file names nothing, and gives no right to change the repository.
    let text = machine.read("cat > x <<'E'\ngit is .env\nE\nsh x").unwrap();
    assert!(text.guarded.is_empty(), "{text:?}");
    assert!(!text.may_change_repository);
}
