//! `search`: the search engine of the user's choice.
//!
//! Words come in, and what the engine answered goes out. The address is authorised like any other; how often it is
//! used within a while is the user's to say, too.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use bytes::Bytes;

use super::context::{CallContext, Phase, UsedInDescribe};
use super::refusal::Refusal;
use crate::ask::{Origin, Question, Scope};
use crate::audit::Event;
use crate::bindings::dunlin::tool::search;
use crate::bindings::dunlin::tool::types::{self, Error, Target as Written};
use crate::call::WebRequest;
use crate::display::chain;
use crate::egress::{
    EgressError, Gate, HeaderValue, Hop, Method, Place, Request, RequestLimits, header,
};
use crate::limits::{MAX_QUERY_CHARS, MAX_SEARCH_BYTES};
use crate::masking::MASK;
use crate::resolve;
use crate::search::{Engine, KeySource, MAX_SEARCHES, SEARCH_WINDOW, SearchOptions, mask};
use crate::target::{Need, Operation};

/// What DuckDuckGo's page is asked with: it turns away whoever does not look like a browser at all.
const BROWSER: &str = concat!(
    "Mozilla/5.0 (compatible; dunlin/",
    env!("CARGO_PKG_VERSION"),
    ")"
);

type Answer<T> = Result<T, Refusal>;

impl search::Host for CallContext {
    fn address(&mut self) -> Answer<String> {
        match self.phase {
            Phase::Describe => Err(Refusal::Trap(UsedInDescribe.into())),
            Phase::Prepare | Phase::Run => address(&self.shared.search),
        }
    }

    async fn query(&mut self, words: String) -> Answer<search::Answer> {
        self.only_in_run()?;
        let chars = words.chars().count();
        if words.trim().is_empty() || chars > MAX_QUERY_CHARS {
            let problem = format!(
                "a search has 1 to {MAX_QUERY_CHARS} characters, not {chars} or none that say something"
            );
            return Err(Error::Invalid(problem).into());
        }
        let shared = Arc::clone(&self.shared);
        let options = &shared.search;
        let written = address(options)?;
        let need = Need {
            target: resolve::url(&written)?,
            operation: Operation::Read,
        };
        let shown = shown(options, &words)?;
        let to = Written::Url(written.clone());
        // The question about a search of Dunlin's own tool has the words in it. What another plugin searches for would be
        // sent under a yes to an address.
        let under = if self.caller.plugin.built_in {
            self.authorise(need.clone(), to).await?
        } else {
            let what = format!("{} '{}'", need.operation.verb(), need.target.shown());
            let asked = (Origin::Undeclared, &*what);
            self.notify_of_unplanned(&need, &to, None);
            self.authorise_request(need.clone(), to, asked, shown.clone())
                .await?
        };
        self.count_search(need, written).await?;
        let key = match &options.key {
            Some(source) => Some(read_key(Arc::clone(source)).await?),
            None => None,
        };
        let url = options.url(&words, key.as_deref());
        let mut request = Request::new(Method::GET, url.ok_or_else(unconfigured)?);
        if options.engine == Engine::DuckDuckGo {
            let browser = HeaderValue::from_static(BROWSER);
            request.headers.insert(header::USER_AGENT, browser);
        }
        request.sites = Some(Arc::clone(&shared.sites)).filter(|sites| !sites.is_empty());
        request.limits = RequestLimits {
            body_bytes: MAX_SEARCH_BYTES,
            // The key goes where it was meant to go, and nowhere else.
            redirects: 0,
            ..RequestLimits::standard()
        };
        self.log_request(under, &shown)?;
        let mut gate = SearchGate {
            is_named: options.base_url.is_some(),
        };
        let response = shared.egress.send(request, &mut gate).await;
        let mut response = response.map_err(|error| match error {
            // Its own words would show the whole address, and the key in it.
            EgressError::Refused(_) => Error::Failed(
                "the search engine resolves to an address in a private network, and [web_search] sets no base_url".into(),
            )
            .into(),
            error => Refusal::from(error),
        })?;
        let mut body = Vec::new();
        while let Some(piece) = response.body.next().await? {
            body.extend_from_slice(&piece);
        }
        self.count(under, body.len());
        Ok(search::Answer {
            engine: options.engine.as_str().to_owned(),
            status: response.status.as_u16(),
            body: mask(body, key.as_deref()),
        })
    }
}

