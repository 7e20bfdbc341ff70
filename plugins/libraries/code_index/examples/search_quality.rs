//! Indexes a tree and answers the questions of the benchmark:
//! `search_quality TREE INDEX QUESTIONS [--explain] [--passages] [--semantic MODEL [--as-published] [--alone]] [--limit HITS] [--set NAME=VALUE]…`. The
//! folder INDEX keeps the index.
//!
//! A question is a line of JSON with `id` and `text`. So is an answer: `id`, the best `files`, and what the question took in
//! microseconds; with `--explain` also what speaks for each candidate, with `--passages` what an embedding model
//! would be given, as text and as its `gist`, and the `gists` of the passages that the question has itself; `--semantic` has
//! one order the passages, without a limit of time, with `--as-published` without what it was taught about code, and
//! with `--alone` nothing but that orders them. The last line says what indexing took. See `tests/benchmarks/search`.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use dunlin_code_index::{
    FileMetadata, Index, Passage, Query, Rerank, Store, StoreError, Vectors, Weights,
};
use dunlin_local::Encoder;
use serde_json::{Value, json};

/// Files of an answer.
const FILES: usize = 10;

/// Tokens of a passage that an embedding model reads, as in the program.
const TOKENS: usize = 64;

#[expect(clippy::print_stdout, reason = "its answers are its output")]
fn main() -> Result<(), String> {
    let mut arguments = std::env::args().skip(1);
    let tree = arguments
        .next()
        .ok_or("the folder of the tree is missing")?;
    let folder = arguments
        .next()
        .ok_or("the folder of the index is missing")?;
    let questions = arguments.next().ok_or("the file of questions is missing")?;
    let mut weights = Weights::default();
    let mut explain = false;
    let mut passages = false;
    let mut model: Option<String> = None;
    let mut as_published = false;
    let mut alone = false;
    let mut limit = 2 * FILES;
    while let Some(argument) = arguments.next() {
        match argument.as_str() {
            "--explain" => explain = true,
            "--passages" => passages = true,
            "--alone" => alone = true,
            "--as-published" => as_published = true,
            "--semantic" => model = Some(arguments.next().ok_or("--semantic needs a file")?),
            "--limit" => {
                let number = arguments.next().and_then(|number| number.parse().ok());
                limit = number.ok_or("--limit needs a number")?;
            }
            "--set" => set(
                &mut weights,
                &arguments.next().ok_or("--set needs NAME=VALUE")?,
            )?,
            other => return Err(format!("'{other}' is not known")),
        }
    }
    let load = match as_published {
        true => Encoder::load,
        false => Encoder::load_for_code,
    };
    let mut ranker = match model {
        Some(model) => Some(SemanticRanker {
            encoder: load(Path::new(&model)).map_err(|e| e.to_string())?,
            vectors: Vectors::default(),
            order: Vec::new(),
        }),
        None => None,
    };
    let tree = Path::new(&tree);
    let mut files = Vec::new();
    walk(tree, tree, &mut files)?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    let mut read = |path: &str| fs::read(tree.join(path)).ok();

    fs::create_dir_all(&folder).map_err(|e| format!("{folder}: {e}"))?;
    let mut store = Folder(PathBuf::from(folder));
    let start = Instant::now();
    let mut index = Index::open(&store).map_err(|e| e.to_string())?;
    let progress = index
        .update(&mut store, &files, &mut read, &mut |_| true)
        .map_err(|e| e.to_string())?;
    let indexing = start.elapsed();

    let text = fs::read_to_string(&questions).map_err(|e| format!("{questions}: {e}"))?;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let question: Value =
            serde_json::from_str(line).map_err(|e| format!("{questions}: {e}"))?;
        let query = Query {
            text: question["text"]
                .as_str()
                .ok_or("a question has no text")?
                .to_owned(),
            globs: Vec::new(),
            limit,
        };
        let mut answer = json!({"id": question["id"]});
        if explain {
            let start = Instant::now();
            let candidates = Index::open(&store)
                .map_err(|e| e.to_string())?
                .explain(&mut store, &query, &weights)
                .map_err(|e| e.to_string())?;
            answer["micros"] = (start.elapsed().as_micros() as u64).into();
            let candidates: Vec<Value> = candidates
                .iter()
                .map(|c| json!({"path": c.path, "kind": c.kind as u8, "features": c.features, "score": c.score}))
                .collect();
            answer["candidates"] = candidates.into();
        } else {
            let start = Instant::now();
            let mut index = Index::open(&store).map_err(|e| e.to_string())?;
            let mut shown = Shown::default();
            let rerank = match &mut ranker {
                Some(ranker) => Some(ranker as &mut dyn Rerank),
                None => passages.then_some(&mut shown as &mut dyn Rerank),
            };
            let found = index
                .search_with(&mut store, &query, &mut read, rerank, &weights)
                .map_err(|e| e.to_string())?;
            answer["micros"] = (start.elapsed().as_micros() as u64).into();
            let mut found: Vec<String> = found.hits.into_iter().map(|hit| hit.path).collect();
            if let Some(ranker) = ranker.as_mut().filter(|_| alone) {
                found = std::mem::take(&mut ranker.order);
            }
            let mut paths: Vec<String> = Vec::new();
            for path in found {
                if !paths.contains(&path) && paths.len() < FILES {
                    paths.push(path);
                }
            }
            answer["files"] = paths.into();
            if passages {
                answer["passages"] = shown.0.into();
                answer["gists"] = gists(&question);
            }
        }
        println!("{answer}");
    }
    let names = store.list().map_err(|e| e.to_string())?;
    let blobs: u64 = names
        .iter()
        .filter_map(|name| fs::metadata(store.0.join(name)).ok())
        .map(|m| m.len())
        .sum();
    println!(
        "{}",
        json!({"files": progress.files, "bytes": progress.bytes, "index_bytes": blobs, "segments": names.len() / 2,
               "index_micros": indexing.as_micros() as u64})
    );
    Ok(())
}

