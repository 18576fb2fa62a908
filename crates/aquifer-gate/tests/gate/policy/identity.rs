//! Rules follow an operation through renames: a second source, a prefix, a collision or the generic style rename it,
//! and no rule stops applying. A loosening rule never starts to apply to another source's operation.

use aquifer_gate::policy::{Inventory, Policy, PolicySettings};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation};
use aquifer_protocol::trust::Trust;
use serde_json::json;

use super::{decide, operation, policy};

/// An operation of a source, as served.
fn served(source: &str, own_name: &str, name: &str, backing: Backing) -> Operation {
    let mut operation = operation(name, Category::Delete, Danger::Destructive, Trust::Validated);
    operation.origin.source = source.into();
    operation.origin.own_name = own_name.into();
    operation.origin.backing = backing;
    operation
}

fn table(name: &str) -> Backing {
    Backing::Table(name.into())
}

fn tool(name: &str) -> Backing {
    Backing::Tool(name.into())
}

/// The same operation under every name it may be served: alone, beside others, with a prefix, after a collision.
fn orders() -> [Operation; 4] {
    ["delete_order", "shop_db_delete_order", "x_delete_order", "shop_db_delete_order_3f2a1"]
        .map(|name| served("Shop-DB", "delete_order", name, table("Orders")))
}

#[test]
fn r_saf_2_a_rule_holds_under_every_name() {
    #[rustfmt::skip]
    let table = [
        ("operation = \"delete_order\"", true),
        ("operation = \"shop_db_delete_order\"", true),
        ("operation = \"delete_*\"", true),
        ("operation = \"*_order\"", true),
        ("operation = [\"*\", \"!get_*\"]", true),
        ("operation = [\"*_order\", \"!list_*\", \"!get_*\"]", true),
        // Excluded operations stay excluded under every name.
        ("operation = [\"*\", \"!delete_*\"]", false),
        ("operation = \"!delete_order\"", false),
        ("operation = \"delete_orders\"", false),
        ("operation = \"shop_delete_order\"", false),
        ("table = \"Orders\"", true),
        ("table = \"orders\"", true),
        ("table = \"ORD*\"", true),
        ("table = [\"*\", \"!Orders\"]", false),
        // Exclusions are exact: a table with another spelling is another table.
        ("table = [\"*\", \"!orders\"]", true),
        ("table = \"customers\"", false),
        ("tool = \"orders\"", false),
        ("tool = \"*\"", false),
        ("tool = \"!x\"", false),
        ("source = \"shop-db\"", true),
        ("source = \"SHOP-*\"", true),
        ("source = \"!shop-db\"", true),
        ("source = \"!Shop-DB\"", false),
        ("source = \"shop-db\"\noperation = \"delete_order\"\ntable = \"orders\"\ncategory = \"delete\"", true),
        ("source = \"other\"\noperation = \"delete_order\"", false),
    ];
    for (selector, holds) in table {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{selector}\n"));
        for operation in orders() {
            let effect = decide(&policy, &operation, &json!({})).effect.as_str();
            assert_eq!(effect, if holds { "deny" } else { "confirm" }, "{selector}: {}", operation.name);
        }
    }
}

#[test]
fn r_saf_2_a_rule_knows_tools_as_their_server_spells_them() {
    let push = served("GitHub", "push_files", "github_push_files", tool("pushFiles"));
    for (selector, holds) in [
        ("tool = \"pushFiles\"", true),
        ("tool = \"PUSHFILES\"", true),
        ("tool = \"push*\"", true),
        ("tool = \"push_files\"", false),
        ("operation = \"push_files\"", true),
        ("operation = \"git_hub_push_files\"", true),
        ("table = \"pushFiles\"", false),
        ("tool = \"!pushFiles\"", false),
        ("tool = \"!pushfiles\"", true),
    ] {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{selector}\n"));
        let effect = decide(&policy, &push, &json!({})).effect.as_str();
        assert_eq!(effect, if holds { "deny" } else { "confirm" }, "{selector}");
    }
}

