//! Sections that are left out and come back.

use super::*;

#[test]
fn a_call_and_its_results_are_deleted_together() {
    for number in [3, 4, 5] {
        let mut request = request();
        let change = request.delete(number).unwrap();
        assert_eq!(
            change.to_string(),
            "sections 3, 4, 5 deleted (a call and its results go together)"
        );
        assert_eq!(request.path(6).unwrap().to_string(), "messages[2]");
        assert_eq!(request.path(number), None);
        assert_eq!(check(&request, None), Ok(()));
        assert_eq!(request.delete(number), Err(EditError::Deleted { number }));
        assert_eq!(request.restore(2), Err(EditError::NotDeleted { number: 2 }));
        request
            .restore(9 - number)
            .unwrap_or_else(|_| request.restore(number).unwrap());
        assert!(!request.is_dirty());
        assert_eq!(request.bytes(), request.original());
        assert_eq!(request.edits().len(), 2);
    }
}

#[test]
fn several_sections_are_deleted_in_one_step() {
    let mut request = request();
    let (change, refused) = request.step_each(SectionStep::Delete, &[2, 3, 4, 2]);
    assert_eq!(refused, None);
    assert_eq!(change.sections, [2, 3, 4, 5]);
    assert_eq!(change.to_string(), "4 sections deleted");
    assert_eq!(request.edits().len(), 1);
    let deleted = request.bytes().clone();
    // What is deleted is passed over, and what is refused ends it.
    let (change, refused) = request.step_each(SectionStep::Delete, &[2, 6, 9, 1]);
    assert_eq!(change.sections, [6]);
    assert!(matches!(
        refused,
        Some(EditError::UnknownSection { count: 8, .. })
    ));
    request.undo().unwrap();
    assert_eq!(request.bytes(), &deleted);
    assert_eq!(request.undo().unwrap().to_string(), "4 sections deleted");
    assert_eq!(request.bytes(), request.original());
    assert_eq!(request.undo(), Err(EditError::NothingToUndo));
    assert_eq!(request.redo().unwrap().sections, [2, 3, 4, 5]);
    let (change, _) = request.step_each(SectionStep::Restore, &[1, 2, 3, 4]);
    assert_eq!(change.sections, [2, 3, 4, 5]);
    assert!(!request.is_dirty());
    let (change, refused) = request.step_each(SectionStep::Restore, &[1, 2]);
    assert_eq!((change.edit, refused), (None, None));
}

#[test]
fn a_logged_step_of_several_sections_is_done_again() {
    let mut logged = request();
    let (change, _) = logged.step_each(SectionStep::Delete, &[4, 2]);
    let edit = change.edit.unwrap();
    let mut request = request();
    let change = request.apply(edit.clone()).unwrap();
    assert_eq!(change.edit.as_ref(), Some(&edit));
    assert_eq!(request.bytes(), logged.bytes());
    assert!(matches!(
        request.apply(edit),
        Err(EditError::Deleted { .. })
    ));
    let sections = Vec::new();
    assert!(request.apply(Edit::Restore { sections }).is_err());
}

#[test]
fn a_request_without_its_tools_has_no_list_of_them() {
    let mut request = request();
    request.delete(7).unwrap();
    assert!(!text(&request).contains("\"tools\""), "{}", text(&request));
    let error = request.delete(8).unwrap_err();
    assert_eq!(
        error.to_string(),
        "section 8 (options) cannot be deleted: no request can be sent without it"
    );
}

#[test]
fn an_edit_is_bound_to_its_section_and_not_to_an_index() {
    let mut request = request();
    request.set("messages[5].content[0].text", "new").unwrap();
    request.delete(2).unwrap();
    request.set("messages[4].content[0].text", "newer").unwrap();
    assert!(text(&request).contains("newer"));
    request.undo().unwrap();
    request.undo().unwrap();
    request.undo().unwrap();
    assert_eq!(request.bytes(), request.original());
    request.redo().unwrap();
    assert!(text(&request).contains(r#""text":"new""#));
    request.set("model", "other").unwrap();
    assert_eq!(request.redo(), Err(EditError::NothingToRedo));
    request.reset().unwrap();
    assert!(!request.is_dirty());
    assert_eq!(request.reset(), Err(EditError::NothingToReset));
    request.undo().unwrap();
    assert!(text(&request).contains("other"));
}
