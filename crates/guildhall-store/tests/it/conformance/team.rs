use std::sync::Arc;

use guildhall_core::RepoRole;
use guildhall_core::team::{Binding, RoleName, SessionId};
use guildhall_store::team::{
    Claim, Dispatch, MOST_MESSAGES, MOST_WAITING, Message, NewMessage, NewReport, NewSession,
    Placed, Report, Reported, Seen, Sent, Status, Steer, TeamState, Who,
};
use guildhall_store::{
    Act, Error, Events as _, NewToken, Once, Principals as _, Repos as _, Result, Role, Roles as _,
    Store, Team as _, Tokens as _,
};

use crate::world::{OPERATOR, World, add_repo, add_user, at, by, name, repo_name, with_operator};

const CLAUDE: &str = "owner@example.com[claude]";
const CODEX: &str = "owner@example.com[codex]";
const ANN: &str = "ann@example.com";
const BOB: &str = "bob@example.com";

fn session() -> SessionId {
    "myproject-1".parse().unwrap()
}

fn role(role: &str) -> RoleName {
    role.parse().unwrap()
}

fn who(as_role: &str) -> Who {
    Who::new(session(), role(as_role))
}

fn new_session(roles: &[&str], repo: Option<&str>) -> NewSession {
    NewSession {
        id: session(),
        roles: roles.iter().map(|name| role(name)).collect(),
        namespace: "default".to_owned(),
        repo: repo.map(str::to_owned),
        root: None,
        branch: None,
    }
}

fn claim(agent: &str, takeover: bool) -> Claim {
    Claim {
        agent: agent.to_owned(),
        takeover,
        id: unique("his"),
    }
}

/// An id nobody else has.
fn unique(prefix: &str) -> String {
    use std::sync::atomic::{AtomicU64, Ordering};
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!("{prefix}-{}", NEXT.fetch_add(1, Ordering::Relaxed))
}

fn message(to: &str, body: &str) -> NewMessage {
    NewMessage {
        id: unique("msg"),
        to: role(to),
        body: body.to_owned(),
        task: None,
        requested_action: None,
        importance: None,
        reply_to: None,
    }
}

fn dispatch(to: &str, task: &str) -> Dispatch {
    Dispatch {
        id: unique("msg"),
        history_id: unique("his"),
        to: role(to),
        task: task.to_owned(),
        summary: "Review it".to_owned(),
        next_action: None,
        files: vec!["src/lib.rs".to_owned()],
        priority: "normal".to_owned(),
        body: "Review it".to_owned(),
    }
}

fn report(report: Report, task: Option<&str>) -> NewReport {
    NewReport {
        id: unique("rep"),
        message_id: unique("msg"),
        report,
        summary: Some(format!("It is {}", report.as_str())),
        validation: None,
        next_action: None,
        task: task.map(str::to_owned),
        body: report.as_str().to_owned(),
    }
}

async fn join(store: &Store, as_role: &str) {
    let agent = by(CLAUDE, 2);
    store
        .set_up(agent, who(as_role), claim("claude", false))
        .await
        .unwrap();
}

/// A session whose roles the agent `CLAUDE` has claimed.
async fn team(world: &World, roles: &[&str]) -> Store {
    let store = with_operator(world).await;
    let new = new_session(roles, None);
    store.make_session(by(OPERATOR, 1), new).await.unwrap();
    for name in roles {
        join(&store, name).await;
    }
    store
}

async fn send(store: &Store, from: &str, to: &str, body: &str) -> Result<Sent> {
    store
        .send(by(CLAUDE, 3), who(from), message(to, body))
        .await
}

async fn report_as(store: &Store, as_role: &str, new: NewReport) -> Result<Reported> {
    store.report(by(CLAUDE, 3), who(as_role), new).await
}

async fn inbox(store: &Store, of: &str) -> Vec<Message> {
    let messages = store.inbox(name(CLAUDE), who(of), None, 500).await;
    messages.unwrap()
}

fn bodies(messages: &[Message]) -> Vec<&str> {
    messages
        .iter()
        .map(|message| message.body.as_str())
        .collect()
}

async fn state(store: &Store) -> TeamState {
    let asks = Who {
        role: None,
        ..who("ai")
    };
    let state = store.team_state(name(OPERATOR), asks, Some(50)).await;
    state.unwrap()
}

fn is_missing<T>(outcome: Result<T>, expected: &str) -> bool {
    let is = |error| matches!(error, Error::Missing { what, .. } if what == expected);
    outcome.is_err_and(is)
}

