//! Fetches an address and makes of the answer what a model can read.

use dunlin_sdk::web::Request;
use dunlin_sdk::{Error, Failure};

use crate::answer;
use crate::arguments::{Format, Wanted};
use crate::charset;
use crate::media::{Kind, MediaType};
use crate::page;
use crate::source::{Answer, Source};

/// Bytes of an answer that are read, decompressed. The largest pages there are have some megabytes.
pub const MAX_BYTES: usize = 8 * 1024 * 1024;

/// Bytes of an answer that are kept where it stays as it is: more than is shown, so that there is something to cut.
const MAX_KEPT_BYTES: usize = 2 * answer::MAX_TEXT_BYTES;

/// How much has come before it is decided in which characters a text is written.
const BEGINNING_BYTES: usize = 64 * 1024;

/// Bytes of an error's page that are read for its message.
const MAX_ERROR_BYTES: usize = 64 * 1024;

/// What a server is told of what is wanted.
const ACCEPT: &str =
    "text/html,application/xhtml+xml,application/json;q=0.9,text/*;q=0.9,*/*;q=0.8";

/// Fetches what is wanted.
///
/// # Errors
/// It cannot be fetched, the server says no, or it is too large to be given.
pub fn fetch(source: &impl Source, wanted: &Wanted<'_>) -> Result<String, Failure> {
    let request = match wanted.body {
        None => Request::get(wanted.url),
        Some(body) => Request::post(wanted.url, body).header("content-type", wanted.content_type()),
    };
    let response = source.send(request.header("accept", ACCEPT))?;
    let mut response = Incoming::new(response);
    let status = response.answer.status();
    if !(200..300).contains(&status) {
        let message = response.message();
        return Err(answer::refused(status, &response.answer.url(), &message));
    }
    let redirected = answer::redirected(wanted.url, &response.answer.url());
    let kind = response.kind()?;
    let content = match (kind, wanted.format) {
        (Kind::Binary, _) | (_, Format::Base64) => response.base64()?,
        (Kind::Html, Format::Markdown) => response.page()?,
        (Kind::Html, Format::Raw) | (Kind::Text, _) => response.text()?,
    };
    Ok(redirected + &content)
}

/// An answer on its way.
struct Incoming<A> {
    answer: A,
    media: MediaType,
    /// What the server says it sends, where it says so.
    announced: Option<usize>,
    /// What came and was not taken yet.
    waiting: Vec<u8>,
    /// How much came.
    read: usize,
    is_over: bool,
    /// What kept the rest from coming.
    trouble: Option<Error>,
}

impl<A: Answer> Incoming<A> {
    fn new(answer: A) -> Incoming<A> {
        let headers = answer.headers();
        let header = |name: &str| {
            let found = headers.iter().find(|(header, _)| header == name);
            found.map(|(_, value)| value.as_str())
        };
        Incoming {
            media: MediaType::parse(header("content-type").unwrap_or_default()),
            announced: header("content-length").and_then(|length| length.trim().parse().ok()),
            answer,
            waiting: Vec::new(),
            read: 0,
            is_over: false,
            trouble: None,
        }
    }

    /// Waits for enough to see what it is.
    fn kind(&mut self) -> Result<Kind, Failure> {
        while self.waiting.len() < BEGINNING_BYTES && self.more()? {}
        let seen = self.waiting.len().min(charset::BEGINNING_BYTES);
        Ok(self.media.kind(&self.waiting[..seen]))
    }

    /// Takes what came; `None`: that was all that is read.
    fn next(&mut self) -> Result<Option<Vec<u8>>, Failure> {
        if self.waiting.is_empty() && !self.more()? {
            return Ok(None);
        }
        Ok(Some(std::mem::take(&mut self.waiting)))
    }

