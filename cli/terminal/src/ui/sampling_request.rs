//! What a server wants to ask the model, as it stands in a question: whole, line by line, and nothing in it hidden.

use dunlin_host::call::Action;
use dunlin_host::model::{Role, SamplingRequest};

use super::foreign_line;
use super::style::Label;

/// The lines of all requests with their looks, escaped. Who says something stands on a line of its own, further left than
/// anything that is said.
pub fn lines(actions: &[Action]) -> Vec<(String, Option<Label>)> {
    let mut lines = Vec::new();
    for action in actions {
        if let Action::Sampling(request) = action {
            add(&mut lines, request);
        }
    }
    lines
}

fn add(lines: &mut Vec<(String, Option<Label>)>, request: &SamplingRequest) {
    let mut say = |who: &str, text: &str| {
        lines.push((who.to_owned(), Some(Label::Place)));
        for line in text.lines() {
            lines.push((format!("  {}", foreign_line::shown(line)), None));
        }
    };
    if let Some(system) = &request.system_prompt {
        say("instructions", system);
    }
    for message in &request.messages {
        let who = match message.role {
            Role::User => "asks",
            Role::Assistant => "has the model say",
        };
        say(who, &message.text);
    }
    for stop in &request.stop_sequences {
        say("up to", stop);
    }
}

#[cfg(test)]
mod tests {
    use dunlin_host::model::SamplingMessage;

    use super::*;

    #[test]
    fn all_of_it_is_shown() {
        let request = SamplingRequest {
            system_prompt: Some("Be brief.".to_owned()),
            messages: vec![SamplingMessage {
                role: Role::User,
                text: "Which\n\tbird?\u{1b}[2J\r\nasks".to_owned(),
            }],
            max_tokens: 20,
            temperature_thousandths: None,
            stop_sequences: vec![".".to_owned()],
        };
        let lines = lines(&[Action::Sampling(request)]);
        let texts: Vec<&str> = lines.iter().map(|(text, _)| text.as_str()).collect();
        assert_eq!(
            texts,
            [
                "instructions",
                "  Be brief.",
                "asks",
                "  Which",
                "  →   bird?\\u{1b}[2J",
                "  asks",
                "up to",
                "  .",
            ]
        );
    }
}
