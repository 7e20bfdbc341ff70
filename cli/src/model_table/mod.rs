//! What is known of models before anybody is asked: context windows, what they read, and prices, from the public table of
//! <https://models.dev>.
//!
//! The table is a text with a line for each model, below the line of the service that has it:
//!
//! ```text
//! dunlin-models 1 2026-08-18 SHA-256-OF-ALL-THAT-FOLLOWS
//! # where it is from, and its licence
//! =openai  api.openai.com
//! gpt-4o  128000  +image  2.5  10  1.25  -
//! gpt-5.5  922000  5  30  0.5  -  272000  10  45  1  -
//! ```
//!
//! Behind the name stand the window in tokens, what the model reads (`+text` alone, `+image`, `+pdf`; not there: not known), and
//! the dollars for a million tokens: in, out, read from the cache, written to the cache. Longer requests may have rates of their own, behind the number of tokens above which they count. `-` is not
//! known. Tabs are between the columns.
//!
//! Nothing reads the table at the start. A lookup looks for two lines in it and reads only the second.
//!
//! The table in the program (`table.tsv`, under the licence beside it) is one that `dunlin model refresh` has stored;
//! `docs/building.md` says how it is replaced.

pub mod in_use;
pub mod site;

use std::borrow::Cow;

use dunlin_chat::price::{Price, Rates, dollars, micro_dollars};
use dunlin_host::sha256_hex;
use dunlin_provider::http::is_this_machine;
use jiff::civil::Date;
use url::{Host, Url};

/// The table in the program.
const BUILT_IN: &str = include_str!("table.tsv");

/// What the first line begins with: the format, and its version.
const FORMAT: &str = "dunlin-models 1 ";

/// The longest name of a service or a model, in bytes.
const MAX_NAME_BYTES: usize = 200;

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelTable {
    date: Date,
    /// All behind the first line.
    body: Cow<'static, str>,
}

/// What the table has of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The service, and its name for the model: `openai/gpt-4o`.
    pub name: String,
    pub metadata: ModelMetadata,
}

/// What is known of a model.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ModelMetadata {
    /// How many tokens may be sent at most.
    pub window: Option<u64>,
    pub reads: Option<Reads>,
    pub price: Option<Price>,
}

/// What a model reads, each with what stands before it here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// Nothing but text.
    Text,
    /// Images, and documents perhaps: services make images of their pages, and the table does not always say so.
    Images,
    Documents,
}

impl Reads {
    const ALL: [Reads; 3] = [Reads::Text, Reads::Images, Reads::Documents];

    /// The column.
    fn name(self) -> &'static str {
        match self {
            Reads::Text => "+text",
            Reads::Images => "+image",
            Reads::Documents => "+pdf",
        }
    }

    /// Whether it reads images.
    pub fn images(self) -> bool {
        self != Reads::Text
    }

    /// Whether it reads documents; `None`: not known.
    pub fn documents(self) -> Option<bool> {
        match self {
            Reads::Text => Some(false),
            Reads::Images => None,
            Reads::Documents => Some(true),
        }
    }
}

impl ModelMetadata {
    /// What both say. `None`: they differ in the window or the price. What a model reads may be known of one alone.
    fn agreed(self, other: ModelMetadata) -> Option<ModelMetadata> {
        let is_same = self.window == other.window && self.price == other.price;
        is_same.then(|| ModelMetadata {
            reads: self.reads.filter(|_| self.reads == other.reads),
            ..self
        })
    }
}

/// Why a file is not a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("its first line is not that of a table of models")]
    Head,
    #[error("it was changed or cut: its SHA-256 is not the one in its first line")]
    Checksum,
}

impl ModelTable {
    /// The table in the program.
    pub fn built_in() -> ModelTable {
        // Nobody can have changed it, so its checksum is for the test.
        split(BUILT_IN).map_or_else(
            || ModelTable::new(Date::ZERO, String::new()),
            |(date, _, body)| ModelTable {
                date,
                body: Cow::Borrowed(body),
            },
        )
    }

    /// A table that [`ModelTable::to_file`] has written.
    ///
    /// # Errors
    /// It is something else by now.
    pub fn of_file(text: &str) -> Result<ModelTable, Damage> {
        let (date, checksum, body) = split(text).ok_or(Damage::Head)?;
        match sha256_hex(body.as_bytes()) == checksum {
            true => Ok(ModelTable::new(date, body.to_owned())),
            false => Err(Damage::Checksum),
        }
    }

