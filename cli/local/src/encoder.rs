//! Texts as vectors: a small BERT such as MiniLM, whose vectors are near to each other where texts mean the like.
//!
//! The file is one of safetensors as its makers published it. Only what is computed with is kept in memory: of the table
//! of words, which is half of the file, the rows that a text needs are read when it does.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use candle_core::{D, Device, IndexOp, Result, Tensor, bail};
use candle_nn::ops::{layer_norm, softmax_last_dim};
use parking_lot::Mutex;

use crate::adapter::Adapter;
use crate::catch_panic::caught;
use crate::dimensions::Misfit;
use crate::error::{LoadError, ReplyError, one_line};
use crate::memory;
use crate::model_file::{Failed, regular_file};
use crate::tensors::Tensors;
use crate::wordpieces::WordPieces;

/// How wide the vectors are.
const WIDTH: usize = 384;

/// The heads of a layer. No file says how many there are.
const HEADS: usize = 12;

/// How wide the inner layers are.
const INNER: usize = 4 * WIDTH;

/// The most layers: twice as many as MiniLM has.
const MAX_LAYERS: usize = 12;

/// The most tokens of a text. What is beyond is not read.
pub const MAX_TOKENS: usize = 256;

/// Added under the root, as the models were trained.
const EPSILON: f32 = 1e-12;

/// Memory for computing beside the weights, in bytes.
const WORKING_BYTES: u64 = 64 << 20;

/// Tokens that are computed with at once. More are hardly faster, and keep one from stopping.
const AT_ONCE: usize = 256;

/// The most threads of a question.
const MAX_THREADS: usize = 4;

/// What came of some texts.
type Made = std::result::Result<Vec<Vec<f32>>, String>;

/// An embedding model in memory.
pub struct Encoder {
    words: Mutex<Words>,
    pieces: WordPieces,
    positions: Tensor,
    norm: Norm,
    layers: Vec<Layer>,
}

impl std::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Encoder")
            .field("layers", &self.layers.len())
            .finish_non_exhaustive()
    }
}

/// The table of words in the file.
struct Words {
    file: BufReader<File>,
    start: u64,
}

struct Norm {
    scale: Tensor,
    shift: Tensor,
}

struct Linear {
    weight: Tensor,
    bias: Tensor,
}

struct Layer {
    /// Query, key and value side by side.
    attention: Linear,
    output: Linear,
    output_norm: Norm,
    inner: Linear,
    outer: Linear,
    outer_norm: Norm,
}

impl Encoder {
    /// Reads a model as its makers published it, in some hundredths of a second.
    ///
    /// # Errors
    /// The file cannot be read, is no such model, is damaged, or does not fit into the memory that is free.
    pub fn load(path: &Path) -> std::result::Result<Encoder, LoadError> {
        Self::load_with(path, None)
    }

    /// Reads a model and, where it is the one that was taught so, has it tell which function a question about code
    /// means: see `tests/benchmarks/search/teach.py`.
    ///
    /// # Errors
    /// As of [`Encoder::load`].
    pub fn load_for_code(path: &Path) -> std::result::Result<Encoder, LoadError> {
        Self::load_with(path, Some(Adapter::of_code))
    }

    fn load_with(
        path: &Path,
        adapter: Option<fn() -> Result<Adapter>>,
    ) -> std::result::Result<Encoder, LoadError> {
        let (file, bytes) = regular_file(path)?;
        let loaded = caught(|| read(BufReader::new(file), bytes, adapter));
        let damaged = || {
            Failed::from(Misfit::Damaged(
                "its numbers do not fit together".to_owned(),
            ))
        };
        loaded
            .unwrap_or_else(|| Err(damaged()))
            .map_err(|failed| failed.of(path.to_owned()))
    }

