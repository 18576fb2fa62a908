//! Checks a value against the alternatives of a union, and finds the intended one.

use serde_json::Value;

use super::{Checker, Path, StagedProblems, weight};
use crate::schema::{Kind, Parameter, Schema, Types, type_of};

impl Checker<'_> {
    /// A value is valid for a union if it is valid for one member. If it is not and only one member has its type, that
    /// member's problems are reported. Messages are created only for the first member.
    pub(super) fn union(&mut self, path: Path<'_>, union: &Schema, members: &[Schema], value: &mut Value) {
        let mut closest: Option<StagedProblems> = None;
        let weight = weight(value);
        let choice = Choice::new(members, value, self.types);
        if let Choice::None { field, allowed } = choice {
            return self.not_allowed(Path::Field(&path, field), &allowed, "");
        }
        let others = members.iter().filter(|member| !choice.prefers(member));
        let all = members.iter().filter(|member| choice.prefers(member)).chain(others);
        for member in all.filter(|member| may_fit(member.resolve(self.types), value)) {
            let Some(left) = self.trials.checked_sub(weight) else {
                return self.invalid(path, "fits too many alternatives to try them all. Send something simpler", None);
            };
            let mut attempt = value.clone();
            let mut problems = Vec::new();
            let mut checker = Checker {
                types: self.types,
                operation: self.operation,
                problems: &mut problems,
                allow_nul: self.allow_nul,
                optional: self.optional,
                trials: left,
                depth: self.depth,
                is_quiet: self.is_quiet || closest.is_some(),
                has_failed: false,
            };
            checker.value(path, member, &mut attempt);
            self.trials = checker.trials;
            let fits = !checker.has_failed && checker.problems.is_empty();
            if fits {
                *value = attempt;
                return self.constraints(path, union, value);
            }
            closest.get_or_insert(problems);
        }
        match closest {
            Some(problems) => {
                self.fails_quietly();
                self.problems.extend(problems);
            }
            None => self.wrong_type(path, union, value),
        }
    }
}

/// The alternative that an object selects with a discriminator field, which all alternatives have: `{"type": "card",
/// …}`.
enum Choice<'a> {
    /// This one.
    Member(&'a Schema),
    /// The field has a value that no alternative allows.
    None { field: &'a str, allowed: Vec<Value> },
    /// There is no such field.
    Unknown,
}

impl<'a> Choice<'a> {
    fn new(members: &'a [Schema], value: &Value, types: &'a Types) -> Self {
        let Value::Object(object) = value else { return Choice::Unknown };
        let field_of = |member: &'a Schema| match &member.resolve(types).kind {
            Kind::Object(shape) => shape.fields.iter().find(|field| field.required && field.schema.allowed.is_some()),
            _ => None,
        };
        let Some(fields) = members.iter().map(field_of).collect::<Option<Vec<&Parameter>>>() else {
            return Choice::Unknown;
        };
        let Some(first) = fields.first().filter(|first| fields.iter().all(|field| field.name == first.name)) else {
            return Choice::Unknown;
        };
        let Some(named) = object.get(&*first.name).filter(|named| !named.is_null()) else { return Choice::Unknown };
        let allowed = |field: &Parameter| field.schema.allowed.clone().unwrap_or_default();
        match members.iter().zip(&fields).find(|(_, field)| allowed(field).contains(named)) {
            Some((member, _)) => Choice::Member(member),
            None => Choice::None {
                field: &first.name,
                allowed: fields.iter().flat_map(|field| allowed(field).to_vec()).collect(),
            },
        }
    }

    fn prefers(&self, member: &Schema) -> bool {
        matches!(self, Choice::Member(meant) if std::ptr::eq(*meant, member))
    }
}

/// Whether the value has the member's type, so that a full check is worthwhile.
fn may_fit(schema: &Schema, value: &Value) -> bool {
    match (&schema.kind, value) {
        (_, Value::Null) if schema.nullable => true,
        (Kind::Any | Kind::Named(_) | Kind::Union(_), _)
        | (Kind::Null, Value::Null)
        | (Kind::Boolean, Value::Bool(_))
        | (Kind::Number, Value::Number(_))
        | (Kind::String, Value::String(_))
        | (Kind::Array(_), Value::Array(_))
        | (Kind::Object(_), Value::Object(_)) => true,
        (Kind::Integer, value) => type_of(value) == "integer",
        _ => false,
    }
}
