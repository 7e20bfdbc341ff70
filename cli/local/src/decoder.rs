//! The decoder: tokens in, the scores of the next token out.
//!
//! One form serves the architectures of [`crate::ARCHITECTURES`]: normalised input, grouped attention with
//! rotary positions, a gated feed-forward part. What one of them lacks (biases, normalised heads) is simply
//! not in its file. candle has models of its own for these, but their caches cannot be cut back to where
//! two conversations part, and one of them ends at 4096 tokens whatever the model can.

use std::io::{Read, Seek};

use candle_core::quantized::QMatMul;
use candle_core::quantized::gguf_file::Content;
use candle_core::{Device, Module, Result, Tensor, bail};
use candle_nn::attention::{AttnMask, flash_attn};
use candle_nn::ops::{rms_norm, silu, softmax_last_dim};
use candle_nn::rotary_emb::{rope, rope_i};

use crate::dimensions::Dimensions;
use crate::memory;
use crate::weights::{Linear, Source};

/// By how many tokens the cache grows. Growing copies what is there.
const GROWTH: usize = 512;

/// A loaded decoder and what it has read.
pub(crate) struct Decoder {
    dimensions: Dimensions,
    embedding: QMatMul,
    layers: Vec<Layer>,
    norm: Tensor,
    output: QMatMul,
    /// By how much each pair of a head is turned from one position to the next.
    speeds: Vec<f64>,
    /// Tokens whose keys and values are kept.
    filled: usize,
    /// Tokens for which there is room.
    capacity: usize,
}

struct Layer {
    norm: Tensor,
    query: Linear,
    key: Linear,
    value: Linear,
    out: Linear,
    query_norm: Option<Tensor>,
    key_norm: Option<Tensor>,
    forward_norm: Tensor,
    gate: Linear,
    up: Linear,
    down: Linear,
    /// Keys and values of the tokens that were read: `(1, capacity, kv_heads, head_width)`.
    kept: Option<(Tensor, Tensor)>,
}