    /// The table as a file.
    pub fn to_file(&self) -> String {
        let checksum = sha256_hex(self.body.as_bytes());
        format!("{FORMAT}{} {checksum}\n{}", self.date, self.body)
    }

    fn new(date: Date, body: String) -> ModelTable {
        ModelTable {
            date,
            body: Cow::Owned(body),
        }
    }

    /// The day that it is of.
    pub fn date(&self) -> Date {
        self.date
    }

    /// The model of this name at this endpoint. Where several services listen at one address, all of them have to say the
    /// same.
    pub fn find(&self, base_url: &Url, model: &str) -> Option<Entry> {
        let host = host_of(base_url)?;
        let here: Vec<(Option<usize>, Service<'_>)> = self
            .services()
            .filter_map(|service| Some((service.listens(host, base_url.path())?, service)))
            .collect();
        let nearest = here.iter().map(|(below, _)| *below).max()?;
        let nearest = here.iter().filter(|(below, _)| *below == nearest);
        let mut found = nearest.filter_map(|(_, service)| service.find(model));
        let first = found.next()?;
        found.try_fold(first, |first, other| {
            let metadata = first.metadata.agreed(other.metadata)?;
            Some(Entry { metadata, ..first })
        })
    }

    /// The model that this name of an entry is of: `openai/gpt-4o`.
    pub fn named(&self, name: &str) -> Option<Entry> {
        let (service, model) = name.split_once('/')?;
        self.services().find(|it| it.id == service)?.find(model)
    }

    /// All entries.
    pub fn entries(&self) -> impl Iterator<Item = Entry> {
        let of = |service: Service<'_>| {
            let lines: Vec<Entry> = service
                .lines()
                .map(|(name, metadata)| service.entry(name, metadata))
                .collect();
            lines
        };
        self.services().flat_map(of)
    }

    fn services(&self) -> impl Iterator<Item = Service<'_>> {
        self.body.split("\n=").skip(1).map(|section| {
            let (head, _) = section.split_once('\n').unwrap_or((section, ""));
            let (id, address) = head.split_once('\t').unwrap_or((head, ""));
            Service {
                id,
                address,
                // The line end before the first model belongs to it: each begins behind one.
                models: section.get(head.len()..).unwrap_or_default(),
            }
        })
    }
}

/// The host of an address at which a service can listen: by its name, encrypted, at the usual port. A server on this machine
/// is none, whatever it is called.
pub fn host_of(url: &Url) -> Option<&str> {
    let is_usual = url.scheme() == "https" && url.port().is_none();
    match url.host() {
        Some(Host::Domain(name)) if is_usual && !is_this_machine(url) => Some(name),
        _ => None,
    }
}

/// Splits a file: the day, the checksum, and what that is of.
fn split(text: &str) -> Option<(Date, &str, &str)> {
    let (head, body) = text.split_once('\n')?;
    let (date, checksum) = head.strip_prefix(FORMAT)?.split_once(' ')?;
    Some((date.parse().ok()?, checksum, body))
}

/// The part of the table that has the models of one service.
#[derive(Debug, Clone, Copy)]
struct Service<'a> {
    id: &'a str,
    /// Where it listens: host and path. Empty: wherever its customers say.
    address: &'a str,
    /// The lines of its models, with a line end before each.
    models: &'a str,
}

impl<'a> Service<'a> {
    /// Whether it listens at this host, and how long its path is if that begins this one.
    fn listens(&self, host: &str, path: &str) -> Option<Option<usize>> {
        let (own, below) = self.address.split_once('/').unwrap_or((self.address, ""));
        if own != host {
            return None;
        }
        let rest = path.trim_start_matches('/').strip_prefix(below);
        let begins =
            rest.is_some_and(|it| it.is_empty() || below.is_empty() || it.starts_with('/'));
        Some(begins.then_some(below.len()))
    }

    /// The model of this name. A name with a date, or with `-latest`, stands for the one without, if that is all the table
    /// knows.
    fn find(&self, model: &str) -> Option<Entry> {
        if let Some(metadata) = self.exactly(model) {
            return Some(self.entry(model, metadata));
        }
        if let Some(undated) = without_date(model) {
            let metadata = self.exactly(undated)?;
            // Where versions differ, nobody knows what another one costs.
            let mut versions = self
                .lines()
                .filter(|(name, _)| without_date(name) == Some(undated));
            let metadata =
                versions.try_fold(metadata, |metadata, (_, version)| metadata.agreed(version))?;
            return Some(self.entry(undated, metadata));
        }
        let current = model.strip_suffix("-latest")?;
        Some(self.entry(current, self.exactly(current)?))
    }

