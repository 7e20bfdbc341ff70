//! What keys act on can be seen.

use proptest::prelude::*;
use ratatui::style::Modifier;

use super::super::state::Pane;
use super::*;

/// More messages than a window has rows.
fn long_body() -> Value {
    let message = |index: usize| match index % 2 {
        0 => json!({"role": "user", "content": format!("question {index}\nand more\nof it")}),
        _ => json!({"role": "assistant", "content": "an answer ".repeat(index)}),
    };
    let system = json!({"role": "system", "content": "Be brief."});
    let messages: Vec<Value> = std::iter::once(system)
        .chain((0..60).map(message))
        .collect();
    json!({"model": "small", "messages": messages, "temperature": 0.2})
}

/// How many rows of an area are marked as selected.
fn selected(fixture: &Fixture, area: ratatui::layout::Rect, mark: Modifier) -> usize {
    let buffer = fixture.terminal.backend().buffer();
    let is_marked = |y: &u16| {
        let cell = buffer.cell((area.right() - 1, *y));
        cell.is_some_and(|cell| cell.modifier.intersects(mark))
    };
    (area.top()..area.bottom()).filter(is_marked).count()
}

/// The row that keys act on is on the screen, once.
fn check(fixture: &Fixture) -> Result<(), TestCaseError> {
    let inspector = &fixture.inspector;
    let areas = inspector.areas.clone();
    // The box of a text takes all of a small window.
    let is_small = inspector.entry.is_some() && areas.list.height.max(areas.detail.height) == 0;
    let hides_all =
        !inspector.has_room || inspector.help.is_some() || inspector.opened.is_some() || is_small;
    if hides_all {
        return Ok(());
    }
    let screen = || fixture.screen();
    match inspector.focus() {
        Pane::Sections => {
            let count = selected(fixture, areas.list, Modifier::REVERSED);
            prop_assert_eq!(count, 1, "sections: {}", screen());
            prop_assert!(inspector.sections.position(inspector.selected()).is_some());
        }
        Pane::Detail if !inspector.lines().is_empty() => {
            let count = selected(fixture, areas.detail, Modifier::REVERSED);
            prop_assert_eq!(count, 1, "values: {}", screen());
        }
        Pane::Detail => {}
    }
    Ok(())
}

fn check_keys(size: (u16, u16), keys: &[Key]) -> Result<(), TestCaseError> {
    let mut fixture = Fixture::new(&long_body(), size, Styles::plain());
    for key in keys {
        fixture.key(*key);
        check(&fixture)?;
    }
    Ok(())
}

#[test]
fn the_selected_row_is_visible_whatever_is_typed() {
    let key = prop_oneof![
        proptest::sample::select("gGjkhldepe?&/nu]m1q \n".chars().collect::<Vec<char>>())
            .prop_map(Key::Char),
        proptest::sample::select(vec![
            Key::Enter,
            Key::Esc,
            Key::Tab,
            Key::PageDown,
            Key::PageUp,
        ]),
    ];
    let keys = proptest::collection::vec(key, 1..40);
    let sizes = proptest::sample::select(vec![(80u16, 24u16), (40, 20), (72, 8), (30, 9)]);
    let mut runner = proptest::test_runner::TestRunner::new(proptest::test_runner::Config {
        cases: 150,
        failure_persistence: None,
        ..Default::default()
    });
    let result = runner.run(&(sizes, keys), |(size, keys)| check_keys(size, &keys));
    if let Err(error) = result {
        panic!("{error}");
    }
}

#[test]
fn the_edited_row_is_visible_beside_its_text() {
    for size in [(80, 24), (40, 20)] {
        let mut fixture = Fixture::new(&long_body(), size, Styles::plain());
        // The last row that is visible.
        fixture.keys("g");
        let rows = fixture.inspector.areas.list.height - 1;
        fixture.keys(&"j".repeat(rows.into()));
        fixture.keys("e");
        check(&fixture).unwrap();
        fixture.key(Key::Esc);
        assert_eq!(fixture.inspector.selected(), usize::from(rows) + 1);
    }
}

#[test]
fn in_a_narrow_window_keys_act_on_the_tab_that_is_shown() {
    let mut fixture = Fixture::new(&long_body(), (40, 20), Styles::plain());
    fixture.key(Key::Tab);
    let before = fixture.inspector.selected();
    fixture.keys("jjd");
    assert_eq!(fixture.inspector.selected(), before);
    assert_eq!(fixture.paused.edits(), 0);
    assert_eq!(fixture.inspector.detail.at, 2);
    // Back in the list.
    fixture.keys("hd");
    assert_eq!(fixture.paused.edits(), 1);
}

#[test]
fn a_filter_leaves_something_to_select() {
    let mut fixture = fixture();
    fixture.keys("&nowhere");
    fixture.key(Key::Enter);
    let screen = fixture.screen();
    assert!(
        screen.contains("No section contains \"nowhere\""),
        "{screen}"
    );
    assert_eq!(fixture.inspector.sections.shown().len(), 7);
    fixture.keys("&09:12");
    fixture.key(Key::Enter);
    assert_eq!(fixture.inspector.sections.shown(), [4]);
    assert_eq!(fixture.inspector.selected(), 4);
    // An edit elsewhere takes the text away, and a search leads out of the filter.
    let step = fixture.paused.step(|it| it.set_text(4, "nothing"));
    assert!(step.is_ok());
    fixture.draw();
    assert_eq!(fixture.inspector.sections.shown().len(), 7);
    fixture.keys("&careful");
    fixture.key(Key::Enter);
    fixture.keys("/tide?");
    fixture.key(Key::Enter);
    assert_eq!(fixture.inspector.selected(), 5);
    assert!(fixture.inspector.sections.position(5).is_some());
}

#[test]
fn a_value_is_not_deleted_with_its_section() {
    let mut fixture = fixture();
    // A tool's description.
    fixture.keys("gjjjjjl");
    assert_eq!(fixture.inspector.selected(), 6);
    assert!(matches!(fixture.keys("d"), Effect::None));
    assert_eq!(fixture.body(), body());
    let screen = fixture.screen();
    let said = "Only sections and options can be deleted: e edits this value, and d in the left pane (h) deletes section 6.";
    assert!(screen.contains(said), "{screen}");
    for tab in 0..4 {
        fixture.key(Key::Tab);
        assert!(matches!(fixture.keys("d"), Effect::None), "tab {tab}");
        assert!(
            fixture
                .screen()
                .contains("Sections are deleted in the list (h)")
        );
    }
    fixture.key(Key::Tab);
    fixture.keys("h");
    while !matches!(fixture.inspector.focus(), Pane::Sections) {
        fixture.keys("h");
    }
    assert!(matches!(fixture.keys("d"), Effect::Changed(_)));
    assert!(fixture.paused.request().is_deleted(6));
    // Of a deleted section there is only one thing to do.
    fixture.keys("ld");
    assert_eq!(fixture.body(), body());
}
