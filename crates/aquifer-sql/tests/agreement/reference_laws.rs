//! Paths through references mean what joins by hand mean, for random rows, conditions and orders.

use proptest::prelude::*;
use proptest::sample::select;
use proptest::test_runner::{Config, TestCaseError, TestError, TestRunner};
use serde_json::{Value, json};

use crate::engines::{EngineSet, Participant};
use crate::related::{self, Rows, farm};
use crate::tables::StorageFormat;
use crate::walks::check_walk_visits_all;

/// Tables under names of their own, joined as the paths demand.
const FROM: &str = "visits v LEFT JOIN sites s ON s.id = v.site_id \
    LEFT JOIN regions r ON r.country = s.region_country AND r.code = s.region_code \
    LEFT JOIN people h ON h.id = v.host_id LEFT JOIN people hm ON hm.id = h.manager_id \
    LEFT JOIN people hmm ON hmm.id = hm.manager_id LEFT JOIN people g ON g.id = v.guest_id";

/// Paths to integers with their SQL.
const INTEGERS: [(&str, &str); 9] = [
    ("n", "v.n"),
    ("id", "v.id"),
    ("site.n", "s.n"),
    ("site_id.n", "s.n"),
    ("host.n", "h.n"),
    ("guest.n", "g.n"),
    ("host.manager.n", "hm.n"),
    ("host.manager.manager.n", "hmm.n"),
    ("site.region.n", "r.n"),
];

/// Paths to texts with their SQL.
const TEXTS: [(&str, &str); 6] = [
    ("name", "v.name"),
    ("site.name", "s.name"),
    ("host.name", "h.name"),
    ("guest.name", "g.name"),
    ("host.manager.name", "hm.name"),
    ("site.region.name", "r.name"),
];

const WORDS: [&str; 3] = ["a", "b", "c"];

/// References to many rows, with the SQL of those that match, up to the condition on them. They are called `x`, and their
/// first reference `xo`.
const MANY: [(&str, &str, &str); 4] = [
    ("site.visits", "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.site_id = s.id", "host"),
    (
        "host.people_by_manager_id",
        "people x LEFT JOIN people xo ON xo.id = x.manager_id WHERE x.manager_id = h.id",
        "manager",
    ),
    ("guest.visits_by_host_id", "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.host_id = g.id", "host"),
    (
        "host.manager.visits_by_guest_id",
        "visits x LEFT JOIN people xo ON xo.id = x.host_id WHERE x.guest_id = hm.id",
        "host",
    ),
];

/// A condition, and the same in SQL.
type Condition = (Value, String);

fn comparison() -> impl Strategy<Value = (&'static str, &'static str)> {
    select(&[("eq", "="), ("gt", ">"), ("gte", ">="), ("lt", "<"), ("lte", "<=")][..])
}

fn test_of(path: String, sql: String, integers: bool) -> BoxedStrategy<Condition> {
    let value = if integers {
        (0..4_i64).prop_map(Value::from).boxed()
    } else {
        select(&WORDS[..]).prop_map(Value::from).boxed()
    };
    let literal = |value: &Value| value.to_string().replace('"', "'");
    let (p1, p2, p3, s1, s2, s3) = (path.clone(), path.clone(), path, sql.clone(), sql.clone(), sql);
    prop_oneof![
        3 => (comparison(), value.clone()).prop_map(move |((word, sign), value)| {
            let sql = format!("{s1} {sign} {}", literal(&value));
            (json!({ p1.clone(): { word: value } }), sql)
        }),
        1 => (value.clone(), value).prop_map(move |(one, other)| {
            let sql = format!("({s2} IN ({}, {}) OR {s2} IS NULL)", literal(&one), literal(&other));
            (json!({ p2.clone(): [one, null_value(), other] }), sql)
        }),
        1 => any::<bool>().prop_map(move |is_null| {
            let sql = format!("{s3} IS {}", if is_null { "NULL" } else { "NOT NULL" });
            (json!({ p3.clone(): { "is_null": is_null } }), sql)
        }),
    ]
    .boxed()
}

fn null_value() -> Value {
    Value::Null
}

