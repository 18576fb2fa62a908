//! Profiles: the endpoint families, and the family of each category (R-END-3).

use std::sync::Arc;

use crate::category::Category;
use crate::operation::{Operation, Role};

/// A set of endpoint families that assigns every operation to one of them.
#[derive(Debug, Clone)]
pub struct Profile {
    name: Arc<str>,
    families: Vec<Arc<str>>,
    by_category: [usize; 5],
    discovery: Option<usize>,
    authorization: Option<usize>,
}

/// The definition of a built-in profile, in the order create, read, update, delete, execute.
struct Plan {
    name: &'static str,
    by_category: [&'static str; 5],
    discovery: Option<&'static str>,
    authorization: Option<&'static str>,
}

const CRUDE: Plan = Plan {
    name: "crude",
    by_category: ["create", "read", "update", "delete", "execute"],
    discovery: None,
    authorization: None,
};

const KNOWN: &[Plan] = &[
    CRUDE,
    Plan {
        name: "crude_authorize",
        by_category: ["create", "read", "update", "delete", "execute"],
        discovery: None,
        authorization: Some("authorize"),
    },
    Plan {
        name: "discover_query_manage_operate",
        by_category: ["manage", "query", "manage", "manage", "operate"],
        discovery: Some("discover"),
        authorization: None,
    },
    Plan {
        name: "inspect_query_mutate_administer",
        by_category: ["mutate", "query", "mutate", "mutate", "administer"],
        discovery: Some("inspect"),
        authorization: None,
    },
];

/// The profile CRUDE.
impl Default for Profile {
    fn default() -> Self {
        Self::planned(&CRUDE)
    }
}

impl Profile {
    /// The built-in profile with this name.
    pub fn known(name: &str) -> Option<Self> {
        KNOWN.iter().find(|plan| plan.name == name).map(Self::planned)
    }

    fn planned(plan: &Plan) -> Self {
        Self::new(plan.name, plan.by_category, plan.discovery, plan.authorization)
    }

    /// The names of the built-in profiles.
    pub fn known_names() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().map(|plan| plan.name)
    }

    /// A profile from a family for each category (create, read, update, delete, execute) and for the two roles.
    pub fn new(name: &str, by_category: [&str; 5], discovery: Option<&str>, authorization: Option<&str>) -> Self {
        let mut families: Vec<Arc<str>> = Vec::new();
        let mut place = |family: &str| match families.iter().position(|known| &**known == family) {
            Some(index) => index,
            None => {
                families.push(family.into());
                families.len() - 1
            }
        };
        let by_category = by_category.map(&mut place);
        let discovery = discovery.map(&mut place);
        let authorization = authorization.map(&mut place);
        Self { name: name.into(), families, by_category, discovery, authorization }
    }

    /// The profile's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// All families of the profile, used or not.
    pub fn families(&self) -> &[Arc<str>] {
        &self.families
    }

    /// The family of an operation.
    pub fn family_of(&self, operation: &Operation) -> &str {
        let index = match operation.role {
            Role::Discovery => self.discovery,
            Role::Authorization => self.authorization,
            Role::Plain => None,
        }
        .unwrap_or_else(|| self.by_category(operation.category));
        self.families.get(index).map_or("", |family| family)
    }

    fn by_category(&self, category: Category) -> usize {
        let [create, read, update, delete, execute] = self.by_category;
        match category {
            Category::Create => create,
            Category::Read => read,
            Category::Update => update,
            Category::Delete => delete,
            Category::Execute => execute,
        }
    }
}
