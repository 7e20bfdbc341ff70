//! The one function that decides whether a guest may use something, and what is asked where nothing is decided.

use std::path::Path;

use super::CallContext;
use crate::ask::{Origin, Question, Scope};
use crate::bindings::dunlin::tool::types;
use crate::call::{Action, WebRequest};
use crate::capability::refusal::{Refusal, host_failed, written_text};
use crate::capability::resources::UseId;
use crate::limits;
use crate::permission::key::covers;
use crate::permission::{Caller, Decision, Rule, Verdict};
use crate::target::{Need, Operation, Target};

impl CallContext {
    /// Decides whether this call may use a target, at the moment of use, and asks where nothing is
    /// decided. Returns only when the use is allowed and logged.
    ///
    /// `written` is the target in the guest's own words: the refusal says no more than the guest knew.
    /// While the user is being asked the clock of the call stands. Dropping the future withdraws the
    /// question.
    pub(crate) async fn authorise(
        &mut self,
        need: Need,
        written: types::Target,
    ) -> Result<UseId, Refusal> {
        let what = format!("{} '{}'", need.operation.verb(), need.target.shown());
        self.authorise_saying(need, written, &what, Origin::Undeclared)
            .await
    }

    /// The same, with the use in words: `what` follows "Allow TOOL to". `origin` says why it comes up in the middle of the
    /// call.
    pub(crate) async fn authorise_saying(
        &mut self,
        need: Need,
        written: types::Target,
        what: &str,
        origin: Origin,
    ) -> Result<UseId, Refusal> {
        self.authorise_with(need, written, (origin, what), Vec::new())
            .await
    }

    /// The same for a request that is about to leave: a question about it shows the request. A yes for this call was one to
    /// another request, and does not hold for this one.
    pub(in crate::capability) async fn authorise_sending(
        &mut self,
        need: Need,
        written: types::Target,
        asked: (Origin, &str),
        request: WebRequest,
    ) -> Result<UseId, Refusal> {
        let actions = vec![Action::Request(request)];
        self.authorise_with(need, written, asked, actions).await
    }

    /// The same for a use that goes on with what was allowed before: only a rule against it refuses it.
    pub(in crate::capability) fn authorise_covered(
        &mut self,
        need: Need,
        written: types::Target,
    ) -> Result<UseId, Refusal> {
        let decision = self.decide(&need)?;
        let rule = match decision.verdict {
            Verdict::Ask => Rule::Once,
            Verdict::Allow | Verdict::Deny => decision.rule,
        };
        let is_allowed = decision.verdict != Verdict::Deny;
        self.note(need, written, is_allowed, rule.to_string())
    }

    async fn authorise_with(
        &mut self,
        need: Need,
        written: types::Target,
        asked: (Origin, &str),
        actions: Vec<Action>,
    ) -> Result<UseId, Refusal> {
        let decision = self.decide(&need)?;
        let verdict = match (decision.verdict, &decision.rule) {
            (Verdict::Allow, Rule::Once) if !actions.is_empty() => Verdict::Ask,
            (verdict, _) => verdict,
        };
        let (allowed, rule) = match verdict {
            Verdict::Allow => (true, decision.rule.to_string()),
            Verdict::Deny => {
                if let Rule::BeyondCeiling(plugin) = &decision.rule {
                    self.note_undeclared(plugin, &need, &written);
                }
                (false, decision.rule.to_string())
            }
            Verdict::Ask => {
                let needs = vec![need.clone()];
                self.ask_in_call(asked, &written, needs, actions, &[decision.rule])
                    .await?
            }
        };
        self.note(need, written, allowed, rule)
    }

    /// The plugin's author, and the model, have to know that no user can allow this.
    fn note_undeclared(&mut self, plugin: &str, need: &Need, written: &types::Target) {
        let verb = need.operation.verb();
        let written = crate::display::escape(written_text(written));
        self.undeclared.get_or_insert_with(|| {
            format!(
                "{} wanted to {verb} '{written}', and the plugin {plugin} declares that it never does this ([may] in its \
                 plugin.toml)",
                self.tool
            )
        });
    }

