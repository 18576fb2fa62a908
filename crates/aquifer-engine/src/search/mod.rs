//! stub
/// d
pub struct Document<'a> {
    /// n
    pub name: &'a str,
    /// n
    pub category: &'a str,
    /// n
    pub description: &'a str,
    /// n
    pub parameters: Vec<(&'a str, &'a str)>,
}
/// d
pub struct SearchIndex;
/// d
pub struct Hit {
    /// p
    pub position: usize,
}
impl SearchIndex {
    /// b
    pub fn build<'a>(_d: impl IntoIterator<Item = Document<'a>>) -> Self {
        SearchIndex
    }
    /// s
    pub fn search(&self, _q: &str, _l: usize) -> Vec<Hit> {
        Vec::new()
    }
}
