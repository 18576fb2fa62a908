//! Rules, limits and prices without effect are reported, with a suggestion.

use aquifer_engine::store::MemoryStore;
use aquifer_gate::audit::Audit;
use aquifer_gate::policy::Inventory;
use aquifer_gate::quota::QuotaSettings;
use aquifer_gate::{GateSettings, SafetyGate};
use aquifer_protocol::category::Category;
use aquifer_protocol::danger::Danger;
use aquifer_protocol::operation::{Backing, Operation, Returns};
use aquifer_protocol::schema::{Kind, Parameter, Rest, Schema, Shape, Types};
use aquifer_protocol::trust::Trust;
use std::sync::Arc;

use super::operation;
use crate::harness::system_clock;

/// A shop with a table of orders, and a server with a tool that accepts anything.
fn operations() -> Vec<Operation> {
    let make = |source: &str, own: &str, category, danger, backing: Backing| {
        let mut made = operation(&format!("{source}_{own}"), category, danger, Trust::Validated);
        (made.origin.source, made.origin.own_name, made.origin.backing) = (source.into(), own.into(), backing);
        made
    };
    let table = || Backing::Table("Orders".into());
    let mut update = make("shop", "update_order", Category::Update, Danger::Reversible, table());
    let input =
        vec![Parameter::optional("status", Schema::string()), Parameter::optional("notes", Schema::named("Notes"))];
    update.parameters =
        vec![Parameter::required("id", Schema::integer(1.0, 9.0)), Parameter::required("input", Schema::object(input))];
    update.returns = Returns { type_name: "Order".into(), description: "The order".into() };
    let mut pay = make("bank", "send_money", Category::Execute, Danger::Destructive, Backing::Tool("sendMoney".into()));
    pay.open = true;
    pay.parameters = vec![Parameter::required("amount", Schema::new(Kind::Number))];
    // Generic operations of a large database, and those they resolve to.
    let mut generic = make("big", "delete_record", Category::Delete, Danger::Destructive, Backing::None);
    generic.routing.is_indirect = true;
    generic.parameters = vec![Parameter::required("table_name", Schema::string())];
    let mut behind =
        make("big", "delete_invoice", Category::Delete, Danger::Destructive, Backing::Table("invoices".into()));
    behind.routing.generic_name = Some("delete_record".into());
    vec![
        generic,
        behind,
        update,
        make("shop", "delete_order", Category::Delete, Danger::Destructive, table()),
        make("shop", "list_orders", Category::Read, Danger::Safe, table()),
        pay,
        operation_of_a_reading("bank"),
        Operation::new("introspect", Category::Read, "Tells what there is."),
    ]
}

fn operation_of_a_reading(source: &str) -> Operation {
    let mut reading = operation("read_resource", Category::Read, Danger::Safe, Trust::Validated);
    reading.origin.source = source.into();
    reading
}

/// The reports about settings, with sources whose operations are not known.
fn unused(toml: &str, unknown: &[&str]) -> Vec<String> {
    let settings: toml::Table = toml::from_str(toml).unwrap_or_else(|error| panic!("{error}\n{toml}"));
    let part = |keys: &[&str]| -> toml::Table {
        settings.iter().filter(|(key, _)| keys.contains(&key.as_str())).map(|(k, v)| (k.clone(), v.clone())).collect()
    };
    let mut quota: QuotaSettings = part(&["rate_limit", "quota", "cost"]).try_into().unwrap();
    // What a source declares is not the operator's mistake.
    let nowhere = "name = \"declared\"\nlimit = 1\nwindow = \"day\"\nsource = \"nowhere\"\n";
    quota.declared.rate_limit.push(toml::from_str(nowhere).unwrap());
    quota.declared.cost.push(toml::from_str("cost_per_call = 1.0\nsource = \"nowhere\"\n").unwrap());
    let policy = part(&["rule", "matrix", "trust_policy"]).try_into().unwrap();
    let settings = GateSettings { policy, quota, ..GateSettings::default() };
    let clock = system_clock();
    let store = Arc::new(MemoryStore::new(clock.clone(), 10));
    let gate =
        SafetyGate::new(&crate::harness::with_tokens(&settings), Audit::disabled(clock.clone()), store, clock).unwrap();
    let mut types = Types::new();
    let notes = Shape { fields: vec![Parameter::optional("text", Schema::string())], rest: Rest::Refused };
    types.insert("Notes".into(), Arc::new(Schema::new(Kind::Object(notes))));
    let order = Shape { fields: vec![Parameter::optional("total", Schema::string())], rest: Rest::Refused };
    types.insert("Order".into(), Arc::new(Schema::new(Kind::Object(order))));
    let operations = operations();
    let mut inventory = Inventory::default();
    operations.iter().for_each(|operation| inventory.add(operation, Some(&types)));
    unknown.iter().for_each(|source| inventory.add_unknown_source(source));
    gate.find_unused(&inventory).iter().map(ToString::to_string).collect()
}

