use proptest::prelude::*;

use super::*;

const COLUMNS: usize = 40;

/// What is printed of a reply that comes in these pieces.
fn print<'a>(pieces: impl IntoIterator<Item = &'a str>, columns: usize, styles: Styles) -> String {
    let mut markdown = Markdown::new(styles);
    let (mut filter, mut guard) = (Filter::default(), Guard::default());
    let mut out = String::new();
    for piece in pieces {
        let text = markdown.piece(&filter.piece(piece), columns);
        out += &guard.piece(&text, columns);
    }
    let text = markdown.end(columns);
    out += &guard.piece(&text, columns);
    out + &guard.rest()
}

/// What is seen of it.
fn seen(printed: &str) -> String {
    let mut text = String::new();
    let mut characters = printed.chars();
    while let Some(c) = characters.next() {
        match c {
            '\x1b' => characters.by_ref().take_while(|c| *c != 'm').for_each(drop),
            c => text.push(c),
        }
    }
    text
}

/// Each character that is seen, and its look.
fn looks(printed: &str) -> Vec<(char, String)> {
    let mut look = String::new();
    let mut looks = Vec::new();
    let mut characters = printed.chars();
    while let Some(c) = characters.next() {
        match c {
            '\x1b' => look = characters.by_ref().take_while(|c| *c != 'm').collect(),
            c => looks.push((c, look.replace("[0", ""))),
        }
    }
    looks
}

/// The rows of a reply, however it is cut in two, and letter by letter.
#[track_caller]
fn check(source: &str, expected: &str) {
    check_in(COLUMNS, Styles::coloured(), source, expected);
}

#[track_caller]
fn check_in(columns: usize, styles: Styles, source: &str, expected: &str) {
    let whole = print([source], columns, styles);
    assert_eq!(seen(&whole), expected, "{source:?}");
    for cut in (0..source.len()).filter(|cut| source.is_char_boundary(*cut)) {
        let (left, right) = source.split_at(cut);
        let cut_up = print([left, right], columns, styles);
        assert_eq!(looks(&cut_up), looks(&whole), "cut at {cut}");
    }
    let letters: Vec<String> = source.chars().map(String::from).collect();
    let letters = print(letters.iter().map(String::as_str), columns, styles);
    assert_eq!(looks(&letters), looks(&whole), "letter by letter");
}

#[test]
fn text_wraps_between_words() {
    check("Hello.", "Hello.");
    check("\n\n  Hello.\n\n\n", "Hello.");
    check(
        "The sandpiper nests in June. The sandpiper lays four eggs.",
        "The sandpiper nests in June. The\nsandpiper lays four eggs.",
    );
    check("one\ntwo\n\n\n\nthree", "one\ntwo\n\nthree");
    check(
        "日本語の文章は空白なしで書かれる。日本語の文章は空白なしで書かれる。",
        "日本語の文章は空白なしで書かれる。日本\n語の文章は空白なしで書かれる。",
    );
    let address = "https://example.org/a/path/that/is/longer/than/a/row/is";
    // What is longer than a row runs on, so that it can be copied whole.
    check(
        &format!("See {address} there."),
        &format!("See {address} there."),
    );
}

#[test]
fn marks_within_text_become_looks() {
    check("a **b** *c* _d_ `e` ~~f~~", "a b c d e f");
    check(
        "**whole words and more than fits into a single row**",
        "whole words and more than fits into a\nsingle row",
    );
    check(
        "snake_case_name and 2 * 3 * 4",
        "snake_case_name and 2 * 3 * 4",
    );
    check("***both***, **a *b* c**", "both, a b c");
    check("`a ** b` and ``c ` d``", "a ** b and c ` d");
    check("~5 to ~10 and ~a~", "~5 to ~10 and ~a~");
    check("\\*no\\* \\_emphasis\\_", "*no* _emphasis_");
    check("这是**粗体**文字，还有`代码`。", "这是粗体文字，还有代码。");
    check(
        "price: $5 & $10 &amp; more &lt;",
        "price: $5 & $10 & more <",
    );
    check(
        "$x*y*z$ and \\(a*b*c\\) \\[x\\]",
        "$x*y*z$ and \\(abc\\) \\[x\\]",
    );
    check("Vec<String> and <b>bold</b>", "Vec<String> and <b>bold</b>");
    check("one<br>two", "one\ntwo");
    check("a\\", "a\\");
}

