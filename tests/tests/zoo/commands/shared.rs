//! Commands that change what is used outside of the project: files with further names there, and programs in `PATH`.

use std::fs;
use std::path::Path;

use super::git::{COMMIT, git};
use super::{BOTH, Yard};

#[tokio::test]
async fn a_change_that_shows_elsewhere_is_named() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        let store = project.parent().unwrap().join("outside/store.js");
        fs::create_dir(project.join("modules")).unwrap();
        for name in ["modules/a.js", "modules/b.js"] {
            fs::write(project.join(name), "one\n").unwrap();
        }
        fs::hard_link(project.join("modules/a.js"), &store).unwrap();
        for line in [
            "echo evil >> modules/a.js",
            "chmod 600 modules/a.js",
            "touch -d yesterday modules/a.js",
            "mv modules other && echo evil > other/a.js && mv other modules",
        ] {
            let told = yard.run(line).await.note.unwrap_or_default();
            assert!(
                told.contains("outside of what it may change"),
                "{line}: {told}"
            );
            assert!(told.contains(": modules/a.js."), "{line}: {told}");
        }
        assert_eq!(fs::read_to_string(&store).unwrap(), "evil\n");
        // As package managers and editors do it, or within the project.
        for line in [
            "cat modules/a.js > /dev/null",
            "echo two >> modules/b.js && ln modules/b.js c.js && echo two >> c.js",
            "sed -i s/evil/good/ modules/a.js",
            "echo two > modules/a.js && rm modules/a.js",
        ] {
            assert_eq!(yard.run(line).await.note, None, "{line}");
        }
        assert_eq!(fs::read_to_string(&store).unwrap(), "evil\n");
    }
}

fn objects(folder: &Path) -> Vec<std::path::PathBuf> {
    let list = |folder: &Path| -> Vec<_> {
        let entries = fs::read_dir(folder).expect("a folder").flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let folders = list(folder).into_iter();
    let folders = folders.filter(|path| !path.ends_with("info"));
    folders.flat_map(|path| list(&path)).collect()
}

/// `git clone` of a path links the objects of the other repository, which checks out whatever is in them.
#[tokio::test]
async fn objects_of_another_repository_are_not_changed() {
    let yard = Yard::new();
    let project = yard.sandbox.project();
    let main = project.parent().unwrap().join("outside/main");
    fs::create_dir(&main).unwrap();
    git(&main, "init -q -b main .");
    fs::write(main.join("build.sh"), "packed\n").unwrap();
    git(&main, "add .");
    git(&main, "commit -q -m packed");
    git(&main, "gc -q");
    fs::write(main.join("build.sh"), "loose\n").unwrap();
    git(&main, "commit -q -a -m loose");
    git(&main, "clone -q . ../clone");
    fs::rename(
        project.parent().unwrap().join("outside/clone/.git"),
        project.join(".git"),
    )
    .unwrap();
    let before = objects(&main.join(".git/objects"));
    let content = |path: &std::path::PathBuf| {
        (
            fs::read(path).unwrap(),
            fs::metadata(path).unwrap().permissions(),
        )
    };
    let contents: Vec<_> = before.iter().map(content).collect();
    let every = "find .git/objects -type f -links +1";
    for line in [
        format!("git status; {every} -exec chmod u+w {{}} +"),
        format!("git status; {every} -exec touch {{}} +"),
        "git status; cd .git; mv objects o; chmod -R u+w o; is=$?; mv o objects; exit $is"
            .to_owned(),
    ] {
        yard.refused(&line).await;
    }
    for line in [
        "git reset -q --hard && echo loose > again && git add again".to_owned(),
        format!("{COMMIT} && git stash list && git repack -q -a -d && git gc -q && git fsck"),
        "git checkout -q -b other HEAD~1 && git push -q . other:third && git log --oneline"
            .to_owned(),
    ] {
        let ran = yard.run(&line).await;
        assert!(ran.text.ends_with("exit status 0"), "{line}: {}", ran.text);
        assert_eq!(ran.note, None, "{line}");
    }
    let after: Vec<_> = before.iter().map(content).collect();
    assert!(after == contents);
    git(&main, "fsck --strict");
    git(&project, "fsck --strict");
}

#[tokio::test]
async fn a_program_that_comes_before_another_is_named() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |sandbox, options| {
            // What is relative, or empty, is no folder that a command would look in.
            let mut path = sandbox.project().join(".venv/bin").into_os_string();
            path.push(":tools/bin::/usr/local/bin:/usr/bin:/bin");
            options.shell_path = path;
        });
        for line in [
            "mkdir -p .venv/bin && cp /bin/true .venv/bin/own",
            "cp .venv/bin/own .venv/bin/other && ls && echo x > .venv/bin/ls && mkdir .venv/bin/cat",
        ] {
            assert_eq!(yard.run(line).await.note, None, "{line}");
        }
        for (line, name) in [
            ("chmod +x .venv/bin/ls", ".venv/bin/ls"),
            ("ln -s own .venv/bin/grep", ".venv/bin/grep"),
            (
                "mkdir -p tools/bin && cp /bin/true tools/bin/id",
                "tools/bin/id",
            ),
            ("cp /bin/true git", "git"),
        ] {
            let told = yard.run(line).await.note.unwrap_or_default();
            assert!(told.contains(&format!("PATH: {name}.")), "{line}: {told}");
        }
        assert_eq!(yard.run("echo x >> .venv/bin/ls").await.note, None);
    }
}
