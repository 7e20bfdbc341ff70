//! Which nodes of a tree declare something, and what they call it.

use tree_sitter::Node;

/// How deep a name may be hidden in declarators: `int (*(*name)(int))[3]`.
const MAX_DECLARATORS: usize = 12;

/// Bytes of the longest name.
const MAX_NAME_BYTES: usize = 160;

/// What a node declares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Declares {
    /// A function, a method, a macro with a body.
    Function,
    /// A type, a namespace: something that holds others.
    Type,
}

/// What a kind of node declares. The kinds of all grammars are told apart by their names alone.
pub(crate) fn declares(node: Node<'_>) -> Option<Declares> {
    use Declares::{Function, Type};
    Some(match node.kind() {
        "function_item"
        | "macro_definition"
        | "function_definition"
        | "function_declaration"
        | "generator_function_declaration"
        | "method_declaration"
        | "method_definition"
        | "constructor_declaration"
        | "compact_constructor_declaration"
        | "preproc_function_def" => Function,
        "variable_declarator" => {
            let value = node.child_by_field_name("value")?;
            let is_function = matches!(
                value.kind(),
                "arrow_function" | "function_expression" | "generator_function" | "class"
            );
            return is_function.then_some(Function);
        }
        // `module.exports.name = function () {…}`, `Type.prototype.name = …`
        "assignment_expression" => {
            let value = node.child_by_field_name("right")?;
            let is_function = matches!(value.kind(), "arrow_function" | "function_expression");
            return is_function.then_some(Function);
        }
        // Without a body they name a type that is declared elsewhere.
        "struct_specifier" | "union_specifier" | "enum_specifier" | "class_specifier" => {
            node.child_by_field_name("body")?;
            Type
        }
        "struct_item"
        | "enum_item"
        | "union_item"
        | "trait_item"
        | "impl_item"
        | "mod_item"
        | "type_item"
        | "class_definition"
        | "class_declaration"
        | "abstract_class_declaration"
        | "interface_declaration"
        | "enum_declaration"
        | "record_declaration"
        | "annotation_type_declaration"
        | "type_alias_declaration"
        | "internal_module"
        | "namespace_definition"
        | "type_spec"
        | "type_definition" => Type,
        _ => return None,
    })
}

/// What a declaration calls what it declares.
pub(crate) fn name(node: Node<'_>, text: &[u8]) -> Option<String> {
    if node.kind() == "impl_item" {
        let of = plain(node.child_by_field_name("type")?, text)?;
        let name = match node.child_by_field_name("trait") {
            Some(of_trait) => format!("{} for {of}", plain(of_trait, text)?),
            None => of,
        };
        return Some(format!("impl {name}"));
    }
    let named = node
        .child_by_field_name("name")
        .or_else(|| node.child_by_field_name("left"));
    if let Some(named) = named {
        return plain(named, text);
    }
    // C hides the name in declarators.
    let mut inner = node.child_by_field_name("declarator")?;
    for _ in 0..MAX_DECLARATORS {
        match inner.child_by_field_name("declarator") {
            Some(next) => inner = next,
            None => match inner.kind() {
                "parenthesized_declarator" | "reference_declarator" | "attributed_declarator" => {
                    inner = inner.named_child(0)?;
                }
                _ => break,
            },
        }
    }
    plain(inner, text)
}

/// The text of a node on one line.
fn plain(node: Node<'_>, text: &[u8]) -> Option<String> {
    let bytes = text.get(node.byte_range())?;
    let name = String::from_utf8_lossy(bytes);
    let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
    (!name.is_empty() && name.len() <= MAX_NAME_BYTES).then_some(name)
}
