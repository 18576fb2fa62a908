//! Reports of conformance runs: what makes a source `validated`.
//!
//! A report counts for the database or server that was tested, and only as long as its operations are those that were
//! tested. It is stored by the place of the source, and for an adapter file also by the texts of its files, because a
//! person who raises the level of a file names the file.

use std::fs;
use std::path::PathBuf;

use anyhow::Context;
use aquifer_engine::{Evidence, Offering};
use aquifer_protocol::hex::hex;
use aquifer_protocol::introspect::type_details;
use aquifer_protocol::operation::{Operation, Origin, Safety};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{NO_DIRECTORY, StateFiles, read_small_file, write_private};
use crate::system::create_private_directory;

/// How many reports are kept for one place: it may be served with different settings, each with its own operations.
const MAX_REPORTS: usize = 8;

/// The report of a conformance run that granted a level.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Validation {
    /// The digest of the operations that were tested.
    pub(crate) catalog: String,
    /// When the run ended.
    pub(crate) validated_at: String,
    /// The program that tested them.
    pub(crate) validated_by: String,
    /// The granted level.
    pub(crate) level: u8,
    /// The number of checks that passed.
    pub(crate) tests_passed: usize,
    /// The number of checks that examined something.
    pub(crate) tests_total: usize,
}

/// The source that a report is about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ValidationKey<'a> {
    /// The label of the database or server.
    Place(&'a str),
    /// The texts of an adapter file and its sidecar.
    Files(&'a [String]),
}

impl ValidationKey<'_> {
    fn file_name(self) -> String {
        let (kind, texts): (&str, Vec<&str>) = match self {
            ValidationKey::Place(place) => ("place", vec![place]),
            ValidationKey::Files(texts) => ("files", texts.iter().map(String::as_str).collect()),
        };
        let mut hash = Sha256::new();
        for text in std::iter::once(kind).chain(texts) {
            // The length separates adjacent texts.
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        }
        hex(&hash.finalize())
    }
}

/// The reports about one source.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Validations(Vec<Validation>);

impl Validations {
    /// The most recent report.
    pub(crate) fn latest(&self) -> Option<&Validation> {
        self.0.first()
    }

    /// The report about exactly these operations.
    pub(crate) fn find(&self, offering: &Offering) -> Option<&Validation> {
        if self.0.is_empty() {
            return None;
        }
        let catalog = catalog_digest(offering);
        self.0.iter().find(|validation| validation.catalog == catalog)
    }
}

impl Evidence for Validations {
    fn validation(&self, offering: &Offering) -> Option<Map<String, Value>> {
        let Validation { validated_at, validated_by, level, tests_passed, tests_total, .. } = self.find(offering)?;
        let report = json!({
            "tests_passed": tests_passed, "tests_total": tests_total, "conformance_level": level,
        });
        Some(Map::from_iter([
            ("validated_at".to_owned(), validated_at.clone().into()),
            ("validated_by".to_owned(), validated_by.clone().into()),
            ("validation_report".to_owned(), report),
        ]))
    }
}

impl StateFiles {
    /// Stores a report. The most recent ones are kept.
    pub(crate) fn store_validation(&self, key: ValidationKey<'_>, validation: Validation) -> anyhow::Result<()> {
        self.prepare()?;
        let file = self.validation_file(key).context(NO_DIRECTORY)?;
        if let Some(folder) = file.parent().filter(|folder| !folder.exists()) {
            create_private_directory(folder).with_context(|| format!("cannot create {}", folder.display()))?;
        }
        let Validations(mut kept) = self.validations(key);
        kept.retain(|known| known.catalog != validation.catalog);
        kept.insert(0, validation);
        kept.truncate(MAX_REPORTS);
        write_private(&file, &serde_json::to_vec(&kept)?).with_context(|| format!("cannot write {}", file.display()))
    }

    /// The reports about a source. A file that cannot be read is like no report.
    pub(crate) fn validations(&self, key: ValidationKey<'_>) -> Validations {
        let file = self.validation_file(key).filter(|file| fs::exists(file).unwrap_or_default());
        let read = file.and_then(|file| serde_json::from_slice(&read_small_file(&file).ok()?).ok());
        Validations(read.unwrap_or_default())
    }

