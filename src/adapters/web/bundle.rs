//! Makes one script and one stylesheet of the console's modules, and a chunk of each module that is loaded when it is first
//! needed. The build script runs it; it needs no tool outside this tree. `page/index.html` names the stylesheets, the
//! scripts that must run before the first paint, and the module that begins everything.
//!
//! Modules may use `import { a, b as c } from './x.js'`, `import * as x from './x.js'` on one line, and `export` before a
//! declaration. `() => import('./x.js')` loads a chunk, which imports nothing. Anything else of the module syntax is
//! an error here.

use std::collections::{BTreeMap, BTreeSet};

/// The files a browser loads.
#[derive(Debug)]
pub(crate) struct Bundle {
    pub(crate) html: String,
    pub(crate) script: Asset,
    pub(crate) style: Asset,
    /// What the script loads when it is first needed.
    pub(crate) chunks: Vec<Asset>,
}

/// A file whose name changes with its content.
#[derive(Debug)]
pub(crate) struct Asset {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Asset {
    fn new(stem: &str, kind: &str, text: String) -> Self {
        Self { name: format!("{stem}.{:016x}.{kind}", fnv(text.as_bytes())), text }
    }
}

/// Makes the bundle of a page; `files` are its sources by name.
pub(crate) fn bundle(files: &BTreeMap<String, String>) -> Result<Bundle, String> {
    let html = source(files, "index.html")?;
    let (mut kept, mut style, mut early) = (Vec::new(), String::new(), String::new());
    let mut modules = Modules::of(files);
    let mut head_end = None;
    for line in html.lines() {
        let tag = line.trim();
        if let Some(name) = between(tag, "<link rel=\"stylesheet\" href=\"/", "\">") {
            style.push_str(source(files, name)?);
        } else if let Some(name) = between(tag, "<script type=\"module\" src=\"/", "\"></script>") {
            modules.add(name)?;
            head_end = Some(kept.len());
        } else if let Some(name) = between(tag, "<script src=\"/", "\"></script>") {
            early.push_str(source(files, name)?);
        } else {
            kept.push(line.to_owned());
        }
    }
    let body: String =
        modules.order.iter().enumerate().map(|(at, module)| module.text(at, &modules.order)).collect();
    let script = format!(
        "'use strict';\n{early}\ndocument.addEventListener('DOMContentLoaded', () => {{\n{body}}});\n"
    );
    let (script, style) = (Asset::new("app", "js", script), Asset::new("app", "css", style));
    let at = head_end.ok_or("index.html loads no module")?;
    kept.insert(at, format!("  <script src=\"/assets/{}\"></script>", script.name));
    kept.insert(at, format!("  <link rel=\"stylesheet\" href=\"/assets/{}\">", style.name));
    let chunks = modules.chunks.into_values().collect();
    Ok(Bundle { html: kept.join("\n") + "\n", script, style, chunks })
}

fn source<'a>(files: &'a BTreeMap<String, String>, name: &str) -> Result<&'a str, String> {
    files.get(name).map(String::as_str).ok_or_else(|| format!("there is no file {name}"))
}

fn between<'a>(text: &'a str, before: &str, after: &str) -> Option<&'a str> {
    text.strip_prefix(before)?.strip_suffix(after)
}

/// Modules in the order in which they run: each behind those it imports.
struct Modules<'a> {
    files: &'a BTreeMap<String, String>,
    order: Vec<Module>,
    /// Those whose imports are being added.
    open: Vec<String>,
    /// The modules that are loaded later, by their file.
    chunks: BTreeMap<String, Asset>,
}

struct Module {
    name: String,
    imports: Vec<Import>,
    exports: BTreeSet<String>,
    body: String,
}

/// What an import binds, in the words of a destructuring declaration, and from which module.
struct Import {
    pattern: String,
    from: String,
}

impl<'a> Modules<'a> {
    const fn of(files: &'a BTreeMap<String, String>) -> Self {
        Self { files, order: Vec::new(), open: Vec::new(), chunks: BTreeMap::new() }
    }

