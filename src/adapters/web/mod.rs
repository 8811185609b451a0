//! HTTP: the API, the AI SDK stream and the console page.
