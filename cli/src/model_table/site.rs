//! Makes a table of `api.json`, the file of models.dev. The file is foreign: whatever is in it, the result is a table or an
//! error.

use std::collections::BTreeMap;

use dunlin_chat::price::{Price, Rates};
use dunlin_provider::window::is_believed;
use jiff::civil::Date;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use super::{ModelMetadata, ModelTable, Reads, host_of, is_name, write_metadata};

/// Where the file is.
pub const SITE: &str = "https://models.dev/api.json";

/// What stands above the services.
const ABOUT: &str = "\
# Context windows in tokens, what models read, and prices in US dollars for a million tokens, of models at their services.
# The data is that of https://models.dev, Copyright (c) 2025 models.dev, MIT licence.
";

/// Where services listen whose address the file does not have, since their own libraries know it.
const ADDRESSES: &[(&str, &str)] = &[
    ("anthropic", "api.anthropic.com"),
    ("cerebras", "api.cerebras.ai"),
    ("cohere", "api.cohere.com"),
    ("deepinfra", "api.deepinfra.com"),
    ("google", "generativelanguage.googleapis.com"),
    ("groq", "api.groq.com"),
    ("mistral", "api.mistral.ai"),
    ("openai", "api.openai.com"),
    ("perplexity", "api.perplexity.ai"),
    ("togetherai", "api.together.xyz"),
    ("venice", "api.venice.ai"),
    ("vercel", "ai-gateway.vercel.sh"),
    ("xai", "api.x.ai"),
];

/// The highest price that is believed, in dollars for a million tokens: a thousand times the highest there is.
const HIGHEST: f64 = 1e6;

/// Above so many tokens the older form of a price for longer requests counts.
const OLDER_FORM: u64 = 200_000;

/// What a file came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reduced {
    pub table: ModelTable,
    pub services: usize,
    pub models: usize,
    /// What of it cannot be read, by name. It is foreign text.
    pub left_out: Vec<String>,
}

/// Why a file does not make a table.
#[derive(Debug, thiserror::Error)]
pub enum SiteError {
    #[error("it is not a JSON object")]
    Json(#[from] serde_json::Error),
    #[error("it names no model, as the file of models.dev would")]
    Empty,
}

#[derive(Deserialize)]
struct Service {
    api: Option<String>,
    models: BTreeMap<String, Value>,
}

#[derive(Deserialize)]
struct Model {
    #[serde(default)]
    limit: Limit,
    cost: Option<Cost>,
    modalities: Option<Modalities>,
}

/// What a model reads and writes.
#[derive(Deserialize)]
struct Modalities {
    input: Vec<String>,
}

/// In tokens; 0 is not known.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Limit {
    /// The request with its reply.
    context: u64,
    /// The request.
    input: u64,
}

/// In dollars for a million tokens.
#[derive(Deserialize)]
struct Cost {
    #[serde(flatten)]
    rates: Dollars,
    #[serde(default)]
    tiers: Vec<Tier>,
    context_over_200k: Option<Dollars>,
}

