//! Pins, and the mouse.

use super::*;

#[test]
fn pins_have_an_order_of_their_own_and_change_nothing() {
    let mut fixture = fixture();
    fixture.keys("p");
    fixture.keys("gj");
    assert_eq!(fixture.inspector.selected(), 1);
    fixture.keys("p");
    assert_eq!(
        fixture.inspector.sections.shown().get(..3),
        Some([5, 1, 2].as_slice())
    );
    fixture.keys("K");
    assert_eq!(
        fixture.inspector.sections.shown().get(..3),
        Some([1, 5, 2].as_slice())
    );
    fixture.keys("K");
    assert!(fixture.screen().contains("among the pins"));
    fixture.keys("Jp");
    assert_eq!(
        fixture.inspector.sections.shown().get(..3),
        Some([5, 1, 2].as_slice())
    );
    assert_eq!(fixture.body(), body());
}

#[test]
fn a_pin_is_dragged() {
    let mut fixture = fixture();
    fixture.keys("gpjpjp");
    assert_eq!(
        fixture.inspector.sections.shown().get(..3),
        Some([1, 2, 3].as_slice())
    );
    let list = fixture.inspector.areas.list;
    let row = |row| Position {
        x: list.x,
        y: list.y + row,
    };
    fixture.event(Event::Press(row(0)));
    fixture.event(Event::Drag(row(2)));
    fixture.event(Event::Release);
    assert_eq!(
        fixture.inspector.sections.shown().get(..4),
        Some([2, 3, 1, 4].as_slice())
    );
}

#[test]
fn the_mouse_selects_folds_and_scrolls() {
    let mut fixture = fixture();
    let list = fixture.inspector.areas.list;
    fixture.event(Event::Press(Position {
        x: list.x,
        y: list.y + 2,
    }));
    assert_eq!(fixture.inspector.selected(), 3);
    let detail = fixture.inspector.areas.detail;
    let calls = fixture
        .inspector
        .lines()
        .iter()
        .position(|line| line.text().contains("tool_calls"));
    let calls = u16::try_from(calls.unwrap_or_default()).unwrap_or_default();
    let before = fixture.inspector.lines().len();
    let at = Position {
        x: detail.x + 4,
        y: detail.y + calls,
    };
    fixture.event(Event::Press(at));
    fixture.event(Event::Press(at));
    assert!(fixture.inspector.lines().len() < before);
    fixture.event(Event::Press(at));
    assert_eq!(fixture.inspector.lines().len(), before);
    fixture.event(Event::Wheel {
        at: Position {
            x: list.x,
            y: list.y,
        },
        down: true,
    });
    assert_eq!(fixture.inspector.selected(), 6);
    let (_, tab) = fixture
        .inspector
        .areas
        .tabs
        .iter()
        .map(|(area, tab)| (*area, *tab))
        .nth(2)
        .unwrap_or_default();
    let (area, _) = fixture.inspector.areas.tabs[2];
    fixture.event(Event::Press(Position {
        x: area.x,
        y: area.y,
    }));
    assert_eq!(fixture.inspector.tab, tab);
}