#[test]
fn r_saf_2_rules_that_match_nothing_are_found() {
    let deny = |more: &str| format!("[[rule]]\nname = \"r\"\neffect = \"deny\"\n{more}\n");
    let loosen = |more: &str| format!("[[rule]]\nname = \"r\"\neffect = \"allow\"\nloosen = true\n{more}\n");
    let message = |operation: &str, text: &str| {
        format!("[[rule]]\nname = \"r\"\neffect = \"confirm\"\noperation = \"{operation}\"\nmessage = \"{text}\"\n")
    };
    #[rustfmt::skip]
    let table = [
        // Something matches under every name that a rule can use.
        (deny("operation = \"delete_order\""), None),
        (deny("operation = \"shop_delete_order\""), None),
        (deny("operation = [\"delete_*\", \"drop_*\"]"), None),
        (deny("table = \"orders\""), None),
        (deny("tool = \"SENDMONEY\""), None),
        (deny("operation = \"read_resource\""), None),
        (deny("source = \"bank\""), None),
        (deny(""), None),
        (deny("caller = \"nobody-yet\""), None),
        (deny("operation = \"delete_ordr\""), Some("no operation matches 'delete_ordr'. Did you mean 'delete_order'?")),
        (deny("operation = \"drop_*\""), Some("no operation matches 'drop_*'")),
        (deny("operation = [\"delete_order\", \"update_ordr\"]"), Some("no operation matches 'update_ordr'. Did you mean 'update_order'?")),
        (deny("operation = \"introspect\""), Some("no operation matches 'introspect'")),
        (deny("source = \"shp\""), Some("no source matches 'shp'. Did you mean 'shop'?")),
        (deny("source = [\"shop\", \"bnak\"]"), Some("no source matches 'bnak'. Did you mean 'bank'?")),
        (deny("table = \"order\""), Some("no table matches 'order'. Did you mean 'Orders'?")),
        (deny("tool = \"send_money\""), Some("no tool matches 'send_money'. Did you mean 'sendMoney'?")),
        (deny("source = \"bank\"\noperation = \"delete_order\""), Some("no operation matches 'delete_order'")),
        (deny("source = \"shop\"\ntool = \"*\""), Some("no tool matches '*'")),
        (deny("operation = \"delete_order\"\ncategory = \"READ\""), Some("no operation matches all of its keys")),
        (deny("operation = \"list_*\"\ndanger = \"destructive+\""), Some("no operation matches all of its keys")),
        // Parameters.
        (deny("when = [{ param = \"amount\", greater = 1 }]"), None),
        (deny("operation = \"send_money\"\nwhen = [{ param = \"anything\", greater = 1 }]"), None),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"Input.STATUS\", equals = \"x\" }]"), None),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"input.notes.text\", equals = \"x\" }]"), None),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"inptu\", present = true }]"),
            Some("its condition tests 'inptu', which none of its operations has. Did you mean 'input'?")),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"input.stats\", equals = \"x\" }]"),
            Some("its condition tests 'input.stats', which none of its operations has")),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"input.notes.txt\", equals = \"x\" }]"),
            Some("its condition tests 'input.notes.txt', which none of its operations has")),
        (deny("operation = \"update_order\"\nwhen = [{ param = \"id.x\", equals = 1 }]"),
            Some("its condition tests 'id.x', which none of its operations has")),
        // Allowing.
        ("[[rule]]\nname = \"r\"\neffect = \"allow\"\noperation = \"delete_order\"\n".to_owned(),
            Some("it changes nothing: an allow rule has an effect only with loosen = true")),
        (loosen("source = \"shop\"\noperation = \"delete_order\""), None),
        (loosen("operation = \"shop_delete_order\""), None),
        (loosen("operation = \"*\""), None),
        (loosen("operation = \"delete_order\""),
            Some("no operation is served as 'delete_order'. There is 'delete_order' of source 'shop', served as 'shop_delete_order': \
                  a rule that loosens has to name the source as well")),
        (loosen("source = \"shop\"\noperation = \"list_orders\""), Some("it loosens nothing: every operation that it matches gets the same decision without it")),
        (loosen("source = \"shop\"\noperation = \"*\"\nwhen = [{ param = \"dry_run\", equals = true }]"),
            Some("its condition tests 'dry_run', which none of its operations has")),
        (loosen("operation = \"*\"\ncaller = \"alice\""), None),
        // An exclusion that excludes nothing leaves loosened what it should protect.
        (loosen("source = \"shop\"\noperation = [\"*\", \"!delete_ordr\"]"), Some("its exclusion '!delete_ordr' excludes nothing: no operation matches 'delete_ordr'. Did you mean 'delete_order'?")),
        (loosen("source = \"shop\"\noperation = [\"*\", \"!drop_*\"]"), Some("its exclusion '!drop_*' excludes nothing: no operation matches 'drop_*'")),
        (loosen("source = \"shop\"\ntable = [\"*\", \"!order\"]"), Some("its exclusion '!order' excludes nothing: no table matches 'order'. Did you mean 'Orders'?")),
        (loosen("source = \"shop\"\ntable = \"!invoices\""), Some("its exclusion '!invoices' excludes nothing: no table matches 'invoices'")),
        (loosen("source = \"bank\"\ntool = [\"*\", \"!send_money\"]"), Some("its exclusion '!send_money' excludes nothing: no tool matches 'send_money'. Did you mean 'sendMoney'?")),
        (loosen("category = \"DELETE\"\nsource = \"!shp\""), Some("its exclusion '!shp' excludes nothing: no source matches 'shp'. Did you mean 'shop'?")),
        (loosen("source = \"shop\"\noperation = [\"*\", \"!update_order\"]"), None),
        (loosen("source = \"shop\"\noperation = [\"*\", \"!shop_update_order\"]"), None),
        (loosen("source = \"shop\"\noperation = [\"delete_*\", \"!update_order\"]"), None),
        (loosen("source = [\"shop\", \"!bank\"]\noperation = \"*\""), None),
        (loosen("category = \"DELETE\"\nsource = \"!SHOP\""), None),
        (loosen("source = [\"shop\", \"bank\"]\noperation = [\"*\", \"!SEND_money\", \"!delete_order\"]"), Some("its exclusion '!SEND_money' excludes nothing: no operation matches 'SEND_money'. Did you mean 'send_money'?")),
        // A restricting rule is stricter without its exclusion.
        (deny("operation = [\"*\", \"!delete_ordr\"]"), None),
        (deny("table = [\"*\", \"!order\"]"), None),
        (loosen("operation = \"*\"") + "[[rule]]\neffect = \"deny\"\n", Some("it loosens nothing: every operation that it matches gets the same decision without it")),
        // Generic operations are decided as those they resolve to.
        (deny("operation = \"delete_record\"\nwhen = [{ param = \"table_name\", equals = \"invoices\" }]"), None),
        (loosen("source = \"big\"\noperation = \"delete_record\""), None),
        (loosen("operation = \"big_delete_record\""),
            Some("it loosens nothing: a call of 'big_delete_record' is decided as the operation of the table in the call. Name the source as well")),
        (loosen("source = \"big\"\noperation = \"delete_record\"\nwhen = [{ param = \"table_name\", equals = \"invoices\" }]"),
            Some("its condition tests 'table_name', which none of its operations has")),
        // What a message quotes.
        (message("update_order", "Set {input.status} of {id}, {input.notes.text}, {before.total} to {after.total}?"), None),
        (message("send_money", "Pay {amount} for {anything.else}?"), None),
        (message("*", "Is {amount} for {id}?"), None),
        (message("update_order", "Set {input.stats}?"), Some("its message quotes 'input.stats', which none of its operations has")),
        (message("update_order", "Set {inptu}?"),
            Some("its message quotes 'inptu', which none of its operations has. Did you mean 'input'?")),
        (message("update_order", "From {before.totl}?"),
            Some("its message quotes 'before.totl', but none of its operations is known to change a row with a field 'totl'")),
        (message("shop_delete_order", "Delete {before}?"), Some("its message quotes 'before', which none of its operations has")),
        // A question or a cooldown is an effect, too.
        ("[[rule]]\nname = \"r\"\neffect = \"confirm\"\nloosen = true\noperation = \"*\"\ndanger = \"destructive\"\n".to_owned(),
            Some("it loosens nothing: every operation that it matches gets the same decision without it")),
        ("[[rule]]\nname = \"r\"\neffect = \"confirm\"\nloosen = true\noperation = \"*\"\ndanger = \"destructive\"\nmessage = \"Sure?\"\n".to_owned(), None),
        ("[[rule]]\nname = \"r\"\neffect = \"confirm\"\nloosen = true\noperation = \"*\"\ndanger = \"destructive\"\nstrength = \"token\"\n".to_owned(), None),
    ];
    for (toml, expected) in table {
        let found = unused(&toml, &[]);
        let expected: Vec<String> = expected.iter().map(|problem| format!("rule 1 'r': {problem}")).collect();
        assert_eq!(found, expected, "{toml}");
    }
}

