//! Who buys here.

use std::collections::HashSet;

use crate::value::dice::Dice;
use crate::value::moment::{DAY, Moment};
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

/// In the order in which they signed up, so that whoever has a lower id was there before.
pub(crate) fn draw() -> Vec<Customer> {
    let mut dice = Dice::new(1);
    let mut sign_ups: Vec<Moment> = (0..CUSTOMERS)
        .map(|_| {
            let day = Moment::START.after(dice.between(1, 905) * DAY);
            day.awake(&mut dice, day)
        })
        .collect();
    sign_ups.sort_unstable();
    let mut emails = HashSet::new();
    (1..).zip(sign_ups).map(|(id, created_at)| customer(&mut dice, &mut emails, id, created_at)).collect()
}

fn customer(dice: &mut Dice, emails: &mut HashSet<String>, id: i64, created_at: Moment) -> Customer {
    let place = if dice.chance(40) { dice.any(PLACES) } else { dice.any_early(PLACES) };
    let place = place.copied().unwrap_or_default();
    let name = format!("{} {}", dice.pick(place.given), dice.pick(place.family));
    Customer {
        id,
        email: email(dice, emails, &name, id),
        city: dice.pick(place.cities),
        zip: dice.fill_pattern(place.zip),
        phone: dice.chance(45).then(|| dice.fill_pattern(place.phone)),
        referred_by: (id > 1 && dice.chance(30)).then(|| dice.between(1, id - 1)),
        preferences: preferences(dice, place.language),
        name,
        place,
        created_at,
    }
}

fn email(dice: &mut Dice, emails: &mut HashSet<String>, name: &str, id: i64) -> String {
    let mut local = email_name(name);
    let has_letters = local.contains(|sign: char| sign.is_ascii_alphabetic());
    if !has_letters || dice.chance(12) {
        local = dice.pick(NICKNAMES).to_owned();
    }
    let domain = dice.pick(&["example.com", "example.com", "example.org", "example.net"]);
    let mut email = format!("{local}@{domain}");
    if !emails.insert(email.clone()) {
        email = format!("{local}{id}@{domain}");
        emails.insert(email.clone());
    }
    email
}

/// The word lists hold nothing that JSON would want escaped; the table's CHECK holds them to it.
fn preferences(dice: &mut Dice, language: &str) -> String {
    if dice.chance(10) {
        return "{}".to_owned();
    }
    let language = if dice.chance(25) { "en" } else { language };
    let newsletter = dice.chance(40);
    let interests = dice.pick(&[
        "[]",
        r#"["hiking"]"#,
        r#"["hiking","cooking"]"#,
        r#"["gardening","baking"]"#,
        r#"["cycling","camping","photography"]"#,
        r#"["camping","kids"]"#,
    ]);
    let contact = dice.pick(&[
        r#"{"channel":"email","quiet_hours":null}"#,
        r#"{"channel":"email","quiet_hours":{"from":"22:00","to":"07:00"}}"#,
        r#"{"channel":"phone","quiet_hours":{"from":"18:00","to":"09:00"}}"#,
        r#"{"channel":"none","quiet_hours":null}"#,
    ]);
    format!(r#"{{"language":"{language}","newsletter":{newsletter},"interests":{interests},"contact":{contact}}}"#)
}
