//! The summary that the daemon prints when it is ready.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};

use super::sandbox_text;
use crate::config::{Provider, Settings};
use crate::domain::{Language, Platform, SandboxReport};
use crate::phrases::start as words;

#[derive(Debug)]
pub(super) struct Summary<'a> {
    pub(super) settings: &'a Settings,
    pub(super) address: Option<SocketAddr>,
    pub(super) token: Option<&'a SecretString>,
    pub(super) unfinished: usize,
    /// Whether the output is kept in a journal that others may read.
    pub(super) journaled: bool,
}

impl Summary<'_> {
    /// The URL of the console with the token in the fragment, which never leaves the browser; in a journal
    /// only the path of the token file.
    fn console(&self, language: Language) -> Option<String> {
        if self.journaled {
            let given = self.settings.web.as_ref().is_some_and(|web| web.token.is_some());
            let place = if given { "ship.json" } else { ".ship/run/token" };
            return self.address.map(|address| words::token_is_in(address, place, language));
        }
        let token = self.token.map(ExposeSecret::expose_secret).unwrap_or_default();
        self.address.map(|address| format!("http://{address}/#token={token}"))
    }

    /// The whole summary. The adapters of `starting` have not reached their platforms yet.
    pub(super) fn text(&self, starting: &[Platform]) -> String {
        let language = self.settings.operator_language;
        let mut text = format!("shipagent {} · {}\n", env!("CARGO_PKG_VERSION"), self.settings.name);
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name}  {value}\n"));
        line(words::line_project(language), &self.settings.project.display().to_string());
        line(words::line_model(language), &self.model(language));
        line(words::line_adapters(language), &self.adapters());
        if !starting.is_empty() {
            line(words::line_starting(language), &words::not_reached_yet(&names(starting), language));
        }
        if self.unfinished > 0 {
            line(words::line_resumed(language), &self.unfinished.to_string());
        }
        if !self.settings.warnings.is_empty() {
            line(words::line_warnings(language), &words::warnings(self.settings.warnings.len(), language));
        }
        if let Some(console) = self.console(language) {
            line(words::line_console(language), &console);
        }
        line(words::line_stop(language), words::how_to_stop(language));
        text
    }

    /// The line about the sandbox.
    pub(super) fn sandbox(&self, report: &SandboxReport) -> String {
        let language = self.settings.operator_language;
        let name = words::line_sandbox(language);
        let mut text = format!("  {name}  {}\n", sandbox_text::status(report, language));
        let listed = &self.settings.permissions.exec_shell.sockets;
        if let Some(told) = sandbox_text::sockets(listed, report, language) {
            text.push_str(&format!("  {}  {told}\n", words::line_sockets(language)));
        }
        text
    }

    fn model(&self, language: Language) -> String {
        let name = match &self.settings.model.provider {
            Provider::Offline => {
                // The variable by itself is looked at only where there is no file.
                let key = if self.settings.has_file { "llm.apiKey" } else { "OPENAI_API_KEY" };
                words::offline_model(key, language)
            }
            Provider::OpenAi(endpoint) => format!("{} · {}", endpoint.model, endpoint.base_url),
        };
        let fallbacks: Vec<&str> = self.settings.model.fallbacks.iter().map(Provider::name).collect();
        if fallbacks.is_empty() { name } else { format!("{name} → {}", fallbacks.join(" → ")) }
    }

    fn adapters(&self) -> String {
        let mut words: Vec<String> = self.address.iter().map(|address| format!("web ({address})")).collect();
        words.extend(self.settings.adapters.iter().map(|own| {
            let how = if own.section.by_webhook() { " (webhook)" } else { "" };
            format!("{}{how}", own.def.name)
        }));
        words.join(", ")
    }
}

/// The display names of adapters.
pub(super) fn names(platforms: &[Platform]) -> String {
    platforms.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;
    use crate::config::Env;

    fn told(files: &[(&str, &str)]) -> String {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::File::create(dir.path().join(name)).unwrap().write_all(text.as_bytes()).unwrap();
        }
        let settings = Settings::load(dir.path(), &Env::default(), &crate::adapters::builtin()).unwrap();
        let summary =
            Summary { settings: &settings, address: None, token: None, unfinished: 0, journaled: false };
        summary.text(&[])
    }

    #[test]
    fn the_way_to_a_real_model_is_one_that_works_here() {
        let agent = ("Agent.md", "x");
        let without = told(&[agent]);
        assert!(without.contains("set OPENAI_API_KEY for a real one"), "{without}");
        let with = told(&[agent, ("ship.json", "{}")]);
        assert!(with.contains("set llm.apiKey for a real one"), "{with}");
        let chinese = told(&[agent, ("ship.json", r#"{ "language": "zh" }"#)]);
        assert!(chinese.contains("设置 llm.apiKey 可使用") && !chinese.contains("OPENAI"), "{chinese}");
    }
}
