//! The supervisor: this program, started again to look after one command.
//!
//! It reads its order from the socket that is its standard input, sets up the sandbox, and ends only when nothing of
//! the command is left. Its standard output and error are the command's.
//!
//! Whether there are namespaces is found out by a command that depends on no project and no permissions, and is
//! announced to the user. Every other command gets the sandbox that was announced, or does not run.

use std::convert::Infallible;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rustix::process::{
    DumpableBehavior, Pid, Signal, WaitOptions, getgid, getuid, set_child_subreaper,
    set_dumpable_behavior, set_parent_process_death_signal, setsid, waitpid,
};

use super::git::{self, Baseline, Kind, Means, Repositories};
use super::init::{self, Rank};
use super::order::{End, Input, Order, Report};
use super::placeholder::Placeholders;
use super::server_supervisor::SERVER_FLAG;
use super::shadows::Programs;
use super::shared::{self, ChangeTime};
use super::sys::Inherited;
use super::sys::{self, Forked};
use super::{namespaces, refused, sandbox, server_supervisor};
use crate::display::chain;

/// The first argument that makes this program a supervisor. Not for people, and in no help.
pub const SUPERVISOR_FLAG: &str = "--supervise-command";

/// The second argument of a supervisor that makes no namespaces of its own: for tests of what is left then.
pub const WITHOUT_NAMESPACES: &str = "--without-namespaces";

/// How much sooner than others a command is ended where memory runs out (-1000 to 1000): before Dunlin and before
/// whatever else the user has open.
const OUT_OF_MEMORY_SCORE: &str = "800";

/// How long a supervisor may look at the repositories after its command: somebody waits for it. It is killed a minute after the
/// time limit, of which the search before the command may have taken some.
const REVIEW_TIME: Duration = Duration::from_secs(20);

/// What comes after the command's programs have said all they had to say about themselves.
const READY: &[u8] = b"+";

/// The whole life of a supervisor. Called by `main` before anything else, while the process has one thread.
pub fn supervisor_main() -> ExitCode {
    // Whoever started Dunlin may have left files open for it: they are nobody's business here.
    if sys::give_no_files_on(Inherited::Closed).is_err() {
        return ExitCode::FAILURE;
    }
    let second = std::env::args_os().nth(2);
    if second.as_ref().is_some_and(|second| second == SERVER_FLAG) {
        return server_supervisor::main();
    }
    let with_namespaces = second.is_none_or(|second| second != WITHOUT_NAMESPACES);
    match supervise(with_namespaces) {
        Ok(()) => ExitCode::SUCCESS,
        // Nobody reads what a supervisor prints; whoever holds the other end of the life line sees it end.
        Err(_) => ExitCode::FAILURE,
    }
}

fn supervise(with_namespaces: bool) -> io::Result<()> {
    let life_line = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    let order = Order::read(&life_line)?;
    let input = match order.input {
        Input::Nothing => None,
        Input::Text | Input::Stream => Some(server_supervisor::receive_input(&life_line)?),
    };
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdin(&nothing)?;
    // Away from the terminal: its Ctrl-C is for Dunlin, which closes the life line.
    setsid()?;
    set_child_subreaper(Some(rustix::process::getpid()))?;
    let _ = std::fs::write("/proc/self/oom_score_adj", OUT_OF_MEMORY_SCORE);
    let mut supervisor = Supervisor {
        life_line,
        order,
        input,
        nothing,
        repositories: Repositories::default(),
    };
    let kept = supervisor.run_command(with_namespaces);
    if let Err(error) = &kept {
        supervisor.report(&Report::Failed(error.clone()));
    }
    // Empty where it was a mount of the command's own.
    let _ = std::fs::remove_dir_all(&supervisor.order.temporary);
    kept.map_err(io::Error::other)
}

struct Supervisor {
    life_line: UnixStream,
    order: Order,
    /// The command's standard input, if it has one.
    input: Option<OwnedFd>,
    nothing: File,
    /// As they were before the command.
    repositories: Repositories,
}

