//! `dunlin model list`: the models of the agents, those that run in this process, and what the table of models has.

use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::price::{Price, Rates};
use dunlin_chat::provider::error::Endpoint;
use dunlin_host::display::{escape, grouped, width};
use dunlin_host::json;
use dunlin_terminal::ui::style::Label;
use serde::Serialize;

use super::here;
use crate::app::App;
use crate::error::CliError;
use crate::model_table::Entry;
use crate::money;

/// How wide the column of names is.
const NAME_COLUMNS: usize = 14;

/// How far in the further rows of a line stand.
const INDENT: usize = 2;

/// All of it, for programs.
#[derive(Serialize)]
struct Document {
    /// The day that the table of models is of, and its file; null: it is the one in the program.
    table_date: String,
    table_file: Option<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    agents: Vec<Row>,
    /// Those that run in this process.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    local: Vec<here::Row>,
    /// The entries of the table that were searched.
    #[serde(skip_serializing_if = "Option::is_none")]
    entries: Option<Vec<Row>>,
}

/// The model of an agent, or an entry of the table.
#[derive(Serialize)]
struct Row {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<AgentRow>,
    known_as: Option<String>,
    context_window: Option<WindowRow>,
    price: Option<PriceRow>,
    /// The price for people.
    #[serde(skip)]
    price_in_words: Option<String>,
}

#[derive(Serialize)]
struct AgentRow {
    name: String,
    model: String,
    endpoint: String,
}

#[derive(Serialize)]
struct WindowRow {
    tokens: u64,
    source: WindowSource,
}

#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "snake_case")]
enum WindowSource {
    Configured,
    Table,
}

/// Dollars for a million tokens.
#[derive(Serialize)]
struct PriceRow {
    currency: &'static str,
    per_tokens: u64,
    #[serde(flatten)]
    rates: RatesRow,
    /// The rates of requests with more than so many tokens.
    longer: Vec<LongerRow>,
}

#[derive(Serialize)]
struct LongerRow {
    above_tokens: u64,
    #[serde(flatten)]
    rates: RatesRow,
}

#[derive(Serialize)]
struct RatesRow {
    input: f64,
    output: f64,
    cache_read: Option<f64>,
    cache_write: Option<f64>,
}

/// Lists the models of the agents and those that run in this process.
pub fn run(app: &App, is_json: bool) -> Result<(), CliError> {
    let settings = &app.settings;
    let agents: Vec<Row> = settings
        .agents_without_keys()
        .map(|it| row(app, it))
        .collect();
    let local = here::rows(app)?;
    say_damage(app);
    if is_json {
        return print_json(app, agents, local, None);
    }
    let ui = &app.ui;
    let heading = |text: &str| ui.data(&ui.styles().paint(Label::Quiet, text));
    if !agents.is_empty() {
        heading("Agents");
        agents.iter().for_each(|row| print_agent(app, row));
        if !local.is_empty() {
            ui.data("");
            heading("Models that run in Dunlin");
        }
    }
    local.iter().for_each(|row| row.print(app));
    print_table(app);
    Ok(())
}

/// Lists the entries of the table that have a text in their names.
pub fn search(app: &App, text: &str, is_json: bool) -> Result<(), CliError> {
    let text = text.to_lowercase();
    let table = &app.settings.model_table().table;
    let found = table
        .entries()
        .filter(|entry| entry.name.to_lowercase().contains(&text));
    let mut rows: Vec<Row> = found
        .map(|entry| of_entry(None, Some(entry), None))
        .collect();
    // Names that are the text come first, also behind the name of a provider.
    rows.sort_by_key(|row| {
        let name = row.known_as.as_deref().unwrap_or_default().to_lowercase();
        let last = name.rsplit('/').next() == Some(&text);
        !(name == text || last)
    });
    say_damage(app);
    if is_json {
        return print_json(app, Vec::new(), Vec::new(), Some(rows));
    }
    let ui = &app.ui;
    for [name, window, price] in columns(&rows) {
        let name = ui.styles().paint(Label::Name, &name);
        ui.data_rows(&format!("{name}  {window}  {price}"), INDENT);
    }
    if rows.is_empty() {
        ui.status(&format!(
            "No name in the table of models has {text:?} in it."
        ));
    }
    print_table(app);
    Ok(())
}

/// The longest name beside which the others are filled up, in columns.
const MAX_NAME_COLUMNS: usize = 48;

/// Names, windows and prices, filled up to columns.
fn columns(rows: &[Row]) -> Vec<[String; 3]> {
    let cells: Vec<[String; 3]> = rows
        .iter()
        .map(|row| {
            let name = escape(row.known_as.as_deref().unwrap_or_default());
            [name.into_owned(), window(row), price(row)]
        })
        .collect();
    let widest = |column: usize| {
        let widths = cells.iter().map(|row| width(&row[column]));
        widths.filter(|it| *it <= MAX_NAME_COLUMNS).max()
    };
    let (names, windows) = (widest(0).unwrap_or_default(), widest(1).unwrap_or_default());
    let space = |text: &str, columns: usize| " ".repeat(columns.saturating_sub(width(text)));
    let filled = |[name, window, price]: [String; 3]| {
        let (after, before) = (space(&name, names), space(&window, windows));
        [name + &after, before + &window, price]
    };
    cells.into_iter().map(filled).collect()
}

