//! Which environment variables reach the programs that run for a model: commands and MCP servers.
//!
//! The table lists what is allowed, because a secret may be in a variable of any name: `DATABASE_URL`, `COOKIE`, the
//! address of a proxy. Variables that are not in `ALLOWED` are withheld, unless `[commands] environment` names them.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::Path;

use url::Url;

use dunlin_terminal::variables::Replaced;

use super::env::Environment;

/// Variables that a program gets for one reason, which a comment in `ALLOWED` gives: why programs need them, and why
/// they hold no secret.
struct Group {
    kind: Kind,
    names: &'static [&'static str],
}

/// How the values of a group are cleaned. No kind lets an address with a user name or password in it through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// As it is.
    Text,
    /// Folders or files, separated by `:`. Only absolute ones are kept: an empty or relative one would be in the project, and
    /// the project's author would decide which libraries are loaded.
    Paths,
    /// The address of a proxy, without a user name and password.
    Proxy,
    /// A locale, if its encoding is UTF-8: Dunlin reads command lines as UTF-8, and in some encodings a shell would take a
    /// quotation mark or a backslash for a part of the letter before it.
    Locale,
}

const ALLOWED: &[Group] = &[
    Group {
        // Who the user is, as far as every process on the machine can see that.
        kind: Kind::Text,
        names: &["HOME", "LOGNAME", "SHELL", "USER"],
    },
    Group {
        // Where programs are: the shell has to find the very program that was granted.
        kind: Kind::Paths,
        names: &["PATH"],
    },
    Group {
        // The language of messages, the order of letters, the local time.
        kind: Kind::Text,
        names: &["LANGUAGE", "TZ", "TZDIR"],
    },
    Group {
        // The categories of locale(7); not LC_* as a whole, since people hide secrets there that sshd lets through.
        kind: Kind::Locale,
        names: &[
            "LANG",
            "LC_ADDRESS",
            "LC_ALL",
            "LC_COLLATE",
            "LC_CTYPE",
            "LC_IDENTIFICATION",
            "LC_MEASUREMENT",
            "LC_MESSAGES",
            "LC_MONETARY",
            "LC_NAME",
            "LC_NUMERIC",
            "LC_PAPER",
            "LC_TELEPHONE",
            "LC_TIME",
        ],
    },
    Group {
        // Where programs keep settings, data and caches; not XDG_RUNTIME_DIR, where the sockets of other programs are.
        kind: Kind::Paths,
        names: &[
            "XDG_CACHE_HOME",
            "XDG_CONFIG_DIRS",
            "XDG_CONFIG_HOME",
            "XDG_DATA_DIRS",
            "XDG_DATA_HOME",
            "XDG_STATE_HOME",
        ],
    },
    Group {
        // C and C++: where compilers look.
        kind: Kind::Paths,
        names: &[
            "ACLOCAL_PATH",
            "CMAKE_PREFIX_PATH",
            "CPATH",
            "CPLUS_INCLUDE_PATH",
            "C_INCLUDE_PATH",
            "GI_TYPELIB_PATH",
            "LD_LIBRARY_PATH",
            "LIBRARY_PATH",
            "PKG_CONFIG_LIBDIR",
            "PKG_CONFIG_PATH",
            "PKG_CONFIG_SYSROOT_DIR",
        ],
    },
    Group {
        // C and C++: which compiler, and how it is called.
        kind: Kind::Text,
        names: &[
            "AR",
            "CC",
            "CFLAGS",
            "CMAKE_BUILD_PARALLEL_LEVEL",
            "CMAKE_BUILD_TYPE",
            "CMAKE_GENERATOR",
            "CPP",
            "CPPFLAGS",
            "CXX",
            "CXXFLAGS",
            "LD",
            "LDFLAGS",
            "MAKEFLAGS",
            "NM",
            "PKG_CONFIG",
            "RANLIB",
        ],
    },
    Group {
        // Rust: where the toolchain is.
        kind: Kind::Paths,
        names: &["CARGO_HOME", "CARGO_TARGET_DIR", "RUSTUP_HOME"],
    },
    Group {
        // Rust: how it builds; CARGO_* as a whole would take the tokens of registries along.
        kind: Kind::Text,
        names: &[
            "CARGO_BUILD_JOBS",
            "CARGO_INCREMENTAL",
            "CARGO_NET_OFFLINE",
            "RUSTC_WRAPPER",
            "RUSTDOCFLAGS",
            "RUSTFLAGS",
            "RUSTUP_DIST_SERVER",
            "RUSTUP_TOOLCHAIN",
            "RUSTUP_UPDATE_ROOT",
            "RUST_BACKTRACE",
            "RUST_LOG",
            "RUST_MIN_STACK",
            "RUST_TEST_THREADS",
        ],
    },
    Group {
        // Go: where the toolchain is.
        kind: Kind::Paths,
        names: &["GOBIN", "GOCACHE", "GOMODCACHE", "GOPATH", "GOROOT"],
    },
    Group {
        // Go: how it builds and where modules come from.
        kind: Kind::Text,
        names: &[
            "CGO_ENABLED",
            "GO111MODULE",
            "GOARCH",
            "GOEXPERIMENT",
            "GOFLAGS",
            "GONOPROXY",
            "GONOSUMDB",
            "GOOS",
            "GOPRIVATE",
            "GOPROXY",
            "GOSUMDB",
            "GOTOOLCHAIN",
        ],
    },
    Group {
        // Java: where the toolchain is.
        kind: Kind::Paths,
        names: &[
            "ANDROID_HOME",
            "ANDROID_SDK_ROOT",
            "CLASSPATH",
            "GRADLE_USER_HOME",
            "JAVA_HOME",
            "M2_HOME",
            "MAVEN_HOME",
        ],
    },
    Group {
        // JavaScript: where the toolchain is.
        kind: Kind::Paths,
        names: &[
            "BUN_INSTALL",
            "COREPACK_HOME",
            "DENO_DIR",
            "FNM_DIR",
            "NODE_EXTRA_CA_CERTS",
            "NODE_PATH",
            "NVM_BIN",
            "NVM_DIR",
            "NVM_INC",
            "PNPM_HOME",
            "VOLTA_HOME",
        ],
    },
    Group {
        // JavaScript: how it runs; not NPM_CONFIG_*, which holds the tokens of registries.
        kind: Kind::Text,
        names: &["NODE_ENV", "NODE_OPTIONS"],
    },
    Group {
        // Python: where the toolchain and its environments are.
        kind: Kind::Paths,
        names: &[
            "CONDA_EXE",
            "CONDA_PREFIX",
            "PIPX_HOME",
            "POETRY_HOME",
            "PYENV_ROOT",
            "PYTHONHOME",
            "PYTHONPATH",
            "UV_CACHE_DIR",
            "UV_PYTHON_INSTALL_DIR",
            "VIRTUAL_ENV",
        ],
    },
    Group {
        // Python: how it runs and where packages come from.
        kind: Kind::Text,
        names: &[
            "CONDA_DEFAULT_ENV",
            "PIP_DISABLE_PIP_VERSION_CHECK",
            "PIP_INDEX_URL",
            "PYTHONDONTWRITEBYTECODE",
            "PYTHONHASHSEED",
            "PYTHONIOENCODING",
            "PYTHONUNBUFFERED",
            "PYTHONUTF8",
            "UV_INDEX_URL",
        ],
    },
    Group {
        // Other languages and package managers: where their toolchains are.
        kind: Kind::Paths,
        names: &[
            "ASDF_DATA_DIR",
            "ASDF_DIR",
            "COMPOSER_HOME",
            "DOTNET_ROOT",
            "GEM_HOME",
            "GEM_PATH",
            "GUIX_PROFILE",
            "HOMEBREW_CELLAR",
            "HOMEBREW_PREFIX",
            "HOMEBREW_REPOSITORY",
            "MIX_HOME",
            "NIX_PROFILES",
            "NIX_SSL_CERT_FILE",
            "OPAM_SWITCH_PREFIX",
            "PERL5LIB",
            "RBENV_ROOT",
            "RUBYLIB",
            "SDKMAN_DIR",
        ],
    },
    Group {
        // Which certificates are trusted: public, and without them nothing works behind a company's proxy.
        kind: Kind::Paths,
        names: &[
            "AWS_CA_BUNDLE",
            "CARGO_HTTP_CAINFO",
            "CURL_CA_BUNDLE",
            "DENO_CERT",
            "GIT_SSL_CAINFO",
            "GIT_SSL_CAPATH",
            "PIP_CERT",
            "REQUESTS_CA_BUNDLE",
            "SSL_CERT_DIR",
            "SSL_CERT_FILE",
        ],
    },
    Group {
        // The way out of a company's network, for commands that were granted it.
        kind: Kind::Proxy,
        names: &[
            "ALL_PROXY",
            "FTP_PROXY",
            "HTTPS_PROXY",
            "HTTP_PROXY",
            "all_proxy",
            "ftp_proxy",
            "http_proxy",
            "https_proxy",
        ],
    },
    Group {
        // What proxies are not used for; builds that can be repeated; that nobody sits at a terminal.
        kind: Kind::Text,
        names: &["CI", "NO_PROXY", "SOURCE_DATE_EPOCH", "no_proxy"],
    },
];

