//! SQLite: reads in passing where they are soon done, everything else on threads that may block.

mod collation;
mod column_kind;
mod error;
mod full_text;
mod functions;
mod pool;
mod reflect;
mod rows;
mod time_formats;
mod views;

use std::sync::{Arc, Mutex, PoisonError};

use futures::FutureExt;
use rusqlite::{Connection, StatementStatus};
use serde_json::Value;

use crate::error::SqlError;
use crate::model::Model;
use crate::rows::{Cells as _, Collector, Reader};
use crate::session::{Fault, Session, Work};
use crate::settings::Settings;
use crate::sql::uniform::TimeCheck;
use crate::statement::Statement;
use crate::time_style::TimeStyle;
use pool::{FileId, Link, Pool};
use time_formats::TimeFormats;

pub(crate) use pool::Place;
pub(crate) use rows::{from_place, is_broken_text};

/// A SQLite file.
pub(crate) struct Sqlite {
    readers: Pool,
    writer: Pool,
    /// The schema that was reflected, and the one a statement saw last.
    reflected: Mutex<Option<Seen>>,
    seen: Arc<Mutex<Option<Seen>>>,
}

/// Which schema it is: that of a file, in a version.
type Seen = (Option<FileId>, u32);

impl Sqlite {
    pub(crate) fn new(place: Place, settings: &Settings) -> Self {
        Self {
            readers: Pool::new(place.clone(), false, settings.connections, settings.timeout),
            writer: Pool::new(place, true, 1, settings.timeout),
            reflected: Mutex::default(),
            seen: Arc::default(),
        }
    }

    /// Looks what there is.
    pub(crate) async fn reflect(&self, settings: &Settings) -> Result<Model, SqlError> {
        let settings = settings.clone();
        let look = move |link: &mut Link| {
            let version = schema_version(&link.connection)?;
            let mut model = reflect::model(&link.connection, &link.interrupt(), &settings)?;
            views::trace(&mut link.connection, &mut model)?;
            Ok((model, (link.file, version)))
        };
        let turn = self.readers.turn().await?;
        let (model, found) = turn.run_blocking(move |link| look(link).map_err(|error| error::of(&error))).await?;
        *self.reflected.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(found);
        Ok(model)
    }

    /// Whether a statement has met another schema than the one reflected.
    pub(crate) fn has_changed(&self) -> bool {
        let seen = *self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.is_some() && seen != *self.reflected.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks whether the schema is still the one reflected. A file that cannot be read has no other.
    pub(crate) async fn check(&self) -> bool {
        let seen = self.seen.clone();
        let Ok(turn) = self.readers.turn().await else { return false };
        let looking = turn.run_blocking(move |link| {
            note(&seen, link);
            Ok::<(), SqlError>(())
        });
        looking.await.is_ok() && self.has_changed()
    }

    /// Does what only reads. One state of the data is seen throughout.
    pub(crate) async fn read<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        let turn = self.readers.turn().await?;
        let soon_done = work.is_cheap();
        let answered = soon_done.then(|| turn.run_inline(|link| reading(link, &self.seen, &work))).flatten();
        if let Some(answer) = answered {
            return answer;
        }
        let seen = self.seen.clone();
        turn.run_blocking(move |link| reading(link, &seen, &work)).await
    }

    /// Does what changes something: all of it or nothing.
    pub(crate) async fn write<W: Work>(&self, work: W) -> Result<W::Output, Fault> {
        let seen = self.seen.clone();
        let turn = self.writer.turn().await?;
        turn.run_blocking(move |link| {
            let answer = transact(link, &work);
            note(&seen, link);
            answer.map_err(|fault| match fault {
                Fault::SqlError(error) => {
                    let explaining = work.explain(&mut SqliteSession::on(link), error.clone()).now_or_never();
                    explaining.unwrap_or(error).into()
                }
                fault => fault,
            })
        })
        .await
    }
}

/// Does all of it or nothing.
fn transact<W: Work>(link: &mut Link, work: &W) -> Result<W::Output, Fault> {
    if !work.is_rehearsal() {
        return transact_as_set(link, work);
    }
    // Nothing of a rehearsal can be kept: SQLite itself refuses to.
    link.connection.commit_hook(Some(|| true)).map_err(|error| error::of(&error))?;
    let answer = transact_as_set(link, work);
    link.connection.commit_hook(None::<fn() -> bool>).map_err(|error| error::of(&error))?;
    answer
}

fn transact_as_set<W: Work>(link: &mut Link, work: &W) -> Result<W::Output, Fault> {
    link.connection.execute_batch("BEGIN IMMEDIATE").map_err(|error| error::of(&error))?;
    let (answer, _) = at_once(link, work);
    let answer = answer.and_then(|(output, keep)| {
        if !keep || work.is_rehearsal() {
            link.connection.execute_batch("ROLLBACK").map_err(|error| error::of(&error))?;
        } else if link.is_abandoned() {
            return Err(SqlError::Timeout { cause: "nobody waits for the change any more".to_owned() }.into());
        } else {
            link.begin_commit();
            commit(&link.connection)?;
        }
        Ok(output)
    });
    if !link.connection.is_autocommit() {
        let _ = link.connection.execute_batch("ROLLBACK");
    }
    answer
}

