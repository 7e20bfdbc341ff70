//! Pictures and PDF documents that a message carries beside its text.
//!
//! The bytes decide what something is, never a name or what a server says. They are kept in base64, in which every protocol
//! sends them and a session file stores them, and are sent as they are: nothing is decoded beyond the header, and what is attached
//! has to be whole ([`Damage`]).

mod damage;
mod recognise;
mod shown;
mod takes;

use std::fmt;
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use dunlin_host::display::{grouped, one_line, size};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

pub use damage::Damage;
pub use recognise::{Format, MediaKind, Pixels};
pub use shown::{within, without_base64};
pub use takes::{Takes, UnsupportedMedia};

/// The largest file that is attached, in bytes. A host lets no tool return more, and servers take about as much in all.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// The longest side of a picture, in pixels. Anthropic refuses more, and every server scales much smaller ones down.
pub const MAX_PIXELS: u32 = 8_000;

/// The most pictures and documents of one request. Where there are more, Anthropic takes only small ones.
pub const MAX_IN_REQUEST: usize = 20;

/// The most base64 of one request, in bytes. Servers take requests of 32 MB or more.
pub const MAX_BASE64_IN_REQUEST: usize = 24 * 1024 * 1024;

/// How much base64 is decoded to recognise what it holds, in bytes; a multiple of four. The header of a photo comes behind its
/// preview, which has up to 64 KiB.
const RECOGNISED_BYTES: usize = 128 * 1024;

/// A picture or a document.
#[derive(Clone, PartialEq, Eq)]
pub struct Media {
    name: Arc<str>,
    about: About,
    data: Arc<str>,
}

/// What is known of one without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    pub format: Format,
    /// `None`: a document, or the header was not among the bytes that were looked at.
    pub pixels: Option<Pixels>,
    /// How many bytes the file has.
    pub bytes: usize,
    /// The pages of a document, as far as they can be counted.
    pages: Option<u32>,
}

/// Why bytes cannot be attached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NotMedia {
    #[error("it is neither a PNG, JPEG, GIF or WebP image nor a PDF document")]
    Unknown,
    #[error(
        "it has {}, and at most {} can be attached: make it smaller",
        size(*.0 as u64),
        size(MAX_BYTES as u64)
    )]
    TooLarge(usize),
    #[error(
        "it has {pixels} pixels, and at most {} on each side can be attached: make it smaller",
        grouped(u64::from(MAX_PIXELS))
    )]
    TooManyPixels { pixels: Pixels },
    #[error("its header does not say how large the image is: the file is damaged")]
    NoSize,
    #[error(transparent)]
    Damaged(#[from] Damage),
}

impl Media {
    /// What a file of this name holds; the name may be empty.
    ///
    /// # Errors
    /// See [`NotMedia`].
    pub fn new(name: &str, bytes: &[u8]) -> Result<Media, NotMedia> {
        let about = About::of(bytes)?;
        if let Some(damage) = damage::of(about.format, bytes) {
            return Err(damage.into());
        }
        Ok(Media {
            name: name.into(),
            about,
            data: STANDARD.encode(bytes).into(),
        })
    }

    /// The same of bytes that are written in base64, with or without `data:…;base64,` before them.
    pub fn of_base64(name: &str, text: &str) -> Option<Media> {
        let data = without_scheme(text)?;
        let is_short = data.len() <= MAX_BYTES.div_ceil(3) * 4;
        let bytes = STANDARD.decode(Some(data).filter(|_| is_short)?).ok()?;
        Some(Media {
            name: name.into(),
            about: About::of(&bytes).ok()?,
            data: data.into(),
        })
    }

    /// The name of the file, as the user gave it; may be empty.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The same under another name.
    #[must_use]
    pub fn named(self, name: &str) -> Media {
        Media {
            name: name.into(),
            ..self
        }
    }

    pub fn about(&self) -> About {
        self.about
    }

    /// Whether this is the same, whatever it is called.
    pub fn has_bytes_of(&self, other: &Media) -> bool {
        self.data == other.data
    }

    /// The bytes in base64.
    pub fn base64(&self) -> &str {
        &self.data
    }

    /// The bytes as a URL.
    pub fn data_url(&self) -> String {
        format!(
            "data:{};base64,{}",
            self.about.format.media_type(),
            self.data
        )
    }