#[test]
fn what_is_never_closed_is_text() {
    check("**open", "**open");
    check("a `b c\nnext", "a `b c\nnext");
    check("[text](http://a", "[text](http://a");
    check("[text] (x) [ ] [a][b]", "[text] (x) [ ] [a][b]");
    check("a * b ** c", "a * b ** c");
    check("a < b and a <b", "a < b and a <b");
    check("![", "![");
    check("```", "");
    check("&am", "&am");
}

#[test]
fn addresses_are_seen() {
    check("[text](https://a.org/x)", "text (https://a.org/x)");
    check("<https://a.org/x>", "https://a.org/x");
    check("[https://a.org](https://a.org)", "https://a.org");
    check(
        "[https://good.org](https://evil.org)",
        "https://good.org (https://evil.org)",
    );
    check("[](x)", "(x)");
    check("![a bird](b.png)", "image: a bird (b.png)");
    check("[**a** b](<c d> \"title\").", "a b (c d).");
    check("[a](javascript:x)", "a (javascript:x)");
    check("<me@a.org>", "me@a.org");
}

#[test]
fn headings_stand_by_themselves() {
    check(
        "# One\ntext\n## Two ##\n### *Three*\n\ntext",
        "One\ntext\n\nTwo\n\nThree\n\ntext",
    );
    check("#hashtag\n####### seven", "#hashtag\n####### seven");
    check("#\ntext", "text");
}

#[test]
fn lists_hang() {
    check(
        "Text:\n- one and a rather long item that wraps around\n- two\n  - inner\n    text\n  * other\n\n- last",
        "Text:\n• one and a rather long item that wraps\n  around\n• two\n  • inner\n    text\n  • other\n\n• last",
    );
    check(
        "1. one\n2. two\n   - a\n10. ten\n\nend",
        "1. one\n2. two\n   • a\n10. ten\n\nend",
    );
    check(
        "1. one\n  - two columns\n2. next",
        "1. one\n   • two columns\n2. next",
    );
    check("- [ ] open\n- [x] done", "[ ] open\n[x] done");
    check("-\n- a\n-\n", "•\n• a\n•");
    check("- a\n\n  more of a\n\nnot a", "• a\n\n  more of a\n\nnot a");
    check("**Bold** begins\n* item", "Bold begins\n• item");
    check("- # Heading\n- `code`", "• Heading\n• code");
    check("It was in\n1986. Then", "It was in\n1986. Then");
    check("- - - a", "• • • a");
}

#[test]
fn quotations_have_bars() {
    check(
        "> one\n> two\n>\n> > three\n\nfour",
        "│ one\n│ two\n│\n│ │ three\n\nfour",
    );
    check(
        "> - a\n>   b\n> ```\n> code\n> ```",
        "│ • a\n│   b\n│\n│ code",
    );
    check("> lazy\nline", "│ lazy\n│ line");
}

#[test]
fn rules_are_lines() {
    let line = "─".repeat(COLUMNS - 1);
    check("a\n\n---\n\n***\nb", &format!("a\n\n{line}\n\n{line}\nb"));
}

#[test]
fn code_is_as_it_was_written() {
    let long = "x".repeat(100);
    check(
        &format!("Text:\n```rust\nfn main() {{\n\tlet a = 1;  \n\n}}\n{long}\n```\nMore."),
        &format!("Text:\n\nfn main() {{\n\tlet a = 1;  \n\n}}\n{long}\n\nMore."),
    );
    check(
        "1. Do:\n   ```sh\n   ls\n     -l\n   ```\n2. Next",
        "1. Do:\n\nls\n  -l\n\n2. Next",
    );
    check("````md\n```\n# x\n```\n````", "```\n# x\n```");
    check("```\n**a**\n``\n~~~", "**a**\n``\n~~~");
    check("~~~ python title=x\n    pass\n~~~", "    pass");
    check(
        "a\n\n    indented\n      more\n\nb",
        "a\n\nindented\n  more\n\nb",
    );
    check("\ta\n  \tb\n\t\tc", "a\nb\n\tc");
    check("1. ```sh\n   ls\n   ```", "1.\n\nls");
    check("```inline``` code", "inline code");
}

