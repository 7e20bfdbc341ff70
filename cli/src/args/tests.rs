use super::ask::AllowError;
use super::*;

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn the_short_ways_say_what_the_definition_says() {
    let parse = |words: &[&str]| {
        let short = Cli::of(words.iter().map(OsString::from).collect());
        (short, Cli::try_parse_from(words))
    };
    let (short, whole) = parse(&["dunlin"]);
    assert_eq!(format!("{short:?}"), format!("{whole:?}"));
    for only in ["--version", "-V"] {
        let (short, whole) = parse(&["dunlin", only]);
        let (short, whole) = (short.unwrap_err(), whole.unwrap_err());
        assert_eq!(short.kind(), whole.kind());
        assert_eq!(short.to_string(), whole.to_string());
    }
}

#[test]
fn allow_takes_the_last_equals_sign() {
    let check = |text: &str, expected: Result<(&str, &str), AllowError>| {
        let parsed = text
            .parse::<Allow>()
            .map(|allow| (allow.target, allow.bits));
        let expected = expected.map(|(target, bits)| (target.to_owned(), bits.to_owned()));
        assert_eq!(parsed, expected, "{text:?}");
    };
    check("src/=rw", Ok(("src/", "rw?")));
    check("/a=b=x", Ok(("/a=b", "??x")));
    check("f=xr", Ok(("f", "r?x")));
    check("cargo test", Ok(("cargo test", "??x")));
    check(
        "$ /usr/bin/cargo test",
        Ok(("$ /usr/bin/cargo test", "??x")),
    );
    check("= /usr/bin/git push", Ok(("= /usr/bin/git push", "??x")));
    check("", Err(AllowError::Form));
    check("=r", Err(AllowError::Form));
    check("f=", Err(AllowError::Bits(String::new())));
    check("f=rr", Err(AllowError::Bits("rr".to_owned())));
    check("f=r-", Err(AllowError::Bits("r-".to_owned())));
}

#[test]
fn global_options_stand_on_both_sides() {
    for line in [
        &["dunlin", "--agent", "a", "-q", "ask", "hello", "world"][..],
        &["dunlin", "ask", "--agent", "a", "-q", "hello", "world"][..],
    ] {
        let cli = Cli::try_parse_from(line).unwrap();
        assert_eq!(cli.global.agent.as_deref(), Some("a"));
        assert!(cli.global.quiet);
        let Some(Command::Ask(ask)) = cli.command else {
            panic!("not ask: {line:?}")
        };
        assert_eq!(ask.prompt, ["hello", "world"]);
    }
    assert!(Cli::try_parse_from(["dunlin", "-q", "-v"]).is_err());
    assert!(Cli::try_parse_from(["dunlin"]).unwrap().command.is_none());
    assert!(Cli::try_parse_from(["dunlin", "permissions", "set", "/a", "--x"]).is_ok());
    assert!(Cli::try_parse_from(["dunlin", "permissions", "set", "/a", "-w-"]).is_ok());
}
