//! Accepting edits in the project without a question, until the session ends: Shift+Tab at the prompt.
//!
//! It is the user's yes, given in advance: each call gets it once, as if it were typed. Whatever is more than an edit of an
//! ordinary file in the project is asked about as before.

use std::path::{Component, Path};

use dunlin_host::ask::{Answer, Scope};
use dunlin_host::call::{Action, Standing};
use dunlin_host::secrets::looks_secret;
use dunlin_host::target::Target;

use dunlin_chat::turn::{CallState, Choice, Decision, TurnCall, Waiting};

/// The decisions about those of the waiting calls that do nothing but edit the project.
pub fn decisions(waiting: Waiting<'_>, project: &Path) -> Vec<Decision> {
    let accepted = waiting.asking().filter(|call| is_edit(call, project));
    accepted
        .map(|call| Decision {
            number: call.number,
            revision: call.revision,
            choice: Choice::Answer(Answer {
                allow: true,
                scope: Scope::Once,
            }),
            comment: None,
        })
        .collect()
}

fn is_edit(call: &TurnCall, project: &Path) -> bool {
    let Some(plan) = &call.plan else {
        return false;
    };
    let Standing::Ask { needs, notices, .. } = &plan.standing else {
        return false;
    };
    let mut shown = Vec::new();
    let edits = plan.actions.iter().all(|action| match action {
        Action::Edit(edit) => {
            shown.extend(edit.needs());
            edit.is_of_text() && is_ordinary(&edit.path, project)
        }
        // What it needs is among the needs.
        Action::Request(request) => request.reads(),
        _ => false,
    });
    // Writing that is no edit has no difference to show.
    let writes = needs.iter().all(|need| match &need.target {
        Target::Path(path) => shown.contains(need) && is_ordinary(path, project),
        _ => false,
    });
    call.state == CallState::Asking
        && !call.quoted
        && call.problem.is_none()
        && notices.is_empty()
        && !plan.actions.is_empty()
        && edits
        && writes
}

/// Whether a file lies in the project and neither holds secrets nor is hidden: hidden ones are settings of tools, git's and
/// Dunlin's own among them.
fn is_ordinary(path: &Path, project: &Path) -> bool {
    let Ok(inside) = path.strip_prefix(project) else {
        return false;
    };
    let is_plain = |part: Component<'_>| match part {
        Component::Normal(name) => !name.as_encoded_bytes().starts_with(b"."),
        _ => false,
    };
    !looks_secret(path) && inside.components().all(is_plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_files_are_those_of_the_project() {
        let check = |path: &str, expected: bool| {
            assert_eq!(
                is_ordinary(Path::new(path), Path::new("/p")),
                expected,
                "{path}"
            );
        };
        check("/p/src/main.rs", true);
        check("/p/notes.md", true);
        check("/q/notes.md", false);
        check("/pp/notes.md", false);
        check("/p/../q/notes.md", false);
        check("/p/.git/config", false);
        check("/p/.dunlin/config.toml", false);
        check("/p/vendor/.git/hooks/pre-commit", false);
        check("/p/.env", false);
        check("/p/id_rsa", false);
    }
}