    /// Decides about several needs of one use: all of them are allowed, and asked about in one question, or none is.
    ///
    /// `what` is the use in words and follows "Allow TOOL to". The answers stand in the order of the needs.
    pub(in crate::capability) async fn authorise_together(
        &mut self,
        needs: Vec<Need>,
        written: &str,
        what: &str,
    ) -> Result<Vec<UseId>, Refusal> {
        let written = types::Target::Path(written.to_owned());
        let mut open = Vec::new();
        let mut asking = Vec::new();
        for need in &needs {
            let decision = self.decide(need)?;
            match decision.verdict {
                Verdict::Allow => {}
                Verdict::Deny => {
                    let rule = decision.rule.to_string();
                    self.note(need.clone(), written.clone(), false, rule)?;
                }
                Verdict::Ask => {
                    asking.push(decision.rule);
                    open.push(need.clone());
                }
            }
        }
        let answer = match asking.as_slice() {
            [] => None,
            rules => {
                let needs = open.clone();
                Some(
                    self.ask_in_call(
                        (Origin::Undeclared, what),
                        &written,
                        needs,
                        Vec::new(),
                        rules,
                    )
                    .await?,
                )
            }
        };
        let mut under = Vec::with_capacity(needs.len());
        for need in needs {
            let written = written.clone();
            under.push(match &answer {
                Some((allowed, rule)) if open.contains(&need) => {
                    self.note(need, written, *allowed, rule.clone())?
                }
                _ => self.authorise(need, written).await?,
            });
        }
        Ok(under)
    }

    /// Whether the plan said that the call needs this.
    pub(in crate::capability) fn has_declared(&self, need: &Need) -> bool {
        let is_declared = |declared: &Need| declared == need || covers(declared, need);
        self.declared.iter().any(is_declared)
    }

    /// What holds for a need of this call.
    pub(crate) fn decide(&self, need: &Need) -> Result<Decision, Refusal> {
        let caller = self.caller(self.has_declared(need));
        self.shared
            .permissions
            .decide(&caller, need)
            .map_err(|e| host_failed(&e))
    }

    /// What is needed to know the kind, size and times of what is at a path: to read it, or to read the folder that it is
    /// in, where that is allowed and nothing denies the first. Who may list a folder gets the same from the list.
    pub(crate) fn need_for_metadata(&self, path: &Path) -> Result<Need, Refusal> {
        let read = |path: &Path| Need {
            target: Target::Path(path.to_owned()),
            operation: Operation::Read,
        };
        let of_itself = read(path);
        if self.decide(&of_itself)?.verdict != Verdict::Ask {
            return Ok(of_itself);
        }
        let Some(folder) = path.parent().map(read) else {
            return Ok(of_itself);
        };
        Ok(match self.decide(&folder)?.verdict {
            Verdict::Allow => folder,
            Verdict::Ask | Verdict::Deny => of_itself,
        })
    }

    /// Allows a need for this call, unless something decides about it.
    pub(crate) fn cover(&self, need: &Need) -> Result<(), Refusal> {
        if self.decide(need)?.verdict != Verdict::Ask {
            return Ok(());
        }
        let once = crate::ask::Answer {
            allow: true,
            scope: Scope::Once,
        };
        self.shared
            .permissions
            .remember(&self.call, &self.plugin, std::slice::from_ref(need), once)
            .map_err(|e| host_failed(&e))
    }

