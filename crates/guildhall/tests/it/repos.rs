//! Hosted repositories: taken in, read, cloned, brought to their origin and back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use guildhall_store::Repos as _;
use serde_json::{Value, json};

use crate::hosted::{Bench, OTHER, OWNER, act, ask, bearer};
use crate::support::{Ran, eventually};

#[test]
fn a_repository_is_taken_in_and_read() {
    let bench = Bench::new();
    let head = bench.git(&bench.origin(), &["rev-parse", "HEAD"]);
    let up = bench.place.up(&[]);
    let added = bench.add(&[]);
    assert_eq!(
        added,
        json!({
            "repo": "acme/site", "public": false, "role": "owner", "default_branch": "main", "head": head,
            "origin": bench.origin().canonicalize().unwrap(), "origin_head": head, "ahead": 0, "behind": 0,
        })
    );
    assert_eq!(bench.repo("show", &[]).json(), added);
    let listed = bench.place.run(&["repo", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
    assert_eq!(listed[0]["repo"], "acme/site");

    let (path, token) = (
        "/api/repos/acme/site/tools/git_log",
        bearer(&bench.owner_token()),
    );
    let call = |body| ask(&up, "POST", path, Some(&token), Some(body));
    let log = call(json!({ "repo": "acme/site", "actor": OWNER }));
    assert_eq!(log.json()["result"]["commits"][0]["sha"], head);
    let other = call(json!({ "repo": "acme/other" }));
    assert_eq!(
        (other.status, other.json()["code"].as_str()),
        (400, Some("bad_arguments"))
    );
    assert_eq!(call(json!({ "actor": OTHER })).status, 403);
    let tools = ask(&up, "GET", "/api/repos/acme/site/tools", Some(&token), None);
    let tools = tools.json()["result"]["tools"].to_string();
    assert!(tools.contains("git_log") && !tools.contains("local_query"));
}

#[test]
fn what_cannot_be_taken_in_is_refused_and_leaves_nothing() {
    let bench = Bench::new();
    let _up = bench.place.up(&[]);
    bench.add(&[]);
    let add = |name: &str, flag: &str, from: &str| {
        let ran = bench.place.run(&["repo", "add", name, flag, from]);
        (ran.code, ran.err)
    };
    let origin = bench.origin();
    let origin = origin.to_str().unwrap();
    let (code, said) = add("ACME/Site", "--path", origin);
    assert!(
        code == 1 && said.contains("There is a repository `acme/site` already"),
        "{said}"
    );
    let (code, said) = add("../x", "--path", origin);
    assert!(code == 2 && said.contains("`../x` is not"), "{said}");
    let (code, said) = add("a/b", "--path", "nowhere");
    assert!(code == 1 && said.contains("is no directory"), "{said}");
    let marker = bench.place.home().join("ran");
    let attack = format!("ext::sh -c touch% {}", marker.display());
    for address in [&*attack, "file:///etc", "--upload-pack=x"] {
        let ran = bench
            .place
            .run(&["repo", "add", "a/b", &format!("--clone={address}")]);
        assert!(
            ran.code == 1 && ran.err.contains("cannot be cloned"),
            "{ran:?}"
        );
    }
    let (code, said) = add("a/b", "--clone", "https://me:s3cret@example.com/a");
    assert!(code == 1 && !said.contains("s3cret"), "{said}");
    assert!(!marker.exists());
    let listed = bench.place.run(&["repo", "list", "--json"]).json();
    assert_eq!(listed.as_array().unwrap().len(), 1);
}

#[test]
fn git_clones_and_fetches_with_a_token_and_cannot_push() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    let token = bench.owner_token();
    let url = format!("{}/acme/site.git", up.url());
    let home = bench.place.home();
    let clone = home.join("clone");

    let refused = bench.git_command(home).args(["clone", &url]).output();
    assert_ne!(Ran::of(&refused.unwrap()).code, 0);
    bench
        .git_with(&token, home, &["clone", "-q", &url, "clone"])
        .ok();
    assert_eq!(
        bench.git(&clone, &["rev-parse", "HEAD"]),
        bench.git(&bench.origin(), &["rev-parse", "HEAD"])
    );
    let config = std::fs::read_to_string(clone.join(".git/config")).unwrap();
    assert!(!config.contains(&token), "{config}");

    // With so many commits of its own, git's request is long enough to be compressed. Git tells of the newest first and ends
    // at the first that the server has, so they must be newer than what was cloned, also where all of this takes a second.
    for number in 0..80 {
        let message = format!("Own {number}");
        let mut command = bench.git_command(&clone);
        command.env("GIT_COMMITTER_DATE", "2099-01-01T00:00:00Z");
        command.args(["commit", "-q", "--allow-empty", "-m", &message]);
        Ran::of(&command.output().unwrap()).ok();
    }
    let newer = bench.commit("second", "two\n");
    assert_eq!(bench.repo("sync", &[]).json()["head"], newer);
    let fetched = {
        let mut command = bench.git_command(&clone);
        let header = format!("http.extraHeader=Authorization: {}", bearer(&token));
        command.args(["-c", &header, "fetch", "-q"]);
        Ran::of(&command.env("GIT_TRACE_CURL", "1").output().unwrap())
    };
    assert_eq!(fetched.code, 0, "{fetched:?}");
    assert!(
        fetched
            .err
            .to_ascii_lowercase()
            .contains("content-encoding: gzip"),
        "{fetched:?}"
    );
    assert_eq!(bench.git(&clone, &["rev-parse", "origin/main"]), newer);

    let push = bench.git_with(&token, &clone, &["push", "origin", "HEAD:refs/heads/mine"]);
    assert!(
        push.code != 0 && push.err.contains("Pushes are refused"),
        "{push:?}"
    );
}

#[test]
fn a_server_packs_what_changes_left_scattered() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    assert_eq!(up.stop(), 0);
    let hosted = bench.hosted();
    for n in 0..50 {
        let message = format!("Scattered {n}");
        let made = ["commit-tree", "main^{tree}", "-p", "main", "-m", &message];
        let made = bench.git(&hosted, &made);
        bench.git(
            &hosted,
            &["update-ref", &format!("refs/heads/scattered{n}"), &made],
        );
        bench.git(&hosted, &["repack", "-q", "-d"]);
    }
    let packs = || {
        let listed = std::fs::read_dir(hosted.join("objects/pack")).unwrap();
        let paths = listed.map(|entry| entry.unwrap().path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == "pack"))
            .count()
    };
    assert!(packs() >= 50, "{}", packs());
    let _up = bench.place.up(&[]);
    eventually("packed", || packs() < 10);
}

