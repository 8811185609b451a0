//! Telegram's rules for HTML, written independently of the code that follows them, and stricter: an error that the
//! server would silently repair fails here.

/// The visible text of a message, or why it would be refused.
pub(super) fn validate(html: &str) -> Result<String, String> {
    let mut reader = UpdateReader { rest: html, shown: String::new(), open: Vec::new() };
    while !reader.rest.is_empty() {
        reader.step()?;
    }
    if let Some(tag) = reader.open.last() {
        return Err(format!("{} is never closed", tag.name));
    }
    Ok(reader.shown)
}

/// The length that Telegram counts.
pub(super) fn length(shown: &str) -> usize {
    shown.encode_utf16().count()
}

#[derive(Debug)]
struct Open {
    name: String,
    /// The length of the visible text when it opened.
    at: usize,
}

#[derive(Debug)]
struct UpdateReader<'a> {
    rest: &'a str,
    shown: String,
    open: Vec<Open>,
}

impl UpdateReader<'_> {
    fn step(&mut self) -> Result<(), String> {
        if let Some(tag) = self.rest.strip_prefix('<') {
            let (tag, rest) = tag.split_once('>').ok_or("a tag has no end")?;
            self.rest = rest;
            return match tag.strip_prefix('/') {
                Some(name) => self.close(name),
                None => self.open(tag),
            };
        }
        let letter = if self.rest.starts_with('&') { self.entity()? } else { self.letter()? };
        self.shown.push(letter);
        Ok(())
    }

    fn entity(&mut self) -> Result<char, String> {
        for (name, letter) in [("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&quot;", '"')] {
            if let Some(rest) = self.rest.strip_prefix(name) {
                self.rest = rest;
                return Ok(letter);
            }
        }
        Err(format!("no such entity: {:?}", self.rest.chars().take(10).collect::<String>()))
    }

    fn letter(&mut self) -> Result<char, String> {
        let mut letters = self.rest.chars();
        let letter = letters.next().unwrap();
        self.rest = letters.as_str();
        match letter {
            '>' | '"' => Err(format!("{letter} is not escaped")),
            '\n' | '\t' => Ok(letter),
            letter if letter.is_control() => Err(format!("control character {letter:?}")),
            letter => Ok(letter),
        }
    }

    fn inside(&self, names: &[&str]) -> bool {
        self.open.iter().any(|open| names.contains(&open.name.as_str()))
    }

    fn open(&mut self, tag: &str) -> Result<(), String> {
        let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
        let fault = |why: &str| Err(format!("<{tag}>: {why}"));
        match name {
            "b" | "i" | "u" | "s" | "pre" | "blockquote" | "tg-spoiler" if attributes.is_empty() => {}
            "code" if attributes.is_empty() => {}
            "code" => {
                let language =
                    attributes.strip_prefix("class=\"language-").and_then(|rest| rest.strip_suffix('"'));
                let good = |letter: char| letter.is_ascii_alphanumeric() || "+#._-".contains(letter);
                if !language.is_some_and(|name| !name.is_empty() && name.chars().all(good)) {
                    return fault("a class that is no language");
                }
                if !(self.rest_opened_by("pre") && self.shown.len() == self.open.last().unwrap().at) {
                    return fault("a language outside of pre");
                }
                self.open.push(Open { name: "language".to_owned(), at: self.shown.len() });
                return Ok(());
            }
            "a" => {
                let url = attributes.strip_prefix("href=\"").and_then(|rest| rest.strip_suffix('"'));
                let Some(url) = url.filter(|url| !url.is_empty() && !url.contains('"')) else {
                    return fault("no address");
                };
                let scheme = url.split(':').next().unwrap_or_default().to_lowercase();
                if !["http", "https", "tg", "mailto"].contains(&scheme.as_str()) {
                    return fault("an address of another kind");
                }
                if url.chars().any(|letter| letter.is_control() || letter == ' ' || letter == '<') {
                    return fault("an address with what it may not have");
                }
                validate(url).map_err(|why| format!("<{tag}>: {why}"))?;
            }
            _ => return fault("unknown"),
        }
        if self.inside(&["pre", "code", "language"]) {
            return fault("inside of code");
        }
        if self.inside(&[name]) {
            return fault("inside of its like");
        }
        if name == "blockquote" && !self.open.is_empty() {
            return fault("a quote inside of something");
        }
        if ["pre", "code"].contains(&name) && self.inside(&["a", "b", "i", "s", "u", "tg-spoiler"]) {
            return fault("code inside of a mark");
        }
        self.open.push(Open { name: name.to_owned(), at: self.shown.len() });
        Ok(())
    }

    fn rest_opened_by(&self, name: &str) -> bool {
        self.open.last().is_some_and(|open| open.name == name)
    }

    fn close(&mut self, name: &str) -> Result<(), String> {
        let open = self.open.pop().ok_or_else(|| format!("</{name}> closes nothing"))?;
        if open.name != name && !(open.name == "language" && name == "code") {
            return Err(format!("</{name}> closes {}", open.name));
        }
        if open.at == self.shown.len() {
            return Err(format!("<{name}> is empty"));
        }
        Ok(())
    }
}

#[test]
fn the_validator_tells_good_from_bad() {
    for good in [
        "",
        "a",
        "<b>a</b>",
        "<blockquote><b>a</b><pre>b</pre></blockquote>",
        "&lt;&amp;",
        "<pre><code class=\"language-c++\">x</code></pre>",
        "<a href=\"https://x/?a&amp;b\">y</a>",
    ] {
        assert!(validate(good).is_ok(), "{good}: {:?}", validate(good));
    }
    for bad in [
        "<b>",
        "</b>",
        "<b></b>",
        "<b><i>x</b></i>",
        "<p>x</p>",
        "<b>a<b>c</b></b>",
        "&nbsp;",
        "& x",
        "a > b",
        "a < b",
        "<code><b>x</b></code>",
        "<b><code>x</code></b>",
        "<a>x</a>",
        "<a href=\"javascript:x\">x</a>",
        "<a href=\"http://x\"><a href=\"http://x\">y</a></a>",
        "<code class=\"language-x\">y</code>",
        "<b><blockquote>x</blockquote></b>",
        "\u{0}",
        "<b x=\"1\">y</b>",
        "<pre><code class=\"language-\">y</code></pre>",
    ] {
        assert!(validate(bad).is_err(), "{bad}");
    }
    assert_eq!(validate("<b>&lt;a&gt;</b> &amp;").unwrap(), "<a> &");
}
