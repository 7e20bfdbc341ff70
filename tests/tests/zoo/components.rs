//! Components that no compiler would make: too much of everything, features that are off, noise.
//!
//! Most of them are grafts: a well-behaved plugin, inside of which a second, hostile component is
//! instantiated. To the contract it is the well-behaved one.

use std::time::Duration;

use dunlin_host::{Limits, LoadError};
use dunlin_tests::guests::guest;
use dunlin_tests::sandbox::{PATIENT, Sandbox, assert_alive, plugin, plugin_of};
use proptest::prelude::*;
use proptest::sample::Index;

use crate::assert_one_clear_line;

/// A loop in a start function is cut off after this.
const SHORT: Limits = Limits {
    describe_time: Duration::from_secs(1),
    ..PATIENT
};

/// The lines about the plugin `odd`; that `echo` works beside it is checked.
async fn load(bytes: Vec<u8>) -> Vec<String> {
    let sandbox = Sandbox::new();
    let host = sandbox.host_of(vec![plugin_of("odd", bytes), plugin("echo")], SHORT);
    let (_, errors) = host.tools().await;
    assert_alive(&host).await;
    let lines: Vec<String> = errors
        .iter()
        .filter(|error| !matches!(error, LoadError::Taken { .. }))
        .map(ToString::to_string)
        .collect();
    for line in &lines {
        assert_one_clear_line(line);
    }
    lines
}

fn wat(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("the text of a component")
}

/// `echo`, with a hostile component inside.
fn graft(hostile: &str) -> Vec<u8> {
    const COMPONENT: u8 = 4;
    const INSTANCE: u8 = 5;
    let hostile = wat(hostile);
    let mut bytes = guest("echo").bytes.to_vec();
    let index = sections(&bytes)
        .iter()
        .filter(|id| **id == COMPONENT)
        .count();
    bytes.push(COMPONENT);
    leb128(&mut bytes, hostile.len());
    bytes.extend(hostile);
    // One instance: of the component with this index, without arguments.
    let mut instance = vec![1, 0];
    leb128(&mut instance, index);
    instance.push(0);
    bytes.push(INSTANCE);
    leb128(&mut bytes, instance.len());
    bytes.extend(instance);
    bytes
}

/// The kinds of the sections of a component.
fn sections(bytes: &[u8]) -> Vec<u8> {
    let mut ids = Vec::new();
    let mut at = 8;
    while let Some(id) = bytes.get(at) {
        ids.push(*id);
        let mut size = 0;
        let mut shift = 0;
        loop {
            at += 1;
            size |= usize::from(bytes[at] & 0x7f) << shift;
            shift += 7;
            if bytes[at] & 0x80 == 0 {
                break;
            }
        }
        at += 1 + size;
    }
    ids
}

fn leb128(bytes: &mut Vec<u8>, mut value: usize) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

/// A component of one core module.
fn module(fields: &str) -> String {
    format!("(component (core module $m {fields}) (core instance (instantiate $m)))")
}

/// A component of one core module that is instantiated so often.
fn instances(fields: &str, count: usize) -> String {
    let instances = "(core instance (instantiate $m))".repeat(count);
    format!("(component (core module $m {fields}) {instances})")
}

#[tokio::test]
async fn a_graft_alone_does_no_harm() {
    assert_eq!(load(graft(&module("(memory 1)"))).await, [""; 0]);
}

/// More of something than a call may have. The limit is named where the engine leaves it to us.
#[tokio::test]
async fn too_much_is_refused() {
    let growing = |what: &str| {
        format!(
            "{what} (func $start (loop $again
                (br_if $again (i32.ne (i32.const -1) {}))
                unreachable)) (start $start)",
            if what.starts_with("(table") {
                "(table.grow (ref.null func) (i32.const 1000))"
            } else {
                "(memory.grow (i32.const 16))"
            }
        )
    };
    for (what, hostile, expected) in [
        (
            "a table that grows",
            module(&growing("(table 0 funcref)")),
            "cannot describe itself: it needed more than 20000 table elements",
        ),
        (
            "a memory that grows",
            module(&growing("(memory 0)")),
            "cannot describe itself: it needed more than 64 MiB of memory",
        ),
        (
            "memories that are too large together",
            instances("(memory 200)", 6),
            "cannot describe itself: it needed more than 64 MiB of memory",
        ),
        (
            "tables that are too large together",
            instances("(table 6000 funcref)", 4),
            "cannot describe itself: it needed more than 20000 table elements",
        ),
        ("a memory that is too large", module("(memory 2000)"), ""),
        (
            "a table that is too large",
            module("(table 30000 funcref)"),
            "",
        ),
        ("memories", instances("(memory 1)", 20), ""),
        ("tables", instances("(table 1 funcref)", 30), ""),
        ("instances", instances("", 100), ""),
        (
            "a loop at the start",
            module("(func $start (loop $again (br $again))) (start $start)"),
            "cannot describe itself: it was stopped after 1 s",
        ),
        (
            "a trap at the start",
            module("(func $start unreachable) (start $start)"),
            "cannot describe itself: it crashed (in start)",
        ),
        (
            "an access beyond the memory, in a function",
            module(
                "(memory 1) (func $_own (export \"x\") (result i32) (i32.load (i32.const -1)))
                (func $width_of (drop (call $_own))) (func $run (call $width_of)) (start $run)",
            ),
            "out of bounds memory access (in width_of, called by run)",
        ),
    ] {
        let lines = load(graft(&hostile)).await;
        let [line] = lines.as_slice() else {
            panic!("{what}: {lines:?}");
        };
        println!("{what}: {line}");
        assert!(line.starts_with("the plugin odd "), "{what}: {line}");
        assert!(line.ends_with(expected), "{what}: {line}");
    }
}

