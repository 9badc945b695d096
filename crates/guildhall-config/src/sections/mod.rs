//! One file per section of `WORKFLOW.md`.

pub(crate) mod lanes;
pub(crate) mod later;
pub(crate) mod logging;
pub(crate) mod options;
pub(crate) mod server;
pub(crate) mod tools;
pub(crate) mod tracker;
pub(crate) mod trackers;

use std::collections::BTreeMap;
use std::path::Path;

use schemars::JsonSchema;
use serde::Serialize;

use crate::reader::{Fields, Reading};
use crate::yaml::Node;
use lanes::LaneRules;
use logging::Logging;
use server::Server;
use tools::Tools;
use tracker::TrackerChoice;
use trackers::{Board, Tracker};

/// The settings of one workspace: the front matter of `WORKFLOW.md` with every default filled in.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[schemars(deny_unknown_fields, title = "Guildhall settings", transform = later::add_sections)]
pub struct Settings {
    /// Which tracker the work comes from.
    #[schemars(default)]
    pub tracker: TrackerChoice,
    /// The trackers, by name.
    #[schemars(default)]
    pub trackers: BTreeMap<String, Tracker>,
    /// Tool packs to mount beside the tracker's own, each with its options. The order of the file is the order in
    /// which they are mounted.
    #[schemars(default)]
    pub tools: Tools,
    /// The server's address and limits.
    #[schemars(default)]
    pub server: Server,
    /// How long claims live, and how much one person may have open.
    #[schemars(default)]
    pub lanes: LaneRules,
    /// What is logged, and where.
    #[schemars(default)]
    pub logging: Logging,
    /// Worked out of `tools.local` and the tracker; see [`Settings::board`].
    #[serde(skip)]
    board: Board,
}

impl Settings {
    /// The settings where there is no file, or an empty one, in the folder `base`.
    pub fn defaults(base: &Path) -> Self {
        let mut reading = Reading::new(&|_| None, base);
        Self::read(None, &mut reading)
    }

    /// Reads all sections of `node`.
    pub(crate) fn read(node: Option<&Node>, reading: &mut Reading<'_>) -> Self {
        let mut fields = Fields::of("", node, reading);
        let mut section = |key, reading: &mut Reading<'_>| {
            let found = fields.take(key, reading);
            found.map(|found| found.node)
        };
        let tracker = section("tracker", reading);
        let trackers = section("trackers", reading);
        let tools = section("tools", reading);
        let server = section("server", reading);
        let lanes = section("lanes", reading);
        let logging = section("logging", reading);

        let chosen_at = tracker.map(|node| node.at);
        let tracker = TrackerChoice::read(tracker, reading);
        let trackers = trackers::read(trackers, &tracker, chosen_at, reading);
        let tools = Tools::read(tools, reading);
        let board = pack_board(trackers.get(&tracker.kind), &tools, reading.base);
        let settings = Self {
            tracker,
            trackers,
            tools,
            server: Server::read(server, reading),
            lanes: LaneRules::read(lanes, reading),
            logging: Logging::read(logging, reading),
            board,
        };
        let later: Vec<_> = later::SECTIONS.iter().map(|(key, _)| *key).collect();
        fields.later(&later, reading);
        fields.finish(reading);
        settings
    }

    /// The tracker that `tracker.kind` names.
    ///
    /// # Panics
    ///
    /// Never for settings that were loaded: reading refuses a name without a tracker.
    pub fn active_tracker(&self) -> &Tracker {
        &self.trackers[&self.tracker.kind]
    }

    /// The folder of Markdown files that the `local` pack works on, and the prefix of its ids.
    ///
    /// `tools.local` goes before the tracker's own board, which counts only where the provider is `local`.
    pub fn board(&self) -> &Board {
        &self.board
    }
}

fn pack_board(tracker: Option<&Tracker>, tools: &Tools, base: &Path) -> Board {
    let tracker = tracker.and_then(Tracker::board);
    let Board { path, id_prefix } = tracker.unwrap_or_else(|| Board::default_in(base));
    let local = tools.local.as_ref();
    Board {
        path: local.and_then(|local| local.path.clone()).unwrap_or(path),
        id_prefix: local
            .and_then(|local| local.id_prefix.clone())
            .unwrap_or(id_prefix),
    }
}
