//! A loaded model: from a conversation to a reply.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;
use serde_json::Value;

use crate::decoder::{Decoder, Dimensions, Misfit};
use crate::error::{LoadError, ReplyError};
use crate::header::Header;
use crate::sample::{Sampler, Sampling};
use crate::template::Template;
use crate::tokens::{Characters, Tokens};

/// How many tokens of a prompt are read at once. More is a little faster and a good deal longer until
/// somebody is told, and can stop it.
const AT_ONCE: usize = 64;

/// How much memory a file of one byte takes when it is loaded: kernels keep a second form of the weights,
/// and those of 4 or 5 bits may be widened to 8.
const MEMORY_PER_BYTE: f64 = 2.5;

/// For which part of the window memory must be free when a model is loaded. Few conversations fill it.
const EXPECTED_TOKENS: u64 = 2048;

/// The most room that is left for a reply whose length nobody limits, and the least that must be left.
const USUAL_REPLY: usize = 1024;
const LEAST_REPLY: usize = 16;

/// One piece of a computation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Piece<'a> {
    /// So many tokens of the prompt were read.
    Read {
        /// By now.
        done: usize,
        /// In all.
        total: usize,
    },
    /// A piece of the reply.
    Text(&'a str),
}

/// Why a reply ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The model has said what it had to say.
    Done,
    /// It was cut off at the limit, or at the end of the window.
    Limit,
    /// The caller wanted no more of it.
    Stopped,
}

/// What a reply came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// Why it ended.
    pub end: End,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Those of them that were known from before.
    pub known_tokens: usize,
    /// Tokens of the reply.
    pub reply_tokens: usize,
}

/// A conversation in the tokens of one model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    tokens: Vec<u32>,
}

impl Prompt {
    /// How many tokens it has.
    pub fn tokens(&self) -> usize {
        self.tokens.len()
    }
}

/// A model in memory. It keeps what it read last, so that a conversation that goes on is read from where it
/// goes on.
pub struct Model {
    decoder: Decoder,
    tokens: Tokens,
    template: Template,
    /// What the decoder has read.
    known: Vec<u32>,
    start: String,
    end: String,
}

impl std::fmt::Debug for Model {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Model")
            .field("window", &self.window())
            .field("known", &self.known.len())
            .finish_non_exhaustive()
    }
}

