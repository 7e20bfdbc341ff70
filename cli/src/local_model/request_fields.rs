//! What a request asks for, read from its body: that body is what was shown and counted, so nothing else
//! may decide.

use dunlin_local::Sampling;
use serde_json::Value;

/// The parts of a body that a model in this process can honour.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RequestFields {
    pub(super) messages: Vec<Value>,
    pub(super) tools: Vec<Value>,
    /// The longest reply in tokens.
    pub(super) limit: Option<usize>,
    pub(super) sampling: Sampling,
}

impl RequestFields {
    /// Whatever is missing or of another type is left to the model's defaults.
    pub(super) fn read(body: &Value) -> RequestFields {
        let list = |key: &str| {
            let list = body.get(key).and_then(Value::as_array);
            list.cloned().unwrap_or_default()
        };
        let number = |key: &str| body.get(key).and_then(Value::as_u64);
        let real = |key: &str| body.get(key).and_then(Value::as_f64);
        let usual = Sampling::default();
        RequestFields {
            messages: list("messages"),
            tools: list("tools"),
            limit: number("max_tokens").map(|limit| usize::try_from(limit).unwrap_or(usize::MAX)),
            sampling: Sampling {
                temperature: real("temperature").unwrap_or(usual.temperature),
                top_p: real("top_p").unwrap_or(usual.top_p),
                seed: number("seed"),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_body_is_read_as_far_as_it_goes() {
        let usual = Sampling::default();
        let nothing = RequestFields {
            messages: Vec::new(),
            tools: Vec::new(),
            limit: None,
            sampling: usual,
        };
        assert_eq!(RequestFields::read(&json!({})), nothing);
        assert_eq!(
            RequestFields::read(&json!({"messages": 1, "max_tokens": "many", "temperature": null})),
            nothing
        );
        assert_eq!(
            RequestFields::read(&json!({
                "model": "m",
                "messages": [{"role": "user", "content": "a"}],
                "tools": [{"type": "function"}],
                "max_tokens": 7,
                "temperature": 0,
                "top_p": 0.5,
                "seed": 3,
            })),
            RequestFields {
                messages: vec![json!({"role": "user", "content": "a"})],
                tools: vec![json!({"type": "function"})],
                limit: Some(7),
                sampling: Sampling {
                    temperature: 0.0,
                    top_p: 0.5,
                    seed: Some(3),
                },
            }
        );
    }
}
