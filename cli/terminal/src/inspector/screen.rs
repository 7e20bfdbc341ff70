//! The inspector on a real terminal: the alternate screen, keys and mouse, and giving all of it back.
//!
//! The terminal is restored when [`Screen`] is dropped, also by a panic.

use std::io::{self, Stdout};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::event::{self, KeyEventKind, MouseButton, MouseEventKind};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{BeginSynchronizedUpdate, EndSynchronizedUpdate};
use ratatui::layout::Position;
use ratatui::{Frame, Terminal};
use ratatui_textarea::{Input, Key};
use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::flag;
use signal_hook::low_level::unregister;

use super::state::{Effect, Event, Inspector, Typed};
use super::view;
use crate::editor::EditorError;
use crate::request::paused::{Draft, Paused};
use crate::ui::read_answer::SILENCE;
use crate::ui::{Ui, alternate, suspend};

/// How long a key is waited for before others have their turn, and before a continued program notices that it was stopped.
/// Nobody sees such a delay.
const INTERVAL: Duration = Duration::from_millis(50);

/// Whoever types longer than this does not look at the inspector.
const LONGEST_TYPING: Duration = Duration::from_secs(5);

/// How the inspector was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Closed {
    /// The request is to be sent.
    Send,
    Cancel,
    /// Neither sent nor cancelled: it stays paused.
    Closed,
}

/// Somebody else who edits the request, too.
pub trait Remote {
    /// Shows them the request as it is now, and does what they want done.
    fn step(&self, paused: &mut Paused) -> Step;
}

/// What somebody else has done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Nothing,
    /// The request was changed; the sentence says how.
    Notice(String),
    Close(Closed),
}

/// Nobody else edits the request.
#[derive(Debug, Clone, Copy, Default)]
pub struct Alone;

impl Remote for Alone {
    fn step(&self, _: &mut Paused) -> Step {
        Step::Nothing
    }
}

/// Has a value edited in the user's editor; the new text, or why there is none. The terminal is in its usual mode
/// meanwhile.
pub type EditText<'a> = &'a dyn Fn(&Draft) -> Result<String, EditorError>;

/// What has happened to a [`View`] without a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meanwhile {
    Nothing,
    /// Something that has to be drawn. Keys mean what they meant.
    Draw,
    /// Keys would act on something that nobody has seen yet.
    New,
    Close(Closed),
}

/// What is on the whole screen.
pub(super) trait View {
    /// Where keys go that somebody types without end.
    const ENDLESS: Endless;

    /// Draws everything.
    fn draw(&mut self, frame: &mut Frame<'_>);

    /// Whether keys act from now on.
    fn keys_act(&mut self, act: bool);

    /// Takes in what others have done, without waiting. Called often.
    fn step(&mut self) -> Meanwhile;

    /// Does what an event means; what is left to do outside.
    fn handle(&mut self, event: Event) -> Effect;

    /// Takes over what a value was edited to in the user's editor.
    fn set(&mut self, typed: Typed);

    /// Says something.
    fn say(&mut self, text: &str);
}

/// What becomes of a view whose keys somebody types without looking at it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endless {
    /// It is closed: the prompt behind it keeps what is typed for later.
    Close,
    /// It drops the keys as long as it takes: what is behind it would do what is typed.
    Wait,
}

/// One request, and somebody else who edits it, too.
struct One<'a> {
    inspector: &'a mut Inspector,
    paused: &'a mut Paused,
    remote: &'a dyn Remote,
}

impl View for One<'_> {
    const ENDLESS: Endless = Endless::Close;

    fn draw(&mut self, frame: &mut Frame<'_>) {
        view::draw(frame, self.inspector, self.paused);
    }

    fn keys_act(&mut self, act: bool) {
        self.inspector.keys_act(act);
    }

    fn step(&mut self) -> Meanwhile {
        match self.remote.step(self.paused) {
            Step::Nothing => Meanwhile::Nothing,
            Step::Close(closed) => Meanwhile::Close(closed),
            Step::Notice(said) => {
                self.inspector.say(&said);
                match self.inspector.types() {
                    // A text is typed on, whatever the request is.
                    true => Meanwhile::Draw,
                    false => Meanwhile::New,
                }
            }
        }
    }

    fn handle(&mut self, event: Event) -> Effect {
        self.inspector.handle(event, self.paused)
    }

    fn set(&mut self, typed: Typed) {
        self.inspector.set(typed, self.paused);
    }

    fn say(&mut self, text: &str) {
        self.inspector.say(text);
    }
}

