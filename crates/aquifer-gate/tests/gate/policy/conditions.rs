//! Conditions on parameters: which hold, which do not, and who benefits if that is uncertain.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::schema::{Parameter, Schema};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::{decide, operation, policy};

/// A condition, parameters, and whether a restricting and a loosening rule apply.
#[test]
fn r_saf_2_conditions() {
    #[rustfmt::skip]
    let table: &[(&str, Value, bool, bool)] = &[
        ("param = \"id\", equals = 7", json!({ "id": 7 }), true, true),
        ("param = \"id\", equals = 7", json!({ "id": 7.0 }), true, true),
        ("param = \"id\", equals = 7", json!({ "id": 8 }), false, false),
        ("param = \"id\", equals = 7", json!({ "id": "7" }), true, false),
        ("param = \"id\", equals = \"7\"", json!({ "id": 7 }), true, false),
        ("param = \"id\", equals = 7", json!({ "id": "7.0" }), true, false),
        ("param = \"id\", equals = 7", json!({ "id": "seven" }), false, false),
        ("param = \"id\", equals = 7, not = true", json!({ "id": "7" }), true, false),
        ("param = \"all\", equals = true", json!({ "all": "TRUE" }), true, false),
        // Some source may read almost anything as true.
        ("param = \"all\", equals = true", json!({ "all": 1 }), true, false),
        ("param = \"id\", equals = 7", json!({}), false, false),
        ("param = \"id\", equals = 7, not = true", json!({ "id": 8 }), true, true),
        ("param = \"id\", equals = 7, not = true", json!({}), true, false),
        ("param = \"all\", equals = true", json!({ "all": true }), true, true),
        ("param = \"env\", one_of = [\"prod\", \"live\"]", json!({ "env": "live" }), true, true),
        ("param = \"env\", one_of = [\"prod\", \"live\"]", json!({ "env": "test" }), false, false),
        ("param = \"env\", one_of = [\"test\"], not = true", json!({ "env": "prod" }), true, true),
        ("param = \"path\", matches = \"/etc/*\"", json!({ "path": "/etc/passwd" }), true, true),
        ("param = \"path\", matches = \"/etc/*\"", json!({ "path": "/tmp/x" }), false, false),
        ("param = \"path\", matches = [\"/etc/*\", \"/root/*\"]", json!({ "path": "/root/x" }), true, true),
        ("param = \"path\", matches = \"/tmp/*\", not = true", json!({ "path": "/tmp/x" }), false, false),
        ("param = \"path\", matches = \"/tmp/*\", not = true", json!({ "path": "/etc/x" }), true, true),
        ("param = \"code\", matches = \"4*\"", json!({ "code": 404 }), true, true),
        ("param = \"count\", greater = 100", json!({ "count": 101 }), true, true),
        ("param = \"count\", greater = 100", json!({ "count": 100 }), false, false),
        ("param = \"count\", greater = 100", json!({ "count": "500" }), true, true),
        ("param = \"count\", greater = 100", json!({}), false, false),
        ("param = \"count\", less = 0.5", json!({ "count": 0.25 }), true, true),
        ("param = \"count\", less = 0.5", json!({ "count": -1 }), true, true),
        ("param = \"force\", present = true", json!({ "force": false }), true, true),
        ("param = \"force\", present = true", json!({}), false, false),
        ("param = \"filter\", present = false", json!({}), true, true),
        ("param = \"filter\", present = false", json!({ "filter": {} }), false, false),
        ("param = \"filter\", present = true, not = true", json!({}), true, true),
        ("param = \"filter.id\", present = false", json!({ "filter": { "name": "x" } }), true, true),
        ("param = \"ids\", present = true", json!({ "ids": [] }), true, true),
        // Into objects, and into every element of lists.
        ("param = \"input.owner.name\", equals = \"root\"", json!({ "input": { "owner": { "name": "root" } } }), true, true),
        ("param = \"input.owner.name\", equals = \"root\"", json!({ "input": "root" }), false, false),
        ("param = \"paths\", matches = \"/tmp/*\"", json!({ "paths": ["/tmp/a", "/tmp/b"] }), true, true),
        ("param = \"paths\", matches = \"/tmp/*\"", json!({ "paths": ["/tmp/a", "/etc/b"] }), true, false),
        ("param = \"paths\", matches = \"/tmp/*\"", json!({ "paths": [] }), false, false),
        ("param = \"paths\", matches = \"/tmp/*\", not = true", json!({ "paths": ["/tmp/a", "/etc/b"] }), true, false),
        ("param = \"items.id\", greater = 5", json!({ "items": [{ "id": 1 }, { "id": 9 }] }), true, false),
        ("param = \"grid\", equals = 1", json!({ "grid": [[0], [[1]]] }), true, false),
        // Values that cannot be compared count against the caller.
        ("param = \"count\", greater = 100", json!({ "count": "many" }), true, false),
        ("param = \"count\", less = 100", json!({ "count": "many" }), true, false),
        ("param = \"count\", greater = 100", json!({ "count": { "$gt": 0 } }), true, false),
        ("param = \"path\", matches = \"/tmp/*\"", json!({ "path": { "file": "x" } }), true, false),
        ("param = \"path\", matches = \"/tmp/*\"", json!({ "path": null }), true, false),
    ];
    for (condition, params, restricts, loosens) in table {
        let update = operation("update_it", Category::Update, Danger::Reversible, Trust::Validated);
        let deny = policy(&format!("[[rule]]\neffect = \"deny\"\nwhen = [{{ {condition} }}]\n"));
        let found = decide(&deny, &update, params).effect.as_str() == "deny";
        assert_eq!(found, *restricts, "restricts: {condition} {params}");
        let mut delete = operation("delete_it", Category::Delete, Danger::Destructive, Trust::Validated);
        let allow = format!(
            "[[rule]]\neffect = \"allow\"\nloosen = true\noperation = \"delete_it\"\nwhen = [{{ {condition} }}]\n"
        );
        // A parameter that the operation does not declare loosens nothing: the source may ignore it.
        assert_eq!(
            decide(&policy(&allow), &delete, params).effect.as_str(),
            "confirm",
            "undeclared: {condition} {params}"
        );
        let declared =
            ["id", "all", "env", "path", "code", "count", "force", "filter", "ids", "input", "paths", "items", "grid"];
        delete.parameters = declared.map(|name| Parameter::optional(name, Schema::default())).into();
        let found = decide(&policy(&allow), &delete, params).effect.as_str() == "allow";
        assert_eq!(found, *loosens, "loosens: {condition} {params}");
    }
}

