//! Every decision says who decided, and what would have to change.

use aquifer_gate::policy::{Policy, PolicyLine};
use aquifer_protocol::catalog::Catalog;
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::error::wording::looks_like_a_leak;
use aquifer_protocol::schema::Types;
use aquifer_protocol::surface::Surface;
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::{caller, decide, operation, policy};

/// The specification's example of a denied danger level.
#[test]
fn r_saf_2_a_denied_danger_level_is_told_as_published() {
    let mut bulk = operation("bulk_delete", Category::Delete, Danger::Dangerous, Trust::Validated);
    bulk.safeguards.reasons = vec!["Affects multiple resources".into(), "Cannot be undone".into()];
    let failure = decide(&Policy::default(), &bulk, &json!({})).failure(&bulk).unwrap();
    assert_eq!(
        failure.message(),
        "Operation 'bulk_delete' (danger: dangerous) denied for adapter trust level 'validated'"
    );
    let mut details = Value::Object(failure.details().clone());
    let decision = details.as_object_mut().unwrap().remove("policy").unwrap();
    assert_eq!(
        details,
        json!({
            "operation": "bulk_delete",
            "danger_level": "dangerous",
            "adapter_trust": "validated",
            "minimum_trust_required": "community_reviewed",
            "reasons": ["Affects multiple resources", "Cannot be undone"],
            "source": "shop",
        })
    );
    assert_eq!(
        decision,
        json!({
            "decision": "deny",
            "decided_by": {
                "kind": "matrix", "danger": "dangerous", "trust": "validated", "cell": "deny", "origin": "published",
                "overruled": false, "words": "the matrix says deny for dangerous operations of validated sources",
            },
            "also": [],
            "to_change": [
                "Review source 'shop', then raise its trust: trust = \"community_reviewed\" beside it in the \
                 configuration, or 'aquifer trust FILE --to community_reviewed --reason …' for its adapter file",
            ],
        })
    );
}

/// The specification's example of a trust level that is too low.
#[test]
fn r_saf_2_insufficient_trust_is_told_as_published() {
    let strict = policy("[trust_policy]\nminimum_trust_for_deletes = \"community_reviewed\"\n");
    let delete = operation("delete_user", Category::Delete, Danger::Destructive, Trust::Validated);
    let failure = decide(&strict, &delete, &json!({})).failure(&delete).unwrap();
    assert_eq!(
        failure.message(),
        "Operation 'delete_user' requires trust level 'community_reviewed', adapter has 'validated'"
    );
    for (key, value) in [
        ("operation", json!("delete_user")),
        ("required_trust", json!("community_reviewed")),
        ("actual_trust", json!("validated")),
        ("danger_level", json!(2)),
    ] {
        assert_eq!(failure.details()[key], value, "{key}");
    }
    let untested = operation("list_users", Category::Read, Danger::Safe, Trust::Untested);
    let failure = decide(&Policy::default(), &untested, &json!({})).failure(&untested).unwrap();
    assert_eq!(failure.message(), "Operation 'list_users' requires trust level 'generated', adapter has 'untested'");
}

/// A rule's denial has the operator's reason where there is one, and otherwise names the rule.
#[test]
fn r_saf_2_a_rules_denial() {
    let create = operation("create_user", Category::Create, Danger::Reversible, Trust::Validated);
    #[rustfmt::skip]
    let table = [
        ("", "Permission denied: rule 1 denies operation 'create_user'"),
        ("name = \"freeze\"\n", "Permission denied: rule 1 'freeze' denies operation 'create_user'"),
        ("reason = \"the shop is closed\"\n", "Permission denied: the shop is closed"),
        // Words that a client would take for a leak stay in the details.
        ("reason = \"nobody at work\"\n", "Permission denied: rule 1 denies operation 'create_user'"),
        ("name = \"look at me\"\n", "Permission denied: a rule denies operation 'create_user'"),
    ];
    for (more, message) in table {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{more}"));
        let failure = decide(&policy, &create, &json!({})).failure(&create).unwrap();
        assert_eq!((failure.code().as_str(), failure.message()), ("PERMISSION_DENIED", message));
        assert_eq!(failure.details()["policy"]["decided_by"]["rule"], 1);
    }
}

