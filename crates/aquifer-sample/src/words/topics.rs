//! Topics of customers' messages about their orders, and the messages that follow.
//!
//! Placeholders in the texts: `{order}`, `{product}`, `{model}`, `{city}`, `{days}`, `{first}` (the customer's first
//! name). The first three exist only for topics about an order.

/// Which orders a topic can be about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OrderScope {
    /// No order at all.
    NoOrder,
    Any,
    Shipped,
    /// Cancelled or returned.
    Undone,
}

pub(crate) struct Topic {
    pub(crate) orders: OrderScope,
    /// The codes of the product kinds that it applies to. Empty means all.
    pub(crate) codes: &'static [&'static str],
    pub(crate) tags: &'static [&'static str],
    /// Repeated to make a priority more likely.
    pub(crate) priorities: &'static [&'static str],
    /// Subjects, each with the first sentence of the message.
    pub(crate) letters: &'static [(&'static str, &'static str)],
    pub(crate) details: &'static [&'static str],
    /// The messages that follow, by the agent and the customer in turns.
    pub(crate) threads: &'static [&'static [&'static str]],
}

impl Topic {
    /// Whether it applies to the product with this SKU, which begins with the code of its kind.
    pub(crate) fn fits(&self, sku: &str) -> bool {
        self.codes.is_empty() || self.codes.iter().any(|code| sku.starts_with(code))
    }

    pub(crate) fn is_specific(&self) -> bool {
        self.orders == OrderScope::Undone || !self.codes.is_empty()
    }
}

/// The id is the position plus one. No ticket is tagged `wholesale`.
#[rustfmt::skip] // A list of words, not of lines.
pub(crate) const TAGS: &[&str] = &[
    "delivery", "damaged", "refund", "return", "warranty", "invoice", "account", "discount", "sizing", "spare-parts",
    "stock", "product-question", "complaint", "praise", "vip", "bulk-order", "address-change", "payment", "leak",
    "wholesale",
];

