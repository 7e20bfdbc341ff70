//! What is not looked at, and what becomes of it.

use super::*;

/// However long it takes to look into repositories, they are found.
#[test]
fn a_slow_repository_hides_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let before = Repositories::find(&[root.as_path()]);
    for name in ["a", "b/c"] {
        make_repository(&root.join(name).join(".git"));
    }
    std::os::unix::fs::symlink("../a/.git", root.join("b/.git")).unwrap();
    let limits = extent::Limits {
        looking: Duration::ZERO,
        ..extent::Limits::default()
    };
    let after = Repositories::find_after_within(&[root.as_path()], &before, limits);
    assert!(!after.is_incomplete, "{after:?}");
    let unread = after.unread().filter(|(_, is_git)| *is_git);
    let unread: Vec<_> = unread.collect();
    let (a, c) = (root.join("a/.git"), root.join("b/c/.git"));
    assert_eq!(unread, [(a.as_path(), true), (c.as_path(), true)]);
    let reviewed = review(
        &Access {
            project: root.clone(),
            ..Access::default()
        },
        &before,
        &after,
        Means {
            place: &root.join("place"),
            protected: Some(&before),
            is_plain: true,
            until: Instant::now() + Duration::from_secs(60),
        },
    );
    let said = reviewed.sentences;
    for path in ["a/.git", "b/c/.git", "b/.git"] {
        assert!(root.join(path).symlink_metadata().is_err(), "{said:?}");
    }
    assert_eq!(said.len(), 1, "{said:?}");
}

/// What is in one of the user's repositories takes nothing from the others.
#[test]
fn a_slow_repository_is_unread_by_itself() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let at = |name: &str| root.join(name).join(".git");
    for name in ["a", "b", "c"] {
        make_repository(&at(name));
    }
    let before = Repositories::find(&[root.as_path()]);
    for number in 0..100 {
        std::os::unix::fs::symlink("/none", at("b").join(number.to_string())).unwrap();
    }
    let mut limits = extent::Limits::default();
    limits.step.entries = 50;
    let after = Repositories::find_after_within(&[root.as_path()], &before, limits);
    let unread: Vec<_> = after.unread().collect();
    assert_eq!(unread, [(at("b").as_path(), true)]);
    for name in ["a", "c"] {
        let (old, new) = (&before.folders[&at(name)], &after.folders[&at(name)]);
        assert_eq!(old, new);
    }
}

/// Those that were left out before a command are not new after it, and what is new is not left out.
#[test]
fn no_number_of_repositories_hides_a_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let at = |number: usize| root.join(number.to_string()).join(".git");
    for number in 0..extent::MAX_REPOSITORIES + 10 {
        make_repository(&at(number));
    }
    let before = Repositories::find(&[root.as_path()]);
    assert_eq!(before.folders.len(), extent::MAX_REPOSITORIES + 10);
    assert_eq!(before.unguarded.len(), 10);
    let new = root.join("x/y/.git");
    make_repository(&new);
    let after = Repositories::find_after(&[root.as_path()], &before);
    assert!(after.folders.contains_key(&new));
    let access = Access {
        project: root.clone(),
        ..Access::default()
    };
    let means = Means {
        place: &root.join("place"),
        protected: Some(&before),
        is_plain: true,
        until: Instant::now() + Duration::from_secs(60),
    };
    let reviewed = review(&access, &before, &after, means);
    let said = reviewed.sentences;
    assert!(!new.exists(), "{said:?}");
    let is_there = |number| at(number).join("HEAD").exists();
    assert!((0..extent::MAX_REPOSITORIES + 10).all(is_there));
    assert!(
        said.last()
            .unwrap()
            .contains("More than 300 git repositories")
    );
}

/// Those that are too many to be protected are looked into after a command: in the folder of one another may be hidden.
#[test]
fn no_unguarded_repository_hides_another() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..extent::MAX_REPOSITORIES + 10 {
        make_repository(&root.join(number.to_string()).join(".git"));
    }
    let before = Repositories::find(&[root.as_path()]);
    let unguarded = before.unguarded.iter().next().unwrap().clone();
    let hidden = ["objects/q/s", "objects/ab/s", "logs/s", "refs/heads/s"];
    let hidden = hidden.map(|below| unguarded.join(below));
    for path in &hidden {
        make_repository(path);
    }
    let after = Repositories::find_after(&[root.as_path()], &before);
    let access = Access {
        project: root.clone(),
        ..Access::default()
    };
    let means = Means {
        place: &root.join("place"),
        protected: Some(&before),
        is_plain: true,
        until: Instant::now() + Duration::from_secs(60),
    };
    let said = review(&access, &before, &after, means).sentences;
    for path in &hidden {
        assert!(!path.join("HEAD").exists(), "{}: {said:?}", path.display());
    }
    assert!(unguarded.join("HEAD").exists(), "{said:?}");
}

