//! `mcp`: the line between a bridge and its server.
//!
//! What may be reached was decided when the line was made; what goes over it is the protocol's business. Here are the
//! limits: of a message's size, and of how long it is waited for.

use wasmtime::component::Resource;

use super::chat::Chat;
use super::context::View;
use super::refusal::Refusal;
use super::resources::TakenLine;
use super::sampling::offer;
use crate::bindings::dunlin::tool::mcp::{self, Incoming};
use crate::bindings::dunlin::tool::types::Error;
use crate::limits::MAX_SERVER_MESSAGE_BYTES;
use crate::mcp::line::Terms;

impl mcp::Host for View<'_, Chat> {
    async fn open(&mut self) -> Result<Resource<TakenLine>, Refusal> {
        self.only_in_run()?;
        let Some(line) = &mut self.own.line else {
            return Err(Error::Unsupported("this component was made for no server".into()).into());
        };
        if std::mem::replace(&mut line.is_taken, true) {
            return Err(Error::Conflict("the line is taken".into()).into());
        }
        let handle = self
            .handles
            .table
            .push(TakenLine)
            .map_err(wasmtime::Error::from)?;
        Ok(handle)
    }

    async fn offered(&mut self) -> wasmtime::Result<mcp::Offer> {
        let line = self.own.line.as_ref();
        Ok(line.map_or_else(|| offer(&Terms::default()), |line| offer(&line.terms)))
    }

    async fn ask_model(&mut self, prompt: mcp::ModelPrompt) -> Result<mcp::ModelAnswer, Refusal> {
        self.ask_model_for_server(prompt).await
    }
}

impl mcp::HostLine for View<'_, Chat> {
    async fn send(&mut self, line: Resource<TakenLine>, message: String) -> Result<(), Refusal> {
        self.handles
            .table
            .get(&line)
            .map_err(wasmtime::Error::from)?;
        if message.len() > MAX_SERVER_MESSAGE_BYTES {
            return Err(Error::TooLarge(format!(
                "the message has {} bytes; at most {MAX_SERVER_MESSAGE_BYTES} are possible",
                message.len()
            ))
            .into());
        }
        match &mut self.own.line {
            Some(line) => Ok(line.send(&message).await?),
            None => Err(Error::Failed("there is no line".into()).into()),
        }
    }

    async fn receive(
        &mut self,
        line: Resource<TakenLine>,
        wait: bool,
    ) -> wasmtime::Result<Incoming> {
        self.handles.table.get(&line)?;
        Ok(match &mut self.own.line {
            Some(line) => line.receive(wait).await,
            None => Incoming::Closed("there is no line".to_owned()),
        })
    }

    async fn drop(&mut self, line: Resource<TakenLine>) -> wasmtime::Result<()> {
        self.handles.table.delete(line)?;
        self.own.line = None;
        Ok(())
    }
}
