//! What bytes are, by how they begin.

use std::fmt;

/// What can be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Format {
    Png,
    Jpeg,
    Gif,
    WebP,
    Pdf,
}

/// What a model has to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum MediaKind {
    Image,
    Document,
}

impl Format {
    pub(super) const ALL: [Format; 5] = [
        Format::Png,
        Format::Jpeg,
        Format::Gif,
        Format::WebP,
        Format::Pdf,
    ];

    /// The format of what begins like this.
    pub fn of(bytes: &[u8]) -> Option<Format> {
        Some(match bytes {
            [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1a, b'\n', ..] => Format::Png,
            [0xff, 0xd8, 0xff, ..] => Format::Jpeg,
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Format::Gif,
            [
                b'R',
                b'I',
                b'F',
                b'F',
                _,
                _,
                _,
                _,
                b'W',
                b'E',
                b'B',
                b'P',
                ..,
            ] => Format::WebP,
            [b'%', b'P', b'D', b'F', b'-', ..] => Format::Pdf,
            _ => return None,
        })
    }

    pub fn kind(self) -> MediaKind {
        match self {
            Format::Png | Format::Jpeg | Format::Gif | Format::WebP => MediaKind::Image,
            Format::Pdf => MediaKind::Document,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Format::Png => "PNG",
            Format::Jpeg => "JPEG",
            Format::Gif => "GIF",
            Format::WebP => "WebP",
            Format::Pdf => "PDF",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Format::Png => "image/png",
            Format::Jpeg => "image/jpeg",
            Format::Gif => "image/gif",
            Format::WebP => "image/webp",
            Format::Pdf => "application/pdf",
        }
    }

    /// The size of a picture. `None`: it is none, or its header is not whole.
    pub(super) fn pixels(self, bytes: &[u8]) -> Option<Pixels> {
        let found = match self.kind() {
            MediaKind::Image => imagesize::blob_size(bytes).ok()?,
            MediaKind::Document => return None,
        };
        let pixels = Pixels {
            width: u32::try_from(found.width).ok()?,
            height: u32::try_from(found.height).ok()?,
        };
        (pixels.width > 0 && pixels.height > 0).then_some(pixels)
    }
}

/// The size of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixels {
    pub width: u32,
    pub height: u32,
}

impl Pixels {
    /// The most tokens that one comes to.
    pub(super) const MOST_TOKENS: u64 = 1_600;

    /// See [`About::tokens`](super::About::tokens).
    pub(super) fn tokens(self) -> u64 {
        const LONGEST: u64 = 1_568;
        const OF_TOKEN: u64 = 750;
        let (width, height) = (u64::from(self.width), u64::from(self.height));
        let longest = width.max(height).max(1);
        let scaled = |side: u64| match longest > LONGEST {
            true => side * LONGEST / longest,
            false => side,
        };
        let tokens = scaled(width).saturating_mul(scaled(height)) / OF_TOKEN;
        tokens.clamp(1, Pixels::MOST_TOKENS)
    }
}

impl fmt::Display for Pixels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}×{}", self.width, self.height)
    }
}

/// How many pages a document has, where it says so outside of compressed parts.
pub(super) fn pages(format: Format, bytes: &[u8]) -> Option<u32> {
    const TYPE: &[u8] = b"/Type";
    const PAGE: &[u8] = b"/Page";
    if format != Format::Pdf {
        return None;
    }
    let mut pages = 0_u32;
    for (at, window) in bytes.windows(TYPE.len()).enumerate() {
        if window == TYPE
            && let Some(rest) = bytes.get(at + TYPE.len()..)
            && let Some(behind) = rest.trim_ascii_start().strip_prefix(PAGE)
            && !behind.first().is_some_and(u8::is_ascii_alphanumeric)
        {
            pages = pages.saturating_add(1);
        }
    }
    (pages > 0).then_some(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_known_by_their_first_bytes() {
        let check = |bytes: &[u8], expected: Option<Format>| {
            assert_eq!(Format::of(bytes), expected, "{bytes:?}");
        };
        check(b"\x89PNG\r\n\x1a\n", Some(Format::Png));
        check(b"\x89PNG\n", None);
        check(b"\xff\xd8\xff\xe0\0\x10JFIF", Some(Format::Jpeg));
        check(b"\xff\xd8", None);
        check(b"GIF87a", Some(Format::Gif));
        check(b"GIF89a\x01", Some(Format::Gif));
        check(b"GIF88a", None);
        check(b"RIFF\0\0\0\0WEBPVP8L", Some(Format::WebP));
        check(b"RIFF\0\0\0\0WAVE", None);
        check(b"%PDF-2.0", Some(Format::Pdf));
        check(b"<svg xmlns='http://www.w3.org/2000/svg'/>", None);
        check(b"BM", None);
        check(b"", None);
    }

    #[test]
    fn sizes_are_read_from_headers() {
        let check = |bytes: &[u8], expected: Option<(u32, u32)>| {
            let format = Format::of(bytes).unwrap();
            let pixels = format.pixels(bytes);
            assert_eq!(
                pixels.map(|it| (it.width, it.height)),
                expected,
                "{bytes:?}"
            );
        };
        check(b"GIF89a\x10\0\x20\0\xf7\0\0", Some((16, 32)));
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\0\x07\0\x09\x03";
        check(jpeg, Some((9, 7)));
        check(&jpeg[..12], None);
        let lossless = b"RIFF\x20\0\0\0WEBPVP8L\x08\0\0\0\x2f\x02\x40\0\0\0\0\0\0";
        check(lossless, Some((3, 2)));
        check(b"GIF89a\0\0\0\0\xf7\0\0", None);
        check(b"%PDF-1.4 ", None);
    }

    #[test]
    fn pages_are_counted_where_they_can_be_seen() {
        let check = |text: &[u8], expected: Option<u32>| {
            assert_eq!(pages(Format::Pdf, text), expected);
        };
        check(
            b"<</Type/Page>> <</Type  /Page/x>> <</Type /Pages>>",
            Some(2),
        );
        check(b"/Type /PageLabel /Type", None);
        assert_eq!(pages(Format::Png, b"/Type/Page "), None);
    }
}