#[test]
fn the_origin_is_followed_and_landed_work_gets_home() {
    let bench = Bench::new();
    // An origin that takes pushes has no checkout of the branch.
    let bare = bench.place.home().join("bare");
    let bare_path = bare.to_str().unwrap();
    let home = bench.place.home();
    bench.git(home, &["clone", "-q", "--bare", "origin", "bare"]);
    let up = bench.place.up(&[]);
    bench.repo("add", &["--path", bare_path]).json();
    let first = bench.git(&bare, &["rev-parse", "main"]);
    assert_eq!(up.stop(), 0);

    // A commit lands: the store says so, and the server ends before git hears of it.
    let landed = bench.git(
        &bench.hosted(),
        &["commit-tree", "main^{tree}", "-p", "main", "-m", "Landed"],
    );
    let (from, to) = (first.clone(), landed.clone());
    bench.with_store(|store| async move {
        let name = "acme/site".parse().unwrap();
        let moved = store.move_head(act(OWNER), name, Some(from), to);
        moved.await.unwrap();
    });
    let up = bench.place.up(&[]);
    let shown = bench.repo("show", &[]).json();
    assert_eq!(
        (&shown["head"], &shown["ahead"], &shown["behind"]),
        (&json!(landed), &json!(1), &json!(0))
    );
    assert_eq!(bench.git(&bench.hosted(), &["rev-parse", "main"]), landed);

    assert_eq!(bench.repo("push", &[]).json()["ahead"], 1);
    assert_eq!(bench.git(&bare, &["rev-parse", "main"]), landed);
    let shown = bench.repo("show", &[]).json();
    assert_eq!(
        (&shown["ahead"], &shown["origin_head"]),
        (&json!(0), &json!(landed))
    );

    // Somebody takes the landed commit back and goes another way: both moved.
    let other = bench.git(
        &bare,
        &[
            "commit-tree",
            "main^{tree}",
            "-p",
            &first,
            "-m",
            "Elsewhere",
        ],
    );
    bench.git(&bare, &["update-ref", "refs/heads/main", &other]);
    for action in ["sync", "push"] {
        let ran = bench.repo(action, &[]);
        assert!(
            ran.code == 1
                && ran
                    .err
                    .contains("`main` is 1 ahead and 1 behind its origin"),
            "{ran:?}"
        );
    }
    assert_eq!(bench.git(&bench.hosted(), &["rev-parse", "main"]), landed);
    assert_eq!(bench.git(&bare, &["rev-parse", "main"]), other);

    bench.repo("remove", &[]).json();
    assert!(!bench.hosted().exists() && bare.exists());
    let gone = bench.repo("show", &[]);
    assert!(
        gone.code == 1 && gone.err.contains("There is no repository `acme/site`"),
        "{gone:?}"
    );
    // The name is free again.
    assert_eq!(
        bench.repo("add", &["--path", bare_path]).json()["head"],
        other
    );
    drop(up);
}

