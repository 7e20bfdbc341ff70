//! Returns 100 MB, which its own memory could not hold: a hundred parts that all point to the same
//! megabyte. The host must refuse before it has copied them.

#![allow(unsafe_code, reason = "safe code cannot return the same memory twice")]

use dunlin_sdk::{Content, Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

const PARTS: usize = 100;
const PART_BYTES: usize = 1024 * 1024;

struct Return100Mb;

impl Tool for Return100Mb {
    const NAME: &'static str = "return_100_mb";
    const DESCRIPTION: &'static str = "Returns 100 MB.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Return a lot?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        let part: &'static mut str = "x".repeat(PART_BYTES).leak();
        let start = part.as_mut_ptr();
        let parts = (0..PARTS).map(|_| {
            // SAFETY: none. Who frees them all breaks this guest's own memory, and nothing else: that
            // is what the sandbox is for.
            Content::Text(unsafe { String::from_raw_parts(start, PART_BYTES, PART_BYTES) })
        });
        let mut output = Output::default();
        output.parts.extend(parts);
        Ok(output)
    }
}

dunlin_sdk::export!(Return100Mb);
