//! The MCP tools: names, descriptions and annotations, within a token budget however many operations there are.
//!
//! A client pays for these texts in every conversation, so they contain only what a model needs to begin: the purpose
//! of the family, the sources, and the call that returns the rest.

use serde_json::{Map, Value, json};

use super::systems::systems;
use super::{Mode, Surface};
use crate::catalog::{Catalog, class};
use crate::category::{Category, Permissions};
use crate::danger::Danger;
use crate::operation::{Operation, TOKEN};

/// One MCP tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The description for the model.
    pub description: String,
    /// The permissions of its riskiest operation.
    pub permissions: Permissions,
    /// Whether any of its operations may need confirmation.
    pub takes_token: bool,
}

/// Maximum number of characters of names in the description of a family's tool.
const FAMILY_NAMES: usize = 80;

/// Maximum number of characters of names in the description of the single tool.
const SINGLE_NAMES: usize = 110;

/// The call that finds operations. Both queries return everything that the next call needs.
const FIND: &str = "Search: {operation:\"introspect\",params:{query:\"signatures\",search:\"words\"}}";
const FIND_TABLES: &str = "; tables: {query:\"schema\"}";

/// Describes batches: nothing is undone if an operation fails, and a parameter can be taken from an earlier answer.
const BATCH: &str = "not atomic; {$from:\"0.data.id\"}";

impl Tool {
    /// The schema of the arguments. It covers single requests, batches and top-level parameters and requires nothing,
    /// so that strict clients accept all three (R-END-5). The token is at the top level, where single requests and
    /// batches both accept it.
    pub fn input_schema(&self) -> Map<String, Value> {
        let mut schema = json!({
            "type": "object",
            "properties": {
                "operation": { "type": "string" },
                "params": { "type": "object" },
                "operations": {
                    "type": "array",
                    "description": BATCH,
                    "items": {
                        "type": "object",
                        "properties": { "operation": { "type": "string" }, "params": { "type": "object" } }
                    }
                }
            }
        });
        if self.takes_token
            && let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut)
        {
            properties.insert(TOKEN.to_owned(), json!({ "type": "string" }));
        }
        match schema {
            Value::Object(object) => object,
            _ => Map::new(),
        }
    }
}

impl Surface {
    /// The tools for a catalog. A family without operations has none.
    pub fn tools(&self, catalog: &Catalog) -> Vec<Tool> {
        let mut tools = Vec::new();
        if matches!(self.mode, Mode::Semantic | Mode::All) {
            for family in self.profile.families() {
                let members: Vec<&Operation> =
                    catalog.operations().iter().map(|op| &**op).filter(|op| self.family_of(op) == &**family).collect();
                if !members.is_empty() {
                    tools.push(self.family(family, &members, catalog));
                }
            }
        }
        if matches!(self.mode, Mode::Single | Mode::All) {
            tools.push(self.single(catalog));
        }
        tools
    }

    fn family(&self, family: &str, members: &[&Operation], catalog: &Catalog) -> Tool {
        let introspect_tool = catalog.operation(class::NAME).map(|op| self.tool_of(op)).unwrap_or_default();
        let name = self.family_tool(family);
        let names = names(members.iter().copied(), FAMILY_NAMES);
        // `introspect` is a READ operation: the tool that offers it describes it, and the others refer to that tool.
        let discover = if name == introspect_tool {
            format!("{FIND}{}", find_tables(catalog))
        } else {
            format!("Parameters: introspect in {introspect_tool}")
        };
        let text = format!("{} {names}. {discover}", purpose(members));
        Tool {
            name,
            description: text,
            permissions: riskiest(members.iter().copied()),
            takes_token: members.iter().any(|operation| operation.safety.takes_token),
        }
    }

    fn single(&self, catalog: &Catalog) -> Tool {
        let operations = || catalog.operations().iter().map(|op| &**op);
        let text = format!(
            "MCP-AQL: {}. Call {{operation,params}} or {{operations:[…]}}. {FIND}{}",
            names(operations(), SINGLE_NAMES),
            find_tables(catalog)
        );
        Tool {
            name: self.unified_tool(),
            description: text,
            permissions: riskiest(operations()),
            takes_token: operations().any(|operation| operation.safety.takes_token),
        }
    }
}

/// The purpose of a family, derived from the categories of its operations.
fn purpose(members: &[&Operation]) -> &'static str {
    let holds = |category| members.iter().any(|op| op.category == category);
    let held: Vec<Category> = Category::ALL.into_iter().filter(|category| holds(*category)).collect();
    match held.as_slice() {
        [Category::Create] => "Add:",
        [Category::Read] => "Read:",
        [Category::Update] => "Change:",
        [Category::Delete] => "Remove:",
        [Category::Execute] => "Run:",
        _ => "Add, change, remove:",
    }
}

/// How to find tables, if there are any.
fn find_tables(catalog: &Catalog) -> &'static str {
    if catalog.has_tables() { FIND_TABLES } else { "" }
}

/// All names if they fit, otherwise a summary of the sources.
fn names<'a>(operations: impl Iterator<Item = &'a Operation> + Clone, budget: usize) -> String {
    // Every description mentions `introspect` anyway.
    let own = operations.filter(|operation| !operation.class().describes_catalog());
    let length: usize = own.clone().map(|operation| operation.name.len() + 2).sum();
    if length > budget {
        return systems(own, budget);
    }
    let names: Vec<&str> = own.map(|operation| &*operation.name).collect();
    if names.is_empty() { class::NAME.to_owned() } else { names.join(", ") }
}

/// The permissions of an operation, or those of its danger if that is greater: an operator may consider a READ
/// destructive.
fn permissions(operation: &Operation) -> Permissions {
    match operation.safety.danger {
        Danger::Safe | Danger::Reversible => operation.category.permissions(),
        Danger::Destructive | Danger::Dangerous | Danger::Forbidden => {
            Permissions { read_only: false, destructive: true }
        }
    }
}

fn riskiest<'a>(operations: impl Iterator<Item = &'a Operation>) -> Permissions {
    operations.map(permissions).fold(Permissions { read_only: true, destructive: false }, |all, one| Permissions {
        read_only: all.read_only && one.read_only,
        destructive: all.destructive || one.destructive,
    })
}
