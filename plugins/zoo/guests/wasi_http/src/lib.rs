//! Sends the request that it was told to through `wasi:http`, and says all that it sees of the answer. It declares nothing.

mod web;

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde::Deserialize;

struct WasiHttp;

/// What to send.
#[derive(Deserialize)]
struct Arguments {
    /// Letters in capitals; `GET` if left out.
    #[serde(default)]
    method: String,
    /// `http` if left out.
    #[serde(default)]
    scheme: String,
    authority: String,
    #[serde(default)]
    path: String,
    /// Name and value.
    #[serde(default)]
    headers: Vec<(String, String)>,
    /// What is written, so many times.
    #[serde(default)]
    body: Option<(String, usize)>,
    /// Whether the body is dropped instead of finished.
    #[serde(default)]
    torn: bool,
    /// Whether the body stays open when the call ends.
    #[serde(default)]
    left: bool,
    /// How often; once if left out.
    #[serde(default)]
    times: Option<usize>,
    /// Whether it says only that something failed, as the engines of some languages do.
    #[serde(default)]
    vague: bool,
    /// Whether to do it in `prepare` already.
    #[serde(default)]
    early: bool,
}

impl Tool for WasiHttp {
    const NAME: &'static str = "wasi_http";
    const DESCRIPTION: &'static str = "Sends requests through WASI.";
    const PARAMETERS: Parameters = Parameters::json_schema(
        r#"{"type":"object","properties":{"authority":{"type":"string"}},"required":["authority"]}"#,
    );
    type Arguments = Arguments;

    fn prepare(arguments: &Arguments) -> Result<Plan, Failure> {
        if arguments.early {
            return Err(Failure::failed(
                web::exchange(arguments).unwrap_or_else(|code| code),
            ));
        }
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(arguments: Arguments) -> Result<Output, Failure> {
        let mut seen = String::new();
        for _ in 0..arguments.times.unwrap_or(1) {
            seen = web::exchange(&arguments).map_err(|code| match arguments.vague {
                true => Failure::failed("NetworkError"),
                false => Failure::failed(code),
            })?;
        }
        Ok(seen.into())
    }
}

dunlin_sdk::export!(WasiHttp);
