//! What a handler of the plain HTTP door takes from the address, and the two ways it answers.

use axum::extract::{FromRequestParts, Path};
use axum::response::{IntoResponse, Response};
use guildhall_tools::ToolError;
use http::request::Parts;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::reply;

/// `{ "result": ... }`.
pub(crate) struct Given<T>(pub(crate) T);

impl<T: Serialize> IntoResponse for Given<T> {
    fn into_response(self) -> Response {
        reply::result(&self.0)
    }
}

/// Why not.
pub(crate) struct Refusal(ToolError);

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        reply::error(&self.0)
    }
}

impl<E: Into<ToolError>> From<E> for Refusal {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

/// What a handler gives.
pub(crate) type Answer<T> = Result<Given<T>, Refusal>;

/// The parameters of a route's path. What is no text is refused as wrong arguments.
pub(crate) struct InPath<T>(pub(crate) T);

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for InPath<T> {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refusal> {
        match Path::<T>::from_request_parts(parts, state).await {
            Ok(Path(parameters)) => Ok(Self(parameters)),
            Err(rejection) => Err(ToolError::bad_arguments(format!(
                "The address cannot be read: {}",
                rejection.body_text()
            ))
            .into()),
        }
    }
}
