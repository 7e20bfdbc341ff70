//! A loaded model: from a conversation to a reply.

use std::ops::ControlFlow;
use std::path::Path;

use serde_json::Value;

use crate::catch_panic::caught;
use crate::decoder::Decoder;
use crate::dimensions::Misfit;
use crate::error::{LoadError, ReplyError, one_line};
use crate::model_file::{Failed, opened};
use crate::rendering::{Renderer, Rendering};
use crate::sample::{Sampler, Sampling};
use crate::template::Template;
use crate::tokens::{Characters, Tokens};

/// How many tokens of a prompt are read at once. More is a little faster and a good deal longer until
/// somebody is told, and can stop it.
const AT_ONCE: usize = 128;

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
    pub prompt_tokens: usize,
    /// Tokens of the prompt that were known from before.
    pub known_tokens: usize,
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
    renderer: Renderer,
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
    /// The file cannot be read, is not a model, is damaged, is one that cannot be run here, or does not fit into
    /// the memory that is free.
    pub fn load(
        path: &Path,
        window: usize,
        stop: &mut dyn FnMut() -> bool,
    ) -> Result<Model, LoadError> {
        opened(path, window, stop, |opened, stop| {
            let decoder = Decoder::load(&opened.content, opened.reader, opened.dimensions, stop)?;
            let decoder = decoder.ok_or(Failed::Stopped)?;
            if decoder.vocabulary()? < opened.tokens.count() {
                let problem = "it has fewer embeddings than tokens".to_owned();
                return Err(Misfit::Damaged(problem).into());
            }
            Ok(Model {
                decoder,
                tokens: opened.tokens,
                template: opened.template,
                renderer: Rendering::run,
                known: Vec::new(),
                start: opened.start,
                end: opened.end,
            })
        })
    }

    /// The longest conversation in tokens, reply included.
    pub fn window(&self) -> usize {
        self.decoder.window()
    }

    /// Whether the model can be told of tools.
    pub fn offers_tools(&self) -> bool {
        self.template.offers_tools()
    }

    /// Has the file's chat template run elsewhere than in this process, whose memory it could take.
    pub fn render_by(&mut self, renderer: Renderer) {
        self.renderer = renderer;
    }

    /// Makes a prompt of messages and tools, both as OpenAI's chat completions write them.
    ///
    /// # Errors
    /// The model's template refuses them.
    pub fn prompt(&self, messages: &[Value], tools: &[Value]) -> Result<Prompt, ReplyError> {
        let text = self.template.render(
            messages,
            tools,
            self.tokens.control(),
            (&self.start, &self.end),
            self.renderer,
        )?;
        let tokens = self.tokens.encode(&text);
        let tokens = tokens.map_err(|error| ReplyError::Engine(error.to_string()))?;
        Ok(Prompt { tokens })
    }

    /// How many tokens are left for a reply.
    ///
    /// # Errors
    /// There is no room for one.
    pub fn room(&self, prompt: &Prompt) -> Result<usize, ReplyError> {
        let (tokens, window) = (prompt.tokens(), self.window());
        match window.checked_sub(tokens) {
            Some(room) if room >= LEAST_REPLY => Ok(room),
            _ => Err(ReplyError::TooLong { tokens, window }),
        }
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
        let room = self.room(prompt)?;
        let limit = limit.unwrap_or(USUAL_REPLY).min(room);
        let computed = caught(|| self.compute(&prompt.tokens, limit, sampling, watch, stop));
        let failed = match computed {
            Some(Ok(reply)) => return Ok(reply),
            Some(Err(error)) => error.to_string(),
            None => "its weights do not fit together".to_owned(),
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
            let Some(token) = sampler.choose(scores) else {
                candle_core::bail!("its scores are not numbers");
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

#[cfg(test)]
#[path = "model_tests.rs"]
mod tests;
