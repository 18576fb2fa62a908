//! Questions, and turns of phrase that ask to see something.

use super::Entry;

pub(crate) const QUESTIONS: &[Entry] = &[
    // Who.
    (
        "",
        "who am i, who i am, which user am i, what user am i, which account am i, what account am i, am i logged in, \
         logged in as, signed in as, user am i, account am i, am i signed in, my own account, my account, my own profile, \
         my profile, about me, about myself",
        "whoami authenticated me viewer myself self | current user account profile identity",
    ),
    (
        "",
        "who last touched, who last changed, who last edited, who last modified, who last updated, who changed, who touched, \
         who edited, who wrote, who broke, who made, who removed, who deleted, who modified, who updated, \
         who has been working on, who is to blame, who did this, who has changed, who has touched",
        "commit history blame author | log activity audit event changelog revision version contributor change",
    ),
    (
        "",
        "who can, who may, who is allowed, who has access, who gets to, who can see, who may see, who may edit, who may read, \
         who can read, who can edit, who is allowed in, may read, may edit, may write, may see, gets to see",
        "permission access member role restriction | collaborator user share grant list",
    ),
    (
        "",
        "who is in, who is on, who else is, who else, who works, who belongs, who all, which people, everybody in, everyone in, \
         who is around, who is here, who is part of, who do we have",
        "member user collaborator participant | people team attendee assignee contributor list",
    ),
    (
        "",
        "who is coming, who is going, who will be there, who said yes",
        "attendee participant guest | event rsvp member",
    ),
    ("", "who is this, who is that, what do we know about", "user profile details | get member person contact account"),
    (
        "",
        "who bought, who has bought, who buys, who ordered, who pays, who paid",
        "customer order | buyer client payment list",
    ),
    ("", "who signed up, who registered, who joined", "user member subscriber | registration attendee customer list"),
    ("", "who liked, who starred, who likes", "stargazer star reaction like | list"),
    ("", "who do i ask, who knows, who owns, whose is", "owner assignee user | member maintainer contact responsible"),
    (
        "",
        "been up to, been doing, did yesterday, did last week, up to lately, has been working on",
        "activity event | history log commit contribution",
    ),
    // When and how long.
    (
        "",
        "when was _ changed, when was _ last, when did _ change, when was _ made, how old, since when, how fresh",
        "date history info | created updated commit log metadata time stat age",
    ),
    (
        "",
        "how long does it take, how long will it take, how long is the drive",
        "duration distance direction | time estimate route",
    ),
    ("", "what time, what is the time, what day", "time current | timezone date clock"),
    ("", "by when, until when, when is _ due, running late", "due date deadline | schedule milestone overdue"),
    // Where.
    ("", "how far, how far away, how far is", "distance | direction route matrix length"),
    ("", "how high, how tall, above sea level", "elevation height altitude | size"),
    (
        "",
        "how do i get to, how do i get there, how do i get from, how do we get to, the way to, the way from, way home, \
         get from here to",
        "direction route navigate | distance map path",
    ),
    (
        "",
        "around here, near here, near me, close by, in the neighborhood, around the corner, in town",
        "nearby place search | location local",
    ),
    ("", "where am i", "location current position | context directory"),
    (
        "?",
        "where is, where are, where can i, where did we, where did i, where do we, where do i find",
        "search find location | locate place path list get",
    ),
    ("", "what street, what address, what is the address", "address geocode location | reverse place"),
    // How much and how many.
    ("", "how hot, how cold, how warm, is it raining, will it rain, sunny", "weather forecast temperature | current"),
    (
        "",
        "how much is, how much does, how much are, how expensive, how pricey",
        "price cost | billing quote rate amount product",
    ),
    ("", "how much money, money do i have, how much do we have", "balance amount total | account payment payout"),
    (
        "",
        "how much did, how much was, how much have we, how much has",
        "total sum amount | aggregate revenue usage cost report count",
    ),
    ("", "how many, how often, the number of, tally up", "count total number | list statistics aggregate search"),
    (
        "",
        "how busy, how loaded, how hard, how full, hogging, chewing up, using up, running out of, \
         uses the most, takes the most, takes up",
        "usage metric statistic top load | cpu memory resource consumption size monitor",
    ),
    (
        "",
        "how fast, how slow, takes forever, takes ages, taking so long, so slow, too slow",
        "performance latency trace speed | profile metric analyze duration audit slow",
    ),
    ("", "how good, any good, how well rated", "rating review score | feedback statistics quality details"),
    ("", "how popular, how many people look", "view statistic traffic analytic | star count popular"),
    (
        "",
        "average, on average, for each, broken down by, grouped by, highest, lowest, biggest, most of all, the most, the least",
        "aggregate statistic top | count group report sort query sum",
    ),
    // How things are.
    (
        "",
        "how is _ going, how are we doing, how are things, going well, on track, coming along, how far along, how far are we, \
         how is _ doing, how did _ go, how did it go",
        "status progress statistic | state report result summary health metric get",
    ),
    (
        "",
        "is everything up, is everything okay, is everything ok, up and running, is it up, is it down, still alive, \
         is _ working, is _ up, is _ healthy, does it work, check on",
        "health status ping | check get monitor running state",
    ),
    (
        "",
        "what is going on, is going on, going on, is happening, what happened, has been happening, what went on, \
         what is up with, has been going on",
        "event activity log status | history message timeline audit",
    ),
    (
        "",
        "what went wrong, what broke, what is broken, what is wrong, what failed, goes wrong, went wrong, blew up, fell over, \
         falling over, blow up, acting up, messed up, on fire, blowing up, keeps failing",
        "error issue event failure log | alert incident exception diagnose status problem",
    ),
    (
        "",
        "keep crashing, keeps crashing, keeps dying, keeps restarting, not starting, won't start, doesn't start, not responding",
        "log event describe | error crash failure diagnose status",
    ),
    (
        "",
        "did it work, did that work, did it pass, is it done yet, has it finished, is it finished",
        "status result check | state get job run",
    ),
    (
        "",
        "why did _ fail, why is _ failing, why does _ fail, why did _ break, why is _ broken, why is _ red",
        "log error failure | diagnose analyze result job failed output",
    ),
    ("", "in yet, made it in, got in, is it in", "merged merge | status check included"),
    ("", "did it print, spit out, spits out, did it output", "log output console | error message trace"),
    (
        "",
        "sometimes fails, sometimes fail, comes and goes, come and go, unreliable, fails now and then, every now and then",
        "flaky | test intermittent failure unstable",
    ),
    (
        "",
        "did the build make, came out of, comes out of, was built, got built",
        "artifact output result | build release package",
    ),
    ("", "shows up, show up, appears, until it is there, until it is ready", "wait | appear visible ready"),
    ("", "who is online, is _ online, is _ around", "presence status online | user member"),
    // What there is.
    ("", "anybody else, anyone else, has anyone, has anybody, does anyone", "search find | list query"),
    ("?", "called, named, by the name of", "search find name"),
    (
        "",
        "may i look at, may i use, may i read, may i, what is allowed",
        "allowed permission available | access list accessible",
    ),
    (
        "",
        "needs my attention, need my attention, should i look at, waiting for my",
        "notification assigned review | inbox unread task issue my",
    ),
    (
        "",
        "what is new, anything new, any news, what did i miss, catch me up, up to speed, in my inbox, my inbox, the inbox",
        "notification unread activity inbox | event recent feed message mail update list",
    ),
    (
        "",
        "coming up, on the agenda, what is planned, what do i have on, on today, ahead of me, what is on",
        "event calendar schedule upcoming | agenda meeting list due task",
    ),
    (
        "",
        "am i free, are we free, is _ free, free time, have time, am i busy, when can we meet, when can we all, find a slot, \
         find a time, spare time, everyone is free, everybody is free",
        "freebusy availability free busy slot | calendar event schedule",
    ),
    (
        "",
        "on my plate, on my desk, on my list, still to do, still have to do, have to do, need to do, \
         to be done, should i do, should i work on, waiting for me, waiting on me, left for me",
        "task todo assigned my | issue list assignee open ticket work reminder",
    ),
    (
        "",
        "have i done, got done, have i finished, finished so far, did we finish, did i finish, have we done, done so far",
        "completed done closed | finished history activity task",
    ),
    (
        "",
        "what does _ say, what is written, what is it about, read through, is it about",
        "content read text scrape | body page get view retrieve markdown summary",
    ),
    (
        "",
        "people say, people saying, people think, do people say, did _ say, they say, has been said, was said, said about, \
         talking about, being discussed, reactions to, think of",
        "comment message conversation review | reply discussion note feedback thread history read",
    ),
    (
        "?",
        "what is in, what is inside, what is on, look inside, do we have in, have we got, have i got, \
         is in there, do i have, do we have",
        "list content get describe | show read tree item structure search object",
    ),
    (
        "",
        "used to look, looked like, look like last, look like before, earlier version, older version, old version, back then",
        "history version revision | previous snapshot restore commit",
    ),
    ("?", "look like", "view screenshot snapshot | preview get show render image schema describe structure"),
    (
        "",
        "made of, laid out, built up, organized, organised, structured, what shape, which +fields, which +columns, what +fields",
        "schema structure describe | tree field property column hierarchy definition list",
    ),
    (
        "",
        "what kinds of, what types of, what sort of, which kinds, which sorts, which types, what kind of",
        "type list schema | kind category",
    ),
    (
        "?",
        "what can i, what could i, what may i, what is possible, what choices, which options, what options, choose from, \
         pick from, what is allowed, can i pick, can i choose, can i set, can i use",
        "list available option allowed | get value type transition supported",
    ),
    (
        "",
        "am i allowed, can i access, are we allowed, do i have the right",
        "permission access check allowed | role right",
    ),
    (
        "",
        "go through, steps does, what stages, which stages, which steps, what steps",
        "status state workflow stage | transition step process list",
    ),
    (
        "?",
        "is there, are there, there any, do you have, \
         somewhere",
        "search list find | get query exist",
    ),
    (
        "",
        "anything about, something about, anything on, mentions, mentioning, that mention, talks about, with the word, \
         has the word, contains the word, to do with",
        "search find query | text list match",
    ),
    (
        "",
        "side by side, next to each other, what is different, difference between, is the difference, differ, changed between, \
         changed since, what changed, what has changed, did i change, did we change",
        "diff compare change | difference commit history changelog multiple",
    ),
    (
        "",
        "at once, in one go, all together, in bulk, all of them, all of these, all or nothing",
        "batch bulk multiple | all transaction many",
    ),
    (
        "",
        "what would happen, without breaking, dry run, before it goes live, safely",
        "preview validate prepare | simulate dry test plan check",
    ),
    (
        "",
        "talking to, connected to, hooked up to, working against",
        "context current connection configuration | config status",
    ),
    ("?", "at the moment, as we speak, live right now", "current active | running list status"),
    (
        "?",
        "which ones are, which of, which are there, show me everything, what all, everything we have",
        "list | all get search",
    ),
];
