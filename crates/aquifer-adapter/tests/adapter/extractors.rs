//! Arguments that are taken from the call.

use aquifer_adapter::{
    AdapterError, Answer, CallParts, Caller, Code, Context, DryRun, Failure, FromCall, IntoAdapter as _,
    OperationDraft, Progress, adapter,
};
use aquifer_engine::Progress as ProgressChannel;
use serde_json::json;

use crate::{call, call_in, context, open_engine, parameters};

/// A tenant, found in the state of the adapter by a parameter of its own.
struct Tenant {
    name: &'static str,
}

impl FromCall<Desk> for Tenant {
    fn describe(operation: &mut OperationDraft) {
        operation.parameter::<Option<String>>("tenant", Some("The tenant, if it is not yours."));
    }

    async fn from_call(call: &mut CallParts<Desk>) -> Answer<Self> {
        let wanted: Option<String> = call.parameter("tenant")?;
        let known = call.state().tenants.iter().find(|name| wanted.as_deref().is_none_or(|wanted| wanted == **name));
        match known {
            Some(name) => Ok(Self { name }),
            None => Err(Failure::new(Code::PermissionDenied, "Permission denied: this tenant is not yours")),
        }
    }
}

type Customer = Tenant;
type Simulation = DryRun;

struct Desk {
    tenants: Vec<&'static str>,
}

fn speed() -> u32 {
    7
}

#[adapter]
impl Desk {
    /// Get the greeting.
    #[operation]
    async fn get_greeting(&self, customer: Customer, #[serde(rename = "type")] kind: String) -> Answer<String> {
        Ok(format!("{kind} for {}", customer.name))
    }

    /// Execute nothing.
    #[operation]
    async fn execute_nothing(
        &self,
        caller: Caller,
        context: Context<Self>,
        simulation: Simulation,
        #[serde(default = "speed")] speed: u32,
        /// Anything.
        note: Option<String>,
    ) -> Answer<serde_json::Value> {
        assert_eq!(Some(&caller), Some(context.caller()));
        Ok(
            json!({ "owner": caller.owner(), "tenants": context.tenants, "dry": simulation.is_on(), "speed": speed, "note": note }),
        )
    }

    /// Count slowly.
    #[operation]
    async fn count_slowly(&self, progress: Progress) -> Answer<u8> {
        progress.report(1, 2, "half");
        Ok(2)
    }
}

fn desk() -> std::sync::Arc<aquifer_engine::Engine> {
    open_engine(Desk { tenants: vec!["north", "south"] })
}

#[tokio::test]
async fn an_extractor_of_ones_own_sees_the_state_and_adds_parameters() {
    let desk = desk();
    assert_eq!(parameters(&desk, "get_greeting").await, ["tenant", "type", "max_tokens"]);
    let greeting = call(&desk, "get_greeting", json!({ "tenant": "south", "type": "Tea" })).await;
    assert_eq!(greeting["data"], "Tea for south", "{greeting}");
    assert_eq!(call(&desk, "get_greeting", json!({ "type": "Tea" })).await["data"], "Tea for north");
    let refused = call(&desk, "get_greeting", json!({ "tenant": "west", "type": "Tea" })).await;
    assert_eq!(refused["error"]["code"], "PERMISSION_DENIED", "its failure is the answer");
    let missing = call(&desk, "get_greeting", json!({})).await;
    assert_eq!(missing["error"]["code"], "VALIDATION_MISSING_PARAM", "the definition is checked first: {missing}");
}

#[tokio::test]
async fn aliases_defaults_and_contexts_are_recognized_by_their_types() {
    let desk = desk();
    assert_eq!(parameters(&desk, "execute_nothing").await, ["dry_run", "speed", "note"]);
    let updated = call(&desk, "execute_nothing", json!({ "dry_run": true })).await;
    let expected = json!({ "owner": "tests", "tenants": ["north", "south"], "dry": true, "speed": 7, "note": null });
    assert_eq!(updated["data"], expected, "{updated}");
    let updated = call(&desk, "execute_nothing", json!({ "speed": 3, "note": "x" })).await;
    assert_eq!((&updated["data"]["dry"], &updated["data"]["note"]), (&json!(false), &json!("x")));
}

#[tokio::test]
async fn progress_of_an_ordinary_call_reaches_its_caller() {
    let (progress, mut updates) = ProgressChannel::channel();
    let answer = call_in(&desk(), "count_slowly", json!({}), aquifer_engine::Context { progress, ..context() }).await;
    assert_eq!(answer["data"], 2);
    let update = updates.recv().await.unwrap();
    assert_eq!((update.current, update.total, update.message.as_deref()), (1.0, Some(2.0), Some("half")));
}

#[test]
fn problems_of_all_operations_are_reported_together() {
    struct Twice;
    #[adapter]
    impl Twice {
        /// Update something.
        #[operation]
        async fn update_thing(&self, dry_run: DryRun, again: DryRun) -> Answer<u8> {
            let _ = (dry_run, again);
            Ok(1)
        }
        /// Delete something.
        #[operation]
        async fn delete_thing(&self, first: DryRun, second: DryRun) -> Answer<u8> {
            let _ = (first, second);
            Ok(1)
        }
    }
    let refused = Twice.into_adapter().build().err().unwrap();
    let duplicate = |operation: &str| AdapterError::DuplicateParameter {
        operation: operation.to_owned(),
        parameter: "dry_run".to_owned(),
    };
    assert_eq!(refused.problems(), [duplicate("update_thing"), duplicate("delete_thing")]);
    assert_eq!(refused.to_string().lines().count(), 2);
}
