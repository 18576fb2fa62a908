//! Tables of synonyms and phrases that people use instead of the word that a tool's author chose.
//!
//! Only general technical knowledge belongs here. An entry that helps a single server is wrong: it improves the
//! measured figures and worsens the results on other servers.
//!
//! A group reads `core | fringe`. Core words are synonyms of each other. A fringe word leads to the core words and, more
//! weakly, the core words to it. The fringe words of a group are not related to each other.

mod everyday;
mod nouns;
mod verbs;

pub(crate) use everyday::HINT;
pub(crate) use everyday::everyday;
pub(crate) use nouns::NOUNS;
pub(crate) use verbs::ACTIONS;
pub(crate) use verbs::IMPERATIVE_NOUNS;

/// Phrases and the words they are folded to, in tasks and in the text of operations alike. With `true` the single words
/// stay findable.
pub(crate) const PHRASES: &[(&str, &str, bool)] = &[
    ("merge request", "mergerequest", true),
    ("pull request", "pullrequest", true),
    ("mr", "mergerequest", false),
    ("pr", "pullrequest", false),
    ("virtual machine", "vm", true),
    ("web page", "webpage", true),
    ("best practice", "bestpractice", true),
    ("data source", "datasource", true),
    ("sub page", "subpage", true),
    ("to do", "todo", false),
    ("drop down", "dropdown", false),
    ("pop up", "popup", false),
    ("read only", "readonly", false),
    ("command line", "cli", false),
    ("text to speech", "tts", false),
    ("speech to text", "stt", false),
    ("environment variable", "setting variable", false),
    ("env var", "setting variable", false),
    ("ci cd", "pipeline", false),
    ("web site", "website", false),
    ("data base", "database", false),
    ("time zone", "timezone", false),
    ("file name", "filename", false),
    ("user name", "username", false),
    ("access control", "permission", false),
    ("text box", "textbox", false),
    ("burn down", "burndown", false),
    ("how much", "much", false),
    ("how big", "size", false),
    ("how large", "size", false),
    ("how long", "duration", false),
    ("root cause", "analyze cause", false),
    ("set up", "setup", false),
    ("sign in", "login", false),
    ("log in", "login", false),
    ("log on", "login", false),
    ("look up", "lookup", false),
    ("roll back", "rollback", false),
    ("roll out", "rollout", false),
    ("go back", "back", false),
    ("clean up", "cleanup", false),
    ("make a copy", "copy", false),
    ("take back", "undo", false),
    ("tear down", "destroy", false),
    ("carry out", "execute", false),
    ("turn off", "disable", false),
    ("turn on", "enable", false),
    ("turn into", "convert", false),
    ("switch off", "disable", false),
    ("switch on", "enable", false),
    ("fill out", "fill", false),
    ("fill in", "fill", false),
    ("type in", "type", false),
    ("check out", "checkout", false),
    ("back up", "backup", false),
    ("git log", "commit history", false),
    ("up to date", "update", false),
    ("out of date", "update", false),
    ("in progress", "running", false),
];

/// Particles of verbs like "turn off" that may follow the noun: "turn the alert off". Those that are mostly
/// prepositions count only at the end of a clause.
pub(crate) const PARTICLES: &str = "off out up down back over away into";
pub(crate) const LAST_PARTICLES: &str = "on in online";

/// Words before a noun. A word before them at the start of a task is a verb, even if no table contains it.
pub(crate) const DETERMINERS: &str =
    "a an the this that these those my our your his her their all every each some someone";

