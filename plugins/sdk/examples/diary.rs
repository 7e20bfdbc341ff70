//! A diary: each call appends a line with today's date.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Schema, Tool, clock, files};
use jiff::{Timestamp, tz::Offset};
use serde::Deserialize;

const FILE: &str = "diary.md";

struct Diary;

#[derive(Deserialize, Schema)]
struct Arguments {
    /// What happened
    text: String,
}

impl Tool for Diary {
    const NAME: &'static str = "diary";
    const DESCRIPTION: &'static str = "Writes a line into the diary.";
    const PARAMETERS: Parameters = Parameters::of::<Arguments>();
    type Arguments = Arguments;

    // The user is shown the difference; `run` does exactly this.
    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        Ok(Plan::of_actions().appends(FILE, line(arguments)?))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        // An error of the host becomes a failure that the model can read.
        let edited = files::append(FILE, &line(&arguments)?)?;
        Ok(format!("The diary has {} lines.", edited.lines_after).into())
    }
}

fn line(arguments: &Arguments) -> Result<String, Failure> {
    let text = arguments.text.trim();
    if text.is_empty() {
        return Err(Failure::invalid_arguments(
            "text is empty: say what happened",
        ));
    }
    let now = clock::now_ms();
    let zone = Offset::from_seconds(clock::utc_offset_minutes(now) * 60);
    let time = Timestamp::from_millisecond(i64::try_from(now).unwrap_or(0));
    let (Ok(zone), Ok(time)) = (zone, time) else {
        return Err(Failure::failed("the clock of this machine is wrong"));
    };
    Ok(format!("{}: {text}\n", zone.to_datetime(time).date()))
}

dunlin_sdk::export!(Diary);

#[cfg(test)]
mod tests {
    use super::*;
    use dunlin_sdk::mock::MockHost;

    #[test]
    fn a_line_is_appended() {
        let host = MockHost::new().file(FILE, "# Diary\n").time_ms(0);
        let output = host.run::<Diary>(r#"{"text": "sandpipers"}"#);
        assert_eq!(output, Ok("The diary has 2 lines.".into()));
        let diary = host.text(FILE);
        assert_eq!(diary.as_deref(), Some("# Diary\n1970-01-01: sandpipers\n"));
    }
}
