//! Arenas: IR nodes refer to each other by small typed ids.

use std::{
    fmt,
    hash::{Hash, Hasher},
    marker::PhantomData,
    ops::{Index, IndexMut},
};

use serde::{Deserialize, Serialize};

/// Distinguishes the ids of one arena from those of another.
pub trait Tag {
    /// The prefix of the id in printed IR: `%`, `@`.
    const PREFIX: &'static str;
}

/// A typed index into an [`Arena`] or a list. The IR printer uses its `Debug` text.
#[derive(Serialize, Deserialize)]
#[serde(transparent, bound = "")]
pub struct Id<T: Tag> {
    raw: u32,
    #[serde(skip)]
    tag: PhantomData<fn() -> T>,
}

impl<T: Tag> Id<T> {
    /// The id of the element at `index`.
    #[must_use]
    pub const fn new(index: u32) -> Self {
        Self { raw: index, tag: PhantomData }
    }

    /// The index of the element.
    #[must_use]
    pub const fn index(self) -> usize {
        self.raw as usize
    }

    /// The index as stored.
    #[must_use]
    pub const fn raw(self) -> u32 {
        self.raw
    }
}

impl<T: Tag> Clone for Id<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T: Tag> Copy for Id<T> {}
impl<T: Tag> PartialEq for Id<T> {
    fn eq(&self, other: &Self) -> bool {
        self.raw == other.raw
    }
}
impl<T: Tag> Eq for Id<T> {}
impl<T: Tag> PartialOrd for Id<T> {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl<T: Tag> Ord for Id<T> {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.raw.cmp(&other.raw)
    }
}
impl<T: Tag> Hash for Id<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.raw.hash(state);
    }
}
impl<T: Tag> fmt::Debug for Id<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", T::PREFIX, self.raw)
    }
}

/// An append-only list. Elements are accessed by typed [`Id`].
///
/// # Examples
/// ```
/// use quadrants_ir::{Arena, Local, ScalarType};
/// let mut locals: Arena<Local> = Arena::new();
/// let x = locals.push(Local { name: "x".into(), ty: ScalarType::F32, mutable: false });
/// assert_eq!(locals[x].name, "x");
/// assert_eq!(format!("{x:?}"), "%0");
/// ```
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Arena<T> {
    items: Vec<T>,
}

impl<T> Default for Arena<T> {
    fn default() -> Self {
        Self { items: Vec::new() }
    }
}

impl<T: Tag> Arena<T> {
    /// An empty arena.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends `item` and returns its id.
    pub fn push(&mut self, item: T) -> Id<T> {
        let id = Id::new(u32::try_from(self.items.len()).unwrap_or(u32::MAX));
        self.items.push(item);
        id
    }

    /// The element with this id, or none if the id belongs to another arena.
    #[must_use]
    pub fn get(&self, id: Id<T>) -> Option<&T> {
        self.items.get(id.index())
    }

    /// The number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.items.len()
    }

    /// Whether there are no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.items.is_empty()
    }

    /// All elements with their ids, in the order of insertion.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (Id<T>, &T)> + DoubleEndedIterator {
        self.items.iter().enumerate().map(|(i, item)| (Id::new(i as u32), item))
    }
}

impl<T: Tag> Index<Id<T>> for Arena<T> {
    type Output = T;
    fn index(&self, id: Id<T>) -> &T {
        &self.items[id.index()]
    }
}

impl<T: Tag> IndexMut<Id<T>> for Arena<T> {
    fn index_mut(&mut self, id: Id<T>) -> &mut T {
        &mut self.items[id.index()]
    }
}