    /// The vectors of texts, each of length 1, of the first `tokens` of their tokens. They come in order; fewer come
    /// than there are texts once `stop` returns true, which is asked between layers.
    ///
    /// # Errors
    /// Computing fails. The model can be asked again.
    pub fn encode(
        &self,
        texts: &[String],
        tokens: usize,
        stop: &(dyn Fn() -> bool + Sync),
    ) -> std::result::Result<Vec<Vec<f32>>, ReplyError> {
        let tokens = tokens.clamp(3, MAX_TOKENS);
        let ids = texts.iter().map(|text| self.pieces.ids(text, tokens));
        let ids: tokenizers::Result<Vec<Vec<u32>>> = ids.collect();
        let ids = ids.map_err(|error| ReplyError::Engine(error.to_string()))?;
        let batches = batches(&ids);
        let made: Vec<OnceLock<Made>> = batches.iter().map(|_| OnceLock::new()).collect();
        let next = AtomicUsize::new(0);
        let work = || {
            while !stop() {
                let number = next.fetch_add(1, Ordering::Relaxed);
                let (Some(batch), Some(made)) = (batches.get(number), made.get(number)) else {
                    break;
                };
                let vectors = match caught(|| self.together(batch, stop)) {
                    Some(Ok(None)) => break,
                    Some(Ok(Some(vectors))) => Ok(vectors),
                    Some(Err(error)) => Err(one_line(&error.to_string())),
                    None => Err("its weights do not fit together".to_owned()),
                };
                // Nobody else has this number.
                let _ = made.set(vectors);
            }
        };
        // Texts have nothing to do with each other: threads that each take some need not wait for one another, as
        // those do that share a product.
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        std::thread::scope(|scope| {
            for _ in 1..threads.min(MAX_THREADS).min(batches.len()) {
                // Without it, the others do more.
                let _ = std::thread::Builder::new().spawn_scoped(scope, work);
            }
            work();
        });
        let mut vectors = Vec::with_capacity(texts.len());
        for made in made {
            match made.into_inner() {
                Some(Ok(more)) => vectors.extend(more),
                Some(Err(error)) => return Err(ReplyError::Engine(error)),
                None => break,
            }
        }
        Ok(vectors)
    }

    /// The vectors of some texts. `None`: nobody wants them any more.
    fn together(
        &self,
        texts: &[Vec<u32>],
        stop: &(dyn Fn() -> bool + Sync),
    ) -> Result<Option<Vec<Vec<f32>>>> {
        let mut state = self.embedded(texts)?;
        for layer in &self.layers {
            if stop() {
                return Ok(None);
            }
            state = layer.forward(&state, texts)?;
        }
        let mut vectors = Vec::with_capacity(texts.len());
        let mut start = 0;
        for text in texts {
            let mean = state.narrow(0, start, text.len())?.mean(0)?;
            start += text.len();
            let mut vector: Vec<f32> = mean.to_vec1()?;
            let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
            if !length.is_normal() {
                bail!("its vectors are not numbers");
            }
            vector.iter_mut().for_each(|x| *x /= length);
            vectors.push(vector);
        }
        Ok(Some(vectors))
    }

    /// The tokens of texts, one below the other, as the first layer wants them.
    fn embedded(&self, texts: &[Vec<u32>]) -> Result<Tensor> {
        let mut words = self.words.lock();
        let total = texts.iter().map(Vec::len).sum::<usize>();
        let mut rows = Vec::with_capacity(total * WIDTH);
        let mut row = [0_u8; WIDTH * size_of::<f32>()];
        for id in texts.iter().flatten() {
            let at = words.start + u64::from(*id) * row.len() as u64;
            words.file.seek(SeekFrom::Start(at))?;
            words.file.read_exact(&mut row)?;
            rows.extend(
                row.as_chunks()
                    .0
                    .iter()
                    .map(|bytes| f32::from_le_bytes(*bytes)),
            );
        }
        drop(words);
        let words = Tensor::from_vec(rows, (total, WIDTH), &Device::Cpu)?;
        let positions: Result<Vec<Tensor>> = texts
            .iter()
            .map(|text| self.positions.narrow(0, 0, text.len()))
            .collect();
        self.norm.forward(&(words + Tensor::cat(&positions?, 0)?)?)
    }
}

