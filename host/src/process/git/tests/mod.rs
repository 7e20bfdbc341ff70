use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use super::*;

mod astray;
mod beyond;
mod limits;
mod states;

#[test]
fn what_changed_since_an_earlier_command_is_not_frozen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("x/.git/refs")).unwrap();
    fs::write(root.join("x/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    let find = || Repositories::find(&[root.as_path()]);
    let access = Access {
        project: root.clone(),
        ..Access::default()
    };
    let earlier = find();
    assert_eq!(find().frozen(&access, &earlier).count(), 1);
    // A command that was killed made it.
    fs::write(root.join("x/.git/config"), "[core]\n").unwrap();
    assert_eq!(find().frozen(&access, &earlier).count(), 0);
    assert_eq!(find().frozen(&access, &Repositories::default()).count(), 0);
}

#[test]
fn no_number_of_names_hides_a_link() {
    // Other file systems take a minute for as many files.
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = root.join(".git");
    fs::create_dir_all(git.join("logs")).unwrap();
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    for number in 0..200_010 {
        fs::write(git.join(format!("logs/{number}")), "").unwrap();
    }
    std::os::unix::fs::symlink("/none", git.join("logs/planted")).unwrap();
    // How long it takes on a busy machine is not the question.
    let long = Duration::from_secs(600);
    let defaults = extent::Limits::default();
    let limits = extent::Limits {
        step: extent::Extent {
            time: long,
            ..defaults.step
        },
        all: long,
        looking: long,
        looking_into_one: long,
        ..defaults
    };
    let found = Repositories::find_within(&[], &[root.as_path()], limits);
    assert_eq!(found.unread, BTreeMap::new());
    let links = &found.folders[&git].links;
    assert!(links.contains(OsStr::new("logs/planted")), "{links:?}");
}

/// What is one more `HEAD`, and where git finds it.
fn make_repository(git: &Path) {
    for name in ["objects", "refs"] {
        fs::create_dir_all(git.join(name)).unwrap();
    }
    fs::write(git.join("HEAD"), "ref: refs/heads/main\n").unwrap();
}

/// Runs git in a folder.
fn git(folder: &Path, arguments: &str) {
    let mut git = std::process::Command::new("git");
    let git = git.current_dir(folder).args(arguments.split(' '));
    assert!(git.status().unwrap().success(), "{arguments}");
}

/// Git looks into the submodules that its index names, so a walk that ends early must not leave them out.
#[test]
fn a_flood_outside_of_repositories_hides_no_submodule() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = |arguments: &str| {
        let mut git = std::process::Command::new("git");
        let git = git.current_dir(&root).args(arguments.split(' '));
        assert!(git.status().unwrap().success(), "{arguments}");
    };
    git("init -q .");
    let link = "160000,e83c5163316f89bfbde7d9ab23ca2e25604af290,libs/deep/sub";
    git(&format!("update-index --add --cacheinfo {link}"));
    let before = Repositories::find(&[root.as_path()]);
    for number in 0..100 {
        fs::create_dir(root.join(number.to_string())).unwrap();
    }
    let sub = root.join("libs/deep/sub/.git");
    make_repository(&sub);
    fs::write(sub.join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
    let search = |folders| {
        let mut limits = extent::Limits::default();
        limits.outside.folders = folders;
        Repositories::find_after_within(&[root.as_path()], &before, limits)
    };
    let after = search(20);
    assert!(after.is_incomplete && after.folders.contains_key(&sub));
    let access = Access {
        project: root.clone(),
        may_change_repository: true,
        ..Access::default()
    };
    let place = root.join("place");
    let means = || Means {
        place: &place,
        protected: Some(&before),
        is_plain: true,
        until: Instant::now() + Duration::from_secs(60),
    };
    let reviewed = review(&access, &before, &after, means());
    assert!(!sub.join("HEAD").exists(), "{:?}", reviewed.sentences);
    assert!(root.join(".git/HEAD").exists());
    // Where they cannot all be looked at, git does not use the repository.
    fs::write(root.join(".git/index"), "no index").unwrap();
    let reviewed = review(&access, &before, &search(20), means());
    let said = reviewed.sentences;
    assert!(!root.join(".git/HEAD").exists(), "{said:?}");
}

#[test]
fn all_that_a_command_made_is_looked_at() {
    let folder = tempfile::tempdir_in("/dev/shm").unwrap();
    let root = folder.path().canonicalize().unwrap();
    let mut before = Repositories::find(&[root.as_path()]);
    for number in 0..=read::MAX_FOLDERS {
        fs::create_dir(root.join(number.to_string())).unwrap();
    }
    let new = root.join("x/y/.git");
    make_repository(&new);
    // As after a command, but on a machine that has time.
    let search = |before: &Repositories| {
        let mut limits = extent::Limits::after(before.is_incomplete);
        let long = Duration::from_secs(600);
        (limits.outside.time, limits.all) = (long, long);
        Repositories::find_after_within(&[root.as_path()], before, limits)
    };
    let after = search(&before);
    assert!(!after.is_incomplete && after.folders.contains_key(&new));
    // Much of it may have been there, and is not looked at after each command.
    before.is_incomplete = true;
    assert!(search(&before).is_incomplete);
}

#[test]
fn a_flood_in_one_part_of_a_repository_hides_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (git, new) = (root.join(".git"), root.join("x/.git"));
    make_repository(&git);
    make_repository(&git.join("modules/a"));
    let before = Repositories::find(&[root.as_path()]);
    for number in 0..100 {
        fs::create_dir_all(git.join(format!("logs/{number}"))).unwrap();
    }
    std::os::unix::fs::symlink("/none", git.join("refs/planted")).unwrap();
    make_repository(&new);
    fs::write(new.join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
    let mut limits = extent::Limits {
        part_folders: 50,
        ..extent::Limits::default()
    };
    (limits.step.folders, limits.outside.folders) = (20, 20);
    let after = Repositories::find_after_within(&[root.as_path()], &before, limits);
    assert!(!after.is_incomplete && after.folders.contains_key(&new));
    let unread: Vec<_> = after.unread.iter().collect();
    assert!(
        matches!(&unread[..], [(path, unread)] if **path == git.join("logs") && !unread.is_unreached),
        "{unread:?}"
    );
    let access = Access {
        project: root.clone(),
        may_change_repository: true,
        ..Access::default()
    };
    let means = Means {
        place: &root.join("place"),
        protected: Some(&before),
        is_plain: false,
        until: Instant::now() + Duration::from_secs(60),
    };
    let reviewed = review(&access, &before, &after, means);
    let is_there = |name: &str| git.join(name).symlink_metadata().is_ok();
    let said = reviewed.sentences;
    for name in [
        "HEAD",
        "objects",
        "refs",
        "modules/a/HEAD",
        "logs.set-aside",
    ] {
        assert!(is_there(name), "{name}: {said:?}");
    }
    assert!(!is_there("logs") && !is_there("refs/planted"), "{said:?}");
    assert!(!new.join("HEAD").exists(), "{said:?}");
}

#[test]
fn of_what_there_was_no_time_for_only_the_head_is_renamed() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let main = root.join("main/.git");
    let (own, other) = (main.join("worktrees/own"), main.join("worktrees/other"));
    make_repository(&main);
    for worktree in [&own, &other] {
        make_repository(worktree);
        fs::write(worktree.join(COMMON), "../..\n").unwrap();
    }
    let find = || Repositories::find(&[main.as_path()]);
    let before = find();
    let review = |access: &Access| {
        let mut after = find();
        for name in ["objects", "refs", "worktrees"] {
            let path = main.join(name);
            let unread = Unread {
                id: crate::process::mounts::id_at(&path).unwrap(),
                is_git: false,
                is_unreached: true,
                names_unseen: false,
            };
            after.unread.insert(path, unread);
        }
        let means = Means {
            place: &root.join("place"),
            protected: None,
            is_plain: false,
            until: Instant::now() + Duration::from_secs(60),
        };
        review(access, &before, &after, means)
    };
    let left = || {
        let all = [&main, &own, &other];
        assert!(["objects", "refs", "worktrees"].map(|it| main.join(it).exists()) == [true; 3]);
        all.map(|folder| folder.join("HEAD").exists())
    };
    // The project is one of its worktrees: the command could change neither the HEAD of the repository nor the others.
    let mut access = Access {
        project: root.join("project"),
        writable: vec![
            main.clone(),
            main.join("objects"),
            main.join("refs"),
            own.clone(),
        ],
        may_change_repository: true,
        narrowed: Some(main.clone()),
        ..Access::default()
    };
    let said = review(&access).sentences;
    assert_eq!(left(), [true, false, true], "{said:?}");
    access.narrowed = None;
    let reviewed = review(&access);
    assert!(!reviewed.is_complete);
    assert_eq!(left(), [false; 3], "{:?}", reviewed.sentences);
    let renamed = reviewed.sentences.iter();
    let renamed = renamed.filter(|it| it.contains("Dunlin renamed HEAD to HEAD.set-aside"));
    assert_eq!(renamed.count(), 2, "{:?}", reviewed.sentences);
}

