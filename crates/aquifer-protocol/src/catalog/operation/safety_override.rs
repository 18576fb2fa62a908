//! What the operator says about the safety of an operation. It counts before all evidence.

use std::sync::Arc;

use super::Operation;
use crate::category::Category;
use crate::danger::Danger;
use crate::effect::{Effect, EffectSet, SettledBy};

/// The evidence of what is set in the configuration.
const EVIDENCE: &str = "the configuration says so";

/// What the operator says about the safety of an operation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SafetyOverride {
    /// Its danger level.
    pub danger: Option<Danger>,
    /// Everything that it does.
    pub effects: Option<Vec<Effect>>,
    /// The parameters that say where it goes.
    pub destinations: Option<Vec<Arc<str>>>,
}

impl SafetyOverride {
    /// The danger level of an operation of this category, if the operator decides it. Effects decide it like those that were
    /// found, unless it is set itself.
    pub fn danger(&self, category: Category) -> Option<Danger> {
        let by_effects = |effects: &Vec<Effect>| match category {
            _ if effects.iter().any(|effect| effect.needs_person()) => Danger::Destructive,
            Category::Read if effects.iter().all(|effect| *effect == Effect::Reads) => Danger::Safe,
            _ => Danger::Reversible,
        };
        self.danger.or_else(|| self.effects.as_ref().map(by_effects))
    }

    /// Applies it. Returns the names of destinations that are no parameters.
    pub fn apply(&self, operation: &mut Operation) -> Vec<&str> {
        if let Some(danger) = self.danger(operation.category) {
            operation.safety.danger = danger;
            operation.safety.danger_evidence = Some(EVIDENCE.into());
        }
        if let Some(effects) = &self.effects {
            let found = std::mem::take(&mut operation.safety.effects);
            operation.safety.effects.destinations = found.destinations;
            for effect in effects {
                operation.safety.effects.add(*effect, EVIDENCE);
            }
            let only_sends: EffectSet = [Effect::Sends].into_iter().collect();
            if operation.safety.effects.set().for_person() == only_sends {
                operation.safety.effects.settled_by = SettledBy::KnownDestinations;
            }
        }
        // Whoever sets the danger level wants to be asked about every call of that level.
        if self.danger.is_some() {
            operation.safety.effects.settled_by = SettledBy::Nothing;
        }
        if let Some(destinations) = &self.destinations {
            operation.safety.effects.destinations.clone_from(destinations);
        }
        let named = self.destinations.iter().flatten().map(|name| &**name);
        named.filter(|name| operation.parameter(name).is_none()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::effect::Effects;
    use crate::schema::{Parameter, Schema};

    #[test]
    fn r_dis_4b_the_operator_decides_effects_and_with_them_the_danger() {
        let overridden = |category, effects: &[Effect], danger| {
            let mut operation = Operation::new("post_it", category, "");
            operation.parameters = vec![Parameter::required("room", Schema::string())];
            operation.safety.effects = Effects::only(Effect::Pays, "its name says 'pay'");
            operation.safety.effects.destinations.push("iban".into());
            let said = SafetyOverride { danger, effects: Some(effects.to_vec()), destinations: None };
            assert!(said.apply(&mut operation).is_empty());
            assert_eq!(operation.safety.effects.set(), effects.iter().copied().collect());
            assert_eq!(operation.safety.effects.destinations, ["iban".into()]);
            operation.safety.danger
        };
        assert_eq!(overridden(Category::Create, &[Effect::Adds], None), Danger::Reversible);
        assert_eq!(overridden(Category::Create, &[Effect::Adds, Effect::Sends], None), Danger::Destructive);
        assert_eq!(overridden(Category::Read, &[Effect::Reads], None), Danger::Safe);
        assert_eq!(overridden(Category::Execute, &[Effect::Reads], None), Danger::Reversible);
        assert_eq!(overridden(Category::Read, &[Effect::Reads, Effect::Changes], None), Danger::Reversible);
        assert_eq!(overridden(Category::Create, &[Effect::Sends], Some(Danger::Safe)), Danger::Safe);
        let mut operation = Operation::new("post_it", Category::Create, "");
        operation.parameters = vec![Parameter::required("room", Schema::string())];
        let before = operation.safety.clone();
        let said =
            SafetyOverride { destinations: Some(vec!["room".into(), "rom".into()]), ..SafetyOverride::default() };
        assert_eq!(said.apply(&mut operation), ["rom"]);
        assert_eq!(operation.safety.danger, before.danger);
        assert_eq!(operation.safety.effects.destinations, ["room".into(), "rom".into()]);
    }
}
