//! Logs of JSON lines: the newest lines of one, and those that come.

use std::collections::VecDeque;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dunlin_host::files::open_regular;
use dunlin_terminal::ui::Ui;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Longest line that is looked at, in bytes: two paths and an error are a tenth of it.
const MAX_LINE_BYTES: u64 = 256 * 1024;

/// How often a followed log is looked at. A person notices no less.
const FOLLOW_PERIOD: Duration = Duration::from_millis(250);

/// The log cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {}", path.display())]
pub struct CannotRead {
    path: PathBuf,
    source: io::Error,
}

/// How much of a log is shown.
#[derive(Debug, Clone, Copy)]
pub struct Extent {
    /// The newest so many lines; 0: all.
    pub lines: usize,
    /// Whether those that come are shown, too, until nobody reads them any more. Ctrl-C ends the program.
    pub follow: bool,
}

/// Prints the lines of a log for which `shown` has a text. `empty` is the status where there is none.
///
/// # Errors
/// The log cannot be read. One that is not there is empty.
pub fn show(
    ui: &Ui,
    path: &Path,
    extent: Extent,
    empty: &str,
    shown: impl Fn(&[u8]) -> Option<String>,
    print: impl Fn(&str),
) -> Result<(), CannotRead> {
    let failed = |source| CannotRead {
        path: path.to_owned(),
        source,
    };
    let mut log = match Log::open(path) {
        Ok(log) => Some(log),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failed(error)),
    };
    let mut newest = VecDeque::new();
    if let Some(log) = &mut log {
        while let Some(line) = log.next().map_err(failed)? {
            if let Some(text) = shown(&line) {
                newest.push_back(text);
                if extent.lines > 0 && newest.len() > extent.lines {
                    newest.pop_front();
                }
            }
        }
    }
    if newest.is_empty() && !extent.follow {
        ui.status(empty);
    }
    for text in newest {
        print(&text);
    }
    if !extent.follow {
        return Ok(());
    }
    loop {
        match &mut log {
            Some(open) => {
                while let Some(line) = open.next().map_err(failed)? {
                    if let Some(text) = shown(&line) {
                        print(&text);
                    }
                }
                // A log that has become large is renamed, and another one begun.
                if !open.is_at(path) {
                    log = None;
                    continue;
                }
            }
            None => log = Log::open(path).ok(),
        }
        ui.check().map_err(failed)?;
        std::thread::sleep(FOLLOW_PERIOD);
    }
}

/// A time of a log where the user is, to the second, with its zone. What is not a time stays as it is.
pub fn local(time: &str, zone: &TimeZone) -> String {
    time.parse::<Timestamp>().map_or_else(
        |_| time.to_owned(),
        |time| {
            let time = time.to_zoned(zone.clone());
            time.strftime("%Y-%m-%d %H:%M:%S %Z").to_string()
        },
    )
}

/// A log, read line by line in constant memory.
struct Log {
    reader: BufReader<File>,
    line: Vec<u8>,
}

impl Log {
    fn open(path: &Path) -> io::Result<Log> {
        let file = open_regular(path)?;
        if !file.metadata()?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        Ok(Log {
            reader: BufReader::new(file),
            line: Vec::new(),
        })
    }

    /// Whether the path still leads to it, or to nothing.
    fn is_at(&self, path: &Path) -> bool {
        let place = |meta: fs::Metadata| (meta.dev(), meta.ino());
        let own = self.reader.get_ref().metadata().map(place);
        match (own, fs::metadata(path).map(place)) {
            (Ok(own), Ok(there)) => own == there,
            _ => true,
        }
    }

    /// The next whole line. One that is still being written comes with a later call.
    fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let room = MAX_LINE_BYTES.saturating_sub(self.line.len() as u64).max(1);
            let read = (&mut self.reader)
                .take(room)
                .read_until(b'\n', &mut self.line)?;
            if self.line.ends_with(b"\n") {
                return Ok(Some(std::mem::take(&mut self.line)));
            }
            if read == 0 {
                return Ok(None);
            }
            if self.line.len() as u64 >= MAX_LINE_BYTES {
                // No line of ours; what follows belongs to it and is not a line either.
                self.line.clear();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn lines_come_whole_and_long_ones_pass() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let mut file = File::create(&path).unwrap();
        let mut log = Log::open(&path).unwrap();
        assert_eq!(log.next().unwrap(), None);
        file.write_all(b"one\ntw").unwrap();
        assert_eq!(log.next().unwrap().as_deref(), Some(&b"one\n"[..]));
        assert_eq!(log.next().unwrap(), None);
        file.write_all(b"o\n").unwrap();
        assert_eq!(log.next().unwrap().as_deref(), Some(&b"two\n"[..]));
        file.write_all(&vec![b'x'; 3 * MAX_LINE_BYTES as usize])
            .unwrap();
        file.write_all(b"\nlast\n").unwrap();
        let mut rest = Vec::new();
        while let Some(line) = log.next().unwrap() {
            assert!(line.len() as u64 <= MAX_LINE_BYTES);
            rest.push(line);
        }
        assert_eq!(rest.last().map(Vec::as_slice), Some(&b"last\n"[..]));
    }
}
