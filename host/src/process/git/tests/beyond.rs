//! What is beyond what can be protected, looked at in time, or reached.

use rustix::fs::{Mode, OFlags, mkdirat, openat};

use super::*;

fn reviewed(root: &Path, before: &Repositories, after: &Repositories, is_plain: bool) -> String {
    reviewed_until(root, before, after, is_plain, 60)
}

fn reviewed_until(
    root: &Path,
    before: &Repositories,
    after: &Repositories,
    is_plain: bool,
    seconds: u64,
) -> String {
    let access = Access {
        project: root.to_owned(),
        may_change_repository: !is_plain,
        ..Access::default()
    };
    let means = Means {
        place: &root.join("place"),
        protected: Some(before),
        is_plain,
        until: Instant::now() + Duration::from_secs(seconds),
    };
    review(&access, before, after, means).sentences.join("\n")
}

/// The names are the command's: they do not tell what Dunlin has set aside.
#[test]
fn no_number_of_things_set_aside_hides_what_may_become_a_repository() {
    for is_plain in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let make = |path: &str| {
            let path = root.join(path);
            make_repository(&path);
            fs::rename(path.join("HEAD"), path.join("HEAD.set-aside")).unwrap();
        };
        let before = Repositories::find(&[root.as_path()]);
        for number in 0..extent::MAX_REPOSITORIES + 10 {
            make(&format!(".a/{number}"));
        }
        for git in [".git", "z/.GIT"] {
            make(git);
            fs::write(root.join(git).join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
        }
        let after = Repositories::find_after(&[root.as_path()], &before);
        let said = reviewed(&root, &before, &after, is_plain);
        for git in [".git", "z/.GIT"] {
            assert!(!root.join(git).join("config").exists(), "{said}");
        }
        // Also before a command, they take no place from others.
        make_repository(&root.join("own/.git"));
        let found = Repositories::find(&[root.as_path()]);
        assert!(!found.unguarded.contains(&root.join("own/.git")));
        assert!(found.unguarded.iter().all(|it| found.folders[it].is_aside));
        assert!(found.unguarded.len() >= 10 && found.left_out.is_empty());
    }
}

#[test]
fn what_is_too_much_to_protect_is_compared() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let at = |number: usize| root.join(number.to_string()).join(".git");
    for number in 0..extent::MAX_REPOSITORIES + 10 {
        make_repository(&at(number));
        fs::write(at(number).join("config"), "[core]\n").unwrap();
    }
    make_repository(&root.join(".git"));
    let before = Repositories::find(&[root.as_path()]);
    assert!(!before.unguarded.contains(&root.join(".git")));
    let beyond = before.unguarded.first().unwrap();
    let mut modules = before.unguarded.iter().rev();
    let outer = modules.next().unwrap();
    fs::write(beyond.join("config"), "[core]\n\tfsmonitor = x\n").unwrap();
    make_repository(&outer.join("modules/a"));
    let after = Repositories::find_after(&[root.as_path()], &before);
    let said = reviewed(&root, &before, &after, true);
    assert!(
        !beyond.join("config").exists() && beyond.join("HEAD").exists(),
        "{said}"
    );
    assert!(!outer.join("modules/a/HEAD").exists(), "{said}");
    let short = beyond.strip_prefix(&root).unwrap().display();
    let shown = format!("only compared their settings afterwards: {short}");
    assert!(
        said.contains(&shown) && said.contains("and 6 more"),
        "{said}"
    );
}

/// Git looks into it by itself.
#[test]
fn a_repository_whose_submodule_is_left_out_is_not_used() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    git(&root, "init -q .");
    for name in ["a", "b", "c"] {
        make_repository(&root.join(name).join(".git"));
    }
    let limits = extent::Limits {
        compared: 3,
        ..extent::Limits::default()
    };
    let before = Repositories::find_within(&[], &[root.as_path()], limits);
    let left_out = before.left_out.keys().next().unwrap().parent().unwrap();
    let left_out = left_out.strip_prefix(&root).unwrap().to_str().unwrap();
    let find = || Repositories::find_after(&[root.as_path()], &before);
    let said = reviewed(&root, &before, &find(), true);
    assert!(root.join(".git/HEAD").exists(), "{said}");
    assert!(
        said.contains(&format!("such as {left_out}/.git)")),
        "{said}"
    );
    let link = format!("160000,e83c5163316f89bfbde7d9ab23ca2e25604af290,{left_out}");
    git(&root, &format!("update-index --add --cacheinfo {link}"));
    // The command could not change the index.
    let before = Repositories::find_within(&[], &[root.as_path()], limits);
    let after = Repositories::find_after(&[root.as_path()], &before);
    let said = reviewed(&root, &before, &after, true);
    assert!(!root.join(".git/HEAD").exists(), "{said}");
}

