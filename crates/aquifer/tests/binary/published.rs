//! Introspection in both directions: answers have exactly the published members and values, and what is documented is
//! accepted. The tables restate the published introspection schema.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::sqlite::LIBRARY;
use crate::support::{Folder, StdioServer, forgetful, server, tools, unguarded, until};

/// What a value has to be.
#[derive(Clone, Copy)]
enum Is {
    Anything,
    Text,
    Flag,
    Number,
    /// A whole number from this one on.
    Count(u64),
    Object,
    OneOf(&'static [&'static str]),
    List(&'static Is),
    Of(&'static [Member]),
}

/// A member of an object: its name, whether it is required, and what it has to be.
type Member = (&'static str, bool, Is);

const CATEGORY: Is = Is::OneOf(&["CREATE", "READ", "UPDATE", "DELETE", "EXECUTE"]);
const KIND: Is = Is::OneOf(&["enum", "object", "scalar", "union"]);
const WORDS: Is = Is::List(&Is::Text);

const PARAMETER: &[Member] = &[
    ("name", true, Is::Text),
    ("type", true, Is::Text),
    ("required", true, Is::Flag),
    ("description", false, Is::Text),
    ("default", false, Is::Anything),
    ("enum", false, Is::List(&Is::Anything)),
    ("minimum", false, Is::Number),
    ("maximum", false, Is::Number),
    ("minLength", false, Is::Count(0)),
    ("maxLength", false, Is::Count(0)),
    ("pattern", false, Is::Text),
    ("format", false, Is::Text),
    ("items", false, Is::Object),
    ("sensitive", false, Is::Flag),
];

const LISTED: &[Member] = &[
    ("name", true, Is::Text),
    ("semantic_category", true, CATEGORY),
    ("endpoint", true, Is::Text),
    ("description", true, Is::Text),
];

const LISTED_TYPE: &[Member] = &[("name", true, Is::Text), ("kind", true, KIND), ("description", false, Is::Text)];

const OPERATION: &[Member] = &[
    ("name", true, Is::Text),
    ("semantic_category", true, CATEGORY),
    ("endpoint", true, Is::Text),
    ("mcpTool", true, Is::Text),
    ("description", true, Is::Text),
    ("permissions", true, Is::Of(&[("readOnly", true, Is::Flag), ("destructive", true, Is::Flag)])),
    ("parameters", true, Is::List(&Is::Of(PARAMETER))),
    ("returns", true, Is::Of(LISTED_TYPE)),
    ("examples", false, Is::List(&Is::Of(&[("description", false, Is::Text), ("request", true, Is::Object)]))),
    (
        "computed_fields",
        false,
        Is::List(&Is::Of(&[
            ("name", true, Is::Text),
            ("type", true, Is::Text),
            ("description", false, Is::Text),
            ("filterable", false, Is::Flag),
            ("sortable", false, Is::Flag),
        ])),
    ),
    (
        "aggregation_support",
        false,
        Is::Of(&[
            ("supported", true, Is::Flag),
            ("default_mode", false, Is::OneOf(&["summary_only", "include_items"])),
            ("functions", false, Is::List(&Is::OneOf(&["count", "group_by", "sum", "avg", "min", "max"]))),
            ("groupable_fields", false, WORDS),
            ("numeric_fields", false, WORDS),
        ]),
    ),
    (
        "relationship_capabilities",
        false,
        Is::Of(&[
            ("supported", true, Is::Flag),
            ("directions", false, Is::List(&Is::OneOf(&["incoming", "outgoing", "both"]))),
            ("relationship_types", false, WORDS),
            ("max_depth", false, Is::Count(1)),
        ]),
    ),
    (
        "lifecycle",
        false,
        Is::Of(&[
            ("states", true, WORDS),
            ("supports_cancel", false, Is::Flag),
            ("supports_retry", false, Is::Flag),
            ("progress_reporting", false, Is::Flag),
        ]),
    ),
];

/// The members of a type by its kind, beside those of the list.
fn type_members(kind: &str) -> Vec<Member> {
    let own: &[Member] = match kind {
        "enum" => &[("values", true, WORDS)],
        "object" => &[("fields", true, Is::List(&Is::Of(PARAMETER)))],
        "union" => &[("members", true, WORDS)],
        _ => &[],
    };
    [LISTED_TYPE, own].concat()
}

const CAPABILITIES: &[Member] = &[
    ("batch", false, Is::Flag),
    ("field_selection", false, Is::Flag),
    ("aggregations", false, Is::Flag),
    ("computed_fields", false, Is::Flag),
    ("pagination", false, Is::Flag),
    ("relationship_queries", false, Is::Flag),
    ("warnings", false, Is::Flag),
    ("confirmation", false, Is::Flag),
    ("dangerous_operations", false, Is::Flag),
];

fn check(place: &str, is: Is, value: &Value) {
    let fits = match is {
        Is::Anything => true,
        Is::Text => value.is_string(),
        Is::Flag => value.is_boolean(),
        Is::Number => value.is_number(),
        Is::Count(least) => value.as_u64().is_some_and(|number| number >= least),
        Is::Object => value.is_object(),
        Is::OneOf(words) => value.as_str().is_some_and(|word| words.contains(&word)),
        Is::List(inner) => {
            let elements = value.as_array().unwrap_or_else(|| panic!("{place} is not a list: {value}"));
            elements
                .iter()
                .enumerate()
                .for_each(|(index, element)| check(&format!("{place}[{index}]"), *inner, element));
            true
        }
        Is::Of(members) => {
            check_members(place, members, value);
            true
        }
    };
    assert!(fits, "{place} is not as published: {value}");
}

fn check_members(place: &str, members: &[Member], value: &Value) {
    let object = value.as_object().unwrap_or_else(|| panic!("{place} is not an object: {value}"));
    for (name, value) in object {
        let known = members.iter().find(|member| member.0 == name);
        let (_, _, is) = known.unwrap_or_else(|| panic!("{place} has '{name}', which is not published"));
        check(&format!("{place}.{name}"), *is, value);
    }
    for (name, _, _) in members.iter().filter(|member| member.1) {
        assert!(object.contains_key(*name), "{place} lacks '{name}': {value}");
    }
}

/// A running server, in a mode in which one tool answers everything.
struct Introspected {
    server: StdioServer,
    name: &'static str,
}

impl Introspected {
    fn all(folder: &Folder) -> [Self; 3] {
        let config = unguarded(folder);
        let library = format!("sqlite:{}", folder.database("library.db", LIBRARY));
        let offered = folder.tools("tools.json", &tools());
        let [python, program, offered] = server(&offered);
        let serve = |name, target: &[&str]| {
            let mut command = forgetful(folder);
            command.args(["serve", "--config", &config, "--mode", "single"]).args(target);
            let mut server = StdioServer::spawn(&mut command);
            server.initialize("2025-06-18");
            let mut source = Self { server, name };
            // The tools of a server arrive after its start.
            until("operations", || (source.names("operations").len() > 4).then_some(()));
            source
        };
        [
            serve("demo", &["demo:"]),
            serve("library", &[&library]),
            serve("server", &["--", &python, &program, &offered, "echo"]),
        ]
    }

    fn call(&mut self, operation: &str, params: Value) -> Value {
        self.server.call("mcp_aql", json!({ "operation": operation, "params": params }))
    }

    fn introspect(&mut self, params: Value) -> Value {
        let answer = self.call("introspect", params.clone());
        let members: BTreeSet<&str> = answer.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(members, BTreeSet::from(["success", "data"]), "{} {params}: {answer}", self.name);
        answer["data"].clone()
    }

    fn names(&mut self, query: &str) -> Vec<String> {
        let data = self.introspect(json!({ "query": query }));
        data[query].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    }

    fn operations(&mut self) -> Vec<Value> {
        let names = self.names("operations");
        let details = |name| self.introspect(json!({ "query": "operations", "name": name }))["operation"].clone();
        names.into_iter().map(details).collect()
    }
}

#[test]
fn r_int_1a_answers_have_published_members_and_values_only() {
    let folder = Folder::new();
    for mut source in Introspected::all(&folder) {
        let place = source.name;
        let list = source.introspect(json!({ "query": "operations" }));
        check_members(
            place,
            &[("_protocol", false, Is::Object), ("operations", true, Is::List(&Is::Of(LISTED)))],
            &list,
        );
        check_members(place, CAPABILITIES, &list["_protocol"]["capabilities"]);
        for operation in source.operations() {
            check_members(&format!("{place} {}", operation["name"]), OPERATION, &operation);
        }
        let types = source.introspect(json!({ "query": "types" }));
        check_members(place, &[("types", true, Is::List(&Is::Of(LISTED_TYPE)))], &types);
        for name in source.names("types") {
            let of = source.introspect(json!({ "query": "types", "name": name }))["type"].clone();
            check_members(&format!("{place} {name}"), &type_members(of["kind"].as_str().unwrap()), &of);
        }
    }
}

/// What is ours is declared: the extensions that the documentation lists, no more and no less.
#[test]
fn r_int_1a_extensions_are_declared_and_documented() {
    let folder = Folder::new();
    let page = include_str!("../../../../docs/protocol.md");
    for mut source in Introspected::all(&folder) {
        let list = source.introspect(json!({ "query": "operations" }));
        for name in list["_protocol"]["extensions"].as_array().unwrap() {
            let row = format!("| `{}` |", name.as_str().unwrap());
            assert!(page.contains(&row), "{}: {row}", source.name);
        }
    }
}

#[test]
fn r_int_5_every_documented_query_is_accepted_and_no_other() {
    let folder = Folder::new();
    for mut source in Introspected::all(&folder) {
        let introspect = source.introspect(json!({ "query": "operations", "name": "introspect" }));
        let query = introspect["operation"]["parameters"][0].clone();
        assert_eq!(query["name"], "query");
        let documented: Vec<&str> = query["enum"].as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect();
        assert_eq!(documented.contains(&"schema"), source.name != "server", "{documented:?}");
        for word in ["operations", "types", "signatures", "schema", "summary", "limits", "quota", "quota_status"]
            .into_iter()
            .chain(["adapter_info", "policy", "tables"])
        {
            let answer = source.call("introspect", json!({ "query": word }));
            assert_eq!(answer["success"], documented.contains(&word), "{} {word}: {answer}", source.name);
            if answer["success"] == false {
                let members: Vec<&String> = answer["error"].as_object().unwrap().keys().collect();
                assert_eq!(members, ["code", "message"], "{answer}");
            }
        }
    }
}

/// Whatever a list can answer with is a field of the type that it returns.
#[test]
fn r_int_2_lists_return_what_their_type_says() {
    let folder = Folder::new();
    let [mut demo, _, _] = Introspected::all(&folder);
    let page = demo.introspect(json!({ "query": "types", "name": "ResultPage" }))["type"]["fields"].clone();
    let documented: BTreeSet<&str> =
        page.as_array().unwrap().iter().map(|field| field["name"].as_str().unwrap()).collect();
    let grouped = json!({ "by": { "group_by": "status", "count": true, "order": "desc", "first": 1 } });
    let mut seen = BTreeSet::new();
    for params in [
        json!({}),
        json!({ "first": 0, "total": true }),
        json!({ "edges": true }),
        json!({ "shape": "table" }),
        json!({ "limit": 1 }),
        json!({ "page": 1 }),
        json!({ "aggregate": grouped, "include_items": true }),
    ] {
        let answer = demo.call("list_orders", params.clone());
        let members = answer["data"].as_object().unwrap_or_else(|| panic!("{params}: {answer}"));
        seen.extend(members.keys().cloned());
    }
    assert_eq!(seen.iter().map(String::as_str).collect::<BTreeSet<_>>(), documented);
}

/// The documented default is the one that is applied.
#[test]
fn r_int_5_page_sizes_default_to_what_is_documented() {
    let folder = Folder::new();
    let [mut demo, _, _] = Introspected::all(&folder);
    let details = demo.introspect(json!({ "query": "operations", "name": "list_orders" }))["operation"].clone();
    for (parameter, beside, shown) in [("limit", "offset", "limit"), ("page_size", "page", "page_size")] {
        let documented = details["parameters"].as_array().unwrap().iter().find(|one| one["name"] == parameter).unwrap();
        let answer = demo.call("list_orders", json!({ beside: 1 }));
        assert_eq!(answer["data"]["pagination"][shown], documented["default"], "{answer}");
        assert!(documented["default"].is_u64(), "{documented}");
    }
}
