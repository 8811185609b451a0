//! The table of the chat platforms that this crate brings. A new platform is its folder, its `mod` line in
//! `adapters/mod.rs`, and its definition here.

use crate::ports::AdapterTable;

/// The platforms of this crate. Another program adds its own with [`AdapterTable::with`].
pub fn builtin() -> AdapterTable {
    let table = AdapterTable::default();
    let table = table.with(super::telegram::DEF);
    let table = table.with(super::feishu::DEF);
    table.with(super::qq::DEF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_platform_is_in_the_example_file_and_in_the_documentation() {
        let example = include_str!("../../ship.json.example");
        let platforms = include_str!("../../docs/platforms.md");
        for def in builtin().iter() {
            assert!(
                example.contains(&format!("\"{}\": {{", def.name)),
                "{} has no example section",
                def.name
            );
            assert!(platforms.contains(&format!("| {} |", def.name)), "{} is not documented", def.name);
        }
    }

    #[test]
    fn init_writes_keys_that_the_section_has_and_all_that_it_needs() {
        for def in builtin().iter() {
            let schema = (def.schema)();
            for key in def.init {
                assert!(schema["properties"][key.key].is_object(), "{} has no key {}", def.name, key.key);
            }
            let empty = (def.parse)(serde_json::json!({})).unwrap();
            assert!(empty.enabled());
            let credentials: Vec<&str> = def.credentials().map(|(key, _)| key).collect();
            assert_eq!(empty.missing(), credentials, "{}", def.name);
        }
    }
}
