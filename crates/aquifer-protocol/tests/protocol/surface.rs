//! Modes, profiles, prefixes, tools.

use std::sync::Arc;

use aquifer_protocol::catalog::{Catalog, CatalogError};
use aquifer_protocol::category::{Category, Permissions};
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation, RESERVED};
use aquifer_protocol::schema::Types;
use aquifer_protocol::surface::{Mode, Profile, Receiver, Surface, SurfaceError};
use serde_json::{Value, json};

use crate::fixture::{catalog, crude, envelope, everything, surface};

fn tool_names(surface: &Surface) -> Vec<String> {
    let (operations, types) = everything();
    let catalog = Catalog::build(operations, types, surface).unwrap();
    surface.tools(&catalog).into_iter().map(|tool| tool.name).collect()
}

#[test]
fn r_end_1_categories_and_their_permissions() {
    for (category, read_only, destructive) in [
        (Category::Create, false, false),
        (Category::Read, true, false),
        (Category::Update, false, true),
        (Category::Delete, false, true),
        (Category::Execute, false, true),
    ] {
        assert_eq!(category.permissions(), Permissions { read_only, destructive });
    }
}

#[test]
fn r_end_2_mode_and_prefix_are_checked() {
    assert_eq!("all".parse::<Mode>(), Ok(Mode::All));
    assert_eq!("crude".parse::<Mode>(), Err(SurfaceError::UnknownMode("crude".to_owned())));
    for wrong in ["github", "Git_", "git-hub_", "git hub_"] {
        let refused = Surface::new(Mode::Single, Profile::known("crude").unwrap(), wrong);
        assert_eq!(refused.unwrap_err(), SurfaceError::InvalidPrefix(wrong.to_owned()));
    }
    let prefixed = Surface::new(Mode::Semantic, Profile::known("crude").unwrap(), "db2_").unwrap();
    assert_eq!(tool_names(&prefixed)[0], "db2_mcp_aql_create");
    assert_eq!(prefixed.receiver("db2_mcp_aql_read"), Some(Receiver::Family("read".into())));
    assert_eq!(prefixed.receiver("mcp_aql_read"), None);
}

#[test]
fn r_end_3_each_mode_and_profile_has_its_tools() {
    let families = ["mcp_aql_create", "mcp_aql_read", "mcp_aql_update", "mcp_aql_delete", "mcp_aql_execute"];
    assert_eq!(tool_names(&crude()), families);
    assert_eq!(tool_names(&surface(Mode::Single, "crude")), ["mcp_aql"]);
    assert_eq!(tool_names(&surface(Mode::All, "crude")), [families.as_slice(), &["mcp_aql"]].concat());
    assert_eq!(
        tool_names(&surface(Mode::Semantic, "crude_authorize")),
        [families.as_slice(), &["mcp_aql_authorize"]].concat()
    );
    assert_eq!(
        tool_names(&surface(Mode::Semantic, "discover_query_manage_operate")),
        ["mcp_aql_manage", "mcp_aql_query", "mcp_aql_operate", "mcp_aql_discover"]
    );
    assert_eq!(
        tool_names(&surface(Mode::Semantic, "inspect_query_mutate_administer")),
        ["mcp_aql_mutate", "mcp_aql_query", "mcp_aql_administer", "mcp_aql_inspect"]
    );
    let own = Profile::new("mine", ["write", "look", "write", "write", "act"], None, None);
    assert_eq!(
        tool_names(&Surface::new(Mode::Semantic, own, "").unwrap()),
        ["mcp_aql_write", "mcp_aql_look", "mcp_aql_act"]
    );
}

#[test]
fn r_end_3a_roles_have_families_and_introspection_stays_with_reading() {
    let surface = surface(Mode::Semantic, "discover_query_manage_operate");
    let (operations, types) = everything();
    let catalog = Catalog::build(operations, types, &surface).unwrap();
    for (operation, family) in [
        ("introspect", "query"),
        ("list_users", "query"),
        ("get_schema", "discover"),
        ("create_user", "manage"),
        ("delete_user", "manage"),
        ("execute_backup", "operate"),
    ] {
        assert_eq!(surface.family_of(catalog.operation(operation).unwrap()), family, "{operation}");
    }
    let reads = vec![Operation::new("list_x", Category::Read, "List.")];
    let only_reads = Catalog::build(reads, Types::new(), &crude()).unwrap();
    let tools = crude().tools(&only_reads);
    assert_eq!(tools.len(), 1, "a family without operations is not registered");
    let single = self::surface_tool(Mode::Single);
    assert_eq!(single, "mcp_aql");
    assert_eq!(self::surface_tool(Mode::All), "mcp_aql_create");
}

fn surface_tool(mode: Mode) -> String {
    surface(mode, "crude").tool_of(catalog().operation("create_user").unwrap())
}

