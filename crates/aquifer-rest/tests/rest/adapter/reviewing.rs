//! A reviewer's changes in a built file apply, unless evidence contradicts them.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_rest::Api;
use serde_json::{Value, json};

use super::{built, pets, served};

/// The API after a change to the front matter.
fn edited(is_settled: bool, edit: impl FnOnce(&mut Value)) -> Api {
    let files = built(&pets());
    let mut parts = files.adapter.splitn(3, "---\n");
    let mut front: Value = serde_saphyr::from_str(parts.nth(1).unwrap()).unwrap();
    edit(&mut front);
    let text = format!("---\n{}---\n{}", aquifer_discovery::write_yaml(&front), parts.next().unwrap());
    served(&text, Some(&files.sidecar), is_settled)
}

fn named<'a>(front: &'a mut Value, category: &str, name: &str) -> &'a mut Value {
    let list = front["operations"][category].as_array_mut().unwrap();
    list.iter_mut().find(|operation| operation["name"] == name).unwrap()
}

fn operation<'a>(api: &'a Api, name: &str) -> &'a aquifer_protocol::operation::Operation {
    api.operations.iter().find(|operation| &*operation.name == name).unwrap()
}

#[test]
fn operations_can_be_deleted_and_renamed() {
    let api = edited(false, |front| {
        front["operations"].as_object_mut().unwrap().remove("delete");
        named(front, "create", "add_pet")["name"] = json!("register_pet");
    });
    assert!(api.operations.iter().all(|operation| &*operation.name != "delete_pet"));
    assert!(!api.routes.contains_key("delete_pet") && !api.routes.contains_key("add_pet"));
    assert_eq!(&*api.routes["register_pet"].path, "/pets");
    assert_eq!(&*api.described_at["register_pet"], "POST /pets");
    assert_eq!(operation(&api, "register_pet").origin.own_name, operation(&api, "register_pet").name);
}

#[test]
fn parameters_can_be_narrowed_and_left_out() {
    let api = edited(false, |front| {
        let list = named(front, "read", "list_pets");
        let params = list["params"].as_object_mut().unwrap();
        params.remove("x_tenant");
        params["status"]["enum"] = json!(["free", "stolen"]);
        params["min_age"]["maximum"] = json!(20);
        params["min_age"]["minimum"] = json!(-5);
        params["min_age"]["default"] = json!(3);
        params["min_age"]["required"] = json!(true);
        params["min_age"]["description"] = json!("In years.");
        params.insert("unknown".to_owned(), json!({ "type": "string" }));
        list["pagination"]["max_limit"] = json!(10);
    });
    let list = operation(&api, "list_pets");
    assert!(list.parameter("x_tenant").is_none() && list.parameter("unknown").is_none());
    let status = &list.parameter("status").unwrap().schema;
    assert_eq!(status.allowed.as_deref().map(|allowed| json!(allowed)), Some(json!(["free"])), "nothing is loosened");
    let age = list.parameter("min_age").unwrap();
    assert_eq!((age.schema.range.minimum, age.schema.range.maximum), (Some(0.0), Some(20.0)), "nothing is loosened");
    assert_eq!(age.schema.default, Some(json!(3)));
    assert!(!age.schema.is_source_default && age.required);
    assert_eq!(age.schema.description.as_deref(), Some("In years."));
    assert!(format!("{:?}", api.routes["list_pets"].pagination).contains("max_size: Some(10)"));
    assert!(api.notes.iter().any(|note| note.contains("'unknown'")), "{:?}", api.notes);
}

#[test]
fn r_dis_4_danger_can_be_raised_and_not_denied() {
    let raised = edited(false, |front| named(front, "create", "add_pet")["danger_level"] = json!("dangerous"));
    assert_eq!(operation(&raised, "add_pet").safety.danger, Danger::Dangerous);
    assert_eq!(operation(&raised, "add_pet").safety.danger_evidence.as_deref(), Some("its adapter file says so"));
    let asked = edited(false, |front| named(front, "create", "add_pet")["requires_confirmation"] = json!(true));
    assert!(operation(&asked, "add_pet").safety.safeguards.always_confirm);
    for is_settled in [false, true] {
        let denied = edited(is_settled, |front| {
            let mut delete = named(front, "delete", "delete_pet").take();
            delete["danger_level"] = json!("safe");
            front["operations"].as_object_mut().unwrap().remove("delete");
            front["operations"]["read"].as_array_mut().unwrap().push(delete);
        });
        let delete = operation(&denied, "delete_pet");
        assert_eq!((delete.category, delete.safety.danger), (Category::Delete, Danger::Destructive), "{is_settled}");
        assert!(denied.notes.iter().any(|note| note.contains("delete_pet")));
    }
}

#[test]
fn operations_can_be_added_by_hand() {
    let api = edited(false, |front| {
        front["operations"]["read"].as_array_mut().unwrap().push(json!({
            "name": "get_owner",
            "maps_to": "GET /owners/{owner_id}",
            "description": "Get an owner",
            "params": { "owner_id": { "type": "string", "required": true } },
        }));
    });
    assert_eq!(&*api.routes["get_owner"].path, "/owners/{owner_id}");
    assert!(!api.described_at.contains_key("get_owner"));
    assert!(api.types.contains_key("Pet"));
}
