//! Compiles guests for wasm and makes components of them.
