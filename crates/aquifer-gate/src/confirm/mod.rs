//! Confirmation: an operation that has to be confirmed runs only with a token for exactly this call, once (R-SAF-3).
//!
//! The state store holds three kinds of tokens: for confirmations, for questions put to a person, and for continuing
//! after a quota's pause. Each has 256 random bits and is stored under its hash. It is bound to source, operation,
//! caller, session and every parameter, and is consumed atomically before anything runs. Policy decides which kind a
//! call needs; this module issues and redeems them.

pub mod approvals;
mod call;
mod confirmer;
mod decide;
mod declined;
pub mod edit;
mod elicitation;
mod excerpt;
mod failure;
mod headline;
mod message;
mod notifier;
mod order;
mod pages;
mod placeholders;
mod preview;
mod record;
mod refusal;
mod render;
mod scope;
mod settings;
mod status;
mod token;

use std::sync::Arc;
use std::time::Duration;

use aquifer_engine::clock::{Clock as _, SteadyClock};
use aquifer_engine::store::{Record, StateStore, StoreError};
use aquifer_engine::{Caller, Context};
use aquifer_protocol::error::Failure;
use aquifer_protocol::operation::Operation;
use jiff::Timestamp;

use crate::destination::Remember;
use crate::strength::{MAX_COOLDOWN, Strength};
use crate::timeout::with_timeout;
use approvals::{MAX_CALL_BYTES, StoredCall};
use record::{RecordedDecision, TokenRecord, saturating_add};
use scope::ScopeMismatch;

pub use call::FullCall;
pub use notifier::ApprovalNotifier;
pub use pages::ApprovalPages;
pub(crate) use pages::ApprovalReference;
pub use settings::ConfirmSettings;
pub use settings::ConfirmSettingsError;
pub use settings::WhenNobodyAnswers;

pub(crate) use confirmer::Confirmer;
pub(crate) use edit::RecordedEdit;
pub(crate) use elicitation::ElicitationAnswer;
pub(crate) use elicitation::form;
pub(crate) use failure::nobody_to_ask;
pub(crate) use failure::rules_changed;
pub(crate) use failure::whole_seconds;
pub(crate) use message::ConfirmationPrompt;
pub(crate) use message::CoveredCall;
pub(crate) use preview::Findings;
pub(crate) use record::TokenState;
pub(crate) use record::format_seconds;
pub(crate) use refusal::Refusal;
pub(crate) use refusal::store_unavailable;
pub(crate) use scope::CallInBatch;
pub(crate) use scope::CallSubject;
pub(crate) use scope::Scope;
pub(crate) use token::Purpose;

/// Callers without an identity share one limit, this many times as large.
const ANONYMOUS_FACTOR: u64 = 10;

/// Maximum number of attempts to update a record that is being changed concurrently.
const MAX_ATTEMPTS: usize = 8;

const MINUTE: Duration = Duration::from_secs(60);

/// Maximum total size of calls that a caller may submit for approval while one can wait, because the store has to hold
/// them.
const MAX_WAITING_BYTES: u64 = 32 * 1024 * 1024;

/// Maximum number of calls that a caller may submit for approval while one can wait.
const MAX_WAITING_CALLS: u64 = 1_000;

/// Who decided, if the person at the client declined.
const ELICITED: &str = "the person at the client";

/// Issues and redeems tokens.
pub(crate) struct Confirmations {
    store: Arc<dyn StateStore>,
    clock: Arc<SteadyClock>,
    settings: ConfirmSettings,
    notifier: Option<Arc<dyn ApprovalNotifier>>,
    pages: ApprovalPages,
    unpaused: declined::UnpausedCallers,
}

/// The properties of a token to issue.
pub(crate) struct TokenRequest<'a> {
    pub(crate) purpose: Purpose,
    pub(crate) strength: Strength,
    pub(crate) scope: Scope,
    pub(crate) operation: &'a Operation,
    pub(crate) context: &'a Context,
    /// How long to wait before the token is accepted.
    pub(crate) cooldown: Duration,
}

