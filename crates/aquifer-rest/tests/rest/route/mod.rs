//! Tests of the requests that routes build.

mod bodies;
mod headers;
mod laws;
mod paths;
mod styles;

use std::sync::Arc;

use aquifer_protocol::error::{Code, Failure};
use aquifer_rest::Route;
use aquifer_rest::route::{HttpRequest, Method, Notation, Place, RouteParameter, Style};
use serde_json::{Map, Value};

pub(crate) const BASE: &str = "https://api.example/v1";

/// A route with only a path.
pub(crate) fn route(method: Method, path: &str) -> Route {
    Route { path: path.into(), ..Route::new(method) }
}

/// A `GET` of a path with these parameters, whose canonical and original names are the same.
pub(crate) fn get(path: &str, parameters: &[(&str, Place)]) -> Route {
    Route {
        parameters: parameters.iter().map(|(name, place)| parameter(name, *place)).collect(),
        ..route(Method::Get, path)
    }
}

pub(crate) fn parameter(name: &str, place: Place) -> RouteParameter {
    let name: Arc<str> = name.into();
    RouteParameter { original_name: name.clone(), name, place }
}

pub(crate) fn style(style: Style, explode: bool) -> Notation {
    Notation::Style { style, explode }
}

pub(crate) fn simple() -> Place {
    Place::Path(style(Style::Simple, false))
}

pub(crate) fn request(route: &Route, params: Value) -> Result<HttpRequest, Failure> {
    let params: Map<String, Value> = params.as_object().unwrap().clone();
    route.request(BASE, &params)
}

/// The URL of a request, after the base URL.
pub(crate) fn url(route: &Route, params: Value) -> String {
    let request = request(route, params).unwrap();
    request.url.as_str().strip_prefix(BASE).unwrap().to_owned()
}

/// Asserts that a request is refused because of one parameter.
#[track_caller]
pub(crate) fn assert_refused(route: &Route, params: Value, code: Code, parameter: &str) {
    let shown = params.to_string();
    let failure = request(route, params).expect_err(&shown);
    assert_eq!(failure.code(), code, "{shown}: {}", failure.message());
    assert_eq!(failure.details()["param_name"], parameter, "{shown}");
    assert!(failure.message().contains(parameter), "{shown}: {}", failure.message());
}
