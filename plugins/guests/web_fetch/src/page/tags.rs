//! What each element of HTML means for a reader: which become Markdown, which only part paragraphs, which are no
//! content at all.

use html5ever::tokenizer::states::RawKind;

/// What an element means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Stands in the text and changes nothing: `span`, and whatever nobody knows.
    Ignored,
    /// Parts what is before it from what is in it and behind it.
    Block,
    /// A heading, `h1` to `h6`.
    Heading(&'static str),
    /// `ul` or `ol`.
    List(&'static str),
    /// `li`
    Item,
    /// `blockquote`
    Quote,
    /// `pre`
    Pre,
    /// `table`
    Table,
    /// Holds rows: `thead`, `tbody`, `tfoot`.
    Rows,
    /// `tr`
    Row,
    /// `td` or `th`.
    Cell(&'static str),
    /// `caption`
    Caption,
    /// `a`
    Link,
    /// `b`, `i` or `code`, or what looks like one of them.
    Phrase(&'static str),
    /// `br`
    Break,
    /// `hr`
    Rule,
    /// `img`
    Image,
    /// `base`
    Base,
    /// `title`: the title of the page.
    Title,
    /// What the page is about.
    Main,
    /// One of the things the page is about.
    Article,
    /// Leads to other places.
    Navigation,
    /// Navigation, unless it belongs to an article.
    Frame,
    /// No content: it is left out with all that is in it.
    Dropped,
    /// No content, and no HTML in it either.
    Raw(RawKind),
    /// No content, and empty.
    Void,
}

impl Role {
    /// Whether it stands in a paragraph, rather than around one.
    pub(super) fn is_inline(self) -> bool {
        matches!(
            self,
            Role::Ignored | Role::Phrase(_) | Role::Link | Role::Dropped
        )
    }
}

pub(super) fn role_of(name: &str) -> Role {
    match name {
        "address" | "body" | "center" | "dd" | "details" | "dialog" | "dir" | "div" | "dl"
        | "dt" | "fieldset" | "figcaption" | "figure" | "form" | "hgroup" | "html" | "legend"
        | "menu" | "p" | "search" | "section" | "summary" => Role::Block,
        "h1" => Role::Heading("h1"),
        "h2" => Role::Heading("h2"),
        "h3" => Role::Heading("h3"),
        "h4" => Role::Heading("h4"),
        "h5" => Role::Heading("h5"),
        "h6" => Role::Heading("h6"),
        "ul" => Role::List("ul"),
        "ol" => Role::List("ol"),
        "li" => Role::Item,
        "blockquote" => Role::Quote,
        "pre" | "listing" => Role::Pre,
        "table" => Role::Table,
        "thead" | "tbody" | "tfoot" => Role::Rows,
        "tr" => Role::Row,
        "td" => Role::Cell("td"),
        "th" => Role::Cell("th"),
        "caption" => Role::Caption,
        "a" => Role::Link,
        "b" | "strong" => Role::Phrase("b"),
        "i" | "em" | "cite" | "dfn" => Role::Phrase("i"),
        "code" | "kbd" | "samp" | "tt" => Role::Phrase("code"),
        "br" => Role::Break,
        "hr" => Role::Rule,
        "img" => Role::Image,
        "base" => Role::Base,
        "title" => Role::Title,
        "main" => Role::Main,
        "article" => Role::Article,
        "nav" => Role::Navigation,
        "aside" | "footer" | "header" => Role::Frame,
        "button" | "canvas" | "datalist" | "map" | "object" | "progress" | "select" | "svg"
        | "template" | "video" | "audio" => Role::Dropped,
        "script" => Role::Raw(RawKind::ScriptData),
        "iframe" | "noembed" | "noframes" | "noscript" | "style" | "xmp" => {
            Role::Raw(RawKind::Rawtext)
        }
        "textarea" => Role::Raw(RawKind::Rcdata),
        "area" | "basefont" | "col" | "embed" | "frame" | "input" | "keygen" | "link" | "meta"
        | "param" | "source" | "track" | "wbr" => Role::Void,
        _ => Role::Ignored,
    }
}

/// Words of `role` that say what `nav` and its like say.
pub(super) fn role_attribute(value: &str) -> Option<Role> {
    match value.trim() {
        "main" => Some(Role::Main),
        "article" => Some(Role::Article),
        "navigation" | "banner" | "contentinfo" | "search" | "complementary" | "menu"
        | "menubar" | "toolbar" | "alertdialog" => Some(Role::Navigation),
        _ => None,
    }
}

/// Classes that everybody uses for what is not the content. Whole words: a guess at parts of them would cost content.
const FRAME_CLASSES: [&str; 16] = [
    "advertisement",
    "breadcrumb",
    "breadcrumbs",
    "cookie-banner",
    "cookie-consent",
    "cookie-notice",
    "mw-editsection",
    "mw-jump-link",
    "navbar",
    "navbox",
    "noprint",
    "screen-reader-text",
    "skip-link",
    "sr-only",
    "visually-hidden",
    "visuallyhidden",
];

/// Whether a class says that this is not the content.
pub(super) fn is_frame_class(classes: &str) -> bool {
    classes
        .split_ascii_whitespace()
        .any(|class| FRAME_CLASSES.contains(&class))
}

/// The language that a class says code is in: `language-rust`, `lang-rust`, `highlight-source-rust`.
pub(super) fn language(classes: &str) -> Option<&str> {
    let named = classes.split_ascii_whitespace().find_map(|class| {
        ["language-", "lang-", "highlight-source-"]
            .iter()
            .find_map(|prefix| class.strip_prefix(prefix))
    });
    named.filter(|name| {
        (1..=20).contains(&name.len())
            && name
                .chars()
                .all(|c| c.is_ascii_alphanumeric() || "+#-_.".contains(c))
    })
}

/// Whether an element says that it is not to be seen.
pub(super) fn hides<'a>(attribute: &impl Fn(&str) -> Option<&'a str>) -> bool {
    attribute("hidden").is_some_and(|value| value != "until-found")
        || attribute("aria-hidden") == Some("true")
        || attribute("style").is_some_and(|style| {
            let plain = style.chars().filter(|c| !c.is_whitespace());
            let plain = plain.collect::<String>().to_ascii_lowercase();
            plain.contains("display:none") || plain.contains("visibility:hidden")
        })
}
