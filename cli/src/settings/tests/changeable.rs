//! Folders and programs that a command can change are not used for what runs with the user's rights.

use super::*;

/// The `PATH` of what runs with the user's rights has no folder that a command could put a program into.
#[test]
fn changeable_folders_are_left_out_of_the_search_path() {
    let home = Home::new("[commands]\nwrite = [\"~/link\"]\n", "");
    let root = home.folder.path().canonicalize().unwrap();
    for folder in [
        "big/bin",
        "own/bin",
        "repo/bin",
        "granted/bin",
        "single/bin",
    ] {
        std::fs::create_dir_all(root.join(folder)).unwrap();
    }
    std::os::unix::fs::symlink(root.join("big"), root.join("link")).unwrap();
    std::os::unix::fs::symlink(root.join("repo/bin"), root.join("to-project")).unwrap();
    std::os::unix::fs::symlink(root.join("repo/later"), root.join("dangling")).unwrap();
    let folders = [
        "big/bin",
        "link/bin",
        "repo/bin",
        "to-project",
        "dangling",
        "missing",
        "granted/bin",
        "single/bin",
        "own/bin",
    ];
    let path = std::env::join_paths(folders.map(|folder| root.join(folder))).unwrap();
    let path = path.to_str().unwrap();
    let settings = home.load(&Global::default(), &[("PATH", path)]).unwrap();
    let options = crate::app::host_options(&settings, "s");
    std::fs::create_dir_all(options.permissions_file.parent().unwrap()).unwrap();
    let permissions = Permissions::open(&options).unwrap();
    let joined = |folders: &[&str]| {
        let folders = folders.iter().map(|folder| root.join(folder));
        std::env::join_paths(folders).unwrap()
    };
    let grants = ["granted/bin", "single/bin", "own/bin"];
    assert_eq!(settings.search_path(&permissions), joined(&grants));
    // The same of libraries, modules and whatever else a program is led to.
    let project = root.join("repo").display().to_string();
    let mixed = format!("{project}/lib:{project}:/usr/lib");
    let variables = [
        ("PATH", path),
        ("LD_LIBRARY_PATH", mixed.as_str()),
        ("PYTHONPATH", "src::/usr/share"),
        ("LD_PRELOAD", project.as_str()),
        ("COLOURS", "*.a=1::b"),
    ];
    let settings = home.load(&Global::default(), &variables).unwrap();
    let replaced = settings.replaced(&permissions);
    let replaced: Vec<_> = replaced.iter().collect();
    let expected = [
        ("LD_LIBRARY_PATH", Some("/usr/lib".to_owned())),
        ("LD_PRELOAD", None),
        ("PATH", joined(&grants).into_string().ok()),
        ("PYTHONPATH", Some("/usr/share".to_owned())),
    ];
    let expected = expected.map(|(name, value)| (OsString::from(name), value.map(OsString::from)));
    assert_eq!(
        replaced,
        expected
            .each_ref()
            .map(|(name, value)| (name.as_os_str(), value.as_deref()))
    );
    // What is granted meanwhile counts: a folder above, or one file in it.
    permissions
        .set(root.join("granted/").to_str().unwrap(), "?w?")
        .unwrap();
    let file = root.join("single/bin/vi");
    permissions
        .allow_for_session(file.to_str().unwrap(), "?w?")
        .unwrap();
    assert_eq!(settings.search_path(&permissions), joined(&["own/bin"]));
}

/// A link in a folder in which no command can write may lead to a file that a command can.
#[test]
fn a_changeable_program_is_not_started() {
    let home = Home::new("", "");
    let root = home.folder.path().canonicalize().unwrap();
    std::fs::create_dir_all(root.join("bin")).unwrap();
    std::fs::create_dir_all(root.join("repo")).unwrap();
    for name in ["repo/myed", "bin/vi.basic", "bin/env"] {
        std::fs::write(root.join(name), "").unwrap();
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(root.join(name), mode).unwrap();
    }
    std::os::unix::fs::symlink(root.join("repo/myed"), root.join("bin/myed")).unwrap();
    std::os::unix::fs::symlink("vi.basic", root.join("bin/vi")).unwrap();
    let path = root.join("bin").display().to_string();
    let settings = home.load(&Global::default(), &[("PATH", &path)]).unwrap();
    let options = crate::app::host_options(&settings, "s");
    std::fs::create_dir_all(options.permissions_file.parent().unwrap()).unwrap();
    let permissions = Permissions::open(&options).unwrap();
    let started = |line: &str| settings.started_line(line.into(), &permissions);
    // By its own name: many programs look at that.
    let vi = |line: String| Ok(OsString::from(line));
    assert_eq!(started("vi -u 'a b'"), vi(format!("'{path}/vi' -u 'a b'")));
    assert_eq!(
        started("f() { vi \"$1\"; }; f"),
        vi("f() { vi \"$1\"; }; f".to_owned())
    );
    for line in [
        "myed",
        "myed -x",
        "env myed",
        "X=1 myed",
        "f() { myed \"$1\"; }; f",
    ] {
        let refused = started(line);
        assert!(
            matches!(refused, Err(StartError::Changeable { .. })),
            "{line}: {refused:?}"
        );
    }
    assert!(matches!(
        started("nothing"),
        Err(StartError::Missing { .. })
    ));
}