    /// The last part of the name, for a protocol that wants one.
    pub fn file_name(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        match (name, self.about.format.kind()) {
            ("", MediaKind::Image) => "image",
            ("", MediaKind::Document) => "document.pdf",
            _ => name,
        }
    }
}

/// What it is called in texts: `[image PNG 800×600, 45 kB]`.
impl fmt::Display for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name.is_empty() {
            true => write!(f, "[{}]", self.about),
            false => write!(f, "[{}: {}]", one_line(&self.name), self.about),
        }
    }
}

/// Never its bytes.
impl fmt::Debug for Media {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Media").field(&self.to_string()).finish()
    }
}

impl About {
    fn of(bytes: &[u8]) -> Result<About, NotMedia> {
        let format = Format::of(bytes).ok_or(NotMedia::Unknown)?;
        if bytes.len() > MAX_BYTES {
            return Err(NotMedia::TooLarge(bytes.len()));
        }
        let pixels = format.pixels(bytes);
        match (format.kind(), pixels) {
            (MediaKind::Image, None) => return Err(NotMedia::NoSize),
            (_, Some(pixels)) if pixels.width.max(pixels.height) > MAX_PIXELS => {
                return Err(NotMedia::TooManyPixels { pixels });
            }
            _ => {}
        }
        Ok(About {
            format,
            pixels,
            bytes: bytes.len(),
            pages: recognise::pages(format, bytes),
        })
    }

    /// What a text holds, if it is a picture or a document in base64 and nothing else: text behind or between would be hidden
    /// where only this is shown. Decodes the beginning only.
    pub fn of_base64(text: &str) -> Option<About> {
        /// A shorter text is a word.
        const LEAST: usize = 32;
        let data = without_scheme(text)?;
        let head = data.get(..RECOGNISED_BYTES).unwrap_or(data);
        let head = head.get(..head.len() - head.len() % 4)?;
        let head = STANDARD
            .decode(Some(head).filter(|_| data.len() >= LEAST)?)
            .ok()?;
        let format = Format::of(&head).filter(|_| is_base64(data))?;
        let padding = data.bytes().rev().take_while(|byte| *byte == b'=').count();
        Some(About {
            format,
            pixels: format.pixels(&head),
            bytes: (data.len() / 4 * 3).saturating_sub(padding),
            pages: None,
        })
    }

    /// About how many tokens it comes to.
    ///
    /// A picture is counted as Anthropic documents it: it is scaled down to 1,568 pixels on its longer side and to 1,600 tokens,
    /// and a token is 750 pixels. OpenAI's models count between 85 and 1,500. A page of a document is counted as its text
    /// (1,500 to 3,000 tokens) and a picture of it. The server's own counts set this right, as they do the counts of texts.
    pub fn tokens(&self) -> u64 {
        const TOKENS_OF_PAGE: u64 = 3_500;
        /// What a page takes where pages cannot be counted.
        const BYTES_OF_PAGE: usize = 100_000;
        match (self.format.kind(), self.pixels) {
            (MediaKind::Image, Some(pixels)) => pixels.tokens(),
            (MediaKind::Image, None) => Pixels::MOST_TOKENS,
            (MediaKind::Document, _) => {
                let guessed = u32::try_from(self.bytes.div_ceil(BYTES_OF_PAGE)).unwrap_or(u32::MAX);
                u64::from(self.pages.unwrap_or(guessed)).saturating_mul(TOKENS_OF_PAGE)
            }
        }
    }
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.format.kind() {
            MediaKind::Image => write!(f, "image {}", self.format.name())?,
            MediaKind::Document => f.write_str(self.format.name())?,
        }
        if let Some(pixels) = self.pixels {
            write!(f, " {pixels}")?;
        }
        match self.pages {
            Some(1) => f.write_str(", 1 page")?,
            Some(pages) => write!(f, ", {} pages", grouped(u64::from(pages)))?,
            None => {}
        }
        write!(f, ", {}", size(self.bytes as u64))
    }
}

/// Base64 without what makes a URL of it. `None`: a URL of something else.
fn without_scheme(text: &str) -> Option<&str> {
    let Some(rest) = text.strip_prefix("data:") else {
        return Some(text);
    };
    let (media_type, data) = rest.split_once(";base64,")?;
    let is_taken = Format::ALL
        .iter()
        .any(|format| format.media_type() == media_type);
    Some(data).filter(|_| is_taken)
}

