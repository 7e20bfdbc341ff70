//! Opening the chat costs nothing: no thread, no connection, no file of the cache, no compiled code.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use dunlin_tests::{Environment, Provider, Response, Terminal};

use crate::stage::{Chat, environment, files_below, read};

fn of_process(terminal: &Terminal, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", terminal.id().as_raw_nonzero()))
}

/// What is true of the program at its first prompt.
#[track_caller]
fn assert_idle(terminal: &Terminal) {
    let threads = fs::read_dir(of_process(terminal, "task")).unwrap().count();
    assert_eq!(threads, 1);
    let maps = fs::read_to_string(of_process(terminal, "maps")).unwrap();
    assert!(
        !maps.contains("/cache/dunlin/") && !maps.contains("cwasm"),
        "{maps}"
    );
    for file in fs::read_dir(of_process(terminal, "fd")).unwrap() {
        let target = fs::read_link(file.unwrap().path()).unwrap_or_default();
        let target = target.display().to_string();
        // No file of Dunlin's own folders stays open.
        assert!(!target.contains("/dunlin/"), "{target}");
    }
    for protocol in ["net/tcp", "net/tcp6"] {
        let sockets = own_sockets(terminal);
        let table = fs::read_to_string(of_process(terminal, protocol)).unwrap_or_default();
        let own = table.lines().filter(|line| {
            let inode = line.split_whitespace().nth(9).unwrap_or_default();
            sockets.iter().any(|socket| socket == inode)
        });
        assert_eq!(own.count(), 0, "{protocol}");
    }
}

/// The numbers of the sockets that the program has open.
fn own_sockets(terminal: &Terminal) -> Vec<String> {
    let files = fs::read_dir(of_process(terminal, "fd")).expect("the open files");
    files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .filter_map(|target| {
            let target = target.to_str()?.strip_prefix("socket:[")?;
            Some(target.strip_suffix(']')?.to_owned())
        })
        .collect()
}

/// All files of the cache with their last access and change.
fn cache(environment: &Environment) -> Vec<(PathBuf, SystemTime, SystemTime)> {
    let files = files_below(&environment.cache()).into_iter();
    files
        .map(|path| {
            let metadata = fs::metadata(&path).expect("a file of the cache");
            let accessed = metadata.accessed().expect("a time");
            (path, accessed, metadata.modified().expect("a time"))
        })
        .collect()
}

#[test]
fn the_first_prompt_touches_nothing() {
    let provider = Provider::play([read("a.txt"), Response::reply("Read.")]);
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    assert_idle(&chat.terminal);
    assert!(!environment.cache().exists());
    assert!(!environment.data().exists());
    assert!(chat.turn("read it").contains("✓ read_file"));
    chat.leave();

    let before = cache(&environment);
    assert!(!before.is_empty());
    let chat = Chat::open(&environment);
    assert_idle(&chat.terminal);
    assert_eq!(cache(&environment), before);
    chat.leave();
}

#[test]
fn a_second_session_compiles_nothing() {
    let provider = Provider::always(Response::reply("Yes."));
    let environment = environment(&provider);
    environment.project_file("a.txt", "text");
    assert_eq!(environment.run(["ask", "hello"]).status, Some(0));
    let written = |environment: &Environment| -> Vec<(PathBuf, SystemTime)> {
        let files = cache(environment).into_iter();
        files.map(|(path, _, modified)| (path, modified)).collect()
    };
    let before = written(&environment);
    assert_eq!(environment.run(["ask", "hello"]).status, Some(0));
    assert_eq!(written(&environment), before);
}