    /// The body with the addresses of its chunks.
    fn with_chunks(&mut self, body: &str) -> Result<String, String> {
        // In a comment `import('./x.js')` names a type.
        const LOAD: &str = "() => import('./";
        let mut parts = body.split(LOAD);
        let mut text = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            let (name, rest) = part.split_once("')").ok_or("import( without an end")?;
            text.push_str(&format!("() => import('/assets/{}'){rest}", self.chunk(name)?));
        }
        Ok(text)
    }

    /// The name under which a chunk is served.
    fn chunk(&mut self, name: &str) -> Result<String, String> {
        let text = source(self.files, name)?;
        if text.lines().any(|line| line.starts_with("import")) {
            return Err(format!("{name} is loaded later and must import nothing"));
        }
        let lines = text.lines().filter(|line| !line.trim_start().starts_with("//"));
        let text: String = lines.flat_map(|line| [line, "\n"]).collect();
        let stem = name.strip_suffix(".js").unwrap_or(name);
        let chunk = self.chunks.entry(name.to_owned()).or_insert_with(|| Asset::new(stem, "js", text));
        Ok(chunk.name.clone())
    }

    fn add(&mut self, name: &str) -> Result<(), String> {
        if self.order.iter().any(|module| module.name == name) {
            return Ok(());
        }
        if self.open.iter().any(|open| open == name) {
            return Err(format!("{} import each other in a circle", self.open.join(", ")));
        }
        self.open.push(name.to_owned());
        let mut module = parse(name, source(self.files, name)?)?;
        module.body = self.with_chunks(&module.body)?;
        for import in &module.imports {
            self.add(&import.from)?;
        }
        self.open.pop();
        self.order.push(module);
        Ok(())
    }
}

impl Module {
    /// The module as a function that runs once and gives what it exports.
    fn text(&self, at: usize, order: &[Self]) -> String {
        let mut text = format!("const m{at} = (() => {{\n");
        for import in &self.imports {
            let from = order.iter().position(|module| module.name == import.from).unwrap_or_default();
            text.push_str(&format!("const {} = m{from};\n", import.pattern));
        }
        text.push_str(&self.body);
        let exports: Vec<&str> = self.exports.iter().map(String::as_str).collect();
        text.push_str(&format!("return {{ {} }};\n}})();\n", exports.join(", ")));
        text
    }
}

fn parse(name: &str, text: &str) -> Result<Module, String> {
    let mut module =
        Module { name: name.to_owned(), imports: Vec::new(), exports: BTreeSet::new(), body: String::new() };
    for (number, line) in text.lines().enumerate() {
        let place = || format!("{name}:{}", number.saturating_add(1));
        if line.starts_with("import") {
            module.imports.push(import(line).ok_or_else(|| format!("{}: not an import: {line}", place()))?);
        } else if let Some(declaration) = line.strip_prefix("export ") {
            let exported =
                declared(declaration).ok_or_else(|| format!("{}: not an export: {line}", place()))?;
            module.exports.insert(exported.to_owned());
            module.body.push_str(declaration);
            module.body.push('\n');
        } else if !line.trim_start().starts_with("//") {
            module.body.push_str(line);
            module.body.push('\n');
        }
    }
    Ok(module)
}

fn import(line: &str) -> Option<Import> {
    let (what, from) = line.strip_prefix("import ")?.split_once(" from './")?;
    let from = from.strip_suffix("';")?.to_owned();
    let pattern = match what.strip_prefix("* as ") {
        Some(all) => all.to_owned(),
        None => between(what, "{", "}").map(|names| format!("{{{}}}", names.replace(" as ", ": ")))?,
    };
    Some(Import { pattern, from })
}

/// The name of a declaration. A variable that changes is none: importers would keep its first value.
fn declared(declaration: &str) -> Option<&str> {
    let kinds = ["async function ", "function ", "class ", "const "];
    let rest = kinds.iter().find_map(|kind| declaration.strip_prefix(kind))?;
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
    rest.split(|c| !is_part(c)).next().filter(|name| !name.is_empty())
}

