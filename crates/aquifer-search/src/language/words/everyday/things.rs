//! Everyday names of things.

use super::Entry;

pub(crate) const THINGS: &[Entry] = &[
    // People.
    (
        "",
        "folks, guys, buddy, colleagues, coworkers, teammates, mates, crew, staff, employees, friends",
        "user member person | contact team people assignee employee",
    ),
    ("", "boss, chief, supervisor", "manager owner admin | user"),
    ("", "shopper, buyer, patron, visitor, client, people who pay", "customer client contact | user account visitor"),
    ("", "prospect, potential customer", "lead contact | customer opportunity"),
    ("", "author, writer", "author user | commit creator blame"),
    ("", "robot", "bot agent | app webhook"),
    ("", "phone number, birthday, contact details, address book", "contact | profile customer user phone address"),
    // Talk.
    ("", "chat room, lobby, hangout, group chat, chatroom", "channel room | conversation chat group space"),
    ("", "direct message, private message", "direct message | send conversation chat user"),
    ("", "letter, letters, mail", "email mail message | inbox"),
    ("", "chatter, banter, small talk", "message conversation | chat thread"),
    ("", "opinion, opinions, verdict", "review comment feedback | vote rating approval"),
    ("", "news, headlines", "notification activity | event feed article search"),
    ("", "smiley, like, heart", "reaction emoji | like star"),
    ("", "newsletter", "campaign email | list subscriber"),
    ("", "ad, ads, advert", "campaign ad | marketing"),
    // Work.
    ("", "chore, errand, to-do, todo, action item, homework, duty", "task todo | item issue reminder"),
    ("", "piece, chunk, portion, slice", "part section subtask block | item segment"),
    ("", "card, sticky, sticky note", "card task | item issue ticket note"),
    ("", "lane, swimlane", "section column list | status board"),
    ("", "column", "column field | section list property"),
    ("", "goal, target, objective", "goal milestone objective | initiative target"),
    (
        "",
        "wish, wishes, idea, ideas, asked for, ask for, want from us",
        "request feedback need | idea feature issue suggestion",
    ),
    ("", "time spent, timesheet, worked on, hours worked, worked for", "worklog time log | hour entry track add"),
    ("", "overdue, too late, behind schedule", "overdue due | deadline task late filter"),
    ("", "bug, glitch, hiccup, mess, trouble, breakage", "issue bug error | problem incident event ticket"),
    ("", "outage, downtime", "incident outage status | health alert monitor"),
    ("", "workspace, spaces", "workspace space | team organization project"),
    ("", "paperwork", "document form | file"),
    // Trade.
    (
        "",
        "goods, wares, merchandise, merch, sell, in our shop, in the shop, in our store",
        "product item | catalog inventory order",
    ),
    ("", "sold, sales", "order sale | product revenue report"),
    ("", "bought, purchases, purchased, buy", "order purchase | customer payment transaction"),
    (
        "",
        "parcel, delivery, shipment, shipped, shipping",
        "shipment order fulfillment | shipping delivery tracking address",
    ),
    (
        "",
        "money, cash, funds, income, earnings, made this month",
        "payment balance amount revenue | total invoice charge payout transaction sum",
    ),
    ("", "deal, deals", "deal opportunity | sale"),
    ("", "voucher, promo, promo code, discount code", "coupon discount promotion | code"),
    ("", "sizes, colors, flavor, flavors", "variant option | product"),
    ("", "stock, in stock, on the shelf, left in the warehouse", "inventory stock quantity | product level"),
    ("", "receipt, receipts", "invoice receipt | payment order"),
    // Code and machines.
    ("", "line, lines", "line blame | file content"),
    (
        "",
        "playground, sandbox, scratch copy, throwaway",
        "sandbox branch | test environment development fork preview copy",
    ),
    ("", "box, boxes, laptop, computer, machine", "server node instance machine | vm host computer device"),
    ("", "copies, copies of, more copies", "replica scale copy | instance"),
    ("", "guts, under the hood, internals", "details describe | inspect configuration content"),
    ("", "snippet, script", "code script | snippet execute function"),
    ("", "green, red", "status check | pass fail build result"),
    ("", "behind main, behind, out of sync, lagging behind", "update sync | branch merge rebase behind"),
    ("", "password, passcode, passwords", "password credential secret | token key reset"),
    ("", "knobs, switches, preferences", "setting configuration option | preference update"),
    ("", "version we run, which version", "version | info status release"),
    ("", "flow, recipe, automation", "workflow automation | pipeline rule"),
    (
        "",
        "crash, crashing, crashed, died, dying, stuck, frozen, hanging, unresponsive",
        "error log event crash | failure status issue exception",
    ),
    ("", "leftovers, dead weight, unused", "unused stale | delete cleanup archived"),
    // Documents and media.
    ("", "pic, pics, snapshot, drawing, shot", "image photo screenshot | picture media attachment file"),
    ("", "clip, movie, film, footage, what the user did", "video recording replay | media session stream"),
    ("", "song, tune, music", "track song audio | playlist music album"),
    ("", "study, studies, paper, papers, publication", "paper research | article publication document"),
    ("", "spreadsheet, sheet, excel", "spreadsheet sheet table | file document worksheet"),
    ("", "drawer, spot, place, places", "directory folder location place | path"),
    ("", "trash can, garbage, rubbish", "trash | delete spam archive"),
    ("", "homepage, home page, site", "page site url website | web domain"),
    ("", "old stuff, past", "history | archive old previous"),
    // Places.
    (
        "",
        "restaurant, cafe, bar, pub, hotel, pizza, coffee, pharmacy, supermarket, petrol station, gas station, food",
        "place search | business location nearby",
    ),
    (
        "",
        "town, city, village, street, country, station, airport",
        "location place address | city region geocode direction",
    ),
    ("", "gps, latitude, longitude, whereabouts, coordinates", "location coordinate geocode | position latitude"),
    ("", "mountain, hill, peak", "elevation place | location altitude"),
    ("", "drive, trip, journey, commute, ride", "direction route distance | travel"),
    // Relations.
    (
        "",
        "married, married to, friend of, knows, sibling, works with, works for, related to",
        "relation link association | graph connect relationship",
    ),
    ("", "fact, facts", "observation | memory entity note"),
    ("", "subscriber, audience, fans", "subscriber follower | member user contact list"),
];
