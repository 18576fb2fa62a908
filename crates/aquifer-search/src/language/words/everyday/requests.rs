//! Verbs and turns of phrase that ask to remove, to make, to send, to allow or to change something.

use super::Entry;

pub(crate) const REQUESTS: &[Entry] = &[
    // To remove.
    (
        "DELETE",
        "toss, toss out, chuck, chuck out, chuck away, bin, axe, zap, junk, dump, blow away, get rid of, do away with, \
         throw away, throw out, rip out, cut out, clear out, weed out, wipe out, kill off, take away, take out, take off, \
         cross out, phase out, make _ go away, make _ disappear, get _ out of here, free up",
        "delete remove | destroy drop trash clear purge erase archive",
    ),
    (
        "DELETE UPDATE",
        "no longer, any more, anymore, not needed, no use for",
        "delete remove | disable archive close unsubscribe",
    ),
    ("DELETE", "kick out, boot out, throw _ out of, show _ the door", "remove kick | ban delete member revoke leave"),
    ("DELETE UPDATE", "pull _ out of, drop _ from", "remove | delete unlink detach move"),
    (
        "UPDATE",
        "ban, blacklist, shut out, keep _ out, lock out, lock _ out",
        "block ban | restrict deny remove deactivate",
    ),
    ("EXECUTE DELETE", "get out of, walk out, opt out", "leave unsubscribe | exit remove"),
    (
        "DELETE UPDATE",
        "stop bothering, stop bugging, stop spamming, stop mailing, stop telling, stop notifying, leave _ alone, \
         shut _ up, silence, hush, quieten",
        "unsubscribe mute unwatch watcher | remove disable notification subscription",
    ),
    (
        "DELETE UPDATE EXECUTE",
        "stop +watching, stop +tracking, stop +monitoring, stop +following, stop +using, stop +sending, stop +showing, \
         stop +selling, stop +sharing, stop +syncing, stop +collecting, quit +watching",
        "delete remove disable stop | unsubscribe unwatch unfollow update cancel archive",
    ),
    // To make.
    (
        "CREATE",
        "whip up, knock together, put together, cook up, throw together, come up with, spin up, stand up, bring up, \
         start a, start an, start another, start fresh, begin a, begin another, need a new, want a new, file a, file an, \
         raise a, raise an, cut a, log a, set up, get started, get me a new, get us a new, set _ up with",
        "create add new | generate start provision setup launch insert",
    ),
    (
        "CREATE",
        "jot, jot down, note down, write down, put down, scribble, scribble down, put _ in writing, make a note, \
         take a note, put _ on record",
        "create add write | note comment record append save insert",
    ),
    (
        "CREATE",
        "remind, remember to, don't let me forget",
        "reminder task todo create add | event notify schedule activity",
    ),
    (
        "CREATE UPDATE",
        "pencil in, block off, block out, set aside, make time, arrange, put _ on the calendar, put _ in the calendar, \
         put _ in my diary, set up a meeting, get together, meet with",
        "event schedule create meeting | book calendar appointment insert reservation",
    ),
    ("CREATE", "order, buy, purchase, get me some", "order purchase create | buy checkout payment cart"),
    ("EXECUTE", "give _ money back, money back, pay back, reimburse", "refund | payment reverse return charge"),
    (
        "CREATE",
        "complain, moan, grumble, gripe, rant, speak up about",
        "feedback issue report | create complaint comment submit ticket",
    ),
    ("CREATE UPDATE", "start selling, offer for sale", "create product add | publish listing offer item"),
    ("CREATE", "sign up, sign _ up, enroll, enrol, enlist", "register create add | subscribe join user member"),
    (
        "CREATE",
        "need more, want more, want another, need another, one more",
        "add create scale | increase new replica copy",
    ),
    (
        "CREATE",
        "make _ copy, own copy, make a copy, my own version",
        "fork copy clone duplicate | create template backup",
    ),
    (
        "CREATE UPDATE",
        "add me to, put me on, count me in on, sign me up",
        "add join member | assign subscribe register invite",
    ),
    ("CREATE EXECUTE", "give _ a call, ring, ring up, phone", "call phone | engagement contact dial"),
    ("CREATE EXECUTE", "draw, sketch, paint", "create generate draw | image chart diagram"),
    ("CREATE EXECUTE", "bring over, carry over, copy over", "import copy move | migrate transfer sync"),
    ("CREATE", "book a table, get us a table, reserve", "reservation booking book | create event schedule"),
    // To send.
    (
        "EXECUTE CREATE",
        "drop _ a line, drop _ a note, shoot _ a message, write to, get in touch, reach out, give _ a shout, say hi, \
         say hello, say something, say, tell everyone, tell everybody, tell people, tell the team, tell them, \
         spread the word, shout, yell, announce, let everyone know, let everybody know, let people know, let them know",
        "send post message | notify reply comment publish announce broadcast email status create",
    ),
    ("EXECUTE", "ping, nudge, poke, give _ a nudge, dm", "notify message send mention | alert remind request post"),
    (
        "EXECUTE CREATE",
        "get back to, write back, answer back, chime in, weigh in",
        "reply comment respond | answer send post",
    ),
    ("EXECUTE", "pass along, pass on, forward", "forward send share | transfer move"),
    ("EXECUTE", "read out, read aloud, say out loud, speak", "speech tts speak | voice audio synthesize generate"),
    // To allow and to forbid.
    (
        "UPDATE CREATE",
        "let _ see, let _ edit, let _ use, let _ read, let _ write, let _ change, let _ access, let _ in, let _ push, let _ join, \
         let _ work, let _ help, let _ post, let _ comment, \
         give _ access, give _ rights, open _ up to, allow _ to",
        "permission access grant share collaborator | role member add invite allow set",
    ),
    (
        "UPDATE CREATE",
        "let _ log in, let _ login, let _ sign in, let _ sign up",
        "auth authentication login | signup identity user provision",
    ),
    (
        "UPDATE",
        "nobody should, nobody may, no one should, no one may, hide, make _ private, lock down, lock _ down, \
         for our eyes only, only _ may, only _ can, only _ should",
        "restrict restriction protect private permission | access hide visibility lock set",
    ),
    (
        "UPDATE",
        "make _ public, show the world, open source, let everyone see",
        "public publish share | visibility update",
    ),
    (
        "CREATE UPDATE",
        "bring _ on board, rope in, rope _ in, loop in, loop _ in, get _ involved, ask _ to join, bring _ in",
        "invite add | member user collaborator participant attendee reviewer share",
    ),
    (
        "CREATE",
        "look over my, ask _ to look, ask _ to review, get a second opinion, have _ look at my, want feedback on",
        "review reviewer | request approval feedback comment",
    ),
    (
        "CREATE",
        "call _ whenever, tell _ whenever, ping _ whenever, whenever, every time, each time, as soon as",
        "webhook hook notify trigger | subscription event rule create",
    ),
    // To change.
    (
        "UPDATE",
        "hand over, hand off, pass _ to, give _ to, leave _ to, put _ in charge, make _ responsible, \
         is responsible for, should do this, should look at, take care of this, take over, dump on",
        "assign transfer | owner assignee update move",
    ),
    ("UPDATE", "let me do, i'll do, i will do, i'll take, i take this, is mine", "assign | update owner transfer"),
    (
        "UPDATE",
        "touch up, spruce up, polish, tweak, fiddle, freshen up, tinker, bring _ up to date, get _ up to date, \
         correct the spelling, reword, put _ differently",
        "update edit modify | change set replace write",
    ),
    ("UPDATE", "tidy, tidy up, clean up, declutter", "cleanup delete clean | organize remove archive sort move purge"),
    (
        "UPDATE",
        "give _ a new name, give _ another name, give _ a better name, call it, should be called, is called now",
        "rename update | name title edit",
    ),
    (
        "UPDATE",
        "put off, put _ off, push back, push _ back, push out, hold off, move back, bring forward, \
         later than planned, move _ to next",
        "update reschedule postpone move | due date edit event schedule set",
    ),
    (
        "UPDATE",
        "bump, bump up, crank up, turn up, beef up, ramp up, make _ bigger, make _ larger, make room",
        "increase scale update upgrade resize | set raise priority expand",
    ),
    (
        "UPDATE",
        "dial down, tone down, cut back, scale back, bring down, make _ smaller, make _ shorter",
        "decrease scale reduce resize | update lower shrink set",
    ),
    (
        "UPDATE",
        "is urgent, is important, can wait, comes first, more important, less important",
        "priority update | set urgent",
    ),
    (
        "UPDATE",
        "tick off, tick, check off, cross off, be done with, wrap up, finish off, call it done, call it a day, \
         is done, is finished, is fixed, is solved, are done, am done, is over, took care of, taken care of, \
         off my list, cross _ off my list, tick _ off my list",
        "complete close done resolve | finish update mark end archive",
    ),
    (
        "UPDATE",
        "not done, not finished, isn't done, isn't finished, isn't fixed, open _ again, \
         still broken, still happening, pick _ up again",
        "reopen open | update restore resume uncomplete",
    ),
    (
        "UPDATE EXECUTE",
        "freeze, put on hold, put _ on hold, park, put on ice, put _ on ice, take a break, hold _ for now",
        "pause suspend hold stop | disable freeze archive update",
    ),
    (
        "EXECUTE UPDATE",
        "carry on, continue, go on with, keep going, unpause, get back to work",
        "resume continue | start enable",
    ),
    (
        "UPDATE",
        "put away, mothball, file away, stash, stow, tuck away, set _ aside",
        "archive stash | store move save hide",
    ),
    (
        "EXECUTE UPDATE",
        "dig out, bring back, bring _ back, get _ back, put back, put _ back, want _ back, rescue, undelete, resurrect",
        "restore recover revert | undelete unarchive undo rollback reopen move",
    ),
    (
        "EXECUTE UPDATE",
        "never mind, nevermind, oops, scratch that, the way it was, how it was, go back to, \
         forget the changes, forget my changes, start over",
        "undo revert restore reset rollback | rollout cancel discard back previous",
    ),
    ("UPDATE", "swap, swap out, exchange, trade", "replace swap update | change switch exchange"),
    (
        "UPDATE",
        "put _ under, nest, make _ part of, make _ a child, file _ under, belongs to, belongs under, \
         goes under, belongs in",
        "parent move child subtask | nest set add convert link section relation",
    ),
    (
        "CREATE UPDATE",
        "put _ into, stick _ in, drop _ in, drop _ into, throw _ in, throw _ into, shove, slip _ in, slot _ in, pull into, \
         pull _ into, take into, take _ into",
        "add move | insert put upload create attach",
    ),
    ("CREATE UPDATE", "stick _ on, pin _ to, hang _ on", "add attach | label tag pin apply create"),
    (
        "UPDATE",
        "mark as, mark _ as, flag as, flag _ as, treat as, set _ to",
        "mark update set | status label flag transition",
    ),
    ("UPDATE", "flag", "flag mark label | report tag star"),
    (
        "CREATE UPDATE",
        "bookmark, favorite, favourite, save for later, save _ for later, keep for later, heart, love, add to favorites",
        "star favorite bookmark like | save reaction follow watch add",
    ),
    ("UPDATE DELETE", "unlike, unbookmark, unfavorite", "unstar remove unlike | delete star favorite"),
    (
        "UPDATE CREATE",
        "keep an eye on, keep tabs on, stay on top of, keep track of, look out for, watch out for, tell me when, \
         tell me if, tell me as soon as, let me know when, let us know when, let me know if, let me know, warn me, \
         warn us, give me a heads up, keep me posted, keep _ posted, keep _ in the loop, in the loop, shout when, \
         want to hear about, want to know when, want to be told, notify me",
        "subscribe watch watcher monitor notify alert follow | webhook notification wait track rule",
    ),
    (
        "UPDATE",
        "turn _ into, make _ into, make this a, make it a, make that a, change _ into, make _ look like",
        "convert | transform update change set",
    ),
    (
        "EXECUTE UPDATE",
        "glue, stitch, bring together, lump together, mash together, roll into one, make one of",
        "merge combine join | link group add concat",
    ),
    (
        "CREATE UPDATE",
        "split, break up, break down, break _ down, break _ into, break _ up, chop up, divide",
        "split subtask divide | child create section partition convert part",
    ),
    (
        "CREATE UPDATE",
        "hook up, hook _ up, wire up, wire _ up, plug _ in, tie _ to, tie together, belong together, have to do with",
        "connect link attach | connection integrate relation association add webhook",
    ),
    (
        "DELETE",
        "nothing to do with, don't belong together, untie, unhook, unplug",
        "unlink remove link | delete detach disconnect",
    ),
    (
        "CREATE UPDATE",
        "depends on, depend on, waits for, has to wait, blocked by, is blocked, \
         has to come first, has to happen first",
        "dependency depend block | link relation add predecessor",
    ),
    (
        "UPDATE",
        "rearrange, put _ in order, shuffle, sort out, line up",
        "reorder sort move | position order arrange update",
    ),
    (
        "UPDATE",
        "out of service, take _ offline, take _ out of service",
        "disable drain cordon | stop maintenance update",
    ),
    ("UPDATE", "point _ at, aim _ at", "set update configure | url change switch"),
    (
        "UPDATE",
        "should be, ought to be, is wrong, has changed, is outdated, has moved",
        "update | edit change set modify correct",
    ),
    (
        "UPDATE EXECUTE",
        "can't make it, won't make it, can't come, not coming, won't be there, can't be there",
        "respond decline | attendee event reject rsvp update",
    ),
    (
        "UPDATE EXECUTE",
        "count me in, i'll be there, i will be there, i'm coming, i'll come",
        "respond accept | attendee event confirm rsvp join",
    ),
    ("UPDATE", "speed up, make _ faster, make _ quicker", "optimize performance index | improve tune cache analyze"),
    ("DELETE UPDATE", "empty, flush, empty out", "clear purge delete | remove reset truncate cache"),
];
