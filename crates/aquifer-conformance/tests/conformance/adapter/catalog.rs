//! The introspection of the library.

use aquifer_conformance::record::Mode;
use serde_json::{Map, Value, json};

use super::world::GENRES;
use super::{Answer, Failure, Flaw, Server};

fn parameter(name: &str, kind: &str, required: bool, more: Value) -> Value {
    let mut parameter = json!({"name": name, "type": kind, "required": required});
    parameter.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    parameter
}

/// The fields of a resource, for creation or update.
fn fields(noun: &str, creating: bool) -> Vec<Value> {
    if noun == "author" {
        return vec![
            parameter("name", "string", creating, json!({"maxLength": 80})),
            parameter("country", "string", false, json!({"pattern": "^[A-Z]+$"})),
        ];
    }
    let mut fields = vec![parameter("title", "string", creating, json!({"maxLength": 80}))];
    if creating {
        fields.push(parameter("author_id", "integer", true, json!({"description": "Refers to authors.id."})));
    }
    fields.extend([
        parameter("pages", "integer", false, json!({"minimum": 1})),
        parameter("genre", "string", false, json!({"enum": GENRES})),
        parameter("rating", "number", false, json!({})),
        parameter("note", "string | null", false, json!({})),
        parameter("tags", "string[]", false, json!({"items": {"type": "string"}})),
        parameter("added_at", "string", false, json!({"format": "date-time"})),
    ]);
    fields
}

fn selection() -> Value {
    parameter("fields", "string | string[]", false, json!({"description": "minimal, standard, full, or fields"}))
}

impl Server {
    pub(super) fn catalog(&self) -> Vec<Value> {
        let mut all = vec![self.introspect_itself()];
        for noun in ["author", "book"] {
            all.push(self.list(noun));
            all.push(self.description("get", noun, vec![parameter("id", "integer", true, json!({})), selection()]));
            let mut create = fields(noun, true);
            create.push(parameter("id", "integer", false, json!({})));
            create.push(rehearsal());
            all.push(self.description("create", noun, create));
            let input = if noun == "book" { "UpdateBookInput" } else { "UpdateAuthorInput" };
            let id = parameter("id", "integer", true, json!({}));
            all.push(self.description(
                "update",
                noun,
                vec![id.clone(), parameter("input", input, true, json!({})), rehearsal()],
            ));
            let token = parameter("confirmation_token", "string", false, json!({"sensitive": true}));
            all.push(self.description("delete", noun, vec![id, rehearsal(), token]));
        }
        all.push(self.search());
        let scope = parameter("scope", "string", true, json!({"enum": ["all", "recent"]}));
        all.push(self.description("recount", "books", vec![scope]));
        if self.read_only {
            all.retain(|operation| operation["semantic_category"] == "READ");
        }
        all
    }

    pub(super) fn operation(&self, name: &str) -> Option<Value> {
        self.operations.iter().find(|operation| operation["name"] == name).cloned()
    }

    fn description(&self, verb: &str, noun: &str, parameters: Vec<Value>) -> Value {
        let category = match verb {
            "create" => "CREATE",
            "update" => "UPDATE",
            "delete" => "DELETE",
            "recount" if self.has(Flaw::UpdateWithoutInput) => "UPDATE",
            "recount" => "EXECUTE",
            _ => "READ",
        };
        let name = if noun.is_empty() { verb.to_owned() } else { format!("{verb}_{noun}") };
        let family = if category == "READ" { "read".to_owned() } else { category.to_lowercase() };
        let tool = if self.mode == Mode::Single { "mcp_aql".to_owned() } else { format!("mcp_aql_{family}") };
        let mut operation = json!({
            "name": name,
            "semantic_category": category,
            "endpoint": family,
            "mcpTool": tool,
            "description": format!("To {verb} {noun}."),
            "permissions": {"readOnly": category == "READ", "destructive": !["READ", "CREATE"].contains(&category)},
            "parameters": parameters,
            "returns": {"name": "object", "kind": "object"},
        });
        let mut example = |params: Value| {
            operation["examples"] = json!([{"request": {"operation": name.as_str(), "params": params}}]);
        };
        match verb {
            "get" => example(json!({"id": if self.has(Flaw::ExampleOfMissingRow) { 900 } else { 1 }})),
            "delete" => example(json!({"id": if self.has(Flaw::DryRunRefusesExample) { 900 } else { 1 }})),
            "list" if self.has(Flaw::BrokenExample) => example(json!({"first": 2, "filter": {"colour": "red"}})),
            "list" => example(json!({"first": 2})),
            _ => {}
        }
        if noun.starts_with("book") && category == "READ" {
            operation["computed_fields"] = json!([{"name": "title_length", "type": "integer"}]);
        }
        operation
    }