impl Decoder {
    /// Reads all weights. `None`: `stop` said so.
    pub(crate) fn load<R: Read + Seek>(
        content: &Content,
        reader: &mut R,
        dimensions: Dimensions,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Decoder>> {
        let mut source = Source { content, reader };
        let embedding = source.matrix("token_embd.weight")?;
        let output = match source.has("output.weight") {
            true => source.matrix("output.weight")?,
            // Small models use one matrix for both.
            false => embedding.clone(),
        };
        let norm = source.vector("output_norm.weight")?;
        let factors = source.vector_if_any("rope_freqs.weight")?;
        let speeds = speeds(&dimensions, factors.as_ref())?;
        let mut layers = Vec::with_capacity(dimensions.layers);
        for number in 0..dimensions.layers {
            if stop() {
                return Ok(None);
            }
            let name = |part: &str| format!("blk.{number}.{part}");
            layers.push(Layer {
                norm: source.vector(&name("attn_norm.weight"))?,
                query: source.linear(&name("attn_q"))?,
                key: source.linear(&name("attn_k"))?,
                value: source.linear(&name("attn_v"))?,
                out: source.linear(&name("attn_output"))?,
                query_norm: source.vector_if_any(&name("attn_q_norm.weight"))?,
                key_norm: source.vector_if_any(&name("attn_k_norm.weight"))?,
                forward_norm: source.vector(&name("ffn_norm.weight"))?,
                gate: source.linear(&name("ffn_gate"))?,
                up: source.linear(&name("ffn_up"))?,
                down: source.linear(&name("ffn_down"))?,
                kept: None,
            });
        }
        let decoder = Decoder {
            dimensions,
            embedding,
            layers,
            norm,
            output,
            speeds,
            filled: 0,
            capacity: 0,
        };
        decoder.check()?;
        Ok(Some(decoder))
    }

    pub(crate) fn window(&self) -> usize {
        self.dimensions.window
    }

    /// How many tokens have an embedding.
    pub(crate) fn vocabulary(&self) -> Result<usize> {
        Ok(size(&self.embedding)?.0)
    }

    /// Whether the weights have the dimensions that the header promises. What is allocated later is
    /// allocated by these.
    fn check(&self) -> Result<()> {
        let (rows, width) = size(&self.embedding)?;
        let Dimensions {
            heads,
            kv_heads,
            head_width,
            ..
        } = self.dimensions;
        let (queries, keys) = (
            heads.saturating_mul(head_width),
            kv_heads.saturating_mul(head_width),
        );
        let mut expected = vec![(&self.output, rows, width)];
        for layer in &self.layers {
            let inner = size(&layer.gate.weight)?.0;
            expected.extend([
                (&layer.query.weight, queries, width),
                (&layer.key.weight, keys, width),
                (&layer.value.weight, keys, width),
                (&layer.out.weight, width, queries),
                (&layer.gate.weight, inner, width),
                (&layer.up.weight, inner, width),
                (&layer.down.weight, width, inner),
            ]);
        }
        for (matrix, rows, columns) in expected {
            let found = size(matrix)?;
            if found != (rows, columns) {
                bail!(
                    "a matrix is {found:?} where it should be {:?}",
                    (rows, columns)
                );
            }
        }
        Ok(())
    }

    /// Forgets all but the first `count` tokens.
    pub(crate) fn cut_back(&mut self, count: usize) {
        self.filled = self.filled.min(count);
    }

    /// Reads more tokens, and returns the scores of what could follow, if they are wanted. `None` in
    /// place of everything: `stop` said so, and nothing was read.
    pub(crate) fn read(
        &mut self,
        tokens: &[u32],
        wants_scores: bool,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Option<Vec<f32>>> {
        let count = tokens.len();
        let end = self.filled + count;
        if count == 0 || end > self.dimensions.window {
            bail!("{count} tokens after {} do not fit", self.filled);
        }
        self.make_room(end)?;
        let ids = Tensor::new(tokens, &Device::Cpu)?;
        let (cosines, sines) = rotations(&self.speeds, self.filled, count)?;
        let place = Place {
            dimensions: &self.dimensions,
            start: self.filled,
            count,
            cosines,
            sines,
            mask: mask(self.filled, count)?,
        };
        let epsilon = self.dimensions.epsilon as f32;
        let mut hidden = self.embedding.embedding(&ids)?;
        for layer in &self.layers {
            if stop() {
                return Ok(None);
            }
            let normal = rms_norm(&hidden, &layer.norm, epsilon)?;
            hidden = (layer.attend(&normal, &place)? + hidden)?;
            let normal = rms_norm(&hidden, &layer.forward_norm, epsilon)?;
            let gate = silu(&layer.gate.forward(&normal)?)?;
            let wide = (gate * layer.up.forward(&normal)?)?;
            hidden = (layer.down.forward(&wide)? + hidden)?;
        }
        self.filled = end;
        if !wants_scores {
            return Ok(Some(Vec::new()));
        }
        let last = hidden.narrow(0, count - 1, 1)?.contiguous()?;
        let last = rms_norm(&last, &self.norm, epsilon)?;
        let scores = self.output.forward(&last)?;
        scores.flatten_all()?.to_vec1().map(Some)
    }

    fn make_room(&mut self, count: usize) -> Result<()> {
        if count <= self.capacity {
            return Ok(());
        }
        let capacity = count
            .next_multiple_of(GROWTH)
            .min(self.dimensions.window)
            .max(count);
        // For a moment a layer has both, the old and the new.
        let more = self
            .dimensions
            .bytes_per_token()
            .saturating_mul(capacity as u64);
        if memory::available().is_some_and(|available| available < more) {
            let megabytes = more / 1_000_000;
            bail!(
                "a conversation of {count} tokens takes {megabytes} MB of memory, which are not free"
            );
        }
        let shape = (
            1,
            capacity,
            self.dimensions.kv_heads,
            self.dimensions.head_width,
        );
        let filled = self.filled;
        let grown = |old: Option<&Tensor>| {
            let new = Tensor::zeros(shape, candle_core::DType::F32, &Device::Cpu)?;
            if let Some(old) = old.filter(|_| filled > 0) {
                new.slice_set(&old.narrow(1, 0, filled)?, 1, 0)?;
            }
            Ok::<_, candle_core::Error>(new)
        };
        for layer in &mut self.layers {
            let keys = grown(layer.kept.as_ref().map(|(keys, _)| keys))?;
            let values = grown(layer.kept.as_ref().map(|(_, values)| values))?;
            layer.kept = Some((keys, values));
        }
        self.capacity = capacity;
        Ok(())
    }
}

/// Rows and columns.
fn size(matrix: &QMatMul) -> Result<(usize, usize)> {
    match matrix {
        QMatMul::QTensor(tensor) => tensor.shape().dims2(),
        QMatMul::Tensor(tensor) | QMatMul::TensorF16(tensor) => tensor.dims2(),
    }
}

/// Where the tokens that are being read stand.
struct Place<'a> {
    dimensions: &'a Dimensions,
    start: usize,
    count: usize,
    cosines: Tensor,
    sines: Tensor,
    /// What each of several tokens may not see.
    mask: Option<Tensor>,
}

impl Layer {
    fn attend(&self, input: &Tensor, place: &Place<'_>) -> Result<Tensor> {
        let Dimensions {
            heads,
            kv_heads,
            head_width,
            epsilon,
            ..
        } = *place.dimensions;
        let (count, end) = (place.count, place.start + place.count);
        let normalised = |heads: Tensor, norm: &Option<Tensor>| match norm {
            Some(norm) => rms_norm(&heads.contiguous()?, norm, epsilon as f32),
            None => Ok(heads),
        };
        let queries = self.query.forward(input)?;
        let queries = normalised(
            queries.reshape((1, count, heads, head_width))?,
            &self.query_norm,
        )?;
        let keys = self.key.forward(input)?;
        let keys = normalised(
            keys.reshape((1, count, kv_heads, head_width))?,
            &self.key_norm,
        )?;
        let values = self.value.forward(input)?;
        let values = values.reshape((1, count, kv_heads, head_width))?;
        // `(1, heads, count, head_width)`
        let queries = place.rotate(&queries)?;
        let keys = place.rotate(&keys)?.transpose(1, 2)?.contiguous()?;
        let Some((kept_keys, kept_values)) = &self.kept else {
            bail!("there is no room for keys and values");
        };
        kept_keys.slice_set(&keys, 1, place.start)?;
        kept_values.slice_set(&values.contiguous()?, 1, place.start)?;
        let keys = kept_keys.narrow(1, 0, end)?;
        let values = kept_values.narrow(1, 0, end)?;
        let scale = 1.0 / (head_width as f64).sqrt();
        let attended = match &place.mask {
            None => {
                let mask = AttnMask::causal_with_offset(place.start);
                let queries = queries.transpose(1, 2)?;
                flash_attn::<f32>(&queries, &keys, &values, scale as f32, mask, None, None)?
                    .reshape((count, heads * head_width))?
            }
            // Many at once are a matter of large products, for which there are better kernels.
            Some(mask) => {
                let group = heads / kv_heads;
                let queries = (queries.contiguous()? * scale)?;
                let queries = queries.reshape((kv_heads, group * count, head_width))?;
                let keys = keys.squeeze(0)?.transpose(0, 1)?.transpose(1, 2)?;
                let scores = queries.matmul(&keys)?.reshape((heads, count, end))?;
                let shares = softmax_last_dim(&scores.broadcast_add(mask)?)?;
                let shares = shares.reshape((kv_heads, group * count, end))?;
                let values = values.squeeze(0)?.transpose(0, 1)?;
                shares
                    .matmul(&values)?
                    .reshape((heads, count, head_width))?
                    .transpose(0, 1)?
                    .contiguous()?
                    .reshape((count, heads * head_width))?
            }
        };
        self.out.forward(&attended)
    }
}

impl Place<'_> {
    /// From `(1, count, heads, head_width)` to `(1, heads, count, head_width)`, turned by the position.
    fn rotate(&self, heads: &Tensor) -> Result<Tensor> {
        let heads = heads.transpose(1, 2)?.contiguous()?;
        match self.dimensions.halves {
            true => rope(&heads, &self.cosines, &self.sines),
            false => rope_i(&heads, &self.cosines, &self.sines),
        }
    }
}

