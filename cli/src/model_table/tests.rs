use std::collections::BTreeSet;

use proptest::prelude::*;

use super::site::{Reduced, SiteError, reduce};
use super::*;

/// A file of the site: two services at one host, and what else there is.
const SITE: &str = r#"{
    "shop": {"id": "shop", "api": "https://shop.example/v1", "models": {
        "m1": {"id": "m1", "limit": {"context": 128000, "output": 4000}, "modalities": {"input": ["text", "image"]},
            "cost": {"input": 2.5, "output": 10, "cache_read": 1.25}},
        "m2": {"limit": {"context": 400000, "input": 272000}, "cost": {"input": 1, "output": 2, "cache_write": 1.25,
            "tiers": [{"input": 3, "output": 6, "tier": {"type": "context", "size": 256000}},
                {"input": 2, "output": 4, "cache_read": 0.2, "tier": {"size": 32000}}],
            "context_over_200k": {"input": 7, "output": 8}}},
        "m3": {"cost": {"input": 1, "output": 2, "context_over_200k": {"input": 3, "output": 4}}},
        "m4-2026-01-31": {"cost": {"input": 5, "output": 5}, "modalities": {"input": ["text"], "output": ["text"]}},
        "m4": {"cost": {"input": 4, "output": 4}},
        "vendor/m5:free": {"limit": {"context": 8192}, "cost": {"input": 0, "output": 0}},
        "window-only": {"limit": {"context": 1000}},
        "nothing": {"limit": {"context": 0}}
    }},
    "plan": {"api": "https://shop.example/plan/v1/", "models": {
        "m1": {"limit": {"context": 128000}, "cost": {"input": 0, "output": 0}},
        "of-the-plan": {"limit": {"context": 4096}}
    }},
    "openai": {"models": {"gpt-4o": {"limit": {"context": 128000}}}},
    "home": {"api": "http://127.0.0.1:1234/v1", "models": {"m1": {"limit": {"context": 999}}}},
    "hole": {"api": "https://${HOLE}.example/v1", "models": {"m1": {"limit": {"context": 999}}}}
}"#;

fn table() -> ModelTable {
    reduced(SITE).table
}

fn reduced(json: &str) -> Reduced {
    reduce(json.as_bytes(), Date::constant(2026, 1, 31)).unwrap()
}

fn url(text: &str) -> Url {
    text.parse().unwrap()
}

/// What an entry says, as its line does.
fn line(found: Option<Entry>) -> Option<String> {
    found.map(|entry| {
        format!(
            "{} {}",
            entry.name,
            write_metadata(&entry.metadata).replace('\t', " ")
        )
    })
}

#[test]
fn the_table_in_the_program_is_whole() {
    let table = ModelTable::of_file(BUILT_IN).unwrap();
    assert_eq!(table, ModelTable::built_in());
    assert_eq!(table.to_file(), BUILT_IN);
    let mut names = BTreeSet::new();
    for service in table.services() {
        assert!(
            is_name(service.id) && !service.id.contains('/'),
            "{}",
            service.id
        );
        let models = service.models.lines().filter(|line| !line.is_empty());
        for line in models {
            let (name, metadata) = line.split_once('\t').unwrap();
            let read = read_metadata(metadata).unwrap_or_else(|| panic!("{}: {line}", service.id));
            assert_eq!(write_metadata(&read), metadata);
            assert_eq!(service.exactly(name), Some(read), "{}: {line}", service.id);
            assert!(
                names.insert((service.id, name)),
                "{} {name} twice",
                service.id
            );
        }
    }
    assert!(names.len() > 1_000, "{}", names.len());
    let at = |address: &str, model: &str| table.find(&url(address), model);
    for (address, model) in [
        ("https://api.openai.com/v1", "gpt-4o-mini"),
        ("https://api.anthropic.com", "claude-sonnet-4-5-20250929"),
        ("https://openrouter.ai/api/v1", "openai/gpt-4o-mini"),
        (
            "https://generativelanguage.googleapis.com/v1beta/openai",
            "gemini-2.5-pro",
        ),
        ("https://api.groq.com/openai/v1", "openai/gpt-oss-120b"),
    ] {
        let found = at(address, model).unwrap_or_else(|| panic!("{address} {model}"));
        assert!(
            found.metadata.price.is_some() && found.metadata.window.is_some(),
            "{found:?}"
        );
    }
}

