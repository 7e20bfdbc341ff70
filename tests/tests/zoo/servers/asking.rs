//! What is asked: about calls of servers' tools, and by servers in the middle of a call, of the user and of the model.

use std::sync::{Arc, Mutex};

use dunlin_host::ForeignError;
use dunlin_host::ask::{Answer, Ask, Origin, Question, Scope, TextQuestion};
use dunlin_host::call::{Action, Call, Failure, PlanStatus};
use dunlin_host::model::{Model, SamplingRequest, SamplingResult, StopReason};
use dunlin_host::permission::ToolMode;
use dunlin_tests::sandbox::{Asker, Sandbox, assert_alive, call, play};
use serde_json::{Value, json};

use super::{host, host_with, load, names};

#[tokio::test(flavor = "multi_thread")]
async fn asking_is_a_matter_of_configuration() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["destructive"], |server| {
        server.ask_tools = vec!["wipe".to_owned()];
    });
    load(&host, json!({})).await.expect("a connection");
    let wanted = call("destructive__wipe", json!({}));
    let plan = host.prepare(&wanted).await.expect("a plan");
    assert_eq!(
        plan.question,
        "Call 'wipe' of the MCP server 'destructive'?"
    );
    let PlanStatus::Ask {
        notices, longest, ..
    } = &plan.status
    else {
        panic!("{plan:?}");
    };
    assert_eq!(
        notices,
        &["The server says that this may destroy something."]
    );
    assert_eq!(*longest, Scope::Session);
    let no = play(&host, &wanted, Arc::new(Asker::no())).await;
    assert!(matches!(no, Err(Failure::Denied { .. })), "{no:?}");
    let session = Answer {
        allow: true,
        scope: Scope::Session,
    };
    let yes = play(&host, &wanted, Arc::new(Asker::new(session))).await;
    yes.expect("allowed").result.expect("a result");
    // It is listed, and can be taken back by its name, all at once, and by the mode of the tool.
    let permissions = host.permissions();
    let forget: [&dyn Fn(); 3] = [
        &|| assert_eq!(permissions.forget_answers(Some("destructive__wipe")), 1),
        &|| assert_eq!(permissions.forget_answers(None), 1),
        &|| permissions.set_tool_mode("destructive__wipe", ToolMode::Prompt),
    ];
    for forget in forget {
        let plan = host.prepare(&wanted).await.expect("a plan");
        assert_eq!(plan.status, PlanStatus::Allowed);
        let listed = permissions.session_answers();
        let keys: Vec<(&str, &str)> = listed
            .iter()
            .map(|it| (it.key.as_str(), it.bits.as_str()))
            .collect();
        assert_eq!(keys, [("destructive__wipe", "??x")]);
        forget();
        assert_eq!(permissions.session_answers(), []);
        let yes = play(&host, &wanted, Arc::new(Asker::new(session))).await;
        yes.expect("allowed").result.expect("a result");
    }
}

