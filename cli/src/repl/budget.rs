//! `/context`, `/cost`, `/compact`: what fills the model's window, and what it has cost.

use crate::app::App;
use crate::dialogue::Dialogue;
use crate::dialogue::budget::share;
use crate::error::CliError;
use crate::money::amount;
use dunlin_chat::agent::{Agent, Api};
use dunlin_chat::message::Message;
use dunlin_chat::request::report::{Cost, Report, Source, Spent};
use dunlin_chat::tokens::counted;
use dunlin_host::display::{grouped, one_line};
use dunlin_terminal::approval::look::Window;
use dunlin_terminal::ui::calls::fit;
use dunlin_terminal::ui::style::{Label, Styles};
use dunlin_terminal::ui::wrap::visible;

use super::messages;

/// What stands before every row.
const MARGIN: &str = "  ";

/// How far in the further rows of a line stand that is too long for the window, in columns.
const INDENT: usize = 12;

/// Columns of the longest bar.
const BAR_COLUMNS: u64 = 24;

/// Columns of the names before the numbers.
const NAME_COLUMNS: usize = 20;

/// How wide the whole is made at most: wider rows are harder to follow.
const MOST_COLUMNS: usize = 72;

/// Prints what fills the window.
pub fn context(app: &App, dialogue: &mut Option<Dialogue>) {
    let ui = &app.ui;
    let Some(dialogue) = dialogue else {
        return ui.status("Nothing was said yet: the window is empty.");
    };
    dialogue.read_instructions(app);
    let report = dialogue.report(app);
    for row in context_rows(&report, dialogue.messages(), ui.window()) {
        ui.data_rows(&row, INDENT);
    }
    let subagents = dialogue.spent().turn_subagents;
    if subagents.requests > 0 {
        let tokens =
            grouped(subagents.charge.usage.input_tokens + subagents.charge.usage.output_tokens);
        let requests = counted(subagents.requests as usize, "request", "requests");
        let text = format!(
            "{MARGIN}subagents of the last turn, in windows of their own: {requests}, {tokens} tokens"
        );
        ui.data_rows(&ui.styles().paint(Label::Quiet, &text), INDENT);
    }
}

/// Prints what was spent.
pub fn cost(app: &App, dialogue: &mut Option<Dialogue>) {
    let ui = &app.ui;
    let Some(dialogue) = dialogue else {
        return ui.status("Nothing was asked yet.");
    };
    dialogue.read_instructions(app);
    let report = dialogue.report(app);
    let subagents = app.subagents.all();
    let each = subagents.iter().map(|it| (it.name.clone(), it.cost()));
    let each: Vec<(String, Cost)> = each.filter(|(_, cost)| cost.requests > 0).collect();
    let no_price = match dialogue.is_priced() {
        true => None,
        false => Some(no_price(dialogue.agent())),
    };
    let no_price = no_price.as_deref();
    for row in cost_rows(&dialogue.spent(), &each, &report, no_price, ui.styles()) {
        ui.data_rows(&row, INDENT);
    }
}

/// Says that the price of an agent's model is unknown.
fn no_price(agent: &Agent) -> String {
    let model = one_line(&agent.model);
    let way = match agent.api {
        Api::Local => String::new(),
        _ => format!(
            "; set known_as in [agents.{}] to the model's usual name",
            one_line(&agent.name)
        ),
    };
    format!("The price of {model} is unknown{way}.")
}

/// Prints below the history what of it is not sent.
pub fn not_sent_of(app: &App, dialogue: Option<&Dialogue>) {
    let not_sent = dialogue.map(|dialogue| not_sent(&dialogue.report(app)));
    if let Some(not_sent) = not_sent.filter(|text| !text.is_empty()) {
        let (ui, text) = (&app.ui, format!("{MARGIN}not sent: {not_sent}"));
        ui.data_rows(&ui.styles().paint(Label::Quiet, &text), INDENT);
    }
}

