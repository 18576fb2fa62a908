//! Tables as data: columns, keys, values, references and operations, without anything that is hidden or denied.

use aquifer_engine::table_model::{DeleteAction, TableKind, TableModel};
use serde_json::json;

use crate::hidden::hide;
use crate::needs;
use crate::support::{Fixture, fixtures_with};

const TABLES: &str = "
    CREATE TABLE sites (id INTEGER PRIMARY KEY, title VARCHAR(40) NOT NULL, parent_id INTEGER REFERENCES sites(id) ON DELETE SET NULL);
    CREATE TABLE visits (
        id INTEGER PRIMARY KEY, site_id INTEGER NOT NULL REFERENCES sites(id) ON DELETE CASCADE,
        state VARCHAR(9) NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done')), seen_on DATE, pin TEXT);
    CREATE TABLE notes (site_id INTEGER NOT NULL, number INTEGER NOT NULL, visit_id INTEGER REFERENCES visits(id), PRIMARY KEY (site_id, number));
    CREATE TABLE replies (id INTEGER PRIMARY KEY, site_id INTEGER, number INTEGER, FOREIGN KEY (site_id, number) REFERENCES notes(site_id, number));
    CREATE VIEW open_visits AS SELECT id, site_id FROM visits WHERE state = 'open';
    INSERT INTO sites (id, title) VALUES (1, 'North'), (2, 'South');";

async fn tables(fixture: &Fixture) -> Vec<TableModel> {
    let mut sources = fixture.engine.table_models().await;
    assert!(sources.len() <= 1);
    sources.pop().map(|(_, tables)| tables).unwrap_or_default()
}

fn find<'a>(tables: &'a [TableModel], name: &str) -> &'a TableModel {
    tables.iter().find(|table| *table.name == *name).unwrap_or_else(|| panic!("{name} is not in {tables:?}"))
}

#[tokio::test]
async fn tables_are_described_as_callers_see_them() {
    for fixture in fixtures_with(TABLES, TABLES, |settings| hide(&["visits.pin"])(settings)).await {
        let tables = tables(&fixture).await;
        let visits = find(&tables, "visits");
        assert_eq!(visits.kind, TableKind::Table);
        let columns = serde_json::to_value(&visits.columns).unwrap();
        assert_eq!(
            columns,
            json!([
                { "name": "id", "type": "integer", "nullable": false, "key": true },
                { "name": "site_id", "type": "integer", "nullable": false, "key": false },
                { "name": "state", "type": "enum", "nullable": false, "key": false, "enum": ["open", "done"] },
                { "name": "seen_on", "type": "date", "nullable": true, "key": false },
            ])
        );
        let [reference] = visits.references.as_slice() else { panic!("{visits:?}") };
        assert_eq!((&*reference.table, reference.on_delete), ("sites", DeleteAction::Cascade));
        assert_eq!((&*reference.columns[0], &*reference.target_columns[0]), ("site_id", "id"));
        assert_eq!(find(&tables, "sites").references[0].on_delete, DeleteAction::Clear);
        assert_eq!(find(&tables, "sites").rows, Some(2));
        let composite = &find(&tables, "replies").references[0];
        assert_eq!((composite.columns.len(), composite.target_columns.len()), (2, 2));
        assert_eq!(composite.on_delete, DeleteAction::Restrict);
        assert_eq!(find(&tables, "notes").columns.iter().filter(|column| column.key).count(), 2);
        assert_eq!(find(&tables, "open_visits").kind, TableKind::View);
        assert!(!serde_json::to_string(&tables).unwrap().contains("\"pin\""));
        // Operations have the names that callers use.
        let operations: Vec<&str> = visits.operations.iter().map(|name| &**name).collect();
        assert_eq!(operations[0], "list_visits");
        for operation in operations {
            assert_eq!(fixture.details(operation).await["name"], operation);
        }
    }
}

#[tokio::test]
async fn denied_tables_and_operations_are_left_out() {
    let denied: Vec<&'static str> =
        vec!["list_sites", "search_sites", "get_site", "create_site", "update_site", "delete_site", "delete_visit"];
    for (fixture, _) in needs::fixtures(TABLES, TABLES, &denied, true).await {
        let tables = tables(&fixture).await;
        assert!(tables.iter().all(|table| &*table.name != "sites"), "{tables:?}");
        let visits = find(&tables, "visits");
        assert!(visits.references.is_empty(), "{visits:?}");
        assert!(visits.operations.iter().all(|name| &**name != "delete_visit"), "{visits:?}");
        assert!(visits.operations.iter().any(|name| &**name == "update_visit"), "{visits:?}");
    }
}
