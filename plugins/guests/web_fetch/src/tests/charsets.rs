//! In which characters texts are written.

use crate::charset::Reader;

fn read(bytes: &[u8], said: Option<&str>, is_page: bool) -> String {
    // In pieces, so that characters are cut.
    let mut reader = Reader::new(bytes, said, is_page);
    let mut text = String::new();
    for piece in bytes.chunks(3) {
        reader.read(piece, false, &mut text);
    }
    reader.read(&[], true, &mut text);
    text
}

#[test]
fn the_first_to_say_it_is_believed() {
    for (bytes, said, expected) in [
        (&b"gr\xc3\xbcn"[..], None, "grün"),
        (b"gr\xfcn", None, "grün"),
        (b"gr\xfcn", Some("ISO-8859-1"), "grün"),
        (b"gr\xc3\xbcn", Some("latin1"), "grÃ¼n"),
        (b"gr\xc3\xbcn", Some("no-such-thing"), "grün"),
        (b"\xef\xbb\xbfgr\xc3\xbcn", Some("latin1"), "grün"),
        (b"\xff\xfea\0b\0", Some("utf-8"), "ab"),
        (b"\xfe\xff\0a\0b", None, "ab"),
        (b"\x82\xa0", Some("shift_jis"), "あ"),
        (b"\xb0\xa1", Some("gb2312"), "啊"),
        (b"\xbe\xc8", Some("euc-kr"), "안"),
        (b"\xcf\xf0\xe8", Some("windows-1251"), "При"),
        (b"a\xffb", Some("utf-8"), "a\u{fffd}b"),
        (b"", None, ""),
    ] {
        assert_eq!(read(bytes, said, false), expected, "{said:?}");
    }
}

#[test]
fn a_page_may_say_it_itself() {
    for (page, expected) in [
        ("<meta charset=windows-1251>\u{cf}", "П"),
        ("<META CHARSET='windows-1251'>\u{cf}", "П"),
        (
            "<meta http-equiv=content-type content=\"text/html; charset=koi8-r\">\u{f0}",
            "П",
        ),
        (
            "<?xml version=\"1.0\" encoding=\"windows-1251\"?>\u{cf}",
            "П",
        ),
        // It is read as ASCII, so it cannot be in pairs of bytes.
        ("<meta charset=utf-16>a", "a"),
        ("<meta name=charset content=x>\u{fc}", "ü"),
        ("<meta charset=nonsense>\u{fc}", "ü"),
        ("<meta charset", "t"),
    ] {
        let bytes: Vec<u8> = page.chars().map(|c| c as u8).collect();
        let text = read(&bytes, None, true);
        assert!(text.ends_with(expected), "{page}: {text}");
        // What is not a page says nothing of itself.
        assert!(!read(&bytes, None, false).ends_with('П'), "{page}");
    }
    let late = format!("{}<meta charset=windows-1251>", " ".repeat(2000));
    assert!(read(&[late.as_bytes(), b"\xfc"].concat(), None, true).ends_with('ü'));
}
