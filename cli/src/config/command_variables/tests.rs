use super::*;

fn filter(variables: &[(&str, &str)], named: &[&str], keys: &[&str]) -> Filtered {
    let environment = variables.iter().copied().collect();
    filtered(&environment, named, keys)
}

/// What becomes of a value.
fn passed(name: &str, value: &str) -> Option<String> {
    let mut passed = filter(&[(name, value)], &[], &[]).passed.into_iter();
    let found = passed.find(|(other, _)| other == name);
    found.map(|(_, value)| value.into_string().unwrap())
}

#[test]
fn only_what_is_known_passes() {
    for name in [
        "ANTHROPIC_API_KEY",
        "AWS_ACCESS_KEY_ID",
        "BASH_ENV",
        "BASH_FUNC_ls%%",
        "CARGO_REGISTRY_TOKEN",
        "CARGO_REGISTRIES_MINE_TOKEN",
        "COOKIE",
        "DATABASE_URL",
        "DBUS_SESSION_BUS_ADDRESS",
        "DISPLAY",
        "DOCKER_HOST",
        "GITHUB_TOKEN",
        "JWT",
        "LC_API_TOKEN",
        "LD_PRELOAD",
        "NPM_CONFIG__AUTH",
        "PGPASSWORD",
        "SENTRY_DSN",
        "SHELLOPTS",
        "SSH_AUTH_SOCK",
        "SOMETHING_NEW",
        "UV_INDEX_MINE_PASSWORD",
        "XDG_RUNTIME_DIR",
        "path",
    ] {
        let filtered = filter(&[(name, "/value")], &[], &[]);
        assert_eq!(filtered.withheld, [name]);
        let is_passed = filtered.passed.iter().any(|(other, _)| other == name);
        assert!(!is_passed, "{name}");
    }
    for name in [
        "CARGO_HOME",
        "CC",
        "GOPATH",
        "HOME",
        "JAVA_HOME",
        "LD_LIBRARY_PATH",
        "NODE_OPTIONS",
        "RUSTFLAGS",
        "RUSTUP_HOME",
        "SSL_CERT_FILE",
        "TZ",
        "USER",
        "VIRTUAL_ENV",
        "XDG_CACHE_HOME",
    ] {
        assert_eq!(passed(name, "/value").as_deref(), Some("/value"), "{name}");
    }
    // What the shell sets anew is neither passed on nor missed.
    let filtered = filter(&[("PWD", "/p"), ("SHLVL", "1"), ("TERM", "x")], &[], &[]);
    assert_eq!(filtered.withheld, Vec::<String>::new());
    assert!(!filtered.passed.iter().any(|(name, _)| name == "PWD"));
}

#[test]
fn only_locales_in_utf8_are_passed_on() {
    for (value, is_passed) in [
        ("C", true),
        ("POSIX", true),
        ("", true),
        ("C.UTF-8", true),
        ("de_DE.utf8@euro", true),
        ("zh_CN.GBK", false),
        ("zh_CN.GB18030", false),
        ("zh_TW", false),
        ("ja_JP.SHIFT_JIS", false),
        ("japanese.sjis", false),
        ("de_DE@euro", false),
        ("C.UTF-8.GBK", false),
        ("SECRET", false),
    ] {
        for name in ["LANG", "LC_ALL", "LC_CTYPE", "LC_MESSAGES"] {
            for named in [&[][..], &[name]] {
                let filtered = filter(&[(name, value)], named, &[]);
                let found = filtered.passed.iter().any(|(other, _)| other == name);
                assert_eq!(found, is_passed, "{name}={value}");
            }
        }
    }
}

#[test]
fn the_project_folder_is_in_no_list_of_folders() {
    for (value, expected) in [
        ("/usr/lib:/opt/lib", Some("/usr/lib:/opt/lib")),
        (":/usr/lib", Some("/usr/lib")),
        ("/usr/lib:", Some("/usr/lib")),
        ("/usr/lib::/opt/lib", Some("/usr/lib:/opt/lib")),
        (".:/usr/lib:lib:../lib", Some("/usr/lib")),
        ("", None),
        (":", None),
        (".", None),
        ("lib", None),
    ] {
        for name in [
            "LD_LIBRARY_PATH",
            "PYTHONPATH",
            "PERL5LIB",
            "NODE_PATH",
            "PATH",
        ] {
            assert_eq!(passed(name, value).as_deref(), expected, "{name}={value}");
        }
    }
}

