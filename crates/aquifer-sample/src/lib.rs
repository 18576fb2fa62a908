//! The sample database: a small shop for outdoor and household goods, and its support desk.
//!
//! It has the features of real databases: circular references, composite keys, enumerations, JSON columns, NULLs, a
//! view, a generated column and full-text indexes on some of the tables. All rows are generated from word lists by a
//! seeded random number generator, and no clock is read: every run on every machine produces the same bytes. The rows
//! are generated first and then written in one transaction, so a failure leaves nothing behind. The caller sets the
//! pragmas and thus controls durability.

mod customer_stats;
mod customers;
mod orders;
mod products;
#[cfg(test)]
mod tests;
mod tickets;
mod value;
mod words;
mod write;

/// Creates and fills the sample's tables in a database that has none of them yet.
pub fn fill(connection: &mut rusqlite::Connection) -> rusqlite::Result<()> {
    let customers = customers::generate();
    let products = products::generate(&customers);
    let orders = orders::generate(&customers, &products);
    let stats = customer_stats::generate(&customers, &products, &orders);
    let tickets = tickets::generate(&customers, &stats, &orders);

    // Checking an enumeration builds a temporary table for each row, which takes a third of the total time. Instead, a
    // test runs the checks on all rows.
    connection.pragma_update(None, "ignore_check_constraints", true)?;
    let filled = connection.transaction().and_then(|transaction| {
        transaction.execute_batch(include_str!("sql/tables.sql"))?;
        write::customers(&transaction, &customers, &stats)?;
        write::categories(&transaction)?;
        write::products(&transaction, &products)?;
        write::favourites(&transaction, &customers, &stats)?;
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