fn say_damage(app: &App) {
    if let Some(warning) = app.settings.model_table().take_warning() {
        app.ui.warn(&warning);
    }
}

fn print_json(
    app: &App,
    agents: Vec<Row>,
    local: Vec<here::Row>,
    entries: Option<Vec<Row>>,
) -> Result<(), CliError> {
    let in_use = app.settings.model_table();
    let document = Document {
        table_date: in_use.table.date().to_string(),
        table_file: in_use.file.as_ref().map(|file| file.display().to_string()),
        agents,
        local,
        entries,
    };
    let text = json::to_string_pretty(&document).map_err(CliError::failed)?;
    app.ui.data(&text);
    Ok(())
}

fn print_table(app: &App) {
    let (ui, in_use) = (&app.ui, app.settings.model_table());
    let place = match &in_use.file {
        Some(file) => escape(&app.settings.folders.short(file)).into_owned(),
        None => "in the program".to_owned(),
    };
    let text = format!(
        "The table of models is of {} ({place}); dunlin model refresh fetches the newest.",
        in_use.table.date()
    );
    ui.data("");
    ui.data_rows(&ui.styles().paint(Label::Quiet, &text), INDENT);
}

fn row(app: &App, agent: Agent) -> Row {
    let known = app.settings.known_of(&agent);
    let endpoint = match agent.api {
        Api::Local => "this process".to_owned(),
        _ => Endpoint::of(&agent.base_url).to_string(),
    };
    let configured = agent.context_window;
    let agent = AgentRow {
        name: agent.name,
        model: agent.model,
        endpoint,
    };
    of_entry(Some(agent), known, configured)
}

fn of_entry(agent: Option<AgentRow>, known: Option<Entry>, configured: Option<u64>) -> Row {
    let (known_as, metadata) = match known {
        Some(entry) => (Some(entry.name), entry.metadata),
        None => (None, Default::default()),
    };
    let window = |source| move |tokens| WindowRow { tokens, source };
    let configured = configured.map(window(WindowSource::Configured));
    Row {
        agent,
        known_as,
        context_window: configured.or_else(|| metadata.window.map(window(WindowSource::Table))),
        price_in_words: metadata.price.as_ref().map(money::price),
        price: metadata.price.as_ref().map(price_row),
    }
}

fn price_row(price: &Price) -> PriceRow {
    let longer = price.longer.iter().map(|(above, rates)| LongerRow {
        above_tokens: *above,
        rates: rates_row(rates),
    });
    PriceRow {
        currency: "USD",
        per_tokens: 1_000_000,
        rates: rates_row(&price.rates),
        longer: longer.collect(),
    }
}

fn rates_row(rates: &Rates) -> RatesRow {
    let dollars = |micro: u64| micro as f64 / 1e6;
    RatesRow {
        input: dollars(rates.input),
        output: dollars(rates.output),
        cache_read: rates.cache_read.map(dollars),
        cache_write: rates.cache_write.map(dollars),
    }
}

/// `assistant       gpt-4o at https://api.openai.com/v1`, and below it what is known of the model.
fn print_agent(app: &App, row: &Row) {
    let Some(agent) = &row.agent else { return };
    let ui = &app.ui;
    let name = format!("{:<NAME_COLUMNS$}", escape(&agent.name));
    let line = format!(
        "{} {} at {}",
        ui.styles().paint(Label::Name, &name),
        escape(&agent.model),
        escape(&agent.endpoint)
    );
    ui.data_rows(&line, NAME_COLUMNS + 1);
    let known = row.known_as.as_ref();
    let known = known.map_or_else(String::new, |name| format!("{}: ", escape(name)));
    let space = " ".repeat(NAME_COLUMNS + 1);
    ui.data_rows(
        &format!("{space}{known}{}", metadata(row)),
        NAME_COLUMNS + 1,
    );
}

/// `128,000 tokens · $2.50 in · $10.00 out`.
fn metadata(row: &Row) -> String {
    format!("{} · {}", window(row), price(row))
}

fn window(row: &Row) -> String {
    match &row.context_window {
        Some(window) => {
            let source = match window.source {
                WindowSource::Configured => ", the agent's context_window",
                WindowSource::Table => "",
            };
            format!("{} tokens{source}", grouped(window.tokens))
        }
        None => "window unknown".to_owned(),
    }
}

fn price(row: &Row) -> String {
    match &row.price_in_words {
        Some(price) => format!("{price}, for a million tokens"),
        None => "price unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_columns_of_entries_are_aligned() {
        let row = |name: &str, tokens: Option<u64>, price: Option<&str>| Row {
            agent: None,
            known_as: Some(name.to_owned()),
            context_window: tokens.map(|tokens| WindowRow {
                tokens,
                source: WindowSource::Table,
            }),
            price: None,
            price_in_words: price.map(str::to_owned),
        };
        let long = "x".repeat(MAX_NAME_COLUMNS + 1);
        let rows = [
            row("gpt-4o", Some(128_000), Some("$2.50 in")),
            row("größe", None, None),
            row(&long, Some(8_192), None),
        ];
        let lines: Vec<String> = columns(&rows).iter().map(|row| row.join("  ")).collect();
        let last = format!("{long}    8,192 tokens  price unknown");
        assert_eq!(
            lines,
            [
                "gpt-4o  128,000 tokens  $2.50 in, for a million tokens",
                "größe   window unknown  price unknown",
                &last,
            ]
        );
    }
}
