//! A line that the user typed.

/// What a line that was read turned out to be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed {
    Line(String),
    /// Ctrl-C.
    Interrupted,
    /// Ctrl-D, or nobody there.
    End,
    /// [`Ui::wake`](crate::ui::Ui::wake) ended the line. Only
    /// [`Ui::ask_line_until_woken`](crate::ui::Ui::ask_line_until_woken) and [`Ui::read_message`](crate::ui::Ui::read_message)
    /// return it.
    Woken,
}
