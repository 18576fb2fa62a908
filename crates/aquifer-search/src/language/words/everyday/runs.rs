//! Turns of phrase that ask to run, to stop, to deliver or to look for something.

use super::Entry;

pub(crate) const RUNS: &[Entry] = &[
    // To run and to stop.
    (
        "EXECUTE",
        "kick off, kick _ off, set off, set _ off, fire off, fire up, get _ going, get _ running, let _ run, start up, \
         boot, boot up, power up, power on, wake, wake up, crank",
        "run start trigger launch dispatch | execute create resume deploy",
    ),
    (
        "EXECUTE",
        "try, try out, try _ out, give _ a go, give _ a try, give it a whirl, have a go, take _ for a spin",
        "run execute test | evaluate try start trigger invoke preview",
    ),
    (
        "EXECUTE",
        "try again, try _ again, have another go, give it another go, another shot, another try, once more, one more time, \
         do _ again, do _ over, run _ again, from scratch",
        "retry rerun restart | run redo repeat again reset",
    ),
    (
        "EXECUTE",
        "pull the plug, pull the plug on, shut down, shut _ down, power off, power down, put an end, call off, call _ off, \
         call a halt, break off, cut short, give up on, knock it off",
        "stop cancel terminate | kill abort end close shutdown disable delete",
    ),
    ("EXECUTE", "bounce, turn _ off and on", "restart reboot | reload rollout"),
    (
        "EXECUTE UPDATE",
        "go live, make _ live, put _ live, push live, push _ live, push _ out, push to production, ship, ship it, \
         get _ out the door, roll out, roll _ out, bring online, bring _ online, put _ online, put _ out there, launch, \
         for everyone to see",
        "deploy publish release rollout | complete apply launch create promote submit upload",
    ),
    (
        "EXECUTE",
        "give my okay, give _ okay, give my ok, give _ the green light, give the green light, give _ the go ahead, \
         wave _ through, sign off, sign off on, rubber stamp, say yes, green light, good to go, looks good, \
         fine with me, is fine by me, i'm happy with",
        "approve accept | review merge confirm complete publish reaction",
    ),
    (
        "EXECUTE",
        "say no, say no to, turn down, turn _ down, shoot down, shoot _ down, knock back, send _ back, veto, thumbs down",
        "reject decline deny | dismiss close cancel delete unapprove",
    ),
    ("EXECUTE", "get in, get _ in, land, get _ into main, bring into main", "merge | add accept import pull"),
    (
        "EXECUTE DELETE",
        "log out, log _ out, sign out, sign _ out, log off, kick everyone off",
        "logout session | signout revoke end auth",
    ),
    ("EXECUTE READ", "google, look online, search online, ask the internet", "search web | find query internet"),
    ("EXECUTE CREATE", "thumbs up, give _ thumbs up", "reaction emoji thumb approve | like vote award"),
    (
        "EXECUTE READ",
        "go to, take me to, bring me to, head over to, pull up, open up, jump to",
        "navigate open goto | get show view load switch",
    ),
    (
        "READ EXECUTE",
        "take a picture, take a photo, snap, grab a picture",
        "screenshot capture | image photo snapshot take",
    ),
    (
        "READ EXECUTE",
        "grab, get hold of, lay hands on, get _ onto my, get _ on my, save _ locally, put _ on my disk, \
         take _ home, pull _ down",
        "download clone get export | fetch retrieve pull save checkout",
    ),
    (
        "CREATE EXECUTE",
        "save my work, save our work, check in, keep my changes, save the changes",
        "commit save | push store snapshot",
    ),
    (
        "READ",
        "make sure, double check, see if, see whether, am i right, is it true",
        "check verify validate | get test search list status compare",
    ),
    (
        "READ",
        "dig into, look into, get to the bottom of, drill into, drill down, take a closer look, zoom in, have a look at, \
         take a look at, find out, figure out, work out, look at, peek at, more about, tell me about, tell me more",
        "get details describe | analyze inspect view show read info find explain query",
    ),
    (
        "READ",
        "track down, hunt down, dig up, sniff out, look around, scour, comb through, go through, sift, root around, \
         look for, fish out, which one was, was about, have a rummage",
        "search find query | list locate filter lookup",
    ),
    (
        "READ",
        "sum up, boil down, give me the gist, in a nutshell, in short, tldr, bird's eye view, big picture",
        "summary summarize overview | get describe report",
    ),
    (
        "READ",
        "look through, leaf through, skim, flick through, flip through, page through, scroll through, narrow down, \
         only the ones, just the ones",
        "list search browse filter | read query get find",
    ),
    (
        "READ",
        "walk me through, teach me, show me how, spell out, how does _ work, what does _ mean, make sense of",
        "explain guide documentation describe | help get analyze instruction",
    ),
    (
        "READ",
        "does _ make sense, is _ valid, anything wrong with, did i get _ right, look right, proofread, sanity check",
        "validate check lint | verify test analyze review",
    ),
    ("EXECUTE", "play, put on some, listen to", "play | start track audio queue"),
    (
        "EXECUTE CREATE",
        "hang out, chat, chat with, have a word with",
        "message chat send channel | conversation ask post",
    ),
    ("EXECUTE", "hold on, hang on, give it a second, give it a moment, sit tight", "wait | sleep pause delay"),
    ("EXECUTE", "guess, predict, see coming", "predict forecast | estimate"),
];
