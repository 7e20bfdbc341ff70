use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::{MadeFor, Request, Way, c, cargo, described, inputs, script, way};

#[test]
fn nothing_of_the_outer_build_reaches_the_nested_one() {
    for name in [
        "CARGO",
        "CARGO_ENCODED_RUSTFLAGS",
        "CARGO_MANIFEST_DIR",
        "CARGO_CFG_UNIX",
        "CARGO_TARGET_DIR",
        "CARGO_BUILD_TARGET",
        "CARGO_PROFILE_RELEASE_LTO",
        "RUSTC",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "RUSTC_BOOTSTRAP",
        "RUSTDOC",
        "RUSTDOCFLAGS",
        "RUSTFLAGS",
        "CLIPPY_ARGS",
        "CLIPPY_CONF_DIR",
        "DEP_Z_ROOT",
        "TARGET",
        "HOST",
        "OUT_DIR",
        "MAKEFLAGS",
    ] {
        assert!(cargo::is_scrubbed(OsStr::new(name)), "{name}");
    }
}

#[test]
fn the_way_to_compilers_and_registries_is_kept() {
    for name in [
        "PATH",
        "HOME",
        "HOSTNAME",
        "TARGETS",
        "CARGO_HOME",
        "CARGO_MAKEFLAGS",
        "CARGO_HTTP_PROXY",
        "CARGO_NET_OFFLINE",
        "CARGO_REGISTRIES_MINE_INDEX",
        "RUSTUP_HOME",
        "RUSTUP_TOOLCHAIN",
        "CC_wasm32_unknown_unknown",
    ] {
        assert!(!cargo::is_scrubbed(OsStr::new(name)), "{name}");
    }
}

#[test]
fn the_files_of_a_make_rule() {
    fn check(text: &str, expected: &[&str]) {
        assert_eq!(
            inputs::parse(text),
            expected.iter().map(PathBuf::from).collect::<Vec<_>>(),
            "{text:?}"
        );
    }
    check("", &[]);
    check("/t/a.wasm:", &[]);
    check(
        "/t/a.wasm: /p/src/lib.rs /p/wit/tool.wit\n",
        &["/p/src/lib.rs", "/p/wit/tool.wit"],
    );
    check(
        "/t/a.wasm: /my\\ project/src/lib.rs /b.rs",
        &["/my project/src/lib.rs", "/b.rs"],
    );
    check("/t/a: /a.rs\n/t/b: /b.rs\n\n# env\n", &["/a.rs", "/b.rs"]);
}

#[test]
fn linkers_by_their_names() {
    for (name, version) in [
        ("wasm-ld", Some(u32::MAX)),
        ("wasm-ld-22", Some(22)),
        ("wasm-ld-9", Some(9)),
        ("wasm-ld-", None),
        ("wasm-ldx", None),
        ("wasm-ld-22.bak", None),
        ("ld", None),
    ] {
        assert_eq!(way::linker_version(name), version, "{name}");
    }
}

#[test]
fn ways_have_names() {
    for way in [Way::Installed, Way::BuildStd] {
        assert_eq!(way.name().parse::<Way>().ok(), Some(way));
    }
    let error = "both".parse::<Way>().unwrap_err().to_string();
    assert_eq!(
        error,
        "there is no way to compile for wasm named \"both\": use `installed` or `build-std`"
    );
}

#[test]
fn guests_are_built_beside_the_profiles() {
    let out = Path::new("/p/target/release/build/dunlin-plugins-0123/out");
    assert_eq!(script::target_folder(out), Path::new("/p/target"));
}

/// A module with this custom section and nothing else.
fn module(section: &[u8]) -> Vec<u8> {
    const NAME: &[u8] = b"dunlin:tools";
    let mut content = vec![u8::try_from(NAME.len()).unwrap()];
    content.extend(NAME);
    content.extend(section);
    let mut module = b"\0asm\x01\0\0\0\0".to_vec();
    module.push(u8::try_from(content.len()).unwrap());
    module.extend(content);
    module
}