#[test]
fn many_planted_links_take_their_folder_along() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = root.join(".git");
    make_repository(&git);
    fs::create_dir(git.join("logs")).unwrap();
    let before = Repositories::find(&[root.as_path()]);
    let plant = |name: String| std::os::unix::fs::symlink("/none", git.join(name)).unwrap();
    for number in 0..20 {
        plant(format!("logs/{number}"));
    }
    plant("refs/planted".to_owned());
    let limits = extent::Limits {
        links: 10,
        ..extent::Limits::default()
    };
    let access = Access {
        project: root.clone(),
        may_change_repository: true,
        ..Access::default()
    };
    let place = root.join("place");
    let review_within = |seconds, limits| {
        let after = Repositories::find_after_within(&[root.as_path()], &before, limits);
        let means = Means {
            place: &place,
            protected: Some(&before),
            is_plain: false,
            until: Instant::now() + Duration::from_secs(seconds),
        };
        review(&access, &before, &after, means).sentences
    };
    let is_there = |name: &str| git.join(name).symlink_metadata().is_ok();
    let said = review_within(60, limits);
    assert!(is_there("HEAD") && is_there("logs.set-aside"), "{said:?}");
    assert!(!is_there("logs") && !is_there("refs/planted"), "{said:?}");
    // Where there is no time for each, git does not use the repository.
    fs::create_dir_all(git.join("refs")).unwrap();
    plant("refs/planted".to_owned());
    let said = review_within(0, extent::Limits::default());
    assert!(!is_there("HEAD") && is_there("refs/planted"), "{said:?}");
}

/// A repository may be used through a link in its place: what the user's own git does there is no change of the link.
#[test]
fn a_link_is_the_same_whatever_happens_where_it_leads_to() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    make_repository(&root.join("store"));
    std::os::unix::fs::symlink("store", root.join(".git")).unwrap();
    let before = Repositories::find(&[root.as_path()]);
    fs::write(root.join("store/index"), "").unwrap();
    fs::write(root.join("store/COMMIT_EDITMSG"), "").unwrap();
    let after = Repositories::find_after(&[root.as_path()], &before);
    assert_eq!(before.links, after.links);
    assert!(after.links[&root.join(".git")].target.is_some());
}

#[test]
fn submodules_are_found_in_whatever_index_names_them() {
    let folder = tempfile::tempdir().unwrap();
    let top = folder.path().canonicalize().unwrap();
    let link = "160000,e83c5163316f89bfbde7d9ab23ca2e25604af290";
    let find = |root: &Path| {
        let before = Repositories::find(&[root]);
        for number in 0..30 {
            fs::create_dir(root.join(number.to_string())).unwrap();
        }
        make_repository(&root.join("a/b/sub/.git"));
        let mut limits = extent::Limits::default();
        limits.outside.folders = 20;
        let after = Repositories::find_after_within(&[root], &before, limits);
        assert!(after.is_incomplete);
        after
    };
    // The entries are in the index that this one shares them with.
    let split = top.join("split");
    fs::create_dir(&split).unwrap();
    git(&split, "init -q .");
    let add = |path: &str| format!("update-index --add --cacheinfo {link},{path}");
    git(&split, &add("a/b/sub"));
    git(&split, "update-index --split-index");
    let after = find(&split);
    assert!(after.folders.contains_key(&split.join("a/b/sub/.git")));
    assert!(after.unread.is_empty(), "{after:?}");
    for entry in fs::read_dir(split.join(".git")).unwrap() {
        let path = entry.unwrap().path();
        if path.to_string_lossy().contains("sharedindex") {
            fs::write(path, "").unwrap();
        }
    }
    assert!(index::submodules(&split.join(".git/index"), &split.join(".git")).is_none());
    // The project is a folder of a repository.
    let outer = top.join("outer");
    fs::create_dir_all(outer.join("app")).unwrap();
    git(&outer, "init -q .");
    git(&outer, &add("app/a/b/sub"));
    let after = find(&outer.join("app"));
    let sub = outer.join("app/a/b/sub/.git");
    assert!(after.folders.contains_key(&sub), "{after:?}");
}

/// The walk ends by itself there, as the folders count as those of a repository.
#[test]
fn a_flood_in_a_new_repository_hides_no_submodule() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q .");
    let link = "160000,e83c5163316f89bfbde7d9ab23ca2e25604af290,x/deep/z/sub";
    git(&root, &format!("update-index --add --cacheinfo {link}"));
    let before = Repositories::find(&[root.as_path()]);
    make_repository(&root.join("x"));
    for number in 0..100 {
        fs::create_dir_all(root.join(format!("x/deep/{number}"))).unwrap();
    }
    let sub = root.join("x/deep/z/sub/.git");
    make_repository(&sub);
    let mut limits = extent::Limits::default();
    limits.step.folders = 20;
    let mut after = Repositories::find_after_within(&[root.as_path()], &before, limits);
    assert!(!after.is_incomplete && after.unread.contains_key(&root.join("x/deep")));
    assert!(after.folders.remove(&sub).is_some());
}

