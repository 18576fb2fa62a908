//! Parameters as they may be written down: without secrets, and of bounded size.
//!
//! A value is left out when its definition says that it is sensitive, when its name or the name beside it sounds like a
//! secret, or when it looks like one. Leaving out too much is the cheaper mistake.

use aquifer_protocol::operation::Operation;
use aquifer_protocol::schema::{Kind, Schema, Shape, Types};
use serde_json::{Map, Value};

const REDACTED: &str = "[redacted]";
const CUT: &str = "…";
/// Bytes of names and values in all.
const MOST_BYTES: usize = 4096;
/// Characters of one text.
const MOST_TEXT: usize = 200;
/// Bytes shown to a person who decides.
const MOST_SHOWN: usize = 32 * 1024;
/// Characters of one name.
const MOST_NAME: usize = 64;
const MOST_DEPTH: usize = 8;
/// Text that holds JSON is looked into up to here.
const MOST_PARSED: usize = 64 * 1024;

/// Names that contain one of these are secrets, compared without case and punctuation.
const SOUNDS_SECRET: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "secret",
    "token",
    "authorization",
    "apikey",
    "accesskey",
    "privatekey",
    "signingkey",
    "encryptionkey",
    "accountkey",
    "credential",
    "cookie",
    "bearer",
    "jwt",
    "connectionstring",
    "databaseurl",
];

/// Names that are secrets when they are nothing more.
const IS_SECRET: &[&str] = &[
    "auth",
    "pass",
    "pin",
    "otp",
    "cvv",
    "cvc",
    "dsn",
    "sid",
    "sessionid",
    "confirmation",
    "quotacontinue",
    "xapikey",
];

/// Text that begins so is a secret, whatever it is called.
const BEGINS_SECRET: &[&str] = &[
    "conf_",
    "quota_continue_",
    "Bearer ",
    "bearer ",
    "Basic ",
    "basic ",
    "sk-",
    "sk_",
    "rk_",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xox",
    "AKIA",
    "eyJ",
    "-----BEGIN",
];

/// Members that name what their neighbours are the value of, as in `{"name": "Authorization", "value": "…"}`.
const NAMES_NEIGHBOURS: &[&str] = &["name", "key", "field", "header", "column", "param", "parameter", "property"];

/// The parameters without secrets.
pub(crate) fn redact(operation: &Operation, types: Option<&Types>, params: &Map<String, Value>) -> Value {
    let schema = schema_of(operation);
    Walk { types, left: MOST_BYTES, most_text: MOST_TEXT, guesses: true }.object(params, &[&schema], 0)
}

/// The parameters as a person is to see them who decides about them. Only what the definition calls sensitive, or names
/// like a secret, is left out: a caller must not be able to hide something by making it look like one.
pub(crate) fn shown(operation: &Operation, types: Option<&Types>, params: &Map<String, Value>) -> Value {
    let schema = schema_of(operation);
    Walk { types, left: MOST_SHOWN, most_text: MOST_SHOWN, guesses: false }.object(params, &[&schema], 0)
}

/// The parameters of an operation as one object.
fn schema_of(operation: &Operation) -> Schema {
    let shape = Shape { fields: operation.parameters.clone(), ..Shape::default() };
    Schema { kind: Kind::Object(shape), ..Schema::default() }
}

/// The text, or its beginning and how long it is.
pub(super) fn shortened(text: &str, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text.to_owned(),
        Some((end, _)) => {
            format!("{}{CUT} ({} characters)", text.get(..end).unwrap_or_default(), text.chars().count())
        }
    }
}

/// Words of our own that may quote somebody else's.
pub(super) fn words(text: &str, most: usize) -> String {
    if looks_secret(text) || looks_secret_inside(text) { REDACTED.to_owned() } else { shortened(text, most) }
}

struct Walk<'a> {
    types: Option<&'a Types>,
    /// Bytes that may still be written.
    left: usize,
    /// Characters of one text.
    most_text: usize,
    /// Whether what only looks like a secret is left out, too.
    guesses: bool,
}

