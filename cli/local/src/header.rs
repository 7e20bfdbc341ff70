//! What a GGUF file says about itself, typed on demand.
//!
//! <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>

use candle_core::quantized::gguf_file::{Content, Value};

/// The values of a file. A value of another type than asked for counts as missing.
pub(crate) struct Header<'a>(pub &'a Content);

impl<'a> Header<'a> {
    fn value(&self, key: &str) -> Option<&'a Value> {
        self.0.metadata.get(key)
    }

    pub(crate) fn text(&self, key: &str) -> Option<&'a str> {
        match self.value(key)? {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Option<bool> {
        match self.value(key)? {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    pub(crate) fn number(&self, key: &str) -> Option<usize> {
        number(self.value(key)?)
    }

    pub(crate) fn real(&self, key: &str) -> Option<f64> {
        match self.value(key)? {
            Value::F32(real) => Some(f64::from(*real)),
            Value::F64(real) => Some(*real),
            _ => None,
        }
    }

    pub(crate) fn texts(&self, key: &str) -> Option<Vec<&'a str>> {
        let Value::Array(values) = self.value(key)? else {
            return None;
        };
        let text = |value: &'a Value| match value {
            Value::String(text) => Some(text.as_str()),
            _ => None,
        };
        values.iter().map(text).collect()
    }

    pub(crate) fn numbers(&self, key: &str) -> Option<Vec<usize>> {
        let Value::Array(values) = self.value(key)? else {
            return None;
        };
        values.iter().map(number).collect()
    }
}

/// Files write the same number with whatever width their maker used.
fn number(value: &Value) -> Option<usize> {
    match value {
        Value::U8(n) => Some(usize::from(*n)),
        Value::U16(n) => Some(usize::from(*n)),
        Value::U32(n) => usize::try_from(*n).ok(),
        Value::U64(n) => usize::try_from(*n).ok(),
        Value::I8(n) => usize::try_from(*n).ok(),
        Value::I16(n) => usize::try_from(*n).ok(),
        Value::I32(n) => usize::try_from(*n).ok(),
        Value::I64(n) => usize::try_from(*n).ok(),
        _ => None,
    }
}