#[test]
fn r_end_4_the_wrong_family_is_refused_with_the_right_tool() {
    let catalog = catalog();
    let create = catalog.operation("create_user").unwrap();
    let refused = crude().admit(create, &Receiver::Family(Arc::from("delete"))).unwrap_err();
    assert_eq!(
        envelope(refused)["error"],
        json!({
            "code": "VALIDATION_ENDPOINT_MISMATCH",
            "message": "Operation 'create_user' must use CREATE endpoint, not DELETE",
            "details": {
                "operation": "create_user",
                "expected_endpoint": "CREATE",
                "actual_endpoint": "DELETE",
                "expected_tool": "mcp_aql_create",
            }
        })
    );
    assert!(crude().admit(create, &Receiver::Family(Arc::from("create"))).is_ok());
    assert!(crude().admit(create, &Receiver::Unified).is_ok());
}

#[test]
fn r_dis_4a_a_tool_is_as_risky_as_what_the_operator_considers_destructive() {
    let (mut operations, types) = everything();
    let read = operations.iter_mut().find(|operation| operation.category == Category::Read).unwrap();
    read.safety.danger = Danger::Destructive;
    let catalog = Catalog::build(operations, types, &crude()).unwrap();
    let tools = surface(Mode::Semantic, "crude").tools(&catalog);
    let read = tools.iter().find(|tool| tool.name == "mcp_aql_read").unwrap();
    assert_eq!(read.permissions, Permissions { read_only: false, destructive: true });
}

#[test]
fn r_end_5_tools_say_what_they_are_for_and_how_to_begin() {
    let tools = surface(Mode::All, "crude").tools(&catalog());
    for tool in &tools {
        assert!(tool.description.contains("introspect"), "{}", tool.description);
    }
    let described = |name: &str| tools.iter().find(|tool| tool.name == name).unwrap();
    assert!(described("mcp_aql_create").description.contains("create_user"));
    assert_eq!(described("mcp_aql_read").permissions, Category::Read.permissions());
    assert_eq!(described("mcp_aql").permissions, Category::Delete.permissions(), "as risky as the riskiest");
    let schema = Value::Object(described("mcp_aql").input_schema());
    assert!(
        schema.get("required").is_none()
            && schema.get("anyOf").is_none()
            && schema.get("additionalProperties").is_none()
    );
    for name in ["operation", "params", "operations"] {
        assert!(schema["properties"].get(name).is_some());
    }
    let entry = &schema["properties"]["operations"]["items"]["properties"];
    assert!(entry["operation"]["type"] == "string" && entry["params"]["type"] == "object", "the batch form is shown");
}

#[test]
fn r_end_5_tools_take_a_token_where_something_may_have_to_be_confirmed() {
    let mut delete = Operation::new("delete_user", Category::Delete, "Delete a user.");
    delete.accept_confirmation_token();
    let get = Operation::new("get_user", Category::Read, "Get a user.");
    let catalog = Catalog::build([delete, get], Types::new(), &crude()).unwrap();
    for (name, takes_token) in [("mcp_aql", true), ("mcp_aql_delete", true), ("mcp_aql_read", false)] {
        let tools = surface(Mode::All, "crude").tools(&catalog);
        let tool = tools.into_iter().find(|tool| tool.name == name).unwrap();
        let schema = Value::Object(tool.input_schema());
        let token = schema["properties"].get("confirmation_token").map(|token| &token["type"]);
        assert_eq!(token, takes_token.then_some(&Value::from("string")), "{name}");
    }
}

#[test]
fn r_end_5_many_operations_are_told_as_the_systems_they_belong_to() {
    let make = |source: &str, name: &str| {
        let mut operation = Operation::new(&format!("{source}_{name}"), Category::Read, "Reads.");
        operation.origin.source = source.into();
        operation.origin.own_name = name.into();
        operation
    };
    let mut operations = Vec::new();
    for thing in ["issue", "pull_request", "branch"] {
        for number in 0..9 {
            operations.push(make("github", &format!("get_{thing}_{number}")));
            operations.push(make("gitlab", &format!("{thing}_{number}_list")));
        }
    }
    let mut table = make("shop", "list_orders");
    table.origin.backing = Backing::Table("orders".into());
    let built = |operations: Vec<Operation>| Catalog::build(operations, Types::new(), &crude()).unwrap();
    let described = |catalog: &Catalog, name: &str| {
        let tools = surface(Mode::All, "crude").tools(catalog);
        tools.into_iter().find(|tool| tool.name == name).unwrap().description
    };
    let without = built(operations.clone());
    operations.push(table);
    let with = built(operations);
    for name in ["mcp_aql", "mcp_aql_read"] {
        let text = described(&with, name);
        assert!(text.contains("github (") && text.contains("gitlab (") && text.contains("shop (order"), "{text}");
        assert!(text.contains("signatures") && text.contains("schema"), "{text}");
        assert!(!described(&without, name).contains("schema"), "no database, no schema");
    }
    let many = (0..500).map(|number| make(&format!("server_number_{number}"), "get_thing")).collect();
    let text = described(&built(many), "mcp_aql");
    assert!(text.len() < 400 && text.contains(" more. "), "{text}");
}