#[test]
fn what_somebody_may_not_see_is_not_there() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    assert_eq!(up.stop(), 0);
    let (other, limited) = bench.other_people();
    let up = bench.place.up(&[]);
    let paths = |name: &str| {
        [
            ("GET", format!("/api/repos/{name}")),
            ("GET", format!("/api/repos/{name}/tools")),
            ("POST", format!("/api/repos/{name}/tools/git_log")),
            ("POST", format!("/api/repos/{name}/tools/nonsense")),
            ("POST", format!("/api/repos/{name}/mcp")),
            (
                "GET",
                format!("/{name}.git/info/refs?service=git-upload-pack"),
            ),
            ("POST", format!("/{name}.git/git-upload-pack")),
        ]
    };
    let same = |authorization: Option<&str>, status: u16| {
        for name in [
            "acme/gone",
            "ACME/site",
            "acme/s\u{456}te",
            "acme/..%2fsite",
        ] {
            for ((method, hidden), (_, missing)) in paths("acme/site").into_iter().zip(paths(name))
            {
                let body = || (method == "POST").then(|| json!({}));
                let hidden = ask(&up, method, &hidden, authorization, body());
                let missing = ask(&up, method, &missing, authorization, body());
                assert_eq!(hidden.status, status, "{method} {name} {}", hidden.text);
                assert_eq!(missing.status, status, "{method} {name} {}", missing.text);
                assert_eq!(hidden.challenge, missing.challenge);
                if name == "acme/gone" {
                    assert_eq!(hidden.text.replace("acme/site", "acme/gone"), missing.text);
                }
            }
        }
    };
    same(None, 401);
    same(Some(&bearer(&other)), 404);
    same(Some(&bearer(&limited)), 404);

    let basic = |token: &str| format!("Basic {}", BASE64.encode(format!("any:{token}")));
    let refs = "/acme/site.git/info/refs?service=git-upload-pack";
    let status = |authorization: Option<&str>, path: &str| {
        let answered = ask(&up, "GET", path, authorization, None);
        (answered.status, answered.challenge)
    };
    let challenge = Some("Basic realm=\"guildhall\"".to_owned());
    assert_eq!(status(None, refs), (401, challenge.clone()));
    assert_eq!(status(Some(&basic("wrong")), refs), (401, challenge));
    assert_eq!(status(Some(&basic(&other)), refs), (404, None));
    assert_eq!(
        status(Some(&basic(&bench.owner_token())), refs),
        (200, None)
    );
    let bare = "/api/repos/acme/site/tools";
    let challenge = Some("Bearer realm=\"guildhall\"".to_owned());
    assert_eq!(status(None, bare), (401, challenge));
}

