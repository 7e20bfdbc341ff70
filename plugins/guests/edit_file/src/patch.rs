//! Patches in the format that OpenAI trains its models to write, beginning with `*** Begin Patch`.
//!
//! The format is that of the [prompting guide of GPT-4.1](https://developers.openai.com/cookbook/examples/gpt4-1_prompting_guide).
//! A patch becomes exact texts that are replaced, so that the user sees the whole difference before anything happens. What is
//! behind `@@` therefore narrows nothing: the text of the lines of a hunk has to be in the file exactly once.

use std::collections::HashSet;

use dunlin_sdk::Failure;
use dunlin_sdk::files::TextEdit;

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const END_OF_FILE: &str = "*** End of File";

/// What a patch does with one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FilePatch<'a> {
    pub path: &'a str,
    pub change: Change<'a>,
}

/// What happens to the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change<'a> {
    /// It is made, with this text.
    Add(String),
    Remove,
    /// It gets another name, and stays as it is.
    Rename(&'a str),
    /// At least one edit, in the order of the file.
    Edit(Vec<TextEdit>),
    /// Whole lines are put behind the last one.
    Append(String),
}

/// Reads a patch: at least one file, and none of them twice. What stands before and behind the patch is ignored, so it may be
/// in a block of code, or be the input of a command of a shell.
///
/// # Errors
/// The model wrote something else. The failure names the line of the patch and, within the part of a file, the hunk and the file.
pub fn read(patch: &str) -> Result<Vec<FilePatch<'_>>, Failure> {
    let all = patch.lines().zip(1..);
    let mut lines = all.skip_while(|(line, _)| line.trim() != BEGIN);
    if lines.next().is_none() {
        return Err(Failure::invalid_arguments(format!(
            "input: it has no line {BEGIN:?}; begin the patch with it"
        )));
    }
    let mut files = Vec::new();
    let mut file: Option<Section<'_>> = None;
    for (line, number) in lines {
        if line.trim_end() == END {
            files.extend(file.take().map(Section::finish).transpose()?);
            return checked(files);
        }
        match (Heading::of(line), &mut file) {
            (Some(heading), file) => {
                files.extend(file.take().map(Section::finish).transpose()?);
                *file = Some(Section::new(heading, number)?);
            }
            (None, Some(file)) => file.push(line, number)?,
            (None, None) if line.trim().is_empty() => {}
            (None, None) => {
                return Err(wrong(
                    number,
                    "it belongs to no file; begin with *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
                ));
            }
        }
    }
    Err(Failure::invalid_arguments(format!(
        "input: it has no line {END:?}; end the patch with it"
    )))
}