fn is_refused<T>(outcome: Result<T>) -> bool {
    outcome.is_err_and(|error| matches!(error, Error::NotAllowed(_)))
}

pub(crate) async fn a_role_is_active_once_its_agent_has_set_up(world: &World) {
    let store = with_operator(world).await;
    let new = new_session(&["orchestrator", "ai", "sec"], None);
    store.make_session(by(OPERATOR, 1), new).await.unwrap();
    assert_eq!(state(&store).await.agents, []);
    let set_up = store
        .set_up(by(CLAUDE, 2), who("ai"), claim("claude", false))
        .await
        .unwrap();
    assert_eq!(set_up.role.status, Some(Status::Active));
    assert_eq!(set_up.role.holder, Some(name(CLAUDE)));
    assert_eq!(
        set_up.roles,
        [role("orchestrator"), role("ai"), role("sec")]
    );
    let agents = state(&store).await.agents;
    assert_eq!(agents.len(), 1);
    assert_eq!(
        (agents[0].role.as_str(), agents[0].last_seen),
        ("ai", at(2))
    );
    let none = store.set_up(by(CLAUDE, 2), who("qa"), claim("claude", false));
    assert!(is_missing(none.await, "agent"));
    let elsewhere = Who::new("other-1".parse().unwrap(), role("ai"));
    let none = store.set_up(by(CLAUDE, 2), elsewhere, claim("claude", false));
    assert!(is_missing(none.await, "session"));
}

pub(crate) async fn a_session_is_its_owners_and_a_repos_maintainers(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", true).await;
    store
        .add_agent(by(OPERATOR, 1), name(CLAUDE))
        .await
        .unwrap();
    for (user, given) in [(ANN, Some("contributor")), (BOB, None)] {
        add_user(&store, user).await;
        if let Some(given) = given {
            let given = Role::Repo(given.parse().unwrap());
            store
                .grant(by(OPERATOR, 1), repo_name("acme/web"), name(user), given)
                .await
                .unwrap();
        }
    }
    let new = new_session(&["orchestrator", "ai"], Some("acme/web"));
    assert!(is_missing(
        store.make_session(by(BOB, 1), new.clone()).await,
        "repo"
    ));
    store
        .make_session(by(OPERATOR, 1), new.clone())
        .await
        .unwrap();
    let again = store.make_session(by(OPERATOR, 1), new).await;
    assert!(matches!(again, Err(Error::Taken { .. })));
    join(&store, "ai").await;
    let asks = || Who {
        role: None,
        ..who("ai")
    };
    assert!(is_missing(
        store.team_state(name(BOB), asks(), None).await,
        "session"
    ));
    assert!(store.team_state(name(ANN), asks(), None).await.is_ok());
    let as_ann = || store.report(by(ANN, 3), who("ai"), report(Report::Ack, None));
    assert!(is_refused(as_ann().await));
    let maintainer = Role::Repo("maintainer".parse().unwrap());
    store
        .grant(
            by(OPERATOR, 1),
            repo_name("acme/web"),
            name(ANN),
            maintainer,
        )
        .await
        .unwrap();
    as_ann().await.unwrap();
    let agent = name("ann@example.com[claude]");
    store.add_agent(by(ANN, 1), agent).await.unwrap();
    let unclaimed = by("ann@example.com[claude]", 3);
    assert!(is_refused(
        store
            .report(unclaimed, who("ai"), report(Report::Ack, None))
            .await
    ));
}

pub(crate) async fn what_a_call_says_of_the_session_is_verified(world: &World) {
    let store = with_operator(world).await;
    add_repo(&store, "acme/web", false).await;
    let new = new_session(&["ai"], Some("acme/web"));
    store.make_session(by(OPERATOR, 1), new).await.unwrap();
    for (repo_id, namespace, good) in [
        (Some("myproject"), Some("default"), true),
        (Some("acme/web"), None, true),
        (Some("web"), None, true),
        (Some("acme"), None, false),
        (Some(""), None, false),
        (None, Some("other"), false),
    ] {
        let asks = Who {
            repo_id: repo_id.map(str::to_owned),
            namespace: namespace.map(str::to_owned),
            ..who("ai")
        };
        let state = store.team_state(name(OPERATOR), asks, None).await;
        assert_eq!(state.is_ok(), good, "{repo_id:?} {namespace:?}");
        assert!(good || is_refused(state));
    }
}

