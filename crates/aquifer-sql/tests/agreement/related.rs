//! Tables that refer to each other: by one column and by two, twice to the same table, and to itself. The reference gets
//! their rows nested: what a reference leads to is an object or a list under its name.

use aquifer_query::collection::{Cardinality, Reference};
use aquifer_query::{Collection, FieldType};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::engines::{EngineSet, Extras, NOW};
use crate::shop::{derived, field, words};
use crate::tables::{StorageFormat, Table};

/// A reference: its table, its name, its other names, how many rows it leads to, their table, and pairs of our column and
/// theirs.
type Relation = (&'static str, &'static str, &'static [&'static str], Cardinality, &'static str, Pairs);
type Pairs = &'static [(&'static str, &'static str)];

const ONE: Cardinality = Cardinality::One;
const MANY: Cardinality = Cardinality::Many;

const RELATIONS: [Relation; 10] = [
    ("regions", "sites", &[], MANY, "sites", &[("country", "region_country"), ("code", "region_code")]),
    ("people", "manager", &["manager_id", "person"], ONE, "people", &[("manager_id", "id")]),
    ("people", "people_by_manager_id", &[], MANY, "people", &[("id", "manager_id")]),
    ("people", "visits_by_host_id", &[], MANY, "visits", &[("id", "host_id")]),
    ("people", "visits_by_guest_id", &[], MANY, "visits", &[("id", "guest_id")]),
    ("sites", "region", &[], ONE, "regions", &[("region_country", "country"), ("region_code", "code")]),
    ("sites", "visits", &[], MANY, "visits", &[("id", "site_id")]),
    ("visits", "site", &["site_id"], ONE, "sites", &[("site_id", "id")]),
    ("visits", "host", &["host_id"], ONE, "people", &[("host_id", "id")]),
    ("visits", "guest", &["guest_id"], ONE, "people", &[("guest_id", "id")]),
];

const ORDER: [&str; 4] = ["regions", "people", "sites", "visits"];

fn references(table: &str) -> Vec<Reference> {
    let own = RELATIONS.iter().filter(|(from, ..)| *from == table);
    own.map(|(_, name, aliases, cardinality, to, _)| Reference {
        name: (*name).into(),
        aliases: aliases.iter().map(|alias| (*alias).into()).collect(),
        to: ORDER.iter().position(|known| known == to).unwrap(),
        cardinality: *cardinality,
    })
    .collect()
}

