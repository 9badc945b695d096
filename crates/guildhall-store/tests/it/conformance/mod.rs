//! The suite that both databases pass: every case is a function over a [`World`](crate::world::World), named once in the
//! list below.

mod events;
mod logins;
mod once;
mod principals;
mod repos;
mod roles;
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
        names_are_taken_exactly_once_by_many_at_once,
    }
    tokens {
        a_token_is_found_by_its_hash_until_it_ends,
        limits_come_back_as_they_were_given,
        who_is_disabled_has_no_token,
        only_the_user_in_person_or_an_operator_makes_tokens,
        the_last_use_is_written_once_a_minute,
    }
    logins {
        a_login_is_approved_and_used_once,
        a_login_is_denied,
        a_login_ends_with_its_time,
        a_one_time_code_signs_its_user_in,
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
        lane_roles_come_with_the_repos_and_by_grant,
        a_public_repo_is_read_by_anybody,
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
    waiting {
        a_change_wakes_who_waits_for_it,
        a_waiter_looks_every_second,
    }
}