/// Variables that keep programs from waiting for a person and from drawing, since a model reads the output.
const SET: &[(&str, &str)] = &[
    ("CARGO_TERM_COLOR", "never"),
    ("CLICOLOR", "0"),
    ("DEBIAN_FRONTEND", "noninteractive"),
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("TERM", "dumb"),
];

/// Variables that the shell of a command sets itself. They are neither passed on nor reported as withheld.
const SET_BY_SHELLS: &[&str] = &["OLDPWD", "PWD", "SHLVL", "TMPDIR", "_"];

/// The variables that a program gets, and the names of those that it does not get.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Filtered {
    /// Name and value.
    pub passed: Vec<(OsString, OsString)>,
    /// The names of the other variables, sorted, without those that Dunlin or the shell sets itself.
    pub withheld: Vec<String>,
}

/// The environment of a program: the variables that `ALLOWED` lets through, those that the user `named` with unchanged
/// values, and those that Dunlin sets. The variables in `keys` hold the keys of providers and are never passed on.
pub fn filtered(environment: &Environment, named: &[&str], keys: &[&str]) -> Filtered {
    let mut filtered = Filtered::default();
    for (name, value) in environment.all() {
        let text = name.to_string_lossy();
        if SET.iter().any(|(set, _)| *set == text) || SET_BY_SHELLS.contains(&&*text) {
            continue;
        }
        let is_key = keys.contains(&&*text);
        let kind = kind_of(&text);
        let passed = match named.contains(&&*text) {
            _ if is_key => None,
            // How a line is read is not for the configuration to decide.
            true if kind != Some(Kind::Locale) => Some(value.to_owned()),
            _ => kind.and_then(|kind| clean(kind, value)),
        };
        match passed {
            Some(value) => filtered.passed.push((name.to_owned(), value)),
            None => filtered.withheld.push(text.into_owned()),
        }
    }
    let set = SET.iter().map(|(name, value)| (name.into(), value.into()));
    filtered.passed.extend(set);
    filtered
}

