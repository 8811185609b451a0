//! Files under `.ship/`: the journal, the thread files, the lock.
