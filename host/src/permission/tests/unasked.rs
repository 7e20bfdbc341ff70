//! Files that are run without a question, whatever they hold: changing one asks, also where edits are accepted.

use super::*;
use crate::hooks::{Hook, HookEvent};
use crate::mcp::{McpOptions, McpServer, Program, ServerAt};

/// Whether accepting edits leaves a question about changing a file of the project.
fn asks(fixture: &Fixture, permissions: &Permissions, file: &str) -> bool {
    let need = fixture.need(&format!("project/{file}"), Operation::Write);
    let found = decide(permissions, CALL, &plugin("write_file", "d", true), &need);
    match (found.verdict, found.rule) {
        (Verdict::Ask, Rule::WritingBound) => true,
        (Verdict::Allow, Rule::AcceptEdits) => false,
        other => panic!("{file}: {other:?}"),
    }
}

fn write(fixture: &Fixture, file: &str, text: &str) {
    let path = fixture.root.join("project").join(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, text).unwrap();
}

fn accepting(options: HostOptions) -> Permissions {
    Permissions::open(&HostOptions {
        mode: ModeSwitch::new(SessionMode::AcceptEdits),
        ..options
    })
    .unwrap()
}

#[test]
fn what_hooks_run_asks_also_before_it_is_there() {
    for (line, file) in [
        ("sh check.sh", "check.sh"),
        ("sh ~/project/check.sh", "check.sh"),
        ("sh ~/../{root}/project/check.sh", "check.sh"),
        ("cd sub && sh check.sh", "sub/check.sh"),
        ("sh -c 'sh check.sh'", "check.sh"),
        ("python3 -m check", "check.py"),
        ("python3 -mcheck", "check.py"),
        ("python3 -m tools.check", "tools/check.py"),
        ("python3 -m tools.check", "tools/__init__.py"),
        ("python3 -m tools.check", "tools/check/__main__.py"),
        ("python3 tools", "tools/__main__.py"),
        ("python3 .", "__main__.py"),
        ("node check", "check.js"),
        ("node ./check", "check.mjs"),
        ("node web", "web/index.cjs"),
        ("node web", "web/package.json"),
        ("perl -I. -MFoo -e 0", "Foo.pm"),
        ("PERL5OPT=-MFoo PERL5LIB=. perl -e 0", "Foo.pm"),
        ("PERL5LIB=. PERL5OPT='-w -MFoo' perl -e 0", "Foo.pm"),
        ("RUBYOPT=-rx ruby -e 0", "x.rb"),
        ("perl -Ilib -MFoo::Bar -e 0", "lib/Foo/Bar.pm"),
    ] {
        let fixture = Fixture::new();
        let root = fixture.root.file_name().unwrap().to_str().unwrap();
        let hook = Hook {
            event: HookEvent::TurnEnd,
            command: line.replace("{root}", root),
            tools: None,
            time_limit: std::time::Duration::from_secs(1),
            origin: "config.toml".into(),
            pinned: Vec::new(),
        };
        let permissions = accepting(HostOptions {
            hooks: vec![hook],
            ..fixture.options()
        });
        for is_there in [false, true] {
            if is_there {
                write(&fixture, file, "1");
            }
            assert!(asks(&fixture, &permissions, file), "{line}: {file}");
            for other in ["src/main.rs", "src/new.rs"] {
                assert!(!asks(&fixture, &permissions, other), "{line}: {other}");
            }
        }
    }
}

/// Such a yes does not end with a change of the file, so neither does the question.
#[test]
fn what_was_allowed_by_hand_runs_asks_as_long_as_that_holds() {
    let line = "/bin/sh check.sh";
    let option = "--allow-line '/bin/sh check.sh'";
    type Allow = fn(&Permissions, &str, &str);
    let all: [Allow; 6] = [
        |it, line, option| drop(it.allow_line_by_option(line, option).unwrap()),
        |it, line, option| {
            drop(
                it.allow_line_by_option(&format!("{line} | cat"), option)
                    .unwrap(),
            );
        },
        |it, line, option| drop(it.allow_by_option(line, "--x", option).unwrap()),
        |it, line, _| drop(it.set(line, "--x").unwrap()),
        |it, line, _| drop(it.set(&format!("= {line}"), "--x").unwrap()),
        |it, _, _| drop(it.set("$ /usr/bin/python3 -m check", "--x").unwrap()),
    ];
    for (at, allow) in all.iter().enumerate() {
        let fixture = Fixture::new();
        let permissions = accepting(fixture.options());
        let file = ["check.sh", "check.py"][at / 5];
        write(&fixture, file, "1");
        assert!(!asks(&fixture, &permissions, file), "{at}");
        allow(&permissions, line, option);
        for text in ["1", "2"] {
            write(&fixture, file, text);
            assert!(asks(&fixture, &permissions, file), "{at}: {text}");
            assert!(!asks(&fixture, &permissions, "src/main.rs"), "{at}");
        }
    }
    // A no runs nothing.
    let fixture = Fixture::new();
    let permissions = accepting(fixture.options());
    permissions.set("= /bin/sh check.sh", "---").unwrap();
    write(&fixture, "check.sh", "1");
    assert!(!asks(&fixture, &permissions, "check.sh"));
}

#[test]
fn what_servers_run_asks_wherever_they_start() {
    let fixture = Fixture::new();
    let server = |folder: &str, arguments: &[&str], sandbox: bool| McpServer {
        name: "notes".to_owned(),
        description: None,
        at: ServerAt::Program(Program {
            supervisor: Vec::new(),
            command: "python3".to_owned(),
            arguments: arguments.iter().map(|&word| word.to_owned()).collect(),
            environment: Vec::new(),
            folder_lists: Vec::new(),
            own_variables: vec![("BASH_ENV".to_owned(), "tools/env.sh".to_owned())],
            folder: fixture.root.join(folder),
            makes_folder: false,
            search_path: Vec::new(),
            sandbox,
        }),
        ask: false,
        ask_tools: Vec::new(),
        roots: Vec::new(),
        timeout: std::time::Duration::from_secs(1),
    };
    let whole = fixture.root.join("project/tools/server.py");
    let whole = whole.to_str().unwrap();
    for (folder, arguments) in [
        ("project", &["tools/server.py"][..]),
        ("project/tools", &["server.py"]),
        ("project", &["-m", "tools.server"]),
        ("outside", &[whole]),
    ] {
        for sandbox in [false, true] {
            let permissions = accepting(HostOptions {
                mcp: McpOptions {
                    servers: vec![server(folder, arguments, sandbox)],
                    ..McpOptions::none()
                },
                ..fixture.options()
            });
            let _ = std::fs::remove_dir_all(fixture.root.join("project/tools"));
            for is_there in [false, true] {
                for file in ["tools/server.py", "tools/env.sh"] {
                    if is_there {
                        write(&fixture, file, "1");
                    }
                    assert!(asks(&fixture, &permissions, file), "{arguments:?}: {file}");
                }
                assert!(!asks(&fixture, &permissions, "src/main.rs"));
            }
        }
    }
}