/// Every table has the columns `id` or a key of two, `name` and `n`, so that a name without its table is ambiguous.
pub(crate) fn tables() -> Vec<Table> {
    let integer = |name| field(name, FieldType::Integer);
    let text = |name| field(name, FieldType::Text);
    let regions = Collection {
        fields: vec![text("country"), text("code"), text("name"), integer("n"), field("since", FieldType::Date)],
        computed: vec![derived("sites_count", FieldType::Integer)],
        key: vec!["country".into(), "code".into()],
        text: vec!["name".into(), "country".into(), "code".into()],
        ..Collection::default()
    };
    let people = Collection {
        fields: vec![
            integer("id"),
            text("name"),
            integer("n"),
            integer("manager_id"),
            field("rate", FieldType::Number),
            field("born_on", FieldType::Date),
            text("badge"),
        ],
        computed: vec![
            derived("people_by_manager_id_count", FieldType::Integer),
            derived("visits_by_host_id_count", FieldType::Integer),
            derived("visits_by_guest_id_count", FieldType::Integer),
        ],
        ..Collection::default()
    };
    let sites = Collection {
        fields: vec![
            integer("id"),
            text("name"),
            integer("n"),
            text("motto"),
            field("kind", words(&["farm", "zoo"])),
            text("region_country"),
            text("region_code"),
            field("area", FieldType::Number),
            field("created_at", FieldType::Time),
            field("meta", FieldType::Json),
        ],
        computed: vec![
            derived("label", FieldType::Text),
            derived("age_days", FieldType::Integer),
            derived("visits_count", FieldType::Integer),
        ],
        ..Collection::default()
    };
    let visits = Collection {
        fields: vec![
            integer("id"),
            integer("site_id"),
            integer("host_id"),
            integer("guest_id"),
            text("name"),
            integer("n"),
            text("note"),
            field("state", words(&["late", "open"])),
            field("urgent", FieldType::Boolean),
            field("created_at", FieldType::Time),
            field("ended_at", FieldType::Time),
            field("due_on", FieldType::Date),
            field("cost", FieldType::Number),
            field("weight", FieldType::Number),
        ],
        computed: vec![derived("doubled", FieldType::Integer), derived("age_days", FieldType::Integer)],
        text: vec!["name".into(), "note".into()],
        ..Collection::default()
    };
    let table = |name: &'static str, singular, collection: Collection, sqlite, postgres| {
        let key = if collection.key.is_empty() { vec!["id".into()] } else { collection.key.clone() };
        let references = references(name);
        let collection = Collection { name: name.into(), key, references, versions: true, ..collection };
        Table { name, singular, collection, sqlite, postgres }
    };
    vec![
        table(
            "regions",
            "region",
            regions,
            "(country TEXT NOT NULL, code TEXT NOT NULL, name TEXT, n INTEGER, since DATE, PRIMARY KEY (country, code))",
            "(country text, code text, name text, n int4, since date, PRIMARY KEY (country, code))",
        ),
        table(
            "people",
            "person",
            people,
            "(id INTEGER PRIMARY KEY, name TEXT, n INTEGER, manager_id INTEGER REFERENCES people (id), \
             rate DECIMAL(10, 2), born_on DATE, badge TEXT)",
            "(id int4 PRIMARY KEY, name text, n int8, manager_id int4 REFERENCES people (id), rate numeric(10, 2), \
             born_on date, badge uuid)",
        ),
        table(
            "sites",
            "site",
            sites,
            "(id INTEGER PRIMARY KEY, name TEXT, n INTEGER, motto TEXT COLLATE NOCASE, \
             kind TEXT CHECK (kind IN ('farm', 'zoo')), region_country TEXT, region_code TEXT, area REAL, \
             created_at TIMESTAMP, meta JSON, FOREIGN KEY (region_country, region_code) REFERENCES regions (country, code))",
            "(id int8 PRIMARY KEY, name text, n int2, motto varchar(40), kind kind, region_country text, \
             region_code text, area float8, created_at timestamptz, meta jsonb, \
             FOREIGN KEY (region_country, region_code) REFERENCES regions (country, code))",
        ),
        table(
            "visits",
            "visit",
            visits,
            "(id INTEGER PRIMARY KEY, site_id INTEGER REFERENCES sites, host_id INTEGER REFERENCES people (id), \
             guest_id INTEGER REFERENCES people (id), name TEXT, n INTEGER, note TEXT, \
             state TEXT CHECK (state IN ('late', 'open')), urgent BOOLEAN, created_at TIMESTAMP, ended_at TIMESTAMP, \
             due_on DATE, cost DECIMAL(10, 2), weight REAL)",
            "(id int4 PRIMARY KEY, site_id int4 REFERENCES sites, host_id int4 REFERENCES people (id), \
             guest_id int4 REFERENCES people (id), name text, n int4, note text, \
             state text CHECK (state IN ('late', 'open')), urgent bool, created_at timestamptz, ended_at timestamp, \
             due_on date, cost numeric(10, 2), weight float8)",
        ),
    ]
}

/// Rows of each table, in an order in which each refers only to rows before it.
#[derive(Debug, Clone)]
pub(crate) struct Rows {
    pub(crate) regions: Vec<Value>,
    pub(crate) people: Vec<Value>,
    pub(crate) sites: Vec<Value>,
    pub(crate) visits: Vec<Value>,
}

impl Rows {
    fn of(&self, table: &str) -> &[Value] {
        match table {
            "regions" => &self.regions,
            "people" => &self.people,
            "sites" => &self.sites,
            _ => &self.visits,
        }
    }

    /// The rows of each table with everything nested that four steps lead to.
    pub(crate) fn nested(&self) -> Vec<(&'static str, Vec<Value>)> {
        let nested = |table| self.of(table).iter().map(|row| self.nest(table, row, 4)).collect();
        ORDER.into_iter().map(|table| (table, nested(table))).collect()
    }