#[test]
fn r_end_5a_names_are_checked_when_the_catalog_is_built() {
    let build =
        |name: &str| Catalog::build([Operation::new(name, Category::Read, "x")], Types::new(), &crude()).map(|_| ());
    for reserved in RESERVED {
        assert_eq!(build(reserved), Err(CatalogError::ReservedName((*reserved).to_owned())));
    }
    for invalid in ["GetUser", "get-user", "1_user", "", &"x".repeat(257)] {
        assert_eq!(build(invalid), Err(CatalogError::InvalidName(invalid.to_owned())));
    }
    for valid in ["get_user", "x", &"x".repeat(49), &"x".repeat(256)] {
        assert_eq!(build(valid), Ok(()));
    }
    let twice = [Operation::new("get_x", Category::Read, "x"), Operation::new("get_x", Category::Read, "x")];
    assert_eq!(
        Catalog::build(twice, Types::new(), &crude()).unwrap_err(),
        CatalogError::DuplicateOperation("get_x".to_owned())
    );
}

#[test]
fn r_req_6_a_native_update_must_have_input_and_a_proxied_one_lowers_the_level() {
    let mut update = Operation::new("update_x", Category::Update, "x");
    let refused = Catalog::build([update.clone()], Types::new(), &crude()).unwrap_err();
    assert_eq!(refused, CatalogError::UpdateWithoutInput("update_x".to_owned()));
    use aquifer_protocol::schema::{Parameter, Schema};
    update.parameters = vec![Parameter::required("input", Schema::string())];
    let refused = Catalog::build([update.clone()], Types::new(), &crude()).unwrap_err();
    assert_eq!(refused, CatalogError::UpdateWithoutInput("update_x".to_owned()), "input is an object");
    let id = || Parameter::required("id", Schema::string());
    update.parameters = vec![id(), Parameter::required("input", Schema::object(vec![id()]))];
    let refused = Catalog::build([update.clone()], Types::new(), &crude()).unwrap_err();
    assert_eq!(refused, CatalogError::IdentifierInInput("update_x".to_owned(), "id".to_owned()));
    update.origin.native = false;
    assert!(Catalog::build([update], Types::new(), &crude()).is_ok());
}

/// What operations of these names and categories claim. `*` marks a proxied one, `fields` and `input` a parameter.
fn claimed(operations: &[&str]) -> Option<&'static str> {
    use aquifer_protocol::schema::{Parameter, Schema};
    let define = |words: &&str| {
        let mut words = words.split(' ');
        let name = words.next().unwrap();
        let category = match name.split('_').find(|word| ["create", "get", "list", "update", "delete"].contains(word)) {
            Some("create") => Category::Create,
            Some("update") => Category::Update,
            Some("delete") => Category::Delete,
            _ => Category::Read,
        };
        let mut operation = Operation::new(name, category, "x");
        for word in words {
            match word {
                "*" => operation.origin.native = false,
                "input" => operation.parameters.push(Parameter::required("input", Schema::object(Vec::new()))),
                name => operation.parameters.push(Parameter::optional(name, Schema::string())),
            }
        }
        operation
    };
    Catalog::build(operations.iter().map(define), Types::new(), &crude()).unwrap().conformance()
}

#[test]
fn r_con_2_the_level_follows_from_the_operations() {
    const ALL: [&str; 5] =
        ["create_task", "get_task fields", "list_tasks fields first after", "update_task input", "delete_task"];
    assert_eq!(claimed(&ALL), Some("level-2"));
    for missing in ["create_task", "get_task", "update_task", "delete_task"] {
        let rest: Vec<&str> = ALL.into_iter().filter(|own| own.split(' ').next() != Some(missing)).collect();
        assert_eq!(claimed(&rest), Some("level-2"), "without {missing}");
    }
    for (operations, level) in [
        // Nothing selects fields.
        (&["create_task", "get_task", "list_tasks", "update_task input", "delete_task"][..], Some("level-1")),
        // A proxied update keeps its own parameters (R-REQ-6).
        (&["create_note", "get_note fields", "update_note *", "delete_note"], Some("level-1")),
        // One of several sources is enough.
        (&["a_get_x fields", "a_update_x input", "b_update_x *"], Some("level-1")),
        (&["list_tasks fields first after"], Some("level-2")),
        (&["get_time"], Some("level-1")),
        (&[], None),
    ] {
        assert_eq!(claimed(operations), level, "{operations:?}");
    }
}

#[test]
fn r_con_2_introspection_itself_is_no_capability() {
    let catalog = Catalog::build([Operation::new("get_x", Category::Read, "x")], Types::new(), &crude()).unwrap();
    let capabilities = catalog.capabilities(false);
    for name in ["field_selection", "pagination", "aggregations", "computed_fields", "relationship_queries"] {
        assert_eq!(capabilities[name], false, "{name}");
    }
}
