//! [`DeviceName`]: a device as errors name it.

use std::fmt;

use quadrants_rhi::DeviceInfo;

/// A device as errors name it: `cuda device 1 (NVIDIA H100)`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DeviceName {
    /// The backend: `cuda`, `amdgpu` or `cpu`.
    pub backend: &'static str,
    /// The ordinal that it was opened with.
    pub ordinal: usize,
    /// The product name.
    pub name: String,
}

impl fmt::Display for DeviceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { backend, ordinal, name } = self;
        write!(f, "{backend} device {ordinal} ({name})")
    }
}

impl From<&DeviceInfo> for DeviceName {
    fn from(DeviceInfo { backend, ordinal, name, .. }: &DeviceInfo) -> Self {
        Self { backend, ordinal: *ordinal, name: name.clone() }
    }
}