    fn matching(&self, row: &Value, table: &str, pairs: Pairs) -> Vec<&Value> {
        let refers =
            |other: &&Value| pairs.iter().all(|(ours, theirs)| !row[ours].is_null() && row[ours] == other[theirs]);
        self.of(table).iter().filter(refers).collect()
    }

    fn nest(&self, table: &str, row: &Value, depth: usize) -> Value {
        let mut nested = row.clone();
        nested["_computed"] = Value::Object(self.computed(table, row));
        for (_, name, _, cardinality, to, pairs) in RELATIONS.iter().filter(|(from, ..)| *from == table && depth > 0) {
            let mut found = self.matching(row, to, pairs).into_iter().map(|found| self.nest(to, found, depth - 1));
            match cardinality {
                Cardinality::One => drop(found.next().map(|one| nested[*name] = one)),
                Cardinality::Many => nested[*name] = found.collect(),
            }
        }
        nested
    }

    fn computed(&self, table: &str, row: &Value) -> Map<String, Value> {
        let mut computed = Map::new();
        for (_, name, _, _, to, pairs) in
            RELATIONS.iter().filter(|(from, _, _, many, ..)| *from == table && *many == MANY)
        {
            computed.insert(format!("{name}_count"), self.matching(row, to, pairs).len().into());
        }
        if let Some(created) = row["created_at"].as_str() {
            let age = NOW.parse::<Timestamp>().unwrap().duration_since(created.parse().unwrap());
            computed.insert("age_days".to_owned(), age.as_secs().div_euclid(86_400).into());
        }
        if table == "visits" {
            computed.insert("doubled".to_owned(), row["n"].as_i64().map(|n| n * 2).into());
        }
        if let ("sites", Some(name), Some(n)) = (table, row["name"].as_str(), row["n"].as_i64()) {
            computed.insert("label".to_owned(), format!("{name} #{n}").into());
        }
        computed
    }
}

