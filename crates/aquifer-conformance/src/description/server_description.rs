//! The description of a server, kept unchanged and parsed leniently, because checks report the mistakes in it.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::{Binding, Parameter, ValueKind};
use crate::mcp::Reply;

/// Everything that introspection returned.
#[derive(Clone, Default)]
pub(crate) struct ServerDescription {
    /// The tool that answers `introspect`.
    pub(crate) tool: String,
    /// The first page of the operations list, and of the types list.
    pub(crate) operations_reply: Option<Reply>,
    pub(crate) types_reply: Option<Reply>,
    /// The items of all pages of the lists.
    pub(crate) operations_list: Vec<Value>,
    pub(crate) types_list: Vec<Value>,
    /// The answer for each requested operation and type, by name.
    pub(crate) operation_replies: Vec<(String, Reply)>,
    pub(crate) type_replies: Vec<(String, Reply)>,
    /// The operations whose details could be parsed.
    pub(crate) operations: Vec<Operation>,
    /// Operations whose tool does not exist and which therefore cannot be called.
    pub(crate) without_tool: Vec<Operation>,
    /// The types whose details could be parsed.
    pub(crate) types: BTreeMap<String, Type>,
    /// The number of operations that were omitted because of the limit.
    pub(crate) left_out: usize,
}

/// An operation, from its details.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) name: String,
    pub(crate) category: String,
    pub(crate) tool: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) raw: Value,
    /// Set if the operation serves several kinds of resources and was narrowed to one.
    pub(crate) binding: Option<Arc<Binding>>,
}

/// A type, from its details.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    pub(crate) kind: String,
    pub(crate) fields: Vec<Parameter>,
    pub(crate) values: Vec<Value>,
    pub(crate) members: Vec<String>,
}

impl ServerDescription {
    pub(crate) fn protocol(&self) -> &Value {
        self.operations_reply.as_ref().and_then(|reply| reply.data().get("_protocol")).unwrap_or(&Value::Null)
    }

    pub(crate) fn operation(&self, name: &str) -> Option<&Operation> {
        self.operations.iter().find(|operation| operation.name == name)
    }

    /// The READ operations, without `introspect` itself.
    pub(crate) fn read_operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| operation.is_read() && operation.name != "introspect")
    }

    pub(crate) fn write_operations(&self) -> impl Iterator<Item = &Operation> {
        self.operations.iter().filter(|operation| !operation.is_read())
    }

    /// Adds to each parameter the descriptions of the types it names, and the alternatives of unions.
    pub(crate) fn expand_named_types(&mut self) {
        let listed = self.types_list.iter().filter_map(|listed| {
            Some((listed.get("name")?.as_str()?.to_owned(), listed.get("description")?.as_str()?.to_owned()))
        });
        let descriptions: BTreeMap<String, String> = listed.collect();
        for parameter in self.operations.iter_mut().flat_map(|operation| &mut operation.parameters) {
            let named: Vec<String> = parameter.named_types().into_iter().map(str::to_owned).collect();
            for name in named {
                parameter.type_descriptions.extend(descriptions.get(&name).cloned());
                let members = self.types.get(&name).map(|known| known.members.as_slice()).unwrap_or_default();
                // The elements of a list are not alternatives of the list.
                let is_alternative = parameter.accepts(&ValueKind::Named(name));
                parameter
                    .kinds
                    .extend(members.iter().filter(|_| is_alternative).map(|member| ValueKind::parse(member)));
            }
        }
    }

    /// The tools of the operations, without duplicates.
    pub(crate) fn tools(&self) -> Vec<&str> {
        let mut tools: Vec<&str> = self.operations.iter().map(|operation| operation.tool.as_str()).collect();
        tools.sort_unstable();
        tools.dedup();
        tools
    }
}

impl Operation {
    pub(crate) fn parse(raw: &Value) -> Option<Self> {
        let word = |key: &str| raw.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
        let parameters = raw.get("parameters").and_then(Value::as_array);
        Some(Self {
            name: raw.get("name")?.as_str()?.to_owned(),
            category: word("semantic_category"),
            tool: word("mcpTool"),
            parameters: parameters.into_iter().flatten().filter_map(Parameter::parse).collect(),
            raw: raw.clone(),
            binding: None,
        })
    }

    /// The arguments of a call with these parameters.
    pub(crate) fn request(&self, params: Map<String, Value>) -> Value {
        json!({"operation": self.name, "params": self.wrap(params)})
    }

    /// Converts plain fields to the parameters that are sent.
    pub(crate) fn wrap(&self, params: Map<String, Value>) -> Map<String, Value> {
        self.binding.as_ref().map_or_else(|| params.clone(), |binding| binding.wrap(&params))
    }

    /// Reverses [`Operation::wrap`]; `None` if the parameters are for another kind.
    pub(crate) fn unwrap_params(&self, params: &Map<String, Value>) -> Option<Map<String, Value>> {
        self.binding.as_ref().map_or_else(|| Some(params.clone()), |binding| binding.unwrap(params))
    }

    /// Whether this is the same operation for the same kind of resource.
    pub(crate) fn is_same_as(&self, other: &Self) -> bool {
        let fixed = |operation: &Self| operation.binding.as_ref().map(|binding| binding.fixed.clone());
        self.name == other.name && fixed(self) == fixed(other)
    }

    pub(crate) fn is_read(&self) -> bool {
        self.category == "READ"
    }

    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    pub(crate) fn has_parameter(&self, name: &str) -> bool {
        self.parameter(name).is_some()
    }

    pub(crate) fn required_parameters(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|parameter| parameter.required)
    }

    pub(crate) fn examples(&self) -> &[Value] {
        self.raw.get("examples").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Type {
    pub(crate) fn parse(raw: &Value) -> Self {
        let list = |key: &str| raw.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        Self {
            kind: raw.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned(),
            fields: list("fields").iter().filter_map(Parameter::parse).collect(),
            values: list("values"),
            members: list("members").iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        }
    }
}