/// Has the model sum up what was said before the last turn.
pub fn compact(app: &App, dialogue: &mut Option<Dialogue>) -> Result<(), CliError> {
    match dialogue {
        Some(dialogue) => dialogue.compact(app),
        None => {
            app.ui.status("There is nothing to compact yet.");
            Ok(())
        }
    }
}

/// The rows of `/context`.
pub fn context_rows(report: &Report, messages: &[Message], window: Window) -> Vec<String> {
    let styles = window.styles;
    let columns = window.columns.saturating_sub(1).min(MOST_COLUMNS);
    let mut rows = Vec::new();
    let mut push = |row: String| rows.push(row.trim_end().to_owned());
    push(format!("{MARGIN}{}", head(report, styles)));
    push(String::new());

    let kept = report.window.map_or(0, |window| window.reply);
    let free = report
        .window
        .map(|window| window.tokens.saturating_sub(kept + report.total));
    let whole = report
        .parts
        .iter()
        .map(|part| part.tokens)
        .chain(free)
        .chain([kept])
        .max();
    let whole = whole.unwrap_or_default().max(1);
    let width = report.parts.iter().map(|part| grouped(part.tokens).len());
    let width = width
        .chain(free.map(|free| grouped(free).len()))
        .max()
        .unwrap_or(1)
        .max(5);
    let mut bar = |name: &str, tokens: u64, label: Label, mark: &str| {
        let length = u128::from(tokens) * u128::from(BAR_COLUMNS);
        let length = length.div_ceil(u128::from(whole)) as usize;
        let bar = styles.paint(label, &mark.repeat(length));
        push(format!(
            "{MARGIN}{name:<NAME_COLUMNS$}{:>width$}  {bar}",
            grouped(tokens)
        ));
    };
    for part in &report.parts {
        bar(part.name, part.tokens, Label::Target, "━");
    }
    if let Some(free) = free {
        bar("kept for the reply", kept, Label::Quiet, "╌");
        bar("free", free, Label::Quiet, "╌");
    }

    let mut list = |heading: &str, entries: Vec<(String, u64)>| {
        if entries.is_empty() {
            return;
        }
        push(String::new());
        push(format!("{MARGIN}{}", styles.paint(Label::Quiet, heading)));
        for (name, tokens) in entries {
            let tokens = grouped(tokens);
            let room = columns.saturating_sub(MARGIN.len() * 2 + width + 2);
            let name = fit(&name, room);
            push(format!("{MARGIN}{tokens:>width$}  {name}"));
        }
    };
    let results = report.results.iter().map(|result| {
        let name = messages::call_of_result(messages, result.message);
        let (number, about) = name.unwrap_or((0, "a result".to_owned()));
        (format!("/show {number}  {about}"), result.tokens)
    });
    list("the largest results", results.collect());
    let files = report.instructions.iter();
    list(
        "instructions",
        files
            .map(|(name, tokens)| (one_line(name), *tokens))
            .collect(),
    );
    let tools = report.tools.iter();
    list(
        "tools",
        tools
            .map(|(name, tokens)| (one_line(name), *tokens))
            .collect(),
    );

    push(String::new());
    let mut entry = |name: &str, text: String| {
        push(format!(
            "{MARGIN}{}{text}",
            styles.paint(Label::Quiet, &format!("{name:<10}"))
        ))
    };
    entry("window", window_in_words(report));
    let limits = format!(
        "{} tokens, {} lines of conversation",
        grouped(report.max_tokens),
        grouped(report.max_lines)
    );
    entry("limits", limits);
    let not_sent = not_sent(report);
    if !not_sent.is_empty() {
        entry("not sent", not_sent);
    }
    entry("counted", report.counted.clone());
    rows
}

