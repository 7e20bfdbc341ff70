//! `dunlin plugin update`: what becomes of several plugins at once.

use std::collections::BTreeMap;

use dunlin_host::declared_permissions::DeclaredPermissions;
use dunlin_tests::guests::guest;
use dunlin_tests::{Environment, program};

/// Runs a command with these words, and asserts how it ends.
fn run(environment: &Environment, line: &str, status: i32) -> String {
    let output = environment.run(line.split(' '));
    assert_eq!(output.status, Some(status), "{line}: {output}");
    format!("{}{}", output.stdout, output.stderr)
}

/// What is wrong with one plugin keeps no other from its update.
#[test]
fn a_broken_plugin_does_not_hold_up_the_others() {
    let environment = Environment::new(program!());
    for name in ["behind", "echo", "trap"] {
        let path = environment.outside_file(&format!("{name}.wasm"), guest(name).bytes);
        run(
            &environment,
            &format!("plugin install {} --yes", path.display()),
            0,
        );
    }
    let narrowed = DeclaredPermissions::new(BTreeMap::from([("./".to_owned(), "r--".to_owned())]))
        .unwrap()
        .put_into(guest("echo").bytes)
        .unwrap();
    environment.outside_file("behind.wasm", b"no component");
    environment.outside_file("echo.wasm", &narrowed);
    environment.outside_file("trap.wasm", b"none either");
    let said = run(&environment, "plugin update --yes", 1);
    assert_eq!(
        said.matches("it is not a WebAssembly file").count(),
        2,
        "{said}"
    );
    let info = run(&environment, "plugin info echo", 0);
    assert!(info.contains(&dunlin_host::sha256_hex(&narrowed)), "{info}");
    let info = run(&environment, "plugin info behind", 0);
    assert!(info.contains(guest("behind").digest), "{info}");
    insta::assert_snapshot!(environment.transcript());
}
