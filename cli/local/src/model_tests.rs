use std::fs::File;
use std::io::Write;
use std::path::PathBuf;

use candle_core::quantized::GgmlDType;
use serde_json::json;

use super::*;
use crate::tiny::{self, Tiny};

fn made(tiny: &Tiny<'_>) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tiny.gguf");
    tiny.write(&path).unwrap();
    (folder, path)
}

fn loaded(tiny: &Tiny<'_>) -> Model {
    let (_folder, path) = made(tiny);
    Model::load(&path, tiny::WINDOW, &mut || false).unwrap()
}

const GREEDY: Sampling = Sampling {
    temperature: 0.0,
    top_p: 1.0,
    seed: Some(0),
};

fn said(model: &mut Model, messages: &Value, limit: Option<usize>) -> (String, Reply) {
    let prompt = model.prompt(messages.as_array().unwrap(), &[]).unwrap();
    let mut text = String::new();
    let reply = model
        .reply(
            &prompt,
            limit,
            GREEDY,
            &mut |piece| {
                if let Piece::Text(piece) = piece {
                    text += piece;
                }
                ControlFlow::Continue(())
            },
            &mut || false,
        )
        .unwrap();
    (text, reply)
}

#[test]
fn every_architecture_and_kind_of_weights_speaks() {
    let hello = json!([{"role": "user", "content": "Hello"}]);
    for architecture in crate::ARCHITECTURES {
        for weights in [
            GgmlDType::F32,
            GgmlDType::F16,
            GgmlDType::Q8_0,
            GgmlDType::Q4_0,
            GgmlDType::Q4_1,
            GgmlDType::Q5_0,
        ] {
            let mut model = loaded(&Tiny {
                architecture,
                weights,
                ..Tiny::default()
            });
            let (text, reply) = said(&mut model, &hello, None);
            assert_eq!(
                (text.as_str(), reply.end, reply.reply_tokens),
                ("Sandpipers nest in June.", End::Done, 5),
                "{architecture} {weights:?}"
            );
        }
    }
}

#[test]
fn a_conversation_that_goes_on_is_read_from_where_it_goes_on() {
    let mut model = loaded(&Tiny::default());
    let first = json!([{"role": "user", "content": "Where do they nest? ".repeat(20)}]);
    let (text, reply) = said(&mut model, &first, None);
    assert_eq!(reply.known_tokens, 0);
    let mut second = first.as_array().unwrap().clone();
    second.push(json!({"role": "assistant", "content": text}));
    second.push(json!({"role": "user", "content": "And when?"}));
    let (_, next) = said(&mut model, &second.clone().into(), None);
    assert!(next.known_tokens >= reply.prompt_tokens, "{next:?}");
    // The same again: all but the last token is known, and the answer is the same as without a memory.
    let (again, known) = said(&mut model, &second.clone().into(), None);
    assert_eq!(known.known_tokens, next.prompt_tokens - 1);
    let (fresh, unknown) = said(&mut loaded(&Tiny::default()), &second.into(), None);
    assert_eq!((again, unknown.known_tokens), (fresh, 0));
    // Another conversation shares nothing but its first tokens.
    let (_, other) = said(
        &mut model,
        &json!([{"role": "system", "content": "x"}]),
        None,
    );
    assert!(other.known_tokens <= 1, "{other:?}");
}

/// The scores do not depend on how the tokens came in: one by one, in pieces, or with others forgotten.
#[test]
fn reading_in_pieces_is_reading() {
    let (_folder, path) = made(&Tiny {
        weights: GgmlDType::F32,
        ..Tiny::default()
    });
    let tokens: Vec<u32> = (0..90).map(|n| (n * 37 + 11) % 250).collect();
    let scores = |pieces: &[usize], forgotten: usize| {
        let mut model = Model::load(&path, tiny::WINDOW, &mut || false).unwrap();
        if forgotten > 0 {
            let strangers = vec![99; forgotten];
            model
                .decoder
                .read(&tokens[..10], false, &mut || false)
                .unwrap();
            model
                .decoder
                .read(&strangers, false, &mut || false)
                .unwrap();
            model.decoder.cut_back(10);
        }
        let mut from = if forgotten > 0 { 10 } else { 0 };
        let mut scores = Vec::new();
        for piece in pieces.iter().copied().cycle() {
            let until = (from + piece).min(tokens.len());
            scores = model
                .decoder
                .read(&tokens[from..until], true, &mut || false)
                .unwrap()
                .unwrap();
            from = until;
            if from == tokens.len() {
                break;
            }
        }
        scores
    };
    let expected = scores(&[90], 0);
    for (pieces, forgotten) in [
        (&[1][..], 0),
        (&[64], 0),
        (&[7, 1, 30], 0),
        (&[64], 40),
        (&[1], 700),
    ] {
        let found = scores(pieces, forgotten);
        let apart = expected
            .iter()
            .zip(&found)
            .map(|(a, b)| (a - b).abs())
            .fold(0.0, f32::max);
        assert!(apart < 1e-3, "{pieces:?} {forgotten}: {apart}");
    }
}