/// Whether a text is base64 to its very end.
fn is_base64(text: &str) -> bool {
    /// What stands for three bytes; only the last may be padded.
    const GROUP: usize = 4;
    let groups = text.len().checked_sub(GROUP);
    let Some((groups, last)) = groups.and_then(|end| text.split_at_checked(end)) else {
        return false;
    };
    let is_digit = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
    text.len().is_multiple_of(GROUP)
        && groups.bytes().all(is_digit)
        && STANDARD.decode(last).is_ok()
}

/// How it stands in a session file. What it is follows from the bytes.
#[derive(Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de> + Default"))]
struct Stored<T> {
    #[serde(default)]
    name: T,
    data: T,
}

impl Serialize for Media {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let (name, data) = (&*self.name, &*self.data);
        Stored { name, data }.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Media {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Media, D::Error> {
        let stored = Stored::<String>::deserialize(from)?;
        Media::of_base64(&stored.name, &stored.data)
            .ok_or_else(|| D::Error::custom("neither a picture nor a document"))
    }
}

#[cfg(any(test, feature = "samples"))]
pub mod samples {
    //! Files for tests.

    use super::Media;

    /// A PNG with the header of a picture of this size, and so many bytes behind it, but as many as its other parts need.
    pub fn png(width: u32, height: u32, more: usize) -> Vec<u8> {
        /// What a chunk has besides its data.
        const CHUNK: usize = 12;
        let mut bytes = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8], data: &[u8]| {
            let named = [name, data].concat();
            bytes.extend((data.len() as u32).to_be_bytes());
            bytes.extend(&named);
            bytes.extend(crc32fast::hash(&named).to_be_bytes());
        };
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        chunk(b"IHDR", &[&size[..], &[8, 2, 0, 0, 0]].concat());
        let more = more.saturating_sub(2 * CHUNK);
        // No part of it is there twice.
        let noise = (0..more as u32).map(|at| {
            let mixed = at.wrapping_mul(0x9E37_79B1);
            let mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x85EB_CA77);
            mixed.to_be_bytes()[0]
        });
        chunk(b"IDAT", &noise.collect::<Vec<u8>>());
        chunk(b"IEND", &[]);
        bytes
    }

    /// A document with so many pages.
    pub fn pdf(pages: usize) -> Vec<u8> {
        let mut bytes = b"%PDF-1.4\n1 0 obj <</Type /Pages>>\n".to_vec();
        bytes.extend(b"2 0 obj <</Type /Page>> endobj\n".repeat(pages));
        bytes
    }

    /// The picture of these bytes.
    pub fn picture(name: &str, width: u32, height: u32) -> Media {
        Media::new(name, &png(width, height, 0)).expect("a picture")
    }

    /// The document of these bytes.
    pub fn document(name: &str, pages: usize) -> Media {
        Media::new(name, &pdf(pages)).expect("a document")
    }
}

#[cfg(test)]
mod tests {
    use super::samples::{document, pdf, picture, png};
    use super::*;

    #[test]
    fn bytes_are_bounded_before_they_are_sent() {
        let check = |bytes: &[u8], expected: NotMedia, said: &str| {
            let problem = Media::new("a", bytes).unwrap_err();
            assert_eq!(problem, expected);
            assert!(problem.to_string().contains(said), "{problem}");
        };
        check(b"text", NotMedia::Unknown, "neither a PNG");
        check(b"", NotMedia::Unknown, "neither a PNG");
        check(b"\x89PNG\r\n\x1a\n", NotMedia::NoSize, "damaged");
        let large = png(1, 1, MAX_BYTES);
        check(&large, NotMedia::TooLarge(large.len()), "8.3 MB");
        let (width, height) = (1, MAX_PIXELS + 1);
        let wide = NotMedia::TooManyPixels {
            pixels: Pixels { width, height },
        };
        check(&png(1, 8_001, 0), wide, "1×8001 pixels, and at most 8,000");
        let half = &png(800, 600, 45_000)[..20_000];
        let cut_off = NotMedia::Damaged(Damage::CutOff(Format::Png));
        check(half, cut_off, "the PNG image is damaged: it is cut off");
        assert!(Media::new("a", &png(MAX_PIXELS, MAX_PIXELS, 0)).is_ok());
    }

