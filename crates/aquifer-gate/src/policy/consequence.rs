//! What an operation does in the world, as the person who decides and the caller are told: its effects, each with the words
//! that show it.

use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::effect::{Effect, EffectEvidence};
use aquifer_protocol::operation::Operation;

use super::caller_message::reject_leaks;

/// Maximum number of effects that are named, the most harmful first.
const MAX_EFFECTS: usize = 2;

/// What a call of the operation does, as the rest of a sentence that begins with "This" or "It".
pub(crate) fn describe(operation: &Operation) -> String {
    let safety = &operation.safety;
    match safety.danger {
        Danger::Safe => return "only reads".to_owned(),
        Danger::Dangerous => return "affects a lot of data or skips a safety check".to_owned(),
        Danger::Forbidden => return "can destroy everything".to_owned(),
        Danger::Reversible | Danger::Destructive => {}
    }
    let needs_person = |found: &&EffectEvidence| found.effect.needs_person();
    let mut effects: Vec<&EffectEvidence> = safety.effects.iter().filter(needs_person).collect();
    effects.sort_by_key(|found| std::cmp::Reverse(found.effect));
    effects.truncate(MAX_EFFECTS);
    match (effects.as_slice(), safety.danger, operation.category) {
        ([EffectEvidence { effect: Effect::Removes, .. }], _, Category::Delete) => "deletes data".to_owned(),
        ([_, ..], ..) => join(effects.into_iter().map(describe_effect).collect()),
        ([], Danger::Reversible, Category::Create) => "adds data".to_owned(),
        ([], Danger::Reversible, _) => "changes data".to_owned(),
        // Nothing shows an effect, so the evidence says what is unclear, or who decided.
        ([], ..) if safety.danger_evidence.is_some() => with_evidence("may do harm", safety.danger_evidence.as_deref()),
        ([], _, Category::Execute) => "does something that cannot be undone".to_owned(),
        ([], ..) => "may delete or overwrite data".to_owned(),
    }
}

/// The same without evidence, if a client would treat the text as a leak.
pub(super) fn without_leaks(does: &str) -> &str {
    reject_leaks(does).unwrap_or_else(|| does.split(" (").next().unwrap_or_default())
}

/// What is shown by a name or a declaration is so. What a description or a parameter shows may not be so for this call, such
/// as an invitation to an event without participants.
fn describe_effect(found: &EffectEvidence) -> String {
    let is_possible = ["its description", "it takes"].iter().any(|start| found.evidence.starts_with(start));
    let (does, may) = match found.effect {
        Effect::Reads => ("reads data", "may read data"),
        Effect::Adds => ("adds data", "may add data"),
        Effect::Changes => ("changes data", "may change data"),
        Effect::Removes => ("removes or overwrites data", "may remove or overwrite data"),
        Effect::Sends => {
            ("sends something to people or systems outside", "may send something to people or systems outside")
        }
        Effect::Pays => ("moves money, books or orders something", "may move money, book or order something"),
        Effect::Grants => ("gives access or changes credentials", "may give access or change credentials"),
        Effect::Runs => ("runs code or commands", "may run code or commands"),
    };
    with_evidence(if is_possible { may } else { does }, Some(&found.evidence))
}

fn with_evidence(does: &str, evidence: Option<&str>) -> String {
    match evidence {
        Some(evidence) => format!("{does} ({evidence})"),
        None => does.to_owned(),
    }
}

fn join(parts: Vec<String>) -> String {
    match parts.as_slice() {
        [first @ .., last] if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        parts => parts.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r_saf_9_the_reason_names_the_effects_and_what_shows_them() {
        let check = |category, danger, effects: &[(Effect, &str)], evidence: Option<&str>, expected: &str| {
            let mut operation = Operation::new("do_it", category, "");
            operation.safety.danger = danger;
            operation.safety.danger_evidence = evidence.map(Into::into);
            operation.safety.effects = Default::default();
            for (effect, evidence) in effects {
                operation.safety.effects.add(*effect, *evidence);
            }
            assert_eq!(describe(&operation), expected);
        };
        use Category::{Create, Delete, Execute, Update};
        use Danger::{Dangerous, Destructive, Reversible};
        use Effect::{Adds, Pays, Removes, Sends};
        let sends = (Sends, "its name says 'send'");
        check(
            Execute,
            Destructive,
            &[sends],
            None,
            "sends something to people or systems outside (its name says 'send')",
        );
        check(
            Update,
            Destructive,
            &[(Removes, "its name says 'cancel'"), (Adds, "it adds"), sends],
            None,
            "sends something to people or systems outside (its name says 'send') and removes or overwrites data (its name \
             says 'cancel')",
        );
        check(Delete, Destructive, &[(Removes, "it removes data")], None, "deletes data");
        check(Create, Reversible, &[(Adds, "it adds")], None, "adds data");
        let pays = [(Pays, "it takes 'amount' and 'account'")];
        check(
            Create,
            Reversible,
            &pays,
            None,
            "may move money, book or order something (it takes 'amount' and 'account')",
        );
        check(Create, Dangerous, &pays, None, "affects a lot of data or skips a safety check");
        let unclear = Some("no annotation, and no verb in the name");
        check(Execute, Destructive, &[], unclear, "may do harm (no annotation, and no verb in the name)");
        check(Execute, Destructive, &[], None, "does something that cannot be undone");
        assert_eq!(without_leaks("may do harm (the server says that it does)"), "may do harm");
        assert_eq!(without_leaks("may do harm (it has no name)"), "may do harm (it has no name)");
    }
}
