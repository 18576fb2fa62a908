//! Every decision names its reason and how to change it.

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

/// The specification's details of a denied danger level, with a readable message.
#[test]
fn r_saf_2_a_denied_danger_level_is_reported_as_specified() {
    let mut bulk = operation("bulk_delete", Category::Delete, Danger::Dangerous, Trust::Validated);
    bulk.safety.safeguards.reasons = vec!["Affects multiple resources".into(), "Cannot be undone".into()];
    let decision = decide(&Policy::default(), &bulk, &json!({}));
    let failure = decision.failure(&bulk).unwrap();
    let reason =
        "This affects a lot of data or skips a safety check, and the source 'shop' is not trusted enough for this";
    assert_eq!(failure.message(), format!("Permission denied: {reason}"));
    assert_eq!(
        Value::Object(failure.details().clone()),
        json!({
            "operation": "bulk_delete",
            "danger_level": "dangerous",
            "adapter_trust": "validated",
            "minimum_trust_required": "community_reviewed",
            "reasons": ["Affects multiple resources", "Cannot be undone"],
            "source": "shop",
            "policy": { "decision": "deny", "reason": reason },
        })
    );
    // Operators get the full explanation.
    assert_eq!(
        decision.explain(&bulk, None),
        json!({
            "decision": "deny",
            "decided_by": {
                "kind": "matrix", "danger": "dangerous", "trust": "validated", "cell": "deny", "origin": "published",
                "overruled": false, "words": "dangerous operations of a source trusted as 'validated' do not run",
            },
            "also": [],
            "to_change": [
                "Review source 'shop', then raise its trust: trust = \"community_reviewed\" beside it in the \
                 configuration, or 'aquifer trust FILE --to community_reviewed --reason …' for its adapter file",
            ],
        })
    );
}

/// The specification's details of a trust level that is too low.
#[test]
fn r_saf_2_insufficient_trust_is_reported_as_specified() {
    let strict = policy("[trust_policy]\nminimum_trust_for_deletes = \"community_reviewed\"\n");
    let delete = operation("delete_user", Category::Delete, Danger::Destructive, Trust::Validated);
    let failure = decide(&strict, &delete, &json!({})).failure(&delete).unwrap();
    assert_eq!(failure.message(), "Permission denied: The source 'shop' is not trusted enough for this");
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
    assert_eq!(failure.code().as_str(), "PERMISSION_TRUST_LEVEL_INSUFFICIENT");
    assert_eq!(failure.message(), "Permission denied: The source 'shop' is not trusted enough for this");
}

/// A rule's denial names the rule and the operator's reason.
#[test]
fn r_saf_2_a_rules_denial() {
    let create = operation("create_user", Category::Create, Danger::Reversible, Trust::Validated);
    #[rustfmt::skip]
    let table = [
        ("", "An operator's rule does not allow this"),
        ("name = \"freeze\"\n", "The operator's rule 'freeze' does not allow this"),
        ("reason = \"the shop is closed\"\n", "An operator's rule does not allow this: the shop is closed"),
        ("name = \"no customers\"\nreason = \"Customers are changed in the CRM\"\n",
            "The operator's rule 'no customers' does not allow this: Customers are changed in the CRM"),
        // Text that a client would take for a leak is only shown to the operator.
        ("reason = \"nobody at work\"\n", "An operator's rule does not allow this"),
        ("name = \"look at me\"\n", "An operator's rule does not allow this"),
    ];
    for (more, reason) in table {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{more}"));
        let decision = decide(&policy, &create, &json!({}));
        let failure = decision.failure(&create).unwrap();
        let message = format!("Permission denied: {reason}");
        assert_eq!((failure.code().as_str(), failure.message()), ("PERMISSION_DENIED", message.as_str()));
        assert_eq!(failure.details()["policy"], json!({ "decision": "deny", "reason": reason }));
        assert_eq!(decision.explain(&create, None)["decided_by"]["rule"], 1);
    }
}

