//! Money in words.

use dunlin_chat::price::{Money, Price, Rates, dollars};
use dunlin_host::display::grouped;

/// Billionths of a dollar in a ten-thousandth of one, and in a cent.
const TEN_THOUSANDTH: u64 = 100_000;
const CENT: u64 = 10_000_000;

/// An amount in billionths of a dollar, rounded to what is worth reading: `$0.0123`, `$4.56`, `<$0.0001`.
pub fn amount(nano_usd: u64) -> String {
    let rounded = |unit: u64| nano_usd / unit + u64::from(nano_usd % unit >= unit / 2);
    match nano_usd {
        0 => "$0".to_owned(),
        1..TEN_THOUSANDTH => "<$0.0001".to_owned(),
        _ => match rounded(TEN_THOUSANDTH) {
            small @ ..10_000 => format!("$0.{small:04}"),
            _ => {
                let cents = rounded(CENT);
                format!("${}.{:02}", grouped(cents / 100), cents % 100)
            }
        },
    }
}

/// What was spent: `$0.0123`, `at least $0.0123`. Of what nothing is known of, nothing is said.
pub fn spent(money: Money) -> Option<String> {
    let amount = amount(money.nano_usd);
    match (money.is_unknown(), money.is_complete()) {
        (true, _) => None,
        (false, true) => Some(amount),
        (false, false) => Some(format!("at least {amount}")),
    }
}

/// What a model costs: `$2.50 in · $1.25 cached · $10.00 out`, for a million tokens each.
pub fn price(price: &Price) -> String {
    let Rates {
        input,
        output,
        cache_read,
        cache_write,
    } = price.rates;
    let mut parts = vec![format!("{} in", rate(input))];
    parts.extend(cache_read.map(|read| format!("{} cached", rate(read))));
    parts.extend(cache_write.map(|write| format!("{} into the cache", rate(write))));
    parts.push(format!("{} out", rate(output)));
    if let Some((above, _)) = price.longer.first() {
        parts.push(format!("more above {} tokens", grouped(*above)));
    }
    parts.join(" · ")
}

/// Millionths of a dollar, with at least two decimals.
fn rate(micro: u64) -> String {
    let text = dollars(micro);
    let decimals = text
        .split_once('.')
        .map_or(0, |(_, decimals)| decimals.len());
    match decimals {
        0 => format!("${text}.00"),
        1 => format!("${text}0"),
        _ => format!("${text}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_are_rounded_to_what_is_worth_reading() {
        for (nano, expected) in [
            (0, "$0"),
            (1, "<$0.0001"),
            (99_999, "<$0.0001"),
            (100_000, "$0.0001"),
            (12_349_999, "$0.0123"),
            (12_350_000, "$0.0124"),
            (999_949_999, "$0.9999"),
            (999_950_000, "$1.00"),
            (1_004_999_999, "$1.00"),
            (4_565_000_000, "$4.57"),
            (1_234_567_890_000, "$1,234.57"),
            (u64::MAX, "$18,446,744,073.71"),
        ] {
            assert_eq!(amount(nano), expected, "{nano}");
        }
    }

    #[test]
    fn what_a_sum_lacks_is_said() {
        let check = |nano_usd, incomplete, expected: Option<&str>| {
            let money = Money {
                nano_usd,
                incomplete,
            };
            assert_eq!(spent(money).as_deref(), expected);
        };
        check(12_300_000, 0, Some("$0.0123"));
        check(12_300_000, 2, Some("at least $0.0123"));
        check(0, 0, Some("$0"));
        check(0, 1, None);
    }

    #[test]
    fn a_price_is_for_a_million_tokens() {
        let mut model = Price {
            rates: Rates {
                input: 2_500_000,
                output: 10_000_000,
                cache_read: None,
                cache_write: None,
            },
            longer: Vec::new(),
        };
        assert_eq!(price(&model), "$2.50 in · $10.00 out");
        model.rates.cache_read = Some(75_000);
        model.rates.cache_write = Some(3_120_000);
        model.longer.push((272_000, model.rates));
        let expected = "$2.50 in · $0.075 cached · $3.12 into the cache · $10.00 out · more above 272,000 tokens";
        assert_eq!(price(&model), expected);
    }
}
