use super::*;

#[test]
fn the_quick_functions_are_near() {
    for step in -4_000_i16..4_000 {
        let x = f32::from(step) / 100.0;
        assert!((exp(x) / x.exp() - 1.0).abs() < 1e-4, "{x}");
    }
    let input = Tensor::new(&[-40.0_f32, -3.0, -1.0, 0.0, 0.5, 2.0, 40.0], &Device::Cpu).unwrap();
    let near: Vec<f32> = gelu(&input).unwrap().to_vec1().unwrap();
    let exact: Vec<f32> = input.gelu_erf().unwrap().to_vec1().unwrap();
    for (near, exact) in near.iter().zip(&exact) {
        assert!((near - exact).abs() < 1e-3, "{near} {exact}");
    }
}

/// A file with one layer. The table of words is a hole: all words mean the same, and only their places differ.
fn file(folder: &Path, change: impl Fn(&str, &mut Vec<usize>)) -> std::path::PathBuf {
    use rand::{Rng, SeedableRng};
    let layer = |part: &str| format!("encoder.layer.0.{part}");
    let norm = |name: &str| {
        [
            (format!("{name}.weight"), vec![WIDTH]),
            (format!("{name}.bias"), vec![WIDTH]),
        ]
    };
    let linear = |name: &str, from, to| {
        [
            (format!("{name}.weight"), vec![to, from]),
            (format!("{name}.bias"), vec![to]),
        ]
    };
    let mut tensors = Vec::new();
    for name in [
        "embeddings.LayerNorm",
        "encoder.layer.0.attention.output.LayerNorm",
        "encoder.layer.0.output.LayerNorm",
    ] {
        tensors.extend(norm(name));
    }
    for part in ["query", "key", "value"] {
        tensors.extend(linear(
            &layer(&format!("attention.self.{part}")),
            WIDTH,
            WIDTH,
        ));
    }
    tensors.extend(linear(&layer("attention.output.dense"), WIDTH, WIDTH));
    tensors.extend(linear(&layer("intermediate.dense"), WIDTH, INNER));
    tensors.extend(linear(&layer("output.dense"), INNER, WIDTH));
    tensors.push((
        "embeddings.position_embeddings.weight".to_owned(),
        vec![512, WIDTH],
    ));
    tensors.push((
        "embeddings.token_type_embeddings.weight".to_owned(),
        vec![2, WIDTH],
    ));
    tensors.push((
        "embeddings.word_embeddings.weight".to_owned(),
        vec![30_522, WIDTH],
    ));
    let mut head = serde_json::Map::new();
    let mut numbers: Vec<u8> = Vec::new();
    let mut random = rand::rngs::StdRng::seed_from_u64(6);
    let mut end = 0;
    for (name, mut shape) in tensors {
        let bytes = shape.iter().product::<usize>() * size_of::<f32>();
        if !name.contains("word_embeddings") {
            let count = bytes / size_of::<f32>();
            numbers
                .extend((0..count).flat_map(|_| random.random_range(-0.1_f32..0.1).to_le_bytes()));
        }
        change(&name, &mut shape);
        let entry =
            serde_json::json!({"dtype": "F32", "shape": shape, "data_offsets": [end, end + bytes]});
        head.insert(name, entry);
        end += bytes;
    }
    let head = serde_json::to_vec(&head).unwrap();
    let path = folder.join("model.safetensors");
    let mut bytes = (head.len() as u64).to_le_bytes().to_vec();
    bytes.extend(&head);
    bytes.extend(&numbers);
    std::fs::write(&path, bytes).unwrap();
    let whole = (8 + head.len() + end) as u64;
    File::options()
        .write(true)
        .open(&path)
        .unwrap()
        .set_len(whole)
        .unwrap();
    path
}

