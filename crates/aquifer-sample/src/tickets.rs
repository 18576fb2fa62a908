//! The support tickets and their messages.

use std::iter;

use crate::customer_stats::{CustomerStats, find_stats};
use crate::customers::Customer;
use crate::orders::Order;
use crate::products::Product;
use crate::value::moment::{DAY, HOUR, Moment};
use crate::value::rng::Rng;
use crate::value::text::render;
use crate::words::letters::{AGENTS, CLOSINGS, FAREWELLS, GREETINGS, LETTERS, WELCOMES};
use crate::words::topics::{OrderScope, TOPICS, Topic};

const TICKETS: usize = 600;

pub(crate) struct Ticket<'a> {
    pub(crate) customer: &'a Customer,
    pub(crate) order: Option<&'a Order<'a>>,
    pub(crate) subject: String,
    pub(crate) body: String,
    pub(crate) priority: &'static str,
    pub(crate) assignee: Option<&'static str>,
    pub(crate) created_at: Moment,
    pub(crate) solved_at: Option<Moment>,
    pub(crate) messages: Vec<Message<'a>>,
    pub(crate) tags: Vec<&'static str>,
}

pub(crate) struct Message<'a> {
    pub(crate) author: &'a str,
    pub(crate) body: String,
    pub(crate) sent_at: Moment,
}

/// Why a customer writes.
struct ContactReason<'a> {
    customer: &'a Customer,
    order: Option<(&'a Order<'a>, &'a Product)>,
    topic: &'static Topic,
    since: Moment,
}

impl Ticket<'_> {
    /// Solved tickets are closed after two weeks. The status of the others depends on who wrote last.
    pub(crate) fn status(&self) -> &'static str {
        match (self.solved_at, self.messages.last()) {
            (Some(_), _) if self.closed_at().is_some() => "closed",
            (Some(_), _) => "solved",
            (None, Some(last)) if last.author != self.customer.name => "waiting",
            (None, _) => "open",
        }
    }

    pub(crate) fn updated_at(&self) -> Moment {
        let last = self.messages.last().map_or(self.created_at, |message| message.sent_at);
        self.closed_at().or(self.solved_at).unwrap_or(last)
    }

    fn closed_at(&self) -> Option<Moment> {
        self.solved_at?.after(14 * DAY).if_past()
    }
}

/// Generates the tickets in the order in which they were created.
pub(crate) fn generate<'a>(
    customers: &'a [Customer],
    stats: &[CustomerStats],
    orders: &'a [Order<'a>],
) -> Vec<Ticket<'a>> {
    let mut rng = Rng::new(5);
    let drafts = iter::repeat_with(|| {
        let reason = reason(&mut rng, customers, orders)?;
        ticket(&mut rng, &reason, stats)
    });
    // A few drafts are discarded, far fewer than half.
    let mut tickets: Vec<_> = drafts.take(2 * TICKETS).flatten().take(TICKETS).collect();
    tickets.sort_by_key(|ticket| ticket.created_at);
    tickets
}

fn reason<'a>(rng: &mut Rng, customers: &'a [Customer], orders: &'a [Order<'a>]) -> Option<ContactReason<'a>> {
    if rng.chance(25) {
        let customer = rng.choose(customers)?;
        let wait = rng.between(0, Moment::PRESENT.seconds_since(customer.created_at));
        let since = customer.created_at.after(wait);
        return Some(ContactReason { customer, order: None, topic: rng.choose(LETTERS)?, since });
    }
    let order = rng.choose(orders)?;
    // There are no complaints about free products.
    let product = rng.choose(&order.lines).map(|line| line.product).filter(|product| product.price.0 > 0)?;
    let fitting = TOPICS.iter().filter(|topic| topic.fits(&product.sku));
    let mut fitting: Vec<_> = fitting.filter_map(|topic| Some((topic, since(topic, order)?))).collect();
    // Specific topics are more likely.
    fitting.sort_by_key(|(topic, _)| !topic.is_specific());
    let (topic, since) = rng.choose_early(&fitting).copied()?;
    Some(ContactReason { customer: order.customer, order: Some((order, product)), topic, since })
}

