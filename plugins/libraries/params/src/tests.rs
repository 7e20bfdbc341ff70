use proptest::prelude::*;
use serde_json::{Value, json};

use crate::{MAX_BYTES, MAX_PARAMETERS, ParamsError, parse};

/// A table of texts and the properties and required names they make.
#[test]
fn lines_become_a_schema() {
    fn check(text: &str, properties: Value, required: &[&str]) {
        let schema = parse(text).unwrap();
        let expected = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        // Compared as text: the order of the keys counts.
        assert_eq!(schema.to_string(), expected.to_string(), "{text}");
    }

    check("", json!({}), &[]);
    check("\n  \n", json!({}), &[]);
    check(
        "@param path {string} [required] The file\n@param count {integer} [optional] How many\n@param all {boolean}",
        json!({
            "path": { "type": "string", "description": "The file" },
            "count": { "type": "integer", "description": "How many" },
            "all": { "type": "boolean" },
        }),
        &["path", "all"],
    );
    check(
        "  @param  b{number}[optional]Text  \r\n",
        json!({ "b": { "type": "number", "description": "Text" } }),
        &[],
    );
    check(
        "@param a { string } [sic] kept",
        json!({ "a": { "type": "string", "description": "[sic] kept" } }),
        &["a"],
    );
    check(
        "@param x {object} Anything",
        json!({ "x": { "type": "object", "description": "Anything" } }),
        &["x"],
    );
    check(
        "@param x {array}",
        json!({ "x": { "type": "array", "items": {} } }),
        &["x"],
    );
    check(
        "@param tags {array} [optional] Words\n@param tags[] {string} A word",
        json!({ "tags": { "type": "array", "description": "Words", "items": { "type": "string", "description": "A word" } } }),
        &[],
    );
    let edit = json!({
        "type": "object",
        "properties": { "line": { "type": "integer" }, "text": { "type": "string" } },
        "required": ["line"],
        "additionalProperties": false,
    });
    check(
        "@param edits[].line {integer}\n@param edits[].text {string} [optional]",
        json!({ "edits": { "type": "array", "items": edit } }),
        &[],
    );
    check(
        "@param o.a {integer} [optional]\n@param o {object} [required] Options",
        json!({ "o": {
            "type": "object",
            "description": "Options",
            "properties": { "a": { "type": "integer" } },
            "required": [],
            "additionalProperties": false,
        } }),
        &["o"],
    );
    check(
        "@param m[][] {number}",
        json!({ "m": { "type": "array", "items": { "type": "array", "items": { "type": "number" } } } }),
        &[],
    );
}

/// A parent without a line of its own is required when one of its members is.
#[test]
fn a_parent_is_as_required_as_its_members() {
    for (text, required) in [
        ("@param o.a {string}", json!(["o"])),
        ("@param o.a {string} [optional]", json!([])),
        (
            "@param o.a {string} [optional]\n@param o.b {string}",
            json!(["o"]),
        ),
        (
            "@param o {object} [optional]\n@param o.a {string}",
            json!([]),
        ),
    ] {
        assert_eq!(parse(text).unwrap()["required"], required, "{text}");
    }
}

/// An error names the line, what is wrong with it, and what it should look like.
#[test]
fn wrong_lines_are_named() {
    fn check(text: &str, number: usize, problem: &str) {
        let error = parse(text).unwrap_err();
        let ParamsError::Line {
            number: found,
            problem: said,
            ..
        } = &error
        else {
            panic!("{error}")
        };
        assert_eq!(
            (*found, said.to_string()),
            (number, problem.to_owned()),
            "{text}"
        );
        assert!(
            error
                .to_string()
                .ends_with("expected `@param name {type} [required|optional] Description`")
        );
    }

    check("hello", 1, "it does not begin with @param");
    check("\n@params a {string}", 2, "there is no space after @param");
    check("@param", 1, "there is no space after @param");
    check("@param {string} a", 1, "there is no name");
    check("@param a", 1, "there is no {type} after the name");
    check("@param a string", 1, "there is no {type} after the name");
    check("@param a {string", 1, "the brace of the type is not closed");
    check(
        "@param a {text}",
        1,
        "there is no type `text` (there are string, integer, number, boolean, object, array)",
    );
    check(
        "@param a {string} [Optional] x",
        1,
        "`[Optional]` is neither [required] nor [optional]",
    );
    check(
        "@param a {string} [requierd] x",
        1,
        "`[requierd]` is neither [required] nor [optional]",
    );
    check(
        "@param a..b {string}",
        1,
        "the name `a..b` has an empty part",
    );
    check("@param [] {string}", 1, "the name `[]` has an empty part");
    check("@param a[ {string}", 1, "the name `a[` has a '[' in it");
    check(
        "@param a.b.c.d.e.f.g.h.i {string}",
        1,
        "the name `a.b.c.d.e.f.g.h.i` is nested deeper than 8 steps",
    );
    check(
        "@param a {string}\n@param a {string}",
        2,
        "`a` is there twice",
    );
    check(
        "@param a {string}\n@param a.b {string}",
        2,
        "`a` is of type string, and only an object can have `b`",
    );
    check(
        "@param a {object}\n@param a[] {string}",
        2,
        "`a` is of type object, and only an array can have `[]`",
    );
    check(
        "@param a.b {string}\n@param a {array}",
        2,
        "`a` has parts already, which makes it an object",
    );
}

#[test]
fn size_and_number_are_bounded() {
    let lines = |count| {
        (0..count)
            .map(|i| format!("@param p{i} {{string}}\n"))
            .collect::<String>()
    };
    assert!(parse(&lines(MAX_PARAMETERS)).is_ok());
    let error = parse(&lines(MAX_PARAMETERS + 1)).unwrap_err().to_string();
    assert!(
        error.starts_with("line 257: this is one more than the 256 parameters"),
        "{error}"
    );

    let error = parse(&" ".repeat(MAX_BYTES + 1)).unwrap_err().to_string();
    assert_eq!(
        error,
        "the parameters have 65537 bytes, at most 65536 are allowed"
    );

    // Bytes from outside are cut before they get into an error, between characters.
    let error = parse(&"ü".repeat(1000)).unwrap_err().to_string();
    assert!(error.len() < 300 && error.contains("üü…`"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    /// Anything at all is a schema or an error.
    #[test]
    fn any_text_is_a_schema_or_an_error(text in any::<String>()) {
        if let Ok(schema) = parse(&text) {
            prop_assert_eq!(&schema["type"], "object");
        }
    }

    /// So is text that comes near.
    #[test]
    fn text_that_comes_near_is_a_schema_or_an_error(
        lines in prop::collection::vec(r"@?param {0,2}([a-c.\[\]{}]{0,12}) ?\{?(string|object|array|x)?\}? ?\[?(optional|required)?\]? ?.{0,4}", 0..12)
    ) {
        if let Ok(schema) = parse(&lines.join("\n")) {
            prop_assert_eq!(&schema["additionalProperties"], false);
            prop_assert!(schema["properties"].is_object());
        }
    }
}
