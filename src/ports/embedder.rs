//! Vectors of texts, for a search by meaning beside the search by words. Optional.

use super::{BoxFuture, ModelError, SearchArea, SearchPage, SearchRequest, StoreError};

/// Most texts of one call.
pub const MOST_EMBEDDED: usize = 64;

/// Makes vectors of texts.
pub trait Embedder: Send + Sync + std::fmt::Debug {
    /// Names the model and all else that makes its vectors incomparable with others.
    fn name(&self) -> &str;

    /// A vector of length 1 for each text, in their order. At most [`MOST_EMBEDDED`] texts.
    fn embed(&self, texts: Vec<String>) -> BoxFuture<'_, Result<Vec<Vec<f32>>, ModelError>>;
}

/// A text without a vector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unembedded {
    /// Names the text: equal texts have one vector.
    pub digest: i64,
    pub text: String,
}

/// Vectors beside a search index, and derived like it.
pub trait VectorIndex: Send + Sync + std::fmt::Debug {
    /// Indexed texts of the areas that have no vector of this model, as far as the limit goes.
    fn lacking(
        &self,
        areas: Vec<SearchArea>,
        model: &str,
        limit: usize,
    ) -> BoxFuture<'_, Result<Vec<Unembedded>, StoreError>>;

    /// Adds vectors by the digests of their texts.
    fn put(&self, model: &str, vectors: Vec<(i64, Vec<f32>)>) -> BoxFuture<'_, Result<(), StoreError>>;

    /// The texts inside the areas and times of a request whose vectors are nearest to this one, nearest first.
    fn nearest(
        &self,
        request: SearchRequest,
        model: &str,
        vector: Vec<f32>,
    ) -> BoxFuture<'_, Result<SearchPage, StoreError>>;
}