#[derive(Deserialize)]
struct Dollars {
    input: f64,
    output: f64,
    /// For thinking, where that costs something else than the rest of the reply.
    reasoning: Option<f64>,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// Rates for longer requests.
#[derive(Deserialize)]
struct Tier {
    #[serde(flatten)]
    rates: Dollars,
    tier: Above,
}

#[derive(Deserialize)]
struct Above {
    #[serde(rename = "type")]
    kind: Option<String>,
    size: u64,
}

/// The table that a file makes; `date` is the day that it is of.
///
/// # Errors
/// It is not the file of models.dev.
pub fn reduce(json: &[u8], date: Date) -> Result<Reduced, SiteError> {
    let all: BTreeMap<String, Value> = serde_json::from_slice(json)?;
    let mut body = ABOUT.to_owned();
    let mut left_out = Vec::new();
    let (mut services, mut models) = (0, 0);
    for (id, service) in all {
        let service = Service::deserialize(service).ok();
        let Some(service) = service.filter(|_| is_name(&id) && !id.contains('/')) else {
            left_out.push(id);
            continue;
        };
        let mut lines = String::new();
        for (name, model) in service.models {
            let model = Model::deserialize(model).ok();
            let Some(model) = model.filter(|_| is_name(&name)) else {
                left_out.push(format!("{id}/{name}"));
                continue;
            };
            let metadata = model.metadata();
            if metadata != ModelMetadata::default() {
                lines.push_str(&format!("{name}\t{}\n", write_metadata(&metadata)));
                models += 1;
            }
        }
        if !lines.is_empty() {
            let address = address(&id, service.api.as_deref()).unwrap_or_default();
            body.push_str(&format!("={id}\t{address}\n{lines}"));
            services += 1;
        }
    }
    if models == 0 {
        return Err(SiteError::Empty);
    }
    Ok(Reduced {
        table: ModelTable::new(date, body),
        services,
        models,
        left_out,
    })
}

/// Where a service listens, as host and path. An address with a place for a name, of this machine, or by number is nobody's.
fn address(id: &str, api: Option<&str>) -> Option<String> {
    let Some(api) = api else {
        let known = ADDRESSES.iter().find(|(service, _)| *service == id);
        return known.map(|(_, address)| (*address).to_owned());
    };
    let url = Url::parse(api).ok().filter(|_| !api.contains("${"))?;
    let host = host_of(&url)?;
    Some(match url.path().trim_matches('/') {
        "" => host.to_owned(),
        path => format!("{host}/{path}"),
    })
}

impl Model {
    fn metadata(self) -> ModelMetadata {
        let limits = [self.limit.input, self.limit.context];
        ModelMetadata {
            window: limits.into_iter().find(|tokens| is_believed(*tokens)),
            reads: self.modalities.and_then(|modalities| modalities.reads()),
            price: self.cost.and_then(|cost| cost.price()),
        }
    }
}

impl Modalities {
    /// `None`: it is not known, or a model of another kind.
    fn reads(&self) -> Option<Reads> {
        let reads = |what: &str| self.input.iter().any(|input| input == what);
        match (reads("text"), reads("image"), reads("pdf")) {
            (true, _, true) => Some(Reads::Documents),
            (true, true, false) => Some(Reads::Images),
            (true, false, false) => Some(Reads::Text),
            (false, ..) => None,
        }
    }
}

impl Cost {
    /// The price; `None`: it is not one that a count of tokens tells.
    fn price(self) -> Option<Price> {
        let mut longer = Vec::new();
        for tier in &self.tiers {
            let kind = tier.tier.kind.as_deref();
            if kind.is_some_and(|kind| kind != "context") {
                return None;
            }
            longer.push((tier.tier.size, tier.rates.rates()?));
        }
        if let (Some(above), true) = (&self.context_over_200k, longer.is_empty()) {
            longer.push((OLDER_FORM, above.rates()?));
        }
        longer.sort_by_key(|(above, _)| *above);
        let is_twice = longer
            .windows(2)
            .any(|two| matches!(two, [one, other] if one.0 == other.0));
        let rates = self.rates.rates().filter(|_| !is_twice)?;
        Some(Price { rates, longer })
    }
}

impl Dollars {
    fn rates(&self) -> Option<Rates> {
        // Servers do not say which tokens of a reply were thoughts.
        if self
            .reasoning
            .is_some_and(|reasoning| reasoning != self.output)
        {
            return None;
        }
        let optional = |dollars: Option<f64>| match dollars {
            None => Some(None),
            Some(dollars) => micro(dollars).map(Some),
        };
        Some(Rates {
            input: micro(self.input)?,
            output: micro(self.output)?,
            cache_read: optional(self.cache_read)?,
            cache_write: optional(self.cache_write)?,
        })
    }
}

/// Millionths of a dollar. The file has prices below 0 where they are not fixed.
fn micro(dollars: f64) -> Option<u64> {
    // The range is far within that of the target.
    (0.0..=HIGHEST)
        .contains(&dollars)
        .then(|| (dollars * 1e6).round() as u64)
}
