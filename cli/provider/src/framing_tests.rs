use super::*;

use proptest::prelude::*;

const IDLE: Duration = Duration::from_secs(60);

/// What `chunks` give: payloads as they are, the rest in brackets.
fn frames(chunks: Vec<Vec<u8>>) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let chunks = stream::iter(
        chunks
            .into_iter()
            .map(|chunk| Ok::<_, std::io::Error>(Bytes::from(chunk))),
    );
    runtime.block_on(async {
        let mut frames = Frames::new(chunks, IDLE);
        let mut seen = Vec::new();
        while let Some(frame) = frames.next().await {
            seen.push(match frame {
                Ok(Frame::Data(data)) => data,
                Ok(Frame::Error(data)) => format!("[error] {data}"),
                Ok(Frame::Document(text)) => format!("[document] {text}"),
                Ok(Frame::Done) => "[done]".to_owned(),
                Err(error) => format!("[{error}]"),
            });
        }
        seen
    })
}

/// The bytes give these frames, in one piece and cut in two at every position.
#[track_caller]
fn check(bytes: &[u8], expected: &[&str]) {
    assert_eq!(frames(vec![bytes.to_vec()]), expected, "in one piece");
    for position in 0..=bytes.len() {
        let (head, tail) = bytes.split_at(position);
        assert_eq!(
            frames(vec![head.to_vec(), tail.to_vec()]),
            expected,
            "cut at byte {position}"
        );
    }
    let single: Vec<Vec<u8>> = bytes.iter().map(|byte| vec![*byte]).collect();
    assert_eq!(frames(single), expected, "byte by byte");
}

#[test]
fn line_ends() {
    for end in ["\n", "\r\n", "\r"] {
        let text = format!("data: a{end}{end}data: b{end}data: c{end}{end}");
        check(text.as_bytes(), &["a", "b\nc"]);
    }
    check(b"data: a\r\n\r\ndata: b\n\ndata: c\r\r", &["a", "b", "c"]);
}

#[test]
fn spaces_and_fields() {
    check(
        b"data:{\"a\":1}\n\ndata:  two\n\nid: 7\nevent: x\nfoo: bar\ndata: c\nretry: 1\n\n",
        &["{\"a\":1}", " two", "c"],
    );
    check(b"data\n\nevent: lonely\n\n", &[]);
}

#[test]
fn comments_and_the_end() {
    check(b": OPENROUTER PROCESSING\n\ndata: a\n\n:\n\ndata: : OPENROUTER PROCESSING\n\ndata: [DONE]\n\n", &["a", "[done]"]);
    check(b"data: [DONE] \r\r\n\r\n", &["[done]"]);
    check(b"data:[DONE]\n\n", &["[done]"]);
}

#[test]
fn a_missing_last_line_end_costs_no_event() {
    for tail in ["", "\n", "\n\n", "\r", "\r\n", "\r\n\r\n"] {
        check(format!("data: a\n\ndata: b{tail}").as_bytes(), &["a", "b"]);
    }
}

#[test]
fn code_points_may_be_cut() {
    check("data: süß 日本 🪶\n\n".as_bytes(), &["süß 日本 🪶"]);
    check(
        b"data: a\n\ndata: \xff\n\ndata: b\n\n",
        &["a", "[the reply is not valid UTF-8]"],
    );
}

#[test]
fn error_events() {
    check(
        b"event: error\ndata: {\"message\":\"no\"}\n\n",
        &["[error] {\"message\":\"no\"}"],
    );
}

#[test]
fn bodies_that_are_no_stream() {
    check(b" \n{\"choices\":[]}\n", &["[document] {\"choices\":[]}\n"]);
    check(b"\xEF\xBB\xBF{}", &["[document] {}"]);
    check(b"\xEF\xBB\xBFdata: a\n\n", &["a"]);
    check(b"", &[]);
    check(b" \n", &[]);
    assert_eq!(
        frames(vec![b"<!doctype html><title>Log in</title>".to_vec()]),
        ["[the body is not a reply: <!doctype html><title>Log in</title>]"]
    );
}

#[test]
fn sizes_are_bounded() {
    let endless = vec![vec![b'x'; 1024 * 1024]; MAX_EVENT_BYTES / (1024 * 1024) + 1];
    let too_large = [format!(
        "[a piece of the reply is larger than {MAX_EVENT_BYTES} bytes]"
    )];
    let line: Vec<Vec<u8>> = std::iter::once(b"data: ".to_vec())
        .chain(endless.clone())
        .collect();
    assert_eq!(frames(line), too_large);
    let document: Vec<Vec<u8>> = std::iter::once(b"{".to_vec())
        .chain(endless.clone())
        .collect();
    assert_eq!(frames(document), too_large);
    assert_eq!(frames(endless), too_large, "a line that is not a field");
}

#[tokio::test(start_paused = true)]
async fn silence_has_a_limit_and_comments_break_it() {
    let pause = |text: &'static str| {
        stream::once(async move {
            tokio::time::sleep(IDLE - Duration::from_secs(1)).await;
            Ok::<_, std::io::Error>(Bytes::from_static(text.as_bytes()))
        })
    };
    let alive = pause("data: a\n\n")
        .chain(pause(": still here\n"))
        .chain(pause("data: b\n\n"));
    let mut frames = Frames::new(alive.chain(stream::pending()), IDLE);
    assert_eq!(
        frames.next().await.unwrap().unwrap(),
        Frame::Data("a".to_owned())
    );
    assert_eq!(
        frames.next().await.unwrap().unwrap(),
        Frame::Data("b".to_owned())
    );
    assert!(matches!(
        frames.next().await,
        Some(Err(FrameError::Idle(IDLE)))
    ));
    assert!(frames.next().await.is_none());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// However a stream is cut, the same comes out.
    #[test]
    fn chunk_boundaries_change_nothing(
        lines in prop::collection::vec("(data|event|id)?:? ?[a-zäß🪶:{}]{0,6}(\n|\r\n|\r){1,2}", 0..12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let bytes = lines.concat().into_bytes();
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut.index(bytes.len() + 1)).collect();
        cuts.sort_unstable();
        let mut chunks = Vec::new();
        let mut start = 0;
        for cut in cuts.into_iter().chain([bytes.len()]) {
            chunks.push(bytes[start..cut].to_vec());
            start = cut;
        }
        prop_assert_eq!(frames(chunks), frames(vec![bytes]));
    }

    /// No bytes make it panic, and it always comes to an end.
    #[test]
    fn any_bytes_are_survived(chunks in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..8)) {
        frames(chunks);
    }
}
