//! The texts of this adapter only.

use crate::domain::Language;

/// Replaces a text that the platform blocks.
pub(super) fn content_refused(language: Language) -> String {
    match language {
        Language::En => {
            "(QQ did not let my answer through. It is in the console; please ask in other words.)"
        }
        Language::Zh => "（QQ 未放行我的回答。完整内容可在控制台查看，请换个说法再问。）",
    }
    .to_owned()
}

/// Replaces a file that the platform refuses.
pub(super) fn file_refused(name: &str, caption: Option<&str>, language: Language) -> String {
    let words = match language {
        Language::En => format!("(I could not send the file {name} here. It is in the console.)"),
        Language::Zh => format!("（无法在此发送文件 {name}，可在控制台下载。）"),
    };
    match caption {
        Some(caption) => format!("{caption}\n\n{words}"),
        None => words,
    }
}