    fn validation_file(&self, key: ValidationKey<'_>) -> Option<PathBuf> {
        self.directory.as_ref().map(|directory| directory.join("validations").join(key.file_name()))
    }
}

/// A digest of what a conformance run tests: the operations, their danger and their parameters, and the types of rows
/// that the source itself declares. Texts for readers do not count, and neither do query controls, which the engine
/// applies and which may appear once results were seen.
pub(crate) fn catalog_digest(offering: &Offering) -> String {
    let mut operations: Vec<&Operation> = offering.operations.iter().chain(&offering.indirect).collect();
    operations.sort_by(|one, other| one.origin.own_name.cmp(&other.origin.own_name));
    let mut hash = Sha256::new();
    for operation in &operations {
        let Operation { category, origin: Origin { own_name, .. }, safety, .. } = operation;
        let Safety { danger, quarantine, .. } = safety;
        let schema = without_texts(own_parameters(operation).input_schema(&offering.types));
        hash.update(format!("{own_name} {category} {danger} {} {schema}\n", quarantine.is_some()));
    }
    if operations.iter().all(|operation| operation.origin.native) {
        for name in offering.types.keys() {
            hash.update(format!("{name} {}\n", without_texts(type_details(name, &offering.types))));
        }
    }
    hex(&hash.finalize())
}

/// The operation with only the parameters that its source defines.
fn own_parameters(operation: &Operation) -> Operation {
    let mut own = operation.clone();
    own.parameters.retain(|parameter| !parameter.is_shared);
    own
}

/// Removes descriptions and examples.
fn without_texts(mut value: Value) -> Value {
    match &mut value {
        Value::Object(fields) => {
            fields.retain(|name, value| !matches!(name.as_str(), "description" | "examples") || value.is_object());
            fields.values_mut().for_each(|value| *value = without_texts(value.take()));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = without_texts(item.take())),
        _ => {}
    }
    value
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use aquifer_protocol::category::Category;
    use aquifer_protocol::schema::{Parameter, Schema};

    use super::*;

    fn offering(change: impl Fn(&mut Operation)) -> Offering {
        let mut get = Operation::new("get_tag", Category::Read, "Get a tag");
        get.parameters.push(Parameter::required("id", Schema::integer(0.0, 9.0).describe("Its id")));
        change(&mut get);
        Offering { operations: vec![get, Operation::new("list_tags", Category::Read, "List")], ..Offering::default() }
    }

    #[test]
    fn r_saf_2_a_report_counts_for_the_operations_that_were_tested() {
        let tested = catalog_digest(&offering(|_| {}));
        type Change = fn(&mut Operation);
        let same: &[Change] = &[
            |get| get.description = "Fetch a tag".into(),
            |get| get.origin.trust = aquifer_protocol::trust::Trust::Certified,
            |get| get.parameters.push(Parameter::optional("filter", Schema::string()).shared()),
            |get| get.parameters = vec![Parameter::required("id", Schema::integer(0.0, 9.0).describe("Which tag"))],
        ];
        for change in same {
            assert_eq!(catalog_digest(&offering(change)), tested);
        }
        let other: &[Change] = &[
            |get| get.origin.own_name = "get_tags".into(),
            |get| get.category = Category::Delete,
            |get| get.safety.danger = aquifer_protocol::danger::Danger::Destructive,
            |get| get.safety.quarantine = Some("changed".into()),
            |get| get.parameters.clear(),
            |get| get.parameters = vec![Parameter::required("id", Schema::string())],
            |get| get.parameters = vec![Parameter::optional("id", Schema::integer(0.0, 9.0))],
        ];
        for change in other {
            assert_ne!(catalog_digest(&offering(change)), tested);
        }
        let mut reversed = offering(|_| {});
        reversed.operations.reverse();
        assert_eq!(catalog_digest(&reversed), tested, "the order does not count");
    }
}
