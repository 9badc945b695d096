//! A node that is paused past its lease and goes on as if nothing had been: on PostgreSQL, two processes on one database.
//!
//! The test starts itself again as a node that claims an ask, says so, waits for a line, and then answers, renews and
//! releases under the fence of its claim. In between it is stopped with `SIGSTOP` until somebody else has the ask.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use guildhall_core::{Clock as _, SystemClock};
use guildhall_store::{Act, AskState, Asks as _, Error, Events as _, Held, LEASE, Store, Verdict};
use jiff::SignedDuration;

use crate::lane_world::{ANN_A, BOB, REPO, answering, asked, new_ask, post, with_people};
use crate::world::{World, name, repo_name};

const POSTGRES: &str = "GUILDHALL_PAUSED_POSTGRES";
const ASK: &str = "GUILDHALL_PAUSED_ASK";

/// The lease of the node that is paused.
const SHORT: SignedDuration = SignedDuration::from_millis(200);

struct Node {
    process: Child,
    lines: std::io::Lines<BufReader<ChildStdout>>,
    input: ChildStdin,
}

impl Node {
    fn start(url: &str, ask: &str) -> Self {
        let mut process = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "paused::works_on_one_ask"])
            .args(["--ignored", "--nocapture"])
            .env(POSTGRES, url)
            .env(ASK, ask)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            lines: BufReader::new(process.stdout.take().unwrap()).lines(),
            input: process.stdin.take().unwrap(),
            process,
        }
    }

    /// What the node says next; the test's own lines are passed over.
    fn says(&mut self) -> String {
        self.lines
            .by_ref()
            .map(Result::unwrap)
            .find_map(|line| line.split_once("node: ").map(|(_, said)| said.to_owned()))
            .expect("the node says what it does")
    }

    fn signal(&self, signal: &str) {
        let sent = Command::new("kill")
            .args([signal, &self.process.id().to_string()])
            .status();
        assert!(sent.unwrap().success());
    }

    fn go_on(&mut self) {
        writeln!(self.input).unwrap();
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn act(by: &str) -> Act {
    Act::new(name(by), SystemClock.now())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_node_paused_past_its_lease_neither_holds_nor_answers() {
    let Some(world) = World::postgres().await else {
        return;
    };
    let World::Postgres(database) = &world else {
        unreachable!("it is PostgreSQL")
    };
    let store = with_people(&world).await;
    for round in 1..=3 {
        let ask = post(&store, new_ask("triage", "Pause")).await.id;
        let mut node = Node::start(&database.url(), &ask);
        assert_eq!(node.says(), "claimed 1");
        node.signal("-STOP");
        let taken = loop {
            match store.claim_ask(act(BOB), asked(&ask), LEASE).await {
                Ok(taken) => break taken,
                Err(Error::Conflict(held)) => assert!(held.contains(ANN_A), "{held}"),
                Err(error) => panic!("{error}"),
            }
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        };
        assert_eq!(taken.fence, 2, "round {round}");
        // The order to answer is there before the node runs again: it acts on what it believed when it was stopped.
        node.go_on();
        node.signal("-CONT");
        for step in ["answer", "renew", "release"] {
            let said = node.says();
            assert!(
                said.starts_with(&format!(
                    "{step} refused: `{ask}` is held by `{BOB}` (fence 2)"
                )),
                "{said}"
            );
        }
        let kept = store
            .ask(repo_name(REPO), ask.clone())
            .await
            .unwrap()
            .unwrap();
        assert_eq!(kept, taken, "nothing has changed");
        let done = answering(&ask, Verdict::Complete);
        let done = store.answer_ask(act(BOB), done).await.unwrap();
        assert_eq!(done.state, AskState::Answered);
    }
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

/// The node: started by the test above, in a process of its own.
#[tokio::test]
#[ignore = "started by the tests of this file"]
async fn works_on_one_ask() {
    let (Ok(url), Ok(ask)) = (std::env::var(POSTGRES), std::env::var(ASK)) else {
        return;
    };
    let store = Store::open_postgres(&url, 2).await.unwrap();
    let claimed = store
        .claim_ask(act(ANN_A), asked(&ask), SHORT)
        .await
        .unwrap();
    let fence = claimed.fence;
    println!("node: claimed {fence}");
    std::io::stdin().read_line(&mut String::new()).unwrap();
    let held = || Held {
        fence: Some(fence),
        ask: asked(&ask),
    };
    let given = guildhall_store::Answering {
        held: held(),
        ..answering(&ask, Verdict::Complete)
    };
    for (step, outcome) in [
        ("answer", store.answer_ask(act(ANN_A), given).await),
        ("renew", store.renew_ask(act(ANN_A), held(), LEASE).await),
        ("release", store.release_ask(act(ANN_A), held()).await),
    ] {
        match outcome {
            Ok(_) => println!("node: {step} accepted"),
            Err(error) => println!("node: {step} refused: {error}"),
        }
    }
}
