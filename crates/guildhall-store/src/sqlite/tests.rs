use futures::FutureExt as _;
use futures::future::BoxFuture;
use tempfile::TempDir;

use super::*;
use crate::tx::Tx;
use crate::value::args;

fn open() -> (TempDir, Database) {
    let dir = tempfile::tempdir().unwrap();
    let database = Database::open(&dir.path().join("store.db")).unwrap();
    (dir, database)
}

/// Keeps an idempotency key, the smallest row there is.
fn keep<'t>(tx: &'t mut Tx, key: &'t String) -> BoxFuture<'t, Result<()>> {
    async move {
        let sql =
            "INSERT INTO once (principal, tool, key, arguments, at) VALUES ('a', 'b', $1, $2, 0)";
        tx.run(sql, args![key, &[0; 32]]).await.map(drop)
    }
    .boxed()
}

fn keep_and_refuse<'t>(tx: &'t mut Tx, key: &'t String) -> BoxFuture<'t, Result<()>> {
    async move {
        keep(tx, key).await?;
        Err(Error::Invalid("Refused".to_owned()))
    }
    .boxed()
}

fn keep_and_panic<'t>(tx: &'t mut Tx, key: &'t String) -> BoxFuture<'t, Result<()>> {
    async move {
        keep(tx, key).await?;
        panic!("a mistake in the work");
    }
    .boxed()
}

fn keep_and_wait<'t>(tx: &'t mut Tx, key: &'t String) -> BoxFuture<'t, Result<()>> {
    async move {
        keep(tx, key).await?;
        std::future::pending().await
    }
    .boxed()
}

fn count<'t>(tx: &'t mut Tx, (): &'t ()) -> BoxFuture<'t, Result<i64>> {
    async move {
        let row = tx.row("SELECT count(*) FROM once", &[]).await?;
        row.expect("a count is one row").take()
    }
    .boxed()
}

async fn kept(database: &Database) -> i64 {
    database.read((), count, false).await.unwrap()
}

#[tokio::test]
async fn a_piece_that_fails_undoes_nothing_of_its_neighbours() {
    let (_dir, database) = open();
    let works: [Work<String, ()>; 7] = [
        keep,
        keep_and_refuse,
        keep,
        keep_and_panic,
        keep,
        keep_and_wait,
        keep,
    ];
    let pieces = works
        .iter()
        .zip(0..)
        .map(|(work, n): (_, i32)| database.write(n.to_string(), *work));
    let outcomes = futures::future::join_all(pieces).await;
    let done: Vec<_> = outcomes.iter().map(Result::is_ok).collect();
    assert_eq!(done, [true, false, true, false, true, false, true]);
    assert!(matches!(outcomes[1], Err(Error::Invalid(_))));
    assert!(matches!(outcomes[3], Err(Error::Fault(_))));
    assert!(matches!(outcomes[5], Err(Error::Fault(_))));
    assert_eq!(kept(&database).await, 4);
}

#[tokio::test]
async fn a_full_disk_is_told_and_passes() {
    /// Sets how many pages the file may have.
    fn limit<'t>(tx: &'t mut Tx, pages: &'t i64) -> BoxFuture<'t, Result<()>> {
        async move {
            let connection = tx.sqlite().expect("this is SQLite");
            connection.pragma_update(None, "max_page_count", *pages)?;
            Ok(())
        }
        .boxed()
    }
    let (_dir, database) = open();
    database.write(1, limit).await.unwrap();
    let mut before = 0;
    let refused = loop {
        match database.write(format!("{before:0200}"), keep).await {
            Ok(_) => before += 1,
            Err(error) => break error,
        }
        assert!(before < 10_000, "the limit does not hold");
    };
    assert!(matches!(refused, Error::CannotWrite(_)), "{refused:?}");
    assert_eq!(kept(&database).await, before);
    database.write(100_000, limit).await.unwrap();
    database.write("again".to_owned(), keep).await.unwrap();
    assert_eq!(kept(&database).await, before + 1);
}

#[tokio::test]
async fn only_the_owner_can_read_the_files() {
    use std::os::unix::fs::PermissionsExt as _;
    let (dir, database) = open();
    database.write("k".to_owned(), keep).await.unwrap();
    let mut files = 0;
    for file in std::fs::read_dir(dir.path()).unwrap() {
        let file = file.unwrap();
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{}", file.path().display());
        files += 1;
    }
    assert!(files >= 2, "there is a log beside the file");
}

#[tokio::test]
async fn a_closed_store_takes_no_more_and_a_reader_cannot_write() {
    let (_dir, database) = open();
    assert!(database.read("k".to_owned(), keep, false).await.is_err());
    database.close().await;
    let late = database.write("k".to_owned(), keep).await;
    assert!(matches!(late, Err(Error::Fault(_))));
}
