//! The links of a folder of HTML files, and whether each has a target there.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Component, Path, PathBuf},
};

use crate::shell::{TaskError, at};

/// The files of a site, by their path in its folder.
pub(crate) struct Website {
    files: BTreeMap<PathBuf, Page>,
}

/// What a file links, and what can be linked in it. Both are empty if it is not HTML.
#[derive(Default)]
struct Page {
    links: Vec<String>,
    anchors: BTreeSet<String>,
}

impl Website {
    /// Reads all files of a folder.
    ///
    /// # Errors
    /// If a file cannot be read.
    pub(crate) fn read(folder: &Path) -> Result<Self, TaskError> {
        let mut site = Self { files: BTreeMap::new() };
        site.add(folder, Path::new(""))?;
        Ok(site)
    }

    fn add(&mut self, root: &Path, folder: &Path) -> Result<(), TaskError> {
        let path = root.join(folder);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let entry = entry.map_err(at(&path))?;
            let name = folder.join(entry.file_name());
            let path = entry.path();
            if path.is_dir() {
                self.add(root, &name)?;
                continue;
            }
            let is_page = path.extension().is_some_and(|extension| extension == "html");
            let page = if is_page {
                Page::of(&fs::read_to_string(&path).map_err(at(&path))?)
            } else {
                Page::default()
            };
            self.files.insert(name, page);
        }
        Ok(())
    }

    /// The number of HTML pages with links.
    pub(crate) fn pages(&self) -> usize {
        self.files.values().filter(|page| !page.links.is_empty()).count()
    }

    /// The number of links.
    pub(crate) fn links(&self) -> usize {
        self.files.values().map(|page| page.links.len()).sum()
    }

    /// A line for each link to a file or an anchor that does not exist.
    pub(crate) fn broken_links(&self) -> Vec<String> {
        let mut broken = Vec::new();
        for (name, page) in &self.files {
            for link in &page.links {
                if let Some(why) = self.problem(name, link) {
                    broken.push(format!("{}: `{link}`: {why}", name.display()));
                }
            }
        }
        broken
    }

    fn problem(&self, name: &Path, link: &str) -> Option<&'static str> {
        let scheme = link.split_once(':').map_or("", |(scheme, _)| scheme);
        if matches!(scheme, "http" | "https" | "mailto" | "data" | "javascript") {
            return None;
        }
        let (path, anchor) = link.split_once('#').unwrap_or((link, ""));
        let path = path.split('?').next().unwrap_or(path);
        let folder = name.parent().unwrap_or(Path::new(""));
        let target = match path {
            "" => Some(name.to_owned()),
            path => below(folder, Path::new(path)),
        };
        let Some(target) = target else { return Some("leads out of the book") };
        let Some(page) = self.files.get(&target) else { return Some("the book has no such file") };
        let is_known = anchor.is_empty() || page.anchors.contains(anchor);
        (!is_known).then_some("the page has no such anchor")
    }
}

impl Page {
    fn of(html: &str) -> Self {
        let mut page = Self::default();
        // The text of scripts and comments contains no tags.
        let text = without(&without(html, "<!--", "-->"), "<script", "</script>");
        for tag in text.split('<').skip(1).filter_map(|rest| Some(rest.split_once('>')?.0)) {
            // The page for errors has the root of a server as its base, which is no link.
            if tag.starts_with("base ") {
                continue;
            }
            for (name, value) in attributes(tag) {
                match name {
                    "href" | "src" => page.links.push(value),
                    "id" | "name" => {
                        page.anchors.insert(value);
                    }
                    _ => {}
                }
            }
        }
        // The sources of scripts are links too.
        for tag in html.split("<script").skip(1).filter_map(|rest| Some(rest.split_once('>')?.0)) {
            page.links
                .extend(attributes(tag).filter(|(name, _)| *name == "src").map(|(_, value)| value));
        }
        page
    }
}

/// The text without what is between these two, several times.
fn without(text: &str, begin: &str, end: &str) -> String {
    let mut made = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once(begin) {
        made += before;
        rest = after.split_once(end).map_or("", |(_, after)| after);
    }
    made + rest
}

/// The attributes in a tag that have a value in quotation marks.
fn attributes(tag: &str) -> impl Iterator<Item = (&str, String)> {
    let parts: Vec<&str> = tag.split('"').collect();
    let (pairs, _) = parts.as_chunks::<2>();
    let found: Vec<(&str, String)> = pairs
        .iter()
        .filter_map(|[before, value]| {
            let name = before.strip_suffix('=')?.rsplit([' ', '\n', '\t']).next()?;
            Some((name, value.replace("&amp;", "&")))
        })
        .collect();
    found.into_iter()
}

/// The path that a relative one has from the root of the site.
fn below(folder: &Path, relative: &Path) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for component in relative.components() {
        match component {
            Component::ParentDir => path.pop().then_some(())?,
            Component::CurDir => {}
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn site(files: &[(&str, &str)]) -> Website {
        let files = files.iter().map(|(name, html)| (PathBuf::from(name), Page::of(html)));
        Website { files: files.collect() }
    }

    #[test]
    fn links_with_targets_are_accepted() {
        let site = site(&[
            (
                "a.html",
                r##"<h2 id="x">X</h2><a class="y" href="#x">x</a><a href="sub/b.html#z">z</a><img src="p.png">"##,
            ),
            (
                "sub/b.html",
                r#"<h2 id="z">Z</h2><a href="../a.html?highlight=1#x">a</a><a href="https://x.y/q">q</a>"#,
            ),
            ("p.png", ""),
        ]);
        assert_eq!(site.broken_links(), Vec::<String>::new());
        assert_eq!((site.pages(), site.links()), (2, 5));
    }

    #[test]
    fn each_kind_of_broken_link_is_named() {
        let site = site(&[(
            "a.html",
            r##"<a href="#x">x</a><a href="b.md">b</a><script src="c.js"></script><a href="../d.html">d</a>"##,
        )]);
        let broken = site.broken_links();
        let expected = [
            "a.html: `#x`: the page has no such anchor",
            "a.html: `b.md`: the book has no such file",
            "a.html: `../d.html`: leads out of the book",
            "a.html: `c.js`: the book has no such file",
        ];
        assert_eq!(broken, expected);
    }

    #[test]
    fn scripts_and_comments_have_no_tags() {
        let html = r#"<script>let a = '<a href="no.html">';</script><!-- <a href="no.html"> --><p id="k">"#;
        assert_eq!(site(&[("a.html", html)]).links(), 0);
    }
}