#[test]
fn tables_are_laid_out() {
    check(
        "Here:\n| Name | Count |\n|---|--:|\n| **a** | 1 |\n| b | 20 |\nAfter.",
        "Here:\n\nName │ Count\n─────┼──────\na    │     1\nb    │    20\n\nAfter.",
    );
    check("| not | a table\nnext", "| not | a table\nnext");
    check("| a |\n| b |\n|---|\n| c |", "| a |\n\nb\n─\nc");
    check(
        "- x\n  | a | b |\n  |---|---|\n  | 1 | 2 |",
        "• x\n\n  a │ b\n  ──┼──\n  1 │ 2",
    );
}

#[test]
fn six_columns_fit_into_sixty() {
    let source = "| Language | Year | Typing | Memory | Concurrency | Notes |\n|---|---|---|---|---|---|\n\
                  | Rust | 2015 | static, strong | ownership | async, threads | no garbage collector |\n\
                  | Go | 2009 | static | garbage collected | goroutines | fast builds |\n";
    let printed = seen(&print([source], 60, Styles::coloured()));
    assert!(
        printed.lines().all(|line| line.chars().count() < 60),
        "{printed}"
    );
    for word in [
        "goroutines",
        "ownership",
        "threads",
        "Concurrency",
        "collector",
    ] {
        assert!(printed.contains(word), "{printed}");
    }
}

#[test]
fn long_tables_settle() {
    let mut source = "| a | b |\n|---|---|\n".to_owned();
    for number in 0..MAX_TABLE_LINES * 2 {
        source += &format!("| {number} | wide wide |\n");
    }
    let printed = seen(&print([source.as_str()], COLUMNS, Styles::coloured()));
    let last = MAX_TABLE_LINES * 2 - 1;
    assert!(
        printed.contains(&format!("\n{last} │ wide wide")),
        "{printed}"
    );
}

#[test]
fn without_colours_the_marks_stay() {
    let check = |source, expected| check_in(COLUMNS, Styles::plain(), source, expected);
    check(
        "# One\n\n**a** *b* `c` ~~d~~ ~e~",
        "# One\n\n**a** *b* `c` ~~d~~ ~e~",
    );
    check("```rust\nlet a;\n```\nx", "```rust\nlet a;\n```\nx");
    check("- a\n- [x] b", "• a\n[x] b");
    check("[a](b)", "a (b)");
}

#[test]
fn looks_are_these() {
    let check = |source, expected| {
        assert_eq!(
            print([source], COLUMNS, Styles::coloured()),
            expected,
            "{source:?}"
        );
    };
    check("# A b", "\x1b[1;4mA\x1b[0m\x1b[1;4m b\x1b[0m");
    check(
        "a **b c** `d`",
        "a \x1b[1mb\x1b[0m\x1b[1m c\x1b[0m \x1b[36md\x1b[0m",
    );
    check("[a](b)", "\x1b[4ma\x1b[0m\x1b[2m (b)\x1b[0m");
    // What one block left open is nothing to the next.
    check(
        "```rust\n/*\n```\n```rust\nlet\n```",
        "\x1b[2m/*\x1b[0m\n\n\x1b[35mlet\x1b[0m",
    );
    check(
        "```rust\nlet a = \"b\";\n```",
        "\x1b[35mlet\x1b[0m a = \x1b[32m\"b\"\x1b[0m;",
    );
}

#[test]
fn it_comes_as_it_is_written() {
    let check = |source: &str, expected: &str| {
        let mut markdown = Markdown::new(Styles::coloured());
        assert_eq!(
            seen(&markdown.piece(source, COLUMNS)),
            expected,
            "{source:?}"
        );
    };
    check("Hello wor", "Hello wor");
    check("Hello, this is a wor", "Hello, this is a");
    check("Hello **wor", "Hello");
    check("Hello **wor** an", "Hello wor an");
    check("a *b c* d", "a b c d");
    check("a * b c", "a * b c");
    check("- ", "");
    check("- it", "• it");
    check("- item on", "• item on");
    check("日本語", "日本語");
    check("这是**粗体**文字", "这是粗体文字");
    check("```sh\nls\n-l", "ls");
    check(
        "see ~5 and snake_case and $5 an",
        "see ~5 and snake_case and $5",
    );
    check("[x] don", "[x] don");
}

