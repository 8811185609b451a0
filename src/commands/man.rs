//! `shipagent man`: writes the manual pages of all commands into a folder. For packages; not shown in the help.

use std::io;
use std::path::Path;

use crate::cli::{Cli, Exit, manual_pages};
use crate::domain::Language;
use crate::store::replace_file;

/// Writes the pages, in English.
pub fn write_pages(dir: &Path, choices: &[(&'static str, &'static str)]) -> io::Result<Exit> {
    std::fs::create_dir_all(dir)?;
    for (name, page) in manual_pages(Cli::command_with(choices, Language::En))? {
        replace_file(&dir.join(name), &page, 0o644)?;
    }
    Ok(Exit::Ok)
}
