//! C-family kernel text from the IR, and the compiler trait.