/// Rows with missing references, ties, and values that are equal in several tables.
pub(crate) fn rows() -> Rows {
    let region = |country: &str, code: &str, name: Value, n: Value| json!({ "country": country, "code": code, "name": name, "n": n, "since": "2001-02-03" });
    let person = |id: i64, name: &str, n: Value, manager: Value, rate: Value, born: &str| {
        json!({ "id": id, "name": name, "n": n, "manager_id": manager, "rate": rate, "born_on": born,
            "badge": format!("00000000-0000-4000-8000-00000000000{id}") })
    };
    let site =
        |id: i64, name: &str, n: Value, motto: Value, kind: Value, region: [Value; 2], created: Value, meta: Value| {
            let [country, code] = region;
            json!({ "id": id, "name": name, "n": n, "motto": motto, "kind": kind, "region_country": country,
            "region_code": code, "area": n.as_f64().map(|n| n + 0.5), "created_at": created, "meta": meta })
        };
    let visit = |id: i64,
                 to: [Value; 3],
                 name: &str,
                 n: Value,
                 note: Value,
                 state: Value,
                 created: Value,
                 ended: Value,
                 cost: Value| {
        let [site, host, guest] = to;
        json!({ "id": id, "site_id": site, "host_id": host, "guest_id": guest, "name": name, "n": n, "note": note,
            "state": state, "urgent": n.as_i64().map(|n| n > 1), "created_at": created, "ended_at": ended,
            "due_on": if id % 2 == 0 { json!("2001-02-03") } else { json!("1990-05-06") },
            "cost": cost, "weight": cost.as_f64().map(|cost| cost * 2.0) })
    };
    let null = || Value::Null;
    let day = |day: u32| json!(format!("2026-02-{day:02}T10:00:00Z"));
    Rows {
        regions: vec![
            region("fr", "n", json!("North"), json!(1)),
            region("fr", "s", json!("South"), json!(2)),
            region("it", "n", null(), null()),
        ],
        people: vec![
            person(1, "Ann", json!(1), null(), json!(10), "1990-05-06"),
            person(2, "Bob", json!(2), json!(1), json!(12.5), "1985-01-01"),
            person(3, "Cy", null(), json!(2), null(), "2001-02-03"),
            person(4, "Dee", json!(2), json!(3), json!(10), "1990-05-06"),
            person(5, "Eve", json!(5), json!(5), json!(0.25), "1970-12-31"),
        ],
        sites: vec![
            site(
                1,
                "Mill",
                json!(3),
                json!("Ann"),
                json!("farm"),
                [json!("fr"), json!("n")],
                day(1),
                json!({ "floor": 1, "tags": ["a", "b"], "who": { "name": "Ann" } }),
            ),
            site(
                2,
                "Dock",
                json!(2),
                json!("bob"),
                json!("zoo"),
                [json!("fr"), json!("s")],
                day(5),
                json!({ "floor": 2, "tags": [] }),
            ),
            site(3, "Mill", null(), null(), null(), [json!("it"), json!("n")], null(), null()),
            // Half of a reference leads nowhere.
            site(4, "Barn", json!(3), json!("BARN"), json!("farm"), [json!("fr"), null()], day(5), json!(["x"])),
        ],
        visits: vec![
            visit(
                1,
                [json!(1), json!(1), json!(2)],
                "Mill",
                json!(3),
                json!("apple pie"),
                json!("open"),
                day(2),
                day(3),
                json!(10),
            ),
            visit(
                2,
                [json!(2), json!(2), json!(1)],
                "check",
                json!(1),
                json!("red apple"),
                json!("late"),
                day(6),
                day(5),
                json!(2.5),
            ),
            visit(3, [null(), json!(3), null()], "check", null(), null(), null(), null(), day(7), null()),
            visit(
                4,
                [json!(1), null(), json!(4)],
                "Ann",
                json!(3),
                json!("ann"),
                json!("open"),
                day(2),
                null(),
                json!(10),
            ),
            visit(
                5,
                [json!(4), json!(5), json!(5)],
                "Eve",
                json!(5),
                json!("pear"),
                json!("late"),
                day(5),
                day(5),
                json!(0.25),
            ),
            visit(
                6,
                [null(), null(), null()],
                "apple",
                json!(2),
                json!("Barn"),
                json!("open"),
                day(8),
                day(9),
                json!(12.5),
            ),
            visit(7, [json!(2), json!(4), json!(3)], "Dock", json!(2), json!("DOCK"), null(), day(4), day(6), json!(7)),
        ],
    }
}

fn settings(settings: &mut aquifer_sql::Settings) {
    let computed = |name: &str, sql: &str, field_type: FieldType| aquifer_sql::ComputedSettings {
        name: name.to_owned(),
        sql: sql.to_owned(),
        field_type,
        description: None,
        filterable: true,
        sortable: true,
    };
    for (table, own) in [
        // These columns exist in the other tables too.
        ("sites", computed("label", "name || ' #' || n", FieldType::Text)),
        ("visits", computed("doubled", "n * 2", FieldType::Integer)),
    ] {
        let own = aquifer_sql::TableSettings { computed: vec![own], ..aquifer_sql::TableSettings::default() };
        settings.tables.insert(table.to_owned(), own);
    }
}

/// Engines with these rows.
pub(crate) async fn engines(rows: &Rows, extras: Extras) -> EngineSet {
    let extras = Extras { types: "CREATE TYPE kind AS ENUM ('farm', 'zoo')", settings: Some(settings), ..extras };
    EngineSet::new(tables(), &rows.nested(), extras).await
}

/// Engines with the rows above, stored in this format.
pub(crate) async fn farm(format: StorageFormat, without: &'static [&'static str]) -> EngineSet {
    engines(&rows(), Extras { format, without, ..Extras::default() }).await
}

/// Replaces all rows.
pub(crate) async fn fill(engines: &EngineSet, rows: &Rows) {
    for table in ORDER.iter().rev() {
        engines.run(&format!("DELETE FROM {table}")).await;
    }
    for (table, rows) in rows.nested() {
        engines.fill(table, &rows).await;
    }
}
