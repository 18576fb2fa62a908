//! Writes the rows, with one prepared statement for each table.

use rusqlite::{Transaction, params};

use crate::customer_stats::CustomerStats;
use crate::customers::Customer;
use crate::orders::Order;
use crate::products::Product;
use crate::tickets::{Message, Ticket};
use crate::words::kinds::CATEGORIES;
use crate::words::topics::TAGS;

pub(crate) fn customers(to: &Transaction<'_>, customers: &[Customer], stats: &[CustomerStats]) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO customers VALUES (?, ?, ?, ?, ?, ?, ?, ?, NULL, ?, ?)")?;
    for (customer, own_stats) in customers.iter().zip(stats) {
        insert.execute(params![
            customer.id,
            customer.name,
            customer.email,
            customer.place.country,
            customer.city,
            own_stats.tier(),
            customer.phone,
            customer.referred_by,
            customer.preferences,
            customer.created_at,
        ])?;
    }
    Ok(())
}

/// Customers and products reference each other, so this column is set after both exist. Deferred foreign keys would work
/// too, but SQLite then searches for orphaned rows on every insert, which is far slower.
pub(crate) fn favourites(
    to: &Transaction<'_>,
    customers: &[Customer],
    stats: &[CustomerStats],
) -> rusqlite::Result<()> {
    let mut update = to.prepare("UPDATE customers SET favourite_product_id = ? WHERE id = ?")?;
    for (customer, own_stats) in customers.iter().zip(stats) {
        if let Some(product_id) = own_stats.favourite_product_id {
            update.execute(params![product_id, customer.id])?;
        }
    }
    Ok(())
}

pub(crate) fn categories(to: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO categories VALUES (?, ?, ?)")?;
    for (id, (name, parent_id)) in (1_i64..).zip(CATEGORIES) {
        insert.execute(params![id, parent_id, name])?;
    }
    Ok(())
}

pub(crate) fn products(to: &Transaction<'_>, products: &[Product]) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO products VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    for product in products {
        insert.execute(params![
            product.id,
            product.sku,
            product.name,
            product.description,
            product.category_id,
            product.price,
            product.stock,
            product.discontinued_at.is_none(),
            product.attributes,
            product.suggested_by,
            product.created_at,
            product.discontinued_at,
        ])?;
    }
    Ok(())
}

pub(crate) fn orders(to: &Transaction<'_>, orders: &[Order<'_>]) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut insert_line = to.prepare("INSERT INTO order_lines VALUES (?, ?, ?, ?, ?)")?;
    for order in orders {
        insert.execute(params![
            order.id,
            order.customer.id,
            order.status,
            order.total(),
            order.customer.place.currency,
            order.placed_at,
            order.shipped_at,
            order.shipping,
            order.note,
        ])?;
        for (line_no, line) in (1_i64..).zip(&order.lines) {
            insert_line.execute(params![order.id, line_no, line.product.id, line.quantity, line.unit_price])?;
        }
    }
    Ok(())
}

pub(crate) fn tags(to: &Transaction<'_>) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO tags VALUES (?, ?)")?;
    for (id, name) in (1_i64..).zip(TAGS) {
        insert.execute(params![id, name])?;
    }
    Ok(())
}

pub(crate) fn tickets(to: &Transaction<'_>, tickets: &[Ticket<'_>]) -> rusqlite::Result<()> {
    let mut insert = to.prepare("INSERT INTO tickets VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")?;
    let mut insert_tag = to.prepare("INSERT INTO ticket_tags VALUES (?, ?)")?;
    for (id, ticket) in (1_i64..).zip(tickets) {
        insert.execute(params![
            id,
            ticket.customer.id,
            ticket.order.map(|order| order.id),
            ticket.subject,
            ticket.body,
            ticket.status(),
            ticket.priority,
            ticket.assignee,
            ticket.created_at,
            ticket.updated_at(),
            ticket.solved_at,
        ])?;
        for (tag_id, _) in (1_i64..).zip(TAGS).filter(|(_, tag)| ticket.tags.contains(tag)) {
            insert_tag.execute(params![id, tag_id])?;
        }
    }
    Ok(())
}

/// Writes the messages of all tickets in the order in which they were sent.
pub(crate) fn messages(to: &Transaction<'_>, tickets: &[Ticket<'_>]) -> rusqlite::Result<()> {
    let mut messages: Vec<(i64, &Message<'_>)> =
        (1..).zip(tickets).flat_map(|(id, ticket)| ticket.messages.iter().map(move |message| (id, message))).collect();
    messages.sort_by_key(|(_, message)| message.sent_at);
    let mut insert = to.prepare("INSERT INTO ticket_messages VALUES (?, ?, ?, ?, ?)")?;
    for (id, (ticket_id, message)) in (1_i64..).zip(messages) {
        insert.execute(params![id, ticket_id, message.author, message.body, message.sent_at])?;
    }
    Ok(())
}
