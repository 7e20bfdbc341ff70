//! Whether a picture is whole, as far as its structure says: nothing is decoded.
//!
//! A server refuses a request for a picture that it cannot read, and half of a download or of a copy is the usual one. Accepted is
//! what can be shown whole: bytes after the end, a GIF without its trailer, wrong checksums of parts that are not needed. A JPEG
//! without its end mark is refused, as nothing else tells it from half of one.

use super::Format;

/// What is wrong with a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the {} image is damaged: it is cut off", .0.name())]
    CutOff(Format),
    #[error("the PNG image is damaged: a checksum is wrong")]
    Checksum,
}

/// What is wrong with these bytes.
pub(super) fn of(format: Format, bytes: &[u8]) -> Option<Damage> {
    let whole = match format {
        Format::Png => return png(bytes).err(),
        Format::Jpeg => jpeg(bytes),
        Format::Gif => gif(bytes),
        Format::WebP => webp(bytes),
        Format::Pdf => Some(()),
    };
    whole.is_none().then_some(Damage::CutOff(format))
}

/// Follows the chunks up to the one that ends the picture. Those whose names begin with a capital are needed.
fn png(bytes: &[u8]) -> Result<(), Damage> {
    const SIGNATURE: usize = 8;
    let cut_off = Damage::CutOff(Format::Png);
    let mut rest = bytes.get(SIGNATURE..).ok_or(cut_off)?;
    let mut has_data = false;
    loop {
        let (length, behind) = rest.split_first_chunk::<4>().ok_or(cut_off)?;
        let length = u32::from_be_bytes(*length) as usize;
        let end = length.checked_add(4).ok_or(cut_off)?;
        let (chunk, behind) = behind.split_at_checked(end).ok_or(cut_off)?;
        let (checksum, behind) = behind.split_first_chunk::<4>().ok_or(cut_off)?;
        let is_needed = chunk.first().is_some_and(u8::is_ascii_uppercase);
        if is_needed && crc32fast::hash(chunk) != u32::from_be_bytes(*checksum) {
            return Err(Damage::Checksum);
        }
        has_data |= chunk.starts_with(b"IDAT");
        if chunk.starts_with(b"IEND") {
            return has_data.then_some(()).ok_or(cut_off);
        }
        rest = behind;
    }
}

/// Follows the segments up to the mark that ends the picture. A preview in one of them has such a mark, too.
fn jpeg(bytes: &[u8]) -> Option<()> {
    const MARK: u8 = 0xff;
    const END: u8 = 0xd9;
    let mut rest = bytes;
    let mut has_data = false;
    loop {
        // Behind the beginning of the data everything up to the next mark is data.
        let at = rest.iter().position(|byte| *byte == MARK)?;
        let (kind, behind) = rest.get(at + 1..)?.split_first()?;
        rest = behind;
        match *kind {
            // Any number of them may stand before the kind.
            MARK => rest = bytes.get(bytes.len() - behind.len() - 1..)?,
            END => return has_data.then_some(()),
            // A byte of the data, a mark within it, and marks that stand alone.
            0 | 0x01 | 0xd0..=0xd8 => {}
            kind => {
                has_data |= kind == 0xda;
                let length = u16::from_be_bytes(*rest.first_chunk()?);
                rest = rest.get(usize::from(length)..)?;
            }
        }
    }
}

/// Follows the blocks up to the one that ends the picture.
fn gif(bytes: &[u8]) -> Option<()> {
    const HEADER: usize = 13;
    /// The bytes of a table of colours that these flags announce.
    fn table(flags: u8) -> usize {
        match flags & 0x80 {
            0 => 0,
            _ => 3 << ((flags & 0x07) + 1),
        }
    }
    let flags = bytes.get(10)?;
    let mut rest = bytes.get(HEADER + table(*flags)..)?;
    let mut has_picture = false;
    loop {
        let Some((kind, behind)) = rest.split_first() else {
            return has_picture.then_some(());
        };
        has_picture |= *kind == b',';
        let head = match *kind {
            b';' => return Some(()),
            // An extension, with its kind.
            b'!' => 1,
            // A picture, with its place, its colours and how its data is packed.
            b',' => 9 + table(*behind.get(8)?) + 1,
            _ => return None,
        };
        rest = behind.get(head..)?;
        loop {
            let (length, data) = rest.split_first()?;
            rest = data.get(usize::from(*length)..)?;
            if *length == 0 {
                break;
            }
        }
    }
}

/// Compares the length that the header says.
fn webp(bytes: &[u8]) -> Option<()> {
    const HEADER: usize = 8;
    let length = bytes.get(4..HEADER)?.first_chunk()?;
    let length = u32::from_le_bytes(*length) as usize;
    (bytes.len() - HEADER >= length).then_some(())
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    /// The smallest files that are whole.
    fn whole() -> [(Format, Vec<u8>); 4] {
        let jpeg = [
            &b"\xff\xd8\xff\xe1\0\x06\xff\xd8\xff\xd9"[..],
            b"\xff\xc0\0\x0b\x08\0\x07\0\x09\x01\x01\x11\0",
            b"\xff\xff\xda\0\x08\x01\x01\0\0\x3f\0data\xff\0\xff\xd0more\xff\xd9",
        ];
        let gif = [
            &b"GIF89a\x02\0\x02\0\x80\0\0\0\0\0\xff\xff\xff"[..],
            b"!\xf9\x04\0\0\0\0\0",
            b",\0\0\0\0\x02\0\x02\0\x80;;;;;;\x02\x03;;;\0;",
        ];
        let webp = b"RIFF\x16\0\0\0WEBPVP8L\x09\0\0\0\x2f\x02\x40\0\0\0\0\0\0\0";
        [
            (Format::Png, samples::png(8, 6, 100)),
            (Format::Jpeg, jpeg.concat()),
            (Format::Gif, gif.concat()),
            (Format::WebP, webp.to_vec()),
        ]
    }

    #[test]
    fn half_of_a_picture_is_damaged() {
        for (format, bytes) in whole() {
            assert_eq!(of(format, &bytes), None, "{format:?}");
            // A GIF is shown without its trailer.
            let needed = bytes.len() - usize::from(format == Format::Gif);
            for end in 0..needed {
                let damage = Some(Damage::CutOff(format));
                assert_eq!(of(format, &bytes[..end]), damage, "{format:?} {end}");
            }
            let more = [&bytes[..], b"\0\0what a camera adds"].concat();
            assert_eq!(of(format, &more), None, "{format:?}");
        }
    }

    #[test]
    fn a_byte_that_was_changed_in_a_png_is_found() {
        let bytes = samples::png(8, 6, 100);
        // The last bytes are a chunk without data, its name and checksum.
        for at in 16..bytes.len() {
            let mut bytes = bytes.clone();
            bytes[at] ^= 1;
            assert!(of(Format::Png, &bytes).is_some(), "{at}");
        }
        let said = Damage::Checksum.to_string();
        assert_eq!(said, "the PNG image is damaged: a checksum is wrong");
    }

    proptest::proptest! {
        #[test]
        fn any_bytes_can_be_judged(
            which in 0_usize..4,
            at in 0_usize..140,
            byte in proptest::num::u8::ANY,
            rest in proptest::collection::vec(proptest::num::u8::ANY, 0..200),
        ) {
            let (format, mut bytes) = whole()[which].clone();
            if let Some(changed) = bytes.get_mut(at) {
                *changed = byte;
            }
            of(format, &bytes);
            bytes.truncate(at);
            of(format, &[bytes, rest].concat());
        }
    }
}
