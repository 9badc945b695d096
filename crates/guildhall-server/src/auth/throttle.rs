//! How often one address may do what needs no token.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use guildhall_tools::{ErrorKind, ToolError};
use jiff::{SignedDuration, Timestamp};

use crate::serve::Peer;

/// Addresses remembered at once. More than that is an attack from many addresses, which codes of 128 bits withstand.
const MOST_ADDRESSES: usize = 10_000;

/// Lets each address do something `burst` times at once, and once more after each `every`.
pub(crate) struct Throttle {
    every: SignedDuration,
    burst: i32,
    /// What an address is told that has none left.
    refusal: &'static str,
    /// When each address will have all its tries again.
    full_at: Mutex<HashMap<IpAddr, Timestamp>>,
}

impl Throttle {
    pub(crate) fn new(burst: i32, every: SignedDuration, refusal: &'static str) -> Self {
        Self {
            every,
            burst,
            refusal,
            full_at: Mutex::default(),
        }
    }

    /// Counts one try at `now` of the address that a request comes from.
    ///
    /// # Errors
    ///
    /// 429 with how long to wait, where the address has none left; that try is not counted.
    pub(crate) fn admit(&self, peer: Option<Peer>, now: Timestamp) -> Result<(), ToolError> {
        // Every connection of the server's own loop says where it is from.
        let Some(Peer(address)) = peer else {
            return Err(ToolError::internal("A request came without its address"));
        };
        self.count(address, now).map_err(|wait| {
            let mut error = ToolError::new(ErrorKind::RateLimited, self.refusal);
            error.retry_after = Some(wait.max(Duration::from_secs(1)));
            error
        })
    }

    /// Counts one try; else says how long to wait.
    fn count(&self, address: IpAddr, now: Timestamp) -> Result<(), Duration> {
        let mut full_at = self.full_at.lock().unwrap_or_else(PoisonError::into_inner);
        if full_at.len() >= MOST_ADDRESSES {
            full_at.retain(|_, at| *at > now);
            if full_at.len() >= MOST_ADDRESSES {
                full_at.clear();
            }
        }
        let entry = full_at.entry(network(address)).or_insert(now);
        let full = (*entry).max(now) + self.every;
        let over = full.duration_since(now) - self.every * self.burst;
        if over.is_positive() {
            return Err(over.unsigned_abs());
        }
        *entry = full;
        Ok(())
    }
}

/// Who has one IPv6 address has its whole /64.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
        }
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_its_tries_and_gets_them_back() {
        let throttle = Throttle::new(3, SignedDuration::from_secs(10), "Too many");
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let at = |seconds| now + SignedDuration::from_secs(seconds);
        let one = "192.0.2.1".parse().unwrap();
        for _ in 0..3 {
            assert_eq!(throttle.count(one, now), Ok(()));
        }
        assert_eq!(throttle.count(one, now), Err(Duration::from_secs(10)));
        assert_eq!(throttle.count(one, at(4)), Err(Duration::from_secs(6)));
        assert_eq!(throttle.count("192.0.2.2".parse().unwrap(), now), Ok(()));
        assert_eq!(throttle.count(one, at(10)), Ok(()));
        assert!(throttle.count(one, at(10)).is_err());
        for _ in 0..3 {
            assert_eq!(throttle.count(one, at(100)), Ok(()));
        }
        assert!(throttle.count(one, at(100)).is_err());
    }

    #[test]
    fn an_ipv6_network_is_one_address() {
        let throttle = Throttle::new(1, SignedDuration::from_secs(10), "Too many");
        let now = Timestamp::from_second(1_800_000_000).unwrap();
        let admit = |address: &str| throttle.count(address.parse().unwrap(), now).is_ok();
        assert!(admit("2001:db8::1"));
        assert!(!admit("2001:db8::2:2:2:2"));
        assert!(admit("2001:db8:0:1::1"));
        assert!(admit("192.0.2.1") && !admit("::ffff:192.0.2.1"));
    }
}
