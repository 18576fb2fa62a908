//! What `_protocol` claims is what the runner grants, for every kind of source (R-CON-2). The schemas here are shaped like
//! those of others: composite keys, keys that are not called `id`, join tables with rows, hundreds of tables, no rows.

use serde_json::Value;

use super::{conformance, problems};
use crate::support::{Folder, text};

/// A university: natural and composite keys, a join table of two references, a table that refers to itself, checks.
const UNIVERSITY: &str = "
    CREATE TABLE faculty (code TEXT PRIMARY KEY, title TEXT NOT NULL UNIQUE);
    CREATE TABLE lecturer (lecturer_no INTEGER PRIMARY KEY, full_name TEXT NOT NULL, faculty_code TEXT NOT NULL REFERENCES faculty (code), mentor_no INTEGER REFERENCES lecturer (lecturer_no));
    CREATE TABLE course (faculty_code TEXT NOT NULL REFERENCES faculty (code), number INTEGER NOT NULL, title TEXT NOT NULL, credits INTEGER NOT NULL CHECK (credits BETWEEN 1 AND 12), term TEXT NOT NULL CHECK (term IN ('winter', 'summer')), PRIMARY KEY (faculty_code, number));
    CREATE TABLE student (matric_no TEXT PRIMARY KEY, full_name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, enrolled_on TEXT NOT NULL);
    CREATE TABLE attendance (matric_no TEXT NOT NULL REFERENCES student (matric_no), lecturer_no INTEGER NOT NULL REFERENCES lecturer (lecturer_no), PRIMARY KEY (matric_no, lecturer_no));
    CREATE TABLE exam (id INTEGER PRIMARY KEY, faculty_code TEXT NOT NULL, course_number INTEGER NOT NULL, matric_no TEXT NOT NULL REFERENCES student (matric_no), grade REAL CHECK (grade IS NULL OR grade BETWEEN 1 AND 5), held_at TEXT NOT NULL, FOREIGN KEY (faculty_code, course_number) REFERENCES course (faculty_code, number), UNIQUE (faculty_code, course_number, matric_no));
    CREATE TABLE visit (id INTEGER PRIMARY KEY, purpose TEXT NOT NULL);
";

/// `visit` begins with more rows of one purpose than a page has, and every pair of `attendance` is taken.
const STUDENTS: &str = "
    INSERT INTO faculty VALUES ('LAW', 'Law'), ('MED', 'Medicine'), ('ENG', 'Engineering');
    INSERT INTO lecturer VALUES (10, 'Ada Byron', 'ENG', NULL), (20, 'Grace Murray', 'ENG', 10), (30, 'Portia Bellario', 'LAW', 10);
    INSERT INTO course VALUES ('LAW', 1, 'Contracts', 6, 'winter'), ('LAW', 2, 'Torts', 3, 'summer'), ('ENG', 1, 'Statics', 9, 'winter');
    INSERT INTO student VALUES ('m-001', 'Ann Lee', 'ann@example.org', '2023-10-01'), ('m-002', 'Bo Park', 'bo@example.org', '2024-10-01'), ('m-003', 'Cy Day', 'cy@example.org', '2024-10-01');
    WITH RECURSIVE day (number) AS (SELECT 1 UNION ALL SELECT number + 1 FROM day WHERE number < 60) INSERT INTO visit (purpose) SELECT CASE WHEN number <= 40 THEN 'reading' ELSE 'lending' END FROM day;
    INSERT INTO attendance SELECT matric_no, lecturer_no FROM student, lecturer;
    INSERT INTO exam (faculty_code, course_number, matric_no, grade, held_at) VALUES ('LAW', 1, 'm-001', 1.3, '2024-02-01T09:00:00Z'), ('LAW', 1, 'm-002', NULL, '2024-02-01T09:00:00Z'), ('ENG', 1, 'm-003', 2.7, '2024-02-08T09:00:00Z');
";

/// A run at level 2 that may write.
fn run(folder: &Folder, server: &[&str]) -> Value {
    // On a busy machine a server takes its time to start.
    let mut arguments = vec!["--level", "2", "--allow-writes", "--timeout", "120", "--format", "json", "--", "aquifer"];
    arguments.extend(server);
    let output = conformance(folder, &arguments);
    let printed = text(&output.stdout);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{printed}\n{}", text(&output.stderr)))
}

/// The claim is what is granted, and that is what is expected.
fn claims_what_is_granted(folder: &Folder, server: &[&str], level: u8) -> Value {
    let report = run(folder, server);
    assert_eq!(report["conformanceLevel"], level, "{server:?}\n{}", problems(&report));
    let claimed = report["claimedConformance"].as_str();
    let expected = (level > 0).then(|| format!("level-{level}"));
    assert_eq!(claimed, expected.as_deref(), "{server:?}: claimed and granted differ");
    let tests = report["categories"].as_array().unwrap().iter().flat_map(|one| one["tests"].as_array().unwrap());
    let capabilities = tests.clone().find(|test| test["id"] == "features.capabilities").unwrap();
    assert_eq!(capabilities["result"], "PASS", "{server:?}\n{}", problems(&report));
    report
}

