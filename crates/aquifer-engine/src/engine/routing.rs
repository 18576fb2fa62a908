//! The route and check stages: finds the operation of a request, validates its parameters, and lets the source resolve it.

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_protocol::operation::Operation;
use aquifer_protocol::request::Request;
use aquifer_protocol::surface::Receiver;
use aquifer_protocol::validate::{Checked, Refused, Routed, Strictness, unknown_operation};
use serde_json::Map;

use super::Engine;
use crate::snapshot::{Route, Snapshot};

impl Engine {
    /// Routes, checks and resolves a request without running it. The result is what policy would evaluate.
    pub fn check(&self, receiver: &Receiver, request: Request) -> Result<Checked, Failure> {
        let snapshot = self.snapshot.load_full();
        let checked = self.route_and_check(&snapshot, receiver, request);
        checked.map(|(request, _)| request).map_err(|refused| refused.failure)
    }

    /// The operation that a request names, if this receiver accepts it. Its parameters are not checked.
    pub fn find_operation(&self, receiver: &Receiver, request: &Request) -> Result<Arc<Operation>, Failure> {
        let snapshot = self.snapshot.load_full();
        self.check_route(&snapshot, receiver, request)?;
        let operation = snapshot.operation(&request.operation).map(|(operation, _)| operation.clone());
        operation.ok_or_else(|| unknown_operation(snapshot.catalog(), snapshot.surface(), receiver, &request.operation))
    }

    /// Checks that a request names an operation that this receiver accepts. Its parameters are not checked.
    pub(super) fn check_route(
        &self,
        snapshot: &Snapshot,
        receiver: &Receiver,
        request: &Request,
    ) -> Result<(), Failure> {
        let name = &request.operation;
        match snapshot.operation(name) {
            Some((operation, _)) if snapshot.is_denied(&operation.name) => Ok(()),
            Some((operation, _)) => snapshot.surface().admit(operation, receiver),
            None => {
                let unknown = || unknown_operation(snapshot.catalog(), snapshot.surface(), receiver, name);
                Err(snapshot.missing_operation(name).unwrap_or_else(unknown))
            }
        }
    }

    /// Routes, checks and resolves a request, so that policy evaluates what will be done. Returns the route as well,
    /// unless it is an operation of the protocol itself.
    pub(super) fn route_and_check<'a>(
        &self,
        snapshot: &'a Snapshot,
        receiver: &Receiver,
        request: Request,
    ) -> Result<(Checked, Option<&'a Route>), Box<Refused>> {
        let strictness = self.settings.strictness;
        let catalog = snapshot.catalog();
        let unlisted = || snapshot.unlisted().operation(&request.operation);
        let request = match catalog.operation(&request.operation) {
            Some(operation) => {
                snapshot.surface().admit(operation, receiver)?;
                Routed::new(operation.clone(), request).check_or_return(catalog, strictness)?
            }
            None => match unlisted() {
                Some(operation) => check_unlisted(snapshot, receiver, operation, request, strictness)?,
                None => {
                    let unknown = || unknown_operation(catalog, snapshot.surface(), receiver, &request.operation);
                    return Err(snapshot.missing_operation(&request.operation).unwrap_or_else(unknown).into());
                }
            },
        };
        match snapshot.route(&request.operation().name) {
            Some(route) if route.is_resolved => {
                let request = resolve(snapshot, route, request)?;
                let route = snapshot.route(&request.operation().name);
                Ok((request, route))
            }
            route => Ok((request, route)),
        }
    }
}

/// Checks a request for an operation that callers do not see.
fn check_unlisted(
    snapshot: &Snapshot,
    receiver: &Receiver,
    operation: &Arc<Operation>,
    request: Request,
    strictness: Strictness,
) -> Result<Checked, Box<Refused>> {
    // A tool without visible operations does not exist, so there is no other tool to refer to.
    let is_denied = snapshot.is_denied(&operation.name);
    if !is_denied {
        snapshot.surface().admit(operation, receiver)?;
    }
    let routed = Routed::new(operation.clone(), request);
    // Messages about parameters would reveal a concealed operation.
    match is_denied && !operation.routing.is_indirect {
        true => Ok(routed.unchecked(snapshot.unlisted())),
        false => routed.check_or_return(snapshot.unlisted(), strictness),
    }
}

/// Lets the source resolve a request, and checks the result.
fn resolve(snapshot: &Snapshot, route: &Route, request: Checked) -> Result<Checked, Box<Refused>> {
    // What an indirect request means depends on the tables, so it may be refused here because of an outdated catalog.
    let original = request.operation().routing.is_indirect.then(|| Request {
        operation: request.operation().name.to_string(),
        params: request.params().clone(),
        beside: Map::new(),
        metadata: request.metadata().clone(),
    });
    resolve_params(snapshot, route, request).map_err(|failure| Box::new(Refused { failure, request: original }))
}

fn resolve_params(snapshot: &Snapshot, route: &Route, mut request: Checked) -> Result<Checked, Failure> {
    let source = request.operation().origin.source.clone();
    let params = request.take_params();
    // Failures of the source contain its own names; callers know the names in the catalog.
    let in_catalog_names =
        |failure: Failure, request: &Checked| failure.with_operation_renamed(&route.name, &request.operation().name);
    let resolved = route.source.resolve(&route.name, params).map_err(|failure| in_catalog_names(failure, &request))?;
    let find = |own_name: &Arc<str>| snapshot.operation_of(&source, own_name);
    // The catalog and the source may differ briefly while tables change.
    let removed_failure =
        || Failure::new(Code::NotFoundOperation, "This operation no longer exists: its source has changed");
    let also_needs: Vec<_> = resolved
        .also_needs
        .iter()
        .map(|own_name| find(own_name).map(|(operation, _)| operation.clone()).ok_or_else(removed_failure))
        .collect::<Result<_, _>>()?;
    match (&resolved.operation, resolved.problem) {
        (None, Some(problem)) => Err(in_catalog_names(problem, &request)),
        (None, None) => Ok(request
            .with_params(resolved.params)
            .needing(also_needs, resolved.needed_params)
            .with_judged_params(resolved.judged_params)),
        (Some(own_name), problem) => {
            let (operation, catalog) = find(own_name).ok_or_else(removed_failure)?;
            let request = match (snapshot.is_denied(&operation.name), problem) {
                (true, _) => request.as_unchecked_request_of(operation, catalog, resolved.params),
                (false, Some(problem)) => return Err(in_catalog_names(problem, &request)),
                (false, None) => request.as_request_of(operation, catalog, resolved.params)?,
            };
            Ok(request.needing(also_needs, resolved.needed_params).with_judged_params(resolved.judged_params))
        }
    }
}
