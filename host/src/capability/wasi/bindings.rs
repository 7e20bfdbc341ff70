//! WASI 0.2 in Rust, generated from the published interfaces in `host/wit/`.

#![allow(
    missing_docs,
    reason = "generated; the documentation stands in host/wit/"
)]

wasmtime::component::bindgen!({
    path: "wit",
    world: "dunlin:wasi/guest",
    imports: {
        "wasi:filesystem/types.[method]descriptor.read-via-stream": trappable,
        "wasi:filesystem/types.[method]descriptor.write-via-stream": trappable,
        "wasi:filesystem/types.[method]descriptor.append-via-stream": trappable,
        "wasi:filesystem/types.[method]descriptor.advise": trappable,
        "wasi:filesystem/types.[method]descriptor.sync": trappable,
        "wasi:filesystem/types.[method]descriptor.sync-data": trappable,
        "wasi:filesystem/types.[method]descriptor.get-flags": trappable,
        "wasi:filesystem/types.[method]descriptor.get-type": trappable,
        "wasi:filesystem/types.[method]descriptor.set-size": trappable,
        "wasi:filesystem/types.[method]descriptor.read": trappable,
        "wasi:filesystem/types.[method]descriptor.write": trappable,
        "wasi:filesystem/types.[method]descriptor.is-same-object": trappable,
        "wasi:filesystem/types.[drop]descriptor": trappable,
        "wasi:filesystem/types.[drop]directory-entry-stream": trappable,
        "wasi:filesystem/types.[method]directory-entry-stream.read-directory-entry": trappable,
        "wasi:filesystem/types.filesystem-error-code": trappable,
        "wasi:filesystem/types.[method]descriptor.create-directory-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.link-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.metadata-hash": async | trappable,
        "wasi:filesystem/types.[method]descriptor.metadata-hash-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.open-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.read-directory": async | trappable,
        "wasi:filesystem/types.[method]descriptor.readlink-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.remove-directory-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.rename-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.set-times": async | trappable,
        "wasi:filesystem/types.[method]descriptor.set-times-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.stat": async | trappable,
        "wasi:filesystem/types.[method]descriptor.stat-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.symlink-at": async | trappable,
        "wasi:filesystem/types.[method]descriptor.unlink-file-at": async | trappable,
        "wasi:http/outgoing-handler.handle": async | trappable,
        default: trappable,
    },
    trappable_error_type: {
        "wasi:filesystem/types.error-code" => crate::capability::wasi::files::error::Fault,
    },
    with: {
        "wasi:io/poll": wasmtime_wasi_io::bindings::wasi::io::poll,
        "wasi:io/streams": wasmtime_wasi_io::bindings::wasi::io::streams,
        "wasi:io/error": wasmtime_wasi_io::bindings::wasi::io::error,
        "wasi:http/types": wasmtime_wasi_http::p2::bindings::http::types,
        "wasi:filesystem/types.descriptor": crate::capability::wasi::files::handle::Descriptor,
        "wasi:filesystem/types.directory-entry-stream": crate::capability::wasi::files::listing::Listing,
        "wasi:cli/terminal-input.terminal-input": crate::capability::wasi::output::NoTerminal,
        "wasi:cli/terminal-output.terminal-output": crate::capability::wasi::output::NoTerminal,
    },
});
