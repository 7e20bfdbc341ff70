//! What requests cost. Money is counted in whole numbers, so sums are exact, however many requests they are of.

use serde::{Deserialize, Serialize};

use crate::usage::Usage;

/// Millionths of a dollar in a dollar: prices have no more decimals.
const MICRO: u64 = 1_000_000;

/// What a million tokens cost, in millionths of a US dollar: $2.50 is 2,500,000.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rates {
    pub input: u64,
    pub output: u64,
    /// Tokens of the request that came from the provider's cache; `None`: as much as others.
    pub cache_read: Option<u64>,
    /// Tokens of the request that went into the cache; `None`: as much as others.
    pub cache_write: Option<u64>,
}

/// The price of a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Price {
    pub rates: Rates,
    /// The rates of longer requests: for all tokens of those with more than so many. The shortest first.
    pub longer: Vec<(u64, Rates)>,
}

impl Price {
    /// What a request costs that used this, in billionths of a dollar, rounded.
    pub fn of(&self, usage: Usage) -> u64 {
        let mut longer = self.longer.iter().rev();
        let reached = longer.find(|(above, _)| usage.input_tokens > *above);
        let rates = reached.map_or(&self.rates, |(_, rates)| rates);
        // What a server counts may not add up.
        let read = usage.cached_tokens.min(usage.input_tokens);
        let written = usage.written_tokens.min(usage.input_tokens - read);
        let fresh = usage.input_tokens - read - written;
        let parts = [
            (fresh, rates.input),
            (read, rates.cache_read.unwrap_or(rates.input)),
            (written, rates.cache_write.unwrap_or(rates.input)),
            (usage.output_tokens, rates.output),
        ];
        let each = parts.map(|(tokens, rate)| u128::from(tokens) * u128::from(rate));
        // Trillionths; half of a billionth rounds up.
        let sum = each.into_iter().fold(500, u128::saturating_add);
        u64::try_from(sum / 1_000).unwrap_or(u64::MAX)
    }
}

/// Reads a number of dollars with up to six decimals, as millionths: `2.5`, `0.075`.
pub fn micro_dollars(text: &str) -> Option<u64> {
    let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !is_number(whole) || !is_number(decimals) || decimals.len() > 6 {
        return None;
    }
    let decimals: u64 = format!("{decimals:0<6}").parse().ok()?;
    whole
        .parse::<u64>()
        .ok()?
        .checked_mul(MICRO)?
        .checked_add(decimals)
}

/// Writes millionths of a dollar as a number of dollars, without zeros at the end.
pub fn dollars(micro: u64) -> String {
    let text = format!("{}.{:06}", micro / MICRO, micro % MICRO);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// What requests have cost, as far as that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Money {
    /// Billionths of a US dollar.
    pub nano_usd: u64,
    /// Requests that are not in the sum, or not with all that they have cost.
    pub incomplete: u32,
}

impl Money {
    /// What one request has cost of which nothing is known.
    pub fn unknown() -> Money {
        Money {
            nano_usd: 0,
            incomplete: 1,
        }
    }

    /// Whether the sum is all that was spent.
    pub fn is_complete(self) -> bool {
        self.incomplete == 0
    }

    /// Whether nothing is known of what was spent.
    pub fn is_unknown(self) -> bool {
        self.nano_usd == 0 && !self.is_complete()
    }

    /// Both together.
    #[must_use]
    pub fn plus(self, other: Money) -> Money {
        Money {
            nano_usd: self.nano_usd.saturating_add(other.nano_usd),
            incomplete: self.incomplete.saturating_add(other.incomplete),
        }
    }

    /// This without a part of it.
    #[must_use]
    pub fn less(self, part: Money) -> Money {
        Money {
            nano_usd: self.nano_usd.saturating_sub(part.nano_usd),
            incomplete: self.incomplete.saturating_sub(part.incomplete),
        }
    }
}

/// Money as programs are told of it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct CostDocument {
    pub currency: &'static str,
    /// `None`: nothing is known of it.
    pub amount: Option<f64>,
    /// Whether the amount is all that was spent.
    pub complete: bool,
}

impl From<Money> for CostDocument {
    fn from(money: Money) -> CostDocument {
        CostDocument {
            currency: "USD",
            // The sum is complete by now: a million dollars still has all of its decimals.
            amount: (!money.is_unknown()).then_some(money.nano_usd as f64 / 1e9),
            complete: money.is_complete(),
        }
    }
}

/// What requests have used, and what that has cost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Charge {
    pub usage: Usage,
    pub money: Money,
}

impl Charge {
    /// Both together.
    #[must_use]
    pub fn plus(self, other: Charge) -> Charge {
        Charge {
            usage: self.usage.plus(other.usage),
            money: self.money.plus(other.money),
        }
    }