/// Whether a variable that passes lists folders.
pub fn lists_folders(name: &OsStr) -> bool {
    kind_of(&name.to_string_lossy()) == Some(Kind::Paths)
}

/// What a program that runs with the user's rights gets otherwise than Dunlin itself: no path to what commands can change.
/// A library or a module there would run with these rights as a program in `PATH` does, and which variables name such
/// things is a list without end: so this holds for every variable. Those that are known to list folders also lose paths
/// that depend on where one stands, and folders in which commands can change something.
pub fn replaced(
    environment: &Environment,
    is_changeable: impl Fn(&Path) -> bool,
    is_replaceable: impl Fn(&Path) -> bool,
) -> Replaced {
    let all = environment.all().filter_map(|(name, value)| {
        let lists_folders = lists_folders(name);
        let is_kept = |path: &Path| match path.is_absolute() {
            true if lists_folders => !is_changeable(path),
            true => !is_replaceable(path),
            false => !lists_folders,
        };
        let kept = paths(value, is_kept);
        let is_same = kept.as_deref() == Some(value);
        (!is_same).then(|| (name.to_owned(), kept))
    });
    all.collect()
}

/// What is wrong with a name in `[commands] environment`, which is its entry with this number, from 1.
pub fn name_problem(name: &str, number: usize) -> Option<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    if name.is_empty()
        || !name.chars().all(is_name)
        || name.starts_with(|c: char| c.is_ascii_digit())
    {
        // The text is not repeated: it may contain a value, and the value may be a secret.
        return Some(format!(
            "entry {number} of commands.environment is not a name: it takes names of variables alone, such as \
             \"DATABASE_URL\", without values"
        ));
    }
    let is_set = SET.iter().any(|(set, _)| *set == name) || SET_BY_SHELLS.contains(&name);
    is_set.then(|| format!("commands.environment names {name}, which Dunlin sets itself"))
}

