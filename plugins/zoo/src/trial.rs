//! What a trial of a guest is.

/// One call of a guest, and what has to come of it.
///
/// It happens in a project with a `README.md` and some more, in which reading is allowed. Beside it are
/// `../outside/secret.txt` and Dunlin's own `../config/tool.permissions.json`; what stands in these must turn up nowhere.
/// Nobody is there to be asked.
#[derive(Debug, Clone, Copy)]
pub struct Trial {
    /// The folder of the guest.
    pub guest: &'static str,
    /// What it tries, as a sentence that starts with the guest.
    pub tries: &'static str,
    /// The arguments of the call: JSON, with `PORT` for the port of a listener on this machine.
    pub arguments: &'static str,
    /// What is granted beforehand: targets and three characters.
    pub granted: &'static [(&'static str, &'static str)],
    /// Whether what it declares is agreed to: the answer that a lie is to be made of.
    pub agreed: bool,
    /// Whether `README.md` was read before by Dunlin's own tool, as it has to be before anything is edited.
    pub read: bool,
    /// Whether the link `swapped` is led elsewhere meanwhile, again and again: between the inside of the project and the secret.
    pub swapped: bool,
    /// Seconds after which the step is stopped that does it. One where that is what has to happen, a minute where something else has to
    /// happen before.
    pub seconds: u64,
    /// What has to come of it.
    pub end: End,
}

/// How a trial has to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The plugin, or its tool, is left out of the others with this line.
    LeftOut(&'static str),
    /// It is not installed: its tool…
    NotInstalled(&'static str),
    /// The call fails with this line, before or while it runs.
    Fails(&'static str),
    /// A rule refuses the call before it runs.
    Refused(&'static str),
    /// Whoever is asked would be asked this.
    Asks(&'static str),
    /// The call comes to its end and gives this, which is not harm.
    Gives(&'static str),
    /// The call may come to an end or not: what counts is that it did no harm, as the words say.
    Harmless(&'static str),
    /// The command that it runs with a yes fails in its sandbox, as the words say.
    Sandboxed(&'static str),
}

impl End {
    /// The line.
    pub fn line(self) -> &'static str {
        match self {
            End::LeftOut(line)
            | End::NotInstalled(line)
            | End::Fails(line)
            | End::Refused(line)
            | End::Asks(line)
            | End::Gives(line)
            | End::Harmless(line)
            | End::Sandboxed(line) => line,
        }
    }
}

impl Trial {
    /// A call without arguments, grants or a yes, in a minute.
    pub(crate) const fn of(guest: &'static str, tries: &'static str, end: End) -> Trial {
        Trial {
            guest,
            tries,
            arguments: "{}",
            granted: &[],
            agreed: false,
            read: false,
            swapped: false,
            seconds: 60,
            end,
        }
    }

    pub(crate) const fn with(mut self, arguments: &'static str) -> Trial {
        self.arguments = arguments;
        self
    }

    pub(crate) const fn granted(
        mut self,
        granted: &'static [(&'static str, &'static str)],
    ) -> Trial {
        self.granted = granted;
        self
    }

    pub(crate) const fn agreed(mut self) -> Trial {
        self.agreed = true;
        self
    }

    pub(crate) const fn after_reading(mut self) -> Trial {
        self.read = true;
        self
    }

    pub(crate) const fn swapped(mut self) -> Trial {
        self.swapped = true;
        self
    }

    /// Time is what has to stop it.
    pub(crate) const fn short(mut self) -> Trial {
        self.seconds = 1;
        self
    }
}

/// The line that the table names for a guest.
pub fn line_of(guest: &str) -> Option<&'static str> {
    let trial = crate::TRIALS.iter().find(|trial| trial.guest == guest);
    trial.map(|trial| trial.end.line())
}