fn checked(files: Vec<FilePatch<'_>>) -> Result<Vec<FilePatch<'_>>, Failure> {
    if files.is_empty() {
        return Err(Failure::invalid_arguments(
            "input: the patch changes no file; add *** Add File: PATH, *** Update File: PATH or *** Delete File: PATH",
        ));
    }
    let mut paths = HashSet::new();
    for file in &files {
        if !paths.insert(file.path) {
            return Err(Failure::invalid_arguments(format!(
                "input: the patch names '{}' twice; put all changes of a file into one part",
                file.path
            )));
        }
    }
    Ok(files)
}

/// A line that begins the part of a file.
#[derive(Clone, Copy)]
enum Heading<'a> {
    Add(&'a str),
    Update(&'a str),
    Delete(&'a str),
}

impl<'a> Heading<'a> {
    fn of(line: &'a str) -> Option<Self> {
        let path = |marker| line.strip_prefix(marker).map(str::trim);
        path("*** Add File:")
            .map(Self::Add)
            .or_else(|| path("*** Update File:").map(Self::Update))
            .or_else(|| path("*** Delete File:").map(Self::Delete))
    }

    fn path(self) -> &'a str {
        match self {
            Self::Add(path) | Self::Update(path) | Self::Delete(path) => path,
        }
    }
}

/// The part of a file, as far as it was read.
struct Section<'a> {
    heading: Heading<'a>,
    /// Of the heading, for errors.
    number: usize,
    to: Option<&'a str>,
    added: String,
    hunks: Vec<Hunk>,
}

/// What stands together in a file, before and after.
struct Hunk {
    old: String,
    new: String,
    /// Where it begins in the patch, for errors.
    number: usize,
}

impl<'a> Section<'a> {
    fn new(heading: Heading<'a>, number: usize) -> Result<Self, Failure> {
        if heading.path().is_empty() {
            return Err(wrong(number, "the path is missing"));
        }
        Ok(Self {
            heading,
            number,
            to: None,
            added: String::new(),
            hunks: Vec::new(),
        })
    }

    fn push(&mut self, line: &'a str, number: usize) -> Result<(), Failure> {
        match self.heading {
            Heading::Add(_) => match line.strip_prefix('+') {
                Some(line) => push_line(&mut self.added, line),
                None if line.trim().is_empty() => {}
                None => return Err(self.wrong(number, "each line of a new file begins with +")),
            },
            Heading::Delete(_) if line.trim().is_empty() => {}
            Heading::Delete(_) => {
                return Err(self.wrong(number, "nothing follows *** Delete File: PATH"));
            }
            Heading::Update(_) => self.push_update(line, number)?,
        }
        Ok(())
    }

    fn push_update(&mut self, line: &'a str, number: usize) -> Result<(), Failure> {
        if let Some(to) = line.strip_prefix("*** Move to:") {
            if !self.hunks.is_empty() || self.to.is_some() || to.trim().is_empty() {
                return Err(self.wrong(
                    number,
                    "*** Move to: PATH stands once, directly below *** Update File: PATH",
                ));
            }
            self.to = Some(to.trim());
            return Ok(());
        }
        if line.starts_with("@@") {
            self.hunks.push(Hunk::new(number));
            return Ok(());
        }
        if self.hunks.is_empty() {
            // The first may do without `@@`.
            self.hunks.push(Hunk::new(number));
        }
        let Some(hunk) = self.hunks.last_mut() else {
            return Ok(());
        };
        if line.trim_end() == END_OF_FILE {
            // The lines say where they are.
        } else if let Some(line) = line.strip_prefix('+') {
            push_line(&mut hunk.new, line);
        } else if let Some(line) = line.strip_prefix('-') {
            push_line(&mut hunk.old, line);
        } else if let Some(line) = line.strip_prefix(' ') {
            push_line(&mut hunk.old, line);
            push_line(&mut hunk.new, line);
        } else if line.is_empty() {
            // Models leave out the space of an empty line.
            push_line(&mut hunk.old, line);
            push_line(&mut hunk.new, line);
        } else {
            return Err(self.wrong(number, "each line of a hunk begins with a space, + or -"));
        }
        Ok(())
    }

    /// What is wrong with this line of the part.
    fn wrong(&self, number: usize, problem: &str) -> Failure {
        let path = self.heading.path();
        match self.hunks.len().checked_sub(1) {
            Some(last) => wrong_in(&name_of_hunk(last, path), number, problem),
            None => wrong_in(path, number, problem),
        }
    }

    fn finish(self) -> Result<FilePatch<'a>, Failure> {
        let path = self.heading.path();
        let name_of = |index: usize| name_of_hunk(index, path);
        let change = match self.heading {
            Heading::Add(_) => Change::Add(self.added),
            Heading::Delete(_) => Change::Remove,
            Heading::Update(_) => {
                let hunks = self.hunks.into_iter().enumerate();
                let hunks = hunks.filter(|(_, hunk)| hunk.old != hunk.new);
                let hunks: Vec<(usize, Hunk)> = hunks.collect();
                match (self.to, hunks.as_slice()) {
                    (None, []) => {
                        return Err(wrong_in(path, self.number, "the part changes nothing"));
                    }
                    (Some(to), []) => Change::Rename(to),
                    (Some(_), [..]) => {
                        return Err(wrong_in(
                            path,
                            self.number,
                            "one patch cannot both move and change a file; change it in one call, then move it in a second one",
                        ));
                    }
                    (None, [(_, only)]) if only.old.is_empty() => Change::Append(only.new.clone()),
                    (None, _) => {
                        let hunks = hunks.into_iter();
                        let edits = hunks.map(|(index, hunk)| hunk.edit(&name_of(index)));
                        Change::Edit(edits.collect::<Result<_, _>>()?)
                    }
                }
            }
        };
        Ok(FilePatch { path, change })
    }
}

impl Hunk {
    fn new(number: usize) -> Self {
        Self {
            old: String::new(),
            new: String::new(),
            number,
        }
    }

    fn edit(self, name: &str) -> Result<TextEdit, Failure> {
        if self.old.is_empty() {
            return Err(wrong_in(
                name,
                self.number,
                "it only adds lines; put a line of the file beside them that says where",
            ));
        }
        Ok(TextEdit {
            old: self.old,
            new: self.new,
            every: false,
        })
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// What the hunk with this index is called.
fn name_of_hunk(index: usize, path: &str) -> String {
    format!("hunk {} of {path}", index + 1)
}

fn wrong(number: usize, problem: &str) -> Failure {
    Failure::invalid_arguments(format!("line {number} of the patch: {problem}"))
}

/// The same for a file or a hunk.
fn wrong_in(name: &str, number: usize, problem: &str) -> Failure {
    Failure::invalid_arguments(format!("{name}, line {number} of the patch: {problem}"))
}

#[cfg(test)]
mod tests;
