//! A server killed in the middle of its work, again and again: what it had acknowledged is there, and nothing is there
//! by half.

use std::path::Path;
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use rusqlite::Connection;
use serde_json::{Value, json};

use crate::support::{Folder, HttpServer, TIMEOUT, try_call};

/// So many of them write at the same time.
const WRITERS: i64 = 4;

/// Each writer has a ledger, and entries in it that the database itself counts and adds up. Of everything that is
/// written, all columns are derived from one number: what is missing does not fit the rest.
const LEDGERS: &str = "
    CREATE TABLE ledgers (
        id INTEGER PRIMARY KEY, version INTEGER NOT NULL, twice INTEGER NOT NULL, stamp TEXT NOT NULL, note TEXT NOT NULL,
        entries INTEGER NOT NULL DEFAULT 0, total INTEGER NOT NULL DEFAULT 0
    );
    CREATE TABLE entries (
        ledger_id INTEGER NOT NULL REFERENCES ledgers (id), number INTEGER NOT NULL, stamp TEXT NOT NULL, note TEXT NOT NULL,
        PRIMARY KEY (ledger_id, number)
    );
    CREATE TRIGGER counted AFTER INSERT ON entries BEGIN
        UPDATE ledgers SET entries = entries + 1, total = total + NEW.number WHERE id = NEW.ledger_id;
    END;";

fn stamp(number: i64) -> String {
    format!("{:016x}", (number + 1).wrapping_mul(0x1e37_79b9_7f4a_7c15))
}

/// So long that a row takes many pages of the file.
fn note(number: i64) -> String {
    stamp(number).repeat(1_000)
}

/// Shorter, because there will be many of them.
fn remark(number: i64) -> String {
    stamp(number).repeat(100)
}

/// How far a writer has come: how often its ledger was changed, and how many entries it has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    version: i64,
    entries: i64,
}

/// What is stored, as it was found.
pub(crate) struct Ledger {
    pub(crate) id: i64,
    pub(crate) version: i64,
    pub(crate) twice: i64,
    pub(crate) stamp: String,
    pub(crate) note: String,
    pub(crate) entries: i64,
    pub(crate) total: i64,
}

impl Ledger {
    fn is_whole(&self) -> bool {
        self.twice == self.version * 2 && self.stamp == stamp(self.version) && self.note == note(self.version)
    }
}

pub(crate) struct Entry {
    pub(crate) ledger: i64,
    pub(crate) number: i64,
    pub(crate) stamp: String,
    pub(crate) note: String,
}

/// Where the ledgers are, read without the server.
pub(crate) trait Store {
    fn target(&self) -> String;

    /// Waits until the last of what a killed server had begun is over.
    fn settle(&mut self) {}

    /// Everything there is, after whatever checks the database has for itself.
    fn read(&mut self) -> (Vec<Ledger>, Vec<Entry>);
}

/// One who writes, one thing after the other.
#[derive(Clone, Copy)]
struct Writer {
    id: i64,
    /// What was acknowledged.
    certain: Progress,
    /// With the write of which nobody knows how it ended.
    possible: Progress,
}

impl Writer {
    /// The next write: changes and new entries in turn.
    fn next(&mut self) -> (&'static str, Value) {
        self.possible = self.certain;
        if self.certain.version <= self.certain.entries {
            self.possible.version += 1;
            let version = self.possible.version;
            let input =
                json!({ "version": version, "twice": version * 2, "stamp": stamp(version), "note": note(version) });
            ("mcp_aql_update", json!({ "operation": "update_ledger", "params": { "id": self.id, "input": input } }))
        } else {
            self.possible.entries += 1;
            let number = self.possible.entries;
            let entry =
                json!({ "ledger_id": self.id, "number": number, "stamp": stamp(number), "note": remark(number) });
            ("mcp_aql_create", json!({ "operation": "create_entry", "params": entry }))
        }
    }

