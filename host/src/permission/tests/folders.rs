//! Needs that cover a folder, or all that is below an address.

use super::*;

fn folder(fixture: &Fixture, path: &str, operation: Operation) -> Need {
    Need {
        target: Target::Folder(fixture.root.join(path)),
        operation,
    }
}

fn url(written: &str) -> Need {
    Need {
        target: resolve::url(written).unwrap(),
        operation: Operation::Read,
    }
}

#[test]
fn a_yes_covers_what_would_be_asked_for_the_same_reason() {
    use Operation::{Read, Write};
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let fixture = Fixture::new();
        let permissions = fixture.open();
        let root = fixture.root.display();
        permissions
            .set(&format!("{root}/outside/denied.txt"), "---")
            .unwrap();
        let asker = plugin("p", "d", false);
        let needs = [
            folder(&fixture, "outside", Read),
            folder(&fixture, "project/src", Write),
        ];
        permissions
            .remember(CALL, &asker, &needs, answer(true, scope))
            .unwrap();
        for (path, operation, expected) in [
            ("outside", Read, Verdict::Allow),
            ("outside/notes.txt", Read, Verdict::Allow),
            ("outside/deep/new.txt", Read, Verdict::Allow),
            ("outside/notes.txt", Write, Verdict::Ask),
            ("outside/denied.txt", Read, Verdict::Deny),
            ("outside/.env", Read, Verdict::Ask),
            ("outside/.ssh/id_ed25519", Read, Verdict::Ask),
            ("outsider/notes.txt", Read, Verdict::Ask),
            ("project/src/main.rs", Write, Verdict::Allow),
            ("project/src/.git/config", Write, Verdict::Ask),
            ("project/src/.env", Write, Verdict::Ask),
            ("project/src/sub/.dunlin/config.toml", Write, Verdict::Ask),
            ("project/src/.gitconfig", Write, Verdict::Ask),
            ("project/src/.config/git/config", Write, Verdict::Ask),
            ("project/src/git/config", Write, Verdict::Allow),
            ("project/main.rs", Write, Verdict::Ask),
        ] {
            assert_eq!(
                verdict(&permissions, &fixture.need(path, operation)),
                expected,
                "{scope:?}: {operation:?} {path}"
            );
        }
        // A folder within it is covered, one around it is not.
        let inner = folder(&fixture, "outside/deep", Read);
        assert_eq!(verdict(&permissions, &inner), Verdict::Allow);
        let outer = folder(&fixture, "", Read);
        assert_eq!(verdict(&permissions, &outer), Verdict::Ask);
        // Another plugin has no part in it.
        let other = plugin("q", "d", false);
        let notes = fixture.need("outside/notes.txt", Read);
        assert_eq!(
            decide(&permissions, "call-2", &other, &notes).verdict,
            Verdict::Ask
        );
    }
}

/// The same file is asked about for another reason in the project than outside.
#[test]
fn a_folder_around_the_project_does_not_stand_for_it() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let asker = plugin("p", "d", false);
    let around = [folder(&fixture, "", Operation::Write)];
    permissions
        .remember(CALL, &asker, &around, answer(true, Scope::Once))
        .unwrap();
    let outside = fixture.need("outside/notes.txt", Operation::Write);
    assert_eq!(verdict(&permissions, &outside), Verdict::Allow);
    let inside = fixture.need("project/src/main.rs", Operation::Write);
    assert_eq!(verdict(&permissions, &inside), Verdict::Ask);
    let own = fixture.need("config/config.toml", Operation::Write);
    assert_eq!(verdict(&permissions, &own), Verdict::Deny);
}

#[test]
fn a_no_covers_all_of_it() {
    let fixture = Fixture::new();
    let permissions = fixture.open();
    let asker = plugin("p", "d", false);
    let needs = [folder(&fixture, "outside", Operation::Read)];
    permissions
        .remember(CALL, &asker, &needs, answer(false, Scope::Once))
        .unwrap();
    for path in ["outside/notes.txt", "outside/.env"] {
        let need = fixture.need(path, Operation::Read);
        assert_eq!(verdict(&permissions, &need), Verdict::Deny, "{path}");
    }
}

#[test]
fn a_site_covers_what_is_below_it() {
    for scope in [Scope::Once, Scope::Session, Scope::Always] {
        let fixture = Fixture::new();
        let permissions = fixture.open();
        let asker = plugin("p", "d", false);
        let site = Need {
            target: resolve::site("http://api.example.com/v1/").unwrap(),
            operation: Operation::Read,
        };
        assert_eq!(
            site.target.shown(),
            "http://api.example.com/v1/ and all below"
        );
        permissions
            .remember(CALL, &asker, &[site], answer(true, scope))
            .unwrap();
        for (address, expected) in [
            ("https://api.example.com/v1/", Verdict::Allow),
            ("https://api.example.com/v1/a?b=c", Verdict::Allow),
            ("https://api.example.com/v1", Verdict::Ask),
            ("https://api.example.com/v2/", Verdict::Ask),
            ("https://api.example.com/v1/../v2", Verdict::Ask),
            ("https://api.example.com:8443/v1/a", Verdict::Ask),
            ("https://example.com/v1/a", Verdict::Ask),
        ] {
            assert_eq!(
                verdict(&permissions, &url(address)),
                expected,
                "{scope:?} {address}"
            );
        }
    }
    for written in [
        "https://example.com/v1",
        "https://example.com/?a/",
        "ftp://a/",
        "a/",
    ] {
        assert!(resolve::site(written).is_err(), "{written}");
    }
}
