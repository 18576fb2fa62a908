//! Properties of all settings and all calls.

use std::collections::BTreeMap;
use std::sync::Arc;

use aquifer_gate::policy::{
    Cell, ConditionSettings, Effect, PatternList, Policy, PolicySettings, RuleEffect, RuleSettings, Strength, Subject,
    TrustPolicySettings,
};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::Operation;
use aquifer_protocol::trust::Trust;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use super::{caller, operation};

fn words(from: &'static [&'static str]) -> impl Strategy<Value = PatternList> {
    prop_oneof![
        2 => Just(PatternList::default()),
        3 => proptest::collection::vec(select(from), 1..3)
            .prop_map(|words| PatternList(words.into_iter().map(str::to_owned).collect())),
    ]
}

fn strength() -> impl Strategy<Value = Strength> {
    select(&[Strength::Token, Strength::Elicit, Strength::Approval][..])
}

fn condition() -> impl Strategy<Value = ConditionSettings> {
    let tests = prop_oneof![
        (0..3_i64).prop_map(|n| ConditionSettings { equals: Some(json!(n)), ..ConditionSettings::default() }),
        (0..3_i32).prop_map(|n| ConditionSettings { greater: Some(n.into()), ..ConditionSettings::default() }),
        select(&["1*", "a?", "*"][..])
            .prop_map(|glob| ConditionSettings { matches: Some(glob.into()), ..ConditionSettings::default() }),
        any::<bool>().prop_map(|is| ConditionSettings { present: Some(is), ..ConditionSettings::default() }),
    ];
    (tests, select(&["a", "b.c"][..]), any::<bool>()).prop_map(|(test, param, not)| ConditionSettings {
        param: param.to_owned(),
        not,
        ..test
    })
}

fn rule(loosens: impl Strategy<Value = bool>) -> impl Strategy<Value = RuleSettings> {
    let effects = select(&[RuleEffect::Allow, RuleEffect::Confirm, RuleEffect::Deny][..]);
    let names = (words(&["shop", "!shop", "s*"]), words(&["a_*", "b_x", "!a_x"]));
    let callers = (words(&["alice", "!alice", "?*"]), words(&["admin", "!admin"]));
    let dangers = words(&["safe", "destructive+", "!forbidden"]);
    let when = proptest::collection::vec(condition(), 0..2);
    let rest = (effects, loosens, proptest::option::of(strength()));
    (rest, names, callers, dangers, when).prop_map(|(rest, names, callers, danger, when)| {
        let (effect, loosen, strength) = rest;
        let loosen = loosen && effect != RuleEffect::Deny;
        let mut rule = RuleSettings::new(effect);
        (rule.source, rule.operation) = names;
        (rule.caller, rule.scope) = callers;
        (rule.danger, rule.when, rule.loosen) = (danger, when, loosen);
        rule.strength = strength.filter(|_| effect == RuleEffect::Confirm);
        if loosen {
            rule.category = "*".into();
        }
        rule
    })
}

fn settings() -> impl Strategy<Value = PolicySettings> {
    let trust = || proptest::option::of(select(&Trust::ALL[..]).prop_map(|trust| trust.as_str().to_owned()));
    let cells = proptest::collection::vec(
        (
            select(&Danger::ALL[..]),
            select(&Trust::ALL[..]),
            select(&[Cell::Allow, Cell::Confirm, Cell::Deny, Cell::IntrospectOnly][..]),
        ),
        0..3,
    );
    let strengths = proptest::collection::btree_map(
        select(&Danger::ALL[..]).prop_map(|danger| danger.as_str().to_owned()),
        strength(),
        0..2,
    );
    let rules = proptest::collection::vec(rule(any::<bool>()), 0..5);
    (rules, cells, strengths, trust(), trust()).prop_map(|(rule, cells, strength, writes, below)| {
        let mut matrix: BTreeMap<String, BTreeMap<String, Cell>> = BTreeMap::new();
        for (danger, trust, cell) in cells {
            matrix.entry(danger.as_str().to_owned()).or_default().insert(trust.as_str().to_owned(), cell);
        }
        let trust_policy = TrustPolicySettings {
            minimum_trust_for_writes: writes,
            require_confirmation_below: below,
            ..TrustPolicySettings::default()
        };
        PolicySettings { matrix, trust_policy, strength, rule, ..PolicySettings::default() }
    })
}