fn leaf() -> impl Strategy<Value = Condition> {
    let fields = prop_oneof![(Just(&INTEGERS[..])), (Just(&TEXTS[..]))];
    let compared = (fields.prop_flat_map(|paths| (select(paths), select(paths))), comparison());
    let inner = select(&MANY[..]).prop_flat_map(|(name, from, own)| {
        let conditions = prop_oneof![
            test_of("n".to_owned(), "x.n".to_owned(), true),
            test_of(format!("{own}.name"), "xo.name".to_owned(), false),
            Just((json!({ "n": { "lt": { "field": format!("{own}.n") } } }), "x.n < xo.n".to_owned())),
        ];
        (Just((name, from)), conditions, select(&["some", "none", "every"][..]))
    });
    prop_oneof![
        4 => select(&INTEGERS[..]).prop_flat_map(|(path, sql)| test_of(path.to_owned(), sql.to_owned(), true)),
        3 => select(&TEXTS[..]).prop_flat_map(|(path, sql)| test_of(path.to_owned(), sql.to_owned(), false)),
        2 => compared.prop_map(|(((left, a), (right, b)), (word, sign))| {
            (json!({ left: { word: { "field": right } } }), format!("{a} {sign} {b}"))
        }),
        3 => inner.prop_map(|((name, from), (condition, sql), quantifier)| {
            let sql = match quantifier {
                "some" => format!("EXISTS (SELECT 1 FROM {from} AND ({sql}))"),
                "none" => format!("NOT EXISTS (SELECT 1 FROM {from} AND ({sql}))"),
                _ => format!("NOT EXISTS (SELECT 1 FROM {from} AND ({sql}) IS NOT TRUE)"),
            };
            (json!({ name: { quantifier: condition } }), sql)
        }),
    ]
}

fn condition() -> impl Strategy<Value = Condition> {
    leaf().prop_recursive(2, 6, 3, |inner| {
        let several = prop::collection::vec(inner.clone(), 1..3);
        let join = |word: &'static str, sign: &'static str| {
            move |parts: Vec<Condition>| {
                let (values, texts): (Vec<Value>, Vec<String>) = parts.into_iter().unzip();
                (json!({ word: values }), format!("({})", texts.join(sign)))
            }
        };
        prop_oneof![
            several.clone().prop_map(join("and", " AND ")),
            several.prop_map(join("or", " OR ")),
            inner.prop_map(|(value, sql)| (json!({ "not": value }), format!("({sql}) IS NOT TRUE"))),
        ]
    })
}

fn order() -> impl Strategy<Value = (Value, String)> {
    let all: Vec<(&str, &str)> = INTEGERS.into_iter().chain(TEXTS).filter(|(path, _)| *path != "id").collect();
    let keys = prop::collection::vec((select(all), any::<bool>(), any::<bool>()), 0..3);
    keys.prop_map(|keys| {
        let values: Value = keys
            .iter()
            .map(|((path, _), descending, first)| {
                json!({ "field": path, "order": if *descending { "desc" } else { "asc" }, "nulls": if *first { "first" } else { "last" } })
            })
            .collect();
        let direction = |descending: bool| if descending { "DESC" } else { "ASC" };
        let mut parts: Vec<String> = keys
            .iter()
            .map(|((_, sql), descending, first)| {
                format!("{sql} {} NULLS {}", direction(*descending), if *first { "FIRST" } else { "LAST" })
            })
            .collect();
        parts.push(format!("v.id {}", direction(keys.last().is_some_and(|(_, descending, _)| *descending))));
        (values, parts.join(", "))
    })
}

fn rarely(values: impl Strategy<Value = i64> + Clone) -> impl Strategy<Value = Option<i64>> + Clone {
    prop::option::weighted(0.8, values)
}