#[test]
fn a_reply_ends_where_it_must() {
    let mut model = loaded(&Tiny::default());
    let hello = json!([{"role": "user", "content": "Hello"}]);
    let (text, reply) = said(&mut model, &hello, Some(2));
    assert_eq!((text.as_str(), reply.end), ("Sandpipers nest", End::Limit));

    let prompt = model.prompt(hello.as_array().unwrap(), &[]).unwrap();
    let mut heard = String::new();
    let mut two_words = |piece: Piece<'_>| {
        if let Piece::Text(piece) = piece {
            heard += piece;
        }
        match heard.contains("nest") {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    };
    let reply = model
        .reply(&prompt, None, GREEDY, &mut two_words, &mut || false)
        .unwrap();
    assert_eq!(
        (heard.as_str(), reply.end),
        ("Sandpipers nest", End::Stopped)
    );

    // Stopped while it reads, it has read nothing, and can be asked again.
    let long = model
        .prompt(&[json!({"role": "user", "content": "x".repeat(300)})], &[])
        .unwrap();
    let mut asked = 0;
    let reply = model
        .reply(
            &long,
            None,
            GREEDY,
            &mut |_| ControlFlow::Continue(()),
            &mut || {
                asked += 1;
                asked > 3
            },
        )
        .unwrap();
    assert_eq!((reply.end, reply.reply_tokens), (End::Stopped, 0));
    let (text, _) = said(&mut model, &hello, None);
    assert_eq!(text, "Sandpipers nest in June.");
}

#[test]
fn what_does_not_fit_is_refused_with_numbers() {
    let (_folder, path) = made(&Tiny::default());
    let mut model = Model::load(&path, 100, &mut || false).unwrap();
    assert_eq!(model.window(), 100);
    let prompt = model
        .prompt(&[json!({"role": "user", "content": "x".repeat(90)})], &[])
        .unwrap();
    let refused = model
        .reply(
            &prompt,
            None,
            GREEDY,
            &mut |_| ControlFlow::Continue(()),
            &mut || false,
        )
        .unwrap_err();
    let tokens = prompt.tokens();
    assert_eq!(
        refused.to_string(),
        format!("the conversation has {tokens} tokens, and the model's window is 100")
    );
}

#[test]
fn files_that_are_no_models_are_named() {
    let (folder, path) = made(&Tiny::default());
    let whole = std::fs::read(&path).unwrap();
    let check = |bytes: &[u8], expected: &str| {
        let path = folder.path().join("other.gguf");
        std::fs::write(&path, bytes).unwrap();
        let refused = Model::load(&path, 100, &mut || false).unwrap_err();
        let said = refused.to_string();
        assert!(said.contains("other.gguf"), "{said}");
        assert!(said.contains(expected), "{said}");
    };
    check(b"", "is not a GGUF model");
    check(b"<html>not found</html>", "is not a GGUF model");
    check(b"GGUF", "is damaged");
    check(&whole[..whole.len() / 2], "is damaged: it ends early");
    check(&whole[..whole.len() - 1], "is damaged");
    check(&whole[..200], "is damaged");
    let write = |tiny: &Tiny<'_>| {
        let path = folder.path().join("variant.gguf");
        tiny.write(&path).unwrap();
        std::fs::read(path).unwrap()
    };
    let mamba = write(&Tiny {
        architecture: "mamba",
        ..Tiny::default()
    });
    check(
        &mamba,
        "its architecture is \"mamba\"; known are llama, qwen2, qwen3",
    );
    let base = write(&Tiny {
        template: None,
        ..Tiny::default()
    });
    check(&base, "it has no chat template");
    let wrong = write(&Tiny {
        template: Some("{% for"),
        ..Tiny::default()
    });
    // It is looked at where it runs, which need not be here.
    std::fs::write(&path, &wrong).unwrap();
    let broken = Model::load(&path, 100, &mut || false).unwrap();
    let refused = broken.prompt(&[json!({"role": "user", "content": "a"})], &[]);
    let said = refused.unwrap_err().to_string();
    assert!(
        said.starts_with("the model's chat template cannot be used"),
        "{said}"
    );

    let missing = Model::load(&folder.path().join("none.gguf"), 100, &mut || false).unwrap_err();
    assert!(matches!(missing, LoadError::Read { .. }), "{missing}");
    let refused = Model::load(folder.path(), 100, &mut || false).unwrap_err();
    assert!(matches!(refused, LoadError::Read { .. }), "{refused}");
    let stopped = Model::load(&path, 100, &mut || true).unwrap_err();
    assert!(matches!(stopped, LoadError::Stopped), "{stopped}");
}

