//! Messages that are not about an order, and phrases that fit any message.

use crate::words::topics::{OrderScope, Topic};

pub(crate) const AGENTS: &[&str] =
    &["Maren Holt", "Tomás Rivera", "Ngozi Eze", "Piotr Zieliński", "Jo Fairweather", "Leïla Haddad"];

pub(crate) const LETTERS: &[Topic] = &[
    Topic {
        orders: OrderScope::NoOrder,
        codes: &[],
        tags: &["account"],
        priorities: &["low", "normal", "high"],
        letters: &[
            ("Can't log in", "I can't log in to my account any more."),
            ("Password reset", "The email for resetting my password never arrives."),
            ("Two accounts", "I've two accounts by mistake and would like to merge them."),
        ],
        details: &[
            "I've looked in the spam folder, too.",
            "The page just says \"something went wrong\".",
            "It worked until about {days} days ago, on my phone as well as on the laptop.",
            "My wish list should survive, if that's possible.",
        ],
        threads: &[
            &["Your account was locked after too many attempts. It's open again.", "I'm in again, thanks."],
            &[
                "We've sent you a link, this time from another address.",
                "Now it says the link has expired.",
                "It's only good for an hour. Here's a new one.",
                "Worked!",
            ],
        ],
    },
    Topic {
        orders: OrderScope::NoOrder,
        codes: &[],
        tags: &["discount", "complaint"],
        priorities: &["low", "low", "normal"],
        letters: &[
            ("Voucher code not accepted", "The voucher code from your newsletter isn't accepted."),
            ("November sale", "I missed the November sale by a day and hope you can make an exception."),
            ("Credit for a recommendation", "I recommended you to a friend in {city} and haven't received my credit."),
        ],
        details: &[
            "The basket says \"code unknown\", whatever I type.",
            "I've been a customer for years.",
            "It was supposed to be valid for {days} days.",
        ],
        threads: &[
            &[
                "There was a typo in the letter, sorry! Please use TRAIL10 instead.",
                "TRAIL10 isn't accepted either.",
                "Then I've put the discount straight into your account.",
            ],
            &["I've added a credit to your account.", "Very kind, thank you."],
        ],
    },
    Topic {
        orders: OrderScope::NoOrder,
        codes: &[],
        tags: &["stock", "product-question"],
        priorities: &["low", "normal"],
        letters: &[
            ("When is it back in stock?", "When will the enamel mugs in moss green be back in stock?"),
            ("Sold out for {days} days", "The sleeping bag I'd like has been sold out for {days} days."),
            ("Is there a shop in {city}?", "Can I see your tents anywhere around {city}?"),
        ],
        details: &[
            "I've signed up for the reminder but haven't heard anything.",
            "Another colour would be fine if it's quicker.",
            "I'd like to touch the fabric before I buy.",
        ],
        threads: &[
            &["The next delivery is due in three weeks; I've reserved one for you.", "Lovely, I'll wait."],
            &["We can send you a sample card, free of charge.", "Please do!", "It's in the post."],
        ],
    },
    Topic {
        orders: OrderScope::NoOrder,
        codes: &[],
        tags: &["bulk-order", "invoice"],
        priorities: &["normal", "high"],
        letters: &[
            ("Offer for 40 headlamps", "Could you make us an offer for forty headlamps?"),
            ("Equipment for a scout group", "Our scouts from {city} need thirty mats and four family tents."),
            ("Buying for a school kitchen", "Our school kitchen needs twelve skillets and as many boards."),
        ],
        details: &[
            "We can pay within {days} days of the invoice.",
            "Delivery before the summer would be essential.",
            "Is there a discount for associations?",
        ],
        threads: &[
            &[
                "With pleasure! The offer is attached and holds for four weeks.",
                "Could you do fifteen per cent?",
                "Twelve is what we can do at that quantity.",
                "The committee has agreed. How do we order?",
            ],
            &["Gladly. When would you need it, and where?", "By the end of next month, in {city}."],
        ],
    },
    Topic {
        orders: OrderScope::NoOrder,
        codes: &[],
        tags: &["praise"],
        priorities: &["low"],
        letters: &[
            ("Thank you!", "No complaint today, just a thank you."),
            ("Compliments to your repair team", "Your repair team has saved our holiday."),
            ("Such a friendly answer", "I've never had such a friendly answer from a shop."),
        ],
        details: &[
            "The stove has been burning every evening since.",
            "My daughter won't part with the box, she says it's a \"ship\".",
            "I've told everyone in {city} about you.",
        ],
        threads: &[&["That made our day. We've pinned it to the wall.", "You deserve it."]],
    },
];

pub(crate) const GREETINGS: &[&str] = &["Hello!", "Hi there!", "Good morning!", "Hi!", "Greetings from {city}!"];

pub(crate) const CLOSINGS: &[&str] = &[
    "Kind regards, {first}",
    "Thanks in advance, {first}",
    "Looking forward to hearing from you.",
    "All the best, {first}",
    "You can also call me in the evening.",
    "Thanks for reading this far.",
];

/// The beginning of an agent's first answer.
pub(crate) const WELCOMES: &[&str] =
    &["Hello {first}!", "Thanks for writing, {first}.", "Good to hear from you, {first}.", "Hi {first}."];

/// The agent's last message in a ticket, after a reply from the customer and without one.
pub(crate) const FAREWELLS: [&[&str]; 2] = [
    &["Glad that's sorted, {first}. Have a good week!", "Thanks for letting us know. I'm closing this ticket now."],
    &["As we haven't heard back, we'll assume it's solved.", "Closing this for now. Just answer if it isn't solved."],
];

/// Customers' requests for packing and delivery.
pub(crate) const ORDER_NOTES: &[&str] = &[
    "Please leave it with the neighbour, number 12.",
    "Gift: don't include the invoice.",
    "Ring twice, the bell is slow.",
    "Could you write \"Happy birthday, Mum\" on the card?",
    "Deliver after 5 pm if possible.",
    "Parcel locker is fine, no signature needed.",
    "No plastic, please!",
    "It's a surprise, so please don't call.\nThank you!",
];