#[test]
fn texts_become_vectors() {
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), |_, _| {});
    let encoder = Encoder::load(&path).unwrap();
    let texts: Vec<String> = ["one", "one two three", "", "four words are here"]
        .iter()
        .map(|text| (*text).to_owned())
        .collect();
    let vectors = encoder.encode(&texts, 32, &|| false).unwrap();
    assert_eq!(vectors.len(), 4);
    for vector in &vectors {
        let length: f32 = vector.iter().map(|x| x * x).sum();
        assert!(vector.len() == WIDTH && (length - 1.0).abs() < 1e-3);
    }
    // Those beside it say nothing about a text.
    let alone = encoder.encode(&texts[1..2], 32, &|| false).unwrap();
    let same: f32 = alone[0].iter().zip(&vectors[1]).map(|(a, b)| a * b).sum();
    assert!(same > 0.9999, "{same}");
    assert_ne!(vectors[0], vectors[1]);
    // It is not the model that was taught, so nothing is changed.
    let for_code = Encoder::load_for_code(&path).unwrap();
    assert_eq!(for_code.encode(&texts, 32, &|| false).unwrap(), vectors);
    // It is stopped between layers, with what it has.
    assert!(encoder.encode(&texts, 32, &|| true).unwrap().is_empty());
    let many = vec!["a b c d e f g h".to_owned(); 320];
    let asked = AtomicUsize::new(0);
    let stop = || asked.fetch_add(1, Ordering::Relaxed) > 9;
    let some = encoder.encode(&many, 32, &stop).unwrap();
    assert!(
        !some.is_empty() && some.len() < many.len(),
        "{}",
        some.len()
    );
}

#[test]
fn a_file_that_is_no_model_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let check = |path: &Path, expected: &str| {
        let error = Encoder::load(path).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    };
    check(&folder.path().join("none"), "cannot read the model");
    check(folder.path(), "cannot read the model");
    let path = folder.path().join("junk");
    for (bytes, expected) in [
        (&b""[..], "ends before its head"),
        (b"GGUF", "ends before its head"),
        (
            b"\xff\xff\xff\xff\xff\xff\xff\xffxx",
            "not a file of safetensors",
        ),
        (b"\x02\0\0\0\0\0\0\0{}", "it has 0 layers"),
        (b"\x02\0\0\0\0\0\0\0[]", "not a file of safetensors"),
    ] {
        std::fs::write(&path, bytes).unwrap();
        check(&path, expected);
    }
    let wider = file(folder.path(), |name, shape| {
        if name.contains("query.weight") {
            shape[0] += 1;
        }
    });
    check(&wider, "query.weight is [385, 384]");
    let whole = file(folder.path(), |_, _| {});
    let bytes = whole.metadata().unwrap().len();
    File::options()
        .write(true)
        .open(&whole)
        .unwrap()
        .set_len(bytes - 1)
        .unwrap();
    check(&whole, "word_embeddings.weight lies beyond the end");
}

#[test]
fn a_damaged_head_never_panics() {
    use rand::{Rng, SeedableRng};
    let folder = tempfile::tempdir().unwrap();
    let path = file(folder.path(), |_, _| {});
    let head = 2_000;
    let mut whole = Vec::new();
    File::open(&path)
        .unwrap()
        .take(head as u64)
        .read_to_end(&mut whole)
        .unwrap();
    let mut random = rand::rngs::StdRng::seed_from_u64(7);
    for _ in 0..2_000 {
        let mut bytes = whole.clone();
        for _ in 0..random.random_range(1..4) {
            let at = random.random_range(0..head);
            bytes[at] = random.random();
        }
        let size = random.random_range(0..1 << 40);
        if let Ok(mut tensors) = Tensors::read(&mut &bytes[..], size) {
            let _ = tensors.take(
                &mut std::io::Cursor::new(&bytes),
                "embeddings.LayerNorm.bias",
                &[WIDTH],
            );
        }
    }
}

#[test]
fn short_texts_are_computed_together() {
    let texts: Vec<Vec<u32>> = [250, 6, 1, 100, 100, 56, 300]
        .map(|length| vec![0; length])
        .to_vec();
    let sizes: Vec<usize> = batches(&texts).iter().map(|batch| batch.len()).collect();
    assert_eq!(sizes, [2, 3, 1, 1]);
    assert!(batches(&[]).is_empty());
}