/// A table may be named with its schema, but only with a dot: `sales*` does not mean a schema.
#[test]
fn r_saf_2_a_rule_may_name_the_schema() {
    let in_schema = |schema: &str, table: &str| Backing::TableInSchema { schema: schema.into(), table: table.into() };
    let made = |backing: Backing| served("db", "delete_ordz", "delete_ordz", backing);
    let all = [made(in_schema("sales", "ordz")), made(in_schema("public", "ordz")), made(table("ordz"))];
    #[rustfmt::skip]
    let cases = [
        // Which of them a restricting and a loosening rule select.
        ("\"sales.ordz\"", [true, false, false], [true, false, false]),
        ("\"Sales.Ordz\"", [true, false, false], [false, false, false]),
        ("\"ordz\"", [true, true, true], [true, true, true]),
        ("\"sales.*\"", [true, false, false], [true, false, false]),
        ("\"*.ordz\"", [true, true, false], [true, true, false]),
        ("\"sales*\"", [false, false, false], [false, false, false]),
        ("[\"*\", \"!sales.ordz\"]", [false, true, true], [false, true, true]),
        ("\"!sales.ordz\"", [false, true, true], [false, true, true]),
        ("[\"*\", \"!SALES.ordz\"]", [true, true, true], [false, true, true]),
        ("[\"*\", \"!sales*\"]", [true, true, true], [true, true, true]),
        ("[\"sales.*\", \"!ordz\"]", [false, false, false], [false, false, false]),
        ("\"other.ordz\"", [false, false, false], [false, false, false]),
    ];
    for (pattern, restricted, allowed) in cases {
        let denies = policy(&format!("[[rule]]\neffect = \"deny\"\ntable = {pattern}\n"));
        let allows = loosened(&format!("source = \"db\"\ntable = {pattern}"));
        for (index, operation) in all.iter().enumerate() {
            let effect = |policy: &Policy| decide(policy, operation, &json!({})).effect.as_str();
            assert_eq!(effect(&denies) == "deny", restricted[index], "{pattern} {index}");
            assert_eq!(effect(&allows) == "allow", allowed[index], "{pattern} {index}");
        }
    }
}

fn loosened(selector: &str) -> Policy {
    policy(&format!("[[rule]]\neffect = \"allow\"\nloosen = true\n{selector}\n"))
}

/// A loosening rule matches the served name. Only with a source it also matches the source's own name.
#[test]
fn r_saf_2_a_loosening_rule_needs_the_source() {
    let [alone, beside, prefixed, collided] = orders();
    #[rustfmt::skip]
    let table: &[(&str, [bool; 4])] = &[
        ("operation = \"delete_order\"", [true, false, false, false]),
        ("operation = \"shop_db_delete_order\"", [false, true, false, false]),
        ("operation = \"x_delete_order\"", [false, false, true, false]),
        ("source = \"Shop-DB\"\noperation = \"delete_order\"", [true; 4]),
        ("source = \"Shop-DB\"\noperation = \"shop_db_delete_order\"", [true; 4]),
        ("source = \"Shop*\"\noperation = \"delete_*\"", [true; 4]),
        ("source = \"shop-db\"\noperation = \"delete_order\"", [false; 4]),
        ("source = \"!other\"\noperation = \"delete_order\"", [true, false, false, false]),
        ("source = \"Shop-DB\"\ntable = \"Orders\"", [true; 4]),
        ("source = \"Shop-DB\"\ntable = \"orders\"", [false; 4]),
        // Excluded operations stay excluded under every name, in either case.
        ("source = \"Shop-DB\"\noperation = [\"*\", \"!delete_order\"]", [false; 4]),
        ("source = \"Shop-DB\"\noperation = [\"*\", \"!shop_db_*\"]", [false; 4]),
        ("operation = [\"*\", \"!shop_db_*\"]", [false; 4]),
        ("source = \"Shop-DB\"\ntable = [\"*\", \"!ORDERS\"]", [false; 4]),
        ("source = [\"*\", \"!SHOP-DB\"]", [false; 4]),
    ];
    for (selector, expected) in table {
        let policy = loosened(selector);
        for (operation, expected) in [&alone, &beside, &prefixed, &collided].into_iter().zip(expected) {
            let effect = decide(&policy, operation, &json!({})).effect.as_str();
            assert_eq!(effect, if *expected { "allow" } else { "confirm" }, "{selector}: {}", operation.name);
        }
    }
}

