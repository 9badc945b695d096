//! `GET /metrics`: counters in the Prometheus text format, behind the gate like every other route.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::state::App;

/// The process's counters. One recorder serves a whole process, however many servers run in it.
#[derive(Clone)]
pub struct Metrics(Option<PrometheusHandle>);

/// Bounds of the time histograms, in seconds.
const SECONDS: [f64; 10] = [
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 10.0,
];

impl Metrics {
    /// Installs the process's recorder. Where one is installed already, `/metrics` shows nothing.
    pub fn install() -> Self {
        let recorder = PrometheusBuilder::new()
            .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), &SECONDS)
            .expect("there are bounds")
            .build_recorder();
        let handle = recorder.handle();
        Self(
            metrics::set_global_recorder(recorder)
                .is_ok()
                .then_some(handle),
        )
    }

    /// Folds what was recorded into the histograms, for as long as the server runs; without it they only grow.
    pub async fn upkeep(self) {
        let Some(handle) = self.0 else { return };
        let mut tick = tokio::time::interval(Duration::from_secs(5));
        loop {
            tick.tick().await;
            handle.run_upkeep();
        }
    }
}

pub(crate) async fn metrics(State(app): State<Arc<App>>) -> Response {
    let text = app
        .parts
        .metrics
        .0
        .as_ref()
        .map(PrometheusHandle::render)
        .unwrap_or_default();
    let mut response = Response::new(Body::from(text));
    let kind = HeaderValue::from_static("text/plain; version=0.0.4; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}