/// Git changes into the folder, so that the path is short enough for it.
#[test]
fn a_submodule_whose_path_is_too_long_is_not_taken_for_none() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q .");
    let before = Repositories::find(&[root.as_path()]);
    let path = format!("{}/{}", vec!["x".repeat(200); 20].join("/"), "x".repeat(70));
    let link = format!("160000,e83c5163316f89bfbde7d9ab23ca2e25604af290,{path}");
    git(&root, &format!("update-index --add --cacheinfo {link}"));
    for number in 0..30 {
        fs::create_dir(root.join(number.to_string())).unwrap();
    }
    let mut limits = extent::Limits::default();
    limits.outside.folders = 20;
    let after = Repositories::find_after_within(&[root.as_path()], &before, limits);
    assert!(after.unread[&root.join(".git")].is_git, "{after:?}");
}

#[test]
fn folders_that_an_index_leaves_out_are_known_only_if_they_are_not_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["in", "out"] {
        fs::create_dir(root.join(name)).unwrap();
        fs::write(root.join(name).join("file"), "").unwrap();
    }
    git(&root, "init -q .");
    git(&root, "add .");
    git(&root, "-c user.name=a -c user.email=a@b commit -qm x");
    git(&root, "sparse-checkout init --cone --sparse-index");
    git(&root, "sparse-checkout set in");
    let named = index::submodules(&root.join(".git/index"), &root.join(".git"));
    assert_eq!(named.unwrap().folders, [Path::new("out")]);
    let before = Repositories::find(&[root.as_path()]);
    for number in 0..30 {
        fs::create_dir(root.join(number.to_string())).unwrap();
    }
    let mut limits = extent::Limits::default();
    limits.outside.folders = 20;
    let find = || Repositories::find_after_within(&[root.as_path()], &before, limits);
    assert_eq!(find().unread, BTreeMap::new());
    fs::create_dir_all(root.join("out/sub")).unwrap();
    assert!(find().unread[&root.join(".git")].is_git);
}

/// Backups give files more names, which changes their times.
#[test]
fn another_name_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().canonicalize().unwrap().join(name);
    let git = at("project/.git");
    make_repository(&git);
    for name in ["config", "index"] {
        fs::write(git.join(name), "").unwrap();
        fs::hard_link(git.join(name), at(name)).unwrap();
    }
    let root = at("project");
    let before = Repositories::find(&[root.as_path()]);
    let said = || {
        let access = Access {
            project: root.clone(),
            ..Access::default()
        };
        let means = Means {
            place: &at("place"),
            protected: Some(&before),
            is_plain: true,
            until: Instant::now() + Duration::from_secs(60),
        };
        let after = Repositories::find_after(&[root.as_path()], &before);
        review(&access, &before, &after, means).sentences
    };
    for name in ["config", "index"] {
        fs::hard_link(git.join(name), at(&format!("{name}-2"))).unwrap();
    }
    assert_eq!(said(), [""; 0]);
    fs::write(at("config"), "[core]\n\tfsmonitor = x\n").unwrap();
    assert!(said()[0].contains(".git/config"));
}

/// What there was no time for is looked at after the next command.
#[test]
fn what_is_left_is_said_and_not_forgotten() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let before = Repositories::find(&[root.as_path()]);
    make_repository(&root.join("a/.git"));
    let after = Repositories::find_after(&[root.as_path()], &before);
    let access = Access {
        project: root.clone(),
        ..Access::default()
    };
    let review_until = |until| {
        let means = Means {
            place: &root.join("place"),
            protected: Some(&before),
            is_plain: true,
            until,
        };
        review(&access, &before, &after, means)
    };
    let reviewed = review_until(Instant::now());
    assert!(!reviewed.is_complete);
    let said = reviewed.sentences.join(" ");
    assert!(
        said.contains("had no time to look at 1 of them, such as a/.git"),
        "{said}"
    );
    review_until(Instant::now() + Duration::from_secs(60));
    assert!(!root.join("a/.git").exists());
}

/// However many were set aside, each takes one mount.
#[test]
fn what_was_set_aside_is_protected_as_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (aside, own) = (root.join("x/aside"), root.join("own/.git"));
    for git in [&aside, &own] {
        make_repository(git);
        fs::write(git.join("config"), "").unwrap();
    }
    fs::rename(aside.join("HEAD"), aside.join("HEAD.set-aside")).unwrap();
    let found = Repositories::find(&[root.as_path()]);
    let access = Access {
        project: root.clone(),
        may_change_repository: true,
        ..Access::default()
    };
    let settings: Vec<_> = found.settings(&access).collect();
    assert_eq!(settings, [own.join("config")]);
    let in_place = found.folders_in_place(&access).map(|(path, _)| path);
    assert!(in_place.eq([own.as_path()]));
    assert_eq!(found.read_only(&access), [aside]);
}