/// The messages for callers and confirming people, for every kind of reason. None says what an operator could change.
#[test]
fn r_saf_2_callers_learn_why_but_not_how_to_change_it() {
    use Category::{Create, Delete, Execute, Read, Update};
    use Danger::{Dangerous, Destructive, Forbidden, Reversible, Safe};
    use Trust::{Certified, Generated, Untested, Validated};
    const NONE: &str = "";
    const RULE: &str = "[[rule]]\nname = \"large\"\neffect = \"confirm\"\nreason = \"More than usual\"\n";
    const LOOSE: &str = "[[rule]]\neffect = \"confirm\"\noperation = \"*\"\nloosen = true\n";
    const ALLOW: &str = "[[rule]]\neffect = \"allow\"\noperation = \"*\"\n";
    const OWN: &str = "[matrix.forbidden]\ncertified = \"deny\"\n[matrix.safe]\nvalidated = \"confirm\"\n";
    const BELOW: &str = "[trust_policy]\nrequire_confirmation_below = \"certified\"\n";
    const MINIMUM: &str = "[trust_policy]\nminimum_trust_for_writes = \"certified\"\n";
    let enough = "and the source 'shop' is not trusted enough for this";
    let confirm = "so a person has to confirm it";
    #[rustfmt::skip]
    let table = [
        (NONE, Delete, Destructive, Validated, format!("This deletes data, {confirm}")),
        (NONE, Update, Destructive, Validated, format!("This may delete or overwrite data, {confirm}")),
        (NONE, Delete, Dangerous, Certified, format!("This affects a lot of data or skips a safety check, {confirm}")),
        (NONE, Execute, Forbidden, Certified, format!("This can destroy everything, {confirm}")),
        (NONE, Create, Reversible, Generated, format!("This adds data, {enough}")),
        (NONE, Update, Reversible, Generated, format!("This changes data, {enough}")),
        (NONE, Delete, Destructive, Untested, format!("This deletes data, {enough}")),
        (NONE, Read, Safe, Untested, "The source 'shop' is not trusted enough for this".to_owned()),
        (OWN, Execute, Forbidden, Certified, "This can destroy everything, which is not allowed here".to_owned()),
        (OWN, Read, Safe, Validated, format!("This only reads, {confirm}")),
        (ALLOW, Delete, Destructive, Validated, format!("This deletes data, {confirm}")),
        (RULE, Read, Safe, Validated, "The operator's rule 'large' requires a person to confirm this: More than usual".to_owned()),
        (LOOSE, Delete, Forbidden, Untested, "An operator's rule requires a person to confirm this".to_owned()),
        (BELOW, Read, Safe, Validated, "The source 'shop' is not fully trusted, so a person has to confirm this".to_owned()),
        (MINIMUM, Update, Reversible, Validated, "The source 'shop' is not trusted enough for this".to_owned()),
    ];
    for (toml, category, danger, trust, expected) in table {
        let operation = operation("do_it", category, danger, trust);
        let decision = decide(&policy(toml), &operation, &json!({}));
        assert_ne!(decision.effect.as_str(), "allow", "{toml} {danger}");
        let explanation = decision.reason_for_caller();
        assert_eq!(explanation, expected, "{toml} {danger} {trust}");
        let mut all = format!("{explanation} {}", decision.for_caller());
        if let Some(failure) = decision.failure(&operation) {
            all.push_str(failure.message());
            all.push_str(&failure.details()["policy"].to_string());
        }
        for taught in
            ["loosen", "matrix", "effect", "to_change", "trust =", "[gate", ".toml", "aquifer trust", "rule 1"]
        {
            assert!(!all.contains(taught), "{all} teaches {taught}");
        }
        assert!(!looks_like_a_leak(&explanation), "{explanation}");
    }
    let mut asked_for = operation("export_all", Read, Safe, Certified);
    asked_for.safety.safeguards.always_confirm = true;
    let explanation = decide(&Policy::default(), &asked_for, &json!({})).reason_for_caller();
    assert_eq!(explanation, "The source 'shop' requires a person to confirm this");
}

