//! The whole store against the simplest model of it, over random lives: answers of all six kinds, settings by
//! hand, restarts, two Dunlins at once. Not only is no allow found that no answer gave: every verdict is
//! the model's.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::permission::key::{Bits, Decided};

const TARGETS: [&str; 4] = [
    "outside/a",
    "outside/folder/b",
    "project/c",
    "outside/folder",
];
const PLUGINS: usize = 3;
const OPERATIONS: [Operation; 2] = [Operation::Read, Operation::Write];

/// One step in the life of two Dunlins that share a permission file.
#[derive(Debug, Clone)]
enum Step {
    Answer {
        dunlin: usize,
        call: usize,
        target: usize,
        operation: usize,
        plugin: usize,
        allow: bool,
        scope: Scope,
    },
    /// `dunlin permissions set`, for a target or all that lies below its folder.
    Set {
        target: usize,
        below: bool,
        bits: [Decided; 3],
    },
    Unset {
        target: usize,
        below: bool,
    },
    EndCall {
        dunlin: usize,
        call: usize,
    },
    Restart {
        dunlin: usize,
    },
    /// It decides about something, with what it has read of the files so far.
    Decide {
        dunlin: usize,
    },
}

/// Who an allow serves.
#[derive(Debug, Clone, PartialEq)]
enum ModelAnswer {
    Deny,
    AllowAll,
    AllowTo(Vec<usize>),
}

/// An answer and the plugin it was given to.
type Given = (bool, usize);

/// What is remembered, in the plainest way.
#[derive(Default)]
struct Model {
    /// Key text → operation.
    stored: HashMap<(String, Operation), ModelAnswer>,
    session: [HashMap<(usize, Operation), Vec<Given>>; 2],
    /// By call, plugin, target and operation.
    once: [HashMap<(usize, usize, usize, Operation), bool>; 2],
}

impl Model {
    fn verdict(
        &self,
        fixture: &Fixture,
        dunlin: usize,
        call: usize,
        plugin: usize,
        target: usize,
        operation: Operation,
    ) -> Verdict {
        let said = |allow| if allow { Verdict::Allow } else { Verdict::Deny };
        if let Some(allow) = self.once[dunlin].get(&(call, plugin, target, operation)) {
            return said(*allow);
        }
        let answers = self.session[dunlin].get(&(target, operation));
        let answer = answers.and_then(|answers| {
            let serves = |(allow, to): &&Given| !allow || *to == plugin;
            answers.iter().rev().find(serves)
        });
        if let Some((allow, _)) = answer {
            return said(*allow);
        }
        for key in keys_of(fixture, target) {
            match self.stored.get(&(key, operation)) {
                Some(ModelAnswer::Deny) => return Verdict::Deny,
                Some(ModelAnswer::AllowAll) => return Verdict::Allow,
                Some(ModelAnswer::AllowTo(plugins)) if plugins.contains(&plugin) => {
                    return Verdict::Allow;
                }
                _ => {}
            }
        }
        if operation == Operation::Read && TARGETS[target].starts_with("project/") {
            Verdict::Allow
        } else {
            Verdict::Ask
        }
    }
}

/// The keys that speak of a target, the most specific first.
fn keys_of(fixture: &Fixture, target: usize) -> Vec<String> {
    let path = fixture.root.join(TARGETS[target]);
    let mut keys = vec![path.display().to_string()];
    keys.extend(
        path.ancestors()
            .take_while(|folder| **folder != fixture.root)
            .map(|folder| format!("{}/", folder.display())),
    );
    keys
}

