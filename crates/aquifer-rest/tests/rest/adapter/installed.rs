//! Adapter files built from third-party descriptions, from the folder that AQUIFER_TEST_DESCRIPTIONS names.

use std::path::Path;

use aquifer_rest::openapi::{self, ReadOptions};
use aquifer_rest::{BuildError, build_adapter};

use super::{assert_same, served};
use crate::openapi::survey::collect;

#[test]
fn r_dis_6_files_built_from_installed_descriptions_are_served_like_them() {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    let mut files = Vec::new();
    collect(Path::new(&folder), &mut files, 0);
    files.sort();
    let (mut built, mut operations) = (0, 0);
    for file in files {
        let Ok(text) = std::fs::read_to_string(&file) else { continue };
        if !text.contains("openapi") && !text.contains("swagger") {
            continue;
        }
        let Ok(description) = openapi::parse(&text) else { continue };
        let options = ReadOptions {
            source: "pets".to_owned(),
            url: Some("https://example.com/api.json".to_owned()),
            ..ReadOptions::default()
        };
        let Ok(described) = openapi::read(&description, &options) else { continue };
        let name = file.display().to_string();
        // A file requires https, or http on this machine.
        let base_url = described.base_url.replacen("http://", "https://", 1);
        let base_url = if base_url.is_empty() { "https://example.com".to_owned() } else { base_url };
        let files = match build_adapter(&description, &options, Some(&base_url)) {
            Ok((files, _)) => files,
            Err(BuildError::NoOperation) => continue,
            Err(error) => panic!("{name}: {error}"),
        };
        let mut expected = described;
        for operation in &mut expected.operations {
            if expected.routes[&operation.name].base_url.is_none() {
                operation.origin.place = base_url.as_str().into();
            }
        }
        expected.base_url = base_url;
        assert_same(&name, &served(&files.adapter, Some(&files.sidecar), false), &expected);
        built += 1;
        operations += expected.operations.len();
    }
    eprintln!("{built} files with {operations} operations");
    assert!(built > 0, "there is no description in {folder}");
}
