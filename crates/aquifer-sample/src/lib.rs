//! The sample database: a small shop for outdoor and household goods, and its support desk.
//!
//! It is there to be asked about, so it has what real databases have: references that run in a circle, composite
//! keys, enumerations, documents inside columns, gaps, a view, a generated column and word indexes that cover some
//! tables and not others. Everything is drawn from word lists by seeded dice and no clock is read: two fills hold the
//! same data to the byte, whenever and wherever they run. What is drawn never touches the database; writing comes
//! after, in one transaction that leaves nothing behind when it fails. How safely to write is for the caller to say, by
//! pragma.

mod customers;
mod orders;
mod products;
mod standings;
#[cfg(test)]
mod tests;
mod tickets;
mod value;
mod words;
mod write;

/// Creates and fills the sample's tables in a database that has none of them yet.
pub fn fill(connection: &mut rusqlite::Connection) -> rusqlite::Result<()> {
    let customers = customers::draw();
    let products = products::draw(&customers);
    let orders = orders::draw(&customers, &products);
    let standings = standings::draw(&customers, &products, &orders);
    let tickets = tickets::draw(&customers, &standings, &orders);

    // Holding an enumeration against its list builds a little table for each row, a third of the whole time. The rows
    // are ours, and a test has SQLite check all of them afterwards.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let filled = connection.transaction().and_then(|transaction| {
        transaction.execute_batch(include_str!("sql/tables.sql"))?;
        write::customers(&transaction, &customers, &standings)?;
        write::categories(&transaction)?;
        write::products(&transaction, &products)?;
        write::favourites(&transaction, &customers, &standings)?;
        write::orders(&transaction, &orders)?;
        write::tags(&transaction)?;
        write::tickets(&transaction, &tickets)?;
        write::messages(&transaction, &tickets)?;
        transaction.execute_batch(include_str!("sql/indexes.sql"))?;
        transaction.commit()
    });
    let restored = connection.pragma_update(None, "ignore_check_constraints", false);
    filled.and(restored)
}
