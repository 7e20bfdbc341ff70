//! The one function that decides whether a guest may use something, and what is asked where nothing is decided.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::{CallContext, CallerKind, ShownRequest};
use crate::ask::{Origin, Question, Scope, Unplanned};
use crate::bindings::dunlin::tool::types;
use crate::call::{Action, WebRequest};
use crate::capability::refusal::{Refusal, host_failed, written_text};
use crate::capability::resources::UseId;
use crate::limits;
use crate::permission::key::covers;
use crate::permission::{Caller, Decision, Rule, Verdict};
use crate::target::{Need, Operation, Target};

/// What was asked and refused in a call.
#[derive(Default)]
pub(crate) struct Questions {
    /// Those about what no plan announced.
    pub(super) unplanned: usize,
    announced: usize,
    /// The command lines that it has begun to run.
    pub(in crate::capability) started: HashSet<String>,
    /// The question that the user answered with no, of several the last.
    pub(crate) refused: Option<String>,
    /// Whether something was denied because nobody could be asked.
    pub(crate) nobody_asked: bool,
    /// Whether what was denied last was denied by the user's answer to a question of this call.
    pub(crate) was_denied_by_user: bool,
    /// What the call wanted beyond that which its plugin declares, in words.
    pub(crate) undeclared: Option<String>,
}

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
        self.notify_of_unplanned(&need, &written, None);
        let what = format!("{} '{}'", need.operation.verb(), need.target.shown());
        self.authorise_with(need, written, (Origin::Undeclared, &what), None)
            .await
    }

    /// The same for something that is done with a request which is about to leave. `asked`: why it comes up in the middle of
    /// the call, and the use in words, which follow "Allow TOOL to". A question about it shows the request. A yes for this
    /// call is one to exactly that request.
    pub(in crate::capability) async fn authorise_request(
        &mut self,
        need: Need,
        written: types::Target,
        asked: (Origin, &str),
        request: WebRequest,
    ) -> Result<UseId, Refusal> {
        self.authorise_with(need, written, asked, Some(request))
            .await
    }

    /// The same for a use that goes on with what was allowed before: only a rule against it refuses it.
    pub(in crate::capability) fn authorise_covered(
        &mut self,
        need: Need,
        written: types::Target,
    ) -> Result<UseId, Refusal> {
        let decision = self.decide(&need)?;
        let rule = match decision.verdict {
            Verdict::Allow => decision.rule,
            Verdict::Ask => Rule::Once,
            Verdict::Deny => return self.note_denied(need, written, &decision.rule),
        };
        self.note(need, written, true, rule.to_string())
    }

    /// The same for the address that a name leads to, which no plan can declare.
    ///
    /// A yes is one to this request under this name, and never longer: with any other name that its owner leads there it
    /// would be one, too. `anyway`: whether what is remembered about the address is no answer.
    pub(in crate::capability) async fn authorise_address(
        &mut self,
        need: Need,
        written: types::Target,
        what: &str,
        request: WebRequest,
        anyway: bool,
    ) -> Result<UseId, Refusal> {
        let mut decision = self.decide_undeclared(&need)?;
        if anyway && decision.verdict == Verdict::Allow && decision.rule != Rule::Once {
            decision.verdict = Verdict::Ask;
        }
        let asked = (Origin::Address, what);
        self.authorise_decided(need, written, asked, Some(request), decision)
            .await
    }

    /// Whether something is allowed for longer than this call, whatever its plan declares.
    pub(in crate::capability) fn is_granted(&self, need: &Need) -> bool {
        let decision = self.decide_undeclared(need);
        decision.is_ok_and(|it| it.verdict == Verdict::Allow && it.rule != Rule::Once)
    }

    async fn authorise_with(
        &mut self,
        need: Need,
        written: types::Target,
        asked: (Origin, &str),
        request: Option<WebRequest>,
    ) -> Result<UseId, Refusal> {
        let decision = self.decide(&need)?;
        self.authorise_decided(need, written, asked, request, decision)
            .await
    }

    async fn authorise_decided(
        &mut self,
        need: Need,
        written: types::Target,
        asked: (Origin, &str),
        request: Option<WebRequest>,
        decision: Decision,
    ) -> Result<UseId, Refusal> {
        let verdict = match (decision.verdict, &decision.rule, &request) {
            // An edit has a difference to show afterwards, and is decided about on its own.
            (Verdict::Allow, Rule::AcceptEdits, _) => Verdict::Ask,
            (Verdict::Allow, Rule::Once, Some(request)) if !self.was_shown(&need, request) => {
                Verdict::Ask
            }
            // That yes was one to a difference, and this use shows none.
            (Verdict::Allow, Rule::Once, None) if self.is_of_shown_edit(&need) => Verdict::Ask,
            (verdict, ..) => verdict,
        };
        let (allowed, rule) = match verdict {
            Verdict::Allow => (true, decision.rule.to_string()),
            Verdict::Deny => return self.note_denied(need, written, &decision.rule),
            Verdict::Ask => {
                let needs = vec![need.clone()];
                let request = request.map(|request| self.with_its_accept(request));
                let actions = request.into_iter().map(Action::Request).collect();
                self.ask_in_call(asked, &written, needs, actions, (&[decision.rule], None))
                    .await?
            }
        };
        self.note(need, written, allowed, rule)
    }

    /// Tells of a use that the plan does not announce: whoever tests a plugin has to know it although a rule allows it there.
    pub(in crate::capability) fn notify_of_unplanned(
        &self,
        need: &Need,
        written: &types::Target,
        request: Option<&WebRequest>,
    ) {
        let Some(ask) = &self.ask else {
            return;
        };
        let is_request = |action: &Action| match (action, request) {
            (Action::Request(planned), Some(request)) => planned.says_the_same(request),
            _ => false,
        };
        // A request that reads is announced with all that it says, or by a site above it.
        let is_planned = match request.filter(|it| it.reads()) {
            Some(_) => {
                self.plan.actions.iter().any(is_request)
                    || self.plan.declared.iter().any(|it| covers(it, need))
            }
            None => self.has_declared(need),
        };
        if !is_planned {
            let written = written_text(written);
            ask.uses_unplanned(&Unplanned {
                need,
                written,
                request,
            });
        }
    }

    /// A request as its question shows it: with a usual `accept`, too, if requests of this call had another before. One that
    /// changes from question to question would say something.
    fn with_its_accept(&mut self, mut request: WebRequest) -> WebRequest {
        let Some(sent) = request.usual_accept else {
            return request;
        };
        if *self.plan.usual_accept.get_or_insert(Some(sent)) != Some(sent) {
            request.headers.push(("accept".to_owned(), sent.to_owned()));
            request.headers.sort();
            request.usual_accept = None;
        }
        request
    }

    /// Whether the user has seen a request and said yes to it in this call, or to everything that reads below an address
    /// above it.
    fn was_shown(&mut self, need: &Need, request: &WebRequest) -> bool {
        let is_below = |declared: &Need| {
            matches!(declared.target, Target::Site(_))
                && declared.operation == Operation::Read
                && covers(declared, need)
        };
        if !request.reads() {
            return false;
        }
        // By this yes: a rule about the site says nothing of an address below it that is asked about.
        let is_agreed = |site: &Need| {
            let decision = self.decide(site);
            decision.is_ok_and(|it| it.verdict == Verdict::Allow && it.rule == Rule::Once)
        };
        if self
            .plan
            .declared
            .iter()
            .any(|it| is_below(it) && is_agreed(it))
        {
            return true;
        }
        let mut shown = self.plan.shown_requests.iter();
        let Some(shown) = shown.find(|shown| shown.request.says_the_same(request)) else {
            return false;
        };
        let sent = request.usual_accept;
        match shown.usual_accept {
            Some(bound) => bound == sent,
            None => *self.plan.usual_accept.get_or_insert(sent) == sent,
        }
    }

    /// Whether the question of the plan has shown how the file that this writes is changed.
    fn is_of_shown_edit(&self, need: &Need) -> bool {
        let mut edited = self.plan.actions.iter().flat_map(Action::edited_paths);
        need.operation == Operation::Write && edited.any(|path| need.target.path() == Some(path))
    }

    fn note_denied(
        &mut self,
        need: Need,
        written: types::Target,
        rule: &Rule,
    ) -> Result<UseId, Refusal> {
        self.questions.was_denied_by_user = false;
        if let Rule::NotDeclared(plugin) = rule {
            self.note_undeclared(plugin, &need, &written);
        }
        self.note(need, written, false, rule.to_string())
    }

    /// The plugin's author, and the model, have to know that no user can allow this.
    fn note_undeclared(&mut self, plugin: &str, need: &Need, written: &types::Target) {
        let verb = need.operation.verb();
        let written = crate::display::escape(written_text(written));
        self.questions.undeclared.get_or_insert_with(|| {
            format!(
                "{} wanted to {verb} '{written}', and the plugin {plugin} declares that it never does this ([may] in its \
                 plugin.toml)",
                self.caller.tool
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
        warning: Option<String>,
    ) -> Result<Vec<UseId>, Refusal> {
        let written = types::Target::Path(written.to_owned());
        let mut open = Vec::new();
        let mut asking = Vec::new();
        for need in &needs {
            let decision = self.decide(need)?;
            match decision.verdict {
                Verdict::Allow => {}
                Verdict::Deny => {
                    self.note_denied(need.clone(), written.clone(), &decision.rule)?;
                }
                Verdict::Ask => {
                    self.notify_of_unplanned(need, &written, None);
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
                        (rules, warning),
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

    /// How a request that reads differs from the one of its address that the plan announces, in a sentence. `None`: it
    /// announces none.
    fn difference(&self, request: &WebRequest) -> Option<String> {
        let announced = |is: &dyn Fn(&WebRequest) -> bool| {
            self.plan.actions.iter().find_map(|action| match action {
                Action::Request(announced) if announced.method == request.method => {
                    is(announced).then_some(announced)
                }
                _ => None,
            })
        };
        let without_query = |url: &str| url.split('?').next().map(str::to_owned);
        let Some(planned) = announced(&|it| it.url == request.url) else {
            announced(&|it| without_query(&it.url) == without_query(&request.url))?;
            return Some("It announced this address with another query.".to_owned());
        };
        let differs = |(name, value): &&(String, String)| planned.header(name) != Some(value);
        let mut names: Vec<&str> = request
            .headers
            .iter()
            .filter(differs)
            .map(|it| &*it.0)
            .collect();
        let left_out = planned.headers.iter().map(|(name, _)| name.as_str());
        names.extend(left_out.filter(|name| request.header(name).is_none()));
        if names.is_empty() {
            names.push("accept");
        }
        Some(format!(
            "It announced this address with other headers: {} is different.",
            names.join(", ")
        ))
    }

    /// Whether the plan said that the call needs this.
    pub(in crate::capability) fn has_declared(&self, need: &Need) -> bool {
        let is_declared = |declared: &Need| declared == need || covers(declared, need);
        self.plan.declared.iter().any(is_declared)
    }

    /// What holds for a need of this call.
    pub(crate) fn decide(&self, need: &Need) -> Result<Decision, Refusal> {
        self.decide_as(self.has_declared(need), need)
    }

    /// What holds for many needs of this call, none of them a command.
    pub(crate) fn decide_all(&self, needs: &[Need]) -> Result<Vec<Verdict>, Refusal> {
        let asked = needs.iter().map(|need| {
            let declared = self.has_declared(need);
            (self.permission_caller(declared), need)
        });
        let decided = self.shared.permissions.decide_all(asked);
        decided.map_err(|e| host_failed(&e))
    }

    /// The same, as if its plan did not declare it.
    fn decide_undeclared(&self, need: &Need) -> Result<Decision, Refusal> {
        self.decide_as(false, need)
    }

    fn decide_as(&self, declared: bool, need: &Need) -> Result<Decision, Refusal> {
        let decided = self
            .shared
            .permissions
            .decide(&self.permission_caller(declared), need);
        decided.map_err(|e| host_failed(&e))
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

    /// This call, for the permission store.
    pub(crate) fn permission_caller(&self, declared: bool) -> Caller<'_> {
        Caller {
            call: &self.caller.call,
            tool: &self.caller.tool,
            plugin: &self.caller.plugin,
            declared,
            declared_permissions: self.caller.declared_permissions.as_deref(),
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
        (rules, warning): (&[Rule], Option<String>),
    ) -> Result<(bool, String), Refusal> {
        self.questions.was_denied_by_user = false;
        let rule = rules.first().map(Rule::to_string).unwrap_or_default();
        let nobody = || format!("{rule}; {}", crate::answer::NOBODY);
        let Some(ask) = self.ask.clone() else {
            self.questions.nobody_asked = true;
            return Ok((false, nobody()));
        };
        let is_attended = ask.is_attended();
        // The call ends as refused, whatever it does now: nobody needs to be asked again.
        if is_attended && self.questions.refused.is_some() {
            self.questions.was_denied_by_user = true;
            return Ok((false, format!("{rule}; refused in this call before")));
        }
        let (asked, most) = match origin {
            Origin::Declared => (
                &mut self.questions.announced,
                limits::MAX_ANNOUNCED_QUESTIONS,
            ),
            _ => (
                &mut self.questions.unplanned,
                limits::MAX_UNDECLARED_QUESTIONS,
            ),
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
        for notice in rules
            .iter()
            .flat_map(|rule| notices_to(self.caller.kind, rule))
        {
            if !warnings.contains(&notice) {
                warnings.push(notice);
            }
        }
        warnings.extend(warning);
        if origin == Origin::Address {
            longest = Scope::Once;
            warnings.push(
                "The name may lead elsewhere the next time, so this is asked about each time."
                    .into(),
            );
        }
        // A yes for this call to a change is one to the difference that is shown with it, and what is allowed is done at once.
        let edited: Vec<PathBuf> = actions
            .iter()
            .flat_map(Action::edited_paths)
            .map(Path::to_path_buf)
            .collect();
        let is_edited = |need: &Need| {
            let path = need.target.path();
            need.operation == Operation::Write && edited.iter().any(|it| path == Some(it))
        };
        let mut asked_request = None;
        for action in &actions {
            match action {
                Action::Command(command) => {
                    longest = longest.min(command.longest(has_network));
                    let permissions = &self.shared.permissions;
                    let caller = self.permission_caller(true);
                    let is_allowed = |it: &_| permissions.allows_command(&caller, it);
                    warnings.extend(command.notices(has_network, &is_allowed));
                }
                Action::Request(request) => asked_request = Some(request.clone()),
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
        let lasting = self
            .shared
            .permissions
            .to_be_stored(&self.permission_caller(true), &needs)
            .map_err(|e| host_failed(&e))?;
        let question = Question {
            call: self.caller.call.clone(),
            tool: self.caller.tool.clone(),
            arguments: self.caller.arguments.clone(),
            wording: match origin {
                // The question of the plan is about all of it; this is about all of it only if there is nothing else.
                Origin::Declared if self.plan.actions.len() == 1 && asked_request.is_none() => {
                    self.plan.question.clone()
                }
                Origin::Redirect | Origin::Address | Origin::Declared => {
                    format!("Allow {} to {what}?", self.caller.tool)
                }
                _ if self.caller.kind == CallerKind::App => {
                    format!("Allow {} to {what}?", self.caller.tool)
                }
                _ => {
                    let difference = asked_request.as_ref().and_then(|it| self.difference(it));
                    let sentence = difference.unwrap_or_else(|| "It did not announce this.".into());
                    format!("Allow {} to {what}? {sentence}", self.caller.tool)
                }
            },
            needs: needs.clone(),
            actions,
            notices: warnings,
            lasting: lasting.clone(),
            longest,
            origin: match origin {
                Origin::Undeclared if self.caller.kind == CallerKind::App => Origin::App,
                origin => origin,
            },
        };
        if !is_attended {
            self.questions.nobody_asked = true;
            ask.went_unasked(&question);
            return Ok((false, nobody()));
        }
        let answer = {
            let _paused = self.clock.pause();
            ask.ask(question).await.at_most(longest)
        };
        if !answer.allow {
            self.questions.was_denied_by_user = true;
            // In the guest's own words: the model hears no more than the guest knew.
            let verb = needs.first().map_or("use", |need| need.operation.verb());
            self.questions.refused = Some(format!(
                "{} wanted to {verb} '{}'",
                self.caller.tool,
                crate::display::escape(written_text(written))
            ));
        }
        let mut remembered = match answer.is_permanent_yes() {
            true => lasting,
            false => needs,
        };
        if answer.allow && answer.scope == Scope::Once {
            remembered.retain(|need| !is_edited(need));
        }
        let is_remembered = match asked_request {
            Some(request) if answer.allow && answer.scope == Scope::Once => {
                let reads = request.reads();
                // The same question may be answered with the same again; what is sent twice may be done twice.
                if reads {
                    self.plan.shown_requests.push(ShownRequest::sent(request));
                }
                reads
            }
            _ => true,
        };
        if is_remembered {
            self.shared
                .permissions
                .remember(&self.caller.call, &self.caller.plugin, &remembered, answer)
                .map_err(|e| host_failed(&e))?;
        }
        Ok((answer.allow, answer.in_words()))
    }
}

/// What the user should know before answering about a tool, if the rule that asks says something of importance.
pub(crate) fn notices(rule: &Rule) -> Vec<String> {
    notices_to(CallerKind::Tool, rule)
}

/// The same about whatever calls.
fn notices_to(kind: CallerKind, rule: &Rule) -> Vec<String> {
    match rule {
        Rule::Secret => vec!["This file usually holds secrets.".into()],
        Rule::WritingBound => {
            vec!["A command that you allowed, a hook or an MCP server runs this file.".into()]
        }
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
        Rule::PlanModeEnded => {
            vec!["Plan mode has ended: it can change something now.".into()]
        }
        Rule::MayHide(key) => vec![format!("This line may run {key}, which is denied.")],
        Rule::PluginChanged { default, .. } => {
            let mut notices = notices_to(kind, default);
            let what = match kind {
                CallerKind::Tool => "plugin",
                CallerKind::App => "app",
            };
            notices.push(format!(
                "You allowed this before, to an earlier version of the {what}."
            ));
            notices
        }
        _ => Vec::new(),
    }
}
