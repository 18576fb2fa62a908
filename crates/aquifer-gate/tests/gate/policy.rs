//! Policy: the matrix, the patterns, rules, strengths and explanations (R-SAF-1, R-SAF-2).

mod addresses;
mod conditions;
mod explanations;
mod hidden_names;
mod identity;
mod laws;
mod rules;
mod settings;
mod spelling;
mod unused;

use std::sync::Arc;

use aquifer_engine::Caller;
use aquifer_gate::policy::{Cell, Effect, Policy, PolicyDecision, PolicySettings, Subject, matrix};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::{Danger, NamePosition, PATTERNS};
use aquifer_protocol::operation::{Operation, RESERVED};
use aquifer_protocol::trust::Trust;
use serde_json::Value;

/// The policy of this configuration.
pub(crate) fn policy(toml: &str) -> Policy {
    let settings: PolicySettings = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    Policy::new(&settings).unwrap_or_else(|error| panic!("{error}\n{toml}"))
}

pub(crate) fn operation(name: &str, category: Category, danger: Danger, trust: Trust) -> Operation {
    let mut operation = Operation::new(name, category, "Does it.");
    operation.safety.danger = danger;
    operation.origin.trust = trust;
    operation.origin.source = "shop".into();
    operation
}

pub(crate) fn caller(principal: &str) -> Caller {
    Caller { principal: (!principal.is_empty()).then(|| principal.into()), session: None }
}

/// The decision about a call with these parameters.
pub(crate) fn decide(policy: &Policy, operation: &Operation, params: &Value) -> Arc<PolicyDecision> {
    decide_for(policy, operation, "", &[], params)
}

pub(crate) fn decide_for(
    policy: &Policy,
    operation: &Operation,
    principal: &str,
    scopes: &[&str],
    params: &Value,
) -> Arc<PolicyDecision> {
    let scopes: Vec<Arc<str>> = scopes.iter().map(|scope| (*scope).into()).collect();
    let caller = caller(principal);
    policy.decide(&Subject { operation, caller: &caller, scopes: &scopes, params: params.as_object(), types: None })
}

