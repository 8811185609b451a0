//! What a daemon says when it is ready: where to talk to it and what it runs on.

use std::net::SocketAddr;

use secrecy::{ExposeSecret, SecretString};

use super::sandbox_words;
use crate::config::{Provider, Settings};
use crate::domain::{Language, Platform, SandboxReport};

/// What there is to say.
#[derive(Debug)]
pub(super) struct Summary<'a> {
    pub(super) settings: &'a Settings,
    pub(super) address: Option<SocketAddr>,
    pub(super) token: Option<&'a SecretString>,
    pub(super) unfinished: usize,
    /// Whether what is written is kept for others to read, as a journal is.
    pub(super) journaled: bool,
}

impl Summary<'_> {
    /// The address of the console with the token behind the `#`, where it never leaves the browser; in a journal
    /// only the place where the token is.
    fn console(&self, zh: bool) -> Option<String> {
        if self.journaled {
            let given = self.settings.web.as_ref().is_some_and(|web| web.token.is_some());
            let place = if given { "ship.json" } else { ".ship/run/token" };
            let told = if zh {
                format!("（令牌在 {place} 中）")
            } else {
                format!(" (the token is in {place})")
            };
            return self.address.map(|address| format!("http://{address}/{told}"));
        }
        let token = self.token.map(ExposeSecret::expose_secret).unwrap_or_default();
        self.address.map(|address| format!("http://{address}/#token={token}"))
    }

    /// All of it. The adapters of `starting` have not reached their platforms yet.
    pub(super) fn text(&self, starting: &[Platform]) -> String {
        let zh = self.settings.operator_language == Language::Zh;
        let word = |en: &'static str, chinese: &'static str| if zh { chinese } else { en };
        let mut text = format!("shipagent {} · {}\n", env!("CARGO_PKG_VERSION"), self.settings.name);
        let mut line = |name: &str, value: &str| text.push_str(&format!("  {name}  {value}\n"));
        line(word("project ", "项目"), &self.settings.project.display().to_string());
        line(word("model   ", "模型"), &self.model(zh));
        line(word("adapters", "接入"), &self.adapters());
        if !starting.is_empty() {
            let told = word(" (not reached yet; it goes on trying)", "（尚未连上，会继续尝试）");
            line(word("starting", "启动中"), &format!("{}{told}", names(starting)));
        }
        if self.unfinished > 0 {
            line(word("resumed ", "恢复"), &self.unfinished.to_string());
        }
        match self.settings.warnings.len() {
            0 => {}
            count if zh => line("警告", &format!("{count} 条，见上文；shipagent doctor 会再次列出")),
            count => line("warnings", &format!("{count}, see above; shipagent doctor lists them again")),
        }
        if let Some(console) = self.console(zh) {
            line(word("console ", "控制台"), &console);
        }
        line(word("stop    ", "停止"), word("Ctrl-C (twice: at once)", "Ctrl-C（按两次立即停止）"));
        text
    }

    /// What keeps commands in, once that is known.
    pub(super) fn sandbox(&self, report: &SandboxReport) -> String {
        let language = self.settings.operator_language;
        let (name, risk) =
            if language == Language::Zh { ("沙箱", "套接字") } else { ("sandbox ", "sockets ") };
        let mut text = format!("  {name}  {}\n", sandbox_words::status(report, language));
        let listed = &self.settings.permissions.exec_shell.sockets;
        if let Some(told) = sandbox_words::sockets(listed, report, language) {
            text.push_str(&format!("  {risk}  {told}\n"));
        }
        text
    }

    fn model(&self, zh: bool) -> String {
        let name = match &self.settings.model.provider {
            Provider::Offline => {
                // The variable by itself is looked at only where there is no file.
                let key = if self.settings.has_file { "llm.apiKey" } else { "OPENAI_API_KEY" };
                if zh {
                    format!("offline（内置，无需联网；设置 {key} 可使用真正的模型）")
                } else {
                    format!("offline (built in, no network; set {key} for a real one)")
                }
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

/// Adapters as people read them.
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
