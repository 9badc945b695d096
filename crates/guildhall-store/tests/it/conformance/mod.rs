//! The suite that both databases pass: every case is a function over a [`World`](crate::world::World), named once in the
//! list below.

mod asks;
mod events;
mod flow;
mod ladder;
mod lanes;
mod logins;
mod once;
mod principals;
mod repos;
mod roles;
mod team;
mod tokens;
mod waiting;

macro_rules! suite {
    ($($module:ident { $($case:ident),* $(,)? })*) => {
        mod sqlite {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    crate::conformance::$module::$case(&crate::world::World::sqlite()).await;
                })*
            })*
        }

        mod postgres {
            $(mod $module {
                $(#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $case() {
                    if let Some(world) = crate::world::World::postgres().await {
                        crate::conformance::$module::$case(&world).await;
                    }
                })*
            })*
        }
    };
}

suite! {
    principals {
        the_operator_is_made_once,
        only_operators_add_users,
        a_user_adds_their_own_agents,
        a_disabled_user_takes_their_agents_along,
        an_agent_that_is_made_again_has_none_of_its_tokens,
        names_are_taken_exactly_once_by_many_at_once,
    }
    tokens {
        a_token_is_found_by_its_hash_until_it_ends,
        limits_come_back_as_they_were_given,
        who_is_disabled_has_no_token,
        every_token_is_listed_by_its_principal,
        only_the_user_in_person_or_an_operator_makes_tokens,
        the_last_use_is_written_once_a_minute,
    }
    logins {
        a_login_is_approved_and_used_once,
        a_login_is_denied,
        a_login_ends_with_its_time,
        a_one_time_code_signs_its_user_in,
        a_login_gives_its_token_or_is_not_used,
        many_at_once_redeem_a_login_once,
    }
    repos {
        a_name_is_exact_and_taken_in_any_case,
        the_head_moves_only_from_where_it_is,
        one_of_many_moves_of_the_head_wins,
        a_removed_repo_leaves_its_events,
    }
    roles {
        only_an_owner_in_person_grants,
        an_agent_has_its_users_roles,
        a_repo_role_is_replaced_and_withdrawn,
        of_grants_at_once_one_holds,
        lanes_are_for_who_contributes,
        what_somebody_may_read_is_told_at_once,
        lane_roles_come_with_the_repos_and_by_grant,
        a_public_repo_is_read_by_anybody,
    }
    lanes {
        every_repo_has_its_own_lane,
        a_proposer_coordinates_and_only_an_owner_in_person_names_maintainers,
        a_coordinator_relates_and_closes,
        an_owner_in_person_allows_self_review,
        a_person_has_so_many_open_lanes,
        lanes_come_in_pages_with_their_people,
    }
    asks {
        one_of_many_claims_wins_and_the_fence_rises,
        a_lease_that_ran_out_lets_others_claim,
        a_late_holder_is_refused_by_the_fence,
        an_expired_claim_nobody_replaced_still_answers,
        a_claim_is_renewed_and_given_up_by_its_holder_alone,
        scopes_hold_at_claim_and_at_answer,
        an_ask_waits_for_what_it_depends_on,
        a_denied_dependency_blocks,
        circles_are_refused,
        thousands_of_edges_take_bounded_time,
        the_best_ask_comes_first_with_who_touches_its_files,
        files_that_everybody_touches_leave_every_ask_its_overlaps,
        ones_own_reviews_hide_no_others,
        a_person_has_so_many_unanswered_asks,
        who_may_not_answer_any_more_does_not_keep_it,
        wrong_asks_are_refused_in_words,
        a_closed_lane_takes_no_work,
        a_key_claims_once,
    }
    flow {
        work_is_reviewed_submitted_and_landed,
        nobody_reviews_their_own,
        a_denied_review_reopens_the_work_with_its_note,
        a_denied_submission_reopens_the_work,
        a_conflict_is_resolved_by_a_changeset_of_its_own,
        landing_compares_and_swaps_and_answers_once,
        one_of_many_landings_wins,
        nothing_unreviewed_is_posted_by_hand,
        answers_come_with_what_their_kind_needs,
        changesets_have_limits,
        an_owner_in_person_commits_directly,
        the_lane_shows_every_step,
    }
    once {
        a_key_gives_the_first_answer,
        a_key_with_other_arguments_is_refused,
        a_refused_change_leaves_no_key,
        a_key_lives_a_day,
        many_at_once_under_one_key_do_it_once,
        blank_and_long_keys_are_refused,
    }
    events {
        every_change_writes_its_event,
        a_refused_change_writes_none,
        the_feed_goes_on_where_it_was_left,
        many_writers_leave_a_whole_log_and_the_feed_misses_nothing,
        a_log_nobody_touched_verifies,
        an_edited_row_is_found,
        an_edited_chain_is_found,
        a_dropped_row_is_found,
        a_dropped_end_is_found,
        a_dropped_stream_is_found,
        reordered_rows_are_found,
        a_dropped_seal_is_found,
        a_rewritten_log_is_found_by_its_anchor,
        two_nodes_seal_one_chain,
        text_with_a_zero_character_is_refused,
    }
    team {
        a_role_is_active_once_its_agent_has_set_up,
        a_session_is_its_owners_and_a_repos_maintainers,
        what_a_call_says_of_the_session_is_verified,
        a_bound_token_speaks_for_its_role_alone,
        a_token_limited_to_repos_sees_their_sessions_alone,
        a_revoked_token_reads_nothing_more,
        the_lowest_free_slot_is_given,
        a_page_tells_whether_there_is_more,
        a_repo_that_goes_leaves_its_sessions_to_their_owners,
        a_second_agent_of_a_live_role_needs_a_takeover,
        messages_come_in_order_until_they_are_acknowledged,
        a_sender_sees_what_became_of_its_messages,
        a_full_queue_refuses_messages_and_takes_reports,
        only_active_roles_send_and_receive,
        reports_move_the_role_and_its_task,
        a_blocked_task_is_completed,
        reports_wait_for_an_orchestrator,
        a_person_pauses_takes_over_and_brings_back,
        a_stopped_session_refuses_changes_and_ends_its_tokens,
        a_session_is_taken_back_until_something_was_said,
        many_at_once_lose_and_double_nothing,
        a_key_sends_once_and_answers_twice,
        the_last_sight_only_moves_forward,
        long_texts_and_wrong_names_are_refused,
    }
    ladder {
        rungs_are_written_all_or_none,
        only_who_owns_or_coordinates_writes,
        who_holds_an_ask_for_it_writes,
        what_is_replaced_is_kept,
        one_of_many_that_replace_a_version_wins,
        words_phrases_and_beginnings_are_found_in_one_order,
        nothing_that_is_typed_is_an_error,
        pages_follow_each_other_whatever_is_written,
        nobody_sees_a_rung_of_a_repo_they_cannot_see,
        twenty_thousand_rungs_are_searched,
        a_lost_index_is_made_anew_beside_writers,
    }
    waiting {
        a_change_wakes_who_waits_for_it,
        a_waiter_looks_every_second,
    }
}