impl Supervisor {
    /// Runs the command in the sandbox that was announced, or finds out which one there is.
    fn run_command(&mut self, with_namespaces: bool) -> Result<(), String> {
        let Some(announced) = self.order.announced.clone() else {
            let tried = match with_namespaces {
                true => self.in_namespaces(),
                false => Err("it is not wanted".to_owned()),
            };
            let run = match tried {
                Ok(first) => self.wait_for(first),
                Err(no_namespaces) => self.as_ancestor(&no_namespaces),
            };
            return run.map_err(|e| e.to_string());
        };
        let access = &self.order.access;
        if access.is_read_only {
            // There is nothing to look at before it or after it, and what others wrote down of theirs stays as it is.
            return self.run_in_namespaces(&mut Placeholders::default());
        }
        let kind = match (self.order.input, access.may_change_repository) {
            (Input::Stream, _) => Kind::Server,
            (_, true) => Kind::Git,
            (_, false) => Kind::Plain,
        };
        let baseline = Baseline::take(
            &self.order.baselines,
            &access.project,
            &access.roots(),
            kind,
        );
        let (baseline, found) = baseline.map_err(|e| {
            format!(
                "cannot write to {}, where commands note which git repositories there are before them: {e}; make that folder writable",
                self.order.baselines.display()
            )
        })?;
        if let Some(unreachable) = found.unreachable() {
            return Err(format!(
                "commands cannot run here: git repositories cannot be protected; make this shorter, smaller or remove it: {unreachable}"
            ));
        }
        self.repositories = found;
        let left_states = baseline.left_states();
        self.repositories.decide_on_states(access, &left_states);
        let mut placeholders = Placeholders::default();
        let programs = Programs::before(&self.order.shell_path, &self.order.access);
        let started = ChangeTime::now();
        let run = match &announced.no_namespaces {
            // Nothing can be mounted over them.
            Some(no_namespaces) => self.as_ancestor(no_namespaces).map_err(|e| e.to_string()),
            None => self.run_in_namespaces(&mut placeholders),
        };
        placeholders.remove();
        let roots = self.order.access.roots();
        let before = baseline.before(&self.repositories);
        let left_behind = baseline.left_behind(&roots);
        let until = Instant::now() + REVIEW_TIME;
        let after = Repositories::find_after(&roots, before);
        let means = Means {
            place: &self.order.set_aside,
            protected: announced
                .no_namespaces
                .is_none()
                .then_some(&self.repositories),
            is_plain: baseline.is_plain(),
            until,
        };
        let reviewed = git::review(&self.order.access, before, &after, means);
        let left_states = self.repositories.left_states(&after, &left_states);
        // What is not kept is the user's own for the next command, which is the safe side.
        let _ = baseline.keep_left_states(&left_states);
        let mut sentences = reviewed.sentences;
        // The user has to act upon them.
        let shared = shared::review(&self.order.access, started, until);
        let programs = programs.review(&self.order.access, until);
        // Without namespaces nothing is hidden.
        let hidden = match announced.no_namespaces {
            None => self.repositories.say_hidden_states(&self.order.access),
            Some(_) => Vec::new(),
        };
        let first = shared.into_iter().chain(programs).chain(hidden);
        sentences.splice(0..0, first);
        let own = sentences.len();
        for earlier in baseline.unheard() {
            if !sentences.contains(&earlier) {
                sentences.push(earlier);
            }
        }
        let mut bytes = 0;
        let heard = sentences.iter().take_while(|sentence| {
            bytes += sentence.len();
            let fits = bytes <= git::MAX_SAID_BYTES;
            fits && self.report(&Report::Notice((*sentence).clone()))
        });
        let heard = heard.count();
        let is_said = baseline.keep_unheard(&sentences[heard..]).is_ok() && heard >= own;
        // Otherwise the next command looks for the same things again.
        match reviewed.is_complete && is_said {
            true => baseline.is_reviewed(&left_behind),
            false => baseline.is_not_reviewed(&left_behind),
        }
        self.report(&Report::Reviewed);
        run
    }

    fn run_in_namespaces(&self, placeholders: &mut Placeholders) -> Result<(), String> {
        let of_git = self.repositories.held(&self.order.access);
        let missing = self.order.access.held().chain(&of_git);
        let first = placeholders
            .make(missing)
            .map_err(|e| e.to_string())
            .and_then(|()| self.in_namespaces());
        let first = first.map_err(|e| format!("cannot set up the sandbox of the command: {e}"))?;
        self.wait_for(first).map_err(|e| e.to_string())
    }

    /// Starts process 1 of the command's namespaces, and waits until they are set up.
    fn in_namespaces(&self) -> Result<Pid, String> {
        let (user, group) = (getuid().as_raw(), getgid().as_raw());
        let fail = |e: io::Error| e.to_string();
        let (mut ready, says) = io::pipe().map_err(fail)?;
        let first = match sys::fork(namespaces::flags(self.order.network))
            .map_err(|e| format!("new namespaces: {e}"))?
        {
            Forked::Child => {
                drop(ready);
                self.be_first(says, user, group);
                sys::exit_now(0);
            }
            Forked::Parent(first) => first,
        };
        drop(says);
        let mut said = Vec::new();
        ready.read_to_end(&mut said).map_err(fail)?;
        if said == READY {
            return Ok(first);
        }
        let _ = waitpid(Some(first), WaitOptions::empty());
        Err(String::from_utf8_lossy(&said).into_owned())
    }