/// Spellings of the same word: irregular forms, unambiguous abbreviations, and British against American English.
pub(crate) const SPELLINGS: &[(&str, &str)] = &[
    ("made", "make"),
    ("written", "write"),
    ("wrote", "write"),
    ("ran", "run"),
    ("sent", "send"),
    ("shown", "show"),
    ("found", "find"),
    ("gave", "give"),
    ("given", "give"),
    ("taken", "take"),
    ("took", "take"),
    ("built", "build"),
    ("went", "go"),
    ("gone", "go"),
    ("chosen", "choose"),
    ("left", "leave"),
    ("kept", "keep"),
    ("spent", "spend"),
    ("held", "hold"),
    ("shut", "stop"),
    ("children", "child"),
    ("people", "person"),
    ("indices", "index"),
    ("indexes", "index"),
    ("statuses", "status"),
    ("mrs", "mr"),
    ("prs", "pr"),
    ("pulls", "pullrequest"),
    ("vms", "vm"),
    ("repo", "repository"),
    ("repos", "repository"),
    ("db", "database"),
    ("dbs", "database"),
    ("k8s", "kubernetes"),
    ("kube", "kubernetes"),
    ("config", "configuration"),
    ("configs", "configuration"),
    ("org", "organization"),
    ("orgs", "organization"),
    ("param", "parameter"),
    ("params", "parameter"),
    ("var", "variable"),
    ("vars", "variable"),
    ("cert", "certificate"),
    ("certs", "certificate"),
    ("ns", "namespace"),
    ("js", "javascript"),
    ("admin", "administrator"),
    ("admins", "administrator"),
    ("dir", "directory"),
    ("dirs", "directory"),
    ("msg", "message"),
    ("msgs", "message"),
    ("img", "image"),
    ("imgs", "image"),
    ("stats", "statistics"),
    ("stat", "statistics"),
    ("perms", "permission"),
    ("prod", "production"),
    ("info", "information"),
    ("infos", "information"),
    ("pwd", "password"),
    ("passwd", "password"),
    ("num", "number"),
    ("vol", "volume"),
    ("artefact", "artifact"),
    ("artefacts", "artifact"),
    ("analyse", "analyze"),
    ("practise", "practice"),
    ("practises", "practice"),
    ("organisation", "organization"),
    ("organisations", "organization"),
    ("colour", "color"),
    ("colours", "color"),
    ("customise", "customize"),
    ("initialise", "initialize"),
    ("authorise", "authorize"),
    ("synchronise", "sync"),
    ("synchronize", "sync"),
    ("synchronization", "sync"),
    ("cancelled", "cancel"),
    ("cancelling", "cancel"),
    ("labelled", "label"),
    ("logged", "log"),
];

/// Words that do not help to identify an operation.
pub(crate) const STOPWORDS: &str = "\
    a an the of to in on at by for from with without within into onto over under about as is are \
    was were be been being am do does did done has have had having can could will would shall \
    should may might must i me my mine we us our ours you your he she it its they them their \
    this that these those there here and or but if then than so not no nor yes please want wants \
    need needs like just only also too very really some any one ones other another own same such \
    each both few more most much many lot bit every all whole entire who whom whose what which \
    when where why how whether because while during before after since until ever yet still \
    already now today yesterday tomorrow currently once again up out off down via per using use \
    used way thing things something anything everything stuff someone somebody nobody everyone \
    else along together itself myself yourself let lets help s t re ve ll d m im id eg ie etc \
    specific given certain existing available particular different two three four five six seven \
    eight nine ten first second handful couple dozen bunch several multiple new old last latest \
    recent recently next previous current";

/// Stopwords that hint at an operation, with the words that such operations contain.
pub(crate) const HINTS: &[(&str, &str)] = &[
    ("who", "user member whoami people"),
    ("whose", "user member owner"),
    ("which", "list"),
    ("what", "list get"),
    ("all", "list all"),
    ("every", "list all"),
    ("everything", "list all"),
    ("everyone", "list user member"),
    ("where", "search find location"),
    ("why", "analyze diagnose explain log"),
    ("how", "guide documentation guidance"),
    ("when", "date time schedule"),
    ("me", "my whoami user authenticated"),
    ("my", "my user authenticated"),
    ("mine", "my assign"),
    ("i", "my authenticated"),
    ("we", "list"),
    ("much", "cost usage"),
    ("more", "update increase scale"),
    ("different", "update change"),
    ("multiple", "batch bulk many multiple"),
    ("several", "multiple batch bulk many"),
    ("bunch", "multiple batch bulk many"),
    ("handful", "multiple batch bulk many"),
    ("once", "multiple batch bulk"),
    ("again", "retry rerun restart"),
    ("whole", "all"),
    ("entire", "all"),
    ("new", "create add new"),
    ("last", "list latest recent"),
    ("latest", "list latest recent"),
    ("recent", "list latest recent"),
    ("next", "next"),
    ("previous", "previous back"),
    ("current", "current"),
    ("now", "current"),
    ("down", "stop"),
    ("off", "disable stop"),
];

/// What "who changed it" and "who deleted it" hint at.
pub(crate) const PAST_HINTS: &str = "history log blame audit author activity event changelog";

/// Words that may precede the verb of a request: "could you please …", "I want to …".
pub(crate) const FILLERS: &str = "\
    please can could you i we want wants need needs would like to let lets me us help how do \
    should just then and also now first so ok okay hi hello hey id ll quickly simply go ahead \
    must have got kindly try able";

/// Words that are a verb or part of a noun: before a plural without an article they are part of the noun ("trigger
/// tokens", "open issues", "build logs").
pub(crate) const VERB_OR_NOUN: &str = "open trigger test build release schedule access output report review log commit";

/// Words that open a question when they come first.
pub(crate) const QUESTIONS: &str = "\
    what which who whose whom when where why is are was were does did has am any there anything \
    how";

/// Words that open a statement about a thing: "this conversation is settled".
pub(crate) const STATEMENT_OPENERS: &str = "this that these those it my our i we he she they";

/// The verb of such a statement.
pub(crate) const COPULAS: &str = "is are isnt arent has have";
