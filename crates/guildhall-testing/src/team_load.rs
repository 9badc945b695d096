//! A whole team at full speed: every role reports and messages as fast as it is acknowledged, and reads what it gets.
//!
//! It goes through the doors of running servers, with a token bound to each role. A call that is not answered is sent again
//! to the next server under the same key, as a client does whose server was killed. At the end what was acknowledged is
//! held against what arrived.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpStream;

/// The session of the load.
pub const SESSION: &str = "load-1";

/// How long a call is sent again before the load gives up.
const PATIENCE: Duration = Duration::from_mins(1);

/// Longest that one try may take; an inbox that waits answers well before.
const TRY: Duration = Duration::from_secs(20);

/// One call in so many goes to a role that is not there, and one is a report.
const UNKNOWN_EVERY: u64 = 50;
const REPORT_EVERY: u64 = 5;

/// A client of several servers of one database, with one token.
pub struct Client {
    servers: Arc<Vec<String>>,
    at: usize,
    token: String,
    connection: Option<SendRequest<Full<Bytes>>>,
}

impl Client {
    /// A client of `servers` (`127.0.0.1:4040`), beginning with the one at `first`.
    pub fn new(servers: &Arc<Vec<String>>, first: usize, token: &str) -> Self {
        Self {
            servers: Arc::clone(servers),
            at: first % servers.len(),
            token: token.to_owned(),
            connection: None,
        }
    }

    /// `POST /api/tools/<tool>`, sent again to the next server until one answers.
    ///
    /// # Panics
    ///
    /// When none answers within a minute.
    pub async fn call(&mut self, tool: &str, arguments: &Value) -> (u16, Value) {
        self.post(&format!("/api/tools/{tool}"), arguments).await
    }

    /// `POST path`, the same.
    ///
    /// # Panics
    ///
    /// When no server answers within a minute.
    pub async fn post(&mut self, path: &str, body: &Value) -> (u16, Value) {
        let start = Instant::now();
        loop {
            match tokio::time::timeout(TRY, self.attempt(path, body)).await {
                Ok(Some((status, answer))) if status < 500 => return (status, answer),
                outcome => {
                    assert!(
                        start.elapsed() < PATIENCE,
                        "no server answers {path}: {outcome:?}"
                    );
                    self.connection = None;
                    self.at = (self.at + 1) % self.servers.len();
                    tokio::time::sleep(Duration::from_millis(20)).await;
                }
            }
        }
    }

    async fn attempt(&mut self, path: &str, body: &Value) -> Option<(u16, Value)> {
        let host = self.servers[self.at].clone();
        let mut connection = match self.connection.take() {
            Some(connection) if !connection.is_closed() => connection,
            _ => connect(&host).await?,
        };
        let request = http::Request::post(path)
            .header("host", host)
            .header("authorization", format!("Bearer {}", self.token))
            .header("content-type", "application/json")
            .body(Full::new(Bytes::from(body.to_string())))
            .ok()?;
        let response = connection.send_request(request).await.ok()?;
        let status = response.status().as_u16();
        let answer = response.into_body().collect().await.ok()?.to_bytes();
        self.connection = Some(connection);
        let mut answer: Value = serde_json::from_slice(&answer).ok()?;
        if status == 200 {
            answer = answer["result"].take();
        }
        Some((status, answer))
    }
}

async fn connect(host: &str) -> Option<SendRequest<Full<Bytes>>> {
    let stream = TcpStream::connect(host).await.ok()?;
    stream.set_nodelay(true).ok()?;
    let (sender, connection) = handshake(TokioIo::new(stream)).await.ok()?;
    tokio::spawn(connection);
    Some(sender)
}

/// What came of a load.
#[derive(Debug, Default)]
pub struct Outcome {
    /// Messages that were acknowledged to their senders.
    pub messages: u64,
    /// Reports that were acknowledged to their senders.
    pub reports: u64,
    /// Messages to a role that is not there, each of which was refused.
    pub refused: u64,
    /// How long each acknowledged write took, sorted.
    pub latencies: Vec<Duration>,
}

impl Outcome {
    /// The latency that this share of the writes kept within.
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into a list that is in memory"
    )]
    pub fn percentile(&self, share: f64) -> Duration {
        let last = self.latencies.len().saturating_sub(1);
        let at = (last as f64 * share).round() as usize;
        self.latencies.get(at).copied().unwrap_or_default()
    }
}

/// A session of `roles` roles on running servers.
pub struct Load {
    servers: Arc<Vec<String>>,
    /// Each role with its token; the first is the orchestrator.
    roles: Vec<(String, String)>,
}

/// What one sender did.
#[derive(Default)]
struct Sent {
    /// Messages by recipient.
    to: HashMap<usize, u64>,
    reports: u64,
    refused: u64,
    latencies: Vec<Duration>,
}