/// Settings, the operation's danger and trust, and: who decided, and the beginning of what would have to change.
#[test]
fn r_saf_2_who_decided_and_what_would_have_to_change() {
    use Danger::{Destructive, Forbidden, Reversible};
    use Trust::{Certified, Generated, Untested, Validated};
    const ALLOW: &str = "[[rule]]\nname = \"mine\"\neffect = \"allow\"\noperation = \"*\"\n";
    #[rustfmt::skip]
    let table: &[(&str, Danger, Trust, &str, &[&str])] = &[
        ("", Reversible, Validated, "the matrix says allow for reversible operations of validated sources", &[]),
        ("", Destructive, Validated, "the matrix says confirm for destructive operations of validated sources",
            &["Set matrix.destructive.validated = \"allow\", or write a rule with effect = \"allow\" and loosen = true"]),
        ("", Destructive, Certified, "the matrix says confirm for destructive operations of certified sources, because from destructive on a person is asked",
            &["Set matrix.destructive.certified"]),
        ("", Reversible, Untested, "the matrix says deny for reversible operations of untested sources",
            &["Review source 'shop', then raise its trust: trust = \"validated\""]),
        ("[matrix.forbidden]\ncertified = \"deny\"\n", Forbidden, Certified, "the matrix says deny for forbidden operations of certified sources, as the operator set it",
            &["No trust level is enough"]),
        ("[trust_policy]\nminimum_trust_for_updates = \"certified\"\n", Reversible, Validated,
            "UPDATE operations need a source trusted as 'certified', this one has 'validated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[trust_policy]\nminimum_trust_for_updates = \"validated\"\n", Forbidden, Generated,
            "UPDATE operations need a source trusted as 'validated', this one has 'generated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[trust_policy]\nrequire_confirmation_below = \"certified\"\n", Reversible, Validated,
            "a person is asked for sources trusted less than 'certified', this one has 'validated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[[rule]]\neffect = \"confirm\"\nreason = \"house rule\"\n", Reversible, Validated,
            "rule 1 wants it confirmed: house rule", &["Change rule 1"]),
        (ALLOW, Destructive, Validated, "the matrix says confirm for destructive operations of validated sources",
            &["Set matrix.destructive.validated", "Add loosen = true to rule 1 'mine': a plain allow loosens nothing"]),
        ("[[rule]]\neffect = \"allow\"\noperation = \"*\"\nloosen = true\n", Forbidden, Untested, "rule 1 allows it", &[]),
        ("[[rule]]\neffect = \"confirm\"\noperation = \"*\"\nloosen = true\n", Forbidden, Untested,
            "rule 1 wants it confirmed and no more", &["Change rule 1"]),
        ("[[rule]]\neffect = \"deny\"\n", Forbidden, Untested, "rule 1 denies it",
            &["Change rule 1", "Review source 'shop'"]),
    ];
    for (toml, danger, trust, why, ways) in table {
        let operation = operation("change_it", Category::Update, *danger, *trust);
        let ruling = decide(&policy(toml), &operation, &json!({}));
        assert_eq!(ruling.why(), *why, "{toml}");
        let explained = ruling.explain(&operation);
        assert_eq!(explained["decision"], ruling.effect.as_str());
        assert_eq!(explained["decided_by"]["words"], *why);
        let told = ruling.to_change(&operation);
        assert_eq!(told.len(), ways.len(), "{toml}: {told:?}");
        for (told, begin) in told.iter().zip(*ways) {
            assert!(told.starts_with(begin), "{toml}: {told}");
            assert!(!looks_like_a_leak(told), "{told}");
        }
        for words in [Some(ruling.why()), ruling.failure(&operation).map(|failure| failure.message().to_owned())] {
            assert!(words.is_none_or(|words| !looks_like_a_leak(&words)), "{toml}");
        }
    }
}

/// What a rule loosened is still told.
#[test]
fn r_saf_2_what_was_overruled_is_told() {
    let policy = policy("[[rule]]\neffect = \"allow\"\noperation = \"*\"\nloosen = true\n");
    let mut delete = operation("delete_it", Category::Delete, Danger::Destructive, Trust::Validated);
    delete.safeguards.always_confirm = true;
    let explained = decide(&policy, &delete, &json!({})).explain(&delete);
    assert_eq!(explained["decided_by"]["kind"], "rule");
    let also: Vec<(&str, bool)> = explained["also"]
        .as_array()
        .unwrap()
        .iter()
        .map(|reason| (reason["kind"].as_str().unwrap(), reason["overruled"].as_bool().unwrap()))
        .collect();
    assert_eq!(also, [("matrix", true), ("safeguard", true)]);
}

/// The table of what a caller may do.
#[test]
fn r_saf_2_what_can_my_agent_do() {
    let surface = Surface::default();
    let operations = [
        operation("list_orders", Category::Read, Danger::Safe, Trust::Generated),
        operation("create_order", Category::Create, Danger::Reversible, Trust::Generated),
        operation("delete_order", Category::Delete, Danger::Destructive, Trust::Validated),
    ];
    let catalog = Catalog::build(operations, Types::new(), &surface).unwrap();
    let policy = policy("[[rule]]\nname = \"bob\"\neffect = \"deny\"\ncaller = \"bob\"\noperation = \"list_*\"\n");
    let shown = |principal: &str| -> Vec<(String, &'static str, Option<String>)> {
        let line = |line: PolicyLine| {
            assert!(!line.why.is_empty());
            (line.operation.to_string(), line.decision, line.strength.map(|strength| strength.to_string()))
        };
        policy.show(&catalog, &caller(principal), &[]).into_iter().map(line).collect()
    };
    let mut expected = [
        ("create_order".to_owned(), "deny", None),
        ("delete_order".to_owned(), "confirm", Some("elicit, else token".to_owned())),
        ("list_orders".to_owned(), "allow", None),
        ("introspect".to_owned(), "allow", None),
    ];
    assert_eq!(shown("alice"), expected);
    expected[2].1 = "deny";
    assert_eq!(shown("bob"), expected);
    let line = &policy.show(&catalog, &caller(""), &[])[1];
    assert_eq!(
        serde_json::to_value(line).unwrap(),
        json!({
            "operation": "delete_order", "source": "shop", "category": "DELETE", "danger": "destructive",
            "trust": "validated", "decision": "confirm", "strength": { "interactive": "elicit", "otherwise": "token" },
            "why": "the matrix says confirm for destructive operations of validated sources",
        })
    );
}