/// A call: operation, caller, scopes, parameters.
type PolicyInput = (Operation, &'static str, Vec<Arc<str>>, Value);

fn policy_input() -> impl Strategy<Value = PolicyInput> {
    let operations = (
        select(&["a_x", "a_y", "b_x"][..]),
        select(&Category::ALL[..]),
        select(&Danger::ALL[..]),
        select(&Trust::ALL[..]),
        any::<bool>(),
    )
        .prop_map(|(name, category, danger, trust, always_confirm)| {
            let mut operation = operation(name, category, danger, trust);
            operation.safety.safeguards.always_confirm = always_confirm;
            operation
        });
    let scopes = proptest::collection::vec(select(&["admin", "read"][..]).prop_map(Arc::from), 0..2);
    let params = select(vec![json!({}), json!({ "a": 1 }), json!({ "a": ["ab", 2] }), json!({ "b": { "c": 0 } })]);
    (operations, select(&["", "alice", "bob"][..]), scopes, params)
}

fn effect(policy: &Policy, (operation, principal, scopes, params): &PolicyInput) -> Effect {
    let caller = caller(principal);
    let subject = Subject { operation, caller: &caller, scopes, params: params.as_object(), types: None };
    let decision = policy.decide(&subject);
    // Every decision can be explained, and is a failure if and only if it is a denial.
    assert_eq!(decision.explain(operation, None)["decision"], decision.effect.as_str());
    assert_eq!(decision.failure(operation).is_some(), matches!(decision.effect, Effect::Deny(_)));
    assert!(!decision.reasons.is_empty());
    decision.effect
}

/// Whether the second is as restrictive as the first, including its strength.
fn is_no_looser(before: Effect, after: Effect) -> bool {
    match (before, after) {
        (Effect::Confirm(before), Effect::Confirm(after)) => {
            after.interactive >= before.interactive && after.otherwise >= before.otherwise
        }
        (before, after) => after.severity() >= before.severity(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn r_saf_2_a_rule_that_is_not_marked_never_loosens(
        settings in settings(), more in rule(Just(false)), place in any::<prop::sample::Index>(), asked in policy_input(),
    ) {
        let before = Policy::new(&settings).unwrap();
        let mut settings = settings;
        let place = place.index(settings.rule.len() + 1);
        settings.rule.insert(place, more);
        let after = Policy::new(&settings).unwrap();
        let (before, after) = (effect(&before, &asked), effect(&after, &asked));
        prop_assert!(is_no_looser(before, after), "{before:?} became {after:?}");
    }

    #[test]
    fn r_saf_2_without_loosening_nothing_is_below_the_default(settings in settings(), asked in policy_input()) {
        let mut settings = settings;
        settings.matrix.clear();
        settings.strength.clear();
        settings.rule.iter_mut().for_each(|rule| rule.loosen = false);
        let (default, own) = (effect(&Policy::default(), &asked), effect(&Policy::new(&settings).unwrap(), &asked));
        prop_assert!(is_no_looser(default, own), "{default:?} became {own:?}");
    }

    #[test]
    fn r_saf_2_the_order_of_rules_does_not_matter(settings in settings(), asked in policy_input()) {
        let forwards = effect(&Policy::new(&settings).unwrap(), &asked);
        let mut settings = settings;
        settings.rule.reverse();
        prop_assert_eq!(forwards, effect(&Policy::new(&settings).unwrap(), &asked));
    }

    /// An operator's denial stands, whatever else is configured.
    #[test]
    fn r_saf_2_a_rules_denial_is_never_undone(settings in settings(), asked in policy_input()) {
        let mut settings = settings;
        settings.rule.push(RuleSettings::new(RuleEffect::Deny));
        prop_assert!(matches!(effect(&Policy::new(&settings).unwrap(), &asked), Effect::Deny(_)));
    }

    #[test]
    fn r_saf_2_more_trust_is_never_worse_by_default(asked in policy_input()) {
        let policy = Policy::default();
        let mut asked = asked;
        asked.0.safety.safeguards.always_confirm = false;
        let severities: Vec<_> = Trust::ALL.into_iter().map(|trust| {
            asked.0.origin.trust = trust;
            effect(&policy, &asked).severity()
        }).collect();
        prop_assert!(severities.is_sorted_by(|less, more| less >= more), "{severities:?}");
    }
}