impl CallContext {
    /// Counts a search, and asks once there were too many.
    async fn count_search(&mut self, need: Need, written: String) -> Answer<()> {
        let Err(left) = self.admit_search() else {
            return Ok(());
        };
        let minutes = SEARCH_WINDOW.as_secs() / 60;
        let refusal = types::Need {
            target: Written::Url(written),
            operation: need.operation.into(),
        };
        // The call ends as refused, whatever it does now.
        if self.questions.refused.is_some() {
            return Err(Error::Denied(refusal).into());
        }
        let Some(ask) = self.ask.clone().filter(|ask| ask.is_attended()) else {
            return Err(Error::TooLarge(format!(
                "{MAX_SEARCHES} searches within {minutes} minutes are possible without a question, and nobody \
                 is there to be asked; the next one is possible in {} min",
                left.as_secs().div_ceil(60)
            ))
            .into());
        };
        let question = Question {
            call: self.caller.call.clone(),
            tool: self.caller.tool.clone(),
            arguments: self.caller.arguments.clone(),
            wording: format!(
                "{MAX_SEARCHES} searches went out within {minutes} minutes. Allow more?"
            ),
            needs: vec![need.clone()],
            actions: Vec::new(),
            notices: vec!["A yes resets the count.".to_owned()],
            lasting: Vec::new(),
            longest: Scope::Once,
            origin: Origin::Undeclared,
        };
        let answer = {
            let _paused = self.clock.pause();
            ask.ask(question).await.at_most(Scope::Once)
        };
        let event = match answer.allow {
            true => Event::Allowed,
            false => Event::Denied,
        };
        let target = need.target.to_string();
        let rule = format!(
            "{} (more than {MAX_SEARCHES} searches within {minutes} minutes)",
            answer.in_words()
        );
        self.shared
            .audit
            .append(&[self.record(event, Some((&target, need.operation)), Some(&rule))])
            .map_err(|e| Error::Failed(chain(&e)))?;
        if answer.allow {
            let mut searches = self.shared.searches();
            searches.clear();
            let _ = searches.admit(Instant::now());
            return Ok(());
        }
        self.questions.refused = Some(format!(
            "search more than {MAX_SEARCHES} times within {minutes} minutes?"
        ));
        // A lasting no is one to the engine.
        self.shared
            .permissions
            .remember(&self.caller.call, &self.caller.plugin, &[need], answer)
            .map_err(|e| Error::Failed(chain(&e)))?;
        Err(Error::Denied(refusal).into())
    }

    fn admit_search(&self) -> Result<(), Duration> {
        self.shared.searches().admit(Instant::now())
    }
}

fn address(options: &SearchOptions) -> Answer<String> {
    Ok(options.address().ok_or_else(unconfigured)?.into())
}

/// A search as the user is shown it: with the words, and without the key.
fn shown(options: &SearchOptions, words: &str) -> Answer<WebRequest> {
    let key = options.key.as_ref().map(|_| MASK);
    let url = options.url(words, key).ok_or_else(unconfigured)?;
    Ok(WebRequest {
        method: Method::GET.as_str().to_owned(),
        url: url.into(),
        headers: Vec::new(),
        usual_accept: None,
        body: Bytes::new(),
    })
}

fn unconfigured() -> Error {
    Error::Unsupported("no search engine is configured: [web_search] needs base_url".into())
}

/// Reads the key where waiting for it holds up nobody else.
async fn read_key(source: KeySource) -> Answer<String> {
    let read = tokio::task::spawn_blocking(move || source()).await;
    let read = read.unwrap_or_else(|_| Err("the key of the search engine cannot be read".into()));
    Ok(read.map_err(|error| Error::Unsupported(chain(&*error)))?)
}

/// Lets one request through, to the address that was authorised.
struct SearchGate {
    /// Whether the user has written down where the engine is: that may be at home.
    is_named: bool,
}

#[async_trait]
impl Gate for SearchGate {
    async fn may_use(&mut self, hop: &Hop<'_>) -> bool {
        hop.from.is_none()
    }

    async fn may_reach(&mut self, _hop: &Hop<'_>, _address: IpAddr, _place: Place) -> bool {
        self.is_named
    }
}