fn kind_of(name: &str) -> Option<Kind> {
    let mut groups = ALLOWED.iter();
    let group = groups.find(|group| group.names.contains(&name));
    group.map(|group| group.kind)
}

/// A value as it is passed on. `None`: the variable is withheld.
fn clean(kind: Kind, value: &OsStr) -> Option<OsString> {
    match kind {
        Kind::Text => (!has_credentials(value)).then(|| value.to_owned()),
        Kind::Paths => paths(value, Path::is_absolute),
        Kind::Proxy => proxy(value.to_str()?).map(OsString::from),
        Kind::Locale => is_utf8_locale(value.to_str()?).then(|| value.to_owned()),
    }
}

/// Whether the encoding of a locale is UTF-8, or ASCII as in the standard locale.
fn is_utf8_locale(value: &str) -> bool {
    let value = value.split('@').next().unwrap_or_default();
    let codeset = value.split_once('.').map(|(_, codeset)| codeset);
    match codeset {
        Some(codeset) => ["utf-8", "utf8"]
            .iter()
            .any(|it| codeset.eq_ignore_ascii_case(it)),
        None => matches!(value, "" | "C" | "POSIX"),
    }
}

/// The paths of a list that are kept.
fn paths(value: &OsStr, is_kept: impl Fn(&Path) -> bool) -> Option<OsString> {
    let parts = value.as_bytes().split(|byte| *byte == b':');
    let kept = parts.filter(|part| is_kept(Path::new(OsStr::from_bytes(part))));
    let kept: Vec<&[u8]> = kept.collect();
    (!kept.is_empty()).then(|| OsString::from_vec(kept.join(&b':')))
}

/// Whether a value may hold an address with a user name or password, or with a query, which often is a token: anything with
/// one of these characters behind `://`. A password can contain any character, so no character ends the search.
fn has_credentials(value: &OsStr) -> bool {
    let text = value.to_string_lossy();
    text.split_once("://")
        .is_some_and(|(_, rest)| rest.contains(['@', '?']))
}

/// The address of a proxy without user name, password and query. Some programs accept it without `http://`.
fn proxy(value: &str) -> Option<String> {
    let (scheme, rest) = value.split_once("://").unwrap_or(("http", value));
    let mut url = Url::parse(&format!("{scheme}://{rest}")).ok()?;
    if url.host_str().is_none_or(str::is_empty) {
        return None;
    }
    if url.username().is_empty() && url.password().is_none() && url.query().is_none() {
        return (!has_credentials(OsStr::new(&format!("{scheme}://{rest}"))))
            .then(|| value.to_owned());
    }
    url.set_username("").ok()?;
    url.set_password(None).ok()?;
    url.set_query(None);
    url.set_fragment(None);
    Some(url.to_string())
}

#[cfg(test)]
mod tests;