/// What a redeemed token was.
#[derive(Debug)]
pub(crate) struct Redemption {
    /// Who or what confirmed the call.
    pub(crate) confirmer: Confirmer,
    /// How a person changed the call before approving it.
    pub(crate) edit: Option<RecordedEdit>,
    /// What the person wants to be remembered.
    pub(crate) remember: Remember,
}

impl Redemption {
    /// The same, if the token came from this caller: a person, or a program.
    pub(crate) fn by(mut self, context: &Context) -> Self {
        if context.interaction.is_person() && self.confirmer == Confirmer::Caller {
            self.confirmer = Confirmer::Person;
        }
        self
    }
}

/// An issued token.
pub(crate) struct IssuedToken {
    pub(crate) token: String,
    pub(crate) expires_at: Timestamp,
    /// The approval, if the token needs one.
    pub(crate) approval: Option<ApprovalReference>,
    /// Whether the approval was given already, when the same call was sent before.
    pub(crate) is_approved: bool,
}

impl Confirmations {
    pub(crate) fn new(store: Arc<dyn StateStore>, clock: Arc<SteadyClock>, settings: ConfirmSettings) -> Self {
        Self { store, clock, settings, notifier: None, pages: ApprovalPages::default(), unpaused: Default::default() }
    }

    /// Tells `notifier` about approvals.
    pub(crate) fn set_notifier(&mut self, notifier: Arc<dyn ApprovalNotifier>) {
        self.notifier = Some(notifier);
    }