/// A new source names its operation like another's, in every possible way.
#[test]
fn r_saf_2_a_new_source_is_never_loosened_by_a_rule_for_another() {
    let newcomers = [
        // The same own name, in another source.
        served("evil", "delete_order", "evil_delete_order", tool("delete_order")),
        // The name was taken.
        served("evil", "delete_order", "delete_order_3f2a1", tool("delete_order")),
        // Its own name makes its full name that of the other: source `shop`, tool `db_delete_order`.
        served("shop", "db_delete_order", "shop_db_delete_order_9c01f", tool("db_delete_order")),
        served("shop", "db_delete_order", "db_delete_order", tool("db_delete_order")),
        // Its source has a similar name.
        served("shop-DB", "delete_order", "shop_db_2_delete_order", table("Orders")),
        served("Shop-DB2", "delete_order", "shop_db2_delete_order", table("Orders")),
    ];
    for selector in [
        "operation = \"delete_order\"",
        "operation = \"shop_db_delete_order\"",
        "source = \"Shop-DB\"\noperation = \"delete_order\"",
        "source = \"Shop-DB\"\noperation = \"shop_db_delete_order\"",
        "source = \"Shop-DB\"\ntable = \"Orders\"",
        "source = \"Shop-DB\"\ntool = \"*\"",
        "source = \"Shop-DB\"",
    ] {
        for newcomer in &newcomers {
            let effect = decide(&loosened(selector), newcomer, &json!({})).effect.as_str();
            assert_eq!(effect, "confirm", "{selector}: {} of {}", newcomer.name, newcomer.origin.source);
        }
    }
}

/// An operation whose definition changed is denied, whatever is configured; it can only be introspected until somebody
/// accepts it.
#[test]
fn r_dis_7a_no_rule_loosens_a_quarantine() {
    let mut changed = operation("get_thing", Category::Read, Danger::Safe, Trust::Certified);
    changed.safety.quarantine = Some("its description changed since it was accepted".into());
    for toml in [
        "",
        "[[rule]]\neffect = \"allow\"\nloosen = true\noperation = \"*\"\n",
        "[[rule]]\neffect = \"confirm\"\nloosen = true\noperation = \"get_thing\"\nsource = \"shop\"\n",
        "[matrix.safe]\ncertified = \"allow\"\n",
    ] {
        let policy = policy(toml);
        let decision = decide(&policy, &changed, &json!({}));
        let failure = decision.failure(&changed).unwrap();
        assert_eq!(failure.code().as_str(), "PERMISSION_DENIED", "{toml}");
        let reason = "This operation is quarantined: its description changed since it was accepted";
        assert_eq!(failure.message(), format!("Permission denied: {reason}"));
        assert!(decision.to_change(&changed)[0].contains("aquifer review"), "{:?}", decision.to_change(&changed));
        assert!(!policy.denies_always(&changed), "{toml}: it stays listed");
        let mut accepted = changed.clone();
        accepted.safety.quarantine = None;
        assert!(decide(&policy, &accepted, &json!({})).failure(&accepted).is_none(), "{toml}");
    }
    // An operation that a rule denies is not listed because of a quarantine.
    assert!(policy("[[rule]]\neffect = \"deny\"\n").denies_always(&changed));
}

/// Settings, and whether all calls are denied of a destructive operation, and of a safe one of an untested source.
#[test]
fn r_saf_2_operations_that_are_always_denied_are_found() {
    let rule = |more: &str| format!("[[rule]]\n{more}\n");
    let deny = |more: &str| rule(&format!("effect = \"deny\"\n{more}"));
    let loosen = |more: &str| rule(&format!("effect = \"allow\"\nloosen = true\noperation = \"*\"\n{more}"));
    let cell = "[matrix.destructive]\nvalidated = \"deny\"\n".to_owned();
    let minimum = "[trust_policy]\nminimum_trust_for_deletes = \"certified\"\n".to_owned();
    let when = "when = [{ param = \"id\", equals = 1 }]";
    #[rustfmt::skip]
    let table = [
        (String::new(), false),
        (deny(""), true),
        (deny("operation = \"delete_*\""), true),
        (deny("operation = \"get_*\""), false),
        (deny("caller = \"*\""), true),
        (deny("caller = \"bob\""), false),
        (deny("scope = \"!admin\""), false),
        (deny(when), false),
        (cell.clone(), true),
        (minimum.clone(), true),
        // Operations that some caller may call with some parameters are listed.
        (cell.clone() + &loosen(""), false),
        (cell.clone() + &loosen("caller = \"alice\""), false),
        (cell.clone() + &loosen("scope = \"admin\""), false),
        (cell.clone() + &loosen(when), false),
        (cell.clone() + &loosen("danger = \"safe\""), true),
        (cell.clone() + &rule("effect = \"allow\"\noperation = \"*\""), true),
        // Operations that nothing loosens are not.
        (minimum + &loosen("caller = \"alice\""), true),
        (deny("") + &loosen("caller = \"alice\""), true),
        (cell + &loosen("caller = \"alice\"") + &deny("category = \"DELETE\""), true),
    ];
    for (toml, expected) in table {
        let delete = operation("delete_order", Category::Delete, Danger::Destructive, Trust::Validated);
        assert_eq!(policy(&toml).denies_always(&delete), expected, "{toml}");
    }
    // Operations that can only be introspected are listed.
    let untested = operation("get_order", Category::Read, Danger::Safe, Trust::Untested);
    assert!(!Policy::default().denies_always(&untested));
    assert!(policy(&deny("")).denies_always(&untested));
}

