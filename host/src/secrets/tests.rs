use super::*;

#[test]
fn secrets_are_known_by_their_paths() {
    for (path, secret) in [
        ("/p/.env", true),
        ("/p/.env.production", true),
        ("/p/.ENV", true),
        ("/p/.envrc", true),
        ("/p/environment.rs", false),
        ("/p/src/env.rs", false),
        ("/p/id_rsa", true),
        ("/p/id_rsa.pub", false),
        ("/p/tls/server.key", true),
        ("/p/tls/server.crt", false),
        ("/p/keyboard.rs", false),
        ("/p/.ssh", true),
        ("/p/.ssh/known_hosts", true),
        ("/p/.ssh/sub/file", true),
        ("/p/.SSH/id", true),
        ("/p/.git/config", true),
        ("/p/.git/HEAD", false),
        ("/p/.git/modules/a/b/config", true),
        ("/p/.git/modules/a/HEAD", false),
        ("/p/prod.env", true),
        ("/p/config", false),
        ("/p/.aws/config", true),
        ("/p/credentials.json", true),
        ("/home/bob/.config/gh/hosts.yml", true),
        ("/p/dotfiles/.config/gh/hosts.yml", true),
        ("/p/.docker/config.json", true),
        ("/p/.docker/Dockerfile", false),
        ("/p/.kube/config", true),
        ("/home/bob/.bash_history", true),
        ("/home/bob/.node_repl_history", true),
        ("/p/history.rs", false),
        ("/p/.vault_pass.txt", true),
        ("/home/bob/passwords.kdbx", true),
        // Settings of a project that a program shares with the user's own folder of that name.
        ("/p/.claude/settings.json", false),
        ("/p/.gemini/settings.json", false),
        ("/etc/shadow", true),
        ("/etc/sudoers.d/admin", true),
        ("/etc/passwd", false),
        ("/p/etc/shadow", false),
        ("/run/secrets/db", true),
        ("/run/user/1000/containers/auth.json", true),
        ("/proc/1/environ", true),
        ("/proc/1/status", false),
        ("/p/environ", false),
        ("/", false),
        ("relative/.env", true),
        // What Dunlin puts beside a file is as secret as that.
        ("/p/..env.dunlin-e9cbb022.tmp", true),
        ("/p/..env.dunlin-e9cbb022-17.kept", true),
        ("/p/.id_rsa.dunlin-e9cbb022.removed", true),
        ("/p/.docker/.config.json.dunlin-e9cbb022.removed", true),
        ("/p/.git/.config.dunlin-e9cbb022.tmp", true),
        ("/p/.a.txt.dunlin-e9cbb022.tmp", false),
        ("/p/.config.dunlin-e9cbb022.tmp", false),
        // So are the copies that other programs make beside it.
        ("/p/.npmrc~", true),
        ("/p/ID_RSA.BAK", true),
        ("/p/.npmrc.~12~", true),
        ("/p/#.npmrc#", true),
        ("/p/.#.npmrc", true),
        ("/p/.npmrc.swp", true),
        ("/p/.id_rsa.swo", true),
        ("/p/id_rsa.bak.old", true),
        ("/p/~.id_rsa.swp~.swp.bak", false),
        ("/p/..id_rsa.swp~.swp.bak", true),
        ("/p/prod.env.bak", true),
        ("/p/server.pem.orig", true),
        ("/p/.git/config.lock", true),
        ("/p/.docker/config.json~", true),
        ("/p/.git/index.lock", false),
        ("/p/Cargo.lock", false),
        ("/p/main.rs.orig", false),
        ("/p/config.json~", false),
        ("/p/id_rsa.pub~", false),
        ("/p/#", false),
        ("/p/~", false),
        ("/p/.~", false),
        ("", false),
    ] {
        assert_eq!(looks_secret(Path::new(path)), secret, "{path}");
    }
}

