//! Validates requests with an independent mock: Prism, which refuses requests that violate the description.
//!
//! Every operation is called twice, with the required parameters and with all of them. The arguments are generated from
//! the operation, validated as in the engine, and sent. AQUIFER_TEST_MOCK names the folder that contains Prism, and
//! AQUIFER_TEST_DESCRIPTIONS the folder that contains the descriptions.

mod calls;
mod description;
mod prism;

use std::path::{Path, PathBuf};

use aquifer_protocol::schema::Extent;

use calls::{Judgement, Refusal};
use description::Content;

/// Calls that are refused, and why.
struct Exception {
    operations: &'static [&'static str],
    extents: &'static [Extent],
    flaw: Flaw,
}

/// Why a call is refused.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Prism refuses a valid request.
    Refuses,
    /// Prism crashes, so the request must not be sent.
    Crashes,
    /// The description has a constraint that our schemas cannot express, so the generated arguments violate it. Callers
    /// get the error of the target.
    Inexpressible,
}

impl Exception {
    fn covers(&self, operation: &str, extent: Extent) -> bool {
        self.operations.contains(&operation) && self.extents.contains(&extent)
    }
}

const BOTH: &[Extent] = &[Extent::Required, Extent::All];

fn installed(path: &str) -> PathBuf {
    let folder = std::env::var("AQUIFER_TEST_DESCRIPTIONS").expect("AQUIFER_TEST_DESCRIPTIONS names a folder");
    Path::new(&folder).join("node_modules").join(path)
}

#[tokio::test]
async fn styles_of_parameters_are_accepted() {
    let exceptions = [
        // Prism parses arrays and objects in headers even if they are not sent.
        Exception {
            operations: &["headers_standard", "headers_simple_non_exploded", "headers_simple_exploded"],
            extents: &[Extent::Required],
            flaw: Flaw::Crashes,
        },
        // Prism parses every object in a path twice.
        Exception {
            operations: &[
                "paths_standard",
                "paths_matrix_non_exploded",
                "paths_matrix_exploded",
                "paths_label_non_exploded",
                "paths_label_exploded",
                "paths_simple_non_exploded",
                "paths_simple_exploded",
            ],
            extents: BOTH,
            flaw: Flaw::Crashes,
        },
        // Prism does not support objects in these styles.
        Exception {
            operations: &["query_space_delimited_non_exploded", "query_pipe_delimited_non_exploded"],
            extents: BOTH,
            flaw: Flaw::Crashes,
        },
        Exception {
            operations: &["form_data_space_delimited_non_exploded", "form_data_pipe_delimited_non_exploded"],
            extents: &[Extent::All],
            flaw: Flaw::Crashes,
        },
        // Prism expects the commas of a list to be percent-encoded, but parts are not.
        Exception { operations: &["form_data_form_non_exploded"], extents: &[Extent::All], flaw: Flaw::Refuses },
        // Prism keeps only the last of several parts with the same name, and does not parse JSON in parts.
        Exception { operations: &["form_data_standard"], extents: &[Extent::All], flaw: Flaw::Refuses },
    ];
    check("@readme/oas-examples/3.0/json/parameters-style.json", Content::Everything, 25, &exceptions).await;
}

#[tokio::test]
async fn cookies_are_accepted() {
    check("@readme/oas-examples/3.0/json/parameters-cookies.json", Content::Everything, 1, &[]).await;
}

#[tokio::test]
async fn files_are_accepted() {
    let exceptions = [
        // Prism keeps only the last of several files with the same name.
        Exception { operations: &["put_anything_multipart_formdata"], extents: &[Extent::All], flaw: Flaw::Refuses },
    ];
    check("@readme/oas-examples/3.0/json/file-uploads.json", Content::Everything, 3, &exceptions).await;
}

#[tokio::test]
async fn nested_bodies_and_forms_are_accepted() {
    check("@readme/oas-examples/3.1/json/petstore.json", Content::Requests, 20, &[]).await;
}

