//! The customers.

use std::collections::HashSet;

use crate::value::moment::{DAY, Moment};
use crate::value::rng::Rng;
use crate::value::text::email_name;
use crate::words::places::{NICKNAMES, PLACES, Place};

const CUSTOMERS: i64 = 400;

pub(crate) struct Customer {
    pub(crate) id: i64,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) place: Place,
    pub(crate) city: &'static str,
    pub(crate) zip: String,
    pub(crate) phone: Option<String>,
    pub(crate) referred_by: Option<i64>,
    pub(crate) preferences: String,
    pub(crate) created_at: Moment,
}

impl Customer {
    pub(crate) fn first_name(&self) -> &str {
        self.name.split(' ').next().unwrap_or_default()
    }
}

/// Generates the customers in the order in which they signed up, so that a lower id means an earlier date.
pub(crate) fn generate() -> Vec<Customer> {
    let mut rng = Rng::new(1);
    let mut sign_ups: Vec<Moment> = (0..CUSTOMERS)
        .map(|_| {
            let day = Moment::START.after(rng.between(1, 905) * DAY);
            day.in_waking_hours(&mut rng, day)
        })
        .collect();
    sign_ups.sort_unstable();
    let mut emails = HashSet::new();
    (1..).zip(sign_ups).map(|(id, created_at)| customer(&mut rng, &mut emails, id, created_at)).collect()
}

fn customer(rng: &mut Rng, emails: &mut HashSet<String>, id: i64, created_at: Moment) -> Customer {
    let place = if rng.chance(40) { rng.choose(PLACES) } else { rng.choose_early(PLACES) };
    let place = place.copied().unwrap_or_default();
    let name = format!("{} {}", rng.pick(place.given), rng.pick(place.family));
    Customer {
        id,
        email: email(rng, emails, &name, id),
        city: rng.pick(place.cities),
        zip: rng.fill_pattern(place.zip),
        phone: rng.chance(45).then(|| rng.fill_pattern(place.phone)),
        referred_by: (id > 1 && rng.chance(30)).then(|| rng.between(1, id - 1)),
        preferences: preferences(rng, place.language),
        name,
        place,
        created_at,
    }
}

fn email(rng: &mut Rng, emails: &mut HashSet<String>, name: &str, id: i64) -> String {
    let mut local = email_name(name);
    let has_letters = local.contains(|sign: char| sign.is_ascii_alphabetic());
    if !has_letters || rng.chance(12) {
        local = rng.pick(NICKNAMES).to_owned();
    }
    let domain = rng.pick(&["example.com", "example.com", "example.org", "example.net"]);
    let mut email = format!("{local}@{domain}");
    if !emails.insert(email.clone()) {
        email = format!("{local}{id}@{domain}");
        emails.insert(email.clone());
    }
    email
}

/// The word lists contain nothing that JSON has to escape; a CHECK constraint of the table verifies it.
fn preferences(rng: &mut Rng, language: &str) -> String {
    if rng.chance(10) {
        return "{}".to_owned();
    }
    let language = if rng.chance(25) { "en" } else { language };
    let newsletter = rng.chance(40);
    let interests = rng.pick(&[
        "[]",
        r#"["hiking"]"#,
        r#"["hiking","cooking"]"#,
        r#"["gardening","baking"]"#,
        r#"["cycling","camping","photography"]"#,
        r#"["camping","kids"]"#,
    ]);
    let contact = rng.pick(&[
        r#"{"channel":"email","quiet_hours":null}"#,
        r#"{"channel":"email","quiet_hours":{"from":"22:00","to":"07:00"}}"#,
        r#"{"channel":"phone","quiet_hours":{"from":"18:00","to":"09:00"}}"#,
        r#"{"channel":"none","quiet_hours":null}"#,
    ]);
    format!(r#"{{"language":"{language}","newsletter":{newsletter},"interests":{interests},"contact":{contact}}}"#)
}
