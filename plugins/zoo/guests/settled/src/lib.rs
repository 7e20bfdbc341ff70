//! Says what needs no permission: the time, random bytes, and what the user has set for the plugin. The question of its
//! plan is a setting.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool, clock, random, settings};
use serde::Deserialize;
use serde_json::json;

/// What can be set.
#[derive(Deserialize, Schema)]
struct Settings {
    /// What the plan asks
    #[parameter(default = "Say it?")]
    #[serde(default = "say_it")]
    question: String,
    /// How many random bytes there are
    #[parameter(minimum = 1)]
    bytes: usize,
}

fn say_it() -> String {
    "Say it?".to_owned()
}

#[derive(Deserialize)]
struct Arguments {}

struct Settled;

impl Tool for Settled {
    const NAME: &'static str = "settled";
    const DESCRIPTION: &'static str = "Says the time, random bytes and its settings.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Arguments;

    fn prepare(_arguments: &Arguments) -> Result<Plan, Failure> {
        let settings: Settings = settings::get()?;
        Ok(Plan::ask(settings.question).writes("said.txt"))
    }

    fn run(_arguments: Arguments) -> Result<Output, Failure> {
        let settings: Settings = settings::get()?;
        let now = clock::now_ms();
        let said = json!({
            "now": now,
            "offset": clock::utc_offset_minutes(now),
            "far": clock::utc_offset_minutes(u64::MAX),
            "bytes": random::bytes(settings.bytes)?,
        });
        Ok(said.to_string().into())
    }
}

dunlin_sdk::export!(Settled; settings = Settings);