/// The hash FNV-1a.
fn fnv(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(sources: &[(&str, &str)]) -> BTreeMap<String, String> {
        let head = "<link rel=\"stylesheet\" href=\"/a.css\">\n<script src=\"/t.js\"></script>\n<script type=\"module\" src=\"/app.js\"></script>\n<p>hello</p>\n";
        let fixed = [("index.html", head), ("a.css", "p { margin: 0 }\n"), ("t.js", "early();\n")];
        fixed.iter().chain(sources).map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
    }

    #[test]
    fn modules_run_behind_what_they_import_and_see_it_by_their_own_names() {
        let made = bundle(&files(&[
            ("app.js", "// The beginning.\nimport { one, two as zwei } from './b.js';\nimport * as b from './b.js';\none(zwei, b);\n"),
            ("b.js", "import { deep } from './c.js';\nexport function one() {}\nexport const two = deep;\n"),
            ("c.js", "export class deep {}\n"),
        ]))
        .unwrap();
        let expected = "'use strict';\nearly();\n\ndocument.addEventListener('DOMContentLoaded', () => {\n\
            const m0 = (() => {\nclass deep {}\nreturn { deep };\n})();\n\
            const m1 = (() => {\nconst { deep } = m0;\nfunction one() {}\nconst two = deep;\nreturn { one, two };\n})();\n\
            const m2 = (() => {\nconst { one, two: zwei } = m1;\nconst b = m1;\none(zwei, b);\nreturn {  };\n})();\n});\n";
        assert_eq!(made.script.text, expected);
        assert_eq!(made.style.text, "p { margin: 0 }\n");
        let html = format!(
            "  <link rel=\"stylesheet\" href=\"/assets/{}\">\n  <script src=\"/assets/{}\"></script>\n<p>hello</p>\n",
            made.style.name, made.script.name
        );
        assert_eq!(made.html, html);
    }

    #[test]
    fn a_module_that_is_loaded_later_is_a_file_of_its_own() {
        let app = "const load = () => import('./heavy.js');\nload();\n";
        let heavy = "// Why.\nexport function draw() {}\n";
        let made = bundle(&files(&[("app.js", app), ("heavy.js", heavy)])).unwrap();
        let [chunk] = &made.chunks[..] else { panic!("{:?}", made.chunks) };
        assert_eq!(chunk.text, "export function draw() {}\n");
        assert!(chunk.name.starts_with("heavy.") && chunk.name.ends_with(".js"), "{}", chunk.name);
        assert!(made.script.text.contains(&format!("import('/assets/{}')", chunk.name)));
        assert!(!made.script.text.contains("function draw"));
        let importing = [("app.js", app), ("heavy.js", "import { a } from './b.js';\n")];
        let error = bundle(&files(&importing)).unwrap_err();
        assert_eq!(error, "heavy.js is loaded later and must import nothing");
    }

    #[test]
    fn another_content_gives_another_name() {
        let name = |text| bundle(&files(&[("app.js", text)])).unwrap().script.name;
        assert_eq!(name("one();\n"), name("one();\n"));
        assert_ne!(name("one();\n"), name("two();\n"));
        assert!(name("one();\n").starts_with("app.") && name("one();\n").ends_with(".js"));
    }

    #[test]
    fn what_cannot_be_bundled_is_an_error_that_names_its_place() {
        for (text, expected) in [
            ("one();\nimport x from './b.js';\n", "app.js:2: not an import"),
            ("export let x = 1;\n", "app.js:1: not an export"),
            ("export { x };\n", "app.js:1: not an export"),
            ("import { x } from './none.js';\n", "there is no file none.js"),
            ("import { x } from './app.js';\n", "app.js import each other in a circle"),
        ] {
            let error = bundle(&files(&[("app.js", text)])).unwrap_err();
            assert!(error.starts_with(expected), "{error}");
        }
    }

    #[test]
    fn the_bundle_holds_every_module_of_the_page() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/adapters/web/page");
        let mut files = BTreeMap::new();
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_owned();
            files.insert(name, std::fs::read_to_string(path).unwrap());
        }
        let mut modules = Modules::of(&files);
        modules.add("app.js").unwrap();
        let mut used: BTreeSet<&str> = modules.order.iter().map(|module| module.name.as_str()).collect();
        used.extend(modules.chunks.keys().map(String::as_str));
        let unused: Vec<&String> =
            files.keys().filter(|name| name.ends_with(".js") && !used.contains(name.as_str())).collect();
        assert_eq!(unused, ["notices.js", "theme.js"], "a service worker, and what runs before the modules");
        let made = bundle(&files).unwrap();
        for (name, text) in files.iter().filter(|(name, _)| name.ends_with(".css")) {
            assert!(made.style.text.contains(text.as_str()), "{name}");
        }
    }
}
