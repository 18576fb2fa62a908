//! Every check there is, in the order in which a run makes them: looking first, writing later, breaking things last.

mod aggregate;
mod batch;
mod confirm;
mod constraints;
mod details;
mod errors;
mod fields;
mod filter;
mod introspection;
mod invariants;
mod modes;
mod pages;
mod parameters;
mod requests;
mod robust;
mod roundtrip;
mod routing;
mod shape;
mod sort;

use futures::future::BoxFuture;

use crate::context::CheckContext;
use crate::feature::Feature;
use crate::report::Category;
use crate::tally::Tally;

/// What a check does: it looks, and counts what it sees.
type Body = for<'a> fn(&'a mut CheckContext<'_>, &'a mut Tally) -> BoxFuture<'a, ()>;

/// One check.
pub struct Check {
    /// Its stable name for scripts: `parameters.required`.
    pub id: &'static str,
    /// What it holds, for people.
    pub name: &'static str,
    /// Where it is reported.
    pub category: Category,
    /// The checks whose mistakes may show here, too.
    pub needs: &'static [&'static str],
    /// Whether it can be made only where the run may write.
    pub writes: bool,
    /// What is counted.
    pub(crate) unit: &'static str,
    /// What a server need not have: where it does not say it has, there is no such check.
    pub(crate) feature: Option<Feature>,
    /// Why there may be nothing to look at.
    pub(crate) nothing: &'static str,
    pub(crate) body: Body,
}

impl Check {
    const fn new(
        id: &'static str,
        name: &'static str,
        category: Category,
        unit: &'static str,
        nothing: &'static str,
        body: Body,
    ) -> Self {
        Self { id, name, category, needs: &[], writes: false, unit, feature: None, nothing, body }
    }

    const fn needs(mut self, needs: &'static [&'static str]) -> Self {
        self.needs = needs;
        self
    }

    const fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    const fn of(mut self, feature: Feature) -> Self {
        self.feature = Some(feature);
        self
    }
}

/// Every check, in the order in which a run makes them.
#[must_use]
pub fn all() -> Vec<&'static Check> {
    first().into_iter().chain(looking()).chain(probing()).collect()
}

/// The checks of what the server says of itself, and of its modes: these may not know the same rows once we write.
pub(crate) fn first() -> Vec<&'static Check> {
    [introspection::CHECKS, details::CHECKS, modes::CHECKS].into_iter().flatten().collect()
}

/// The checks that only read.
pub(crate) fn looking() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 7] = [
        routing::LOOKING,
        batch::LOOKING,
        fields::CHECKS,
        filter::CHECKS,
        sort::CHECKS,
        pages::CHECKS,
        aggregate::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}

/// The checks that may write or break something.
pub(crate) fn probing() -> Vec<&'static Check> {
    let tables: [&'static [Check]; 12] = [
        roundtrip::FIRST,
        requests::CHECKS,
        parameters::CHECKS,
        errors::CHECKS,
        constraints::CHECKS,
        routing::WRITING,
        roundtrip::CHECKS,
        confirm::CHECKS,
        batch::WRITING,
        roundtrip::LAST,
        robust::CHECKS,
        invariants::CHECKS,
    ];
    tables.into_iter().flatten().collect()
}
