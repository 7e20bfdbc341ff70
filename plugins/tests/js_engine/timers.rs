//! Time goes on only where the host says so.

use crate::host::App;

#[test]
fn a_timer_runs_when_it_is_due_and_not_before() {
    let mut app = App::start(
        "setTimeout((a, b) => dunlin.emit('late', a + b), 50, 1, 2); setTimeout(() => dunlin.emit('soon'), 20);",
    );
    assert_eq!(app.after(0).next_timer_ms, Some(20));
    assert_eq!(app.after(19).next_timer_ms, Some(1));
    assert!(app.world().emitted.is_empty());
    assert_eq!(app.after(1).next_timer_ms, Some(30));
    assert_eq!(app.world().emitted.len(), 1);
    assert_eq!(app.after(500).next_timer_ms, None);
    let late = ("late".to_owned(), "3".to_owned());
    assert_eq!(app.world().emitted[1], late);
}

#[test]
fn timers_run_in_the_order_in_which_they_are_due() {
    let mut app = App::start(
        "for (const ms of [30, 10, 20, 10]) setTimeout(() => dunlin.emit('ran', ms), ms);",
    );
    app.after(100);
    let order: Vec<_> = app
        .world()
        .emitted
        .iter()
        .map(|(_, ms)| ms.as_str())
        .collect();
    assert_eq!(order, ["10", "10", "20", "30"]);
}

#[test]
fn an_interval_runs_until_it_is_cleared() {
    let mut app = App::start(
        "let n = 0; const timer = setInterval(() => { n += 1; dunlin.emit('n', n); if (n === 3) clearInterval(timer) }, 0);",
    );
    // An interval of nothing would keep the host busy.
    assert_eq!(app.after(0).next_timer_ms, Some(4));
    for left in [Some(4), Some(4), None] {
        assert_eq!(app.after(4).next_timer_ms, left);
    }
    assert_eq!(app.world().emitted.len(), 3);
}

#[test]
fn a_timer_that_sets_itself_again_takes_its_turn() {
    let mut app =
        App::start("function again() { dunlin.emit('ran'); setTimeout(again, 0) } again();");
    assert_eq!(app.after(0).next_timer_ms, Some(0));
    assert_eq!(app.world().emitted.len(), 2);
}

#[test]
fn one_timer_can_clear_another_that_is_due() {
    let mut app = App::start(
        "setTimeout(() => clearTimeout(second), 5); const second = setTimeout(() => dunlin.emit('ran'), 5);",
    );
    assert_eq!(app.after(10).next_timer_ms, None);
    assert!(app.world().emitted.is_empty());
}

#[test]
fn a_handler_that_waits_for_a_timer_answers_later() {
    let mut app = App::start(
        "dunlin.handle('slow', async (n) => { await new Promise((done) => setTimeout(done, n)); return n });",
    );
    let (first, nothing) = app.begin("slow", "30");
    assert!(nothing.is_none());
    let (second, nothing) = app.begin("slow", "10");
    assert!(nothing.is_none());
    let progress = app.after(10);
    assert_eq!(progress.next_timer_ms, Some(20));
    assert_eq!(progress.settled.len(), 1);
    assert_eq!(progress.settled[0].call, second);
    let progress = app.after(20);
    assert_eq!(progress.settled[0].call, first);
    assert_eq!(progress.settled[0].outcome.as_deref().ok(), Some("30"));
    assert!(app.after(0).settled.is_empty());
}

#[test]
fn one_call_can_wait_for_another() {
    let mut app = App::start(
        "let done; const asked = new Promise((yes) => (done = yes));
         dunlin.handle('wait', () => asked); dunlin.handle('give', (value) => done(value));",
    );
    let (waiting, nothing) = app.begin("wait", "null");
    assert!(nothing.is_none());
    assert_eq!(app.invoke("give", "7").unwrap(), "null");
    let settled = app.after(0).settled;
    assert_eq!(settled[0].call, waiting);
    assert_eq!(settled[0].outcome.as_deref().ok(), Some("7"));
}

#[test]
fn a_clock_that_is_set_back_stops_no_timer() {
    let mut app = App::start("setTimeout(() => dunlin.emit('ran'), 10);");
    app.world().now_ms -= 3_600_000;
    assert_eq!(app.after(0).next_timer_ms, Some(10));
    app.after(10);
    assert_eq!(app.world().emitted.len(), 1);
}

#[test]
fn a_program_can_wait_at_its_top_level() {
    let mut app = App::start(
        "await new Promise((done) => setTimeout(done, 5)); dunlin.handle('ready', () => true);",
    );
    app.after(5);
    assert_eq!(app.invoke("ready", "null").unwrap(), "true");
}