/// Keeps what was done. A failure that leaves the transaction open has kept nothing, nor has one for want of room; after
/// any other the file may hold the change or not.
fn commit(connection: &Connection) -> Result<(), SqlError> {
    let Err(error) = connection.execute_batch("COMMIT") else { return Ok(()) };
    let is_known = !connection.is_autocommit() || error.sqlite_error_code() == Some(rusqlite::ErrorCode::DiskFull);
    if is_known { Err(error::of(&error)) } else { Err(SqlError::Unknown { cause: error.to_string() }) }
}

/// Reads; anything but the answer stays as it was.
fn reading<W: Work>(link: &mut Link, seen: &Mutex<Option<Seen>>, work: &W) -> Result<W::Output, Fault> {
    let snapshot = work.needs_snapshot();
    if snapshot {
        let begin = link.connection.prepare_cached("BEGIN").and_then(|mut begin| begin.execute([]));
        begin.map_err(|error| error::of(&error))?;
    }
    let (answer, schema) = at_once(link, work);
    link.is_noted &= schema == Schema::Known;
    if !link.is_noted {
        note(seen, link);
    }
    if snapshot {
        // It has changed nothing; how it ends does not matter.
        let _ = link.connection.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    }
    answer.map(|(output, _)| output)
}

/// Runs work whose every answer comes at once. Says, too, whether it may have met another schema.
fn at_once<W: Work>(link: &mut Link, work: &W) -> (Result<(W::Output, bool), Fault>, Schema) {
    let mut session = SqliteSession::on(link);
    let answer = work.run(&mut session).now_or_never().unwrap_or_else(|| {
        Err(SqlError::Refused { words: None, cause: "work on SQLite waited for something".to_owned() }.into())
    });
    (answer, session.schema)
}

/// What a connection's statements have met.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Schema {
    /// The one they were made for, when it was noted.
    Known,
    /// Perhaps another: a statement was made, or made again.
    PerhapsNew,
}

fn schema_version(connection: &Connection) -> rusqlite::Result<u32> {
    connection.prepare_cached("PRAGMA schema_version")?.query_row([], |row| row.get(0))
}

/// Notes which schema a statement has just seen; next time, if the file is locked right now.
fn note(seen: &Mutex<Option<Seen>>, link: &mut Link) {
    if let Ok(version) = schema_version(&link.connection) {
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some((link.file, version));
        link.is_noted = true;
    }
}

/// One call's conversation.
struct SqliteSession<'c> {
    connection: &'c mut Connection,
    formats: &'c mut TimeFormats,
    schema: Schema,
}

impl<'c> SqliteSession<'c> {
    fn on(link: &'c mut Link) -> Self {
        Self { connection: &mut link.connection, formats: &mut link.formats, schema: Schema::Known }
    }

    fn each(
        &mut self,
        statement: &Statement,
        mut row: impl FnMut(&rusqlite::Row<'_>) -> std::ops::ControlFlow<()>,
    ) -> Result<(), SqlError> {
        let mut run = || -> rusqlite::Result<Schema> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            let mut rows = prepared.query(rusqlite::params_from_iter(statement.binds()))?;
            while let Some(found) = rows.next()? {
                if row(found).is_break() {
                    break;
                }
            }
            drop(rows);
            // SQLite looks at the schema before it runs a statement, and makes the statement again for another one.
            let made = prepared.get_status(StatementStatus::Run) <= 1;
            let made_again = prepared.reset_status(StatementStatus::RePrepare) > 0;
            Ok(if made || made_again { Schema::PerhapsNew } else { Schema::Known })
        };
        tracing::trace!(sql = statement.text(), "sqlite");
        match run() {
            Ok(Schema::Known) => Ok(()),
            met => {
                self.schema = Schema::PerhapsNew;
                met.map(|_| ()).map_err(|error| error::of(&error))
            }
        }
    }

    fn executed(&mut self, statement: &Statement) -> Result<u64, SqlError> {
        tracing::trace!(sql = statement.text(), "sqlite");
        let run = || -> rusqlite::Result<usize> {
            let mut prepared = self.connection.prepare_cached(statement.text())?;
            prepared.execute(rusqlite::params_from_iter(statement.binds()))
        };
        run().map(|count| count as u64).map_err(|error| error::of(&error))
    }
}

