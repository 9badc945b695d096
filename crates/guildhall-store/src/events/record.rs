//! Writing an event.

use serde_json::Value;

use super::hash::{self, Content};
use super::{About, Stream};
use crate::act::Act;
use crate::error::Result;
use crate::tx::Tx;
use crate::value::{Arg, args};

/// An event that happens now.
pub(crate) struct NewEvent {
    pub(crate) stream: Stream,
    pub(crate) kind: &'static str,
    pub(crate) about: About,
    pub(crate) data: Value,
}

/// One statement where the database can hash: a round trip less in every change.
const POSTGRES: &str = "WITH head AS (
        INSERT INTO streams (stream, length, hash)
        VALUES ($1, 1, sha256($10 || $11))
        ON CONFLICT (stream) DO UPDATE
            SET length = streams.length + 1, hash = sha256(streams.hash || $11)
        RETURNING length, hash
    )
    INSERT INTO events (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    SELECT $1, head.length, $2, $3, $4, $5, $6, $7, $8, $9, $12, head.hash FROM head";

const HEAD: &str = "SELECT length, hash FROM streams WHERE stream = $1";
const NEW_HEAD: &str = "INSERT INTO streams (stream, length, hash) VALUES ($1, $2, $3)
    ON CONFLICT (stream) DO UPDATE SET length = excluded.length, hash = excluded.hash";
const SQLITE: &str = "INSERT INTO events
        (stream, seq, at, actor, kind, repo, lane, ask, session, run, data, hash)
    VALUES ($1, $10, $2, $3, $4, $5, $6, $7, $8, $9, $12, $11)";

impl Tx {
    /// Writes what `act` did, as part of the same transaction. Locks the stream: no other change of it is between this
    /// event and the commit.
    pub(crate) async fn record(&mut self, act: &Act, event: NewEvent) -> Result<()> {
        let NewEvent {
            stream,
            kind,
            about,
            data,
        } = event;
        let data = data.to_string();
        let digest = Content {
            stream: stream.name(),
            at_ms: act.at.as_millisecond(),
            actor: act.by.name(),
            kind,
            about: &about,
            data: &data,
        }
        .digest();
        let linked;
        let (sql, tenth, eleventh): (_, Arg<'_>, Arg<'_>) = if self.sqlite().is_some() {
            let (before, hash) = match self.row(HEAD, args![stream.name()]).await? {
                Some(mut head) => (head.take()?, head.take()?),
                None => (0_i64, hash::START),
            };
            let seq = before + 1;
            linked = hash::link(&hash, &digest);
            let head = args![stream.name(), seq, &linked];
            self.run(NEW_HEAD, head).await?;
            (SQLITE, seq.into(), (&linked).into())
        } else {
            (POSTGRES, (&hash::START).into(), (&digest).into())
        };
        self.run(
            sql,
            args![
                stream.name(),
                act.at,
                &act.by,
                kind,
                &about.repo,
                &about.lane,
                &about.ask,
                &about.session,
                &about.run,
                tenth,
                eleventh,
                &data,
            ],
        )
        .await?;
        self.touched.push(stream.name().to_owned());
        Ok(())
    }
}
