//! The tools themselves: names, texts and hints, within a budget of tokens however many operations there are.
//!
//! A client pays for these words in every conversation, so they say only what it takes to begin: what the family is
//! for, which systems are there, and the call that tells the rest.

use serde_json::{Map, Value, json};

use super::systems::systems;
use super::{Mode, Surface};
use crate::catalog::{Catalog, class};
use crate::category::{Category, Permissions};
use crate::operation::{Operation, TOKEN};

/// One MCP tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What a model reads.
    pub description: String,
    /// As risky as the riskiest operation inside.
    pub permissions: Permissions,
    /// Whether an operation inside may have to be confirmed.
    pub takes_token: bool,
}

/// How many characters of names a family's text may hold, and the text of the single tool.
const FAMILY_NAMES: usize = 80;
const SINGLE_NAMES: usize = 110;

/// The call that finds operations. Both queries answer with everything that the next call needs.
const FIND: &str = "Search: {operation:\"introspect\",params:{query:\"signatures\",search:\"words\"}}";
const FIND_TABLES: &str = "; tables: {query:\"schema\"}";

/// What a batch is: nothing is undone if an operation fails, and a parameter can be taken from an earlier answer.
const BATCH: &str = "not atomic; {\"$from\":\"0.data.id\"}";

impl Tool {
    /// What the tool accepts. One schema for single requests, batches and top-level parameters, with nothing
    /// required, so that strict clients let all three pass (R-END-5). The token is at the top level, where it is read for
    /// single requests and batches.
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
        // `introspect` is a READ: told in the tool that takes it, pointed to in the others.
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
            takes_token: members.iter().any(|operation| operation.takes_token),
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
            takes_token: operations().any(|operation| operation.takes_token),
        }
    }
}

/// What a family is for, from the categories it holds.
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

/// Where tables are found, if there are any.
fn find_tables(catalog: &Catalog) -> &'static str {
    if catalog.has_tables() { FIND_TABLES } else { "" }
}

/// All names if there is room for them, otherwise the systems behind them.
fn names<'a>(operations: impl Iterator<Item = &'a Operation> + Clone, budget: usize) -> String {
    // `introspect` is told by every text anyway.
    let own = operations.filter(|operation| !operation.class().describes_catalog());
    let length: usize = own.clone().map(|operation| operation.name.len() + 2).sum();
    if length > budget {
        return systems(own, budget);
    }
    let names: Vec<&str> = own.map(|operation| &*operation.name).collect();
    if names.is_empty() { class::NAME.to_owned() } else { names.join(", ") }
}

fn riskiest<'a>(operations: impl Iterator<Item = &'a Operation>) -> Permissions {
    operations.map(|op| op.category.permissions()).fold(
        Permissions { read_only: true, destructive: false },
        |all, one| Permissions {
            read_only: all.read_only && one.read_only,
            destructive: all.destructive || one.destructive,
        },
    )
}
