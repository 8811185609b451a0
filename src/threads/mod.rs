//! The actors: one per thread, and the router that finds them.
