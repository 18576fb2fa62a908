//! The bill of materials, in the format CycloneDX 1.5: every crate in the binary, with version, licence and hash.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::calendar::timestamp;
use super::checksum::hexadecimal;
use super::platform::Platform;
use super::release::{REPOSITORY, Release};
use crate::step::{cargo, root};

/// Writes the bill of materials of a build with all default features.
pub(crate) fn write(release: &Release, platform: Platform) -> Result<String> {
    let mut command = cargo(&["metadata", "--format-version", "1", "--locked", "--filter-platform", platform.triple()]);
    let done = command.output().context("cargo does not run")?;
    anyhow::ensure!(done.status.success(), "cargo metadata failed: {}", String::from_utf8_lossy(&done.stderr));
    let lock = std::fs::read_to_string(root().join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let document = document(&serde_json::from_slice(&done.stdout)?, &checksums(&lock), release, platform)?;
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn document(
    metadata: &Value,
    checksums: &BTreeMap<(String, String), String>,
    release: &Release,
    platform: Platform,
) -> Result<Value> {
    let packages: BTreeMap<&str, &Value> =
        list(metadata, "/packages").filter_map(|package| Some((package["id"].as_str()?, package))).collect();
    let nodes: BTreeMap<&str, &Value> =
        list(metadata, "/resolve/nodes").filter_map(|node| Some((node["id"].as_str()?, node))).collect();
    let is_program = |package: &Value| package["name"] == "aquifer" && package["source"].is_null();
    let (program, _) = packages.iter().find(|(_, package)| is_program(package)).context("no package 'aquifer'")?;
    let included = reachable(program, &nodes);
    let reference = |id: &str| packages.get(id).map(|package| package_url(package)).unwrap_or_default();

    let others = included.iter().filter(|id| *id != program).filter_map(|id| packages.get(id));
    let mut components: Vec<Value> = others.map(|package| component("library", package, checksums)).collect();
    components.sort_by_key(|component| component["bom-ref"].as_str().unwrap_or_default().to_owned());
    let mut dependencies: Vec<Value> = included
        .iter()
        .map(|id| {
            let mut below: Vec<String> = needs(id, &nodes).map(reference).collect();
            below.sort_unstable();
            below.dedup();
            json!({ "ref": reference(id), "dependsOn": below })
        })
        .collect();
    dependencies.sort_by_key(|dependency| dependency["ref"].as_str().unwrap_or_default().to_owned());
    let main = packages.get(program).context("no package 'aquifer'")?;
    let main = component("application", main, checksums);
    let content = json!([&components, &dependencies, &release.commit, platform.triple()]).to_string();
    Ok(json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "serialNumber": format!("urn:uuid:{}", uuid(content.as_bytes())),
        "version": 1,
        "metadata": {
            "timestamp": timestamp(release.time),
            "component": main,
            "properties": [
                { "name": "aquifer:commit", "value": release.commit },
                { "name": "aquifer:target", "value": platform.triple() },
            ],
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

/// Everything that is compiled into or for the program, and not only for its tests.
fn reachable<'a>(program: &'a str, nodes: &BTreeMap<&'a str, &'a Value>) -> BTreeSet<&'a str> {
    let (mut found, mut waiting) = (BTreeSet::new(), vec![program]);
    while let Some(id) = waiting.pop() {
        if found.insert(id) {
            waiting.extend(needs(id, nodes));
        }
    }
    found
}

fn needs<'a>(id: &str, nodes: &BTreeMap<&'a str, &'a Value>) -> impl Iterator<Item = &'a str> {
    let dependencies = nodes.get(id).copied().into_iter().flat_map(|node| list(node, "/deps"));
    let is_shipped = |kind: &Value| kind["kind"] != "dev";
    dependencies
        .filter(move |dependency| list(dependency, "/dep_kinds").any(is_shipped))
        .filter_map(|dependency| dependency["pkg"].as_str())
}

fn component(kind: &str, package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |key: &str| package[key].as_str().unwrap_or_default();
    let (name, version, url) = (text("name"), text("version"), package_url(package));
    let mut fields = serde_json::Map::new();
    for (key, value) in [("type", kind), ("bom-ref", &url), ("name", name), ("version", version), ("purl", &url)] {
        fields.insert(key.to_owned(), json!(value));
    }
    if let Some(description) = package["description"].as_str() {
        let words: Vec<&str> = description.split_whitespace().collect();
        fields.insert("description".to_owned(), json!(words.join(" ")));
    }
    if let Some(licence) = package["license"].as_str() {
        // Older crates separate alternatives with a slash.
        let expression = licence.replace(" / ", " OR ").replace('/', " OR ");
        fields.insert("licenses".to_owned(), json!([{ "expression": expression }]));
    }
    if let Some(hash) = checksums.get(&(name.to_owned(), version.to_owned())) {
        fields.insert("hashes".to_owned(), json!([{ "alg": "SHA-256", "content": hash }]));
    }
    Value::Object(fields)
}

/// The address of a package in the notation of package-url.
fn package_url(package: &Value) -> String {
    let (name, version) =
        (package["name"].as_str().unwrap_or_default(), package["version"].as_str().unwrap_or_default());
    let url = format!("pkg:cargo/{name}@{}", version.replace('+', "%2B"));
    if package["source"].is_null() { format!("{url}?vcs_url=git%2B{REPOSITORY}.git") } else { url }
}

/// The hashes in Cargo.lock, by name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let entries = lock.split("[[package]]").skip(1).filter_map(|entry| {
        let value = |key: &str| {
            let line = entry.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = "))?;
            Some(line.trim_matches('"').to_owned())
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    entries.collect()
}

fn list<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

/// An identifier that depends only on the content (version 8 of UUIDs).
fn uuid(content: &[u8]) -> String {
    let mut bytes: Vec<u8> = Sha256::digest(content).into_iter().take(16).collect();
    for (index, mask, bits) in [(6, 0x0f, 0x80), (8, 0x3f, 0x80)] {
        if let Some(byte) = bytes.get_mut(index) {
            *byte = (*byte & mask) | bits;
        }
    }
    let text = hexadecimal(&bytes);
    let part = |range| text.get(range).unwrap_or_default();
    format!("{}-{}-{}-{}-{}", part(0..8), part(8..12), part(12..16), part(16..20), part(20..32))
}

#[cfg(test)]
#[allow(clippy::indexing_slicing, reason = "a missing key fails the test")]
mod tests {
    use super::*;

    #[test]
    fn the_bill_lists_what_is_shipped_and_nothing_else() -> Result<()> {
        let dependency = |id: &str, kind: Value| json!({ "pkg": id, "dep_kinds": [{ "kind": kind }] });
        let crate_of = |id: &str, source: Value| json!({ "id": id, "name": id, "version": "1.0.0+x", "license": "MIT/Apache-2.0", "source": source });
        let metadata = json!({
            "packages": [crate_of("aquifer", Value::Null), crate_of("used", json!("registry")), crate_of("for-tests", json!("registry"))],
            "resolve": { "nodes": [
                { "id": "aquifer", "deps": [dependency("used", Value::Null), dependency("for-tests", json!("dev"))] },
                { "id": "used", "deps": [] },
                { "id": "for-tests", "deps": [] },
            ] },
        });
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.0.0+x\"\nchecksum = \"abc\"\n";
        let release = Release::for_tests();
        let bill = document(&metadata, &checksums(lock), &release, Platform::LinuxX64)?;
        let used = json!({
            "type": "library", "bom-ref": "pkg:cargo/used@1.0.0%2Bx", "name": "used", "version": "1.0.0+x",
            "purl": "pkg:cargo/used@1.0.0%2Bx", "licenses": [{ "expression": "MIT OR Apache-2.0" }],
            "hashes": [{ "alg": "SHA-256", "content": "abc" }],
        });
        assert_eq!(bill["components"], json!([used]));
        assert_eq!(bill["metadata"]["timestamp"], "2023-11-14T22:13:20Z");
        assert_eq!(bill["dependencies"].as_array().map(Vec::len), Some(2));
        let again = document(&metadata, &checksums(lock), &release, Platform::LinuxX64)?;
        assert_eq!(bill["serialNumber"], again["serialNumber"]);
        Ok(())
    }
}
