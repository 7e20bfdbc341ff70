//! What is different between a plugin and the version of it that is installed: all that may matter to whoever agreed to that
//! one. What comes and what goes are told apart, and words are compared as the lines of files are.

use std::collections::BTreeMap;

use dunlin_host::Tool;
use dunlin_host::display::escape;
use dunlin_host::metadata::Metadata;
use oci_spec::distribution::Reference;

use super::report::foreign;
use crate::plugin::examine::Examined;
use crate::plugin::installed::Record;
use crate::plugin::wording;
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::style::Label;
use dunlin_terminal::ui::{diff, wrap};

/// Columns before what is listed.
const MARGIN: usize = 4;

type DeclaredTargets = BTreeMap<String, String>;

/// What comes with a version and what goes, each in words. Nothing is escaped.
#[derive(Debug, Default, PartialEq)]
struct Changes {
    added: Vec<String>,
    removed: Vec<String>,
}

/// What a version may do that the installed one may not, and the other way round: `+` or `-`, and words. Not escaped.
pub fn marked(old: &Record, new: &Examined) -> Vec<(char, String)> {
    let Changes { added, removed } = changes(old, new);
    let added = added.into_iter().map(|line| ('+', line));
    let removed = removed.into_iter().map(|line| ('-', line));
    added.chain(removed).collect()
}

/// What is different from the version that is installed, in rows for the window.
pub fn rows(old: &Record, new: &Examined, window: Window) -> Vec<String> {
    let columns = window.columns.saturating_sub(1);
    let sentence = |text: &str| wrap::hanging("  ", 2, text, columns);
    if old.origin != new.origin {
        return sentence(&format!(
            "A different plugin of this name is installed, from {}. Remove it before you install this one.",
            escape(&old.origin)
        ));
    }
    if old.digest == new.digest {
        return sentence("This very version is installed.");
    }
    let version = version(old);
    let mut rows = sentence(&format!(
        "Another version is installed ({version}). Dunlin asks again for what you allowed that one permanently."
    ));
    if let Some((tag, before, now)) = moved(&old.source, &new.source) {
        let text = format!("The tag {tag} was moved: it named {before}, and now names {now}.");
        let first = window.styles.paint(Label::Error, "  ! ");
        rows.extend(foreign(&first, &text, MARGIN, window));
    } else if old.source != new.source {
        let text = format!(
            "It comes from {}, the installed one from {}.",
            new.source, old.source
        );
        rows.extend(foreign("  ", &text, 2, window));
    }
    let changes = changes(old, new);
    for (heading, mark, label, lines) in [
        ("Added:", "+ ", Label::Added, &changes.added),
        ("Removed:", "- ", Label::Removed, &changes.removed),
    ] {
        if !lines.is_empty() {
            rows.push(format!("  {heading}"));
        }
        for line in lines {
            let first = window.styles.paint(label, mark);
            rows.extend(foreign(
                &format!("{:MARGIN$}{first}", ""),
                line,
                MARGIN,
                window,
            ));
        }
    }
    let mut described = said(old, new, window);
    let about = |metadata: &Metadata| -> String {
        let texts = metadata.texts();
        let lines = texts.filter_map(|(name, text)| Some(format!("{name}: {}\n", text?)));
        lines.collect()
    };
    let of_plugin =
        diff::rows_between(&about(&old.metadata), &about(&new.metadata), MARGIN, window);
    if !of_plugin.is_empty() {
        described.push("  What is said of the plugin:".to_owned());
        described.extend(of_plugin);
    }
    if changes == Changes::default() && described.is_empty() {
        rows.extend(sentence(
            "Its tools, what is said of them, its abilities and its declared permissions are the same.",
        ));
    }
    rows.extend(described);
    rows
}

/// A version as people name it, and so that it cannot be mistaken: `1.2.0, 1676e8ee`.
pub fn version(record: &Record) -> String {
    let short: String = record.digest.chars().take(8).collect();
    match &record.metadata.version {
        Some(version) => format!("{}, {short}", escape(version)),
        None => short,
    }
}

/// What else than before is said of the tools that both versions have.
fn said(old: &Record, new: &Examined, window: Window) -> Vec<String> {
    let mut rows = Vec::new();
    for tool in new
        .tools
        .iter()
        .filter(|tool| old.tools.contains(&tool.name))
    {
        let name = window.styles.paint(Label::Name, &escape(&tool.name));
        let before = new.installed.iter().find(|other| other.name == tool.name);
        let Some(before) = before else {
            rows.push(format!(
                "  What the installed version says of {name} cannot be compared."
            ));
            continue;
        };
        let lines = difference(before, tool, window);
        if !lines.is_empty() {
            rows.push(format!("  What is said of {name}:"));
            rows.extend(lines);
        }
    }
    rows
}

fn difference(before: &Tool, now: &Tool, window: Window) -> Vec<String> {
    diff::rows_between(
        &wording::whole(before),
        &wording::whole(now),
        MARGIN,
        window,
    )
}

