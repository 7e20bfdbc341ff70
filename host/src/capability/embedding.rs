//! `embedding`: texts as vectors.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::context::{Phase, UsedInDescribe, View};
use super::refusal::{Refusal, host_failed};
use crate::ask::Origin;
use crate::audit::{Event, Record};
use crate::bindings::dunlin::tool::embedding;
use crate::bindings::dunlin::tool::types::{Error, Target};
use crate::call::WebRequest;
use crate::display;
use crate::egress::{Method, Url};
use crate::embedding::Embedder;
use crate::limits::{
    MAX_EMBEDDED_BYTES, MAX_EMBEDDED_TEXTS, MAX_EMBEDDING_TIME, MAX_EMBEDDINGS, MAX_VECTOR_NUMBERS,
};
use crate::resolve;
use crate::target::{Need, Operation};

/// How long is waited for a model that does not keep to its time: it may be about to say what it has.
const GRACE: Duration = Duration::from_millis(200);

/// What a call has asked the embedding model.
#[derive(Debug, Default)]
pub(crate) struct Embeddings {
    asked: usize,
}

impl embedding::Host for View<'_, Embeddings> {
    fn model(&mut self) -> wasmtime::Result<Option<String>> {
        match self.phase {
            Phase::Describe => Err(UsedInDescribe.into()),
            Phase::Prepare => Ok(None),
            Phase::Run => Ok(self.embedder().and_then(|embedder| embedder.name())),
        }
    }

    async fn embed(
        &mut self,
        texts: Vec<String>,
        within_ms: u32,
    ) -> Result<Vec<Vec<f32>>, Refusal> {
        self.only_in_run()?;
        let count = texts.len();
        if count == 0 {
            return Err(Error::Invalid("there are no texts".into()).into());
        }
        if count > MAX_EMBEDDED_TEXTS {
            let problem = format!("{count} texts; at most {MAX_EMBEDDED_TEXTS} are possible");
            return Err(Error::TooLarge(problem).into());
        }
        let model = self.embedder().and_then(|it| Some((it.name()?, it)));
        let Some((name, embedder)) = model else {
            return Err(Error::Unsupported("no embedding model is available".into()).into());
        };
        if self.own.asked == MAX_EMBEDDINGS {
            let problem =
                format!("this call has asked {MAX_EMBEDDINGS} times already; no more are possible");
            return Err(Error::TooLarge(problem).into());
        }
        self.own.asked += 1;
        let texts: Vec<String> = texts.into_iter().map(shortened).collect();
        if let Some(address) = embedder.address() {
            self.may_send(address, &texts).await?;
        }
        self.log_texts(&name, &texts)?;
        let within = Duration::from_millis(within_ms.into()).min(MAX_EMBEDDING_TIME);
        let made = tokio::time::timeout(within + GRACE, embedder.embed(texts, within)).await;
        match made {
            // The time is over, and there is nothing.
            Err(_) => Ok(Vec::new()),
            Ok(Err(error)) => {
                let why = display::chain(&*error);
                Err(Error::Failed(display::escape(&why).into_owned()).into())
            }
            Ok(Ok(vectors)) => Ok(checked(vectors, count)?),
        }
    }
}

impl View<'_, Embeddings> {
    fn embedder(&self) -> Option<Arc<dyn Embedder>> {
        self.shared.embedder.clone()
    }

    /// A server is a target like any other. The user has configured it for Dunlin's own tool, which is refused only by a rule
    /// against it. Another plugin asks, and the question shows the texts.
    async fn may_send(&mut self, address: Url, texts: &[String]) -> Result<(), Refusal> {
        let url = String::from(address);
        let written = Target::Url(url.clone());
        let need = Need {
            target: resolve::url(&url)?,
            operation: Operation::Write,
        };
        if self.caller.plugin.built_in {
            self.authorise_covered(need, written)?;
            return Ok(());
        }
        let what = format!(
            "have the embedding model at '{}' read texts",
            need.target.shown()
        );
        let request = WebRequest {
            method: Method::POST.as_str().to_owned(),
            url,
            headers: Vec::new(),
            usual_accept: None,
            body: json!({ "input": texts }).to_string().into(),
        };
        let asked = (Origin::Undeclared, &*what);
        self.authorise_request(need, written, asked, request)
            .await?;
        Ok(())
    }

    /// What cannot be logged does not happen: the texts may go to a server.
    fn log_texts(&self, name: &str, texts: &[String]) -> Result<(), Refusal> {
        let target = format!("model {name}");
        let bytes: usize = texts.iter().map(String::len).sum();
        let record = Record {
            target: Some(&target),
            bytes: Some(bytes as u64),
            times: Some(texts.len() as u64),
            ..self.record(Event::Used, None, None)
        };
        let logged = self.shared.audit.append(&[record]);
        logged.map_err(|e| host_failed(&e))
    }
}

fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(MAX_EMBEDDED_BYTES));
    text
}

/// Vectors that can be compared: no more than there are texts, of one size, of numbers, each brought to length 1.
fn checked(mut vectors: Vec<Vec<f32>>, texts: usize) -> Result<Vec<Vec<f32>>, Error> {
    let wrong = |what: String| Error::Failed(format!("the embedding model answers with {what}"));
    if vectors.len() > texts {
        return Err(wrong(format!(
            "{} vectors for {texts} texts",
            vectors.len()
        )));
    }
    let size = vectors.first().map_or(1, Vec::len);
    if !(1..=MAX_VECTOR_NUMBERS).contains(&size) {
        return Err(wrong(format!(
            "vectors of {size} numbers; 1 to {MAX_VECTOR_NUMBERS} are possible"
        )));
    }
    for vector in &mut vectors {
        if vector.len() != size {
            let other = vector.len();
            return Err(wrong(format!("vectors of {size} and of {other} numbers")));
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if !length.is_normal() {
            return Err(wrong("a vector without a direction".to_owned()));
        }
        vector.iter_mut().for_each(|x| *x /= length);
    }
    Ok(vectors)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_are_checked() {
        assert_eq!(
            checked(vec![vec![3.0, 4.0], vec![0.0, 2.0]], 3).unwrap(),
            [[0.6, 0.8], [0.0, 1.0]]
        );
        assert!(checked(Vec::new(), 3).unwrap().is_empty());
        let wide = vec![1.0; MAX_VECTOR_NUMBERS + 1];
        for (vectors, texts, said) in [
            (vec![vec![1.0], vec![1.0]], 1, "2 vectors for 1 texts"),
            (vec![Vec::new()], 1, "vectors of 0 numbers"),
            (vec![wide], 1, "numbers; 1 to"),
            (vec![vec![1.0], vec![1.0, 0.0]], 2, "of 1 and of 2 numbers"),
            (vec![vec![f32::NAN, 1.0]], 1, "without a direction"),
            (vec![vec![f32::INFINITY]], 1, "without a direction"),
            (vec![vec![0.0, 0.0]], 1, "without a direction"),
        ] {
            let Err(Error::Failed(problem)) = checked(vectors, texts) else {
                panic!("{said}: was taken");
            };
            assert!(problem.contains(said), "{problem}");
        }
    }

    #[test]
    fn long_texts_are_cut_between_letters() {
        let text = shortened("ä".repeat(MAX_EMBEDDED_BYTES));
        assert_eq!(text.len(), MAX_EMBEDDED_BYTES);
        assert_eq!(shortened("short".to_owned()), "short");
    }
}