/// The whole matrix: the published values, the defaults, and the codes of denials.
#[test]
fn r_saf_2_the_whole_matrix() {
    #[rustfmt::skip]
    let table = [
        ("safe",        "untested",           "introspect_only", "PERMISSION_TRUST_LEVEL_INSUFFICIENT"),
        ("safe",        "generated",          "allow",           "allow"),
        ("safe",        "accepted",           "allow",           "allow"),
        ("safe",        "validated",          "allow",           "allow"),
        ("safe",        "community_reviewed", "allow",           "allow"),
        ("safe",        "certified",          "allow",           "allow"),
        ("reversible",  "untested",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("reversible",  "generated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("reversible",  "accepted",           "allow",           "allow"),
        ("reversible",  "validated",          "allow",           "allow"),
        ("reversible",  "community_reviewed", "allow",           "allow"),
        ("reversible",  "certified",          "allow",           "allow"),
        ("destructive", "untested",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("destructive", "generated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("destructive", "accepted",           "confirm",         "confirm"),
        ("destructive", "validated",          "confirm",         "confirm"),
        ("destructive", "community_reviewed", "allow",           "confirm"),
        ("destructive", "certified",          "allow",           "confirm"),
        ("dangerous",   "untested",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("dangerous",   "generated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("dangerous",   "accepted",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("dangerous",   "validated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("dangerous",   "community_reviewed", "confirm",         "confirm"),
        ("dangerous",   "certified",          "allow",           "confirm"),
        ("forbidden",   "untested",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("forbidden",   "generated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("forbidden",   "accepted",           "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("forbidden",   "validated",          "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("forbidden",   "community_reviewed", "deny",            "PERMISSION_DANGER_LEVEL_DENIED"),
        ("forbidden",   "certified",          "confirm",         "confirm"),
    ];
    assert_eq!(table.len(), Danger::ALL.len() * Trust::ALL.len());
    let policy = Policy::default();
    for (danger, trust, published, decided) in table {
        let (level, trust_level) = (Danger::from_name(danger).unwrap(), Trust::from_name(trust).unwrap());
        assert_eq!(matrix::published_cell(level, trust_level).as_str(), published, "{danger} {trust}");
        let operation = operation("do_it", Category::Execute, level, trust_level);
        let decision = decide(&policy, &operation, &Value::Null);
        let found = decision.failure(&operation).map_or(decision.effect.as_str(), |failure| failure.code().as_str());
        assert_eq!(found, decided, "{danger} {trust}");
    }
}

/// An operator's cell loosens only itself.
#[test]
fn r_saf_2_an_operators_cell_replaces_that_cell_alone() {
    let own =
        policy("[matrix.destructive]\ncertified = \"allow\"\n[matrix.safe]\nuntested = \"allow\"\nhigh = \"deny\"\n");
    for danger in Danger::ALL {
        for trust in Trust::ALL {
            let operation = operation("do_it", Category::Execute, danger, trust);
            let found = decide(&own, &operation, &Value::Null).effect;
            let expected = match (danger, trust) {
                (Danger::Destructive, Trust::Certified) | (Danger::Safe, Trust::Untested) => "allow",
                (Danger::Safe, Trust::CommunityReviewed) => "deny",
                _ => decide(&Policy::default(), &operation, &Value::Null).effect.as_str(),
            };
            assert_eq!(found.as_str(), expected, "{danger} {trust}");
        }
    }
}

/// What was tested never runs less freely than what was not: a cell for `validated` counts for `accepted` too, unless that
/// has one of its own.
#[test]
fn r_saf_2_a_cell_for_tested_sources_counts_for_accepted_ones() {
    let effect = |toml: &str, trust: Trust| {
        let operation = operation("do_it", Category::Execute, Danger::Destructive, trust);
        decide(&policy(toml), &operation, &Value::Null).effect.as_str()
    };
    for (toml, accepted, validated) in [
        ("", "confirm", "confirm"),
        ("[matrix.destructive]\nvalidated = \"deny\"\n", "deny", "deny"),
        ("[matrix.destructive]\nvalidated = \"allow\"\n", "allow", "allow"),
        ("[matrix.destructive]\nvalidated = \"allow\"\naccepted = \"deny\"\n", "deny", "allow"),
        ("[matrix.destructive]\naccepted = \"deny\"\nvalidated = \"allow\"\n", "deny", "allow"),
        ("[matrix.destructive]\naccepted = \"deny\"\n", "deny", "confirm"),
    ] {
        assert_eq!((effect(toml, Trust::Accepted), effect(toml, Trust::Validated)), (accepted, validated), "{toml}");
    }
}

/// A published member has published values: what an operator accepted counts as `validated` there.
#[test]
fn r_saf_2_refusals_name_published_levels() {
    let create = operation("create_it", Category::Create, Danger::Reversible, Trust::Generated);
    let failure = decide(&Policy::default(), &create, &Value::Null).failure(&create).unwrap();
    assert_eq!(failure.details()["minimum_trust_required"], "validated");
}

/// Every published pattern with the document's examples, and names that only look similar.
#[test]
fn r_saf_1_every_danger_pattern() {
    use Danger::{Dangerous, Destructive, Forbidden, Reversible, Safe};
    #[rustfmt::skip]
    let table = [
        ("force_push", Dangerous), ("force_delete", Dangerous), ("remove_permanently", Dangerous),
        ("bulk_delete", Dangerous), ("bulk_delete_users", Dangerous), ("override_validation", Dangerous),
        ("bypass_approval", Dangerous), ("delete_without_backup", Dangerous), ("purge_logs", Dangerous),
        ("purge_cache", Dangerous), ("drop_table", Forbidden), ("drop_database", Forbidden),
        ("delete_all", Forbidden), ("delete_all_users", Forbidden), ("truncate_table", Forbidden),
        ("reset_database", Destructive), ("destroy_environment", Forbidden), ("wipe_data", Forbidden),
        ("deploy_production", Forbidden),
        // The highest match wins.
        ("force_delete_all", Forbidden), ("purge_production", Forbidden), ("bulk_delete_permanently", Dangerous),
        // Whole words only.
        ("forced_entry", Reversible), ("dropbox_upload", Reversible), ("enforce_rule", Reversible),
        ("delete_allowance", Reversible), ("backdrop_change", Reversible), ("production_note", Reversible),
    ];
    for (name, expected) in table {
        for category in [Category::Create, Category::Update, Category::Execute] {
            assert_eq!(Danger::infer(name, category), expected, "{name}");
        }
        assert_eq!(Danger::infer(name, Category::Delete), expected.max(Destructive), "{name}");
        assert_eq!(Danger::infer(name, Category::Read), Safe, "{name}: a READ changes nothing");
    }
    for (danger, place, words) in PATTERNS {
        let name = match place {
            NamePosition::Start => format!("{words}_thing"),
            NamePosition::End => format!("thing_{words}"),
            NamePosition::Anywhere => format!("a_{words}_thing"),
        };
        assert_eq!(Danger::infer(&name, Category::Execute), *danger, "{name}");
        assert!(table.iter().any(|(example, _)| example.contains(words)), "{words} has no example");
    }
}

#[test]
fn r_saf_1_without_a_pattern_the_category_decides() {
    let table = [
        (Category::Read, Danger::Safe),
        (Category::Create, Danger::Reversible),
        (Category::Update, Danger::Reversible),
        (Category::Execute, Danger::Reversible),
        (Category::Delete, Danger::Destructive),
    ];
    for (category, danger) in table {
        assert_eq!(Operation::new("some_thing", category, "").safety.danger, danger);
    }
}

/// Whatever is configured, a caller can always introspect.
#[test]
fn r_saf_2_the_protocols_own_operations_are_always_allowed() {
    let closed = policy(
        "[trust_policy]\nminimum_trust_for_reads = \"certified\"\n[[rule]]\neffect = \"deny\"\n\
         [[rule]]\neffect = \"deny\"\noperation = \"introspect\"\n",
    );
    for name in RESERVED {
        let mut own = Operation::new(name, Category::Read, "");
        own.origin.trust = Trust::Untested;
        assert_eq!(decide(&closed, &own, &Value::Null).effect, Effect::Allow, "{name}");
        own.origin.source = "shop".into();
        assert_eq!(decide(&closed, &own, &Value::Null).effect.as_str(), "deny", "{name} of a source");
    }
}

#[test]
fn r_saf_2_an_operators_minimum_denies_for_lack_of_trust() {
    let strict = policy(
        "[trust_policy]\nminimum_trust_for_writes = \"validated\"\nminimum_trust_for_deletes = \"high\"\n\
         minimum_trust_for_reads = \"generated\"\nrequire_confirmation_below = \"validated\"\n",
    );
    #[rustfmt::skip]
    let table = [
        (Category::Read,    Danger::Safe,        Trust::Generated,         "confirm", None),
        (Category::Read,    Danger::Safe,        Trust::Validated,         "allow",   None),
        (Category::Read,    Danger::Safe,        Trust::Untested,          "deny",    Some("generated")),
        (Category::Create,  Danger::Safe,        Trust::Generated,         "deny",    Some("validated")),
        (Category::Update,  Danger::Reversible,  Trust::Validated,         "allow",   None),
        (Category::Delete,  Danger::Destructive, Trust::Validated,         "deny",    Some("community_reviewed")),
        (Category::Delete,  Danger::Destructive, Trust::CommunityReviewed, "confirm", None),
        (Category::Delete,  Danger::Forbidden,   Trust::Validated,         "deny",    Some("certified")),
        (Category::Execute, Danger::Safe,        Trust::Untested,          "deny",    Some("validated")),
    ];
    for (category, danger, trust, expected, required) in table {
        let operation = operation("do_it", category, danger, trust);
        let decision = decide(&strict, &operation, &Value::Null);
        assert_eq!(decision.effect.as_str(), expected, "{category} {danger} {trust}");
        let failure = decision.failure(&operation);
        assert_eq!(failure.as_ref().map(|failure| failure.details()["required_trust"].as_str()), required.map(Some));
        if let Some(failure) = failure {
            assert_eq!(failure.code().as_str(), "PERMISSION_TRUST_LEVEL_INSUFFICIENT");
        }
    }
}

#[test]
fn r_saf_2_every_published_cell_has_its_own_name() {
    for cell in [Cell::IntrospectOnly, Cell::Deny, Cell::Confirm, Cell::Allow] {
        assert_eq!(serde_json::to_value(cell).unwrap(), cell.as_str());
        assert!(matrix::PUBLISHED.iter().flatten().any(|published| *published == cell));
    }
}