/// Each decision about a call is a line of the audit log, whoever made it.
#[tokio::test(flavor = "multi_thread")]
async fn who_decided_about_a_call_is_logged() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["destructive", "good"], |server| {
        server.ask_tools = vec!["wipe".to_owned()];
    });
    load(&host, json!({})).await.expect("a connection");
    let wanted = call("destructive__wipe", json!({}));
    let say = async |allow, scope| {
        let answer = Answer { allow, scope };
        let _ = play(&host, &wanted, Arc::new(Asker::new(answer))).await;
    };
    say(false, Scope::Once).await;
    say(true, Scope::Once).await;
    say(true, Scope::Session).await;
    let permissions = host.permissions();
    permissions.set_tool_mode("destructive__wipe", ToolMode::Always);
    say(false, Scope::Once).await;
    permissions.set_tool_mode("destructive__wipe", ToolMode::Never);
    let denied = host.prepare(&wanted).await.expect("a plan").status;
    assert!(matches!(denied, PlanStatus::Denied { .. }), "{denied:?}");
    let free = call("good__echo", json!({"text": "x"}));
    let outcome = play(&host, &free, Arc::new(Asker::no())).await;
    outcome.expect("allowed").result.expect("a result");
    let lines = sandbox.audit();
    let decided = lines.iter().filter(|line| {
        line["tool"] != "mcp_loader" && line["event"] != "ended" && line["event"] != "used"
    });
    let decided: Vec<[&str; 3]> = decided
        .map(|line| ["tool", "event", "rule"].map(|key| line[key].as_str().unwrap_or_default()))
        .collect();
    let wipe = |event, rule| ["destructive__wipe", event, rule];
    assert_eq!(
        decided,
        [
            wipe("denied", "answered: no, for this call"),
            wipe("allowed", "answered: yes, for this call"),
            wipe("allowed", "answered: yes, for this session"),
            wipe(
                "allowed",
                "destructive__wipe is set to always for this session"
            ),
            wipe(
                "denied",
                "destructive__wipe is set to never for this session; /tools destructive__wipe prompt changes that"
            ),
            [
                "good__echo",
                "allowed",
                "an MCP server of the configuration"
            ],
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lasting_no_lasts() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["destructive"], |server| server.ask = true);
    load(&host, json!({})).await.expect("a connection");
    let wanted = call("destructive__wipe", json!({}));
    let never = Answer {
        allow: false,
        scope: Scope::Always,
    };
    let no = play(&host, &wanted, Arc::new(Asker::new(never))).await;
    assert!(matches!(no, Err(Failure::Denied { .. })), "{no:?}");
    let plan = host.prepare(&wanted).await.expect("a plan");
    assert!(
        matches!(plan.status, PlanStatus::Denied { .. }),
        "{:?}",
        plan.status
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_is_to_what_was_shown() {
    let sandbox = Sandbox::new();
    let host = host_with(&sandbox, &["changing"], |server| server.ask = true);
    load(&host, json!({})).await.expect("a connection");
    let of = |id: &str| Call {
        id: id.to_owned(),
        ..call("changing__echo", json!({"text": "x"}))
    };
    let (shown, other) = (of("shown"), of("other"));
    let plan = host.prepare(&shown).await.expect("a plan");
    let outcome = play(&host, &other, Arc::new(Asker::yes())).await;
    outcome.expect("allowed").result.expect("a result");
    while !names(&host).contains(&"changing__new".to_owned()) {
        tokio::task::yield_now().await;
    }
    // The question still stands, and the tool is another one by now.
    let session = Answer {
        allow: true,
        scope: Scope::Session,
    };
    host.answer(&shown, &plan, session).await.expect("kept");
    let plan = host.prepare(&of("again")).await.expect("a plan");
    assert!(
        matches!(plan.status, PlanStatus::Ask { .. }),
        "{:?}",
        plan.status
    );
}

/// Answers questions for a text.
struct Birder;

#[async_trait::async_trait]
impl Ask for Birder {
    async fn ask(&self, _question: Question) -> Answer {
        Answer {
            allow: true,
            scope: Scope::Once,
        }
    }

    async fn ask_text(&self, question: TextQuestion) -> Option<String> {
        assert_eq!(question.tool, "asking__echo");
        assert_eq!(question.question, "Which bird?\n\nbird");
        Some("dunlin".to_owned())
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_ask_the_user() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["asking"]);
    load(&host, json!({})).await.expect("a connection");
    let call = call("asking__echo", json!({}));
    let outcome = play(&host, &call, Arc::new(Birder)).await;
    let text = outcome.expect("allowed").result.expect("a result").text;
    let answer: Value = serde_json::from_str(&text).expect("the answer");
    assert_eq!(
        answer,
        json!({"action": "accept", "content": {"bird": "dunlin"}})
    );
}

/// Somebody with a model, who answers questions about it like this.
struct Lender {
    answer: Answer,
    questions: Mutex<Vec<Question>>,
    echo: Arc<Echo>,
}

/// A model that says what it was asked.
#[derive(Default)]
struct Echo(Mutex<Vec<SamplingRequest>>);

#[async_trait::async_trait]
impl Model for Echo {
    fn name(&self) -> String {
        "small".to_owned()
    }

    async fn answer(&self, request: &SamplingRequest) -> Result<SamplingResult, ForeignError> {
        self.0.lock().expect("a lock").push(request.clone());
        let asked = request.messages[0].text.clone();
        match asked.as_str() {
            "fail" => Err("is not there".into()),
            "wait" => std::future::pending().await,
            _ => Ok(SamplingResult {
                text: asked,
                stop_reason: StopReason::MaxTokens,
            }),
        }
    }
}

#[async_trait::async_trait]
impl Ask for Lender {
    async fn ask(&self, question: Question) -> Answer {
        self.questions.lock().expect("a lock").push(question);
        self.answer
    }

    fn model(&self) -> Option<Arc<dyn Model>> {
        let model: Arc<dyn Model> = self.echo.clone();
        Some(model)
    }
}

impl Lender {
    fn new(allow: bool, scope: Scope) -> Arc<Lender> {
        Arc::new(Lender {
            answer: Answer { allow, scope },
            questions: Mutex::default(),
            echo: Arc::default(),
        })
    }

    fn asked(&self) -> usize {
        self.questions.lock().expect("a lock").len()
    }

    fn prompts(&self) -> usize {
        self.echo.0.lock().expect("a lock").len()
    }
}

/// Calls a tool of a server with this text.
async fn say(host: &dunlin_host::Host, tool: &str, text: &str, ask: Arc<dyn Ask>) -> Value {
    let call = call(tool, json!({"text": text}));
    let outcome = play(host, &call, ask).await.expect("allowed");
    let text = outcome.result.expect("a result").text;
    serde_json::from_str(&text).expect("what the server heard")
}

/// Connects the servers as this user.
async fn load_as(host: &dunlin_host::Host, ask: Arc<dyn Ask>) {
    let outcome = play(host, &call("mcp_loader", json!({})), ask).await;
    outcome.expect("allowed").result.expect("a connection");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_may_ask_the_model_when_the_user_agrees() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["sampling"]);
    let lender = Lender::new(true, Scope::Always);
    load_as(&host, lender.clone()).await;
    let before = lender.asked();
    let heard = say(&host, "sampling__echo", "Which bird?", lender.clone()).await;
    assert_eq!(
        heard,
        json!({
            "model": "small", "stopReason": "maxTokens", "role": "assistant",
            "content": {"type": "text", "text": "Which bird?"},
        })
    );
    let question = lender.questions.lock().expect("a lock")[before].clone();
    assert_eq!(
        question.wording,
        "Let the MCP server 'sampling' send this to small and read the answer? At most 100 tokens"
    );
    assert_eq!(
        (question.origin, question.longest),
        (Origin::Server, Scope::Session)
    );
    let [Action::Sampling(prompt)] = question.actions.as_slice() else {
        panic!("{question:?}");
    };
    assert_eq!(prompt.system_prompt.as_deref(), Some("Be brief."));
    assert_eq!(prompt.max_tokens, 100);
    // The yes holds until the session ends, and there is an end to it within a call.
    let heard = say(&host, "sampling__echo", "again and again", lender.clone()).await;
    assert_eq!(lender.asked(), before + 1);
    assert_eq!(
        heard["message"],
        "this call has asked 8 times already; no more are possible"
    );
    let used: Vec<Value> = sandbox
        .audit()
        .into_iter()
        .filter(|line| line["target"] == "model small")
        .collect();
    assert_eq!(used.len(), 9, "{used:?}");
    assert_eq!(used[0]["event"], "used");
    assert_eq!(used[0]["plugin"], "mcp.sampling");
    host.begin_session("another");
    load_as(&host, lender.clone()).await;
    let before = lender.asked();
    say(&host, "sampling__echo", "and now?", lender.clone()).await;
    assert_eq!(lender.asked(), before + 1);
    assert_alive(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_model_is_not_asked() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["sampling"]);
    let lender = Lender::new(true, Scope::Once);
    load_as(&host, lender.clone()).await;
    for (text, said) in [
        ("with tools", "the model is asked without tools here"),
        ("with a picture", "the model is asked in words alone here"),
        ("  ", "the prompt is empty"),
        ("fail", "is not there"),
    ] {
        let heard = say(&host, "sampling__echo", text, lender.clone()).await;
        assert_eq!(heard["message"], said, "{text}");
    }
    let long = "x".repeat(70_000);
    let heard = say(&host, "sampling__echo", &long, lender.clone()).await;
    let said = heard["message"].as_str().expect("a refusal");
    assert!(said.starts_with("the prompt has 70009 bytes"), "{said}");
    assert_eq!(lender.prompts(), 1, "only what fails was asked");

    let no = Lender::new(false, Scope::Once);
    let heard = say(&host, "sampling__echo", "Which bird?", no.clone()).await;
    assert_eq!(
        (&heard["code"], &heard["message"]),
        (&json!(-1), &json!("the user does not want it"))
    );
    assert_eq!((no.asked(), no.prompts()), (1, 0));
    let never = Lender::new(false, Scope::Session);
    say(&host, "sampling__echo", "Which bird?", never.clone()).await;
    say(&host, "sampling__echo", "Which bird?", never.clone()).await;
    assert_eq!((never.asked(), never.prompts()), (1, 0));
    assert_alive(&host).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn giving_up_ends_the_question_and_the_server_lives() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["sampling"]);
    let lender = Lender::new(true, Scope::Once);
    load_as(&host, lender.clone()).await;
    let wanted = call("sampling__echo", json!({"text": "wait"}));
    let plan = host.prepare(&wanted).await.expect("a plan");
    let progress = Arc::new(dunlin_host::NoProgress);
    let running = host.run(&wanted, &plan, lender.clone(), progress);
    let asked = async {
        while lender.prompts() == 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        outcome = running => panic!("{outcome:?}"),
        () = asked => {}
    }
    let heard = say(&host, "sampling__echo", "Which bird?", lender.clone()).await;
    assert_eq!(heard["content"]["text"], "Which bird?");
    assert_eq!(host.take_notices(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_are_told_what_there_is() {
    let sandbox = Sandbox::new();
    let host = host(&sandbox, &["capable"]);
    // Nobody with a model: nothing is said of one.
    load(&host, json!({})).await.expect("a connection");
    let yes = || -> Arc<dyn Ask> { Arc::new(Asker::yes()) };
    let told = say(&host, "capable__echo", "", yes()).await;
    assert_eq!(told["roots"], json!({}));
    assert_eq!(told.get("sampling"), None, "{told}");
    host.begin_session("another");
    let lender = Lender::new(true, Scope::Once);
    load_as(&host, lender.clone()).await;
    let told = say(&host, "capable__echo", "", lender).await;
    assert_eq!(told["sampling"], json!({}));

    let host = super::host(&sandbox, &["rooted"]);
    load(&host, json!({})).await.expect("a connection");
    let told = say(&host, "rooted__echo", "", yes()).await;
    let project = sandbox.project();
    let uri = format!("file://{}/", project.display());
    let name = project.file_name().expect("a name").to_string_lossy();
    assert_eq!(told, json!({"roots": [{"uri": uri, "name": name}]}));
    let host = host_with(&sandbox, &["capable"], |server| server.roots.clear());
    load(&host, json!({})).await.expect("a connection");
    let told = say(&host, "capable__echo", "", yes()).await;
    assert_eq!(told.get("roots"), None, "{told}");
}