/// Neighbours that are computed with at once: as many as have so many tokens together, since short ones alone take
/// nearly as long as long ones.
fn batches(texts: &[Vec<u32>]) -> Vec<&[Vec<u32>]> {
    let mut tokens = 0;
    let mut number = 0;
    let same = |text: &Vec<u32>| {
        tokens += text.len();
        if tokens > AT_ONCE {
            tokens = text.len();
            number += 1;
        }
        number
    };
    let numbers: Vec<usize> = texts.iter().map(same).collect();
    let mut batches = Vec::new();
    let mut start = 0;
    for run in numbers.chunk_by(|a, b| a == b) {
        batches.push(&texts[start..start + run.len()]);
        start += run.len();
    }
    batches
}

impl Norm {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        layer_norm(input, &self.scale, &self.shift, EPSILON)
    }
}

impl Linear {
    fn forward(&self, input: &Tensor) -> Result<Tensor> {
        input.matmul(&self.weight)?.broadcast_add(&self.bias)
    }
}

impl Layer {
    fn forward(&self, input: &Tensor, texts: &[Vec<u32>]) -> Result<Tensor> {
        let attended = self.attend(&self.attention.forward(input)?, texts)?;
        let state = self
            .output_norm
            .forward(&(self.output.forward(&attended)? + input)?)?;
        let inner = gelu(&self.inner.forward(&state)?)?;
        self.outer_norm
            .forward(&(self.outer.forward(&inner)? + state)?)
    }

    /// Lets the tokens of each text look at each other.
    fn attend(&self, projected: &Tensor, texts: &[Vec<u32>]) -> Result<Tensor> {
        let head = WIDTH / HEADS;
        let mut attended = Vec::with_capacity(texts.len());
        let mut start = 0;
        for text in texts {
            // (tokens, 3, heads, width) → (3, heads, tokens, width)
            let part = projected
                .narrow(0, start, text.len())?
                .reshape((text.len(), 3, HEADS, head))?
                .permute((1, 2, 0, 3))?
                .contiguous()?;
            start += text.len();
            let (query, key, value) = (part.i(0)?, part.i(1)?, part.i(2)?);
            let scores = (query.matmul(&key.t()?)? * (head as f64).sqrt().recip())?;
            let seen = softmax_last_dim(&scores)?.matmul(&value)?;
            attended.push(seen.transpose(0, 1)?.flatten_from(D::Minus2)?);
        }
        Tensor::cat(&attended, 0)
    }
}

/// The smooth step that the models were trained with, to four digits: the exact one takes as long as all else.
fn gelu(input: &Tensor) -> Result<Tensor> {
    let shape = input.shape().clone();
    let mut numbers: Vec<f32> = input.flatten_all()?.to_vec1()?;
    for x in &mut numbers {
        let bent = 1.595_769 * (*x + 0.044_715 * *x * *x * *x);
        *x /= 1.0 + exp(-bent);
    }
    Tensor::from_vec(numbers, shape, &Device::Cpu)
}

/// e to the power of a number, to six digits, in steps that a compiler makes wide.
fn exp(x: f32) -> f32 {
    // Adding it leaves the whole part in the last bits.
    const WHOLE: f32 = 12_582_912.0;
    let power = (x * std::f32::consts::LOG2_E).clamp(-126.0, 126.0);
    let shifted = power + WHOLE;
    let rest = power - (shifted - WHOLE);
    let series = 1.0
        + rest
            * (std::f32::consts::LN_2
                + rest
                    * (0.240_226_5
                        + rest * (0.055_504_1 + rest * (0.009_618_1 + rest * 0.001_333_4))));
    let whole = shifted.to_bits().wrapping_sub(WHOLE.to_bits());
    series * f32::from_bits(whole.wrapping_add(127) << 23)
}

