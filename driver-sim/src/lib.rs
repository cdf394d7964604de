//! A driver simulator with the C symbols of libcuda and libamdhip64, adversarial schedules and fault injection.
