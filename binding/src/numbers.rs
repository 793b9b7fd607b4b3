//! [`Numbers`]: the numbers by which scripts name what an engine in Rust has.

/// Things by number: a script has the number, which is given back when its object has been collected (the contract's `release`). Numbers are used again, the last that
/// was given back first.
///
/// ```
/// let mut numbers = larder_binding::Numbers::default();
/// let (a, b) = (numbers.add("a"), numbers.add("b"));
/// assert_eq!(numbers.get(b), Some(&"b"));
/// assert_eq!(numbers.remove(a), Some("a"));
/// assert_eq!(numbers.get(a), None);
/// assert_eq!(numbers.add("c"), a);
/// ```
#[derive(Debug, Clone)]
pub struct Numbers<T> {
    all: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Default for Numbers<T> {
    fn default() -> Self {
        Self {
            all: Vec::new(),
            free: Vec::new(),
        }
    }
}

impl<T> Numbers<T> {
    /// Gives something a number.
    pub fn add(&mut self, item: T) -> u32 {
        if let Some(number) = self.free.pop()
            && let Some(place) = self.all.get_mut(number as usize)
        {
            *place = Some(item);
            return number;
        }
        self.all.push(Some(item));
        // Fewer than memory has bytes.
        u32::try_from(self.all.len() - 1).unwrap_or(u32::MAX)
    }

    /// What has this number.
    #[must_use]
    pub fn get(&self, number: u32) -> Option<&T> {
        self.all.get(number as usize)?.as_ref()
    }

    /// What has this number, to be changed.
    #[must_use]
    pub fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.all.get_mut(number as usize)?.as_mut()
    }

    /// Takes a number back.
    pub fn remove(&mut self, number: u32) -> Option<T> {
        let item = self.all.get_mut(number as usize)?.take();
        if item.is_some() {
            self.free.push(number);
        }
        item
    }

    /// All that have a number.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        let numbered = (0..).zip(&self.all);
        numbered.filter_map(|(number, item)| Some((number, item.as_ref()?)))
    }
}
