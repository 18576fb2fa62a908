//! The tools themselves: names, texts and hints, within a budget of tokens however many operations there are.
//!
//! A client pays for these words in every conversation, so they say only what it takes to begin: what the family is
//! for, a few operations by name, and the call that tells the rest.

use serde_json::{Map, Value, json};

use super::{Mode, Surface};
use crate::catalog::Catalog;
use crate::category::{Category, Permissions};
use crate::introspect;
use crate::operation::Operation;

/// One MCP tool.
#[derive(Debug, Clone)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// What a model reads.
    pub description: String,
    /// As risky as the riskiest operation inside.
    pub permissions: Permissions,
}

/// How many characters of operation names a family's text may hold, and the text of the single tool.
const FAMILY_NAMES: usize = 110;
const SINGLE_NAMES: usize = 120;

impl Tool {
    /// What every tool accepts. One schema for single requests, batches and top-level parameters, with nothing
    /// required, so that strict clients let all three pass (R-END-5).
    pub fn input_schema() -> Map<String, Value> {
        let schema = json!({
            "type": "object",
            "properties": {
                "operation": { "type": "string" },
                "params": { "type": "object" },
                "operations": { "type": "array", "items": { "type": "object" } }
            }
        });
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
        let introspect_tool = catalog.operation(introspect::NAME).map(|op| self.tool_of(op)).unwrap_or_default();
        let name = self.family_tool(family);
        let names = names(members.iter().copied(), FAMILY_NAMES);
        // `introspect` is a READ: told in the tool that takes it, pointed to in the others.
        let discover = if name == introspect_tool {
            "Find operations: {operation:\"introspect\",params:{query:\"operations\",search:\"words\"}}; parameters: \
             {query:\"operations\",name:\"x\"}"
                .to_owned()
        } else {
            format!(
                "Parameters: {introspect_tool} {{operation:\"introspect\",params:{{query:\"operations\",name:\"x\"}}}}"
            )
        };
        let text = format!("{} {names}. {discover}", purpose(members));
        Tool { name, description: text, permissions: riskiest(members.iter().copied()) }
    }

    fn single(&self, catalog: &Catalog) -> Tool {
        let operations = || catalog.operations().iter().map(|op| &**op);
        let text = format!(
            "MCP-AQL: {}. Call {{operation,params}} or batch {{operations:[…]}}. Find operations: \
             {{operation:\"introspect\",params:{{query:\"operations\",search:\"words\"}}}}; their parameters: \
             params {{query:\"operations\",name:\"x\"}}",
            names(operations(), SINGLE_NAMES)
        );
        Tool { name: self.unified_tool(), description: text, permissions: riskiest(operations()) }
    }
}

/// What a family is for, from the categories it holds.
fn purpose(members: &[&Operation]) -> &'static str {
    let holds = |category| members.iter().any(|op| op.category == category);
    let held: Vec<Category> = Category::ALL.into_iter().filter(|category| holds(*category)).collect();
    match held.as_slice() {
        [Category::Create] => "Add new things:",
        [Category::Read] => "Read, change nothing:",
        [Category::Update] => "Change what exists:",
        [Category::Delete] => "Remove what exists:",
        [Category::Execute] => "Run, stop and control:",
        _ => "Add, change and remove:",
    }
}

/// As many names as the budget holds, and how many more there are.
fn names<'a>(operations: impl Iterator<Item = &'a Operation>, budget: usize) -> String {
    let mut text = String::new();
    let mut left_out = 0_usize;
    for operation in operations {
        // Told by every text anyway.
        if operation.class().describes_catalog() {
            continue;
        }
        if left_out > 0 || text.len() + operation.name.len() + 2 > budget {
            left_out += 1;
            continue;
        }
        if !text.is_empty() {
            text.push_str(", ");
        }
        text.push_str(&operation.name);
    }
    match (text.is_empty(), left_out) {
        (true, 0) => introspect::NAME.to_owned(),
        (_, 0) => text,
        (_, more) => format!("{text} and {more} more"),
    }
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