fn head(report: &Report, styles: Styles) -> String {
    let model = styles.paint(Label::Name, &one_line(&report.model));
    let total = grouped(report.total);
    match report.window {
        Some(window) => {
            let share = share(report.total, window.tokens);
            format!(
                "{model} · {total} of {} tokens · {share} %",
                grouped(window.tokens)
            )
        }
        None => format!("{model} · {total} tokens"),
    }
}

fn window_in_words(report: &Report) -> String {
    let Some(window) = report.window else {
        return "unknown; set the agent's context_window".to_owned();
    };
    let tokens = grouped(window.tokens);
    match window.source {
        Source::Server => format!("{tokens} tokens, as the server says"),
        Source::Configured => format!("{tokens} tokens, the agent's context_window"),
        Source::Table => format!("{tokens} tokens, as the table of models says"),
        Source::Refusal => format!("{tokens} tokens, as it said when it refused more"),
        Source::RefusedMore => format!("unknown, but less than {tokens} tokens"),
    }
}

fn not_sent(report: &Report) -> String {
    let count = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(format!("1 {one}")),
        _ => Some(format!("{} {many}", grouped(number as u64))),
    };
    let parts = [
        count(report.turns_left_out, "turn", "turns"),
        count(report.results_replaced, "old result", "old results"),
        count(
            report.results_shortened,
            "result in part",
            "results in part",
        ),
        count(report.compacted, "message compacted", "messages compacted"),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    parts.join(" · ")
}

/// Columns of the names in `/cost`: the shortest, and the longest.
const COST_COLUMNS: (usize, usize) = (12, 24);

