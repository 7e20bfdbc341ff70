//! Runs a tool, and tells what it says as it says it.

use std::io::{self, BufRead, BufReader, pipe};
use std::process::{Command, ExitStatus};

/// Bytes of a line: who writes more writes no lines.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// Runs a command without input until it ends; gives all that it said on both streams, and tells each line at once.
///
/// # Errors
/// It cannot be started, or its output not be read.
pub fn run(command: &mut Command, tell: &mut dyn FnMut(&str)) -> io::Result<(ExitStatus, String)> {
    let (reader, writer) = pipe()?;
    let mut child = command
        .stdin(std::process::Stdio::null())
        .stdout(writer.try_clone()?)
        .stderr(writer)
        .spawn()?;
    // The command holds the other end, and nothing would end before it lets go.
    command
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null());
    let mut reader = BufReader::new(reader);
    let mut said = String::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = io::Read::take(&mut reader, MAX_LINE_BYTES).read_until(b'\n', &mut line)?;
        if read == 0 {
            break;
        }
        let text = String::from_utf8_lossy(&line);
        tell(text.trim_end());
        said.push_str(&text);
    }
    Ok((child.wait()?, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_streams_are_told_line_by_line() {
        let mut told = Vec::new();
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; printf three; exit 3"]);
        let (status, said) = run(&mut command, &mut |line| told.push(line.to_owned())).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(said, "one\ntwo\nthree");
        assert_eq!(told, ["one", "two", "three"]);
        assert!(run(&mut Command::new("/nowhere"), &mut |_| ()).is_err());
    }
}