    /// This without a part of it.
    #[must_use]
    pub fn less(self, part: Charge) -> Charge {
        Charge {
            usage: self.usage.less(part.usage),
            money: self.money.less(part.money),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rates(input: u64, output: u64) -> Rates {
        Rates {
            input,
            output,
            cache_read: None,
            cache_write: None,
        }
    }

    fn used(input: u64, read: u64, written: u64, output: u64) -> Usage {
        Usage {
            input_tokens: input,
            cached_tokens: read,
            written_tokens: written,
            output_tokens: output,
        }
    }

    #[test]
    fn each_kind_of_token_has_its_rate() {
        let check = |price: &Price, usage, nano| assert_eq!(price.of(usage), nano, "{usage:?}");
        let mut price = Price {
            rates: rates(3_000_000, 15_000_000),
            longer: Vec::new(),
        };
        check(&price, Usage::default(), 0);
        // 1,000 × $3 and 100 × $15 for a million.
        check(&price, used(1_000, 0, 0, 100), 4_500_000);
        // Without a rate of their own, cached tokens are like others.
        check(&price, used(1_000, 600, 300, 100), 4_500_000);
        price.rates.cache_read = Some(300_000);
        price.rates.cache_write = Some(3_750_000);
        check(
            &price,
            used(1_000, 600, 300, 100),
            300_000 + 180_000 + 1_125_000 + 1_500_000,
        );
        // More in the cache than was sent.
        check(&price, used(1_000, 2_000, 5, 0), 300_000);
        // Half a billionth is rounded up, less is not.
        let tiny = |input| Price {
            rates: rates(input, 0),
            longer: Vec::new(),
        };
        check(&tiny(500), used(1, 0, 0, 0), 1);
        check(&tiny(499), used(1, 0, 0, 0), 0);
    }

    #[test]
    fn long_requests_cost_more_from_their_first_token_on() {
        let price = Price {
            rates: rates(1_000_000, 2_000_000),
            longer: vec![
                (200, rates(2_000_000, 3_000_000)),
                (300, rates(4_000_000, 6_000_000)),
            ],
        };
        for (input, nano) in [
            (200, 200_000),
            (201, 402_000),
            (300, 600_000),
            (301, 1_204_000),
        ] {
            assert_eq!(price.of(used(input, 0, 0, 0)), nano, "{input}");
        }
        assert_eq!(price.of(used(301, 0, 0, 1)), 1_210_000);
    }

    #[test]
    fn dollars_are_read_exactly() {
        for (text, micro) in [
            ("2.5", Some(2_500_000)),
            ("0.075", Some(75_000)),
            ("1.433525", Some(1_433_525)),
            ("600", Some(600_000_000)),
            ("0", Some(0)),
            ("0.0000001", None),
            ("-1", None),
            (".5", None),
            ("1.", None),
            ("1e3", None),
            ("", None),
            ("99999999999999999999", None),
            ("18446744073709.551616", None),
        ] {
            assert_eq!(micro_dollars(text), micro, "{text}");
            if let Some(micro) = micro {
                assert_eq!(dollars(micro), text);
            }
        }
    }

    #[test]
    fn a_sum_says_what_it_lacks() {
        let known = Money {
            nano_usd: 5,
            incomplete: 0,
        };
        let sum = known.plus(Money::unknown()).plus(known);
        assert_eq!((sum.nano_usd, sum.incomplete), (10, 1));
        assert!(!sum.is_complete() && !sum.is_unknown());
        assert!(Money::unknown().is_unknown() && Money::default().is_complete());
        assert_eq!(sum.less(Money::unknown()).less(known), known);
    }

    #[test]
    fn programs_read_dollars() {
        let check = |nano_usd, incomplete, expected: &str| {
            let document = CostDocument::from(Money {
                nano_usd,
                incomplete,
            });
            assert_eq!(serde_json::to_string(&document).unwrap(), expected);
        };
        check(0, 0, r#"{"currency":"USD","amount":0.0,"complete":true}"#);
        check(
            4_512_345,
            0,
            r#"{"currency":"USD","amount":0.004512345,"complete":true}"#,
        );
        check(
            1_234_567_890_123_456,
            2,
            r#"{"currency":"USD","amount":1234567.890123456,"complete":false}"#,
        );
        check(0, 1, r#"{"currency":"USD","amount":null,"complete":false}"#);
    }

    proptest! {
        #[test]
        fn no_count_is_too_large(usage in any::<[u64; 4]>(), rate in any::<[u64; 4]>()) {
            let [input, output, read, written] = rate;
            let rates = Rates { input, output, cache_read: Some(read), cache_write: Some(written) };
            let price = Price { rates, longer: vec![(1, rates)] };
            let [a, b, c, d] = usage;
            let _ = price.of(used(a, b, c, d));
        }

        #[test]
        fn amounts_read_as_they_are_written(micro: u64) {
            prop_assert_eq!(micro_dollars(&dollars(micro)), Some(micro));
        }
    }
}
