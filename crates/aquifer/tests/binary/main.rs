//! The built binary, driven as its users drive it: command line, stdio, HTTP.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing, clippy::string_slice)]

mod absent;
mod adapter_files;
mod adapter_limits;
mod architecture;
mod asked;
mod attacks;
mod batches;
mod captures;
mod command_line;
mod configured;
mod conformance;
mod cursors;
mod databases;
mod demo;
mod docs_pages;
mod doctor;
mod doctor_access;
mod doctor_changes;
mod doctor_tables;
mod documents;
mod env_files;
mod floods;
mod gateway;
#[path = "../../../aquifer-discovery/tests/discovery/generated.rs"]
mod generated;
mod hostile;
mod http;
mod init;
mod init_again;
mod init_files;
mod init_local;
mod init_projects;
mod killed;
mod logins;
mod mcp_aql_servers;
mod missing_servers;
mod moved_configuration;
mod named_sources;
mod offered;
mod outputs;
mod pages;
#[cfg(feature = "test-postgres")]
mod postgres;
mod private_state;
mod published;
mod quarantine;
mod reloaded;
mod requirements;
mod rest;
mod rest_build;
mod results;
mod review_words;
mod safety;
mod secrets;
#[cfg(feature = "gateway")]
mod self_served;
#[cfg(feature = "test-clients")]
mod servers;
mod slow_starts;
mod sqlite;
mod sqlite_access;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod static_memory;
mod stdio;
mod support;
mod terminal;
mod tokens;
mod tutorial;
mod upgrades;
mod validate;
#[cfg(feature = "test-clients")]
mod walk;
mod watched;