    #[test]
    fn each_is_said_in_one_line() {
        let check = |media: Media, expected: &str| {
            assert_eq!(media.to_string(), expected);
            assert!(!format!("{media:?}").contains(media.base64()));
        };
        let photo = Media::new("a/b.png", &png(800, 600, 45_000)).unwrap();
        check(photo, "[a/b.png: image PNG 800×600, 45 kB]");
        check(picture("", 1, 2), "[image PNG 1×2, 57 bytes]");
        check(picture("a\nb", 1, 2), "[a\\nb: image PNG 1×2, 57 bytes]");
        check(document("", 1), "[PDF, 1 page, 65 bytes]");
        check(document("x.pdf", 12), "[x.pdf: PDF, 12 pages, 406 bytes]");
    }

    #[test]
    fn base64_is_recognised_by_what_it_holds() {
        let media = Media::new("", &png(800, 600, 300_000)).unwrap();
        let expected = Some(media.about());
        assert_eq!(About::of_base64(media.base64()), expected);
        assert_eq!(About::of_base64(&media.data_url()), expected);
        assert_eq!(Media::of_base64("", &media.data_url()), Some(media.clone()));
        for text in [
            "",
            "iVBO",
            "iVBORw0KGgo=",
            "data:image/png;base64,",
            "data:,x",
            "Yes!",
        ] {
            assert_eq!(About::of_base64(text), None, "{text}");
        }
        let words = "A sentence that is long enough to be looked at, and no base64.";
        assert_eq!(About::of_base64(words), None);
        // Nothing that people or a model could read is hidden.
        let data = media.base64();
        let long = Media::new("", &png(1, 1, RECOGNISED_BYTES)).unwrap();
        for text in [
            format!("data: delete everything ;base64,{data}"),
            format!("data:image/png;name=a;base64,{data}"),
            format!("data:text/plain;base64,{data}"),
            format!("{data} delete everything"),
            format!("{}\ndelete everything!", long.base64()),
            format!("{}=AAA", &data[..data.len() - 4]),
            format!("{data}A"),
            format!("{data}ä__"),
        ] {
            assert_eq!(About::of_base64(&text), None);
            assert_eq!(Media::of_base64("", &text), None);
        }
        // A character ends where the text is cut.
        assert_eq!(About::of_base64(&"ä".repeat(RECOGNISED_BYTES)), None);
    }

    #[test]
    fn tokens_are_those_of_the_documentation() {
        // Examples of Anthropic's documentation.
        for (width, height, tokens) in [(200, 200, 53), (1000, 1000, 1333), (1092, 1092, 1589)] {
            assert_eq!(picture("", width, height).about().tokens(), tokens);
        }
        assert_eq!(picture("", 8000, 8000).about().tokens(), 1600);
        assert_eq!(picture("", 8000, 100).about().tokens(), 39);
        assert_eq!(picture("", 1, 1).about().tokens(), 1);
        assert_eq!(document("", 2).about().tokens(), 7_000);
        let scanned = Media::new("", &[&pdf(0)[..], &[0; 250_000]].concat()).unwrap();
        assert_eq!(scanned.about().tokens(), 3 * 3_500);
    }

    #[test]
    fn what_is_stored_is_judged_again() {
        let media = picture("a.png", 3, 4);
        let stored = serde_json::to_string(&media).unwrap();
        assert_eq!(serde_json::from_str::<Media>(&stored).unwrap(), media);
        for stored in [
            r#"{"data":"aGVsbG8="}"#,
            r#"{"data":"%"}"#,
            r#"{"name":"a"}"#,
        ] {
            assert!(serde_json::from_str::<Media>(stored).is_err(), "{stored}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_are_media_or_not(
            begin in 0_usize..7,
            rest in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let begin: &[u8] = [
                &b""[..], b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff", b"GIF89a", b"RIFF\x10\0\0\0WEBPVP8 ", b"%PDF-1", b"RIFF",
            ][begin];
            let bytes = [begin, &rest].concat();
            if let Ok(media) = Media::new("a", &bytes) {
                let again = Media::of_base64("a", media.base64());
                proptest::prop_assert_eq!(again.as_ref(), Some(&media));
                proptest::prop_assert!(media.about().tokens() > 0);
            }
        }
    }
}