/// No model: notes what one would be given, for other programs to try theirs on.
#[derive(Default)]
struct Shown(Vec<Value>);

impl Rerank for Shown {
    fn scores(&mut self, _question: &str, passages: &[Passage]) -> Option<Vec<Option<f32>>> {
        let shown = passages.iter().map(|p| {
            json!({"path": p.path, "symbol": p.symbol, "start_line": p.start_line, "score": p.score, "text": p.text,
                   "gist": p.gist()})
        });
        self.0 = shown.collect();
        None
    }
}

/// What a model would be given of the passages that stand with a question.
fn gists(question: &Value) -> Value {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let passages = question["passages"].as_array().into_iter().flatten();
    let gists = passages.map(|passage| {
        let passage = Passage {
            path: text(&passage["path"]),
            symbol: Some(text(&passage["symbol"])),
            start_line: 1,
            end_line: 1,
            text: text(&passage["text"]),
            score: 0.0,
        };
        passage.gist()
    });
    gists.collect()
}

/// A model of this machine.
struct SemanticRanker {
    encoder: Encoder,
    /// Those of the questions before.
    vectors: Vectors,
    /// The paths of the passages of the last question, nearest first.
    order: Vec<String>,
}

impl Rerank for SemanticRanker {
    fn scores(&mut self, question: &str, passages: &[Passage]) -> Option<Vec<Option<f32>>> {
        let vectors = &mut self.vectors;
        let gists: Vec<String> = passages.iter().map(Passage::gist).collect();
        let digests: Vec<u64> = gists.iter().map(|gist| Vectors::digest(gist)).collect();
        let (mut texts, mut fresh) = (vec![question.to_owned()], Vec::new());
        for (gist, digest) in gists.into_iter().zip(&digests) {
            if !vectors.has(*digest) {
                texts.push(gist);
                fresh.push(*digest);
            }
        }
        let made = self.encoder.encode(&texts, TOKENS, &|| false).ok()?;
        let (question, made) = made.split_first()?;
        for (digest, vector) in fresh.into_iter().zip(made) {
            vectors.keep(digest, vector);
        }
        let near: Vec<Option<f32>> = digests
            .iter()
            .map(|digest| vectors.nearness(*digest, question))
            .collect();
        let mut order: Vec<(&Option<f32>, &Passage)> = near.iter().zip(passages).collect();
        order.sort_by(|(a, _), (b, _)| b.unwrap_or(-1.0).total_cmp(&a.unwrap_or(-1.0)));
        self.order = order.into_iter().map(|(_, it)| it.path.clone()).collect();
        Some(near)
    }
}

/// A store that is a folder.
struct Folder(PathBuf);

impl Store for Folder {
    fn get(&self, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
        Ok(fs::read(self.0.join(name)).ok())
    }

    fn put(&mut self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        fs::write(self.0.join(name), bytes).map_err(|e| StoreError(e.to_string()))
    }

    fn remove(&mut self, name: &str) -> Result<(), StoreError> {
        fs::remove_file(self.0.join(name)).map_err(|e| StoreError(e.to_string()))
    }

    fn list(&self) -> Result<Vec<String>, StoreError> {
        let entries = fs::read_dir(&self.0).map_err(|e| StoreError(e.to_string()))?;
        Ok(entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok())
            .collect())
    }
}

fn walk(root: &Path, folder: &Path, to: &mut Vec<FileMetadata>) -> Result<(), String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    for entry in entries {
        let entry = entry.map_err(|e| format!("{}: {e}", folder.display()))?;
        let path = entry.path();
        let metadata = entry
            .metadata()
            .map_err(|e| format!("{}: {e}", path.display()))?;
        if metadata.is_dir() && entry.file_name() != ".git" {
            walk(root, &path, to)?;
        } else if metadata.is_file()
            && let Ok(relative) = path.strip_prefix(root)
        {
            to.push(FileMetadata {
                path: relative.to_string_lossy().into_owned(),
                size: metadata.len(),
                modified: 0,
            });
        }
    }
    Ok(())
}

/// Changes a weight: `k1=1.5`, `features.3=0.2`.
fn set(weights: &mut Weights, setting: &str) -> Result<(), String> {
    let (name, value) = setting
        .split_once('=')
        .ok_or_else(|| format!("'{setting}' is not NAME=VALUE"))?;
    let value: f32 = value.parse().map_err(|e| format!("{setting}: {e}"))?;
    let weight = match name {
        "k1" => &mut weights.k1,
        "b" => &mut weights.b,
        "file_k1" => &mut weights.file_k1,
        "file_b" => &mut weights.file_b,
        "comment" => &mut weights.comment,
        "declared" => &mut weights.declared,
        "pair" => &mut weights.pair,
        "weak" => &mut weights.weak,
        "area" => &mut weights.area,
        "apart" => &mut weights.apart,
        "header" => &mut weights.header,
        "written" => &mut weights.written,
        "test" => &mut weights.test,
        "example" => &mut weights.example,
        "vendored" => &mut weights.vendored,
        "prose" => &mut weights.prose,
        "data" => &mut weights.data,
        "further" => &mut weights.further,
        "function" => &mut weights.function,
        "declared_semantic" => &mut weights.declared_semantic,
        "semantic" => &mut weights.semantic,
        _ => name
            .strip_prefix("features.")
            .and_then(|number| weights.features.get_mut(number.parse::<usize>().ok()?))
            .ok_or_else(|| format!("there is no weight '{name}'"))?,
    };
    *weight = value;
    Ok(())
}
