//! Approvals, their answers, and crashes in between.

use serde_json::json;

use super::driver::{Driver, assert_provider_valid, call, calls, event, rules, state_word, words};
use crate::domain::{
    Addressed, Answer, ApprovalKind, ApprovalState, Command, Decision, InboundFile, IngressKind, Quoted,
    Said, Scope, ThreadState, WhileWaiting,
};
use crate::ports::Acceptance;
use crate::turn::{Event, Lookups, ReplyToken};
use crate::uimessage::to_model;

fn asking() -> Driver {
    let mut driver = Driver::new();
    driver.say("do it");
    driver.model(calls(vec![call("c1", "ask", json!({"n": 1}))]));
    driver
}

fn decide(driver: &mut Driver, id: &str, answer: Answer, by: &str) -> Acceptance {
    let approval = driver.conversation.pending_approvals().first().map(|approval| approval.id.clone());
    let approval = approval.unwrap_or_else(|| driver.book.values().next().unwrap().id.clone());
    let decision = Decision { approval, answer, reason: None, via: "button".to_owned(), operator: false };
    let mut arrived = event(id, IngressKind::Decision(decision));
    arrived.author.id = by.parse().unwrap();
    let ticket = ReplyToken(9000);
    driver.effects.clear();
    driver.feed(Event::Arrived { event: arrived, ticket, known: false, lookups: Lookups::default() });
    let answer = driver.effects.iter().find_map(|effect| match effect {
        crate::turn::Effect::Answer(answered, acceptance) if *answered == ticket => Some(acceptance.clone()),
        _ => None,
    });
    answer.unwrap()
}

#[test]
fn the_record_is_written_before_anybody_is_asked_and_the_slot_is_given_back() {
    let mut driver = asking();
    let effects = driver.take_effects();
    assert_eq!(effects[4..], ["save A1 Pending", "commit run_1.1 Synced", "ReleaseSlot", "parked run_1"]);
    assert_eq!(driver.conversation.state(), ThreadState::AwaitingApproval);
}