/// The earliest time for a message on this topic about this order, if the topic applies to it.
fn since(topic: &Topic, order: &Order<'_>) -> Option<Moment> {
    match topic.orders {
        OrderScope::NoOrder => None,
        OrderScope::Any => Some(order.placed_at),
        OrderScope::Shipped => order.shipped_at,
        OrderScope::Undone if order.is_undone() => Some(order.shipped_at.unwrap_or(order.placed_at).after(12 * DAY)),
        OrderScope::Undone => None,
    }
}

/// Creates a ticket, or `None` if it would be created after the sample's present.
fn ticket<'a>(rng: &mut Rng, reason: &ContactReason<'a>, stats: &[CustomerStats]) -> Option<Ticket<'a>> {
    let ContactReason { customer, order, topic, since } = *reason;
    let created_at = since.after(rng.between(DAY, 14 * DAY)).in_waking_hours(rng, since).if_past()?;
    let number = order.map(|(order, _)| format!("#{}", order.id)).unwrap_or_default();
    let days = rng.between(3, 14).to_string();
    let facts = [
        ("order", number.as_str()),
        ("product", order.map_or("", |(_, product)| product.name.as_str())),
        ("model", order.map_or("", |(_, product)| product.model)),
        ("city", customer.city),
        ("days", &days),
        ("first", customer.first_name()),
    ];
    let (subject, opening) = rng.pick(topic.letters);
    let is_new = Moment::PRESENT.seconds_since(created_at) < 14 * DAY;
    let is_gold = find_stats(stats, customer).is_some_and(|own_stats| own_stats.tier() == "gold");
    let mut tags: Vec<_> = topic.tags.iter().copied().filter(|_| rng.chance(75)).collect();
    if is_gold && rng.chance(60) {
        tags.push("vip");
    }
    let mut ticket = Ticket {
        customer,
        order: order.map(|(order, _)| order),
        subject: render(subject, &facts),
        body: render(&body(rng, topic, opening), &facts),
        priority: rng.pick(topic.priorities),
        assignee: rng.chance(if is_new { 50 } else { 97 }).then(|| rng.pick(AGENTS)),
        created_at,
        solved_at: None,
        messages: Vec::new(),
        tags,
    };
    write_messages(rng, topic, &facts, &mut ticket);
    Some(ticket)
}

fn body(rng: &mut Rng, topic: &Topic, opening: &'static str) -> String {
    let mut details = topic.details.to_vec();
    rng.shuffle(&mut details);
    details.truncate(rng.pick(&[1, 2, 2, 3]));
    let greeting = rng.chance(60).then(|| rng.pick(GREETINGS));
    let closing = rng.chance(70).then(|| rng.pick(CLOSINGS));
    let sentences = greeting.into_iter().chain([opening]).chain(details).chain(closing);
    sentences.collect::<Vec<_>>().join(" ")
}

/// Adds messages of the agent and the customer in turns until the ticket is solved or abandoned, or until the sample's
/// present. A ticket without an assignee has no messages.
fn write_messages(rng: &mut Rng, topic: &Topic, facts: &[(&str, &str)], ticket: &mut Ticket<'_>) {
    let Some(agent) = ticket.assignee else { return };
    let thread = rng.pick(topic.threads);
    let length = if rng.chance(75) { thread.len() } else { rng.pick(&[0, 1, 2]) };
    let mut written_at = ticket.created_at;
    for (turn, text) in thread.iter().take(length).enumerate() {
        written_at = written_at.after(rng.between(HOUR, 36 * HOUR)).in_waking_hours(rng, written_at);
        if !written_at.is_past() {
            return;
        }
        let author = if turn % 2 == 0 { agent } else { &ticket.customer.name };
        let welcome = if turn == 0 { rng.pick(WELCOMES) } else { "" };
        let body = render(format!("{welcome} {text}").trim_start(), facts);
        ticket.messages.push(Message { author, body, sent_at: written_at });
    }
    let solved_at = written_at.after(rng.between(HOUR, 60 * HOUR)).in_waking_hours(rng, written_at);
    if !solved_at.is_past() || rng.chance(10) {
        return;
    }
    ticket.solved_at = Some(solved_at);
    if rng.chance(35) {
        let [after_reply, after_silence] = FAREWELLS;
        let replied = ticket.messages.last().is_some_and(|last| last.author != agent);
        let body = render(rng.pick(if replied { after_reply } else { after_silence }), facts);
        ticket.messages.push(Message { author: agent, body, sent_at: solved_at });
    }
}
