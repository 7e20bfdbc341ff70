//! Has the linker take the engine's clock from the component.

#[expect(
    clippy::disallowed_methods,
    reason = "that is how cargo and a build script talk to each other"
)]
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "wasm32") {
        // The engine's own function knows only UTC; `src/time.rs` has the one that takes its place.
        println!("cargo::rustc-link-arg-cdylib=--wrap=localtime_r");
    }
}