fn read(
    mut file: BufReader<File>,
    bytes: u64,
    adapter: Option<fn() -> Result<Adapter>>,
) -> std::result::Result<Encoder, Failed> {
    let mut tensors = Tensors::read(&mut file, bytes)?;
    let layers = (0..=MAX_LAYERS)
        .take_while(|number| tensors.has(&format!("encoder.layer.{number}.output.dense.weight")))
        .count();
    if !(1..=MAX_LAYERS).contains(&layers) {
        let problem = format!("it has {layers} layers; understood are 1 to {MAX_LAYERS}");
        return Err(Misfit::Unsupported(problem).into());
    }
    let of_layer = (4 * WIDTH * WIDTH + 2 * WIDTH * INNER) * size_of::<f32>();
    let needed = (layers * of_layer) as u64 + WORKING_BYTES;
    if let Some(available) = memory::available().filter(|available| *available < needed) {
        return Err(Failed::Memory { needed, available });
    }
    let pieces = WordPieces::new().map_err(|error| Misfit::Damaged(error.to_string()))?;
    let start = tensors.place(
        "embeddings.word_embeddings.weight",
        &[pieces.count(), WIDTH],
    )?;
    let mut take = |name: &str, shape: &[usize]| tensors.take(&mut file, name, shape);
    let positions = take(
        "embeddings.position_embeddings.weight",
        &[2 * MAX_TOKENS, WIDTH],
    )?;
    // All tokens are of the first kind.
    let kind = take("embeddings.token_type_embeddings.weight", &[2, WIDTH])?;
    let positions = positions.broadcast_add(&kind.i(0)?)?;
    let norm = read_norm("embeddings.LayerNorm", &mut take)?;
    let adapter = match adapter {
        Some(adapter) => Some(adapter()?).filter(|adapter| adapter.is_for(&norm.scale, layers)),
        None => None,
    };
    let layers: std::result::Result<Vec<Layer>, Failed> = (0..layers)
        .map(|number| {
            let name = format!("encoder.layer.{number}");
            read_layer(&name, adapter.as_ref(), &mut take)
        })
        .collect();
    Ok(Encoder {
        layers: layers?,
        words: Mutex::new(Words { file, start }),
        pieces,
        positions,
        norm,
    })
}

type Take<'a> = dyn FnMut(&str, &[usize]) -> std::result::Result<Tensor, Failed> + 'a;

fn read_norm(name: &str, take: &mut Take<'_>) -> std::result::Result<Norm, Failed> {
    Ok(Norm {
        scale: take(&format!("{name}.weight"), &[WIDTH])?,
        shift: take(&format!("{name}.bias"), &[WIDTH])?,
    })
}

fn read_linear(
    names: &[String],
    [from, to]: [usize; 2],
    adapter: Option<&Adapter>,
    take: &mut Take<'_>,
) -> std::result::Result<Linear, Failed> {
    let mut weights = Vec::new();
    let mut biases = Vec::new();
    for name in names {
        let weight = take(&format!("{name}.weight"), &[to, from])?;
        weights.push(match adapter {
            Some(adapter) => (weight + adapter.change(name)?)?,
            None => weight,
        });
        biases.push(take(&format!("{name}.bias"), &[to])?);
    }
    Ok(Linear {
        weight: Tensor::cat(&weights, 0)?.t()?,
        bias: Tensor::cat(&biases, 0)?,
    })
}

fn read_layer(
    name: &str,
    adapter: Option<&Adapter>,
    take: &mut Take<'_>,
) -> std::result::Result<Layer, Failed> {
    let of = |part: &str| format!("{name}.{part}");
    let attention = ["query", "key", "value"].map(|part| of(&format!("attention.self.{part}")));
    let mut linear = |names: &[String], shape| read_linear(names, shape, adapter, take);
    Ok(Layer {
        attention: linear(&attention, [WIDTH, WIDTH])?,
        output: linear(&[of("attention.output.dense")], [WIDTH, WIDTH])?,
        inner: linear(&[of("intermediate.dense")], [WIDTH, INNER])?,
        outer: linear(&[of("output.dense")], [INNER, WIDTH])?,
        output_norm: read_norm(&of("attention.output.LayerNorm"), take)?,
        outer_norm: read_norm(&of("output.LayerNorm"), take)?,
    })
}

#[cfg(test)]
#[path = "encoder_tests.rs"]
mod tests;
