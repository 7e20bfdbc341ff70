//! Pages, and what a reader gets of them.

use std::fmt::Write as _;

use proptest::prelude::*;

use crate::page::{Reader, convert};

fn markdown(html: &str) -> String {
    convert(html, "https://example.com/dir/page?q=1").markdown
}

#[track_caller]
fn check(cases: &[(&str, &str)]) {
    for (html, expected) in cases {
        assert_eq!(markdown(html), *expected, "{html}");
    }
}

#[test]
fn paragraphs_and_phrases() {
    check(&[
        ("", ""),
        ("plain", "plain"),
        ("<p>one<p>two", "one\n\ntwo"),
        (
            "<div>one<div>two</div>three</div>four",
            "one\n\ntwo\n\nthree\n\nfour",
        ),
        (
            "a <b>bold</b> and <em>thin</em> word",
            "a **bold** and *thin* word",
        ),
        ("a<b> bold </b>word", "a **bold** word"),
        ("<b>a</b><strong>b</strong>", "**ab**"),
        ("<b>a<b>b</b></b>c", "**ab**c"),
        ("<b><p>a</p></b><p>b", "a\n\nb"),
        ("a<br>b", "a  \nb"),
        ("a<br><br>b", "a\n\nb"),
        ("a  \n\t b", "a b"),
        ("a<span> </span>b", "a b"),
        ("x&nbsp;&amp;&lt;y&gt;", "x &\\<y>"),
        ("<h1>Top</h1>text<h2>Sub</h2>", "# Top\n\ntext\n\n## Sub"),
        ("<h2>a<p>b</h2>c", "## a b\n\nc"),
        ("a<hr>b", "a\n\n* * *\n\nb"),
        ("<title>T</title><p>a", "# T\n\na"),
        ("<title>T</title><h1>H</h1><p>a", "# H\n\na"),
        ("<blockquote><p>a<p>b</blockquote>c", "> a\n>\n> b\n\nc"),
        ("<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>", "漢(kan)"),
        ("<dl><dt>a<dd>b</dl>", "a\n\nb"),
        ("a\u{1b}[2J\u{7}b", "a\\[2Jb"),
    ]);
}

