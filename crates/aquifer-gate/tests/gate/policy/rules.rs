//! Rules: whom and what they concern, that the most restrictive wins, and that only a marked one loosens.

use aquifer_engine::Caller;
use aquifer_gate::policy::{Effect, Policy, Strength, Subject};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation};
use aquifer_protocol::trust::Trust;
use serde_json::{Value, json};

use super::{caller, decide, decide_for, operation, policy};

/// A rule's selectors, and its effect on `delete_order` (DELETE, destructive, validated) of source `shop`.
#[test]
fn r_saf_2_selectors() {
    #[rustfmt::skip]
    let table = [
        ("", true),
        ("operation = \"delete_*\"", true), ("operation = \"create_*\"", false),
        ("operation = [\"create_*\", \"*_order\"]", true), ("operation = [\"*\", \"!delete_*\"]", false),
        ("operation = \"!create_*\"", true), ("operation = \"delete_orde?\"", true),
        ("source = \"shop\"", true), ("source = \"sh*\"", true), ("source = \"Shop\"", true), ("source = \"!shop\"", false),
        ("category = \"DELETE\"", true), ("category = \"delete\"", true), ("category = [\"READ\", \"UPDATE\"]", false),
        ("category = \"!read\"", true),
        ("danger = \"destructive\"", true), ("danger = \"destructive+\"", true), ("danger = \"reversible+\"", true),
        ("danger = \"dangerous+\"", false), ("danger = [\"safe\", \"forbidden\"]", false), ("danger = \"!dangerous+\"", true),
        ("danger = \"*\"", true),
        ("caller = \"alice\"", true), ("caller = \"a*\"", true), ("caller = \"bob\"", false), ("caller = \"!alice\"", false),
        ("caller = \"?*\"", true), ("caller = \"!?*\"", false),
        ("scope = \"orders:write\"", true), ("scope = \"orders:*\"", true), ("scope = \"admin\"", false),
        ("scope = \"!admin\"", true), ("scope = \"!orders:*\"", false),
        ("source = \"shop\"\noperation = \"delete_*\"\ncaller = \"alice\"\nscope = \"!admin\"\ndanger = \"destructive+\"", true),
        ("source = \"shop\"\noperation = \"delete_*\"\ncaller = \"bob\"", false),
    ];
    let delete = operation("delete_order", Category::Delete, Danger::Destructive, Trust::Validated);
    for (selector, applies) in table {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{selector}\n"));
        let decision = decide_for(&policy, &delete, "alice", &["orders:read", "orders:write"], &json!({}));
        let expected = if applies { "deny" } else { "confirm" };
        assert_eq!(decision.effect.as_str(), expected, "{selector}");
    }
}

/// Unauthenticated callers have an empty name and no scope: `*` matches them, `?*` does not.
#[test]
fn r_saf_2_rules_match_unauthenticated_callers() {
    let read = operation("get_order", Category::Read, Danger::Safe, Trust::Validated);
    for (selector, nobody) in [
        ("caller = \"*\"", true),
        ("caller = \"?*\"", false),
        ("caller = \"!?*\"", true),
        ("scope = \"*\"", true),
        ("scope = \"?*\"", false),
        ("scope = \"!admin\"", true),
    ] {
        let policy = policy(&format!("[[rule]]\neffect = \"deny\"\n{selector}\n"));
        let effect = decide(&policy, &read, &json!({})).effect;
        assert_eq!(effect.as_str(), if nobody { "deny" } else { "allow" }, "{selector}");
    }
}

