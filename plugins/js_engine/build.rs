//! Has the linker take the engine's clock from the component.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var("CARGO_CFG_TARGET_ARCH").is_ok_and(|name| name == "wasm32") {
        // The engine's own function knows only UTC; `local_time.rs` has the one that takes its place.
        println!("cargo::rustc-link-arg-cdylib=--wrap=localtime_r");
    }
}