pub(crate) const TOPICS: &[Topic] = &[
    Topic {
        orders: OrderScope::Undone,
        codes: &[],
        tags: &["refund", "payment", "complaint"],
        priorities: &["normal", "high", "urgent"],
        letters: &[
            ("Refund for {order}?", "When will I get my money back for order {order}?"),
            ("Still no refund", "It has been {days} days and I can't see any refund for the {product}."),
            ("Money back for the {model}", "My refund for order {order} hasn't reached me yet."),
        ],
        details: &[
            "My bank says nothing is pending.",
            "I paid by card, and the card has been replaced since.",
            "The confirmation promised five working days.",
            "Please refund the full amount, not a voucher.",
            "It's the second time I'm writing about this.",
        ],
        threads: &[
            &[
                "The refund went out this morning and should be with you in two to three days.",
                "Nothing yet, and it's been a week.",
                "I've asked accounting: the old card had been closed, so we're sending a bank transfer instead.",
                "The transfer is there now, thanks.",
            ],
            &[
                "You're right, this slipped through. The refund is on its way, with a small voucher for the trouble.",
                "It's there, thanks.",
            ],
        ],
    },
    Topic {
        orders: OrderScope::Shipped,
        codes: &["TNT", "TRP", "BPK", "DRY", "DFL"],
        tags: &["leak", "warranty", "product-question"],
        priorities: &["low", "normal", "normal", "high"],
        letters: &[
            ("{product} leaks", "The {product} I bought from you leaks."),
            ("Water gets into my {model}", "We had the {product} out in heavy rain and everything inside got wet."),
            ("Not as waterproof as promised", "After {days} days the {product} isn't waterproof any more."),
        ],
        details: &[
            "Water comes in at the stitching, drop by drop.",
            "I've re-sealed it twice and it still leaks.",
            "The description says it's made for this kind of weather.",
            "Is there a repair kit, or should I send it in?",
        ],
        threads: &[
            &[
                "Please let it dry fully and treat the seams with the sealant we've just posted to you.",
                "The sealant did the trick, bone dry this weekend.",
            ],
            &[
                "Could you tell us which seam it is? The {model} had a bad batch in spring.",
                "It's the seam at the bottom, left of the logo.",
                "Then it's one of those. We'll exchange it; please send it back with the label attached.",
                "The new one has been through two storms and didn't leak.",
            ],
        ],
    },
    Topic {
        orders: OrderScope::Shipped,
        codes: &[],
        tags: &["delivery", "complaint"],
        priorities: &["normal", "normal", "high", "high", "urgent"],
        letters: &[
            ("Where is my parcel?", "I'm still waiting for the {product} I ordered ({order})."),
            ("Order {order} hasn't arrived", "My order {order} was shipped a while ago and still hasn't arrived."),
            ("Tracking stuck", "The tracking page for {order} has said \"in transit\" for {days} days now."),
        ],
        details: &[
            "The carrier's hotline in {city} told me to ask the sender.",
            "My neighbours haven't taken anything in either.",
            "We leave for our holiday on Saturday and need the {product} by then.",
            "According to the app the parcel was delivered, but there is nothing at the door.",
        ],
        threads: &[
            &[
                "I've opened an inquiry with the carrier; it usually takes two working days.",
                "The carrier now says it's lost. Can't you just send another one?",
                "A replacement for {order} leaves our warehouse today by express.",
                "It came this morning. All good now.",
            ],
            &[
                "The parcel was found in the depot near {city} and goes out again tomorrow morning.",
                "It came today, thanks for chasing it.",
            ],
            &[
                "The driver couldn't find the entrance. Is there a name on the bell?",
                "It's \"Garden House\", at the back.",
            ],
        ],
    },
    Topic {
        orders: OrderScope::Shipped,
        codes: &["POT", "MUG", "FLK", "LMP", "PWR", "SOL", "KTL", "JAR", "BSK", "BOX", "TIN", "CAN"],
        tags: &["damaged", "warranty", "return"],
        priorities: &["normal", "high", "high"],
        letters: &[
            ("{product} arrived broken", "The {product} from order {order} arrived broken."),
            ("Damaged in transit: {order}", "I unpacked the {product} today and found it damaged."),
            ("Part of my order is broken", "Part of order {order} is broken: the {product}."),
        ],
        details: &[
            "One corner of the box was crushed and soaked through.",
            "There is a crack along the edge, about a hand's width long.",
            "It was meant as a present, and the birthday is in {days} days.",
            "I can send photographs if that helps.",
        ],
        threads: &[
            &[
                "That shouldn't happen. Could you send two pictures, one of the box and one of the damage?",
                "Pictures are attached. You can see the crack in the second one.",
                "Thank you. A new {product} is on its way, and you needn't return the old one.",
                "The new one is perfect!",
            ],
            &[
                "This is covered by the warranty; a return label is in your inbox.",
                "I'd rather have my money back, to be honest.",
                "That's fine, too. We'll refund you as soon as the {model} is back here.",
            ],
        ],
    },
    Topic {
        orders: OrderScope::Shipped,
        codes: &[],
        tags: &["return", "sizing"],
        priorities: &["low", "normal", "normal"],
        letters: &[
            ("Return of {product}", "I'd like to return the {product} from order {order}."),
            ("Wrong size", "The {product} is smaller than I thought."),
            ("Can I exchange the {model}?", "Could I exchange my {product} for another model?"),
        ],
        details: &[
            "It's unused and the label is still on.",
            "The box is gone, I hope that's not a problem.",
            "I couldn't find the return form on your site.",
            "The colour doesn't look like the picture, either.",
        ],
        threads: &[
            &[
                "No problem at all. The label is attached; any parcel shop in {city} takes it.",
                "Dropped it off this morning.",
                "It has arrived, and your money is on its way.",
            ],
            &[
                "We don't need the original box. Just wrap it well, please.",
                "And what does the return cost me?",
                "Nothing.",
            ],
            &["I've put a larger one aside for you. Shall we swap?", "Yes, please!"],
        ],
    },
    Topic {
        orders: OrderScope::Any,
        codes: &[],
        tags: &["address-change", "delivery"],
        priorities: &["normal", "high", "urgent"],
        letters: &[
            ("Wrong address on {order}", "I gave the wrong address for order {order}."),
            ("I've moved", "We've moved since I ordered the {product}."),
            ("Deliver to my office?", "Could you send order {order} to my office in {city} instead?"),
        ],
        details: &[
            "The house number should be 14b, not 14.",
            "There's no one at home during the day.",
            "My old flat is empty, so please don't deliver there.",
        ],
        threads: &[
            &["Changed! You'll get a new confirmation in a minute.", "Thanks, that was quick."],
            &[
                "The parcel has already left, but the carrier lets you redirect it from the tracking page.",
                "The tracking page won't let me change anything.",
                "Then I've done it for you. It goes to the new address.",
            ],
        ],
    },
    Topic {
        orders: OrderScope::Any,
        codes: &[],
        tags: &["invoice", "payment"],
        priorities: &["low", "low", "normal"],
        letters: &[
            ("Invoice for {order}", "I need an invoice for order {order} made out to my company."),
            ("VAT number missing", "The invoice for {order} is missing our VAT number."),
            ("Receipt, please", "Could I have a receipt for the {product} with the price on it?"),
        ],
        details: &[
            "My bookkeeper is asking for it.",
            "A PDF by email is enough.",
            "The link in the confirmation leads to an \"error 404\" page.",
        ],
        threads: &[
            &["The invoice is attached.", "The name of the company is still misspelt.", "Sorry! Here's a new one."],
            &["I've sent everything to the address in your account.", "Got it, perfect."],
        ],
    },
    Topic {
        orders: OrderScope::Any,
        codes: &["SLP", "MAT", "STV", "FLT", "PAN", "KNF", "BRD", "KTL", "BRS", "RCK", "SHR", "SPD"],
        tags: &["product-question", "spare-parts"],
        priorities: &["low", "normal"],
        letters: &[
            ("Spare part for {product}", "Do you sell spare parts for the {product}?"),
            ("Question about the {model}", "I have a question about caring for the {product} I ordered ({order})."),
            ("How do I clean the {product}?", "What is the best way to clean the {product}?"),
        ],
        details: &[
            "The manual only covers the older {model}.",
            "I don't want to ruin it with the wrong soap.",
            "I lost one of the small parts somewhere around {city}.",
        ],
        threads: &[
            &["All parts are free for owners of the {model}; a set is in the post.", "You're stars. Thank you!"],
            &[
                "Lukewarm water and a soft brush. No soap, no dishwasher.",
                "And oil?",
                "A drop of linseed oil once a year doesn't hurt.",
            ],
        ],
    },
];
