//! HTTP and the console.
