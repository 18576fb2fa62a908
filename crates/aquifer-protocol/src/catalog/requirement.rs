//! Requirements that several parameters meet together: one of `id` and `number` has to be given.

use std::sync::Arc;

use serde_json::{Map, Value};

use crate::schema::{Kind, Parameter, Schema, Types};

/// The maximum number of alternatives that a text names.
const MAX_NAMED: usize = 8;

/// The maximum length of a name in a text, because a source may choose any.
const MAX_NAME_CHARS: usize = 64;

/// What a request must contain, beyond its required parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    /// The parameter whose fields are meant, if it is given. `None` if the parameters of the operation are meant.
    pub within: Option<Arc<str>>,
    /// Which of them are needed.
    pub needs: Needs,
}

/// Which parameters or fields are needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Needs {
    /// All of at least one of these sets.
    OneOf(Vec<Vec<Arc<str>>>),
    /// At least this many. Fields of an object may have other names as well.
    AtLeast {
        /// How many.
        count: usize,
        /// The known names.
        names: Vec<Arc<str>>,
    },
}

impl Requirement {
    /// Whether these parameters meet it.
    pub fn is_met(&self, params: &Map<String, Value>) -> bool {
        match &self.within {
            None => self.is_met_by_members(params),
            // A missing object or one of another type is another problem.
            Some(name) => params.get(&**name).and_then(Value::as_object).is_none_or(|it| self.is_met_by_members(it)),
        }
    }

    /// Whether these members meet it, wherever they are.
    pub fn is_met_by_members(&self, members: &Map<String, Value>) -> bool {
        let is_given = |name: &Arc<str>| members.contains_key(&**name);
        match &self.needs {
            Needs::OneOf(sets) => sets.iter().any(|set| set.iter().all(is_given)),
            Needs::AtLeast { count, .. } if self.within.is_some() => members.len() >= *count,
            Needs::AtLeast { count, names } => names.iter().filter(|name| is_given(name)).count() >= *count,
        }
    }

    /// The same requirement if only some parameters can be given. `None` if it can no longer be met.
    #[must_use]
    pub fn limited_to(mut self, can_be_given: impl Fn(&str) -> bool) -> Option<Self> {
        if let Some(within) = &self.within {
            return can_be_given(within).then_some(self);
        }
        let is_possible = match &mut self.needs {
            Needs::OneOf(sets) => {
                sets.retain(|set| set.iter().all(|name| can_be_given(name)));
                !sets.is_empty()
            }
            Needs::AtLeast { count, names } => {
                names.retain(|name| can_be_given(name));
                names.len() >= *count
            }
        };
        is_possible.then_some(self)
    }

    /// The requirement as a sentence without a period: `One of 'id' or ('owner' and 'repo') is required`.
    pub fn sentence(&self) -> String {
        let quoted = |name: &Arc<str>| format!("'{}'", self.path(name));
        match &self.needs {
            Needs::OneOf(sets) => {
                let is_only = sets.len() == 1;
                let shown = sets.iter().take(MAX_NAMED).map(|set| {
                    let names = joined(set.iter().take(MAX_NAMED).map(quoted).collect(), set.len(), "and");
                    if set.len() > 1 && !is_only { format!("({names})") } else { names }
                });
                let shown = joined(shown.collect(), sets.len(), "or");
                match sets.as_slice() {
                    [only] if only.len() == 1 => format!("{shown} is required"),
                    [_] => format!("{shown} are required"),
                    _ => format!("One of {shown} is required"),
                }
            }
            Needs::AtLeast { count, names } => {
                let shown = joined(names.iter().take(MAX_NAMED).map(quoted).collect(), names.len(), "and");
                let verb = if *count == 1 { "is" } else { "are" };
                format!("At least {count} of {shown} {verb} required")
            }
        }
    }

    /// The first name that would help to meet it, as a path.
    pub fn first_path(&self) -> String {
        let first = match &self.needs {
            Needs::OneOf(sets) => sets.first().and_then(|set| set.first()),
            Needs::AtLeast { names, .. } => names.first(),
        };
        match first {
            Some(name) => self.path(name),
            None => self.within.as_deref().unwrap_or_default().to_owned(),
        }
    }

    fn path(&self, name: &str) -> String {
        let name: String = name.chars().filter(|c| !c.is_control()).take(MAX_NAME_CHARS).collect();
        match &self.within {
            Some(within) => format!("{within}.{name}"),
            None => name,
        }
    }

