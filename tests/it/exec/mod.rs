//! Commands with every judgement left out: whatever they try, the sandbox alone keeps them in, and they end.

mod bench;
mod end;
mod reach;
