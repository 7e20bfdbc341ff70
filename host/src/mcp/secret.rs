//! Whether a server's form asks for something that nobody should see being typed.
//!
//! Words can only be guessed at, so a guess decides nothing but how typing begins: the user can hide or show it in any form.

use serde_json::Value;

/// The method with which a server asks the user.
const METHOD: &str = "elicitation/create";

/// Parts of words that name a secret, in small letters and without what stands between words.
const SECRETS: [&str; 13] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "secret",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "credential",
    "otp",
    "cvv",
    "seedphrase",
];

/// Words that name one only if they stand alone.
const WORDS: [&str; 4] = ["pin", "pwd", "cvc", "2fa"];

/// Whether a message of a server is a form. `Some(true)`: one that seems to ask for a secret.
pub(crate) fn form(message: &str) -> Option<bool> {
    // Most messages are something else, and some are large. Letters can be written as escapes.
    if !message.contains("elicitation") && !message.contains("\\u") {
        return None;
    }
    let message: Value = serde_json::from_str(message).ok()?;
    if message["method"] != METHOD {
        return None;
    }
    let params = &message["params"];
    let fields = params["requestedSchema"]["properties"].as_object();
    let is_secret = |(name, field): (&String, &Value)| {
        let says = |key: &str| field[key].as_str().is_some_and(names_secret);
        field["format"] == "password"
            || field["writeOnly"] == true
            || names_secret(name)
            || says("title")
            || says("description")
    };
    let asked = params["message"].as_str().is_some_and(names_secret);
    Some(asked || fields.into_iter().flatten().any(is_secret))
}

/// Whether a text seems to name a secret.
pub(crate) fn names_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let joined: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    SECRETS.iter().any(|secret| joined.contains(secret)) || words.any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn asks(message: &str, properties: Value) -> Option<bool> {
        let schema = json!({"type": "object", "properties": properties});
        let params = json!({"message": message, "requestedSchema": schema});
        form(&json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}).to_string())
    }

    #[test]
    fn forms_that_ask_for_secrets_are_seen() {
        let text = json!({"type": "string"});
        for (message, properties) in [
            ("Your password?", json!({"a": text})),
            ("Well?", json!({"apiKey": text})),
            (
                "Well?",
                json!({"a": {"type": "string", "title": "API key"}}),
            ),
            (
                "Well?",
                json!({"a": text, "b": {"type": "string", "format": "password"}}),
            ),
            ("Well?", json!({"b": {"type": "string", "writeOnly": true}})),
            (
                "Well?",
                json!({"b": {"type": "string", "description": "the GitHub Token"}}),
            ),
            ("The PIN of your card", json!({"b": text})),
            ("Well?", json!({"client_secret": text})),
        ] {
            assert_eq!(
                asks(message, properties.clone()),
                Some(true),
                "{message} {properties}"
            );
        }
        for (message, properties) in [
            ("Which bird?", json!({"bird": text})),
            ("Pinning?", json!({"spinner": text})),
            ("Well?", json!({})),
        ] {
            assert_eq!(
                asks(message, properties.clone()),
                Some(false),
                "{message} {properties}"
            );
        }
        let escaped = "{\"method\":\"\\u0065licitation/create\",\"params\":{\"message\":\"PIN?\"}}";
        assert_eq!(form(escaped), Some(true));
        for other in [
            "",
            "elicitation",
            "{\"method\":\"elicitation/complete\"}",
            "[1]",
        ] {
            assert_eq!(form(other), None, "{other}");
        }
    }
}