pub(crate) async fn a_bound_token_speaks_for_its_role_alone(world: &World) {
    let store = team(world, &["orchestrator", "ai", "sec"]).await;
    store.add_agent(by(OPERATOR, 1), name(CODEX)).await.unwrap();
    let token = NewToken {
        id: "tok-1".to_owned(),
        hash: [1; 32],
        principal: name(CODEX),
        expires_at: None,
        repos: None,
        tools: None,
        bound: Some(Binding {
            session: session(),
            role: role("ai"),
        }),
    };
    store.issue(by(OPERATOR, 1), token).await.unwrap();
    let bearer = store.bearer([1; 32], at(2)).await.unwrap().unwrap();
    let bound = bearer.token.bound;
    let with = |who: Who| Who {
        bound: bound.clone(),
        ..who
    };
    let say = |from: Who| store.send(by(CODEX, 3), from, message("sec", "hello"));
    say(with(who("ai"))).await.unwrap();
    assert!(is_refused(say(with(who("sec"))).await));
    assert!(
        is_refused(say(who("ai")).await),
        "it holds no role without its token"
    );
    let elsewhere = Who::new("other-1".parse().unwrap(), role("ai"));
    assert!(is_refused(say(with(elsewhere)).await));
    let asks = Who {
        role: None,
        ..with(who("ai"))
    };
    assert!(store.team_state(name(CODEX), asks, None).await.is_ok());
    let look = |session: &str| {
        let whole = Who::whole(session.parse().unwrap());
        store.session(name(CODEX), with(whole))
    };
    assert!(look("myproject-1").await.is_ok());
    assert!(
        is_refused(look("other-1").await),
        "whether there is another session it does not learn"
    );
}

pub(crate) async fn a_token_limited_to_repos_sees_their_sessions_alone(world: &World) {
    let store = team(world, &["ai"]).await;
    add_repo(&store, "acme/web", false).await;
    let of_repo = NewSession {
        id: "other-1".parse().unwrap(),
        ..new_session(&["ai"], Some("acme/web"))
    };
    store.make_session(by(OPERATOR, 1), of_repo).await.unwrap();
    let look = |session: &str, only: &str| {
        let who = Who {
            repos: Some(Arc::new([only.to_owned()].into())),
            ..Who::whole(session.parse().unwrap())
        };
        store.session(name(OPERATOR), who)
    };
    assert!(look("other-1", "acme/web").await.is_ok());
    assert!(is_missing(look("other-1", "acme/app").await, "session"));
    assert!(is_missing(look("myproject-1", "acme/web").await, "session"));
}

pub(crate) async fn a_revoked_token_reads_nothing_more(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    let token = NewToken {
        id: "tok-1".to_owned(),
        hash: [1; 32],
        principal: name(CLAUDE),
        expires_at: None,
        repos: None,
        tools: None,
        bound: None,
    };
    store
        .add_agent(by(OPERATOR, 1), name(CLAUDE))
        .await
        .unwrap();
    store.issue(by(OPERATOR, 1), token).await.unwrap();
    let asks = || Who {
        token: Some("tok-1".to_owned()),
        ..who("ai")
    };
    let inbox = || store.inbox(name(CLAUDE), asks(), None, 10);
    assert_eq!(inbox().await.unwrap(), []);
    store.revoke(by(OPERATOR, 2), "tok-1").await.unwrap();
    send(&store, "orchestrator", "ai", "secret").await.unwrap();
    assert!(is_refused(inbox().await));
    assert!(is_refused(store.shown(by(CLAUDE, 4), asks(), 1, 1).await));
}

pub(crate) async fn the_lowest_free_slot_is_given(world: &World) {
    let store = with_operator(world).await;
    for (slot, next) in [(999_999, 1), (1, 2), (3, 2), (2, 4)] {
        let mut new = new_session(&["ai"], None);
        new.id = format!("myproject-{slot}").parse().unwrap();
        store.make_session(by(OPERATOR, 1), new).await.unwrap();
        let free = store.free_slot("myproject").await.unwrap();
        assert_eq!(free, next, "after {slot}");
    }
}

pub(crate) async fn a_page_tells_whether_there_is_more(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    let many = MOST_MESSAGES as usize + 1;
    for n in 0..many {
        let new = report(Report::Ack, None);
        report_as(&store, "ai", new)
            .await
            .unwrap_or_else(|error| panic!("{n}: {error}"));
    }
    for limit in [MOST_MESSAGES + 1, MOST_MESSAGES + 100] {
        let inbox = store.inbox(name(CLAUDE), who("orchestrator"), None, limit);
        assert_eq!(inbox.await.unwrap().len(), many, "{limit}");
    }
}

