//! What a model pays at connect, counted with a real tokenizer.

use std::fmt::Write as _;

use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Parameter, Schema, Shape, Types};
use aquifer_protocol::surface::{Mode, Profile, Surface, Tool};
use serde_json::{Value, json};

use crate::support::Piped;

/// Operations as they are in the wild: long names, all categories.
fn operations(count: usize) -> Vec<Operation> {
    let nouns =
        ["merge_request_discussion", "repository_branch", "pipeline_schedule", "issue_label", "deployment_environment"];
    let verbs = [
        ("create", Category::Create),
        ("get", Category::Read),
        ("list", Category::Read),
        ("update", Category::Update),
        ("delete", Category::Delete),
        ("execute", Category::Execute),
    ];
    (0..count)
        .map(|index| {
            let (verb, category) = verbs[index % verbs.len()];
            let mut name = String::new();
            let _ = write!(name, "{verb}_{}_{index}", nouns[index % nouns.len()]);
            let mut operation = Operation::new(&name, category, "Do something useful with it.");
            if category == Category::Update {
                operation.parameters = vec![Parameter::required("input", Schema::of(Kind::Object(Shape::default())))];
            }
            operation
        })
        .collect()
}

/// The tools as `tools/list` shows them, in tokens of both encodings; the larger counts.
fn tokens(tools: &[Tool]) -> usize {
    let shown: Vec<Value> = tools
        .iter()
        .map(|tool| {
            json!({
                "name": tool.name,
                "description": tool.description,
                "inputSchema": Tool::input_schema(),
                "annotations": { "readOnlyHint": tool.permissions.read_only, "destructiveHint": tool.permissions.destructive },
            })
        })
        .collect();
    count(&Value::from(shown).to_string())
}

fn count(text: &str) -> usize {
    ["o200k_base", "cl100k_base"]
        .map(|name| tiktoken::get_encoding(name).unwrap().count(text))
        .into_iter()
        .max()
        .unwrap()
}

#[test]
fn r_end_5_the_surface_stays_within_its_budget_however_many_operations_there_are() {
    for operations_count in [10, 100, 1_000] {
        for (mode, budget) in [(Mode::Single, 170), (Mode::Semantic, 700)] {
            let surface = Surface::new(mode, Profile::known("crude").unwrap(), "").unwrap();
            let catalog = Catalog::build(operations(operations_count), Types::new(), &surface).unwrap();
            let tokens = tokens(&surface.tools(&catalog));
            assert!(
                tokens <= budget,
                "{mode:?} with {operations_count} operations costs {tokens} tokens, {budget} are allowed"
            );
        }
    }
}

#[test]
fn r_end_5_the_demo_pays_what_it_shows() {
    for (mode, budget) in [("single", 170), ("semantic", 700)] {
        let mut piped = Piped::initialized(&["demo", "--stdio", "--mode", mode], "2025-06-18");
        let tools = piped.request("tools/list", json!({}))["result"]["tools"].to_string();
        let tokens = count(&tools);
        assert!(tokens <= budget, "{mode}: {tokens} tokens\n{tools}");
    }
}
