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

/// What a form of a server seems to ask for that nobody should see.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Secrets {
    /// How the fields are called: a question about one of them holds its name.
    fields: Vec<String>,
    /// Whether the form says so of itself and none of its fields does: then any may be meant.
    all: bool,
}

impl Secrets {
    /// Whether a question about a field of the form seems to ask for a secret.
    pub(crate) fn are_asked_by(&self, question: &str) -> bool {
        match self.fields.as_slice() {
            [] => self.all || names_secret(question),
            // The first question of a form begins with the form's own words.
            fields => fields.iter().any(|field| question.contains(field.as_str())),
        }
    }
}

/// Reads a message of a server; `None`: it is no form.
pub(crate) fn form(message: &str) -> Option<Secrets> {
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
    let secret = fields
        .into_iter()
        .flatten()
        .filter(|field| is_secret(*field));
    // As the bridge names them.
    let called = |(name, field): (&String, &Value)| {
        let title = field["title"].as_str();
        title.unwrap_or(name).to_owned()
    };
    let fields: Vec<String> = secret.map(called).collect();
    Some(Secrets {
        all: fields.is_empty() && params["message"].as_str().is_some_and(names_secret),
        fields,
    })
}

/// Whether a text seems to name a secret.
fn names_secret(text: &str) -> bool {
    let lower = text.to_lowercase();
    let joined: String = lower.chars().filter(|c| c.is_alphanumeric()).collect();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    SECRETS.iter().any(|secret| joined.contains(secret)) || words.any(|word| WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(message: &str, properties: Value) -> Option<Secrets> {
        let schema = json!({"type": "object", "properties": properties});
        let params = json!({"message": message, "requestedSchema": schema});
        form(&json!({"jsonrpc": "2.0", "id": 1, "method": METHOD, "params": params}).to_string())
    }

    fn asks(message: &str, properties: Value) -> Option<bool> {
        read(message, properties).map(|secrets| secrets != Secrets::default())
    }

    #[test]
    fn only_the_secret_field_of_a_form_is_typed_unseen() {
        let text = json!({"type": "string"});
        let value = json!({"type": "string", "title": "Your word", "format": "password"});
        let login = read(
            "Log in with your password",
            json!({"name": text, "word": value}),
        );
        let login = login.unwrap();
        assert!(login.are_asked_by("String: Your word"));
        assert!(!login.are_asked_by("Log in with your password\n\nname"));
        let card = read("The PIN of your card", json!({"b": text})).unwrap();
        assert!(card.are_asked_by("b"));
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
        assert!(form(escaped).is_some_and(|secrets| secrets.all));
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