pub(crate) async fn a_repo_that_goes_leaves_its_sessions_to_their_owners(world: &World) {
    let store = with_operator(world).await;
    add_user(&store, ANN).await;
    let grant = || {
        let maintainer = Role::Repo(RepoRole::Maintainer);
        store.grant(
            by(OPERATOR, 1),
            repo_name("acme/web"),
            name(ANN),
            maintainer,
        )
    };
    let once = || {
        by(OPERATOR, 5).once(Once {
            tool: "team".to_owned(),
            key: "k".to_owned(),
            arguments: [1; 32],
            repo: Some(repo_name("acme/web")),
        })
    };
    add_repo(&store, "acme/web", false).await;
    grant().await.unwrap();
    let new = new_session(&["ai"], Some("acme/web"));
    store.make_session(once(), new).await.unwrap();
    let seen_by = |who: &str| store.session(name(who), Who::whole(session()));
    seen_by(ANN).await.unwrap();
    // The agent as whom a person's own token acts is theirs too.
    seen_by("ann@example.com[unnamed]").await.unwrap();
    store
        .remove_repo(by(OPERATOR, 6), repo_name("acme/web"))
        .await
        .unwrap();
    add_repo(&store, "acme/web", false).await;
    grant().await.unwrap();
    assert!(matches!(seen_by(ANN).await, Err(Error::Missing { .. })));
    let (ended, _) = seen_by(OPERATOR).await.unwrap();
    assert_eq!((ended.repo, ended.stopped_at), (None, Some(at(6))));
    // Nor does a key of the old one answer for the new one.
    let again = new_session(&["ai"], Some("acme/web"));
    let again = store.make_session(once(), again).await;
    assert!(matches!(again, Err(Error::Taken { .. })), "{again:?}");
}

pub(crate) async fn a_second_agent_of_a_live_role_needs_a_takeover(world: &World) {
    let store = team(world, &["ai"]).await;
    let set_up =
        |seconds, takeover| store.set_up(by(CODEX, seconds), who("ai"), claim("codex", takeover));
    assert!(is_refused(set_up(3, false).await));
    assert_eq!(
        set_up(3, true).await.unwrap().role.holder,
        Some(name(CODEX))
    );
    assert!(is_refused(
        report_as(&store, "ai", report(Report::Ack, None)).await
    ));
    // A quarter of an hour later nobody is there to replace.
    let later = by(CLAUDE, 3 + 15 * 60 + 1);
    let back = store.set_up(later, who("ai"), claim("claude", false)).await;
    assert_eq!(back.unwrap().role.holder, Some(name(CLAUDE)));
    // A person who looks replaces nobody.
    let looked = store
        .set_up(by(OPERATOR, 5), who("ai"), claim("claude", true))
        .await;
    assert_eq!(looked.unwrap().role.holder, Some(name(CLAUDE)));
}

pub(crate) async fn messages_come_in_order_until_they_are_acknowledged(world: &World) {
    let store = team(world, &["ai", "sec"]).await;
    for n in 0..5 {
        let sent = send(&store, "ai", "sec", &n.to_string()).await.unwrap();
        assert!(!sent.delivered, "nobody waits for it");
    }
    let all = inbox(&store, "sec").await;
    assert_eq!(bodies(&all), ["0", "1", "2", "3", "4"]);
    let numbers: Vec<_> = all.iter().map(|message| message.number).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5]);
    let after = store
        .inbox(name(CLAUDE), who("sec"), Some(all[1].id.clone()), 2)
        .await
        .unwrap();
    assert_eq!(bodies(&after), ["2", "3"]);
    let ids = vec![all[0].id.clone(), all[3].id.clone()];
    for _ in 0..2 {
        let acknowledged = store
            .acknowledge(by(CLAUDE, 4), who("sec"), ids.clone())
            .await;
        assert_eq!(acknowledged.unwrap().ids, ids);
        assert_eq!(bodies(&inbox(&store, "sec").await), ["1", "2", "4"]);
    }
    let with_unknown = vec![all[1].id.clone(), "msg-none".to_owned()];
    let refused = store
        .acknowledge(by(CLAUDE, 4), who("sec"), with_unknown)
        .await;
    assert!(is_missing(refused, "message"));
    assert_eq!(
        bodies(&inbox(&store, "sec").await),
        ["1", "2", "4"],
        "none of them was"
    );
    let foreign = store
        .acknowledge(by(CLAUDE, 4), who("ai"), vec![all[1].id.clone()])
        .await;
    assert!(is_missing(foreign, "message"));
}