fn some_rows() -> impl Strategy<Value = Rows> {
    let word = || prop::option::weighted(0.8, select(&WORDS[..]));
    let n = || rarely(0..4_i64);
    let region = (word(), n());
    let person = (word(), n(), rarely(1..5_i64));
    let site = (word(), n(), rarely(0..3_i64));
    let visit = (word(), n(), rarely(1..4_i64), rarely(1..5_i64), rarely(1..5_i64));
    let all = (
        prop::collection::vec(region, 3),
        prop::collection::vec(person, 4),
        prop::collection::vec(site, 3),
        prop::collection::vec(visit, 0..10),
    );
    all.prop_map(|(regions, people, sites, visits)| {
        let numbered = |index: usize| i64::try_from(index).unwrap() + 1;
        let code = |index: i64| ["n", "s", "w"][usize::try_from(index).unwrap()];
        let regions = regions.into_iter().enumerate().map(|(index, (name, n))| {
            json!({ "country": "fr", "code": code(numbered(index) - 1), "name": name, "n": n })
        });
        let people = people.into_iter().enumerate().map(|(index, (name, n, manager))| {
            json!({ "id": numbered(index), "name": name, "n": n, "manager_id": manager.map(|manager| manager.min(numbered(index))) })
        });
        let sites = sites.into_iter().enumerate().map(|(index, (name, n, region))| {
            json!({ "id": numbered(index), "name": name, "n": n, "region_country": region.map(|_| "fr"), "region_code": region.map(code) })
        });
        let visits = visits.into_iter().enumerate().map(|(index, (name, n, site, host, guest))| {
            json!({ "id": numbered(index), "name": name, "n": n, "site_id": site, "host_id": host, "guest_id": guest })
        });
        Rows { regions: regions.collect(), people: people.collect(), sites: sites.collect(), visits: visits.collect() }
    })
}

impl Participant {
    /// The integers in the first column of an answer to SQL.
    async fn integers(&self, sql: &str) -> Option<Vec<i64>> {
        if let Some(connection) = self.sqlite() {
            let mut statement = connection.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
            let found = statement.query_map([], |row| row.get(0)).unwrap().collect::<Result<_, _>>();
            return Some(found.unwrap());
        }
        if let Some(client) = self.postgres() {
            let rows = client.query(sql, &[]).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
            return Some(rows.iter().map(|row| i64::from(row.get::<_, i32>(0))).collect());
        }
        None
    }
}

/// What one request answers is what SQL with explicit joins answers.
async fn check_against_sql(engines: &EngineSet, request: &(Condition, (Value, String))) -> Result<(), String> {
    let ((filter, condition), (sort, order)) = request;
    let params = json!({ "filter": filter, "sort": sort, "fields": ["id", "site.name", "host.manager.n"] });
    let answer = engines.agreed_answer("list_visits", &params).await?;
    let items = answer["data"]["items"].as_array().ok_or_else(|| format!("{params}: {answer}"))?;
    let ids: Vec<i64> = items.iter().map(|item| item["id"].as_i64().unwrap()).collect();
    let sql = format!("SELECT v.id FROM {FROM} WHERE {condition} ORDER BY {order}");
    for participant in &engines.participants {
        let Some(expected) = participant.integers(&sql).await else { continue };
        if ids != expected {
            return Err(format!("{params}\n{sql}\n{}: {ids:?}, but SQL says {expected:?}", participant.name));
        }
    }
    Ok(())
}

#[test]
fn r_col_3_r_col_4_paths_mean_what_explicit_joins_mean() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let engines = runtime.block_on(farm(StorageFormat::default(), &[]));
    let cases = 16 * Config::default().cases / 256;
    let config = Config { cases, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    let strategy = (some_rows(), prop::collection::vec((condition(), order()), 8), 1..4_usize);
    let outcome = TestRunner::new(config).run(&strategy, |(rows, requests, size)| {
        let law = async {
            related::fill(&engines, &rows).await;
            for request in &requests {
                check_against_sql(&engines, request).await?;
            }
            // Pages have the same order as the whole.
            let ((filter, _), (sort, _)) = &requests[0];
            let params = json!({ "filter": filter, "sort": sort, "fields": ["id"] });
            check_walk_visits_all(&engines, "list_visits", &params, size).await
        };
        runtime.block_on(law).map_err(|report| TestCaseError::fail(format!("{report}\n{rows:?}")))
    });
    // The databases are dropped while the runtime still exists.
    runtime.block_on(async { drop(engines) });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(report, _)) => panic!("{report}"),
        Err(other) => panic!("{other}"),
    }
}