#[test]
fn r_saf_4_limits_that_count_nothing_are_found() {
    let rate = |more: &str| format!("[[rate_limit]]\nname = \"l\"\nlimit = 1\nwindow = \"day\"\n{more}\n");
    #[rustfmt::skip]
    let table = [
        (rate(""), None),
        (rate("operation = \"delete_order\"\nper = [\"operation\"]"), None),
        (rate("table = \"orders\""), None),
        (rate("operation = \"delet_order\""), Some("rate limit 1 'l': no operation matches 'delet_order'. Did you mean 'delete_order'?")),
        (rate("source = \"shop\"\ncategory = \"EXECUTE\""), Some("rate limit 1 'l': no operation matches all of its keys")),
        ("[[quota]]\nmetric = \"requests_per_day\"\nwarn = 1\ntool = \"send\"\n".to_owned(), Some("quota 1 'requests_per_day': no tool matches 'send'")),
        ("[[cost]]\noperation = \"send_money\"\ncost_per_call = 1\n[[cost]]\nsource = \"bnk\"\ncost_per_call = 1\n".to_owned(),
            Some("cost 2: no source matches 'bnk'. Did you mean 'bank'?")),
    ];
    for (toml, expected) in table {
        assert_eq!(unused(&toml, &[]), Vec::from_iter(expected.map(str::to_owned)), "{toml}");
    }
}

