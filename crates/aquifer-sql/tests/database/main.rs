//! Tests of databases from outside: real files and a real server behind an engine, called as callers do. Test names
//! cite requirements. PostgreSQL needs the feature `postgres`, which `cargo xtask test` enables.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod bytes;
mod column_names;
mod comparison;
mod conflict_clauses;
mod credential_tables;
mod dry_runs;
mod examples;
mod fair_shares;
mod generic;
mod generic_introspection;
mod hidden;
mod hidden_later;
mod hidden_settings;
mod hidden_sqlite;
mod injection;
mod needs;
mod outcomes;
mod overview;
mod path_refusals;
mod path_rights;
mod path_targets;
mod persistent_names;
mod query_sql;
mod reconfiguration;
mod rehearsals;
mod relationships;
mod schema_changes;
mod schema_facts;
mod sql_log;
mod sqlite_failures;
mod sqlite_inline;
mod sqlite_reflection;
mod statements;
mod support;
mod table_models;
mod table_names;
mod time_widths;
mod unreadable_rows;
mod value_edge_cases;
mod walk;
mod writes;

mod dry_run_proofs;
mod hidden_lineage;
mod postgres_awkward;
mod postgres_failures;
mod postgres_reflection;
mod postgres_related_rows;
mod postgres_rights;
mod postgres_tls;
mod query_sql_postgres;
mod server;