    /// Marks the parameters of the first way to meet it as required, for an example.
    pub(crate) fn require_first(&self, parameters: &mut [Parameter], types: &Types) {
        let first: &[Arc<str>] = match &self.needs {
            Needs::OneOf(sets) => sets.first().map(Vec::as_slice).unwrap_or_default(),
            Needs::AtLeast { count, names } => names.get(..*count).unwrap_or(names),
        };
        let Some(within) = &self.within else {
            require(parameters, first);
            return;
        };
        let Some(object) = parameters.iter_mut().find(|parameter| parameter.name == *within) else { return };
        if let Kind::Object(shape) = &object.schema.resolve(types).kind {
            let mut shape = shape.clone();
            require(&mut shape.fields, first);
            object.schema = Schema { kind: Kind::Object(shape), ..object.schema.clone() };
        }
    }
}

fn require(parameters: &mut [Parameter], names: &[Arc<str>]) {
    for parameter in parameters.iter_mut().filter(|parameter| names.contains(&parameter.name)) {
        parameter.required = true;
    }
}

/// Joins words as in a sentence. Those of `count` that are not shown are counted.
fn joined(mut shown: Vec<String>, count: usize, conjunction: &str) -> String {
    if shown.len() < count {
        shown.push(format!("{} more", count - shown.len()));
    }
    match (shown.pop(), shown.is_empty()) {
        (None, _) => String::new(),
        (Some(only), true) => only,
        (Some(last), false) => format!("{} {conjunction} {last}", shown.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn one_of(within: Option<&str>, sets: &[&[&str]]) -> Requirement {
        let sets = sets.iter().map(|set| set.iter().map(|name| (*name).into()).collect()).collect();
        Requirement { within: within.map(Into::into), needs: Needs::OneOf(sets) }
    }

    fn at_least(within: Option<&str>, count: usize, names: &[&str]) -> Requirement {
        let names = names.iter().map(|name| (*name).into()).collect();
        Requirement { within: within.map(Into::into), needs: Needs::AtLeast { count, names } }
    }

    #[test]
    fn requirements_are_met_by_one_set_or_enough_names() {
        let parts = one_of(None, &[&["id"], &["owner", "repo"]]);
        let inside = one_of(Some("input"), &[&["a"], &["b"]]);
        let some = at_least(None, 2, &["a", "b", "c"]);
        let any = at_least(Some("input"), 1, &["a"]);
        for (requirement, params, is_met) in [
            (&parts, json!({}), false),
            (&parts, json!({ "owner": 1 }), false),
            (&parts, json!({ "id": null }), true),
            (&parts, json!({ "owner": 1, "repo": 2 }), true),
            (&inside, json!({ "a": 1 }), true),
            (&inside, json!({ "input": 5 }), true),
            (&inside, json!({ "a": 1, "input": {} }), false),
            (&inside, json!({ "input": { "b": 1 } }), true),
            (&some, json!({ "a": 1, "z": 1 }), false),
            (&some, json!({ "a": 1, "c": 1 }), true),
            (&any, json!({ "input": {} }), false),
            (&any, json!({ "input": { "z": 1 } }), true),
        ] {
            let params = params.as_object().cloned().unwrap_or_default();
            assert_eq!(requirement.is_met(&params), is_met, "{requirement:?} {params:?}");
        }
    }

    #[test]
    fn sentences_name_the_parameters() {
        let many: Vec<String> = (0..20).map(|number| format!("n{number}")).collect();
        let many: Vec<[&str; 1]> = many.iter().map(|name| [name.as_str()]).collect();
        let many: Vec<&[&str]> = many.iter().map(|set| &set[..]).collect();
        for (requirement, expected) in [
            (one_of(None, &[&["a"], &["b"]]), "One of 'a' or 'b' is required"),
            (one_of(None, &[&["a"], &["b", "c", "d"]]), "One of 'a' or ('b', 'c' and 'd') is required"),
            (one_of(Some("input"), &[&["a"], &["b"]]), "One of 'input.a' or 'input.b' is required"),
            (one_of(None, &[&["a"]]), "'a' is required"),
            (one_of(None, &[&["a", "b"]]), "'a' and 'b' are required"),
            (at_least(None, 1, &["a", "b"]), "At least 1 of 'a' and 'b' is required"),
            (one_of(None, &many), "One of 'n0', 'n1', 'n2', 'n3', 'n4', 'n5', 'n6', 'n7' or 12 more is required"),
        ] {
            assert_eq!(requirement.sentence(), expected);
        }
    }

    #[test]
    fn parameters_that_cannot_be_given_are_no_alternative() {
        let parts = one_of(None, &[&["id"], &["owner", "repo"]]);
        assert_eq!(parts.clone().limited_to(|name| name != "repo"), Some(one_of(None, &[&["id"]])));
        assert_eq!(parts.limited_to(|name| name == "owner"), None);
        assert_eq!(one_of(Some("input"), &[&["a"]]).limited_to(|name| name == "a"), None);
        assert_eq!(at_least(None, 2, &["a", "b"]).limited_to(|name| name == "a"), None);
    }
}
