//! The restated shapes against the schemas that the specification publishes. The checkout is named by MCPAQL_SPEC_DIR.

use std::path::PathBuf;
use std::sync::Arc;

use aquifer_conformance::options::Options;
use aquifer_conformance::published::{SpecSchemas, compare, introspection_problems};
use aquifer_conformance::report::Verdict;
use aquifer_conformance::run::run;
use serde_json::{Value, json};

use crate::adapter::{Flaw, Library};
use crate::mutations::{Random, answers};
use crate::{describe_problems, ids_with};

fn schemas() -> SpecSchemas {
    let checkout = PathBuf::from(std::env::var_os("MCPAQL_SPEC_DIR").expect("MCPAQL_SPEC_DIR names a checkout"));
    SpecSchemas::read(&checkout).unwrap()
}

#[test]
fn r_int_1a_restated_shapes_agree_with_the_published_schemas() {
    assert_eq!(compare(&schemas()), Vec::<String>::new());
}

#[tokio::test]
async fn r_con_1_a_good_server_passes_with_the_published_schemas() {
    let options = Options { allow_writes: true, spec: Some(Arc::new(schemas())), ..Options::default() };
    let report = run(&Library::default(), &options, |_| {}).await.unwrap().report;
    assert_eq!(report.conformance_level, 2, "{}", describe_problems(&report));
    let flawed = Library { flaw: Some(Flaw::FunctionInvented), ..Library::default() };
    let report = run(&flawed, &options, |_| {}).await.unwrap().report;
    assert!(ids_with(&report, Verdict::Fail).contains(&"introspection.published".to_owned()));
}

/// Changes one value anywhere: removes it, replaces it, or adds a member.
fn disturb(value: &mut Value, random: &mut Random) {
    let mut places = Vec::new();
    collect(value, "", &mut places);
    let path = places[random.below(places.len())].clone();
    let (parent, name) = path.rsplit_once('/').unwrap_or(("", ""));
    match (random.below(4), value.pointer_mut(parent)) {
        (0, Some(Value::Object(members))) => drop(members.remove(name)),
        (1, Some(Value::Object(members))) => drop(members.insert("surprise".to_owned(), json!(1))),
        _ => {
            let others = [
                json!(null),
                json!(7),
                json!(-1),
                json!(1.5),
                json!("word"),
                json!(""),
                json!([]),
                json!({}),
                json!(true),
            ];
            if let Some(place) = value.pointer_mut(&path) {
                *place = others[random.below(others.len())].clone();
            }
        }
    }
}

fn collect(value: &Value, path: &str, places: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            for (name, member) in members {
                places.push(format!("{path}/{name}"));
                collect(member, &format!("{path}/{name}"), places);
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                places.push(format!("{path}/{index}"));
                collect(item, &format!("{path}/{index}"), places);
            }
        }
        _ => {}
    }
}

#[tokio::test]
async fn r_int_1a_whatever_the_published_schemas_refuse_the_restated_shapes_refuse() {
    let (schemas, answers) = (schemas(), answers().await);
    let mut random = Random::new(11);
    let mut refused = 0;
    for _ in 0..6_000 {
        let mut answer = answers[random.below(answers.len())].clone();
        disturb(&mut answer, &mut random);
        if !schemas.introspection_problems(&answer).is_empty() {
            refused += 1;
            assert!(!introspection_problems(&answer).is_empty(), "{answer}");
        }
    }
    assert!(refused > 2_000, "{refused} of the changes were invalid");
}
