//! The custom sections of a component: what stands in it beside the code, and is read without running anything.
//!
//! Only the outermost component is looked at; the modules and components within it are single sections.

/// The kind of a section that an engine leaves alone.
const CUSTOM: u8 = 0;

/// Bytes before the first section.
const HEADER: usize = 8;

/// One section: all of it, and what stands in it.
struct Section<'a> {
    whole: &'a [u8],
    kind: u8,
    content: &'a [u8],
}

impl<'a> Section<'a> {
    /// What a custom section of this name holds.
    fn of(&self, name: &str) -> Option<&'a [u8]> {
        if self.kind != CUSTOM {
            return None;
        }
        let (length, rest) = number(self.content)?;
        (rest.get(..length)? == name.as_bytes()).then(|| &rest[length..])
    }
}

/// What the custom sections of this name hold, in order. `None`: the component is damaged.
pub(crate) fn custom<'a>(component: &'a [u8], name: &str) -> Option<Vec<&'a [u8]>> {
    let mut found = Vec::new();
    for section in all(component) {
        found.extend(section?.of(name));
    }
    Some(found)
}

/// The component with such a section at its end, or with none, in place of those that it may have. `None`: the component is
/// damaged.
pub(crate) fn with(component: &[u8], name: &str, content: Option<&[u8]>) -> Option<Vec<u8>> {
    let mut bytes = component.get(..HEADER)?.to_vec();
    for section in all(component) {
        let section = section?;
        if section.of(name).is_none() {
            bytes.extend(section.whole);
        }
    }
    if let Some(content) = content {
        let mut section = Vec::new();
        put_number(&mut section, name.len());
        section.extend(name.as_bytes());
        section.extend(content);
        bytes.push(CUSTOM);
        put_number(&mut bytes, section.len());
        bytes.extend(section);
    }
    Some(bytes)
}

/// Every section, in order; the last one is `None` where the bytes make no sense.
fn all(bytes: &[u8]) -> impl Iterator<Item = Option<Section<'_>>> {
    let mut rest = bytes.get(HEADER..).unwrap_or_default();
    std::iter::from_fn(move || {
        let (&kind, behind) = rest.split_first()?;
        let read = number(behind).and_then(|(size, behind)| {
            let content = behind.get(..size)?;
            let length = rest.len() - behind.len() + size;
            Some((content, length))
        });
        let Some((content, length)) = read else {
            rest = &[];
            return Some(None);
        };
        let (whole, behind) = rest.split_at(length);
        rest = behind;
        Some(Some(Section {
            whole,
            kind,
            content,
        }))
    })
}

/// Writes a number in LEB128.
fn put_number(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A number of at most 32 bits in LEB128, and what follows it.
fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut value: u64 = 0;
    for (at, byte) in bytes.iter().take(5).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * at);
        if byte & 0x80 == 0 {
            let value = u32::try_from(value).ok()?;
            return Some((usize::try_from(value).ok()?, &bytes[at + 1..]));
        }
    }
    None
}