/// The checks that had nothing to look at, with the reason.
fn skipped(report: &Value) -> Vec<(String, String)> {
    let sections = report["categories"].as_array().unwrap().iter().filter(|one| one["name"] != "Semantic Evaluation");
    let tests = sections.flat_map(|section| section["tests"].as_array().unwrap());
    let word = |test: &Value, key: &str| test[key].as_str().unwrap_or_default().to_owned();
    tests.filter(|test| test["result"] == "SKIP").map(|test| (word(test, "id"), word(test, "detail"))).collect()
}

#[test]
fn r_con_2_an_adapter_in_rust_claims_what_it_gets() {
    claims_what_is_granted(&Folder::new(), &["serve", "tasks:"], 2);
}

#[test]
fn r_con_2_a_database_with_composite_text_and_join_keys_claims_what_it_gets() {
    let folder = Folder::new();
    folder.database("university.db", &format!("{UNIVERSITY}{STUDENTS}"));
    claims_what_is_granted(&folder, &["serve", "university.db"], 2);
}

#[test]
fn r_con_2_a_database_without_rows_is_filled_by_the_run() {
    let folder = Folder::new();
    folder.database("university.db", UNIVERSITY);
    claims_what_is_granted(&folder, &["serve", "university.db"], 2);
}

#[test]
fn r_con_2_two_hundred_tables_claim_what_they_get() {
    let folder = Folder::new();
    let mut schema = format!("{UNIVERSITY}{STUDENTS}");
    for number in 0..200 {
        schema += &format!(
            "CREATE TABLE ledger_{number} (entry_id INTEGER PRIMARY KEY, label TEXT NOT NULL, amount REAL NOT NULL DEFAULT 0, student_no TEXT REFERENCES student (matric_no));
             INSERT INTO ledger_{number} (label, amount) VALUES ('opening', {number}), ('first', 2.5), ('second', -1);\n"
        );
    }
    folder.database("ledgers.db", &schema);
    claims_what_is_granted(&folder, &["serve", "ledgers.db"], 2);
}

#[test]
fn r_con_2_a_read_only_database_claims_what_it_gets_and_the_run_says_what_does_not_apply() {
    let folder = Folder::new();
    folder.database("university.db", &format!("{UNIVERSITY}{STUDENTS}"));
    folder.file("reading.toml", "[[source]]\nname = \"university\"\ntarget = \"university.db\"\nread_only = true\n");
    let report = claims_what_is_granted(&folder, &["serve", "--config", "reading.toml"], 2);
    let skipped = skipped(&report);
    let names: Vec<&str> = skipped.iter().map(|(id, _)| id.as_str()).collect();
    for id in ["roundtrip.create", "roundtrip.update", "roundtrip.preserved", "roundtrip.delete"] {
        assert!(names.contains(&id), "{skipped:?}");
    }
    for (id, reason) in &skipped {
        assert!(reason.starts_with("Not applicable: the server has no "), "{id}: {reason}");
    }
    assert_eq!(report["summary"]["failed"], 0, "{}", problems(&report));
}

#[test]
fn r_con_2_an_mcp_server_behind_the_gateway_claims_what_it_gets() {
    let folder = Folder::new();
    folder.file("notes_server.py", include_str!("../support/notes_server.py"));
    folder.file("notes.toml", "[[source]]\nname = \"notes\"\ncommand = \"python3\"\nargs = [\"notes_server.py\"]\n");
    claims_what_is_granted(&folder, &["serve", "--config", "notes.toml"], 1);
}

#[test]
fn r_con_2_several_sources_claim_what_they_get_together() {
    let folder = Folder::new();
    folder.database("university.db", &format!("{UNIVERSITY}{STUDENTS}"));
    let source = |name: &str| format!("[[source]]\nname = \"{name}\"\ntarget = \"university.db\"\n");
    folder.file("two.toml", &format!("{}{}", source("first"), source("second")));
    claims_what_is_granted(&folder, &["serve", "--config", "two.toml"], 2);
}

/// Where the database is stands in a file: it has a password in it.
mod postgres {
    use super::{STUDENTS, UNIVERSITY, claims_what_is_granted};
    use crate::postgres::Database;
    use crate::support::Folder;

    #[test]
    fn r_con_2_a_postgres_database_with_composite_text_and_join_keys_claims_what_it_gets() {
        let serial = "id INTEGER GENERATED BY DEFAULT AS IDENTITY PRIMARY KEY";
        let schema =
            UNIVERSITY.replace("id INTEGER PRIMARY KEY", serial).replace("held_at TEXT", "held_at TIMESTAMPTZ");
        for rows in [STUDENTS, ""] {
            let database = Database::with(&format!("{schema}{rows}"));
            let folder = Folder::new();
            folder.file("university.toml", &format!("[[source]]\nname = \"u\"\ntarget = \"{}\"\n", database.url));
            claims_what_is_granted(&folder, &["serve", "--config", "university.toml"], 2);
        }
    }
}
