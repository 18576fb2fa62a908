//! Determines whether all code that the database user can reach is known to be harmless.
//!
//! The tree of a statement shows what it calls, but some code runs without appearing in one: checks of domains run while
//! the server parses a text of that type, and casts to JSON and support functions of operator classes run inside of
//! built-in functions; event triggers run when the view of the statement is created. This is checked before the server
//! parses anything. A user-defined function that is not known to
//! be harmless must not be executable for the user, so that the server itself refuses to call it wherever it is hidden.

use std::collections::BTreeSet;

use serde_json::Value;

use super::super::catalog::{number, text, texts};
use super::super::code_catalog::{OWNED, query_parts};
use super::super::expression::Expression;
use super::super::safe_code::{FIRST_OWN_ID, SafeCode};
use super::super::session::PostgresSession;
use crate::error::SqlError;
use crate::statement::{Dialect, Statement};

/// Maximum number of functions named in a message.
const MAX_NAMED: usize = 100;

const BEFORE: &str = "WITH ";
/// User-defined types but those of tables, the functions that the user may call by name, and those that run implicitly
/// and without a check of permissions. Compiled functions among the latter were installed by a superuser for just that.
const PARTS: &str = "
    SELECT json_build_object('part', 'type', 'id', t.oid::int8, 'kind', t.typtype, 'array', t.typcategory = 'A',
        'name', format('%I.%I', n.nspname, t.typname),
        'parts', (SELECT json_agg(x.id::int8) FROM (
            SELECT t.typbasetype UNION ALL SELECT t.typelem UNION ALL
            SELECT a.atttypid FROM pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0 AND NOT a.attisdropped) x (id)),
        'checks', (SELECT json_agg(coalesce(k.conbin::text, '')) FROM pg_constraint k
                   WHERE k.contypid = t.oid AND k.contype = 'c'),
        'extension', o.extname)::text
    FROM pg_type t JOIN pg_namespace n ON n.oid = t.typnamespace
    LEFT JOIN owned o ON o.classid = 'pg_type'::regclass AND o.objid = t.oid
    LEFT JOIN pg_type e ON e.oid = t.typelem
    LEFT JOIN pg_class c ON c.oid = greatest(t.typrelid, e.typrelid)
    WHERE t.oid >= 16384 AND coalesce(c.relkind, 'c') = 'c'
    UNION ALL
    SELECT json_build_object('part', 'callable', 'id', p.oid::int8,
        'signature', format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)),
        'nameable', has_schema_privilege(n.oid, 'USAGE'),
        'grantees', (SELECT json_agg(DISTINCT CASE WHEN x.grantee = 0 THEN 'PUBLIC' ELSE quote_ident(g.rolname) END)
            FROM aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) x LEFT JOIN pg_roles g ON g.oid = x.grantee
            WHERE x.privilege_type = 'EXECUTE' AND (x.grantee = 0 OR pg_has_role(g.oid, 'USAGE'))))::text
    FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE p.oid >= 16384 AND p.prokind <> 'p' AND has_function_privilege(p.oid, 'EXECUTE')
        AND p.prorettype <> ALL ('{trigger,event_trigger,internal,language_handler,fdw_handler,index_am_handler,table_am_handler,tsm_handler}'::regtype[])
        AND 'internal'::regtype <> ALL (p.proargtypes::oid[])
        AND NOT (p.prolang = 12 AND p.prosrc ~ '^(multi)?range_constructor')
        AND p.oid NOT IN (SELECT x.id FROM pg_type t CROSS JOIN LATERAL (VALUES (t.typinput::oid), (t.typoutput::oid),
            (t.typreceive::oid), (t.typsend::oid), (t.typmodin::oid), (t.typmodout::oid)) x (id) WHERE t.oid >= 16384)
    UNION ALL
    SELECT json_build_object('part', 'support', 'id', p.oid::int8, 'event_trigger', u.event_trigger,
        'signature', format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)))::text
    FROM (SELECT k.castfunc, NULL::name FROM pg_cast k WHERE k.casttarget IN ('json'::regtype, 'jsonb'::regtype)
          UNION
          SELECT a.amproc::oid, NULL FROM pg_amproc a
          UNION
          SELECT o.oprcode::oid, NULL FROM pg_amop a JOIN pg_operator o ON o.oid = a.amopopr
          UNION
          SELECT x.id, NULL FROM pg_range r CROSS JOIN LATERAL (VALUES (r.rngcanonical::oid), (r.rngsubdiff::oid)) x (id)
          UNION
          SELECT t.evtfoid, t.evtname FROM pg_event_trigger t WHERE t.evtevent IN ('ddl_command_start', 'ddl_command_end')
              AND t.evtenabled <> 'D' AND (t.evttags IS NULL OR 'CREATE VIEW' = ANY(t.evttags))) u (id, event_trigger)
    JOIN pg_proc p ON p.oid = u.id JOIN pg_language l ON l.oid = p.prolang JOIN pg_namespace n ON n.oid = p.pronamespace
    WHERE p.oid >= 16384 AND l.lanname NOT IN ('c', 'internal')
    UNION ALL";

