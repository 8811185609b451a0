//! The table of capabilities in `docs/platforms.md` is the one generated from the code.

use std::path::Path;

use shipagent::adapters::{feishu, qq, telegram};
use shipagent::domain::{Capabilities, Delivery, LengthUnit};

const BEGIN: &str = "<!-- what follows is generated from the code: begin -->";
const END: &str = "<!-- end of what is generated -->";

/// A row of the table, and its cell for a platform.
type Row = (&'static str, fn(&Capabilities) -> String);

const ROWS: [Row; 12] = [
    ("answers", |of| match of.delivery {
        Delivery::Pull => "read by the client".to_owned(),
        Delivery::Push => "sent, with a receipt".to_owned(),
    }),
    ("buttons", |of| yes(of.buttons)),
    ("cards", |of| yes(of.rich_cards)),
    ("edits", |of| yes(of.edits)),
    ("streaming", |of| yes(of.streaming)),
    ("voice", |of| yes(of.voice.is_some())),
    ("files", |of| yes(of.files)),
    ("threaded replies", |of| yes(of.threaded_replies)),
    ("reactions", |of| yes(of.reactions)),
    ("longest message", |of| {
        let unit = match of.length_unit {
            LengthUnit::Chars => "characters",
            LengthUnit::Utf16 => "UTF-16 units",
            LengthUnit::Bytes => "bytes",
        };
        of.max_length.map_or("no limit".to_owned(), |most| format!("{most} {unit}"))
    }),
    ("replies to one message", |of| {
        of.replies_per_message.map_or("no limit".to_owned(), |most| most.to_string())
    }),
    ("typing", |of| of.typing_secs.map_or("no".to_owned(), |secs| format!("yes, renewed within {secs} s"))),
];

fn yes(can: bool) -> String {
    if can { "yes" } else { "no" }.to_owned()
}

fn table() -> String {
    let qq = [qq::capabilities(false), qq::capabilities(true)];
    let mut table = String::from("| | web | telegram | feishu | qq |\n| --- | --- | --- | --- | --- |\n");
    for (name, cell) in ROWS {
        let others = [Capabilities::pull(), telegram::capabilities(), feishu::capabilities()];
        let mut cells: Vec<String> = others.iter().map(cell).collect();
        let [plain, granted] = qq.each_ref().map(cell);
        cells.push(if plain == granted {
            plain
        } else {
            format!("{granted}, where the platform grants it; else {plain}")
        });
        table.push_str(&format!("| {name} | {} |\n", cells.join(" | ")));
    }
    table
}

#[test]
fn the_table_of_the_platforms_is_what_the_code_says() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/platforms.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, rest) = text.split_once(BEGIN).expect("the marker where the table begins");
    let (written, _) = rest.split_once(END).expect("the marker where the table ends");
    let generated = table();
    assert_eq!(written.trim(), generated.trim(), "docs/platforms.md should have this table:\n\n{generated}");
}
