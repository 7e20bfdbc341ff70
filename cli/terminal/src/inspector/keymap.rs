//! What each key does.

use ratatui_textarea::{Input, Key};

/// What can be done in the inspector.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Action {
    Down,
    Up,
    PageDown,
    PageUp,
    /// Moves to the first row.
    First,
    /// Moves to the last row.
    Last,
    /// Goes to the pane of sections; folds in the tree.
    Left,
    /// Goes to the pane of the selected section; unfolds in the tree.
    Right,
    /// Opens the selected section or request of the log, or folds and unfolds a value.
    Open,
    /// Goes to the next tab.
    NextTab,
    /// Goes to the previous tab.
    PreviousTab,
    /// Edits the selected value in place.
    Edit,
    /// Edits the selected value in the user's editor.
    EditOutside,
    Add,
    /// Deletes the selected section, or restores it; removes the selected option.
    DeleteOrRestore,
    Undo,
    Redo,
    /// Undoes all edits.
    Reset,
    /// Pins the selected section at the top, or unpins it.
    Pin,
    /// Moves the selected pin up.
    PinUp,
    /// Moves it down.
    PinDown,
    /// Finds a text in all sections.
    Find,
    /// Goes to the next place of the text.
    FindNext,
    /// Goes to the previous one.
    FindPrevious,
    /// Lists only the sections that contain a text.
    Filter,
    /// Goes to the next edited value or deleted section.
    NextEdit,
    /// Goes to the previous one.
    PreviousEdit,
    /// Shows the text of the section as Markdown, or as a tree again.
    Markdown,
    CopyValue,
    CopySection,
    CopyRequest,
    Send,
    Cancel,
    NextChat,
    PreviousChat,
    /// Follows the newest request, or keeps the selected chat.
    Follow,
    /// Chooses which requests the selected chat pauses.
    PauseMode,
    /// Closes the inspector; the request stays paused.
    Close,
    Help,
}

/// One row of the table of keys.
#[derive(Debug, Clone, Copy)]
pub struct Binding {
    /// The keys, as the help shows them.
    pub keys: &'static str,
    pub action: Action,
    /// What it does, for people.
    pub about: &'static str,
    /// The word that does the same at the prompt of a paused request; empty: it only moves the view.
    pub word: &'static str,
    /// Whether the help line shows it.
    is_in_line: bool,
    /// Whether it acts only where several chats are listed.
    is_of_chats: bool,
}

/// A key that the help line does not show.
const fn bind(
    keys: &'static str,
    action: Action,
    about: &'static str,
    word: &'static str,
) -> Binding {
    Binding {
        keys,
        action,
        about,
        word,
        is_in_line: false,
        is_of_chats: false,
    }
}

const fn main(
    keys: &'static str,
    action: Action,
    about: &'static str,
    word: &'static str,
) -> Binding {
    let mut binding = bind(keys, action, about, word);
    binding.is_in_line = true;
    binding
}

/// A key that acts where several chats are listed.
const fn chats(keys: &'static str, action: Action, about: &'static str) -> Binding {
    let mut binding = main(keys, action, about, "");
    binding.is_of_chats = true;
    binding
}

/// All keys; the order is that of the help.
pub const KEYMAP: &[Binding] = &[
    main("s", Action::Send, "send", "send"),
    main("c Ctrl-C", Action::Cancel, "cancel", "cancel"),
    main("e", Action::Edit, "edit", "e"),
    chats("Ctrl-N", Action::NextChat, "next chat"),
    main(
        "d",
        Action::DeleteOrRestore,
        "delete or restore",
        "d, restore",
    ),
    chats("f", Action::Follow, "follow on or off"),
    chats("M", Action::PauseMode, "pause mode"),
    main("u", Action::Undo, "undo", "undo"),
    main("Ctrl-R", Action::Redo, "redo", "redo"),
    main("r", Action::Reset, "reset all edits", "reset"),
    bind("a", Action::Add, "add an option", "add"),
    bind("o", Action::EditOutside, "edit in $EDITOR", "e"),
    main("/", Action::Find, "find", "find"),
    bind("n", Action::FindNext, "next match", "find"),
    bind("N", Action::FindPrevious, "previous match", "find"),
    bind("&", Action::Filter, "filter the sections", "find"),
    bind("]", Action::NextEdit, "next edit", "diff"),
    bind("[", Action::PreviousEdit, "previous edit", "diff"),
    main("Tab", Action::NextTab, "next tab", ""),
    bind("Shift-Tab", Action::PreviousTab, "previous tab", ""),
    bind("p", Action::Pin, "pin or unpin", "pin, unpin"),
    bind("K", Action::PinUp, "move the pin up", "pin"),
    bind("J", Action::PinDown, "move the pin down", "pin"),
    bind("m", Action::Markdown, "Markdown or tree", "show"),
    bind("y", Action::CopyValue, "copy the value", "copy"),
    bind("Y", Action::CopySection, "copy the section", "copy"),
    bind("P", Action::CopyRequest, "copy the request", "copy"),
    bind("j Down", Action::Down, "down", ""),
    bind("k Up", Action::Up, "up", ""),
    bind("h Left", Action::Left, "sections, or fold", ""),
    bind("l Right", Action::Right, "details, or unfold", "show"),
    bind("Enter", Action::Open, "open, or fold", "show"),
    bind("g Home", Action::First, "first row", ""),
    bind("G End", Action::Last, "last row", ""),
    bind("Ctrl-F PageDown Space", Action::PageDown, "next page", ""),
    bind("Ctrl-B PageUp", Action::PageUp, "previous page", ""),
    Binding {
        is_in_line: false,
        ..chats("Ctrl-P", Action::PreviousChat, "previous chat")
    },
    main("q Esc", Action::Close, "close", "open"),
    main("?", Action::Help, "all keys", "?"),
];

