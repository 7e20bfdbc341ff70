//! Addresses in a page: made absolute, and left out where they lead nowhere that could be fetched.

use url::Url;

/// Longest address that is kept, in bytes. Longer ones are mostly data, and cost a model more than they tell it.
const MAX_URL_BYTES: usize = 2000;

/// Where the page is, and what its addresses are relative to.
#[derive(Debug)]
pub(super) struct Links {
    page: Option<Url>,
    base: Option<Url>,
    has_base: bool,
}

impl Links {
    pub(super) fn new(page: &str) -> Links {
        let page = Url::parse(page).ok();
        Links {
            base: page.clone(),
            page,
            has_base: false,
        }
    }

    /// The page says what its addresses are relative to; the first one counts.
    pub(super) fn set_base(&mut self, href: &str) {
        if std::mem::replace(&mut self.has_base, true) {
            return;
        }
        let base = self.join(href);
        if let Some(base) = base.filter(|base| matches!(base.scheme(), "http" | "https")) {
            self.base = Some(base);
        }
    }

    /// Where a link leads; `None`: nowhere, or to another place of the same page.
    pub(super) fn link(&self, href: &str) -> Option<String> {
        let url = self.join(href)?;
        let leads = matches!(url.scheme(), "http" | "https" | "mailto");
        let is_here = url.fragment().is_some()
            && self.page.as_ref().is_some_and(|page| {
                let mut there = url.clone();
                let mut here = page.clone();
                there.set_fragment(None);
                here.set_fragment(None);
                there == here
            });
        (leads && !is_here).then(|| bounded(url)).flatten()
    }

    /// Where an image is; `None`: nowhere, or in the page itself.
    pub(super) fn image(&self, src: &str) -> Option<String> {
        let url = self.join(src)?;
        matches!(url.scheme(), "http" | "https")
            .then(|| bounded(url))
            .flatten()
    }

    fn join(&self, address: &str) -> Option<Url> {
        let address = address.trim();
        if address.len() > 4 * MAX_URL_BYTES {
            return None;
        }
        match &self.base {
            Some(base) => base.join(address).ok(),
            None => Url::parse(address).ok(),
        }
    }
}

fn bounded(url: Url) -> Option<String> {
    let url = String::from(url);
    (url.len() <= MAX_URL_BYTES).then_some(url)
}
