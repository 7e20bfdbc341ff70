//! Command lines in the plan of a call: how they are asked about, and what an answer is worth.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use dunlin_host::Host;
use dunlin_host::ask::{Answer, Question, Scope};
use dunlin_host::call::{Action, Call, Failure, Plan, PlanStatus};
use dunlin_host::permission::key::Decided;
use dunlin_host::permission::{ToolMode, Verdict};
use dunlin_host::target::Operation;
use dunlin_tests::sandbox::{Sandbox, call, plugin};
use serde_json::json;

/// A project with two programs in the search path, and a host.
struct Shop {
    sandbox: Sandbox,
    host: Host,
}

impl Shop {
    fn new() -> Shop {
        let sandbox = Sandbox::new();
        let mut options = sandbox.options(dunlin_host::Limits::standard());
        let bin = sandbox.project().join("../bin");
        fs::create_dir(&bin).expect("a folder");
        let bin = fs::canonicalize(bin).expect("the folder");
        for name in ["cargo", "git", "sh"] {
            fs::write(bin.join(name), "").expect("a program");
            fs::set_permissions(bin.join(name), fs::Permissions::from_mode(0o755))
                .expect("its mode");
        }
        options.commands.shell = bin.join("sh");
        options.search_path = vec![bin];
        let host = Host::new(options, vec![plugin("disguised_command")]).expect("a host");
        Shop { sandbox, host }
    }

    async fn plan(&self, line: &str) -> Result<(Call, Plan), Failure> {
        let call = call("disguised_command", json!({ "line": line }));
        let plan = self.host.prepare(&call).await?;
        Ok((call, plan))
    }

    async fn question(&self, line: &str) -> Question {
        let (call, plan) = self.plan(line).await.expect("a plan");
        plan.question(&call)
            .unwrap_or_else(|| panic!("{line}: {:?}", plan.status))
    }

    /// Answers a line as a new call would be; the call ends without being run.
    async fn answer(&self, line: &str, allow: bool, scope: Scope) {
        let (call, plan) = self.plan(line).await.expect("a plan");
        let answer = Answer { allow, scope };
        self.host
            .answer(&call, &plan, answer)
            .await
            .expect("an answer");
        self.host.cancelled(&call);
    }

    async fn status(&self, line: &str) -> PlanStatus {
        self.plan(line).await.expect("a plan").1.status
    }

    fn stored(&self) -> String {
        fs::read_to_string(self.sandbox.permissions_file()).expect("the permissions")
    }
}

/// The programs that the question names.
fn programs(question: &Question) -> Vec<String> {
    let commands = question.needs.iter().filter_map(|it| it.target.command());
    let programs = commands.flat_map(|command| &command.programs);
    let name = |program: &dunlin_host::target::ProgramFile| {
        let name = program.called.file_name().expect("a name");
        name.to_string_lossy().into_owned()
    };
    programs.map(name).collect()
}

#[tokio::test]
async fn a_simple_command_is_asked_in_the_hosts_words_and_granted_as_it_was_shown() {
    let shop = Shop::new();
    let question = shop.question("cargo test").await;
    assert_eq!(question.wording, "Run command: cargo test?");
    assert_eq!(question.longest, Scope::Always);
    assert_eq!(programs(&question), ["cargo"]);
    assert!(question.notices.is_empty(), "{question:?}");
    let [Action::Command(command)] = question.actions.as_slice() else {
        panic!("not one command: {question:?}");
    };
    assert_eq!(command.line, "cargo test");
    assert_eq!(command.compound, None);
    assert_eq!(
        command.target.describe(),
        "cargo test, with harmless arguments"
    );

    shop.answer("cargo test", true, Scope::Always).await;
    assert!(
        shop.stored().contains("/bin/cargo test\": \"--X\""),
        "{}",
        shop.stored()
    );
    assert_eq!(shop.status("cargo test --all").await, PlanStatus::Allowed);
    for line in ["git log", "cargo build", "cargo test --config x"] {
        let status = shop.status(line).await;
        assert!(
            matches!(status, PlanStatus::Ask { .. }),
            "{line}: {status:?}"
        );
    }
}

