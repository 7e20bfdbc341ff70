//! Reads what the tools of a guest say of themselves out of its module, where `dunlin_sdk::export!` wrote it. A component
//! has its module within it.

use std::string::FromUtf8Error;

use wasmparser::{BinaryReaderError, Parser, Payload};

/// The custom section of a module; `plugins/sdk/src/section.rs` says what is in it.
const SECTION: &str = "dunlin:tools";

/// What the tools of a guest say of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Description {
    /// The version of the contract it was built for.
    pub contract: String,
    /// What the component imports, as it names it, sorted.
    pub imports: Vec<String>,
    pub tools: Vec<ToolTexts>,
}

/// The texts of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolTexts {
    /// What the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of what it takes.
    pub parameters: String,
    /// A name for people; empty where it has none.
    pub title: String,
    /// JSON Schema of its structured result; empty where it has none.
    pub output_schema: String,
    /// Whether it is destructive and idempotent: `y`, `n` or `?` for each.
    pub hints: String,
}

/// Why what the tools of a guest say of themselves cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum DescribedError {
    #[error("this is not a valid WebAssembly module")]
    Wasm(#[from] BinaryReaderError),
    #[error("the section is empty")]
    Empty,
    #[error("the texts of a tool are incomplete")]
    Incomplete,
    /// A length leads out of the section.
    #[error("a text is longer than the section")]
    TooLong,
    #[error("a text is not UTF-8")]
    NotText(#[from] FromUtf8Error),
    #[error("the section ends within a length")]
    CutOff,
}

/// Reads the section of a module and the imports of the component that was made of it. `None` where there is no section.
pub(crate) fn read(module: &[u8], component: &[u8]) -> Result<Option<Description>, DescribedError> {
    let Some(section) = section(module)? else {
        return Ok(None);
    };
    let mut texts = texts(section)?.into_iter();
    let contract = texts.next().ok_or(DescribedError::Empty)?;
    let rest: Vec<String> = texts.collect();
    let (tools, torn) = rest.as_chunks::<6>();
    if !torn.is_empty() {
        return Err(DescribedError::Incomplete);
    }
    let tools = tools.iter().cloned();
    let tools = tools.map(
        |[name, description, parameters, title, output_schema, hints]| ToolTexts {
            name,
            description,
            parameters,
            title,
            output_schema,
            hints,
        },
    );
    Ok(Some(Description {
        contract,
        imports: imports(component)?,
        tools: tools.collect(),
    }))
}

fn section(module: &[u8]) -> Result<Option<&[u8]>, DescribedError> {
    for payload in Parser::new(0).parse_all(module) {
        if let Payload::CustomSection(section) = payload?
            && section.name() == SECTION
        {
            return Ok(Some(section.data()));
        }
    }
    Ok(None)
}

/// The texts of a section, each behind its length.
fn texts(mut section: &[u8]) -> Result<Vec<String>, DescribedError> {
    let mut texts = Vec::new();
    while let Some((length, rest)) = section.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let (text, rest) = rest
            .split_at_checked(length)
            .ok_or(DescribedError::TooLong)?;
        texts.push(String::from_utf8(text.to_owned())?);
        section = rest;
    }
    if section.is_empty() {
        Ok(texts)
    } else {
        Err(DescribedError::CutOff)
    }
}

/// Whether a component offers anything.
pub(crate) fn exports(component: &[u8]) -> Result<bool, DescribedError> {
    let mut any = false;
    outermost(component, |payload| {
        any |= matches!(payload, Payload::ComponentExportSection(section) if section.count() > 0);
        Ok(())
    })?;
    Ok(any)
}

/// The imports of the component itself, not those of what it is made of.
fn imports(component: &[u8]) -> Result<Vec<String>, DescribedError> {
    let mut imports = Vec::new();
    outermost(component, |payload| {
        if let Payload::ComponentImportSection(section) = payload {
            for import in section {
                imports.push(import?.name.name.to_owned());
            }
        }
        Ok(())
    })?;
    imports.sort();
    Ok(imports)
}

/// Goes through the sections of a component, without those of what it is made of.
fn outermost<'a>(
    component: &'a [u8],
    mut each: impl FnMut(Payload<'a>) -> Result<(), DescribedError>,
) -> Result<(), DescribedError> {
    let mut depth = 0_u32;
    for payload in Parser::new(0).parse_all(component) {
        match payload? {
            Payload::ModuleSection { .. } | Payload::ComponentSection { .. } => depth += 1,
            Payload::End(_) => depth = depth.saturating_sub(1),
            payload if depth == 0 => each(payload)?,
            _ => {}
        }
    }
    Ok(())
}
