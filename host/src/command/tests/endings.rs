//! What a yes is bound to, and when it ends.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use proptest::prelude::*;

use super::machine::{Caller1, Machine};
use crate::ask::Scope;
use crate::permission::Verdict;

#[test]
fn a_yes_ends_when_what_it_runs_changes() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let project = machine.root().join("project");
        let asks = |line: &str, why: &str| {
            let (verdict, rule) = plugin.decide(&machine, line);
            assert_eq!(verdict, Verdict::Ask, "{line}");
            assert!(rule.to_string().contains(why), "{line}: {rule}");
        };
        for line in [
            "./tool.sh",
            "python3 gen.py",
            "rustc --version",
            "sh sub/new.sh",
        ] {
            plugin.answer(&machine, line, true, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
        fs::write(project.join("tool.sh"), "evil").unwrap();
        asks("./tool.sh", "tool.sh has changed since");
        fs::write(project.join("gen.py"), "evil").unwrap();
        asks("python3 gen.py", "gen.py has changed since");
        fs::write(project.join("sub/new.sh"), "evil").unwrap();
        asks("sh sub/new.sh", "it names other files now");
        if scope == Scope::Always {
            let list = machine.permissions.list().unwrap();
            let lapsed = list.iter().filter(|stored| stored.lapsed.is_some());
            let mut keys: Vec<&str> = lapsed.map(|stored| stored.key.as_str()).collect();
            keys.retain(|key| key.contains("tool.sh") || key.contains("gen.py"));
            assert_eq!(keys.len(), 2, "{list:?}");
        }
        let link = machine.root().join("bin/rustc");
        fs::remove_file(&link).unwrap();
        symlink("perl", &link).unwrap();
        asks("rustc --version", "leads to another file now");
        // The newer answer counts.
        plugin.answer(&machine, "./tool.sh", true, scope);
        assert_eq!(plugin.verdict(&machine, "./tool.sh"), Verdict::Allow);
    }
}