/// Shows the inspector until it is left. Blocks; has the keyboard alone.
///
/// # Errors
/// The terminal cannot be used. The request is as it was.
pub fn run(
    ui: &Ui,
    inspector: &mut Inspector,
    paused: &mut Paused,
    edit: EditText<'_>,
    remote: &dyn Remote,
) -> io::Result<Closed> {
    let mut one = One {
        inspector,
        paused,
        remote,
    };
    show(ui, &mut one, edit)
}

/// Shows something until it is left. Blocks; has the keyboard alone.
///
/// Keystrokes are discarded until the first frame is there, and again after an editor, a stop, and whatever others did: they
/// were meant for something else. The row of keys is shown once they act.
///
/// # Errors
/// The terminal cannot be used.
pub(super) fn show<V: View>(ui: &Ui, view: &mut V, edit: EditText<'_>) -> io::Result<Closed> {
    ui.lend(|| {
        let mut screen = Screen::enter()?;
        let mut is_changed = true;
        loop {
            match view.step() {
                Meanwhile::Nothing => {}
                Meanwhile::Draw => is_changed = true,
                Meanwhile::New => screen.is_new = true,
                Meanwhile::Close(closed) => return Ok(closed),
            }
            screen.take_again()?;
            if std::mem::take(&mut screen.is_new) {
                view.keys_act(false);
                screen.draw(view)?;
                match (drop_typed()?, V::ENDLESS) {
                    (Dropped::All, _) => {}
                    (Dropped::Endless, Endless::Close) | (Dropped::Interrupt, Endless::Wait) => {
                        return Ok(Closed::Closed);
                    }
                    (Dropped::Endless, Endless::Wait) | (Dropped::Interrupt, Endless::Close) => {
                        screen.is_new = true;
                        continue;
                    }
                }
                view.keys_act(true);
                is_changed = true;
            }
            if std::mem::take(&mut is_changed) {
                screen.draw(view)?;
            }
            if !event::poll(INTERVAL)? {
                continue;
            }
            is_changed = true;
            let Some(event) = screen.read(view)? else {
                continue;
            };
            match view.handle(event) {
                Effect::None | Effect::Changed(_) => {}
                Effect::Send => return Ok(Closed::Send),
                Effect::Cancel => return Ok(Closed::Cancel),
                Effect::Close => return Ok(Closed::Closed),
                Effect::Copy(text, what) => {
                    view.say(&ui.copy(&text, what, "Shift and the mouse select what is shown"));
                }
                Effect::EditOutside(target, draft) => {
                    let edited = screen.outside(|| edit(&draft))?;
                    match edited {
                        Ok(new) => view.set(Typed {
                            target,
                            old: draft.now,
                            new,
                        }),
                        Err(error) => view.say(&error.to_string()),
                    }
                }
            }
        }
    })
}

/// The alternate screen. Dropping it gives the terminal back.
struct Screen {
    terminal: Terminal<CrosstermBackend<Stdout>>,
    /// Whether nothing was drawn since it was entered.
    is_new: bool,
    /// Whether the program was stopped and goes on. The shell has the terminal in its own mode meanwhile.
    is_continued: Arc<AtomicBool>,
    continued: SigId,
}

impl Screen {
    fn enter() -> io::Result<Screen> {
        let is_continued = Arc::new(AtomicBool::new(false));
        let continued = flag::register(Signal::CONT.as_raw(), Arc::clone(&is_continued))?;
        let terminal = alternate::enter().and_then(|()| {
            let terminal = Terminal::new(CrosstermBackend::new(io::stdout()));
            terminal.inspect_err(|_| alternate::leave())
        });
        match terminal {
            Ok(terminal) => Ok(Screen {
                terminal,
                is_new: true,
                is_continued,
                continued,
            }),
            Err(error) => {
                unregister(continued);
                Err(error)
            }
        }
    }

