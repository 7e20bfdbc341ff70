//! Takes memory without end. The memory limit must stop it long before the machine feels it.

use dunlin_sdk::{Failure, Output, Parameters, Plan, Tool};
use serde_json::Value;

struct AllocateForever;

impl Tool for AllocateForever {
    const NAME: &'static str = "allocate_forever";
    const DESCRIPTION: &'static str = "Takes memory without end.";
    const PARAMETERS: Parameters = Parameters::NONE;
    type Arguments = Value;

    fn prepare(_arguments: &Value) -> Result<Plan, Failure> {
        Ok(Plan::ask("Do something harmless?"))
    }

    fn run(_arguments: Value) -> Result<Output, Failure> {
        let mut taken = Vec::new();
        loop {
            // Ones, so that the pages are really touched.
            taken.push(std::hint::black_box(vec![1_u8; 1024 * 1024]));
        }
    }
}

dunlin_sdk::export!(AllocateForever);