/// Rules as written in a file, and the decision for a danger and a trust level.
#[test]
fn r_saf_2_the_most_restrictive_wins_and_only_loosen_loosens() {
    const ALLOW: &str = "[[rule]]\neffect = \"allow\"\noperation = \"*\"\n";
    const LOOSE: &str = "[[rule]]\neffect = \"allow\"\noperation = \"*\"\nloosen = true\n";
    const LOOSE_CONFIRM: &str = "[[rule]]\neffect = \"confirm\"\noperation = \"*\"\nloosen = true\n";
    const CONFIRM: &str = "[[rule]]\neffect = \"confirm\"\n";
    const DENY: &str = "[[rule]]\neffect = \"deny\"\n";
    const MINIMUM: &str = "[trust_policy]\nminimum_trust_for_writes = \"certified\"\n";
    const BELOW: &str = "[trust_policy]\nrequire_confirmation_below = \"certified\"\n";
    use Danger::{Destructive, Forbidden, Reversible};
    #[rustfmt::skip]
    let table: &[(&[&str], Danger, &str)] = &[
        (&[], Reversible, "allow"),
        (&[ALLOW], Reversible, "allow"),
        (&[CONFIRM], Reversible, "confirm"),
        (&[DENY], Reversible, "deny"),
        (&[ALLOW, CONFIRM], Reversible, "confirm"),
        (&[DENY, ALLOW], Reversible, "deny"),
        (&[ALLOW], Destructive, "confirm"),
        (&[ALLOW], Forbidden, "deny"),
        (&[CONFIRM], Forbidden, "deny"),
        (&[LOOSE], Destructive, "allow"),
        (&[LOOSE], Forbidden, "allow"),
        (&[LOOSE_CONFIRM], Forbidden, "confirm"),
        (&[LOOSE_CONFIRM], Reversible, "confirm"),
        (&[LOOSE, LOOSE_CONFIRM], Forbidden, "confirm"),
        // Other settings of the operator are not undone.
        (&[LOOSE, CONFIRM], Forbidden, "confirm"),
        (&[LOOSE, DENY], Destructive, "deny"),
        (&[LOOSE, MINIMUM], Destructive, "deny"),
        (&[LOOSE, BELOW], Destructive, "confirm"),
    ];
    for (rules, danger, expected) in table {
        let operation = operation("change_it", Category::Update, *danger, Trust::Validated);
        let found = decide(&policy(&rules.concat()), &operation, &json!({})).effect;
        assert_eq!(found.as_str(), *expected, "{danger}: {rules:?}");
    }
}

#[test]
fn r_saf_2_a_source_can_require_confirmation_and_only_the_operator_waives_it() {
    let mut read = operation("export_all", Category::Read, Danger::Safe, Trust::Certified);
    read.safety.safeguards.always_confirm = true;
    let effect = |toml: &str| decide(&policy(toml), &read, &json!({})).effect.as_str();
    assert_eq!(effect(""), "confirm");
    assert_eq!(effect("[[rule]]\neffect = \"allow\"\nsource = \"shop\"\n"), "confirm");
    assert_eq!(effect("[matrix.safe]\ncertified = \"allow\"\n"), "confirm", "a cell is not about the source's wish");
    assert_eq!(effect("[[rule]]\neffect = \"allow\"\nsource = \"shop\"\nloosen = true\n"), "allow");
}

/// The strength by danger and settings: for a client that can ask, and for one that cannot.
#[test]
fn r_saf_3_strengths() {
    use Danger::{Dangerous, Destructive, Forbidden, Reversible};
    use Strength::{Approval, Elicit, Token};
    let rule = |more: &str| format!("[[rule]]\neffect = \"confirm\"\noperation = \"*\"\n{more}\n");
    let (plain, token, elicit, approval) =
        (rule(""), rule("strength = \"token\""), rule("strength = \"elicit\""), rule("strength = \"approval\""));
    let loose = rule("strength = \"token\"\nloosen = true");
    let lenient = "model_confirms = true\n".to_owned();
    let set = |level: &str| format!("[strength]\ndestructive = \"{level}\"\n");
    #[rustfmt::skip]
    let table = [
        (String::new(), Destructive, Elicit, Approval),
        (String::new(), Dangerous, Elicit, Approval),
        (String::new(), Forbidden, Elicit, Approval),
        (plain.clone(), Reversible, Elicit, Approval),
        (token.clone(), Destructive, Elicit, Approval),
        (lenient.clone(), Destructive, Elicit, Token),
        (lenient.clone(), Dangerous, Elicit, Approval),
        (lenient.clone() + &plain, Reversible, Elicit, Token),
        (lenient.clone() + &elicit, Destructive, Elicit, Approval),
        (elicit.clone(), Destructive, Elicit, Approval),
        (approval.clone(), Destructive, Approval, Approval),
        (set("token"), Destructive, Token, Token),
        (set("elicit"), Destructive, Elicit, Approval),
        (set("approval"), Destructive, Approval, Approval),
        // A rule does not weaken the strength that is set for the danger, unless it loosens.
        (set("approval") + &token, Destructive, Approval, Approval),
        (set("approval") + &loose, Destructive, Token, Token),
        (loose.clone(), Forbidden, Token, Token),
        (loose.clone() + &approval, Forbidden, Approval, Approval),
        (token + &approval, Destructive, Approval, Approval),
    ];
    for (toml, danger, interactive, otherwise) in table {
        let operation = operation("change_it", Category::Update, danger, Trust::Certified);
        let Effect::Confirm(asking) = decide(&policy(&toml), &operation, &json!({})).effect else {
            panic!("{danger} is not asked for with\n{toml}");
        };
        assert_eq!((asking.for_client(true), asking.for_client(false)), (interactive, otherwise), "{danger}\n{toml}");
    }
}

