//! One check.

use futures::future::BoxFuture;

use super::feature::Feature;
use crate::context::CheckContext;
use crate::report::{Category, Tally};

/// What a check does: it looks, and counts what it sees.
type CheckFunction = for<'a> fn(&'a mut CheckContext<'_>, &'a mut Tally) -> BoxFuture<'a, ()>;

/// One check.
pub struct Check {
    /// Its stable name for scripts: `parameters.required`.
    pub id: &'static str,
    /// What it holds, for people.
    pub name: &'static str,
    /// Where it is reported.
    pub category: Category,
    /// The checks whose mistakes may show here, too.
    pub depends_on: &'static [&'static str],
    /// Whether it can be made only where the run may write.
    pub writes: bool,
    /// What is counted.
    pub(crate) unit: &'static str,
    /// What a server need not have: where it does not say it has, there is no such check.
    pub(crate) feature: Option<Feature>,
    /// Why there may be nothing to look at.
    pub(crate) skip_reason: &'static str,
    pub(crate) run: CheckFunction,
}

impl Check {
    pub(super) const fn new(
        id: &'static str,
        name: &'static str,
        category: Category,
        unit: &'static str,
        skip_reason: &'static str,
        run: CheckFunction,
    ) -> Self {
        Self { id, name, category, depends_on: &[], writes: false, unit, feature: None, skip_reason, run }
    }

    pub(super) const fn depends_on(mut self, depends_on: &'static [&'static str]) -> Self {
        self.depends_on = depends_on;
        self
    }

    pub(super) const fn writes(mut self) -> Self {
        self.writes = true;
        self
    }

    pub(super) const fn for_feature(mut self, feature: Feature) -> Self {
        self.feature = Some(feature);
        self
    }
}
