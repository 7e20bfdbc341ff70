//! Makes the JSON Schema of a tool's parameters when the tool is compiled: of `@param` lines, or of the type that the
//! arguments are read into, so that the two cannot drift apart. `dunlin-sdk` exports both.

mod derive;

use proc_macro::TokenStream;
use quote::quote;
use syn::parse::{Parse, ParseStream};
use syn::{DeriveInput, LitStr, Token, parse_macro_input};

/// Parameters in lines `@param name {type} [required|optional] Description`.
///
/// Types: string, integer, number, boolean, object, array. Without either word a parameter is required. Members of an
/// object are `name.field`, the items of an array `name[]`, their members `name[].field`. A line that is wrong does not
/// compile.
#[proc_macro]
pub fn parameters(lines: TokenStream) -> TokenStream {
    let Lines(lines) = parse_macro_input!(lines as Lines);
    match dunlin_params::parse(&lines.value()) {
        Ok(schema) => {
            let schema = schema.to_string();
            quote!(::dunlin_sdk::Parameters::json_schema(#schema)).into()
        }
        Err(error) => syn::Error::new(lines.span(), error)
            .into_compile_error()
            .into(),
    }
}

/// One string, as anything in parentheses may end with a comma.
struct Lines(LitStr);

impl Parse for Lines {
    fn parse(input: ParseStream<'_>) -> syn::Result<Lines> {
        let lines = input.parse()?;
        input.parse::<Option<Token![,]>>()?;
        Ok(Lines(lines))
    }
}

/// The JSON Schema of a type that arguments are read into: of a struct with named fields, or of an enum without fields.
///
/// Documentation comments become the descriptions. A field is optional if it is an `Option` or has `#[serde(default)]`.
/// `#[serde(rename)]` and `#[serde(rename_all)]` count. `#[parameter(minimum = 1, maximum = 100, default = 20)]` sets
/// bounds, and says what is taken where the model says nothing.
#[proc_macro_derive(Schema, attributes(parameter))]
pub fn schema(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    derive::schema(&input)
        .unwrap_or_else(syn::Error::into_compile_error)
        .into()
}