/// A file with wrong bytes in it is refused or speaks nonsense; it never ends the program.
#[test]
fn damage_is_survived() {
    let (folder, path) = made(&Tiny::default());
    let whole = std::fs::read(&path).unwrap();
    let damaged = folder.path().join("damaged.gguf");
    // Mostly the header: what comes after it are weights, where any byte is a number.
    let header = 12_000.min(whole.len());
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        usize::try_from(state % below as u64).unwrap()
    };
    for _ in 0..60 {
        let mut bytes = whole.clone();
        for _ in 0..=next(3) {
            let place = 4 + next(header - 4);
            bytes[place] = [0, 1, 0x7f, 0xff, 0x80][next(5)];
        }
        File::create(&damaged).unwrap().write_all(&bytes).unwrap();
        if let Ok(mut model) = Model::load(&damaged, 64, &mut || false)
            && let Ok(prompt) = model.prompt(&[json!({"role": "user", "content": "a"})], &[])
        {
            let _ = model.reply(
                &prompt,
                Some(2),
                GREEDY,
                &mut |_| ControlFlow::Continue(()),
                &mut || false,
            );
        }
    }
}

/// What a file promises is never allocated before it is there.
#[test]
fn promises_are_not_believed() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("hostile.gguf");
    let number = |number: u64| number.to_le_bytes().to_vec();
    let short = |number: u32| number.to_le_bytes().to_vec();
    let head = |tensors: u64, values: u64| {
        [b"GGUF".to_vec(), short(3), number(tensors), number(values)].concat()
    };
    let text = |text: &str| [number(text.len() as u64), text.as_bytes().to_vec()].concat();
    let tensor = |sizes: &[u64], kind: u32, offset: u64| {
        let sizes: Vec<u8> = sizes.iter().flat_map(|size| size.to_le_bytes()).collect();
        let dimensions = u32::try_from(sizes.len() / 8).unwrap();
        [
            text("t"),
            short(dimensions),
            sizes,
            short(kind),
            number(offset),
        ]
        .concat()
    };
    let architecture = [text("general.architecture"), short(8), text("llama")].concat();
    let value = |name: &str, size: u32| [text(name), short(4), short(size)].concat();
    let sizes = [
        architecture.clone(),
        value("llama.block_count", 1),
        value("llama.context_length", u32::MAX),
        value("llama.embedding_length", 64),
        value("llama.attention.head_count", 1),
    ]
    .concat();
    let cases = [
        // More tensors and values than there are bytes.
        head(u64::MAX, 0),
        head(0, u64::MAX),
        head(1 << 29, 1 << 29),
        // A text, and an array, of 2^62 bytes.
        [head(0, 1), number(1 << 62)].concat(),
        [head(0, 1), text("a"), short(9), short(0), number(1 << 62)].concat(),
        [head(0, 1), text("a"), short(9), short(0), number(1 << 30)].concat(),
        // Arrays of arrays of arrays.
        [
            head(0, 1),
            text("a"),
            [short(9), short(9), number(1)].concat().repeat(5000),
        ]
        .concat(),
        // A matrix of 2^80 numbers, one of 2^40, and one that lies behind the end.
        [head(1, 5), sizes.clone(), tensor(&[1 << 40, 1 << 40], 0, 0)].concat(),
        [head(1, 5), sizes.clone(), tensor(&[1 << 20, 1 << 20], 0, 0)].concat(),
        [head(1, 5), sizes.clone(), tensor(&[u64::MAX], 2, 0)].concat(),
        [head(1, 5), sizes, tensor(&[32], 0, u64::MAX)].concat(),
        // An alignment by which nothing can be divided.
        [head(0, 1), text("general.alignment"), short(4), short(0)].concat(),
    ];
    for (number, bytes) in cases.iter().enumerate() {
        std::fs::write(&path, bytes).unwrap();
        let refused = Model::load(&path, usize::MAX, &mut || false).unwrap_err();
        assert!(
            matches!(refused, LoadError::Damaged { .. }),
            "{number}: {refused}"
        );
    }
    // A file of a terabyte, nearly all of it a hole.
    let (_kept, whole) = made(&Tiny::default());
    std::fs::copy(&whole, &path).unwrap();
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(1 << 40)
        .unwrap();
    Model::load(&path, tiny::WINDOW, &mut || false).unwrap();
}

#[test]
fn a_file_is_looked_at_without_being_loaded() {
    let (_folder, path) = made(&Tiny::default());
    let metadata = crate::ModelMetadata::read(&path).unwrap();
    assert_eq!(
        (metadata.window, metadata.offers_tools),
        (tiny::WINDOW, true)
    );
    assert!(metadata.memory > path.metadata().unwrap().len());
}