fn changes(old: &Record, new: &Examined) -> Changes {
    let mut changes = Changes::default();
    let tools: Vec<String> = new.tools.iter().map(|tool| tool.name.clone()).collect();
    changes.compare(&old.tools, &tools, "the tool");
    changes.compare(&old.abilities, &new.abilities(), "the ability");
    changes.compare_permissions(
        old.declared_permissions.as_ref(),
        new.declared_permissions.as_ref(),
    );
    changes
}

impl Changes {
    fn compare(&mut self, old: &[String], new: &[String], what: &str) {
        let added = new.iter().filter(|it| !old.contains(it));
        self.added.extend(added.map(|it| format!("{what} {it}")));
        let gone = old.iter().filter(|it| !new.contains(it));
        self.removed.extend(gone.map(|it| format!("{what} {it}")));
    }

    /// Compares declared permissions, letter by letter. Without any, a plugin may ask for everything.
    fn compare_permissions(
        &mut self,
        old: Option<&DeclaredTargets>,
        new: Option<&DeclaredTargets>,
    ) {
        const ALL: &str = "may ask for whatever its abilities reach";
        let (old, new) = match (old, new) {
            (None, None) => return,
            (Some(_), None) => return self.added.push(ALL.to_owned()),
            (None, Some(_)) => return self.removed.push(ALL.to_owned()),
            (Some(old), Some(new)) => (old, new),
        };
        let of = |declared_permissions: &DeclaredTargets, target: &str| {
            declared_permissions
                .get(target)
                .cloned()
                .unwrap_or_default()
        };
        let targets = old
            .keys()
            .chain(new.keys().filter(|target| !old.contains_key(*target)));
        for target in targets {
            let (before, now) = (of(old, target), of(new, target));
            for (lines, from, to) in [
                (&mut self.added, &before, &now),
                (&mut self.removed, &now, &before),
            ] {
                if let Some(more) = more(from, to) {
                    lines.push(format!("may ask {more} {target}"));
                }
            }
        }
    }
}

/// The letters that are in the second bits and not in the first.
fn more(from: &str, to: &str) -> Option<String> {
    let more: String = to
        .chars()
        .map(|letter| if from.contains(letter) { '-' } else { letter })
        .collect();
    more.contains(|letter| letter != '-').then_some(more)
}

/// The tag, if both versions have it: what it named before, and what it names now.
fn moved(old: &str, new: &str) -> Option<(String, String, String)> {
    let (old, new): (Reference, Reference) = (old.parse().ok()?, new.parse().ok()?);
    let is_same = old.tag()? == new.tag()? && old.digest()? != new.digest()?;
    is_same.then(|| {
        let digest = |reference: &Reference| reference.digest().unwrap_or_default().to_owned();
        let tag = new.tag().unwrap_or_default().to_owned();
        (tag, digest(&old), digest(&new))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permissions_are_compared_letter_by_letter() {
        let declared_permissions = |all: &[(&str, &str)]| -> DeclaredTargets {
            let own = |(target, bits): &(&str, &str)| ((*target).to_owned(), (*bits).to_owned());
            all.iter().map(own).collect()
        };
        let check = |old: Option<&DeclaredTargets>,
                     new: Option<&DeclaredTargets>,
                     added: &[&str],
                     removed: &[&str]| {
            let mut changes = Changes::default();
            changes.compare_permissions(old, new);
            assert_eq!(changes.added, added);
            assert_eq!(changes.removed, removed);
        };
        let old = declared_permissions(&[("./", "r--"), ("git", "--x"), ("~/a/", "rw-")]);
        let new =
            declared_permissions(&[("./", "rw-"), ("https://docs.rs/", "r--"), ("~/a/", "r-x")]);
        check(
            Some(&old),
            Some(&new),
            &[
                "may ask -w- ./",
                "may ask --x ~/a/",
                "may ask r-- https://docs.rs/",
            ],
            &["may ask --x git", "may ask -w- ~/a/"],
        );
        check(Some(&old), Some(&old), &[], &[]);
        check(None, None, &[], &[]);
        check(
            Some(&old),
            None,
            &["may ask for whatever its abilities reach"],
            &[],
        );
        check(
            None,
            Some(&new),
            &[],
            &["may ask for whatever its abilities reach"],
        );
    }

    #[test]
    fn a_moved_tag_is_seen() {
        let named = |tag: &str, digit: char| {
            format!(
                "ghcr.io/who/words{tag}@sha256:{}",
                String::from(digit).repeat(64)
            )
        };
        let sha256 = |digit: char| format!("sha256:{}", String::from(digit).repeat(64));
        assert_eq!(
            moved(&named(":1.0", 'a'), &named(":1.0", 'b')),
            Some(("1.0".to_owned(), sha256('a'), sha256('b')))
        );
        for (old, new) in [
            (named(":1.0", 'a'), named(":1.0", 'a')),
            (named(":1.0", 'a'), named(":1.1", 'b')),
            (named("", 'a'), named("", 'b')),
            (
                "~/words/plugin.wasm".to_owned(),
                "~/words/plugin.wasm".to_owned(),
            ),
        ] {
            assert_eq!(moved(&old, &new), None, "{old} {new}");
        }
    }
}