#[test]
fn lists() {
    check(&[
        ("<ul><li>a<li>b</ul>", "- a\n- b"),
        ("<ul><li><p>a</p><li><div>b</div></ul>", "- a\n- b"),
        ("<ol><li>a</li><li>b</li></ol>", "1. a\n2. b"),
        ("<ol start=7><li>a</ol>", "7. a"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>", "- a\n  - b\n- c"),
        ("<ul>loose<li>a</ul>", "- loose\n- a"),
        ("<li>alone", "alone"),
        ("<ul></ul>a", "a"),
    ]);
    let two = markdown("<ul><li><div>a</div><div>b</div></ul>");
    assert!(two.starts_with("- a\n") && two.contains("\n  b"), "{two:?}");
}

#[test]
fn links_are_absolute() {
    check(&[
        ("<a href=x>t</a>", "[t](https://example.com/dir/x)"),
        ("<a href=/x>t</a>", "[t](https://example.com/x)"),
        ("<a href='//h/x'>t</a>", "[t](https://h/x)"),
        ("<a href='?r'>t</a>", "[t](https://example.com/dir/page?r)"),
        ("<a href='mailto:a@b'>t</a>", "[t](mailto:a@b)"),
        (
            "<base href='https://h/b/'><a href=x>t</a><img src=i alt=A>",
            "[t](https://h/b/x)![A](https://h/b/i)",
        ),
        (
            "<base href='/b/'><base href='/c/'><a href=x>t</a>",
            "[t](https://example.com/b/x)",
        ),
        // Nowhere to go.
        ("<a href='javascript:alert(1)'>t</a>", "t"),
        ("<a href='data:text/html,x'>t</a>", "t"),
        ("<a href='file:///etc/passwd'>t</a>", "t"),
        ("<a href='#there'>t</a>", "t"),
        ("<a name=x>t</a>", "t"),
        ("<h2>Title<a href='/x#y'>¶</a></h2>", "## Title"),
        ("<a href=x></a>t", "t"),
        (
            "<a href=x>a<a href=y>b</a>",
            "[a](https://example.com/dir/x)[b](https://example.com/dir/y)",
        ),
        (
            "<a href=x><div><h3>a</h3><p>b</div></a>",
            "[a b](https://example.com/dir/x)",
        ),
        (
            "<img src=i.png alt='A bird'>",
            "![A bird](https://example.com/dir/i.png)",
        ),
        (
            "<img src='data:image/png;base64,xx' data-src=/i alt=A>",
            "![A](https://example.com/i)",
        ),
        ("<img src=i.png>", ""),
    ]);
}

#[test]
fn code_stays_as_it_is() {
    check(&[
        ("<code>a_b</code>", "`a_b`"),
        ("<kbd>x</kbd>", "`x`"),
        ("<pre>a\n  b\n\n\n*c*</pre>", "```\na\n  b\n\n\n*c*\n```"),
        ("<pre>\na</pre>", "```\na\n```"),
        (
            "<pre><code class='hl language-rust'>fn a() {\n    <span>b</span>();\n}\n</code></pre>c",
            "```rust\nfn a() {\n    b();\n}\n```\n\nc",
        ),
        ("<pre class=lang-js>x</pre>", "```js\nx\n```"),
        (
            "<pre><span></span><code class=language-c>x</code></pre>",
            "```c\nx\n```",
        ),
        ("<pre><div>a</div><div>b</div></pre>", "```\na\nb\n```"),
        ("<pre>a<br>b</pre>", "```\na\nb\n```"),
        ("<pre>```\nx</pre>", "````\n```\nx\n````"),
        ("<pre></pre>a", "a"),
    ]);
}

#[test]
fn tables() {
    check(&[
        (
            "<table><caption>C</caption><tr><th>A<th>B<tr><td>1<td>2 | 3</table>d",
            "C\n\n| A | B |\n| --- | --- |\n| 1 | 2 \\| 3 |\n\nd",
        ),
        (
            "<table><thead><tr><th>A</th><th>B</th></tr></thead><tbody><tr><td><p>1</p><p>x</p></td><td></td></tr></tbody></table>",
            "| A | B |\n| --- | --- |\n| 1 x |  |",
        ),
        (
            "<table><tr><td>a<td>b<tr><td>c<td>d</table>",
            "| a | b |\n| --- | --- |\n| c | d |",
        ),
        // Only to arrange things.
        ("<table><tr><td>a<tr><td>b</table>c", "a\n\nb\n\nc"),
        ("<table><tr><td><h2>a</h2>x<td>b</table>", "## a\n\nx\n\nb"),
        (
            "<table><tr><td>n<td><table><tr><th>A<th>B<tr><td>1<td>2</table></table>",
            "n\n\n| A | B |\n| --- | --- |\n| 1 | 2 |",
        ),
        ("<td>alone", "alone"),
    ]);
}

#[test]
fn only_the_content_is_left() {
    check(&[
        (
            "<script>if (a < b) {}</script>a<style>p{}</style><noscript><p>no</noscript>",
            "a",
        ),
        ("<script><!-- <script> --></script>a", "a"),
        (
            "<textarea><p>x</textarea>a<select><option>x</select><button>go</button>",
            "a",
        ),
        (
            "<p>see <svg><title>T</title><path d=x /><text>no</text></svg>this",
            "see this",
        ),
        (
            "<template><p>x</p></template>a<iframe src=x>y</iframe>",
            "a",
        ),
        ("<p hidden>x<p>a", "a"),
        ("<div style='DISPLAY : none'><p>x</div>a", "a"),
        ("<span aria-hidden=true><span>x</span>y</span>a", "a"),
        ("<p>a<span class='sr-only'>no</span> b", "a b"),
        (
            "<nav><ul><li>x</ul></nav><p>content<footer>f</footer>",
            "content",
        ),
        (
            "<header>site</header><p>content<aside>more</aside>",
            "content",
        ),
        ("<div role=navigation>x</div><div>content</div>", "content"),
        (
            "<p>before <main><header><h1>T</h1></header><nav>toc</nav>text<aside>note</aside></main> after",
            "# T\n\ntext\n\nnote",
        ),
        (
            "<p>site<article>the article that is long enough</article>",
            "the article that is long enough",
        ),
        (
            "<article>one long article</article><article>two long articles</article>x",
            "one long article\n\ntwo long articles",
        ),
        // A page may be nothing but navigation, and main may be nothing.
        (
            "<nav><a href=/x>to x</a></nav>",
            "[to x](https://example.com/x)",
        ),
        (
            "<main></main><p>all of the text is elsewhere",
            "all of the text is elsewhere",
        ),
        (
            "<main>x</main><p>nearly all of the text is elsewhere",
            "x\n\nnearly all of the text is elsewhere",
        ),
        (
            "<h2>Birds<span class='mw-editsection'>[edit]</span></h2>text",
            "## Birds\n\ntext",
        ),
        ("<body hidden><p>a", "a"),
        ("<!-- no --><p>a<!-- -- > no -->b<![CDATA[no]]><?no?>", "ab"),
    ]);
}

/// Whatever is in a page, it ends, it ends soon, and it needs little stack.
#[test]
fn hostile_pages_are_bounded() {
    let deep = |tag: &str, count: usize| format!("<{tag}>").repeat(count) + "x";
    for tag in [
        "div",
        "b",
        "i",
        "p",
        "ul",
        "ul><li",
        "blockquote",
        "table><tr><td",
        "a href=x",
        "nav",
        "span hidden",
        "section",
        "h1",
        "pre",
        "main",
        "article",
        "svg",
        "font",
        "title",
        "select",
        "math",
        "form",
        "code",
    ] {
        let html = deep(tag, 50_000);
        let found = on_small_stack(move || markdown(&html));
        assert!(found.len() < 20_000, "{tag}: {}", found.len());
    }
    let mut different = String::new();
    for n in 0..20_000 {
        write!(different, "<p><b class={n}><i id={n}><a href=x{n}>").unwrap();
    }
    on_small_stack(move || markdown(&different));
    for piece in [
        "<br>",
        "<b>x</b>",
        "</div>",
        "<li>x",
        "&amp;",
        "<td>",
        "<a href=x>y</a> ",
        "<p>x",
    ] {
        let html = piece.repeat(1_000_000 / piece.len());
        on_small_stack(move || markdown(&html));
    }
}

/// What a guest's stack holds, four times.
fn on_small_stack<T: Send + 'static>(run: impl FnOnce() -> T + Send + 'static) -> T {
    let thread = std::thread::Builder::new().stack_size(256 * 1024);
    thread.spawn(run).unwrap().join().unwrap()
}