pub(crate) async fn a_sender_sees_what_became_of_its_messages(world: &World) {
    let store = team(world, &["ai", "sec"]).await;
    for body in ["one", "two", "three"] {
        send(&store, "ai", "sec", body).await.unwrap();
    }
    let all = inbox(&store, "sec").await;
    store.shown(by(CLAUDE, 5), who("sec"), 1, 2).await.unwrap();
    store
        .acknowledge(by(CLAUDE, 6), who("sec"), vec![all[0].id.clone()])
        .await
        .unwrap();
    let sent = store.sent(name(CLAUDE), who("ai"), None, 10).await.unwrap();
    let times: Vec<_> = sent
        .iter()
        .map(|m| (m.delivered_at, m.read_at, m.acknowledged_at))
        .collect();
    let (five, six) = (Some(at(5)), Some(at(6)));
    let seen: std::collections::BTreeMap<_, _> = bodies(&sent).into_iter().zip(times).collect();
    assert_eq!(seen["one"], (five, five, six));
    assert_eq!(seen["two"], (five, five, None));
    assert_eq!(seen["three"], (None, None, None));
    let rest = store
        .sent(name(CLAUDE), who("ai"), Some(sent[0].id.clone()), 10)
        .await
        .unwrap();
    assert_eq!(rest, sent[1..]);
}

pub(crate) async fn a_full_queue_refuses_messages_and_takes_reports(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    send(&store, "ai", "orchestrator", "first").await.unwrap();
    assert_eq!(MOST_WAITING, 10_000);
    world
        .tamper("UPDATE team_roles SET waiting = 10000 WHERE role = 'orchestrator'")
        .await;
    let refused = send(&store, "ai", "orchestrator", "second").await;
    assert!(matches!(refused, Err(Error::TooMany(_))), "{refused:?}");
    report_as(&store, "ai", report(Report::Ack, None))
        .await
        .unwrap();
    // What was shown no longer counts.
    store
        .shown(by(CLAUDE, 4), who("orchestrator"), 1, 1)
        .await
        .unwrap();
    send(&store, "ai", "orchestrator", "third").await.unwrap();
    assert_eq!(
        bodies(&inbox(&store, "orchestrator").await),
        ["first", "ack", "third"]
    );
    assert!(send(&store, "ai", "orchestrator", "fourth").await.is_err());
}

pub(crate) async fn only_active_roles_send_and_receive(world: &World) {
    let store = with_operator(world).await;
    let new = new_session(&["ai", "sec", "qa"], None);
    store.make_session(by(OPERATOR, 1), new).await.unwrap();
    join(&store, "ai").await;
    assert!(is_missing(
        send(&store, "ai", "sec", "hello").await,
        "agent"
    ));
    assert!(is_missing(
        send(&store, "ai", "nobody", "hello").await,
        "agent"
    ));
    assert!(is_missing(
        send(&store, "sec", "ai", "hello").await,
        "agent"
    ));
    let silent = report_as(&store, "sec", report(Report::Ack, None)).await;
    assert!(is_missing(silent, "agent"));
    let by_person = store
        .send(by(OPERATOR, 3), who("qa"), message("ai", "hello"))
        .await;
    assert!(is_missing(by_person, "agent"));
    assert_eq!(inbox(&store, "ai").await, []);
    let changes = store
        .of_stream(&guildhall_store::Stream::role(&session(), "sec"), 0, 10)
        .await;
    assert_eq!(changes.unwrap(), [], "a refusal is no event");
}

