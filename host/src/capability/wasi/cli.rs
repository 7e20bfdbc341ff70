//! `wasi:cli`: a program that was started with nothing, reads nothing, and prints into the log.

use std::sync::Arc;

use bytes::Bytes;
use wasmtime::component::Resource;
use wasmtime_wasi_io::async_trait;
use wasmtime_wasi_io::poll::Pollable;
use wasmtime_wasi_io::streams::{
    DynInputStream, DynOutputStream, InputStream, OutputStream, StreamError, StreamResult,
};

use super::bindings::wasi::cli::{
    environment, exit, stderr, stdin, stdout, terminal_input, terminal_output, terminal_stderr,
    terminal_stdin, terminal_stdout,
};
use super::output::{NoTerminal, Output, PERMIT_BYTES, Source};
use crate::capability::context::View;
use crate::capability::wasi::machine::Machine;

/// A component called `exit`: a tool returns instead.
#[derive(Debug, thiserror::Error)]
#[error("ended itself with exit status {0}")]
pub(crate) struct Ended(u8);

impl environment::Host for View<'_, Machine> {
    fn get_environment(&mut self) -> wasmtime::Result<Vec<(String, String)>> {
        Ok(Vec::new())
    }

    fn get_arguments(&mut self) -> wasmtime::Result<Vec<String>> {
        Ok(Vec::new())
    }

    fn initial_cwd(&mut self) -> wasmtime::Result<Option<String>> {
        Ok(None)
    }
}

impl exit::Host for View<'_, Machine> {
    fn exit(&mut self, status: Result<(), ()>) -> wasmtime::Result<()> {
        Err(Ended(u8::from(status.is_err())).into())
    }

    fn exit_with_code(&mut self, status: u8) -> wasmtime::Result<()> {
        Err(Ended(status).into())
    }
}

impl stdin::Host for View<'_, Machine> {
    fn get_stdin(&mut self) -> wasmtime::Result<Resource<DynInputStream>> {
        let stream: DynInputStream = Box::new(Empty);
        Ok(self.handles.table.push(stream)?)
    }
}

impl stdout::Host for View<'_, Machine> {
    fn get_stdout(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.printer(Source::Stdout)
    }
}

impl stderr::Host for View<'_, Machine> {
    fn get_stderr(&mut self) -> wasmtime::Result<Resource<DynOutputStream>> {
        self.printer(Source::Stderr)
    }
}

impl View<'_, Machine> {
    fn printer(&mut self, source: Source) -> wasmtime::Result<Resource<DynOutputStream>> {
        let output = Arc::clone(&self.own.output);
        let stream: DynOutputStream = Box::new(Printer { source, output });
        Ok(self.handles.table.push(stream)?)
    }
}

impl terminal_input::Host for View<'_, Machine> {}

impl terminal_input::HostTerminalInput for View<'_, Machine> {
    fn drop(&mut self, handle: Resource<NoTerminal>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

impl terminal_output::Host for View<'_, Machine> {}

impl terminal_output::HostTerminalOutput for View<'_, Machine> {
    fn drop(&mut self, handle: Resource<NoTerminal>) -> wasmtime::Result<()> {
        self.handles.table.delete(handle)?;
        Ok(())
    }
}

impl terminal_stdin::Host for View<'_, Machine> {
    fn get_terminal_stdin(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}

impl terminal_stdout::Host for View<'_, Machine> {
    fn get_terminal_stdout(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}

impl terminal_stderr::Host for View<'_, Machine> {
    fn get_terminal_stderr(&mut self) -> wasmtime::Result<Option<Resource<NoTerminal>>> {
        Ok(None)
    }
}

/// Nothing to read, from the beginning.
struct Empty;

#[async_trait]
impl Pollable for Empty {
    async fn ready(&mut self) {}
}

impl InputStream for Empty {
    fn read(&mut self, _size: usize) -> StreamResult<Bytes> {
        Err(StreamError::Closed)
    }
}

/// Takes whatever is printed, at once, so that nothing ever waits in memory.
struct Printer {
    source: Source,
    output: Arc<Output>,
}

#[async_trait]
impl Pollable for Printer {
    async fn ready(&mut self) {}
}

impl OutputStream for Printer {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        if bytes.len() > PERMIT_BYTES {
            return Err(StreamError::trap("it wrote more than it was allowed to"));
        }
        self.output.write(self.source, &bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(PERMIT_BYTES)
    }
}
