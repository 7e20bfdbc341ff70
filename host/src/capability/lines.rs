//! Finds lines in a file of any size with a fixed amount of memory.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::{memchr, memchr_iter};

/// Bytes that are read at once. Large enough that system calls do not count, small enough for many
/// open files.
const CHUNK_BYTES: usize = 128 * 1024;

/// After so many chunks (64 MiB, some 20 ms) a scan gives way, so that it can be interrupted.
const CHUNKS_PER_TURN: usize = 512;

/// One line, without its ending.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Line {
    pub(crate) bytes: Vec<u8>,
    pub(crate) omitted: u64,
}

/// A file as a sequence of lines. Remembers where the last read ended, so that reading on is cheap.
#[derive(Debug, Default)]
pub(crate) struct Lines {
    /// A line (counted from 0) and where it starts.
    bookmark: (u64, u64),
    count: Option<u64>,
}

/// What to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    /// Counted from 0.
    pub(crate) first: u64,
    pub(crate) count: u32,
    pub(crate) max_bytes: usize,
    pub(crate) max_line_bytes: usize,
}

impl Lines {
    /// Reads lines; `true`: nothing follows. Gives way to other tasks now and then; dropping the
    /// future stops it and loses nothing.
    pub(crate) async fn read(
        &mut self,
        file: &File,
        wanted: Wanted,
    ) -> io::Result<(Vec<Line>, bool)> {
        let mut reader = Reader::new(file);
        if wanted.first >= self.bookmark.0 {
            reader.seek(self.bookmark.1);
            if !reader.skip_lines(wanted.first - self.bookmark.0).await? {
                return Ok((Vec::new(), true));
            }
        } else if !reader.skip_lines(wanted.first).await? {
            return Ok((Vec::new(), true));
        }
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut start = reader.position();
        while lines.len() < wanted.count as usize {
            let Some(line) = reader.line(wanted.max_line_bytes).await? else {
                break;
            };
            bytes += line.bytes.len();
            if bytes > wanted.max_bytes && !lines.is_empty() {
                self.bookmark = (wanted.first + lines.len() as u64, start);
                return Ok((lines, false));
            }
            lines.push(line);
            start = reader.position();
        }
        self.bookmark = (wanted.first + lines.len() as u64, start);
        Ok((lines, reader.at_end()?))
    }

    /// Counts the lines; a last one without an ending counts. Kept for the next time.
    pub(crate) async fn count(&mut self, file: &File) -> io::Result<u64> {
        if let Some(count) = self.count {
            return Ok(count);
        }
        let mut reader = Reader::new(file);
        let mut count = 0;
        let mut last = b'\n';
        while let Some(chunk) = reader.chunk().await? {
            count += memchr_iter(b'\n', chunk).count() as u64;
            last = *chunk.last().unwrap_or(&last);
            reader.consume_all();
        }
        count += u64::from(last != b'\n');
        self.count = Some(count);
        Ok(count)
    }
}

/// Reads a file forward from anywhere, without touching the position of the file itself.
struct Reader<'a> {
    file: &'a File,
    buffer: Vec<u8>,
    /// What of the buffer is not consumed yet.
    from: usize,
    to: usize,
    /// Where in the file the buffer ends.
    offset: u64,
    chunks: usize,
}