#[test]
fn what_the_search_did_not_reach_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["a", "b", "c"] {
        fs::create_dir_all(root.join(name).join(".git/logs/x")).unwrap();
        fs::write(root.join(name).join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    }
    let before = Repositories::find(&[root.as_path()]);
    let mut after = before.clone();
    after.is_incomplete = true;
    after.folders.remove(&root.join("a/.git"));
    let part = root.join("b/.git/logs/x");
    let id = crate::process::mounts::id_at(&part).unwrap();
    let unread = Unread {
        id,
        is_git: false,
        is_unreached: false,
        names_unseen: false,
    };
    after.unread.insert(part, unread);
    let access = |may_change_repository| Access {
        project: root.clone(),
        may_change_repository,
        ..Access::default()
    };
    let judged = Means {
        place: &root.join("place"),
        protected: Some(&before),
        is_plain: false,
        until: Instant::now() + Duration::from_secs(60),
    };
    let is_there = |name: &str| root.join(name).exists();
    // It could change nothing there.
    review(&access(false), &before, &after, judged);
    assert!(is_there("a/.git/HEAD") && is_there("b/.git/logs"));
    let reviewed = review(&access(true), &before, &after, judged);
    assert!(!reviewed.is_complete);
    let said = reviewed.sentences.join(" ");
    assert!(said.contains("renamed HEAD to HEAD.set-aside"), "{said}");
    assert!(
        said.contains("set aside as b/.git/logs.set-aside"),
        "{said}"
    );
    assert!(!is_there("a/.git/HEAD") && !is_there("b/.git/logs"));
    assert!(is_there("b/.git/HEAD") && is_there("c/.git/logs"));
}