#[test]
fn no_password_passes() {
    for (name, value, expected) in [
        ("http_proxy", "http://proxy:8080", Some("http://proxy:8080")),
        ("http_proxy", "proxy:8080", Some("proxy:8080")),
        (
            "HTTPS_PROXY",
            "http://ada:pw@proxy:8080",
            Some("http://proxy:8080/"),
        ),
        (
            "https_proxy",
            "http://ada@proxy:8080/",
            Some("http://proxy:8080/"),
        ),
        (
            "http_proxy",
            "ada:pw@proxy:8080",
            Some("http://proxy:8080/"),
        ),
        (
            "ALL_PROXY",
            "socks5://ada:pw@proxy:1080",
            Some("socks5://proxy:1080"),
        ),
        ("http_proxy", "http://a:b@c:d@proxy/", Some("http://proxy/")),
        ("http_proxy", "http://proxy/?token=1", Some("http://proxy/")),
        ("http_proxy", "http://", None),
        ("http_proxy", "", None),
        (
            "PIP_INDEX_URL",
            "https://packages.example/simple",
            Some("https://packages.example/simple"),
        ),
        (
            "PIP_INDEX_URL",
            "https://ada:pw@packages.example/simple",
            None,
        ),
        (
            "GOPROXY",
            "https://a.org,direct",
            Some("https://a.org,direct"),
        ),
        ("GOPROXY", "https://a.org,https://t@b.org|direct", None),
        (
            "PIP_INDEX_URL",
            "https://ada:p/w@packages.example/simple",
            None,
        ),
        (
            "UV_INDEX_URL",
            "https://ada:p#w?@packages.example/simple",
            None,
        ),
        ("http_proxy", "http://ada:p/w@proxy:8080", None),
        ("GOFLAGS", "-mod=mod", Some("-mod=mod")),
        ("RUSTFLAGS", "--cfg a=\"x@y\"", Some("--cfg a=\"x@y\"")),
        (
            "NO_PROXY",
            "localhost,.example.org",
            Some("localhost,.example.org"),
        ),
    ] {
        assert_eq!(passed(name, value).as_deref(), expected, "{name}={value}");
    }
}

#[test]
fn the_user_can_name_others_but_no_keys() {
    let variables = [
        ("DATABASE_URL", "postgres://ada:pw@localhost/db"),
        ("PYTHONPATH", "src"),
        ("MY_LLM", "secret"),
        ("JWT", "token"),
    ];
    let named = ["DATABASE_URL", "PYTHONPATH", "MY_LLM"];
    let filtered = filter(&variables, &named, &["MY_LLM"]);
    let value = |name: &str| {
        let mut all = filtered.passed.iter().filter(|(other, _)| other == name);
        all.next().map(|(_, value)| value.to_str().unwrap())
    };
    assert_eq!(
        value("DATABASE_URL"),
        Some("postgres://ada:pw@localhost/db")
    );
    assert_eq!(value("PYTHONPATH"), Some("src"));
    assert_eq!(value("MY_LLM"), None);
    assert_eq!(filtered.withheld, ["JWT", "MY_LLM"]);
    // An allowed variable that holds a key of a provider stays back as well.
    assert_eq!(filter(&[("CI", "k")], &[], &["CI"]).withheld, ["CI"]);
}

#[test]
fn nobody_is_waited_for() {
    let filtered = filter(&[("PAGER", "less"), ("HOME", "/home/ada")], &[], &[]);
    let value = |name: &str| {
        let mut all = filtered.passed.iter().filter(|(other, _)| other == name);
        let value = all.next().map(|(_, value)| value.to_str().unwrap());
        assert!(all.next().is_none(), "{name} twice");
        value
    };
    assert_eq!(value("PAGER"), Some("cat"));
    assert_eq!(value("GIT_TERMINAL_PROMPT"), Some("0"));
    assert_eq!(value("HOME"), Some("/home/ada"));
    assert_eq!(value("TMPDIR"), None);
}

#[test]
fn names_are_names() {
    for (name, is_right) in [
        ("DATABASE_URL", true),
        ("_x1", true),
        ("", false),
        ("A=b", false),
        ("A B", false),
        ("1A", false),
        ("BASH_FUNC_ls%%", false),
        ("LC_*", false),
        ("TERM", false),
        ("PWD", false),
    ] {
        assert_eq!(name_problem(name, 1).is_none(), is_right, "{name}");
    }
    // A value that was written there by mistake is not repeated.
    assert!(
        !name_problem("TOKEN=hunter2", 1)
            .unwrap()
            .contains("hunter2")
    );
}

#[test]
fn every_name_stands_once() {
    let names: Vec<&str> = ALLOWED
        .iter()
        .flat_map(|group| group.names)
        .copied()
        .collect();
    for (i, name) in names.iter().enumerate() {
        assert!(!names[..i].contains(name), "{name} twice");
    }
}