#[tokio::test]
async fn a_compound_command_can_be_allowed_until_the_session_ends_and_is_never_stored() {
    let shop = Shop::new();
    let line = "cargo build | git log";
    let before = shop.stored();
    for scope in [Scope::Once, Scope::Session] {
        let question = shop.question(line).await;
        assert_eq!(question.wording, "Run command: cargo build | git log?");
        assert_eq!(question.longest, Scope::Session);
        assert_eq!(programs(&question), ["cargo", "git", "sh"]);
        let notice =
            "Can't be stored because of git log behind a pipe; s allows exactly this line.";
        assert_eq!(
            question.notices,
            [notice, "It may change the git repository."]
        );
        shop.answer(line, true, scope).await;
    }
    assert_eq!(shop.status(line).await, PlanStatus::Allowed);
    // Not even a yes for always is stored, nor does it cover another line.
    shop.answer("git log | cargo build", true, Scope::Always)
        .await;
    assert_eq!(shop.stored(), before);
    for other in ["cargo build | git push", "cargo build"] {
        let status = shop.status(other).await;
        assert!(
            matches!(status, PlanStatus::Ask { .. }),
            "{other}: {status:?}"
        );
    }
    // Not even when everything in it is granted, the shell included.
    for program in ["cargo", "git", "sh"] {
        let path = shop.sandbox.project().join("../bin").join(program);
        shop.host
            .permissions()
            .set(&path.display().to_string(), "--x")
            .unwrap();
    }
    let question = shop.question("cargo build | git push").await;
    assert_eq!(programs(&question), ["cargo", "git", "sh"]);
    assert_eq!(shop.status("cargo build").await, PlanStatus::Allowed);
}

#[tokio::test]
async fn a_lasting_no_is_for_what_was_shown_and_one_to_a_program_refuses_every_line_with_it() {
    let shop = Shop::new();
    shop.answer("cargo build; git push", false, Scope::Always)
        .await;
    for (line, denied) in [
        ("cargo build; git push", true),
        ("cargo build", false),
        ("git push", false),
        ("git log", false),
    ] {
        let status = shop.status(line).await;
        assert_eq!(
            matches!(status, PlanStatus::Denied { .. }),
            denied,
            "{line}: {status:?}"
        );
    }
    shop.host.permissions().set("git", "---").unwrap();
    for line in [
        "git log",
        "cargo build && git push",
        "cargo build \"$(git log)\"",
        "sh -c 'git push'",
    ] {
        let status = shop.status(line).await;
        assert!(
            matches!(status, PlanStatus::Denied { .. }),
            "{line}: {status:?}"
        );
    }
    assert!(matches!(
        shop.status("cargo build | cargo fmt").await,
        PlanStatus::Ask { .. }
    ));
}

/// Whatever more specific key, answer of the session or option allows the line; and what explains says so, too.
#[tokio::test]
async fn a_no_to_a_program_or_its_words_is_stronger_than_every_yes_to_a_line() {
    let shop = Shop::new();
    shop.answer("cargo test", true, Scope::Always).await;
    shop.answer("cargo run x.rs", true, Scope::Always).await;
    shop.answer("cargo build | cargo fmt", true, Scope::Session)
        .await;
    let permissions = shop.host.permissions();
    permissions
        .allow_line_by_option("cargo build && cargo test", "--allow-line ...")
        .expect("a line");
    let lines = [
        "cargo test",
        "cargo run x.rs",
        "cargo build | cargo fmt",
        "cargo build && cargo test",
    ];
    let check = async |denied: &[&str]| {
        for line in lines {
            let expected = denied.contains(&line);
            let status = shop.status(line).await;
            let is_denied = matches!(status, PlanStatus::Denied { .. });
            assert_eq!(is_denied, expected, "{line}: {status:?}");
            let explained = permissions.explain_command(line).expect("a line").execute;
            assert_eq!(explained.verdict == Verdict::Deny, expected, "{line}");
            if expected {
                // A yes would help only under the key of the no; else that has to be taken back.
                let rule = explained.rule.to_string();
                let way = explained.way_out.as_ref();
                assert!(
                    way.is_none_or(|way| rule.ends_with(&way.target)),
                    "{explained:?}"
                );
            }
        }
    };
    check(&[]).await;
    let real = permissions.explain("cargo").expect("the program").0;
    for typed in ["cargo".to_owned(), real.to_string(), format!("$ {real}")] {
        permissions
            .set_one(&typed, Operation::Execute, Decided::Deny)
            .expect("a no");
        check(&lines).await;
        permissions
            .set_one(&typed, Operation::Execute, Decided::Open)
            .expect("nothing");
        check(&[]).await;
    }
    permissions
        .set_one("cargo build", Operation::Execute, Decided::Deny)
        .expect("a no");
    check(&["cargo build | cargo fmt", "cargo build && cargo test"]).await;
    // What explaining says of a line that is allowed denies it.
    let explained = permissions
        .explain_command("cargo run x.rs")
        .expect("a line");
    let way = explained.execute.way_out.expect("a way");
    permissions
        .set_one(&way.target, way.operation, way.decided)
        .expect("a no");
    check(&[
        "cargo run x.rs",
        "cargo build | cargo fmt",
        "cargo build && cargo test",
    ])
    .await;
}