#[test]
fn r_saf_2_all_conditions_have_to_hold() {
    let policy = policy(
        "[[rule]]\neffect = \"deny\"\nwhen = [{ param = \"count\", greater = 1 }, { param = \"count\", less = 5 }]\n",
    );
    let update = operation("update_it", Category::Update, Danger::Reversible, Trust::Validated);
    for (count, expected) in [(1, "allow"), (2, "deny"), (4, "deny"), (5, "allow")] {
        assert_eq!(decide(&policy, &update, &json!({ "count": count })).effect.as_str(), expected, "{count}");
    }
}

/// A missing parameter has its declared default, which the source will use.
#[test]
fn r_saf_2_a_default_counts_as_sent() {
    let policy = policy("[[rule]]\neffect = \"deny\"\nwhen = [{ param = \"mode\", equals = \"all\" }]\n");
    let mut update = operation("update_it", Category::Update, Danger::Reversible, Trust::Validated);
    let mut schema = Schema::string();
    schema.default = Some(json!("all"));
    update.parameters = vec![Parameter::optional("mode", schema)];
    assert_eq!(decide(&policy, &update, &json!({})).effect.as_str(), "deny");
    assert_eq!(decide(&policy, &update, &json!({ "mode": "one" })).effect.as_str(), "allow");
}

/// Without parameters, conditions are undecided, and the explanation says so.
#[test]
fn r_saf_2_without_parameters_a_condition_is_undecided() {
    let policy = policy("[[rule]]\nname = \"bulk\"\neffect = \"deny\"\nwhen = [{ param = \"count\", greater = 1 }]\n");
    let update = operation("update_it", Category::Update, Danger::Reversible, Trust::Validated);
    let decision = decide(&policy, &update, &Value::Null);
    assert_eq!(decision.effect.as_str(), "allow");
    assert!(
        decision.explanation().ends_with("rule 1 'bulk' may deny it if 'count' is more than 1"),
        "{}",
        decision.explanation()
    );
}