#[test]
fn locations_follow_the_variables() {
    let root = tempfile::tempdir().unwrap();
    let root = root.path();
    let (ada, bob) = (root.join("home/ada"), root.join("home/bob"));
    for folder in [&ada, &bob.join(".ssh")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    std::fs::write(ada.join(".mongo_history"), "").unwrap();
    std::fs::write(ada.join("notes.txt"), "").unwrap();
    for file in [
        ".unknown/credentials.json",
        ".config/unknown/token.json",
        ".local/share/unknown/secrets.yaml",
        ".local/state/unknown/AUTH.json",
        ".toolchain/ca.pem",
        ".config/toolchain/settings.json",
    ] {
        let path = ada.join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, "").unwrap();
    }
    let variables: HashMap<&str, String> = [
        ("XDG_CONFIG_HOME", "/elsewhere/config"),
        ("XDG_DATA_HOME", "relative"),
        ("KUBECONFIG", "/one/kube.yaml:two.yaml:"),
        ("CARGO_HOME", "/cargo"),
        ("GNUPGHOME", "/"),
        ("DOCKER_CONFIG", "HOME"),
    ]
    .map(|(name, value)| (name, value.replace("HOME", ada.to_str().unwrap())))
    .into();
    let homes = [ada.clone(), bob.clone()];
    let found = Surroundings::new(&homes, Path::new("/project"), |name| {
        variables.get(name).map(OsStr::new)
    });
    let found = found.locations();
    for expected in [
        ada.join(".ssh"),
        ada.join(".mozilla"),
        ada.join(".netrc"),
        ada.join(".mongo_history"),
        ada.join(".config/gh"),
        ada.join(".authinfo"),
        ada.join(".mcp-auth"),
        ada.join(".vnc/passwd"),
        ada.join(".kde/share/apps/kwallet"),
        ada.join(".restic-password"),
        "/elsewhere/config/cloudflared".into(),
        "/elsewhere/config/Cursor/User/globalStorage".into(),
        "/elsewhere/config/goose/secrets.yaml".into(),
        // Names that tell it, in the folder of any program.
        ada.join(".unknown/credentials.json"),
        ada.join(".config/unknown/token.json"),
        ada.join(".local/share/unknown/secrets.yaml"),
        ada.join(".local/state/unknown/AUTH.json"),
        "/elsewhere/config/gh".into(),
        ada.join(".local/share/keyrings"),
        bob.join(".ssh"),
        "/one/kube.yaml".into(),
        "/project/two.yaml".into(),
        "/cargo/credentials.toml".into(),
        "/etc/shadow".into(),
    ] {
        assert!(found.contains(&expected), "{}", expected.display());
    }
    // Nothing that would hide a home, and of others' homes only what is there.
    for absent in [
        ada.clone(),
        "/".into(),
        "relative/keyrings".into(),
        ada.join("notes.txt"),
        ada.join(".toolchain/ca.pem"),
        ada.join(".config/toolchain/settings.json"),
        bob.join(".mozilla"),
    ] {
        assert!(!found.contains(&absent), "{}", absent.display());
    }
    assert!(found.iter().all(|path| path.is_absolute()), "{found:?}");
}

#[test]
fn the_table_is_well_formed() {
    for rule in RULES {
        let (path, is_lower) = match *rule {
            Rule::Home(path) | Rule::Config(path) | Rule::Data(path) => (path, false),
            Rule::Anywhere(path) | Rule::Root(path) | Rule::Below(_, path) => (path, false),
            Rule::Name(path) | Rule::Start(path) | Rule::End(path) | Rule::Tail(path) => {
                (path, true)
            }
            Rule::Variable(name) => (name, false),
        };
        assert!(!path.is_empty(), "{rule:?}");
        assert!(!path.starts_with('/') && !path.ends_with('/'), "{rule:?}");
        assert!(!is_lower || path == path.to_ascii_lowercase(), "{rule:?}");
    }
}

#[test]
fn what_may_be_many_copies_is_judged_at_once() {
    // Each step may be read in two ways.
    let swaps = format!("{}x{}", ".".repeat(50), ".swp".repeat(50));
    assert!(!looks_secret(Path::new("/p").join(&swaps).as_path()));
    // No more than the name has parts to begin and end with.
    assert!(originals(&swaps).len() < 50 * 51);
}
