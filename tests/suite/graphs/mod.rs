//! Guarantees: a graph changes the cost of launches and nothing else; its branches are ordered as they were recorded;
//! an executable graph is used on one stream, by one kernel or one captured graph.

mod arguments;
mod capture;
mod conditions;
mod repeated_regions;
