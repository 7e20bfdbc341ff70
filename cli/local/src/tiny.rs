//! A model of some hundred kilobytes, made on the spot: for tests, and for whoever wants to see all of this
//! work without a download.
//!
//! It has been taught one thing. Each token is a direction of its own, and the output matrix points from
//! each to its successor, so after the end of any prompt it says what it was made to say. Everything
//! between, attention above all, computes with small random weights, as a real model would with its own.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use candle_core::quantized::gguf_file::{Value, write};
use candle_core::quantized::{GgmlDType, QTensor};
use candle_core::{Device, Result, Tensor};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use crate::tokens::written;

/// The width of one head, the heads that share keys, and the layers.
const HEAD_WIDTH: usize = 32;
const GROUP: usize = 2;
const LAYERS: usize = 2;

/// How large the weights are by which attention and the rest reach the output: they are to count, and not to drown
/// what was taught.
const FAINT: f32 = 0.002;

/// The window in tokens, which are bytes here.
pub const WINDOW: usize = 8192;

/// The template that the model comes with: ChatML without a place for tools.
pub const TEMPLATE: &str = "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n'}}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}";

/// What is different about a model.
#[derive(Debug, Clone)]
pub struct Tiny<'a> {
    /// What it says, in tokens: each is one, so none may come twice.
    pub says: &'a [&'a str],
    /// Whether it begins again when it has said all, until somebody stops it.
    pub endless: bool,
    /// Its architecture, as the file names it.
    pub architecture: &'a str,
    /// Its chat template.
    pub template: Option<&'a str>,
    /// Whether its control tokens are those of ChatML.
    pub chat_ml: bool,
    /// How its weights are stored.
    pub weights: GgmlDType,
}

impl Default for Tiny<'_> {
    fn default() -> Self {
        Tiny {
            says: &["Sandpipers", " nest", " in", " June", "."],
            endless: false,
            architecture: "llama",
            template: Some(TEMPLATE),
            chat_ml: true,
            weights: GgmlDType::Q8_0,
        }
    }
}

impl Tiny<'_> {
    /// Writes the model. Equal ones become equal files.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<()> {
        let mut vocabulary: Vec<String> = (0..=u8::MAX).map(|byte| written(&[byte])).collect();
        let (start, end) = (vocabulary.len(), vocabulary.len() + 1);
        let control = match self.chat_ml {
            true => ["<|im_start|>", "<|im_end|>"],
            false => ["<s>", "</s>"],
        };
        vocabulary.extend(control.map(str::to_owned));
        let first = vocabulary.len();
        vocabulary.extend(self.says.iter().map(|piece| written(piece.as_bytes())));
        let unit = 2 * GROUP * HEAD_WIDTH;
        let width = vocabulary.len().next_multiple_of(unit);
        let heads = width / HEAD_WIDTH;
        let kv_heads = heads / GROUP;

        let mut chance = StdRng::seed_from_u64(1);
        let mut random = |rows: usize, columns: usize, size: f32| {
            let values: Vec<f32> = (0..rows * columns)
                .map(|_| (chance.random::<f32>() - 0.5) * size)
                .collect();
            Tensor::from_vec(values, (rows, columns), &Device::Cpu)
        };
        let stored = |tensor: &Tensor| QTensor::quantize(tensor, self.weights);
        let whole = |tensor: &Tensor| QTensor::quantize(tensor, GgmlDType::F32);
        let ones = || Tensor::ones(width, candle_core::DType::F32, &Device::Cpu);
        // Every prompt ends with a line feed.
        let after = |token: usize| match token {
            _ if token == usize::from(b'\n') => first,
            _ if token >= first && token + 1 < first + self.says.len() => token + 1,
            _ if token >= first && self.endless => first,
            _ => end,
        };
        let tokens = vocabulary.len();
        let one_hot = |rows: Vec<(usize, usize)>| {
            let mut values = vec![0.0_f32; tokens * width];
            for (row, column) in rows {
                if let Some(value) = values.get_mut(row * width + column) {
                    *value = 1.0;
                }
            }
            Tensor::from_vec(values, (tokens, width), &Device::Cpu)
        };
        let mut tensors = vec![
            (
                "token_embd.weight".to_owned(),
                stored(&one_hot((0..tokens).map(|token| (token, token)).collect())?)?,
            ),
            (
                "output.weight".to_owned(),
                stored(&one_hot(
                    (0..tokens).map(|token| (after(token), token)).collect(),
                )?)?,
            ),
            ("output_norm.weight".to_owned(), whole(&ones()?)?),
        ];
        let kv_width = kv_heads * HEAD_WIDTH;
        for layer in 0..LAYERS {
            let name = |part: &str| format!("blk.{layer}.{part}.weight");
            let mut matrix = |part: &str, rows, columns, size| -> Result<(String, QTensor)> {
                Ok((name(part), stored(&random(rows, columns, size)?)?))
            };
            tensors.push(matrix("attn_q", width, width, 0.5)?);
            tensors.push(matrix("attn_k", kv_width, width, 0.5)?);
            tensors.push(matrix("attn_v", kv_width, width, 0.2)?);
            tensors.push(matrix("attn_output", width, width, FAINT)?);
            tensors.push(matrix("ffn_gate", width, width, 0.2)?);
            tensors.push(matrix("ffn_up", width, width, 0.2)?);
            tensors.push(matrix("ffn_down", width, width, FAINT)?);
            tensors.push((name("attn_norm"), whole(&ones()?)?));
            tensors.push((name("ffn_norm"), whole(&ones()?)?));
        }

        let text = |text: &str| Value::String(text.to_owned());
        let number = |number: usize| Value::U32(u32::try_from(number).unwrap_or(u32::MAX));
        let kinds = (0..tokens).map(|token| match token == start || token == end {
            true => Value::I32(3),
            false => Value::I32(1),
        });
        let mut values = vec![
            ("general.architecture".to_owned(), text(self.architecture)),
            ("general.name".to_owned(), text("tiny")),
            ("tokenizer.ggml.model".to_owned(), text("gpt2")),
            ("tokenizer.ggml.pre".to_owned(), text("smollm")),
            (
                "tokenizer.ggml.tokens".to_owned(),
                Value::Array(vocabulary.into_iter().map(Value::String).collect()),
            ),
            (
                "tokenizer.ggml.token_type".to_owned(),
                Value::Array(kinds.collect()),
            ),
            // There are none, but an empty array has no type of its own.
            ("tokenizer.ggml.merges".to_owned(), Value::Array(Vec::new())),
            ("tokenizer.ggml.bos_token_id".to_owned(), number(start)),
            ("tokenizer.ggml.eos_token_id".to_owned(), number(end)),
        ];
        values.extend(
            self.template
                .map(|template| ("tokenizer.chat_template".to_owned(), text(template))),
        );
        for (key, value) in [
            ("block_count", LAYERS),
            ("context_length", WINDOW),
            ("embedding_length", width),
            ("feed_forward_length", width),
            ("attention.head_count", heads),
            ("attention.head_count_kv", kv_heads),
            ("rope.dimension_count", HEAD_WIDTH),
        ] {
            values.push((format!("{}.{key}", self.architecture), number(value)));
        }
        let values: Vec<(&str, &Value)> = values
            .iter()
            .map(|(key, value)| (key.as_str(), value))
            .collect();
        let tensors: Vec<(&str, &QTensor)> = tensors
            .iter()
            .map(|(name, tensor)| (name.as_str(), tensor))
            .collect();
        write(&mut BufWriter::new(File::create(path)?), &values, &tensors)
    }
}