pub(crate) async fn reports_move_the_role_and_its_task(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    let lead = |new| store.dispatch(by(CLAUDE, 3), who("orchestrator"), new);
    lead(dispatch("ai", "t1")).await.unwrap();
    let agents = state(&store).await.agents;
    assert_eq!(agents[1].status, Status::Busy);
    assert_eq!(agents[1].task.as_ref().unwrap().state, "dispatched");
    for (new, status, task) in [
        (Report::Ack, Status::Busy, "acknowledged"),
        (Report::Degraded, Status::Degraded, "degraded"),
        (Report::Recovered, Status::Busy, "acknowledged"),
        (Report::Failed, Status::Failed, "failed"),
        (Report::Blocked, Status::Blocked, "blocked"),
        (Report::Complete, Status::Idle, "complete"),
    ] {
        let reported = report_as(&store, "ai", report(new, None)).await.unwrap();
        assert_eq!(reported.status, status);
        assert_eq!(reported.last_seen, at(3));
        assert_eq!(reported.task.unwrap().state, task);
    }
    assert_eq!(state(&store).await.agents[1].task, None);
    let free = report_as(&store, "ai", report(Report::Recovered, None))
        .await
        .unwrap();
    assert_eq!((free.status, free.task), (Status::Active, None));
    let bogus = report_as(&store, "ai", report(Report::Complete, Some("t9")))
        .await
        .unwrap();
    assert_eq!(bogus.task, None, "there is no such task");
    let worker = store
        .dispatch(by(CLAUDE, 3), who("ai"), dispatch("orchestrator", "t2"))
        .await;
    assert!(is_refused(worker));
    let history = state(&store).await.history.unwrap();
    assert_eq!(history.len(), 2 + 1 + 8);
    assert!(
        history
            .iter()
            .any(|h| h.event == "dispatch" && h.task.as_deref() == Some("t1"))
    );
}

pub(crate) async fn a_blocked_task_is_completed(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    let given = store.dispatch(by(CLAUDE, 3), who("orchestrator"), dispatch("ai", "t1"));
    given.await.unwrap();
    let blocked = report_as(&store, "ai", report(Report::Blocked, Some("t1")))
        .await
        .unwrap();
    assert_eq!(blocked.task.unwrap().state, "blocked");
    let done = report_as(&store, "ai", report(Report::Complete, Some("t1")))
        .await
        .unwrap();
    assert_eq!(
        (done.status, done.task.unwrap().state.as_str()),
        (Status::Idle, "complete")
    );
}

pub(crate) async fn reports_wait_for_an_orchestrator(world: &World) {
    let store = with_operator(world).await;
    let new = new_session(&["orchestrator", "ai"], None);
    store.make_session(by(OPERATOR, 1), new).await.unwrap();
    join(&store, "ai").await;
    report_as(&store, "ai", report(Report::Ack, None))
        .await
        .unwrap();
    let set_up = store
        .set_up(by(CLAUDE, 4), who("orchestrator"), claim("claude", false))
        .await
        .unwrap();
    assert_eq!(set_up.waiting.len(), 1);
    assert_eq!(
        (set_up.waiting[0].from.as_str(), set_up.role.unread),
        ("ai", 1)
    );
    let waiting = inbox(&store, "orchestrator").await;
    assert_eq!(waiting[0].kind.as_str(), "report");
    assert_eq!(waiting[0].delivered_at, Some(at(4)), "set-up has shown it");
    report_as(&store, "orchestrator", report(Report::Ack, None))
        .await
        .unwrap();
    assert_eq!(
        inbox(&store, "orchestrator").await.len(),
        1,
        "it does not tell itself"
    );
}

pub(crate) async fn a_person_pauses_takes_over_and_brings_back(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    let steer =
        |as_role: &'static str, by, steer| store.steer(by, who(as_role), unique("his"), steer);
    assert!(is_refused(steer("ai", by(CLAUDE, 3), Steer::Pause).await));
    send(&store, "orchestrator", "ai", "before").await.unwrap();
    store.shown(by(CLAUDE, 3), who("ai"), 1, 1).await.unwrap();
    let paused = steer("ai", by(OPERATOR, 3), Steer::Pause).await.unwrap();
    assert_eq!(paused.paused_at, Some(at(3)));
    send(&store, "orchestrator", "ai", "held").await.unwrap();
    assert_eq!(bodies(&inbox(&store, "ai").await), ["before"]);
    let new = || store.dispatch(by(CLAUDE, 3), who("orchestrator"), dispatch("ai", "t1"));
    assert!(is_refused(new().await));
    steer("ai", by(OPERATOR, 4), Steer::Resume).await.unwrap();
    assert_eq!(
        bodies(&inbox(&store, "ai").await),
        ["before", "held"],
        "and nothing of the refused task"
    );
    new().await.unwrap();

    let held = steer("ai", by(OPERATOR, 5), Steer::Takeover).await.unwrap();
    assert_eq!(held.held_by, Some(name(OPERATOR)));
    assert!(is_refused(send(&store, "ai", "orchestrator", "mine").await));
    assert!(is_refused(
        store.inbox(name(CLAUDE), who("ai"), None, 1).await
    ));
    let again = store
        .set_up(by(CLAUDE, 6), who("ai"), claim("claude", true))
        .await;
    assert!(is_refused(again));
    let by_person = store
        .send(
            by(OPERATOR, 6),
            who("ai"),
            message("orchestrator", "by hand"),
        )
        .await;
    by_person.unwrap();
    steer("ai", by(OPERATOR, 7), Steer::Release).await.unwrap();
    send(&store, "ai", "orchestrator", "mine again")
        .await
        .unwrap();

    report_as(&store, "ai", report(Report::Failed, None))
        .await
        .unwrap();
    let recovered = steer("ai", by(OPERATOR, 8), Steer::Recover).await.unwrap();
    assert_eq!(
        (recovered.status, recovered.holder),
        (Some(Status::Busy), None)
    );
    store
        .set_up(by(CODEX, 9), who("ai"), claim("codex", false))
        .await
        .unwrap();
    let noted = store
        .note(by(OPERATOR, 9), who("ai"), message("ai", "Well done"))
        .await;
    noted.unwrap();
    let last = store
        .inbox(name(CODEX), who("ai"), None, 10)
        .await
        .unwrap()
        .pop()
        .unwrap();
    assert_eq!(
        (last.from.as_str(), last.body.as_str()),
        (OPERATOR, "Well done")
    );
}

