//! Runs a small language model in process.
//!
//! A model is one GGUF file: weights, vocabulary and chat template. [`Model::load`] reads it,
//! [`Model::prompt`] makes tokens of a conversation, [`Model::reply`] computes and hands out text while it
//! does. Everything blocks and computes; whoever calls it does so on a thread of its own, and stops it by
//! what its callbacks return.
//!
//! The arithmetic is [candle](https://docs.rs/candle-core)'s: tensors, kernels for quantised weights that
//! choose their instructions at run time, the GGUF reader. The vocabulary is worked by `tokenizers`, the
//! template by `minijinja`. What is here is what lies between: the decoder with a cache that can be cut
//! back, so that a conversation which starts like the one before is not read again.
//!
//! A file may come from anywhere. What it says is checked before it is used, its template runs with a
//! bounded number of steps (and, with a [`Renderer`] that sees to it, of bytes), and nothing that a message says can take the place of one of the model's
//! control tokens. This crate never prints, and reads nothing but the file and `/proc/meminfo`.

mod adapter;
mod catch_panic;
mod decoder;
mod dimensions;
mod encoder;
mod error;
mod header;
mod memory;
mod model;
mod model_file;
mod rendering;
mod sample;
mod template;
mod tensors;
pub mod tiny;
mod tokens;
mod weights;
mod wordpieces;

pub use encoder::{Encoder, MAX_TOKENS};
pub use error::{LoadError, ReplyError};
pub use model::{End, Model, Piece, Prompt, Reply};
pub use model_file::ModelMetadata;
pub use rendering::{Renderer, Rendering, TemplateError};
pub use sample::Sampling;

/// The longest conversation in tokens that memory is spent on, unless the caller wants more: what was
/// computed for each token is kept, 46 kB for the smallest models and 57 kB for those of 1.5 billion.
pub const DEFAULT_WINDOW: usize = 8192;

/// The architectures whose decoder is understood, as GGUF files name them.
pub const ARCHITECTURES: [&str; 3] = ["llama", "qwen2", "qwen3"];
