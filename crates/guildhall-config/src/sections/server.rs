//! `server`: the address and the limits of the server.

use schemars::JsonSchema;
use serde::Serialize;

use crate::reader::{Fields, Reading};
use crate::yaml::Node;

/// The server's address and limits.
#[derive(Clone, Debug, Eq, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, default, transform = super::later::add_server_keys)]
pub struct Server {
    /// The address to listen on. Beyond this machine a token store is required.
    pub host: String,
    /// The port; 0 takes any free one. When the default belongs to another workspace, a free one is taken too.
    pub port: u16,
    /// Whether MCP over HTTP keeps sessions. Without them a restart costs a client nothing.
    pub mcp_sessions: bool,
    /// Values of the `Host` header to accept beside this machine's own names, such as `guildhall.example.com`.
    pub allowed_hosts: Vec<String>,
    /// Origins whose web pages may call the server, such as `https://tools.example.com`.
    pub allowed_origins: Vec<String>,
    /// The longest request body, in bytes.
    #[schemars(range(min = 1024, max = 1_073_741_824))]
    pub max_request_bytes: usize,
}

impl Default for Server {
    fn default() -> Self {
        Self {
            host: "127.0.0.1".to_owned(),
            port: 4040,
            mcp_sessions: false,
            allowed_hosts: Vec::new(),
            allowed_origins: Vec::new(),
            max_request_bytes: 8 << 20,
        }
    }
}

impl Server {
    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let mut server = Self::default();
        let mut fields = Fields::of("server", node, reading);
        if let Some(host) = host(&mut fields, reading) {
            server.host = host;
        }
        let port = fields.whole("port", &(0..=u16::MAX), reading);
        server.port = port.unwrap_or(server.port);
        let sessions = fields.bool("mcp_sessions", reading);
        server.mcp_sessions = sessions.unwrap_or(server.mcp_sessions);
        server.allowed_hosts = checked("allowed_hosts", is_host, HOST, &mut fields, reading);
        server.allowed_origins =
            checked("allowed_origins", is_origin, ORIGIN, &mut fields, reading);
        let bytes = fields.whole("max_request_bytes", &(1 << 10..=1 << 30), reading);
        server.max_request_bytes = bytes.unwrap_or(server.max_request_bytes);
        fields.later(&super::later::SERVER_KEYS.map(|(key, _)| key), reading);
        fields.finish(reading);
        server
    }
}

const HOST: &str = "a host name or address, with or without a port";
const ORIGIN: &str = "an origin such as https://tools.example.com, without a path";

/// The host to listen on; a blank one is the default.
fn host(fields: &mut Fields<'_>, reading: &mut Reading<'_>) -> Option<String> {
    let found = fields.take("host", reading)?;
    let host = crate::reader::text(&found, reading)?.trim();
    if host.is_empty() {
        return None;
    }
    if !is_host(host) {
        crate::reader::wrong(&found, "a host name or address", reading);
    }
    Some(host.to_owned())
}

fn checked(
    key: &'static str,
    valid: fn(&str) -> bool,
    allowed: &str,
    fields: &mut Fields<'_>,
    reading: &mut Reading<'_>,
) -> Vec<String> {
    let Some(found) = fields.take(key, reading) else {
        return Vec::new();
    };
    let texts = crate::reader::texts(&found, reading).unwrap_or_default();
    for (item, text) in &texts {
        if !valid(text) {
            crate::reader::wrong(item, allowed, reading);
        }
    }
    texts.into_iter().map(|(_, text)| text.to_owned()).collect()
}

fn is_host(text: &str) -> bool {
    !text.is_empty()
        && text.chars().all(|c| {
            c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_' | ':' | '[' | ']' | '%')
        })
}

fn is_origin(text: &str) -> bool {
    text.strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .is_some_and(is_host)
}