pub(crate) async fn a_stopped_session_refuses_changes_and_ends_its_tokens(world: &World) {
    let store = team(world, &["orchestrator", "ai"]).await;
    store.add_agent(by(OPERATOR, 1), name(CODEX)).await.unwrap();
    let token = NewToken {
        id: "tok-1".to_owned(),
        hash: [1; 32],
        principal: name(CODEX),
        expires_at: None,
        repos: None,
        tools: None,
        bound: Some(Binding {
            session: session(),
            role: role("ai"),
        }),
    };
    store.issue(by(OPERATOR, 1), token).await.unwrap();
    send(&store, "orchestrator", "ai", "last words")
        .await
        .unwrap();
    assert!(is_refused(
        store.stop_session(by(CLAUDE, 5), session()).await
    ));
    for _ in 0..2 {
        let stopped = store
            .stop_session(by(OPERATOR, 5), session())
            .await
            .unwrap();
        assert_eq!(stopped.stopped_at, Some(at(5)));
    }
    assert_eq!(store.bearer([1; 32], at(6)).await.unwrap(), None);
    assert!(is_refused(
        send(&store, "orchestrator", "ai", "too late").await
    ));
    assert!(is_refused(
        report_as(&store, "ai", report(Report::Ack, None)).await
    ));
    let again = store
        .set_up(by(CLAUDE, 6), who("ai"), claim("claude", false))
        .await;
    assert!(is_refused(again));
    assert_eq!(
        bodies(&inbox(&store, "ai").await),
        ["last words"],
        "reading goes on"
    );
    let agents = state(&store).await.agents;
    assert!(agents.iter().all(|agent| agent.status == Status::Stopped));
    assert_eq!(store.free_slot("myproject").await.unwrap(), 2);
    assert_eq!(store.free_slot("other").await.unwrap(), 1);
}

pub(crate) async fn a_session_is_taken_back_until_something_was_said(world: &World) {
    let store = with_operator(world).await;
    let make = || store.make_session(by(OPERATOR, 1), new_session(&["orchestrator", "ai"], None));
    make().await.unwrap();
    let placed = Placed {
        holder: Some(name(CLAUDE)),
        branch: Some("myproject-1/ai".to_owned()),
        ..Placed::default()
    };
    let held = store
        .place(by(OPERATOR, 2), who("ai"), placed)
        .await
        .unwrap();
    assert_eq!(
        (held.status, held.seen_at),
        (Some(Status::Active), Some(at(2)))
    );
    store
        .discard_session(by(OPERATOR, 3), session())
        .await
        .unwrap();
    let (mine, limit) = (name(OPERATOR), 10);
    assert_eq!(store.sessions_of(mine.clone(), limit).await.unwrap(), []);
    assert!(is_missing(
        store.session(mine, Who::whole(session())).await,
        "session"
    ));
    make().await.unwrap();
    join(&store, "ai").await;
    report_as(&store, "ai", report(Report::Ack, None))
        .await
        .unwrap();
    let refused = store.discard_session(by(OPERATOR, 3), session()).await;
    assert!(matches!(refused, Err(Error::Moved { .. })), "{refused:?}");
    assert_eq!(state(&store).await.agents.len(), 1);
}