impl Session for SqliteSession<'_> {
    fn fetch(
        &mut self,
        statement: &Statement,
        collector: &mut Collector,
    ) -> impl Future<Output = Result<(), SqlError>> + Send {
        std::future::ready(self.each(statement, |row| collector.take(&rows::Row(row))))
    }

    fn rows(
        &mut self,
        statement: &Statement,
        readers: &[Reader],
    ) -> impl Future<Output = Result<Vec<Vec<Value>>, SqlError>> + Send {
        let mut all = Vec::new();
        let done = self.each(statement, |row| {
            let row = rows::Row(row);
            let cells = readers.iter().enumerate().map(|(index, reader)| row.value(index, *reader));
            all.push(cells.collect());
            std::ops::ControlFlow::Continue(())
        });
        std::future::ready(done.map(|()| all))
    }

    fn known_time_style(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(self.formats.known(self.connection, check).map_err(|error| error::of(&error)))
    }

    fn check_times(&mut self, check: &TimeCheck) -> impl Future<Output = Result<TimeStyle, SqlError>> + Send {
        std::future::ready(self.formats.check(self.connection, check).map_err(|error| error::of(&error)))
    }

    fn execute(&mut self, statement: &Statement) -> impl Future<Output = Result<u64, SqlError>> + Send {
        std::future::ready(self.executed(statement))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic, reason = "tests")]
mod tests {
    use super::*;
    use crate::settings::{Target, memory_name};
    use crate::statement::Dialect;

    /// Adds a thing, and then does as it is told.
    #[derive(Clone, Copy)]
    enum Adding {
        Kept,
        /// A rehearsal that wants to be kept all the same.
        Rehearsed,
        Panics,
    }

    impl Work for Adding {
        type Output = ();

        fn needs_snapshot(&self) -> bool {
            false
        }

        fn is_rehearsal(&self) -> bool {
            matches!(self, Adding::Rehearsed)
        }

        async fn run<S: Session>(&self, session: &mut S) -> Result<((), bool), Fault> {
            let mut statement = Statement::new(Dialect::Sqlite);
            statement.push("INSERT INTO things DEFAULT VALUES");
            session.execute(&statement).await?;
            if matches!(self, Adding::Rehearsed) {
                // Not even by ending the transaction does anything of it stay.
                let mut end = Statement::new(Dialect::Sqlite);
                end.push("COMMIT");
                let _ = session.execute(&end).await;
                session.execute(&statement).await?;
            }
            assert!(!matches!(self, Adding::Panics), "on purpose");
            Ok(((), true))
        }
    }

    fn database(name: &str) -> (Sqlite, Connection) {
        let other = Connection::open(memory_name(name)).unwrap();
        other.execute_batch("CREATE TABLE things (id INTEGER PRIMARY KEY)").unwrap();
        let settings = Settings::of("here", Target::Memory(name.to_owned()));
        (Sqlite::new(Place::Memory(name.to_owned()), &settings), other)
    }

    fn things(connection: &Connection) -> i64 {
        connection.query_row("SELECT count(*) FROM things", [], |row| row.get(0)).unwrap()
    }

    #[tokio::test]
    async fn r_req_9_nothing_of_a_rehearsal_can_be_kept() {
        let (sqlite, other) = database("kept-nothing");
        for round in 0..3 {
            let _ = sqlite.write(Adding::Rehearsed).await;
            assert_eq!(things(&other), round, "nothing of it is there");
            // And what is meant to be kept is, on the same connection.
            sqlite.write(Adding::Kept).await.unwrap();
            assert_eq!(things(&other), round + 1);
        }
    }

    #[tokio::test]
    async fn r_saf_5_a_panic_before_the_end_keeps_nothing_and_is_not_in_doubt() {
        let (sqlite, other) = database("kept-panic");
        let broken = sqlite.write(Adding::Panics).await;
        assert!(matches!(broken, Err(Fault::SqlError(SqlError::Broken { .. }))), "{broken:?}");
        assert_eq!(things(&other), 0);
        sqlite.write(Adding::Kept).await.unwrap();
        assert_eq!(things(&other), 1);
    }

    /// After a failure that ends the transaction nobody knows what the file holds.
    #[test]
    fn r_saf_5_a_commit_that_fails_is_in_doubt_unless_the_transaction_is_open() {
        let mut connection = Connection::open_in_memory().unwrap();
        let parent = "CREATE TABLE a (id INTEGER PRIMARY KEY); CREATE TABLE b (a INTEGER REFERENCES a(id) DEFERRABLE INITIALLY DEFERRED);";
        connection.execute_batch(&format!("PRAGMA foreign_keys = ON; {parent}")).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO b VALUES (1)").unwrap();
        assert!(matches!(commit(&connection), Err(SqlError::Violation(_))));
        connection.execute_batch("ROLLBACK").unwrap();
        connection.commit_hook(Some(|| true)).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO a VALUES (1)").unwrap();
        assert!(matches!(commit(&connection), Err(SqlError::Unknown { .. })));
        connection.commit_hook(None::<fn() -> bool>).unwrap();
        connection.execute_batch("BEGIN; INSERT INTO a VALUES (1)").unwrap();
        assert!(commit(&connection).is_ok());
    }
}