/// Rules about unknown sources are not reported as unused. Other problems are.
#[test]
fn r_saf_2_rules_about_unknown_sources_are_not_reported() {
    let table = [
        ("effect = \"deny\"\noperation = \"drop_table\"", 0),
        ("effect = \"deny\"\nsource = \"later\"", 0),
        ("effect = \"deny\"\nsource = \"LATER\"\noperation = \"x\"", 0),
        ("effect = \"deny\"\nsource = \"shop\"\noperation = \"drop_table\"", 1),
        ("effect = \"deny\"\nsource = [\"shop\", \"latter\"]", 1),
        ("effect = \"deny\"\noperation = \"update_order\"\nwhen = [{ param = \"x\", present = true }]", 0),
        ("effect = \"allow\"\nloosen = true\noperation = \"shop_list_orders\"", 0),
        ("effect = \"allow\"\noperation = \"*\"", 1),
        ("effect = \"allow\"\nloosen = true\noperation = [\"*\", \"!drop_table\"]", 0),
        ("effect = \"allow\"\nloosen = true\nsource = \"shop\"\noperation = [\"*\", \"!drop_table\"]", 1),
    ];
    for (rule, count) in table {
        let found = unused(&format!("[[rule]]\n{rule}\n"), &["later"]);
        assert_eq!(found.len(), count, "{rule}: {found:?}");
    }
}
