//! From a type to the pieces of its JSON Schema. What nested types are is known only to the compiler, so the pieces are put
//! together by constant functions of `dunlin-sdk`.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::ext::IdentExt as _;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Expr, ExprLit, Field, Fields, GenericArgument, Lit, Meta,
    PathArguments, Result, Type,
};

/// What `serde` calls the names of fields and variants.
const RENAME_RULES: [&str; 8] = [
    "lowercase",
    "UPPERCASE",
    "PascalCase",
    "camelCase",
    "snake_case",
    "SCREAMING_SNAKE_CASE",
    "kebab-case",
    "SCREAMING-KEBAB-CASE",
];

/// Constant expressions of type `&str`, one after the other.
#[derive(Default)]
struct Pieces(Vec<TokenStream>);

impl Pieces {
    fn text(&mut self, text: &str) {
        self.0.push(text.to_token_stream());
    }

    /// A text as a JSON string.
    fn string(&mut self, text: &str) {
        self.text(&serde_json::Value::from(text).to_string());
    }
}

/// `impl Schema for …`
pub(crate) fn schema(input: &DeriveInput) -> Result<TokenStream> {
    if let Some(parameter) = input.generics.params.first() {
        let problem = "the arguments of a tool have no parameters of types or lifetimes";
        return Err(Error::new(parameter.span(), problem));
    }
    let serde = Serde::of(&input.attrs)?;
    let mut pieces = Pieces::default();
    match &input.data {
        Data::Struct(data) => match &data.fields {
            Fields::Named(fields) => object(fields.named.iter(), &serde, &mut pieces)?,
            other => return Err(Error::new(other.span(), "the fields need names")),
        },
        Data::Enum(data) => {
            pieces.text(r#"{"type":"string","enum":["#);
            for (index, variant) in data.variants.iter().enumerate() {
                if !matches!(variant.fields, Fields::Unit) {
                    let problem = "a value of an enum is one word: this one has fields";
                    return Err(Error::new(variant.span(), problem));
                }
                if index > 0 {
                    pieces.text(",");
                }
                let own = Serde::of(&variant.attrs)?;
                let name = variant.ident.unraw().to_string();
                pieces.string(&own.rename.unwrap_or_else(|| serde.rename_variant(&name)));
            }
            pieces.text("]}");
        }
        Data::Union(data) => {
            return Err(Error::new(data.union_token.span, "a union has no schema"));
        }
    }
    let (name, pieces) = (&input.ident, pieces.0);
    Ok(quote! {
        impl ::dunlin_sdk::Schema for #name {
            const SCHEMA: &'static str = {
                const PIECES: &[&str] = &[#(#pieces),*];
                const SIZE: usize = ::dunlin_sdk::__private::length(PIECES);
                const BYTES: [u8; SIZE] = ::dunlin_sdk::__private::join(PIECES);
                ::dunlin_sdk::__private::text(&BYTES)
            };
        }
    })
}