/// What is off in the engine is refused when the component is loaded, not when it is used.
#[tokio::test]
async fn features_that_are_off() {
    for (what, text) in [
        ("memory64", module("(memory i64 1)")),
        ("threads", module("(memory 1 1 shared)")),
        ("page sizes", module("(memory 1 (pagesize 1))")),
        ("wide arithmetic", module("(func (param i64 i64 i64 i64) (result i64 i64)
            (i64.add128 (local.get 0) (local.get 1) (local.get 2) (local.get 3)))")),
        ("relaxed vectors", module("(func (param v128) (result v128)
            (i8x16.relaxed_swizzle (local.get 0) (local.get 0)))")),
        ("garbage collection", module("(type (struct (field i32)))")),
        ("exceptions", module("(tag (param i32))")),
        ("async", "(component
            (core module $m (func (export \"f\") (result i32) (i32.const 0))
                (func (export \"c\") (param i32 i32 i32) (result i32) (i32.const 0)))
            (core instance $i (instantiate $m))
            (func (export \"f\") async (canon lift (core func $i \"f\") async (callback (func $i \"c\")))))".to_owned()),
        ("streams", "(component (type $s (stream u8)) (core func (canon stream.new $s)))".to_owned()),
    ] {
        let lines = load(graft(&text)).await;
        let [line] = lines.as_slice() else {
            panic!("{what}: {lines:?}");
        };
        println!("{what}: {line}");
        let expected = "the plugin odd is not a component that can be run: ";
        assert!(line.starts_with(expected), "{what}: {line}");
    }
}

#[tokio::test]
async fn no_plugins() {
    for (what, bytes, expected) in [
        (
            "nothing",
            Vec::new(),
            "the plugin odd is not a component that can be run: ",
        ),
        (
            "text",
            b"not wasm at all".to_vec(),
            "the plugin odd is not a component that can be run: ",
        ),
        (
            "a module",
            wat("(module)"),
            "the plugin odd is not a component that can be run: ",
        ),
        (
            "no exports",
            wat("(component)"),
            "the plugin odd was built for something else (it exports nothing); this host serves dunlin:tool up to 0.1.0",
        ),
        (
            "other exports",
            wat("(component (instance $i) (export \"wasi:cli/run@0.2.0\" (instance $i)))"),
            "the plugin odd was built for something else (it exports wasi:cli/run@0.2.0); this host serves dunlin:tool up to 0.1.0",
        ),
        (
            "a later contract",
            wat("(component (instance $i) (export \"dunlin:tool/tool@0.2.0\" (instance $i)))"),
            "the plugin odd was built for dunlin:tool 0.2.0; this host serves dunlin:tool up to 0.1.0",
        ),
        (
            "an empty contract",
            wat("(component (instance $i) (export \"dunlin:tool/tool@0.1.0\" (instance $i)))"),
            "the plugin odd needs something that this host does not offer: ",
        ),
        (
            "an import that is not there",
            wat("(component
                (import \"wasi:cli/environment@0.2.0\" (instance (export \"f\" (func))))
                (instance $i) (export \"dunlin:tool/tool@0.1.0\" (instance $i)))"),
            "the plugin odd needs something that this host does not offer: ",
        ),
    ] {
        let lines = load(bytes).await;
        let [line] = lines.as_slice() else {
            panic!("{what}: {lines:?}");
        };
        println!("{what}: {line}");
        assert!(line.starts_with(expected), "{what}: {line}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    /// Damaged on the way: refused in one line, or still a component, and never a panic.
    #[test]
    fn noise_is_refused(
        flips in prop::collection::vec((any::<Index>(), 0_u8..8), 0..8),
        cut in prop::option::of(any::<Index>()),
    ) {
        // Not `echo`, which has to answer beside it.
        let mut bytes = guest("bare").bytes.to_vec();
        for (at, bit) in &flips {
            let at = at.index(bytes.len());
            bytes[at] ^= 1 << bit;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let lines = runtime.expect("a runtime").block_on(load(bytes));
        prop_assert!(lines.len() <= 1, "{lines:?}");
    }
}
