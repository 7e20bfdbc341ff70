//! A page of HTML becomes Markdown.
//!
//! In two steps. The `reducer` reads the page as a stream of tags and text and writes a much smaller one: only what
//! Markdown has words for, well nested, of bounded size, number and depth, links absolute. What is not content is
//! marked meanwhile, and left out at the end if enough is left then. The small page goes through `htmd`. So neither the
//! memory of the tool nor its stack depends on what somebody put into a page.

mod content;
mod links;
mod markdown;
mod reducer;
mod tags;

use std::cell::RefCell;

use html5ever::TokenizerResult;
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{
    BufferQueue, Tag, TagKind, Token, TokenSink, TokenSinkResult, Tokenizer, TokenizerOpts,
};

use reducer::Reducer;

/// A page as it is read.
pub struct Reader {
    tokenizer: Tokenizer<Sink>,
    input: BufferQueue,
}

/// What became of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    pub markdown: String,
    /// Characters of text that were left out because the page has too many parts.
    pub omitted_chars: usize,
}

impl Reader {
    /// Starts a page that came from this address.
    pub fn new(url: &str) -> Reader {
        let sink = Sink(RefCell::new(Reducer::new(url)));
        Reader {
            tokenizer: Tokenizer::new(sink, TokenizerOpts::default()),
            input: BufferQueue::default(),
        }
    }

    /// Reads more of it, cut anywhere between two characters.
    pub fn read(&mut self, html: &str) {
        self.input.push_back(StrTendril::from_slice(html));
        // Scripts are not run, so nothing ever waits for one.
        while !matches!(self.tokenizer.feed(&self.input), TokenizerResult::Done) {}
    }

    /// Ends it.
    pub fn finish(self) -> Page {
        self.tokenizer.end();
        let reduced = self.tokenizer.sink.0.into_inner().finish();
        Page {
            markdown: markdown::convert(&reduced.html, &reduced.title),
            omitted_chars: reduced.omitted_chars,
        }
    }
}

impl std::fmt::Debug for Reader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reader").finish_non_exhaustive()
    }
}

/// Converts a whole page.
pub fn convert(html: &str, url: &str) -> Page {
    let mut reader = Reader::new(url);
    reader.read(html);
    reader.finish()
}

/// Hands tokens on to the reducer.
struct Sink(RefCell<Reducer>);

impl TokenSink for Sink {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        let mut reducer = self.0.borrow_mut();
        match token {
            Token::TagToken(Tag {
                kind: TagKind::StartTag,
                name,
                attrs,
                self_closing,
            }) => {
                if let Some(raw) = reducer.start(&name, &attrs, self_closing) {
                    return TokenSinkResult::RawData(raw);
                }
            }
            Token::TagToken(tag) => reducer.end(&tag.name),
            Token::CharacterTokens(text) => reducer.text(&text),
            _ => {}
        }
        TokenSinkResult::Continue
    }
}