/// Settings, the operation's danger and trust, the reason, and the beginning of what could be changed.
#[test]
fn r_saf_2_explanations_name_the_reason_and_how_to_change_it() {
    use Danger::{Destructive, Forbidden, Reversible};
    use Trust::{Accepted, Certified, Generated, Untested, Validated};
    const ALLOW: &str = "[[rule]]\nname = \"mine\"\neffect = \"allow\"\noperation = \"*\"\n";
    #[rustfmt::skip]
    let table: &[(&str, Danger, Trust, &str, &[&str])] = &[
        ("", Reversible, Validated, "reversible operations of a source trusted as 'validated' run", &[]),
        ("", Destructive, Validated, "destructive operations of a source trusted as 'validated' need confirmation",
            &["Set matrix.destructive.validated = \"allow\", or write a rule with effect = \"allow\" and loosen = true"]),
        ("", Destructive, Certified, "destructive operations of a source trusted as 'certified' need confirmation, whatever its trust level",
            &["Set matrix.destructive.certified"]),
        ("", Reversible, Untested, "reversible operations of a source trusted as 'untested' do not run",
            &["Review source 'shop', then raise its trust: trust = \"accepted\""]),
        ("[trust_policy]\nminimum_trust_for_updates = \"validated\"\n", Reversible, Accepted,
            "UPDATE needs a source trusted as 'validated', this one is 'accepted'",
            &["Test source 'shop': 'aquifer conformance SOURCE --allow-writes'"]),
        ("[matrix.forbidden]\ncertified = \"deny\"\n", Forbidden, Certified, "forbidden operations of a source trusted as 'certified' do not run, as set in the configuration",
            &["No trust level is enough"]),
        ("[trust_policy]\nminimum_trust_for_updates = \"certified\"\n", Reversible, Validated,
            "UPDATE needs a source trusted as 'certified', this one is 'validated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[trust_policy]\nminimum_trust_for_updates = \"validated\"\n", Forbidden, Generated,
            "UPDATE needs a source trusted as 'validated', this one is 'generated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[trust_policy]\nrequire_confirmation_below = \"certified\"\n", Reversible, Validated,
            "sources trusted less than 'certified' need confirmation, this one is 'validated'",
            &["Review source 'shop', then raise its trust: trust = \"certified\""]),
        ("[[rule]]\neffect = \"confirm\"\nreason = \"house rule\"\n", Reversible, Validated,
            "rule 1 requires confirmation: house rule", &["Change rule 1"]),
        (ALLOW, Destructive, Validated, "destructive operations of a source trusted as 'validated' need confirmation",
            &["Set matrix.destructive.validated", "Add loosen = true to rule 1 'mine': a plain allow loosens nothing"]),
        ("[[rule]]\neffect = \"allow\"\noperation = \"*\"\nloosen = true\n", Forbidden, Untested, "rule 1 allows it", &[]),
        ("[[rule]]\neffect = \"confirm\"\noperation = \"*\"\nloosen = true\n", Forbidden, Untested,
            "rule 1 requires confirmation and nothing more", &["Change rule 1"]),
        ("[[rule]]\neffect = \"deny\"\n", Forbidden, Untested, "rule 1 denies it",
            &["Change rule 1", "Review source 'shop'"]),
    ];
    for (toml, danger, trust, why, ways) in table {
        let operation = operation("change_it", Category::Update, *danger, *trust);
        let decision = decide(&policy(toml), &operation, &json!({}));
        assert_eq!(decision.explanation(), *why, "{toml}");
        let explained = decision.explain(&operation, None);
        assert_eq!(explained["decision"], decision.effect.as_str());
        assert_eq!(explained["decided_by"]["words"], *why);
        let explanation = decision.to_change(&operation);
        assert_eq!(explanation.len(), ways.len(), "{toml}: {explanation:?}");
        for (explanation, begin) in explanation.iter().zip(*ways) {
            assert!(explanation.starts_with(begin), "{toml}: {explanation}");
        }
        let message = decision.failure(&operation).map(|failure| failure.message().to_owned());
        assert!(message.is_none_or(|words| !looks_like_a_leak(&words)), "{toml}");
    }
}

/// Reasons that a rule overruled are still listed.
#[test]
fn r_saf_2_overruled_reasons_are_reported() {
    let policy = policy("[[rule]]\neffect = \"allow\"\noperation = \"*\"\nloosen = true\n");
    let mut delete = operation("delete_it", Category::Delete, Danger::Destructive, Trust::Validated);
    delete.safety.safeguards.always_confirm = true;
    let explained = decide(&policy, &delete, &json!({})).explain(&delete, None);
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
fn r_saf_2_policy_lists_what_a_caller_can_do() {
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
        policy.describe_operations(&catalog, &caller(principal), &[]).into_iter().map(line).collect()
    };
    let mut expected = [
        ("create_order".to_owned(), "deny", None),
        ("delete_order".to_owned(), "confirm", Some("elicit, else approval".to_owned())),
        ("list_orders".to_owned(), "allow", None),
        ("introspect".to_owned(), "allow", None),
    ];
    assert_eq!(shown("alice"), expected);
    expected[2].1 = "deny";
    assert_eq!(shown("bob"), expected);
    let line = &policy.describe_operations(&catalog, &caller(""), &[])[1];
    assert_eq!(
        serde_json::to_value(line).unwrap(),
        json!({
            "operation": "delete_order", "source": "shop", "category": "DELETE", "danger": "destructive",
            "trust": "validated", "decision": "confirm", "strength": { "interactive": "elicit", "otherwise": "approval" },
            "evidence": "it deletes data",
            "effects": [{ "effect": "removes", "evidence": "it removes data" }],
            "why": "destructive operations of a source trusted as 'validated' need confirmation",
        })
    );
}
