//! The paths of a plan, and how many references they follow.

use std::collections::HashSet;
use std::sync::Arc;

use crate::plan::{Embed, Filter, Path, Plan};

impl Plan {
    /// Every path outside the filter and the embeds. All three together determine which collections are read, so
    /// permission checks and reads must both start from all three.
    pub fn paths(&self) -> Vec<&Path> {
        let mut paths: Vec<&Path> = self.select.iter().chain(self.sort.iter().map(|key| &key.path)).collect();
        for aggregate in &self.aggregates {
            paths.extend(aggregate.group_by.iter().map(|key| &key.path));
            paths.extend(aggregate.functions.iter().flat_map(|function| function.paths()));
        }
        paths
    }
}

impl Path {
    /// Whether both lead to the same field, or into it.
    pub(crate) fn is_same_field(&self, other: &Self) -> bool {
        self.name == other.name && self.computed == other.computed && self.through == other.through
    }
}

impl Embed {
    /// Every path outside the filter. They start at the related items.
    pub fn paths(&self) -> Vec<&Path> {
        self.select.iter().chain(self.order.iter().map(|key| &key.path)).collect()
    }
}

/// How many references these parts of a plan follow. Paths share the references of a common beginning.
pub(crate) fn reference_count(paths: &[&Path], filter: Option<&Filter>, embeds: &[Embed]) -> usize {
    let mut followed = HashSet::new();
    paths.iter().for_each(|path| add_prefixes(&path.through, &mut followed));
    embeds.iter().for_each(|embed| add_prefixes(&embed.through, &mut followed));
    let filtered = filter.map_or(0, |filter| count_references(filter, &mut followed));
    let embedded = embeds.iter().map(|embed| 1 + reference_count(&embed.paths(), embed.filter.as_ref(), &[]));
    followed.len() + filtered + embedded.sum::<usize>()
}

fn add_prefixes<'a>(through: &'a [Arc<str>], followed: &mut HashSet<&'a [Arc<str>]>) {
    followed.extend((1..=through.len()).filter_map(|length| through.get(..length)));
}

/// Adds the references of a condition, and returns how many its conditions on related items follow in turn.
fn count_references<'a>(filter: &'a Filter, followed: &mut HashSet<&'a [Arc<str>]>) -> usize {
    match filter {
        Filter::And(parts) | Filter::Or(parts) => parts.iter().map(|part| count_references(part, followed)).sum(),
        Filter::Not(inner) => count_references(inner, followed),
        Filter::Test { path, .. } => {
            add_prefixes(&path.through, followed);
            0
        }
        Filter::Compare { left, right, .. } => {
            add_prefixes(&left.through, followed);
            add_prefixes(&right.through, followed);
            0
        }
        Filter::Calculate { left, right, .. } => {
            add_prefixes(&left.through, followed);
            right.paths().into_iter().for_each(|path| add_prefixes(&path.through, followed));
            0
        }
        Filter::Related { through, filter, .. } => {
            add_prefixes(through, followed);
            let mut inner = HashSet::new();
            let deeper = count_references(filter, &mut inner);
            1 + inner.len() + deeper
        }
    }
}
