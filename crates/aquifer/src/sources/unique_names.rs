//! Gives sources names and prefixes that differ.

use super::{Kind, OpenSource, Plan, Plans, gateway, naming, rest};

/// Sources with equal names, so that rules could not distinguish them.
#[derive(Debug)]
pub(crate) struct NameConflict(pub(super) String);

impl std::fmt::Display for NameConflict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NameConflict {}

impl Plans {
    /// Finds the names that several sources would have. Invalid sources count, because they need their name once they
    /// are corrected.
    pub(super) fn find_numbered(&mut self) {
        let mut names: Vec<&str> = self.plans.iter().map(|plan| plan.name.as_str()).collect();
        names.extend(self.broken.iter().map(|broken| broken.name.as_str()));
        names.sort_unstable();
        let mut numbered: Vec<String> = names
            .windows(2)
            .filter(|pair| pair.first() == pair.last())
            .flatten()
            .map(|name| (*name).to_owned())
            .collect();
        numbered.dedup();
        self.numbered = numbered;
    }

    /// Fails if only a number distinguishes two sources, for configurations whose rules name sources: a rule about one
    /// would miss the other, and the numbers depend on the order of sources.
    pub(crate) fn refuse_numbered_names(&self) -> Result<(), NameConflict> {
        match self.numbered.first() {
            None => Ok(()),
            Some(name) => Err(NameConflict(format!(
                "several sources would be called '{name}', and [gate] has rules or limits that name sources or operations. \
                 List them as [[source]], each with its own 'name'"
            ))),
        }
    }

    /// Gives every source a unique name and, if there are several, a prefix. Chosen names are never changed. A source
    /// that is being served keeps its name and, unless the operator chooses another, its prefix: callers and rules use
    /// them, and new sources must not take them over.
    pub(super) fn make_names_unique(&mut self, served: &[OpenSource]) {
        let several = self.has_several();
        let mut stays: Vec<Option<&OpenSource>> = Vec::new();
        for plan in &self.plans {
            let is_taken = |one: &OpenSource| stays.iter().flatten().any(|taken| std::ptr::eq(*taken, one));
            stays.push(served.iter().find(|one| one.origin == plan.origin && !is_taken(one)));
        }
        let chosen = |plan: &&Plan| plan.origin.has_chosen_name();
        let mut names: Vec<String> = self.plans.iter().filter(chosen).map(|plan| plan.name.clone()).collect();
        for (plan, stays) in self.plans.iter().zip(&mut stays) {
            *stays = stays
                .filter(|one| plan.origin.has_chosen_name() || !names.iter().any(|name| name == one.source.name()));
        }
        names.extend(stays.iter().flatten().map(|one| one.source.name().to_owned()));
        for (plan, stays) in self.plans.iter_mut().zip(&stays) {
            match stays {
                _ if plan.origin.has_chosen_name() => {}
                Some(same) => same.source.name().clone_into(&mut plan.name),
                None => {
                    plan.name = naming::make_unique(&plan.name, &names, "-");
                    names.push(plan.name.clone());
                }
            }
            match &mut plan.kind {
                Kind::Upstream(settings) => gateway::rename(settings, &plan.name, plan.origin.has_chosen_name()),
                Kind::Database(settings) => settings.name.clone_from(&plan.name),
                Kind::Rest(settings) => rest::rename(settings, &plan.name),
                Kind::Demo | Kind::Tasks => {}
            }
        }
        // A changed source with the same name keeps its prefix, too.
        let kept_prefix = |plan: &Plan| {
            let same = served.iter().find(|one| one.source.name() == plan.name);
            let automatic = same.filter(|one| !one.origin.has_chosen_prefix() && plan.prefix.is_none());
            automatic.map(|one| one.prefix.clone().unwrap_or_default())
        };
        let kept_prefixes: Vec<Option<String>> = self.plans.iter().map(kept_prefix).collect();
        let mut prefixes: Vec<String> =
            kept_prefixes.iter().flatten().map(|prefix| prefix.trim_end_matches('_').to_owned()).collect();
        for (plan, kept) in self.plans.iter_mut().zip(kept_prefixes) {
            if kept.is_some() {
                plan.prefix = kept;
            } else if several && plan.prefix.is_none() {
                let prefix = naming::make_unique(&naming::prefix(&plan.name), &prefixes, "_");
                prefixes.push(prefix.clone());
                plan.prefix = Some(format!("{prefix}_"));
            }
        }
    }
}