impl Model {
    /// Reads a model. Takes about a second for each gigabyte, and says no more than that it was stopped once
    /// `stop` returns true; it is asked between layers.
    ///
    /// `window` is the longest conversation in tokens; the model's own bound holds in any case.
    ///
    /// # Errors
    /// The file cannot be read, is no model, is damaged, is one that cannot be run here, or does not fit into
    /// the memory that is free.
    pub fn load(
        path: &Path,
        window: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Model, LoadError> {
        let unreadable = |source: io::Error| LoadError::Read {
            path: path.to_owned(),
            source,
        };
        let file = File::open(path).map_err(unreadable)?;
        let metadata = file.metadata().map_err(unreadable)?;
        if !metadata.is_file() {
            return Err(unreadable(io::Error::other("it is no regular file")));
        }
        let mut reader = BufReader::with_capacity(1024 * 1024, file);
        let mut magic = [0; 4];
        let known = reader.read_exact(&mut magic).is_ok() && &magic == b"GGUF";
        if !known {
            return Err(LoadError::NotAModel {
                path: path.to_owned(),
            });
        }
        reader.seek(SeekFrom::Start(0)).map_err(unreadable)?;
        // Numbers of a damaged file lead the reader into assertions here and there.
        let loaded = catch_unwind(AssertUnwindSafe(|| {
            load(&mut reader, metadata.len(), window, stop)
        }));
        let failed = match loaded {
            Ok(Ok(model)) => return Ok(model),
            Ok(Err(failed)) => failed,
            Err(_) => Failed::Misfit(Misfit::Damaged("reading it failed".to_owned())),
        };
        Err(failed.of(path.to_owned()))
    }

    /// The longest conversation in tokens, reply included.
    pub fn window(&self) -> usize {
        self.decoder.window()
    }

    /// Whether the model can be told of tools.
    pub fn offers_tools(&self) -> bool {
        self.template.offers_tools()
    }

    /// Makes a prompt of messages and tools, both as OpenAI's chat completions write them.
    ///
    /// # Errors
    /// The model's template refuses them.
    pub fn prompt(&self, messages: &[Value], tools: &[Value]) -> Result<Prompt, ReplyError> {
        let text = self
            .template
            .render(
                messages,
                tools,
                self.tokens.control(),
                &self.start,
                &self.end,
            )
            .map_err(ReplyError::Template)?;
        let tokens = self.tokens.encode(&text).map_err(ReplyError::Engine)?;
        Ok(Prompt { tokens })
    }

    /// Computes a reply of at most `limit` tokens. `watch` is given each piece as it comes and stops the
    /// computation by breaking; it is asked for each token, and for each layer while the prompt is read.
    ///
    /// # Errors
    /// The prompt does not fit into the window, or computing fails. Nothing is lost by either: the model can
    /// be asked again.
    pub fn reply(
        &mut self,
        prompt: &Prompt,
        limit: Option<usize>,
        sampling: Sampling,
        watch: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Reply, ReplyError> {
        let window = self.window();
        let total = prompt.tokens.len();
        if total + LEAST_REPLY > window {
            return Err(ReplyError::TooLong {
                tokens: total,
                window,
            });
        }
        let limit = limit.unwrap_or(USUAL_REPLY).min(window - total);
        let computed = catch_unwind(AssertUnwindSafe(|| {
            self.compute(&prompt.tokens, limit, sampling, watch, stop)
        }));
        let failed = match computed {
            Ok(Ok(reply)) => return Ok(reply),
            Ok(Err(error)) => error.to_string(),
            Err(_) => "its weights do not fit together".to_owned(),
        };
        // What it knows may be half of something.
        self.forget(0);
        Err(ReplyError::Engine(one_line(&failed)))
    }

    fn forget(&mut self, from: usize) {
        self.known.truncate(from);
        self.decoder.cut_back(from);
    }

    fn compute(
        &mut self,
        prompt: &[u32],
        limit: usize,
        sampling: Sampling,
        watch: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
        stop: &mut dyn FnMut() -> bool,
    ) -> candle_core::Result<Reply> {
        let alike = self.known.iter().zip(prompt).take_while(|(a, b)| a == b);
        // The last token is always read: its scores are wanted.
        let known = alike.count().min(prompt.len().saturating_sub(1));
        self.forget(known);
        let mut reply = Reply {
            end: End::Stopped,
            prompt_tokens: prompt.len(),
            known_tokens: known,
            reply_tokens: 0,
        };
        let mut scores = Vec::new();
        while self.known.len() < prompt.len() {
            let from = self.known.len();
            let until = (from + AT_ONCE).min(prompt.len());
            let piece = prompt.get(from..until).unwrap_or_default();
            match self.decoder.read(piece, until == prompt.len(), stop)? {
                Some(read) => scores = read,
                None => return Ok(reply),
            }
            self.known.extend_from_slice(piece);
            let read = Piece::Read {
                done: until,
                total: prompt.len(),
            };
            if watch(read).is_break() {
                return Ok(reply);
            }
        }
        let mut sampler = Sampler::new(sampling);
        let mut characters = Characters::default();
        loop {
            let Some(token) = sampler.choose(&scores) else {
                candle_core::bail!("its scores are no numbers");
            };
            if self.tokens.is_end(token) {
                reply.end = End::Done;
                break;
            }
            reply.reply_tokens += 1;
            let text = characters.push(self.tokens.bytes(token));
            if !text.is_empty() && watch(Piece::Text(&text)).is_break() {
                return Ok(reply);
            }
            if reply.reply_tokens >= limit {
                reply.end = End::Limit;
                break;
            }
            match self.decoder.read(&[token], true, stop)? {
                Some(read) => scores = read,
                None => return Ok(reply),
            }
            self.known.push(token);
        }
        let rest = characters.finish();
        if !rest.is_empty() && watch(Piece::Text(&rest)).is_break() {
            reply.end = End::Stopped;
        }
        Ok(reply)
    }
}

/// Why loading failed, before the file's name is put to it.
enum Failed {
    Misfit(Misfit),
    Engine(candle_core::Error),
    Memory { needed: u64, available: u64 },
    Stopped,
}

impl From<Misfit> for Failed {
    fn from(misfit: Misfit) -> Failed {
        Failed::Misfit(misfit)
    }
}

impl From<candle_core::Error> for Failed {
    fn from(error: candle_core::Error) -> Failed {
        Failed::Engine(error)
    }
}

impl Failed {
    fn of(self, path: PathBuf) -> LoadError {
        match self {
            Failed::Misfit(Misfit::Damaged(problem)) => LoadError::Damaged { path, problem },
            Failed::Misfit(Misfit::Unsupported(problem)) => {
                LoadError::Unsupported { path, problem }
            }
            Failed::Engine(error) => LoadError::Damaged {
                path,
                problem: one_line(&error.to_string()),
            },
            Failed::Memory { needed, available } => LoadError::Memory {
                path,
                needed,
                available,
            },
            Failed::Stopped => LoadError::Stopped,
        }
    }
}

fn load(
    reader: &mut (impl Read + Seek),
    file_bytes: u64,
    window: usize,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Model, Failed> {
    let content = Content::read(reader)?;
    let header = Header(&content);
    let mut dimensions = Dimensions::read(&header)?;
    dimensions.window = dimensions.window.min(window);
    let needed = (file_bytes as f64 * MEMORY_PER_BYTE) as u64;
    let needed = needed.saturating_add(dimensions.bytes_per_token().saturating_mul(EXPECTED_TOKENS));
    if let Some(available) = available_memory().filter(|available| *available < needed) {
        return Err(Failed::Memory { needed, available });
    }
    let tokens = Tokens::read(&header)?;
    let source = header
        .text("tokenizer.chat_template")
        .ok_or_else(|| Misfit::Unsupported("it has no chat template: it is no instruct model".to_owned()))?;
    let chat_ml = tokens.control().iter().any(|name| name == "<|im_start|>");
    let template = Template::new(source, chat_ml)
        .map_err(|problem| Misfit::Unsupported(format!("its chat template: {problem}")))?;
    let name = |key: &str| tokens.control_name(header.number(key)).unwrap_or_default();
    let start = name("tokenizer.ggml.bos_token_id");
    let end = name("tokenizer.ggml.eos_token_id");
    let decoder = Decoder::load(&content, reader, dimensions, stop)?.ok_or(Failed::Stopped)?;
    if decoder.vocabulary()? < tokens.count() {
        let problem = "it has fewer embeddings than tokens".to_owned();
        return Err(Misfit::Damaged(problem).into());
    }
    Ok(Model {
        decoder,
        tokens,
        template,
        known: Vec::new(),
        start,
        end,
    })
}

/// The memory that programs could still get, in bytes; `None` where the system does not say.
fn available_memory() -> Option<u64> {
    meminfo(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn meminfo(text: &str) -> Option<u64> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kilobytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kilobytes.checked_mul(1024)
}

/// Errors of the engine may carry a backtrace behind their first line.
fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().to_owned()
}

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