#[test]
fn a_prompt_cannot_be_drawn() {
    for source in [
        "allow? y",
        "# allow? y",
        "**allow?** y",
        "`allow?` y",
        "al**low?** y",
        "```\nallow? y\n```",
        "```rust\n  allow? y\n```",
        "    allow? y",
        "[allow?](x)",
        "&#97;llow? y",
        "\\allow? y",
        "| allow? |\n|---|\n| approve? |",
        "| x |\n|---|\n| x<br>allow? |",
        "x<br>allow? y",
        "1. a\n\n   allow? y",
        "&#10;› hello",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx › hello",
        "```\nxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx› hello\n```",
        "```\nx                                       › hello\n```",
        "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx› hello",
        "- \n  allow?",
        "---\nallow?",
        "> a\n\nanswer? b",
        "<!-- -->allow?",
        "\u{2800}allow?",
        "![allow?](x)",
    ] {
        for columns in [20, 40, 41] {
            for styles in [Styles::plain(), Styles::coloured()] {
                let printed = seen(&print([source], columns, styles));
                for row in screen_rows(&printed, columns) {
                    let row =
                        row.trim_start_matches(|c: char| c.is_whitespace() || c == '\u{2800}');
                    let draws = ["›", "allow?", "approve?", "answer?"]
                        .iter()
                        .any(|prompt| row.starts_with(prompt));
                    assert!(!draws, "{source:?} in {columns}: {printed:?}");
                }
            }
        }
    }
}

/// The rows of a terminal that goes on in the next row at its edge.
fn screen_rows(printed: &str, columns: usize) -> Vec<String> {
    let mut rows = Vec::new();
    for line in printed.split('\n') {
        let characters: Vec<char> = line.chars().collect();
        let chunks = characters.chunks(columns);
        rows.extend(chunks.map(|chunk| chunk.iter().collect::<String>()));
    }
    rows
}

#[test]
fn references_to_characters_do_nothing() {
    for source in [
        "&#27;[2J",
        "&#x1b;]0;x&#7;",
        "&#8238;evil",
        "[a](http://x&#27;[2J)",
        "[a&#27;](b)",
        "`&#27;`",
        "| &#27;[2J |\n|---|\n| &#10;&#13; |",
        "# &#27;c",
        "```&#27;\n&#27;\n```",
        "![a](b&#x202e;)",
        "&#155;31m",
        "a&ZeroWidthSpace;b&zwj;c&shy;d",
    ] {
        let printed = seen(&print([source], COLUMNS, Styles::coloured()));
        let acts =
            |c: char| c != '\n' && !dunlin_host::display::escape(&c.to_string()).starts_with(c);
        assert!(!printed.contains(acts), "{source:?}: {printed:?}");
    }
}

#[test]
fn somebody_else_may_print_in_between() {
    let mut markdown = Markdown::new(Styles::coloured());
    assert_eq!(
        markdown.piece("- one **two", COLUMNS),
        "\x1b[2m• \x1b[0mone"
    );
    markdown.interrupted();
    assert_eq!(
        markdown.piece("** three", COLUMNS),
        "  \x1b[1mtwo\x1b[0m three"
    );
    assert_eq!(markdown.end(COLUMNS), "");
}

#[test]
fn text_without_marks_is_only_wrapped() {
    let mut markdown = Markdown::without_marks(Styles::plain());
    let text = markdown.piece(
        "**a** | b\n\n\n# more than fits into a single row of it\n",
        COLUMNS,
    );
    let text = text + &markdown.end(COLUMNS);
    assert_eq!(
        text,
        "**a** | b\n\n# more than fits into a single row of\nit"
    );
}