#[test]
fn a_token_is_limited_only_to_what_its_maker_knows_of() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    assert_eq!(up.stop(), 0);
    let (other, _) = bench.other_people();
    let up = bench.place.up(&[]);
    let owner = bench.owner_token();
    let asked = |token: &str, path: &str, body: Value| {
        let answered = ask(&up, "POST", path, Some(&bearer(token)), Some(body));
        (answered.status, answered.text)
    };
    asked(&owner, "/api/agents/claude", json!({}));
    for path in ["/api/agents/codex", "/api/agents/claude/tokens"] {
        let (status, text) = asked(&owner, path, json!({ "tools": ["git_log", "git_blam"] }));
        assert_eq!(status, 400, "{text}");
        assert!(text.contains("'tools' has `git_blam`"), "{text}");
        assert!(text.contains("Did you mean `git_blame`?"), "{text}");
        let (status, text) = asked(&owner, path, json!({ "repos": ["acme/sight"] }));
        assert_eq!(status, 400, "{text}");
        assert!(text.contains("'repos' has `acme/sight`"), "{text}");
        assert!(text.contains("Did you mean `acme/site`?"), "{text}");
    }
    // A refused limit makes no agent.
    let listed = bench.place.run(&["agent", "list"]).ok();
    assert!(!listed.contains("codex"), "{listed}");
    let user = |limits: Value| json!({ "username": "it@example.com", "print_token": true, "limits": limits });
    let (status, text) = asked(&owner, "/api/users", user(json!({ "tools": ["nope"] })));
    assert_eq!(status, 400, "{text}");

    // What is there is taken, the tools of repositories too though the settings mount none of them.
    let limits = json!({ "tools": ["git_log", "local_query"], "repos": ["acme/site"] });
    let (status, text) = asked(&owner, "/api/agents/codex", limits.clone());
    assert_eq!(status, 200, "{text}");
    // To who may not see it, the repository is not there.
    for path in ["/api/agents/codex", "/api/agents/codex/tokens"] {
        let of = |repo: &str| asked(&other, path, json!({ "repos": [repo] }));
        let (hidden, missing) = (of("acme/site"), of("acme/gone"));
        assert_eq!(hidden.0, 400, "{hidden:?}");
        assert_eq!(hidden.1.replace("acme/site", "acme/gone"), missing.1);
    }
    let ran = bench.place.run(&[
        "agent",
        "token",
        "claude",
        "--tool",
        "nope",
        "--repo",
        "acme/site",
    ]);
    assert_eq!(ran.code, 1, "{ran:?}");
    assert!(ran.err.contains("`nope`"), "{ran:?}");
}

#[test]
fn roles_and_being_public_open_a_repository_for_reading_only() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&["--public"]);
    assert_eq!(up.stop(), 0);
    let (other, limited) = bench.other_people();
    let up = bench.place.up(&[]);
    let ask_as =
        |token: &str, method: &str, path: &str| ask(&up, method, path, Some(&bearer(token)), None);
    let show = ask_as(&other, "GET", "/api/repos/acme/site");
    let shown = show.json()["result"].clone();
    assert_eq!(
        (shown["role"].as_str(), shown.get("origin")),
        (Some("reader"), None),
        "{shown}"
    );
    let log = "/api/repos/acme/site/tools/git_log";
    assert_eq!(ask_as(&other, "POST", log).status, 200);
    assert_eq!(ask_as(&limited, "POST", log).status, 404);
    assert_eq!(ask(&up, "POST", log, None, None).status, 401);
    let made = bench.place.run(&["connect", "claude", "--http"]);
    assert_eq!(made.code, 0);
    let agent = std::fs::read_to_string(bench.place.state().join("agents/claude.token")).unwrap();
    for token in [other.as_str(), agent.trim()] {
        for (method, path) in [
            ("POST", "/api/repos"),
            ("DELETE", "/api/repos/acme/site"),
            ("POST", "/api/repos/acme/site/sync"),
            ("POST", "/api/repos/acme/site/push"),
            ("DELETE", "/api/repos/acme/gone"),
        ] {
            let answered = ask_as(token, method, path);
            assert_eq!(answered.status, 403, "{method} {path} {}", answered.text);
        }
    }
    let path = "/api/repos/acme/site/tools/role_grant";
    let grant = |token: &str| {
        let body = json!({ "username": OTHER, "role": "contributor" });
        ask(&up, "POST", path, Some(&bearer(token)), Some(body)).status
    };
    assert_eq!((grant(agent.trim()), grant(&other)), (403, 403));
    assert_eq!(grant(&bench.owner_token()), 200);
    assert_eq!(up.stop(), 0);

    bench.with_store(|store| async move {
        let name = "acme/site".parse().unwrap();
        store.set_public(act(OWNER), name, false).await.unwrap();
    });
    let up = bench.place.up(&[]);
    let show = "/api/repos/acme/site";
    let shown = ask(&up, "GET", show, Some(&bearer(&other)), None);
    assert_eq!(shown.json()["result"]["role"], "contributor");
}

