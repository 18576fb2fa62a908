//! The data of the library and its changes.

use serde_json::{Map, Value, json};

use super::{Answer, Failure, Flaw, Server, not_found};

type Row = Map<String, Value>;

/// Books and authors.
pub(super) struct World {
    books: Vec<Row>,
    authors: Vec<Row>,
    next: u64,
    tokens: Vec<(String, String)>,
}

pub(super) const GENRES: [&str; 3] = ["essay", "novel", "poetry"];

fn row(value: Value) -> Row {
    value.as_object().unwrap().clone()
}

impl World {
    pub(super) fn new() -> Self {
        let author = |id: u64| {
            let country = ["DE", "FR"][id as usize % 2];
            row(json!({"id": id, "name": format!("Author {id}"), "country": country}))
        };
        let book = |id: u64| {
            row(json!({
                "id": id,
                "title": format!("Book {}", 100 - id),
                "author_id": 1 + id % 6,
                "pages": 90 + (id * 37) % 400,
                "genre": GENRES[id as usize % 3],
                "rating": (id % 9) as f64 + 0.5,
                "note": if id.is_multiple_of(4) { Value::Null } else { json!(format!("note {id}")) },
                "tags": ["paper", "old"],
                "added_at": format!("2024-03-{:02}T10:00:00Z", 1 + id % 28),
            }))
        };
        Self {
            books: (1..=45).map(book).collect(),
            authors: (1..=6).map(author).collect(),
            next: 1000,
            tokens: Vec::new(),
        }
    }

    pub(super) fn rows(&self, noun: &str) -> &Vec<Row> {
        if noun == "book" { &self.books } else { &self.authors }
    }

    fn rows_mut(&mut self, noun: &str) -> &mut Vec<Row> {
        if noun == "book" { &mut self.books } else { &mut self.authors }
    }

    pub(super) fn find(&self, noun: &str, id: &Value) -> Option<&Row> {
        self.rows(noun).iter().find(|row| row["id"] == *id)
    }
}

impl Server {
    pub(super) fn create(&mut self, noun: &str, params: Map<String, Value>) -> Answer {
        let mut created = params;
        let rehearsal = created.remove("dry_run") == Some(json!(true));
        if let Some(id) = created.get("id")
            && self.world.find(noun, id).is_some()
        {
            if self.has(Flaw::DuplicateAccepted) {
                return Ok((Value::Object(self.world.find(noun, id).unwrap().clone()), Vec::new()));
            }
            let message = format!("Another {noun} has the same 'id'");
            return Err(Failure("CONFLICT_ALREADY_EXISTS", message, Value::Null));
        }
        let id = created.get("id").cloned().unwrap_or_else(|| {
            self.world.next += 1;
            json!(self.world.next)
        });
        let mut full = row(json!({"id": id}));
        let names: Vec<&str> = match noun {
            "book" => vec!["title", "author_id", "pages", "genre", "rating", "note", "tags", "added_at"],
            _ => vec!["name", "country"],
        };
        for name in names {
            full.insert(name.into(), created.get(name).cloned().unwrap_or_default());
        }
        if self.has(Flaw::CreateDropsField) {
            full.insert("note".into(), Value::Null);
        }
        if self.has(Flaw::CreateChangesField) && noun == "author" {
            let shouted = full["name"].as_str().unwrap().to_uppercase();
            full.insert("name".into(), json!(shouted));
        }
        if !rehearsal || self.has(Flaw::DryRunCreates) {
            self.world.rows_mut(noun).push(full.clone());
        }
        Ok((if rehearsal { json!({"dry_run": true, "after": full}) } else { Value::Object(full) }, Vec::new()))
    }

    pub(super) fn update(&mut self, noun: &str, params: &Map<String, Value>) -> Answer {
        let rehearsal = params.get("dry_run") == Some(&json!(true));
        let input = params["input"].as_object().unwrap();
        let fields = if noun == "book" {
            vec!["title", "pages", "genre", "rating", "note", "tags", "added_at"]
        } else {
            vec!["name", "country"]
        };
        for name in input.keys().filter(|name| !fields.contains(&name.as_str())) {
            let silent =
                if name == "id" { self.has(Flaw::IdentifierAccepted) } else { self.has(Flaw::UnknownInputSilent) };
            if !silent {
                let message = format!("Unknown field '{name}' in 'input'. Valid: {}", fields.join(", "));
                return Err(Failure("VALIDATION_UNKNOWN_FIELD", message, Value::Null));
            }
        }
        let Some(mut changed) = self.world.find(noun, &params["id"]).cloned() else {
            return Err(not_found(noun, &params["id"]));
        };
        for (name, value) in input.iter().filter(|(name, _)| fields.contains(&name.as_str())) {
            let ignored = self.has(Flaw::UpdateDoesNothing) || (value.is_null() && self.has(Flaw::NullIgnored));
            if !ignored {
                changed.insert(name.clone(), value.clone());
            }
        }
        if self.has(Flaw::UpdateResetsOthers) && !input.contains_key("tags") && noun == "book" {
            changed.insert("tags".into(), json!([]));
        }
        if !rehearsal || self.has(Flaw::DryRunUpdates) {
            let place = self.world.rows_mut(noun).iter_mut().find(|row| row["id"] == params["id"]).unwrap();
            *place = changed.clone();
        }
        Ok((Value::Object(changed), Vec::new()))
    }

    pub(super) fn delete(&mut self, noun: &str, params: &Map<String, Value>) -> Answer {
        let rehearsal = params.get("dry_run") == Some(&json!(true));
        let Some(gone) = self.world.find(noun, &params["id"]).cloned() else {
            return Err(not_found(noun, &params["id"]));
        };
        let what = format!("{noun} {} {rehearsal}", params["id"]);
        match params.get("confirmation_token").and_then(Value::as_str) {
            None if !self.has(Flaw::NoConfirmation) => {
                let token = format!("conf_{}", self.world.tokens.len());
                self.world.tokens.push((token.clone(), what));
                let message = format!("Deleting a {noun} has to be confirmed: repeat it with 'confirmation_token'");
                return Err(Failure("CONFIRMATION_REQUIRED", message, json!({"confirmation_token": token})));
            }
            Some(token) if !self.has(Flaw::AnyToken) => {
                let given = self.world.tokens.iter().position(|given| given.0 == token && given.1 == what);
                let Some(given) = given else {
                    return Err(Failure("TOKEN_INVALID", "The token is not of this request".into(), Value::Null));
                };
                self.world.tokens.remove(given);
            }
            _ => {}
        }
        if (!rehearsal || self.has(Flaw::DryRunDeletes)) && !self.has(Flaw::DeleteKeeps) {
            self.world.rows_mut(noun).retain(|row| row["id"] != params["id"]);
        }
        Ok((Value::Object(gone), Vec::new()))
    }
}
