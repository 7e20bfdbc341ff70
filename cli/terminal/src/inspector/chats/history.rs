//! Brings a request to the edits that another process says it has.
//!
//! Nothing is done where they are the same, as after an edit of one's own. Otherwise the history goes back to where both
//! part, and on from there: the body is kept once, however often it is edited.

use dunlin_chat::request::editor::{Edit, EditError, EditableRequest};

use crate::request::paused::Paused;

/// Does and undoes edits until these are done and those are undone. Whether anything had to be changed.
///
/// # Errors
/// An edit is not possible. The request is then in some other state.
pub fn follow(paused: &mut Paused, edits: Vec<Edit>, undone: Vec<Edit>) -> Result<bool, EditError> {
    let request = paused.request();
    if request.edits() == edits && request.undone() == undone {
        return Ok(false);
    }
    let done = edits.len();
    let wanted: Vec<Edit> = edits.into_iter().chain(undone).collect();
    let own = request.edits().iter().chain(request.undone());
    let is_longer = request.edits().len() + request.undone().len() > wanted.len();
    let mut same = own.zip(&wanted).take_while(|(a, b)| a == b).count();
    if same < wanted.len() || is_longer {
        if same == wanted.len() {
            // Only a new edit makes a history shorter: the last one that stays is done again.
            match same.checked_sub(1) {
                Some(before) => same = before,
                None => paused.forget_edits(),
            }
        }
        go_to(paused, same)?;
        for edit in wanted.into_iter().skip(same) {
            paused.step(|request| request.apply(edit))?;
        }
    }
    go_to(paused, done)?;
    Ok(true)
}

/// Undoes or redoes until so many edits are done.
fn go_to(paused: &mut Paused, done: usize) -> Result<(), EditError> {
    while paused.request().edits().len() > done {
        paused.step(EditableRequest::undo)?;
    }
    while paused.request().edits().len() < done {
        paused.step(EditableRequest::redo)?;
    }
    Ok(())
}
