//! Tables: laid out when they are whole, in the width that there is.

use dunlin_host::display::{usual_width, usual_width_of_char};
use pulldown_cmark::{Alignment, Event, Options, Parser, Tag};

use super::inline;
use super::links::Links;
use super::look::Look;
use super::rows::{Bit, may_break, width};

/// The narrowest column that cells are wrapped into; where there is less, each row of the table becomes a list.
const MIN_CELL_COLUMNS: usize = 6;

/// What stands between two cells, and where the line below the head crosses it.
type Separator = (&'static str, &'static str);
const BARS: Separator = (" │ ", "─┼─");

/// The same where bars would cost the room that words need.
const GAPS: Separator = ("  ", "  ");

type Cell = Vec<Bit>;

/// A table whose widths are settled.
#[derive(Debug)]
pub struct Layout {
    alignments: Vec<Alignment>,
    head: Vec<Cell>,
    widths: Vec<usize>,
    separator: Separator,
    /// Whether it is a list, because there is no room for columns.
    is_list: bool,
    shows_marks: bool,
    links: Links,
}

/// The widest table, in columns. Each row is laid out over all of them, however little stands in it, so that
/// without a limit a few bytes of a reply could fill the screen for ever.
const MAX_COLUMNS: usize = 64;

/// Whether a line is the second one of a table: dashes between bars, with a colon where text is aligned.
pub fn is_delimiter(line: &str) -> bool {
    let cells = line.trim().trim_matches('|').split('|');
    line.contains('-')
        && cells.clone().count() <= MAX_COLUMNS
        && cells.into_iter().all(|cell| {
            let dashes = cell.trim().trim_start_matches(':').trim_end_matches(':');
            !dashes.is_empty() && dashes.chars().all(|c| c == '-')
        })
}

impl Layout {
    /// The layout for the lines of a table, the first two of which are its head, and the rows of the screen.
    pub fn of(
        lines: &[String],
        room: usize,
        shows_marks: bool,
        links: &Links,
    ) -> (Layout, Vec<Vec<Bit>>) {
        let (alignments, mut cells) = read(lines, shows_marks, links);
        let head = if cells.is_empty() {
            Vec::new()
        } else {
            cells.remove(0)
        };
        let columns = head.len();
        let mut natural = vec![1; columns];
        let mut least = vec![1; columns];
        for row in std::iter::once(&head).chain(&cells) {
            for ((cell, natural), least) in row.iter().zip(&mut natural).zip(&mut least) {
                let lines = cell_lines(cell);
                *natural = lines
                    .iter()
                    .map(|line| width(line))
                    .fold(*natural, usize::max);
                *least = lines
                    .iter()
                    .flat_map(|line| words(line))
                    .map(|word| width(&word))
                    .fold(*least, usize::max);
            }
        }
        let room_with = |separator: Separator| {
            room.saturating_sub(columns.saturating_sub(1) * usual_width(separator.0))
        };
        let has_room = least.iter().sum::<usize>() <= room_with(BARS);
        let separator = if has_room { BARS } else { GAPS };
        let widths = share(&natural, &least, room_with(separator));
        let narrow = widths.iter().zip(&natural);
        let is_list = narrow
            .clone()
            .any(|(width, natural)| width < natural && *width < MIN_CELL_COLUMNS);
        let layout = Layout {
            alignments,
            head,
            widths,
            separator,
            is_list,
            shows_marks,
            links: links.clone(),
        };
        let mut rows = layout.heading();
        for row in &cells {
            rows.extend(layout.row(row));
        }
        (layout, rows)
    }

    /// The rows of the screen for one more line of the table.
    pub fn line(&self, line: &str) -> Vec<Vec<Bit>> {
        let columns = self.widths.len().max(1);
        let (head, marks) = ("|x".repeat(columns), "|-".repeat(columns));
        let (_, cells) = read(
            &[head, marks, line.to_owned()],
            self.shows_marks,
            &self.links,
        );
        cells.iter().skip(1).flat_map(|row| self.row(row)).collect()
    }

    fn heading(&self) -> Vec<Vec<Bit>> {
        if self.is_list {
            return Vec::new();
        }
        let strong = |cell: &Cell| -> Cell {
            let bits = cell.iter();
            bits.map(|(text, look)| (text.clone(), Look::STRONG.with(*look)))
                .collect()
        };
        let head: Vec<Cell> = self.head.iter().map(strong).collect();
        let mut rows = self.row(&head);
        let lines: Vec<String> = self.widths.iter().map(|width| "─".repeat(*width)).collect();
        rows.push(vec![(lines.join(self.separator.1), Look::QUIET)]);
        rows
    }