    /// Writes until the server is gone.
    fn write(mut self, authority: &str, acknowledged: &Sender<()>) -> Self {
        loop {
            let (tool, arguments) = self.next();
            let Some(answer) = try_call(authority, tool, arguments) else { return self };
            assert_eq!(answer["success"], true, "{answer}");
            self.certain = self.possible;
            let _ = acknowledged.send(());
        }
    }
}

/// Pseudo-random numbers, the same in every run.
struct Rng(u64);

impl Rng {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Kills a server this many times while it works.
pub(crate) fn kill(store: &mut impl Store, rounds: u32) {
    let mut rng = Rng(0x2545_f491_4f6c_dd1d);
    let mut writers: Vec<Writer> =
        (1..=WRITERS).map(|id| Writer { id, certain: Progress::default(), possible: Progress::default() }).collect();
    // The names are given, because a build without optimization takes long to derive them.
    let words = "ledgers = { singular = \"ledger\", plural = \"ledgers\" }
        entries = { singular = \"entry\", plural = \"entries\" }";
    let folder = Folder::new();
    let config = folder
        .file("aquifer.toml", &format!("[[source]]\ntarget = \"{}\"\n[source.tables]\n{words}\n", store.target()));
    let mut cut = 0;
    for round in 0..rounds {
        let served = HttpServer::start(&["serve", "--config", &config, "--http", "127.0.0.1:0"]);
        check(store, &mut writers);
        let (sender, acknowledged) = channel();
        let authority = served.authority.clone();
        writers = std::thread::scope(|scope| {
            let writing: Vec<_> = writers
                .iter()
                .map(|writer| {
                    let (authority, sender) = (&authority, sender.clone());
                    scope.spawn(move || writer.write(authority, &sender))
                })
                .collect();
            for _ in 0..rng.below(12) {
                acknowledged.recv_timeout(TIMEOUT).expect("writes are acknowledged");
            }
            // Not a wait: the kill comes at a random moment.
            std::thread::sleep(Duration::from_micros(rng.below(12_000)));
            served.kill();
            store.settle();
            writing.into_iter().map(|writer| writer.join().unwrap()).collect()
        });
        cut += writers.iter().filter(|writer| writer.possible != writer.certain).count();
        // Every second time, the next server is the first to open the store after the kill.
        if round % 2 == 0 {
            check(store, &mut writers);
        }
    }
    check(store, &mut writers);
    let changes: i64 = writers.iter().map(|writer| writer.certain.version + writer.certain.entries).sum();
    assert!(cut > 0 && changes > i64::from(rounds), "it was killed under load: {cut} of {changes} writes were cut off");
}

/// Compares the stored rows with what the writers know, and tells the writers how their last writes ended.
fn check(store: &mut impl Store, writers: &mut [Writer]) {
    let (ledgers, entries) = store.read();
    assert_eq!(ledgers.len(), writers.len());
    for ledger in &ledgers {
        let (version, id) = (ledger.version, ledger.id);
        assert!(ledger.is_whole(), "ledger {id} at {version} is not whole: {}, {}", ledger.twice, ledger.stamp);
        let own: Vec<&Entry> = entries.iter().filter(|entry| entry.ledger == id).collect();
        for (number, entry) in (1..).zip(&own) {
            assert_eq!((entry.number, &entry.stamp), (number, &stamp(number)), "ledger {id}");
            assert!(entry.note == remark(number), "entry {number} of ledger {id} has another note");
        }
        let count = i64::try_from(own.len()).unwrap();
        assert_eq!((ledger.entries, ledger.total), (count, count * (count + 1) / 2), "ledger {id}");
        let writer = writers.iter_mut().find(|writer| writer.id == id).unwrap();
        let stored = Progress { version, entries: count };
        assert!(
            stored == writer.certain || stored == writer.possible,
            "ledger {id}: acknowledged {:?}, sent {:?}, stored {stored:?}",
            writer.certain,
            writer.possible
        );
        (writer.certain, writer.possible) = (stored, stored);
    }
}

/// The statement that makes the ledgers, before anybody has changed them.
pub(crate) fn first_ledgers() -> String {
    let rows: Vec<String> =
        (1..=WRITERS).map(|id| format!("({id}, 0, 0, '{}', '{}', 0, 0)", stamp(0), note(0))).collect();
    format!("INSERT INTO ledgers (id, version, twice, stamp, note, entries, total) VALUES {};", rows.join(", "))
}

/// A file, and how often it was half written when the server was gone.
struct File {
    path: String,
    torn: u32,
}

impl Store for File {
    fn target(&self) -> String {
        format!("sqlite:{}", self.path)
    }

    /// Looks what the file is without what lies beside it: that the kill came in the middle of a write.
    fn settle(&mut self) {
        let alone = format!("{}.alone", self.path);
        std::fs::copy(&self.path, &alone).unwrap();
        let whole = everything(&alone).is_ok_and(|(ledgers, _)| ledgers.iter().all(Ledger::is_whole));
        self.torn += u32::from(!whole);
        std::fs::remove_file(&alone).unwrap();
    }

    fn read(&mut self) -> (Vec<Ledger>, Vec<Entry>) {
        everything(&self.path).unwrap()
    }
}

fn everything(path: &str) -> rusqlite::Result<(Vec<Ledger>, Vec<Entry>)> {
    let connection = Connection::open(path)?;
    let problems: Vec<String> =
        connection.prepare("PRAGMA integrity_check")?.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let sound = problems == ["ok"] && !connection.prepare("PRAGMA foreign_key_check")?.exists([])?;
    if !sound {
        return Err(rusqlite::Error::InvalidColumnName(problems.join(", ")));
    }
    let ledgers = connection
        .prepare("SELECT id, version, twice, stamp, note, entries, total FROM ledgers ORDER BY id")?
        .query_map([], |row| {
            Ok(Ledger {
                id: row.get(0)?,
                version: row.get(1)?,
                twice: row.get(2)?,
                stamp: row.get(3)?,
                note: row.get(4)?,
                entries: row.get(5)?,
                total: row.get(6)?,
            })
        })?
        .collect::<Result<_, _>>()?;
    let entries = connection
        .prepare("SELECT ledger_id, number, stamp, note FROM entries ORDER BY ledger_id, number")?
        .query_map([], |row| {
            Ok(Entry { ledger: row.get(0)?, number: row.get(1)?, stamp: row.get(2)?, note: row.get(3)? })
        })?
        .collect::<Result<_, _>>()?;
    Ok((ledgers, entries))
}

/// A hundred times in all, half of them with each way that SQLite keeps what it is about to change.
fn kill_on_file(journal: &str) -> File {
    let folder = Folder::new();
    // A cache so small that pages are written long before the end of the change they belong to.
    let small = "PRAGMA page_size = 512; PRAGMA default_cache_size = 10;";
    let sql = format!("{small} PRAGMA journal_mode = {journal}; {LEDGERS} {}", first_ledgers());
    let mut file = File { path: folder.database("ledgers.db", &sql), torn: 0 };
    kill(&mut file, 50);

    // What is left beside the file is in nobody's way.
    let served = HttpServer::start(&["serve", &file.target(), "--http", "127.0.0.1:0"]);
    let entry = json!({ "ledger_id": 1, "number": 1_000_000, "stamp": "", "note": "" });
    let made = served.call("mcp_aql_create", json!({ "operation": "create_entry", "params": entry }));
    assert_eq!(made["success"], true, "{made}");
    drop(served);
    Connection::open(&file.path).unwrap().execute_batch("VACUUM").unwrap();
    for left in ["-journal", "-wal", "-shm"] {
        assert!(!Path::new(&format!("{}{left}", file.path)).exists(), "{left} is left");
    }
    file
}

#[test]
fn acknowledged_writes_survive_and_no_row_is_half_written_with_a_rollback_journal() {
    let file = kill_on_file("DELETE");
    assert!(file.torn > 0, "it was never killed while it wrote");
}

#[test]
fn acknowledged_writes_survive_and_no_row_is_half_written_with_a_write_ahead_log() {
    kill_on_file("WAL");
}