    /// This call, for the permission store.
    pub(crate) fn caller(&self, declared: bool) -> Caller<'_> {
        Caller {
            call: &self.call,
            tool: &self.tool,
            plugin: &self.plugin,
            declared,
            ceiling: self.ceiling.as_deref(),
        }
    }

    /// Asks in the middle of a call, and remembers the answer. `origin` says why it comes up, and `what` it is in words:
    /// it follows "Allow TOOL to".
    pub(in crate::capability) async fn ask_in_call(
        &mut self,
        (origin, what): (Origin, &str),
        written: &types::Target,
        needs: Vec<Need>,
        actions: Vec<Action>,
        rules: &[Rule],
    ) -> Result<(bool, String), Refusal> {
        let rule = rules.first().map(Rule::to_string).unwrap_or_default();
        let nobody = || format!("{rule}; {}", crate::answer::NOBODY);
        let Some(ask) = self.ask.clone() else {
            return Ok((false, nobody()));
        };
        let is_attended = ask.is_attended();
        // The call ends as refused, whatever it does now: nobody needs to be asked again.
        if is_attended && self.refused.is_some() {
            return Ok((false, format!("{rule}; refused in this call before")));
        }
        let (asked, most) = match origin {
            Origin::Declared => (
                &mut self.announced_questions,
                limits::MAX_ANNOUNCED_QUESTIONS,
            ),
            _ => (&mut self.questions, limits::MAX_UNDECLARED_QUESTIONS),
        };
        if is_attended && *asked >= most {
            return Ok((
                false,
                format!("{rule}; this call has asked {asked} times already"),
            ));
        }
        *asked += usize::from(is_attended);
        let has_network = self.shared.commands.network;
        let mut longest = Scope::Always;
        let mut warnings = Vec::new();
        for notice in rules.iter().flat_map(notices) {
            if !warnings.contains(&notice) {
                warnings.push(notice);
            }
        }
        let mut is_request = false;
        for action in &actions {
            match action {
                Action::Command(command) => {
                    longest = longest.min(command.longest(has_network));
                    warnings.extend(command.notices(has_network));
                }
                Action::Request(_) => is_request = true,
                _ => {}
            }
            // What is stored would hold for what is announced only.
            if let Action::Edit(edit) = action
                && origin == Origin::Undeclared
                && !self.announces(edit)
            {
                longest = Scope::Once;
                warnings.push("Changes that are not announced are asked about each time.".into());
            }
        }
        let question = Question {
            call: self.call.clone(),
            tool: self.tool.clone(),
            arguments: self.arguments.clone(),
            wording: match origin {
                // The question of the plan is about all of it; this is about all of it only if there is nothing else.
                Origin::Declared if self.actions.len() == 1 && !is_request => self.question.clone(),
                Origin::Redirect | Origin::Declared => format!("Allow {} to {what}?", self.tool),
                _ => format!("Allow {} to {what}? It did not announce this.", self.tool),
            },
            needs: needs.clone(),
            actions,
            notices: warnings,
            longest,
            origin,
        };
        if !is_attended {
            ask.went_unasked(&question);
            return Ok((false, nobody()));
        }
        let answer = {
            let _standing = self.clock.pause();
            ask.ask(question).await.at_most(longest)
        };
        if !answer.allow {
            // In the guest's own words: the model hears no more than the guest knew.
            let verb = needs.first().map_or("use", |need| need.operation.verb());
            self.refused = Some(format!(
                "{} wanted to {verb} '{}'",
                self.tool,
                crate::display::escape(written_text(written))
            ));
        }
        // A yes to one request is none to the next.
        if !(is_request && answer.allow && answer.scope == Scope::Once) {
            self.shared
                .permissions
                .remember(&self.call, &self.plugin, &needs, answer)
                .map_err(|e| host_failed(&e))?;
        }
        Ok((answer.allow, answer.in_words()))
    }
}

/// What the user should know before answering, if the rule that asks says something of importance.
pub(crate) fn notices(rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Secret => vec!["This file usually holds secrets.".into()],
        Rule::WritingGit => {
            vec!["Git reads this file, and may run programs that it names.".into()]
        }
        Rule::OutsideProject => vec!["Outside the project.".into()],
        Rule::NoProject => {
            vec!["There is no project: Dunlin was started in a home folder or above one.".into()]
        }
        Rule::ThisMachine => vec!["This is a server on this machine, not on the internet.".into()],
        Rule::PrivateNetwork => {
            vec!["This is an address of a private network, not of the internet.".into()]
        }
        Rule::CommandChanged(_, change) => vec![change.to_string()],
        Rule::MayHide(key) => vec![format!(
            "Dunlin can't tell all that this line runs, and {key} is denied."
        )],
        Rule::PluginChanged { default, .. } => {
            let mut notices = notices(default);
            notices.push("You allowed this before, to an earlier version of the plugin.".into());
            notices
        }
        _ => Vec::new(),
    }
}