/// The rows of `/cost`; `each` are the subagents that are listed. `no_price` says that what the model costs is unknown.
pub fn cost_rows(
    spent: &Spent,
    each: &[(String, Cost)],
    report: &Report,
    no_price: Option<&str>,
    styles: Styles,
) -> Vec<String> {
    let (shortest, longest) = COST_COLUMNS;
    let listed = each
        .iter()
        .fold(Cost::default(), |sum, (_, cost)| sum.plus(*cost));
    let earlier = spent.all_subagents.less(listed);
    let earlier = (earlier.requests > 0).then_some(("earlier ones".to_owned(), earlier));
    let each: Vec<(String, Cost)> = earlier
        .into_iter()
        .chain(each.iter().cloned())
        .map(|(name, cost)| (fit(&format!("    {}", one_line(&name)), longest), cost))
        .collect();
    let width = each.iter().map(|(name, _)| visible(name)).max();
    let width = width.unwrap_or_default().max(shortest);
    let money = spent.all.plus(spent.all_subagents).charge.money;
    let row = |name: &str, mut columns: Vec<String>| {
        if money.is_unknown() {
            columns.truncate(4);
        }
        let columns: String = columns
            .iter()
            .map(|column| format!("{column:>11}"))
            .collect();
        let space = width.saturating_sub(visible(name));
        format!("{MARGIN}{name}{:space$}{columns}", "")
    };
    let heading = ["requests", "tokens in", "cached", "tokens out", "cost"].map(str::to_owned);
    let numbers = |cost: Cost| {
        let usage = cost.charge.usage;
        let money = cost.charge.money;
        let numbers = [
            u64::from(cost.requests),
            usage.input_tokens,
            usage.cached_tokens,
            usage.output_tokens,
        ];
        let mut columns = numbers.map(grouped).to_vec();
        // How many there were before the session was resumed is not kept.
        if cost.requests == 0 && usage.output_tokens > 0 {
            columns[0] = "?".to_owned();
        }
        columns.push(match money.is_unknown() {
            true => "?".to_owned(),
            false => amount(money.nano_usd),
        });
        columns
    };
    let mut rows = vec![styles.paint(Label::Quiet, &row("", heading.to_vec()))];
    for (name, own, subagents, each) in [
        ("last turn", spent.turn, spent.turn_subagents, &[][..]),
        ("session", spent.all, spent.all_subagents, &each),
    ] {
        rows.push(row(name, numbers(own)));
        if subagents.requests > 0 {
            rows.push(row("  subagents", numbers(subagents)));
            rows.extend(each.iter().map(|(name, cost)| row(name, numbers(*cost))));
            let mut together = numbers(own.plus(subagents));
            if own.requests == 0 && own.charge.usage.output_tokens > 0 {
                together[0] = "?".to_owned();
            }
            rows.push(row("  together", together));
        }
    }
    let is_counted = spent.all.charge.usage.input_tokens > 0;
    if !is_counted && spent.all.requests > 0 {
        rows.push(format!("{MARGIN}The server does not count tokens."));
    } else if let (Some(no_price), false) = (no_price, money.is_complete()) {
        rows.push(format!("{MARGIN}{no_price}"));
    } else if !money.is_complete() {
        let count = counted(money.incomplete as usize, "request", "requests");
        rows.push(format!(
            "{MARGIN}The cost of {count} is unknown, or partly unknown."
        ));
    }
    let about = match spent.all.charge.usage.input_tokens {
        0 => "about ",
        _ => "",
    };
    let total = grouped(report.total);
    let next = match report.window {
        Some(window) => {
            let (tokens, share) = (grouped(window.tokens), share(report.total, window.tokens));
            format!("{about}{total} of {tokens} tokens, {share} % of the window")
        }
        None => format!("{about}{total} tokens; context window unknown"),
    };
    rows.push(format!("{MARGIN}{:<14}{next}", "next request"));
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_chat::message::{Conversation, Role, ToolCall};
    use dunlin_chat::price::{Charge, Money};
    use dunlin_chat::request::report::{LargeResult, Part, ReportedWindow};
    use dunlin_chat::usage::Usage;

    fn report() -> Report {
        Report {
            model: "small\x1b[2J".to_owned(),
            total: 5_832,
            parts: vec![
                Part {
                    name: "results of calls",
                    tokens: 3_412,
                },
                Part {
                    name: "your messages",
                    tokens: 1_300,
                },
                Part {
                    name: "tools",
                    tokens: 1_120,
                },
            ],
            results: vec![LargeResult {
                message: 2,
                tokens: 2_040,
            }],
            instructions: vec![("AGENTS.md".to_owned(), 90)],
            tools: vec![
                ("run_terminal_command".to_owned(), 800),
                ("read_file".to_owned(), 320),
            ],
            window: Some(ReportedWindow {
                tokens: 8_192,
                reply: 2_048,
                source: Source::Server,
            }),
            max_tokens: 100_000,
            max_lines: 50_000,
            turns_left_out: 4,
            results_replaced: 12,
            results_shortened: 1,
            compacted: 0,
            counted: "estimated".to_owned(),
        }
    }

    fn conversation() -> Conversation {
        let mut conversation = Conversation::new();
        conversation.push_user("Read it");
        let call = ToolCall {
            id: "a".to_owned(),
            name: "read_file".to_owned(),
            arguments: serde_json::Map::from_iter([("file_path".to_owned(), "src/main.rs".into())]),
            raw_arguments: None,
            number: 0,
        };
        conversation.push_assistant(Message {
            tool_calls: vec![call],
            ..Message::text(Role::Assistant, "")
        });
        conversation.push_result("a", "text");
        conversation
    }

    fn window(columns: usize) -> Window {
        Window {
            columns,
            rows: 40,
            styles: Styles::plain(),
        }
    }

    #[test]
    fn the_context_in_sixty_columns() {
        let rows = context_rows(&report(), conversation().messages(), window(60));
        let expected = "
  small\\u{1b}[2J · 5,832 of 8,192 tokens · 71 %

  results of calls    3,412  ━━━━━━━━━━━━━━━━━━━━━━━━
  your messages       1,300  ━━━━━━━━━━
  tools               1,120  ━━━━━━━━
  kept for the reply  2,048  ╌╌╌╌╌╌╌╌╌╌╌╌╌╌╌
  free                  312  ╌╌╌

  the largest results
  2,040  /show 1  read_file {\"file_path\":\"src/main.rs\"}

  instructions
     90  AGENTS.md

  tools
    800  run_terminal_command
    320  read_file

  window    8,192 tokens, as the server says
  limits    100,000 tokens, 50,000 lines of conversation
  not sent  4 turns · 12 old results · 1 result in part
  counted   estimated";
        assert_eq!(rows.join("\n"), expected.trim_start_matches('\n'));
        assert!(rows.iter().all(|row| row.chars().count() < 60));
    }

    #[test]
    fn an_unknown_window_is_said_to_be_unknown() {
        let unknown = Report {
            window: None,
            ..report()
        };
        let rows = context_rows(&unknown, &[], window(60));
        assert_eq!(rows[0], "  small\\u{1b}[2J · 5,832 tokens");
        assert!(!rows.iter().any(|row| row.contains("free")));
        let said = "  window    unknown; set the agent's context_window";
        assert!(rows.iter().any(|row| row == said), "{rows:#?}");
        let refused = Report {
            window: report().window.map(|window| ReportedWindow {
                source: Source::RefusedMore,
                ..window
            }),
            ..report()
        };
        let rows = context_rows(&refused, &[], window(60));
        let said = "  window    unknown, but less than 8,192 tokens";
        assert!(rows.iter().any(|row| row == said), "{rows:#?}");
    }

    #[test]
    fn the_cost_of_a_turn_and_of_all() {
        let mut spent = Spent::default();
        let charge = |nano_usd| Charge {
            usage: Usage {
                input_tokens: 12_345,
                cached_tokens: 8_000,
                written_tokens: 0,
                output_tokens: 512,
            },
            money: Money {
                nano_usd,
                incomplete: u32::from(nano_usd == 0),
            },
        };
        let cost = |requests| Cost {
            charge: charge(0),
            requests,
        };
        spent.add(cost(3), Cost::default());
        spent.add(cost(1), Cost::default());
        let no_price = Some("The price of small is unknown.");
        let rows = cost_rows(&spent, &[], &report(), no_price, Styles::plain());
        let expected = "
                 requests  tokens in     cached tokens out
  last turn             1     12,345      8,000        512
  session               4     24,690     16,000      1,024
  The price of small is unknown.
  next request  5,832 of 8,192 tokens, 71 % of the window";
        assert_eq!(rows.join("\n"), expected.trim_start_matches('\n'));
        let priced = Cost {
            charge: charge(12_300_000),
            requests: 2,
        };
        spent.add(priced, cost(2));
        let each = [(
            "bird\u{1b} 2".to_owned(),
            Cost {
                requests: 1,
                ..Cost::default()
            },
        )];
        let rows = cost_rows(&spent, &each, &report(), None, Styles::plain());
        let expected = "
                     requests  tokens in     cached tokens out       cost
  last turn                 2     12,345      8,000        512    $0.0123
    subagents               2     12,345      8,000        512          ?
    together                4     24,690     16,000      1,024    $0.0123
  session                   6     37,035     24,000      1,536    $0.0123
    subagents               2     12,345      8,000        512          ?
      earlier ones          1     12,345      8,000        512          ?
      bird\\u{1b} 2          1          0          0          0         $0
    together                8     49,380     32,000      2,048    $0.0123
  The cost of 3 requests is unknown, or partly unknown.";
        assert_eq!(rows[..10].join("\n"), expected.trim_start_matches('\n'));
        let silent = Spent {
            all: Cost {
                requests: 1,
                ..Cost::default()
            },
            ..Spent::default()
        };
        let rows = cost_rows(&silent, &[], &report(), no_price, Styles::plain());
        assert_eq!(rows[3], "  The server does not count tokens.");
        assert!(rows[4].contains("about 5,832 of"));
    }
}