#[test]
fn a_large_page_says_what_it_leaves_out() {
    let page = convert(&"<p>some words".repeat(200_000), "https://example.com/");
    assert!(page.omitted_chars > 100_000, "{}", page.omitted_chars);
    assert!(page.markdown.len() < 4_000_000);
}

const PARTS: [&str; 48] = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<b>",
    "</b>",
    "<i>",
    "</i>",
    "<a href=x>",
    "<a>",
    "</a>",
    "<ul>",
    "</ul>",
    "<ol>",
    "<li>",
    "</li>",
    "<table>",
    "</table>",
    "<tr>",
    "<td>",
    "<th>",
    "</td>",
    "<caption>",
    "<pre>",
    "</pre>",
    "<code>",
    "</code>",
    "<br>",
    "<hr>",
    "<h1>",
    "</h1>",
    "<blockquote>",
    "</blockquote>",
    "<nav>",
    "</nav>",
    "<main>",
    "</main>",
    "<article>",
    "<script>",
    "</script>",
    "<title>",
    "</title>",
    "<span hidden>",
    "</span>",
    "<img src=i alt=A>",
    "&lt;",
    "\n",
    " word ",
];

fn html() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        8 => proptest::sample::select(&PARTS[..]).prop_map(str::to_owned),
        1 => "[ -~ß🪶\u{0}-\u{1f}]{0,6}",
    ];
    proptest::collection::vec(part, 0..60).prop_map(|parts| parts.concat())
}

proptest! {
    /// Cut anywhere, it is the same page.
    #[test]
    fn pieces_make_no_difference(html in html(), cut in 0..400_usize) {
        let whole = convert(&html, "https://example.com/");
        let (head, tail) = html.split_at(html.floor_char_boundary(cut.min(html.len())));
        let mut reader = Reader::new("https://example.com/");
        reader.read(head);
        reader.read(tail);
        prop_assert_eq!(words(&reader.finish().markdown), words(&whole.markdown));
    }
}

/// A text that is cut may be escaped otherwise, and have a space more.
fn words(markdown: &str) -> String {
    markdown
        .chars()
        .filter(|c| !c.is_whitespace() && *c != '\\')
        .collect()
}
