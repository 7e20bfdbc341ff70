//! Types of settings that know their limits, and values as they stand in a file.

use std::num::NonZeroU32;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use toml::ser::ValueSerializer;
use toml_edit::{InlineTable, Value};

/// A number of something: at least one.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct Count(pub(super) u64);

impl Count {
    /// The number.
    pub fn get(self) -> u64 {
        self.0
    }

    /// The number, or the largest that fits.
    pub fn clamped(self) -> u32 {
        u32::try_from(self.0).unwrap_or(u32::MAX)
    }
}

impl From<NonZeroU32> for Count {
    fn from(number: NonZeroU32) -> Count {
        Count(number.get().into())
    }
}

impl TryFrom<i64> for Count {
    type Error = OutOfRange;

    fn try_from(number: i64) -> Result<Count, OutOfRange> {
        let number = u64::try_from(number).unwrap_or_default();
        if number == 0 {
            return Err(OutOfRange::Below(1));
        }
        Ok(Count(number))
    }
}

/// A time limit in whole seconds, from one to `MOST`: a day. More is a mistake, and some clocks cannot count it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "i64")]
pub struct Seconds<const MOST: u64 = 86_400>(pub(super) u64);

impl<const MOST: u64> Seconds<MOST> {
    /// The same, for clocks.
    pub fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl<const MOST: u64> TryFrom<i64> for Seconds<MOST> {
    type Error = OutOfRange;

    fn try_from(seconds: i64) -> Result<Seconds<MOST>, OutOfRange> {
        match Count::try_from(seconds)?.0 {
            seconds if seconds > MOST => Err(OutOfRange::Above(MOST)),
            seconds => Ok(Seconds(seconds)),
        }
    }
}

/// A number from 0 to `MOST`.
#[derive(Debug, Clone, Copy, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[serde(try_from = "f64")]
pub struct UpTo<const MOST: u8>(f64);

impl<const MOST: u8> UpTo<MOST> {
    /// The number.
    pub fn get(self) -> f64 {
        self.0
    }
}

impl<const MOST: u8> TryFrom<f64> for UpTo<MOST> {
    type Error = OutOfRange;

    fn try_from(number: f64) -> Result<UpTo<MOST>, OutOfRange> {
        match (0.0..=f64::from(MOST)).contains(&number) {
            true => Ok(UpTo(number)),
            false => Err(OutOfRange::Outside(MOST)),
        }
    }
}

/// A number is too small or too large. The name of the setting stands in front of the message.
#[derive(Debug, thiserror::Error)]
pub enum OutOfRange {
    /// Too small.
    #[error("must be at least {0}")]
    Below(u64),
    /// Too large.
    #[error("must be at most {0}")]
    Above(u64),
    /// Either.
    #[error("must be from 0 to {0}")]
    Outside(u8),
}

/// A value as it stands in a file, in one line.
pub fn written(value: &impl Serialize) -> String {
    let mut text = String::new();
    match value.serialize(ValueSerializer::new(&mut text)) {
        Ok(_) => text,
        // Only for what TOML cannot express, of which no setting consists.
        Err(error) => error.to_string(),
    }
}

/// What is set in a table, in the order in which its fields are declared.
pub fn fields(table: &impl Serialize) -> Vec<(String, Value)> {
    let Ok(Value::InlineTable(table)) = written(table).parse() else {
        return Vec::new();
    };
    let fields = InlineTable::into_iter(table);
    let bare = |(name, mut value): (_, Value)| {
        value.decor_mut().clear();
        (name, value)
    };
    fields.map(bare).collect()
}

/// Declares a table of a file: the struct, and its keys for the reference.
macro_rules! table {
    (
        $(#[$attribute:meta])*
        pub struct $table:ident {
            $(
                $(#[doc = $help:literal])+
                $(#[serde($($serde:tt)+)])?
                $visibility:vis $key:ident: $type:ty,
            )*
        }
    ) => {
        $(#[$attribute])*
        pub struct $table {
            $($(#[doc = $help])+ $(#[serde($($serde)+)])? $visibility $key: $type,)*
        }

        #[cfg(test)]
        impl $table {
            /// The declarations, for the reference.
            pub(super) fn declared() -> Vec<crate::config::reference_tests::Declared> {
                vec![$(crate::config::reference_tests::Declared::key::<$type>(
                    stringify!($key),
                    concat!($($help),+),
                ),)*]
            }
        }
    };
}

pub(super) use table;
