//! Which table is in use: the newer one of that in the program and that in the data folder.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use dunlin_host::files::{make_private, open_regular};
use parking_lot::Mutex;
use tempfile::NamedTempFile;

use super::ModelTable;
use crate::config::paths::Folders;

/// The largest file that is read, in bytes: twenty times what all of models.dev comes to.
const MAX_FILE_BYTES: u64 = 8 * 1024 * 1024;

/// The table that counts.
#[derive(Debug)]
pub struct TableInUse {
    pub table: ModelTable,
    /// The file that it is from; `None`: it is the one in the program.
    pub file: Option<PathBuf>,
    /// Why a stored one does not count, with the way out; until it was said.
    warning: Mutex<Option<String>>,
}

impl TableInUse {
    /// Why a stored one does not count, for the first who asks.
    pub fn take_warning(&self) -> Option<String> {
        self.warning.lock().take()
    }
}

/// Reads the stored table, if there is one, and takes the newer.
pub fn load(folders: &Folders) -> TableInUse {
    let built_in = |warning| TableInUse {
        table: ModelTable::built_in(),
        file: None,
        warning: Mutex::new(warning),
    };
    let file = folders.model_table_file();
    let text = match read(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return built_in(None),
        Err(error) => return built_in(Some(unusable(folders, &file, &error.to_string()))),
    };
    match ModelTable::of_file(&text) {
        Ok(table) if table.date() < ModelTable::built_in().date() => built_in(None),
        Ok(table) => TableInUse {
            table,
            file: Some(file),
            warning: Mutex::default(),
        },
        Err(damage) => built_in(Some(unusable(folders, &file, &damage.to_string()))),
    }
}

fn unusable(folders: &Folders, file: &Path, why: &str) -> String {
    format!(
        "the table of models in {} cannot be used: {why}; the one in the program is used instead, and `dunlin model refresh` \
         replaces the file",
        folders.short(file)
    )
}

fn read(file: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(file)?
        .take(MAX_FILE_BYTES)
        .read_to_string(&mut text)?;
    Ok(text)
}

/// Stores a table, whole or not at all, and says where.
///
/// # Errors
/// It cannot be written.
pub fn store(folders: &Folders, table: &ModelTable) -> Result<PathBuf, (PathBuf, io::Error)> {
    let file = folders.model_table_file();
    let stored = || {
        make_private(&folders.data)?;
        let mut written = NamedTempFile::new_in(&folders.data)?;
        written.write_all(table.to_file().as_bytes())?;
        written.as_file().sync_all()?;
        written.persist(&file).map_err(|error| error.error)
    };
    match stored() {
        Ok(_) => Ok(file),
        Err(error) => Err((file, error)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    use jiff::ToSpan;

    use super::*;
    use crate::config::env::Environment;

    fn folders(home: &Path) -> Folders {
        let environment: Environment = [("HOME", home.as_os_str())].into_iter().collect();
        Folders::find(&environment).unwrap()
    }

    #[test]
    fn the_newer_table_counts() {
        let home = tempfile::tempdir().unwrap();
        let folders = folders(home.path());
        let check = |is_stored: bool, warning: Option<&str>| {
            let in_use = load(&folders);
            assert_eq!(in_use.file.is_some(), is_stored);
            assert_eq!(in_use.take_warning().as_deref(), warning);
            assert_eq!(in_use.take_warning(), None);
        };
        check(false, None);
        let built_in = ModelTable::built_in();
        let of_day = |days: i64| ModelTable {
            date: built_in.date() + days.days(),
            ..built_in.clone()
        };
        let file = store(&folders, &of_day(1)).unwrap();
        check(true, None);
        assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(folders.data.read_dir().unwrap().count(), 1);
        store(&folders, &built_in).unwrap();
        check(true, None);
        store(&folders, &of_day(-1)).unwrap();
        check(false, None);
        fs::write(&file, "dunlin-models").unwrap();
        let expected = "the table of models in ~/.local/share/dunlin/model-table.tsv cannot be used: its first line is not \
                        that of a table of models; the one in the program is used instead, and `dunlin model refresh` \
                        replaces the file";
        check(false, Some(expected));
        fs::write(&file, [0xff, 0xfe]).unwrap();
        assert!(load(&folders).take_warning().is_some());
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        assert!(load(&folders).take_warning().is_some());
        assert!(store(&folders, &built_in).is_err());
    }
}