/// What a line names by a link is bound to where the link leads.
#[test]
fn a_yes_ends_when_a_link_leads_elsewhere() {
    for scope in [Scope::Session, Scope::Always] {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let project = machine.root().join("project");
        let lines = ["sh link.py", "sh out/perl", "sh missing.py", "python3 out"];
        for line in lines {
            plugin.answer(&machine, line, true, scope);
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
        let bin = machine.root().join("bin");
        let elsewhere = machine.root().join("elsewhere");
        fs::create_dir(&elsewhere).unwrap();
        fs::write(elsewhere.join("perl"), "").unwrap();
        for (link, to) in [
            ("link.py", bin.join("git")),
            ("out", elsewhere),
            ("missing.py", bin.join("git")),
        ] {
            let link = project.join(link);
            let _ = fs::remove_file(&link);
            symlink(to, &link).unwrap();
        }
        for line in lines {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
        }
    }
}

/// The same words mean another file in another project.
#[test]
fn a_yes_to_a_line_holds_in_its_project() {
    let mut machine = Machine::new();
    let plugin = Caller1::new("1");
    let root = machine.root().to_owned();
    fs::create_dir_all(root.join("other/sub")).unwrap();
    let lines = ["python3 sub", "git push", "sh missing.sh"];
    for line in lines.iter().chain(&["cargo test", "ls"]) {
        plugin.answer(&machine, line, true, Scope::Always);
    }
    let key = machine.permissions.set("docker ps", "--x").unwrap();
    assert!(key.starts_with("$ "), "{key}");
    machine.permissions = Machine::permissions_in(&root, "other", Vec::new());
    for line in lines {
        let (verdict, rule) = plugin.decide(&machine, line);
        assert_eq!(verdict, Verdict::Ask, "{line}");
        assert!(rule.to_string().contains("in another project"), "{rule}");
        plugin.answer(&machine, line, true, Scope::Always);
    }
    for line in ["cargo test", "ls", "docker ps"] {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    let list = machine.permissions.list().unwrap();
    let push = list.iter().find(|it| it.key.ends_with("git push")).unwrap();
    let bound_to = push.bound_to.as_deref().unwrap();
    assert_eq!(bound_to.matches(" in ").count(), 2, "{bound_to}");
    // Each project has its own answer, and a no is for all.
    for project in ["project", "other"] {
        machine.permissions = Machine::permissions_in(&root, project, Vec::new());
        for line in lines {
            assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
        }
    }
    plugin.answer(&machine, "git push", false, Scope::Always);
    machine.permissions = Machine::permissions_in(&root, "project", Vec::new());
    assert_eq!(plugin.verdict(&machine, "git push"), Verdict::Deny);
}

/// A file that a program takes as data, and changes itself, binds nothing: the yes would end with its first use.
#[test]
fn a_yes_does_not_end_when_data_changes() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    let project = machine.root().join("project");
    fs::write(project.join("notes.txt"), "a").unwrap();
    fs::write(project.join("edits.sed"), "s/a/b/").unwrap();
    let of_data = "sed -i s/a/b/ notes.txt";
    let of_code = "sed -i -f edits.sed notes.txt";
    // These run what the file holds.
    let runs = [
        "sed -n e notes.txt",
        "sed s/a/b/e notes.txt",
        "sed -i 's/a/[/]/e' notes.txt",
    ];
    for line in runs.into_iter().chain([of_data, of_code]) {
        plugin.answer(&machine, line, true, Scope::Always);
        assert_eq!(plugin.verdict(&machine, line), Verdict::Allow, "{line}");
    }
    fs::write(project.join("notes.txt"), "b").unwrap();
    assert_eq!(plugin.verdict(&machine, of_data), Verdict::Allow);
    for line in runs.into_iter().chain([of_code]) {
        assert_eq!(plugin.verdict(&machine, line), Verdict::Ask, "{line}");
    }
}

#[test]
fn a_program_that_is_put_before_another_one_is_another_one() {
    let machine = Machine::new();
    let plugin = Caller1::new("1");
    plugin.answer(&machine, "cargo test", true, Scope::Always);
    // A folder of the search path that commands can write to.
    let early = machine.root().join("missing");
    fs::create_dir(&early).unwrap();
    let path = early.join("cargo");
    fs::write(&path, "").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(plugin.verdict(&machine, "cargo test"), Verdict::Ask);
}

/// Ways in which a line can name the file that stands for `{}`.
const NAMINGS: &[&str] = &[
    "{}",
    "./{}",
    "sub/../{}",
    "--file={}",
    "-f{}",
    "x:{}",
    "@{}",
    "x,{}",
    "{},x",
    "{}:12",
    "-C sub {}",
    "-C sub ../{}",
    "'sh {} --fast'",
    "'exec(open(\"{}\").read())'",
    "'x; . ./{}|y'",
    "'$PWD/{}'",
    "'sh -c \"sh {}\"'",
    "'a b={} c'",
    "'`{}`'",
    "'[{}]'",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    /// However a line names a file, a yes to it ends when that is another file, or has other content.
    #[test]
    fn a_yes_is_bound_to_what_is_named(
        program in prop::sample::select(&["sh", "python3", "env", "make", "perl", "busybox", "./tool.sh"][..]),
        naming in prop::sample::select(NAMINGS),
        file in prop::sample::select(&["gen.py", "a,b.py", "link.py", "sub/in.py", "out/perl", "missing.py"][..]),
        is_session in any::<bool>(),
        is_replaced in any::<bool>(),
    ) {
        let machine = Machine::new();
        let plugin = Caller1::new("1");
        let line = format!("{program} {}", naming.replace("{}", file));
        let target = machine.read(&line).unwrap().target;
        prop_assume!(matches!(target.key, crate::target::CommandKey::Line(_)));
        let scope = if is_session { Scope::Session } else { Scope::Always };
        plugin.answer(&machine, &line, true, scope);
        prop_assert_eq!(plugin.verdict(&machine, &line), Verdict::Allow, "{}", line);
        let path = machine.root().join("project").join(file);
        if is_replaced {
            let _ = fs::remove_file(&path);
            symlink(machine.root().join("bin/ssh"), &path).unwrap();
        } else {
            fs::write(&path, "evil").unwrap();
        }
        prop_assert_eq!(plugin.verdict(&machine, &line), Verdict::Ask, "{}", line);
    }
}
