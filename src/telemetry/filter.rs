//! The log filter.

use tracing_subscriber::EnvFilter;

use super::init::TelemetryError;

/// Libraries with verbose logs. Naming one in the filter overrides this.
const QUIETER: &str = "hyper=warn,hyper_util=warn,h2=warn,reqwest=warn,rustls=warn,tower_http=warn,ignore=warn,\
                       globset=warn,rustyline=warn,mio=warn";

/// Logs complete bodies, including people's messages, when one cannot be parsed. Cannot be overridden.
const NEVER: &str = "async_openai";

/// The filter for the operator's setting, such as `debug` or `info,shipagent::store=trace`; an empty text means `info`.
pub(super) fn filter(asked: &str) -> Result<EnvFilter, TelemetryError> {
    let asked: Vec<&str> =
        asked.split(',').map(str::trim).filter(|part| !part.is_empty() && !part.starts_with(NEVER)).collect();
    let directives = format!("info,{QUIETER},{},{NEVER}=off", asked.join(","));
    EnvFilter::builder()
        .parse(directives)
        .map_err(|source| TelemetryError::Filter { asked: asked.join(","), source: Box::new(source) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(asked: &str) -> String {
        filter(asked).unwrap().to_string()
    }

    #[test]
    fn what_was_asked_for_is_heard() {
        for (asked, expected) in [
            ("", "info"),
            ("debug", "debug"),
            ("warn,shipagent::store=trace", "shipagent::store=trace"),
            ("hyper=debug", "hyper=debug"),
        ] {
            assert!(shown(asked).split(',').any(|part| part == expected), "{asked}: {}", shown(asked));
        }
        assert!(!shown("debug").split(',').any(|part| part == "info"));
        assert!(matches!(filter("shipagent=loud"), Err(TelemetryError::Filter { .. })));
    }

    #[test]
    fn private_words_are_never_logged_by_a_library() {
        for asked in ["", "trace", "async_openai=trace", "async_openai::client=debug,info"] {
            let shown = shown(asked);
            assert!(shown.contains("async_openai=off") && !shown.contains("async_openai::"), "{shown}");
        }
    }
}
