//! What the user answers.

use crate::target::Need;

/// What the audit log says of a refusal that nobody gave.
pub(crate) const NOBODY: &str = "there was nobody to ask";

/// How long an answer holds; the longer, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Scope {
    /// For this call only.
    Once,
    /// Until the session ends.
    Session,
    /// Until it is taken back: stored in the permission file.
    Always,
}

/// One of the six answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Answer {
    /// Whether the use is allowed.
    pub allow: bool,
    /// How long that holds.
    pub scope: Scope,
}

impl Answer {
    /// Denies this once: the answer wherever nobody can be asked.
    pub const DENY: Answer = Answer {
        allow: false,
        scope: Scope::Once,
    };

    /// The same answer, a yes for at most as long as it may hold. A no holds as long as the user wants.
    #[must_use]
    pub fn at_most(self, longest: Scope) -> Answer {
        Answer {
            scope: if self.allow {
                self.scope.min(longest)
            } else {
                self.scope
            },
            ..self
        }
    }

    /// What it is about, if a yes may hold that long: what it stores, or decides for now.
    pub(crate) fn about<'a>(
        self,
        longest: Scope,
        needs: &'a [Need],
        lasting: &'a [Need],
    ) -> &'a [Need] {
        match self.at_most(longest).is_permanent_yes() {
            true => lasting,
            false => needs,
        }
    }

    /// Whether it is a yes that is stored.
    pub fn is_permanent_yes(self) -> bool {
        self.allow && self.scope == Scope::Always
    }

    /// The answer as the audit log has it.
    pub(crate) fn in_words(self) -> String {
        let word = if self.allow { "yes" } else { "no" };
        match self.scope {
            Scope::Once => format!("answered: {word}, for this call"),
            Scope::Session => format!("answered: {word}, for this session"),
            Scope::Always => format!("answered: {word}, always"),
        }
    }
}