#[test]
fn what_tools_say_of_themselves_is_read_from_the_module() {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    let text = |text: &str| {
        let mut bytes = u32::try_from(text.len()).unwrap().to_le_bytes().to_vec();
        bytes.extend(text.as_bytes());
        bytes
    };
    let texts: Vec<u8> = ["0.1.0", "one", "does", "", "One", "", "?y"]
        .into_iter()
        .flat_map(text)
        .collect();
    let description = described::read(&module(&texts), COMPONENT)
        .unwrap()
        .unwrap();
    assert_eq!(description.contract, "0.1.0");
    assert_eq!(description.tools.len(), 1);
    assert_eq!(description.tools[0].name, "one");
    assert_eq!(description.tools[0].parameters, "");
    assert_eq!(description.tools[0].title, "One");
    assert_eq!(description.tools[0].hints, "?y");

    assert_eq!(
        described::read(b"\0asm\x01\0\0\0", COMPONENT).unwrap(),
        None
    );
    for broken in [
        &b""[..],
        b"\x01\0\0",
        b"\xff\xff\xff\xff",
        b"\x01\0\0\0\xff",
        &texts[..texts.len() - 4],
    ] {
        assert!(
            described::read(&module(broken), COMPONENT).is_err(),
            "{broken:?}"
        );
    }
}

#[test]
fn tools_for_c_are_found_by_their_names() {
    for (name, expected) in [
        ("clang", Some(u32::MAX)),
        ("clang-19", Some(19)),
        ("clang++-19", None),
        ("clang-cpp-19", None),
        ("clang-", None),
        ("gcc", None),
    ] {
        assert_eq!(c::version("clang", name), expected, "{name}");
    }
    let metadata = r#"{"packages":[{"name":"a","manifest_path":"/r/a-1/Cargo.toml"},
        {"name":"tree-sitter-language","manifest_path":"/r/tree-sitter-language-0.1.9/Cargo.toml"}]}"#;
    let found: Vec<_> = c::manifests(metadata).collect();
    assert_eq!(
        found,
        [Path::new("/r/tree-sitter-language-0.1.9/Cargo.toml")]
    );
}

/// The sections that a component has of its own are told from those of what it is made of.
#[test]
fn what_a_component_exports() {
    const COMPONENT: &[u8] = b"\0asm\x0d\0\x01\0";
    // One export: the function 0, called `a`.
    const EXPORT: &[u8] = &[11, 7, 1, 0, 1, b'a', 1, 0, 0];
    assert!(!described::exports(COMPONENT).unwrap());
    assert!(described::exports(&[COMPONENT, EXPORT].concat()).unwrap());
    let mut within = COMPONENT.to_vec();
    let inner = [COMPONENT, EXPORT].concat();
    within.extend([4, u8::try_from(inner.len()).unwrap()]);
    within.extend(inner);
    assert!(!described::exports(&within).unwrap());
    assert!(described::exports(b"no wasm").is_err());
}

#[test]
fn a_toolchain_with_wasi_alone_will_do_where_it_may() {
    // A crate for temporary folders would be built twice more: this one is compiled for build scripts, too.
    let name = format!("dunlin-guest-build-{}", std::process::id());
    let folder = std::env::temp_dir().join(name);
    fs::create_dir_all(&folder).unwrap();
    let rustc = folder.join("rustc");
    let there = folder.display();
    let script = format!(
        "#!/bin/sh\ncase \"$*\" in *wasm32-wasip2*) echo {there};; *) echo {there}/none;; esac\n"
    );
    fs::write(&rustc, script).unwrap();
    fs::set_permissions(&rustc, fs::Permissions::from_mode(0o755)).unwrap();
    let request = |ways: &[Way]| Request {
        workspace: folder.clone(),
        packages: Vec::new(),
        made_for: MadeFor::Size,
        cargo: "cargo".into(),
        rustc: rustc.clone(),
        ways: ways.to_vec(),
        scratch: folder.clone(),
        out: folder.clone(),
    };
    let found = way::find(&request(&[Way::Installed, Way::Wasi]));
    assert_eq!(found.unwrap().way, Way::Wasi);
    let error = way::find(&request(&[Way::Installed])).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("run `rustup target add wasm32-unknown-unknown`"),
        "{error}"
    );
    fs::remove_dir_all(folder).unwrap();
}