#[tokio::test]
async fn patterns_are_accepted() {
    check("@readme/oas-examples/3.1/json/readme.json", Content::Requests, 50, &[]).await;
}

#[tokio::test]
async fn alternatives_are_accepted() {
    check("@readme/oas-examples/3.1/json/train-travel.json", Content::Everything, 7, &[]).await;
}

#[tokio::test]
async fn every_way_to_authenticate_is_accepted() {
    check("@scalar/galaxy/dist/3.1.json", Content::Everything, 9, &[]).await;
}

#[tokio::test]
async fn many_forms_are_accepted() {
    check("@readme/oas-examples/3.0/json/star-trek.json", Content::Requests, 120, &[]).await;
}

/// Figma's description, or the file that AQUIFER_TEST_MOCK_DESCRIPTION names. GitHub's is too large to install for
/// every run.
#[tokio::test]
async fn many_operations_are_accepted() {
    let exceptions = [
        // `minProperties`
        Exception { operations: &["post_variables"], extents: &[Extent::Required], flaw: Flaw::Inexpressible },
        // Alternatives that require different fields.
        Exception {
            operations: &[
                "campaigns_create_campaign",
                "repos_create_pages_site",
                "secret_scanning_update_org_custom_pattern",
                "secret_scanning_update_repo_custom_pattern",
            ],
            extents: &[Extent::Required],
            flaw: Flaw::Inexpressible,
        },
        Exception {
            operations: &[
                "code_scanning_create_variant_analysis",
                "projects_add_item_for_org",
                "projects_add_item_for_user",
            ],
            extents: BOTH,
            flaw: Flaw::Inexpressible,
        },
        // In a path, a number is also a string, so Prism reports that both alternatives match.
        Exception {
            operations: &[
                "actions_get_workflow",
                "actions_disable_workflow",
                "actions_create_workflow_dispatch",
                "actions_enable_workflow",
                "actions_list_workflow_runs",
                "actions_get_workflow_usage",
                "repos_get_pages_deployment",
                "repos_cancel_pages_deployment",
            ],
            extents: BOTH,
            flaw: Flaw::Refuses,
        },
    ];
    let named = std::env::var("AQUIFER_TEST_MOCK_DESCRIPTION").map(PathBuf::from);
    let file = named.unwrap_or_else(|_| installed("@figma/rest-api-spec/openapi/openapi.yaml"));
    check_file(&file, Content::Requests, 50, &exceptions).await;
}

async fn check(file: &str, content: Content, min_operations: usize, exceptions: &[Exception]) {
    check_file(&installed(file), content, min_operations, exceptions).await;
}

/// Calls every operation of a description. Exactly the listed exceptions are refused.
async fn check_file(file: &Path, content: Content, min_operations: usize, exceptions: &[Exception]) {
    let Judgement { operations, refused } = calls::judge(file, content, exceptions).await;
    assert!(operations.len() >= min_operations, "{} operations", operations.len());
    let is_expected =
        |refusal: &&Refusal| exceptions.iter().any(|exception| exception.covers(&refusal.operation, refusal.extent));
    let unexpected: Vec<String> = refused
        .iter()
        .filter(|refusal| !is_expected(refusal))
        .map(|refusal| format!("{} with {:?}: {}", refusal.operation, refusal.extent, refusal.problem))
        .collect();
    assert!(unexpected.is_empty(), "{} requests are refused:\n{}", unexpected.len(), unexpected.join("\n"));
    for exception in exceptions.iter().filter(|exception| exception.flaw != Flaw::Crashes) {
        for operation in operations.iter().filter(|name| exception.operations.contains(&&***name)) {
            for extent in exception.extents {
                let is_needed =
                    refused.iter().any(|refusal| refusal.operation == *operation && refusal.extent == *extent);
                assert!(is_needed, "'{operation}' with {extent:?} is accepted and need not be listed");
            }
        }
    }
}