/// However slow others are that come before it.
#[test]
fn the_repository_of_the_project_comes_first() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let git = root.join(".git");
    make_repository(&git);
    for number in 0..extent::MAX_REPOSITORIES + 10 {
        make_repository(&root.join(format!(".a/{number:03}/.git")));
    }
    let known = Repositories::find(&[root.as_path()]);
    let known: Vec<_> = known.paths().collect();
    let find = |looking| {
        let limits = extent::Limits {
            looking,
            ..extent::Limits::default()
        };
        Repositories::find_within(&known, &[root.as_path()], limits)
    };
    let found = find(Duration::ZERO);
    assert!(found.unread[&git].is_git && !found.unguarded.contains(&git));
    assert!(found.unguarded.contains(&root.join(".a/309/.git")));
    // Once there is time, what was not looked at is the user's own.
    let after = Repositories::find_after(&[root.as_path()], &found);
    let said = reviewed(&root, &found, &after, true);
    assert!(git.join("HEAD").exists(), "{said}");
    assert!(!root.join(".a/309/.git/HEAD").exists(), "{said}");
    assert!(root.join(".a/309/.git").exists(), "{said}");
}

#[test]
fn where_time_is_over_the_user_does_not_use_what_may_lead_there() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    make_repository(&root.join(".git"));
    let before = Repositories::find(&[root.as_path()]);
    make_repository(&root.join("a/.git"));
    let after = Repositories::find_after(&[root.as_path()], &before);
    let said = reviewed_until(&root, &before, &after, true, 0);
    assert!(said.contains("had no time to look at"), "{said}");
    assert!(!root.join(".git/HEAD").exists(), "{said}");
}

/// Makes folders below a root whose path is as long as that, although no path may be that long.
fn make_deep(root: &Path, bytes: usize) -> std::os::fd::OwnedFd {
    let open = |folder: &std::os::fd::OwnedFd, name: &str| {
        mkdirat(folder, name, Mode::RWXU).unwrap();
        openat(
            folder,
            name,
            OFlags::RDONLY | OFlags::DIRECTORY,
            Mode::empty(),
        )
        .unwrap()
    };
    let mut folder: std::os::fd::OwnedFd = fs::File::open(root).unwrap().into();
    let mut left = bytes - root.as_os_str().len();
    while left > 200 {
        folder = open(&folder, &"x".repeat(99));
        left -= 100;
    }
    open(&folder, &"x".repeat(left - 1))
}

/// Git reaches it from a folder on the way.
#[test]
fn a_repository_whose_path_is_too_long_is_not_taken_for_none() {
    let write = |folder: &std::os::fd::OwnedFd, name: &str, text: &str| {
        let flags = OFlags::WRONLY | OFlags::CREATE;
        let file = openat(folder, name, flags, Mode::RUSR | Mode::WUSR).unwrap();
        rustix::io::write(&file, text.as_bytes()).unwrap();
    };
    for is_link in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let before = Repositories::find(&[root.as_path()]);
        let deep = make_deep(&root, 4092);
        match is_link {
            true => write(&deep, ".git", "gitdir: x\n"),
            false => {
                for name in ["objects", "refs"] {
                    mkdirat(&deep, name, Mode::RWXU).unwrap();
                }
                write(&deep, "HEAD", "ref: refs/heads/main\n");
            }
        }
        let after = Repositories::find_after(&[root.as_path()], &before);
        assert!(
            after.is_incomplete && after.unreachable.is_some(),
            "{after:?}"
        );
    }
}

#[test]
fn files_with_several_names_are_compared_by_little_content() {
    let folder = tempfile::tempdir().unwrap();
    let hooks = folder.path().join("hooks");
    fs::create_dir(&hooks).unwrap();
    for number in 0..100 {
        let path = hooks.join(number.to_string());
        fs::File::create(&path).unwrap().set_len(10 << 20).unwrap();
        fs::hard_link(&path, folder.path().join(number.to_string())).unwrap();
    }
    let start = Instant::now();
    let mark = Mark::of(&hooks);
    // All of it takes seconds, unoptimised.
    assert!(start.elapsed() < Duration::from_secs(3));
    assert!(mark.has_other_names() && mark.is_like(&Mark::of(&hooks)));
}