/// A compiled decision equals a fresh one, and is not used for a changed operation.
#[test]
fn r_saf_2_compiled_decisions_are_those_of_the_whole_policy() {
    let policy = policy(
        "[[rule]]\neffect = \"confirm\"\nsource = \"shop\"\n[[rule]]\neffect = \"deny\"\ncaller = \"bob\"\n\
         [[rule]]\neffect = \"deny\"\nwhen = [{ param = \"count\", greater = 10 }]\n",
    );
    let create = operation("create_order", Category::Create, Danger::Reversible, Trust::Validated);
    let compiled = policy.compile(&create);
    for (principal, params, expected) in [
        ("alice", json!({}), "confirm"),
        ("alice", json!({ "count": 10 }), "confirm"),
        ("alice", json!({ "count": 11 }), "deny"),
        ("bob", json!({}), "deny"),
    ] {
        let caller = caller(principal);
        let subject =
            Subject { operation: &create, caller: &caller, scopes: &[], params: params.as_object(), types: None };
        assert_eq!(compiled.decide(&subject).effect.as_str(), expected, "{principal} {params}");
        assert_eq!(policy.decide(&subject).effect, compiled.decide(&subject).effect);
    }
    assert!(compiled.matches(&create.clone()));
    let changes: [fn(&mut aquifer_protocol::operation::Operation); 9] = [
        |operation| operation.name = "x".into(),
        |operation| operation.origin.source = "x".into(),
        |operation| operation.category = Category::Delete,
        |operation| operation.safety.danger = Danger::Forbidden,
        |operation| operation.origin.trust = Trust::Untested,
        |operation| operation.safety.safeguards.always_confirm = true,
        |operation| operation.origin.own_name = "make_order".into(),
        |operation| operation.origin.backing = Backing::Table("orders".into()),
        |operation| operation.safety.quarantine = Some("its definition changed".into()),
    ];
    for change in changes {
        let mut other = create.clone();
        change(&mut other);
        assert!(!compiled.matches(&other));
    }
}

/// Without a rule about the call, the compiled decision is returned as is.
#[test]
fn r_saf_2_a_settled_decision_is_made_once() {
    let policy = policy("[[rule]]\neffect = \"confirm\"\noperation = \"delete_*\"\n");
    let read = operation("get_order", Category::Read, Danger::Safe, Trust::Validated);
    let compiled = policy.compile(&read);
    let caller = caller("");
    let params = json!({ "id": 1 });
    let subject = Subject { operation: &read, caller: &caller, scopes: &[], params: params.as_object(), types: None };
    assert!(std::sync::Arc::ptr_eq(&compiled.decide(&subject), &compiled.decide(&subject)));
    assert_eq!(decide(&Policy::default(), &read, &Value::Null).effect, Effect::Allow);
}

/// Rules about what operations do, and the default of each kind of rule in doubt.
#[test]
fn r_dis_4b_rules_select_operations_by_what_they_do() {
    use aquifer_protocol::effect::{Effect as OperationEffect, Effects};
    let doing = |effects: &[OperationEffect]| {
        let mut operation = Operation::new("move_it", Category::Execute, "Moves it");
        for effect in effects {
            operation.safety.effects.merge(Effects::only(*effect, "a test says so"));
        }
        operation.safety.danger = Danger::Destructive;
        operation.origin.trust = Trust::Validated;
        operation.origin.source = "bank".into();
        operation
    };
    let decided = |rule: &str, effects: &[OperationEffect]| {
        let settings = toml::from_str(rule).unwrap();
        let operation = doing(effects);
        let subject =
            Subject { operation: &operation, caller: &Caller::anonymous(), scopes: &[], params: None, types: None };
        Policy::new(&settings).unwrap().decide(&subject).effect.as_str()
    };
    use OperationEffect::{Adds, Pays, Reads, Sends};
    let deny = "[[rule]]\neffect = \"deny\"\ndoes = [\"pays\", \"sends\"]\n";
    for (effects, expected) in [(&[Pays][..], "deny"), (&[Adds, Sends], "deny"), (&[Adds], "confirm"), (&[], "confirm")]
    {
        assert_eq!(decided(deny, effects), expected, "{effects:?}");
    }
    let allow = "[[rule]]\neffect = \"allow\"\nloosen = true\nsource = \"bank\"\ndoes = [\"reads\", \"sends\"]\n";
    for (effects, expected) in
        [(&[Sends][..], "allow"), (&[Reads, Sends], "allow"), (&[Sends, Pays], "confirm"), (&[], "confirm")]
    {
        assert_eq!(decided(allow, effects), expected, "{effects:?}");
    }
    let typo = toml::from_str("[[rule]]\neffect = \"deny\"\ndoes = [\"payss\"]\n").unwrap();
    assert!(Policy::new(&typo).unwrap_err().to_string().contains("pays"), "a mistake is reported");
}
