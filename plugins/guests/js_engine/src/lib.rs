//! Runs the JavaScript program of an app (`main-js`), as the host asks through `app-program`.
//!
//! The language is that of QuickJS: ECMAScript 2023 and much of what came later; a module, so with `await` at the top level.
//! A program is one file and imports nothing. What follows is all it has besides the language.
//!
//! | name | what it does |
//! | --- | --- |
//! | `dunlin.handle(name, handler)` | registers what answers `dunlin.invoke(name, arguments)` of the page. `handler` gets the arguments and returns a value, or a promise of one. Both go through JSON. |
//! | `dunlin.emit(event, payload)` | hands a JSON value to the page's `dunlin.on(event, …)` |
//! | `dunlin.files.readText(path)` | a promise of a file's text. A byte order mark is left out; bytes that are not UTF-8 fail. |
//! | `dunlin.files.readBytes(path)` | a promise of a file's bytes, a `Uint8Array` |
//! | `dunlin.files.writeText(path, text)` | replaces all of a file, or creates it |
//! | `dunlin.files.list(path = ".")` | a promise of the entries of a folder, sorted by name: `{ name, kind, size, modified }` |
//! | `dunlin.files.stat(path)` | a promise of `{ kind, size, modified }` |
//! | `dunlin.store.get(key)` | a promise of the JSON value under a key; `undefined` where there is none |
//! | `dunlin.store.set(key, value)` | saves a JSON value |
//! | `dunlin.store.delete(key)` | removes it |
//! | `fetch(url, { method, headers, body })` | a promise of a `Response`: `ok`, `status`, `statusText`, `url`, `redirected`, `headers`, `text()`, `json()`, `arrayBuffer()`, `bytes()` |
//! | `Headers`, `URL`, `URLSearchParams`, `TextEncoder`, `TextDecoder` | as in browsers; text is UTF-8 only |
//! | `setTimeout`, `setInterval`, `clearTimeout`, `clearInterval`, `queueMicrotask` | as in browsers; an interval has at least 4 ms |
//! | `console.log`, `info`, `debug`, `warn`, `error` (and `trace`, `dir`, `assert`) | writes to the host's log |
//! | `structuredClone`, `atob`, `btoa`, `performance.now` | as in browsers |
//! | `crypto.getRandomValues(array)`, `crypto.randomUUID()` | random numbers of the host |
//!
//! Paths are relative to the project and have `/` between their parts. `kind` is `file`, `folder`, `symbolic-link` or `other`;
//! `size` is in bytes, `modified` in milliseconds since 1970, both 0 where they are not known. A key of the store is any text
//! that is not too long: 62 characters of `a-z 0-9 -`, of others a third. `fetch` sends `GET` and `POST`, and of headers
//! `accept`, `accept-language`, `content-type` and `user-agent`.
//!
//! All promises of the above are settled at once, because the program waits in the call; so only timers let others go first.
//! What the host refuses or cannot do rejects with an `Error` whose `name` is one of those that `wit/app.wit` lists and whose
//! message is the host's, so `catch (error) { if (error.name === "PermissionDeniedError") … }`. Dates have the user's time zone.
//!
//! Inside, `engine.rs` is the host's side and `api.rs` the program's. What a function of a browser looks like is written in
//! JavaScript (`src/js`); what it does, in Rust.

#[cfg(target_arch = "wasm32")]
mod api;
#[cfg(target_arch = "wasm32")]
mod bindings;
#[cfg(target_arch = "wasm32")]
mod engine;
#[cfg(target_arch = "wasm32")]
mod error;
#[cfg(target_arch = "wasm32")]
mod fetch;
#[cfg(target_arch = "wasm32")]
mod files;
#[cfg(target_arch = "wasm32")]
mod time;
#[cfg(target_arch = "wasm32")]
mod urls;

#[cfg(target_arch = "wasm32")]
use engine::Program;

#[cfg(target_arch = "wasm32")]
bindings::export_bindings!(Program with_types_in bindings);
