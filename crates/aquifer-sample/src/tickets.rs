//! What the support desk has on its table and how each case went on.

use std::iter;

use crate::customers::Customer;
use crate::orders::Order;
use crate::products::Product;
use crate::standings::{Standing, standing_of};
use crate::value::dice::Dice;
use crate::value::moment::{DAY, HOUR, Moment};
use crate::value::text::render;
use crate::words::letters::{AGENTS, CLOSINGS, FAREWELLS, GREETINGS, LETTERS, WELCOMES};
use crate::words::topics::{About, TOPICS, Topic};

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

/// What gives a customer reason to write.
struct Occasion<'a> {
    customer: &'a Customer,
    order: Option<(&'a Order<'a>, &'a Product)>,
    topic: &'static Topic,
    since: Moment,
}

impl Ticket<'_> {
    /// Solved tickets are closed after two weeks; others wait for whoever did not write last.
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
        self.solved_at?.after(14 * DAY).if_come()
    }
}

/// In the order in which they came in.
pub(crate) fn draw<'a>(customers: &'a [Customer], standings: &[Standing], orders: &'a [Order<'a>]) -> Vec<Ticket<'a>> {
    let mut dice = Dice::new(5);
    let drafts = iter::repeat_with(|| {
        let occasion = occasion(&mut dice, customers, orders)?;
        ticket(&mut dice, &occasion, standings)
    });
    // Some drafts come to nothing, far fewer than half.
    let mut tickets: Vec<_> = drafts.take(2 * TICKETS).flatten().take(TICKETS).collect();
    tickets.sort_by_key(|ticket| ticket.created_at);
    tickets
}

fn occasion<'a>(dice: &mut Dice, customers: &'a [Customer], orders: &'a [Order<'a>]) -> Option<Occasion<'a>> {
    if dice.chance(25) {
        let customer = dice.any(customers)?;
        let wait = dice.between(0, Moment::PRESENT.seconds_since(customer.created_at));
        let since = customer.created_at.after(wait);
        return Some(Occasion { customer, order: None, topic: dice.any(LETTERS)?, since });
    }
    let order = dice.any(orders)?;
    // Nobody complains about what was free.
    let product = dice.any(&order.lines).map(|line| line.product).filter(|product| product.price.0 > 0)?;
    let fitting = TOPICS.iter().filter(|topic| topic.fits(product));
    let mut fitting: Vec<_> = fitting.filter_map(|topic| Some((topic, since(topic, order)?))).collect();
    // The more particular, the likelier.
    fitting.sort_by_key(|(topic, _)| !topic.is_particular());
    let (topic, since) = dice.any_early(&fitting).copied()?;
    Some(Occasion { customer: order.customer, order: Some((order, product)), topic, since })
}

/// From when on the order gives reason for such a letter, if it does at all.
fn since(topic: &Topic, order: &Order<'_>) -> Option<Moment> {
    match topic.about {
        About::Nothing => None,
        About::Any => Some(order.placed_at),
        About::Shipped => order.shipped_at,
        About::Undone if order.is_undone() => Some(order.shipped_at.unwrap_or(order.placed_at).after(12 * DAY)),
        About::Undone => None,
    }
}

/// None where it would have been written in the sample's future.
fn ticket<'a>(dice: &mut Dice, occasion: &Occasion<'a>, standings: &[Standing]) -> Option<Ticket<'a>> {
    let Occasion { customer, order, topic, since } = *occasion;
    let created_at = since.after(dice.between(DAY, 14 * DAY)).awake(dice, since).if_come()?;
    let number = order.map(|(order, _)| format!("#{}", order.id)).unwrap_or_default();
    let days = dice.between(3, 14).to_string();
    let facts = [
        ("order", number.as_str()),
        ("product", order.map_or("", |(_, product)| product.name.as_str())),
        ("model", order.map_or("", |(_, product)| product.model)),
        ("city", customer.city),
        ("days", &days),
        ("first", customer.first_name()),
    ];
    let (subject, opening) = dice.pick(topic.letters);
    let is_new = Moment::PRESENT.seconds_since(created_at) < 14 * DAY;
    let is_gold = standing_of(standings, customer).is_some_and(|standing| standing.tier() == "gold");
    let mut tags: Vec<_> = topic.tags.iter().copied().filter(|_| dice.chance(75)).collect();
    if is_gold && dice.chance(60) {
        tags.push("vip");
    }
    let mut ticket = Ticket {
        customer,
        order: order.map(|(order, _)| order),
        subject: render(subject, &facts),
        body: render(&body(dice, topic, opening), &facts),
        priority: dice.pick(topic.priorities),
        assignee: dice.chance(if is_new { 50 } else { 97 }).then(|| dice.pick(AGENTS)),
        created_at,
        solved_at: None,
        messages: Vec::new(),
        tags,
    };
    converse(dice, topic, &facts, &mut ticket);
    Some(ticket)
}

fn body(dice: &mut Dice, topic: &Topic, opening: &'static str) -> String {
    let mut details = topic.details.to_vec();
    dice.shuffle(&mut details);
    details.truncate(dice.pick(&[1, 2, 2, 3]));
    let greeting = dice.chance(60).then(|| dice.pick(GREETINGS));
    let closing = dice.chance(70).then(|| dice.pick(CLOSINGS));
    let sentences = greeting.into_iter().chain([opening]).chain(details).chain(closing);
    sentences.collect::<Vec<_>>().join(" ")
}

/// Lets the desk and the customer write in turns until the case is solved, given up or the sample's present is reached.
/// Without an assignee nobody has looked at it yet.
fn converse(dice: &mut Dice, topic: &Topic, facts: &[(&str, &str)], ticket: &mut Ticket<'_>) {
    let Some(agent) = ticket.assignee else { return };
    let thread = dice.pick(topic.threads);
    let length = if dice.chance(75) { thread.len() } else { dice.pick(&[0, 1, 2]) };
    let mut written_at = ticket.created_at;
    for (turn, text) in thread.iter().take(length).enumerate() {
        written_at = written_at.after(dice.between(HOUR, 36 * HOUR)).awake(dice, written_at);
        if !written_at.has_come() {
            return;
        }
        let author = if turn % 2 == 0 { agent } else { &ticket.customer.name };
        let welcome = if turn == 0 { dice.pick(WELCOMES) } else { "" };
        let body = render(format!("{welcome} {text}").trim_start(), facts);
        ticket.messages.push(Message { author, body, sent_at: written_at });
    }
    let solved_at = written_at.after(dice.between(HOUR, 60 * HOUR)).awake(dice, written_at);
    if !solved_at.has_come() || dice.chance(10) {
        return;
    }
    ticket.solved_at = Some(solved_at);
    if dice.chance(35) {
        let [after_reply, after_silence] = FAREWELLS;
        let replied = ticket.messages.last().is_some_and(|last| last.author != agent);
        let body = render(dice.pick(if replied { after_reply } else { after_silence }), facts);
        ticket.messages.push(Message { author: agent, body, sent_at: solved_at });
    }
}
