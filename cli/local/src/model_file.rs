//! A model's file, opened and understood, but for its weights.

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use candle_core::quantized::gguf_file::Content;

use crate::catch_panic::caught;
use crate::dimensions::{Dimensions, Misfit};
use crate::error::{LoadError, one_line};
use crate::header::Header;
use crate::template::Template;
use crate::tokens::Tokens;
use crate::{memory, weights};

/// The longest header, in bytes: all that stands before the weights. Vocabularies of 150,000 tokens take six million.
/// What is read of it grows to thirty times its size at worst, so the bound is that of memory as well.
const MAX_HEADER_BYTES: u64 = 16 * 1024 * 1024;

/// For which part of the window memory must be free when a model is loaded. Few conversations fill it.
const EXPECTED_TOKENS: u64 = 2048;

/// What a model's file says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelMetadata {
    /// The longest conversation in tokens, as its makers meant it.
    pub window: usize,
    /// Whether it can be told of tools.
    pub offers_tools: bool,
    /// What it takes in memory, in bytes, with a conversation of usual length.
    pub memory: u64,
}

impl ModelMetadata {
    /// Looks at a file without loading its weights: takes some tenths of a second.
    ///
    /// # Errors
    /// As [`Model::load`](crate::Model::load), as far as it can be seen by then.
    pub fn read(path: &Path) -> Result<ModelMetadata, LoadError> {
        opened(path, usize::MAX, &mut || false, |opened, _| {
            Ok(ModelMetadata {
                window: opened.dimensions.window,
                offers_tools: opened.template.offers_tools(),
                memory: opened.memory,
            })
        })
    }
}

/// A file that was understood.
pub(crate) struct Opened<'a> {
    pub(crate) reader: &'a mut BufReader<File>,
    pub(crate) content: Content,
    pub(crate) dimensions: Dimensions,
    pub(crate) tokens: Tokens,
    pub(crate) template: Template,
    /// How the tokens are written that a conversation starts and ends with.
    pub(crate) start: String,
    pub(crate) end: String,
    /// Bytes.
    memory: u64,
}

/// Why a file cannot be used, before its name is put to it.
pub(crate) enum Failed {
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
    pub(crate) fn of(self, path: PathBuf) -> LoadError {
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

/// Opens a file of weights, and says how many bytes it has. A pipe would be waited for, and is refused.
pub(crate) fn regular_file(path: &Path) -> Result<(File, u64), LoadError> {
    let metadata = path.metadata().map_err(unreadable(path))?;
    if !metadata.is_file() {
        return Err(unreadable(path)(io::Error::other(
            "it is not a regular file",
        )));
    }
    let file = File::open(path).map_err(unreadable(path))?;
    Ok((file, metadata.len()))
}

fn unreadable(path: &Path) -> impl Fn(io::Error) -> LoadError {
    |source| LoadError::Read {
        path: path.to_owned(),
        source,
    }
}

/// Opens a file and does with it what is wanted. `stop` is asked between the steps.
pub(crate) fn opened<T>(
    path: &Path,
    window: usize,
    stop: &mut dyn FnMut() -> bool,
    work: impl FnOnce(Opened<'_>, &mut dyn FnMut() -> bool) -> Result<T, Failed>,
) -> Result<T, LoadError> {
    let (mut file, bytes) = regular_file(path)?;
    let mut header = Vec::new();
    Read::by_ref(&mut file)
        .take(MAX_HEADER_BYTES)
        .read_to_end(&mut header)
        .and_then(|_| file.seek(SeekFrom::Start(0)))
        .map_err(unreadable(path))?;
    if !header.starts_with(b"GGUF") {
        return Err(LoadError::NotAModel {
            path: path.to_owned(),
        });
    }
    let mut reader = BufReader::with_capacity(1024 * 1024, file);
    let done = caught(|| {
        let opened = read(&mut reader, header, bytes, window, stop)?;
        work(opened, stop)
    });
    let failed = match done {
        Some(Ok(done)) => return Ok(done),
        Some(Err(failed)) => failed,
        None => Failed::Misfit(Misfit::Damaged(
            "its numbers do not fit together".to_owned(),
        )),
    };
    Err(failed.of(path.to_owned()))
}

fn read<'a>(
    reader: &'a mut BufReader<File>,
    header: Vec<u8>,
    file_bytes: u64,
    window: usize,
    stop: &mut dyn FnMut() -> bool,
) -> Result<Opened<'a>, Failed> {
    let content = Content::read(&mut Cursor::new(header))?;
    let header = Header(&content);
    let mut dimensions = Dimensions::read(&header)?;
    dimensions.window = dimensions.window.min(window);
    let kept = dimensions.bytes_per_token().saturating_mul(EXPECTED_TOKENS);
    let needed = weights::memory(&content, file_bytes)?.saturating_add(kept);
    if let Some(available) = memory::available().filter(|available| *available < needed) {
        return Err(Failed::Memory { needed, available });
    }
    let source = header.text("tokenizer.chat_template").ok_or_else(|| {
        let problem = "it has no chat template: it is not an instruct model";
        Misfit::Unsupported(problem.to_owned())
    })?;
    if stop() {
        return Err(Failed::Stopped);
    }
    let tokens = Tokens::read(&header)?;
    let chat_ml = tokens.control().iter().any(|name| name == "<|im_start|>");
    let template = Template::new(source, chat_ml);
    let name = |key: &str| tokens.control_name(header.number(key)).unwrap_or_default();
    let start = name("tokenizer.ggml.bos_token_id");
    let end = name("tokenizer.ggml.eos_token_id");
    Ok(Opened {
        reader,
        dimensions,
        tokens,
        template,
        start,
        end,
        memory: needed,
        content,
    })
}
