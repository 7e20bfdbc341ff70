//! Commands that reach for what is not theirs.

use std::fs;
use std::net::{TcpListener, UdpSocket};
use std::os::unix::net::{UnixDatagram, UnixListener};

use dunlin_host::call::Failure;
use dunlin_host::secrets::Surroundings;
use dunlin_tests::sandbox::{SECRET, STORED, assert_alive};
use serde_json::json;

use super::{BOTH, Yard, yes};

pub(super) const HOSTILE: &str = env!("CARGO_BIN_EXE_hostile");

impl Yard {
    /// Runs a line that has to fail.
    pub(super) async fn refused(&self, line: &str) -> String {
        let text = self.run(line).await.text;
        assert!(!text.ends_with("exit status 0"), "{line}: {text}");
        text
    }

    pub(super) async fn succeeds(&self, line: &str) -> String {
        let text = self.run(line).await.text;
        assert!(text.ends_with("exit status 0"), "{line}: {text}");
        text
    }
}

#[tokio::test]
async fn only_the_project_can_be_changed() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let secret = yard.sandbox.secret();
        let outside = secret.parent().unwrap();
        let (file, folder) = (secret.display(), outside.display());
        for line in [
            format!("echo x > {file}"),
            format!("echo x >> {file}"),
            format!(": > {file}"),
            format!("rm {file}"),
            format!("mv {file} here"),
            format!("touch {folder}/new"),
            format!("mkdir {folder}/new"),
            format!("ln -s {folder} link && echo x > link/secret.txt"),
            format!("ln -sf {folder} link && touch link/new"),
            format!("ln {file} hard && echo x > hard"),
            format!("cp /bin/true t && mv t {folder}/t"),
            format!("chmod 777 {folder}/none"),
            "touch /tmp/dunlin-test-file".to_owned(),
            "touch /dunlin-test-file".to_owned(),
            "echo x > /proc/sys/kernel/core_pattern".to_owned(),
            "mknod device c 1 3".to_owned(),
            "mount -t tmpfs none .".to_owned(),
        ] {
            yard.refused(&line).await;
        }
        assert_eq!(fs::read_to_string(&secret).unwrap(), SECRET);
        assert_eq!(fs::read_dir(outside).unwrap().count(), 1);
        yard.succeeds("mkdir -p a/b && echo x > a/b/c && mv a/b/c d && ln d e && rm -r a")
            .await;
        yard.succeeds("echo x > $TMPDIR/f && cat < $TMPDIR/f && : > /dev/null")
            .await;
        assert_alive(&yard.host).await;
    }
}

#[tokio::test]
async fn what_is_granted_can_be_changed_and_what_is_denied_cannot() {
    let yard = Yard::with(true, |sandbox, options| {
        let granted = sandbox.project().parent().unwrap().join("configured");
        fs::create_dir(&granted).unwrap();
        options.write.push(granted);
    });
    let root = yard.sandbox.project().parent().unwrap().to_owned();
    let permissions = yard.host.permissions();
    for name in [
        "granted",
        "kept",
        "project/kept",
        "project/.git/hooks",
        "project/.dunlin",
    ] {
        fs::create_dir_all(root.join(name)).unwrap();
    }
    fs::write(root.join("project/.git/config"), "[core]\n").unwrap();
    fs::write(root.join("project/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
    fs::write(root.join("project/diary"), SECRET).unwrap();
    let key = |name: &str| root.join(name).display().to_string();
    permissions.set(&(key("granted") + "/"), "?w?").unwrap();
    permissions
        .set(&(key("project/kept") + "/"), "r-?")
        .unwrap();
    permissions.set(&key("project/diary"), "---").unwrap();
    yard.succeeds("touch ../granted/x ../configured/x x").await;
    for line in [
        "touch ../kept/x",
        "touch kept/x",
        "rmdir kept",
        "echo x > .git/config",
        "echo x > .git/hooks/post-commit",
        "mv .git/config .git/other",
        "mv .git .other",
        "grep . diary",
    ] {
        yard.refused(line).await;
    }
    yard.succeeds("git --version && echo x > .git/ORIG_HEAD && mkdir .git/refs && ls kept")
        .await;
    permissions.set(&key("project/.git/config"), "rw?").unwrap();
    yard.succeeds("echo x > .git/config").await;
}

#[tokio::test]
async fn dunlins_own_things_are_hidden() {
    let pid = std::process::id();
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |sandbox, options| {
            let home = sandbox.project().parent().unwrap().join("home");
            fs::create_dir_all(home.join(".ssh")).unwrap();
            fs::write(home.join(".ssh/id"), SECRET).unwrap();
            fs::write(home.join(".netrc"), SECRET).unwrap();
            fs::write(home.join("notes"), "read me").unwrap();
            let secrets = Surroundings::new(std::slice::from_ref(&home), &home, |_| None);
            options.secrets = Some(secrets);
        });
        // What is named plainly is refused before it runs; this is about the rest.
        let plain = format!("cat {}", yard.sandbox.permissions_file().display());
        let arguments = json!({ "command": plain });
        let refused = yard.call("run_terminal_command", arguments, yes()).await;
        assert!(
            matches!(refused, Err(Failure::Denied { .. })),
            "{refused:?}"
        );
        let own = "../$c/tool.permissions.json";
        for line in [
            format!("c=config; cat {own}"),
            "c=config; grep -r . ../$c".to_owned(),
            format!("c=config; cp {own} copy"),
            format!("c=config; ln {own} hard"),
            format!("c=config; echo x > {own}"),
            "c=config; ln -s ../$c l; cat l/tool.permissions.json".to_owned(),
            "grep -r . ../home/.ssh".to_owned(),
            "grep . ../home/.netrc".to_owned(),
            format!("p={pid}; cat /proc/$p/environ"),
            format!("p={pid}; cat /proc/$p/maps"),
            format!("p={pid}; head -c 1 /proc/$p/fd/0"),
            format!("p={pid}; ls /proc/$p/cwd/"),
            "cat /proc/1/environ".to_owned(),
        ] {
            let text = yard.refused(&line).await;
            assert!(
                !text.contains(SECRET) && !text.contains(STORED),
                "{line}: {text}"
            );
        }
        // A program that was used since then has left its key.
        let tool = yard.sandbox.project().parent().unwrap().join("home/.tool");
        fs::create_dir(&tool).unwrap();
        fs::write(tool.join("credentials.json"), SECRET).unwrap();
        let text = yard.refused("grep -r . ../home/.tool").await;
        assert!(!text.contains(SECRET), "{text}");
        yard.succeeds("cat ../home/notes; ls /usr /etc > list")
            .await;
        assert_alive(&yard.host).await;
    }
}

