//! Plays what a model said once: the scripted provider, for measurements that are not written in Rust.
//!
//! `transcript FILE`: the file is a JSON array of replies, `{"say": "text", "calls": [["tool", {arguments}], ...]}`. The first
//! line on stdout is the base URL. When stdin ends, the second line says what was sent: one entry for each request, with
//! Dunlin's estimates of tokens, and the rules of servers that the requests broke.

use std::io::{Read, Write};
use std::process::ExitCode;

use dunlin_chat::tokens::estimate;
use dunlin_tests::{Provider, Received, Response};
use serde_json::{Value, json};

fn main() -> ExitCode {
    match play() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            // Nothing is left to be done where not even this can be said.
            let _ = writeln!(std::io::stderr(), "transcript: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn play() -> Result<(), Box<dyn std::error::Error>> {
    let file = std::env::args().nth(1).ok_or("no file is named")?;
    let replies: Vec<Value> = serde_json::from_slice(&std::fs::read(file)?)?;
    let replies = replies.iter().map(response);
    let provider = Provider::play(replies.collect::<Result<Vec<_>, _>>()?).lenient();
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", provider.base_url())?;
    output.flush()?;
    std::io::stdin().read_to_end(&mut Vec::new())?;
    let requests = provider.requests();
    let requests: Vec<Value> = requests.iter().map(sent).collect();
    let report = json!({"requests": requests, "violations": provider.violations()});
    writeln!(output, "{report}")?;
    Ok(())
}

fn response(reply: &Value) -> Result<Response, String> {
    let stream = match reply["say"].as_str() {
        Some(text) => Response::stream().text(text),
        None => Response::stream(),
    };
    let Some(calls) = reply["calls"].as_array() else {
        return Ok(stream.finish("stop"));
    };
    let calls = calls.iter().map(|call| {
        let tool = call[0].as_str().ok_or(format!("not a call: {call}"))?;
        Ok((tool, call[1].clone()))
    });
    Ok(stream.calls_of(calls.collect::<Result<Vec<_>, String>>()?))
}

fn sent(request: &Received) -> Value {
    let body = String::from_utf8_lossy(&request.bytes);
    let results = request.results();
    json!({
        "tokens": estimate(&body),
        "definitions": estimate(&request.body["tools"].to_string()),
        "results": results.iter().map(|it| estimate(it)).sum::<u64>(),
    })
}