#[test]
fn a_model_is_found_at_its_address() {
    let table = table();
    let check = |address: &str, model: &str, expected: Option<&str>| {
        let found = line(table.find(&url(address), model));
        assert_eq!(found.as_deref(), expected, "{address} {model}");
    };
    let m1 = Some("shop/m1 128000 +image 2.5 10 1.25 -");
    check("https://shop.example/v1", "m1", m1);
    check("https://shop.example/v1/", "m1", m1);
    check("https://SHOP.example/v1/more", "m1", m1);
    check(
        "https://shop.example/plan/v1",
        "m1",
        Some("plan/m1 128000 0 0 - -"),
    );
    // Neither path begins this one, and the services differ.
    check("https://shop.example/v10", "m1", None);
    check("https://shop.example/other", "m1", None);
    check(
        "https://shop.example/other",
        "of-the-plan",
        Some("plan/of-the-plan 4096"),
    );
    check("https://shop.example/v1", "of-the-plan", None);
    check(
        "https://shop.example/v1",
        "vendor/m5:free",
        Some("shop/vendor/m5:free 8192 0 0 - -"),
    );
    check(
        "https://api.openai.com/v1",
        "gpt-4o",
        Some("openai/gpt-4o 128000"),
    );
    for address in [
        "http://shop.example/v1",
        "https://shop.example:8443/v1",
        "https://shop.example.org/v1",
        "https://api.shop.example/v1",
        "http://127.0.0.1:1234/v1",
        "https://127.0.0.1/v1",
        "https://localhost/v1",
        "https://shop.localhost/v1",
        "file:///m1",
    ] {
        check(address, "m1", None);
    }
    for model in ["", "m", "m1\t128000", "m1\n", "=plan", "M1", "#", "nothing"] {
        check("https://shop.example/v1", model, None);
    }
}

#[test]
fn a_name_with_a_date_stands_for_the_one_without() {
    let table = table();
    let check = |model: &str, expected: Option<&str>| {
        let found = line(table.find(&url("https://shop.example/v1"), model));
        assert_eq!(found.as_deref(), expected, "{model}");
    };
    let m1 = Some("shop/m1 128000 +image 2.5 10 1.25 -");
    check("m1-20260131", m1);
    check("m1-2026-01-31", m1);
    check("m1-latest", m1);
    check("m1-2026", None);
    check("m1-preview", None);
    check("m4-2026-01-31", Some("shop/m4-2026-01-31 - +text 5 5 - -"));
    check("m4-latest", Some("shop/m4 - 4 4 - -"));
    // One version costs something else, so nobody knows what the others do.
    check("m4-2026-02-01", None);
    for (name, undated) in [
        ("claude-haiku-4-5-20251001", Some("claude-haiku-4-5")),
        ("gpt-4o-2024-08-06", Some("gpt-4o")),
        ("gpt-4o", None),
        ("llama-3-70", None),
        ("20251001", None),
        ("-20251001", None),
        ("a-2024-8-6", None),
        ("a-ä0251001", None),
    ] {
        assert_eq!(without_date(name), undated, "{name}");
    }
}

#[test]
fn an_entry_has_a_name() {
    let table = table();
    let check = |name: &str, expected: Option<&str>| {
        assert_eq!(line(table.named(name)).as_deref(), expected, "{name}");
    };
    check("plan/m1", Some("plan/m1 128000 0 0 - -"));
    check(
        "shop/vendor/m5:free",
        Some("shop/vendor/m5:free 8192 0 0 - -"),
    );
    check("home/m1", Some("home/m1 999"));
    check("hole/m1", Some("hole/m1 999"));
    check("nobody/m1", None);
    check("shop/m9", None);
    check("m1", None);
    let names: Vec<String> = table.entries().map(|entry| entry.name).collect();
    assert_eq!(names.len(), 12);
    assert_eq!(
        (names[0].as_str(), names[11].as_str()),
        ("hole/m1", "shop/window-only")
    );
}

#[test]
fn longer_requests_have_rates_of_their_own() {
    let table = table();
    let check = |name: &str, expected: &str| {
        assert_eq!(line(table.named(name)).as_deref(), Some(expected), "{name}");
    };
    check(
        "shop/m2",
        "shop/m2 272000 1 2 - 1.25 32000 2 4 0.2 - 256000 3 6 - -",
    );
    check("shop/m3", "shop/m3 - 1 2 - - 200000 3 4 - -");
}

#[test]
fn a_price_that_tokens_do_not_tell_is_not_known() {
    for cost in [
        r#"{"input": -1, "output": 1}"#,
        r#"{"input": 1e9, "output": 1}"#,
        r#"{"input": 1, "output": 2, "reasoning": 3}"#,
        r#"{"input": 1, "output": 2, "cache_read": -0.5}"#,
        r#"{"input": 1, "output": 2, "tiers": [{"input": 1, "output": 1, "tier": {"type": "hour", "size": 1}}]}"#,
        r#"{"input": 1, "output": 2, "context_over_200k": {"input": 2, "output": 2, "reasoning": 9}}"#,
        r#"{"input": 1, "output": 2, "tiers": [{"input": 1, "output": 1, "tier": {"size": 1}},
            {"input": 1, "output": 1, "tier": {"size": 1}}]}"#,
    ] {
        let json = format!(
            r#"{{"s": {{"models": {{"m": {{"limit": {{"context": 4096}}, "cost": {cost}}}}}}}}}"#
        );
        let found = reduced(&json).table.named("s/m");
        assert_eq!(line(found).as_deref(), Some("s/m 4096"), "{cost}");
    }
}

