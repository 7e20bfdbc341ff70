//! What the model is told of apps.

/// The system prompt of an agent that writes apps, unless the user has one of their own.
pub const PROMPT: &str = include_str!("prompt.md");

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blocks::find;
    use crate::part::Part;

    #[test]
    fn what_the_prompt_teaches_is_what_is_read() {
        let found = find(PROMPT).unwrap();
        assert_eq!(found.notes, Vec::<String>::new());
        assert_eq!(found.parts.iter().count(), Part::ALL.len());
    }
}