#[tokio::test]
async fn there_is_no_way_out() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        for socket in [tcp.set_nonblocking(true), udp.set_nonblocking(true)] {
            socket.unwrap();
        }
        // In the project, where nothing but the system call stands in the way.
        let stream = yard.sandbox.project().join("stream");
        let datagram = yard.sandbox.project().join("datagram");
        let _stream = UnixListener::bind(&stream).unwrap();
        let _datagram = UnixDatagram::bind(&datagram).unwrap();
        let (to_tcp, to_udp) = (tcp.local_addr().unwrap(), udp.local_addr().unwrap());
        yard.refused(&format!("{HOSTILE} tcp {to_tcp}")).await;
        yard.refused(&format!("exec 3<>/dev/tcp/127.0.0.1/{}", to_tcp.port()))
            .await;
        // It may go somewhere, but not here.
        yard.run(&format!("{HOSTILE} udp {to_udp}")).await;
        for attempt in [
            format!("unix {}", stream.display()),
            format!("unix-pair {}", datagram.display()),
            format!("raw-pair {}", datagram.display()),
            "vsock".to_owned(),
            "packets".to_owned(),
            "user-namespace".to_owned(),
            "io-uring".to_owned(),
            "clone3".to_owned(),
            "session-keys".to_owned(),
            "limit-of-first".to_owned(),
            "type /dev/tty".to_owned(),
            "lease README.md".to_owned(),
        ] {
            let text = yard.refused(&format!("{HOSTILE} {attempt}")).await;
            assert!(text.contains("refused"), "{attempt}: {text}");
        }
        // With namespaces the user's other processes are not there.
        if !has_namespaces {
            for attempt in ["priority-of-user", "io-priority-of-user"] {
                let text = yard.refused(&format!("{HOSTILE} {attempt}")).await;
                assert!(text.contains("refused"), "{attempt}: {text}");
            }
        }
        assert!(tcp.accept().is_err());
        assert!(udp.recv(&mut [0; 9]).is_err());
        match has_namespaces {
            true => yard.succeeds(&format!("{HOSTILE} own-loopback")).await,
            false => yard.refused(&format!("{HOSTILE} own-loopback")).await,
        };

        // Granted, the network is there; the sockets of other programs are not.
        let line = format!("{HOSTILE} tcp {to_tcp} && {HOSTILE} udp {to_udp}");
        let arguments = json!({ "command": line, "network": true });
        let ran = yard.call("run_terminal_command", arguments, yes()).await;
        assert!(
            ran.as_ref().unwrap().text.ends_with("exit status 0"),
            "{ran:?}"
        );
        assert!(tcp.accept().is_ok());
        assert!(udp.recv(&mut [0; 9]).is_ok());
        let line = format!("{HOSTILE} unix {}", stream.display());
        let arguments = json!({ "command": line, "network": true });
        let ran = yard.call("run_terminal_command", arguments, yes()).await;
        assert!(
            ran.as_ref().unwrap().text.ends_with("exit status 7"),
            "{ran:?}"
        );
    }
}

#[tokio::test]
async fn nobody_outside_can_be_signalled() {
    let pid = std::process::id();
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        // A sandbox that is also a process of its own: a bystander of the same user.
        let mut bystander = std::process::Command::new("sleep")
            .arg("300")
            .spawn()
            .unwrap();
        yard.refused(&format!("kill -9 {pid}")).await;
        yard.refused(&format!("kill -9 {}", bystander.id())).await;
        // Its supervisor, where it can see it at all.
        yard.run("kill -9 $PPID; echo still here").await;
        // Everybody it can.
        yard.run("kill -9 -1; sleep 0").await;
        assert!(bystander.try_wait().unwrap().is_none());
        bystander.kill().unwrap();
        bystander.wait().unwrap();
        assert_alive(&yard.host).await;
    }
}

#[tokio::test]
async fn there_is_nobody_to_ask() {
    for has_namespaces in BOTH {
        let yard = Yard::with(has_namespaces, |_, _| {});
        yard.refused("read line").await;
        yard.refused(": < /dev/tty").await;
        let text = yard.run("cat; tty; id -u").await.text;
        assert!(text.contains("not a tty"), "{text}");
        let user = rustix::process::getuid().as_raw().to_string();
        assert!(text.contains(&user), "{text}");
        let status = yard.succeeds("cat /proc/$$/status").await;
        for line in [
            "CapEff:\t0000000000000000",
            "CapBnd:\t0000000000000000",
            "NoNewPrivs:\t1",
            "Seccomp:\t2",
        ] {
            // The bounding set belongs to the superuser.
            let is_bounding = line.starts_with("CapBnd") && user != "0";
            assert!(is_bounding || status.contains(line), "{line}: {status}");
        }
    }
}
