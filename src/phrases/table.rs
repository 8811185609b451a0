//! The `phrases!` macro. One entry holds what is said in every language; it becomes a function that takes the
//! entry's parameters and a language. A missing language, an unknown placeholder and an unused entry do not compile.
//!
//! - `text name() { en: "…", zh: "…" }` gives a `&'static str`;
//! - `format name(count: usize) { en: "… {count} …", zh: "…" }` gives a `String`;
//! - either may have arms instead, one for each value of its parameters:
//!   `text name(risk: Risk) { Risk::Low => { en: "…", zh: "…" } … }`;
//! - `named name(item: &str) { "…" => { en: "…", zh: "…" } … }` gives an `Option`, for names that come from a library;
//! - `columns name(2) { en: ["…", "…"], zh: ["…", "…"] }` gives the heads of a table.

/// One row of the table, for the tests over all of it.
#[cfg(test)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// `text`, `format`, `named` or `columns`.
    pub(crate) kind: &'static str,
    /// The entry, and behind it the arm.
    pub(crate) name: &'static str,
    pub(crate) en: &'static str,
    pub(crate) zh: &'static str,
}

/// The entries of one topic.
macro_rules! phrases {
    ($($(#[$doc:meta])* $kind:ident $name:ident $params:tt $body:tt)*) => {
        $($crate::phrases::table::entry! { $kind [$(#[$doc])*] $name $params $body })*

        #[cfg(test)]
        pub(crate) const ROWS: &[&[$crate::phrases::table::Row]] =
            &[$($crate::phrases::table::rows! { $kind $name $body }),*];
    };
}

macro_rules! entry {
    (text [$($doc:tt)*] $name:ident () { en: $en:literal, zh: $zh:literal $(,)? }) => {
        $($doc)*
        pub(crate) const fn $name(language: $crate::domain::Language) -> &'static str {
            match language {
                $crate::domain::Language::En => $en,
                $crate::domain::Language::Zh => $zh,
            }
        }
    };
    (text [$($doc:tt)*] $name:ident ($($param:ident: $type:ty),+) {
        $($case:pat => { en: $en:literal, zh: $zh:literal $(,)? })+
    }) => {
        $($doc)*
        pub(crate) fn $name($($param: $type,)+ language: $crate::domain::Language) -> &'static str {
            let (en, zh) = match ($($param),+) {
                $($case => ($en, $zh),)+
            };
            match language {
                $crate::domain::Language::En => en,
                $crate::domain::Language::Zh => zh,
            }
        }
    };
    (format [$($doc:tt)*] $name:ident ($($param:ident: $type:ty),+) { en: $en:literal, zh: $zh:literal $(,)? }) => {
        $($doc)*
        pub(crate) fn $name($($param: $type,)+ language: $crate::domain::Language) -> String {
            match language {
                $crate::domain::Language::En => format!($en),
                $crate::domain::Language::Zh => format!($zh),
            }
        }
    };
    (format [$($doc:tt)*] $name:ident ($($param:ident: $type:ty),+) {
        $($case:pat => { en: $en:literal, zh: $zh:literal $(,)? })+
    }) => {
        $($doc)*
        pub(crate) fn $name($($param: $type,)+ language: $crate::domain::Language) -> String {
            match ($($param),+) {
                $($case => match language {
                    $crate::domain::Language::En => format!($en),
                    $crate::domain::Language::Zh => format!($zh),
                },)+
            }
        }
    };
    (named [$($doc:tt)*] $name:ident ($param:ident: &str) {
        $($case:pat => { en: $en:literal, zh: $zh:literal $(,)? })+
    }) => {
        $($doc)*
        pub(crate) fn $name($param: &str, language: $crate::domain::Language) -> Option<&'static str> {
            let (en, zh) = match $param {
                $($case => ($en, $zh),)+
                _ => return None,
            };
            Some(match language {
                $crate::domain::Language::En => en,
                $crate::domain::Language::Zh => zh,
            })
        }
    };
    (columns [$($doc:tt)*] $name:ident ($count:literal) {
        en: [$($en:literal),+ $(,)?], zh: [$($zh:literal),+ $(,)?] $(,)?
    }) => {
        $($doc)*
        pub(crate) const fn $name(language: $crate::domain::Language) -> [&'static str; $count] {
            match language {
                $crate::domain::Language::En => [$($en),+],
                $crate::domain::Language::Zh => [$($zh),+],
            }
        }
    };
}

/// What `entry!` reads, as data.
#[cfg(test)]
macro_rules! rows {
    ($kind:ident $name:ident { en: $en:literal, zh: $zh:literal $(,)? }) => {
        &[$crate::phrases::table::Row { kind: stringify!($kind), name: stringify!($name), en: $en, zh: $zh }]
    };
    ($kind:ident $name:ident { $($case:pat => { en: $en:literal, zh: $zh:literal $(,)? })+ }) => {
        &[$($crate::phrases::table::Row {
            kind: stringify!($kind), name: concat!(stringify!($name), " ", stringify!($case)), en: $en, zh: $zh,
        }),+]
    };
    ($kind:ident $name:ident { en: [$($en:literal),+ $(,)?], zh: [$($zh:literal),+ $(,)?] $(,)? }) => {
        &[$($crate::phrases::table::Row { kind: stringify!($kind), name: stringify!($name), en: $en, zh: $zh }),+]
    };
}

#[cfg(test)]
pub(crate) use rows;
pub(crate) use {entry, phrases};