    /// Draws a frame, which a terminal shows in one piece if it can: nobody presses a key for a half of it.
    fn draw(&mut self, view: &mut impl View) -> io::Result<()> {
        execute!(io::stdout(), BeginSynchronizedUpdate)?;
        let drawn = self.terminal.draw(|frame| view.draw(frame)).map(drop);
        execute!(io::stdout(), EndSynchronizedUpdate)?;
        drawn
    }

    /// Takes the terminal again where the program was stopped from outside: it is not in the inspector's mode then.
    fn take_again(&mut self) -> io::Result<()> {
        match self.is_continued.swap(false, Ordering::Relaxed) {
            true => self.outside(|| ()),
            false => Ok(()),
        }
    }

    /// What the user has done. `None`: draw again.
    fn read(&mut self, view: &mut impl View) -> io::Result<Option<Event>> {
        Ok(match event::read()? {
            event::Event::Key(key) if key.kind == KeyEventKind::Release => None,
            event::Event::Key(key) => {
                let input = Input::from(key);
                if is_control(&input, 'z') {
                    self.outside(suspend::stop_and_wait)?
                        .unwrap_or_else(|error| {
                            view.say(&format!("Dunlin cannot be suspended: {error}"));
                        });
                    return Ok(None);
                }
                Some(Event::Key(input))
            }
            event::Event::Paste(text) => Some(Event::Paste(text)),
            event::Event::Mouse(mouse) => {
                let at = Position {
                    x: mouse.column,
                    y: mouse.row,
                };
                match mouse.kind {
                    MouseEventKind::Down(MouseButton::Left) => Some(Event::Press(at)),
                    MouseEventKind::Drag(MouseButton::Left) => Some(Event::Drag(at)),
                    MouseEventKind::ScrollDown => Some(Event::Wheel { at, down: true }),
                    MouseEventKind::ScrollUp => Some(Event::Wheel { at, down: false }),
                    _ => None,
                }
            }
            event::Event::Resize(..) | event::Event::FocusGained | event::Event::FocusLost => None,
        })
    }

    /// Gives the terminal to something else, and takes it again.
    fn outside<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<T> {
        alternate::end_reports();
        alternate::leave();
        let done = work();
        alternate::enter()?;
        // Clearing the old one would ask the terminal for its cursor, and the answer would stand behind what was typed.
        self.terminal = Terminal::new(CrosstermBackend::new(io::stdout()))?;
        self.is_new = true;
        self.is_continued.store(false, Ordering::Relaxed);
        Ok(done)
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        unregister(self.continued);
        alternate::end_reports();
        alternate::leave();
    }
}

/// What was typed that was meant for something else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Dropped {
    /// All of it was read away.
    All,
    /// Somebody types without end.
    Endless,
    /// The last key was Ctrl-C, which is no part of any text.
    Interrupt,
}

/// Reads away what was typed until now. From then on changes of the window's size are noticed, too.
///
/// It takes a moment without any input until keys act, as where a line answers a question: the rest of what is being typed is
/// meant for something else.
fn drop_typed() -> io::Result<Dropped> {
    let deadline = Instant::now() + LONGEST_TYPING;
    while event::poll(SILENCE)? {
        if let event::Event::Key(key) = event::read()?
            && key.kind != KeyEventKind::Release
            && is_control(&Input::from(key), 'c')
        {
            return Ok(Dropped::Interrupt);
        }
        if Instant::now() > deadline {
            return Ok(Dropped::Endless);
        }
    }
    Ok(Dropped::All)
}

/// Whether a key is this letter with Ctrl.
pub(super) fn is_control(input: &Input, letter: char) -> bool {
    input.key == Key::Char(letter) && input.ctrl && !input.alt
}