    /// Waits for more, and says whether there was any. What came before the trouble is worth more than nothing.
    fn more(&mut self) -> Result<bool, Failure> {
        if self.is_over || self.read >= MAX_BYTES {
            return Ok(false);
        }
        match self.answer.read() {
            Ok(Some(piece)) => {
                self.read += piece.len();
                self.waiting.extend_from_slice(&piece);
                return Ok(true);
            }
            Ok(None) => {}
            Err(error @ (Error::Cancelled | Error::Denied(_))) => return Err(error.into()),
            Err(error) if self.read == 0 => return Err(error.into()),
            Err(error) => self.trouble = Some(error),
        }
        self.is_over = true;
        Ok(false)
    }

    /// A page as Markdown.
    fn page(&mut self) -> Result<String, Failure> {
        let mut reader = page::Reader::new(&self.answer.url());
        self.read_text(true, |text| {
            reader.read(text);
            true
        })?;
        let page = reader.finish();
        let rest = answer::Rest {
            chars: page.omitted_chars,
            bytes: self.rest(),
            trouble: self.trouble.take(),
        };
        Ok(answer::text(page.markdown, &rest))
    }

    /// A text as it is.
    fn text(&mut self) -> Result<String, Failure> {
        let mut kept = String::new();
        let mut chars = 0;
        self.read_text(false, |text| {
            let room = MAX_KEPT_BYTES.saturating_sub(kept.len());
            let (keep, leave) = text.split_at(text.floor_char_boundary(room));
            kept.push_str(keep);
            chars += leave.chars().count();
            true
        })?;
        let rest = answer::Rest {
            chars,
            bytes: self.rest(),
            trouble: self.trouble.take(),
        };
        Ok(answer::text(kept, &rest))
    }

    /// Anything, as base64: whole or not at all, since half of it is of no use.
    fn base64(&mut self) -> Result<String, Failure> {
        let mut bytes = Vec::new();
        while let Some(piece) = self.next()? {
            bytes.extend_from_slice(&piece);
            if bytes.len() > answer::MAX_BASE64_BYTES {
                let size = self.announced.unwrap_or(bytes.len());
                let is_exact = self.announced.is_some();
                return Err(answer::too_large(&self.media, size, is_exact));
            }
        }
        match self.trouble.take() {
            Some(error) => Err(error.into()),
            None => Ok(answer::base64(&bytes)),
        }
    }

    /// The beginning of what a server says beside an error, in plain words; empty if it says nothing.
    fn message(&mut self) -> String {
        let mut bytes = Vec::new();
        while bytes.len() < MAX_ERROR_BYTES {
            match self.next() {
                Ok(Some(piece)) => bytes.extend_from_slice(&piece),
                // The status says enough.
                Ok(None) | Err(_) => break,
            }
        }
        let kind = self
            .media
            .kind(&bytes[..bytes.len().min(charset::BEGINNING_BYTES)]);
        let is_page = kind == Kind::Html;
        let mut text = String::new();
        charset::Reader::new(&bytes, self.media.charset.as_deref(), is_page)
            .read(&bytes, true, &mut text);
        match kind {
            Kind::Html => page::convert(&text, &self.answer.url()).markdown,
            Kind::Text => text,
            Kind::Binary => String::new(),
        }
    }

    /// Hands all text on as it comes, while `take` wants more.
    fn read_text(
        &mut self,
        is_page: bool,
        mut take: impl FnMut(&str) -> bool,
    ) -> Result<(), Failure> {
        let charset = self.media.charset.clone();
        let mut reader = charset::Reader::new(&self.waiting, charset.as_deref(), is_page);
        let mut text = String::new();
        while let Some(piece) = self.next()? {
            text.clear();
            reader.read(&piece, false, &mut text);
            if !take(&text) {
                return Ok(());
            }
        }
        text.clear();
        reader.read(&[], true, &mut text);
        take(&text);
        Ok(())
    }

    /// How many bytes were not read: `None` if nobody knows whether there are any.
    fn rest(&self) -> Option<usize> {
        match self.announced {
            Some(announced) => Some(announced.saturating_sub(self.read)),
            None if self.read < MAX_BYTES => Some(0),
            None => None,
        }
    }
}