    /// Tells callers where approvals are decided.
    pub(crate) fn set_pages(&mut self, pages: ApprovalPages) {
        self.pages = pages;
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Issues a token for one call. If it needs an approval, the person is shown `prompt`.
    pub(crate) async fn issue(
        &self,
        request: TokenRequest<'_>,
        prompt: Option<&ConfirmationPrompt>,
    ) -> Result<IssuedToken, Refusal> {
        self.count_attempt("issued", &request.context.caller, self.settings.issued_per_minute).await?;
        match (request.strength, request.purpose, prompt) {
            (Strength::Approval, _, Some(prompt)) => return self.issue_for_approval(request, prompt).await,
            (_, Purpose::Question, _) => {
                self.check_destinations(&request.scope).await?;
                let open = self.find_open(&open_key(&request.scope.for_approval())).await?;
                if let Some((_, main)) = open.record.filter(|(_, main)| self.is_refused(main)) {
                    return Err(Refusal::from_denied(main));
                }
            }
            _ => {}
        }
        let TokenRequest { purpose, strength, scope, operation, cooldown, .. } = request;
        let now = self.now();
        let lifetime = match purpose {
            Purpose::Quota => self.settings.quota_lifetime,
            Purpose::Confirmation | Purpose::Question => self.settings.lifetime_for(operation.safety.danger),
        };
        let ready_at = saturating_add(now, cooldown.min(MAX_COOLDOWN));
        let expires_at = saturating_add(ready_at, lifetime);
        self.clock.need_until(saturating_add(expires_at, self.settings.skew));
        let (token, key) = new_token(purpose)?;
        let record = TokenRecord::new(purpose, scope, strength, (ready_at, expires_at));
        self.store_new(&key, &record, now).await?;
        Ok(IssuedToken { token, expires_at, approval: None, is_approved: false })
    }

    /// Issues a token that is valid once a person has approved the call. A call that already waits is found again.
    async fn issue_for_approval(
        &self,
        request: TokenRequest<'_>,
        prompt: &ConfirmationPrompt,
    ) -> Result<IssuedToken, Refusal> {
        let call = stored_call(prompt)?;
        let open = self.find_open(&open_key(&request.scope.for_approval())).await?;
        if let Some((main_key, main)) = open.record
            && main.call.as_deref() == Some(&*call.digest())
            && let Some(issued) = self.issue_again(request.purpose, main_key, main).await?
        {
            return Ok(issued);
        }
        self.check_destinations(&request.scope).await?;
        self.admit_waiting_call(&call, &request.context.caller).await?;
        let (token, approval) = self.open_approval(request, prompt, &call, open.version, None).await?;
        if let Some(notifier) = &self.notifier {
            notifier.on_created(&approval);
        }
        let expires_at = approval.expires_at;
        Ok(IssuedToken { token, expires_at, approval: Some(self.pages.reference(approval.id)), is_approved: false })
    }

    /// Remembers that the person at the client declined a call: it is not asked about again, until a person approves it
    /// after all or its approval would expire.
    pub(crate) async fn remember_refusal(
        &self,
        request: TokenRequest<'_>,
        prompt: &ConfirmationPrompt,
    ) -> Result<(), Refusal> {
        let call = stored_call(prompt)?;
        let open = self.find_open(&open_key(&request.scope.for_approval())).await?;
        let decision = RecordedDecision::new(ELICITED, None);
        let remembered = self.open_approval(request, prompt, &call, open.version, Some(decision)).await.map(drop);
        self.unpaused.clear();
        remembered
    }

    /// Stores an approval that waits for a decision, or with the denial that was given already.
    async fn open_approval(
        &self,
        request: TokenRequest<'_>,
        prompt: &ConfirmationPrompt,
        call: &StoredCall,
        open_version: Option<u64>,
        denial: Option<RecordedDecision>,
    ) -> Result<(String, approvals::Approval), Refusal> {
        let TokenRequest { purpose, scope, operation, context, cooldown, .. } = request;
        let now = self.now();
        let ready_at = saturating_add(now, cooldown.min(MAX_COOLDOWN));
        let expires_at = saturating_add(ready_at, self.settings.approval_lifetime);
        let (token, key) = new_token(purpose)?;
        let new = approvals::Approval::new(operation, context, prompt, call, (now, expires_at));
        let new = approvals::Approval { is_editable: self.settings.allow_edits && prompt.is_editable(), ..new };
        let approval = approvals::publish(&*self.store, new, call, prompt.preview.as_ref(), &key).await?;
        let scope = scope.for_approval();
        let open_key = open_key(&scope);
        let record = TokenRecord {
            state: if denial.is_some() { TokenState::Denied } else { TokenState::Pending },
            approval: Some(approval.id.clone()),
            call: Some(call.digest()),
            decision: denial,
            ..TokenRecord::new(purpose, scope, Strength::Approval, (ready_at, expires_at))
        };
        let keep = self.store_new(&key, &record, now).await?;
        // If another process has opened one for the same call in this moment, both are valid.
        with_timeout(self.store.compare_and_set(&open_key, open_version, key.clone().into_bytes(), keep)).await?;
        if record.state == TokenState::Denied {
            declined::remember(&*self.store, context.caller.principal.as_deref(), &key, &record, keep).await?;
        }
        Ok((token, approval))
    }

    /// Stores the record of a new token, and returns how long it is kept.
    async fn store_new(&self, key: &str, record: &TokenRecord, now: Timestamp) -> Result<Duration, Refusal> {
        let keep = record.keep(now, self.settings.skew);
        match with_timeout(self.store.compare_and_set(key, None, record.to_bytes(), keep)).await? {
            true => Ok(keep),
            // Either 256 random bits were repeated, or the store misbehaves.
            false => Err(Refusal::Store(StoreError("a new token already exists".to_owned()))),
        }
    }

    /// Whether a person has refused the call, and it is not to be asked about again.
    fn is_refused(&self, record: &TokenRecord) -> bool {
        record.state == TokenState::Denied && !record.is_expired(self.now(), Duration::ZERO)
    }

    /// The approval that was last opened for a call.
    async fn find_open(&self, open_key: &str) -> Result<OpenApproval, StoreError> {
        let Some(Record { value, version }) = with_timeout(self.store.get(open_key)).await? else {
            return Ok(OpenApproval::default());
        };
        let main_key = String::from_utf8(value).unwrap_or_default();
        let record = approvals::load_token_record(&*self.store, &main_key).await?;
        Ok(OpenApproval { version: Some(version), record: record.map(|(record, _)| (main_key, record)) })
    }

    /// Issues another token for a call that already waits for an approval, or was approved. `None` if it has to be asked
    /// about again.
    async fn issue_again(
        &self,
        purpose: Purpose,
        main_key: String,
        main: TokenRecord,
    ) -> Result<Option<IssuedToken>, Refusal> {
        let now = self.now();
        if self.is_refused(&main) {
            return Err(Refusal::from_denied(main));
        }
        let is_open = matches!(main.state, TokenState::Pending | TokenState::Ready);
        if !is_open || main.is_expired(now, Duration::ZERO) {
            return Ok(None);
        }
        let (token, key) = new_token(purpose)?;
        let record = TokenRecord { same_as: Some(main_key), ..main };
        self.store_new(&key, &record, now).await?;
        let approval = record.approval.map(|id| self.pages.reference(id));
        let is_approved = record.state == TokenState::Ready;
        Ok(Some(IssuedToken { token, expires_at: record.expires_at, approval, is_approved }))
    }

    /// Counts a call that is to wait for an approval.
    async fn admit_waiting_call(&self, call: &StoredCall, caller: &Caller) -> Result<(), Refusal> {
        let factor = if caller.owner().is_some() { 1 } else { ANONYMOUS_FACTOR };
        let bytes = u64::try_from(call.len()).unwrap_or(u64::MAX);
        let limits = [
            ("waiting_calls", 1, MAX_WAITING_CALLS.saturating_mul(factor), "requests"),
            ("waiting_bytes", bytes, MAX_WAITING_BYTES, "bytes of requests"),
        ];
        for (counter, amount, limit, what) in limits {
            let (key, window) = (counter_key(counter, caller), self.settings.approval_lifetime);
            let spent = with_timeout(self.store.spend(&key, amount, limit, window)).await?;
            if !spent.accepted {
                return Err(Refusal::Token(failure::too_much_waits(
                    what,
                    limit,
                    window,
                    spent.retry_after,
                    self.now(),
                )));
            }
        }
        Ok(())
    }

    /// Whether a call that needs a person is denied if its client cannot ask one.
    pub(crate) fn denies_unattended(&self) -> bool {
        self.settings.when_nobody_answers == WhenNobodyAnswers::Deny
    }

    /// Whether people may edit calls before they approve them.
    pub(crate) fn allows_edits(&self) -> bool {
        self.settings.allow_edits
    }

    /// Redeems a token, once. Only the caller that gets `Ok` may continue.
    pub(crate) async fn redeem(
        &self,
        token: &str,
        purpose: Purpose,
        min_strength: Strength,
        scope: &Scope,
        caller: &Caller,
    ) -> Result<Redemption, Refusal> {
        self.finish_token(token, purpose, min_strength, scope, caller, TokenState::Used).await
    }

    /// Whether a token was issued for a batch. `None` if there is no such token.
    pub(crate) async fn is_for_batch(&self, token: &str) -> Result<Option<bool>, StoreError> {
        let confirmation = self.find(token, Purpose::Confirmation).await?;
        Ok(confirmation.map(|(_, record, _)| record.scope.is_batch()))
    }

    /// Whether a token could be redeemed now. Does not change it.
    pub(crate) async fn inspect(
        &self,
        token: &str,
        purpose: Purpose,
        scope: &Scope,
        caller: &Caller,
    ) -> Result<(), Refusal> {
        self.load_valid_record(token, purpose, Strength::Token, scope, caller).await.map(drop)
    }

    /// Records that a person declined the question.
    pub(crate) async fn decline(&self, question: &str, scope: &Scope, caller: &Caller) -> Result<(), Refusal> {
        self.finish_token(question, Purpose::Question, Strength::Token, scope, caller, TokenState::Denied)
            .await
            .map(drop)
    }

    async fn finish_token(
        &self,
        token: &str,
        purpose: Purpose,
        min_strength: Strength,
        scope: &Scope,
        caller: &Caller,
        state: TokenState,
    ) -> Result<Redemption, Refusal> {
        for _ in 0..MAX_ATTEMPTS {
            let (key, mut record, version) =
                self.load_valid_record(token, purpose, min_strength, scope, caller).await?;
            let now = self.now();
            if record.ready_at > now && state == TokenState::Used {
                let wait = Duration::try_from(record.ready_at.duration_since(now)).unwrap_or(Duration::ZERO);
                return Err(Refusal::CoolingDown { wait, expires_at: record.expires_at });
            }
            record.state = state;
            record.used_at = (state == TokenState::Used).then_some(now);
            let keep = record.keep(now, self.settings.skew);
            if with_timeout(self.store.compare_and_set(&key, Some(version), record.to_bytes(), keep)).await? {
                let remember = record.decision.as_ref().map(|decision| decision.remember).unwrap_or_default();
                let by = record.decision.map(|decision| decision.by);
                let confirmer = Confirmer::new(purpose, record.approval, by);
                return Ok(Redemption { confirmer, edit: record.edit, remember });
            }
        }
        Err(Refusal::Store(StoreError("other processes keep changing the record".to_owned())))
    }

    /// The record of a token that is valid for this call.
    async fn load_valid_record(
        &self,
        token: &str,
        purpose: Purpose,
        min_strength: Strength,
        scope: &Scope,
        caller: &Caller,
    ) -> Result<(String, TokenRecord, u64), Refusal> {
        let Some((key, mut record, version)) = self.find(token, purpose).await? else {
            return Err(self.reject_wrong_token(caller, failure::invalid(token)).await);
        };
        let of_approval = (record.strength == Strength::Approval).then(|| scope.for_approval());
        let scope = of_approval.as_ref().unwrap_or(scope);
        let difference =
            record.scope.find_mismatch(scope).or((record.strength < min_strength).then_some(ScopeMismatch::Strength));
        // The call before a person edited it: its caller is told what became of it, but cannot run it.
        let is_original = record.is_edit_of(scope, difference);
        if let Some(difference) = difference.filter(|_| !is_original) {
            return Err(self
                .reject_wrong_token(caller, failure::mismatch(token, difference, &record.scope, scope))
                .await);
        }
        let now = self.now();
        if record.is_expired(now, self.settings.skew) {
            return Err(Refusal::Token(failure::expired(token, record.expires_at, now)));
        }
        match record.state {
            TokenState::Ready => match record.edit.take_if(|_| is_original) {
                Some(edit) => Err(Refusal::Edited(Box::new(edit))),
                None => Ok((key, record, version)),
            },
            TokenState::Used => Err(Refusal::Token(failure::already_used(token, record.used_at))),
            TokenState::Denied => Err(Refusal::from_denied(record)),
            TokenState::Pending => {
                let approval = self.pages.reference(record.approval.unwrap_or_default());
                Err(Refusal::Pending { approval, expires_at: record.expires_at })
            }
        }
    }

    async fn find(&self, token: &str, purpose: Purpose) -> Result<Option<(String, TokenRecord, u64)>, StoreError> {
        let Some(key) = token::key(token) else { return Ok(None) };
        let Some(Record { value, version }) = with_timeout(self.store.get(&key)).await? else { return Ok(None) };
        let record = TokenRecord::from_bytes(&value).filter(|record| record.purpose == purpose);
        let Some(record) = record else { return Ok(None) };
        let Some(main_key) = record.same_as else { return Ok(Some((key, record, version))) };
        let main = approvals::load_token_record(&*self.store, &main_key).await?;
        Ok(main.map(|(main, version)| (main_key, main, version)))
    }

    /// Counts an invalid token. Above the limit, the failure says only that there were too many. Valid tokens are
    /// always accepted: callers without an identity share one count, and one of them must not block the others.
    async fn reject_wrong_token(&self, caller: &Caller, failure: Failure) -> Refusal {
        let limit = self.settings.wrong_per_minute.max(1);
        match with_timeout(self.store.spend(&counter_key("wrong", caller), 1, limit, MINUTE)).await {
            Ok(tried) if tried.accepted => Refusal::Token(failure),
            Ok(tried) => {
                Refusal::Token(failure::rate_limited("wrong confirmation tokens", limit, tried.retry_after, self.now()))
            }
            Err(error) => Refusal::Store(error),
        }
    }

    async fn count_attempt(&self, what: &str, caller: &Caller, limit: u64) -> Result<(), Refusal> {
        // Callers without an identity share a larger limit.
        let limit = if caller.owner().is_some() { limit } else { limit.saturating_mul(ANONYMOUS_FACTOR) };
        let spent = with_timeout(self.store.spend(&counter_key(what, caller), 1, limit, MINUTE)).await?;
        if !spent.accepted {
            return Err(Refusal::Token(failure::rate_limited(
                "requests for confirmation",
                limit,
                spent.retry_after,
                self.now(),
            )));
        }
        Ok(())
    }

    /// Finds the answer to one of our questions in a repeated call, with the question's key.
    pub(crate) fn find_answer(context: &Context) -> Option<(&str, ElicitationAnswer)> {
        let prefix = Purpose::Question.prefix();
        let (key, answer) = context.answers.iter().find(|(key, _)| key.starts_with(prefix))?;
        Some((key, ElicitationAnswer::parse(answer)))
    }
}

/// The approval that was last opened for a call.
#[derive(Default)]
struct OpenApproval {
    /// The version of the reference to it.
    version: Option<u64>,
    /// The key and the record of its first token.
    record: Option<(String, TokenRecord)>,
}

/// The call as a person is shown it. Fails if it cannot be stored or shown completely.
fn stored_call(prompt: &ConfirmationPrompt) -> Result<StoredCall, Refusal> {
    let call = StoredCall::new(prompt.call.as_ref().ok_or(Refusal::CannotDisplay { bytes: None })?);
    match call.len() {
        bytes if bytes > MAX_CALL_BYTES => Err(Refusal::CannotDisplay { bytes: Some(bytes) }),
        _ => Ok(call),
    }
}

/// The key under which the approval of a call is found when the same call is sent again.
fn open_key(scope: &Scope) -> String {
    format!("gate/open/{}", scope.digest())
}

impl IssuedToken {
    /// The id of the approval, if the token needs one.
    pub(crate) fn approval_id(&self) -> Option<&str> {
        self.approval.as_ref().map(|approval| &*approval.id)
    }

    /// The failure for a call that needs confirmation first.
    pub(crate) fn into_failure(self, operation: &Operation, prompt: &ConfirmationPrompt) -> Failure {
        let Self { token, expires_at, approval, is_approved } = self;
        let approval = approval.as_ref().map(|approval| (approval, is_approved));
        failure::confirmation_required(operation, prompt, &token, expires_at, approval)
    }
}

/// The failure if the client could ask a person, but not in the middle of a batch.
pub(crate) fn cannot_ask_in_batch(operation: &Operation, prompt: &ConfirmationPrompt) -> Failure {
    failure::cannot_ask_in_batch(operation, prompt)
}

fn new_token(purpose: Purpose) -> Result<(String, String), StoreError> {
    let made =
        token::generate(purpose).map_err(|error| StoreError(format!("no random numbers are available: {error}")))?;
    let key = token::key(&made).ok_or_else(|| StoreError("the generated token has no key".to_owned()))?;
    Ok((made, key))
}

/// The key of a caller's counter: the principal, else the connection, else one shared by all others.
fn counter_key(what: &str, caller: &Caller) -> String {
    format!("gate/{what}/{}", caller.owner().unwrap_or("-"))
}