fn object<'a>(
    fields: impl Iterator<Item = &'a Field>,
    serde: &Serde,
    pieces: &mut Pieces,
) -> Result<()> {
    let mut required = Vec::new();
    pieces.text(r#"{"type":"object","properties":{"#);
    for (index, field) in fields.enumerate() {
        let own = Serde::of(&field.attrs)?;
        let name = field.ident.as_ref().map(|name| name.unraw().to_string());
        let name = name.unwrap_or_default();
        let name = own.rename.unwrap_or_else(|| serde.rename_field(&name));
        if index > 0 {
            pieces.text(",");
        }
        pieces.string(&name);
        pieces.text(":{");
        let (ty, is_option) = match inside(&field.ty, "Option") {
            Some(inner) => (inner, true),
            None => (&field.ty, false),
        };
        let mut begun = false;
        let description = description(&field.attrs);
        if !description.is_empty() {
            pieces.text(r#""description":"#);
            pieces.string(&description);
            begun = true;
        }
        let mut bounds = bounds(&field.attrs, ty)?;
        let may_be_left_out = is_option || own.has_default || serde.has_default;
        if bounds.iter().any(|(key, _)| key == "default") && !may_be_left_out {
            let problem = "a default is for a field that may be left out: add #[serde(default)], or make it an Option";
            return Err(Error::new(field.span(), problem));
        }
        if is_unsigned(ty) && bounds.iter().all(|(key, _)| key != "minimum") {
            bounds.push(("minimum".to_owned(), 0.into()));
        }
        for (key, value) in bounds {
            if begun {
                pieces.text(",");
            }
            pieces.string(&key);
            pieces.text(&format!(":{value}"));
            begun = true;
        }
        members(ty, begun, pieces);
        if !may_be_left_out {
            required.push(name);
        }
    }
    pieces.text(r#"},"required":"#);
    pieces.text(&serde_json::Value::from(required).to_string());
    pieces.text(r#","additionalProperties":false}"#);
    Ok(())
}

/// What the schema of a type has within its braces, and the closing one. `begun`: something stands before it.
fn members(ty: &Type, begun: bool, pieces: &mut Pieces) {
    match inside(ty, "Vec") {
        Some(item) => {
            pieces.text(if begun { "," } else { "" });
            pieces.text(r#""type":"array","items":{"#);
            let is_unsigned = is_unsigned(item);
            if is_unsigned {
                pieces.text(r#""minimum":0"#);
            }
            members(item, is_unsigned, pieces);
            pieces.text("}");
        }
        None => {
            let schema = quote!(<#ty as ::dunlin_sdk::Schema>::SCHEMA);
            let function = match begun {
                true => quote!(more_members),
                false => quote!(members),
            };
            let members = quote!(::dunlin_sdk::__private::#function(#schema));
            pieces.0.push(quote!(#members[0]));
            pieces.0.push(quote!(#members[1]));
        }
    }
}

/// Whether a type is a number from 0 on, as far as its name says.
fn is_unsigned(ty: &Type) -> bool {
    const UNSIGNED: [&str; 6] = ["u8", "u16", "u32", "u64", "u128", "usize"];
    matches!(peeled(ty), Type::Path(path) if UNSIGNED.iter().any(|name| path.path.is_ident(name)))
}

/// Whether a type is none of numbers, as far as its name says.
fn is_no_number(ty: &Type) -> bool {
    const OTHERS: [&str; 6] = ["String", "bool", "char", "Vec", "Value", "Map"];
    let Type::Path(path) = peeled(ty) else {
        return true;
    };
    let last = path.path.segments.last();
    last.is_some_and(|last| OTHERS.iter().any(|name| last.ident == name))
}

/// The type that a macro may have put into invisible brackets.
fn peeled(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => peeled(&group.elem),
        Type::Paren(paren) => peeled(&paren.elem),
        ty => ty,
    }
}

/// The type in an `Option` or a `Vec`.
fn inside<'a>(ty: &'a Type, around: &str) -> Option<&'a Type> {
    let Type::Path(path) = peeled(ty) else {
        return None;
    };
    let last = path.path.segments.last()?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else {
        return None;
    };
    match arguments.args.first()? {
        GenericArgument::Type(inner) if last.ident == around => Some(inner),
        _ => None,
    }
}

/// The documentation comment, in one paragraph per blank line.
fn description(attributes: &[Attribute]) -> String {
    let mut lines = Vec::new();
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("doc")
            && let Expr::Lit(ExprLit {
                lit: Lit::Str(text),
                ..
            }) = &pair.value
        {
            lines.push(text.value().trim().to_owned());
        }
    }
    let paragraphs = lines.split(String::is_empty).map(|lines| lines.join(" "));
    let paragraphs: Vec<String> = paragraphs.filter(|text| !text.is_empty()).collect();
    paragraphs.join("\n")
}

/// `#[parameter(minimum = 1)]` of a field of this type.
fn bounds(attributes: &[Attribute], ty: &Type) -> Result<Vec<(String, serde_json::Value)>> {
    let mut bounds: Vec<(String, serde_json::Value)> = Vec::new();
    for attribute in attributes {
        if !attribute.path().is_ident("parameter") {
            continue;
        }
        attribute.parse_nested_meta(|meta| {
            let key = match &meta.path {
                path if path.is_ident("minimum") => "minimum",
                path if path.is_ident("maximum") => "maximum",
                path if path.is_ident("default") => "default",
                _ => return Err(meta.error("use minimum, maximum or default")),
            };
            if bounds.iter().any(|(known, _)| known == key) {
                return Err(meta.error("this is said twice"));
            }
            if key != "default" && is_no_number(ty) {
                return Err(meta.error("only a number has a minimum and a maximum"));
            }
            let value = meta.value()?;
            let is_negative = value.parse::<syn::Token![-]>().is_ok();
            let literal: Lit = value.parse()?;
            let sign = if is_negative { "-" } else { "" };
            let json = match &literal {
                Lit::Int(number) => format!("{sign}{}", number.base10_digits()).parse(),
                Lit::Float(number) => format!("{sign}{}", number.base10_digits()).parse(),
                Lit::Bool(value) if key == "default" && !is_negative => Ok(value.value.into()),
                Lit::Str(text) if key == "default" && !is_negative => Ok(text.value().into()),
                other => return Err(Error::new(other.span(), "this takes a number")),
            };
            let json =
                json.map_err(|_| Error::new(literal.span(), "this is not a number that JSON has"))?;
            bounds.push((key.to_owned(), json));
            Ok(())
        })?;
    }
    Ok(bounds)
}

/// What `serde` is told of a type, a field or a variant.
#[derive(Default)]
struct Serde {
    rename: Option<String>,
    rename_all: Option<String>,
    has_default: bool,
}

impl Serde {
    fn of(attributes: &[Attribute]) -> Result<Serde> {
        let mut serde = Serde::default();
        for attribute in attributes {
            if !attribute.path().is_ident("serde") {
                continue;
            }
            attribute.parse_nested_meta(|meta| {
                let is = |word: &str| meta.path.is_ident(word);
                if is("rename") {
                    serde.rename = Some(meta.value()?.parse::<syn::LitStr>()?.value());
                } else if is("rename_all") {
                    let rule = meta.value()?.parse::<syn::LitStr>()?;
                    if !RENAME_RULES.contains(&rule.value().as_str()) {
                        return Err(Error::new(rule.span(), "serde knows no such rule"));
                    }
                    serde.rename_all = Some(rule.value());
                } else if is("default") {
                    serde.has_default = true;
                    if meta.input.peek(syn::Token![=]) {
                        meta.value()?.parse::<Expr>()?;
                    }
                } else if is("deny_unknown_fields") {
                } else {
                    // Whatever else changes how a value is read would make the schema wrong.
                    return Err(meta.error(
                        "the schema can follow rename, rename_all, default and deny_unknown_fields",
                    ));
                }
                Ok(())
            })?;
        }
        Ok(serde)
    }

    /// As serde's `RenameRule::apply_to_field` does: it takes a field to be written `like_this`.
    fn rename_field(&self, name: &str) -> String {
        let pascal = || name.split('_').map(capitalised).collect::<String>();
        match self.rename_all.as_deref() {
            None | Some("lowercase" | "snake_case") => name.to_owned(),
            Some("PascalCase") => pascal(),
            Some("camelCase") => uncapitalised(&pascal()),
            Some("kebab-case") => name.replace('_', "-"),
            Some("SCREAMING-KEBAB-CASE") => name.to_ascii_uppercase().replace('_', "-"),
            Some(_) => name.to_ascii_uppercase(),
        }
    }

    /// As serde's `RenameRule::apply_to_variant` does: it takes a variant to be written `LikeThis`.
    fn rename_variant(&self, name: &str) -> String {
        let words = |between: char| {
            let mut words = String::new();
            for (index, c) in name.char_indices() {
                if index > 0 && c.is_uppercase() {
                    words.push(between);
                }
                words.push(c.to_ascii_lowercase());
            }
            words
        };
        match self.rename_all.as_deref() {
            None | Some("PascalCase") => name.to_owned(),
            Some("lowercase") => name.to_ascii_lowercase(),
            Some("UPPERCASE") => name.to_ascii_uppercase(),
            Some("camelCase") => uncapitalised(name),
            Some("snake_case") => words('_'),
            Some("kebab-case") => words('-'),
            Some("SCREAMING-KEBAB-CASE") => words('-').to_ascii_uppercase(),
            Some(_) => words('_').to_ascii_uppercase(),
        }
    }
}

fn capitalised(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}

fn uncapitalised(word: &str) -> String {
    let mut chars = word.chars();
    let first = chars.next().map(|first| first.to_ascii_lowercase());
    first.into_iter().chain(chars).collect()
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn what_a_schema_cannot_say_is_an_error() {
        let fields: [(DeriveInput, &str); 7] = [
            (
                parse_quote!(
                    struct A {
                        #[parameter(default = 1)]
                        a: u32,
                    }
                ),
                "a default is for a field that may be left out: add #[serde(default)], or make it an Option",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(minimum = 1)]
                        a: String,
                    }
                ),
                "only a number has a minimum and a maximum",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(maximum = 1)]
                        a: Option<Vec<u8>>,
                    }
                ),
                "only a number has a minimum and a maximum",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(minimum = 1, minimum = 2)]
                        a: u8,
                    }
                ),
                "this is said twice",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(minimum = 1)]
                        #[parameter(minimum = 2)]
                        a: u8,
                    }
                ),
                "this is said twice",
            ),
            (
                parse_quote!(
                    struct A {
                        #[parameter(default = -"x")]
                        a: Option<String>,
                    }
                ),
                "this takes a number",
            ),
            (
                parse_quote!(
                    struct A {
                        #[serde(flatten)]
                        a: B,
                    }
                ),
                "the schema can follow rename, rename_all, default and deny_unknown_fields",
            ),
        ];
        for (input, expected) in fields {
            let found = schema(&input).map(|tokens| tokens.to_string());
            assert_eq!(
                found.map_err(|error| error.to_string()),
                Err(expected.to_owned())
            );
        }
        for input in [
            parse_quote!(
                struct A {
                    #[parameter(default = -1)]
                    a: Option<i8>,
                }
            ),
            parse_quote!(
                struct A {
                    #[serde(default)]
                    #[parameter(default = true)]
                    a: bool,
                }
            ),
            parse_quote!(
                struct A {
                    #[parameter(minimum = 1)]
                    a: Count,
                }
            ),
        ] {
            assert!(schema(&input).is_ok());
        }
    }

    #[test]
    fn types_within_invisible_brackets_are_seen() {
        let ty: Type = parse_quote!(Option<Vec<u8>>);
        let group = Type::Group(syn::TypeGroup {
            group_token: syn::token::Group::default(),
            elem: Box::new(ty.clone()),
        });
        assert_eq!(inside(&group, "Option"), inside(&ty, "Option"));
        assert!(inside(&group, "Option").is_some());
    }
}