/// An operation accepts a token if some call of it may need confirmation, also because of a loosening rule.
#[test]
fn r_saf_3_operations_that_may_need_confirmation_accept_a_token() {
    let policy = policy(
        "[matrix.destructive]\nvalidated = \"deny\"\n[trust_policy]\nrequire_confirmation_below = \"certified\"\n\
         [[rule]]\neffect = \"allow\"\nloosen = true\noperation = \"*\"\ncaller = \"alice\"\n",
    );
    let delete = operation("delete_order", Category::Delete, Danger::Destructive, Trust::Validated);
    assert_eq!(super::decide_for(&policy, &delete, "alice", &[], &json!({})).effect.as_str(), "confirm");
    assert!(policy.may_confirm(&delete));
}

/// With several sources a name is ambiguous: `b_delete_item` of source `a` is served as `a_b_delete_item` as soon as
/// `delete_item` of source `a_b` is not.
#[test]
fn r_saf_2_among_several_sources_a_name_alone_loosens_nothing() {
    let mut hostile = operation("a_b_delete_item", Category::Delete, Danger::Destructive, Trust::Validated);
    hostile.origin.source = "a".into();
    hostile.origin.own_name = "b_delete_item".into();
    let mut victim = hostile.clone();
    victim.origin.source = "a_b".into();
    victim.origin.own_name = "delete_item".into();
    // (rule, then the decisions about the hostile and the victim's operation, alone and among several)
    #[rustfmt::skip]
    let table = [
        ("allow", "operation = \"a_b_delete_item\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_*\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = [\"*\", \"!x\"]", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"!x\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = \"!x\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\ncategory = \"DELETE\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = \"a_b\"", ["confirm", "allow"], ["confirm", "allow"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = \"*\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = [\"*\"]", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = \"?*\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = \"a*\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"*b_delete_item\"\nsource = \"**\"", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = [\"a_b\", \"a*\"]", ["allow", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = [\"a?b\", \"!x\"]", ["confirm", "allow"], ["confirm", "confirm"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = [\"a_b\", \"!x\"]", ["confirm", "allow"], ["confirm", "allow"]),
        ("allow", "operation = \"a_b_delete_item\"\nsource = [\"a_b\", \"!a\", \"!x*\"]", ["confirm", "allow"], ["confirm", "allow"]),
        ("allow", "operation = \"delete_item\"\nsource = \"a_b\"", ["confirm", "allow"], ["confirm", "allow"]),
        ("allow", "category = \"DELETE\"\nsource = \"a*\"", ["allow", "allow"], ["allow", "allow"]),
        ("allow", "operation = \"*\"", ["allow", "allow"], ["allow", "allow"]),
        ("allow", "category = \"DELETE\"", ["allow", "allow"], ["allow", "allow"]),
    ];
    for (effect, keys, alone, among_several) in table {
        for (has_several_sources, expected) in [(false, alone), (true, among_several)] {
            let toml = format!("[[rule]]\nname = \"r\"\neffect = \"{effect}\"\nloosen = true\n{keys}\n");
            let settings: PolicySettings = toml::from_str(&toml).unwrap();
            let policy = Policy::new(&PolicySettings { has_several_sources, ..settings }).unwrap();
            let found = [&hostile, &victim].map(|operation| decide(&policy, operation, &json!({})).effect.as_str());
            assert_eq!(found, expected, "{keys}, several: {has_several_sources}");
            let is_reported = has_several_sources && alone != among_several;
            let mut inventory = Inventory::default();
            [&hostile, &victim].into_iter().for_each(|operation| inventory.add(operation, None));
            let reports = [policy.find_unused(&inventory), policy.rules_without_source()];
            for report in reports {
                let says_so = report.iter().any(|unused| unused.problem.contains("has to name their source"));
                assert_eq!(says_so, is_reported, "{keys}: {report:?}");
            }
        }
    }
    // The restricting part of such a rule stays.
    let mut read = operation("a_b_get_item", Category::Read, Danger::Safe, Trust::Validated);
    read.origin.own_name = "get_item".into();
    let asks = "[[rule]]\neffect = \"confirm\"\nloosen = true\noperation = \"a_b_get_item\"\n";
    let settings: PolicySettings = toml::from_str(asks).unwrap();
    let policy = Policy::new(&PolicySettings { has_several_sources: true, ..settings }).unwrap();
    assert_eq!(decide(&policy, &read, &json!({})).effect.as_str(), "confirm");
}