    fn introspect_itself(&self) -> Value {
        self.description(
            "introspect",
            "",
            vec![
                parameter("query", "string", true, json!({"enum": ["operations", "types"]})),
                parameter("name", "string", false, json!({})),
            ],
        )
    }

    fn list(&self, noun: &str) -> Value {
        let filter = if self.has(Flaw::UnlistedType) { "BookFilter" } else { "object" };
        let description = "{field: value} or {field: {gt, gte, lt, lte: value}}";
        let whole = |default: u64, minimum: u64| json!({"default": default, "minimum": minimum});
        let mut list = self.description(
            "list",
            &format!("{noun}s"),
            vec![
                parameter("filter", filter, false, json!({"description": description})),
                parameter("sort", "Sort", false, json!({})),
                selection(),
                parameter("aggregate", "object", false, json!({})),
                parameter("include_items", "boolean", false, json!({"default": false})),
                parameter("first", "integer", false, json!({"minimum": 1})),
                parameter("after", "string", false, json!({})),
                parameter("limit", "integer", false, whole(10, 1)),
                parameter("offset", "integer", false, whole(0, 0)),
                parameter("total", "boolean", false, json!({"default": false})),
            ],
        );
        let mut functions = vec!["count", "group_by", "sum", "avg", "min", "max"];
        functions.extend(self.has(Flaw::FunctionInvented).then_some("median"));
        list["aggregation_support"] = json!({"supported": true, "functions": functions});
        list
    }

    fn search(&self) -> Value {
        let mut parameters = vec![
            parameter("query", "string", true, json!({})),
            selection(),
            parameter("first", "integer", false, json!({"minimum": 1})),
            parameter("after", "string", false, json!({})),
        ];
        if self.has(Flaw::DocumentedNotAccepted) {
            parameters.push(parameter("highlight", "boolean", false, json!({})));
        }
        if self.has(Flaw::CamelParameter) {
            parameters.push(parameter("maxScore", "number", false, json!({})));
        }
        self.description("search", "books", parameters)
    }

    fn types(&self) -> Vec<Value> {
        let object = |name: &str, fields: Vec<Value>| json!({"name": name, "kind": "object", "fields": fields});
        let with_id = |noun: &str| {
            let mut all = vec![parameter("id", "integer", true, json!({}))];
            all.extend(fields(noun, true));
            all
        };
        let mut update = fields("book", false);
        if self.has(Flaw::IdentifierListed) {
            update.push(parameter("id", "integer", false, json!({})));
        }
        let order = parameter("order", "string", false, json!({"enum": ["asc", "desc"]}));
        let mut book = with_id("book");
        if self.has(Flaw::TypeFieldBare) {
            book[0].as_object_mut().unwrap().remove("type");
        }
        let calls = if self.has(Flaw::Unstable) { format!("Asked {} times.", self.asked) } else { "Genres.".into() };
        vec![
            object("Author", with_id("author")),
            object("Book", book),
            object("Sort", vec![parameter("field", "string", true, json!({})), order]),
            object("UpdateAuthorInput", fields("author", false)),
            object("UpdateBookInput", update),
            json!({"name": "Genre", "kind": "enum", "description": calls, "values": GENRES}),
            json!({"name": "FieldSelection", "kind": "union", "members": ["string", "array"]}),
        ]
    }