/// What one role got, in its order.
#[derive(Default)]
struct Received {
    messages: Vec<String>,
    reports: BTreeMap<String, u64>,
}

impl Load {
    /// Makes the session and a token for each role, and sets every role up.
    ///
    /// # Panics
    ///
    /// Where a server refuses.
    pub async fn prepare(servers: Vec<String>, owner_token: &str, roles: usize) -> Self {
        let servers = Arc::new(servers);
        let mut owner = Client::new(&servers, 0, owner_token);
        let names: Vec<String> = (0..roles)
            .map(|n| match n {
                0 => "orchestrator".to_owned(),
                n => format!("r{n}"),
            })
            .collect();
        let wanted = json!({ "project": "load", "slot": 1, "roles": names });
        let made = owner.post("/api/team/sessions", &wanted).await;
        assert_eq!(made.0, 200, "{made:?}");
        let mut with_tokens = Vec::with_capacity(roles);
        for (n, name) in names.into_iter().enumerate() {
            let path = format!("/api/team/sessions/{SESSION}/roles/{name}/token");
            let (status, issued) = owner.post(&path, &json!({ "agent": "claude" })).await;
            assert_eq!(status, 200, "{issued}");
            let token = issued["token"].as_str().expect("a token").to_owned();
            let begins = json!({ "session": SESSION, "role": name, "agent": "claude" });
            let mut client = Client::new(&servers, n, &token);
            let set_up = client.call("devorch_get_setup_instructions", &begins).await;
            assert_eq!(set_up.0, 200, "{set_up:?}");
            with_tokens.push((name, token));
        }
        Self {
            servers,
            roles: with_tokens,
        }
    }

    /// Runs for `time`, calls `midway` in the middle of it, and checks that nothing was lost, doubled or out of order.
    ///
    /// # Panics
    ///
    /// Where something was.
    pub async fn run(&self, time: Duration, midway: impl FnOnce()) -> Outcome {
        let until = Instant::now() + time;
        let done = Arc::new(AtomicBool::new(false));
        let senders: Vec<_> = (0..self.roles.len())
            .map(|n| tokio::spawn(self.sender(n, until)))
            .collect();
        let receivers: Vec<_> = (0..self.roles.len())
            .map(|n| tokio::spawn(self.receiver(n, Arc::clone(&done))))
            .collect();
        tokio::time::sleep(time / 2).await;
        midway();
        let mut sent = Vec::new();
        for sender in senders {
            sent.push(sender.await.expect("a sender that ends"));
        }
        done.store(true, Ordering::SeqCst);
        let mut received = Vec::new();
        for receiver in receivers {
            received.push(receiver.await.expect("a receiver that ends"));
        }
        self.compare(&sent, &received);
        let mut outcome = Outcome::default();
        for sent in sent {
            outcome.messages += sent.to.values().sum::<u64>();
            outcome.reports += sent.reports;
            outcome.refused += sent.refused;
            outcome.latencies.extend(sent.latencies);
        }
        outcome.latencies.sort_unstable();
        outcome
    }

    /// How long after a message was sent the inbox that waited for it has it, for some messages one by one, sorted. The
    /// sender's server is another one than the recipient's where there are several.
    ///
    /// # Panics
    ///
    /// Where a message does not arrive.
    pub async fn wake_ups(&self, count: usize) -> Vec<Duration> {
        let (from, to) = (&self.roles[1], &self.roles[2]);
        let mut sender = Client::new(&self.servers, 0, &from.1);
        let mut latencies = Vec::with_capacity(count);
        for n in 0..count {
            let waits = json!({ "session": SESSION, "role": to.0, "wait_seconds": 10 });
            let mut receiver = Client::new(&self.servers, 1, &to.1);
            let name = to.0.clone();
            let waiting = tokio::spawn(async move {
                let (status, inbox) = receiver.call("devorch_inbox", &waits).await;
                let at = Instant::now();
                assert_eq!(
                    (status, inbox["messages"].as_array().map(Vec::len)),
                    (200, Some(1))
                );
                let id = &inbox["messages"][0]["message_id"];
                let ack = json!({ "session": SESSION, "role": name, "message_ids": [id] });
                receiver.call("devorch_ack_message", &ack).await;
                at
            });
            // It must be waiting before the message goes.
            tokio::time::sleep(Duration::from_millis(100)).await;
            let message = json!({
                "session": SESSION, "from_role": from.0, "to_role": to.0, "message": format!("wake up {n}"),
            });
            let start = Instant::now();
            let (status, answer) = sender.call("devorch_peer_message", &message).await;
            assert_eq!(status, 200, "{answer}");
            let woken = waiting.await.expect("an inbox that wakes up");
            latencies.push(woken.saturating_duration_since(start));
        }
        latencies.sort_unstable();
        latencies
    }

