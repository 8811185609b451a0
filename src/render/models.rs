//! The daemon's messages about the models that answer.

use crate::domain::Language;
use crate::phrases::usage as words;

/// A message about models.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelPhrase {
    /// Which model answers here, and which others there are, each a name and what its server calls it.
    Models {
        default: String,
        named: Vec<(String, String)>,
        chosen: Option<String>,
    },
    Chosen {
        name: String,
        model: String,
    },
    /// The default model answers again.
    Default(String),
    Unknown {
        name: String,
        known: Vec<String>,
    },
    /// The person may not choose.
    NotTheirs,
    /// The choice could not be stored.
    Unavailable,
}

impl ModelPhrase {
    /// The text, as CommonMark.
    pub fn say(&self, language: Language) -> String {
        match self {
            Self::Models { default, named, chosen } => {
                let here = chosen.as_ref().and_then(|chosen| named.iter().find(|(name, _)| name == chosen));
                let first = match here {
                    Some((name, model)) => words::model_here(name, model, language),
                    None => words::model_default(default, language),
                };
                let mut all = vec![format!("default ({default})")];
                all.extend(named.iter().map(|(name, model)| format!("{name} ({model})")));
                let rest = match named.is_empty() {
                    true => words::models(words::model_none(language), language),
                    false => words::models(&all.join(", "), language),
                };
                format!("{first}\n\n{rest}")
            }
            Self::Chosen { name, model } => words::model_chosen(name, model, language),
            Self::Default(model) => words::model_default(model, language),
            Self::Unknown { name, known } => {
                let known: Vec<&str> =
                    std::iter::once("default").chain(known.iter().map(String::as_str)).collect();
                let name: String = name.chars().take(40).collect();
                words::model_unknown(&name, &known.join(", "), language)
            }
            Self::NotTheirs => words::model_not_theirs(language).to_owned(),
            Self::Unavailable => words::model_unavailable(language).to_owned(),
        }
    }
}
