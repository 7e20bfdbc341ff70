//! `mcp`: the connection between a bridge and its server.
//!
//! What may be reached was decided when the connection was made; what goes over it is the protocol's business. Here are the
//! limits: of a message's size, and of how long it is waited for.

use wasmtime::component::Resource;

use super::chat::Chat;
use super::context::View;
use super::refusal::Refusal;
use super::resources::OpenConnection;
use super::sampling::capabilities;
use crate::bindings::dunlin::tool::mcp::{self, Incoming};
use crate::bindings::dunlin::tool::types::Error;
use crate::limits::MAX_SERVER_MESSAGE_BYTES;
use crate::mcp::connection::Terms;

impl mcp::Host for View<'_, Chat> {
    async fn open(&mut self) -> Result<Resource<OpenConnection>, Refusal> {
        self.only_in_run()?;
        let Some(connection) = &mut self.own.connection else {
            return Err(Error::Unsupported("this component was made for no server".into()).into());
        };
        if std::mem::replace(&mut connection.is_taken, true) {
            return Err(Error::Conflict("the connection is taken".into()).into());
        }
        let handle = self
            .handles
            .table
            .push(OpenConnection)
            .map_err(wasmtime::Error::from)?;
        Ok(handle)
    }

    async fn capabilities(&mut self) -> wasmtime::Result<mcp::ClientCapabilities> {
        let connection = self.own.connection.as_ref();
        Ok(connection.map_or_else(
            || capabilities(&Terms::default()),
            |connection| capabilities(&connection.terms),
        ))
    }

    async fn sample(
        &mut self,
        request: mcp::SamplingRequest,
    ) -> Result<mcp::SamplingResult, Refusal> {
        self.sample_for_server(request).await
    }
}

impl mcp::HostConnection for View<'_, Chat> {
    async fn send(
        &mut self,
        connection: Resource<OpenConnection>,
        message: String,
    ) -> Result<(), Refusal> {
        self.handles
            .table
            .get(&connection)
            .map_err(wasmtime::Error::from)?;
        if message.len() > MAX_SERVER_MESSAGE_BYTES {
            return Err(Error::TooLarge(format!(
                "the message has {} bytes; at most {MAX_SERVER_MESSAGE_BYTES} are possible",
                message.len()
            ))
            .into());
        }
        match &mut self.own.connection {
            Some(connection) => Ok(connection.send(&message).await?),
            None => Err(Error::Failed("there is no connection".into()).into()),
        }
    }

    async fn receive(
        &mut self,
        connection: Resource<OpenConnection>,
        wait: bool,
    ) -> wasmtime::Result<Incoming> {
        self.handles.table.get(&connection)?;
        Ok(match &mut self.own.connection {
            Some(connection) => connection.receive(wait).await,
            None => Incoming::Closed("there is no connection".to_owned()),
        })
    }

    async fn drop(&mut self, connection: Resource<OpenConnection>) -> wasmtime::Result<()> {
        self.handles.table.delete(connection)?;
        self.own.connection = None;
        Ok(())
    }
}