    fn sender(&self, n: usize, until: Instant) -> impl Future<Output = Sent> + Send + 'static {
        let (name, token) = self.roles[n].clone();
        let names: Vec<String> = self.roles.iter().map(|(name, _)| name.clone()).collect();
        let mut client = Client::new(&self.servers, n, &token);
        async move {
            let mut sent = Sent::default();
            let mut number = 0_u64;
            while Instant::now() < until {
                number += 1;
                let key = format!("k{number}");
                if number.is_multiple_of(UNKNOWN_EVERY) {
                    let nobody = json!({
                        "session": SESSION, "from_role": name, "to_role": "nobody", "message": "lost?",
                    });
                    let (status, refusal) = client.call("devorch_peer_message", &nobody).await;
                    assert_eq!(
                        (status, refusal["error"].as_str()),
                        (404, Some("Agent not found"))
                    );
                    sent.refused += 1;
                    continue;
                }
                let start = Instant::now();
                if number.is_multiple_of(REPORT_EVERY) {
                    let report = json!({
                        "session": SESSION, "role": name, "status": "ack", "summary": format!("report {number}"),
                        "idempotency_key": key,
                    });
                    let (status, answer) = client.call("devorch_report_status", &report).await;
                    assert_eq!(status, 200, "{answer}");
                    sent.reports += 1;
                } else {
                    // Each recipient in turn, never oneself.
                    let step = 1 + usize::try_from(number).expect("it fits") % (names.len() - 1);
                    let to = (n + step) % names.len();
                    let count = sent.to.entry(to).or_default();
                    let body = format!("{name} {:09}", *count);
                    let message = json!({
                        "session": SESSION, "from_role": name, "to_role": names[to], "message": body,
                        "idempotency_key": key,
                    });
                    let (status, answer) = client.call("devorch_peer_message", &message).await;
                    assert_eq!(status, 200, "{answer}");
                    *count += 1;
                }
                sent.latencies.push(start.elapsed());
            }
            sent
        }
    }

    fn receiver(
        &self,
        n: usize,
        done: Arc<AtomicBool>,
    ) -> impl Future<Output = Received> + Send + 'static {
        let (name, token) = self.roles[n].clone();
        let mut client = Client::new(&self.servers, n + 1, &token);
        async move {
            let mut received = Received::default();
            let mut seen = BTreeSet::new();
            loop {
                // Asked before the look: what was sent until then is in it.
                let last = done.load(Ordering::SeqCst);
                let wait = u8::from(!last);
                let arguments =
                    json!({ "session": SESSION, "role": name, "limit": 500, "wait_seconds": wait });
                let (status, inbox) = client.call("devorch_inbox", &arguments).await;
                assert_eq!(status, 200, "{inbox}");
                let messages = inbox["messages"].as_array().cloned().unwrap_or_default();
                if messages.is_empty() && last {
                    return received;
                }
                let mut ids = Vec::with_capacity(messages.len());
                for message in &messages {
                    let id = message["message_id"].as_str().expect("an id").to_owned();
                    // Acknowledged ones never come again.
                    assert!(
                        seen.insert(id.clone()),
                        "{id} came again after it was acknowledged"
                    );
                    let text = message["message"].as_str().expect("a text").to_owned();
                    if message["kind"] == "report" {
                        let from = message["from"].as_str().expect("a sender").to_owned();
                        *received.reports.entry(from).or_default() += 1;
                    } else {
                        received.messages.push(text);
                    }
                    ids.push(id);
                }
                if !ids.is_empty() {
                    let ack = json!({ "session": SESSION, "role": name, "message_ids": ids });
                    let (status, answer) = client.call("devorch_ack_message", &ack).await;
                    assert_eq!(status, 200, "{answer}");
                }
            }
        }
    }

    /// Every acknowledged message arrived once, in the order of its sender; nothing else did.
    fn compare(&self, sent: &[Sent], received: &[Received]) {
        for (to, received) in received.iter().enumerate() {
            let mut next: HashMap<&str, u64> = HashMap::new();
            for text in &received.messages {
                let (from, number) = text.split_once(' ').expect("a name and a number");
                let expected = next.entry(from).or_default();
                assert_eq!(
                    number.parse(),
                    Ok(*expected),
                    "{from} to {}: lost, doubled or out of order",
                    self.roles[to].0
                );
                *expected += 1;
            }
            for (from, sent) in sent.iter().enumerate() {
                let name = self.roles[from].0.as_str();
                let arrived = next.get(name).copied().unwrap_or_default();
                let acknowledged = sent.to.get(&to).copied().unwrap_or_default();
                assert_eq!(arrived, acknowledged, "{name} to {}", self.roles[to].0);
            }
        }
        // Its own reports are not sent to the orchestrator.
        for (from, sent) in sent.iter().enumerate().skip(1) {
            let name = &self.roles[from].0;
            let arrived = received[0].reports.get(name).copied().unwrap_or_default();
            assert_eq!(arrived, sent.reports, "reports of {name}");
        }
    }
}
