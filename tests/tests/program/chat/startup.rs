//! Opening the chat costs next to nothing: one thread that waits for inspectors, no connection, no file of the cache, no
//! compiled code.

use std::fs;
use std::path::PathBuf;
use std::time::SystemTime;

use dunlin_tests::{Environment, Provider, Response, Terminal, program};

use crate::stage::{Chat, environment, files_below, read};

fn of_process(terminal: &Terminal, name: &str) -> PathBuf {
    PathBuf::from(format!("/proc/{}/{name}", terminal.id().as_raw_nonzero()))
}

/// What is true of the program at its first prompt.
#[track_caller]
fn assert_idle(terminal: &Terminal) {
    let threads = fs::read_dir(of_process(terminal, "task"))
        .expect("the threads")
        .count();
    // One waits for inspectors and does nothing else.
    assert_eq!(threads, 2);
    let maps = fs::read_to_string(of_process(terminal, "maps")).expect("the maps");
    assert!(
        !maps.contains("/cache/dunlin/") && !maps.contains("cwasm"),
        "{maps}"
    );
    let open = open_files(terminal);
    // That thread may be making its socket, in a folder that holds nothing else.
    let is_own = |file: &&String| file.contains("/dunlin/") && !file.ends_with("/dunlin/run");
    assert_eq!(open.iter().find(is_own), None, "{open:?}");
    // Each line of these tables holds the number of a socket, for all programs of the machine.
    for protocol in ["net/tcp", "net/tcp6"] {
        let table = fs::read_to_string(of_process(terminal, protocol)).unwrap_or_default();
        let own = table.lines().filter(|line| {
            let number = line.split_whitespace().nth(9).unwrap_or_default();
            open.contains(&format!("socket:[{number}]"))
        });
        assert_eq!(own.count(), 0, "{protocol}");
    }
}

/// What the program has open: paths, and names such as `socket:[4711]`.
fn open_files(terminal: &Terminal) -> Vec<String> {
    let files = fs::read_dir(of_process(terminal, "fd")).expect("the open files");
    files
        .filter_map(|file| fs::read_link(file.ok()?.path()).ok())
        .map(|target| target.display().to_string())
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
    let environment = environment(&provider).cold();
    environment.project_file("a.txt", "text");
    let mut chat = Chat::open(&environment);
    assert_idle(&chat.terminal);
    assert!(!environment.cache().exists());
    let data: Vec<PathBuf> = files_below(&environment.data());
    assert_eq!(data.len(), 1, "only the socket for inspectors: {data:?}");
    assert!(data[0].starts_with(environment.data().join("run")));
    assert!(chat.turn("read it").contains("✓ 1 read_file"));
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
    let environment = environment(&provider).cold();
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

/// A number in a file of the format ELF.
fn number<const BYTES: usize>(file: &[u8], at: u64) -> u64 {
    let mut number = [0; 8];
    let at = at as usize;
    number[..BYTES].copy_from_slice(&file[at..at + BYTES]);
    u64::from_le_bytes(number)
}

#[test]
#[cfg(target_pointer_width = "64")]
fn the_program_lies_anywhere_and_its_addresses_are_read_only() {
    let file = fs::read(program!()).expect("the program");
    let is_movable = number::<2>(&file, 16) == 3;
    assert!(is_movable, "it always lies at the same place");
    let (headers, size, count) = (
        number::<8>(&file, 32),
        number::<2>(&file, 54),
        number::<2>(&file, 56),
    );
    let header = |wanted: u64| {
        (0..count)
            .map(|at| headers + at * size)
            .find(|&header| number::<4>(&file, header) == wanted)
    };
    assert!(header(0x6474_e552).is_some(), "nothing becomes read-only");
    let stack = header(0x6474_e551).expect("what the stack may be");
    assert_eq!(number::<4>(&file, stack + 4) & 1, 0, "the stack can be run");
    let dynamic = header(2).expect("what the loader reads");
    let (begin, length) = (
        number::<8>(&file, dynamic + 8),
        number::<8>(&file, dynamic + 32),
    );
    // Functions of libraries are found at the start, so that the table of their addresses needs no change later.
    let is_bound_at_start = (begin..begin + length).step_by(16).any(|entry| {
        number::<8>(&file, entry) == 0x6fff_fffb && number::<8>(&file, entry + 8) & 1 != 0
    });
    assert!(is_bound_at_start, "the table of functions can be written");
}