#[test]
fn an_approved_call_runs_once_and_its_spending_is_written_first() {
    let mut driver = asking();
    driver.take_effects();
    assert!(matches!(driver.say("同意"), Acceptance::Accepted { .. }));
    let effects = driver.take_effects();
    let place = |wanted: &str| {
        effects.iter().position(|effect| effect == wanted).unwrap_or_else(|| panic!("{wanted}: {effects:?}"))
    };
    assert!(place("save A1 Approved") < place("AcquireSlot"), "{effects:?}");
    assert!(place("save A1 Spent") < place("run ask c1"), "{effects:?}");
    driver.tool("c1", "done").model(words("all done"));
    assert_eq!(driver.context()[1..], ["assistant  ask(c1)", "tool c1: done", "assistant all done"]);
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_denied_call_never_runs_and_the_model_is_told() {
    let mut driver = asking();
    driver.take_effects();
    driver.say("拒绝，太危险了");
    let effects = driver.take_effects();
    assert!(effects.iter().all(|effect| !effect.starts_with("run ")), "{effects:?}");
    assert!(driver.context()[2].contains("denied"), "{:?}", driver.context());
    driver.model(words("then not"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_call_that_policy_forbids_is_refused_without_asking() {
    let mut driver = Driver::new();
    driver.say("do it");
    driver.model(calls(vec![call("c1", "forbidden", json!({}))]));
    assert!(driver.conversation.pending_approvals().is_empty());
    assert!(driver.context()[2].contains("not here"), "{:?}", driver.context());
}

#[test]
fn the_wrong_person_is_refused_and_an_owner_is_not() {
    let mut driver = asking();
    let refused = decide(&mut driver, "b1", Answer::Approve(Scope::Once), "web:user:stranger");
    assert!(matches!(refused, Acceptance::Refused(_)));
    assert_eq!(driver.conversation.state(), ThreadState::AwaitingApproval);
    let counted = decide(&mut driver, "b2", Answer::Approve(Scope::Once), "web:user:owner");
    assert!(matches!(counted, Acceptance::Accepted { .. }));
    let late = decide(&mut driver, "b3", Answer::Deny, "web:user:owner");
    assert!(matches!(late, Acceptance::Refused(_)), "the first decision wins");
}

#[test]
fn an_old_handle_works_after_a_restart_and_the_call_runs_once() {
    let driver = asking();
    let mut again = Driver::resumed(rules(), driver.lines, driver.book);
    assert_eq!(again.conversation.state(), ThreadState::AwaitingApproval);
    decide(&mut again, "b1", Answer::Approve(Scope::Once), "web:user:u");
    let effects = again.take_effects();
    assert_eq!(effects.iter().filter(|effect| effect.starts_with("run ask")).count(), 1, "{effects:?}");
}

/// Wherever the run is interrupted, also between the record and the lines, the call runs at most once; a call that had
/// begun is asked about.
#[test]
fn cut_anywhere_an_approved_call_never_runs_twice() {
    let mut driver = asking();
    decide(&mut driver, "b1", Answer::Approve(Scope::Once), "web:user:u");
    driver.tool("c1", "done").model(words("ok"));
    for lines in 0..=driver.lines.len() {
        for spent in [false, true] {
            let prefix = driver.lines[..lines].to_vec();
            let mut book = driver.book.clone();
            if !spent {
                for approval in book.values_mut() {
                    if let ApprovalState::Spent { decided, scope } = approval.state.clone() {
                        approval.state = ApprovalState::Approved { decided, scope };
                    }
                }
            }
            let begun =
                prefix.iter().any(|line| serde_json::to_string(line).unwrap().contains("\"started\":true"));
            let ended =
                prefix.iter().any(|line| serde_json::to_string(line).unwrap().contains("output-available"));
            let mut again = Driver::resumed(rules(), prefix, book);
            assert_provider_valid(&to_model(again.conversation.context()));
            let runs = again.take_effects().iter().filter(|effect| effect.starts_with("run ask")).count();
            if begun {
                assert_eq!(runs, 0, "cut after {lines} lines");
                let asked = again.conversation.pending_approvals();
                assert_eq!(
                    asked.first().map(|approval| approval.kind),
                    (!ended).then_some(ApprovalKind::UnknownOutcome)
                );
            } else {
                assert!(runs <= 1);
            }
        }
    }
}

#[test]
fn an_unknown_outcome_can_be_run_again_skipped_or_noted_as_done() {
    for (reply, expected) in [("rerun A1", "run act c1"), ("skip A1", "denied"), ("it was done", "noted")] {
        let mut driver = Driver::new();
        driver.say("do it");
        driver.model(calls(vec![call("c1", "act", json!({}))]));
        let mut again = Driver::resumed(rules(), driver.lines, driver.book);
        again.take_effects();
        again.say(reply);
        let effects = again.take_effects();
        let ran = effects.iter().any(|effect| effect.starts_with("run act"));
        assert_eq!(ran, expected.starts_with("run"), "{reply}: {effects:?}");
        if ran {
            again.tool("c1", "again");
        }
        assert!(again.conversation.pending_approvals().is_empty(), "{reply}");
        again.model(words("so be it"));
        assert!(again.conversation.is_idle(), "{reply}");
    }
}

/// The record is written before the lines, and a crash may come between the two.
#[test]
fn what_was_said_of_a_lost_call_holds_when_only_the_record_has_it() {
    for (reply, told) in
        [("rerun A1", None), ("skip A1", Some("restart is unknown")), ("it was done", Some("took effect"))]
    {
        let mut driver = Driver::new();
        driver.say("do it");
        driver.model(calls(vec![call("c1", "act", json!({}))]));
        let mut asked = Driver::resumed(rules(), driver.lines, driver.book);
        let lines = asked.lines.clone();
        asked.say(reply);
        let mut book = asked.book;
        for approval in book.values_mut().filter(|_| told.is_none()) {
            if let ApprovalState::Spent { decided, scope } = approval.state.clone() {
                approval.state = ApprovalState::Approved { decided, scope };
            }
        }
        let mut again = Driver::resumed(rules(), lines, book);
        let effects = again.take_effects();
        let runs = effects.iter().filter(|effect| effect.starts_with("run act")).count();
        assert_eq!(runs, usize::from(told.is_none()), "{reply}: {effects:?}");
        if let Some(told) = told {
            assert!(again.context()[2].contains(told), "{reply}: {:?}", again.context());
        }
        assert!(again.conversation.pending_approvals().is_empty(), "{reply}");
    }
}

/// Interrupted twice: first before the lines had the answer, then before they had the run.
#[test]
fn a_rerun_that_was_cut_off_twice_is_not_taken_for_done() {
    let mut driver = Driver::new();
    driver.say("do it");
    driver.model(calls(vec![call("c1", "act", json!({}))]));
    let mut asked = Driver::resumed(rules(), driver.lines, driver.book);
    let lines = asked.lines.clone();
    asked.say("rerun A1");
    let mut book = asked.book;
    for approval in book.values_mut() {
        if let ApprovalState::Spent { decided, scope } = approval.state.clone() {
            approval.state = ApprovalState::Approved { decided, scope };
        }
    }
    let second = Driver::resumed(rules(), lines, book);
    let begun = second.lines.iter().position(|line| {
        serde_json::to_string(line)
            .is_ok_and(|line| line.contains("\"approval-responded\"") && line.contains("\"started\":true"))
    });
    let mut third = Driver::resumed(rules(), second.lines[..begun.unwrap()].to_vec(), second.book);
    assert!(third.take_effects().contains(&"run act c1".to_owned()));
}

#[test]
fn a_question_about_a_lost_call_that_comes_to_nothing_does_not_say_that_it_never_ran() {
    for how in ["cancel", "expiry", "stop"] {
        let mut driver = Driver::new();
        driver.say("do it");
        driver.model(calls(vec![call("c1", "act", json!({}))]));
        let mut again = Driver::resumed(rules(), driver.lines, driver.book);
        match how {
            "cancel" => drop(again.command("k1", Command::Cancel)),
            "stop" => drop(again.command("k1", Command::Stop)),
            _ => {
                again.now += 60_000;
                again.feed(Event::Tick);
            }
        }
        let told = again.context()[2].clone();
        assert!(told.contains("not run again") && told.contains("restart is unknown"), "{how}: {told}");
    }
}

#[test]
fn a_call_that_only_looked_is_simply_run_again_whatever_its_tool_could_do() {
    let mut driver = Driver::new();
    driver.say("look");
    driver.model(calls(vec![call("c1", "peek", json!({}))]));
    let mut again = Driver::resumed(rules(), driver.lines, driver.book);
    assert!(again.conversation.pending_approvals().is_empty());
    let effects = again.take_effects();
    assert!(effects.contains(&"run peek c1".to_owned()), "{effects:?}");
}

/// Interrupted between withdrawing the old approval and asking again.
#[test]
fn a_call_that_was_found_changed_is_asked_about_anew_after_a_crash_too() {
    let mut driver = asking();
    driver.world = "the script was edited".to_owned();
    driver.say("approve");
    let responded = driver.lines.iter().rposition(|line| {
        serde_json::to_string(line).is_ok_and(|line| line.contains("\"approval-responded\""))
    });
    let lines = driver.lines[..=responded.unwrap()].to_vec();
    let first: Vec<_> = driver.book.into_iter().take(1).collect();
    assert_eq!(state_word(&first[0].1), "Cancelled");
    let mut again = Driver::resumed(rules(), lines, first.into_iter().collect());
    let effects = again.take_effects();
    assert!(effects.iter().all(|effect| !effect.starts_with("run ")), "{effects:?}");
    assert_eq!(again.conversation.pending_approvals().len(), 1, "{effects:?}");
}

#[test]
fn what_changed_after_the_approval_is_asked_about_again() {
    let mut driver = asking();
    driver.take_effects();
    driver.world = "the script was edited".to_owned();
    driver.say("approve");
    let effects = driver.take_effects();
    assert!(effects.iter().all(|effect| !effect.starts_with("run ")), "{effects:?}");
    assert!(effects.contains(&"save A1 Cancelled".to_owned()), "{effects:?}");
    assert_eq!(driver.conversation.pending_approvals().len(), 1);
}

#[test]
fn several_questions_are_answered_one_by_one_or_all_at_once() {
    let step = || {
        calls(vec![
            call("c1", "ask", json!({"n": 1})),
            call("c2", "ask", json!({"n": 2})),
            call("c3", "look", json!({})),
        ])
    };
    let mut driver = Driver::new();
    driver.say("do it");
    driver.model(step());
    driver.tool("c3", "seen");
    assert_eq!(driver.conversation.pending_approvals().len(), 2);
    driver.say("同意 1，拒绝 2");
    driver.tool("c1", "one");
    assert_eq!(driver.context()[2], "tool c1: one");
    assert!(driver.context()[3].starts_with("tool c2: The user denied"), "{:?}", driver.context());
    driver.tool("c3", "seen");
    assert_provider_valid(&to_model(driver.conversation.context()));

    let mut driver = Driver::new();
    driver.say("do it");
    driver.model(step());
    driver.say("yes");
    assert_eq!(
        driver.conversation.pending_approvals().len(),
        2,
        "a bare yes to two questions decides nothing"
    );
    driver.say("approve all");
    assert!(driver.conversation.pending_approvals().is_empty());
    driver.tool("c1", "one").tool("c2", "two").tool("c3", "seen").model(words("done"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn other_messages_wait_and_are_reminded_of_once() {
    let mut driver = asking();
    driver.take_effects();
    driver.say("what about the weather?");
    driver.say("hello there friend");
    let shown = driver.take_effects().iter().filter(|effect| effect.starts_with("show Progress")).count();
    assert_eq!(shown, 1);
    driver.command("x1", Command::Cancel);
    driver.model(words("withdrawn"));
    assert_eq!(driver.context().iter().filter(|line| line.starts_with("user")).count(), 3);
    driver.model(words("sunny"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn a_new_message_withdraws_the_question_where_the_operator_wants_it_so() {
    let mut settings = rules();
    settings.while_waiting = WhileWaiting::Supersede;
    let mut driver = Driver::with(settings, Vec::new());
    driver.say("do it");
    driver.model(calls(vec![call("c1", "ask", json!({}))]));
    driver.say("forget it, what time is it now?");
    assert!(driver.conversation.pending_approvals().is_empty());
    assert_eq!(driver.book.values().map(state_word).collect::<Vec<_>>(), ["Cancelled"]);
}

#[test]
fn a_question_nobody_answers_expires_and_the_turn_goes_on() {
    let mut driver = asking();
    driver.now += 59_999;
    driver.feed(Event::Tick);
    assert_eq!(driver.conversation.pending_approvals().len(), 1);
    driver.now += 1;
    driver.feed(Event::Tick);
    assert!(driver.conversation.pending_approvals().is_empty());
    assert_eq!(driver.book.values().map(state_word).collect::<Vec<_>>(), ["Expired"]);
    driver.model(words("nobody answered"));
    assert!(driver.conversation.is_idle());
}

#[test]
fn stop_ends_a_turn_that_waits_and_closes_its_questions() {
    let mut driver = asking();
    driver.command("s1", Command::Stop);
    assert!(driver.conversation.is_idle());
    assert_eq!(driver.book.values().map(state_word).collect::<Vec<_>>(), ["Cancelled"]);
    assert_provider_valid(&to_model(driver.conversation.context()));
}

#[test]
fn a_scope_becomes_a_grant() {
    let mut driver = asking();
    driver.take_effects();
    driver.say("allow for 10 minutes");
    assert!(driver.take_effects().iter().any(|effect| effect.starts_with("grant A1 Minutes(10)")));
}

/// The audit lines of answers since the last call: the outcome, and by whom.
fn audited(driver: &mut Driver) -> Vec<String> {
    let told = driver.effects.iter().filter_map(|effect| match effect {
        crate::turn::Effect::Audit(line) => {
            let line = serde_json::to_value(line).unwrap();
            let text = |key: &str| line[key].as_str().map(|value| format!(" {value}")).unwrap_or_default();
            let told = ["event", "verdict", "outcome", "number", "author", "via"].map(text).concat();
            Some(told.trim().to_owned())
        }
        _ => None,
    });
    let told = told.collect();
    driver.effects.clear();
    told
}

#[test]
fn the_audit_trail_hears_of_every_verdict_and_every_answer_that_counts_or_does_not() {
    let mut driver = asking();
    assert_eq!(audited(&mut driver), ["verdict ask A1 web:user:u"]);
    decide(&mut driver, "d1", Answer::Approve(Scope::Once), "web:user:eve");
    assert_eq!(audited(&mut driver), ["decision refused A1 web:user:eve button"]);
    decide(&mut driver, "d2", Answer::Approve(Scope::Once), "web:user:u");
    assert_eq!(audited(&mut driver), ["decision approved A1 web:user:u button", "verdict ask A1 web:user:u"]);
    decide(&mut driver, "d3", Answer::Deny, "web:user:u");
    assert_eq!(audited(&mut driver), ["decision refused web:user:u button"], "it was settled before");
}

#[test]
fn the_audit_trail_hears_of_questions_that_nobody_answered() {
    let mut driver = asking();
    audited(&mut driver);
    driver.command("x1", Command::Cancel);
    assert_eq!(audited(&mut driver), ["decision cancelled A1"]);
}

#[test]
fn words_that_are_not_somebodys_own_or_not_for_us_decide_nothing() {
    let ok = |said: Said| Said { text: "ok".to_owned(), ..said };
    let quoted = Quoted { author: Some("Bob".to_owned()), ..Quoted::default() };
    let file =
        InboundFile { media_type: "image/png".to_owned(), url: "/api/files/x/y".to_owned(), name: None };
    let context_only = Said { addressed: Addressed::CONTEXT, ..Said::default() };
    for (what, said, who, decides) in [
        ("plain words", ok(Said::default()), "web:user:u", true),
        ("words that came by", ok(context_only.clone()), "web:user:u", true),
        (
            "passed on",
            ok(Said { forwarded_from: Some("Bob".to_owned()), ..Said::default() }),
            "web:user:u",
            false,
        ),
        ("beside a file", ok(Said { files: vec![file], ..Said::default() }), "web:user:u", false),
        ("to Bob", ok(Said { quoted: Some(quoted), ..context_only.clone() }), "web:user:u", false),
        (
            "to another bot",
            Said { text: "/approve@bot_two A1".to_owned(), ..context_only.clone() },
            "web:user:u",
            false,
        ),
        ("from a stranger in passing", ok(context_only), "web:user:eve", false),
    ] {
        let mut driver = asking();
        let mut arrived = event("m2", IngressKind::Said(said));
        arrived.author.id = who.parse().unwrap();
        driver.feed(Event::Arrived {
            event: arrived,
            ticket: ReplyToken(90),
            known: false,
            lookups: Lookups::default(),
        });
        let settled = driver.conversation.pending_approvals().is_empty();
        assert_eq!(settled, decides, "{what}");
        let kept = driver.lines.iter().any(|line| line.id.as_str() == "m2" && !line.metadata.command);
        assert_eq!(kept, !decides, "{what}: what is no decision is a message");
    }
}
