//! API keys in the system's keyring.
//!
//! That is the desktop's secret service (GNOME Keyring, KWallet, KeePassXC), asked over D-Bus. Where there is none,
//! as on most servers, the kernel keeps keys for the user: in memory only, until the machine restarts. What reads a
//! key asks both, what sets one says where it went.
//!
//! The service may ask the user to unlock it, and may never answer; whoever waits for it waits for a limited time.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use keyring_core::api::CredentialStoreApi;
use keyring_core::{Entry, Error};

/// Under which name Dunlin's keys stand in the keyring.
const SERVICE: &str = "dunlin";

/// How long the keyring may take: time to type the password that unlocks it, and not for ever.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a key is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// The desktop's secret service.
    Service,
    /// The kernel's keyring of the user.
    Kernel,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Place::Service => "the system's keyring",
            Place::Kernel => "the kernel's keyring, until the machine restarts",
        })
    }
}

/// Why the keyring does not serve. Says nothing of any key but its name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyringError {
    /// There is no such key, as far as could be looked.
    #[error(
        "the system's keyring has no key {account:?} of Dunlin{}",
        besides(service)
    )]
    NoEntry {
        /// Under which name it was looked for.
        account: String,
        /// Why the secret service was not asked, if it was not.
        service: Option<String>,
    },
    #[error("the system's keyring has not answered for {} s", PATIENCE.as_secs())]
    Slow,
    #[error("the system's keyring cannot be used: {0}")]
    Failed(String),
    /// A key can be put nowhere.
    #[error(
        "neither a desktop's keyring nor the kernel's can be used: no secret service answers: {service}; \
         the kernel says: {kernel}"
    )]
    Neither {
        /// Why not the desktop's.
        service: String,
        /// Why not the kernel's.
        kernel: String,
    },
}

fn besides(service: &Option<String>) -> String {
    let because = service
        .as_deref()
        .map(|why| format!("; no secret service answers: {why}"));
    because.unwrap_or_default()
}

/// Reads a key. Blocks as long as the user needs to unlock the keyring, for 30 s at most.
pub fn get(account: &str) -> Result<String, KeyringError> {
    let account = account.to_owned();
    within(PATIENCE, move || {
        let mut service = None;
        for place in [Place::Service, Place::Kernel] {
            match entry(place, &account).and_then(|entry| entry.get_password()) {
                Ok(key) => return Ok(key),
                Err(Error::NoEntry) => {}
                Err(error) if place == Place::Service => service = Some(in_words(&error)),
                // Without the kernel's there is what the service said.
                Err(_) => {}
            }
        }
        Err(KeyringError::NoEntry { account, service })
    })
}

/// Puts a key into the keyring, in the place of an earlier one. Blocks as [`get`] does.
pub fn set(account: &str, key: &str) -> Result<Place, KeyringError> {
    let (account, key) = (account.to_owned(), key.to_owned());
    within(PATIENCE, move || {
        let put = |place| entry(place, &account)?.set_password(&key);
        match put(Place::Service) {
            Ok(()) => Ok(Place::Service),
            Err(service) => match put(Place::Kernel) {
                Ok(()) => Ok(Place::Kernel),
                Err(kernel) => Err(KeyringError::Neither {
                    service: in_words(&service),
                    kernel: in_words(&kernel),
                }),
            },
        }
    })
}

/// Takes a key out of the keyring. Blocks as [`get`] does.
///
/// # Errors
/// [`KeyringError::NoEntry`] where there was none.
pub fn delete(account: &str) -> Result<(), KeyringError> {
    let account = account.to_owned();
    within(PATIENCE, move || {
        let mut service = None;
        let mut is_gone = false;
        for place in [Place::Service, Place::Kernel] {
            match entry(place, &account).and_then(|entry| entry.delete_credential()) {
                Ok(()) => is_gone = true,
                Err(Error::NoEntry) => {}
                Err(error) if place == Place::Service => service = Some(in_words(&error)),
                Err(_) => {}
            }
        }
        match is_gone {
            true => Ok(()),
            false => Err(KeyringError::NoEntry { account, service }),
        }
    })
}

fn entry(place: Place, account: &str) -> keyring_core::Result<Entry> {
    match place {
        Place::Service => {
            let store: Arc<zbus_secret_service_keyring_store::Store> =
                zbus_secret_service_keyring_store::Store::new()?;
            store.build(SERVICE, account, None)
        }
        Place::Kernel => {
            let store: Arc<linux_keyutils_keyring_store::Store> =
                linux_keyutils_keyring_store::Store::new()?;
            store.build(SERVICE, account, None)
        }
    }
}

/// What went wrong, without anything that a key could stand in.
fn in_words(error: &Error) -> String {
    match error {
        Error::PlatformFailure(cause) | Error::NoStorageAccess(cause) => cause.to_string(),
        Error::BadEncoding(_) => "the key in it is not text".to_owned(),
        Error::BadDataFormat(..) => "the key in it is damaged".to_owned(),
        Error::Ambiguous(_) => "it has several keys under this name".to_owned(),
        other => other.to_string(),
    }
}

/// Has work done by a thread of its own, which is left to itself where it takes too long.
fn within<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> Result<T, KeyringError> + Send + 'static,
) -> Result<T, KeyringError> {
    let (done, wait) = mpsc::channel();
    let started = std::thread::Builder::new()
        .name("keyring".to_owned())
        // Fails when nobody waits any more.
        .spawn(move || drop(done.send(work())));
    if let Err(error) = started {
        return Err(KeyringError::Failed(error.to_string()));
    }
    match wait.recv_timeout(time) {
        Ok(result) => result,
        Err(RecvTimeoutError::Timeout) => Err(KeyringError::Slow),
        Err(RecvTimeoutError::Disconnected) => Err(KeyringError::Failed(
            "the reading of it broke off".to_owned(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keyring_that_hangs_or_breaks_is_an_error() {
        let (_open, gate) = mpsc::channel::<()>();
        let slow = within(Duration::from_millis(1), move || {
            let _ = gate.recv();
            Ok(())
        });
        assert_eq!(slow, Err(KeyringError::Slow));
        let broken = within(Duration::from_secs(60), || -> Result<(), KeyringError> {
            std::panic::resume_unwind(Box::new("broken"))
        });
        assert!(matches!(broken, Err(KeyringError::Failed(_))));
    }

    #[test]
    fn errors_hold_no_key() {
        let key = b"sk-12345".to_vec();
        for error in [
            Error::BadEncoding(key.clone()),
            Error::BadDataFormat(key, "no format".into()),
        ] {
            let words = in_words(&error);
            assert!(
                !words.contains("12345") && !words.contains("115, 107"),
                "{words}"
            );
        }
    }
}
