use dunlin_sdk::files::File;
use dunlin_sdk::mock::MockHost;
use dunlin_sdk::{Failure, Output};

use crate::media;

fn read(bytes: Vec<u8>) -> Result<Option<Output>, Failure> {
    let host = MockHost::new().file("a", bytes);
    host.call(|| media::read(&File::open("a")?, "a"))
}

#[test]
fn images_and_documents_are_given_as_they_are() {
    let check = |begin: &[u8], media_type: &str| {
        // More than is fetched at once.
        let bytes = [begin, &[0; 1_500_000]].concat();
        let expected = Output::default().with_blob(media_type, bytes.clone());
        assert_eq!(read(bytes).unwrap(), Some(expected));
    };
    check(b"\x89PNG\r\n\x1a\n", "image/png");
    check(b"\xff\xd8\xff\xe0", "image/jpeg");
    check(b"GIF89a", "image/gif");
    check(b"RIFF\0\0\0\0WEBPVP8 ", "image/webp");
    check(b"%PDF-1.7\n", "application/pdf");
}

#[test]
fn anything_else_is_read_as_text() {
    for bytes in [
        &b""[..],
        b"GIF",
        b"RIFF\0\0\0\0WAVE",
        b"fn main() {}",
        b"\x7fELF",
    ] {
        assert_eq!(read(bytes.to_vec()).unwrap(), None, "{bytes:?}");
    }
}

#[test]
fn a_large_image_is_refused() {
    let failure = read([&b"GIF89a"[..], &vec![0; 9_000_000]].concat()).unwrap_err();
    let expected = "'a' (image/gif) has 9.0 MB, and at most 8.3 MB can be read";
    assert_eq!(failure.message, expected);
}
