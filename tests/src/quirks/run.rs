//! Plays cases against Dunlin.

use std::path::PathBuf;

use super::case::{Called, Case};
use crate::environment::Environment;
use crate::provider::{Provider, Received};

/// A place to play cases in, one after the other.
#[derive(Debug)]
pub struct Bench {
    environment: Environment,
    /// Where the compiled tools are.
    cache: String,
}

impl Bench {
    /// With this program, which compiles its tools.
    ///
    /// # Panics
    /// When it cannot.
    pub fn new(program: impl Into<PathBuf>) -> Bench {
        let environment = Environment::new(program);
        let listed = environment.run(["tools", "list"]);
        assert_eq!(listed.status, Some(0), "{listed}");
        let cache = environment.root().join("home/cache").display().to_string();
        Bench::within(environment, cache)
    }

    /// Another one beside it, which uses the same compiled tools.
    #[must_use]
    pub fn another(&self) -> Bench {
        let environment = Environment::new(self.environment.program());
        Bench::within(environment, self.cache.clone())
    }

    fn within(environment: Environment, cache: String) -> Bench {
        environment.project_file("a.txt", "text of a");
        environment.project_file("b.txt", "text of b");
        Bench { environment, cache }
    }

    /// Plays one case; with a seed, every answer is cut at places that follow from it.
    ///
    /// # Errors
    /// What was otherwise than it has to be.
    pub fn play(&self, case: &Case, seed: Option<u64>) -> Result<(), String> {
        let answers = case.answers.iter().cloned();
        let provider = match seed {
            Some(seed) => Provider::play(answers.map(|answer| answer.in_random_pieces(seed))),
            None => Provider::play(answers),
        }
        .lenient();
        self.environment
            .configure_for(&provider, case.configuration);
        let ask = self.environment.command(["ask", "go"]);
        let output = ask.variable("XDG_CACHE_HOME", &self.cache).run();
        let mut wrong = provider.violations();
        let mut expect = |what: &str, right: bool| {
            if !right {
                wrong.push(what.to_owned());
            }
        };
        let requests = provider.requests();
        expect(
            &format!("{} requests, not {}", requests.len(), case.requests()),
            requests.len() == case.requests(),
        );
        expect(
            &format!("status {:?}, not {}", output.status, case.status),
            output.status == Some(case.status),
        );
        let reply = output.stdout.strip_suffix('\n').unwrap_or(&output.stdout);
        expect(
            &format!("the reply is not {:?}", case.reply),
            reply == case.reply,
        );
        for said in &case.said {
            expect(
                &format!("stderr has no {said:?}"),
                output.stderr.contains(said),
            );
        }
        for absent in &case.absent {
            expect(
                &format!("{absent:?} is on stdout"),
                !output.stdout.contains(absent),
            );
            let sent = requests.iter().skip(1);
            let sent = sent.filter(|request| request.body.to_string().contains(absent));
            expect(
                &format!("{absent:?} is in a later request"),
                sent.count() == 0,
            );
        }
        if let Some(second) = requests.get(1).filter(|_| !case.calls.is_empty()) {
            wrong.extend(check(second, &case.calls));
        }
        if wrong.is_empty() {
            return Ok(());
        }
        let wrong = wrong.join("\n  ");
        Err(format!("{}\n  {wrong}\n{output}", case.name))
    }
}

/// What is wrong with the calls and results at the end of a request.
pub fn check(request: &Received, expected: &[Called]) -> Vec<String> {
    let mut wrong = Vec::new();
    let messages = request.messages();
    let calls = request.calls();
    let results = request.results();
    if calls.len() != expected.len() || results.len() != expected.len() {
        let seen = serde_json::to_string(messages).unwrap_or_default();
        wrong.push(format!("not {} calls: {seen}", expected.len()));
    }
    for (((tool, arguments), result), expected) in calls.iter().zip(results).zip(expected) {
        let read: serde_json::Value = serde_json::from_str(arguments).unwrap_or_default();
        if *tool != expected.tool || read != expected.arguments {
            wrong.push(format!(
                "the call is {tool} with {arguments}, not of {} with {}",
                expected.tool, expected.arguments
            ));
        }
        if !result.contains(expected.result) {
            wrong.push(format!(
                "the result is {result:?}, not {:?}",
                expected.result
            ));
        }
    }
    wrong
}
