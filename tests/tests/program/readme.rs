//! What the README shows is what there is.

use std::fs;
use std::path::Path;

use dunlin_tests::{API_KEY, Environment, program};

fn readme() -> String {
    fs::read_to_string(repository().join("README.md")).expect("the README")
}

fn repository() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// The first block of this language.
fn block<'a>(readme: &'a str, language: &str) -> &'a str {
    let (_, from) = readme
        .split_once(&format!("```{language}\n"))
        .expect("a block of this language");
    from.split_once("```").expect("its end").0
}

#[test]
fn its_configuration_is_right() {
    let environment = Environment::new(program!());
    let readme = readme();
    let mut blocks: Vec<&str> = readme.split("```toml\n").skip(1).collect();
    for block in &mut blocks {
        *block = block.split_once("```").expect("its end").0;
    }
    assert!(blocks.len() > 4, "{blocks:?}");
    // Keys stand before tables.
    blocks.sort_by_key(|block| block.starts_with('['));
    // What of them is left to the reader.
    blocks.push("[agents.odd]\nbase_url = \"http://127.0.0.1:9/v1\"\nmodel = \"odd\"\n");
    environment.configure(&blocks.concat());
    let output = environment
        .command(["config", "check"])
        .variable("OPENAI_API_KEY", API_KEY)
        .run();
    assert_eq!(output.status, Some(0), "{output}");
}

#[test]
fn its_tool_is_the_example_of_the_sdk() {
    let example = repository().join("plugins/sdk/examples/count_lines.rs");
    let example = fs::read_to_string(example).unwrap();
    assert_eq!(block(&readme(), "rust"), example);
}

#[test]
fn its_permissions_are_read() {
    let environment = Environment::new(program!());
    let file = environment
        .config_file()
        .with_file_name("tool.permissions.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, block(&readme(), "json")).unwrap();
    let output = environment.run(["permissions", "list"]);
    assert_eq!(output.status, Some(0), "{output}");
    assert!(output.stdout.contains("/home/ada/docs/diary.txt"));
}

#[test]
fn its_variables_are_those_that_are_read() {
    let source = repository().join("cli/src/config/env.rs");
    let source = fs::read_to_string(source).unwrap();
    let readme = readme();
    let names = source.lines().filter(|line| line.starts_with("pub const "));
    let names: Vec<&str> = names.filter_map(|line| line.split('"').nth(1)).collect();
    assert!(names.contains(&"DUNLIN_MODEL"), "{names:?}");
    // What every program understands needs no row.
    let usual = ["HOME", "TMPDIR", "PATH", "TERM"];
    for name in names {
        let said = readme.contains(&format!("`{name}")) || readme.contains(&format!("${name}"));
        assert!(said || usual.contains(&name), "{name}");
    }
}