/// A function that the user may call.
struct Callable {
    id: i64,
    signature: String,
    /// Whether a statement can name it.
    is_nameable: bool,
    grantees: Vec<String>,
}

/// A function that runs without a check of permissions.
struct SupportFunction {
    id: i64,
    signature: String,
    /// The event trigger that calls it.
    event_trigger: Option<String>,
}

/// The code that the user can reach.
pub(super) struct CallableCode {
    pub(super) safe_code: SafeCode,
    callable: Vec<Callable>,
    /// Functions that run without a check of permissions.
    support: Vec<SupportFunction>,
    /// Domains, with their checks.
    domains: Vec<(i64, String, Vec<String>)>,
}

impl CallableCode {
    pub(super) async fn read(session: &mut PostgresSession<'_>) -> Result<Self, SqlError> {
        let mut question = Statement::new(Dialect::Postgres);
        question.push(BEFORE).push(OWNED).push(PARTS);
        let rows = query_parts(session, question).await?;
        let mut safe_code = SafeCode::for_user();
        rows.iter().for_each(|row| safe_code.add(row));
        let rows_of = |part: &'static str| rows.iter().filter(move |row| text(row, "part") == part);
        let callable = rows_of("callable").map(|row| Callable {
            id: number(row, "id"),
            signature: text(row, "signature").to_owned(),
            is_nameable: row["nameable"] != Value::Bool(false),
            grantees: texts(&row["grantees"]),
        });
        let support = rows_of("support").map(|row| SupportFunction {
            id: number(row, "id"),
            signature: text(row, "signature").to_owned(),
            event_trigger: row["event_trigger"].as_str().map(str::to_owned),
        });
        let domains = rows_of("type").filter(|row| text(row, "kind") == "d");
        let mut code = Self {
            callable: callable.collect(),
            support: support.collect(),
            domains: domains
                .map(|row| (number(row, "id"), text(row, "name").to_owned(), texts(&row["checks"])))
                .collect(),
            safe_code,
        };
        let mut used = code.safe_code.functions_of(&[]);
        used.extend(
            code.callable.iter().map(|function| function.id).chain(code.support.iter().map(|function| function.id)),
        );
        code.safe_code.add_functions(session, used).await?;
        Ok(code)
    }

    /// Why `query_sql` must stay off.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let unsafe_domains = self.domains.iter().filter(|(id, ..)| !self.safe_code.is_safe_type(*id));
        let mut in_checks = BTreeSet::new();
        for (_, name, checks) in unsafe_domains {
            let called = self.unsafe_functions(checks);
            if called.is_empty() {
                problems.push(format!(
                    "query_sql stays off, because the checks of the domain '{name}' are not known to be harmless"
                ));
            }
            in_checks.extend(called);
        }
        let support = self.support.iter().filter(|function| !self.safe_code.is_pure_function(function.id));
        problems.extend(support.map(|SupportFunction { signature, event_trigger, .. }| {
            let caller = match event_trigger {
                Some(name) => format!("the event trigger '{name}', which also runs for temporary views,"),
                None => "an operator class, a range or a cast to JSON".to_owned(),
            };
            format!("query_sql stays off, because {caller} calls '{signature}', which is not known to be harmless")
        }));
        let is_open = |function: &&Callable| {
            (function.is_nameable || in_checks.contains(&function.id)) && !self.safe_code.is_safe_function(function.id)
        };
        problems.extend(revocation(self.callable.iter().filter(is_open).collect()));
        problems
    }

    /// The functions in the checks of a domain that the user may call and that are not known to be harmless.
    fn unsafe_functions(&self, checks: &[String]) -> Vec<i64> {
        let expressions = checks.iter().filter_map(|check| Expression::parse(check));
        let functions = expressions.flat_map(|expression| expression.functions);
        let is_callable = |id: &i64| self.callable.iter().any(|function| function.id == *id);
        functions.filter(|id| *id >= FIRST_OWN_ID && !self.safe_code.is_safe_function(*id) && is_callable(id)).collect()
    }
}

/// The message about functions that are not known to be harmless, with the statement that takes them away from the user.
fn revocation(functions: Vec<&Callable>) -> Option<String> {
    let count = functions.len();
    let named = functions.get(..count.min(MAX_NAMED))?;
    let grantees: BTreeSet<&str> = named.iter().flat_map(|function| &function.grantees).map(String::as_str).collect();
    let signatures: Vec<&str> = named.iter().map(|function| function.signature.as_str()).collect();
    let more = match count - named.len() {
        0 => String::new(),
        more => format!(" (and {more} more functions, named after these)"),
    };
    (count > 0).then(|| {
        format!(
            "query_sql stays off, because the database user may call functions that are not known to be harmless{more}. \
             To turn it on: REVOKE EXECUTE ON FUNCTION {} FROM {}",
            signatures.join(", "),
            grantees.into_iter().collect::<Vec<_>>().join(", ")
        )
    })
}
