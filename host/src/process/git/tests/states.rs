//! What git has stopped in the middle of, and which command may go on with it.

use super::super::states::LeftStates;
use super::*;

/// A repository with a rebase that has stopped.
struct Stopped {
    _folder: tempfile::TempDir,
    root: PathBuf,
    state: PathBuf,
}

impl Stopped {
    fn new() -> Stopped {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        git(&root, "init -q -b main .");
        let state = root.join(".git/rebase-merge");
        fs::create_dir(&state).unwrap();
        let stopped = Stopped {
            _folder: folder,
            root,
            state,
        };
        stopped.write("pick 12\n");
        stopped
    }

    fn write(&self, todo: &str) {
        fs::write(self.state.join("git-rebase-todo"), todo).unwrap();
    }

    fn access(&self, runs_git: bool) -> Access {
        Access {
            project: self.root.clone(),
            may_change_repository: runs_git,
            ..Access::default()
        }
    }

    /// The state as it is now, left by a command.
    fn left(&self) -> LeftStates {
        let after = Repositories::find(&[self.root.as_path()]);
        Repositories::default().left_states(&after, &LeftStates::default())
    }

    /// What a command finds when it starts, and the one before it has ended.
    fn found(&self) -> Repositories {
        let mut found = Repositories::find(&[self.root.as_path()]);
        found.decide_on_states(&self.access(true), &self.left());
        found
    }

    /// Whether the state is kept after a command that found this, where before it and others it was so.
    fn is_kept(&self, before: &Repositories, found: &Repositories) -> bool {
        let access = self.access(true);
        let after = Repositories::find_after(&[self.root.as_path()], before);
        let means = Means {
            place: &self.root.join("place"),
            protected: Some(found),
            is_plain: false,
            until: Instant::now() + Duration::from_secs(60),
        };
        review(&access, before, &after, means);
        self.state.exists()
    }
}

#[test]
fn only_a_line_that_runs_git_goes_on_with_what_runs_nothing() {
    let stopped = Stopped::new();
    let hidden = |runs_git| {
        let mut found = Repositories::find(&[stopped.root.as_path()]);
        let access = stopped.access(runs_git);
        found.decide_on_states(&access, &stopped.left());
        let is_hidden = found.hidden_states().any(|path| path == stopped.state);
        let is_setting = found.settings(&access).any(|path| path == stopped.state);
        assert_ne!(found.is_open(&stopped.state), is_setting);
        assert_eq!(is_hidden, !found.say_hidden_states(&access).is_empty());
        is_hidden
    };
    assert!(!hidden(true));
    stopped.write("pick 12\nexec x\n");
    assert!(hidden(true));
    stopped.write("pick 12\n");
    assert!(!hidden(true));
    // A mark says nothing of what is in it.
    fs::create_dir(stopped.state.join("done")).unwrap();
    assert!(hidden(true));
    fs::remove_dir(stopped.state.join("done")).unwrap();
    fs::hard_link(
        stopped.state.join("git-rebase-todo"),
        stopped.root.join("x"),
    )
    .unwrap();
    assert!(hidden(true));
    fs::remove_file(stopped.root.join("x")).unwrap();
    // All of the repository is read-only.
    let access = stopped.access(false);
    let mut found = Repositories::find(&[stopped.root.as_path()]);
    found.decide_on_states(&access, &stopped.left());
    assert_eq!(found.hidden_states().count(), 0);
    assert!(found.settings(&access).any(|path| path == stopped.state));
    // A grant lets a script commit, but not go on with it.
    let access = Access {
        writable: vec![stopped.root.join(".git/refs")],
        ..access
    };
    found.decide_on_states(&access, &stopped.left());
    assert_eq!(found.hidden_states().collect::<Vec<_>>(), [&stopped.state]);
}

/// The user's own, and one that the user's git has continued, may be read again by that git at any moment.
#[test]
fn only_what_a_command_has_left_may_be_changed() {
    let stopped = Stopped::new();
    let access = stopped.access(true);
    let root = [stopped.root.as_path()];
    let is_hidden = |left: &LeftStates| {
        let mut found = Repositories::find(&root);
        found.decide_on_states(&access, left);
        let said = found.say_hidden_states(&access).concat();
        let is_hidden = found.hidden_states().count() == 1;
        assert_eq!(
            said.contains("it is your own, or was changed"),
            is_hidden,
            "{said}"
        );
        is_hidden
    };
    assert!(is_hidden(&LeftStates::default()));
    let left = stopped.left();
    assert!(!is_hidden(&left));
    stopped.write("pick 34\n");
    assert!(is_hidden(&left));
    // What was hidden from a command was not left by it, and what others have left stays theirs.
    let mut found = Repositories::find(&root);
    found.decide_on_states(&access, &left);
    let after = Repositories::find(&root);
    assert_eq!(found.left_states(&after, &left), left);
    assert_eq!(
        found.left_states(&after, &LeftStates::default()),
        LeftStates::default()
    );
}

#[test]
fn what_a_line_goes_on_with_is_judged_again() {
    let stopped = Stopped::new();
    let found = stopped.found();
    stopped.write("pick 1234\n");
    assert!(stopped.is_kept(&found, &found));
    let found = stopped.found();
    stopped.write("exec x\n");
    assert!(!stopped.is_kept(&found, &found));
}

/// The user goes on in another terminal with what was hidden from the line.
#[test]
fn what_was_hidden_is_the_users_own() {
    let stopped = Stopped::new();
    stopped.write("exec x\n");
    let found = stopped.found();
    stopped.write("exec x\nexec y\n");
    assert!(stopped.is_kept(&found, &found));
}

/// The first one was killed, and the second one could not change what it found.
#[test]
fn what_an_earlier_command_made_of_it_is_judged() {
    let stopped = Stopped::new();
    let first = stopped.found();
    stopped.write("exec x\n");
    let second = stopped.found();
    assert!(!second.is_open(&stopped.state));
    assert!(!stopped.is_kept(&first, &second));
}