#[test]
fn what_cannot_be_read_is_left_out() {
    let json = r#"{
        "a": {"models": {"good": {"limit": {"context": 4096}}, "bad": {"limit": {"context": "many"}},
            "costly": {"cost": {"input": "free", "output": 1}}, "a\tb": {"limit": {"context": 4096}}, "": {}}},
        "b": [], "c": {"models": 7}, "d/e": {"models": {}}, "=f": {"models": {}}
    }"#;
    let reduced = reduced(json);
    assert_eq!((reduced.services, reduced.models), (1, 1));
    let expected = ["=f", "a/", "a/a\tb", "a/bad", "a/costly", "b", "c", "d/e"];
    assert_eq!(reduced.left_out, expected);
    let check = |json: &str, expected: &str| {
        let error: SiteError = reduce(json.as_bytes(), Date::ZERO).unwrap_err();
        assert_eq!(error.to_string(), expected, "{json}");
    };
    check("", "it is not a JSON object");
    check("<html>", "it is not a JSON object");
    check("[]", "it is not a JSON object");
    check(
        &format!("{{\"a\":{}", "[".repeat(100_000)),
        "it is not a JSON object",
    );
    check("{}", "it names no model, as the file of models.dev would");
    check(
        r#"{"error": "busy"}"#,
        "it names no model, as the file of models.dev would",
    );
}

#[test]
fn a_damaged_file_is_none() {
    let file = table().to_file();
    assert_eq!(ModelTable::of_file(&file), Ok(table()));
    for (text, expected) in [
        ("", Damage::Head),
        ("dunlin-models 1 2026-01-31", Damage::Head),
        ("dunlin-models 2 2026-01-31 00\n", Damage::Head),
        ("dunlin-models 1 yesterday 00\n", Damage::Head),
        ("dunlin-models 1 2026-01-31 00\n", Damage::Checksum),
        (&file[..file.len() - 1], Damage::Checksum),
        (&format!("{file}\n"), Damage::Checksum),
        (&file.replace("2.5", "2.6"), Damage::Checksum),
    ] {
        assert_eq!(ModelTable::of_file(text), Err(expected), "{text}");
    }
}

proptest! {
    /// Whatever stands in a line, it is read or not.
    #[test]
    fn any_line_is_read_or_not(text in "[-0-9.\t a-z]{0,60}") {
        if let Some(metadata) = read_metadata(&text) {
            prop_assert_eq!(read_metadata(&write_metadata(&metadata)), Some(metadata));
        }
    }

    /// Whatever is asked for, the answer is an entry of the table or none.
    #[test]
    fn any_name_is_found_or_not(name in "[-=#/m0-9a-z\t\n]{0,12}") {
        let table = table();
        if let Some(found) = table.find(&url("https://shop.example/v1"), &name) {
            prop_assert_eq!(table.named(&found.name), Some(found));
        }
        let _ = table.named(&name);
    }
}

#[test]
fn what_a_model_reads_is_kept_where_it_is_known() {
    let check = |modalities: &str, expected: &str| {
        let json = format!(
            r#"{{"s": {{"models": {{"m": {{"limit": {{"context": 4096}}, "modalities": {modalities}}}}}}}}}"#
        );
        let found = reduced(&json).table.named("s/m");
        assert_eq!(line(found).as_deref(), Some(expected), "{modalities}");
    };
    check(r#"{"input": ["text"]}"#, "s/m 4096 +text");
    check(
        r#"{"input": ["text", "image", "video"]}"#,
        "s/m 4096 +image",
    );
    check(r#"{"input": ["pdf", "image", "text"]}"#, "s/m 4096 +pdf");
    check(r#"{"input": ["audio"]}"#, "s/m 4096");
    check("null", "s/m 4096");
    // Another service at the same address does not say it.
    let json = SITE.replace("https://shop.example/plan/v1/", "https://shop.example/v1");
    let json = json.replace(
        r#""m1": {"limit": {"context": 128000}, "cost": {"input": 0, "output": 0}}"#,
        r#""window-only": {"limit": {"context": 1000}, "modalities": {"input": ["text"]}}"#,
    );
    let found = reduced(&json)
        .table
        .find(&url("https://shop.example/v1"), "window-only");
    assert_eq!(line(found).as_deref(), Some("plan/window-only 1000"));
}
