//! Detects whether the catalog has changed since the tables were read and since dry runs were proven safe.
//!
//! A trigger or check that is added later does not make any call fail, so nothing else would invalidate the proof.

use super::catalog::{query_catalog, text};
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::rows::CellType;
use crate::statement::{Dialect, Statement};
use crate::work::session::Session as _;

/// Everything that a proof depends on, by number and by the transaction that last wrote it. Only the relevant parts of
/// `pg_class` and `pg_index` are included, because temporary tables and maintenance change their rows.
const FINGERPRINT: &str = "
    SELECT md5(string_agg(x.part, ',' ORDER BY x.part)) FROM (
        SELECT 'f' || p.oid || ' ' || p.xmin FROM pg_proc p WHERE p.oid >= 16384
        UNION ALL
        SELECT 'o' || o.oid || ' ' || o.xmin FROM pg_operator o WHERE o.oid >= 16384
        UNION ALL
        SELECT 'c' || k.oid || ' ' || k.xmin FROM pg_cast k WHERE k.oid >= 16384
        UNION ALL
        SELECT 't' || t.oid || ' ' || t.xmin FROM pg_type t WHERE t.oid >= 16384 AND t.typtype IN ('d', 'e', 'r')
        UNION ALL
        SELECT 'e' || e.oid || ' ' || e.xmin FROM pg_extension e
        UNION ALL
        SELECT 'p' || p.oid || ' ' || p.xmin FROM pg_policy p
        UNION ALL
        SELECT 'r' || r.oid || ' ' || r.xmin FROM pg_rewrite r WHERE r.ev_type <> '1'
        UNION ALL
        SELECT 'x' || i.inhrelid || ' ' || i.inhparent FROM pg_inherits i
        UNION ALL
        SELECT 'g' || t.oid || ' ' || t.xmin FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.relpersistence <> 't'
        UNION ALL
        SELECT 'k' || k.oid || ' ' || k.xmin FROM pg_constraint k LEFT JOIN pg_class c ON c.oid = k.conrelid
        WHERE k.oid >= 16384 AND c.relpersistence IS DISTINCT FROM 't'
        UNION ALL
        SELECT 'i' || i.indexrelid FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
        WHERE i.indexrelid >= 16384 AND c.relpersistence <> 't'
        UNION ALL
        SELECT 'd' || d.oid || ' ' || d.xmin FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid
        WHERE c.relpersistence <> 't'
        UNION ALL
        SELECT 'a' || a.attrelid || ' ' || a.attnum || ' ' || a.atttypid || a.attgenerated::text || a.attidentity::text
        FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
        WHERE a.attrelid >= 16384 AND a.attnum > 0 AND c.relkind IN ('r', 'p', 'f', 'c') AND c.relpersistence <> 't'
        UNION ALL
        SELECT 'w' || c.oid || c.relrowsecurity || c.relam FROM pg_class c
        WHERE c.oid >= 16384 AND c.relkind IN ('r', 'p', 'f') AND c.relpersistence <> 't') x (part)";

/// The tables of these schemas, with everything that decides which requests are valid: their columns, constraints,
/// defaults and permissions, and the values of enumerations.
const SCHEMA: &str = include_str!("catalog/fingerprint.sql");

/// The current state of the tables of these schemas.
pub(super) async fn read_schema(session: &mut PostgresSession<'_>, schemas: &[String]) -> Result<String, SqlError> {
    let rows = query_catalog(session, SCHEMA, schemas).await?;
    Ok(rows.first().map(|row| text(row, "state").to_owned()).unwrap_or_default())
}

/// The current state of the catalog.
pub(super) async fn read(session: &mut PostgresSession<'_>) -> Result<String, SqlError> {
    let mut statement = Statement::new(Dialect::Postgres);
    statement.push(FINGERPRINT);
    let rows = session.rows(&statement, &[CellType::Text]).await?;
    let fingerprint = rows.first().and_then(|row| row.first()).and_then(|value| value.as_str());
    Ok(fingerprint.unwrap_or_default().to_owned())
}