impl<'a> Walk<'a> {
    fn value(&mut self, value: &Value, schemas: &[&'a Schema], depth: usize) -> Value {
        match value {
            Value::Object(_) | Value::Array(_) if depth >= MOST_DEPTH => CUT.into(),
            Value::Object(map) => self.object(map, schemas, depth),
            Value::Array(items) => self.array(items, schemas, depth),
            Value::String(text) => self.text(text, depth),
            Value::Number(number) => {
                // A number of any length is possible in text.
                let text = number.to_string();
                self.spend(text.len());
                if text.len() > MOST_NAME { shortened(&text, MOST_NAME).into() } else { value.clone() }
            }
            Value::Null | Value::Bool(_) => {
                self.spend(5);
                value.clone()
            }
        }
    }

    fn object(&mut self, map: &Map<String, Value>, schemas: &[&'a Schema], depth: usize) -> Value {
        let shapes: Vec<&'a Shape> = schemas.iter().flat_map(|schema| shapes(schema, self.types, 0)).collect();
        let neighbour = self.guesses
            && map.iter().any(|(name, value)| {
                NAMES_NEIGHBOURS.contains(&name.to_ascii_lowercase().as_str())
                    && value.as_str().is_some_and(sounds_secret)
            });
        let mut kept = Map::new();
        for (position, (name, value)) in map.iter().enumerate() {
            if self.left == 0 {
                kept.insert(CUT.to_owned(), format!("{} more", map.len() - position).into());
                break;
            }
            self.spend(name.len().min(MOST_NAME) + 4);
            let fields = || shapes.iter().flat_map(|shape| &shape.fields).filter(|field| *field.name == **name);
            let names_it = NAMES_NEIGHBOURS.contains(&name.to_ascii_lowercase().as_str());
            // Names that the definition does not have are the caller's to choose.
            let sounds = sounds_secret(name) && (self.guesses || fields().next().is_some());
            let secret = sounds || fields().any(|field| field.sensitive) || (neighbour && !names_it);
            let value = if secret && !value.is_null() {
                self.spend(REDACTED.len());
                REDACTED.into()
            } else {
                let schemas: Vec<&'a Schema> = fields().map(|field| &field.schema).collect();
                self.value(value, &schemas, depth + 1)
            };
            let hidden = self.guesses && looks_secret(name);
            kept.insert(if hidden { REDACTED.to_owned() } else { shortened(name, MOST_NAME) }, value);
        }
        Value::Object(kept)
    }

    fn array(&mut self, items: &[Value], schemas: &[&'a Schema], depth: usize) -> Value {
        let schemas: Vec<&'a Schema> = schemas.iter().flat_map(|schema| elements(schema, self.types, 0)).collect();
        let mut kept = Vec::new();
        for (position, item) in items.iter().enumerate() {
            if self.left == 0 {
                kept.push(format!("{CUT} {} more", items.len() - position).into());
                break;
            }
            self.spend(1);
            kept.push(self.value(item, &schemas, depth + 1));
        }
        Value::Array(kept)
    }

    fn text(&mut self, text: &str, depth: usize) -> Value {
        let kept = if !self.guesses {
            shortened(text, self.most_text)
        } else if looks_secret(text) {
            REDACTED.to_owned()
        } else if let Some(inner) = inner_json(text) {
            // Its own text again, so that a reader sees that it was text.
            return match depth >= MOST_DEPTH {
                true => CUT.into(),
                false => self.value(&inner, &[], depth + 1).to_string().into(),
            };
        } else if holds_secret(text) {
            REDACTED.to_owned()
        } else {
            shortened(text, self.most_text)
        };
        self.spend(kept.len() + 2);
        kept.into()
    }

    fn spend(&mut self, bytes: usize) {
        self.left = self.left.saturating_sub(bytes);
    }
}

/// Every shape that an object of this schema may have.
fn shapes<'a>(schema: &'a Schema, types: Option<&'a Types>, depth: usize) -> Vec<&'a Shape> {
    through(schema, types, depth, &|kind| match kind {
        Kind::Object(shape) => vec![shape],
        _ => Vec::new(),
    })
}

/// Every schema that an element of a list of this schema may have.
fn elements<'a>(schema: &'a Schema, types: Option<&'a Types>, depth: usize) -> Vec<&'a Schema> {
    through(schema, types, depth, &|kind| match kind {
        Kind::Array(Some(element)) => vec![&**element],
        _ => Vec::new(),
    })
}

/// Looks through names and unions, which may refer to each other, so not for ever.
fn through<'a, T>(
    schema: &'a Schema,
    types: Option<&'a Types>,
    depth: usize,
    found: &dyn Fn(&'a Kind) -> Vec<&'a T>,
) -> Vec<&'a T> {
    match &schema.kind {
        _ if depth > MOST_DEPTH => Vec::new(),
        Kind::Named(name) => types
            .and_then(|types| types.get(name))
            .map(|schema| through(schema, types, depth + 1, found))
            .unwrap_or_default(),
        Kind::Union(members) => members.iter().flat_map(|member| through(member, types, depth + 1, found)).collect(),
        kind => found(kind),
    }
}

/// Whether a value of this name is a secret.
fn sounds_secret(name: &str) -> bool {
    // Names longer than this are no names; they are shortened, and looked at as values are.
    let plain: String =
        name.chars().take(256).filter(|c| c.is_ascii_alphanumeric()).map(|c| c.to_ascii_lowercase()).collect();
    IS_SECRET.contains(&plain.as_str()) || SOUNDS_SECRET.iter().any(|word| plain.contains(word))
}

/// Whether text is a secret by its form: a token, a key, an address with a password.
fn looks_secret(text: &str) -> bool {
    let text = text.trim_start();
    BEGINS_SECRET.iter().any(|start| text.starts_with(start)) || text.split("://").skip(1).any(has_user_info)
}

/// Whether what follows `://` has a password before the host.
fn has_user_info(rest: &str) -> bool {
    let authority = rest.split(['/', '?', '#', ' ', '"']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// JSON inside text.
fn inner_json(text: &str) -> Option<Value> {
    let text = text.trim();
    if text.len() > MOST_PARSED || !text.starts_with(['{', '[']) {
        return None;
    }
    serde_json::from_str(text).ok()
}

/// Whether a secret is given somewhere in the text, as in `password=…`, `"token": …` or `Authorization: …`.
fn holds_secret(text: &str) -> bool {
    let mut parts = text.split_inclusive(['=', ':']).peekable();
    while let Some(part) = parts.next() {
        let last = parts.peek().is_none();
        if last {
            return looks_secret_inside(part);
        }
        let word = part.trim_end_matches(['=', ':', '"', '\'', ' ', '\\', '`']);
        let word =
            word.rsplit([' ', '&', '?', '"', '\'', ',', ';', '{', '(', '\n', '\t', '`']).next().unwrap_or_default();
        if sounds_secret(word) || looks_secret_inside(part) {
            return true;
        }
    }
    false
}

/// Whether one of the words is a token by its form.
fn looks_secret_inside(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(['"', '\'', '(', ')', ',', ';', '`']);
        word.len() > 12 && BEGINS_SECRET.iter().any(|start| !start.ends_with(' ') && word.starts_with(start))
    })
}