pub(crate) async fn many_at_once_lose_and_double_nothing(world: &World) {
    const EACH: usize = 12;
    let names = ["orchestrator", "ai", "sec", "qa"];
    let store = team(world, &names).await;
    let work = names.iter().map(|from| {
        let store = store.clone();
        async move {
            for n in 0..EACH {
                let to = names[(n + from.len()) % names.len()];
                let body = format!("{from} {n:03}");
                send(&store, from, to, &body).await.unwrap();
                let reported = report_as(&store, from, report(Report::Ack, None));
                reported.await.unwrap();
            }
        }
    });
    futures::future::join_all(work).await;
    let mut received = 0;
    for of in names {
        let all = inbox(&store, of).await;
        let numbers: Vec<_> = all.iter().map(|message| message.number).collect();
        let expected: Vec<_> = (1..).take(all.len()).collect();
        assert_eq!(numbers, expected);
        let messages: Vec<_> = all
            .iter()
            .filter(|m| m.kind.as_str() == "message")
            .collect();
        received += messages.len();
        for from in names {
            let of_one: Vec<_> = messages.iter().filter(|m| m.from == from).collect();
            assert!(
                of_one.is_sorted_by(|a, b| a.body < b.body),
                "{of} from {from}"
            );
        }
    }
    assert_eq!(received, names.len() * EACH);
    let reports = inbox(&store, "orchestrator").await;
    let reports = reports
        .iter()
        .filter(|m| m.kind.as_str() == "report")
        .count();
    assert_eq!(reports, (names.len() - 1) * EACH);
    assert_eq!(store.verify(None).await.unwrap().findings, []);
}

pub(crate) async fn a_key_sends_once_and_answers_twice(world: &World) {
    let store = team(world, &["ai", "sec"]).await;
    let act = || -> Act {
        by(CLAUDE, 3).once(Once {
            tool: "devorch_peer_message myproject-1/ai".to_owned(),
            key: "k".to_owned(),
            arguments: [7; 32],
            repo: None,
        })
    };
    let first = store
        .send(act(), who("ai"), message("sec", "once"))
        .await
        .unwrap();
    let again = store
        .send(act(), who("ai"), message("sec", "once"))
        .await
        .unwrap();
    assert_eq!(first, again);
    assert_eq!(inbox(&store, "sec").await.len(), 1);
}

pub(crate) async fn the_last_sight_only_moves_forward(world: &World) {
    let store = team(world, &["ai", "sec"]).await;
    let bound = Seen::Bound(Binding {
        session: session(),
        role: role("ai"),
    });
    let seen = async || {
        let agents = state(&store).await.agents;
        agents
            .iter()
            .map(|agent| agent.last_seen)
            .collect::<Vec<_>>()
    };
    store.seen(vec![(bound.clone(), at(10))]).await.unwrap();
    assert_eq!(seen().await, [at(10), at(2)]);
    store.seen(vec![(bound, at(5))]).await.unwrap();
    assert_eq!(seen().await, [at(10), at(2)]);
    let holder = Seen::Holder(name(CLAUDE));
    store.seen(vec![(holder, at(12))]).await.unwrap();
    assert_eq!(seen().await, [at(12), at(12)]);
    let nobody = Seen::Holder(name("bob@example.com[x]"));
    store.seen(vec![(nobody, at(20))]).await.unwrap();
    assert_eq!(seen().await, [at(12), at(12)]);
}

pub(crate) async fn long_texts_and_wrong_names_are_refused(world: &World) {
    let store = team(world, &["ai", "sec"]).await;
    let long = send(&store, "ai", "sec", &"x".repeat(64 * 1024 + 1)).await;
    assert!(matches!(long, Err(Error::Invalid(_))));
    send(&store, "ai", "sec", &"x".repeat(64 * 1024))
        .await
        .unwrap();
    let mut odd = message("sec", "hello");
    odd.task = Some("t\u{1b}[2J".to_owned());
    let odd = store.send(by(CLAUDE, 3), who("ai"), odd).await;
    assert!(matches!(odd, Err(Error::Invalid(_))));
    for roles in [&[][..], &["ai", "ai"][..]] {
        let mut new = new_session(roles, None);
        new.id = "myproject-2".parse().unwrap();
        let refused = store.make_session(by(OPERATOR, 3), new).await;
        assert!(matches!(refused, Err(Error::Invalid(_))));
    }
}