    fn exactly(&self, model: &str) -> Option<ModelMetadata> {
        if !is_name(model) {
            return None;
        }
        let begin = format!("\n{model}\t");
        let at = self.models.find(&begin)? + begin.len();
        let metadata = self.models.get(at..)?.lines().next()?;
        read_metadata(metadata)
    }

    fn lines(&self) -> impl Iterator<Item = (&'a str, ModelMetadata)> {
        let lines = self.models.lines();
        let lines = lines.filter_map(|line| line.split_once('\t'));
        lines.filter_map(|(name, metadata)| Some((name, read_metadata(metadata)?)))
    }

    fn entry(&self, model: &str, metadata: ModelMetadata) -> Entry {
        Entry {
            name: format!("{}/{model}", self.id),
            metadata,
        }
    }
}

/// Whether a name can be one in the table.
fn is_name(name: &str) -> bool {
    let begins = name.starts_with(['=', '#']);
    (1..=MAX_NAME_BYTES).contains(&name.len()) && !begins && !name.contains(char::is_control)
}

/// The name of a model without the date of a version, as in `-20260131` or `-2026-01-31`.
fn without_date(model: &str) -> Option<&str> {
    let number =
        |text: &str, digits| text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit());
    let (rest, last) = model.rsplit_once('-')?;
    let undated = match number(last, 8) {
        true => rest,
        false => {
            let (rest, month) = rest.rsplit_once('-')?;
            let (rest, year) = rest.rsplit_once('-')?;
            let is_date = number(year, 4) && number(month, 2) && number(last, 2);
            is_date.then_some(rest)?
        }
    };
    (!undated.is_empty()).then_some(undated)
}

/// Reads what stands behind the name of a model.
fn read_metadata(text: &str) -> Option<ModelMetadata> {
    let mut columns = text.split('\t');
    let window = match columns.next()? {
        "-" => None,
        tokens => Some(tokens.parse().ok()?),
    };
    let mut columns = columns.peekable();
    let reads = columns.peek().and_then(|column| {
        let mut all = Reads::ALL.into_iter();
        all.find(|reads| reads.name() == *column)
    });
    if reads.is_some() {
        columns.next();
    }
    let price = match columns.next() {
        None => None,
        Some(input) => {
            let rates = read_rates(input, &mut columns)?;
            let mut longer = Vec::new();
            while let Some(above) = columns.next() {
                let rates = read_rates(columns.next()?, &mut columns)?;
                longer.push((above.parse().ok()?, rates));
            }
            Some(Price { rates, longer })
        }
    };
    Some(ModelMetadata {
        window,
        reads,
        price,
    })
}

fn read_rates<'a>(input: &str, rest: &mut impl Iterator<Item = &'a str>) -> Option<Rates> {
    let output = micro_dollars(rest.next()?)?;
    let mut cached = || match rest.next()? {
        "-" => Some(None),
        dollars => micro_dollars(dollars).map(Some),
    };
    Some(Rates {
        input: micro_dollars(input)?,
        output,
        cache_read: cached()?,
        cache_write: cached()?,
    })
}

/// Writes what [`read_metadata`] reads.
fn write_metadata(metadata: &ModelMetadata) -> String {
    let optional = |number: Option<String>| number.unwrap_or_else(|| "-".to_owned());
    let mut columns = vec![optional(metadata.window.map(|window| window.to_string()))];
    columns.extend(metadata.reads.map(|reads| reads.name().to_owned()));
    let rates_in_columns = |rates: &Rates| {
        [
            dollars(rates.input),
            dollars(rates.output),
            optional(rates.cache_read.map(dollars)),
            optional(rates.cache_write.map(dollars)),
        ]
    };
    if let Some(price) = &metadata.price {
        columns.extend(rates_in_columns(&price.rates));
        for (above, rates) in &price.longer {
            columns.push(above.to_string());
            columns.extend(rates_in_columns(rates));
        }
    }
    columns.join("\t")
}

#[cfg(test)]
mod tests;