    fn row(&self, cells: &[Cell]) -> Vec<Vec<Bit>> {
        if self.is_list {
            return self.list(cells);
        }
        let wrapped: Vec<Vec<Cell>> = self
            .widths
            .iter()
            .enumerate()
            .map(|(index, width)| wrap(cells.get(index).map_or(&[][..], Vec::as_slice), *width))
            .collect();
        let height = wrapped.iter().map(Vec::len).max().unwrap_or(0);
        let row = |line: usize| {
            let mut bits = Vec::new();
            for (index, (cell, columns)) in wrapped.iter().zip(&self.widths).enumerate() {
                if index > 0 {
                    bits.push((self.separator.0.to_owned(), Look::QUIET));
                }
                let content = cell.get(line).map_or(&[][..], Vec::as_slice);
                let free = columns.saturating_sub(width(content));
                let left = match self.alignments.get(index) {
                    Some(Alignment::Right) => free,
                    Some(Alignment::Center) => free / 2,
                    _ => 0,
                };
                bits.push((" ".repeat(left), Look::TEXT));
                bits.extend_from_slice(content);
                bits.push((" ".repeat(free - left), Look::TEXT));
            }
            trim_end(&mut bits);
            bits
        };
        (0..height).map(row).collect()
    }

    /// One line for each cell, under the name of its column.
    fn list(&self, cells: &[Cell]) -> Vec<Vec<Bit>> {
        let mut rows: Vec<Vec<Bit>> = Vec::new();
        // A cell with nothing in it says nothing.
        let cells = cells.iter().enumerate();
        for (index, cell) in cells.filter(|(_, cell)| !cell.is_empty()) {
            let mut bits: Vec<Bit> = Vec::new();
            if let Some(head) = self.head.get(index) {
                let head = head.iter();
                bits.extend(head.map(|(text, look)| (text.clone(), Look::STRONG.with(*look))));
            }
            bits.push((": ".to_owned(), Look::TEXT));
            let cell = cell.iter();
            bits.extend(cell.map(|(text, look)| (text.replace('\n', " "), *look)));
            trim_end(&mut bits);
            rows.push(bits);
        }
        rows.push(Vec::new());
        rows
    }

    /// Whether the rows are to be wrapped like text.
    pub fn is_list(&self) -> bool {
        self.is_list
    }
}

/// The cells of a table, the head first.
fn read(lines: &[String], shows_marks: bool, links: &Links) -> (Vec<Alignment>, Vec<Vec<Cell>>) {
    let source = lines.join("\n");
    let mut alignments = Vec::new();
    let mut rows: Vec<Vec<Cell>> = Vec::new();
    for (event, range) in Parser::new_ext(&source, Options::ENABLE_TABLES).into_offset_iter() {
        match event {
            Event::Start(Tag::Table(of_table)) => alignments = of_table,
            Event::Start(Tag::TableHead | Tag::TableRow) => rows.push(Vec::new()),
            Event::Start(Tag::TableCell) => {
                let text = source.get(range).unwrap_or_default();
                let text = text.trim().trim_matches('|').replace("\\|", "|");
                if let Some(row) = rows.last_mut() {
                    row.push(inline::whole(&text, shows_marks, links));
                }
            }
            _ => {}
        }
    }
    (alignments, rows)
}

