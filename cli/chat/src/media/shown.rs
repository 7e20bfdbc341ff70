//! Pictures and documents within JSON: found, and left out where people read it.

use std::borrow::Cow;

use serde_json::Value;

use super::{About, Media};

/// A shorter string is shown as it is, in bytes.
const SHOWN_BYTES: usize = 200;

impl About {
    /// What a string of a request holds, where it is too long to be read.
    pub fn of_long_text(text: &str) -> Option<About> {
        About::of_base64(Some(text).filter(|text| text.len() > SHOWN_BYTES)?)
    }
}

/// The pictures and documents in a part of a request, in their order. What the model wrote is not looked at, and a text is
/// one, whatever it looks like.
pub fn within(value: &Value) -> Vec<Media> {
    let mut found = Vec::new();
    collect(value, false, &mut found);
    found
}

/// `is_media`: this is where a protocol has a picture or a document.
fn collect(value: &Value, is_media: bool, found: &mut Vec<Media>) {
    match value {
        Value::String(text) => {
            if is_media && About::of_base64(text).is_some() {
                found.extend(Media::of_base64("", text));
            }
        }
        Value::Array(values) => {
            let each = values.iter();
            each.for_each(|value| collect(value, is_media, found));
        }
        Value::Object(fields) => {
            let own = |key: &str| matches!(key, "tool_calls" | "arguments" | "input" | "text");
            for (key, value) in fields.iter().filter(|(key, _)| !own(key)) {
                let fields = ["url", "image_url", "file_data", "data", "images"];
                collect(value, fields.contains(&key.as_str()), found);
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// A text of JSON in which each picture and document is only named.
pub fn without_base64(json: &str) -> Cow<'_, str> {
    let mut shown = String::new();
    let mut from = 0;
    let mut rest = 0;
    while let Some(start) = find(json, rest, b'"').map(|at| at + 1) {
        let end = end_of_string(json, start);
        let text = json.get(start..end).unwrap_or_default();
        if let Some(about) = About::of_long_text(text) {
            let scheme = text
                .split_once(',')
                .map_or(0, |(scheme, _)| scheme.len() + 1);
            let scheme = text.get(..scheme).unwrap_or_default();
            shown.push_str(json.get(from..start).unwrap_or_default());
            shown.push_str(&format!("{scheme}[{about}]"));
            from = end;
        }
        rest = end + 1;
    }
    match shown.is_empty() {
        true => Cow::Borrowed(json),
        false => {
            shown.push_str(json.get(from..).unwrap_or_default());
            Cow::Owned(shown)
        }
    }
}

/// The first of these bytes from a place on.
fn find(json: &str, from: usize, byte: u8) -> Option<usize> {
    let bytes = json.as_bytes().get(from..)?;
    bytes.iter().position(|it| *it == byte).map(|at| from + at)
}

/// Where the quote stands that ends the string that begins here, or the end of the text.
fn end_of_string(json: &str, start: usize) -> usize {
    let mut at = start;
    loop {
        match json.as_bytes().get(at) {
            Some(b'"') => return at,
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return json.len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::media::samples::png;

    #[test]
    fn json_is_read_without_base64() {
        let media = Media::new("", &png(8, 6, 900)).unwrap();
        let body = json!({
            "a": "x \" y",
            "url": media.data_url(),
            "images": [media.base64(), "end\\"],
            "long": "word ".repeat(100),
        });
        let shown = without_base64(&body.to_string()).into_owned();
        let shown: Value = serde_json::from_str(&shown).unwrap();
        let named = "[image PNG 8×6, 933 bytes]";
        let expected = json!({
            "a": "x \" y",
            "url": format!("data:image/png;base64,{named}"),
            "images": [named, "end\\"],
            "long": body["long"],
        });
        assert_eq!(shown, expected);
        assert_eq!(within(&body), [media.clone(), media.clone()]);
        // A text stays one.
        let url = media.data_url();
        let texts = json!([url, {"content": [url], "output": media.base64(), "text": url}]);
        assert_eq!(within(&texts), []);
    }

    proptest::proptest! {
        #[test]
        fn any_text_without_base64_stays(text in "[\"\\\\a é]{0,40}") {
            proptest::prop_assert_eq!(without_base64(&text), text.as_str());
        }
    }
}
