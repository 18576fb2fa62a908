//! What the gate needs to know about planned sources.

use super::{Kind, Plans, gateway};
use crate::safety::SourceFacts;

impl Plans {
    /// What the gate has to know of the sources, before any of them is opened.
    pub(crate) fn facts(&self) -> SourceFacts {
        let mut facts = SourceFacts { has_several: self.are_several(), ..SourceFacts::default() };
        for plan in &self.plans {
            if let Kind::Upstream(settings) = &plan.kind
                && let Some(limits) = gateway::rate_limits(settings)
            {
                facts.add(&plan.name, limits);
            }
        }
        facts
    }
}
