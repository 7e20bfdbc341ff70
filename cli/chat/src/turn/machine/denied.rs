//! Calls that are denied, by the user, by a rule or by a hook, and those that are left out for it.

use dunlin_host::call::{Failure, PlanStatus};
use dunlin_host::permission::Revert;

use super::super::call::{CallState, Denial, DeniedBy};
use super::super::event::{Effect, OnDenial};
use super::Turn;

/// What the model is told of a call that the mode of the session has refused.
const IN_PLAN_MODE: &str = "\n\nPlan mode is on: nothing is changed. Find out what you need by reading, and end with a plan.";

impl Turn<'_> {
    /// Refuses a call. `failure`: of a call that was about to run, or that a hook refuses; otherwise what its plan asks is
    /// refused.
    pub(super) fn deny(
        &mut self,
        number: usize,
        failure: Option<Failure>,
        by: Option<DeniedBy>,
        effects: &mut Vec<Effect>,
    ) {
        let call = &mut self.calls[number];
        let planned = || {
            let plan = call.plan.as_ref().map(|plan| plan.question.clone());
            plan.unwrap_or_else(|| {
                let view = call.view();
                format!("{} {}", view.tool, view.target)
                    .trim_end()
                    .to_owned()
            })
        };
        let failure = failure.unwrap_or_else(|| Failure::Denied {
            question: planned(),
            by_user: by.is_none(),
        });
        let (question, hook) = match &failure {
            Failure::Denied { question, .. } => (question.clone(), None),
            Failure::Hook { hook, reason } => {
                (planned(), Some(format!("the hook `{hook}`: {reason}")))
            }
            _ => (planned(), None),
        };
        let is_by_hook = hook.is_some();
        let by = by.or_else(|| hook.map(|rule| DeniedBy { rule, revert: None }));
        // Only a no of the user without a comment ends the turn. A comment is for the model. A rule, a mode or a hook was there
        // before the call: the model has to find another way.
        let is_by_user = matches!(failure, Failure::Denied { by_user: true, .. });
        let goes_back = !is_by_user || call.comment.is_some();
        let (needs, longest) = match call.plan.as_ref().map(|plan| &plan.status) {
            // No answer allows what a hook denies.
            Some(PlanStatus::Ask { needs, longest, .. }) if !is_by_hook => {
                (needs.clone(), Some(*longest))
            }
            _ => (Vec::new(), None),
        };
        let denial = Denial {
            call: call.call.id.clone(),
            tool: call.call.tool.clone(),
            subagent: None,
            question,
            rule: by.as_ref().map(|by| by.rule.clone()),
            revert: by.as_ref().and_then(|by| by.revert.clone()),
            while_running: call.state == CallState::Running,
            comment: call.comment.clone(),
            needs,
            longest,
        };
        self.denials.insert(number, denial);
        if self.rules.on_denial == OnDenial::Stop && !goes_back {
            let first = self.stopped_by.map_or(number, |first| first.min(number));
            self.stopped_by = Some(first);
        }
        let mut result = failure.for_model();
        let revert = by.as_ref().and_then(|by| by.revert.as_ref());
        if revert == Some(&Revert::SessionMode) {
            result.push_str(IN_PLAN_MODE);
        }
        call.failure = Some(failure);
        let note = by.as_ref().map(|by| by.rule.clone());
        call.denied_by = by;
        self.settle(number, CallState::Denied, result, note, effects);
    }

    pub(super) fn leave_out(&mut self, number: usize, effects: &mut Vec<Effect>) {
        let denied = self.stopped_by.and_then(|denied| self.calls.get(denied));
        let denied = denied.or_else(|| {
            let mut calls = self.calls[self.reply_start..].iter();
            calls.find(|call| call.state == CallState::Denied)
        });
        let note = match denied {
            Some(denied) => format!("not run: call {} was denied", denied.index),
            None => "not run: another call was denied".to_owned(),
        };
        self.settle(number, CallState::NotRun, note.clone(), Some(note), effects);
    }

    /// Whether a call that comes before this one was denied, so that the turn ends.
    pub(super) fn is_after_denial(&self, number: usize) -> bool {
        self.stopped_by.is_some_and(|denied| denied < number)
    }
}
