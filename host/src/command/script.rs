//! Scripts: files that the kernel starts by way of an interpreter which their first line names.

use std::io::{self, Read};
use std::path::Path;

use rustix::fs::{Mode, OFlags};

/// Bytes at the beginning of a file in which the kernel looks for the interpreter.
const HEAD_BYTES: usize = 256;

/// What a file begins with, as far as the kernel looks. Empty: the kernel starts nothing by it.
pub(super) fn head(path: &Path) -> io::Result<Vec<u8>> {
    // Not blocking, for what may have become a pipe.
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = std::fs::File::from(rustix::fs::open(path, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Ok(Vec::new());
    }
    let mut head = Vec::new();
    file.take(HEAD_BYTES as u64).read_to_end(&mut head)?;
    Ok(head)
}

/// Whether a file that begins like this is a script.
pub(super) fn is_script(head: &[u8]) -> bool {
    head.starts_with(b"#!")
}

/// The words with which the kernel starts a script in front of its own: its interpreter, what stands behind it, and the
/// words of that. `Ok(None)`: it is not a script. `Err`: what would run cannot be told.
///
/// This reads the bytes as the kernel does: only spaces and tabs part and surround the two, and a NUL ends them. The
/// characters are an allow-list, so that no name is read otherwise than the kernel reads it.
pub(super) fn interpreter(head: &[u8]) -> Result<Option<Vec<String>>, Unreadable> {
    let Some(rest) = head.strip_prefix(b"#!") else {
        return Ok(None);
    };
    let end = rest.iter().position(|byte| matches!(byte, b'\n' | b'\0'));
    let line = match end {
        Some(end) => &rest[..end],
        None if head.len() < HEAD_BYTES => rest,
        // The kernel cuts it, or does not start it.
        None => return Err(Unreadable),
    };
    let is_blank = |byte: &u8| matches!(byte, b' ' | b'\t');
    let is_usual = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.+/=:,@".contains(byte);
    if !line.iter().all(|byte| is_blank(byte) || is_usual(byte)) {
        return Err(Unreadable);
    }
    let line = std::str::from_utf8(line).map_err(|_| Unreadable)?;
    let blanks = [' ', '\t'];
    let line = line.trim_matches(blanks);
    let (program, argument) = line.split_once(blanks).unwrap_or((line, ""));
    let argument = argument.trim_start_matches(blanks);
    let words = [program, argument]
        .into_iter()
        .chain(argument.split(blanks));
    let words = words.filter(|word| !word.is_empty()).map(str::to_owned);
    Ok(Some(words.collect()))
}

/// The first line of a script holds more than plain names.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unreadable;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_read_as_the_kernel_reads_it() {
        for (head, words) in [
            ("#!/bin/sh\necho", &["/bin/sh"][..]),
            ("#!/bin/sh", &["/bin/sh"]),
            ("#! \t/bin/sh \t\n", &["/bin/sh"]),
            ("#!/bin/sh\0 x\n", &["/bin/sh"]),
            ("#!./run -x\n", &["./run", "-x", "-x"]),
            (
                "#!/usr/bin/env  -S a=b\tnode\n",
                &["/usr/bin/env", "-S a=b\tnode", "-S", "a=b", "node"],
            ),
            ("#!\n", &[]),
        ] {
            let found = interpreter(head.as_bytes()).unwrap().unwrap();
            assert_eq!(found, words, "{head:?}");
        }
        for head in ["", "#", "\u{7f}ELF", "echo", " #!/bin/sh"] {
            assert_eq!(interpreter(head.as_bytes()), Ok(None), "{head:?}");
        }
        let long = format!("#!/bin/sh {}", "x".repeat(HEAD_BYTES));
        for head in [
            "#!./run\r\n",
            "#!./run\u{b}\n",
            "#!./run\u{c}\n",
            "#!./run\u{a0}\n",
            "#!./run\u{2028}\n",
            "#!./r'n\n",
            "#!/bin/sh x\r\n",
            &long[..HEAD_BYTES],
        ] {
            assert_eq!(interpreter(head.as_bytes()), Err(Unreadable), "{head:?}");
        }
        assert_eq!(interpreter(b"#!./run\xff\n"), Err(Unreadable));
    }
}
