//! The requests of subagents, which stand among those of the chat.

use super::*;

/// Subagents run side by side, so that the requests of one stand between those of another.
#[test]
fn each_subagent_builds_on_its_own_requests() {
    let mut session = Growing::new();
    let tasks = ["research 1", "research 2", "reviewer 3"];
    let said = |name: &str, rounds: usize| {
        let texts: Vec<String> = (0..=rounds)
            .map(|round| format!("{name} in round {round}. ").repeat(100))
            .collect();
        body(&texts.iter().map(String::as_str).collect::<Vec<_>>())
    };
    session.sends(Kind::Turn, &body(&["look around"]), &body(&["look around"]));
    for round in 0..4 {
        for name in tasks {
            session.subagent_sends(name, &said(name, round));
            // What they say is in no line of this file, so it is written out once, and no more than that.
            assert!(session.last_line() < 3_500, "{}", session.last_line());
        }
        session.sends(Kind::Sampling, &body(&["sing"]), &body(&["sing"]));
    }
    let entry = |number: u64| session.read().request(number).unwrap().entry.clone();
    // Of the second round: each has the request of the same subagent as its base.
    for (number, base) in [(6, 2), (7, 3), (8, 4)] {
        assert_eq!(entry(number).base, Some(base), "{number}");
        assert_eq!(entry(number).subagent, entry(base).subagent);
    }
    // The chat goes on from its own last request.
    let more = body(&["look around", "and now"]);
    session.sends(Kind::Turn, &more, &more);
    let last = session.sent.len() as u64;
    assert_eq!(session.read().request(last).unwrap().entry.base, Some(1));
    // The same name in a later process is another conversation: it builds on nothing.
    session.follower = Follower::default();
    session.subagent_sends(tasks[0], &said(tasks[0], 0));
    let entry = session.read().request(last + 1).unwrap().entry.clone();
    assert_eq!(entry.base, None);
    session.check();
}

/// More than are remembered: whoever has sent nothing for longest builds on nothing.
#[test]
fn subagents_that_are_forgotten_come_back_byte_for_byte() {
    let mut session = Growing::new();
    let own = |name: &str, text: &str| body(&[name, text, &"word ".repeat(200)]);
    session.sends(Kind::Turn, &body(&["look around"]), &body(&["look around"]));
    for number in 1..=16 {
        let name = format!("research {number}");
        session.subagent_sends(&name, &own(&name, "first"));
    }
    for number in [16, 1] {
        let name = format!("research {number}");
        session.subagent_sends(&name, &own(&name, "second"));
    }
    let base = |number: u64| session.read().request(number).unwrap().entry.base;
    assert_eq!((base(18), base(19)), (Some(17), None));
    let more = body(&["look around", "and now"]);
    session.sends(Kind::Turn, &more, &more);
    let last = session.read().request(20).unwrap().entry.base;
    assert_eq!(last, Some(1), "the chat is never forgotten");
    session.check();
}