/// Who names the same key for one run means it.
#[tokio::test]
async fn a_yes_by_an_option_is_stronger_than_a_stored_no_under_the_same_key() {
    let shop = Shop::new();
    let permissions = shop.host.permissions();
    for typed in ["cargo", "git push"] {
        permissions
            .set_one(typed, Operation::Execute, Decided::Deny)
            .expect("a no");
        permissions.allow_for_session(typed, "--x").expect("a yes");
    }
    assert_eq!(shop.status("cargo test").await, PlanStatus::Allowed);
    assert_eq!(shop.status("git push -f").await, PlanStatus::Allowed);
}

#[tokio::test]
async fn secrets_are_pointed_out_and_dunlins_own_folders_refused() {
    let shop = Shop::new();
    shop.answer("cargo build", true, Scope::Always).await;
    let question = shop.question("cargo run --config-file=.env").await;
    assert_eq!(question.longest, Scope::Once);
    assert!(
        question
            .notices
            .iter()
            .any(|notice| notice.contains(".env")),
        "{question:?}"
    );
    shop.answer("cargo run .env", true, Scope::Always).await;
    assert!(matches!(
        shop.status("cargo run .env").await,
        PlanStatus::Ask { .. }
    ));

    let own = shop.sandbox.permissions_file();
    for line in [
        format!("cargo run {}", own.display()),
        format!("cargo run < {}", own.display()),
    ] {
        let status = shop.status(&line).await;
        assert!(
            matches!(status, PlanStatus::Denied { .. }),
            "{line}: {status:?}"
        );
    }
}

#[tokio::test]
async fn a_trusted_tool_is_asked_about_secrets_and_refused_what_is_denied() {
    let shop = Shop::new();
    let permissions = shop.host.permissions();
    permissions.set_tool_mode("disguised_command", ToolMode::Always);
    assert_eq!(shop.status("$x").await, PlanStatus::Allowed);
    permissions.set_tool_mode("disguised_command", ToolMode::Prompt);
    shop.answer("git push", false, Scope::Always).await;
    permissions.set_tool_mode("disguised_command", ToolMode::Always);
    for line in ["cargo build", "cargo build | cargo fmt"] {
        assert_eq!(shop.status(line).await, PlanStatus::Allowed, "{line}");
    }
    // It could be what is denied.
    let question = shop.question("$x").await;
    assert_eq!(question.longest, Scope::Once);
    for line in ["cargo run .env", "cargo run < .env", "cat .env | cargo run"] {
        let question = shop.question(line).await;
        assert_eq!(question.longest, Scope::Once, "{line}");
    }
    for line in ["git push", "cargo build && git push"] {
        let status = shop.status(line).await;
        assert!(
            matches!(status, PlanStatus::Denied { .. }),
            "{line}: {status:?}"
        );
    }
}

#[tokio::test]
async fn a_program_that_does_not_exist_is_no_question() {
    let shop = Shop::new();
    let failure = shop.plan("carg build").await.unwrap_err();
    assert_eq!(
        failure.for_model(),
        "ERROR: there is no program named \"carg\" in the search path; give its whole path"
    );
    let failure = shop.plan("").await.unwrap_err();
    assert_eq!(failure.for_model(), "ERROR: the command line is empty");
}