    /// Process 1: sets the namespaces up, starts the shell in them, and ends with it.
    fn be_first(&self, mut says: io::PipeWriter, user: u32, group: u32) {
        // A supervisor that is killed takes its command with it.
        let _ = set_parent_process_death_signal(Some(Signal::KILL));
        if let Err(failed) = namespaces::set_up(&self.order, &self.repositories, user, group) {
            let _ = says.write_all(failed.to_string().as_bytes());
            return;
        }
        // Its memory is nobody's business: the command is the same user.
        let _ = set_dumpable_behavior(DumpableBehavior::NotDumpable);
        let _ = says.write_all(READY);
        drop(says);
        if let Err(error) = self.run(Rank::First, None) {
            self.report(&Report::Failed(error.to_string()));
        }
    }

    /// Waits until process 1 has ended, and with it everything else.
    fn wait_for(&self, first: Pid) -> io::Result<()> {
        self.let_go_of_output()?;
        loop {
            match waitpid(Some(first), WaitOptions::empty()) {
                Ok(_) => return Ok(()),
                Err(rustix::io::Errno::INTR) => {}
                Err(e) => return Err(e.into()),
            }
        }
    }

    fn as_ancestor(&self, no_namespaces: &str) -> io::Result<()> {
        self.run(Rank::Ancestor, Some(no_namespaces))
    }

    /// Starts the shell and stays with it.
    fn run(&self, rank: Rank, no_namespaces: Option<&str>) -> io::Result<()> {
        let (mut reports, says) = io::pipe()?;
        let sent_nowhere = refused::count();
        let shell = match sys::fork(0)? {
            Forked::Child => {
                drop(reports);
                self.become_shell(says, no_namespaces);
                sys::exit_now(127);
            }
            Forked::Parent(shell) => shell,
        };
        drop(says);
        self.let_go_of_output()?;
        // Closed by the shell that starts, or by the process that could not become one.
        let mut said = Vec::new();
        reports.read_to_end(&mut said)?;
        let _ = (&self.life_line).write_all(&said);
        let limit = Duration::from_millis(self.order.time_limit_ms);
        // Only there the namespace is the command's own.
        let is_cut_off = rank == Rank::First && !self.order.network;
        let end = init::guard(rank, shell, self.life_line.as_fd(), limit);
        if is_cut_off && refused::count() > sent_nowhere {
            self.report(&Report::Notice(match self.order.access.is_read_only {
                true => refused::NO_NETWORK_IN_PLAN_MODE.to_owned(),
                false => refused::NO_NETWORK.to_owned(),
            }));
        }
        let end = end?;
        if end != End::Stopped {
            self.report(&Report::Ended(end));
        }
        Ok(())
    }

    /// Gets into the sandbox and becomes the shell. Comes back only where that fails.
    fn become_shell(&self, mut says: io::PipeWriter, no_namespaces: Option<&str>) {
        let failed = match self.try_to_become_shell(&mut says, no_namespaces) {
            Ok(never) => match never {},
            Err(failed) => failed,
        };
        let _ = says.write_all(&Report::Failed(failed).to_line());
    }

    fn try_to_become_shell(
        &self,
        says: &mut io::PipeWriter,
        no_namespaces: Option<&str>,
    ) -> Result<Infallible, String> {
        let order = &self.order;
        // A group of its own, so that `kill 0` in a script means the script.
        setsid().map_err(|e| format!("cannot begin a session: {e}"))?;
        let project = &order.access.project;
        std::env::set_current_dir(project)
            .map_err(|e| format!("cannot go to {}: {e}", project.display()))?;
        let input = match &self.input {
            Some(input) => input.try_clone(),
            // By the mount that the command has, which is read-only: by that of the machine, the superuser's command could
            // change the mode and the times of the device.
            None => File::open("/dev/null").map(OwnedFd::from),
        };
        let input = input.map_err(|e| format!("cannot open its input: {e}"))?;
        rustix::stdio::dup2_stdin(&input).map_err(|e| format!("cannot take its input: {e}"))?;
        let sandbox = sandbox::enter(order, no_namespaces).map_err(|e| chain(&e))?;
        if let Some(difference) = order
            .announced
            .as_ref()
            .and_then(|told| sandbox.difference(told))
        {
            return Err(difference);
        }
        says.write_all(&Report::Sandboxed(sandbox).to_line())
            .map_err(|e| e.to_string())?;
        let error = Command::new(&order.shell)
            // The line may begin with a dash.
            .args(["-c", "--"])
            .arg(&order.line)
            .env_clear()
            .envs(order.environment.iter().map(|(name, value)| (name, value)))
            .env("TMPDIR", &order.temporary)
            .exec();
        Err(format!("cannot start {}: {error}", order.shell.display()))
    }

    /// From here on the output belongs to the command alone: its end is the end of what it started.
    fn let_go_of_output(&self) -> io::Result<()> {
        let nothing: OwnedFd = self.nothing.try_clone()?.into();
        rustix::stdio::dup2_stdout(&nothing)?;
        rustix::stdio::dup2_stderr(&nothing)?;
        Ok(())
    }

    /// Whether there is somebody to hear it.
    fn report(&self, report: &Report) -> bool {
        (&self.life_line).write_all(&report.to_line()).is_ok()
    }
}
