//! Commands that change what is not the content of a file: mode, owner, times, attributes; and files that were left open.

use std::fs::{self, File};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use super::hostile::HOSTILE;
use super::{BOTH, Yard};

fn state(path: &Path) -> (u32, i64, i64) {
    let meta = fs::metadata(path).expect("a file");
    (meta.mode(), meta.ctime(), meta.ctime_nsec())
}

#[tokio::test]
async fn nothing_of_a_file_outside_can_be_changed() {
    let yard = Yard::new();
    let secret = yard.sandbox.secret();
    let outside = secret.parent().unwrap();
    let before = (state(&secret), state(outside));
    let (file, folder) = (secret.display(), outside.display());
    for line in [
        format!("chmod 777 {file}"),
        format!("chmod -R 777 {folder}"),
        format!("chmod u+s {file}"),
        format!("chown $(id -u):$(id -g) {file}"),
        format!("touch {file}"),
        format!("touch -h -d yesterday {file}"),
        format!("{HOSTILE} attribute {file}"),
        format!("{HOSTILE} times {file}"),
        format!("{HOSTILE} times {folder}"),
        format!("ln -s {file} link && chmod 777 link"),
        "chmod 777 /dev/null".to_owned(),
        "chmod 777 /proc/self/root/etc".to_owned(),
    ] {
        yard.refused(&line).await;
    }
    assert_eq!((state(&secret), state(outside)), before);
    yard.succeeds("touch f && chmod 755 f && touch -d yesterday f && mkdir -m 700 d && cp -p f d")
        .await;
    yard.succeeds("touch $TMPDIR/f /dev/shm/f && chmod 700 $TMPDIR/f /dev/shm/f")
        .await;
}

/// Without namespaces no mount is read-only: owners and attributes are refused everywhere, and the question says that
/// modes and times are not.
#[tokio::test]
async fn what_is_left_without_namespaces_is_said() {
    let yard = Yard::with(false, |_, _| {});
    let file = yard.sandbox.secret();
    let file = file.display();
    yard.refused(&format!("chown $(id -u) {file}")).await;
    yard.refused(&format!("{HOSTILE} attribute {file}")).await;
    let sandbox = yard.host.command_sandbox().await.unwrap();
    let gaps = sandbox.gaps().join("\n");
    assert!(
        gaps.contains("the mode and the times of all of your files"),
        "{gaps}"
    );
    yard.succeeds("touch f && chmod 755 f").await;
}

#[tokio::test]
async fn no_file_runs_as_somebody_else() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        yard.succeeds("cp /bin/true f && chmod 755 f && mkdir d")
            .await;
        for line in [
            "chmod u+s f".to_owned(),
            "chmod g+s f".to_owned(),
            "chmod 4755 f".to_owned(),
            "chmod g+s d".to_owned(),
            "mkdir -m 2755 e".to_owned(),
            "cp /bin/true $TMPDIR/f && chmod u+s $TMPDIR/f".to_owned(),
            format!("{HOSTILE} set-id f"),
            format!("{HOSTILE} create-set-id g"),
            format!("{HOSTILE} capability f"),
            format!("{HOSTILE} openat2"),
        ] {
            yard.refused(&line).await;
        }
        let mode = fs::metadata(yard.sandbox.project().join("f")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o7777, 0o755);
        assert!(!yard.sandbox.project().join("g").exists());
    }
}

#[tokio::test]
async fn open_files_are_not_handed_on() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        // As whoever starts Dunlin may leave one open.
        let secret = File::open(yard.sandbox.secret()).unwrap();
        rustix::io::fcntl_setfd(&secret, rustix::io::FdFlags::empty()).unwrap();
        yard.refused(&format!("{HOSTILE} open-files")).await;
    }
}

/// A request acts on a file system and not on a mount, so only those of a list are made. The kernel looks at its lower
/// half alone.
#[tokio::test]
async fn only_known_requests_are_made_of_a_file_system() {
    // FIGETBSZ, FIONREAD, and the first with the upper half set.
    let known = ["2", "541b", "ffffffff00000002"];
    // FS_IOC_GETVERSION, FS_IOC_GETFSUUID; BTRFS_IOC_SNAP_CREATE, BTRFS_IOC_SNAP_DESTROY_V2, FS_IOC_SETFLAGS.
    let answered = ["80087601", "80111500"];
    let others = ["50009401", "5000943f", "40086602"];
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let project = yard.sandbox.project();
        fs::write(project.join("f"), "text").unwrap();
        // Somewhere it is answered: the refusal below is the sandbox's.
        let is_answered = |request: &&&str| {
            let asked = std::process::Command::new(HOSTILE)
                .args(["request", "f", request])
                .current_dir(&project)
                .status();
            asked.unwrap().success()
        };
        assert!(answered.iter().any(|request| is_answered(&request)));
        for request in known {
            yard.succeeds(&format!("{HOSTILE} request f {request}"))
                .await;
        }
        for request in answered.into_iter().chain(others) {
            for upper in ["", "ffffffff"] {
                let request = format!("{upper}{request:0>8}");
                let line = format!("{HOSTILE} request f {request}");
                let text = yard.refused(&line).await;
                assert!(text.contains("os error 25"), "{request}: {text}");
            }
        }
        yard.succeeds("cp --reflink=auto f g && ls --color=auto")
            .await;
        // Only there it has a folder for them.
        if has_namespaces {
            yard.succeeds(&format!("{HOSTILE} own-terminal")).await;
        }
    }
}

/// A limit of 0 keeps only files from being written: where the machine hands memory to a program, the kernel starts that
/// outside of the sandbox, unless the limit is 1.
#[tokio::test]
async fn a_crash_starts_no_program_outside() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        for lowered in [":", "ulimit -c 0", "ulimit -S -c 0"] {
            let line = format!("{lowered} && {HOSTILE} core-limit");
            let text = yard.refused(&line).await;
            assert!(text.contains("refused: it is still 1"), "{line}: {text}");
        }
    }
}