    pub(super) fn introspect(&self, params: &Map<String, Value>) -> Answer {
        let name = params.get("name").and_then(Value::as_str);
        let data = match (params["query"].as_str().unwrap(), name) {
            ("operations", None) => self.operations_list(),
            ("operations", Some(name)) => {
                json!({"operation": self.found(self.operation(name).map(|own| self.details(own)))?})
            }
            ("types", None) => {
                let bare = self.has(Flaw::TypesBare);
                let short = |own: Value| {
                    if bare { json!({"name": own["name"]}) } else { json!({"name": own["name"], "kind": own["kind"]}) }
                };
                json!({"types": self.types().into_iter().map(short).collect::<Vec<_>>()})
            }
            ("types", Some(name)) => {
                json!({"type": self.found(self.types().into_iter().find(|own| own["name"] == name))?})
            }
            _ => json!({"operations": []}),
        };
        let notice = json!({"code": "INDEX_STALE", "message": "The list was made an hour ago"});
        Ok((data, self.has(Flaw::IntrospectionWarns).then_some(notice).into_iter().collect()))
    }

    fn found(&self, details: Option<Value>) -> Result<Value, Failure> {
        if details.is_none() && self.has(Flaw::UnknownNameFails) {
            return Err(Failure("NOT_FOUND_RESOURCE", "There is nothing of that name".into(), Value::Null));
        }
        Ok(details.unwrap_or_default())
    }

    fn operations_list(&self) -> Value {
        let short = |own: Value| {
            let mut short = json!({
                "name": own["name"], "semantic_category": own["semantic_category"],
                "endpoint": own["endpoint"], "description": own["description"],
            });
            if self.has(Flaw::ListExtra) {
                short["danger"] = json!("safe");
            }
            if self.has(Flaw::CategoryInvented) && own["name"] == "recount_books" {
                short["semantic_category"] = json!("MANAGE");
            }
            short
        };
        let mut list: Vec<Value> = self.operations.iter().cloned().map(short).collect();
        if self.has(Flaw::IntrospectNotListed) {
            list.remove(0);
        }
        if self.has(Flaw::NameTwice) {
            list.push(list[0].clone());
        }
        if self.has(Flaw::NoProtocol) {
            return json!({"operations": list});
        }
        let conformance = if self.has(Flaw::ConformanceInvented) { "platinum" } else { "level-2" };
        let protocol = json!({
            "version": "1.0.0-draft",
            "conformance": conformance,
            "mode": self.mode.as_str(),
            "capabilities": {
                "batch": true, "field_selection": true, "aggregations": true, "computed_fields": true, "pagination": true,
                "relationship_queries": self.has(Flaw::CapabilityUntrue), "warnings": true, "confirmation": true,
            },
            "limits": {"max_request_size": 1 << 20},
        });
        json!({"_protocol": protocol, "operations": list})
    }

    fn details(&self, operation: Value) -> Value {
        let mut details = operation;
        let execute = details["name"] == "recount_books";
        if self.has(Flaw::DetailsExtra) {
            details["danger"] = json!("safe");
        }
        if self.has(Flaw::PermissionsMissing) && execute {
            details.as_object_mut().unwrap().remove("permissions");
        }
        if self.has(Flaw::EndpointDiffers) && execute {
            details["endpoint"] = json!("run");
        }
        if self.has(Flaw::CategoryDiffers) && execute {
            details["semantic_category"] = json!("UPDATE");
        }
        if self.has(Flaw::DeleteNotDestructive) && details["semantic_category"] == "DELETE" {
            details["permissions"]["destructive"] = json!(false);
        }
        if self.has(Flaw::ToolNotThere) && execute {
            details["mcpTool"] = json!("mcp_aql_run");
        }
        details
    }
}

fn rehearsal() -> Value {
    parameter("dry_run", "boolean", false, json!({"default": false}))
}
