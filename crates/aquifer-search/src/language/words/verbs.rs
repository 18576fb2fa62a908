//! Verbs.
//!
//! A third part of a group holds words that are not verbs but hint at these: "flaky" at running again, "behind" at
//! bringing up to date.

/// Groups of verbs, each with the most likely semantic category of an operation for a task with these verbs.
pub(crate) const ACTIONS: &[(&str, &str)] = &[
    (
        "CREATE",
        "create add new insert | make open write provision register setup launch generate \
         build establish submit append start initialize define compose save store put post \
         attach upload introduce draft remember keep plan publish allocate produce spawn prepare leave | \
         need want document ask",
    ),
    (
        "READ",
        "get retrieve read fetch show view | describe display see inspect look give tell open \
         check know load print return pull obtain examine access present reveal output peek \
         learn dump | details info",
    ),
    ("READ", "list | enumerate browse show see get view"),
    (
        "READ",
        "search find query | look lookup discover locate filter seek grep hunt explore match \
         | where",
    ),
    (
        "UPDATE",
        "update edit change modify set patch | alter adjust rename replace configure rewrite \
         fix correct revise amend save write tweak switch resize scale close reopen mark make \
         reword rephrase customize extend postpone delay shift reschedule increase decrease \
         raise lower improve adapt touch convert refresh tick toggle reconfigure give overwrite",
    ),
    (
        "DELETE",
        "delete remove destroy drop | erase clear clean purge wipe cleanup unset discard \
         uninstall detach revoke kill empty trash forget eliminate dispose ditch scrap nuke \
         withdraw undo disconnect unregister exclude strip unlink abandon expel kick | \
         obsolete unused outdated stale unwanted",
    ),
    (
        "EXECUTE",
        "run execute trigger start play launch exec | invoke fire perform begin evaluate call \
         dispatch resume activate force initiate",
    ),
    (
        "EXECUTE",
        "stop cancel abort terminate halt | abandon kill end quit close interrupt pause \
         disconnect suspend exit | hang",
    ),
    ("EXECUTE", "retry rerun restart redo | repeat reboot bounce reload recycle | again rollout flaky"),
    (
        "EXECUTE",
        "send post publish | ping notify deliver emit tell submit share broadcast push reply \
         answer report transmit",
    ),
    ("CREATE", "reply answer respond | comment"),
    ("UPDATE", "move transfer | relocate migrate transition put reorder shift"),
    ("UPDATE", "transition | move | status state"),
    ("CREATE", "grant give | allow permit let | right"),
    ("EXECUTE", "notify alert warn | tell ping inform"),
    ("CREATE", "backup | save copy snapshot"),
    ("CREATE", "copy duplicate clone fork | replicate mirror"),
    ("UPDATE", "rename | name call | title"),
    ("UPDATE", "enable activate | allow switch | on"),
    ("UPDATE", "disable deactivate | block switch | off"),
    ("EXECUTE", "approve accept | confirm authorize allow review sign lgtm"),
    ("EXECUTE", "reject decline deny dismiss | refuse approve"),
    ("READ", "download export | save fetch pull"),
    ("CREATE", "upload import push | attach send add"),
    ("CREATE", "attach link connect join relate associate | bind put add plug mount | related"),
    ("READ", "check verify validate test | ensure confirm lint diagnose fit correct | valid exist"),
    ("READ", "count total | aggregate | number many sum statistics"),
    ("READ", "compare diff | change | difference between"),
    ("EXECUTE", "wait | block poll pause sleep delay | until"),
    ("UPDATE", "protect lock restrict | prevent secure forbid deny | readonly"),
    ("UPDATE", "unprotect unlock | lift allow"),
    ("UPDATE", "assign | give delegate set | responsible"),
    (
        "READ",
        "analyze diagnose troubleshoot explain | debug investigate understand fail inspect \
         interpret | why cause slow wrong broken insight problem",
    ),
    ("READ", "monitor watch observe | track follow instrument | telemetry"),
    ("UPDATE", "resolve close complete finish done | settle abandon mark solve fix ignore reopen"),
    ("EXECUTE", "merge | land integrate combine accept squash rebase"),
    ("EXECUTE", "revert rollback undo restore | recover | rollout back"),
    ("EXECUTE", "install | setup deploy add"),
    ("EXECUTE", "deploy release ship | publish apply | rollout live"),
    (
        "UPDATE",
        "scale resize | grow shrink increase decrease expand enlarge | bigger smaller larger \
         size capacity more narrow wide",
    ),
    ("EXECUTE", "navigate goto visit | open browse load go"),
    ("EXECUTE", "click press tap | hit push"),
    ("EXECUTE", "type enter input fill | write put | textbox"),
    ("EXECUTE", "select choose pick"),
    ("EXECUTE", "apply | create update deploy | manifest"),
    ("READ", "capture take | grab snap"),
    ("EXECUTE", "schedule | plan | nightly daily weekly hourly recurring cron periodic day"),
    ("EXECUTE", "convert transform | turn translate"),
    ("EXECUTE", "emulate simulate | pretend fake mimic prefer"),
    ("EXECUTE", "sync | refresh update mirror synchronize | behind"),
    ("CREATE", "generate | create produce write make draw"),
    ("CREATE", "design | propose suggest draw plan | architecture"),
    ("READ", "recommend suggest advise | propose choose | should tip"),
    ("EXECUTE", "promote | elevate upgrade turn"),
    ("EXECUTE", "upgrade update | bump | newer"),
    ("READ", "summarize | outline | summary overview"),
    ("EXECUTE", "archive | shelve retire"),
    ("EXECUTE", "invite | add | ask member"),
    ("UPDATE", "subscribe follow watch | notify | watcher"),
    ("DELETE", "unsubscribe unwatch unfollow | | watcher"),
    ("CREATE", "commit | save checkin submit"),
    ("EXECUTE", "reset unstage | clear undo restore revert"),
    ("EXECUTE", "drain cordon | evict empty | disable maintenance"),
    ("EXECUTE", "encrypt decrypt sign"),
    ("EXECUTE", "drag drop | move reorder"),
    ("EXECUTE", "ask chat complete | answer prompt finish | question"),
    ("READ", "whoami | login identify"),
];

/// Words that are mostly nouns, but at the start of a task ask to create one: "comment on", "file a", "log 3 hours".
pub(crate) const IMPERATIVE_NOUNS: &str = "\
    file log raise cut comment tag label email text message link note branch bookmark report react \
    star schedule book document respond reply";