/// Shares the room out: every column gets what it needs, as far as there is enough; else the long ones give first, down to
/// their longest word, and then all of them.
fn share(natural: &[usize], least: &[usize], room: usize) -> Vec<usize> {
    let sum = |widths: &[usize]| widths.iter().sum::<usize>();
    let capped = |widths: &[usize], floor: &[usize], cap: usize| -> Vec<usize> {
        let both = widths.iter().zip(floor);
        both.map(|(width, floor)| (*width).min(cap).max(*floor))
            .collect()
    };
    if sum(natural) <= room {
        return natural.to_vec();
    }
    let ones = vec![1; least.len()];
    let floor = if sum(least) <= room { least } else { &ones };
    let from = if sum(least) <= room { natural } else { least };
    let most = from.iter().copied().max().unwrap_or(1);
    // The greatest cap that fits.
    let (mut low, mut high) = (1, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if sum(&capped(from, floor, middle)) <= room {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    let mut widths = capped(from, floor, low);
    // What is left over goes to those that could use it.
    let mut left = room.saturating_sub(sum(&widths));
    for (width, natural) in widths.iter_mut().zip(natural) {
        if left > 0 && *width < *natural {
            *width += 1;
            left -= 1;
        }
    }
    widths
}

/// The lines of a cell, as `<br>` parts them.
fn cell_lines(cell: &[Bit]) -> Vec<Cell> {
    let mut lines = vec![Vec::new()];
    for (text, look) in cell {
        for (index, part) in text.split('\n').enumerate() {
            if index > 0 {
                lines.push(Vec::new());
            }
            if let (Some(line), false) = (lines.last_mut(), part.is_empty()) {
                line.push((part.to_owned(), *look));
            }
        }
    }
    lines
}

/// The words of a line, each with the spaces before it as a word of its own.
fn words(line: &[Bit]) -> Vec<Cell> {
    let mut words: Vec<Cell> = Vec::new();
    let mut last = None;
    for (text, look) in line {
        for c in text.chars() {
            let begins = last.is_none_or(|last| (last == ' ') != (c == ' ') || may_break(last, c));
            last = Some(c);
            if begins {
                words.push(Vec::new());
            }
            let Some(word) = words.last_mut() else {
                continue;
            };
            match word.last_mut() {
                Some((text, same)) if same == look => text.push(c),
                _ => word.push((c.into(), *look)),
            }
        }
    }
    words
}

/// Wraps a cell; words that are longer than the column are cut.
fn wrap(cell: &[Bit], columns: usize) -> Vec<Cell> {
    let mut rows = Vec::new();
    for line in cell_lines(cell) {
        let mut row: Cell = Vec::new();
        for word in words(&line) {
            if width(&row) + width(&word) > columns && !row.is_empty() {
                trim_end(&mut row);
                rows.push(std::mem::take(&mut row));
            }
            let is_space = word.iter().all(|(text, _)| text.starts_with(' '));
            if is_space && row.is_empty() {
                continue;
            }
            for (text, look) in word {
                for c in text.chars() {
                    if width(&row) + usual_width_of_char(c) > columns && !row.is_empty() {
                        rows.push(std::mem::take(&mut row));
                    }
                    match row.last_mut() {
                        Some((text, same)) if *same == look => text.push(c),
                        _ => row.push((c.into(), look)),
                    }
                }
            }
        }
        trim_end(&mut row);
        rows.push(row);
    }
    rows
}

/// Takes spaces away that nothing follows.
fn trim_end(bits: &mut Vec<Bit>) {
    while let Some((text, _)) = bits.last_mut() {
        text.truncate(text.trim_end_matches(' ').len());
        if !text.is_empty() {
            return;
        }
        bits.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(lines: &[&str], room: usize, expected: &[&str]) {
        let lines: Vec<String> = lines.iter().map(|&line| line.to_owned()).collect();
        let (_, rows) = Layout::of(&lines, room, false, &Links::default());
        let text = |row: &Vec<Bit>| {
            row.iter()
                .map(|(text, _)| text.as_str())
                .collect::<String>()
        };
        let shown: Vec<String> = rows.iter().map(text).collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn columns_are_as_wide_as_they_must_be() {
        check(
            &[
                "| Name | Count |",
                "|:--|--:|",
                "| a **b** | 1 |",
                "| `x \\| y` | 200 |",
                "| z |",
            ],
            40,
            &[
                "Name  │ Count",
                "──────┼──────",
                "a b   │     1",
                "x | y │   200",
                "z     │",
            ],
        );
    }

    #[test]
    fn long_cells_wrap() {
        check(
            &[
                "| A | What it is |",
                "|---|---|",
                "| one | a rather long text about it |",
                "| 日本語 | x<br>y |",
            ],
            24,
            &[
                "A      │ What it is",
                "───────┼────────────────",
                "one    │ a rather long",
                "       │ text about it",
                "日本語 │ x",
                "       │ y",
            ],
        );
    }

    #[test]
    fn where_there_is_no_room_rows_become_lists() {
        check(
            &[
                "| Name | Kind | Note |",
                "|---|---|---|",
                "| alphabet | letters | twenty-six |",
            ],
            16,
            &["Name: alphabet", "Kind: letters", "Note: twenty-six", ""],
        );
    }

    #[test]
    fn a_delimiter_has_dashes_and_bars_only() {
        for (line, expected) in [
            ("|---|---|", true),
            ("| :-- | --: | :-: |", true),
            ("|-", true),
            ("| a | b |", false),
            ("||", false),
            ("|:|", false),
        ] {
            assert_eq!(is_delimiter(line), expected, "{line}");
        }
        assert!(is_delimiter(&"|-".repeat(MAX_COLUMNS)));
        assert!(!is_delimiter(&"|-".repeat(MAX_COLUMNS + 1)));
    }
}