fn key_of(fixture: &Fixture, target: usize, below: bool) -> String {
    let path = fixture.root.join(TARGETS[target]);
    if below {
        format!("{}/", path.parent().unwrap().display())
    } else {
        path.display().to_string()
    }
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let scope = prop_oneof![Just(Scope::Once), Just(Scope::Session), Just(Scope::Always)];
    let decided = || {
        prop_oneof![
            Just(Decided::Allow),
            Just(Decided::Deny),
            Just(Decided::Open)
        ]
    };
    let target = 0..TARGETS.len();
    let answer = (
        (0..2usize, 0..2usize),
        target.clone(),
        0..OPERATIONS.len(),
        0..PLUGINS,
        any::<bool>(),
        scope,
    );
    let step = prop_oneof![
        8 => answer.prop_map(|((dunlin, call), target, operation, plugin, allow, scope)| {
            Step::Answer { dunlin, call, target, operation, plugin, allow, scope }
        }),
        2 => (target.clone(), any::<bool>(), [decided(), decided(), decided()])
            .prop_map(|(target, below, bits)| Step::Set { target, below, bits }),
        1 => (target, any::<bool>()).prop_map(|(target, below)| Step::Unset { target, below }),
        1 => (0..2usize, 0..2usize).prop_map(|(dunlin, call)| Step::EndCall { dunlin, call }),
        1 => (0..2usize).prop_map(|dunlin| Step::Restart { dunlin }),
        4 => (0..2usize).prop_map(|dunlin| Step::Decide { dunlin }),
    ];
    proptest::collection::vec(step, 1..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn every_verdict_is_the_models(steps in steps()) {
        let fixture = Fixture::new();
        std::fs::create_dir(fixture.root.join("outside/folder")).unwrap();
        let mut dunlins = [fixture.open(), fixture.open()];
        let plugins = [plugin("p", "d", false), plugin("q", "d", false), plugin("b", "d", true)];
        let calls = ["call-0", "call-1"];
        let mut model = Model::default();
        for step in steps {
            match step {
                Step::Answer { dunlin, call, target, operation, plugin, allow, scope } => {
                    let operation = OPERATIONS[operation];
                    let need = fixture.need(TARGETS[target], operation);
                    let answer = answer(allow, scope);
                    dunlins[dunlin].remember(calls[call], &plugins[plugin], &[need], answer).unwrap();
                    match scope {
                        Scope::Once => drop(model.once[dunlin].insert((call, plugin, target, operation), allow)),
                        Scope::Session => model.session[dunlin]
                            .entry((target, operation))
                            .or_default()
                            .push((allow, plugin)),
                        Scope::Always => {
                            model.session[dunlin].remove(&(target, operation));
                            let key = (key_of(&fixture, target, false), operation);
                            let said = match (allow, model.stored.get(&key)) {
                                (false, _) => ModelAnswer::Deny,
                                (true, Some(ModelAnswer::AllowAll)) => ModelAnswer::AllowAll,
                                (true, Some(ModelAnswer::AllowTo(others))) => {
                                    let mut all = others.clone();
                                    all.push(plugin);
                                    ModelAnswer::AllowTo(all)
                                }
                                (true, _) => ModelAnswer::AllowTo(vec![plugin]),
                            };
                            model.stored.insert(key, said);
                        }
                    }
                }
                Step::Set { target, below, bits } => {
                    let key = key_of(&fixture, target, below);
                    let mut text = Bits::default();
                    for (operation, decided) in Operation::ALL.into_iter().zip(bits) {
                        text = text.with(operation, decided);
                        let key = (key.clone(), operation);
                        match decided {
                            Decided::Open => drop(model.stored.remove(&key)),
                            Decided::Allow => drop(model.stored.insert(key, ModelAnswer::AllowAll)),
                            Decided::Deny => drop(model.stored.insert(key, ModelAnswer::Deny)),
                        }
                    }
                    dunlins[0].set(&key, &text.to_string()).unwrap();
                }
                Step::Unset { target, below } => {
                    let key = key_of(&fixture, target, below);
                    let before = model.stored.len();
                    model.stored.retain(|(other, _), _| *other != key);
                    prop_assert_eq!(dunlins[1].unset(&key).unwrap(), model.stored.len() < before);
                }
                Step::EndCall { dunlin, call } => {
                    dunlins[dunlin].forget_call(calls[call]);
                    model.once[dunlin].retain(|(other, ..), _| *other != call);
                }
                Step::Decide { dunlin } => {
                    let need = fixture.need(TARGETS[0], OPERATIONS[0]);
                    drop(decide(&dunlins[dunlin], calls[0], &plugins[0], &need));
                }
                Step::Restart { dunlin } => {
                    dunlins[dunlin] = fixture.open();
                    model.once[dunlin].clear();
                    model.session[dunlin].clear();
                }
            }
        }
        // A wrong verdict after a step is one at the end of a shorter list.
        for (d, dunlin) in dunlins.iter().enumerate() {
            for (c, call) in calls.iter().enumerate() {
                for (p, id) in plugins.iter().enumerate() {
                    for (t, target) in TARGETS.iter().enumerate() {
                        for operation in OPERATIONS {
                            let need = fixture.need(target, operation);
                            let found = decide(dunlin, call, id, &need);
                            let expected = model.verdict(&fixture, d, c, p, t, operation);
                            prop_assert_eq!(
                                found.verdict, expected,
                                "{:?} {} by {} in {}, {}: {}", operation, target, id.name, call, d, found.rule
                            );
                        }
                    }
                }
            }
        }
    }
}

#[test]
fn many_writers_lose_no_answer() {
    const WRITERS: usize = 4;
    const ANSWERS: usize = 25;
    let fixture = Fixture::new();
    let name = |writer: usize| format!("p{writer}");
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let permissions = fixture.open();
            let fixture = &fixture;
            scope.spawn(move || {
                for n in 0..ANSWERS {
                    let need = fixture.need(&format!("outside/{writer}-{n}"), Operation::Read);
                    let asker = plugin(&name(writer), "d", false);
                    permissions
                        .remember(CALL, &asker, &[need], answer(n % 2 == 0, Scope::Always))
                        .unwrap();
                }
            });
        }
    });
    let permissions = fixture.open();
    assert_eq!(permissions.list().unwrap().len(), WRITERS * ANSWERS);
    for writer in 0..WRITERS {
        for n in 0..ANSWERS {
            let need = fixture.need(&format!("outside/{writer}-{n}"), Operation::Read);
            let decided = decide(
                &permissions,
                CALL,
                &plugin(&name(writer), "d", false),
                &need,
            );
            let expected = if n % 2 == 0 {
                Verdict::Allow
            } else {
                Verdict::Deny
            };
            assert_eq!(decided.verdict, expected);
        }
    }
}
