//! Names for nested objects, so that introspection can explain them (R-INT-2).

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::digest::Fnv;
use crate::case::pascal_case;
use crate::operation::Operation;
use crate::schema::{Kind, Parameter, Rest, Schema, Types};

/// Maximum length of a type name. Longer names are shortened, because the name of a nested object contains the names of
/// all enclosing objects.
const MAX_TYPE_NAME: usize = 120;

/// Assigns names to unnamed shapes. Stores which names collided, so that naming a thousand shapes with the same
/// preferred name takes a thousand steps.
#[derive(Default)]
pub(super) struct TypeNames {
    /// The next number to try after a name that is taken.
    next: HashMap<Arc<str>, u64>,
    /// The names of shapes whose preferred name was taken, by that name and the shape's digest.
    by_shape: HashMap<(Arc<str>, u64), Arc<str>>,
    /// The result types whose nested objects have names.
    named_inside: HashSet<Arc<str>>,
}

impl TypeNames {
    /// Gives every nested object shape of an operation a name.
    pub(super) fn name_nested_objects(&mut self, operation: &mut Operation, types: &mut Types) {
        let base = pascal_case(&operation.name);
        for parameter in &mut operation.parameters {
            let name = format!("{base}{}", pascal_case(&parameter.name));
            self.name_objects(&mut parameter.schema, &name, types);
        }
        self.name_inside(&operation.returns.type_name, types);
    }

    /// Names the objects nested in a result type.
    fn name_inside(&mut self, name: &Arc<str>, types: &mut Types) {
        let Some(schema) = types.get(name) else { return };
        let Kind::Object(shape) = &schema.kind else { return };
        let is_nested =
            |field: &Parameter| matches!(field.schema.kind, Kind::Object(_) | Kind::Array(_) | Kind::Union(_));
        if !shape.fields.iter().any(is_nested) || !self.named_inside.insert(name.clone()) {
            return;
        }
        let mut schema = Schema::clone(schema);
        if let Kind::Object(shape) = &mut schema.kind {
            self.name_fields(&mut shape.fields, name, types);
        }
        types.insert(name.clone(), Arc::new(schema));
    }

    fn name_objects(&mut self, schema: &mut Schema, name: &str, types: &mut Types) {
        let name = &*shortened_name(name);
        match &mut schema.kind {
            Kind::Object(shape) if !shape.fields.is_empty() => {
                let mut shape = std::mem::take(shape);
                self.name_fields(&mut shape.fields, name, types);
                if let Rest::Of(rest) = &mut shape.rest {
                    self.name_objects(rest, &format!("{name}Value"), types);
                }
                let named = Schema { description: schema.description.clone(), ..Schema::new(Kind::Object(shape)) };
                schema.kind = Kind::Named(self.enter(name, named, types));
            }
            Kind::Array(Some(items)) => self.name_objects(items, &format!("{name}Item"), types),
            Kind::Union(members) => {
                for (index, member) in members.iter_mut().enumerate() {
                    self.name_objects(member, &format!("{name}Option{}", index + 1), types);
                }
            }
            _ => {}
        }
    }

    fn name_fields(&mut self, fields: &mut [Parameter], base: &str, types: &mut Types) {
        for field in fields {
            let name = format!("{base}{}", pascal_case(&field.name));
            self.name_objects(&mut field.schema, &name, types);
        }
    }

    /// Adds a type under its name, or under the next free name if another type has that name.
    fn enter(&mut self, name: &str, schema: Schema, types: &mut Types) -> Arc<str> {
        let wanted: Arc<str> = name.into();
        match types.get(&wanted) {
            None => {
                types.insert(wanted.clone(), Arc::new(schema));
                return wanted;
            }
            Some(known) if known.is_same(&schema) => return wanted,
            Some(_) => {}
        }
        let mut digest = Fnv::default();
        // Hashing cannot fail.
        let _ = std::io::Write::write_fmt(&mut digest, format_args!("{schema:?}"));
        let key = (wanted.clone(), digest.0);
        if let Some(given) = self.by_shape.get(&key)
            && types.get(given).is_some_and(|known| known.is_same(&schema))
        {
            return given.clone();
        }
        let next = self.next.entry(wanted).or_insert(2);
        let given: Arc<str> = loop {
            let candidate = format!("{name}{next}");
            *next += 1;
            match types.get(candidate.as_str()) {
                Some(known) if !known.is_same(&schema) => {}
                _ => break candidate.into(),
            }
        };
        types.entry(given.clone()).or_insert_with(|| Arc::new(schema));
        self.by_shape.insert(key, given.clone());
        given
    }
}

/// The name, shortened if it is too long. A shortened name ends in a digest of the full name, so that different names
/// stay different.
fn shortened_name(name: &str) -> std::borrow::Cow<'_, str> {
    if name.len() <= MAX_TYPE_NAME {
        return name.into();
    }
    let mut digest = Fnv::default();
    let _ = std::io::Write::write_all(&mut digest, name.as_bytes());
    let stem: String = name.chars().take(MAX_TYPE_NAME / 2).collect();
    format!("{stem}{:08x}", digest.0 >> 32).into()
}
