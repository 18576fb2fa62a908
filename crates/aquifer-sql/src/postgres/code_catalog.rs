//! Reads the code of a database from its catalog, for [`SafeCode`].

use serde_json::Value;

use super::catalog::query_catalog;
use super::safe_code::SafeCode;
use super::session::PostgresSession;
use crate::error::SqlError;
use crate::rows::CellType;
use crate::statement::Statement;
use crate::work::session::Session as _;

/// A common table expression: what an extension brought. Somebody may have added functions of their own to it, which are
/// neither compiled nor made together with it.
pub(super) const OWNED: &str = "
    owned AS (
        SELECT d.classid, d.objid, e.extname FROM pg_depend d JOIN pg_extension e ON e.oid = d.refobjid
        LEFT JOIN LATERAL (
            SELECT bool_and(l.lanname IN ('c', 'internal') OR p.xmin = e.xmin) AS is_original FROM (
                SELECT d.objid WHERE d.classid = 'pg_proc'::regclass
                UNION ALL
                SELECT o.oprcode::oid FROM pg_operator o WHERE d.classid = 'pg_operator'::regclass AND o.oid = d.objid
                UNION ALL
                SELECT k.castfunc FROM pg_cast k WHERE d.classid = 'pg_cast'::regclass AND k.oid = d.objid
                UNION ALL
                SELECT a.amproc::oid FROM pg_opclass c JOIN pg_amproc a ON a.amprocfamily = c.opcfamily
                WHERE d.classid = 'pg_opclass'::regclass AND c.oid = d.objid
                UNION ALL
                SELECT o.oprcode::oid FROM pg_opclass c JOIN pg_amop a ON a.amopfamily = c.opcfamily
                JOIN pg_operator o ON o.oid = a.amopopr WHERE d.classid = 'pg_opclass'::regclass AND c.oid = d.objid
                UNION ALL
                SELECT x.id FROM pg_range r CROSS JOIN LATERAL (VALUES (r.rngcanonical::oid), (r.rngsubdiff::oid)) x (id)
                WHERE d.classid = 'pg_type'::regclass AND r.rngtypid = d.objid) f (id)
            JOIN pg_proc p ON p.oid = f.id JOIN pg_language l ON l.oid = p.prolang) w ON true
        WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND coalesce(w.is_original, true)
            AND NOT (d.classid = 'pg_type'::regclass AND EXISTS (SELECT FROM pg_type t
                WHERE t.oid = d.objid AND t.typtype IN ('c', 'd') AND t.xmin <> e.xmin)))";

/// Code that runs implicitly.
const IMPLICIT: &str = "
    SELECT json_build_object('part', 'operator', 'id', p.oid::int8, 'function', p.oprcode::oid::int8, 'extension', o.extname,
        'types', json_build_array(p.oprleft::int8, p.oprright::int8))::text
    FROM pg_operator p LEFT JOIN owned o ON o.classid = 'pg_operator'::regclass AND o.objid = p.oid WHERE p.oid >= 16384
    UNION ALL
    SELECT json_build_object('part', 'cast', 'extension', o.extname,
        'types', json_build_array(k.castsource::int8, k.casttarget::int8))::text
    FROM pg_cast k LEFT JOIN owned o ON o.classid = 'pg_cast'::regclass AND o.objid = k.oid WHERE k.castfunc >= 16384";

/// Functions by their numbers.
const FUNCTIONS: &str = include_str!("catalog/functions.sql");

/// Completes a question that has [`OWNED`] and ends with `UNION ALL`.
pub(super) async fn query_parts(
    session: &mut PostgresSession<'_>,
    mut question: Statement,
) -> Result<Vec<Value>, SqlError> {
    question.push(IMPLICIT);
    let rows = session.rows(&question, &[CellType::Json]).await?;
    Ok(rows.into_iter().flatten().collect())
}

impl SafeCode {
    /// Reads functions by their numbers.
    pub(super) async fn add_functions(
        &mut self,
        session: &mut PostgresSession<'_>,
        ids: impl IntoIterator<Item = i64>,
    ) -> Result<(), SqlError> {
        let ids: Vec<String> = ids.into_iter().map(|id| id.to_string()).collect();
        query_catalog(session, FUNCTIONS, &ids).await?.iter().for_each(|row| self.add(row));
        Ok(())
    }
}