impl<'a> Reader<'a> {
    fn new(file: &'a File) -> Reader<'a> {
        Reader {
            file,
            buffer: Vec::new(),
            from: 0,
            to: 0,
            offset: 0,
            chunks: 0,
        }
    }

    fn seek(&mut self, offset: u64) {
        (self.from, self.to, self.offset) = (0, 0, offset);
    }

    fn position(&self) -> u64 {
        self.offset - (self.to - self.from) as u64
    }

    /// What is buffered, filled if empty; `None` at the end.
    async fn chunk(&mut self) -> io::Result<Option<&[u8]>> {
        if self.from == self.to {
            self.chunks += 1;
            if self.chunks.is_multiple_of(CHUNKS_PER_TURN) {
                tokio::task::yield_now().await;
            }
            if self.buffer.is_empty() {
                // A small file needs no large buffer: zeroing it would cost more than reading.
                let size = self
                    .file
                    .metadata()?
                    .len()
                    .saturating_sub(self.offset)
                    .saturating_add(1);
                let size = usize::try_from(size)
                    .unwrap_or(CHUNK_BYTES)
                    .clamp(4096, CHUNK_BYTES);
                self.buffer = vec![0; size];
            }
            let read = read_at(self.file, &mut self.buffer, self.offset)?;
            (self.from, self.to) = (0, read);
            self.offset += read as u64;
            if read == 0 {
                return Ok(None);
            }
        }
        Ok(Some(&self.buffer[self.from..self.to]))
    }

    fn consume_all(&mut self) {
        self.from = self.to;
    }

    /// `false`: the file ended before; there is no such line.
    async fn skip_lines(&mut self, mut lines: u64) -> io::Result<bool> {
        while lines > 0 {
            let Some(chunk) = self.chunk().await? else {
                return Ok(false);
            };
            let found = memchr_iter(b'\n', chunk).count() as u64;
            if found < lines {
                lines -= found;
                self.consume_all();
                continue;
            }
            // The wanted line starts behind the last of these endings, in this chunk.
            let nth = usize::try_from(lines - 1).unwrap_or(usize::MAX);
            let end = memchr_iter(b'\n', chunk).nth(nth).unwrap_or(0);
            self.from += end + 1;
            lines = 0;
        }
        Ok(self.chunk().await?.is_some())
    }

    /// The next line, cut after `max` bytes; `None` at the end.
    async fn line(&mut self, max: usize) -> io::Result<Option<Line>> {
        let mut line = Line {
            bytes: Vec::new(),
            omitted: 0,
        };
        let mut any = false;
        // The last byte before the line's end, also when it is beyond the cut: it may be a CR.
        let mut last = 0;
        loop {
            let Some(chunk) = self.chunk().await? else {
                break;
            };
            any = true;
            let end = memchr(b'\n', chunk);
            let part = &chunk[..end.unwrap_or(chunk.len())];
            let keep = part.len().min(max - line.bytes.len());
            line.bytes.extend_from_slice(&part[..keep]);
            line.omitted += (part.len() - keep) as u64;
            last = *part.last().unwrap_or(&last);
            let consumed = part.len() + usize::from(end.is_some());
            self.from += consumed;
            if end.is_some() {
                if last == b'\r' {
                    match line.omitted {
                        0 => drop(line.bytes.pop()),
                        _ => line.omitted -= 1,
                    }
                }
                break;
            }
        }
        if line.omitted > 0 {
            // Do not end within a character.
            let whole = line.bytes.len() - incomplete_tail(&line.bytes);
            line.omitted += (line.bytes.len() - whole) as u64;
            line.bytes.truncate(whole);
        }
        Ok(any.then_some(line))
    }

    fn at_end(&self) -> io::Result<bool> {
        Ok(self.from == self.to && read_at(self.file, &mut [0], self.offset)? == 0)
    }
}

/// Reads at an offset, again when a signal interrupted. Offsets that no file has are its end.
pub(crate) fn read_at(file: &File, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
    if i64::try_from(offset).is_err() {
        return Ok(0);
    }
    loop {
        match file.read_at(buffer, offset) {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

/// How many bytes at the end begin a character that is not complete.
fn incomplete_tail(bytes: &[u8]) -> usize {
    match std::str::from_utf8(bytes) {
        Err(e) if e.error_len().is_none() => bytes.len() - e.valid_up_to(),
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn file(content: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file
    }

    async fn check(content: &str, first: u64, count: u32, expected: &[&str], at_end: bool) {
        let wanted = Wanted {
            first,
            count,
            max_bytes: 1 << 20,
            max_line_bytes: 1 << 20,
        };
        let (lines, end) = Lines::default()
            .read(&file(content.as_bytes()), wanted)
            .await
            .unwrap();
        let lines: Vec<_> = lines
            .iter()
            .map(|l| std::str::from_utf8(&l.bytes).unwrap())
            .collect();
        assert_eq!(
            (lines.as_slice(), end),
            (expected, at_end),
            "{content:?} {first}+{count}"
        );
    }

    #[tokio::test]
    async fn lines_are_what_editors_show() {
        check("", 0, 9, &[], true).await;
        check("a", 0, 9, &["a"], true).await;
        check("a\n", 0, 9, &["a"], true).await;
        check("a\nb", 0, 1, &["a"], false).await;
        check("a\nb", 1, 1, &["b"], true).await;
        check("a\nb", 2, 1, &[], true).await;
        check("a\r\nb\r\n\r\n", 0, 9, &["a", "b", ""], true).await;
        check("a\rb\n", 0, 9, &["a\rb"], true).await;
        check("a\r", 0, 9, &["a\r"], true).await;
        check("\n\n", 0, 9, &["", ""], true).await;
        check("a\nb\nc\n", 1, 1, &["b"], false).await;
    }

    #[tokio::test]
    async fn every_way_of_reading_agrees() {
        let text: String = (0..60_000)
            .map(|i| format!("line {i} {}\n", "ä".repeat(i % 7)))
            .collect();
        let file = file(text.as_bytes());
        let expected: Vec<&str> = text.lines().collect();
        let mut lines = Lines::default();
        assert_eq!(lines.count(&file).await.unwrap(), 60_000);
        for first in [0u64, 59_999, 30_000, 1, 30_001, 60_000] {
            let wanted = Wanted {
                first,
                count: 3,
                max_bytes: 1 << 20,
                max_line_bytes: 1 << 20,
            };
            let (found, end) = lines.read(&file, wanted).await.unwrap();
            let found: Vec<_> = found
                .iter()
                .map(|l| std::str::from_utf8(&l.bytes).unwrap())
                .collect();
            let from = first as usize;
            assert_eq!(found, expected[from..(from + 3).min(60_000)]);
            assert_eq!(end, from + 3 >= 60_000);
        }
    }

    #[tokio::test]
    async fn long_lines_are_cut_between_characters() {
        let file = file("ab\u{e4}\u{e4}\r\nsecond\n".as_bytes());
        let wanted = Wanted {
            first: 0,
            count: 9,
            max_bytes: 100,
            max_line_bytes: 3,
        };
        let (lines, end) = Lines::default().read(&file, wanted).await.unwrap();
        assert_eq!(
            lines[0],
            Line {
                bytes: b"ab".to_vec(),
                omitted: 4
            }
        );
        assert_eq!(
            lines[1],
            Line {
                bytes: b"sec".to_vec(),
                omitted: 3
            }
        );
        assert!(end);
    }

    #[tokio::test]
    async fn too_many_bytes_mean_fewer_lines() {
        let file = file(b"aaaa\nbbbb\ncccc\n");
        let mut lines = Lines::default();
        let wanted = Wanted {
            first: 0,
            count: 9,
            max_bytes: 9,
            max_line_bytes: 9,
        };
        let (found, end) = lines.read(&file, wanted).await.unwrap();
        assert_eq!((found.len(), end), (2, false));
        let (found, end) = lines
            .read(&file, Wanted { first: 2, ..wanted })
            .await
            .unwrap();
        assert_eq!((found[0].bytes.as_slice(), end), (&b"cccc"[..], true));
        // One line is always given, however small the maximum.
        let (found, _) = lines
            .read(
                &file,
                Wanted {
                    first: 0,
                    max_bytes: 1,
                    ..wanted
                },
            )
            .await
            .unwrap();
        assert_eq!(found.len(), 1);
    }
}
