//! Waiting for what a host writes: a file that comes, a line of a log.

use std::fs;
use std::path::Path;
use std::time::Duration;

use rustix::fs::inotify;
use tokio::sync::watch;

/// What happens in a folder, which wakes whoever waits for it.
#[derive(Debug)]
pub struct Changes(watch::Receiver<()>);

impl Changes {
    /// Listens from now on. The folder is made if it is not there.
    pub fn of(folder: &Path) -> Changes {
        fs::create_dir_all(folder).expect("the folder");
        let watched = inotify::init(inotify::CreateFlags::CLOEXEC).expect("inotify");
        let of_what = inotify::WatchFlags::MODIFY
            | inotify::WatchFlags::CREATE
            | inotify::WatchFlags::MOVED_TO;
        inotify::add_watch(&watched, folder, of_what).expect("a watch");
        let (changed, changes) = watch::channel(());
        std::thread::spawn(move || {
            let mut heard = [0; 64 * 1024];
            // What the changes were does not matter.
            while rustix::io::read(&watched, &mut heard).is_ok() && changed.send(()).is_ok() {}
        });
        Changes(changes)
    }

    /// Waits until something is so. It is looked at after each change.
    pub async fn until(&mut self, is_so: impl Fn() -> bool) {
        let waiting = async {
            while !is_so() {
                self.0.changed().await.expect("a change");
            }
        };
        let waited = tokio::time::timeout(Duration::from_secs(60), waiting).await;
        waited.expect("it ends in time");
    }
}