/// What each of `count` tokens after `start` others may not see: those that come after it. One alone
/// sees everything.
fn mask(start: usize, count: usize) -> Result<Option<Tensor>> {
    if count == 1 {
        return Ok(None);
    }
    let end = start + count;
    let rows = (0..count).flat_map(|row| {
        (0..end).map(move |column| match column > start + row {
            true => f32::NEG_INFINITY,
            false => 0.0,
        })
    });
    Tensor::from_vec(rows.collect(), (count, end), &Device::Cpu).map(Some)
}

/// By how much each pair is turned from one position to the next.
fn speeds(dimensions: &Dimensions, factors: Option<&Tensor>) -> Result<Vec<f64>> {
    let pairs = dimensions.head_width / 2;
    let factors = match factors {
        Some(factors) => factors.to_vec1::<f32>()?,
        None => vec![1.0; pairs],
    };
    if factors.len() != pairs {
        bail!("rope_freqs.weight has {} values", factors.len());
    }
    let speed = |(pair, factor): (usize, &f32)| {
        let exponent = 2.0 * pair as f64 / dimensions.head_width as f64;
        1.0 / (dimensions.rope_base.powf(exponent) * f64::from(*factor) * dimensions.rope_scale)
    };
    Ok((0..pairs).zip(&factors).map(speed).collect())
}

/// The cosines and sines of `count` positions from `start` on.
fn rotations(speeds: &[f64], start: usize, count: usize) -> Result<(Tensor, Tensor)> {
    let angles = || {
        (start..start + count)
            .flat_map(|position| speeds.iter().map(move |speed| position as f64 * speed))
    };
    let shape = (count, speeds.len());
    let cosines = angles().map(|angle| angle.cos() as f32).collect();
    let sines = angles().map(|angle| angle.sin() as f32).collect();
    Ok((
        Tensor::from_vec(cosines, shape, &Device::Cpu)?,
        Tensor::from_vec(sines, shape, &Device::Cpu)?,
    ))
}
