//! The parameters as a tree, which is what a schema is.

use serde_json::{Map, Value};

use crate::line::{LineError, Param, Step, Type};

/// A value: the arguments as a whole, or one parameter.
#[derive(Debug, Default)]
pub(crate) struct Node {
    /// `None` until its own line or a member of it says so.
    kind: Option<Type>,
    /// What its own line says; `None` while only members of it were seen.
    line: Option<Line>,
    /// Members in order. The items of an array are its only member.
    members: Vec<(Step, Node)>,
}

/// What a line says about a parameter, beside its type.
#[derive(Debug)]
struct Line {
    required: bool,
    description: String,
}

impl Node {
    /// The arguments as a whole.
    pub(crate) fn root() -> Self {
        Self {
            kind: Some(Type::Object),
            ..Self::default()
        }
    }

    /// Puts a parameter where its name says.
    pub(crate) fn insert(&mut self, param: Param) -> Result<(), LineError> {
        let mut node = self;
        let mut name = String::new();
        for step in param.path {
            let needed = match step {
                Step::Field(_) => Type::Object,
                Step::Items => Type::Array,
            };
            let kind = *node.kind.get_or_insert(needed);
            if kind != needed {
                return Err(LineError::NoParts {
                    name,
                    kind,
                    needed,
                    step: step.to_string(),
                });
            }
            if matches!(step, Step::Field(_)) && !name.is_empty() {
                name.push('.');
            }
            name.push_str(&step.to_string());
            node = node.member(step);
        }

        if node.line.is_some() {
            return Err(LineError::Twice(name));
        }
        let kind = *node.kind.get_or_insert(param.kind);
        if kind != param.kind {
            return Err(LineError::HasParts { name, kind });
        }
        node.line = Some(Line {
            required: param.required,
            description: param.description,
        });
        Ok(())
    }

    /// The schema of this value. The keys are in the order in which people write them.
    pub(crate) fn into_schema(self) -> Value {
        // Every other value without a line of its own has a member, or it would not be there.
        let is_root = self.line.is_none();
        let mut schema = Map::new();
        if let Some(kind) = self.kind {
            schema.insert("type".to_owned(), kind.name().into());
        }
        if let Some(line) = self.line.filter(|line| !line.description.is_empty()) {
            schema.insert("description".to_owned(), line.description.into());
        }
        match self.kind {
            Some(Type::Array) => {
                // An array without `items` is refused by some providers; no constraint is a constraint too.
                let items = self.members.into_iter().next();
                let items =
                    items.map_or_else(|| Value::Object(Map::new()), |(_, node)| node.into_schema());
                schema.insert("items".to_owned(), items);
            }
            // An object whose members are not named may have any; the arguments themselves may not.
            Some(Type::Object) if is_root || !self.members.is_empty() => {
                insert_members(&mut schema, self.members)
            }
            _ => {}
        }
        Value::Object(schema)
    }

    /// A value is required if its line says so, or else if a part of it is.
    fn is_required(&self) -> bool {
        match &self.line {
            Some(line) => line.required,
            None => self
                .members
                .iter()
                .any(|(step, node)| matches!(step, Step::Field(_)) && node.is_required()),
        }
    }

    /// The member behind a step, made if need be.
    fn member(&mut self, step: Step) -> &mut Self {
        let known = self.members.iter().position(|(name, _)| *name == step);
        let index = known.unwrap_or_else(|| {
            self.members.push((step, Self::default()));
            self.members.len() - 1
        });
        &mut self.members[index].1
    }
}

fn insert_members(schema: &mut Map<String, Value>, members: Vec<(Step, Node)>) {
    let required = members
        .iter()
        .filter(|(_, node)| node.is_required())
        .map(|(step, _)| step.to_string());
    let required: Value = required.collect();
    let properties = members
        .into_iter()
        .map(|(step, node)| (step.to_string(), node.into_schema()))
        .collect();
    schema.insert("properties".to_owned(), Value::Object(properties));
    schema.insert("required".to_owned(), required);
    schema.insert("additionalProperties".to_owned(), false.into());
}