#[test]
fn a_call_that_names_no_repository_finds_the_one_that_is_meant() {
    let bench = Bench::new();
    bench
        .place
        .write("WORKFLOW.md", "---\ntools:\n  git: {}\n---\n");
    let _up = bench.place.up(&[]);
    let log = || bench.place.run(&["call", "git_log"]);
    let none = log();
    assert!(
        none.code == 1 && none.err.contains("There is no repository here"),
        "{none:?}"
    );
    bench.add(&[]);
    assert_eq!(log().json()["total"], 1);

    let workspace = bench.place.workspace();
    bench.git(&workspace, &["init", "-q", "-b", "main"]);
    bench.git(&workspace, &["commit", "-q", "--allow-empty", "-m", "A"]);
    bench.git(&workspace, &["commit", "-q", "--allow-empty", "-m", "B"]);
    bench
        .place
        .run(&["repo", "add", "acme/third", "--path", "../origin"])
        .ok();
    let several = log();
    assert!(
        several.code == 1 && several.err.contains("acme/site, acme/third"),
        "{several:?}"
    );
    bench
        .place
        .run(&["repo", "add", "acme/own", "--path", "."])
        .ok();
    assert_eq!(log().json()["total"], 2);
    let named = bench.place.run(&["call", "git_log", "repo=acme/site"]);
    assert_eq!(named.json()["total"], 1);
}

#[test]
fn a_repository_has_an_mcp_door_of_its_own() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&[]);
    let token = bearer(&bench.owner_token());
    let rpc = |path: &str, method: &str, params: Value| {
        let body = json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params });
        ask(&up, "POST", path, Some(&token), Some(body)).json()
    };
    let door = "/api/repos/acme/site/mcp";
    let listed = rpc(door, "tools/list", json!({}))["result"]["tools"].to_string();
    assert!(
        listed.contains("\"git_log\"") && !listed.contains("local_query"),
        "{listed}"
    );
    let call = |door: &str, arguments: Value| {
        let params = json!({ "name": "git_log", "arguments": arguments });
        rpc(door, "tools/call", params)["result"].clone()
    };
    let log = call(door, json!({}));
    assert_eq!(log["structuredContent"]["total"], 1, "{log}");
    assert_eq!(call(door, json!({ "repo": "acme/x" }))["isError"], true);
    // What the settings mount is another matter.
    assert_eq!(call("/mcp", json!({}))["isError"], true);
}

#[test]
fn lanes_and_the_ladder_of_a_public_repository_are_read_without_a_token() {
    let bench = Bench::new();
    let up = bench.place.up(&[]);
    bench.add(&["--public"]);
    let origin = bench.origin();
    let path = origin.to_str().expect("it is text");
    bench
        .place
        .run(&["repo", "add", "acme/secret", "--path", path])
        .ok();
    let post = |repo: &str, tool: &str, body: Value| {
        let path = format!("/api/repos/{repo}/tools/{tool}");
        // Ten a second are answered.
        loop {
            let answer = ask(&up, "POST", &path, None, Some(body.clone()));
            if answer.status != 429 {
                return answer;
            }
        }
    };
    let lanes = post("acme/site", "lane_list", json!({}));
    assert_eq!(lanes.status, 200, "{}", lanes.text);
    let lane = &lanes.json()["result"]["lanes"][0];
    assert_eq!(lane["id"], "_repo");
    assert_eq!(lane["maintainers"], json!(["owner"]), "{}", lanes.text);
    assert!(!lanes.text.contains('@'), "{}", lanes.text);
    assert_eq!(post("acme/site", "ladder_tree", json!({})).status, 200);
    // Everything else is as it is without a token, whether it is there or not.
    for (repo, tool, body) in [
        ("acme/site", "lane_get", json!({ "lane_id": "_repo" })),
        ("acme/site", "git_log", json!({})),
        (
            "acme/site",
            "ask_post",
            json!({ "lane_id": "_repo", "kind": "work", "title": "x" }),
        ),
        ("acme/site", "no_such_tool", json!({})),
        ("acme/secret", "lane_list", json!({})),
        ("acme/none", "lane_list", json!({})),
        ("../site", "lane_list", json!({})),
    ] {
        let refused = post(repo, tool, body);
        assert!(
            refused.status == 401 || (repo.starts_with("..") && refused.status >= 400),
            "{repo} {tool}: {} {}",
            refused.status,
            refused.text
        );
    }
    let named = post("acme/site", "lane_list", json!({ "repo": "acme/secret" }));
    assert_eq!(named.status, 400, "{}", named.text);
    let as_owner = post("acme/site", "lane_list", json!({ "actor": OWNER }));
    assert_eq!(as_owner.status, 403, "{}", as_owner.text);
    let listed = ask(&up, "GET", "/api/repos/acme/site/tools", None, None);
    assert_eq!(listed.status, 401, "{}", listed.text);
    let wrong = ask(
        &up,
        "POST",
        "/api/repos/acme/site/tools/lane_list",
        Some("Bearer gh_wrong"),
        Some(json!({})),
    );
    assert_eq!(wrong.status, 401, "{}", wrong.text);
}
