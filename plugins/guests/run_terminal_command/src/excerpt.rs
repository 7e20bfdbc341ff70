//! The beginning and the end of a stream of any length, in constant memory.

use std::collections::VecDeque;

use crate::plain::plain;

/// What is kept of a stream.
#[derive(Debug)]
pub struct Excerpt {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    /// Of the head, and of the tail.
    most: usize,
    bytes: u64,
}

impl Excerpt {
    /// Keeps up to `most` bytes of either end.
    pub fn new(most: usize) -> Self {
        Self {
            head: Vec::new(),
            tail: VecDeque::new(),
            most,
            bytes: 0,
        }
    }

    /// How many bytes there were.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Takes more of the stream over.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        let for_head = (self.most - self.head.len()).min(bytes.len());
        let (head, rest) = bytes.split_at(for_head);
        self.head.extend_from_slice(head);
        let rest = &rest[rest.len().saturating_sub(self.most)..];
        let more = (self.tail.len() + rest.len()).saturating_sub(self.most);
        self.tail.drain(..more);
        self.tail.extend(rest);
    }

    /// As plain text of about `most` bytes: all of it, or both ends with how much is missing between them. The cut is
    /// made between two lines where one ends nearby.
    pub fn text(&self, most: usize) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        if self.bytes <= most as u64 {
            return plain(&[self.head.as_slice(), tail.as_slice()].concat());
        }
        let half = most / 2;
        // All of the stream where it is short enough, so that the tail may begin within the head.
        let all;
        let (head, tail) = if self.bytes <= (self.head.len() + tail.len()) as u64 {
            all = [self.head.as_slice(), tail.as_slice()].concat();
            (all.as_slice(), all.as_slice())
        } else {
            (self.head.as_slice(), tail.as_slice())
        };
        let head = whole_lines_before(&head[..half.min(head.len())]);
        let tail = whole_lines_after(&tail[tail.len().saturating_sub(half)..]);
        let left_out = self.bytes - (head.len() + tail.len()) as u64;
        let mut text = plain(head);
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("… {} bytes left out …\n", grouped(left_out)));
        text + &plain(tail)
    }
}

/// Bytes at a cut that may be given up for whole lines.
const NEARBY: usize = 400;

fn whole_lines_before(bytes: &[u8]) -> &[u8] {
    let from = bytes.len().saturating_sub(NEARBY);
    match bytes[from..].iter().rposition(|byte| *byte == b'\n') {
        Some(at) => &bytes[..=from + at],
        None => between_characters(bytes),
    }
}

fn whole_lines_after(bytes: &[u8]) -> &[u8] {
    let nearby = &bytes[..bytes.len().min(NEARBY)];
    match nearby.iter().position(|byte| *byte == b'\n') {
        Some(at) => &bytes[at + 1..],
        // A few bytes of a character may stand first.
        None => {
            let begun = bytes
                .iter()
                .take(3)
                .take_while(|byte| **byte & 0xc0 == 0x80);
            &bytes[begun.count()..]
        }
    }
}

/// Without a character at the end of which only a part is there.
fn between_characters(bytes: &[u8]) -> &[u8] {
    for back in 1..=bytes.len().min(3) {
        let byte = bytes[bytes.len() - back];
        let length = match byte {
            0xc0..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xff => 4,
            0x80..=0xbf => continue,
            _ => return bytes,
        };
        return if length > back {
            &bytes[..bytes.len() - back]
        } else {
            bytes
        };
    }
    bytes
}

/// `1234567` as `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}
