//! The manual pages, made of the command line.

use std::io;

use clap::Command;
use clap_mangen::Man;

/// The page of a command and those of all below it: file names and contents.
pub fn manual_pages(mut command: Command) -> io::Result<Vec<(String, Vec<u8>)>> {
    // Only a built command knows its full name, such as `shipagent-threads-list`.
    command.build();
    let mut pages = Vec::new();
    add_pages(&command, &mut pages)?;
    Ok(pages)
}

fn add_pages(command: &Command, pages: &mut Vec<(String, Vec<u8>)>) -> io::Result<()> {
    let mut page = Vec::new();
    let name = command.get_display_name().unwrap_or(command.get_name());
    Man::new(command.clone()).render(&mut page)?;
    pages.push((format!("{name}.1"), page));
    for sub in command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help") {
        add_pages(sub, pages)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::Cli;
    use crate::domain::Language;

    #[test]
    fn every_command_that_is_shown_has_a_page() {
        let pages = manual_pages(Cli::command_with(&[("irc", "IRC")], Language::En)).unwrap();
        let names: Vec<&str> = pages.iter().map(|(name, _)| name.as_str()).collect();
        for name in
            ["shipagent.1", "shipagent-run.1", "shipagent-threads-list.1", "shipagent-service-install.1"]
        {
            assert!(names.contains(&name), "{name} in {names:?}");
        }
        assert!(!names.iter().any(|name| name.contains("help") || *name == "shipagent-man.1"), "{names:?}");
        let text = String::from_utf8(pages.into_iter().next().unwrap().1).unwrap();
        for word in [".TH shipagent 1", "shipagent\\-run(1)", "Exit codes"] {
            assert!(text.contains(word), "{word} in {text}");
        }
    }
}
