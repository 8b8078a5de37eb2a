//! A check that text is well-formed XML, as far as drawings use it.

/// An element of a document: its name, its attributes and its text, without the text of inner elements.
#[derive(Debug)]
pub struct Element {
    pub name: String,
    pub attributes: Vec<(String, String)>,
    pub text: String,
}

impl Element {
    pub fn attribute(&self, name: &str) -> Option<&str> {
        let mut attributes = self.attributes.iter();
        attributes.find_map(|(other, value)| (other == name).then_some(value.as_str()))
    }

    pub fn number(&self, name: &str) -> f64 {
        let value = self.attribute(name).expect("the attribute");
        value.parse().expect("a number")
    }
}

/// Returns the elements in the order in which they end; panics if the text is not well-formed.
pub fn elements(text: &str) -> Vec<Element> {
    let mut open: Vec<Element> = Vec::new();
    let mut closed = Vec::new();
    let mut rest = text;
    loop {
        let (content, tag) = match rest.split_once('<') {
            Some(parts) => parts,
            None => (rest, ""),
        };
        match open.last_mut() {
            Some(element) => element.text.push_str(&unescaped(content)),
            None => assert!(content.trim().is_empty(), "text outside of elements"),
        }
        if tag.is_empty() {
            break;
        }
        let (tag, behind) = tag.split_once('>').expect("a tag that ends");
        rest = behind;
        if let Some(name) = tag.strip_prefix('/') {
            let element = open.pop().expect("an element that is open");
            assert_eq!(element.name, name.trim_end());
            closed.push(element);
        } else if let Some(tag) = tag.strip_suffix('/') {
            closed.push(element(tag));
        } else {
            open.push(element(tag));
        }
        assert!(!open.is_empty() || rest.trim().is_empty(), "one root");
    }
    assert!(open.is_empty(), "{open:?} is open");
    closed
}

fn element(tag: &str) -> Element {
    let (name, mut rest) = tag.split_once([' ', '\n']).unwrap_or((tag, ""));
    let is_name = |name: &str| {
        let mut letters = name.chars();
        !name.is_empty()
            && letters.all(|letter| letter.is_ascii_alphanumeric() || "-:".contains(letter))
    };
    assert!(is_name(name), "`{name}` is not the name of an element");
    let mut attributes: Vec<(String, String)> = Vec::new();
    while !rest.trim().is_empty() {
        let (name, value) = rest.split_once("=\"").expect("an attribute");
        let (value, behind) = value.split_once('"').expect("the end of a value");
        let name = name.trim();
        assert!(is_name(name), "`{name}` is not the name of an attribute");
        assert!(
            attributes.iter().all(|(other, _)| other != name),
            "{name} twice"
        );
        attributes.push((name.to_owned(), unescaped(value)));
        rest = behind;
    }
    Element {
        name: name.to_owned(),
        attributes,
        text: String::new(),
    }
}

fn unescaped(text: &str) -> String {
    let mut parts = text.split('&');
    let mut plain = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (entity, rest) = part.split_once(';').expect("an entity that ends");
        plain.push(match entity {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "#39" => '\'',
            _ => panic!("`{entity}` is not an entity"),
        });
        plain.push_str(rest);
    }
    assert!(plain.chars().all(|c| !c.is_control() || c == '\n'));
    plain
}