/// The keys of one request, or those where several chats are listed.
pub(super) fn of(are_chats: bool) -> impl Iterator<Item = &'static Binding> + Clone {
    KEYMAP
        .iter()
        .filter(move |binding| are_chats || !binding.is_of_chats)
}

/// What a key does.
pub fn action(input: &Input) -> Option<Action> {
    let bindings = KEYMAP.iter();
    let mut pairs =
        bindings.flat_map(|binding| binding.keys.split(' ').map(move |key| (key, binding)));
    pairs
        .find(|(name, _)| is(input, name))
        .map(|(_, binding)| binding.action)
}

/// Whether this key has this name.
fn is(input: &Input, name: &str) -> bool {
    let (ctrl, name) = match name.strip_prefix("Ctrl-") {
        Some(letter) => (true, letter),
        None => (false, name),
    };
    let key = match name {
        "Tab" => Key::Tab,
        "Shift-Tab" => return input.key == Key::Tab && input.shift,
        "Enter" => Key::Enter,
        "Esc" => Key::Esc,
        "Up" => Key::Up,
        "Down" => Key::Down,
        "Left" => Key::Left,
        "Right" => Key::Right,
        "Home" => Key::Home,
        "End" => Key::End,
        "PageUp" => Key::PageUp,
        "PageDown" => Key::PageDown,
        "Space" => Key::Char(' '),
        name => match (name.chars().next(), input.key) {
            (Some(name), Key::Char(typed)) if ctrl => {
                return input.ctrl && !input.alt && typed.eq_ignore_ascii_case(&name);
            }
            (Some(name), _) => Key::Char(name),
            (None, _) => return false,
        },
    };
    let shift = key == Key::Tab && input.shift;
    input.key == key && input.ctrl == ctrl && !input.alt && !shift
}

/// The bindings of the help line, the most important first.
pub(super) fn line(chats: Option<usize>) -> impl Iterator<Item = &'static Binding> {
    let are_others = chats.is_some_and(|chats| chats > 1);
    let is_of_others = |action| matches!(action, Action::NextChat | Action::PreviousChat);
    of(chats.is_some()).filter(move |it| it.is_in_line && (are_others || !is_of_others(it.action)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    fn key(key: Key) -> Input {
        Input {
            key,
            ..Input::default()
        }
    }

    #[test]
    fn no_key_does_two_things() {
        let mut seen = HashSet::new();
        for binding in KEYMAP {
            for key in binding.keys.split(' ') {
                assert!(seen.insert(key), "{key} stands twice");
            }
        }
    }

    #[test]
    fn keys_are_told_apart() {
        let check = |input: Input, expected| assert_eq!(action(&input), expected, "{input:?}");
        check(key(Key::Char('s')), Some(Action::Send));
        check(key(Key::Char('r')), Some(Action::Reset));
        check(
            Input {
                ctrl: true,
                ..key(Key::Char('r'))
            },
            Some(Action::Redo),
        );
        check(
            Input {
                alt: true,
                ..key(Key::Char('s'))
            },
            None,
        );
        check(key(Key::Tab), Some(Action::NextTab));
        check(
            Input {
                shift: true,
                ..key(Key::Tab)
            },
            Some(Action::PreviousTab),
        );
        check(key(Key::Char('G')), Some(Action::Last));
        check(key(Key::End), Some(Action::Last));
        check(key(Key::Char('z')), None);
        check(
            Input {
                ctrl: true,
                ..key(Key::Char('s'))
            },
            None,
        );
    }
}
