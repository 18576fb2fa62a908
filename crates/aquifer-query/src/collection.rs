//! A collection as its source describes it: everything the language may refer to.

use std::collections::BTreeMap;
use std::sync::Arc;

/// A collection of like things.
#[derive(Debug, Clone, Default)]
pub struct Collection {
    /// Its name, for messages.
    pub name: Arc<str>,
    /// Its fields, in the order they are shown.
    pub fields: Vec<Field>,
    /// Values derived from each item.
    pub computed: Vec<Computed>,
    /// The fields that together tell one item from every other; the last word in every order.
    pub key: Vec<Arc<str>>,
    /// The fields that free text is looked for in.
    pub text: Vec<Arc<str>>,
    /// Named selections besides minimal, standard and full.
    pub presets: BTreeMap<Arc<str>, Vec<Arc<str>>>,
    /// How pages are cut.
    pub pages: Pages,
    /// Whether the shape is known. If not, any path may be asked for, and one that matches nothing is a warning.
    pub open: bool,
    /// Whether every item has a version, to be asked for as `_etag` (R-COL-12).
    pub versions: bool,
}

/// A field of every item.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: Arc<str>,
    /// What kind of value it holds.
    pub of: FieldType,
    /// Whether it may hold none.
    pub nullable: bool,
    /// What it means.
    pub description: Option<Arc<str>>,
}

/// A value derived from each item.
#[derive(Debug, Clone)]
pub struct Computed {
    /// Its name under `_computed`.
    pub name: Arc<str>,
    /// What kind of value it is.
    pub of: FieldType,
    /// What it means.
    pub description: Option<Arc<str>>,
    /// Whether filters may use it.
    pub filterable: bool,
    /// Whether sorting may use it.
    pub sortable: bool,
}

/// Kinds of values.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum FieldType {
    /// Text.
    Text,
    /// One of these words.
    Word(Arc<[Arc<str>]>),
    /// A whole number.
    Integer,
    /// Any number, exact or not.
    Number,
    /// Yes or no.
    Boolean,
    /// A moment.
    Time,
    /// A day.
    Date,
    /// A UUID.
    Uuid,
    /// Bytes, in base64.
    Bytes,
    /// A list, of what if known.
    List(Option<Box<FieldType>>),
    /// Anything, with paths into it.
    Json,
}

/// How pages are cut.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pages {
    /// The size of a page nobody asked the size of.
    pub default: usize,
    /// The largest page.
    pub largest: usize,
    /// Items of more bytes than this page by themselves (R-COL-7a).
    pub bytes: usize,
}

impl Default for Pages {
    fn default() -> Self {
        Self { default: 20, largest: 100, bytes: 64 * 1024 }
    }
}

impl FieldType {
    /// The type in the words of introspection.
    pub fn words(&self) -> &'static str {
        match self {
            FieldType::Text
            | FieldType::Word(_)
            | FieldType::Time
            | FieldType::Date
            | FieldType::Uuid
            | FieldType::Bytes => "string",
            FieldType::Integer => "integer",
            FieldType::Number => "number",
            FieldType::Boolean => "boolean",
            FieldType::List(_) => "array",
            FieldType::Json => "any",
        }
    }

    /// Whether values can be added up.
    pub fn is_numeric(&self) -> bool {
        matches!(self, FieldType::Integer | FieldType::Number)
    }

    /// Whether values stand in an order.
    pub fn is_ordered(&self) -> bool {
        !matches!(self, FieldType::List(_) | FieldType::Json | FieldType::Bytes)
    }

    /// Whether paths lead into its values.
    pub fn has_paths(&self) -> bool {
        matches!(self, FieldType::Json)
    }
}

impl Collection {
    /// The field of this name.
    pub fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| &*field.name == name)
    }

    /// The computed value of this name.
    pub fn computed(&self, name: &str) -> Option<&Computed> {
        self.computed.iter().find(|computed| &*computed.name == name)
    }

    /// The names of fields that fit.
    pub fn names(&self, fits: impl Fn(&Field) -> bool) -> Vec<&str> {
        self.fields.iter().filter(|field| fits(field)).map(|field| &*field.name).collect()
    }

    /// The fields of a preset. `minimal` is the key and the first text, `standard` everything that is not bulky.
    pub fn preset(&self, name: &str) -> Option<Vec<Arc<str>>> {
        if let Some(own) = self.presets.get(name) {
            return Some(own.clone());
        }
        let all = self.fields.iter().map(|field| &field.name);
        match name {
            "full" => Some(all.cloned().collect()),
            "standard" => {
                // Without its key no item could be found again.
                let bulky = |field: &&Field| {
                    matches!(field.of, FieldType::Bytes | FieldType::Json) && !self.key.contains(&field.name)
                };
                Some(self.fields.iter().filter(|field| !bulky(field)).map(|field| field.name.clone()).collect())
            }
            "minimal" => {
                let telling = self.text.first();
                Some(all.filter(|name| self.key.contains(name) || telling == Some(name)).cloned().collect())
            }
            _ => None,
        }
    }

    /// Every preset's name.
    pub fn preset_names(&self) -> Vec<&str> {
        let own =
            self.presets.keys().map(|name| &**name).filter(|name| !["minimal", "standard", "full"].contains(name));
        ["minimal", "standard", "full"].into_iter().chain(own).collect()
    }
}
