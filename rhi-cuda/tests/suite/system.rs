//! The conformance suite on the installed CUDA driver.

use quadrants_conformance::{AddKernel, Subject, conformance_tests};
use quadrants_rhi_cuda::{
    driver,
    rhi::{Error, Image},
};

use crate::{
    installed::{requires_hardware, tests_installed_driver},
    selected::is_selected,
};

conformance_tests!(subject);

/// A kernel that takes the argument block `[p, n, k]` by value.
const ADD: &str = "
.version 6.5
.target sm_75
.address_size 64

.visible .entry add(.param .align 8 .b8 block[24])
{
    .reg .pred %outside;
    .reg .b32 %add, %block_index, %block_size, %thread, %word;
    .reg .b64 %address, %count, %index, %lane;

    ld.param.u64 %address, [block];
    ld.param.u64 %count, [block+8];
    ld.param.u32 %add, [block+16];
    mov.u32 %block_index, %ctaid.x;
    mov.u32 %block_size, %ntid.x;
    mov.u32 %thread, %tid.x;
    mul.wide.u32 %index, %block_index, %block_size;
    cvt.u64.u32 %lane, %thread;
    add.u64 %index, %index, %lane;
    setp.ge.u64 %outside, %index, %count;
    @%outside bra done;
    shl.b64 %index, %index, 2;
    add.u64 %address, %address, %index;
    cvta.to.global.u64 %address, %address;
    ld.global.u32 %word, [%address];
    add.u32 %word, %word, %add;
    st.global.u32 [%address], %word;
done:
    ret;
}
";

/// `None` without a driver or device, and if the library is the simulator, which has its own tests.
fn subject(_case: &str) -> Option<Subject> {
    if !is_selected("cuda") || !tests_installed_driver() {
        return None;
    }
    let device = match driver().and_then(|driver| driver.open(0)) {
        Ok(device) => device,
        Err(Error::LibraryNotFound { .. } | Error::NoDevice { .. }) if !requires_hardware() => {
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    if device.info().simulated {
        return None;
    }
    let add = AddKernel {
        image: Image::Binary(ADD.as_bytes()),
        function: "add".into(),
        args: |p, n, k| vec![p, n, u64::from(k)],
        block_dim: 128,
    };
    Some(Subject { device, add: Some(add), keep: None })
}

/// A real libcuda loads with all required functions. Without a device, `open` returns `NoDevice`.
#[test]
fn the_library_loads() {
    if !is_selected("cuda") {
        return;
    }
    let driver = match driver() {
        Ok(driver) => driver,
        Err(error @ Error::LibraryNotFound { .. }) if !requires_hardware() => {
            eprintln!("skipped: {error}");
            return;
        }
        Err(error) => panic!("{error}"),
    };
    let count = driver.device_count().unwrap();
    eprintln!("CUDA driver {}: {count} devices", driver.version());
    match driver.open(0) {
        Ok(device) => {
            assert!(count > 0);
            assert!(device.info().arch.starts_with("sm_"), "{:?}", device.info());
        }
        Err(Error::NoDevice { backend: "cuda", .. }) => assert_eq!(count, 0),
        Err(error) => panic!("{error}"),
    }
}
