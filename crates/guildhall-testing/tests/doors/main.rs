//! The doors as clients and attackers find them: requests over a socket to the product's own routes.
//!
//! Two lists say what is covered. The first is of faults that real MCP servers had and real clients stumbled over; the
//! second of attacks. What is not a test here says where it is.
//!
//! | fault | test |
//! | --- | --- |
//! | a session lost in a restart ends the client | `mcp::a_client_of_an_earlier_server_goes_on` |
//! | unknown session answered with 400 or 503 | `sessions::an_unknown_session_is_404_and_a_new_one_starts_beside_it` |
//! | sessions never deleted | `sessions::one_principal_cannot_hold_sessions_without_end`, `sessions::a_session_that_was_ended_is_gone` |
//! | a probe for `server/discover` hangs | `mcp::an_unknown_method_is_answered_at_once` |
//! | `server/discover` and then `initialize` on one connection | `mcp::both_eras_are_served_on_one_url` |
//! | an idle stream is cut by a proxy | `mcp::a_stream_is_not_buffered_by_proxies`; the comment every 15 s is rmcp's default |
//! | an empty priming event breaks older clients | `sessions::only_clients_that_know_priming_events_get_them` |
//! | DNS rebinding, and 403 behind a proxy | `gate::only_requests_for_this_server_pass`, `gate::what_is_refused_says_which_setting_allows_it` |
//! | 406 for one `Accept` type | `mcp::one_accepted_type_is_enough` |
//! | browsers blocked by CORS | `gate::a_preflight_allows_what_clients_send` |
//! | OAuth metadata that does not match | none is published: `gate::no_oauth_metadata_is_published` |
//! | 401 without `WWW-Authenticate` | `gate::every_route_asks_for_a_token` |
//! | root `anyOf`; `$schema`; `$ref`; several types; odd keys; long names | `mcp::a_tool_that_would_break_clients_does_not_mount`, and in `guildhall_tools::lint` rule by rule |
//! | pages of `tools/list` ignored or endless | `mcp::tools_come_on_one_page` |
//! | too many tools | `mcp::a_path_serves_the_packs_it_names` |
//! | results over the client's limit | `failures::a_result_over_the_budget_is_cut_and_says_so` |
//! | `content` and `structuredContent` differ; foreign content on errors | `failures::both_forms_of_a_result_are_whole`, `failures::a_failed_call_is_data` |
//! | `list_changed` ignored | `mcp::a_subscriber_hears_of_changed_tools`, `mcp::a_tool_that_is_gone_is_a_clear_failure` |
//! | objects and arrays sent as strings | `failures::arguments_that_arrive_as_strings_are_parsed` |
//! | the client's time-out | `mcp::a_long_call_reports_progress`, `mcp::a_client_that_goes_away_cancels_its_call` |
//! | standard output polluted; a bad line ends the server | the stdio door is not this server's: tests of the `guildhall` program |
//! | 40 ms for each answer | a time, so not a test: `cargo xtask bench mcp` shows it |
//! | `serverInfo` of the SDK | `mcp::the_server_says_who_it_is` |
//!
//! | attack | test |
//! | --- | --- |
//! | DNS rebinding, cross-site requests | `gate::only_requests_for_this_server_pass`, on every route |
//! | a second way in without a token | `gate::every_route_asks_for_a_token`; a bind beyond loopback is refused by the program's settings |
//! | slow clients, unread streams, idle connections | module `slow`; a body that never ends in `guildhall_server::gate` |
//! | headers that disagree, or are malformed or large | `parsing::headers_and_body_must_agree`, `parsing::malformed_requests_are_refused` |
//! | JSON made to hurt | `parsing::hostile_json_is_refused_or_harmless` |
//! | a session id of somebody else | `sessions::a_session_is_its_owners_alone` |
//! | an agent that widens itself | `people::an_agent_widens_neither_itself_nor_another` |
//! | a guessed or replayed sign-in code | `people::a_device_gets_a_token_once_a_person_approves_it`, `people::only_a_person_signs_in_and_a_code_signs_in_once`, `people::an_address_cannot_try_without_end` |
//! | a form sent by another site | `people::no_form_is_taken_from_another_page_or_browser` |

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

mod failures;
mod fixtures;
mod gate;
mod mcp;
mod openapi;
mod parsing;
mod people;
mod sessions;
mod slow;
mod support;
