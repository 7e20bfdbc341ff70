//! Plugins: from bytes to something that can be called, and to a list of tools.
//!
//! A plugin passes three gates, each once for each version of its component. *Loading* compiles it (or
//! finds it compiled) and checks its imports and its contract. *Describing* runs its `describe` and
//! checks every word of the answer against a limit: the answer goes to the model with each request.
//! *Checking arguments* happens at each call, against the schema it gave.

mod error;
mod load;
mod mistakes;
mod tool;

use std::borrow::Cow;

pub use self::error::LoadError;
pub(crate) use self::load::{Described, Loaded, Registered};
pub use self::tool::{Annotations, ArgumentsError, Schema, SchemaError, Tool};
pub(crate) use self::tool::{DescribedTool, misfit};
use crate::code::{Code, CodeError};

/// A plugin's component and where it comes from.
#[derive(Debug, Clone)]
pub struct Plugin {
    /// Its name: letters, digits, `_` and `-`.
    pub name: String,
    /// Where it comes from, if it was installed: the same name from elsewhere is another plugin, with other permissions and
    /// a store of its own.
    pub origin: Option<String>,
    /// The component.
    pub bytes: Code,
    /// SHA-256 of the bytes, lower-case hexadecimal.
    pub digest: String,
    /// Whether it came with Dunlin: then grants follow it when it changes.
    pub built_in: bool,
    /// What it says of itself, if that was found out when it was built: then it is loaded at its first call only.
    ///
    /// Believed as its `describe` would be, so it has to come from whoever vouches for the component.
    pub description: Option<Description>,
    /// The [`tools_digest`] of the tools that somebody agreed to when it was installed: it has to describe the same ones.
    pub tools_digest: Option<String>,
}

/// SHA-256 of all that a plugin says of its tools, lower-case hexadecimal.
pub fn tools_digest(tools: &[Tool]) -> String {
    // Strings and JSON values always serialise.
    crate::sha256_hex(&serde_json::to_vec(tools).unwrap_or_default())
}

/// What a plugin says of itself.
#[derive(Debug, Clone)]
pub struct Description {
    /// The version of the contract it was built for.
    pub contract: String,
    /// What the component imports, as it names it: `dunlin:tool/files@0.1.0`.
    pub imports: Vec<String>,
    /// Its tools.
    pub tools: Vec<ToolTexts>,
}

/// The texts of one tool.
#[derive(Debug, Clone)]
pub struct ToolTexts {
    /// What the model calls it.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON Schema of an object.
    pub parameters: String,
    /// What else it says of itself.
    pub annotations: Annotations,
}

impl Plugin {
    /// The component.
    pub(crate) fn code(&self) -> Result<Cow<'_, [u8]>, CodeError> {
        match &self.bytes {
            Code::Bytes(bytes) => Ok(Cow::Borrowed(bytes)),
            Code::File(path) => {
                let bytes = std::fs::read(path).map_err(|source| CodeError::Read {
                    path: path.clone(),
                    source,
                })?;
                if crate::sha256_hex(&bytes) != self.digest {
                    return Err(CodeError::Other { path: path.clone() });
                }
                Ok(Cow::Owned(bytes))
            }
        }
    }
}