#[test]
fn nothing_is_held_for_ever() {
    let long = 200_000;
    for (start, unit) in [
        ("", "a"),
        ("", "a "),
        ("", " "),
        ("**", "a "),
        ("", "*a "),
        ("", "["),
        ("", "`"),
        ("", "<a "),
        ("# ", "a"),
        ("| ", "a | "),
        ("```", "a"),
        ("```\n", "a"),
        ("```\n", " "),
        ("```rust\n", "\"a"),
        ("", "- "),
        ("", "> "),
        ("", "1. "),
        ("", "-"),
        ("", "#"),
        ("", "\\"),
        ("", "&amp;"),
        ("", "日"),
        ("", "$a"),
        ("", "a_"),
    ] {
        let mut markdown = Markdown::new(Styles::coloured());
        let mut shown = markdown.piece(start, COLUMNS).len();
        for _ in 0..long / unit.len() {
            shown += markdown.piece(unit, COLUMNS).len();
            let held = markdown.head.len() + markdown.rows.held();
            assert!(held <= MAX_LINE_BYTES + 64, "{start:?} {unit:?}");
        }
        shown += markdown.end(COLUMNS).len();
        assert!(
            shown > 0 || unit.trim().is_empty() || start == "```",
            "{start:?} {unit:?}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn the_pieces_do_not_matter(
        source in "([-*_`#>|\\[\\]()<&!~$0-9.:+=\\\\ \t\n]|[ab日é👍]|\n\n|```|\\*\\*|- |  |\\| |---|<br>){0,60}",
        cuts in proptest::collection::vec(0..200_usize, 0..6),
        columns in 10..50_usize,
    ) {
        let whole = print([source.as_str()], columns, Styles::coloured());
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| source.floor_char_boundary(cut)).collect();
        cuts.extend([0, source.len()]);
        cuts.sort_unstable();
        let pieces = cuts.windows(2).map(|ends| &source[ends[0]..ends[1]]);
        prop_assert_eq!(looks(&print(pieces, columns, Styles::coloured())), looks(&whole));
        // Nothing trails, and letters are not lost.
        let letters = |text: &str| text.chars().filter(|c| c.is_alphabetic()).count();
        let breaks = source.matches("<br>").count() * 2;
        let shown = seen(&whole);
        prop_assert!(letters(&shown) + breaks >= letters(&source).saturating_sub(fence_letters(&source)), "{}", shown);
    }
}

/// Letters behind fences, which are not shown.
fn fence_letters(source: &str) -> usize {
    let lines = source
        .lines()
        .filter(|line| line.contains("```") || line.contains("~~~") || line.contains('|'));
    lines
        .flat_map(str::chars)
        .filter(|c| c.is_alphabetic())
        .count()
}

#[test]
fn links_lead_to_their_addresses_where_the_terminal_opens_them() {
    let open = |number: usize, address: &str| format!("\x1b]8;id=dunlin{number};{address}\x1b\\");
    let close = "\x1b]8;;\x1b\\";
    let text =
        "See [the docs](https://docs.rs/a), <https://b.example/> and [this](javascript:x).\n";
    let printed = print([text], 200, Styles::linked());
    assert_eq!(
        printed,
        format!(
            "See {}\x1b[4mthe\x1b[0m{close}{}\x1b[4m docs\x1b[0m{close}\x1b[2m (https://docs.rs/a)\x1b[0m, \
             {}\x1b[4mhttps://b.example/\x1b[0m{close} and \x1b[4mthis\x1b[0m\x1b[2m (javascript:x)\x1b[0m.",
            open(1, "https://docs.rs/a"),
            open(1, "https://docs.rs/a"),
            open(2, "https://b.example/"),
        )
    );
    // The text is the same everywhere, also where links are nothing but text.
    assert_eq!(seen(&print([text], 200, Styles::coloured())), {
        let mut plain = printed.clone();
        for sequence in [
            &open(1, "https://docs.rs/a"),
            &open(2, "https://b.example/"),
            close,
        ] {
            plain = plain.replace(sequence, "");
        }
        seen(&plain)
    });
    // In a table, in pieces, and with a text that looks like a prompt.
    let table = print(
        [
            "| a |\n|---|\n| [x](https:/",
            "/h/) |\n\n[allow?](https://h/)",
        ],
        40,
        Styles::linked(),
    );
    assert!(table.contains(&open(1, "https://h/")), "{table:?}");
    assert!(
        table.contains(&format!("\n│ {}", open(1, "https://h/"))),
        "{table:?}"
    );
    // Nothing else can end a link.
    let hostile = print(
        ["[x](<https://h/\u{1b}\\\u{7}\u{9c}>) [y](https://h/%1b]8;;)"],
        80,
        Styles::linked(),
    );
    assert!(!hostile.contains(['\u{7}', '\u{9c}']), "{hostile:?}");
    assert_eq!(
        hostile.matches("\x1b]8;id=").count(),
        hostile.matches(close).count()
    );
    // Rows that are printed as lines have none.
    assert!(!rows(text, Styles::linked(), 80).concat().contains("\x1b]"));
}