#[test]
fn where_something_is_granted_nothing_is_frozen() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let make = |path: &str| {
        fs::create_dir_all(root.join(path).join("refs")).unwrap();
        fs::create_dir_all(root.join(path).join("objects")).unwrap();
        fs::write(root.join(path).join("HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(root.join(path).join("config"), "[core]\n").unwrap();
    };
    for path in [
        ".git",
        ".git/modules/a",
        ".git/modules/b",
        ".git/lfs/x/.git",
    ] {
        make(path);
    }
    let found = Repositories::find(&[root.as_path()]);
    let frozen = |granted: &str| {
        let access = Access {
            project: root.clone(),
            writable: vec![root.join(granted)],
            ..Access::default()
        };
        let ids: Vec<_> = found.frozen(&access, &found).collect();
        let folders = found.folders().filter(|(_, id)| ids.contains(id));
        let paths = folders.map(|(path, _)| path.strip_prefix(&root).unwrap());
        paths
            .map(|it| it.to_string_lossy().into_owned())
            .collect::<Vec<_>>()
    };
    assert!(frozen("elsewhere").contains(&".git".to_owned()));
    let others = [".git/lfs/x/.git", ".git/modules/b"];
    assert_eq!(frozen(".git/modules/a/refs"), others);
    // What is there is a repository of its own.
    let others = [".git/lfs/x/.git", ".git/modules/a", ".git/modules/b"];
    assert_eq!(frozen(".git/lfs"), others);
}

#[test]
fn a_worktree_keeps_its_settings_as_a_root() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for (name, text) in [
        ("HEAD", "ref: refs/heads/main\n"),
        ("commondir", "../..\n"),
        ("gitdir", "/x/.git\n"),
    ] {
        fs::write(root.join(name), text).unwrap();
    }
    fs::create_dir(root.join("refs")).unwrap();
    let found = Repositories::find(&[root.as_path()]);
    assert!(
        found.folders[&root]
            .settings
            .contains_key(OsStr::new(COMMON)),
        "{found:?}"
    );
}

#[test]
fn what_cannot_be_looked_at_is_noted_and_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let set_mode = |path: &Path, mode| {
        fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    };
    set_mode(&root, 0o755);
    // One cannot be listed, the other one cannot be searched.
    let (hidden, plain) = (root.join("x/.git"), root.join("plain"));
    fs::create_dir_all(&hidden).unwrap();
    fs::write(hidden.join("HEAD"), "ref: refs/heads/main\n").unwrap();
    for (path, mode) in [(&hidden, 0o300), (&plain, 0o644)] {
        fs::create_dir_all(path.join(".git")).unwrap();
        set_mode(path, mode);
    }
    let roots = [root.clone()];
    let looked = std::thread::spawn(move || {
        // The superuser may look at everything, so that this thread becomes somebody else for the file system.
        #[expect(unsafe_code, reason = "it takes a number")]
        unsafe {
            libc::setfsuid(65_534)
        };
        Repositories::find(&[roots[0].as_path()])
    });
    let found = looked.join().unwrap();
    let unread: Vec<_> = found
        .unread
        .iter()
        .map(|(path, unread)| (path, unread.is_git))
        .collect();
    assert_eq!(unread, [(&plain, false), (&hidden, true)]);
    let access = Access {
        project: root.clone(),
        ..Access::default()
    };
    // What was so before, and was protected, is the user's own.
    let place = root.join("place");
    let judged = Means {
        place: &place,
        protected: Some(&found),
        is_plain: false,
        until: Instant::now() + Duration::from_secs(60),
    };
    assert!(review(&access, &found, &found, judged).sentences.is_empty());
    let said = review(&access, &Repositories::default(), &found, judged);
    let said = said.sentences.join(" ");
    assert!(
        said.contains("could not look for git settings in plain"),
        "{said}"
    );
    assert!(said.contains("x/.git. Dunlin moved it to place/"), "{said}");
    assert!(!hidden.exists());
    // Both folders can be removed again.
    set_mode(&plain, 0o755);
    let moves = fs::read_dir(&place).unwrap();
    for moved in moves.map(|it| it.unwrap().path().join("x/.git.set-aside")) {
        set_mode(&moved, 0o755);
    }
}
